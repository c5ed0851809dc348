//! Decision records of activities.

use std::borrow::Cow;

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
