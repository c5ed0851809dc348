//! The standard scenes of collision avoidance: no bodies overlap, all get on.

use std::f32::consts::TAU;

use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{Avoid, Grid, MoveRule, PathRequest, RequestStatus, Wander, systems};
use glam::Vec2;

use crate::sim::Sim;

/// Bodies may overlap by so many cells for a moment, in a press: a twentieth of the usual radius.
pub(crate) const TOLERANCE: f32 = 0.015;

pub(crate) fn open(width: u32, height: u32) -> Sim {
    Sim::new(Grid::from_fn(width, height, |_| true).unwrap())
}

/// An agent that gives way, on its way to a goal.
pub(crate) fn send(sim: &mut Sim, from: Vec2, to: Vec2, speed: f32, radius: f32) -> Entity {
    let bundle = (systems::agent(from, speed), Avoid::new(radius));
    let agent = sim.world.spawn(bundle);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(to);
    agent
}

/// The least gap between any two bodies; less than zero where they overlap.
pub(crate) fn least_gap(sim: &Sim, agents: &[Entity]) -> f32 {
    let bodies: Vec<(Vec2, f32)> = agents
        .iter()
        .map(|&agent| (sim.position(agent), sim.world.get::<Avoid>(agent).unwrap().radius()))
        .collect();
    let mut least = f32::INFINITY;
    for (place, (a, radius)) in bodies.iter().enumerate() {
        for (b, other) in &bodies[place + 1..] {
            least = least.min(a.distance(*b) - radius - other);
        }
    }
    least
}

/// Runs until each has arrived once; fails if bodies overlap, or if it takes too long.
fn run(sim: &mut Sim, agents: &[Entity], ticks_max: usize) -> usize {
    let mut late: Vec<Entity> = agents.to_vec();
    for tick in 1..=ticks_max {
        sim.tick();
        let gap = least_gap(sim, agents);
        let squeezing = |agent: &&Entity| sim.world.get::<Avoid>(**agent).unwrap().is_squeezing();
        assert!(
            gap > -TOLERANCE,
            "tick {tick}: bodies overlap by {}, {} squeeze past",
            -gap,
            agents.iter().filter(squeezing).count()
        );
        for &agent in agents {
            let position = sim.position(agent);
            assert!(position.is_finite());
            let cell = formic_nav::Cell::containing(position).unwrap();
            assert!(sim.terrain().is_open(cell), "tick {tick}: {position} is in rock");
        }
        late.retain(|&agent| sim.status(agent) != RequestStatus::Arrived);
        if late.is_empty() {
            return tick;
        }
    }
    let late: Vec<_> = late.iter().map(|&agent| (sim.status(agent), sim.position(agent))).collect();
    panic!("{} of {} are late after {ticks_max} ticks: {late:?}", late.len(), agents.len());
}

#[test]
fn two_that_meet_head_on_pass_each_other() {
    for (speed, radius) in [(1.0, 0.3), (3.0, 0.3), (5.0, 0.45), (5.0, 0.1)] {
        let mut sim = open(14, 5);
        let ends = [Vec2::new(0.5, 2.5), Vec2::new(13.5, 2.5)];
        let agents = [
            send(&mut sim, ends[0], ends[1], speed, radius),
            send(&mut sim, ends[1], ends[0], speed, radius),
        ];
        let ticks = run(&mut sim, &agents, 1_000);
        // Hardly longer than alone.
        let alone = 13.0 / speed * 20.0;
        assert!((ticks as f32) < alone * 1.5 + 20.0, "{ticks} ticks at speed {speed}");
    }
}

#[test]
fn an_agent_that_stands_in_the_way_is_passed_or_steps_aside() {
    let mut sim = open(12, 5);
    let standing = sim.world.spawn((systems::agent(Vec2::new(6.5, 2.5), 2.0), Avoid::new(0.3)));
    let walking = send(&mut sim, Vec2::new(0.5, 2.5), Vec2::new(11.5, 2.5), 2.0, 0.3);
    for _ in 0..200 {
        sim.tick();
        assert!(least_gap(&sim, &[standing, walking]) > -TOLERANCE);
    }
    assert_eq!(sim.status(walking), RequestStatus::Arrived);
}

/// Agents on a circle, each on its way to the opposite place.
fn circle(sim: &mut Sim, count: u16, radius: f32) -> Vec<Entity> {
    let middle = Vec2::splat(16.0);
    (0..count)
        .map(|number| {
            let angle = TAU * f32::from(number) / f32::from(count);
            let offset = Vec2::from_angle(angle) * radius;
            send(sim, middle + offset, middle - offset, 2.0, 0.3)
        })
        .collect()
}

#[test]
fn a_circle_of_agents_changes_sides() {
    for (count, radius) in [(4, 6.0), (12, 10.0), (32, 14.0)] {
        let mut sim = open(32, 32);
        let agents = circle(&mut sim, count, radius);
        let ticks = run(&mut sim, &agents, 2_000);
        let alone = 2.0 * radius / 2.0 * 20.0;
        assert!((ticks as f32) < alone * 3.0, "{ticks} ticks for {count} agents");
    }
}

/// Two halls with a door of one cell between them.
fn halls() -> Sim {
    let grid = Grid::from_fn(21, 11, |cell| cell.x != 10 || cell.y == 5).unwrap();
    Sim::new(grid)
}

