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

/// Runs until all agents have arrived, and holds all pairs to [`OVERLAP_MAX`].
fn run_until_all_arrive(sim: &mut Sim, agents: &[Entity], ticks_max: u32) {
    let mut excused = BTreeSet::new();
    run_checked(sim, agents, ticks_max, |sim| check_overlaps(sim, agents, &mut excused));
}

/// Runs until all agents have arrived. None may be faster than it can, nor in rock.
fn run_checked(sim: &mut Sim, agents: &[Entity], ticks_max: u32, mut check: impl FnMut(&Sim)) {
    let mut places: Vec<Vec2> = agents.iter().map(|&agent| sim.position(agent)).collect();
    for _ in 0..ticks_max {
        sim.tick();
        check(sim);
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

/// Crowds at a crossing two cells wide, in ticks of a tenth of a second: where each starts, its goal
/// and its speed. In both one body used to circle for ever beside another that rested.
const CIRCLING: [&[(u16, u16, f32, f32, f32)]; 2] = [
    &[
        (16, 4, 14.5, 10.5, 3.145_028_4),
        (21, 4, 10.5, 4.5, 1.395_091_9),
        (0, 5, 1.5, 5.5, 3.237_792_5),
        (15, 7, 17.5, 4.5, 1.259_719),
        (25, 4, 5.5, 4.5, 3.949_743_7),
        (15, 1, 9.5, 4.5, 1.227_836_6),
        (20, 4, 21.5, 5.5, 2.477_188),
        (14, 7, 26.5, 5.5, 2.266_168_4),
        (10, 5, 14.5, 7.5, 2.114_217_5),
        (13, 5, 5.5, 5.5, 1.014_291_5),
        (29, 5, 0.5, 4.5, 2.039_699_8),
        (2, 5, 25.5, 4.5, 3.789_178_4),
        (27, 4, 15.5, 4.5, 3.626_805_5),
        (15, 6, 2.5, 4.5, 1.603_000_4),
        (1, 5, 8.5, 5.5, 3.804_301_7),
        (28, 4, 15.5, 8.5, 2.494_098_2),
    ],
    &[
        (14, 4, 18.5, 4.5, 3.570_266_2),
        (23, 4, 25.5, 5.5, 1.737_835_2),
        (24, 5, 14.5, 5.5, 1.317_075_7),
        (21, 4, 18.5, 5.5, 1.807_164_9),
        (25, 4, 5.5, 4.5, 1.241_925_2),
        (15, 7, 14.5, 10.5, 3.803_124_7),
        (28, 4, 14.5, 0.5, 1.621_683_5),
        (3, 5, 29.5, 4.5, 2.010_165_2),
        (10, 5, 15.5, 2.5, 3.194_015_7),
    ],
];

#[test]
fn an_agent_that_circles_beside_another_at_rest_arrives() {
    for crowd in CIRCLING {
        let is_open = |cell: Cell| (4..6).contains(&cell.y) || (14..16).contains(&cell.x);
        let mut sim = Sim::new(Grid::from_fn(30, 11, is_open).unwrap());
        sim.set_time_step(0.1);
        let start = |&(x, y, goal_x, goal_y, speed): &(u16, u16, f32, f32, f32)| {
            (Cell::new(x, y).centre(), Vec2::new(goal_x, goal_y), speed)
        };
        let agents: Vec<Entity> = crowd
            .iter()
            .map(start)
            .map(|(place, goal, speed)| add(&mut sim, place, goal, speed, 0.3))
            .collect();
        run_checked(&mut sim, &agents, 1_000, |_| {});
    }
}

#[test]
fn crowds_arrive_in_mazes_of_one_wide_corridors() {
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        // Some walls between rooms of one cell are missing.
        let walls: Vec<bool> = (0..35 * 11).map(|_| rng.below(10) < 3).collect();
        let is_open = |cell: Cell| match (cell.x % 2, cell.y % 2) {
            (0, 0) => true,
            (1, 1) => false,
            _ => !walls[usize::from(cell.y) * 35 + usize::from(cell.x)],
        };
        let mut sim = Sim::new(Grid::from_fn(35, 11, is_open).unwrap());
        sim.set_time_step([0.1, 0.05, 1.0 / 30.0, 1.0 / 60.0][rng.below(4)]);
        let radius = [0.2, 0.3, 0.4, 0.45][rng.below(4)];
        let terrain = sim.terrain();
        let region = terrain.region(Cell::new(0, 0));
        let cells = terrain.grid().cells().filter(|&cell| terrain.region(cell) == region);
        let (mut starts, mut goals): (Vec<Cell>, Vec<Cell>) =
            cells.map(|cell| (cell, cell)).unzip();
        let mut agents = Vec::new();
        for _ in 0..40.min(starts.len() / 3) {
            let start = starts.swap_remove(rng.below(starts.len())).centre();
            let goal = goals.swap_remove(rng.below(goals.len())).centre();
            agents.push(add(&mut sim, start, goal, 1.0 + rng.below(4) as f32, radius));
        }
        run_checked(&mut sim, &agents, 10_000, |_| {});
    }
}

#[test]
fn an_agent_whose_way_becomes_longer_is_not_blocked() {
    let mut sim = Sim::of(&[
        "........................................",
        "@@@@@@@@@@@@@@@@@@@.@@@@@@@@@@@@@@@@@@@.",
        "........................................",
    ]);
    let (start, goal) = (Vec2::new(0.5, 0.5), Cell::new(0, 2));
    let terrain = sim.terrain().clone();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[goal]);
    sim.world.insert_resource(fields);
    let walker = add(&mut sim, start, goal.centre(), 1.0, 0.3);
    let follower = systems::flow_agent(start + Vec2::X * 3.0, 1.0, field);
    let follower = sim.world.spawn((follower, Avoid::new(0.3)));
    sim.ticks(100);
    sim.terrain_mut().fill(Cell::new(19, 1));
    for _ in 0..1_800 {
        sim.tick();
        for agent in [walker, follower] {
            assert!(sim.world.get::<Avoid>(agent).unwrap().blocked_seconds() < 2.0, "{agent}");
        }
    }
    assert_eq!(sim.status(walker), RequestStatus::Arrived);
}

