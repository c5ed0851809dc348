//! Small programs of subscribing, requesting, posting, dying and telling, in every order that they
//! can come in, beside an oracle of the written order of a tick.
//!
//! Posting, subscribing and telling share nothing between threads: what many threads post is put in
//! order under the schedule's care, and what they subscribe to is taken in by one thread. So it is
//! the order of the steps alone that can lose something, and all orders can be tried.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use formic_ai::activity::{
    self, ActivitySlot, EventKinds, Posted, Status, Subscriptions, Tick, Token,
};
use formic_ai::prelude::*;

use Deed::{Finish, Request, Subscribe, Unsubscribe};
use Step::{Answer, Do, Drain, Kill, Leave, Post, Stop};

use crate::puppet::{Outcome, Ping, Puppet, Stage, Theatre, done};

const NAMES: [&str; 2] = ["ann", "bea"];

/// What an agent is to do in its next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Subscribe,
    /// Subscribes, and requests an answer with the token.
    Request,
    Unsubscribe,
    Finish,
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Has the agent of this number do something; it is called from outside for that.
    Do(usize, Deed),
    Stop(usize),
    /// Despawns the agent.
    Leave(usize),
    /// Posts an event about the subject.
    Post,
    /// Posts the answer to the oldest request that can be seen.
    Answer,
    /// Despawns the subject.
    Kill,
    Tick,
    /// Tells of everything, and ticks none.
    Drain,
}

/// Where the acts of an agent find what to do, and leave the way to call it.
#[derive(Default)]
struct Mail {
    deeds: Vec<Deed>,
    waker: Option<Waker>,
}

/// The requests that can be seen.
#[derive(Default)]
struct Requests(Vec<Token>);

fn act(mail: Arc<Mutex<Mail>>, rock: Entity) -> impl FnMut(&mut Tick<'_, Theatre>) -> Outcome {
    move |tick| {
        let mut mail = mail.lock().unwrap();
        if mail.waker.is_none() {
            let token = tick.subscribe(tick.agent(), EventKinds::NONE);
            mail.waker = Some(tick.waker(token));
        }
        for deed in std::mem::take(&mut mail.deeds) {
            match deed {
                Subscribe => _ = tick.subscribe(rock, EventKinds::one(0)),
                Request => {
                    let token = tick.subscribe(rock, EventKinds::one(1));
                    tick.commands().run(move |world| {
                        world.resource_mut::<Requests>().unwrap().0.push(token);
                    });
                }
                Unsubscribe => {
                    let task = tick.task();
                    let about_rock = tick.subscriptions().iter().filter(|it| it.subject() == rock);
                    let tokens: Vec<Token> = about_rock.map(|it| it.token(task)).collect();
                    tokens.into_iter().for_each(|token| assert!(tick.unsubscribe(token)));
                }
                Finish => return done(),
            }
        }
        Status::Blocked
    }
}

/// An agent by the rules.
#[derive(Default)]
struct Player {
    deeds: Vec<Deed>,
    /// Kind and number of what it has subscribed to, in order.
    waits: Vec<(u32, u32)>,
    newest: u32,
    is_to_begin: bool,
    is_at_it: bool,
    is_awake: bool,
    is_to_stop: bool,
    is_gone: bool,
    log: Vec<String>,
}

/// What is to happen, by the rules of a tick alone.
struct Oracle {
    rock: Entity,
    is_dead: bool,
    /// Kind, number, and whose request it answers.
    posts: Vec<(u32, u32, Option<(usize, u32)>)>,
    requests: Vec<(usize, u32)>,
    players: [Player; 2],
}

impl Oracle {
    fn new(rock: Entity) -> Self {
        let player = || Player { is_to_begin: true, ..Player::default() };
        let players = [player(), player()];
        Self { rock, is_dead: false, posts: Vec::new(), requests: Vec::new(), players }
    }

