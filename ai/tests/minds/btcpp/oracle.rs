//! A small BehaviorTree.CPP: its nodes as its documentation and sources have them, one state for each,
//! with times in ticks. It shares no code with the trees here.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

use std::fmt::Write;

use ActionResult::{Failed, Running, Success};
use formic_ai::prelude::*;

/// How many actions, and how many effects, a tree can have, each once.
pub(crate) const LEAVES: usize = 24;

/// What holds, how actions end, and what has happened in a tick.
#[derive(Clone, Default)]
pub(crate) struct Board {
    /// A bit for each of four conditions.
    pub(crate) conditions: u32,
    pub(crate) mode: u32,
    /// How many values there are in the queue.
    pub(crate) queue: u32,
    pub(crate) ends: Vec<ActionResult>,
    pub(crate) log: Vec<String>,
    ticks: u32,
}

impl Board {
    pub(crate) fn draw(&mut self, random: &mut RandomStream) {
        self.conditions = below(random, 16);
        self.mode = below(random, 4);
        self.queue += below(random, 3);
        let end = |random: &mut RandomStream| [Running, Running, Success, Failed][index(random, 4)];
        self.ends = (0..LEAVES).map(|_| end(random)).collect();
        self.ticks += 1;
    }

    pub(crate) fn holds(&self, condition: u32) -> bool {
        self.conditions >> condition & 1 == 1
    }
}

fn below(random: &mut RandomStream, end: u32) -> u32 {
    random.below(end.into()) as u32
}

fn index(random: &mut RandomStream, end: u32) -> usize {
    below(random, end) as usize
}

/// A node, its number (of a leaf, of times or ticks, or a threshold), and its state.
#[derive(Default)]
pub(crate) struct Theirs {
    pub(crate) id: &'static str,
    number: u32,
    /// The other threshold of a Parallel, or what a port says otherwise.
    other: u32,
    pub(crate) children: Vec<Theirs>,
    /// `None` is idle.
    status: Option<ActionResult>,
    at: usize,
    count: u32,
    since: Option<u32>,
    /// What a `RunOnce` has ended with; how an action that is underway has ended.
    kept: Option<ActionResult>,
}

const CONTROLS: [&str; 14] = [
    "Sequence",
    "Fallback",
    "ReactiveSequence",
    "ReactiveFallback",
    "AsyncSequence",
    "AsyncFallback",
    "SequenceWithMemory",
    "Parallel",
    "ParallelAll",
    "IfThenElse",
    "WhileDoElse",
    "TryCatch",
    "Switch2",
    "Switch3",
];
const DECORATORS: [&str; 11] = [
    "Inverter",
    "ForceSuccess",
    "ForceFailure",
    "Repeat",
    "RetryUntilSuccessful",
    "KeepRunningUntilFailure",
    "Delay",
    "Timeout",
    "RunOnce",
    "Precondition",
    "LoopInt",
];
const SINGLES: [&str; 6] =
    ["Action", "Condition", "Effect", "AlwaysSuccess", "AlwaysFailure", "Sleep"];

/// The names of all nodes that are drawn.
pub(crate) fn all_ids() -> impl Iterator<Item = &'static str> {
    CONTROLS.into_iter().chain(DECORATORS).chain(SINGLES)
}

