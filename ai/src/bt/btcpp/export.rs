//! Export of trees to XML.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fmt::Write;

use roxmltree::Document;

use super::table::{
    LEAVES, LOOPS, NODES, check_tick, is_keep_running, name_of_leaf, no_counterpart,
    parallel_differs, why_refused,
};
use crate::action::MindError;
use crate::bt::node::{Node, Op};
use crate::bt::tree::check_children;

impl Node {
    /// Writes the tree as an XML file of BehaviorTree.CPP, version 4, that Groot2 opens, with a model of
    /// each leaf. Effects become actions.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * BehaviorTree.CPP has no such node, or its numbers are too small,
    /// * it does not allow a name, or has a node of its own with the name of a leaf,
    /// * a composite has the wrong number of children,
    /// * nodes are deeper than [`DEPTH_MAX`](Self::DEPTH_MAX), or
    /// * a tick is shorter than a millisecond.
    pub fn to_btcpp(&self, tick: Duration) -> Result<String, MindError> {
        check_tick(tick)?;
        self.check_depth().map_err(MindError::new)?;
        let mut export = Export { text: String::new(), leaves: BTreeMap::new(), tick };
        export.node(self, 2)?;
        // The tree must not have the name of a leaf.
        let mut main = String::from("Main");
        while export.leaves.contains_key(&main) {
            main += "_";
        }
        let mut text = format!(
            "<root BTCPP_format=\"4\" main_tree_to_execute=\"{main}\">\n  <BehaviorTree ID=\"{main}\">\n",
        );
        text += &export.text;
        text += "  </BehaviorTree>\n  <TreeNodesModel>\n";
        for (id, (kind, ports)) in export.leaves {
            text += &format!("    <{kind} ID=\"{id}\">\n");
            for (port, is_entry) in ports {
                let direction = if is_entry { "inout_port" } else { "input_port" };
                text += &format!("      <{direction} name=\"{port}\"/>\n");
            }
            text += &format!("    </{kind}>\n");
        }
        Ok(text + "  </TreeNodesModel>\n</root>\n")
    }
}

/// Whether BehaviorTree.CPP allows this as the name of a node or a port: not empty, and none of these
/// characters.
fn is_allowed(name: &str) -> bool {
    let is_bad = |c: char| c.is_ascii_control() || " <>&\"'/\\:*?|.".contains(c);
    !name.is_empty() && !name.contains(is_bad)
}

/// Words of the file format, which cannot be names of nodes.
const RESERVED: [&str; 10] = [
    "root",
    "Root",
    "BehaviorTree",
    "TreeNodesModel",
    "include",
    "SubTree",
    "Action",
    "Condition",
    "Control",
    "Decorator",
];

/// Matches a chain of `if_else` over cases of one variable. Returns the name of a Switch with its ports,
/// and its children.
fn switch(mut node: &Node) -> Option<(String, Vec<&Node>)> {
    let (mut cases, mut branches, mut variable) = (String::new(), Vec::new(), None);
    while let (Op::IfElse, [ask, then, otherwise]) = (node.op, &node.children[..]) {
        let name = ask.names.first().filter(|_| ask.op == Op::Condition && branches.len() < 6);
        let ports = name.and_then(|name| name.strip_prefix("SwitchCase case=\""));
        let Some((case, of)) = ports.and_then(|ports| ports.split_once('"')) else { break };
        if *variable.get_or_insert(of) != of {
            break;
        }
        branches.push(then);
        _ = write!(cases, " case_{}=\"{case}\"", branches.len());
        node = otherwise;
    }
    let name = format!("Switch{}{cases}{}", branches.len(), variable.unwrap_or_default());
    branches.push(node);
    (branches.len() > 2).then_some((name, branches))
}

