//! The order of nodes.

use std::collections::BTreeSet;

use formic_ecs::RandomStream;

use super::*;

#[test]
fn nodes_come_by_their_estimate_and_of_equals_the_last_one_first() {
    let mut stream = RandomStream::new(6);
    let mut below = |count: u64| u32::try_from(stream.next_u64() % count).unwrap();
    let mut frontier = Frontier::default();
    // More nodes than the slots at first, then fewer again.
    for step_count in [9000, 300, 3000] {
        frontier.begin(0);
        let mut waiting = BTreeSet::new();
        for number in 0..step_count {
            let estimate = 1000 + below(40);
            let place = Place { x: 1 + number % 90, y: 1 + number / 90 };
            frontier.reach(JumpNode::new(place, 900, number, None), u64::from(estimate - 900));
            waiting.insert((estimate, !number));
            if below(3) == 0 {
                let (_, inverted) = waiting.pop_first().unwrap();
                assert_eq!(frontier.close_next(), Some(!inverted));
            }
        }
        while let Some((_, inverted)) = waiting.pop_first() {
            assert_eq!(frontier.close_next(), Some(!inverted));
        }
        assert_eq!(frontier.close_next(), None);
    }
}
