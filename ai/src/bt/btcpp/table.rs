//! The nodes of BehaviorTree.CPP, and their counterparts here.

use core::time::Duration;
use std::fmt::Write;

use crate::action::MindError;
use crate::bt::node::{Node, Op};

/// The nodes of BehaviorTree.CPP that are read: the ports of each, and the equivalent node here, if it
/// does not depend on the ports.
pub(super) const NODES: [(&str, &[&str], Option<Op>); 34] = [
    ("Sequence", &[], Some(Op::SequenceMemory)),
    ("ReactiveSequence", &[], Some(Op::Sequence)),
    ("Fallback", &[], Some(Op::SelectorMemory)),
    ("ReactiveFallback", &[], Some(Op::Selector)),
    ("AsyncSequence", &[], Some(Op::SequenceAsync)),
    ("AsyncFallback", &[], Some(Op::SelectorAsync)),
    ("SequenceWithMemory", &[], Some(Op::SequencePersistent)),
    ("Parallel", &["success_count", "failure_count"], Some(Op::Parallel)),
    ("ParallelAll", &["max_failures"], Some(Op::ParallelAll)),
    ("IfThenElse", &[], Some(Op::IfElseMemory)),
    ("WhileDoElse", &[], Some(Op::IfElse)),
    ("TryCatch", &["catch_on_halt"], None),
    ("Switch2", &["variable", "case_1", "case_2"], None),
    ("Switch3", &["variable", "case_1", "case_2", "case_3"], None),
    ("Switch4", &["variable", "case_1", "case_2", "case_3", "case_4"], None),
    ("Switch5", &["variable", "case_1", "case_2", "case_3", "case_4", "case_5"], None),
    ("Switch6", &["variable", "case_1", "case_2", "case_3", "case_4", "case_5", "case_6"], None),
    ("Inverter", &[], Some(Op::Invert)),
    ("ForceSuccess", &[], Some(Op::ForceSuccess)),
    ("ForceFailure", &[], Some(Op::ForceFailure)),
    ("Repeat", &["num_cycles"], Some(Op::Repeat)),
    ("RetryUntilSuccessful", &["num_attempts"], Some(Op::Retry)),
    ("KeepRunningUntilFailure", &[], None),
    ("Precondition", &["if", "else"], None),
    ("LoopInt", &["queue", "if_empty", "value"], None),
    ("LoopBool", &["queue", "if_empty", "value"], None),
    ("LoopDouble", &["queue", "if_empty", "value"], None),
    ("LoopString", &["queue", "if_empty", "value"], None),
    ("Delay", &["delay_msec"], None),
    ("Timeout", &["msec"], Some(Op::Timeout)),
    ("RunOnce", &["then_skip"], Some(Op::Once)),
    ("Sleep", &["msec"], Some(Op::Wait)),
    ("AlwaysSuccess", &[], Some(Op::Succeed)),
    ("AlwaysFailure", &[], Some(Op::Fail)),
];

/// The nodes of BehaviorTree.CPP that are leaves here as well, and their ports.
pub(super) const LEAVES: [(&str, &[&str]); 4] = [
    ("Script", &["code"]),
    ("ScriptCondition", &["code"]),
    ("SetBlackboard", &["value", "output_key"]),
    ("UnsetBlackboard", &["key"]),
];

/// The nodes that take values out of a queue, one after the other.
pub(super) const LOOPS: [&str; 4] = ["LoopInt", "LoopBool", "LoopDouble", "LoopString"];

/// The name of a leaf with ports: `MoveBase goal="{home}"`.
pub(super) fn name_of_leaf(id: &str, ports: &[(&str, impl AsRef<str>)]) -> String {
    ports.iter().fold(id.into(), |mut name, (port, value)| {
        let value = value.as_ref().replace('&', "&amp;").replace('"', "&quot;");
        _ = write!(name, " {port}=\"{value}\"");
        name
    })
}

/// Nodes of BehaviorTree.CPP without a counterpart here, and the reasons.
pub(super) const REFUSED: [(&[&str], &str); 6] = [
    (&["ManualSelector"], "no tree here asks a person"),
    (
        &["SkipUnlessUpdated", "WaitValueUpdate", "WasEntryUpdated"],
        "the entries of a blackboard have no versions",
    ),
    (
        &["ConsumeQueue"],
        "it asks its child again and again in one tick: write a LoopInt or the like",
    ),
    (&["SequenceStar"], "this is version 3: write SequenceWithMemory"),
    (&["SubTreePlus"], "this is version 3: write SubTree"),
    (&["include"], "other files are not read: put their trees into this one"),
];

/// Checks that a tick is not shorter than a millisecond, the unit of the file.
pub(super) fn check_tick(tick: Duration) -> Result<(), MindError> {
    let is_told = tick >= Duration::from_millis(1);
    let problem = || MindError::new(format!("a tick of {tick:?} is shorter than a millisecond"));
    is_told.then_some(()).ok_or_else(problem)
}

/// The reason why a node of BehaviorTree.CPP has no counterpart here, if it is such a node.
pub(super) fn why_refused(id: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(ids, _)| ids.contains(&id)).map(|&(_, why)| why)
}

/// Matches their `KeepRunningUntilFailure`, which ends as a failure, where `until_failure` here succeeds.
pub(super) fn is_keep_running(node: &Node) -> bool {
    node.op == Op::Invert && node.children[0].op == Op::UntilFailure
}

fn has(node: &Node, ops: &[Op]) -> bool {
    ops.contains(&node.op) || node.children.iter().any(|child| has(child, ops))
}

/// Their parallel ends with the first child that decides; the parallel here ticks the other children as
/// well. Returns the reason why the difference shows, if it does.
pub(super) fn parallel_differs(node: &Node) -> Option<&'static str> {
    if node.op == Op::ParallelAll {
        return None;
    }
    let [successes, failures] = node.numbers.map(u64::from);
    if successes + failures <= node.children.len() as u64 {
        return Some("which count is reached first would depend on the order within a tick");
    }
    let lasting = [Op::Effect, Op::Once, Op::SequencePersistent];
    let is_seen = node.children.iter().skip(1).any(|child| has(child, &lasting));
    is_seen.then_some("an effect behind its first child is left out there if one before decides")
}

/// The error for a node that the other side cannot express.
pub(super) fn no_counterpart(node: &str, why: &str) -> MindError {
    MindError::about("", node, format!("{node:?} has no counterpart: {why}"))
}
