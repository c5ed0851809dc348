//! Searches off the frame: the same answers in the same ticks, on any number of threads.

use std::sync::mpsc::channel;

use formic_ecs::{Entity, StateHash, World};
use formic_jobs::{Pool, Save, Schedule, Threads};
use formic_nav::{
    AgentClass, CHANGES_MAX, Cell, ClassId, Grid, Link, MoveRule, PathRequest, PathStats,
    RequestStatus, SearchBudget, SearchReport, Terrain, Weight, systems,
};

use crate::rng::Rng;
use crate::{cells, noise};

/// Far more is asked in most ticks than the budget allows for.
const BUDGET: u64 = 400;
const TICKS: u64 = 160;
/// The seed of a game with landmarks, whose searches are shorter.
const WITH_LANDMARKS: u64 = 4;

fn build(seed: u64) -> (World, Schedule, Vec<Entity>) {
    let mut rng = Rng::new(seed);
    let mut world = World::new();
    let water = Weight::new(3).unwrap();
    let grid = noise::noise(&mut rng, 90, 70, 78);
    let links = (0..12).map(|_| [0, 1].map(|_| cells::any_cell(&mut rng, &grid)));
    let links: Vec<Link> = links
        .filter(|[from, to]| from.x.abs_diff(to.x) > 1)
        .map(|[from, to]| Link::new(from, to, 4))
        .collect();
    let terrain = Terrain::new(grid, MoveRule::default()).with_links(links);
    let mut terrain = terrain.with_classes([AgentClass::new(1).without(water), AgentClass::new(2)]);
    if seed == WITH_LANDMARKS {
        terrain.place_landmarks();
    }
    let open: Vec<Vec<Cell>> = (0..3)
        .map(|class| {
            let terrain = terrain.for_class(ClassId(class)).unwrap();
            terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect()
        })
        .collect();
    let agents = (0..40_u8).map(|number| {
        let class = number % 3;
        let open = &open[usize::from(class)];
        let place = open[rng.below(open.len())].centre();
        world.spawn((systems::agent(place, 6.0), ClassId(class)))
    });
    let agents = agents.collect();
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(SearchBudget { expansions: BUDGET });
    let schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    (world, schedule, agents)
}

/// What the game does before a tick: a function of the seed and the tick.
fn disturb(world: &mut World, agents: &[Entity], seed: u64, tick: u64) {
    let mut rng = Rng::new(seed << 32 | tick);
    let terrain = world.resource_mut::<Terrain>().unwrap();
    for _ in 0..rng.below(4) {
        let cell = cells::any_cell(&mut rng, terrain.grid());
        let weight = Weight::new(u8::try_from(1 + rng.below(4)).unwrap()).unwrap();
        let _ = match rng.below(3) {
            0 => terrain.dig(cell),
            1 => terrain.fill(cell),
            _ => terrain.set_weight(cell, weight),
        };
    }
    let goal = cells::any_cell(&mut rng, terrain.grid()).centre();
    let request = world.get_mut::<PathRequest>(agents[rng.below(agents.len())]).unwrap();
    if rng.below(8) == 0 {
        request.cancel();
    } else {
        request.ask(goal).or_nearest();
    }
}

/// The hash after each tick, and what was searched.
fn run(seed: u64, threads: Threads) -> (Vec<StateHash>, SearchReport) {
    let (mut world, mut schedule, agents) = build(seed);
    let pool = Pool::new(threads).unwrap();
    let hashes = (0..TICKS).map(|tick| {
        disturb(&mut world, &agents, seed, tick);
        schedule.run(&mut world, &pool);
        world.state_hash()
    });
    (hashes.collect(), *world.resource::<SearchReport>().unwrap())
}

#[test]
fn answers_come_in_the_same_ticks_on_any_number_of_threads() {
    for seed in 1..=4 {
        let (hashes, report) = run(seed, Threads::None);
        let interruptions = if seed == WITH_LANDMARKS { 10 } else { 20 };
        assert!(report.interruptions > interruptions && report.answers > 50, "{report:?}");
        assert!(report.expansions_max <= BUDGET, "{report:?}");
        for threads in [1, 2, 3, 8] {
            let (others, other) = run(seed, Threads::Own(threads));
            let differs = others.iter().zip(&hashes).position(|(one, other)| one != other);
            assert_eq!(differs, None, "the first tick of seed {seed} on {threads} threads");
            assert_eq!(other, report);
        }
    }
}

