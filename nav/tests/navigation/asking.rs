//! Asking again and again: no agent starves, none freezes, and the budget is the budget.

use crate::sim::Sim;
use formic_ecs::Entity;
use formic_nav::{
    Cell, FlowFields, FlowFollower, FlowStatus, Grid, PathRequest, RequestStatus, Weight, systems,
};
use glam::Vec2;

/// Pillars, so that there is something to search.
fn pillars(side: u32) -> Grid {
    Grid::from_fn(side, side, |cell| cell.x % 4 != 2 || cell.y % 3 != 1).unwrap()
}

#[test]
fn a_chaser_that_asks_in_every_tick_walks_in_every_tick() {
    for moves in [false, true] {
        let mut sim = Sim::new(pillars(40));
        let agent = sim.spawn(0.5, 0.5, 4.0);
        for tick in 0..60_u8 {
            let y = if moves { 20.5 + f32::from(tick % 2) * 0.25 } else { 20.5 };
            sim.ask(agent, 39.5, y);
            let before = sim.position(agent);
            sim.tick();
            assert!(tick == 0 || sim.position(agent) != before, "tick {tick}, moves: {moves}");
        }
        let asked = sim.world.get::<PathRequest>(agent).unwrap().number();
        assert_eq!(asked, if moves { 60 } else { 1 });
        assert!(sim.position(agent).x > 8.0);
    }
}

#[test]
fn a_chaser_whose_searches_are_longer_than_a_tick_arrives_and_others_are_answered() {
    let mut sim = Sim::new(pillars(60));
    let (chaser, other) = (sim.spawn(0.5, 0.5, 4.0), sim.spawn(0.5, 3.5, 4.0));
    sim.set_budget(20);
    sim.ask(other, 59.5, 31.5);
    for tick in 0..900_u16 {
        sim.ask(chaser, 59.5, 40.5 + f32::from(tick % 2) * 0.25);
        sim.tick();
    }
    assert!(sim.position(chaser).x > 58.0, "at {}", sim.position(chaser));
    assert_eq!(sim.status(other), RequestStatus::Arrived);
}

#[test]
fn of_a_thousand_that_ask_in_every_tick_all_are_served_in_turn() {
    let mut sim = Sim::new(pillars(40));
    let agents: Vec<Entity> = (0..300).map(|_| sim.spawn(0.5, 0.5, 0.0)).collect();
    sim.set_budget(200);
    for tick in 0..120_u8 {
        for &agent in &agents {
            sim.ask(agent, 12.5 + f32::from(tick % 2) * 0.25, 8.5);
        }
        sim.tick();
    }
    let found: Vec<u32> = agents.iter().map(|&agent| sim.stats(agent).paths_found).collect();
    let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
    assert!(*least > 1 && most - least <= 1, "from {least} to {most} answers each");
}

#[test]
fn short_requests_do_not_wait_for_long_ones() {
    // Weights from cell to cell, so that far searches go over many cells.
    let mut sim = uneven(400);
    let far: Vec<Entity> = (0..8).map(|_| sim.spawn(0.5, 0.5, 0.0)).collect();
    sim.set_budget(5_000);
    far.iter().for_each(|&agent| sim.ask(agent, 399.5, 399.5));
    sim.ticks(2);
    let near: Vec<Entity> = (0..50).map(|_| sim.spawn(200.5, 200.5, 0.0)).collect();
    near.iter().for_each(|&agent| sim.ask(agent, 206.5, 203.5));
    let found = |sim: &Sim, agents: &[Entity]| {
        agents.iter().filter(|&&agent| sim.status(agent) == RequestStatus::Found).count()
    };
    sim.ticks(4);
    assert_eq!((found(&sim, &near), found(&sim, &far)), (50, 0));
    // And those that are near and many do not keep the far ones from their answers.
    let mut ticks = 0;
    while found(&sim, &far) < 8 {
        for (number, &agent) in near.iter().enumerate() {
            let x = if (ticks + number) % 2 == 0 { 190.5 } else { 206.5 };
            sim.ask(agent, x, 203.5);
        }
        sim.tick();
        ticks += 1;
        assert!(ticks < 2_000, "{:?}", sim.report());
    }
    assert!(sim.report().expansions_max <= 5_000);
    assert!(near.iter().all(|&agent| sim.stats(agent).paths_found > 20));
}

/// A square without walls, with weights from 1 to 7.
fn uneven(len: u32) -> Sim {
    let mut sim = Sim::new(Grid::from_fn(len, len, |_| true).unwrap());
    for place in 0..len * len {
        let weight = u8::try_from(1 + place.wrapping_mul(2_654_435_761) % 7).unwrap();
        let (x, y) = (u16::try_from(place % len).unwrap(), u16::try_from(place / len).unwrap());
        sim.terrain_mut().set_weight(Cell::new(x, y), Weight::new(weight).unwrap());
    }
    sim
}

