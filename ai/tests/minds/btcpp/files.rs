//! Refused files, exported files, and the results of damaged ones.

use formic_ai::bt::{Library, Node, Tree};

use super::*;

#[test]
fn what_has_no_counterpart_is_refused_by_name_and_line() {
    refused("<ManualSelector><ActionA/></ManualSelector>", "asks a person");
    refused("<WaitValueUpdate entry=\"{a}\"><ActionA/></WaitValueUpdate>", "have no versions");
    refused("<ParallelAll max_failures=\"2\"><ActionA/></ParallelAll>", "a count of its children");
    refused("<TryCatch><ActionA/></TryCatch>", "two children or more");
    refused(
        "<TryCatch catch_on_halt=\"true\"><ActionA/><ActionB/></TryCatch>",
        "no node is asked when it is halted",
    );
    refused(
        "<Precondition if=\"a &amp;&amp; b\" else=\"SKIPPED\"><ActionA/></Precondition>",
        "skipped",
    );
    refused("<Precondition><ActionA/></Precondition>", "expected if, found none");
    refused("<LoopInt queue=\"1;2\" value=\"{v}\"><ActionA/></LoopInt>", "begins anew each time");
    refused("<LoopInt value=\"{v}\"><ActionA/></LoopInt>", "begins anew each time");
    refused("<LoopInt queue=\"{q}\"><ActionA/></LoopInt>", "there is no leaf");
    refused("<Sequence><ActionA _skipIf=\"a\"/></Sequence>", "\"_skipIf\" has no counterpart");
    refused("<RunOnce><ActionA/></RunOnce>", "it skips");
    refused("<Repeat num_cycles=\"{n}\"><ActionA/></Repeat>", "\"{n}\" is not a number");
    refused("<Repeat num_cycles=\"0\"><ActionA/></Repeat>", "\"0\" is not a number");
    refused("<Sequence wait=\"1\"><ActionA/></Sequence>", "another attribute");
    refused("<IfThenElse><BatteryOK/></IfThenElse>", "expected two or three children, found 1");
    refused("<WhileDoElse><ActionA/><ActionB/></WhileDoElse>", "its first child takes time");
    refused(
        "<Parallel success_count=\"1\" failure_count=\"1\"><ActionA/><ActionB/></Parallel>",
        "order within a tick",
    );
    refused(
        "<Parallel><ActionA/><Script code=\" move_goal:='1;2;3' \"/></Parallel>",
        "an effect behind",
    );
    refused("<Parallel success_count=\"3\"><ActionA/></Parallel>", "a count of its children");
    refused("<Condition ID=\"ActionA\"/>", "there is no leaf \"ActionA\"");
    refused("<Sequense><ActionA/></Sequense>", "did you mean \"Sequence\"?");
    refused("<AktionA/>", "did you mean \"ActionA\"?");
    refused("<ActionA goal=\"1\"/>", "ActionA goal=\\\"1\\\"");
    refused("<Dance><ActionA/></Dance>", "there is no node \"Dance\"");
    refused("<SubTree ID=\"None\"/>", "there is no subtree \"None\"");
    refused("<SubTree ID=\"Main\"/>", "contains itself: Main > Main");
    refused("<Sequence/>", "expected children");
    refused("<Inverter><ActionA/><ActionB/></Inverter>", "expected one child, found 2 nodes");
    let error = parse(
        "<BehaviorTree ID=\"Main\">\n  <Sequence>\n    <Manual/>\n  </Sequence></BehaviorTree>",
    );
    let error = error.unwrap_err();
    assert!(error.to_string().starts_with("line 4, column 5: "), "{error}");
    let version_3 =
        Node::parse_btcpp("<root><BehaviorTree/></root>", &Library::<()>::new(&actions()), TICK);
    assert!(version_3.unwrap_err().to_string().contains("expected <root BTCPP_format"));
    for (text, why) in
        [("random { ActionA }", "no such node"), ("cooldown(3) ActionA", "no such node")]
    {
        let error = Node::parse(text).unwrap().to_btcpp(TICK).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = Node::action("Sequence").to_btcpp(TICK).unwrap_err();
    assert!(error.to_string().starts_with("\"Sequence\" has no counterpart: "), "{error}");
}

fn samples() -> Vec<String> {
    let mission = main_tree(&format!("<Sequence>{MISSION}</Sequence>"));
    let script = main_tree("<ScriptCondition code=\"a &amp;&amp; b\"/>");
    [mission.as_str(), CROSSDOOR, REMAPPING, DECORATORS, SWITCH, &script].map(file).into()
}

#[test]
fn what_is_exported_and_imported_is_the_same_tree() {
    let library = library(&Shared::default());
    for sample in samples() {
        let node = Node::parse_btcpp(&sample, &library, TICK).unwrap();
        let exported = node.to_btcpp(TICK).unwrap();
        let again = Node::parse_btcpp(&exported, &library, TICK).unwrap();
        assert_eq!(again, node, "{exported}");
        rules::check(&exported);
        assert_eq!(again.to_btcpp(TICK).unwrap(), exported);
    }
    let mission = Node::parse_btcpp(&samples()[0], &library, TICK).unwrap();
    let exported = mission.to_btcpp(TICK).unwrap();
    for part in [
        "<MoveBase goal=\"1;2;3\"/>",
        "<Condition ID=\"BatteryOK\">",
        "<Action ID=\"SaySomething\">\n      <input_port name=\"message\"/>",
    ] {
        assert!(exported.contains(part), "{exported}");
    }
    let ours = Node::parse("selector { guard(BatteryOK?) until_failure ActionA ActionB }").unwrap();
    let again = Node::parse_btcpp(&ours.to_btcpp(TICK).unwrap(), &library, TICK).unwrap();
    let said = "selector { sequence { BatteryOK? until_failure ActionA } ActionB }";
    assert_eq!(again, Node::parse(said).unwrap());
}

#[test]
fn line_breaks_in_the_code_of_a_script_are_exported() {
    let set = ActionSet::new().action("ActionA", Deed("ActionA"));
    let name = "Script code=\"a:=1;\n\tb:=2;\r\"";
    let library = Library::<()>::new(&set).effect(name, |()| {});
    let xml = main_tree("<Script code=\"a:=1;&#10;&#9;b:=2;&#13;\"/>");
    let node = Node::parse_btcpp(&file(&xml), &library, TICK).unwrap();
    assert_eq!(node, Node::effect(name));
    let exported = node.to_btcpp(TICK).unwrap();
    assert_eq!(Node::parse_btcpp(&exported, &library, TICK).unwrap(), node, "{exported}");
    rules::check(&exported);
}

#[test]
fn what_behaviortree_cpp_would_not_load_is_not_exported() {
    let refused = |node: Node, why: &str| {
        let error = node.to_btcpp(TICK).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    for name in
        ["enemy.near", "Foo a.b=\"1\"", "Foo name=\"x\"", "Foo _a=\"x\"", "Foo \u{e9}=\"x\""]
    {
        refused(Node::condition(name), "allows no such name");
    }
    let as_in_xml =
        ["a b", "Foo b=\"1\" a=\"2\"", "Foo a='1'", "3d", "Foo a=\"&\"", "Foo a=\"1\" a=\"1\"", ""];
    for name in as_in_xml {
        refused(Node::action(name), "a name is an ID, and then ports, sorted, as in XML");
    }
    for name in ["SubTree", "Action", "root", "TryCatch", "ManualSelector", "LoopInt queue=\"{q}\""]
    {
        refused(Node::action(name), "has a node of its own of this name");
    }
    refused(Node::effect("Script it=\"x\""), "that node of BehaviorTree.CPP has other ports");
    refused(Node::sequence([]), "a composite has 0 children");
    refused(Node::action("a").repeat(1 << 31), "does not count that far");
    refused(Node::wait(u32::MAX), "does not count that far");
    let both = [Node::action("Foo"), Node::condition("Foo")];
    refused(Node::sequence(both), "a condition and an action have one ID");
    refused(Node::action("a").repeat_while("b"), "no such node");

    // The tree is not called as its leaf.
    let exported = Node::action("Main").to_btcpp(TICK).unwrap();
    rules::check(&exported);
    assert!(exported.contains("<BehaviorTree ID=\"Main_\">"), "{exported}");
    let set = ActionSet::new().action("ActionA", Deed("ActionA"));
    let name = "ScriptCondition code=\"a<b &amp;&amp; c>&quot;d&quot;\"";
    let library = Library::<()>::new(&set).condition(name, |()| true);
    let exported = Node::condition(name).to_btcpp(TICK).unwrap();
    rules::check(&exported);
    assert_eq!(Node::parse_btcpp(&exported, &library, TICK).unwrap(), Node::condition(name));
    // An entry in one place is one everywhere.
    let exported =
        Node::sequence(["1", "{a}", "2"].map(|it| Node::action(format!("Go to=\"{it}\""))));
    let exported = exported.to_btcpp(TICK).unwrap();
    assert!(exported.contains("<inout_port name=\"to\"/>"), "{exported}");
    rules::check(&exported);
}

#[test]
fn nodes_that_lie_deeper_than_the_stack_are_not_exported() {
    let deep = (0..1_000_000).fold(Node::action("ActionA"), |node, _| node.invert());
    let error = deep.to_btcpp(TICK).unwrap_err().to_string();
    assert_eq!(error, "the nodes lie more than 64 deep");
    let wide = Node::parallel(1, 2, [deep, Node::action("ActionB")]);
    assert!(wide.to_btcpp(TICK).is_err());
    let deepest = (1..Node::DEPTH_MAX).fold(Node::action("ActionA"), |node, _| node.invert());
    assert!(deepest.to_btcpp(TICK).is_ok());
}

#[test]
fn damaged_files_are_errors_with_a_place_or_trees() {
    let library = library(&Shared::default());
    let mut random = RandomStream::new(7);
    let mut below = |end: usize| usize::try_from(random.below(end as u64)).unwrap();
    let mut errors = 0;
    for sample in samples() {
        for _ in 0..400 {
            let mut chars: Vec<char> = sample.chars().collect();
            for _ in 0..=below(3) {
                if chars.is_empty() {
                    break;
                }
                let (at, other) = (below(chars.len()), below(chars.len()));
                match below(4) {
                    0 => _ = chars.remove(at),
                    1 => chars.insert(at, chars[other]),
                    2 => chars.swap(at, other),
                    _ => chars.truncate(at.max(1)),
                }
            }
            let damaged: String = chars.into_iter().collect();
            if let Err(error) = Node::parse_btcpp(&damaged, &library, TICK) {
                errors += 1;
                let LoadError::Text { line, column, .. } = error else { panic!("{error}") };
                assert!(line >= 1 && column >= 1, "{error}");
                assert!(line <= damaged.lines().count() + 1, "{error}\n{damaged}");
            }
        }
    }
    assert!(errors > 1000, "{errors} errors");
}

#[test]
fn trees_too_deep_or_too_large_are_refused() {
    for depth in [Node::DEPTH_MAX, 100_000] {
        let deep = "<Inverter>".repeat(depth) + "<ActionA/>" + &"</Inverter>".repeat(depth);
        let error = parse(&main_tree(&deep)).unwrap_err().to_string();
        assert!(error.ends_with("the nodes lie more than 64 deep"), "{error}");
    }
    let uses = |id| format!("<SubTree ID=\"{id}\"/>").repeat(10);
    let mut trees = main_tree(&format!("<Sequence>{}</Sequence>", uses(0)));
    for id in 0..9 {
        let inner = uses(id + 1);
        trees += &format!("<BehaviorTree ID=\"{id}\"><Sequence>{inner}</Sequence></BehaviorTree>");
    }
    trees += "<BehaviorTree ID=\"9\"><ActionA/></BehaviorTree>";
    let too_large = "the tree has more than 4096 nodes";
    let error = parse(&trees).unwrap_err().to_string();
    assert!(error.ends_with(too_large), "{error}");
}

#[test]
fn the_main_tree_is_named_or_is_the_only_one_that_no_other_uses() {
    let library = library(&Shared::default());
    let parse = |trees: &str| {
        let text = format!("<root BTCPP_format=\"4\">{trees}</root>");
        Node::parse_btcpp(&text, &library, TICK).map_err(|error| error.to_string())
    };
    // As its tutorials have them: their programs name the tree.
    let trees = CROSSDOOR.replace("\"Main\"", "\"MainTree\"");
    let named = Node::parse_btcpp(&file(CROSSDOOR), &library, TICK).unwrap();
    assert_eq!(parse(&trees), Ok(named));
    let two = main_tree("<ActionA/>") + "<BehaviorTree ID=\"Other\"><ActionB/></BehaviorTree>";
    let none = "<BehaviorTree ID=\"A\"><SubTree ID=\"B\"/></BehaviorTree>\
                <BehaviorTree ID=\"B\"><SubTree ID=\"A\"/></BehaviorTree>";
    for trees in [&two, none] {
        let said = "line 1, column 1: expected main_tree_to_execute, found 2 trees";
        assert_eq!(parse(trees), Err(said.into()));
    }
    let error = parse(&main_tree("<SubTree ID=\"Main\"/>")).unwrap_err();
    assert!(error.ends_with("contains itself: Main > Main"), "{error}");
}

#[test]
fn the_use_of_a_subtree_is_no_node_of_its_own() {
    // Each tree is the use of the next one, in these tags.
    let nested = |uses: usize, open: &str, close: &str| {
        let mut trees = main_tree(&format!("{open}<SubTree ID=\"1\"/>{close}"));
        for id in 1..uses {
            let inner = format!("{open}<SubTree ID=\"{}\"/>{close}", id + 1);
            trees += &format!("<BehaviorTree ID=\"{id}\">{inner}</BehaviorTree>");
        }
        trees + &format!("<BehaviorTree ID=\"{uses}\"><ActionA/></BehaviorTree>")
    };
    let count = |trees: &str| {
        let tree = Tree::parse_btcpp(&file(trees), &library(&Shared::default()), TICK);
        tree.map(|tree| tree.node_count()).map_err(|error| error.to_string())
    };
    for uses in [32, 63] {
        assert_eq!(count(&nested(uses, "<Inverter>", "</Inverter>")), Ok(uses + 1));
    }
    let error = count(&nested(64, "<Inverter>", "</Inverter>")).unwrap_err();
    assert!(error.ends_with("the nodes lie more than 64 deep"), "{error}");
    assert_eq!(count(&nested(64, "", "")), Ok(1));
    let error = count(&nested(65, "", "")).unwrap_err();
    assert!(error.ends_with("more than 64 subtrees lie in each other"), "{error}");

    let wide = |uses| {
        let uses = "<SubTree ID=\"it\"/>".repeat(uses);
        let tree = main_tree(&format!("<Sequence>{uses}</Sequence>"));
        count(&(tree + "<BehaviorTree ID=\"it\"><ActionA/></BehaviorTree>"))
    };
    assert_eq!(wide(4095), Ok(4096));
    let error = wide(4096).unwrap_err();
    assert!(error.ends_with("the tree has more than 4096 nodes"), "{error}");
}

#[test]
fn ticks_that_whole_milliseconds_cannot_tell_are_refused() {
    let library = library(&Shared::default());
    let wait = main_tree("<Sleep msec=\"100\"/>");
    for (tick, said) in [(Duration::ZERO, "0ns"), (Duration::from_micros(999), "999µs")] {
        let error = Node::parse_btcpp(&wait, &library, tick).unwrap_err().to_string();
        assert!(error.ends_with(&format!("a tick of {said} is shorter than a millisecond")));
        assert!(Node::wait(1).to_btcpp(tick).is_err());
    }
    let tick = Duration::from_millis(1);
    let exported = Node::wait(1).to_btcpp(tick).unwrap();
    assert_eq!(Node::parse_btcpp(&exported, &library, tick).unwrap(), Node::wait(1));
}
