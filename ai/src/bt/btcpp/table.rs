//! The nodes of BehaviorTree.CPP, and what they are here.

use core::time::Duration;

use crate::action::MindError;
use crate::bt::node::{Node, Op};

/// The nodes of BehaviorTree.CPP that are read: the ports of each, and the node here that is the
/// same, or differs by what the ports say.
pub(super) const NODES: [(&str, &[&str], Option<Op>); 24] = [
    ("Sequence", &[], Some(Op::SequenceMemory)),
    ("ReactiveSequence", &[], Some(Op::Sequence)),
    ("Fallback", &[], Some(Op::SelectorMemory)),
    ("ReactiveFallback", &[], Some(Op::Selector)),
    ("Parallel", &["success_count", "failure_count"], Some(Op::Parallel)),
    ("IfThenElse", &[], None),
    ("WhileDoElse", &[], None),
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
    ("Delay", &["delay_msec"], None),
    ("Timeout", &["msec"], Some(Op::Timeout)),
    ("RunOnce", &["then_skip"], Some(Op::Once)),
    ("Sleep", &["msec"], Some(Op::Wait)),
    ("AlwaysSuccess", &[], Some(Op::Succeed)),
    ("AlwaysFailure", &[], Some(Op::Fail)),
];

/// Nodes of BehaviorTree.CPP that no tree here can stand for, and why.
pub(super) const REFUSED: [(&[&str], &str); 11] = [
    (
        &["SequenceWithMemory", "SequenceStar"],
        "it goes on behind the child that failed, also after a halt",
    ),
    (&["AsyncSequence", "AsyncFallback"], "it leaves the tick after each child"),
    (&["ParallelAll"], "no parallel here goes on when its result is certain"),
    (&["TryCatch"], "no sequence here has a branch for its failure alone"),
    (&["ManualSelector"], "no tree here asks a person"),
    (&["Precondition"], "scripts are not run: write a condition and a ReactiveSequence"),
    (&["SkipUnlessUpdated"], "no node here is skipped"),
    (&["WaitValueUpdate", "WasEntryUpdated"], "the entries of a blackboard have no versions"),
    (&["ConsumeQueue", "LoopInt", "LoopBool", "LoopDouble", "LoopString"], "there are no queues"),
    (&["SubTreePlus"], "this is version 3: write SubTree"),
    (&["include"], "other files are not read: put their trees into this one"),
];

/// Refuses a tick that whole milliseconds cannot tell.
pub(super) fn check_tick(tick: Duration) -> Result<(), MindError> {
    let is_told = tick >= Duration::from_millis(1);
    let problem = || MindError::new(format!("a tick of {tick:?} is shorter than a millisecond"));
    is_told.then_some(()).ok_or_else(problem)
}

/// Why no tree here can stand for a node of theirs, if it is such a one.
pub(super) fn why_refused(id: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(ids, _)| ids.contains(&id)).map(|&(_, why)| why)
}

/// Their `KeepRunningUntilFailure` fails in the end, where our `until_failure` succeeds.
pub(super) fn is_keep_running(node: &Node) -> bool {
    node.op == Op::Invert && node.children[0].op == Op::UntilFailure
}

pub(super) fn has(node: &Node, ops: &[Op]) -> bool {
    ops.contains(&node.op) || node.children.iter().any(|child| has(child, ops))
}

pub(super) fn node_count(node: &Node) -> usize {
    1 + node.children.iter().map(node_count).sum::<usize>()
}

/// Theirs ends with the first child that decides, ours asks the others as well. Why that shows.
pub(super) fn parallel_differs(node: &Node) -> Option<&'static str> {
    let [successes, failures] = node.numbers.map(u64::from);
    if successes + failures <= node.children.len() as u64 {
        return Some("which count is reached first would depend on the order within a tick");
    }
    let is_seen = node.children.iter().skip(1).any(|child| has(child, &[Op::Effect, Op::Once]));
    is_seen.then_some("an effect behind its first child is left out there if one before decides")
}

/// For what one side cannot say as the other does.
pub(super) fn no_counterpart(node: &str, why: &str) -> MindError {
    MindError::about("", node, format!("{node:?} has no counterpart: {why}"))
}
