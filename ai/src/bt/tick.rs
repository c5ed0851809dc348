//! One tick of a tree for one agent.

use formic_ecs::{QueryData, RandomStream};

use super::node::Op;
use super::record::Trace;
use super::tree::{FAILURE, NO_SLOT, SUCCESS, ThreadedLeaves, Tree};
use crate::action::{ActionResult, Body};
use crate::bits::Bits;
use ActionResult::{Failed, Running, Success};

/// The memory of a tree for one agent, apart from the memories of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State<const N: usize> {
    /// The memories whose nodes were running at the end of the last tick.
    pub(super) active: Bits<N>,
    /// The number of ticks.
    pub(super) ticks: u32,
    /// The node that ticks start at; 0, the root, if no `stay_until` is running.
    pub(super) entry: u16,
}

/// Ticks the tree, and halts what was running and was not reached this time.
pub(super) fn tick_tree<'i, const N: usize, Q: QueryData, T: Trace>(
    tree: &Tree<Q>,
    state: &mut State<N>,
    memories: &mut [u64],
    body: &mut Body,
    item: &mut Q::Item<'i>,
    trace: &mut T,
) -> ActionResult {
    let ticks = state.ticks;
    state.ticks = ticks.wrapping_add(1);
    let mut run = Run {
        tree,
        memories,
        body,
        item,
        trace,
        ticks,
        was_active: state.active,
        active: Bits::NONE,
        visited: Bits::NONE,
        entry: 0,
        done: None,
    };
    // A save may come from another tree, so the entry is checked before it is used.
    let entry = usize::from(state.entry);
    if entry != 0 && tree.nodes.get(entry).is_some_and(|node| matches!(node.op, Op::StayUntil)) {
        let node = tree.nodes[entry];
        let span = tree.spans[usize::from(node.extra)];
        let is_over = run.ask(node.argument);
        if !is_over {
            let result = run.node(entry + 1);
            if result == Running {
                // Nodes outside the subtree keep their state.
                state.active.remove(&span.slots);
                state.active.add(&run.active);
                if run.entry != 0 {
                    state.entry = run.entry;
                }
                run.body.halt_all_but(&span.actions, &run.visited);
                return Running;
            }
            run.done = Some((entry, result));
        }
    }
    let result = run.node(0);
    state.active = run.active;
    state.entry = run.entry;
    run.body.halt_all_but(&tree.whole.actions, &run.visited);
    result
}

/// [`tick_tree`] for a tree in which no node remembers anything.
#[inline]
pub(super) fn tick_leaves<const N: usize, Q: QueryData, T: Trace>(
    tree: &Tree<Q>,
    jumps: &ThreadedLeaves,
    body: &mut Body,
    item: &mut Q::Item<'_>,
    trace: &mut T,
) -> ActionResult {
    let entries = &*tree.library.entries;
    let mut visited = Bits::<N>::NONE;
    let mut at = jumps.first;
    let result = loop {
        if at >= FAILURE {
            break of(at == SUCCESS);
        }
        let jump = jumps.leaves[usize::from(at)];
        let argument = jump.argument as usize;
        let holds = match jump.op {
            Op::Condition => (entries.conditions[argument].1)(item),
            Op::Action => {
                visited.insert(argument);
                let result = body.drive(argument);
                if result == Running {
                    trace.leaf(jump.op, jump.argument, Running);
                    break Running;
                }
                result == Success
            }
            _ => {
                (entries.effects[argument].1)(item);
                true
            }
        };
        trace.leaf(jump.op, jump.argument, of(holds));
        at = if holds { jump.success } else { jump.failure };
    };
    body.halt_all_but(&tree.whole.actions, &visited);
    result
}

struct Run<'r, 'i, const N: usize, Q: QueryData, T> {
    tree: &'r Tree<Q>,
    memories: &'r mut [u64],
    body: &'r mut Body,
    item: &'r mut Q::Item<'i>,
    trace: &'r mut T,
    ticks: u32,
    was_active: Bits<N>,
    /// The memories whose nodes run in this tick.
    active: Bits<N>,
    /// The actions that were reached in this tick.
    visited: Bits<N>,
    /// The innermost `stay_until` that runs.
    entry: u16,
    /// A `stay_until` that ended in this tick, and its result.
    done: Option<(usize, ActionResult)>,
}

impl<const N: usize, Q: QueryData, T: Trace> Run<'_, '_, N, Q, T> {
    #[inline]
    fn ask(&mut self, condition: u32) -> bool {
        let holds = (self.tree.library.entries.conditions[condition as usize].1)(self.item);
        self.trace.leaf(Op::Condition, condition, of(holds));
        holds
    }