#[test]
fn games_that_are_saved_while_searches_are_under_way_go_on_the_same() {
    for seed in [1, 2, WITH_LANDMARKS] {
        let (hashes, report) = run(seed, Threads::None);
        for (threads, at) in [(1, 11), (2, 37), (3, 70), (8, 111)] {
            let (mut world, mut schedule, agents) = build(seed);
            let pool = Pool::new(Threads::Own(threads)).unwrap();
            for tick in 0..TICKS {
                disturb(&mut world, &agents, seed, tick);
                schedule.run(&mut world, &pool);
                assert_eq!(world.state_hash(), hashes[usize::try_from(tick).unwrap()], "{tick}");
                if tick % at == at - 1 {
                    let save = Save::of(&world, &schedule).unwrap();
                    (world, schedule, _) = build(seed);
                    Save::from_bytes(&save.to_bytes())
                        .unwrap()
                        .load(&mut world, &mut schedule)
                        .unwrap();
                    assert_eq!(Save::of(&world, &schedule).unwrap(), save, "{tick}");
                }
            }
            assert_eq!(*world.resource::<SearchReport>().unwrap(), report);
        }
    }
}

/// A far goal, and a budget that takes several ticks to it.
fn far_request() -> (World, Schedule, Entity) {
    let mut rng = Rng::new(5);
    let mut world = World::new();
    let grid = noise::noise(&mut rng, 200, 200, 80);
    let open: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
    let terrain = Terrain::new(grid, MoveRule::default());
    let goal = open.iter().rev().find(|&&cell| terrain.reachable(open[0], cell)).unwrap();
    let agent = world.spawn(systems::agent(open[0].centre(), 3.0));
    world.get_mut::<PathRequest>(agent).unwrap().ask(goal.centre());
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(SearchBudget { expansions: 150 });
    let schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    (world, schedule, agent)
}

/// The tick in which the request was answered.
fn ticks_until_found(pool: &Pool, mut before: impl FnMut(&Pool)) -> u32 {
    let (mut world, mut schedule, agent) = far_request();
    for tick in 0..1_000 {
        before(pool);
        schedule.run(&mut world, pool);
        if world.get::<PathRequest>(agent).unwrap().status() == RequestStatus::Found {
            assert_eq!(world.get::<PathStats>(agent).unwrap().paths_found, 1);
            return tick;
        }
    }
    panic!("never found");
}

#[test]
fn a_search_that_no_thread_has_begun_with_at_its_tick_is_waited_for() {
    let expected = ticks_until_found(&Pool::new(Threads::None).unwrap(), |_| ());
    assert!(expected > 3);
    let pool = Pool::new(Threads::Own(1)).unwrap();
    // The only worker is held up for all of the time.
    let (go, wait) = channel::<()>();
    let (began, has_begun) = channel();
    let blocker = pool.schedule(move || {
        began.send(()).unwrap();
        wait.recv().unwrap_or_default();
    });
    has_begun.recv().unwrap();
    assert_eq!(ticks_until_found(&pool, |_| ()), expected);
    drop(go);
    pool.complete(blocker);
    // And where it has all the time it needs the answer comes no sooner.
    assert_eq!(ticks_until_found(&pool, Pool::flush), expected);
}

/// A frame may hold what a job of the main thread wants.
#[test]
fn no_job_of_the_main_thread_runs_while_a_search_is_waited_for() {
    let pool = Pool::new(Threads::Own(1)).unwrap();
    let (go, wait) = channel::<()>();
    let blocker = pool.schedule(move || wait.recv().unwrap_or_default());
    let (tell, shown) = channel();
    let show = pool.on_main().schedule(move || tell.send(()).unwrap());
    ticks_until_found(&pool, |_| assert!(shown.try_recv().is_err(), "in the middle of a tick"));
    drop(go);
    pool.complete(blocker);
    pool.complete(show);
    shown.try_recv().expect("it ran when it was waited for");
}

