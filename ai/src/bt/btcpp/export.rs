//! Trees to XML.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::table::{
    NODES, check_tick, is_keep_running, no_counterpart, parallel_differs, why_refused,
};
use crate::action::MindError;
use crate::bt::node::{Node, Op};

impl Node {
    /// Writes it as an XML file of BehaviorTree.CPP, version 4, that Groot2 opens: with a model of
    /// each leaf. Effects are actions there.
    ///
    /// # Errors
    /// Returns an error if BehaviorTree.CPP has no such node, or gives the name of a leaf to a node of
    /// its own, if nodes lie deeper than [`DEPTH_MAX`](Self::DEPTH_MAX), or if a tick is shorter than a
    /// millisecond.
    pub fn to_btcpp(&self, tick: Duration) -> Result<String, MindError> {
        check_tick(tick)?;
        self.check_depth().map_err(MindError::new)?;
        let mut export = Export { text: String::new(), leaves: BTreeMap::new(), tick };
        export.node(self, 2)?;
        let mut text = String::from(
            "<root BTCPP_format=\"4\" main_tree_to_execute=\"Main\">\n  <BehaviorTree ID=\"Main\">\n",
        );
        text += &export.text;
        text += "  </BehaviorTree>\n  <TreeNodesModel>\n";
        for (id, (kind, ports)) in export.leaves {
            text += &format!("    <{kind} ID=\"{}\">\n", escaped(&id));
            for (port, direction) in ports {
                text += &format!("      <{direction} name=\"{}\"/>\n", escaped(&port));
            }
            text += &format!("    </{kind}>\n");
        }
        Ok(text + "  </TreeNodesModel>\n</root>\n")
    }
}

fn escaped(text: &str) -> String {
    without_breaks(&text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;"))
}

/// In an attribute each of these would be read as a blank.
fn without_breaks(text: &str) -> String {
    text.replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}

/// The ID of a leaf and its ports, as [`named_ports`] puts them together; escaped.
fn split_name(name: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (id, mut rest) = name.split_once(' ').unwrap_or((name, ""));
    let mut ports = Vec::new();
    while !rest.is_empty() {
        let (port, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if port.is_empty() || !port.chars().all(is_name) || value.contains('<') {
            return None;
        }
        ports.push((port, value));
        rest = after.trim_start();
    }
    Some((id, ports))
}

struct Export {
    text: String,
    /// The kind of each leaf, and the kinds of its ports.
    leaves: BTreeMap<String, (&'static str, BTreeMap<String, &'static str>)>,
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
        let [number, failures] = node.numbers;
        let refused = |why| no_counterpart(&node.to_string(), why);
        let same = NODES.iter().find(|(.., op)| *op == Some(node.op)).map(|(id, ..)| *id);
        let tag: String = match (node.op, same) {
            (Op::Guard, _) => "ReactiveSequence".into(),
            (Op::UntilFailure, _) => "Inverter".into(),
            (Op::UntilSuccess, _) => "RetryUntilSuccessful num_attempts=\"-1\"".into(),
            (Op::Action | Op::Effect, _) => self.leaf("Action", &node.names[0])?,
            (Op::Condition, _) => self.leaf("Condition", &node.names[0])?,
            (_, None) => return Err(refused("BehaviorTree.CPP has no such node")),
            // There 0 is no end, here it fails without asking its child.
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
        let refused = |why| Err(no_counterpart(name, why));
        let Some((id, ports)) = split_name(name) else {
            return refused("a name is an ID, and then ports as in XML");
        };
        if NODES.iter().any(|(other, ..)| *other == id) || why_refused(id).is_some() {
            return refused("BehaviorTree.CPP has a node of its own of this name");
        }
        let mut tag = format!("{kind} ID=\"{}\"", escaped(id));
        let of_theirs = ["Script", "ScriptCondition", "SetBlackboard", "UnsetBlackboard"];
        let mut model = BTreeMap::new();
        for (port, value) in ports {
            _ = write!(tag, " {port}=\"{}\"", without_breaks(value));
            let direction = if value.starts_with('{') { "inout_port" } else { "input_port" };
            model.insert(port.into(), direction);
        }
        if !of_theirs.contains(&id) {
            let known = self.leaves.entry(id.into()).or_insert((kind, BTreeMap::new()));
            if known.0 != kind {
                return refused("a condition and an action have one ID");
            }
            known.1.extend(model);
        }
        Ok(tag)
    }
}
