//! Crowds in narrow places, steps of no time, and slow steps far away.

use std::collections::BTreeSet;

use formic_ecs::Entity;
use formic_nav::{
    AgentClass, Avoid, Cell, ClassId, FlowFields, Grid, MoveRule, PathRequest, Position,
    RequestStatus, SearchBudget, Speed, Terrain, TimeStep, systems,
};
use glam::Vec2;

use crate::rng::Rng;
use crate::sim::Sim;

/// Two bodies overlap by less than this in cells, unless one squeezes past, or has just done so.
const OVERLAP_MAX: f32 = 0.35;

/// Holds all pairs to [`OVERLAP_MAX`]. The `excused` are those that came to overlap while one of them squeezed, for
/// as long as they do.
fn check_overlaps(sim: &Sim, agents: &[Entity], excused: &mut BTreeSet<(usize, usize)>) {
    let bodies: Vec<(Vec2, Avoid)> = agents
        .iter()
        .map(|&agent| (sim.position(agent), *sim.world.get::<Avoid>(agent).unwrap()))
        .collect();
    for (one, (place, body)) in bodies.iter().enumerate() {
        for (other, (there, its)) in bodies.iter().enumerate().skip(one + 1) {
            let gap = place.distance(*there) - body.radius() - its.radius();
            if gap >= 0.0 {
                excused.remove(&(one, other));
            } else if body.is_squeezing() || its.is_squeezing() {
                excused.insert((one, other));
            } else if !excused.contains(&(one, other)) {
                assert!(gap > -OVERLAP_MAX, "{place} and {there} overlap by {}", -gap);
            }
        }
    }
}

/// Runs until all agents have arrived. None may be faster than it can, nor in rock.
fn run_until_all_arrive(sim: &mut Sim, agents: &[Entity], ticks_max: u32) {
    let mut places: Vec<Vec2> = agents.iter().map(|&agent| sim.position(agent)).collect();
    let mut excused = BTreeSet::new();
    for _ in 0..ticks_max {
        sim.tick();
        check_overlaps(sim, agents, &mut excused);
        let mut left = 0;
        for (&agent, place) in agents.iter().zip(&mut places) {
            let before = std::mem::replace(place, sim.position(agent));
            let speed = sim.world.get::<Speed>(agent).unwrap().0;
            let seconds = sim.world.resource::<TimeStep>().unwrap().seconds;
            assert!(place.distance(before) <= speed * seconds * 1.01, "{agent} is too fast");
            assert!(sim.terrain().is_open(Cell::containing(*place).unwrap()));
            left += u32::from(sim.status(agent) != RequestStatus::Arrived);
        }
        if left == 0 {
            return;
        }
    }
    let stuck: Vec<Vec2> = agents
        .iter()
        .filter(|&&agent| sim.status(agent) != RequestStatus::Arrived)
        .map(|&agent| sim.position(agent))
        .collect();
    panic!("{} of {} are stuck: {stuck:?}", stuck.len(), agents.len());
}

fn add(sim: &mut Sim, place: Vec2, goal: Vec2, speed: f32, radius: f32) -> Entity {
    let agent = sim.world.spawn((systems::agent(place, speed), Avoid::new(radius)));
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal);
    agent
}

#[test]
fn two_streams_of_wide_bodies_pass_each_other_in_corridors() {
    for (width, count) in [(3_u16, 40_u16), (4, 40), (5, 60)] {
        let mut sim = Sim::new(Grid::from_fn(60, width.into(), |_| true).unwrap());
        let mut agents = Vec::new();
        for number in 0..count {
            let (row, column) = (number / 2 % width, number / 2 / width);
            let y = f32::from(row) + 0.5;
            let (west, east) = (f32::from(column) + 0.5, 59.5 - f32::from(column));
            let (from, to) = if number % 2 == 0 { (west, east) } else { (east, west) };
            agents.push(add(&mut sim, Vec2::new(from, y), Vec2::new(to, y), 2.0, 0.45));
        }
        run_until_all_arrive(&mut sim, &agents, 8_000);
    }
}

