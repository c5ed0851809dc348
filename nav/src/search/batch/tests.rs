//! Estimates of costs.

use super::*;

#[test]
fn estimates_follow_what_searches_over_about_the_same_distance_cost() {
    let mut estimate = Estimate::default();
    assert_eq!(estimate.expansions(10), 160, "a guess");
    estimate.learn(84, 9_744);
    assert_eq!(estimate.expansions(100), 10_000);
    estimate.learn(84, 0);
    assert_eq!(estimate.expansions(100), 10_000, "what needed no search says nothing");
    assert_eq!(estimate.expansions(10), 160, "a near one is not as far");
    for _ in 0..100_000 {
        estimate.learn(65, 130);
    }
    assert_eq!(estimate.expansions(100), 200);
}

#[test]
fn what_was_read_leaves_room_to_count_on() {
    let read = |number: u64| {
        let bytes = [16, number].map(u64::to_le_bytes).concat().repeat(DISTANCE_BITS);
        Estimate::read(&mut bytes.as_slice())
    };
    read(u64::MAX / 2).unwrap().learn(1, u64::MAX / 2);
    assert!(read(u64::MAX - 5).is_err());
}
