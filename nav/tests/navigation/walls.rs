//! No crowd pushes a body into rock, whatever is dug and filled.

use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{Avoid, Cell, FlowFields, MoveRule, PathStats, Wander, systems};
use glam::Vec2;

use crate::cells::any_cell;
use crate::noise::noise;
use crate::rng::Rng;
use crate::sim::Sim;

/// Whether the straight line between two places stays in open cells; where it runs through
/// the corner between cells, `f32` decides.
fn is_in_the_open(sim: &Sim, from: Vec2, to: Vec2) -> bool {
    (0..=64_u8).all(|part| {
        let place = from.lerp(to, f32::from(part) / 64.0);
        Cell::containing(place).is_some_and(|cell| sim.terrain().is_open(cell))
    })
}

#[test]
fn no_member_of_a_crowd_is_ever_in_rock_or_goes_through_it() {
    for (seed, rule, seconds) in [
        (1, MoveRule::BothFree, 0.05),
        (2, MoveRule::Orthogonal, 0.05),
        (3, MoveRule::BothFree, 0.4),
    ] {
        let mut rng = Rng::new(seed);
        let mut sim = Sim::on(noise(&mut rng, 20, 16, 65), rule, Threads::None);
        sim.set_time_step(seconds);
        let terrain = sim.terrain().clone();
        let mut fields = FlowFields::default();
        let field = fields.add(&terrain, &[any_cell(&mut rng, terrain.grid())]);
        sim.world.insert_resource(fields);
        let open: Vec<Cell> =
            terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
        let mut agents: Vec<Entity> = Vec::new();
        for number in 0..80 {
            let place = open[rng.below(open.len())].centre();
            let wander = Wander::with_pause(RandomStream::new(seed).fork(number), 0.3);
            let speed = 1.0 + (number % 5) as f32;
            let body = Avoid::new(0.15 + (number % 4) as f32 * 0.1);
            agents.push(if number % 3 == 0 {
                sim.world.spawn((
                    systems::flow_agent(place, speed, field),
                    body,
                    PathStats::default(),
                ))
            } else {
                sim.world.spawn((systems::agent(place, speed), wander, body))
            });
        }
        let mut far = 0;
        for tick in 0..1_500 {
            let before: Vec<(Vec2, u32)> = agents
                .iter()
                .map(|&agent| (sim.position(agent), sim.stats(agent).pushed_out))
                .collect();
            for _ in 0..rng.below(3) {
                let cell = any_cell(&mut rng, terrain.grid());
                let terrain = sim.terrain_mut();
                if rng.below(100) < 58 {
                    terrain.dig(cell);
                } else if terrain.grid().open_count() > 1 {
                    terrain.fill(cell);
                }
            }
            sim.tick();
            for (&agent, &(from, pushed_out)) in agents.iter().zip(&before) {
                let to = sim.position(agent);
                assert!(to.is_finite());
                let cell = Cell::containing(to).unwrap();
                assert!(sim.terrain().is_open(cell), "tick {tick}: {to} is in rock");
                if sim.stats(agent).pushed_out == pushed_out && seconds < 0.1 {
                    assert!(is_in_the_open(&sim, from, to), "tick {tick}: {from} to {to}");
                }
                far += usize::from(from.distance(to) > 0.01);
            }
        }
        assert!(far > 20_000, "they hardly move: {far}");
    }
}
