//! Activities in snapshots.

use std::borrow::Cow;
use std::sync::Mutex;
use std::task::Waker;

use bytemuck::{Pod, Zeroable};
use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Ending, Event, EventKinds, Finished,
    Notice, Posted, Response, State, Status, Tick, Token,
};
use formic_ai::prelude::*;
use formic_ecs::{Codec, Component, HashRule, Snapshot, SnapshotError};
use formic_jobs::{Save, SaveRules, ScheduleBuilder};

use crate::puppet::Stage;
use crate::rovers::{Crowd, Now, Ping, Rover, rock};

#[test]
fn a_world_that_is_restored_goes_on_as_the_one_that_was_saved() {
    let mut first = Crowd::new(Threads::None, 60);
    (0..20).for_each(|_| _ = first.tick());
    let saved = first.world.snapshot().unwrap();
    // Ten ticks by ten: the minds' turns begin where they were.
    let expected: Vec<u64> = (0..30).map(|_| first.tick()).collect();
    let bytes = saved.as_bytes().to_vec();
    let saved = Snapshot::from_bytes(bytes).unwrap();

    // Back in the same world.
    let rewind = |crowd: &mut Crowd| {
        crowd.world.restore(&saved).unwrap();
        // What is known is that of another world until the first run.
        activity::check::<Rover>(&crowd.world).unwrap();
        crowd.world.resource_mut::<Now>().unwrap().0 = 20;
        (0..30).map(|_| crowd.tick()).collect::<Vec<u64>>()
    };
    assert_eq!(rewind(&mut first), expected);
    // And in another one.
    let mut second = Crowd::new(Threads::Own(2), 3);
    assert_eq!(rewind(&mut second), expected);
}

#[test]
fn an_activity_that_cannot_be_saved_is_an_error_by_name() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|_| Status::Ongoing);
    stage.agent(puppet);
    let error = stage.world.snapshot().unwrap_err();
    let SnapshotError::NotSerializable { component } = error else { panic!("{error}") };
    assert!(component.contains("Puppet"), "{component}");
}

#[test]
fn a_proposal_is_saved_as_well() {
    let mut crowd = Crowd::new(Threads::None, 1);
    let agent = crowd.world.query_filtered::<Entity, With<ActivitySlot<Rover>>>().first().unwrap();
    let rover: Rover = Zeroable::zeroed();
    activity::order(&mut crowd.world, agent, 9, rover).unwrap();
    let hash = crowd.world.state_hash();
    let saved = crowd.world.snapshot().unwrap();
    activity::stop::<Rover>(&mut crowd.world, agent).unwrap();
    assert_ne!(crowd.world.state_hash(), hash, "it is part of the state");
    crowd.world.restore(&saved).unwrap();
    assert_eq!(crowd.world.state_hash(), hash);
    assert!(!crowd.world.get::<ActivitySlot<Rover>>(agent).unwrap().takes(9));
}

#[test]
fn bytes_that_were_tampered_with_are_refused_or_are_a_state() {
    let mut crowd = Crowd::new(Threads::None, 6);
    (0..15).for_each(|_| _ = crowd.tick());
    let saved = crowd.world.snapshot().unwrap();
    let mut random = RandomStream::new(5);
    let mut refused = 0;
    for _ in 0..400 {
        let mut bytes = saved.as_bytes().to_vec();
        let place = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        bytes[place] ^= 1 << random.below(8);
        let altered = Snapshot::from_bytes(bytes);
        let restored = altered.is_ok_and(|altered| crowd.world.restore(&altered).is_ok());
        if restored {
            crowd.world.check().unwrap();
            drop(crowd.world.state_hash());
        } else {
            refused += 1;
        }
        crowd.world.restore(&saved).unwrap();
    }
    assert!(refused > 0);
    crowd.tick();
}