impl Theirs {
    /// A tree of any nodes, at most so deep. What is under a Repeat takes no time: where it takes some,
    /// the next time begins a tick later here.
    pub(crate) fn draw(
        random: &mut RandomStream,
        depth: u32,
        takes_time: bool,
        leaves: &mut [u32; 2],
    ) -> Self {
        let mut node = Self { number: 1 + below(random, 3), ..Self::default() };
        if depth == 0 || below(random, 6) == 0 {
            node.id = SINGLES[if takes_time { index(random, 6) } else { 1 + index(random, 4) }];
            let kind = usize::from(node.id == "Effect");
            if node.id == "Action" || node.id == "Effect" {
                node.number = leaves[kind];
                leaves[kind] += 1;
            } else if node.id == "Condition" {
                node.number = below(random, 4);
            }
            // There are no more.
            if leaves[kind] as usize > LEAVES {
                leaves[kind] -= 1;
                node.id = "AlwaysSuccess";
            }
            return node;
        }
        let mut child = |random: &mut RandomStream, takes_time| {
            Self::draw(random, depth - 1, takes_time, leaves)
        };
        if below(random, 2) == 0 {
            node.id = match takes_time {
                true => DECORATORS[index(random, 11)],
                false => ["Inverter", "ForceSuccess", "ForceFailure"][index(random, 3)],
            };
            node.other = below(random, 3);
            let again = ["Repeat", "RetryUntilSuccessful"].contains(&node.id);
            node.children.push(child(random, takes_time && !again));
            return node;
        }
        node.id = match takes_time {
            true => CONTROLS[index(random, 14)],
            false => CONTROLS[index(random, 4)],
        };
        let count = match node.id {
            "IfThenElse" | "WhileDoElse" | "TryCatch" => 2 + index(random, 2),
            "Switch2" => 3,
            "Switch3" => 4,
            _ => 1 + index(random, 3),
        };
        for place in 0..count {
            let is_question = node.id == "WhileDoElse" && place == 0;
            node.children.push(child(random, takes_time && !is_question));
        }
        let count = u32::try_from(count).unwrap();
        (node.number, node.other) = (1 + below(random, count), 1 + below(random, count));
        node
    }

    pub(crate) fn ids(&self, found: &mut Vec<&'static str>) {
        found.push(self.id);
        self.children.iter().for_each(|child| child.ids(found));
    }

    pub(crate) fn xml(&self, tick: u32) -> String {
        let (id, number, other) = (self.id, self.number, self.other);
        let time = number * tick;
        let tag = match id {
            "Action" => return format!("<A{number}/>"),
            "Condition" => return format!("<C{number}/>"),
            "Effect" => return format!("<E{number}/>"),
            "AlwaysSuccess" | "AlwaysFailure" => return format!("<{id}/>"),
            "Sleep" => return format!("<Sleep msec=\"{time}\"/>"),
            "Parallel" => format!("success_count=\"{number}\" failure_count=\"{other}\""),
            "ParallelAll" => format!("max_failures=\"{number}\""),
            "Switch2" | "Switch3" => {
                let mut ports = String::from("variable=\"{mode}\"");
                for case in 1..self.children.len() {
                    write!(ports, " case_{case}=\"{case}\"").unwrap();
                }
                ports
            }
            "Repeat" => format!("num_cycles=\"{number}\""),
            "RetryUntilSuccessful" => format!("num_attempts=\"{number}\""),
            "Delay" => format!("delay_msec=\"{time}\""),
            "Timeout" => format!("msec=\"{time}\""),
            "RunOnce" => "then_skip=\"false\"".into(),
            "Precondition" => {
                let otherwise = ["FAILURE", "SUCCESS", "RUNNING"][other as usize];
                format!("if=\"c{number}\" else=\"{otherwise}\"")
            }
            "LoopInt" => {
                let if_empty = ["FAILURE", "SUCCESS", "SUCCESS"][other as usize];
                format!("queue=\"{{q}}\" value=\"{{v}}\" if_empty=\"{if_empty}\"")
            }
            _ => String::new(),
        };
        let children: String = self.children.iter().map(|child| child.xml(tick)).collect();
        format!("<{id} {tag}>{children}</{id}>")
    }

    /// One tick from the root, and then what the actions do.
    pub(crate) fn tick_root(&mut self, board: &mut Board) -> ActionResult {
        let result = self.tick(board);
        if result != Running {
            self.status = None;
        }
        self.carry_out(board);
        board.log.sort();
        result
    }

    fn carry_out(&mut self, board: &Board) {
        if self.id == "Action" && self.status == Some(Running) {
            let end = board.ends[self.number as usize];
            self.kept = self.kept.or((end != Running).then_some(end));
        }
        self.children.iter_mut().for_each(|child| child.carry_out(board));
    }

    /// `haltNode` and `resetStatus`.
    fn halt(&mut self, board: &mut Board) {
        if self.status == Some(Running) {
            match self.id {
                // What has ended meanwhile has nothing to stop, and what was to begin does not.
                "Action" if self.kept.is_none() => {
                    let begun = format!("A{}", self.number);
                    match board.log.iter().position(|it| *it == begun) {
                        Some(place) => drop(board.log.remove(place)),
                        None => board.log.push(format!("halt {begun}")),
                    }
                }
                // Its place and its result stay.
                "SequenceWithMemory" | "RunOnce" => {}
                _ => (self.at, self.count, self.since) = (0, 0, None),
            }
            self.reset_children(board);
        }
        self.status = None;
    }