#[test]
fn far_ways_are_searched_over_the_classes_that_there_are() {
    // A wall with a narrow gap on the direct way, and a wide one far off.
    let is_open = |cell: Cell| cell.x != 100 || cell.y == 5 || (180..190).contains(&cell.y);
    let terrain = Terrain::new(Grid::from_fn(200, 200, is_open).unwrap(), MoveRule::default());
    let mut world = World::new();
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(SearchBudget { expansions: 150 });
    let mut schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    let ask = |world: &mut World, class| {
        let agent = systems::agent(Cell::new(10, 20).centre(), 3.0);
        let agent = world.spawn((agent, ClassId(class)));
        world.get_mut::<PathRequest>(agent).unwrap().ask(Cell::new(190, 20).centre());
        agent
    };
    let narrow = ask(&mut world, 0);
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool)));
    // The same cells, for agents that were not there.
    let terrain = world.remove_resource::<Terrain>().unwrap().with_classes([AgentClass::new(2)]);
    world.insert_resource(terrain);
    let wide = ask(&mut world, 1);
    (0..1_000).for_each(|_| drop(schedule.run(&mut world, &pool)));
    for agent in [narrow, wide] {
        assert_eq!(world.get::<PathRequest>(agent).unwrap().status(), RequestStatus::Found);
    }
}

#[test]
fn a_world_that_goes_on_in_another_pool_loses_no_search() {
    let pools = [Threads::Own(1), Threads::None, Threads::Own(2)];
    let pools = pools.map(|threads| Pool::new(threads).unwrap());
    let expected = ticks_until_found(&pools[1], |_| ());
    let (mut world, mut schedule, agent) = far_request();
    for tick in 0..=expected {
        assert_eq!(world.get::<PathRequest>(agent).unwrap().status(), RequestStatus::Pending);
        schedule.run(&mut world, &pools[tick as usize % 3]);
    }
    assert_eq!(world.get::<PathRequest>(agent).unwrap().status(), RequestStatus::Found);
}

#[test]
fn a_goal_that_an_edit_has_opened_meanwhile_is_not_called_unreachable() {
    let grid = Grid::from_fn(300, 3, |cell| cell.x != 150).unwrap();
    let mut sim = crate::sim::Sim::new(grid);
    let agent = sim.spawn(0.5, 0.5, 1.0);
    sim.ask(agent, 299.5, 0.5);
    // Too little for a trial, which would tell at once.
    sim.set_budget(15);
    sim.tick();
    assert_eq!(sim.status(agent), RequestStatus::Pending);
    sim.terrain_mut().dig(Cell::new(150, 1));
    for _ in 0..200 {
        sim.tick();
        assert!(!matches!(sim.status(agent), RequestStatus::Unreachable(_)));
    }
    assert_eq!(sim.status(agent), RequestStatus::Found);
}

#[test]
fn a_long_search_ends_whatever_is_edited_meanwhile() {
    // The last rows are a place of their own, where edits touch nothing that is searched.
    let is_open =
        |cell: Cell| cell.y != 200 && (cell.y > 200 || cell.x % 4 != 0 || cell.y % 9 == 0);
    let mut sim = crate::sim::Sim::new(Grid::from_fn(200, 210, is_open).unwrap());
    let agent = sim.spawn(1.5, 0.5, 1.0);
    sim.set_budget(100);
    sim.ask(agent, 198.5, 198.5);
    let edits = CHANGES_MAX / 8;
    let mut ticks = 0;
    while sim.status(agent) == RequestStatus::Pending {
        for place in 0..edits {
            let [x, y] = [place % 200, 201 + place / 200].map(|at| u16::try_from(at).unwrap());
            let cell = Cell::new(x, y);
            let terrain = sim.terrain_mut();
            assert!(if ticks % 2 == 0 { terrain.fill(cell) } else { terrain.dig(cell) });
        }
        sim.tick();
        ticks += 1;
        assert!(ticks < 400, "{:?}", sim.report());
    }
    assert_eq!(sim.status(agent), RequestStatus::Found);
    assert!(ticks > 10, "it is answered after {ticks} ticks, before the first edits are forgotten");
}