#[test]
fn what_was_posted_before_restoring_is_told_to_nobody_after_it() {
    let mut crowd = Crowd::new(Threads::None, 60);
    (0..20).for_each(|_| _ = crowd.tick());
    let saved = crowd.world.snapshot().unwrap();
    let mut rewind = |posts: u64| {
        let events = crowd.world.resource_mut::<Events<Posted<Ping>>>().unwrap();
        (0..posts).for_each(|number| events.send(Posted::about(rock(number), Ping(0))));
        (0..posts).for_each(|number| _ = crowd.world.despawn(rock(number)));
        crowd.world.restore(&saved).unwrap();
        crowd.world.resource_mut::<Now>().unwrap().0 = 20;
        (0..10).map(|_| crowd.tick()).collect::<Vec<u64>>()
    };
    let expected = rewind(0);
    assert_eq!(rewind(50), expected);
}

#[test]
fn numbers_of_tokens_go_on_in_a_restored_world_where_a_task_was_removed() {
    let run = |restores: bool| {
        let mut crowd = Crowd::new(Threads::None, 12);
        (0..20).for_each(|_| _ = crowd.tick());
        let has_asked =
            |(_, slot): &(Entity, &ActivitySlot<Rover>)| !slot.subscriptions().is_empty();
        let all = crowd.world.query_ref::<(Entity, &ActivitySlot<Rover>)>();
        let agent = all.into_iter().find(has_asked).unwrap().0;
        crowd.world.remove::<ActivitySlot<Rover>>(agent).unwrap();
        if restores {
            let saved = crowd.world.snapshot().unwrap();
            crowd = Crowd::new(Threads::None, 0);
            crowd.world.restore(&saved).unwrap();
            crowd.world.resource_mut::<Now>().unwrap().0 = 20;
        }
        crowd.world.insert(agent, activity::idle::<Rover>()).unwrap();
        (0..15).map(|_| crowd.tick()).last()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_state_that_no_task_can_be_in_is_refused() {
    let codec = <ActivitySlot<Rover> as Component>::CODEC;
    let mut crowd = Crowd::new(Threads::None, 40);
    (0..20).for_each(|_| _ = crowd.tick());
    let bytes_of = |slot: &ActivitySlot<Rover>| {
        let mut bytes = Vec::new();
        codec.write(slot, &mut bytes).unwrap();
        bytes
    };
    let reads = |bytes: &[u8]| codec.read(&mut &*bytes).is_ok();
    let doings = crowd.world.query_ref::<&ActivitySlot<Rover>>();
    let doings: Vec<&ActivitySlot<Rover>> = doings.into_iter().collect();
    assert!(doings.iter().all(|slot| reads(&bytes_of(slot))));
    let idle = bytes_of(&ActivitySlot::default());
    assert!(reads(&idle));
    // The state comes first, then how the last one ended, whether there is an activity, and the rest.
    let blocked = doings.iter().find(|slot| slot.state() == State::Blocked).unwrap();
    let mut waits_for_nothing = bytes_of(blocked);
    let count = 4 + 8 + 8 + 4 + 4;
    let len = waits_for_nothing[count] as usize;
    assert_eq!(len, blocked.subscriptions().len());
    waits_for_nothing[count] = 0;
    waits_for_nothing.drain(count + 4..count + 4 + 21 * len);
    assert!(!reads(&waits_for_nothing), "blocked, and waits for nothing");
    waits_for_nothing[0] = State::Active as u8;
    assert!(reads(&waits_for_nothing));
    let mut waits_idly = bytes_of(blocked);
    (waits_idly[0], waits_idly[2]) = (State::Idle as u8, 0);
    assert!(!reads(&waits_idly), "is at nothing, and waits");
    // The first subscription once more.
    let mut twice = bytes_of(blocked);
    let first = twice[count + 4..count + 4 + 21].to_vec();
    twice[count] += 1;
    twice.splice(count + 4..count + 4, first);
    assert!(!reads(&twice), "one subscription twice");
}

/// Where a sleeper leaves the way to call it.
#[derive(Default)]
struct Bell(Mutex<Option<Waker>>);

enum Night {}

impl ActivityDomain for Night {
    type World<'w> = Res<'w, Bell>;
    type Event = Noise;
    type Failure = u32;
    const FAILURE: Codec<u32> = Codec::plain();
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Noise(u32);

impl Event for Noise {
    const CODEC: Codec<Self> = Codec::plain();

    fn kind(&self) -> EventKinds {
        EventKinds::one(self.0)
    }
}

/// Sleeps until it is called, whatever it hears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Sleeper {
    ticks: u32,
    heard: u32,
}

impl Activity for Sleeper {
    type Domain = Night;
    const HASH: HashRule<Self> = HashRule::Bytes(|sleepers| bytemuck::cast_slice(sleepers));
    const CODEC: Codec<Self> = Codec::plain();

    fn name(&self) -> Cow<'_, str> {
        "sleeping".into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Night>, bell: &Res<Bell>) -> Status<u32> {
        self.ticks += 1;
        if tick.subscriptions().is_empty() {
            let token = tick.subscribe(tick.agent(), EventKinds::one(0));
            *bell.0.lock().unwrap() = Some(tick.waker(token));
        }
        Status::Blocked
    }

    fn on_event(&mut self, _: Notice<'_, Noise>, _: Entity) -> Response {
        self.heard += 1;
        Response::SLEEP
    }
}

fn sleep(activities: Activities<Sleeper>, bell: Res<Bell>) {
    activities.run(0, &bell);
}

/// Once in each tick something happens to each sleeper.
fn disturb(
    mut sleepers: Query<(Entity, &ActivitySlot<Sleeper>)>,
    mut posts: EventWriter<Posted<Noise>>,
) {
    sleepers.for_each(|(sleeper, _)| posts.send(Posted::about(sleeper, Noise(0))));
}

/// A world without sleepers, and what has them sleep.
struct House {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl House {
    fn new(build: fn(ScheduleBuilder) -> ScheduleBuilder) -> Self {
        let mut world = World::new();
        world.insert_resource(Bell::default());
        SaveRules::of(&mut world).rebuild::<Bell>();
        let schedule = build(Schedule::builder().add(sleep)).build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap() }
    }

    fn tick(&mut self) {
        self.schedule.run(&mut self.world, &self.pool);
        activity::check::<Sleeper>(&self.world).unwrap();
    }

    /// A sleeper that has fallen asleep in the first tick.
    fn with_sleeper(mut self) -> (Self, Entity) {
        let sleeper = self.world.spawn(activity::idle::<Sleeper>());
        activity::order(&mut self.world, sleeper, 1, Sleeper::default()).unwrap();
        self.tick();
        (self, sleeper)
    }

    /// How often it was ticked and what it has heard, and whether it sleeps.
    fn state(&self, sleeper: Entity) -> (u32, u32, bool) {
        let slot = self.world.get::<ActivitySlot<Sleeper>>(sleeper).unwrap();
        let &Sleeper { ticks, heard } = slot.activity().unwrap();
        (ticks, heard, slot.state() == State::Blocked)
    }

    fn ring(&self) {
        let bell = self.world.resource::<Bell>().unwrap().0.lock().unwrap();
        bell.as_ref().expect("it sleeps").wake_by_ref();
    }
}

#[test]
fn a_waker_of_the_time_of_a_snapshot_still_wakes_after_restoring_it() {
    let (mut house, sleeper) = House::new(|schedule| schedule).with_sleeper();
    let saved = house.world.snapshot().unwrap();
    let game = Save::of(&house.world, &house.schedule).unwrap();
    house.ring();
    house.tick();
    assert_eq!(house.state(sleeper), (2, 0, true), "it has woken, and sleeps again");
    // It waits, and is called at once or later.
    for (ticks, is_game) in [(0, false), (3, false), (0, true), (3, true)] {
        match is_game {
            true => drop(game.load(&mut house.world, &mut house.schedule).unwrap()),
            false => drop(house.world.restore(&saved).unwrap()),
        }
        (0..ticks).for_each(|_| house.tick());
        assert_eq!(house.state(sleeper), (1, 0, true), "it waits");
        house.ring();
        house.tick();
        assert_eq!(house.state(sleeper), (2, 0, true), "after {ticks} ticks");
    }
    // In another world it waits as well, and that waker is not one of its own.
    for is_game in [false, true] {
        let mut other = House::new(|schedule| schedule);
        match is_game {
            true => drop(game.load(&mut other.world, &mut other.schedule).unwrap()),
            false => drop(other.world.restore(&saved).unwrap()),
        }
        house.ring();
        (0..3).for_each(|_| other.tick());
        assert_eq!(other.state(sleeper), (1, 0, true));
    }
}

#[test]
fn events_on_their_way_are_in_a_save_and_not_in_a_snapshot_and_deliver_leaves_none() {
    type Build = fn(ScheduleBuilder) -> ScheduleBuilder;
    let without: Build = |schedule| schedule.add(disturb.after(sleep));
    let with: Build =
        |schedule| schedule.add((disturb, activity::deliver::<Sleeper>).chain().after(sleep));
    for (build, now, of_snapshot) in [(without, 0, [0, 1, 2]), (with, 1, [2, 3, 4])] {
        let (mut house, sleeper) = House::new(build).with_sleeper();
        assert_eq!(house.state(sleeper), (1, now, true));
        let saved = house.world.snapshot().unwrap();
        let game = Save::of(&house.world, &house.schedule).unwrap();
        let go_on = |house: &mut House| {
            [(); 3].map(|()| {
                house.tick();
                house.state(sleeper).1
            })
        };
        let of_game = go_on(&mut house);
        assert_eq!(of_game, [now + 1, now + 2, now + 3]);
        for mut other in [house, House::new(build)] {
            other.world.restore(&saved).unwrap();
            assert_eq!(
                go_on(&mut other),
                of_snapshot,
                "the event of the first tick is lost or told"
            );
            game.load(&mut other.world, &mut other.schedule).unwrap();
            assert_eq!(go_on(&mut other), of_game);
        }
    }
}

#[test]
fn a_save_keeps_that_events_were_missed_while_activities_were_off() {
    let build = || {
        let mut world = World::new();
        world.insert_resource(Bell::default());
        SaveRules::of(&mut world).rebuild::<Bell>();
        let builder = Schedule::builder().add(sleep.every(5)).add(disturb);
        let schedule = builder.build(&mut world).unwrap();
        House { world, schedule, pool: Pool::new(Threads::None).unwrap() }
    };
    let (mut house, sleeper) = build().with_sleeper();
    for tick in 0..8 {
        let game = Save::of(&house.world, &house.schedule).unwrap();
        let mut other = build();
        game.load(&mut other.world, &mut other.schedule).unwrap();
        for _ in 0..6 {
            house.tick();
            other.tick();
        }
        assert_eq!(other.state(sleeper), house.state(sleeper), "saved after {tick} times 7 ticks");
        house.tick();
    }
    let (ticks, ..) = house.state(sleeper);
    assert!(ticks > 5, "it wakes whenever it may have missed something");
}

/// Ends at once, as it was told to.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Brief {
    how: u32,
}

