//! Requests: every one ends, none is searched for in vain, the budget holds.

#[path = "support/sim.rs"]
mod sim;

use ecs_core::{Entity, With};
use glam::Vec2;
use nav::{
    Cell, Grid, PathRequest, RequestStatus, Route, Tally, Unanswered, Unreachable, path_cost,
};
use sim::Sim;

fn waiting_count(sim: &mut Sim) -> usize {
    sim.world.query_filtered::<Entity, With<Unanswered>>().count()
}

#[test]
fn a_request_is_answered_in_the_tick_after_it_was_asked() {
    let mut sim = Sim::of(&["....", "....", "...."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.ask(agent, 3.5, 2.5);
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Found);
    let route = sim.world.get::<Route>(agent).unwrap();
    assert_eq!(route.rest().last(), Some(&Cell::new(3, 2)));
    assert_eq!(waiting_count(&mut sim), 0);
}

#[test]
fn a_request_that_is_inserted_works_like_one_that_is_asked() {
    let mut sim = Sim::of(&["....", "...."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.tick();
    sim.world.insert(agent, PathRequest::to(Vec2::new(3.5, 0.5))).unwrap();
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Found);
}

#[test]
fn every_reason_why_there_is_no_path_is_told() {
    let cases = [
        ((0.5, 0.5), (3.5, 0.5), Unreachable::Apart),
        ((0.5, 0.5), (1.5, 0.5), Unreachable::GoalBlocked),
        ((0.5, 0.5), (9.5, 0.5), Unreachable::GoalOutside),
        ((0.5, 0.5), (-0.5, 0.5), Unreachable::GoalOutside),
        ((0.5, 0.5), (f32::NAN, 0.5), Unreachable::GoalOutside),
    ];
    for (from, to, reason) in cases {
        let mut sim = Sim::of(&[".@..", ".@.."]);
        let agent = sim.spawn(from.0, from.1, 1.0);
        sim.ask(agent, to.0, to.1);
        sim.tick();
        assert_eq!(sim.status(agent), RequestStatus::Unreachable(reason), "{to:?}");
        assert_eq!(sim.world.get::<PathRequest>(agent).unwrap().goal(), None);
        assert_eq!(sim.tally(agent).paths_unreachable, 1);
    }
}

#[test]
fn an_agent_in_a_world_of_rock_is_told_so_and_stays() {
    let mut sim = Sim::of(&["."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.terrain_mut().fill(Cell::new(0, 0));
    sim.ask(agent, 0.9, 0.9);
    sim.tick();
    let reason = RequestStatus::Unreachable(Unreachable::StartBlocked);
    assert_eq!((sim.status(agent), sim.position(agent)), (reason, Vec2::splat(0.5)));
}

#[test]
fn an_unreachable_goal_is_never_searched_for() {
    let mut sim = Sim::of(&["..@..", "..@..", "..@.."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    for asked in 1..=20_u32 {
        sim.ask(agent, 4.5, 0.5);
        sim.ticks(5);
        // One answer for each time of asking: an answer is final.
        assert_eq!(sim.tally(agent), Tally { paths_unreachable: asked, ..Tally::default() });
    }
    assert_eq!((sim.report().answers, sim.report().expansions), (20, 0));

    sim.terrain_mut().dig(Cell::new(2, 1));
    sim.ask(agent, 4.5, 0.5);
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Found);
    assert!(sim.report().expansions > 0);
}

#[test]
fn a_cancelled_request_is_forgotten_and_the_agent_stays() {
    let mut sim = Sim::of(&["......"]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.ask(agent, 5.5, 0.5);
    sim.ticks(10);
    let before = sim.position(agent);
    sim.world.get_mut::<PathRequest>(agent).unwrap().cancel();
    sim.ticks(10);
    assert_eq!((sim.position(agent), sim.status(agent)), (before, RequestStatus::Idle));
}

#[test]
fn asking_again_on_the_way_replaces_the_goal() {
    let mut sim = Sim::of(&["......"]);
    let agent = sim.spawn(2.5, 0.5, 2.0);
    sim.ask(agent, 5.5, 0.5);
    sim.ticks(5);
    sim.ask(agent, 0.5, 0.5);
    sim.ticks(60);
    let request = *sim.world.get::<PathRequest>(agent).unwrap();
    assert_eq!((request.status(), request.number()), (RequestStatus::Arrived, 2));
    assert_eq!(sim.position(agent), Vec2::new(0.5, 0.5));
}

#[test]
fn the_budget_is_kept_and_the_longest_waiting_go_first() {
    // Pillars, so that there is something to search.
    let is_open = |cell: Cell| cell.x % 4 != 2 || cell.y % 3 != 1;
    let mut sim = Sim::new(Grid::from_fn(40, 40, is_open).unwrap());
    let agents: Vec<Entity> = (0..100).map(|_| sim.spawn(0.5, 0.5, 1.0)).collect();
    for &agent in &agents {
        sim.ask(agent, 39.5, 20.5);
    }
    sim.set_budget(100);
    let mut answered_before = 0;
    for tick in 1.. {
        sim.tick();
        let found = |agent: &&Entity| sim.status(**agent) == RequestStatus::Found;
        let answered = agents.iter().filter(found).count();
        assert!(answered > answered_before, "tick {tick} answers somebody");
        assert_eq!(answered, agents.iter().take_while(found).count(), "in their order");
        answered_before = answered;
        assert_eq!(sim.report().waiting, 100 - answered as u64);
        if answered == 100 {
            assert!(tick > 2, "the budget makes them wait");
            break;
        }
    }
    assert!(sim.report().expansions_max <= 200, "{:?}", sim.report());
}

#[test]
fn even_without_a_budget_one_request_a_tick_is_answered() {
    let mut sim = Sim::of(&["....", "...."]);
    let agents: Vec<Entity> = (0..5).map(|_| sim.spawn(0.5, 0.5, 1.0)).collect();
    agents.iter().for_each(|&agent| sim.ask(agent, 3.5, 1.5));
    sim.set_budget(0);
    for answered in 1..=5 {
        sim.tick();
        assert_eq!(sim.report().answers, answered);
    }
}

#[test]
fn the_path_of_a_route_is_legal() {
    let mut sim = Sim::of(&[".....", ".@@@.", ".@...", ".@.@@", "....."]);
    let agent = sim.spawn(2.2, 2.7, 1.0);
    sim.ask(agent, 4.5, 4.5);
    sim.tick();
    let route = sim.world.get::<Route>(agent).unwrap();
    let terrain = sim.terrain();
    let cost = path_cost(terrain.grid(), terrain.rule(), route.path().cells());
    assert_eq!(cost, Ok(route.path().cost()));
}