/// Matches a loop over a queue. Returns its name with its ports, which is that of the effect that takes a
/// value out, and its child.
fn queue_loop(node: &Node) -> Option<(&str, &Node)> {
    let body = node.children.first().filter(|_| node.op == Op::RepeatWhile)?;
    let (Op::SequenceMemory, [next, child]) = (body.op, &body.children[..]) else { return None };
    let name = next.names.first().filter(|_| next.op == Op::Effect)?;
    let is_one = LOOPS.contains(&name.split(' ').next()?);
    (is_one && name.starts_with(&node.names[0])).then_some((name, child))
}

/// The tag of an element, its ID, and its ports, each with whether its value is an entry of the
/// blackboard.
struct Tag {
    text: String,
    id: String,
    ports: Vec<(String, bool)>,
}

impl Tag {
    /// The tag of a leaf, if reading it yields the same name.
    fn new(name: &str) -> Result<Self, MindError> {
        // In an attribute these would be read as a space, or as a tag.
        let text = name.replace('<', "&lt;").replace('\n', "&#10;");
        let text = text.replace('\r', "&#13;").replace('\t', "&#9;");
        let element = format!("<{text}/>");
        let document = Document::parse(&element);
        let found = document.as_ref().ok().map(Document::root_element).map(|root| {
            let ports = root.attributes().map(|port| (port.name(), port.value()));
            let mut ports: Vec<_> = ports.collect();
            ports.sort_unstable();
            (root.tag_name().name(), ports)
        });
        let Some((id, ports)) = found.filter(|(id, ports)| name_of_leaf(id, ports) == name) else {
            let why = "a name is an ID, and then ports, sorted, as in XML";
            return Err(no_counterpart(name, why));
        };
        let is_port = |port: &str| port.starts_with(|c: char| c.is_ascii_alphabetic());
        let are_ports = ports
            .iter()
            .all(|(port, _)| is_port(port) && is_allowed(port) && !["name", "ID"].contains(port));
        if !is_allowed(id) || !are_ports {
            let why = "BehaviorTree.CPP allows no such name of a node or a port";
            return Err(no_counterpart(name, why));
        }
        let ports = ports.iter().map(|(port, value)| ((*port).into(), value.starts_with('{')));
        Ok(Self { id: id.into(), ports: ports.collect(), text })
    }

    /// The tag of a node of BehaviorTree.CPP, if it has these ports.
    fn with_ports(name: &str, known: &[&str]) -> Result<Self, MindError> {
        let tag = Self::new(name)?;
        let are_known = tag.ports.iter().all(|(port, _)| known.contains(&&port[..]));
        let why = "that node of BehaviorTree.CPP has other ports";
        are_known.then_some(tag).ok_or_else(|| no_counterpart(name, why))
    }
}

/// The ports of a node of BehaviorTree.CPP that is represented by its ports here.
fn ports_of(name: &str) -> &'static [&'static str] {
    let id = name.split(' ').next();
    NODES.iter().find(|(other, ..)| Some(*other) == id).map_or(&[], |(_, ports, _)| ports)
}

struct Export {
    text: String,
    /// The kind of each leaf and its ports, each with whether its value is an entry of the blackboard.
    leaves: BTreeMap<String, (&'static str, BTreeMap<String, bool>)>,
    tick: Duration,
}

impl Export {
    fn milliseconds(&self, ticks: u32) -> u128 {
        self.tick.as_nanos() * u128::from(ticks) / 1_000_000
    }

