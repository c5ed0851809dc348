//! Results do not depend on the number of threads.

use formic_ai::activity::{ActivitySlot, State};
use formic_ai::prelude::*;

use crate::rovers::{Crowd, Rover};

#[test]
fn the_state_is_the_same_after_every_tick_for_any_number_of_threads() {
    let run = |threads| {
        let mut crowd = Crowd::new(threads, 400);
        let hashes: Vec<u64> = (0..60).map(|_| crowd.tick()).collect();
        let slot: Vec<State> =
            crowd.world.query::<&ActivitySlot<Rover>>().map(ActivitySlot::state).collect();
        (hashes, slot)
    };
    let expected = run(Threads::None);
    // It is worth comparing: all states come up, and the ticks are different.
    for state in [State::Idle, State::Active, State::Blocked] {
        assert!(expected.1.contains(&state), "no thread may be {state:?}");
    }
    for threads in [1, 2, 3, 7] {
        assert_eq!(run(Threads::Own(threads)), expected, "{threads} threads");
    }
}
