//! Tests of subscriptions as bytes.

use formic_ecs::CodecError;

use super::Subscription;
use crate::activity::event::{EventKinds, Token};

/// A request that a system keeps as a component.
#[derive(formic_ecs::Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(serde)]
struct Request {
    #[component(entity)]
    token: Token,
    subscriptions: Vec<Subscription>,
}

#[test]
fn a_component_with_tokens_and_subscriptions_is_hashed_saved_and_loaded() {
    let mut world = formic_ecs::World::new();
    let task = world.spawn(());
    let subscriptions =
        vec![Subscription::to(task, EventKinds::one(703), 7), Subscription::timer(task, 90, 8)];
    let request = Request { token: subscriptions[1].token(task), subscriptions };
    let holder = world.spawn(request.clone());
    let hash = world.state_hash();
    assert!(hash.is_whole(), "{:?} is left out", hash.uncovered());

    let saved = world.snapshot().expect("it has a codec");
    let mut loaded = formic_ecs::World::new();
    loaded.register::<Request>();
    loaded.restore(&saved).expect("the same components");
    assert_eq!(loaded.get(holder), Ok(&request));
    assert_eq!(loaded.state_hash(), hash);

    let change = |change: fn(&mut Request)| {
        let mut request = request.clone();
        change(&mut request);
        request
    };
    for other in [
        change(|request| request.token = Token::new(request.token.task(), 9)),
        change(|request| request.subscriptions[0].what ^= 1 << 9),
        change(|request| request.subscriptions[0].sort += 1),
        change(|request| request.subscriptions[1].sort = 0),
        change(|request| request.subscriptions[1].number += 1),
    ] {
        *loaded.get_mut(holder).expect("there") = other;
        assert_ne!(loaded.state_hash(), hash, "{:?}", loaded.get::<Request>(holder));
    }
}

#[test]
fn every_kind_and_all_of_them_are_written_and_read_again() {
    let task = formic_ecs::World::new().spawn(());
    let one = (0..EventKinds::COUNT_MAX).map(EventKinds::one);
    for kinds in one.chain([EventKinds::NONE, EventKinds::ALL]) {
        let (mut bytes, subscription) = (Vec::new(), Subscription::to(task, kinds, 7));
        subscription.write(&mut bytes).expect("plain numbers");
        let read = Subscription::read(&mut bytes.as_slice());
        assert_eq!(read.map(|it| it.kinds()), Ok(kinds));
        // No block is above the last, and only the first may be empty.
        for (sort, what) in [(18, 1), (254, 1), (255, 1), (5, 0)] {
            let place = bytes.len() - 1;
            bytes[place] = sort;
            bytes[8..16].copy_from_slice(&u64::to_le_bytes(what));
            assert_eq!(Subscription::read(&mut bytes.as_slice()), Err(CodecError));
        }
    }
}
