//! The recursive interpreter: every node has its own state and halts its own children, as the table
//! of the module says it.

use super::stage::Board;
use ActionResult::{Failed, Running, Success};
use formic_ai::bt::Node;
use formic_ai::prelude::*;

/// How an action of the model stands.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Idle,
    /// And whether it has been started.
    Running(bool),
    Ended(ActionResult),
}

/// A node, read off its text: the interpreter shares no code with the flat trees.
struct RefNode {
    word: String,
    numbers: Vec<f32>,
    names: Vec<String>,
    children: Vec<RefNode>,
    is_running: bool,
    at: usize,
    count: u32,
    since: u32,
    ended: Vec<Option<ActionResult>>,
    random: RandomStream,
    kept: Option<ActionResult>,
    cold_until: Option<u32>,
}

pub(crate) struct Reference {
    root: RefNode,
    env: Env,
    pub(crate) board: Board,
}

struct Env {
    deeds: [Deed; 4],
    asked: [bool; 4],
    to_halt: [bool; 4],
    ticks: u32,
    /// The way to the node that stays: the number of the child at each level.
    stay: Option<Vec<usize>>,
    new_stay: Option<Vec<usize>>,
    path: Vec<usize>,
    done: Option<(Vec<usize>, ActionResult)>,
}

impl Reference {
    pub(crate) fn new(node: &Node, seed: u64) -> Self {
        let text = node.to_string();
        let spaced = ["(", ")", "{", "}", ":", "?", ","]
            .iter()
            .fold(text, |text, mark| text.replace(mark, &format!(" {mark} ")));
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut slot = 0;
        let root = RefNode::read(&mut &words[..], &mut slot, seed);
        let env = Env {
            deeds: [Deed::Idle; 4],
            asked: [false; 4],
            to_halt: [false; 4],
            ticks: 0,
            stay: None,
            new_stay: None,
            path: Vec::new(),
            done: None,
        };
        Self { root, env, board: Board::default() }
    }

    pub(crate) fn tick(&mut self) -> ActionResult {
        let result = self.decide();
        self.env.ticks += 1;
        self.carry_out();
        result
    }

    fn decide(&mut self) -> ActionResult {
        let (env, board) = (&mut self.env, &mut self.board);
        (env.asked, env.to_halt, env.new_stay, env.done) = ([false; 4], [false; 4], None, None);
        if let Some(way) = env.stay.clone() {
            let mut node = &mut self.root;
            for &child in &way {
                node = &mut node.children[child];
            }
            if !board.holds(&node.names[0]) {
                env.path = way.clone();
                let before = env.deeds;
                let result = node.child(0, env, board);
                if result == Running {
                    env.stay = env.new_stay.take().or(Some(way));
                    // What is outside waits, also what has ended there.
                    let inside = node.deeds();
                    for deed in 0..4 {
                        if inside[deed] {
                            env.settle(deed);
                        } else {
                            env.deeds[deed] = before[deed];
                        }
                    }
                    return Running;
                }
                node.is_running = false;
                env.done = Some((way, result));
            }
        }
        env.path.clear();
        let result = self.root.tick(env, board);
        env.stay = env.new_stay.take().filter(|way| !way.is_empty());
        (0..4).for_each(|deed| env.settle(deed));
        result
    }

    /// What the actions do after the decision.
    fn carry_out(&mut self) {
        let mut log = std::mem::take(&mut self.board.log);
        for deed in 0..4 {
            if let Deed::Running(is_started) = &mut self.env.deeds[deed] {
                if !std::mem::replace(is_started, true) {
                    log.push(format!("+{deed}"));
                }
                let end = self.board.ends[deed];
                if end != Running {
                    log.push(format!("{}{deed}", if end == Success { 's' } else { 'f' }));
                    self.env.deeds[deed] = Deed::Ended(end);
                }
            }
            if std::mem::take(&mut self.env.to_halt[deed]) {
                log.push(format!("x{deed}"));
            }
        }
        log.sort_by_key(|it| (!it.starts_with('x'), it[1..].to_string()));
        self.board.log = log;
    }
}