#[test]
fn sixty_wide_bodies_find_their_ways_through_a_maze_of_one_wide_corridors() {
    let map: Vec<&str> = vec![
        "....................",
        ".@@@@@@.@@@@@@.@@@@.",
        ".@....@.@....@.@..@.",
        ".@.@@.@.@.@@.@.@.@@.",
        ".@.@@...@.@@...@....",
        ".@.@@@@@@.@@@@@@.@@.",
        ".@...............@@.",
        ".@@@@@.@@@@@@.@@@@@.",
        "....................",
    ];
    let mut sim = Sim::of(&map);
    let cells: Vec<Cell> =
        sim.terrain().grid().cells().filter(|&cell| sim.terrain().is_open(cell)).collect();
    let mut rng = Rng::new(5);
    let mut starts = cells.clone();
    let mut goals = cells;
    let mut agents = Vec::new();
    for _ in 0..60 {
        let start = starts.swap_remove(rng.below(starts.len()));
        let goal = goals.swap_remove(rng.below(goals.len()));
        agents.push(add(&mut sim, start.centre(), goal.centre(), 2.0, 0.45));
    }
    run_until_all_arrive(&mut sim, &agents, 8_000);
}

#[test]
fn a_step_of_no_time_or_less_moves_none() {
    for seconds in [0.0, -0.05, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut sim = Sim::of(&["......", "......", "@@@@@@"]);
        let terrain = sim.terrain().clone();
        let mut fields = FlowFields::default();
        let field = fields.add(&terrain, &[Cell::new(5, 1)]);
        sim.world.insert_resource(fields);
        let walker = sim.spawn(1.5, 0.5, 2.0);
        let avoider = sim.world.spawn((systems::agent(Vec2::new(2.5, 0.5), 2.0), Avoid::new(0.3)));
        let follower = sim.world.spawn(systems::flow_agent(Vec2::new(0.5, 1.5), 2.0, field));
        sim.ask(walker, 5.5, 0.5);
        sim.ask(avoider, 5.5, 1.5);
        sim.ticks(3);
        let agents = [walker, avoider, follower];
        let before = agents.map(|agent| sim.position(agent));
        sim.world.insert_resource(TimeStep { seconds });
        sim.ticks(5);
        assert_eq!(agents.map(|agent| sim.position(agent)), before, "{seconds} seconds");
        sim.world.insert_resource(TimeStep::default());
        sim.ticks(80);
        assert_eq!(sim.status(walker), RequestStatus::Arrived, "after {seconds} seconds");
    }
}

#[test]
fn one_that_fits_nowhere_may_be_anywhere_and_is_in_no_way() {
    for far in [-1e9, 70_000.0, 1e9, f32::MAX, f32::INFINITY, f32::NAN] {
        let mut sim = Sim::of(&["......", "......", "@@@@@@"]);
        let terrain = sim.terrain().clone().with_classes([AgentClass::new(8)]);
        sim.world.insert_resource(terrain);
        for place in [Vec2::new(far, 0.5), Vec2::new(0.5, far), Vec2::splat(far)] {
            sim.world.spawn((systems::agent(place, 2.0), Avoid::new(0.3), ClassId(1)));
        }
        let agent = add(&mut sim, Vec2::new(0.5, 0.5), Vec2::new(5.5, 0.5), 2.0, 0.3);
        sim.ticks(80);
        assert_eq!(sim.status(agent), RequestStatus::Arrived, "beside some at {far}");
    }
}

#[test]
fn what_is_slow_moves_far_from_the_origin_as_well() {
    let mut sim = Sim::new(Grid::from_fn(9_100, 3, |_| true).unwrap());
    sim.world.insert_resource(TimeStep { seconds: 1.0 / 240.0 });
    let terrain = sim.terrain().clone();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(9_050, 2)]);
    sim.world.insert_resource(fields);
    let walker = sim.spawn(9_000.5, 0.5, 0.1);
    let avoider = sim.world.spawn((systems::agent(Vec2::new(9_020.5, 0.5), 0.1), Avoid::new(0.3)));
    let follower = sim.world.spawn(systems::flow_agent(Vec2::new(9_000.5, 2.5), 0.1, field));
    sim.ask(walker, 9_010.5, 0.5);
    sim.ask(avoider, 9_090.5, 0.5);
    sim.ticks(3);
    let agents = [walker, avoider, follower];
    let before = agents.map(|agent| sim.position(agent));
    sim.ticks(2_400);
    for (agent, before) in agents.into_iter().zip(before) {
        let walked = sim.position(agent).x - before.x;
        assert!((0.95..1.05).contains(&walked), "{agent}: {walked} cells in ten seconds");
    }
}