    fn drain(&mut self) {
        let there = |player: &Player| player.is_at_it && !player.is_gone;
        for (kind, number, answers) in std::mem::take(&mut self.posts) {
            for (name, player) in self.players.iter_mut().enumerate().filter(|it| there(it.1)) {
                let is_it = |wait: &&(u32, u32)| {
                    wait.0 == kind && answers.is_none_or(|answers| answers == (name, wait.1))
                };
                for _ in player.waits.iter().filter(is_it) {
                    player.log.push(format!("hears {number} of {}", self.rock));
                    player.is_awake = true;
                }
            }
        }
        if self.is_dead {
            for player in self.players.iter_mut().filter(|player| there(player)) {
                for _ in player.waits.drain(..) {
                    player.log.push(format!("hears that {} died", self.rock));
                    player.is_awake = true;
                }
            }
        }
    }

    fn tick(&mut self) {
        self.drain();
        let requests = &mut self.requests;
        for (name, player) in self.players.iter_mut().enumerate() {
            let ends = player.is_gone || std::mem::take(&mut player.is_to_stop);
            if ends && player.is_at_it {
                player.finish("interrupted");
            }
            if !player.is_gone && std::mem::take(&mut player.is_to_begin) {
                (player.is_at_it, player.is_awake) = (true, true);
            }
            if !player.is_at_it || !std::mem::take(&mut player.is_awake) {
                continue;
            }
            player.log.push("ticks".into());
            player.newest = player.newest.max(1);
            for deed in std::mem::take(&mut player.deeds) {
                match deed {
                    Subscribe | Request => {
                        player.newest += 1;
                        player.waits.push((u32::from(deed == Request), player.newest));
                        if deed == Request {
                            requests.push((name, player.newest));
                        }
                    }
                    Unsubscribe => player.waits.clear(),
                    Finish => {
                        player.finish("done");
                        break;
                    }
                }
            }
        }
    }
}

impl Player {
    fn finish(&mut self, how: &str) {
        self.log.push(how.into());
        self.waits.clear();
        self.is_at_it = false;
    }
}

/// A world in which one play after the other is played.
struct Theatres {
    stage: Stage,
    drain: Schedule,
    pool: Pool,
    plays: usize,
    /// How many times an activity was told something.
    told: usize,
}

impl Theatres {
    fn new() -> Self {
        let mut stage = Stage::new();
        stage.world.insert_resource(Requests::default());
        let drain = Schedule::builder().add(activity::deliver::<Puppet>);
        let drain = drain.build(&mut stage.world).unwrap();
        let pool = Pool::new(Threads::None).unwrap();
        Self { stage, drain, pool, plays: 0, told: 0 }
    }

    fn play(&mut self, steps: &[Step]) {
        self.plays += 1;
        let stage = &mut self.stage;
        let rock = stage.world.spawn(());
        let mail: [Arc<Mutex<Mail>>; 2] = Default::default();
        let agents = [0, 1].map(|name| {
            let puppet = stage.puppet(NAMES[name]).act(act(mail[name].clone(), rock));
            stage.agent(puppet)
        });
        let mut oracle = Oracle::new(rock);
        let (mut number, mut lines) = (0, Vec::new());
        let mut logs: [Vec<String>; 2] = Default::default();
        for &step in steps.iter().chain(&[Step::Tick, Leave(0), Leave(1), Step::Tick]) {
            match step {
                Do(name, deed) => {
                    mail[name].lock().unwrap().deeds.push(deed);
                    mail[name].lock().unwrap().waker.iter().for_each(Waker::wake_by_ref);
                    oracle.players[name].deeds.push(deed);
                    oracle.players[name].is_awake = true;
                }
                Stop(name) if !oracle.players[name].is_gone => {
                    activity::stop::<Puppet>(&mut stage.world, agents[name]).unwrap();
                    oracle.players[name].is_to_stop = true;
                    oracle.players[name].is_to_begin = false;
                }
                Leave(name) if !oracle.players[name].is_gone => {
                    stage.world.despawn(agents[name]).unwrap();
                    oracle.players[name].is_gone = true;
                }
                Stop(_) | Leave(_) => {}
                Post => {
                    number += 1;
                    stage.post(rock, 0, number);
                    oracle.posts.push((0, number, None));
                }
                Answer => {
                    let requests = &mut stage.world.resource_mut::<Requests>().unwrap().0;
                    assert_eq!(requests.is_empty(), oracle.requests.is_empty());
                    if !requests.is_empty() {
                        number += 1;
                        let answer = Posted::about(rock, Ping { kind: 1, number });
                        let answer = answer.answering(requests.remove(0));
                        stage.send(answer);
                        let request = oracle.requests.remove(0);
                        oracle.posts.push((1, number, Some(request)));
                    }
                }
                Kill => {
                    stage.world.despawn(rock).unwrap();
                    oracle.is_dead = true;
                }
                Step::Tick => {
                    lines = stage.tick();
                    oracle.tick();
                }
                Drain => {
                    self.drain.run(&mut stage.world, &self.pool);
                    lines = std::mem::take(&mut *stage.log.lock().unwrap());
                    stage.check();
                    oracle.drain();
                }
            }
            for line in lines.drain(..) {
                let (name, what) = line.split_once(' ').unwrap();
                logs[usize::from(name == NAMES[1])].push(what.into());
            }
            for (name, log) in logs.iter().enumerate() {
                let player = &oracle.players[name];
                assert_eq!(*log, player.log, "{} after {step:?} in {steps:?}", NAMES[name]);
                if let Ok(slot) = stage.world.get::<ActivitySlot<Puppet>>(agents[name]) {
                    assert_eq!(slot.activity().is_some(), player.is_at_it, "{steps:?}");
                }
            }
        }
        // What holds whatever the oracle says: who has begun ends once, and nothing is left.
        for log in &logs {
            let ends = log.iter().filter(|line| ["done", "interrupted"].contains(&line.as_str()));
            assert_eq!(ends.count(), usize::from(!log.is_empty()), "{steps:?}");
            self.told += log.iter().filter(|line| line.starts_with("hears")).count();
        }
        _ = stage.world.despawn(rock);
        stage.world.resource_mut::<Requests>().unwrap().0.clear();
        assert!(agents.iter().all(|&agent| !stage.world.contains(agent)), "{steps:?}");
        assert!(stage.world.resource::<Subscriptions<Puppet>>().unwrap().is_empty(), "{steps:?}");
    }

