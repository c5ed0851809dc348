//! Queries that find, queries that say why not, and queries that cannot be read.

use formic_ai::explain::Candidate;
use formic_ecs::prelude::*;

use super::*;

#[derive(Component)]
struct Position(f32);
#[derive(Component, Clone)]
struct Hunger(f32);
#[derive(Component)]
#[component(enableable)]
struct Asleep;
#[derive(Component)]
struct Name(String);
#[derive(Component)]
struct Hold {
    barrels: u32,
    crates: u32,
}
#[derive(Component)]
#[component(buffer = 2)]
struct Toy(u8);
#[derive(Component)]
enum Mood {
    Calm,
    Angry { about: u8 },
}

fn world() -> (World, [Entity; 4]) {
    let mut world = World::new();
    let named = |name: &str| Name(name.to_owned());
    let ada = world.spawn((Position(1.0), Hunger(0.9), named("Ada, the first")));
    let bob = world.spawn((Position(2.0), Hunger(0.5), Asleep, Mood::Calm));
    let cid = world.spawn((Position(3.0), Hunger(0.8), Asleep, Mood::Angry { about: 7 }));
    let toys: Buffer<Toy> = (0..3).map(Toy).collect();
    let stone = world.spawn((Position(4.0), Hold { barrels: 3, crates: 1 }, toys));
    world.relation_mut::<ChildOf>().set_parent(stone, ada).expect("both are alive");
    world.set_enabled::<Asleep>(cid, false).expect("it has it");
    let mut log = DecisionLog::new();
    for (cat, tick, choice) in [(ada, 1, "sleep"), (ada, 2, "eat at once"), (bob, 2, "sleep")] {
        log.watch(cat, "Cat", 4);
        log.note(cat, tick, Engine::Utility, |decision| {
            decision.candidate(Candidate::new("wait", Verdict::Beaten));
            decision.candidate(Candidate::new(choice, Verdict::Chosen));
        });
    }
    log.note(ada, 3, Engine::Paths, |decision| {
        decision.candidate(Candidate::new("a path to (3, 4)", Verdict::Chosen));
    });
    world.insert_resource(log);
    (world, [ada, bob, cid, stone])
}

fn found(query: &str) -> Vec<usize> {
    let (world, entities) = world();
    let terms = Terms::parse(query, &world).unwrap_or_else(|error| panic!("{query}: {error}"));
    (0..4).filter(|&at| terms.matches(&world, &NoView, entities[at])).collect()
}

#[test]
fn entities_are_found_by_components_values_and_names() {
    for (query, expected) in [
        ("", &[0, 1, 2, 3][..]),
        ("Position, Hunger > 0.7, without Asleep", &[0, 2]),
        ("hunger<=0.5", &[1]),
        ("Hunger.0 >= 0.8", &[0, 2]),
        ("Asleep", &[1]),
        ("!Hunger", &[3]),
        ("Mood = angry, Mood.about = 7", &[2]),
        ("Mood.about != 7", &[]),
        ("Mood.nothing != 7", &[]),
        ("hold.CRATES = 1", &[3]),
        ("Mood != Calm", &[2]),
        ("\"the FIRST\"", &[0]),
        ("\"a, the\", with Name", &[0]),
        ("3", &[3]),
        ("1v1, Position = 2", &[1]),
        ("1v2", &[]),
        ("\"mood\"", &[1, 2]),
        ("0 chooses eat", &[0]),
        ("chooses EAT", &[0]),
        ("1 chooses eat", &[]),
        ("chooses ea", &[]),
        ("Targets<ChildOf>", &[3]),
        ("with targets<childof>, Position = 4", &[3]),
        ("Hunger, without Sources<ChildOf>", &[1, 2]),
        ("with Hunger > 0.7, with Mood.about = 7", &[2]),
        ("with hunger<=0.5", &[1]),
        ("Buffer<Toy>.length > 2", &[3]),
        ("with buffer<toy>.length<4", &[3]),
        ("Buffer<Toy> = 3", &[3]),
        ("Name = a<b", &[]),
        ("0  chooses  eat", &[0]),
    ] {
        assert_eq!(found(query), expected, "{query}");
    }
}

#[test]
fn whole_numbers_are_compared_exactly() {
    let (big, next) = ("9007199254740992", "9007199254740993");
    assert!(!Compare::Equal.holds(big, next) && Compare::Less.holds(big, next));
    assert!(Compare::Equal.holds("2", "2.0") && !Compare::More.holds("NaN", "1"));
    assert!(Compare::Equal.holds("NaN", "NaN") && !Compare::LessOrEqual.holds("NaN", "1"));
}

