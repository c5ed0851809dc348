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
    let of = |expansions| Estimate { classes: [Usual { distance: 16, expansions }; DISTANCE_BITS] };
    let mut estimate = of(u64::MAX / 2);
    assert!(estimate.is_sound());
    estimate.learn(1, u64::MAX / 2);
    assert!(!of(u64::MAX - 5).is_sound());
}
