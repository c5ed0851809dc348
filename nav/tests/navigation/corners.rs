//! Agents keep to open cells, and to rules that do not cut corners.

use crate::noise;
use crate::rng::Rng;
use crate::sim::Sim;
use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{
    Cell, FlowFields, Grid, MoveRule, Position, RequestStatus, Terrain, Wander, systems,
};
use glam::Vec2;

#[test]
#[should_panic(expected = "agents cannot walk by the move rule OneFree")]
fn a_rule_that_cuts_corners_is_not_for_agents() {
    let terrain = Terrain::new(Grid::solid(3, 3).unwrap(), MoveRule::OneFree);
    FlowFields::default().add(&terrain, &[Cell::new(0, 0)]);
}

#[test]
fn wanderers_keep_walking_and_none_is_put_out_by_edits_far_away() {
    for rule in [MoveRule::Orthogonal, MoveRule::BothFree] {
        let mut rng = Rng::new(9);
        let mut sim = Sim::on(noise::noise(&mut rng, 20, 20, 70), rule, Threads::None);
        let open: Vec<Cell> =
            sim.terrain().grid().cells().filter(|&cell| sim.terrain().is_open(cell)).collect();
        let mut fields = FlowFields::default();
        let camp = fields.add(&sim.terrain().clone(), &[open[open.len() / 2]]);
        sim.world.insert_resource(fields);
        let agents: Vec<Entity> = (0..60_u64)
            .map(|number| {
                let place = open[rng.below(open.len())].centre();
                sim.world.spawn(systems::flow_agent(place, 2.0, camp));
                let wander = Wander::with_pause(RandomStream::new(2).fork(number), 0.3);
                sim.world.spawn((systems::agent(place, 3.0), wander))
            })
            .collect();
        // A corner of the map far from all agents is dug and filled in every tick.
        let far = Cell::new(19, 19);
        for cell in [(19, 18), (18, 18), (18, 19), (19, 19)] {
            sim.terrain_mut().fill(Cell::new(cell.0, cell.1));
        }
        sim.tick();
        let before: Vec<u32> = agents.iter().map(|&agent| sim.stats(agent).pushed_out).collect();
        let arrivals = |sim: &Sim| sim.total(&agents, |stats| stats.arrivals);
        for tick in 0..600 {
            if tick % 2 == 0 {
                sim.terrain_mut().dig(far)
            } else {
                sim.terrain_mut().fill(far)
            };
            // Some are called back in the middle of a step.
            let agent = agents[tick % agents.len()];
            let goal = sim.position(agents[(tick * 7) % agents.len()]);
            sim.ask(agent, goal.x, goal.y);
            let places: Vec<Vec2> = sim.world.query::<&Position>().iter().map(|it| it.0).collect();
            sim.tick();
            let moved = sim.world.query::<&Position>().iter().map(|it| it.0).collect::<Vec<_>>();
            for (from, to) in places.iter().zip(&moved) {
                assert!(from.distance(*to) < 0.2, "{rule:?}: from {from} to {to}, put out");
            }
        }
        let after: Vec<u32> = agents.iter().map(|&agent| sim.stats(agent).pushed_out).collect();
        assert_eq!(before, after, "{rule:?}");
        assert!(arrivals(&sim) > 150, "{rule:?}: {} arrivals", arrivals(&sim));
        let blocked = |agent: &&Entity| {
            let reason = formic_nav::Unreachable::StartBlocked;
            sim.status(**agent) == RequestStatus::Unreachable(reason)
        };
        assert_eq!(agents.iter().filter(blocked).count(), 0, "{rule:?}");
    }
}

#[test]
fn agents_nowhere_are_put_somewhere_and_a_map_of_rock_costs_nothing() {
    let mut sim = Sim::of(&["....", ".@.."]);
    let lost: Vec<Entity> = [(f32::NAN, 1.5), (f32::INFINITY, f32::NAN), (-1e30, 1e30)]
        .into_iter()
        .map(|(x, y)| sim.spawn(x, y, 1.0))
        .collect();
    sim.tick();
    for &agent in &lost {
        let cell = Cell::containing(sim.position(agent)).unwrap();
        assert!(sim.terrain().is_open(cell), "{}", sim.position(agent));
    }
    let side = 2_000;
    let mut sim = Sim::new(Grid::solid(side, side).unwrap());
    for _ in 0..100 {
        sim.spawn(500.5, 500.5, 1.0);
        let agent = sim.spawn(f32::NAN, 500.5, 1.0);
        sim.tick();
        assert!(sim.position(agent).is_nan(), "there is nowhere to be put");
    }
}
