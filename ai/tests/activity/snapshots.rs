//! Activities in snapshots.

use formic_ai::activity::{self, ActivitySlot, Posted, State, Status};
use formic_ai::prelude::*;
use formic_ecs::{Component, Snapshot, SnapshotError};

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
    let rover: Rover = bytemuck::Zeroable::zeroed();
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
