//! `ActionSet` files: what they say is what is spawned, and what is wrong is said with its place.

use formic_ai::action::{LoadError, load_file};
use formic_ai::prelude::*;
use serde::Deserialize;

#[derive(Component, Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveTo {
    place: Place,
    #[serde(default)]
    speed: f32,
}

#[derive(Clone, Debug, PartialEq, Deserialize, HashState)]
enum Place {
    Mine,
    Castle,
}

#[derive(Component, Clone, Debug, PartialEq, Deserialize)]
struct Wait;

fn kinds() -> Kinds {
    Kinds::new().kind::<MoveTo>("MoveTo").kind::<Wait>("Wait")
}

const MINER: &str = r#"// What a miner does.
(
    on_failure: BackOff(ticks: 2, ticks_max: 8),
    actions: [
        (name: "out", kind: "MoveTo", with: (place: Mine, speed: 2.5)),
        (name: "break", kind: "Wait"),
        (name: "home or nap", kind: "Race", parts: [
            (name: "home", kind: "MoveTo", with: (place: Castle)),
            (name: "nap", kind: "Wait"),
        ]),
    ],
)"#;

#[test]
fn what_a_file_says_is_what_is_spawned() {
    let mut world = World::new();
    let agent = Sequence::parse(MINER, &kinds()).unwrap().spawn(&mut world, ()).unwrap();
    assert_eq!(world.get::<Body>(agent).unwrap().action_count(), 3);
    assert_eq!(world.len(), 1 + 3 + 2);
    let mut places: Vec<_> =
        world.query::<&MoveTo>().map(|it| (it.place.clone(), it.speed)).collect();
    places.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(places, [(Place::Castle, 0.0), (Place::Mine, 2.5)]);
    assert_eq!(world.query::<&Wait>().count(), 2);
    assert_eq!(world.query::<&Composite>().single().unwrap(), &Composite::race());
}

#[test]
fn a_file_is_read_from_disk_and_its_name_is_in_the_error() {
    let folder = std::env::temp_dir().join(format!("formic-plans-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (good, bad) = (folder.join("miner.ron"), folder.join("bad.ron"));
    std::fs::write(&good, MINER).unwrap();
    std::fs::write(&bad, "(actions: [)").unwrap();
    assert!(load_file(&good, |text| Sequence::parse(text, &kinds())).is_ok());
    let actions = |path| load_file(path, |text| ActionSet::parse(text, &kinds()));
    let error = actions(&bad).unwrap_err().to_string();
    assert!(error.contains("bad.ron: line 1, column 12"), "{error}");
    let missing = actions(&folder.join("none.ron")).unwrap_err();
    assert!(matches!(missing, LoadError::Io { .. }), "{missing}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The place of what is wrong, and what it says.
fn error(text: &str) -> (usize, usize, String) {
    match ActionSet::parse(text, &kinds()).unwrap_err() {
        LoadError::Text { path: None, line, column, problem } => (line, column, problem),
        other => panic!("{other}"),
    }
}

#[test]
fn errors_name_the_line_and_the_field() {
    let (line, column, problem) =
        error("(actions: [\n (name: \"a\", kind: \"MoveTo\",\n  with: (place: Moon)),\n])");
    assert_eq!((line, column), (3, 17), "{problem}");
    assert!(problem.contains("Moon") && problem.contains("\"a\""), "{problem}");
    let (line, _, problem) =
        error("(actions: [\n (name: \"a\", kind: \"MoveTo\", with: (speed: 1.0)),\n])");
    assert_eq!(line, 2);
    assert!(problem.contains("`place`"), "{problem}");
    let (line, column, problem) = error("(actions: [\n (name: \"a\", kind: \"Fly\"),\n])");
    assert_eq!((line, column), (2, 20));
    assert!(problem.contains("\"Fly\"") && problem.contains("\"MoveTo\", \"Wait\""), "{problem}");
    let (line, _, problem) = error("(actions: [\n (nome: \"a\"),\n])");
    assert_eq!(line, 2);
    assert!(problem.contains("`nome`"), "{problem}");
    let twice = "(actions: [\n (name: \"a\", kind: \"Wait\"),\n (name: \"a\", kind: \"Wait\"),\n])";
    let (line, column, problem) = error(twice);
    assert_eq!((line, column), (3, 20), "{problem}");
    let (_, _, problem) = error("(on_failure: Stop, actions: [])");
    assert!(problem.contains("`on_failure`"), "{problem}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let contains = |text: &str, what: &str| {
        let (_, _, problem) = error(text);
        assert!(problem.contains(what), "{problem}");
    };
    contains("(actions: [])", "at least one action");
    contains("(actions: [(name: \"a\", kind: \"Race\")])", "`parts`");
    let part = "(name: \"b\", kind: \"Wait\")";
    contains(&format!("(actions: [(name: \"a\", kind: \"Wait\", parts: [{part}])])"), "`parts`");
    contains(
        &format!("(actions: [(name: \"a\", kind: \"Join\", with: (), parts: [{part}])])"),
        "`with`",
    );
    let many = (0..1025).map(|it| format!("(name: \"{it}\", kind: \"Wait\"),")).collect::<String>();
    contains(&format!("(actions: [{many}])"), "at most 1024");
}

#[test]
#[should_panic(expected = "there is a kind of action \"Race\" already")]
fn composites_keep_their_names() {
    let _kinds = Kinds::new().kind::<Wait>("Race");
}

#[test]
fn a_plan_of_many_actions_is_read_at_once_and_refused_for_their_number() {
    let actions: String =
        (0..20_000).map(|it| format!("(name: \"a{it}\", kind: \"Wait\"),\n")).collect();
    let error = ActionSet::parse(&format!("(actions: [{actions}])"), &kinds()).unwrap_err();
    assert!(error.to_string().contains("this one has 20000"), "{error}");
}

#[test]
fn brackets_without_end_are_an_error_that_a_designer_can_read() {
    let deep = "(name: \"both\", kind: \"Join\", parts: [".repeat(1000);
    for text in [format!("(actions: [{deep}"), format!("(actions: [(with: {}", "(".repeat(1000))] {
        let error = ActionSet::parse(&text, &kinds()).unwrap_err().to_string();
        assert!(error.ends_with(": too many brackets lie in each other"), "{error}");
    }
}

#[test]
fn composites_in_files_lie_in_each_other_as_deep_as_others() {
    let deep = |depth: usize| {
        let open = "(name: \"both\", kind: \"Join\", parts: [\n".repeat(depth);
        let inner = "(name: \"out\", kind: \"MoveTo\", with: (place: Mine))";
        let text = format!("(actions: [\n{open}{inner}{}])", "])".repeat(depth));
        ActionSet::parse(&text, &kinds()).map_err(|error| error.to_string())
    };
    let mut world = World::new();
    let agent = deep(64).unwrap().spawn(&mut world, ()).unwrap();
    assert_eq!(world.len(), 1 + 64 + 1);
    world.despawn(agent).unwrap();
    // The 65th.
    let said = "line 66, column 22: composites lie in each other more than 64 deep (in the action \"both\")";
    for depth in [65, 66] {
        assert_eq!(deep(depth).unwrap_err(), said);
    }
    let error = deep(10_000).unwrap_err();
    assert!(error.ends_with("too many brackets lie in each other"), "{error}");
}