#[test]
fn an_agent_without_speed_is_blocked_for_a_finite_number_of_seconds() {
    let mut sim = Sim::new(Grid::from_fn(30, 1, |_| true).unwrap());
    let agent = add(&mut sim, Vec2::new(0.5, 0.5), Vec2::new(29.5, 0.5), 2.0, 0.3);
    sim.ticks(10);
    // It is told nothing any more, so that the last wish stands.
    sim.world.remove::<PathRequest>(agent).unwrap();
    sim.world.get_mut::<Speed>(agent).unwrap().0 = 0.0;
    for _ in 0..10 {
        sim.tick();
        let blocked = sim.world.get::<Avoid>(agent).unwrap().blocked_seconds();
        assert!((0.0..1.0).contains(&blocked), "{blocked}");
    }
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
fn an_agent_that_fits_nowhere_is_in_no_others_way() {
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
fn slow_agents_move_far_from_the_origin_as_well() {
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
fn an_agent_that_streams_push_to_and_fro_squeezes_past_them() {
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
fn an_agent_that_waits_for_a_path_keeps_its_blocked_seconds() {
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
fn an_agent_that_waits_for_a_path_does_not_count_as_a_crowd_at_its_goal() {
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

#[test]
fn an_agent_that_was_moved_away_from_its_goal_does_not_count_as_a_crowd_there() {
    let mut sim = Sim::new(Grid::from_fn(30, 1, |_| true).unwrap());
    let goal = Vec2::new(29.5, 0.5);
    let first = add(&mut sim, Vec2::new(27.5, 0.5), goal, 2.0, 0.3);
    sim.ticks_until(100, |sim| sim.status(first) == RequestStatus::Arrived);
    sim.world.get_mut::<Position>(first).unwrap().0 = Vec2::new(12.5, 0.5);
    let agent = add(&mut sim, Vec2::new(8.5, 0.5), goal, 2.0, 0.3);
    sim.ticks_until(2_000, |sim| sim.status(agent) == RequestStatus::Arrived);
    assert_eq!([agent, first].map(|agent| sim.status(agent)), [RequestStatus::Arrived; 2]);
    assert!(sim.position(agent).distance(goal) < 1.0, "it is told so at {}", sim.position(agent));
}

/// Runs until all agents have been at rest for five seconds. Returns how far each was from its goal at most since it
/// had first arrived, and is now.
fn run_until_calm(sim: &mut Sim, agents: &[(Entity, Vec2)], ticks_max: u32) -> Vec<(f32, f32)> {
    let mut farthest = vec![None; agents.len()];
    let mut calm_ticks = 0;
    for _ in 0..ticks_max {
        sim.tick();
        calm_ticks += 1;
        for (&(agent, goal), farthest) in agents.iter().zip(&mut farthest) {
            let is_there = sim.status(agent) == RequestStatus::Arrived;
            if is_there || farthest.is_some() {
                let distance = sim.position(agent).distance(goal);
                *farthest = Some(distance.max(farthest.unwrap_or(0.0)));
            }
            let velocity = sim.world.get::<Avoid>(agent).unwrap().velocity();
            if !is_there || velocity.length() > 0.05 {
                calm_ticks = 0;
            }
        }
        if calm_ticks == 100 {
            let now = agents.iter().map(|&(agent, goal)| sim.position(agent).distance(goal));
            return farthest.into_iter().flatten().zip(now).collect();
        }
    }
    panic!("they do not come to rest in {ticks_max} ticks");
}

#[test]
fn an_agent_that_made_way_in_a_corridor_goes_back_to_its_goal() {
    let mut sim = Sim::new(Grid::from_fn(20, 1, |_| true).unwrap());
    let goals = [Vec2::new(8.5, 0.5), Vec2::new(16.5, 0.5)];
    let first = add(&mut sim, Vec2::new(7.5, 0.5), goals[0], 2.0, 0.3);
    sim.ticks_until(100, |sim| sim.status(first) == RequestStatus::Arrived);
    let second = add(&mut sim, Vec2::new(0.5, 0.5), goals[1], 2.0, 0.3);
    let ways = run_until_calm(&mut sim, &[(first, goals[0]), (second, goals[1])], 2_000);
    assert!(ways[0].0 > 2.0, "it was pushed by no more than {} cells", ways[0].0);
    assert!(ways.iter().all(|way| way.1 < 1.2), "{ways:?}");
}

#[test]
fn an_agent_that_goes_back_does_not_push_away_another_at_rest() {
    // The second has its goal between that of the first and the end of the corridor, so that it pushes the first
    // in there.
    let mut sim = Sim::new(Grid::from_fn(12, 1, |_| true).unwrap());
    let goals = [Vec2::new(5.5, 0.5), Vec2::new(8.5, 0.5)];
    let first = add(&mut sim, Vec2::new(4.5, 0.5), goals[0], 2.0, 0.45);
    sim.ticks_until(100, |sim| sim.status(first) == RequestStatus::Arrived);
    let second = add(&mut sim, Vec2::new(0.5, 0.5), goals[1], 2.0, 0.45);
    let ways = run_until_calm(&mut sim, &[(first, goals[0]), (second, goals[1])], 2_000);
    assert!(ways[0].0 > 3.0 && ways[0].1 < 1.2, "{ways:?}");
    assert!(ways[1].0 < 1.2, "it was pushed by {} cells", ways[1].0);
}

#[test]
fn crowds_in_narrow_places_come_to_rest_near_their_goals() {
    let mut pushed_count = 0;
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let width = 1 + u16::try_from(rng.below(3)).unwrap();
        let is_open = |cell: Cell| (5..5 + width).contains(&cell.y) || cell.x % 9 == 4;
        let mut sim = Sim::new(Grid::from_fn(28, 11, is_open).unwrap());
        let open = |sim: &Sim| sim.terrain().grid().cells().filter(|&it| is_open(it)).collect();
        let (mut starts, mut goals): (Vec<Cell>, Vec<Cell>) = (open(&sim), open(&sim));
        let mut agents = Vec::new();
        for _ in 0..16 {
            let start = starts.swap_remove(rng.below(starts.len())).centre();
            let goal = goals.swap_remove(rng.below(goals.len())).centre();
            agents.push((add(&mut sim, start, goal, 2.0, 0.3), goal));
        }
        for (farthest, now) in run_until_calm(&mut sim, &agents, 4_000) {
            pushed_count += u32::from(farthest > 3.5);
            assert!(now < 3.5, "seed {seed}: {now} cells away, and {farthest} before");
        }
    }
    assert!(pushed_count > 10, "only {pushed_count} were pushed");
}