impl Env {
    /// After the decision: an action that was not asked stops, and its end is forgotten.
    fn settle(&mut self, deed: usize) {
        if !self.asked[deed] {
            self.to_halt[deed] = self.deeds[deed] == Deed::Running(true);
            self.deeds[deed] = Deed::Idle;
        }
    }
}

impl Board {
    fn holds(&self, condition: &str) -> bool {
        self.conditions >> number(condition) & 1 == 1
    }
}

/// The number in `a3`, `c0`, `e1` or `s2`.
fn number(name: &str) -> usize {
    name[1..].parse().unwrap()
}

impl RefNode {
    fn read(words: &mut &[&str], slot: &mut u64, seed: u64) -> Self {
        fn next<'a>(words: &mut &[&'a str]) -> &'a str {
            let (first, rest) = words.split_first().unwrap();
            *words = rest;
            first
        }
        let mut word = next(words).to_string();
        let mut names = Vec::new();
        let mut numbers = Vec::new();
        let mut children = Vec::new();
        if word == "do" {
            names.push(next(words).to_string());
        } else if words.first() == Some(&"?") {
            next(words);
            names.push(std::mem::replace(&mut word, "condition".into()));
        } else if word.len() == 2 && word.starts_with('a') {
            names.push(std::mem::replace(&mut word, "action".into()));
        }
        if words.first() == Some(&"(") {
            while next(words) != ")" {
                match words[0].parse() {
                    Ok(number) => numbers.push(number),
                    Err(_) if words[0].starts_with('c') => names.push(words[0].to_string()),
                    Err(_) => {}
                }
            }
        }
        let own_slot = *slot;
        *slot += match word.as_str() {
            "random" | "weighted" => 2,
            "sequence_memory"
            | "selector_memory"
            | "sequence_async"
            | "selector_async"
            | "sequence_persistent"
            | "if_else_memory"
            | "parallel"
            | "parallel_all"
            | "repeat"
            | "repeat_while"
            | "retry"
            | "timeout"
            | "cooldown"
            | "once"
            | "wait" => 1,
            _ => 0,
        };
        let is_leaf = ["do", "condition", "action", "wait"].contains(&word.as_str());
        if words.first() == Some(&"{") {
            next(words);
            while words[0] != "}" {
                if words[1] == ":" {
                    match words[0].parse() {
                        Ok(weight) => numbers.push(weight),
                        Err(_) => names.push(words[0].to_string()),
                    }
                    *words = &words[2..];
                }
                children.push(Self::read(words, slot, seed));
            }
            next(words);
        } else if !is_leaf {
            children.push(Self::read(words, slot, seed));
        }
        Self {
            ended: vec![None; children.len()],
            word,
            numbers,
            names,
            children,
            is_running: false,
            at: 0,
            count: 0,
            since: 0,
            random: RandomStream::new(seed).fork(own_slot),
            kept: None,
            cold_until: None,
        }
    }

    /// The actions in this subtree.
    fn deeds(&self) -> [bool; 4] {
        let mut found = [false; 4];
        if self.word == "action" {
            found[number(&self.names[0])] = true;
        }
        for child in &self.children {
            child.deeds().iter().zip(&mut found).for_each(|(there, found)| *found |= there);
        }
        found
    }

    fn halt(&mut self, env: &mut Env, at: &[usize]) {
        if self.is_running {
            self.is_running = false;
            if self.word == "action" {
                env.asked[number(&self.names[0])] = false;
            }
        }
        if env.new_stay.as_deref() == Some(at) {
            env.new_stay = None;
        }
        for (place, child) in self.children.iter_mut().enumerate() {
            let at: Vec<usize> = at.iter().copied().chain([place]).collect();
            child.halt(env, &at);
        }
    }

    /// Halts the children from a place on: they were not asked in this tick.
    fn forget(&mut self, places: impl IntoIterator<Item = usize>) {
        for place in places {
            self.children[place].forget_all();
        }
    }

    fn forget_all(&mut self) {
        self.is_running = false;
        self.children.iter_mut().for_each(Self::forget_all);
    }

    fn child(&mut self, place: usize, env: &mut Env, board: &mut Board) -> ActionResult {
        env.path.push(place);
        let result = self.children[place].tick(env, board);
        env.path.pop();
        result
    }

    fn tick(&mut self, env: &mut Env, board: &mut Board) -> ActionResult {
        let is_fresh = !self.is_running;
        let result = self.fresh_or_not(is_fresh, env, board);
        self.is_running = result == Running;
        if result != Running && self.word != "action" {
            self.forget(0..self.children.len());
        }
        result
    }

    fn in_order(
        &mut self,
        order: impl IntoIterator<Item = usize>,
        next: ActionResult,
        env: &mut Env,
        board: &mut Board,
    ) -> ActionResult {
        let mut asked = vec![false; self.children.len()];
        let mut last = next;
        for place in order {
            asked[place] = true;
            self.at = place;
            last = self.child(place, env, board);
            if last != next {
                break;
            }
        }
        self.forget((0..asked.len()).filter(|&place| !asked[place]));
        last
    }

    fn fresh_or_not(&mut self, is_fresh: bool, env: &mut Env, board: &mut Board) -> ActionResult {
        let count = self.children.len();
        let argument = |node: &Self| node.numbers.first().map_or(0, |&number| number as u32);
        match self.word.as_str() {
            "action" => {
                let deed = number(&self.names[0]);
                env.asked[deed] = true;
                match env.deeds[deed] {
                    Deed::Ended(result) => {
                        env.deeds[deed] = Deed::Idle;
                        result
                    }
                    Deed::Idle => {
                        env.deeds[deed] = Deed::Running(false);
                        Running
                    }
                    Deed::Running(_) => Running,
                }
            }
            "condition" => {
                if board.holds(&self.names[0]) {
                    Success
                } else {
                    Failed
                }
            }
            "do" => {
                board.effects[number(&self.names[0])] += 1;
                Success
            }
            "wait" => {
                if is_fresh {
                    self.since = env.ticks;
                }
                if env.ticks - self.since >= argument(self) { Success } else { Running }
            }
            "sequence" => self.in_order(0..count, Success, env, board),
            "selector" => self.in_order(0..count, Failed, env, board),
            "sequence_memory" => {
                let first = if is_fresh { 0 } else { self.at };
                self.in_order(first..count, Success, env, board)
            }
            "selector_memory" => {
                let first = if is_fresh { 0 } else { self.at };
                self.in_order(first..count, Failed, env, board)
            }
            "sequence_async" | "selector_async" | "sequence_persistent" => {
                let next = if self.word == "selector_async" { Failed } else { Success };
                if is_fresh && self.word != "sequence_persistent" {
                    self.at = 0;
                }
                loop {
                    let begins = !self.children[self.at].is_running;
                    let result = self.child(self.at, env, board);
                    if result != next {
                        return result;
                    }
                    self.at += 1;
                    if self.at == count {
                        self.at = 0;
                        return next;
                    }
                    if begins {
                        return Running;
                    }
                }
            }
            "if_else" | "if_else_memory" => {
                if is_fresh || self.word == "if_else" {
                    self.at = 0;
                }
                if self.at == 0 {
                    match self.child(0, env, board) {
                        Running => {
                            self.forget([1, 2]);
                            return Running;
                        }
                        Success => self.at = 1,
                        Failed => self.at = 2,
                    }
                }
                let other = 3 - self.at;
                self.forget([0, other]);
                self.child(self.at, env, board)
            }
            "priority" => {
                let score = |place: usize| {
                    let score = board.scores[number(&self.names[place])];
                    if score.is_nan() { f32::NEG_INFINITY } else { score }
                };
                let mut order: Vec<usize> = (0..count).collect();
                order.sort_by(|&a, &b| score(b).partial_cmp(&score(a)).unwrap());
                self.in_order(order, Failed, env, board)
            }
            "parallel" | "parallel_all" => self.parallel(is_fresh, env, board),
            "random" | "weighted" => self.drawn(is_fresh, env, board),
            "invert" => match self.child(0, env, board) {
                Success => Failed,
                Failed => Success,
                Running => Running,
            },
            "force_success" | "force_failure" => match self.child(0, env, board) {
                Running => Running,
                _ if self.word == "force_success" => Success,
                _ => Failed,
            },
            "until_success" | "until_failure" => {
                let result = self.child(0, env, board);
                let wanted = if self.word == "until_success" { Success } else { Failed };
                if result == wanted { Success } else { Running }
            }
            "repeat" | "retry" => {
                let counted = if self.word == "repeat" { Success } else { Failed };
                if is_fresh {
                    self.count = 0;
                }
                let result = self.child(0, env, board);
                if result != counted {
                    return result;
                }
                self.count += 1;
                let is_endless = self.word == "repeat" && argument(self) == 0;
                if !is_endless && self.count >= argument(self) { counted } else { Running }
            }
            "repeat_while" => {
                if !self.children[0].is_running && !board.holds(&self.names[0]) {
                    return Success;
                }
                let result = self.child(0, env, board);
                if result == Success { Running } else { result }
            }
            "timeout" => {
                if is_fresh {
                    self.since = env.ticks;
                }
                if env.ticks - self.since >= argument(self) {
                    return Failed;
                }
                self.child(0, env, board)
            }
            "cooldown" => {
                if is_fresh && self.cold_until.is_some_and(|until| env.ticks < until) {
                    return Failed;
                }
                let result = self.child(0, env, board);
                if result != Running {
                    self.cold_until = Some(env.ticks + 1 + argument(self));
                }
                result
            }
            "guard" => {
                if board.holds(&self.names[0]) {
                    self.child(0, env, board)
                } else {
                    Failed
                }
            }
            "once" => {
                if let Some(kept) = self.kept {
                    return kept;
                }
                let result = self.child(0, env, board);
                self.kept = (result != Running).then_some(result);
                result
            }
            "stay_until" => {
                if let Some((_, result)) = env.done.as_ref().filter(|(way, _)| *way == env.path) {
                    return *result;
                }
                if board.holds(&self.names[0]) {
                    return Failed;
                }
                let result = self.child(0, env, board);
                if result == Running && env.new_stay.is_none() {
                    env.new_stay = Some(env.path.clone());
                }
                result
            }
            other => panic!("{other} is no node"),
        }
    }

    fn parallel(&mut self, is_fresh: bool, env: &mut Env, board: &mut Board) -> ActionResult {
        if is_fresh {
            self.ended.fill(None);
        }
        for place in 0..self.children.len() {
            if self.ended[place].is_none() {
                let result = self.child(place, env, board);
                self.ended[place] = (result != Running).then_some(result);
            }
        }
        let ended_with = |result| self.ended.iter().filter(|&&it| it == Some(result)).count();
        let (successes, failures) = (ended_with(Success), ended_with(Failed));
        if self.word == "parallel_all" {
            return match self.ended.contains(&None) {
                true => Running,
                false if failures >= self.numbers[0] as usize => Failed,
                false => Success,
            };
        }
        let [need, limit] = [0, 1].map(|place| self.numbers[place] as usize);
        let result = if successes >= need {
            Success
        } else if failures >= limit || self.children.len() - failures < need {
            Failed
        } else {
            return Running;
        };
        let at = env.path.clone();
        for (place, child) in self.children.iter_mut().enumerate() {
            let at: Vec<usize> = at.iter().copied().chain([place]).collect();
            child.halt(env, &at);
        }
        result
    }

    fn drawn(&mut self, is_fresh: bool, env: &mut Env, board: &mut Board) -> ActionResult {
        if is_fresh {
            self.ended.fill(None);
        }
        let mut running = (!is_fresh).then_some(self.at);
        loop {
            let Some(place) = running.take().or_else(|| self.draw()) else { return Failed };
            self.at = place;
            let result = self.child(place, env, board);
            if result != Failed {
                return result;
            }
            self.ended[place] = Some(Failed);
        }
    }

    fn draw(&mut self) -> Option<usize> {
        let point = self.random.next_f32();
        let weight = |place: usize| self.numbers.get(place).copied().unwrap_or(1.0);
        let open = (0..self.children.len()).filter(|&place| self.ended[place].is_none());
        let total: f32 = open.clone().map(weight).fold(0.0, |sum, weight| sum + weight);
        let mut left = point * total;
        let mut last = None;
        for place in open {
            last = Some(place);
            left -= weight(place);
            if left < 0.0 {
                break;
            }
        }
        last
    }
}
