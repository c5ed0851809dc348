//! Following: how agents walk, and what edits do to them.

use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, noise};
use formic_ecs::Entity;
use formic_nav::{Avoid, Cell, Facing, Grid, Position, RequestStatus, Route};
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
fn an_agent_that_is_at_its_goal_arrives_without_a_path() {
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
fn an_agent_faces_where_it_went_last_and_not_where_it_will_go_next() {
    // It comes to the turn at the very end of a tick.
    let mut sim = Sim::of(&["@.", ".."]);
    sim.set_time_step(0.5);
    let agent = sim.spawn(0.5, 1.5, 1.0);
    sim.ask(agent, 1.5, 0.5);
    let facing = |sim: &Sim| sim.world.get::<Facing>(agent).unwrap().0;
    sim.ticks(3);
    assert_eq!((sim.position(agent), facing(&sim)), (Vec2::splat(1.5), Vec2::X));
    sim.tick();
    assert_eq!((sim.position(agent), facing(&sim)), (Vec2::new(1.5, 1.0), Vec2::NEG_Y));
}

#[test]
fn agents_without_speed_stand_and_stay_numbers() {
    for speed in [0.0, -3.0, f32::NAN] {
        let mut sim = Sim::of(&["...."]);
        let agent = sim.spawn(0.5, 0.5, speed);
        sim.ask(agent, 3.5, 0.5);
        sim.ticks(10);
        assert_eq!(sim.position(agent), Vec2::new(0.5, 0.5), "at speed {speed}");
        assert_eq!(sim.world.get::<Facing>(agent).unwrap().0, Vec2::Y, "at speed {speed}");
    }
}

#[test]
fn the_fastest_agents_and_the_longest_ticks_are_as_fast_as_a_million() {
    for (speed, seconds) in [(f32::MAX, f32::MAX), (3.0, f32::MAX), (f32::MAX, 0.05)] {
        let mut sim = Sim::of(&["........"]);
        sim.set_time_step(seconds);
        let walker = sim.spawn(0.5, 0.5, speed);
        let giver = sim.spawn(0.5, 0.5, speed);
        sim.world.insert(giver, Avoid::new(0.3)).unwrap();
        [walker, giver].into_iter().for_each(|agent| sim.ask(agent, 7.5, 0.5));
        sim.ticks(2);
        assert_eq!(sim.position(walker), Vec2::new(7.5, 0.5), "{speed} over {seconds}");
        assert!(sim.position(giver).x > 7.0, "{speed} over {seconds}");
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
fn an_agent_that_is_moved_off_its_path_asks_again_from_there() {
    let mut sim = Sim::of(&["...@...", "...@...", "......."]);
    let agent = sim.spawn(0.5, 0.5, 2.0);
    sim.ask(agent, 2.5, 0.5);
    sim.ticks(5);
    *sim.world.get_mut::<Position>(agent).unwrap() = Position(Vec2::new(5.5, 0.5));
    sim.tick();
    assert_eq!((sim.status(agent), sim.position(agent)), (RequestStatus::Found, (5.5, 0.5).into()));
    sim.ticks(120);
    assert_eq!(sim.position(agent), Vec2::new(2.5, 0.5));
    assert_eq!(sim.stats(agent).paths_broken, 0, "no edit has broken a path");
}

/// Whether the straight line between two places stays clear of solid cells, judged edge by edge of each
/// solid cell around, in exact arithmetic of wider numbers.
fn is_in_the_open(sim: &Sim, from: Vec2, to: Vec2) -> bool {
    let [low, high] = [from.min(to), from.max(to)].map(|it| Cell::containing(it).unwrap());
    let rows = low.y.saturating_sub(1)..=high.y + 1;
    let columns = low.x.saturating_sub(1)..=high.x + 1;
    let [from, to] = [from, to].map(|it| [f64::from(it.x), f64::from(it.y)]);
    let solid = |cell: &Cell| !sim.terrain().is_open(*cell);
    let crosses = |cell: Cell| {
        // The part of the way that is within the columns, and within the rows.
        let mut part = (0.0_f64, 1.0_f64);
        for (from, to, low) in [(from[0], to[0], cell.x), (from[1], to[1], cell.y)] {
            let (low, high) = (f64::from(low), f64::from(low) + 1.0);
            if from == to {
                if from <= low || from >= high {
                    return false;
                }
                continue;
            }
            let (a, b) = ((low - from) / (to - from), (high - from) / (to - from));
            part = (part.0.max(a.min(b)), part.1.min(a.max(b)));
        }
        part.0 < part.1
    };
    let around = rows.flat_map(|y| columns.clone().map(move |x| Cell::new(x, y)));
    !around.filter(solid).any(crosses)
}

#[test]
fn agents_walk_straight_and_never_through_rock_whatever_is_dug_and_filled() {
    let mut rng = Rng::new(97);
    let (mut straight, mut walks) = (0, 0);
    for percent in [80, 92, 98] {
        let mut sim = Sim::new(noise::noise(&mut rng, 40, 30, percent));
        let open: Vec<Cell> =
            sim.terrain().grid().cells().filter(|&it| sim.terrain().is_open(it)).collect();
        let agents: Vec<Entity> = (0..40)
            .map(|_| {
                let place = open[rng.below(open.len())].centre();
                sim.spawn(place.x, place.y, 5.0)
            })
            .collect();
        for tick in 0..900 {
            if tick % 4 == 0 {
                let cell = cells::any_cell(&mut rng, sim.terrain().grid());
                let _ = sim.terrain_mut().dig(cell) || sim.terrain_mut().fill(cell);
            }
            let agent = agents[rng.below(agents.len())];
            if sim.status(agent).is_at_rest() {
                let goal = open[rng.below(open.len())].centre();
                sim.ask(agent, goal.x + 0.2, goal.y - 0.3);
            }
            let before: Vec<(Vec2, u32)> =
                agents.iter().map(|&it| (sim.position(it), sim.stats(it).pushed_out)).collect();
            sim.tick();
            for (&agent, &(from, pushed_out)) in agents.iter().zip(&before) {
                let to = sim.position(agent);
                let cell = Cell::containing(to).unwrap();
                assert!(sim.terrain().is_open(cell), "{to} is in rock");
                if sim.stats(agent).pushed_out == pushed_out && from != to {
                    assert!(is_in_the_open(&sim, from, to), "tick {tick}: {from} to {to}");
                    let facing = sim.world.get::<Facing>(agent).unwrap().0;
                    let is_octile = facing.x.abs().min(facing.y.abs()) < 1e-3
                        || (facing.x.abs() - facing.y.abs()).abs() < 1e-3;
                    walks += 1;
                    straight += u32::from(!is_octile);
                }
            }
        }
    }
    assert!(walks > 10_000 && straight > walks / 3, "{straight} of {walks} at any angle");
}

#[test]
fn an_agent_crosses_a_hall_in_one_line() {
    let mut sim = Sim::new(Grid::from_fn(40, 20, |_| true).unwrap());
    let agent = sim.spawn(0.5, 0.5, 3.0);
    sim.ask(agent, 39.5, 13.5);
    let mut ticks = 0;
    while sim.status(agent) != RequestStatus::Arrived {
        sim.tick();
        ticks += 1;
        let place = sim.position(agent);
        assert!((place.y - 0.5 - (place.x - 0.5) / 3.0).abs() < 1e-4, "{place}");
    }
    // The line is 41.11 cells long, the path 44.4.
    assert_eq!(ticks, 2 + 274);
}

#[test]
fn agents_that_rounding_has_put_on_their_goal_arrive() {
    // So far from the origin a step is less than positions can tell, and rounding walks ahead.
    let mut sim = Sim::new(Grid::from_fn(16_384, 4, |_| true).unwrap());
    sim.set_time_step(1.0 / 240.0);
    let goal = Vec2::new(16_361.5, 2.5);
    let offset = |number: u16| f32::from(number % 20) * 0.02 - 0.2;
    let agents: Vec<_> = (0..400)
        .map(|number| sim.spawn(goal.x + 1.0 + offset(number), goal.y + offset(number / 20), 0.1))
        .collect();
    agents.iter().for_each(|&agent| sim.ask(agent, goal.x, goal.y));
    sim.ticks(3_500);
    for &agent in &agents {
        let place = sim.position(agent);
        assert_eq!((sim.status(agent), place), (RequestStatus::Arrived, goal));
    }
}