impl Activity for Brief {
    type Domain = Night;
    const HASH: HashRule<Self> = HashRule::Bytes(|all| bytemuck::cast_slice(all));
    const CODEC: Codec<Self> = Codec::plain();

    fn name(&self) -> Cow<'_, str> {
        "ending".into()
    }

    fn on_tick(&mut self, _: &mut Tick<'_, Night>, _: &Res<Bell>) -> Status<u32> {
        Status::Finished(match self.how {
            0 => Ending::Success,
            1 => Ending::Interrupted,
            why => Ending::Failed(why),
        })
    }
}

#[test]
fn endings_with_their_reasons_and_answers_with_their_tokens_are_in_a_save() {
    let build: fn(ScheduleBuilder) -> ScheduleBuilder = |schedule| {
        schedule.add(|activities: Activities<Brief>, bell: Res<Bell>| {
            activities.run(0, &bell);
        })
    };
    let (mut house, sleeper) = House::new(build).with_sleeper();
    for how in [0, 77, 1] {
        let agent = house.world.spawn(activity::idle::<Sleeper>());
        let lane = house.world.spawn(activity::parallel::<Brief>(agent));
        activity::order(&mut house.world, lane, 1, Brief { how }).unwrap();
    }
    house.tick();
    // Still on their way: one for all, and two that only one subscription is told of.
    let slot = house.world.get::<ActivitySlot<Sleeper>>(sleeper).unwrap();
    let token = slot.subscriptions()[0].token(sleeper);
    let older = Token::new(sleeper, token.number() + 1);
    let posts = house.world.resource_mut::<Events<Posted<Noise>>>().unwrap();
    let post = || Posted::about(sleeper, Noise(0));
    for post in [post(), post().answering(token), post().answering(older)] {
        posts.send(post);
    }

    let known = |house: &House| {
        let ends = house.world.resource::<Events<Finished<u32>>>().unwrap();
        let posts = house.world.resource::<Events<Posted<Noise>>>().unwrap();
        let ends: Vec<Finished<u32>> = ends.iter().copied().collect();
        let posts: Vec<_> = posts.iter().map(|it| (it.subject, it.event.0, it.answers)).collect();
        (ends, posts)
    };
    let (ends, posts) = known(&house);
    let endings: Vec<Ending<u32>> = ends.iter().map(|it| it.ending).collect();
    assert_eq!(endings, [Ending::Success, Ending::Failed(77), Ending::Interrupted]);
    assert!(ends.iter().all(|it| it.task != it.agent && house.world.contains(it.agent)));
    let answers: Vec<Option<Token>> = posts.iter().map(|it| it.2).collect();
    assert_eq!(answers, [None, Some(token), Some(older)]);

    let game = Save::of(&house.world, &house.schedule).unwrap();
    let game = Save::from_bytes(&game.to_bytes()).unwrap();
    let mut other = House::new(build);
    assert!(game.load(&mut other.world, &mut other.schedule).unwrap().is_exact());
    assert_eq!(known(&other), (ends, posts));
    for house in [&mut house, &mut other] {
        house.tick();
        assert_eq!(house.state(sleeper), (1, 2, true), "it is told of the first two");
    }
}

