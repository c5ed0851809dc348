//! Entities are found, edited and told why they do not match.

use super::*;

#[test]
fn entities_are_found_and_one_that_is_not_is_told_why() {
    let program = program();
    program.pause();
    assert_eq!(program.found("Named = \"Cat 7\"").len(), 1);
    assert_eq!(program.found("\"cat 99\", Hunger > 0.9"), program.found("99"));
    assert_eq!(program.found("Asleep, Hunger < 0.5").len(), 25);
    assert_eq!(program.found("without Asleep").len(), 51);
    assert_eq!(program.found("Fleas").len(), 1);
    let flea = program.only("Fleas");
    let body = json!({ "query": "Hunger > 0.5, without Asleep", "entity": flea });
    let (_, answer) = program.post("/api/query", body);
    assert_eq!(answer["matches"], false);
    assert_eq!(answer["reasons"][0], json!(["Hunger > 0.5", "It has no Hunger."]));
    assert_eq!(answer["reasons"][1], json!(["without Asleep", null]));
    // What it is made of, and who of the two systems has to do with it.
    let listed = program.post("/api/query", json!({ "query": "Named = \"Cat 7\"" })).1;
    let mut components: Vec<_> =
        listed["entities"][0]["components"].as_array().expect("a list").clone();
    components.sort_by_key(Value::to_string);
    assert_eq!(components, ["Asleep", "Hunger", "Named"]);
    let told = program.get(&format!("/api/entity?id={flea}"));
    assert_eq!(told["systems"], json!([{ "system": "scratch", "writes": ["Fleas"], "reads": [] }]));
    // A page of the list at a time.
    let (_, first) = program.post("/api/query", json!({ "query": "" }));
    assert!(first["next"].as_u64().is_some_and(|next| next <= 100), "{first}");
    assert_eq!(program.found("").len(), 101);
}

#[test]
fn a_paused_world_is_edited_and_a_running_one_is_not() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let edit = |body: Value| program.post("/api/edit", body);
    let set = |component: &str, field: u64, value: &str| {
        edit(
            json!({ "edit": "set", "entity": cat, "component": component, "field": field, "value": value }),
        )
    };
    assert_eq!(set("Hunger", 0, "0.25").0, 200);
    assert_eq!(set("Named", 0, "Ada \"the\" cat").0, 200);
    let hunger = program.component(&cat, "Hunger").expect("it has it");
    assert_eq!(hunger["label"], "from 0 to 1");
    let field = json!({ "name": "0", "type": "f32", "value": "0.25", "editable": true });
    assert_eq!(hunger["fields"], json!([field]));
    for (component, field, value) in
        [("Hunger", 0, "much"), ("Hunger", 9, "1"), ("Thirst", 0, "1"), ("Fleas", 0, "1")]
    {
        let (status, answer) = set(component, field, value);
        assert!(status == 400 && answer["error"].is_string(), "{component}: {answer}");
    }
    let escaped = program.post("/api/query", json!({ "query": "\"the\\\" cat\"" }));
    assert_eq!(escaped.0, 400, "quotation marks have no escapes");
    assert_eq!(program.only("\"ADA\""), cat);

    let of = |edit: &str, component: &str| json!({ "edit": edit, "entity": cat, "component": component });
    assert_eq!(edit(of("add", "Fleas")).0, 200);
    assert_eq!(program.component(&cat, "Fleas").expect("it was added")["fields"][0]["value"], "0");
    assert_eq!(edit(of("add", "Hunger")).0, 400, "it has no default value");
    assert_eq!(edit(of("remove", "Hunger")).0, 200);
    assert_eq!(program.component(&cat, "Hunger"), None);
    let on = json!({ "edit": "enable", "entity": cat, "component": "Asleep", "enabled": true });
    assert_eq!(edit(on).0, 200);
    assert_eq!(program.component(&cat, "Asleep").expect("it has it")["enabled"], true);
    program.post("/api/step", json!({ "what": "tick" }));
    let fleas = program.component(&cat, "Fleas").expect("systems see it");
    assert_eq!(fleas["fields"][0]["value"], "1");

    program.post("/api/run", json!({ "running": true }));
    assert_eq!(edit(of("remove", "Fleas")).0, 409, "the world goes on");
    program.pause();
    assert_eq!(edit(json!({ "edit": "despawn", "entity": cat })).0, 200);
    assert_eq!(edit(json!({ "edit": "despawn", "entity": cat })).0, 404);
    let (status, told) =
        request(program.address, "GET", &format!("/api/entity?id={cat}"), &Value::Null);
    assert!(status == 404 && told.to_string().contains("despawned"), "{told}");
}

