//! Tests of watched agents, and of the cost of watching them.

use std::collections::BTreeSet;

use formic_ecs::RandomStream;

use super::*;

fn entity(index: u32, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).expect("a handle")
}

#[test]
fn a_forged_entity_does_not_cost_memory_by_its_index() {
    let mut log = DecisionLog::new();
    for index in [u32::MAX - 1, 1 << 31, 1 << 20] {
        let forged = entity(index, 1);
        log.watch(forged, "No agent", 4);
        assert!(log.is_watched(forged) && !log.is_watched(entity(index, 2)));
        assert!(log.unwatch(forged) && !log.is_watched(forged));
    }
}

/// Indices that share bits and links, and many that do not.
#[test]
fn who_is_watched_is_who_was_watched_and_not_unwatched() {
    let mut random = RandomStream::new(7);
    for bound in [3, 70_000, 3_000_000_000] {
        let (mut log, mut model) = (DecisionLog::new(), BTreeSet::new());
        let mut known = Vec::new();
        for step in 0..4_000_u64 {
            let index = u32::try_from(random.below(bound)).expect("below 2^32");
            let generation = 1 + u32::try_from(random.below(2)).expect("two");
            let one = entity(index, generation);
            known.push(one);
            if random.below(3) > 0 {
                log.watch(one, "Imp", 1);
                model.insert(one);
                log.note(one, step, Engine::Utility, |_| {});
            } else {
                let place = random.below(known.len() as u64);
                let other = known[usize::try_from(place).expect("a place")];
                assert_eq!(log.unwatch(other), model.remove(&other));
            }
            assert_eq!(log.is_watched(one), model.contains(&one));
            assert_eq!(log.decisions(one).len(), usize::from(model.contains(&one)));
        }
        assert!(known.iter().all(|one| log.is_watched(*one) == model.contains(one)));
        assert!(log.agents().eq(model.iter().copied()));
        model.iter().for_each(|&one| assert!(log.unwatch(one)));
        assert!(log.is_empty() && known.iter().all(|&one| !log.is_watched(one)));
    }
}

#[test]
fn states_of_two_engines_that_stay_as_they_are_are_recorded_once_each() {
    let imp = entity(0, 1);
    let log = DecisionLog::watching(imp, "Imp", 16);
    for tick in 0..3 {
        for engine in [Engine::Paths, Engine::Other("mood")] {
            let state = || Candidate::new("the same", super::super::Verdict::Chosen);
            log.note_change((imp, tick), engine, &1_u32, state);
        }
    }
    assert_eq!(log.decisions(imp).len(), 2);
}
