//! An activity that does as it is told, and tells what is done with it; and a stage for it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use formic_ai::action::Ended;
use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivityReport, ActivitySlot, Blocking, Effects,
    Ending, Event, EventKinds, Finished, Notice, Posted, Response, State, Status, Tick, Token,
};
use formic_ai::prelude::*;
use formic_ecs::HashRule;

/// A happening of a kind, with a number that it can be told by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ping {
    pub(crate) kind: u32,
    pub(crate) number: u32,
}

impl Event for Ping {
    fn kind(&self) -> EventKinds {
        EventKinds::one(self.kind)
    }
}

pub(crate) enum Theatre {}

impl ActivityDomain for Theatre {
    type World<'w> = ();
    type Event = Ping;
    type Failure = &'static str;
}

pub(crate) type Log = Arc<Mutex<Vec<String>>>;
pub(crate) type Outcome = Status<&'static str>;

/// What a puppet does in one tick.
pub(crate) type Act = Box<dyn FnMut(&mut Tick<'_, Theatre>) -> Outcome + Send + Sync>;

/// Does one act after the other, and the last one again and again.
pub(crate) struct Puppet {
    name: &'static str,
    acts: VecDeque<Act>,
    response: Response,
    log: Log,
    /// Panics once as it is told something.
    stumbles: bool,
    /// Panics in its end.
    falls: bool,
}

impl Puppet {
    pub(crate) fn new(name: &'static str, log: &Log) -> Self {
        let (acts, log) = (VecDeque::new(), log.clone());
        Self { name, acts, response: Response::WAKE, log, stumbles: false, falls: false }
    }

    pub(crate) fn stumbling(self) -> Self {
        Self { stumbles: true, ..self }
    }

    pub(crate) fn falling(self) -> Self {
        Self { falls: true, ..self }
    }

    pub(crate) fn act(
        mut self,
        act: impl FnMut(&mut Tick<'_, Theatre>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.acts.push_back(Box::new(act));
        self
    }

    /// The same answer to all events.
    pub(crate) fn answering(mut self, response: Response) -> Self {
        self.response = response;
        self
    }

    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

impl Activity for Puppet {
    type Domain = Theatre;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        self.name.into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Theatre>, (): &()) -> Outcome {
        self.note("ticks");
        let verdict = (self.acts[0])(tick);
        if self.acts.len() > 1 {
            self.acts.pop_front();
        }
        verdict
    }

    fn on_event(&mut self, notice: Notice<'_, Ping>, subject: Entity) -> Response {
        match notice {
            Notice::Event(ping, _) => self.note(&format!("hears {} of {subject}", ping.number)),
            Notice::Died(_) => self.note(&format!("hears that {subject} died")),
            Notice::Time(_) => self.note("hears the clock"),
            Notice::Missed(_) => self.note(&format!("may have missed something of {subject}")),
            _ => unreachable!("there is nothing else to tell"),
        }
        assert!(!std::mem::take(&mut self.stumbles), "on purpose");
        self.response
    }

    fn on_finish(self, ending: &Ending<&'static str>, effects: &mut Effects<'_, Theatre>, (): &()) {
        match ending {
            Ending::Failed(why) => self.note(&format!("fails: {why}")),
            other => self.note(&other.how().to_string()),
        }
        assert!(!self.falls, "on purpose");
        effects.post(Posted::about(effects.agent(), Ping { kind: 63, number: 0 }));
    }
}

pub(crate) fn done() -> Outcome {
    Status::Finished(Ending::Success)
}

/// A tick of a game, what the last run said, and what is wrong.
#[derive(Default)]
struct Now {
    tick: u64,
    report: ActivityReport,
    is_off: bool,
    is_sabotaged: bool,
}

fn live(activities: Activities<Puppet>, mut now: ResMut<Now>) {
    now.tick += 1;
    now.report = activities.run(now.tick, &());
}

fn is_on(now: Res<Now>) -> bool {
    !now.is_off
}

fn sabotage(now: Res<Now>) {
    assert!(!now.is_sabotaged, "on purpose");
}

/// A world of puppets.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) log: Log,
    schedule: Schedule,
    pool: Pool,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let mut world = World::new();
        world.insert_resource(Now::default());
        world.insert_resource(Events::<Posted<Ping>>::default());
        let schedule =
            Schedule::builder().add((live.run_if(is_on), sabotage)).build(&mut world).unwrap();
        Self { world, log: Log::default(), schedule, pool: Pool::new(Threads::None).unwrap() }
    }

    pub(crate) fn puppet(&self, name: &'static str) -> Puppet {
        Puppet::new(name, &self.log)
    }

    /// An agent that begins this in the next tick.
    pub(crate) fn agent(&mut self, puppet: Puppet) -> Entity {
        let agent = self.world.spawn(activity::idle::<Puppet>());
        activity::order(&mut self.world, agent, 1, puppet).unwrap();
        agent
    }

    pub(crate) fn post(&mut self, subject: Entity, kind: u32, number: u32) {
        self.send(Posted::about(subject, Ping { kind, number }));
    }

    pub(crate) fn answer(&mut self, token: Token, kind: u32, number: u32) {
        self.send(Posted::about(token.task(), Ping { kind, number }).answering(token));
    }

    pub(crate) fn send(&mut self, posted: Posted<Ping>) {
        self.world.resource_mut::<Events<Posted<Ping>>>().unwrap().send(posted);
    }

    /// One tick; what the puppets did.
    pub(crate) fn tick(&mut self) -> Vec<String> {
        let run = self.schedule.run(&mut self.world, &self.pool);
        assert!(run.failures.is_empty(), "{:?}", run.failures);
        self.check();
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    pub(crate) fn ticks(&mut self, count: usize) -> Vec<String> {
        (0..count).flat_map(|_| self.tick()).collect()
    }

    pub(crate) fn check(&self) {
        self.world.check().unwrap();
        activity::check::<Puppet>(&self.world).unwrap();
    }

    pub(crate) fn report(&self) -> ActivityReport {
        self.world.resource::<Now>().unwrap().report
    }

    /// Whether activities are run.
    pub(crate) fn switch(&mut self, is_on: bool) {
        self.world.resource_mut::<Now>().unwrap().is_off = !is_on;
    }

    /// Another system panics from now on, or does no more.
    pub(crate) fn sabotage(&mut self, is_sabotaged: bool) {
        self.world.resource_mut::<Now>().unwrap().is_sabotaged = is_sabotaged;
    }

    /// A tick that panics.
    pub(crate) fn failing_tick(&mut self) -> Vec<String> {
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.tick()));
        assert!(run.is_err());
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    pub(crate) fn slot(&self, agent: Entity) -> &ActivitySlot<Puppet> {
        self.world.get(agent).unwrap()
    }

    pub(crate) fn is_blocked(&self, agent: Entity) -> bool {
        let is_marked = self.world.is_enabled::<Blocking>(agent).unwrap();
        let state = self.slot(agent).state();
        assert_eq!(is_marked, state != State::Active);
        state == State::Blocked
    }

    pub(crate) fn ended(&self, agent: Entity) -> Option<Ended> {
        self.slot(agent).ended()
    }

    /// How the activities that have ended did so, and why.
    pub(crate) fn endings(&self) -> Vec<Ending<&'static str>> {
        let finished = self.world.resource::<Events<Finished<&'static str>>>().unwrap();
        finished.iter().map(|finished| finished.ending).collect()
    }
}
