//! Following: how agents walk, and what edits do to them.

use crate::sim::Sim;
use formic_nav::{Cell, Facing, Position, RequestStatus, Route};
use glam::Vec2;

#[test]
fn a_tick_spends_its_distance_over_several_steps() {
    let mut sim = Sim::of(&["........"]);
    let agent = sim.spawn(0.5, 0.5, 5.0);
    sim.set_time_step(1.0);
    sim.ask(agent, 7.5, 0.5);
    sim.tick();
    assert_eq!(sim.position(agent), Vec2::new(0.5, 0.5), "the path is found after walking");
    sim.tick();
    assert_eq!(sim.position(agent), Vec2::new(5.5, 0.5));
    sim.tick();
    assert_eq!(sim.position(agent), Vec2::new(7.5, 0.5));
    assert_eq!((sim.status(agent), sim.stats(agent).arrivals), (RequestStatus::Arrived, 1));
}

#[test]
fn the_last_step_ends_on_the_goal_itself() {
    let mut sim = Sim::of(&["....", "...."]);
    let agent = sim.spawn(0.3, 0.4, 3.0);
    sim.ask(agent, 3.7, 1.25);
    sim.ticks(60);
    assert_eq!(sim.position(agent), Vec2::new(3.7, 1.25));
    assert!(sim.world.get::<Route>(agent).unwrap().rest().is_empty());
}

#[test]
fn a_goal_in_the_same_cell_is_walked_to() {
    let mut sim = Sim::of(&[".."]);
    let agent = sim.spawn(0.2, 0.2, 1.0);
    sim.ask(agent, 0.8, 0.8);
    sim.ticks(30);
    assert_eq!((sim.position(agent), sim.stats(agent).paths_found), (Vec2::splat(0.8), 1));
}

