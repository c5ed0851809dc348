//! All systems together: crowds on a map that is dug and filled under their feet.

use crate::rng::Rng;
use crate::sim::Sim;
use crate::{flood, noise};
use formic_ecs::{Entity, RandomStream};
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{
    Cell, Grid, MoveRule, PathRequest, PathStats, Position, RequestStatus, Route, SearchBudget,
    Terrain, Wander, path_cost, systems,
};
use glam::Vec2;

/// A crowd of wanderers on the open cells of a map.
fn crowd(sim: &mut Sim, rng: &mut Rng, count: usize) -> Vec<Entity> {
    let open: Vec<Cell> =
        sim.terrain().grid().cells().filter(|&cell| sim.terrain().is_open(cell)).collect();
    let bundles = (0..count).map(|i| {
        let place = open[rng.below(open.len())].centre();
        let stream = RandomStream::new(5).fork(i as u64);
        (systems::agent(place, 2.0 + (i % 7) as f32), Wander::with_pause(stream, 0.5))
    });
    sim.world.spawn_batch(bundles)
}

/// Digs or fills a few random cells.
fn edit(terrain: &mut Terrain, rng: &mut Rng, open_percent: usize) {
    for _ in 0..rng.below(4) {
        let (width, height) = (terrain.grid().width(), terrain.grid().height());
        let x = u16::try_from(rng.below(width.into())).unwrap();
        let y = u16::try_from(rng.below(height.into())).unwrap();
        if rng.below(100) < open_percent {
            terrain.dig(Cell::new(x, y));
        } else if terrain.grid().open_count() > 1 {
            terrain.fill(Cell::new(x, y));
        }
    }
}

/// Fails unless the straight line between two places is in the open.
fn assert_legal_motion(terrain: &Terrain, from: Vec2, to: Vec2) {
    for part in 0..=128_u8 {
        let place = from.lerp(to, f32::from(part) / 128.0);
        let cell = Cell::containing(place).expect("on the map");
        assert!(terrain.is_open(cell), "{place} between {from} and {to} is in rock");
    }
}

fn snapshot(sim: &Sim, agents: &[Entity]) -> Vec<(Vec2, PathStats)> {
    agents.iter().map(|&agent| (sim.position(agent), sim.stats(agent))).collect()
}

#[test]
fn no_agent_is_ever_in_rock_or_walks_through_it_whatever_is_dug_and_filled() {
    for (seed, rule) in [(1, MoveRule::BothFree), (2, MoveRule::Orthogonal)] {
        let mut rng = Rng::new(seed);
        let grid = noise::noise(&mut rng, 24, 18, 65);
        let mut sim = Sim::on(grid, rule, Threads::None);
        let agents = crowd(&mut sim, &mut rng, 60);
        for tick in 0..3_000 {
            let before = snapshot(&sim, &agents);
            edit(sim.terrain_mut(), &mut rng, 58);
            sim.tick();
            let after = snapshot(&sim, &agents);
            for (&(from, earlier), &(to, later)) in before.iter().zip(&after) {
                assert!(to.is_finite());
                let cell = Cell::containing(to).expect("on the map");
                assert!(sim.terrain().is_open(cell), "tick {tick}: an agent at {to} is in rock");
                if earlier.pushed_out == later.pushed_out {
                    assert_legal_motion(sim.terrain(), from, to);
                }
            }
            if tick % 100 == 0 {
                flood::assert_exact(sim.terrain());
                sim.world.check().unwrap();
            }
        }
        let total = |count| sim.total(&agents, count);
        assert!(total(|it| it.paths_found) > 500 && total(|it| it.arrivals) > 100);
        assert!(total(|it| it.paths_broken) > 50 && total(|it| it.pushed_out) > 50);
    }
}

#[test]
fn every_request_ends_within_a_bounded_number_of_ticks() {
    let mut rng = Rng::new(3);
    let grid = noise::noise(&mut rng, 24, 18, 62);
    let mut sim = Sim::new(grid);
    sim.set_budget(200);
    let agents = crowd(&mut sim, &mut rng, 100);
    for _ in 0..2_000 {
        edit(sim.terrain_mut(), &mut rng, 55);
        sim.tick();
        for &agent in &agents {
            let request = sim.world.get::<PathRequest>(agent).unwrap();
            // Searches are brought to their end, the longest waiting first.
            assert!(request.waited_ticks() <= 100, "{request:?}");
        }
    }
}

#[test]
fn found_routes_are_legal_after_every_tick() {
    let mut rng = Rng::new(4);
    let grid = noise::noise(&mut rng, 20, 20, 70);
    let mut sim = Sim::new(grid);
    let agents = crowd(&mut sim, &mut rng, 40);
    for _ in 0..1_000 {
        edit(sim.terrain_mut(), &mut rng, 60);
        sim.tick();
        for &agent in &agents {
            let route = sim.world.get::<Route>(agent).unwrap();
            let terrain = sim.terrain();
            if sim.status(agent) == RequestStatus::Found {
                path_cost(terrain.grid(), terrain.rule(), route.rest()).expect("a legal route");
            } else if sim.status(agent) == RequestStatus::Pending {
                // The beginning of a way that was broken while it was found.
                let cells = route.path().cells();
                assert!(
                    cells.is_empty() || path_cost(terrain.grid(), terrain.rule(), cells).is_ok()
                );
            } else {
                assert!(route.rest().is_empty());
            }
        }
    }
}