#[test]
fn a_near_request_around_a_wall_does_not_wait_for_long_ones() {
    let mut sim = uneven(400);
    (185..=221).for_each(|y| assert!(sim.terrain_mut().fill(Cell::new(203, y))));
    let ask_in_rows = |sim: &mut Sim, from: u8, to: u8, x: f32, goal: f32| -> Vec<Entity> {
        let ask = |y: u8| {
            let agent = sim.spawn(x, f32::from(y) + 0.5, 0.0);
            sim.ask(agent, goal, f32::from(y) + 0.5);
            agent
        };
        (from..to).map(ask).collect()
    };
    sim.set_budget(50_000);
    let far = ask_in_rows(&mut sim, 0, 8, 0.5, 399.5);
    sim.ticks(2);
    // Many that take what is usual over six cells, and some that take far more.
    let near = ask_in_rows(&mut sim, 100, 130, 200.5, 206.5);
    let around = ask_in_rows(&mut sim, 200, 205, 200.5, 206.5);
    let found = |sim: &Sim, agents: &[Entity]| {
        agents.iter().filter(|&&agent| sim.status(agent) == RequestStatus::Found).count()
    };
    sim.ticks(2);
    assert_eq!((found(&sim, &near), found(&sim, &around)), (30, 5));
    assert!(found(&sim, &far) < 4);
    assert!(sim.report().expansions_max <= 50_000);
}

/// Has 270 agents ask for six cells, one in twenty of them around a wall, beside eight that ask for the far
/// corner, and returns how many of the near ones have no answer after some ticks, when no far one has.
///
/// A search around a wall takes several times as much as usual.
fn near_ones_left(budget: u64, first: u16, ticks: usize) -> usize {
    let mut sim = uneven(300);
    for x in (40..300).step_by(20) {
        (147..152).for_each(|y| assert!(sim.terrain_mut().fill(Cell::new(x, y))));
    }
    let ask = |sim: &mut Sim, (x, y): (f32, f32), (goal_x, goal_y): (f32, f32)| {
        let agent = sim.spawn(x, y, 0.0);
        sim.ask(agent, goal_x, goal_y);
        agent
    };
    let is_found = |sim: &Sim, agent: &Entity| sim.status(*agent) == RequestStatus::Found;
    sim.set_budget(budget);
    let far: Vec<Entity> = (0..8).map(|_| ask(&mut sim, (0.5, 0.5), (299.5, 299.5))).collect();
    sim.ticks(2);
    let near: Vec<Entity> = (first..first + 270)
        .map(|number| {
            let (x, y) = (f32::from(number) + 0.5, if number % 20 == 17 { 149.5 } else { 20.5 });
            ask(&mut sim, (x, y), (x + 6.0, y))
        })
        .collect();
    sim.ticks(ticks);
    assert!(!far.iter().any(|agent| is_found(&sim, agent)));
    near.iter().filter(|agent| !is_found(&sim, agent)).count()
}

#[test]
fn a_near_request_that_does_not_fit_beside_others_is_searched_for_in_the_next_tick() {
    assert_eq!(near_ones_left(2_000, 0, 12), 0);
}

#[test]
fn a_near_request_that_takes_up_to_a_quarter_of_the_budget_does_not_wait_for_far_ones() {
    // The searches around walls take 100 to 150 expansions, and 270 near ones 12,000.
    let left = |budget| [0, 16, 17].map(|first| near_ones_left(budget, first, 70));
    assert_eq!([500, 600, 800].map(left), [[0; 3]; 3]);
}

#[test]
fn near_requests_do_not_wait_for_far_ones_after_dear_searches_over_the_same_distance() {
    let mut sim = uneven(300);
    // A long wall: the cell behind it is six cells away, and the search takes more than a tick.
    (40..=260).for_each(|y| assert!(sim.terrain_mut().fill(Cell::new(203, y))));
    let ask = |sim: &mut Sim, (x, y): (f32, f32), (goal_x, goal_y): (f32, f32)| {
        let agent = sim.spawn(x, y, 0.0);
        sim.ask(agent, goal_x, goal_y);
        agent
    };
    let found = |sim: &Sim, agents: &[Entity]| {
        agents.iter().filter(|&&agent| sim.status(agent) == RequestStatus::Found).count()
    };
    sim.set_budget(5_000);
    let dear: Vec<Entity> = (0..3).map(|_| ask(&mut sim, (200.5, 150.5), (206.5, 150.5))).collect();
    sim.ticks_until(100, |sim| found(sim, &dear) == 3);
    assert!(sim.report().expansions > 3 * 5_000);
    let far: Vec<Entity> = (0..8).map(|_| ask(&mut sim, (0.5, 0.5), (299.5, 299.5))).collect();
    sim.ticks(2);
    let near: Vec<Entity> =
        (0..50).map(|_| ask(&mut sim, (100.5, 100.5), (106.5, 103.5))).collect();
    sim.ticks(4);
    assert_eq!((found(&sim, &near), found(&sim, &far)), (50, 0));
}

