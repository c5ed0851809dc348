//! Values over time.

use super::*;

#[test]
fn a_graph_has_the_numbers_of_a_field_over_the_last_ticks() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let add = |component: &str, field: u64| json!({ "graph": "add", "entity": cat, "component": component, "field": field });
    let (status, time) = program.post("/api/graph", add("Hunger", 0));
    assert_eq!((status, &time["graphs"][0]["unit"]), (200, &json!("from 0 to 1")), "{time}");
    let step = |count: u64| program.post("/api/step", json!({ "what": "tick", "count": count }));
    step(50);
    let graph = program.get("/api/time")["graphs"][0].clone();
    let numbers = |of: &Value| {
        let list = of.as_array().expect("a list").clone();
        list.iter().map(|it| it.as_f64().expect("a number")).collect::<Vec<_>>()
    };
    let (ticks, values) = (numbers(&graph["ticks"]), numbers(&graph["lines"][0]));
    assert_eq!(
        (ticks.len(), values.len(), graph["lines"].as_array().map(Vec::len)),
        (51, 51, Some(1))
    );
    for pair in ticks.windows(2).zip(values.windows(2)) {
        let ([before, after], [less, more]) = pair else { panic!("two each") };
        assert!(
            (after - before - 1.0).abs() < 1e-9 && (more - less - 0.001).abs() < 1e-5,
            "{pair:?}"
        );
    }
    // The same once more is the same.
    assert_eq!(
        program.post("/api/graph", add("Hunger", 0)).1["graphs"].as_array().map(Vec::len),
        Some(1)
    );
    step(1_000);
    let ticks = numbers(&program.get("/api/time")["graphs"][0]["ticks"]);
    assert_eq!(ticks.len(), 600, "older ones are gone");
    // What is gone is drawn no further.
    program.post("/api/edit", json!({ "edit": "despawn", "entity": cat }));
    step(5);
    let after = numbers(&program.get("/api/time")["graphs"][0]["ticks"]);
    assert_eq!(after, ticks);
}

#[test]
fn graphs_of_what_is_no_number_are_refused() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    for (entity, component, field, status) in [
        (&*cat, "Named", 0_u64, 400),
        (&cat, "Asleep", 0, 400),
        (&cat, "Hunger", 1, 400),
        (&cat, "Hunger", u64::MAX, 400),
        (&cat, "Thirst", 0, 400),
        (&cat, "Fleas", 0, 400),
        ("18446744073709551614", "Hunger", 0, 404),
        ("one", "Hunger", 0, 400),
    ] {
        let body =
            json!({ "graph": "add", "entity": entity, "component": component, "field": field });
        let (found, answer) = program.post("/api/graph", body);
        assert_eq!(found, status, "{component} {field} of {entity}: {answer}");
    }
    for body in [json!({ "graph": "add" }), json!({ "graph": "remove", "number": "1" }), json!(1)] {
        assert_eq!(program.post("/api/graph", body.clone()).0, 400, "{body}");
    }
    assert_eq!(program.post("/api/graph", json!({ "graph": "remove", "number": 77 })).0, 404);
    for cat in 0..9 {
        let entity = program.only(&format!("Named = \"Cat {cat}\""));
        let body = json!({ "graph": "add", "entity": entity, "component": "Hunger", "field": 0 });
        assert_eq!(program.post("/api/graph", body).0, if cat < 8 { 200 } else { 400 });
    }
}