    fn reset_children(&mut self, board: &mut Board) {
        self.children.iter_mut().for_each(|child| child.halt(board));
    }

    /// `executeTick`.
    fn tick(&mut self, board: &mut Board) -> ActionResult {
        let result = self.own_tick(board);
        self.status = Some(result);
        if self.children.len() == 1
            && self.children[0].status != Some(Running)
            && self.is_decorator()
        {
            self.children[0].status = None;
        }
        result
    }

    fn is_decorator(&self) -> bool {
        DECORATORS.contains(&self.id)
    }

    fn own_tick(&mut self, board: &mut Board) -> ActionResult {
        let is_idle = self.status.is_none();
        let count = self.children.len();
        if self.is_decorator() {
            return self.decorate(board);
        }
        match self.id {
            "Action" => {
                if is_idle {
                    board.log.push(format!("A{}", self.number));
                    self.kept = None;
                }
                self.kept.take().unwrap_or(Running)
            }
            "Condition" => of(board.holds(self.number)),
            "Effect" => {
                board.log.push(format!("E{}", self.number));
                Success
            }
            "AlwaysSuccess" => Success,
            "AlwaysFailure" => Failed,
            "Sleep" => {
                let since = *self.since.get_or_insert(board.ticks);
                if board.ticks - since < self.number {
                    return Running;
                }
                self.since = None;
                Success
            }
            "ReactiveSequence" | "ReactiveFallback" => {
                let next = if self.id == "ReactiveSequence" { Success } else { Failed };
                for place in 0..count {
                    let result = self.children[place].tick(board);
                    if result == Running {
                        for other in (0..count).filter(|&other| other != place) {
                            self.children[other].halt(board);
                        }
                        return Running;
                    }
                    if result != next {
                        self.reset_children(board);
                        return result;
                    }
                }
                self.reset_children(board);
                next
            }
            "Parallel" => {
                for place in 0..count {
                    let child = &mut self.children[place];
                    // What has ended keeps its status until all are reset.
                    if matches!(child.status, None | Some(Running)) {
                        child.tick(board);
                    }
                    let ended =
                        |with| self.children.iter().filter(|it| it.status == Some(with)).count();
                    let (successes, failures) = (ended(Success) as u32, ended(Failed) as u32);
                    let result = if successes >= self.number {
                        Success
                    } else if count as u32 - failures < self.number || failures == self.other {
                        Failed
                    } else {
                        continue;
                    };
                    self.reset_children(board);
                    return result;
                }
                Running
            }
            "ParallelAll" => {
                for child in &mut self.children {
                    if matches!(child.status, None | Some(Running)) {
                        child.tick(board);
                    }
                }
                if self.children.iter().any(|child| child.status == Some(Running)) {
                    return Running;
                }
                let failures = self.children.iter().filter(|it| it.status == Some(Failed)).count();
                self.reset_children(board);
                of((failures as u32) < self.number)
            }
            "IfThenElse" => {
                if self.at == 0 {
                    match self.children[0].tick(board) {
                        Running => return Running,
                        Success => self.at = 1,
                        Failed if count == 3 => self.at = 2,
                        // Theirs leaves an action that has failed as it is, and does not begin it
                        // again the next time: no documentation says so.
                        Failed => {
                            self.reset_children(board);
                            return Failed;
                        }
                    }
                }
                let result = self.children[self.at].tick(board);
                if result != Running {
                    self.reset_children(board);
                    self.at = 0;
                }
                result
            }
            "WhileDoElse" => {
                let branch = match self.children[0].tick(board) {
                    Running => return Running,
                    Success => 1,
                    Failed => 2,
                };
                let result = if branch < count {
                    if count == 3 {
                        self.children[3 - branch].halt(board);
                    }
                    self.children[branch].tick(board)
                } else {
                    Failed
                };
                if result != Running {
                    self.reset_children(board);
                }
                result
            }
            "TryCatch" => {
                // One above all places while it catches.
                if self.at < count {
                    while self.at < count - 1 {
                        match self.children[self.at].tick(board) {
                            Running => return Running,
                            Success => self.at += 1,
                            Failed => {
                                self.reset_children(board);
                                self.at = count;
                            }
                        }
                    }
                    if self.at < count {
                        self.reset_children(board);
                        self.at = 0;
                        return Success;
                    }
                }
                if self.children[count - 1].tick(board) == Running {
                    return Running;
                }
                self.reset_children(board);
                self.at = 0;
                Failed
            }
            "Switch2" | "Switch3" => {
                let place = board.mode.wrapping_sub(1) as usize;
                let chosen = place.min(count - 1);
                for other in (0..count).filter(|&other| other != chosen) {
                    self.children[other].halt(board);
                }
                let result = self.children[chosen].tick(board);
                if result != Running {
                    self.reset_children(board);
                }
                result
            }
            _ => self.in_order(board),
        }
    }

