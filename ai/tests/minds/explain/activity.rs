//! Decision records of activities.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Ending, Event, EventKinds, Posted,
    Status, Tick,
};
use formic_ai::explain::DecisionLog;
use formic_ai::prelude::*;
use formic_ecs::HashRule;

const ARRIVED: EventKinds = EventKinds::one(0);

struct Arrived;

impl Event for Arrived {
    fn kind(&self) -> EventKinds {
        ARRIVED
    }
    fn kind_name(number: u32) -> Option<&'static str> {
        (number == 0).then_some("the arrival")
    }
}

enum Village {}

impl ActivityDomain for Village {
    type World<'w> = ();
    type Event = Arrived;
    type Failure = &'static str;

    fn reason(failure: &&'static str) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(failure))
    }
}

/// Waits for an arrival, so many times, and then ends as it was told to.
struct Await {
    whom: Entity,
    times: u32,
    end: Ending<&'static str>,
}

impl Activity for Await {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        "waiting".into()
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        Some(format!("{} to go", self.times).into())
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, (): &()) -> Status<&'static str> {
        tick.unsubscribe_all();
        match self.times.checked_sub(1) {
            None => Status::Finished(self.end),
            Some(times) => {
                self.times = times;
                tick.subscribe(self.whom, ARRIVED);
                Status::Blocked
            }
        }
    }
}

/// Who arrives in the next tick.
struct Arriving(Option<Entity>);

fn arrive(mut arriving: ResMut<Arriving>, mut posts: EventWriter<Posted<Arrived>>) {
    if let Some(subject) = arriving.0.take() {
        posts.send(Posted::about(subject, Arrived));
    }
}

fn live(activities: Activities<Await>) {
    activities.run(0, &());
}

struct Inn {
    world: World,
    schedule: Schedule,
    pool: Pool,
    host: Entity,
    guest: Entity,
}

fn inn() -> Inn {
    let mut world = World::new();
    let host = world.spawn(activity::idle::<Await>());
    let guest = world.spawn(());
    let mut log = DecisionLog::new();
    log.watch(host, "Host", 16);
    world.insert_resource(log);
    world.insert_resource(Arriving(None));
    let schedule = Schedule::builder().add((arrive, live)).build(&mut world).unwrap();
    Inn { world, schedule, pool: Pool::new(Threads::None).unwrap(), host, guest }
}

impl Inn {
    fn order(&mut self, times: u32, end: Ending<&'static str>) {
        let whom = self.guest;
        activity::order(&mut self.world, self.host, 1, Await { whom, times, end }).unwrap();
    }

    fn arrive(&mut self) {
        self.world.resource_mut::<Arriving>().unwrap().0 = Some(self.guest);
        self.tick();
    }

    fn tick(&mut self) {
        drop(self.schedule.run(&mut self.world, &self.pool));
    }

    fn sentences(&mut self) -> Vec<String> {
        let log = self.world.resource_mut::<DecisionLog>().unwrap();
        let sentences = log.sentences(self.host);
        log.clear();
        sentences
    }
}

#[test]
fn an_activity_tells_what_it_waits_for_since_when_and_what_woke_it() {
    let mut inn = inn();
    inn.order(2, Ending::Failed("no bed is free"));
    inn.tick();
    inn.tick();
    assert_eq!(
        inn.sentences(),
        [
            "Tick 0: Host#0 does waiting, because it was proposed.",
            "Tick 0: Host#0 sleeps; waiting: 1 to go goes on; asleep since tick 0, waits for the \
             arrival of entity 1.",
        ]
    );
    inn.arrive();
    let sentences = inn.sentences();
    assert_eq!(
        sentences[0],
        "Tick 2: Host#0 does waiting: 1 to go, because the arrival of entity 1 came."
    );
    assert_eq!(
        sentences[1..],
        [
            "Tick 2: Host#0 sleeps; waiting: 0 to go goes on; asleep since tick 2, waits for the arrival \
          of entity 1."
        ],
        "by the ticks of the schedule, whatever time the game gives to its runs"
    );
    inn.arrive();
    assert_eq!(
        inn.sentences()[1..],
        ["Tick 3: Host#0 does nothing; waiting has failed: no bed is free."]
    );
}

#[test]
fn an_interruption_tells_by_what_and_a_death_of_whom() {
    let mut inn = inn();
    inn.order(5, Ending::Success);
    inn.tick();
    inn.order(1, Ending::Success);
    inn.tick();
    let sentences = inn.sentences();
    assert_eq!(
        sentences[2],
        "Tick 1: Host#0 does waiting, because it was proposed; waiting stopped: interrupted by \
         waiting."
    );
    let guest = inn.guest;
    inn.world.resource_mut::<DecisionLog>().unwrap().call(guest, "Guest");
    inn.world.despawn(inn.guest).unwrap();
    inn.tick();
    assert_eq!(
        inn.sentences(),
        [
            "Tick 2: Host#0 does waiting: 0 to go, because Guest#1 is gone.",
            "Tick 2: Host#0 does nothing; waiting is done.",
        ]
    );
    inn.order(1, Ending::Success);
    inn.tick();
    activity::stop::<Await>(&mut inn.world, inn.host).unwrap();
    inn.tick();
    let sentences = inn.sentences();
    assert!(sentences.iter().any(|it| it.contains("waiting")), "{sentences:?}");
}