    fn node(&mut self, node: &Node, level: usize) -> Result<(), MindError> {
        if is_keep_running(node) {
            return self.over("KeepRunningUntilFailure", node.children[0].children.iter(), level);
        }
        check_children(node)?;
        if let Some((name, branches)) = switch(node) {
            return self.over(&Tag::with_ports(&name, ports_of(&name))?.text, branches, level);
        }
        if let Some((name, child)) = queue_loop(node) {
            return self.over(&Tag::with_ports(name, ports_of(name))?.text, [child], level);
        }
        let [number, failures] = node.numbers;
        let refused = |why| no_counterpart(&node.to_string(), why);
        let same = NODES.iter().find(|(.., op)| *op == Some(node.op)).map(|(id, ..)| *id);
        let is_counted = matches!(node.op, Op::Repeat | Op::Retry) && number > i32::MAX as u32
            || matches!(node.op, Op::Timeout | Op::Wait)
                && self.milliseconds(number) > u128::from(u32::MAX);
        if is_counted {
            return Err(refused("BehaviorTree.CPP does not count that far"));
        }
        let tag: String = match (node.op, same) {
            (Op::Guard, _) => "ReactiveSequence".into(),
            (Op::UntilFailure, _) => "Inverter".into(),
            (Op::UntilSuccess, _) => "RetryUntilSuccessful num_attempts=\"-1\"".into(),
            (Op::Action | Op::Effect, _) => self.leaf("Action", &node.names[0])?,
            (Op::Condition, _) => self.leaf("Condition", &node.names[0])?,
            (_, None) => return Err(refused("BehaviorTree.CPP has no such node")),
            // There 0 is no limit; here the node fails without ticking its child.
            (Op::Timeout, _) if number == 0 => return self.over("AlwaysFailure", [], level),
            (Op::Repeat, Some(id)) if number == 0 => format!("{id} num_cycles=\"-1\""),
            (Op::Repeat, Some(id)) => format!("{id} num_cycles=\"{number}\""),
            (Op::Retry, Some(id)) => format!("{id} num_attempts=\"{}\"", number.max(1)),
            (Op::Timeout | Op::Wait, Some(id)) => {
                format!("{id} msec=\"{}\"", self.milliseconds(number))
            }
            (Op::Once, Some(id)) => format!("{id} then_skip=\"false\""),
            (Op::Parallel, Some(id)) => match parallel_differs(node) {
                Some(why) => return Err(refused(why)),
                None => format!("{id} success_count=\"{number}\" failure_count=\"{failures}\""),
            },
            (Op::ParallelAll, Some(id)) => format!("{id} max_failures=\"{number}\""),
            (_, Some(id)) => id.into(),
        };
        match node.op {
            Op::Guard => {
                let ask = Node::condition(&node.names[0][..]);
                self.over(&tag, [&ask].into_iter().chain(&node.children), level)
            }
            Op::UntilFailure => {
                let keep_running = Node::until_failure(node.children[0].clone()).invert();
                self.over(&tag, [&keep_running], level)
            }
            _ => self.over(&tag, &node.children, level),
        }
    }

    fn over<'n>(
        &mut self,
        tag: &str,
        children: impl IntoIterator<Item = &'n Node>,
        level: usize,
    ) -> Result<(), MindError> {
        let indent = level * 2;
        let mut children = children.into_iter().peekable();
        if children.peek().is_none() {
            self.text += &format!("{:indent$}<{tag}/>\n", "");
            return Ok(());
        }
        self.text += &format!("{:indent$}<{tag}>\n", "");
        for child in children {
            self.node(child, level + 1)?;
        }
        let id = tag.split(' ').next().unwrap_or_default();
        self.text += &format!("{:indent$}</{id}>\n", "");
        Ok(())
    }

    fn leaf(&mut self, kind: &'static str, name: &str) -> Result<String, MindError> {
        let tag = Tag::new(name)?;
        if let Some((_, ports)) = LEAVES.iter().find(|(id, _)| *id == tag.id) {
            return Ok(Tag::with_ports(name, ports)?.text);
        }
        let is = |id: &str| id == tag.id;
        let mut theirs = NODES.iter().map(|(id, ..)| *id).chain(RESERVED);
        if theirs.any(is) || why_refused(&tag.id).is_some() {
            let why = "BehaviorTree.CPP has a node of its own of this name";
            return Err(no_counterpart(name, why));
        }
        let known = self.leaves.entry(tag.id).or_insert((kind, BTreeMap::new()));
        if known.0 != kind {
            return Err(no_counterpart(name, "a condition and an action have one ID"));
        }
        for (port, is_entry) in tag.ports {
            *known.1.entry(port).or_default() |= is_entry;
        }
        Ok(tag.text)
    }
}