#[test]
fn a_search_goes_on_when_its_agent_asks_for_the_same_goal_again() {
    let mut sim = Sim::new(pillars(60));
    let agent = sim.spawn(0.5, 0.5, 0.0);
    sim.set_budget(5);
    let mut ticks = 0;
    while sim.status(agent) != RequestStatus::Found {
        sim.ask(agent, 59.5, 31.5);
        sim.tick();
        ticks += 1;
    }
    // The first tick begins it, and each of the others takes a piece.
    assert_eq!(sim.report().interruptions, ticks - 2);
    assert!(ticks > 3 && sim.report().expansions > 5 * (ticks - 2), "one search, in pieces");
}

#[test]
fn an_agent_that_was_cancelled_does_not_walk_its_old_path_while_it_waits() {
    let mut sim = Sim::of(&["......"]);
    let agent = sim.spawn(2.5, 0.5, 2.0);
    sim.ask(agent, 5.5, 0.5);
    sim.ticks(5);
    sim.world.get_mut::<PathRequest>(agent).unwrap().cancel();
    sim.set_budget(0);
    sim.ask(agent, 0.5, 0.5);
    let before = sim.position(agent);
    sim.ticks(3);
    assert_eq!((sim.position(agent), sim.status(agent)), (before, RequestStatus::Pending));
}

#[test]
fn looking_for_the_nearest_cell_is_within_the_budget() {
    // A block whose middle is sealed off, and goals inside of it.
    let sealed = |cell: Cell| cell.x.abs_diff(50).max(cell.y.abs_diff(50)) == 40;
    let ends = |budget: u64| {
        let mut sim = Sim::new(Grid::from_fn(100, 100, |cell| !sealed(cell)).unwrap());
        let agents: Vec<Entity> = (0..40).map(|_| sim.spawn(0.5, 0.5, 0.0)).collect();
        for (number, &agent) in (0_u8..).zip(&agents) {
            let goal = Vec2::new(30.5 + f32::from(number), 50.5);
            sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal).or_nearest();
        }
        sim.set_budget(budget);
        let partial = |sim: &Sim, agent| matches!(sim.status(agent), RequestStatus::Partial(_));
        let mut tick = 0;
        while !agents.iter().all(|&agent| partial(&sim, agent)) {
            sim.tick();
            tick += 1;
            let report = sim.report();
            assert!(report.expansions_max <= budget, "{report:?}");
            assert!(tick < 3_000, "{report:?}");
        }
        let end = |&agent: &Entity| {
            let route = sim.world.get::<formic_nav::Route>(agent).unwrap();
            (*route.path().cells().last().unwrap(), route.path().cost())
        };
        (agents.iter().map(end).collect::<Vec<_>>(), tick)
    };
    let (at_once, ticks) = ends(1_000_000);
    assert_eq!(ticks, 1);
    let (in_pieces, ticks) = ends(100);
    assert!(ticks > 100, "{ticks} ticks");
    assert_eq!(in_pieces, at_once);
}

#[test]
fn flow_fields_are_served_in_turns() {
    let mut sim = Sim::new(Grid::from_fn(40, 40, |_| true).unwrap());
    let mut fields = FlowFields::default();
    fields.expansions_per_tick = 100;
    let terrain = sim.terrain().clone();
    let ids = [(0, 0), (39, 39)].map(|(x, y)| fields.add(&terrain, &[Cell::new(x, y)]));
    sim.world.insert_resource(fields);
    let agents = ids.map(|id| sim.world.spawn(systems::flow_agent(Vec2::new(20.5, 20.5), 0.0, id)));
    for tick in 0..40 {
        // Next to the goal of the first field: it has to be found anew in every tick.
        let terrain = sim.terrain_mut();
        let cells = [Cell::new(1, 0), Cell::new(0, 1), Cell::new(1, 1)];
        for cell in cells {
            if tick % 2 == 0 {
                terrain.fill(cell)
            } else {
                terrain.dig(cell)
            };
        }
        sim.tick();
    }
    let status = sim.world.get::<FlowFollower>(agents[1]).unwrap().status();
    assert_eq!(status, FlowStatus::Going);
}