#[test]
fn the_reason_why_an_entity_does_not_match_names_the_term() {
    let (world, [_, bob, cid, stone]) = world();
    let first_fault = |query: &str, entity| {
        let terms = Terms::parse(query, &world).expect("it can be read");
        let reasons = terms.reasons(&world, &NoView, entity);
        let fault = reasons.into_iter().find_map(|(term, fault)| Some((term, fault?)));
        fault.map(|(term, fault)| format!("{term}: {fault}"))
    };
    let query = "Position, Hunger > 0.7, without Asleep";
    assert_eq!(first_fault(query, cid), None);
    assert_eq!(first_fault(query, bob).unwrap(), "Hunger > 0.7: Its Hunger.0 is 0.5.");
    assert_eq!(first_fault(query, stone).unwrap(), "Hunger > 0.7: It has no Hunger.");
    assert_eq!(first_fault("Asleep", cid).unwrap(), "Asleep: Its Asleep is switched off.");
    let without = first_fault("without Asleep", bob).unwrap();
    assert_eq!(without, "without Asleep: It has Asleep, which the query excludes.");
    let gone = first_fault("Mood.about > 1", bob).unwrap();
    assert_eq!(gone, "Mood.about > 1: Its Mood has no field about now.");
    assert_eq!(first_fault("Asleep = 1", bob).unwrap(), "Asleep = 1: Asleep has no value.");
    let text = first_fault("\"the first\"", bob).unwrap();
    assert!(text.starts_with("\"the first\": "), "{text}");
    let other = first_fault("1 chooses eat", bob).unwrap();
    assert_eq!(other, "chooses eat: It has chosen sleep.");
    let unknown = first_fault("chooses eat", cid).unwrap();
    assert!(unknown.contains("not watched"), "{unknown}");
}

#[test]
fn a_query_that_cannot_be_read_says_what_is_wrong() {
    let (world, _) = world();
    for (query, part) in [
        ("Hungry", "no component of this world is called Hungry"),
        ("Hunger without Asleep", "put a comma between two terms: Hunger, without Asleep"),
        ("without", "no component after `without`"),
        ("Hunger >", "no value"),
        ("> 0.7", "no component before >"),
        ("Hunger > much", "much is no number"),
        ("Hunger > nan", "nan is no number"),
        ("Hunger > 0.7 without Asleep", "two terms: Hunger > 0.7, without Asleep"),
        ("Hunger>0.7 and Mood = Calm", "two terms: Hunger > 0.7, Mood = Calm"),
        ("hunger < 1 and Asleep", "two terms: hunger < 1, Asleep"),
        ("\"open", "not closed"),
        ("\"a\"b", "comma"),
        ("12x", "no entity"),
        ("99999999999", "no entity"),
        ("= 3", "no component"),
        ("x chooses eat", "no component"),
        ("1 chooses ", "no entity"),
        ("Hunger.of > 1", "Hunger has no field of, but 0"),
        ("hold.sacks > 1", "hold has no field sacks, but barrels, crates"),
        ("Buffer<Toy>.sum > 1", "Buffer<Toy> has no field sum, but length"),
        ("Buffer<Mood>.length > 1", "no component of this world is called Buffer"),
        ("Targets<Mood>", "no component of this world is called Targets"),
        ("with Hunger > much", "much is no number"),
        ("without Hunger > 1", "no component of this world is called Hunger > 1"),
    ] {
        let error = Terms::parse(query, &world).expect_err(query);
        assert!(error.contains(part), "{query}: {error}");
    }
    assert!(Terms::parse(&"a".repeat(2_000), &world).is_err());
}

#[test]
fn a_choice_that_no_agent_was_seen_to_have_is_told_with_those_that_are_known() {
    let (mut world, [ada, bob, _, stone]) = world();
    assert_eq!(unknown_choice(&world, ada, "eat"), None);
    assert_eq!(unknown_choice(&world, bob, "wait"), None, "it was decided on");
    let told = unknown_choice(&world, bob, "flea").expect("there is none");
    let known = "No agent has chosen `flea`; known are eat at once, sleep, wait.";
    assert_eq!(told, known);
    // The actions of a body are known before any was chosen.
    use formic_ai::prelude::ActionSet;
    let body = ActionSet::new().action("flee", Hunger(0.0)).spawn(&mut world, ());
    let told = unknown_choice(&world, body.expect("one action fits"), "flea");
    assert!(told.is_some_and(|told| told.contains("eat at once, flee, sleep")));
    world.resource_mut::<DecisionLog>().expect("it is there").clear();
    let told = unknown_choice(&world, stone, "flea").expect("nothing is known");
    assert_eq!(told, "Nothing was decided since it is waited for.");
}

#[test]
fn what_lacks_a_component_is_passed_over_however_much_of_it_there_is() {
    let mut world = World::new();
    world.spawn_batch((0..600_000).map(|number| (Position(number as f32),)));
    let hold = world.spawn(Hold { barrels: 1, crates: 2 });
    let candidates = |text: &str, after| -> Vec<_> {
        let terms = Terms::parse(text, &world).expect("it can be read");
        terms.candidates(&world, after).take(3).collect()
    };
    assert_eq!(candidates("Hold.crates > 1", 0), [(600_000, hold)]);
    assert_eq!(candidates("Hold, Position", 0), []);
    assert_eq!(candidates("without Position", 599_999)[1..], [(600_000, hold)]);
    let all: Vec<_> = candidates("", 7).into_iter().map(|(before, _)| before).collect();
    assert_eq!(all, [7, 8, 9]);
    // Its fields are known, although it is far down the list.
    let error = Terms::parse("Hold.barels > 1", &world).expect_err("it has no such field");
    assert!(error.contains("barrels"), "{error}");
}