#[test]
fn the_world_is_the_same_for_any_number_of_threads() {
    let run = |threads| {
        let mut rng = Rng::new(6);
        let grid = noise::noise(&mut rng, 40, 30, 68);
        let mut sim = Sim::on(grid, MoveRule::default(), threads);
        // More than one chunk of agents, and a budget that makes some wait.
        let agents = crowd(&mut sim, &mut rng, 700);
        sim.set_budget(2_000);
        let mut hashes = Vec::new();
        for tick in 0..400 {
            edit(sim.terrain_mut(), &mut rng, 60);
            sim.tick();
            if tick % 20 == 0 {
                hashes.push(sim.world.state_hash());
            }
        }
        let routes: Vec<Route> =
            agents.iter().map(|&agent| sim.world.get::<Route>(agent).unwrap().clone()).collect();
        (hashes, sim.report(), routes)
    };
    let alone = run(Threads::None);
    assert!(alone.1.waiting > 0 || alone.1.expansions > 100_000, "{:?}", alone.1);
    for count in 1..=3 {
        assert!(run(Threads::Own(count)) == alone, "{count} workers make a difference");
    }
}

#[test]
fn the_order_of_the_systems_is_declared_and_leaves_nothing_to_chance() {
    fn miners(mut terrain: formic_jobs::ResMut<'_, Terrain>) {
        terrain.dig(Cell::new(0, 0));
    }
    let mut world = formic_ecs::World::new();
    systems::insert_resources(
        &mut world,
        Terrain::new(Grid::solid(4, 4).unwrap(), MoveRule::BothFree),
    );
    let schedule =
        Schedule::builder().add(formic_jobs::IntoSystem::before(miners, systems::block_cells));
    let mut schedule = systems::add(schedule).build(&mut world).unwrap();
    assert_eq!(schedule.ambiguities(), []);
    let order: Vec<&str> =
        schedule.system_names().iter().map(|name| name.rsplit("::").next().unwrap()).collect();
    let ours = [
        "block_cells",
        "push_out",
        "retry",
        "wander",
        "settle_flows",
        "follow",
        "follow_flow",
        "avoid",
    ];
    assert_eq!(order, [&["miners"], &ours[..], &["search"]].concat());
    let steps: Vec<(usize, usize)> = (0..order.len() - 1).map(|i| (i, i + 1)).collect();
    assert_eq!(schedule.steps().collect::<Vec<_>>(), steps);
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
}

#[test]
#[should_panic(expected = "the world has no terrain: call `formic_nav::systems::insert_resources`")]
fn a_world_without_the_resources_says_what_inserts_them() {
    let mut world = formic_ecs::World::new();
    world.spawn(systems::agent(Vec2::new(0.5, 0.5), 4.0));
    let mut schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
}

#[test]
fn agents_that_come_and_go_leave_no_trace() {
    let mut sim = Sim::new(Grid::from_fn(16, 16, |_| true).unwrap());
    sim.world.insert_resource(SearchBudget { expansions: 50 });
    let mut rng = Rng::new(8);
    for _ in 0..30 {
        let agents = crowd(&mut sim, &mut rng, 20);
        sim.ticks(7);
        for agent in agents {
            sim.world.despawn(agent).unwrap();
        }
    }
    sim.tick();
    assert_eq!((sim.report().waiting, sim.world.len()), (0, 0));
    assert_eq!(sim.world.query::<&Position>().count(), 0);
}

#[test]
fn the_table_of_systems_names_the_components_that_they_read_and_write() {
    let sim = Sim::new(Grid::from_fn(2, 2, |_| true).unwrap());
    let resources = ["Terrain", "TimeStep", "FlowFields", "SearchBudget", "SearchReport"];
    // All systems use the class of an agent, says the text, and of `PathPending` only the bit is written.
    let elsewhere = ["ClassId", "PathPending"];
    let text = include_str!("../../src/systems.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let mut rows: Vec<Vec<Vec<&str>>> = rows
        .map(|row| {
            let words = |column: &'static str| {
                let words = column.split(|it: char| !it.is_alphanumeric() && it != '_');
                let mut words: Vec<&str> = words
                    .filter(|word| !word.is_empty() && !resources.contains(word))
                    .filter(|word| !elsewhere.contains(word))
                    .collect();
                words.sort_unstable();
                words
            };
            row.trim_end_matches(['|', ' ']).split('|').map(words).collect()
        })
        .collect();
    for (system, access) in sim.schedule.accesses() {
        let system = system.rsplit("::").next().unwrap();
        let place = rows.iter().position(|row| row[0] == [system]).expect(system);
        let row = rows.swap_remove(place);
        let access = access.unwrap();
        for (ids, said) in [access.reads(), access.writes()].into_iter().zip(&row[1..]) {
            let names = ids.iter().map(|&id| sim.world.component_info(id).unwrap().name());
            let names = names.map(|name| name.rsplit("::").next().unwrap());
            let mut names: Vec<&str> = names.filter(|name| !elsewhere.contains(name)).collect();
            names.sort_unstable();
            assert_eq!(names, *said, "{system}");
        }
    }
    assert!(rows.is_empty(), "{rows:?} are no systems");
}
