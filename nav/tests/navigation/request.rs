//! Requests: every one ends, none is searched for in vain, the budget holds.

use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, noise};
use formic_ecs::{Component, Entity, With};
use formic_jobs::Threads;
use formic_nav::{
    Algorithm, Cell, Grid, MoveRule, Path, PathOutcome, PathPending, PathQuery, PathRequest,
    PathScratch, PathStats, Position, RequestStatus, Route, Speed, Terrain, Unreachable, Weight,
    path_cost,
};
use glam::Vec2;

fn waiting_count(sim: &mut Sim) -> usize {
    sim.world.query_filtered::<Entity, With<PathPending>>().count()
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
        ((0.5, 0.5), (3.5, 0.5), Unreachable::Disconnected),
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
        assert_eq!(sim.stats(agent).paths_unreachable, 1);
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
        assert_eq!(
            sim.stats(agent),
            PathStats { paths_unreachable: asked, ..PathStats::default() }
        );
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
fn an_agent_walks_no_step_to_a_goal_that_was_cancelled_during_the_search() {
    let mut sim = Sim::new(pillars(60));
    let agent = sim.spawn(0.5, 0.5, 2.0);
    sim.set_budget(9);
    sim.ask(agent, 59.5, 31.5);
    sim.ticks(2);
    assert_eq!(sim.report().interruptions, 1);
    sim.world.get_mut::<PathRequest>(agent).unwrap().cancel();
    sim.ask(agent, 0.5, 59.5);
    let expansions = expansions_of(&pillars(60), Cell::new(0, 59));
    sim.ticks_until(200, |sim| sim.status(agent) == RequestStatus::Found);
    assert_eq!(sim.position(agent), Vec2::new(0.5, 0.5));
    // What was spent before, and nothing more for the first goal.
    assert_eq!(sim.report().expansions, 18 + expansions);
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

/// Pillars, so that there is something to search.
fn pillars(side: u32) -> Grid {
    Grid::from_fn(side, side, |cell| cell.x % 4 != 2 || cell.y % 3 != 1).unwrap()
}

/// What one search across the pillars takes when no edit interrupts it.
fn expansions_of(grid: &Grid, goal: Cell) -> u64 {
    let terrain = Terrain::new(grid.clone(), MoveRule::default());
    let mut scratch = PathScratch::new();
    let _ = scratch.find(&terrain, Cell::new(0, 0), goal, &mut Path::new());
    scratch.expansion_count()
}

#[test]
fn the_budget_is_kept_and_the_longest_waiting_go_first() {
    let mut sim = Sim::new(pillars(40));
    let agents: Vec<Entity> = (0..100).map(|_| sim.spawn(0.5, 0.5, 1.0)).collect();
    for &agent in &agents {
        sim.ask(agent, 39.5, 20.5);
    }
    sim.set_budget(100);
    for tick in 1.. {
        sim.tick();
        let found = |agent: &&Entity| sim.status(**agent) == RequestStatus::Found;
        let answered = agents.iter().filter(found).count();
        assert_eq!(sim.report().waiting, 100 - answered as u64);
        assert!(sim.report().expansions <= 100 * tick, "{:?}", sim.report());
        if answered == 100 {
            assert!(tick > 2, "the budget makes them wait");
            break;
        }
    }
    assert!(sim.report().expansions_max <= 100, "{:?}", sim.report());
}

/// Has rows lie in another order than entities.
#[derive(Component)]
struct Elsewhere;

#[test]
fn those_that_waited_longest_are_answered_first_then_those_with_fewer_answers_then_by_entity() {
    let mut sim = Sim::new(pillars(60));
    // They stand, so that all of them ask the same.
    sim.set_time_step(0.0);
    sim.set_budget(expansions_of(&pillars(60), Cell::new(59, 31)));
    let answers = [2, 0, 1, 0, 2, 1, 0, 0, 1, 0, 3, 0];
    let agents: Vec<Entity> = answers
        .iter()
        .map(|&paths_found| {
            let agent = sim.spawn(0.5, 0.5, 1.0);
            sim.world.get_mut::<PathStats>(agent).unwrap().paths_found = paths_found;
            agent
        })
        .collect();
    agents.iter().step_by(3).for_each(|&agent| sim.world.insert(agent, Elsewhere).unwrap());
    // Every second one asks two ticks later.
    let asks_late = |number: usize| number % 2 == 0;
    let mut order: Vec<usize> = (0..agents.len()).collect();
    order.sort_by_key(|&number| (asks_late(number), answers[number], agents[number].to_bits()));
    let mut answered = Vec::new();
    for tick in 0..40 {
        for (number, &agent) in agents.iter().enumerate() {
            if tick == 2 * u32::from(asks_late(number)) {
                sim.ask(agent, 59.5, 31.5);
            }
        }
        sim.tick();
        let is_new = |number: &usize| {
            sim.status(agents[*number]) == RequestStatus::Found && !answered.contains(number)
        };
        let new: Vec<usize> = order.iter().copied().filter(is_new).collect();
        assert!(new.len() < 3, "they wait for each other: {new:?} in tick {tick}");
        answered.extend(new);
    }
    assert_eq!(answered, order);
}

#[test]
fn a_search_beyond_the_budget_is_spread_over_ticks_to_the_unit() {
    let goal = Cell::new(59, 31);
    let grid = pillars(60);
    let needed = expansions_of(&grid, goal);
    for budget in [1, 7, needed - 1, needed] {
        let mut sim = Sim::new(grid.clone());
        let agent = sim.spawn(0.5, 0.5, 1.0);
        sim.ask(agent, 59.5, 31.5);
        sim.set_budget(budget);
        // By its distance it is expected to be long, and is tried first.
        let trial = budget / 16;
        let ticks = (needed + trial).div_ceil(budget);
        for tick in 0..=ticks {
            assert_eq!(sim.status(agent), RequestStatus::Pending, "before tick {tick}");
            sim.tick();
            // Each is taken from the background in the tick after.
            assert_eq!(sim.report().expansions, (needed + trial).min(trial.max(budget * tick)));
        }
        assert!(sim.report().expansions_max <= budget);
        assert_eq!(sim.status(agent), RequestStatus::Found, "after {ticks} ticks");
        assert_eq!(sim.report().interruptions, ticks - 1);
    }
}

/// A map with a weight for each cell, so that searches go step by step, and an agent that
/// asks for a way across it.
fn weighted_and_asking(side: u16) -> (Sim, Entity) {
    let mut sim = Sim::new(Grid::from_fn(side.into(), side.into(), |_| true).unwrap());
    for x in 0..side {
        for y in 0..side {
            let weight = u8::try_from(1 + (u32::from(x) * 7 + u32::from(y) * 13) % 5).unwrap();
            sim.terrain_mut().set_weight(Cell::new(x, y), Weight::new(weight).unwrap());
        }
    }
    let agent = sim.spawn(0.5, 0.5, 0.0);
    sim.ask(agent, f32::from(side / 2) + 0.5, 0.5);
    (sim, agent)
}

fn ticks_until_found(sim: &mut Sim, agent: Entity, mut edit: impl FnMut(&mut Sim, u32)) -> u32 {
    for tick in 0..1_000 {
        edit(sim, tick);
        sim.tick();
        if sim.status(agent) == RequestStatus::Found {
            return tick;
        }
    }
    panic!("never found: {:?}", sim.report());
}

#[test]
fn no_edit_has_a_search_begin_anew_or_go_beyond_the_budget() {
    for is_weighted in [true, false] {
        // None, in the far corner, and beside the start; opened and closed again.
        let edits = [None, Some(Cell::new(58, 58)), Some(Cell::new(0, 2))];
        let costs = edits.map(|edited| {
            let (mut sim, agent) = if is_weighted {
                weighted_and_asking(60)
            } else {
                let mut sim = Sim::new(pillars(60));
                let agent = sim.spawn(0.5, 0.5, 0.0);
                sim.ask(agent, 59.5, 31.5);
                (sim, agent)
            };
            let budget = if is_weighted { 50 } else { 9 };
            sim.set_budget(budget);
            let ticks = ticks_until_found(&mut sim, agent, |sim, tick| {
                let Some(cell) = edited else { return };
                if tick % 2 == 1 {
                    sim.terrain_mut().fill(cell)
                } else {
                    sim.terrain_mut().dig(cell)
                };
            });
            assert!(sim.report().expansions_max <= budget, "{:?}", sim.report());
            let path = sim.world.get::<Route>(agent).unwrap().path().clone();
            let (grid, rule) = (sim.terrain().grid(), sim.terrain().rule());
            assert_eq!(path_cost(grid, rule, path.cells()), Ok(path.cost()));
            (ticks, sim.report().expansions, path.cost())
        });
        assert_eq!((costs[0], costs[0]), (costs[1], costs[2]));
        assert!(costs[0].0 > 3, "{costs:?}");
    }
}

#[test]
fn a_path_that_is_broken_while_it_is_searched_for_is_walked_up_to_the_break() {
    let (mut sim, agent) = weighted_and_asking(60);
    sim.world.get_mut::<Speed>(agent).unwrap().0 = 5.0;
    sim.ask(agent, 59.5, 0.5);
    sim.set_budget(300);
    let mut was_led_on = false;
    for tick in 0..4_000 {
        // Walls rise one after the other, each with a gap far from the way.
        if tick < 40 && tick % 4 == 2 {
            let x = 50 - tick;
            (0..59).for_each(|y| _ = sim.terrain_mut().fill(Cell::new(x, y)));
        }
        sim.tick();
        let status = sim.status(agent);
        let route = sim.world.get::<Route>(agent).unwrap().clone();
        if status == RequestStatus::Found {
            let (grid, rule) = (sim.terrain().grid(), sim.terrain().rule());
            path_cost(grid, rule, route.rest()).unwrap();
        }
        was_led_on |= status == RequestStatus::Pending && route.rest().len() > 5;
        assert!(sim.terrain().is_open(sim.world.get::<Position>(agent).unwrap().cell().unwrap()));
        assert!(sim.report().expansions_max <= 300, "{:?}", sim.report());
        if status == RequestStatus::Arrived {
            assert!(was_led_on);
            return;
        }
    }
    panic!("never arrived: {:?} {:?}", sim.status(agent), sim.report());
}

#[test]
fn searches_that_go_on_after_edits_are_exact() {
    let mut rng = Rng::new(77);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    for rule in MoveRule::ALL {
        let mut terrain = Terrain::new(noise::noise(&mut rng, 50, 40, 85), rule);
        for round in 0..150 {
            let weight = Weight::new(u8::try_from(1 + rng.below(4)).unwrap()).unwrap();
            terrain.set_weight(cells::any_cell(&mut rng, terrain.grid()), weight);
            let [start, goal] = [0, 1].map(|_| cells::any_cell(&mut rng, terrain.grid()));
            let algorithm = [Algorithm::AStar, Algorithm::Auto][round % 2];
            let query = PathQuery::new(start, goal).by(algorithm).within(1 + rng.below(30) as u64);
            let mut outcome = scratch.solve(&terrain, &query, &mut path);
            let mut slice = 16;
            while outcome == PathOutcome::OutOfBudget {
                slice += slice / 4;
                let cell = cells::any_cell(&mut rng, terrain.grid());
                match rng.below(3) {
                    0 => terrain.set_weight(cell, weight),
                    _ => terrain.dig(cell) || terrain.fill(cell),
                };
                outcome = scratch.resume(&terrain, slice, &mut path);
            }
            let fresh = PathScratch::new().find(&terrain, start, goal, &mut Path::new());
            assert_eq!(outcome, fresh, "{rule:?}: {start} to {goal}");
        }
    }
}

#[test]
fn an_agent_that_asks_for_another_goal_meanwhile_is_given_the_way_to_the_one_before() {
    let mut sim = Sim::new(pillars(60));
    let agent = sim.spawn(0.5, 0.5, 2.0);
    sim.ask(agent, 59.5, 31.5);
    sim.set_budget(9);
    sim.ticks(2);
    assert_eq!(sim.report().interruptions, 1);
    let mut goal = 31;
    for tick in 0..3_000_u32 {
        // Another cell every other second.
        if tick % 40 == 0 {
            goal = 72 - goal;
            sim.ask(agent, 59.5, f32::from(u8::try_from(goal).unwrap()) + 0.5);
        }
        sim.tick();
    }
    assert!(sim.position(agent).x > 55.0, "at {}", sim.position(agent));
    assert!(sim.report().expansions_max <= 9);
}

#[test]
fn a_budget_of_zero_pauses_the_search() {
    let mut sim = Sim::of(&["....", "...."]);
    let agents: Vec<Entity> = (0..5).map(|_| sim.spawn(0.5, 0.5, 1.0)).collect();
    agents.iter().for_each(|&agent| sim.ask(agent, 3.5, 1.5));
    sim.set_budget(0);
    sim.ticks(3);
    assert_eq!((sim.report().answers, sim.report().waiting), (0, 5));
    sim.set_budget(5);
    sim.ticks(2);
    assert_eq!((sim.report().answers, sim.report().waiting), (5, 0));
}

#[test]
fn one_heavy_cell_far_from_the_way_changes_nothing() {
    let expansions = |weight: u8| {
        let mut sim = Sim::new(pillars(60));
        sim.terrain_mut().set_weight(Cell::new(59, 59), Weight::new(weight).unwrap());
        let agent = sim.spawn(0.5, 0.5, 1.0);
        sim.ask(agent, 59.5, 31.5);
        sim.tick();
        assert_eq!(sim.status(agent), RequestStatus::Found);
        (sim.report().expansions, sim.world.get::<Route>(agent).unwrap().path().cost())
    };
    let (even, uneven) = (expansions(1), expansions(2));
    assert_eq!(even.1, uneven.1, "the heavy cell is not on the way");
    assert!(uneven.0 <= even.0 + 1, "{} expansions, {} with it", even.0, uneven.0);
}

#[test]
fn an_agent_that_makes_do_with_the_nearest_cell_walks_there_and_says_so() {
    let mut sim = Sim::of(&["..@..", "..@..", "..@.."]);
    let agent = sim.spawn(0.5, 0.5, 4.0);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(Vec2::new(4.3, 2.3)).or_nearest();
    sim.tick();
    let apart = Unreachable::Disconnected;
    assert_eq!(sim.status(agent), RequestStatus::Partial(apart));
    sim.ticks(30);
    assert_eq!(sim.status(agent), RequestStatus::Nearby(apart));
    assert_eq!(sim.position(agent), Vec2::new(1.5, 2.5), "in the middle of the nearest cell");
    let stats = sim.stats(agent);
    assert_eq!((stats.paths_found, stats.paths_partial, stats.arrivals), (0, 1, 1));
    // It is terminal: nothing is searched for any longer.
    let answers = sim.report().answers;
    sim.terrain_mut().dig(Cell::new(2, 0));
    sim.ticks(5);
    assert_eq!((sim.report().answers, sim.status(agent)), (answers, RequestStatus::Nearby(apart)));
}

#[test]
fn goals_outside_of_the_map_have_a_nearest_cell_as_well() {
    let outside = Unreachable::GoalOutside;
    let far = f32::INFINITY;
    let cases = [
        ((9.5, 1.5), (3.5, 1.5)),
        ((-3.0, 1.5), (0.5, 1.5)),
        ((-3.0, -far), (0.5, 0.5)),
        ((1e9, far), (3.5, 1.5)),
        ((65_535.0, 0.5), (3.5, 0.5)),
    ];
    for rule in [MoveRule::BothFree, MoveRule::Orthogonal] {
        for (goal, end) in cases {
            let mut sim = Sim::on(Grid::from_fn(4, 2, |_| true).unwrap(), rule, Threads::None);
            let agent = sim.spawn(1.5, 0.5, 4.0);
            sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal.into()).or_nearest();
            sim.ticks(30);
            assert_eq!(sim.status(agent), RequestStatus::Nearby(outside), "{goal:?}");
            assert_eq!(sim.position(agent), Vec2::from(end), "{goal:?}");
        }
    }
    let mut sim = Sim::of(&["...."]);
    let agent = sim.spawn(1.5, 0.5, 4.0);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(Vec2::NAN).or_nearest();
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Unreachable(outside), "nowhere is nearest");
}

