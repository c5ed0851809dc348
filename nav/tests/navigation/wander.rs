//! Wandering: rests, choices, and coming back from failure.

use std::collections::BTreeSet;

use crate::sim::Sim;
use formic_ecs::RandomStream;
use formic_nav::{Cell, PathRequest, PathStats, RequestStatus, Wander, systems};
use glam::Vec2;

fn spawn_wanderer(sim: &mut Sim, at: (f32, f32), key: u64) -> formic_ecs::Entity {
    let stream = RandomStream::new(1).fork(key);
    sim.world.spawn((systems::agent(at.into(), 4.0), Wander::new(stream)))
}

#[test]
fn the_first_rests_are_spread_over_three_seconds() {
    let rests = (0..100).map(|key| Wander::new(RandomStream::new(9).fork(key)).rest_seconds());
    let thirds: BTreeSet<u64> = rests
        .inspect(|rest| assert!((0.0..3.0).contains(rest)))
        .map(|rest| {
            if rest < 1.0 {
                0
            } else if rest < 2.0 {
                1
            } else {
                2
            }
        })
        .collect();
    assert_eq!(thirds.len(), 3);
}

#[test]
fn a_wanderer_rests_three_seconds_after_it_arrived() {
    let mut sim = Sim::of(&["........", "........"]);
    let agent = spawn_wanderer(&mut sim, (0.5, 0.5), 1);
    while sim.status(agent) != RequestStatus::Arrived {
        sim.tick();
    }
    let number = |sim: &Sim| sim.world.get::<PathRequest>(agent).unwrap().number();
    let mut rested_ticks = 0;
    while number(&sim) == 1 {
        sim.tick();
        rested_ticks += 1;
    }
    assert!((59..=61).contains(&rested_ticks), "{rested_ticks} ticks of a twentieth second");
}

#[test]
fn every_cell_of_the_own_region_is_chosen_and_no_other() {
    let mut sim = Sim::of(&["...@..", "...@..", "..@@.."]);
    sim.set_time_step(1.0);
    let mut goals = BTreeSet::new();
    let agents: Vec<_> = (0..40).map(|key| spawn_wanderer(&mut sim, (0.5, 0.5), key)).collect();
    for _ in 0..60 {
        sim.tick();
        for &agent in &agents {
            if let Some(goal) = sim.world.get::<PathRequest>(agent).unwrap().goal() {
                goals.insert(Cell::containing(goal).unwrap());
                let offset = goal - goal.floor();
                assert!(offset.cmpge(Vec2::splat(0.19)).all(), "{offset}");
                assert!(offset.cmple(Vec2::splat(0.81)).all(), "{offset}");
            }
        }
    }
    let region = sim.terrain().region(Cell::new(0, 0)).unwrap();
    let cells: BTreeSet<Cell> = sim.terrain().regions().cells(region).collect();
    assert_eq!(goals, cells);
}

#[test]
fn a_wanderer_whose_way_is_cut_off_rests_and_sets_off_again() {
    let mut sim = Sim::of(&["............"]);
    let agent = spawn_wanderer(&mut sim, (0.5, 0.5), 3);
    while sim.status(agent) != RequestStatus::Found {
        sim.tick();
    }
    // The goal itself is filled, and stays so.
    let goal = sim.world.get::<PathRequest>(agent).unwrap().goal().unwrap();
    assert!(sim.terrain_mut().fill(Cell::containing(goal).unwrap()));
    sim.tick();
    assert!(matches!(sim.status(agent), RequestStatus::Unreachable(_)));
    sim.ticks(65);
    let stats = sim.stats(agent);
    assert_eq!(stats, PathStats { paths_found: 2, paths_unreachable: 1, ..stats });
}