    /// The sequences and fallbacks that go on where they were.
    fn in_order(&mut self, board: &mut Board) -> ActionResult {
        let count = self.children.len();
        let next = if self.id.ends_with("Fallback") { Failed } else { Success };
        let leaves_tick = self.id.starts_with("Async") || self.id == "SequenceWithMemory";
        while self.at < count {
            let was_idle = self.children[self.at].status.is_none();
            let result = self.children[self.at].tick(board);
            if result == Running {
                return Running;
            }
            if result != next {
                if self.id == "SequenceWithMemory" {
                    let at = self.at;
                    self.children[at..].iter_mut().for_each(|child| child.halt(board));
                } else {
                    self.reset_children(board);
                    self.at = 0;
                }
                return result;
            }
            self.at += 1;
            if leaves_tick && was_idle && self.at < count {
                return Running;
            }
        }
        self.reset_children(board);
        self.at = 0;
        next
    }

    fn decorate(&mut self, board: &mut Board) -> ActionResult {
        match self.id {
            "Inverter" => match self.children[0].tick(board) {
                Success => Failed,
                Failed => Success,
                Running => Running,
            },
            "ForceSuccess" | "ForceFailure" => match self.children[0].tick(board) {
                Running => Running,
                _ => of(self.id == "ForceSuccess"),
            },
            "Repeat" | "RetryUntilSuccessful" => {
                let counted = if self.id == "Repeat" { Success } else { Failed };
                let result = self.children[0].tick(board);
                if result == counted {
                    self.count += 1;
                    if self.count < self.number {
                        return Running;
                    }
                }
                if result != Running {
                    self.count = 0;
                }
                result
            }
            "KeepRunningUntilFailure" => match self.children[0].tick(board) {
                Failed => Failed,
                _ => Running,
            },
            "Delay" => {
                let since = *self.since.get_or_insert(board.ticks);
                if board.ticks - since < self.number {
                    return Running;
                }
                let result = self.children[0].tick(board);
                if result != Running {
                    self.since = None;
                }
                result
            }
            "Timeout" => {
                let since = *self.since.get_or_insert(board.ticks);
                let result = if board.ticks - since < self.number {
                    self.children[0].tick(board)
                } else {
                    self.reset_children(board);
                    Failed
                };
                if result != Running {
                    self.since = None;
                }
                result
            }
            "RunOnce" => {
                if let Some(kept) = self.kept {
                    return kept;
                }
                let result = self.children[0].tick(board);
                self.kept = (result != Running).then_some(result);
                result
            }
            "Precondition" => {
                // Its documentation: as long as the child runs the script is not asked.
                if self.children[0].status.is_none() && !board.holds(self.number) {
                    return [Failed, Success, Running][self.other as usize];
                }
                self.children[0].tick(board)
            }
            "LoopInt" => {
                if self.children[0].status.is_none() {
                    if board.queue == 0 {
                        return of(self.other > 0);
                    }
                    board.queue -= 1;
                    board.log.push("pop".into());
                }
                match self.children[0].tick(board) {
                    Failed => Failed,
                    _ => Running,
                }
            }
            other => panic!("{other} is no decorator"),
        }
    }
}

fn of(holds: bool) -> ActionResult {
    if holds { Success } else { Failed }
}
