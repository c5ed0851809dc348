//! The foretelling of costs.

use super::*;

#[test]
fn estimates_follow_what_searches_cost() {
    let mut estimate = Estimate::default();
    assert_eq!(estimate.expansions(10), 160, "a guess");
    estimate.learn(84, 9_744);
    assert_eq!(estimate.expansions(20), 2_000);
    estimate.learn(84, 0);
    assert_eq!(estimate.expansions(20), 2_000, "what needed no search says nothing");
    for _ in 0..100_000 {
        estimate.learn(10, 20);
    }
    assert_eq!(estimate.expansions(20), 40);
}
