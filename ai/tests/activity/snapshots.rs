//! Activities in snapshots.

use ai::activity::{self, Doing, Status};
use ai::prelude::*;
use ecs_core::{Snapshot, SnapshotError};

use crate::puppet::Stage;
use crate::rovers::{Crowd, Now, Rover};

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
    let agent = crowd.world.query_filtered::<Entity, With<Doing<Rover>>>().first().unwrap();
    let rover: Rover = bytemuck::Zeroable::zeroed();
    activity::order(&mut crowd.world, agent, 9, rover).unwrap();
    let hash = crowd.world.state_hash();
    let saved = crowd.world.snapshot().unwrap();
    activity::stop::<Rover>(&mut crowd.world, agent).unwrap();
    assert_ne!(crowd.world.state_hash(), hash, "it is part of the state");
    crowd.world.restore(&saved).unwrap();
    assert_eq!(crowd.world.state_hash(), hash);
    assert!(!crowd.world.get::<Doing<Rover>>(agent).unwrap().takes(9));
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
            _ = crowd.world.state_hash();
        } else {
            refused += 1;
        }
        crowd.world.restore(&saved).unwrap();
    }
    assert!(refused > 0);
    crowd.tick();
}
