//! Behaviour trees: random flat trees against a recursive interpreter, and their text.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

mod reference;
mod stage;

use formic_ai::bt::{Library, Node, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;
use formic_ai::utility::Curve;
use reference::Reference;
use stage::{Board, Senses, Stage, actions, library, library_with, plain_tree, random_tree};

fn tree(text: &str) -> Tree<Senses> {
    Tree::parse(text, &library()).unwrap()
}

/// Ticks a tree for one agent; what happened to its actions in each tick, and the root's results.
struct Play {
    stage: Stage,
    agent: Entity,
}

impl Play {
    fn new(text: &str) -> Self {
        let mut stage = Stage::new(tree(text), Threads::None);
        let agent = stage.spawn(Board::default(), 1);
        Self { stage, agent }
    }

    fn board(&mut self) -> &mut Board {
        self.stage.world.get_mut::<Board>(self.agent).unwrap()
    }

    /// One tick in which these conditions hold and these actions end.
    fn tick(&mut self, conditions: &[usize], ends: &[(usize, ActionResult)]) -> String {
        let board = self.board();
        board.conditions = conditions.iter().map(|condition| 1 << condition).sum();
        board.ends = [Running; 4];
        ends.iter().for_each(|&(action, result)| board.ends[action] = result);
        self.stage.tick();
        std::mem::take(&mut self.board().log).join(" ")
    }

    fn result(&self) -> ActionResult {
        self.stage.world.get::<TreeAgent>(self.agent).unwrap().result()
    }
}

use ActionResult::{Failed, Running, Success};

#[test]
fn what_is_more_important_interrupts_what_is_running_once() {
    let mut play = Play::new("selector { sequence { c0? a0 } a1 }");
    assert_eq!(play.tick(&[], &[]), "+1");
    assert_eq!(play.tick(&[], &[]), "");
    assert_eq!(play.tick(&[0], &[]), "x1 +0");
    assert_eq!(play.tick(&[0], &[]), "");
    assert_eq!(play.tick(&[], &[]), "x0 +1");
    assert_eq!(play.result(), Running);
}

#[test]
fn an_action_that_has_ended_gives_its_result_in_the_next_tick() {
    let mut play = Play::new("sequence { a0 a1 }");
    assert_eq!(play.tick(&[], &[(0, Success)]), "+0 s0");
    assert_eq!(play.result(), Running);
    assert_eq!(play.tick(&[], &[(1, Failed)]), "+1 f1");
    // A reactive sequence asks its first child again, and that begins anew.
    assert_eq!(play.tick(&[], &[]), "+0");
}

#[test]
fn a_sequence_with_memory_goes_on_where_it_was() {
    let mut play = Play::new("sequence_memory { a0 a1 do e0 }");
    assert_eq!(play.tick(&[], &[(0, Success)]), "+0 s0");
    assert_eq!(play.tick(&[], &[]), "+1");
    assert_eq!(play.tick(&[], &[(1, Success)]), "s1");
    assert_eq!(play.tick(&[], &[]), "");
    assert_eq!(play.result(), Success);
    assert_eq!(play.board().effects[0], 1);
    assert_eq!(play.tick(&[], &[]), "+0", "it is fresh again");
}

#[test]
fn a_parallel_remembers_who_has_ended_and_halts_the_others() {
    let mut play = Play::new("parallel(2, 2) { a0 a1 a2 }");
    assert_eq!(play.tick(&[], &[(0, Success)]), "+0 s0 +1 +2");
    assert_eq!(play.tick(&[], &[]), "");
    assert_eq!(play.tick(&[], &[(1, Failed)]), "f1");
    assert_eq!(play.tick(&[], &[]), "");
    assert_eq!(play.result(), Running);
    assert_eq!(play.tick(&[], &[(2, Success)]), "s2");
    play.tick(&[], &[]);
    assert_eq!(play.result(), Success);
    let mut play = Play::new("parallel(one, all) { a0 a1 }");
    assert_eq!(play.tick(&[], &[(0, Success)]), "+0 s0 +1");
    assert_eq!(play.tick(&[], &[]), "x1");
    assert_eq!(play.result(), Success);
}

#[test]
fn a_timeout_halts_its_child_and_counts_anew_when_it_is_fresh() {
    let mut play = Play::new("selector { sequence { c0? timeout(2) a0 } a1 }");
    for _round in 0..2 {
        assert_eq!(play.tick(&[0], &[]), if _round == 0 { "+0" } else { "x1 +0" });
        assert_eq!(play.tick(&[0], &[]), "");
        assert_eq!(play.tick(&[0], &[]), "x0 +1");
        assert_eq!(play.tick(&[], &[]), "");
    }
}

#[test]
fn a_cooldown_outlasts_the_time_in_which_it_is_not_asked() {
    let mut play = Play::new("selector { sequence { c0? cooldown(3) do e0 } a1 }");
    let cold = |play: &mut Play, conditions: &[usize]| {
        let before = play.board().effects[0];
        play.tick(conditions, &[]);
        play.board().effects[0] - before
    };
    assert_eq!(cold(&mut play, &[0]), 1);
    assert_eq!([&[0][..], &[], &[0]].map(|it| cold(&mut play, it)), [0, 0, 0]);
    assert_eq!(cold(&mut play, &[0]), 1);
}

#[test]
fn the_longest_cooldown_is_one() {
    for ticks in [1 << 31, u32::MAX] {
        let mut play = Play::new(&format!("cooldown({ticks}) do e0"));
        (0..5).for_each(|_| drop(play.tick(&[], &[])));
        assert_eq!(play.board().effects[0], 1, "{ticks}");
    }
}

#[test]
fn once_gives_for_ever_what_it_ended_with() {
    let mut play = Play::new("once sequence { do e0 fail }");
    for _ in 0..3 {
        play.tick(&[], &[]);
        assert_eq!((play.result(), play.board().effects[0]), (Failed, 1));
    }
}

#[test]
fn while_a_subtree_stays_the_rest_of_the_tree_is_not_asked() {
    let text =
        "selector { sequence { c0? do e0 a0 } stay_until(c1?) sequence_memory { a1 a2 } a3 }";
    let mut play = Play::new(text);
    let entry = |play: &Play| play.stage.world.get::<TreeAgent>(play.agent).unwrap().entry();
    assert_eq!(play.tick(&[], &[(1, Success)]), "+1 s1");
    assert_eq!(entry(&play), Some(5));
    assert_eq!(play.tick(&[0], &[]), "+2", "the root would have preferred the first action");
    assert_eq!(play.tick(&[0], &[]), "");
    assert_eq!(play.board().effects[0], 0);
    assert_eq!(play.tick(&[1], &[]), "x2 +3", "the condition ends it");
    assert_eq!(entry(&play), None);
    play.tick(&[], &[(1, Success)]);
    play.tick(&[], &[(2, Failed)]);
    assert_eq!(play.tick(&[0], &[]), "+0", "it has ended, and the root is asked at once");
}

#[test]
fn the_innermost_subtree_that_stays_is_the_one_that_is_ticked() {
    let entry = |play: &Play| play.stage.world.get::<TreeAgent>(play.agent).unwrap().entry();
    let mut play = Play::new(
        "selector { stay_until(c1?) sequence_memory { a0 stay_until(c2?) sequence_memory { a1 a2 } } a3 }",
    );
    assert_eq!(play.tick(&[], &[(0, Success)]), "+0 s0");
    assert_eq!(entry(&play), Some(1));
    assert_eq!(play.tick(&[], &[]), "+1");
    assert_eq!(entry(&play), Some(4));
    assert_eq!(play.tick(&[1], &[]), "", "what ends the outer one is not asked");
    assert_eq!(entry(&play), Some(4));
    assert_eq!(play.tick(&[2], &[]), "x1 +3");
    assert_eq!(entry(&play), None);
    // Also where both begin in one tick.
    let mut play = Play::new("selector { stay_until(c1?) stay_until(c2?) a0 a3 }");
    assert_eq!(play.tick(&[], &[]), "+0");
    assert_eq!(entry(&play), Some(2));
    // One that a parallel halts stays no longer.
    let mut play = Play::new(
        "selector { sequence_memory { parallel(one, all) { stay_until(c1?) a0 c0? } a2 } a3 }",
    );
    assert_eq!(play.tick(&[0], &[]), "+2");
    assert_eq!(entry(&play), None);
    assert_eq!(play.tick(&[], &[]), "");
}

#[test]
fn two_leaves_of_one_action_are_one_action() {
    let mut play = Play::new("selector { sequence { c0? a0 } a0 }");
    assert_eq!(play.tick(&[], &[]), "+0");
    assert_eq!(play.tick(&[0], &[]), "", "it goes on");
    let node = Node::parse("parallel(all, one) { a0 sequence { c0? a0 } }").unwrap();
    let error = Tree::new(&node, &library());
    let said = error.unwrap_err().to_string();
    assert_eq!(said, "branches that run at the same time share the action \"a0\"");
}

#[test]
fn priorities_are_asked_for_each_tick_and_no_number_is_the_lowest() {
    let mut play = Play::new("priority { s0: a0 s1: a1 s2: a2 }");
    let mut tick = |scores: [f32; 3]| {
        play.board().scores = scores;
        play.tick(&[], &[])
    };
    assert_eq!(tick([0.5, 0.5, f32::NAN]), "+0");
    assert_eq!(tick([0.5, 0.6, f32::NAN]), "x0 +1");
    assert_eq!(tick([f32::NAN, -1.0, f32::NAN]), "");
    assert_eq!(tick([0.0, 0.0, 1.0]), "x1 +2");
}

#[test]
fn chance_does_not_take_weight_0_where_all_others_have_failed() {
    let mut play = Play::new("selector { weighted { 1: c0? 0: a0 } a3 }");
    assert_eq!(play.tick(&[], &[]), "+3");
}

#[test]
fn chance_goes_by_the_weights_and_never_takes_weight_0() {
    let tree = tree("weighted { 1: do e0 3: do e1 0: do e2 }");
    let mut stage = Stage::new(tree, Threads::None);
    let agents: Vec<_> = (0..2_000).map(|seed| stage.spawn(Board::default(), seed)).collect();
    (0..5).for_each(|_| stage.tick());
    let mut counts = [0_u32; 3];
    for agent in agents {
        let board = stage.world.get::<Board>(agent).unwrap();
        counts.iter_mut().zip(board.effects).for_each(|(count, effects)| *count += effects);
    }
    assert_eq!(counts[0] + counts[1], 10_000);
    assert_eq!(counts[2], 0);
    // Five standard deviations.
    assert!(counts[0].abs_diff(2_500) < 217, "{counts:?}");
}

#[test]
fn a_mind_needs_16_bytes() {
    assert_eq!(size_of::<TreeAgent>(), 16);
}

#[test]
fn flat_trees_do_what_the_recursive_interpreter_does_on_any_threads() {
    interpret(400, 0);
}

/// Trees that have to do with more than 64 actions and memories go another way.
#[test]
fn wide_trees_do_what_the_recursive_interpreter_does() {
    interpret(40, 250);
}

/// Plays random trees for agents that have so many other actions before each of theirs, and as many
/// memories that are not in use.
fn interpret(seeds: u64, fillers: usize) {
    const TICKS: u64 = 24;
    let mut played = 0;
    for seed in 0..seeds {
        let random = &mut RandomStream::new(seed);
        // Trees in which nothing is remembered go another way, by the leaves alone.
        let node = if seed % 3 == 0 { plain_tree(random, 5) } else { random_tree(random, 5) };
        let waits = "wait(1) ".repeat(fillers);
        let node = match fillers {
            0 => node,
            _ => Node::parse(&format!(
                "selector {{ sequence {{ force_failure c0? {waits} }} {node} }}"
            ))
            .unwrap(),
        };
        let made = Tree::new(&node, &library_with(fillers));
        let Ok(made) = made else {
            let error = made.unwrap_err().to_string();
            let is_expected =
                error.contains("share the action") || error.contains("memories are needed");
            assert!(is_expected, "{error}: {node}");
            continue;
        };
        played += 1;
        let threads = if seed % 40 == 0 { Threads::Own(2) } else { Threads::None };
        let agents = if seed % 40 == 0 { 300 } else { 4 };
        let mut stage = Stage::with(made, threads, fillers);
        let mut pairs: Vec<(Entity, Reference)> = (0..agents)
            .map(|key| (stage.spawn(Board::default(), key), Reference::new(&node, key)))
            .collect();
        for tick in 0..TICKS {
            for (agent, reference) in &mut pairs {
                let board = stage.world.get_mut::<Board>(*agent).unwrap();
                board.draw(random);
                reference.board.inputs_from(board);
            }
            stage.tick();
            for (agent, reference) in &mut pairs {
                let result = reference.tick();
                let mind = stage.world.get::<TreeAgent>(*agent).unwrap();
                assert_eq!(mind.result(), result, "seed {seed}, tick {tick}: {node}");
                let board = stage.world.get::<Board>(*agent).unwrap();
                assert_eq!(board.log, reference.board.log, "seed {seed}, tick {tick}: {node}");
                assert_eq!(board.effects, reference.board.effects, "seed {seed}: {node}");
            }
        }
    }
    assert!(played > seeds / 2, "most trees make sense");
}

#[test]
fn reactive_and_memory_are_the_same_where_nothing_takes_time() {
    for seed in 0..200 {
        let random = &mut RandomStream::new(seed);
        let node = random_tree(random, 4).to_string();
        let still = ["a0", "a1", "a2", "a3"].iter().fold(node, |text, it| text.replace(it, "c3?"));
        let is_timed =
            ["wait", "repeat", "retry", "until", "parallel", "random", "weighted", "cooldown"];
        if is_timed.iter().any(|word| still.contains(word)) {
            continue;
        }
        let forgetful = still.replace("_memory", "");
        let mut plays = [still, forgetful].map(|text| Play::new(&text));
        for _ in 0..10 {
            let conditions: Vec<usize> = (0..4).filter(|_| random.below(2) == 0).collect();
            let [a, b] = &mut plays;
            a.tick(&conditions, &[]);
            b.tick(&conditions, &[]);
            assert_eq!(a.result(), b.result());
            assert_eq!(a.board().effects, b.board().effects);
        }
    }
}

#[test]
fn text_and_trees_are_the_same() {
    for seed in 0..500 {
        let node = random_tree(&mut RandomStream::new(seed), 6);
        assert_eq!(Node::parse(&node.to_string()).unwrap(), node);
    }
}

/// What is wrong with a text, and where.
fn problem(text: &str) -> String {
    Node::parse(text).unwrap_err().to_string()
}

const TOO_DEEP: &str = "the nodes lie more than 64 deep";
const TOO_LARGE: &str = "the tree has more than 4096 nodes";

#[test]
fn errors_say_where_they_are() {
    for (text, said) in [
        ("selector {\n  a0\n", r#"line 3, column 1: expected a node or "}", found the end"#),
        ("selector { }", r#"line 1, column 12: expected a node, found "}""#),
        ("wait(x)", r#"line 1, column 6: expected a number, found "x""#),
        (
            "sequence { a0, a1 }",
            r#"line 1, column 14: expected a node, found ","; nodes stand side by side, with nothing but blanks between them"#,
        ),
        (
            "a0 // and",
            r#"line 1, column 4: expected the end, found "/"; a comment goes from # to the end of its line"#,
        ),
        (
            "a0-a1",
            r#"line 1, column 3: expected the end, found "-"; a name is made of letters, digits, _ and ."#,
        ),
        ("wait(5000000000)", r#"line 1, column 6: "5000000000" is not a number in range"#),
        (
            "weighted { 1000000000000000000000000000000000000000: a0 }",
            r#"line 1, column 12: "1000000000000000000000000000000000000000" is not a number in range"#,
        ),
        ("a0 # and\n a1", r#"line 2, column 2: expected the end, found "a1""#),
        ("guard(safe) a0", r#"line 1, column 11: expected ?, found ")""#),
        (
            "sequence {\n  selectr { a0 } }",
            r#"line 2, column 3: there is no composite "selectr"; did you mean "selector"?"#,
        ),
        ("not", "line 1, column 4: expected a node, found the end"),
        ("é ✗", r#"line 1, column 3: expected the end, found "✗""#),
        ("use flee", r#"line 1, column 5: there is no subtree "flee""#),
        (
            "subtree x a0 subtree x a1 use x",
            r#"line 1, column 22: the subtree "x" is defined twice"#,
        ),
        (
            "subtree x use y\nsubtree y not use x\na0",
            "line 2, column 19: the subtree contains itself: x > y > x",
        ),
    ] {
        assert_eq!(problem(text), said);
    }
    assert!(problem(&"not ".repeat(70)).ends_with(TOO_DEEP));
    let wide = format!("subtree x sequence {{ {} }}\n", "a0 ".repeat(100));
    let wide = format!("{wide}sequence {{ {} }}", "use x ".repeat(100));
    assert!(problem(&wide).ends_with(TOO_LARGE));
}

#[test]
fn the_use_of_a_subtree_costs_nothing_but_what_stands_in_its_place() {
    let chain = |count: usize, root: &str| {
        let links = (1..=count).map(|it| format!("subtree t{it} not use t{}\n", it - 1));
        format!("subtree t0 a0\n{}{root}", links.collect::<String>())
    };
    let depth = Node::DEPTH_MAX - 1;
    let deepest = Node::parse(&chain(depth, &format!("use t{depth}"))).unwrap();
    assert_eq!(deepest.to_string(), format!("{}a0", "invert ".repeat(depth)));
    assert!(problem(&chain(depth, &format!("not use t{depth}"))).ends_with(TOO_DEEP));

    let wide = |count: usize| format!("subtree x a0\nsequence {{ {} }}", "use x ".repeat(count));
    let widest = Node::COUNT_MAX - 1;
    let tree = Tree::parse(&wide(widest), &library()).unwrap();
    assert_eq!(tree.node_count(), Node::COUNT_MAX);
    assert!(problem(&wide(widest + 1)).ends_with(TOO_LARGE));
}

#[test]
fn subtrees_that_are_only_uses_of_others_may_follow_each_other_without_end() {
    let count = 100_000;
    let mut text: String =
        (1..count).map(|it| format!("subtree t{it} use t{}\n", it - 1)).collect();
    let cycle = format!("subtree t0 use t{}\n{text}use t0", count - 1);
    assert!(problem(&cycle).contains(": the subtree contains itself: t0 > "));
    text.insert_str(0, "subtree t0 a0\n");
    let last = count - 1;
    assert_eq!(Node::parse(&format!("{text}use t{last}")).unwrap(), Node::action("a0"));
    // The other way round, and each of many uses leads through all of them.
    let text: String = text.lines().rev().flat_map(|line| [line, "\n"]).collect();
    let many = format!("{text}sequence {{ {} }}", format!("use t{last} ").repeat(4_000));
    assert_eq!(Tree::parse(&many, &library()).unwrap().node_count(), 4_001);
}

#[test]
fn a_large_subtree_is_read_once_however_many_others_use_it() {
    let large = format!("subtree large sequence {{ {} }}\n", "a0 ".repeat(4_000));
    let uses: String = (0..20_000).map(|it| format!("subtree t{it} not use large\n")).collect();
    let tree = Tree::parse(&format!("{large}{uses}use t19999"), &library()).unwrap();
    assert_eq!(tree.node_count(), 4_002);
    // What is too deep, or too much, only where it is used is found there.
    let twice = problem(&format!("{large}{uses}subtree two sequence {{ use large use t1 }}\na0"));
    assert!(twice.starts_with("line 1, ") && twice.ends_with(TOO_LARGE), "{twice}");
    let deep = format!("subtree deep {} a0\n", "not ".repeat(60));
    let deeper = problem(&format!("{deep}subtree two not not not not use deep\na0"));
    assert!(deeper.starts_with("line 1, ") && deeper.ends_with(TOO_DEEP), "{deeper}");
    let as_deep = format!("{deep}subtree two not not not use deep\nuse two");
    assert_eq!(Node::parse(&as_deep).unwrap().to_string().matches("invert").count(), 63);
}

#[test]
fn a_node_that_lies_too_deep_for_the_stack_is_refused_and_dropped() {
    let deep = (0..1_000_000).fold(Node::action("a0"), |node, _| node.invert());
    assert_eq!(Tree::new(&deep, &library()).unwrap_err().to_string(), TOO_DEEP);
    let copy = deep.clone();
    assert!(copy == deep && copy.clone().invert() != deep);
    assert_eq!(copy.to_string(), format!("{}a0", "invert ".repeat(1_000_000)));
    assert_eq!(format!("{copy:?}").len(), copy.to_string().len());
}

#[test]
fn trees_that_make_no_sense_are_refused() {
    let error =
        |text: &str| Tree::new(&Node::parse(text).unwrap(), &library()).unwrap_err().to_string();
    let unknown = |text, what| {
        let said = error(text);
        assert!(said.starts_with(&format!("there is no {what} \"fly\", but \"")), "{said}");
    };
    unknown("fly", "action");
    unknown("sequence { a0 fly? }", "condition");
    unknown("do fly", "effect");
    unknown("priority { fly: a0 }", "score");
    let hint = error("sequence { a0? }");
    assert_eq!(hint, "there is no condition \"a0\", but an action, which has no \"?\"");
    let hint = error("sequence { c0 a0 }");
    assert_eq!(hint, "there is no action \"c0\", but a condition, which is asked by \"c0?\"");
    let many = Tree::parse("fly", &library_with(12)).unwrap_err().to_string();
    assert!(many.ends_with(" more"), "{many}");
    let impossible = "a parallel asks for none of its children, or for more than it has";
    assert_eq!(error("parallel(3, 1) { a0 a1 }"), impossible);
    assert_eq!(error("parallel(0, 1) { a0 a1 }"), impossible);
    assert_eq!(error("parallel_all(3) { a0 a1 }"), impossible);
    let shared = "branches that run at the same time share the action \"a0\"";
    assert_eq!(error("parallel_all(1) { a0 a0 }"), shared);
    let branches = "if_else has what it asks and two branches, not 2 children";
    assert_eq!(error("if_else { c0? a0 }"), branches);
    let bad_weights = "weights are positive numbers, and not all of them 0";
    assert_eq!(error("weighted { 0: a0 0: a1 }"), bad_weights);
    let waits = format!("sequence {{ {} }}", "wait(1) ".repeat(1025));
    assert_eq!(error(&waits), "1025 memories are needed, and an agent has 1024");
    let none = Tree::new(&Node::sequence([]), &library()).unwrap_err();
    assert_eq!(none.to_string(), "a composite has 0 children");
}

#[test]
fn an_agent_that_goes_leaves_nothing_behind_whatever_its_tree_was_at() {
    for seed in 0..60 {
        let random = &mut RandomStream::new(seed);
        let Ok(made) = Tree::new(&random_tree(random, 5), &library()) else { continue };
        let mut stage = Stage::new(made, Threads::None);
        let agents: Vec<_> = (0..8).map(|key| stage.spawn(Board::default(), key)).collect();
        for agent in agents {
            for _ in 0..random.below(3) {
                stage.draw(random);
                stage.tick();
            }
            stage.world.despawn(agent).unwrap();
        }
        stage.tick();
        assert!(stage.world.is_empty(), "seed {seed}");
    }
}

#[test]
fn a_library_tells_what_it_has() {
    let text = format!("{:?}", Library::<()>::new(&actions(0)).condition("idle", |()| true));
    assert!(text.contains("\"a3\"") && text.contains("\"idle\""), "{text}");
}

#[test]
fn an_iterator_may_lie_about_how_many_children_or_points_it_gives() {
    struct Lying<T>(Vec<T>);
    impl<T> Iterator for Lying<T> {
        type Item = T;
        fn next(&mut self) -> Option<T> {
            self.0.pop()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX >> 18, None)
        }
    }
    let children = || Lying(vec![Node::succeed(), Node::fail()]);
    for node in [
        Node::sequence(children()),
        Node::selector(children()),
        Node::sequence_memory(children()),
        Node::selector_memory(children()),
        Node::parallel(1, 1, children()),
        Node::random(children()),
        Node::weighted(Lying(vec![(1.0, Node::succeed()), (2.0, Node::fail())])),
        Node::priority(Lying(vec![("c0", Node::succeed()), ("c1", Node::fail())])),
    ] {
        let text = node.to_string();
        assert!(text.find("fail").unwrap() < text.find("succeed").unwrap(), "{text}");
    }
    let curve = Curve::piecewise(Lying(vec![(1.0, 1.0), (0.0, 0.0)]));
    assert_eq!(curve, Curve::piecewise([(0.0, 0.0), (1.0, 1.0)]));
}

#[test]
fn scores_of_zero_are_equal_whatever_their_sign() {
    #[derive(Component, Clone)]
    struct Rest;
    let actions = ActionSet::new().action("first", Rest).action("second", Rest);
    let library = Library::<()>::new(&actions).score("minus", |()| -0.0).score("plus", |()| 0.0);
    let tree = Tree::parse("priority { minus: first plus: second }", &library).unwrap();
    let mut world = World::new();
    let agent = actions.spawn(&mut world, ()).unwrap();
    TreeAgent::drive(&mut world, agent, &tree, 1).unwrap();
    let think = move |mut trees: Trees<()>| trees.tick(&tree);
    let schedule = formic_ai::action::add(Schedule::builder()).add(think.as_mind());
    let mut schedule = schedule.build(&mut world).unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
    assert!(world.get::<Body>(agent).unwrap().is_running(0));
}