    fn node(&mut self, at: usize) -> ActionResult {
        let node = self.tree.nodes[at];
        let end = usize::from(node.end);
        match node.op {
            Op::Sequence => self.children(at + 1, end, Success),
            Op::Selector => self.children(at + 1, end, Failed),
            Op::Action => {
                self.visited.insert(node.argument as usize);
                let result = self.body.drive(node.argument as usize);
                self.trace.leaf(Op::Action, node.argument, result);
                result
            }
            Op::Condition => of(self.ask(node.argument)),
            Op::Effect => {
                (self.tree.library.entries.effects[node.argument as usize].1)(self.item);
                self.trace.leaf(Op::Effect, node.argument, Success);
                Success
            }
            Op::Succeed => Success,
            Op::Fail => Failed,
            Op::IfElse => self.branch(at, at + 1).1,
            Op::Invert => match self.node(at + 1) {
                Success => Failed,
                Failed => Success,
                Running => Running,
            },
            Op::ForceSuccess => forced(self.node(at + 1), Success),
            Op::ForceFailure => forced(self.node(at + 1), Failed),
            Op::UntilSuccess => match self.node(at + 1) {
                Success => Success,
                Failed | Running => Running,
            },
            Op::UntilFailure => match self.node(at + 1) {
                Failed => Success,
                Success | Running => Running,
            },
            Op::Guard => {
                if self.ask(node.argument) {
                    self.node(at + 1)
                } else {
                    Failed
                }
            }
            Op::StayUntil => self.stay(at),
            Op::Priority => self.by_priority(at, end),
            _ => self.remembering(at, end),
        }
    }

    /// Ticks the children from `child` on, as long as they return `next`.
    #[inline]
    fn children(&mut self, mut child: usize, end: usize, next: ActionResult) -> ActionResult {
        while child < end {
            let result = self.node(child);
            if result != next {
                return result;
            }
            child = usize::from(self.tree.nodes[child].end);
        }
        next
    }

    fn stay(&mut self, at: usize) -> ActionResult {
        let node = self.tree.nodes[at];
        if let Some((_, result)) = self.done.filter(|&(done, _)| done == at) {
            return result;
        }
        if self.ask(node.argument) {
            return Failed;
        }
        let result = self.node(at + 1);
        // An inner `stay_until` takes precedence.
        if result == Running && self.entry == 0 {
            self.entry = u16::try_from(at).unwrap_or(0);
        }
        result
    }

    fn by_priority(&mut self, at: usize, end: usize) -> ActionResult {
        let first = self.tree.nodes[at].argument as usize;
        let mut ranked = [(0_usize, 0_f32); 32];
        let mut count = 0;
        let mut child = at + 1;
        while child < end {
            let score = self.tree.scores[first + count] as usize;
            let score = (self.tree.library.entries.scores[score].1)(self.item);
            // Zeros count as equal, whatever their sign.
            ranked[count] = (child, if score.is_nan() { f32::NEG_INFINITY } else { score + 0.0 });
            count += 1;
            child = usize::from(self.tree.nodes[child].end);
        }
        // The sort is stable: equal scores stay in the order of the text.
        ranked[..count].sort_by(|a, b| b.1.total_cmp(&a.1));
        for &(child, _) in &ranked[..count] {
            let result = self.node(child);
            if result != Failed {
                return result;
            }
        }
        Failed
    }

    /// Ticks a node that has a memory. The memory is valid if the node was running at the end of the last
    /// tick; otherwise the node starts anew.
    fn remembering(&mut self, at: usize, end: usize) -> ActionResult {
        let node = self.tree.nodes[at];
        debug_assert!(node.slot != NO_SLOT, "it has a memory");
        let slot = usize::from(node.slot);
        let is_fresh = !self.was_active.has(slot);
        let result = match node.op {
            Op::SequenceMemory
            | Op::SelectorMemory
            | Op::SequenceAsync
            | Op::SelectorAsync
            | Op::SequencePersistent => self.resume(at, end, slot, is_fresh),
            Op::IfElseMemory => {
                let known = if is_fresh { at + 1 } else { low(self.memories[slot]) as usize };
                let (child, result) = self.branch(at, known);
                self.memories[slot] = child as u64;
                result
            }
            Op::Parallel | Op::ParallelAll => self.parallel(at, end, slot, is_fresh),
            Op::Random | Op::Weighted => self.drawn(at, end, slot, is_fresh),
            Op::Repeat | Op::Retry => self.again(at, slot, is_fresh),
            Op::RepeatWhile => self.again_while(at, slot, is_fresh),
            Op::Timeout | Op::Wait => {
                if is_fresh {
                    self.memories[slot] = u64::from(self.ticks);
                }
                let ticks = self.ticks.wrapping_sub(low(self.memories[slot]));
                match (node.op, ticks >= node.argument) {
                    (Op::Wait, true) => Success,
                    (Op::Wait, false) => Running,
                    (_, true) => Failed,
                    (_, false) => self.node(at + 1),
                }
            }
            Op::Cooldown => self.cooling(at, slot, is_fresh),
            _ => self.once(at, slot),
        };
        if result == Running {
            self.active.insert(slot);
        }
        result
    }