#[test]
fn whoever_is_there_already_arrives_without_a_path() {
    let mut sim = Sim::of(&[".."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.ask(agent, 0.5, 0.5);
    sim.tick();
    assert_eq!((sim.status(agent), sim.report().answers), (RequestStatus::Arrived, 0));
    assert_eq!(sim.world.get::<Facing>(agent).unwrap().0, Vec2::Y, "no motion, no direction");
}

#[test]
fn near_the_goal_behind_a_wall_is_not_there() {
    let mut sim = Sim::of(&[".@.", "..."]);
    // 0.08 from the goal, with a corner of rock in between.
    let agent = sim.spawn(0.97, 0.97, 1.0);
    sim.ask(agent, 1.03, 1.02);
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Found);
    sim.ticks(40);
    assert_eq!(sim.position(agent), Vec2::new(1.03, 1.02));
}

#[test]
fn agents_face_where_they_go() {
    let mut sim = Sim::of(&["....", "....", "....", "...."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    for (goal, facing) in
        [((3.5, 0.5), (1.0, 0.0)), ((3.5, 3.5), (0.0, 1.0)), ((0.5, 0.5), (-1.0, -1.0))]
    {
        sim.ask(agent, goal.0, goal.1);
        sim.ticks(20);
        let expected = Vec2::from(facing).normalize();
        let found = sim.world.get::<Facing>(agent).unwrap().0;
        assert!(found.distance(expected) < 1e-6, "{found} on the way to {goal:?}");
        sim.ticks(120);
    }
}

#[test]
fn agents_without_speed_stand_and_stay_numbers() {
    for speed in [0.0, -3.0, f32::NAN] {
        let mut sim = Sim::of(&["...."]);
        let agent = sim.spawn(0.5, 0.5, speed);
        sim.ask(agent, 3.5, 0.5);
        sim.ticks(10);
        assert_eq!(sim.position(agent), Vec2::new(0.5, 0.5), "at speed {speed}");
    }
}

#[test]
fn a_wall_across_the_path_is_walked_around_from_where_the_agent_is() {
    let mut sim = Sim::of(&["......", "......", "......"]);
    let agent = sim.spawn(0.5, 1.5, 2.0);
    sim.ask(agent, 5.5, 1.5);
    sim.ticks(10);
    let before = sim.position(agent);
    sim.terrain_mut().fill(Cell::new(4, 1));
    sim.tick();
    assert_eq!(sim.position(agent), before, "the broken path is not walked any further");
    assert_eq!((sim.status(agent), sim.stats(agent).paths_broken), (RequestStatus::Found, 1));
    sim.ticks(80);
    assert_eq!(sim.status(agent), RequestStatus::Arrived);
}

#[test]
fn an_edit_beside_or_behind_the_path_leaves_it_alone() {
    let mut sim = Sim::of(&["......", "......", "......"]);
    let agent = sim.spawn(0.5, 1.5, 2.0);
    sim.ask(agent, 5.5, 1.5);
    sim.ticks(25);
    for cell in [Cell::new(0, 1), Cell::new(3, 0), Cell::new(4, 2)] {
        assert!(sim.terrain_mut().fill(cell));
    }
    sim.ticks(60);
    assert_eq!((sim.status(agent), sim.stats(agent).paths_broken), (RequestStatus::Arrived, 0));
}

#[test]
fn a_goal_that_is_cut_off_on_the_way_becomes_unreachable() {
    let mut sim = Sim::of(&["......"]);
    let agent = sim.spawn(0.5, 0.5, 2.0);
    sim.ask(agent, 5.5, 0.5);
    sim.ticks(5);
    sim.terrain_mut().fill(Cell::new(3, 0));
    sim.tick();
    assert!(matches!(sim.status(agent), RequestStatus::Unreachable(_)));
    let before = sim.position(agent);
    sim.ticks(20);
    assert_eq!(sim.position(agent), before);
}

#[test]
fn a_corner_that_closes_beside_a_diagonal_stops_the_step() {
    let mut sim = Sim::of(&["..", ".."]);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.ask(agent, 1.5, 1.5);
    sim.ticks(4);
    sim.terrain_mut().fill(Cell::new(1, 0));
    for _ in 0..60 {
        sim.tick();
        let cell = Cell::containing(sim.position(agent)).unwrap();
        assert!(sim.terrain().is_open(cell));
    }
    assert_eq!((sim.status(agent), sim.stats(agent).paths_broken), (RequestStatus::Arrived, 1));
}

#[test]
fn an_agent_in_a_fresh_wall_is_put_aside_and_goes_on() {
    let mut sim = Sim::of(&["......", "......", "......"]);
    let agent = sim.spawn(0.5, 1.5, 2.0);
    sim.ask(agent, 5.5, 1.5);
    sim.ticks(11);
    let cell = Cell::containing(sim.position(agent)).unwrap();
    sim.terrain_mut().fill(cell);
    sim.tick();
    let refuge = Cell::containing(sim.position(agent)).unwrap();
    assert!(sim.terrain().is_open(refuge) && refuge.x.abs_diff(cell.x) <= 1);
    assert_eq!((sim.status(agent), sim.stats(agent).pushed_out), (RequestStatus::Found, 1));
    sim.ticks(80);
    assert_eq!(sim.position(agent), Vec2::new(5.5, 1.5));
}

#[test]
fn an_agent_that_somebody_carries_off_asks_again_from_there() {
    let mut sim = Sim::of(&["...@...", "...@...", "......."]);
    let agent = sim.spawn(0.5, 0.5, 2.0);
    sim.ask(agent, 2.5, 0.5);
    sim.ticks(5);
    *sim.world.get_mut::<Position>(agent).unwrap() = Position(Vec2::new(5.5, 0.5));
    sim.tick();
    assert_eq!((sim.status(agent), sim.position(agent)), (RequestStatus::Found, (5.5, 0.5).into()));
    sim.ticks(120);
    assert_eq!(sim.position(agent), Vec2::new(2.5, 0.5));
}