#[test]
fn a_request_that_keeps_trying_is_searched_for_when_an_edit_opens_the_way_and_not_before() {
    let mut sim = Sim::of(&["..@..", "..@..", "..@.."]);
    let agent = sim.spawn(0.5, 0.5, 4.0);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(Vec2::new(4.5, 0.5)).keep_trying();
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Unreachable(Unreachable::Disconnected));
    // Edits of both regions that join nothing.
    sim.terrain_mut().fill(Cell::new(0, 2));
    sim.terrain_mut().fill(Cell::new(4, 2));
    sim.ticks(3);
    assert_eq!(sim.report().answers, 1, "no search is in vain");
    sim.terrain_mut().dig(Cell::new(2, 1));
    sim.tick();
    assert_eq!((sim.status(agent), sim.report().answers), (RequestStatus::Found, 2));
    sim.ticks(40);
    assert_eq!(sim.status(agent), RequestStatus::Arrived);
}

#[test]
fn on_a_partial_path_the_goal_is_taken_up_again_once_it_can_be_reached() {
    let mut sim = Sim::of(&["......@..", "......@..", "......@.."]);
    let agent = sim.spawn(0.5, 0.5, 2.0);
    let goal = Vec2::new(8.5, 2.5);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal).or_nearest().keep_trying();
    sim.ticks(10);
    assert!(matches!(sim.status(agent), RequestStatus::Partial(_)));
    sim.terrain_mut().dig(Cell::new(6, 0));
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Found);
    sim.ticks(120);
    assert_eq!((sim.status(agent), sim.position(agent)), (RequestStatus::Arrived, goal));
}

#[test]
fn the_wishes_of_a_request_end_with_the_next_one() {
    let mut sim = Sim::of(&["..@.."]);
    let agent = sim.spawn(0.5, 0.5, 4.0);
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(Vec2::new(4.5, 0.5)).or_nearest();
    sim.ask(agent, 4.5, 0.5);
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Unreachable(Unreachable::Disconnected));
    sim.terrain_mut().dig(Cell::new(2, 0));
    sim.ticks(3);
    assert_eq!(sim.status(agent), RequestStatus::Unreachable(Unreachable::Disconnected));
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