    /// Sequences and selectors with memory. The memory is the child to continue with. For the async ones,
    /// a higher bit says that the child was running. For the persistent one, the memory survives a
    /// failure or a halt.
    fn resume(&mut self, at: usize, end: usize, slot: usize, is_fresh: bool) -> ActionResult {
        const WAS_RUNNING: u64 = 1 << 32;
        let op = self.tree.nodes[at].op;
        let next = match op {
            Op::SelectorMemory | Op::SelectorAsync => Failed,
            _ => Success,
        };
        let is_async = !matches!(op, Op::SequenceMemory | Op::SelectorMemory);
        let begins = is_fresh && op != Op::SequencePersistent;
        let memory = if begins { 0 } else { self.memories[slot] };
        let known = low(memory) as usize;
        let mut child = if (at + 1..end).contains(&known) { known } else { at + 1 };
        let mut was_running = !is_fresh && memory & WAS_RUNNING != 0;
        while child < end {
            let result = self.node(child);
            if result != next {
                self.memories[slot] = child as u64 | if is_async { WAS_RUNNING } else { 0 };
                return result;
            }
            child = usize::from(self.tree.nodes[child].end);
            if is_async && !was_running && child < end {
                self.memories[slot] = child as u64;
                return Running;
            }
            was_running = false;
        }
        if op == Op::SequencePersistent {
            self.memories[slot] = 0;
        }
        next
    }

    /// Ticks an `if_else`, and returns the child that was ticked last and its result. If `known` is one
    /// of the two branches, that branch continues; otherwise the result of the first child chooses.
    fn branch(&mut self, at: usize, known: usize) -> (usize, ActionResult) {
        let then = usize::from(self.tree.nodes[at + 1].end);
        let otherwise = usize::from(self.tree.nodes[then].end);
        let child = if known == then || known == otherwise {
            known
        } else {
            match self.node(at + 1) {
                Running => return (at + 1, Running),
                Success => then,
                Failed => otherwise,
            }
        };
        (child, self.node(child))
    }

    /// The memory has a bit for each child that has succeeded, and 32 bits higher one for each that has
    /// failed.
    fn parallel(&mut self, at: usize, end: usize, slot: usize, is_fresh: bool) -> ActionResult {
        let node = self.tree.nodes[at];
        let mut ended = if is_fresh { 0 } else { self.memories[slot] };
        let (mut child, mut bit, mut count) = (at + 1, 1_u64, 0_u32);
        while child < end {
            if ended & (bit | bit << 32) == 0 {
                match self.node(child) {
                    Running => {}
                    Success => ended |= bit,
                    Failed => ended |= bit << 32,
                }
            }
            (bit, count) = (bit << 1, count + 1);
            child = usize::from(self.tree.nodes[child].end);
        }
        self.memories[slot] = ended;
        let successes = (ended & u64::from(u32::MAX)).count_ones();
        let failures = (ended >> 32).count_ones();
        if node.op == Op::ParallelAll {
            let have_ended = successes + failures == count;
            return if have_ended { of(failures < node.argument) } else { Running };
        }
        let span = self.tree.spans[usize::from(node.extra)];
        let result = if successes >= node.argument {
            Success
        } else if failures >= span.failures || count - failures < node.argument {
            Failed
        } else {
            return Running;
        };
        // Children that are still running are halted: they count as not reached.
        self.visited.remove(&span.actions);
        self.active.remove(&span.slots);
        if (at..end).contains(&usize::from(self.entry)) {
            self.entry = 0;
        }
        result
    }

