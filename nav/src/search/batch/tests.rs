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