#[test]
fn a_component_that_is_added_is_never_one_of_that_name_that_the_entity_has() {
    mod dogs {
        #[derive(formic::prelude::Component, Default)]
        pub(super) struct Fleas(u8);
    }
    let program = living(|| {
        let (mut world, schedule) = cats();
        world.register::<dogs::Fleas>();
        (world, schedule)
    });
    program.pause();
    let flea = program.only("Fleas");
    let fleas = program.component(&flea, "Fleas");
    let told = program.get(&format!("/api/entity?id={flea}"));
    assert!(told["addable"].as_array().is_some_and(|it| it.contains(&json!("Fleas"))), "{told}");
    let add = json!({ "edit": "add", "entity": flea, "component": "Fleas" });
    assert_eq!(program.post("/api/edit", add.clone()).0, 200);
    assert_eq!(program.component(&flea, "Fleas"), fleas, "its own are as they were");
    let told = program.get(&format!("/api/entity?id={flea}"));
    assert_eq!(told["components"].as_array().map(Vec::len), Some(2), "{told}");
    let error = json!({ "error": "it has Fleas already" });
    assert_eq!(program.post("/api/edit", add), (400, error));
}

#[test]
fn an_edit_with_a_wrong_field_says_which() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let set = |field: &str, value: Value| {
        let mut body = json!({ "edit": "set", "entity": cat, "component": "Hunger", "field": 0, "value": "1" });
        body[field] = value;
        program.post("/api/edit", body)
    };
    let wrong = [
        ("value", json!(0.9), "`value`: invalid type: floating point `0.9`, expected a string"),
        ("field", json!("0"), "`field`: invalid type: string \"0\", expected usize"),
        ("entity", json!(12), "`entity`: invalid type: integer `12`, expected a string"),
        ("edit", json!("explode"), "`edit` is set, enable, add, remove or despawn"),
        ("edit", json!("add"), "add takes no `field`"),
        ("edit", json!("enable"), "`enabled` is missing"),
    ];
    for (field, value, fault) in wrong {
        assert_eq!(set(field, value), (400, json!({ "error": fault })));
    }
    assert_eq!(set("value", json!("1")).0, 200);
}

#[test]
fn an_edit_that_panics_is_an_answer_and_the_program_goes_on() {
    let program = program();
    let before = program.pause()["entities"].clone();
    let cat = program.only("Named = \"Cat 3\"");
    let of = |edit: &str| json!({ "edit": edit, "entity": cat, "component": "Curse" });
    assert_eq!(program.post("/api/edit", of("add")).0, 200);
    let (status, answer) = program.post("/api/edit", of("remove"));
    assert_eq!(status, 500, "{answer}");
    assert_eq!(program.component(&cat, "Curse"), None, "it is gone all the same");
    let (_, state) = program.post("/api/step", json!({ "what": "tick" }));
    assert_eq!(state["entities"], before);
}

#[test]
fn a_query_has_a_limit_of_terms() {
    let program = program();
    program.pause();
    let long = ["Hunger"; 16].join(",");
    assert_eq!(program.found(&long).len(), 100);
    for longer in [format!("{long},Hunger"), format!("{:?}", "x".repeat(2_000))] {
        assert_eq!(program.post("/api/query", json!({ "query": longer })).0, 400);
    }
}