    /// The memory has a bit for each child that has failed, and above them the index of the child that is
    /// running. The next memory is the state of the random numbers.
    fn drawn(&mut self, at: usize, end: usize, slot: usize, is_fresh: bool) -> ActionResult {
        const TRIED: u64 = (1 << 32) - 1;
        let mut tried = if is_fresh { 0 } else { self.memories[slot] & TRIED };
        let mut running = (!is_fresh).then(|| self.memories[slot] >> 32);
        loop {
            let Some(chosen) = running.take().or_else(|| self.draw(at, end, slot, tried)) else {
                return Failed;
            };
            let mut child = at + 1;
            for _ in 0..chosen {
                if child >= end {
                    break;
                }
                child = usize::from(self.tree.nodes[child].end);
            }
            if child >= end {
                continue;
            }
            match self.node(child) {
                Failed => tried |= 1 << chosen,
                result => {
                    self.memories[slot] = tried | chosen << 32;
                    return result;
                }
            }
        }
    }

    /// Draws one of the children that were not tried, and returns its index.
    fn draw(&mut self, at: usize, end: usize, slot: usize, tried: u64) -> Option<u64> {
        let node = self.tree.nodes[at];
        let mut random = RandomStream::new(self.memories[slot + 1]);
        let point = random.next_f32();
        self.memories[slot + 1] = random.state();
        let weight = |place: u64| match node.op {
            Op::Weighted => self.tree.weights[node.argument as usize + low(place) as usize],
            _ => 1.0,
        };
        let mut open = [0_u64; 32];
        let (mut count, mut total) = (0, 0.0);
        let (mut child, mut place) = (at + 1, 0_u64);
        while child < end {
            if tried >> place & 1 == 0 && weight(place) > 0.0 {
                open[count] = place;
                (count, total) = (count + 1, total + weight(place));
            }
            place += 1;
            child = usize::from(self.tree.nodes[child].end);
        }
        let mut left = point * total;
        let chosen = open[..count].iter().copied().find(|&place| {
            left -= weight(place);
            left < 0.0
        });
        // A remainder left by rounding goes to the last child.
        chosen.or_else(|| open[..count].last().copied())
    }

    fn again(&mut self, at: usize, slot: usize, is_fresh: bool) -> ActionResult {
        let node = self.tree.nodes[at];
        if is_fresh {
            self.memories[slot] = 0;
        }
        let result = self.node(at + 1);
        let counted = if node.op == Op::Repeat { Success } else { Failed };
        if result != counted {
            return result;
        }
        self.memories[slot] = self.memories[slot].wrapping_add(1);
        let is_last = self.memories[slot] >= u64::from(node.argument);
        match node.op {
            // 0 stands for no limit.
            Op::Repeat if node.argument == 0 => Running,
            _ if is_last => counted,
            _ => Running,
        }
    }

    /// The memory is 1 if the child has succeeded.
    fn again_while(&mut self, at: usize, slot: usize, is_fresh: bool) -> ActionResult {
        if (is_fresh || self.memories[slot] == 1) && !self.ask(self.tree.nodes[at].argument) {
            return Success;
        }
        let result = self.node(at + 1);
        self.memories[slot] = u64::from(result == Success);
        if result == Success { Running } else { result }
    }

    /// The memory is the tick in which the child ended, with a higher bit that says that it is set. It
    /// survives a halt.
    fn cooling(&mut self, at: usize, slot: usize, is_fresh: bool) -> ActionResult {
        const SET: u64 = 1 << 32;
        let node = self.tree.nodes[at];
        let ended = self.memories[slot];
        let ticks = self.ticks.wrapping_sub(low(ended));
        if is_fresh && ended & SET != 0 && ticks <= node.argument {
            return Failed;
        }
        let result = self.node(at + 1);
        if result != Running {
            self.memories[slot] = SET | u64::from(self.ticks);
        }
        result
    }

    /// The memory is the result of the child, and survives a halt.
    fn once(&mut self, at: usize, slot: usize) -> ActionResult {
        match self.memories[slot] {
            1 => return Success,
            2 => return Failed,
            _ => {}
        }
        let result = self.node(at + 1);
        // `Running` is 0, so that the child is ticked again.
        self.memories[slot] = result as u64;
        result
    }
}

/// The lower half of a memory.
#[expect(clippy::cast_possible_truncation, reason = "it is what is asked for")]
const fn low(memory: u64) -> u32 {
    memory as u32
}

const fn of(holds: bool) -> ActionResult {
    if holds { Success } else { Failed }
}

fn forced(result: ActionResult, to: ActionResult) -> ActionResult {
    if result == Running { Running } else { to }
}
