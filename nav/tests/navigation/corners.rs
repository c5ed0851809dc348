//! Agents that cut corners: over a solid cell they are on their way all the same.

use crate::noise;
use crate::rng::Rng;
use crate::sim::Sim;
use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{
    Cell, FlowFields, Grid, MoveRule, PathRequest, PathStats, Position, RequestStatus, Wander,
    systems,
};
use glam::Vec2;

/// One step from the west to the south, past a solid corner, and the agent over it.
fn over_the_corner(rule: MoveRule) -> (Sim, Entity) {
    let is_open = |cell: Cell| cell != Cell::new(1, 0) && cell != Cell::new(0, 3);
    let mut sim = Sim::on(Grid::from_fn(4, 4, is_open).unwrap(), rule, Threads::None);
    let agent = sim.spawn(0.9, 0.5, 2.0);
    sim.ask(agent, 1.5, 1.5);
    while sim.terrain().is_open(Cell::containing(sim.position(agent)).unwrap()) {
        assert_ne!(sim.status(agent), RequestStatus::Arrived, "{rule:?}");
        sim.tick();
    }
    (sim, agent)
}

#[test]
fn whoever_is_asked_over_a_corner_goes_there() {
    for rule in [MoveRule::OneFree, MoveRule::Always] {
        for goal in [(3.5, 3.5), (0.2, 0.2), (1.2, 1.2)] {
            for is_cancelled in [false, true] {
                let (mut sim, agent) = over_the_corner(rule);
                if is_cancelled {
                    sim.world.get_mut::<PathRequest>(agent).unwrap().cancel();
                    sim.ticks(3);
                }
                sim.ask(agent, goal.0, goal.1);
                sim.tick();
                assert_eq!(sim.status(agent), RequestStatus::Found, "{rule:?}, to {goal:?}");
                sim.ticks(80);
                assert_eq!(sim.position(agent), Vec2::from(goal), "{rule:?}");
            }
        }
    }
}

#[test]
fn an_edit_far_away_leaves_an_agent_over_a_corner_alone() {
    for rule in [MoveRule::OneFree, MoveRule::Always] {
        let (mut sim, agent) = over_the_corner(rule);
        sim.terrain_mut().dig(Cell::new(0, 3));
        sim.ticks(20);
        assert_eq!(
            sim.stats(agent),
            PathStats { paths_found: 1, arrivals: 1, ..PathStats::default() }
        );
    }
}

#[test]
fn an_edit_that_forbids_the_step_puts_the_agent_out() {
    let (mut sim, agent) = over_the_corner(MoveRule::OneFree);
    sim.terrain_mut().fill(Cell::new(0, 1));
    sim.tick();
    assert_eq!(sim.stats(agent).pushed_out, 1);
    assert!(sim.terrain().is_open(Cell::containing(sim.position(agent)).unwrap()));
}

#[test]
fn wanderers_keep_walking_under_all_rules_and_nobody_is_put_out_who_is_on_a_legal_step() {
    for rule in MoveRule::ALL {
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
        let arrivals =
            |sim: &Sim| PathStats::sum(agents.iter().map(|&agent| sim.stats(agent))).arrivals;
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
