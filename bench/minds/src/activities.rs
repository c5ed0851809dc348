//! Activities that sleep, and events that wake a few of them.

use std::borrow::Cow;

use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, Event, EventKinds, Posted, Status, Tick,
};
use formic_ai::prelude::*;
use formic_ecs::HashRule;

use crate::harness::{Contender, Row};

const CROWD: usize = 1_000_000;
const EVENTS: usize = 1_000;

pub(crate) fn rows() -> Vec<Row> {
    vec![
        // The goal is a millisecond for the whole tick.
        Row::new("activity: 1M blocked, 1k events, the tick", Some(1_000_000.0), || {
            vec![woken(EVENTS), woken(0), polled()]
        }),
        Row::new("activity: subscribe anew, by agent", None, || {
            vec![subscribing("1M on the subject", CROWD), subscribing("1k on the subject", EVENTS)]
        }),
    ]
}

struct Called;

impl Event for Called {
    fn kind(&self) -> EventKinds {
        EventKinds::one(0)
    }
}

enum Village {}

impl ActivityDomain for Village {
    type World<'w> = ();
    type Event = Called;
    type Failure = ();
}

/// Waits to be called, again and again.
#[derive(HashState)]
struct Wait {
    calls: u64,
    subject: Option<Entity>,
}

impl Activity for Wait {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        "waiting".into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, (): &()) -> Status<()> {
        self.calls += 1;
        if tick.subscriptions().is_empty() {
            let subject = self.subject.unwrap_or(tick.agent());
            tick.subscribe(subject, EventKinds::ALL);
        }
        Status::Blocked
    }
}

/// Ends its subscription and begins it again in every tick.
#[derive(HashState)]
struct Renew(Entity);

impl Activity for Renew {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        "renewing".into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, (): &()) -> Status<()> {
        tick.unsubscribe_all();
        tick.subscribe(self.0, EventKinds::ALL);
        Status::Ongoing
    }
}

/// Either of them, so that both have one table.
#[derive(HashState)]
enum Errand {
    Wait(Wait),
    Renew(Renew),
}

impl Activity for Errand {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Wait(it) => it.name(),
            Self::Renew(it) => it.name(),
        }
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, world: &()) -> Status<()> {
        match self {
            Self::Wait(it) => it.on_tick(tick, world),
            Self::Renew(it) => it.on_tick(tick, world),
        }
    }
}

/// Who is called next, and which tick it is.
struct Calls {
    agents: Vec<Entity>,
    random: RandomStream,
    count: usize,
    now: u64,
}

fn call(mut calls: ResMut<'_, Calls>, mut posts: EventWriter<'_, Posted<Called>>) {
    for _ in 0..calls.count {
        let agents = calls.agents.len() as u64;
        let place = usize::try_from(calls.random.below(agents)).expect("a place in a list");
        posts.send(Posted::about(calls.agents[place], Called));
    }
}

fn live(activities: Activities<'_, Errand>, mut calls: ResMut<'_, Calls>) {
    calls.now += 1;
    activities.run(calls.now, &());
}

fn contender(
    column: &'static str,
    units: usize,
    calls: usize,
    agents: usize,
    errand: impl Fn(usize, Entity) -> Errand,
) -> Contender {
    let mut world = World::new();
    let subject = world.spawn(());
    let agents: Vec<Entity> =
        (0..agents).map(|_| world.spawn(activity::idle::<Errand>())).collect();
    for (number, &agent) in agents.iter().enumerate() {
        activity::order(&mut world, agent, 0, errand(number, subject)).expect("it is there");
    }
    let random = RandomStream::new(1);
    world.insert_resource(Calls { agents, random, count: calls, now: 0 });
    let schedule = Schedule::builder().add((call, live)).build(&mut world);
    let mut schedule = schedule.expect("it has no cycle");
    let pool = Pool::new(Threads::None).expect("no threads are asked for");
    (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
    Contender::new(column, units, move || drop(schedule.run(&mut world, &pool)))
}

/// A crowd that waits, each for itself, and so many of it called in each tick.
fn woken(events: usize) -> Contender {
    let column = if events == 0 { "no events" } else { "formic" };
    contender(column, 1, events, CROWD, |_, _| Errand::Wait(Wait { calls: 0, subject: None }))
}

/// A thousand agents that subscribe anew in each tick, to what so many have subscribed to.
fn subscribing(column: &'static str, others: usize) -> Contender {
    contender(column, EVENTS, 0, others + EVENTS, |number, subject| {
        if number < EVENTS {
            Errand::Renew(Renew(subject))
        } else {
            Errand::Wait(Wait { calls: 0, subject: Some(subject) })
        }
    })
}

/// What an agent that is asked in each tick looks at.
#[derive(Component)]
struct Poll {
    is_called: bool,
    calls: u64,
}

/// The same by asking every agent in each tick.
fn polled() -> Contender {
    fn call(mut calls: ResMut<'_, Calls>, mut all: ComponentLookup<'_, &mut Poll>) {
        for _ in 0..calls.count {
            let agents = calls.agents.len() as u64;
            let place = usize::try_from(calls.random.below(agents)).expect("a place in a list");
            if let Ok(called) = all.get_mut(calls.agents[place]) {
                called.is_called = true;
            }
        }
    }
    fn poll(mut all: Query<'_, &mut Poll>) {
        all.for_each(|called| {
            if std::mem::take(&mut called.is_called) {
                called.calls += 1;
            }
        });
    }
    let mut world = World::new();
    let agents = world.spawn_batch((0..CROWD).map(|_| Poll { is_called: false, calls: 0 }));
    let agents = agents.into_iter().collect();
    let random = RandomStream::new(1);
    world.insert_resource(Calls { agents, random, count: EVENTS, now: 0 });
    let schedule = Schedule::builder().add((call, poll)).build(&mut world);
    let mut schedule = schedule.expect("it has no cycle");
    let pool = Pool::new(Threads::None).expect("no threads are asked for");
    Contender::new("a flag that is polled", 1, move || drop(schedule.run(&mut world, &pool)))
}