#[test]
fn one_that_streams_push_to_and_fro_squeezes_past_them() {
    // A quay five cells wide, along which goblins and trolls go to and fro without end.
    let classes = [AgentClass::new(1), AgentClass::new(2)];
    let grid = Grid::from_fn(50, 5, |_| true).unwrap();
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(Terrain::new(grid, MoveRule::BothFree).with_classes(classes));
    let mut rng = Rng::new(11);
    let mut place = |is_east: bool| {
        let column = rng.below(12) + if is_east { 36 } else { 0 };
        Vec2::new(column as f32 + 0.5, rng.below(4) as f32 + 0.5)
    };
    let mut agents = Vec::new();
    for number in 0..70_u8 {
        let is_east = number % 2 == 0;
        let class = ClassId(1 + u8::from(number % 6 == 0));
        let agent = systems::agent(place(is_east), 1.5 + f32::from(number % 5) * 0.5);
        agents.push((sim.world.spawn((agent, class, Avoid::new(0.3))), is_east, 0));
    }
    let mut longest = 0;
    for _ in 0..4_000 {
        for (agent, is_east, ticks) in &mut agents {
            let request = sim.world.get_mut::<PathRequest>(*agent).unwrap();
            *ticks += 1;
            if request.status().is_at_rest() {
                longest = longest.max(*ticks);
                (*is_east, *ticks) = (!*is_east, 0);
                request.ask(place(*is_east));
            }
        }
        sim.tick();
    }
    let longest = agents.iter().map(|&(.., ticks)| ticks).max().unwrap().max(longest);
    assert!(longest < 2_400, "one took {longest} ticks");
}

#[test]
fn one_that_waits_for_a_way_has_been_blocked_for_as_long_as_before() {
    let mut sim = Sim::of(&["........", "@@@@@@@.", "........"]);
    let (west, east) = (Vec2::new(0.5, 0.5), Vec2::new(7.5, 0.5));
    let agent = add(&mut sim, west, east, 2.0, 0.45);
    add(&mut sim, east, west, 2.0, 0.45);
    let blocked = |sim: &Sim| sim.world.get::<Avoid>(agent).unwrap().blocked_seconds();
    sim.ticks_until(100, |sim| blocked(sim) > 0.5);
    // Off its path, with no answer in the ticks to come.
    let before = blocked(&sim);
    sim.world.insert_resource(SearchBudget { expansions: 0 });
    sim.world.get_mut::<Position>(agent).unwrap().0 = Vec2::new(0.5, 2.5);
    sim.ticks(5);
    assert_eq!(sim.status(agent), RequestStatus::Pending);
    assert!(before > 0.5 && blocked(&sim) >= before, "{} after {before}", blocked(&sim));
}

#[test]
fn one_that_waits_for_a_way_is_no_crowd_at_its_goal() {
    let mut sim = Sim::new(Grid::from_fn(30, 1, |_| true).unwrap());
    let goal = Vec2::new(29.5, 0.5);
    let waiter = add(&mut sim, Vec2::new(3.5, 0.5), goal, 2.0, 0.3);
    let agent = add(&mut sim, Vec2::new(0.5, 0.5), goal, 2.0, 0.3);
    sim.ticks(5);
    // Ahead of its path, with no answer in the ticks to come.
    sim.set_budget(0);
    sim.world.get_mut::<Position>(waiter).unwrap().0 = Vec2::new(12.5, 0.5);
    for _ in 0..600 {
        sim.tick();
        let is_there = sim.status(agent) == RequestStatus::Arrived;
        assert!(!is_there || sim.position(agent).distance(goal) < 1.0, "{}", sim.position(agent));
    }
    assert_eq!(sim.status(waiter), RequestStatus::Pending);
    assert_eq!(sim.status(agent), RequestStatus::Arrived);
}