#[test]
fn where_nothing_ends_and_nothing_begins_nothing_is_written() {
    let mut inn = inn();
    activity::stop::<Await>(&mut inn.world, inn.host).unwrap();
    inn.tick();
    assert_eq!(inn.sentences(), [""; 0]);
    inn.world.despawn(inn.host).unwrap();
    inn.tick();
    assert!(!inn.world.contains(inn.host));
    assert_eq!(inn.sentences(), [""; 0]);
}

#[test]
fn activities_have_the_same_hash_whether_they_are_watched_or_not() {
    let play = |watched: bool| {
        let mut inn = inn();
        if !watched {
            inn.world.remove_resource::<DecisionLog>();
        }
        let mut hashes = Vec::new();
        inn.order(3, Ending::Success);
        for tick in 0..12 {
            match tick % 3 {
                1 => inn.arrive(),
                _ => inn.tick(),
            }
            if tick == 8 {
                inn.order(2, Ending::Interrupted);
            }
            let slot = inn.world.get::<ActivitySlot<Await>>(inn.host).unwrap().to_string();
            hashes.push((inn.world.state_hash(), slot));
        }
        hashes
    };
    assert_eq!(play(true), play(false));
}

/// Neither its events nor its failures have names.
struct Noise;

impl Event for Noise {}

type Camp = ((), Noise, u32);

/// Waits for what it is told to, leaves a waker, and fails when it is woken a third time.
struct Guard {
    kinds: EventKinds,
    whom: Entity,
    wakers: Arc<Mutex<Vec<Waker>>>,
    ticks: u32,
}

impl Activity for Guard {
    type Domain = Camp;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        "guarding".into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Camp>, (): &()) -> Status<u32> {
        self.ticks += 1;
        if self.ticks == 4 {
            return Status::Finished(Ending::Failed(7));
        }
        tick.unsubscribe_all();
        tick.subscribe(self.whom, self.kinds);
        let call = tick.subscribe(tick.agent(), EventKinds::NONE);
        self.wakers.lock().unwrap().push(tick.waker(call));
        Status::Blocked
    }
}

#[test]
fn it_is_told_that_one_waits_for_a_call_and_what_has_no_name_is_an_event() {
    let mut world = World::new();
    let guard = world.spawn(activity::idle::<Guard>());
    let king = world.spawn(());
    world.insert_resource(DecisionLog::watching(guard, "Guard", 16));
    let live = |activities: Activities<Guard>| _ = activities.run(0, &());
    let stumble = |trips: Res<bool>| assert!(!*trips, "on purpose");
    world.insert_resource(false);
    let mut schedule = Schedule::builder().add((live, stumble)).build(&mut world).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let mut tick = |world: &mut World| {
        let run = AssertUnwindSafe(|| drop(schedule.run(world, &pool)));
        drop(catch_unwind(run));
        let log = world.resource_mut::<DecisionLog>().unwrap();
        let sentences = log.sentences(guard);
        log.clear();
        sentences
    };
    let order = |world: &mut World, kinds| {
        let wakers = wakers.clone();
        let guarding = Guard { kinds, whom: king, wakers, ticks: 0 };
        activity::order(world, guard, 1, guarding).unwrap();
    };
    order(&mut world, EventKinds::NONE);
    assert_eq!(
        tick(&mut world)[1],
        "Tick 0: Guard#0 sleeps; guarding goes on; asleep since tick 0, waits for the death of entity \
         1 or a call from outside."
    );
    wakers.lock().unwrap().pop().unwrap().wake();
    assert_eq!(
        tick(&mut world)[0],
        "Tick 1: Guard#0 does guarding, because it was called from outside."
    );
    order(&mut world, EventKinds::one(0));
    let said = tick(&mut world);
    assert!(
        said[1].ends_with("waits for an event of entity 1 or a call from outside."),
        "{said:?}"
    );
    world.resource_mut::<Events<Posted<Noise>>>().unwrap().send(Posted::about(king, Noise));
    assert_eq!(
        tick(&mut world)[0],
        "Tick 3: Guard#0 does guarding, because an event of entity 1 came."
    );
    *world.resource_mut::<bool>().unwrap() = true;
    wakers.lock().unwrap().pop().unwrap().wake();
    assert_eq!(tick(&mut world).len(), 2, "it is called in a run that another system cuts short");
    *world.resource_mut::<bool>().unwrap() = false;
    let said = tick(&mut world);
    assert_eq!(
        said[0],
        "Tick 5: Guard#0 does guarding, because events of entity 1 may have been missed."
    );
    assert_eq!(said[1], "Tick 5: Guard#0 does nothing; guarding has failed.");
}