    /// Plays all orders of the steps in which each program keeps its own.
    fn play_all(&mut self, programs: &mut [&[Step]], steps: &mut Vec<Step>) {
        if programs.iter().all(|program| program.is_empty()) {
            self.play(steps);
        }
        for place in 0..programs.len() {
            let program = programs[place];
            let Some((&first, rest)) = program.split_first() else { continue };
            programs[place] = rest;
            steps.push(first);
            self.play_all(programs, steps);
            steps.pop();
            programs[place] = program;
        }
    }
}

/// Plays all orders; they are so many, and there is something to hear in them.
fn check(programs: &mut [&[Step]], plays: usize) {
    let mut theatres = Theatres::new();
    theatres.play_all(programs, &mut Vec::new());
    assert_eq!(theatres.plays, plays);
    assert!(theatres.told > plays / 5, "{} were told", theatres.told);
}

const TICKS: &[Step] = &[Step::Tick, Step::Tick, Step::Tick];
const TICK_DRAIN_TICK: &[Step] = &[Step::Tick, Drain, Step::Tick];

#[test]
fn no_order_of_subscribing_posting_dying_and_telling_loses_a_wake_up() {
    let ann: &[Step] = &[Do(0, Subscribe), Do(0, Unsubscribe)];
    check(&mut [ann, &[Do(1, Subscribe)], &[Post, Post], &[Kill], TICK_DRAIN_TICK], 15_120);
}

#[test]
fn no_order_of_requests_and_answers_takes_one_for_another() {
    let ann: &[Step] = &[Do(0, Request), Do(0, Unsubscribe), Do(0, Request)];
    check(&mut [ann, &[Answer, Answer], TICKS], 560);
    check(&mut [&[Do(0, Request)], &[Do(1, Request)], &[Answer, Answer], &[Kill], TICKS], 3_360);
}

#[test]
fn no_order_of_endings_finishes_anybody_twice_or_tells_who_is_gone() {
    let ann: &[Step] = &[Do(0, Subscribe), Do(0, Finish)];
    let bea: &[Step] = &[Do(1, Subscribe)];
    check(&mut [ann, bea, &[Post, Leave(1)], TICK_DRAIN_TICK], 1_680);
    check(&mut [&[Do(0, Subscribe)], &[Stop(0)], bea, &[Post], TICK_DRAIN_TICK], 840);
}
