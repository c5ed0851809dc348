//! The demands of BehaviorTree.CPP's parser on a file, as its `xml_parsing.cpp` and
//! `docs/name_validation_rules.md` have it.

use std::collections::BTreeMap;

use roxmltree::{Document, Node as Element};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Leaf,
    Control,
    Decorator,
}

use Kind::{Control, Decorator, Leaf};

/// What the value of a port is converted to.
#[derive(Clone, Copy)]
enum Type {
    Any,
    Bool,
    Int,
    Unsigned,
}

use Type::{Any, Bool, Int, Unsigned};

type Ports = BTreeMap<String, Type>;

/// The nodes that its factory registers by itself, with their ports, but for the switches.
const BUILT_IN: [(&str, Kind, &[(&str, Type)]); 37] = [
    ("Fallback", Control, &[]),
    ("AsyncFallback", Control, &[]),
    ("Sequence", Control, &[]),
    ("AsyncSequence", Control, &[]),
    ("SequenceWithMemory", Control, &[]),
    ("Parallel", Control, &[("success_count", Int), ("failure_count", Int)]),
    ("ParallelAll", Control, &[("max_failures", Int)]),
    ("ReactiveSequence", Control, &[]),
    ("ReactiveFallback", Control, &[]),
    ("IfThenElse", Control, &[]),
    ("WhileDoElse", Control, &[]),
    ("TryCatch", Control, &[("catch_on_halt", Bool)]),
    ("Inverter", Decorator, &[]),
    ("RetryUntilSuccessful", Decorator, &[("num_attempts", Int)]),
    ("KeepRunningUntilFailure", Decorator, &[]),
    ("Repeat", Decorator, &[("num_cycles", Int)]),
    ("Timeout", Decorator, &[("msec", Unsigned)]),
    ("Delay", Decorator, &[("delay_msec", Unsigned)]),
    ("RunOnce", Decorator, &[("then_skip", Bool)]),
    ("ForceSuccess", Decorator, &[]),
    ("ForceFailure", Decorator, &[]),
    ("AlwaysSuccess", Leaf, &[]),
    ("AlwaysFailure", Leaf, &[]),
    ("Script", Leaf, &[("code", Any)]),
    ("ScriptCondition", Leaf, &[("code", Any)]),
    ("SetBlackboard", Leaf, &[("value", Any), ("output_key", Any)]),
    ("Sleep", Leaf, &[("msec", Unsigned)]),
    ("UnsetBlackboard", Leaf, &[("key", Any)]),
    ("SubTree", Leaf, &[]),
    ("Precondition", Decorator, &[("if", Any), ("else", Any)]),
    ("LoopInt", Decorator, &[("queue", Any), ("if_empty", Any), ("value", Any)]),
    ("LoopBool", Decorator, &[("queue", Any), ("if_empty", Any), ("value", Any)]),
    ("LoopDouble", Decorator, &[("queue", Any), ("if_empty", Any), ("value", Any)]),
    ("LoopString", Decorator, &[("queue", Any), ("if_empty", Any), ("value", Any)]),
    ("WasEntryUpdated", Leaf, &[("entry", Any)]),
    ("SkipUnlessUpdated", Decorator, &[("entry", Any)]),
    ("WaitValueUpdate", Decorator, &[("entry", Any)]),
];

/// The name of a node, or of a port.
fn check_name(name: &str) {
    let is_bad = |c: char| c.is_ascii_control() || " <>&\"'/\\:*?|.".contains(c);
    assert!(!name.is_empty() && !name.contains(is_bad), "{name:?}");
    assert!(name != "root" && name != "Root", "{name:?} is reserved");
}

fn elements<'a, 'x>(of: Element<'a, 'x>) -> impl Iterator<Item = Element<'a, 'x>> {
    of.children().filter(Element::is_element)
}

/// Panics if BehaviorTree.CPP would not load this file.
pub(crate) fn check(xml: &str) {
    let document = Document::parse(xml).unwrap();
    let root = document.root_element();
    assert_eq!((root.tag_name().name(), root.attribute("BTCPP_format")), ("root", Some("4")));
    let mut registered: BTreeMap<String, (Kind, Ports)> = BTreeMap::new();
    for (id, kind, ports) in BUILT_IN {
        let ports = ports.iter().map(|&(port, of)| (port.into(), of)).collect();
        registered.insert(id.into(), (kind, ports));
    }
    for count in 2..=6 {
        let cases = (1..=count).map(|case| format!("case_{case}"));
        let ports = cases.chain(["variable".into()]).map(|port| (port, Any)).collect();
        registered.insert(format!("Switch{count}"), (Control, ports));
    }
    // Groot2 wants exactly one, behind the trees.
    let models = elements(root).last().unwrap();
    assert_eq!(models.tag_name().name(), "TreeNodesModel");
    for model in elements(models) {
        assert!(["Action", "Condition"].contains(&model.tag_name().name()));
        let mut ports = Ports::new();
        for port in elements(model) {
            assert!(["input_port", "inout_port"].contains(&port.tag_name().name()));
            let name = port.attribute("name").unwrap();
            check_name(name);
            assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()), "{name}");
            assert!(name != "name" && name != "ID", "{name} is reserved");
            assert!(ports.insert(name.into(), Any).is_none());
        }
        let id = model.attribute("ID").unwrap();
        check_name(id);
        assert!(registered.insert(id.into(), (Leaf, ports)).is_none(), "{id} is there twice");
    }
    let trees: Vec<_> = elements(root).filter(|it| *it != models).collect();
    let main = root.attribute("main_tree_to_execute");
    assert!(trees.iter().any(|tree| tree.attribute("ID") == main));
    for tree in trees {
        assert_eq!(tree.tag_name().name(), "BehaviorTree");
        let id = tree.attribute("ID").unwrap();
        check_name(id);
        assert!(!registered.contains_key(id), "{id} is a node as well");
        assert_eq!(elements(tree).count(), 1);
        elements(tree).for_each(|node| check_node(node, 1, &registered));
    }
}

fn check_node(node: Element<'_, '_>, depth: usize, registered: &BTreeMap<String, (Kind, Ports)>) {
    assert!(depth <= 256, "too deep");
    let id = node.tag_name().name();
    check_name(id);
    // A child that is written as <Action ID="Id"/> would be refused under a ReactiveSequence.
    let Some((kind, ports)) = registered.get(id) else { panic!("{id} is not registered") };
    let count = elements(node).count();
    match kind {
        Leaf => assert_eq!(count, 0, "{id}"),
        Decorator => assert_eq!(count, 1, "{id}"),
        Control => {
            let (least, most) = match id {
                "TryCatch" => (2, usize::MAX),
                "IfThenElse" | "WhileDoElse" => (2, 3),
                _ if id.starts_with("Switch") => (ports.len(), ports.len()),
                _ => (1, usize::MAX),
            };
            assert!((least..=most).contains(&count), "{id} has {count} children");
        }
    }
    for attribute in node.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        let Some(of) = ports.get(name) else { panic!("{id} has no port {name}") };
        match of {
            _ if value.starts_with('{') && value.ends_with('}') => {}
            Any => {}
            Bool => assert!(["true", "false", "1", "0"].contains(&value), "{name}={value}"),
            Int => _ = value.parse::<i32>().unwrap(),
            Unsigned => _ = value.parse::<u32>().unwrap(),
        }
    }
    elements(node).for_each(|child| check_node(child, depth + 1, registered));
}