#[test]
fn an_order_to_stop_is_saved_as_well() {
    let (mut house, sleeper) = House::new(|schedule| schedule).with_sleeper();
    activity::stop::<Sleeper>(&mut house.world, sleeper).unwrap();
    let hash = house.world.state_hash();
    let saved = house.world.snapshot().unwrap();
    house.tick();
    let mut other = House::new(|schedule| schedule);
    other.world.restore(&saved).unwrap();
    assert_eq!(other.world.state_hash(), hash);
    let slot = other.world.get::<ActivitySlot<Sleeper>>(sleeper).unwrap();
    assert!(slot.activity().is_some() && slot.takes(0));
    other.tick();
    assert_eq!(other.world.state_hash(), house.world.state_hash());
    let slot = other.world.get::<ActivitySlot<Sleeper>>(sleeper).unwrap();
    assert_eq!((slot.activity(), slot.ended()), (None, Some(Ended::Interrupted)));

    let codec = <ActivitySlot<Sleeper> as Component>::CODEC;
    let mut idle = Vec::new();
    codec.write(&ActivitySlot::default(), &mut idle).unwrap();
    // There is an activity or there is none, and what comes next is nothing, an end, or another one.
    for (place, number) in [(2, 2), (3, 3)] {
        let mut bytes = idle.clone();
        bytes[place] = number;
        bytes.extend([0; 32]);
        assert!(codec.read(&mut &*bytes).is_err(), "{number} at {place}");
    }
}