#[test]
fn a_crowd_goes_through_a_doorway() {
    let mut sim = halls();
    let mut agents = Vec::new();
    for row in 0..5_u8 {
        for column in 0..5_u8 {
            let from = Vec2::new(1.5 + f32::from(column), 3.5 + f32::from(row));
            let to = from + Vec2::new(13.0, 0.0);
            agents.push(send(&mut sim, from, to, 2.0, 0.3));
        }
    }
    run(&mut sim, &agents, 2_000);
}

#[test]
fn two_crowds_meet_in_a_hall() {
    let mut sim = open(24, 12);
    let mut agents = Vec::new();
    for row in 0..6_u8 {
        for column in 0..4_u8 {
            let west = Vec2::new(1.5 + f32::from(column), 3.0 + f32::from(row));
            let east = Vec2::new(22.5 - f32::from(column), 3.0 + f32::from(row));
            agents.push(send(&mut sim, west, east, 2.0, 0.3));
            agents.push(send(&mut sim, east, west, 2.0, 0.3));
        }
    }
    run(&mut sim, &agents, 2_000);
}

#[test]
fn agents_with_one_goal_gather_around_it() {
    let mut sim = open(24, 24);
    let goal = Vec2::splat(12.5);
    let mut agents = Vec::new();
    for number in 0..40_u8 {
        let (x, y) = (f32::from(number % 8) * 3.0 + 0.5, f32::from(number / 8) * 2.0 + 0.5);
        agents.push(send(&mut sim, Vec2::new(x, y), goal, 3.0, 0.3));
    }
    run(&mut sim, &agents, 2_000);
    let farthest = agents.iter().map(|&agent| sim.position(agent).distance(goal));
    let farthest = farthest.fold(0.0, f32::max);
    // Forty discs of this size fill a disc of about 2.2 cells.
    assert!(farthest < 6.5, "an agent has given up {farthest} cells away");
}

#[test]
fn two_that_meet_in_a_corridor_too_narrow_for_both_get_past_each_other() {
    let mut sim = Sim::of(&["............"]);
    let ends = [Vec2::new(0.5, 0.5), Vec2::new(11.5, 0.5)];
    let agents =
        [send(&mut sim, ends[0], ends[1], 2.0, 0.4), send(&mut sim, ends[1], ends[0], 2.0, 0.4)];
    sim.ticks(800);
    for agent in agents {
        assert_eq!(sim.status(agent), RequestStatus::Arrived, "{}", sim.position(agent));
    }
}

#[test]
fn those_in_the_very_same_place_come_apart() {
    let mut sim = open(9, 9);
    let place = Vec2::splat(4.5);
    let agents: Vec<Entity> =
        (0..6).map(|_| sim.world.spawn((systems::agent(place, 2.0), Avoid::new(0.3)))).collect();
    sim.ticks(100);
    assert!(least_gap(&sim, &agents) > -TOLERANCE, "{}", least_gap(&sim, &agents));
    for agent in agents {
        assert!(sim.position(agent).distance(place) < 2.0);
    }
}

#[test]
fn agents_without_speed_or_time_stand_and_stay_numbers() {
    for (speed, seconds) in [
        (0.0, 0.05),
        (-1.0, 0.05),
        (f32::NAN, 0.05),
        (f32::INFINITY, 0.05),
        (2.0, 0.0),
        (2.0, -1.0),
    ] {
        let mut sim = open(9, 9);
        sim.set_time_step(seconds);
        let (a, b) = (Vec2::new(4.5, 4.5), Vec2::new(4.6, 4.5));
        let agents = [send(&mut sim, a, b, speed, 0.3), send(&mut sim, b, a, speed, 0.3)];
        sim.ticks(20);
        let places = agents.map(|agent| sim.position(agent));
        assert_eq!(places, [a, b], "at speed {speed}, {seconds} s a tick");
    }
}

#[test]
fn the_crowd_is_the_same_for_any_number_of_threads_and_order_in_memory() {
    let run = |threads, is_scattered: bool| {
        let grid = Grid::from_fn(48, 48, |cell| cell.x % 9 != 4 || cell.y % 7 < 3).unwrap();
        let mut sim = Sim::on(grid, MoveRule::default(), threads);
        let agents: Vec<Entity> = (0..600_u16)
            .map(|number| {
                let place = Vec2::new(f32::from(number % 40) + 0.7, f32::from(number / 40) + 0.6);
                let stream = RandomStream::new(9).fork(number.into());
                let wander = Wander::with_pause(stream, 0.2);
                sim.world.spawn((systems::agent(place, 3.0), Avoid::new(0.25), wander))
            })
            .collect();
        if is_scattered {
            // To another archetype and back: rows lie in another order now.
            for &agent in agents.iter().step_by(3) {
                let wander = sim.world.remove::<Wander>(agent).unwrap();
                sim.world.insert(agent, wander).unwrap();
            }
        }
        sim.ticks(120);
        let places: Vec<[u32; 2]> =
            agents.iter().map(|&agent| sim.position(agent).to_array().map(f32::to_bits)).collect();
        (places, sim.report())
    };
    let alone = run(Threads::None, false);
    assert!(alone == run(Threads::Own(1), false), "a worker makes a difference");
    assert!(alone == run(Threads::Own(7), false), "seven workers make a difference");
    assert!(alone == run(Threads::Own(2), true), "the order in memory makes a difference");
}
