//! Another terrain in the place of the one before: everything notices.

use crate::sim::Sim;
use formic_ecs::Entity;
use formic_nav::{
    Cell, FlowFields, FlowFollower, FlowStatus, Grid, MoveRule, Path, PathFault, PathOutcome,
    PathQuery, PathRequest, PathScratch, Position, RequestStatus, Route, Terrain, Weight,
    path_cost, systems,
};
use glam::Vec2;

fn level(is_open: impl FnMut(Cell) -> bool) -> Terrain {
    Terrain::new(Grid::from_fn(60, 40, is_open).unwrap(), MoveRule::BothFree)
}

/// A terrain, and the same with a wall that has a gap in the south, by as many edits.
fn forked() -> [Terrain; 2] {
    let mut open = level(|_| true);
    let mut walled = open.clone();
    for y in 0..39 {
        walled.fill(Cell::new(30, y));
        // As many edits, elsewhere.
        open.fill(Cell::new(59, y));
    }
    [open, walled]
}

#[test]
fn versions_are_equal_for_equal_histories_and_no_others() {
    let [a, b] = forked();
    assert_eq!(a.version().get(), b.version().get());
    assert_ne!(a.version(), b.version());
    assert!(a.grid().changes_since(b.version()).is_none(), "another history");
    let start = level(|_| true);
    assert!(start.grid().changes_since(a.version()).is_none(), "of the future");
    assert_eq!(a.grid().changes_since(start.version()).unwrap().count(), 39);
    assert_eq!(forked().map(|terrain| terrain.version()), [a.version(), b.version()]);

    let mut weighed = [start.clone(), start.clone()];
    weighed[0].set_weight(Cell::new(0, 0), Weight::new(2).unwrap());
    weighed[1].set_weight(Cell::new(0, 0), Weight::new(3).unwrap());
    assert_ne!(weighed[0].version(), weighed[1].version());
    assert_ne!(level(|cell| cell.x > 0).version(), start.version());
    let other_rule = Terrain::new(start.grid().clone(), MoveRule::Always);
    assert_ne!(
        other_rule.version(),
        Terrain::new(start.grid().clone(), MoveRule::OneFree).version()
    );
}

#[test]
fn a_field_notices_that_a_terrain_was_put_back_or_replaced() {
    let before = level(|_| true);
    let [open, walled] = forked();
    let other_size = Terrain::new(Grid::from_fn(70, 50, |_| true).unwrap(), MoveRule::Orthogonal);
    let (start, goal) = (Cell::new(0, 0), Cell::new(58, 0));
    let mut field = formic_nav::FlowField::new(&before, &[goal]);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    for terrain in [&walled, &before, &open, &walled, &other_size, &open, &before] {
        let best = scratch.find(terrain, start, goal, &mut path).cost();
        assert_eq!(field.distance(terrain, start), best);
    }
}

#[test]
fn a_path_through_the_rock_of_another_terrain_is_refused() {
    let [open, walled] = forked();
    let mut path = Path::new();
    let outcome = PathScratch::new().find(&open, Cell::new(0, 0), Cell::new(50, 0), &mut path);
    assert!(outcome.cost().is_some());
    assert_eq!(path.revalidate(&walled, 0), Err(PathFault::Blocked { step: 30 }));
    assert_eq!(path.revalidate(&open, 0), Ok(()));
}

#[test]
fn an_interrupted_search_begins_anew_on_another_level() {
    let [open, walled] =
        [level(|cell| cell.y % 3 != 1 || cell.x % 4 != 2), level(|c| c.x % 9 != 4 || c.y == 20)];
    let query = PathQuery::new(Cell::new(0, 0), Cell::new(59, 39));
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let outcome = scratch.solve(&open, &query.within(4), &mut path);
    assert_eq!(outcome, PathOutcome::OutOfBudget);
    let cost = scratch.resume(&walled, u64::MAX, &mut path).cost().unwrap();
    assert_eq!(path_cost(walled.grid(), walled.rule(), path.cells()), Ok(cost));
}

#[test]
fn agents_make_legal_moves_after_the_level_is_replaced() {
    let pillars = |cell: Cell| cell.y % 3 != 1 || cell.x % 4 != 2;
    let mut sim = Sim::new(Grid::from_fn(60, 40, pillars).unwrap());
    let mut fields = FlowFields::default();
    let camp = fields.add(&sim.terrain().clone(), &[Cell::new(20, 20)]);
    sim.world.insert_resource(fields);
    let follower = sim.world.spawn(systems::flow_agent(Vec2::new(0.5, 0.5), 4.0, camp));
    // In rock on the level to come, and one whose search is interrupted by it.
    let caught = sim.spawn(4.5, 0.5, 4.0);
    let asker = sim.spawn(0.5, 0.5, 4.0);
    sim.ask(asker, 59.5, 39.5);
    sim.set_budget(3);
    sim.ticks(3);
    assert_eq!(sim.report().interruptions, 2);
    for (width, rule) in [(60, MoveRule::BothFree), (80, MoveRule::Orthogonal)] {
        let grid = Grid::from_fn(width, 40, |cell| cell.x % 9 != 4 || cell.y == 20).unwrap();
        sim.world.insert_resource(Terrain::new(grid, rule));
        sim.set_budget(50_000);
        sim.tick();
        let at = |sim: &Sim, agent: Entity| Cell::containing(sim.position(agent)).unwrap();
        assert!(sim.terrain().is_open(at(&sim, caught)));
        assert_eq!(sim.status(asker), RequestStatus::Found);
        let route = sim.world.get::<Route>(asker).unwrap();
        path_cost(sim.terrain().grid(), rule, route.rest()).expect("a legal path");
        sim.ticks(20);
    }
    sim.ticks(700);
    assert_eq!(sim.status(asker), RequestStatus::Arrived);
    let status = sim.world.get::<FlowFollower>(follower).unwrap().status();
    assert_eq!(status, FlowStatus::Arrived);
}

#[test]
fn a_world_of_walkers_that_is_restored_goes_on_as_the_one_that_was_saved() {
    let pillars = |cell: Cell| cell.y % 3 != 1 || cell.x % 4 != 2;
    for rule in [MoveRule::BothFree, MoveRule::Orthogonal] {
        let world =
            || Sim::on(Grid::from_fn(30, 30, pillars).unwrap(), rule, formic_jobs::Threads::None);
        let mut sim = world();
        let mut fields = FlowFields::default();
        let camp = fields.add(&sim.terrain().clone(), &[Cell::new(20, 20)]);
        sim.world.insert_resource(fields);
        let stream = formic_ecs::RandomStream::new(3);
        for number in 0..30_u8 {
            let place = Vec2::new(f32::from(number) + 0.5, 0.5);
            let wander = formic_nav::Wander::with_pause(stream.fork(number.into()), 0.2);
            sim.world.spawn((systems::agent(place, 3.0), wander));
            sim.world.spawn(systems::flow_agent(place, 2.0, camp));
        }
        let agent = sim.spawn(0.5, 3.5, 3.0);
        sim.ask(agent, 29.5, 29.5);
        sim.ticks(40);
        let is_walking = |sim: &mut Sim| {
            sim.world.query::<&PathRequest>().iter().filter(|it| it.status().is_under_way()).count()
        };
        assert!(is_walking(&mut sim) > 10);
        let saved = sim.world.snapshot().expect("everything can be saved");

        let mut other = world();
        let fields = sim.world.resource::<FlowFields>().unwrap().clone();
        other.world.insert_resource(fields);
        // A world knows the components that were spawned in it once.
        other.world.spawn((systems::agent(Vec2::ZERO, 1.0), formic_nav::Wander::new(stream)));
        other.world.spawn(systems::flow_agent(Vec2::ZERO, 1.0, camp));
        other.world.restore(&saved).expect("a snapshot of such a world");
        assert_eq!(other.world.state_hash(), sim.world.state_hash());
        for tick in 0..200 {
            sim.tick();
            other.tick();
            assert_eq!(other.world.state_hash(), sim.world.state_hash(), "{rule:?}, tick {tick}");
        }
        assert_eq!(other.world.get::<Position>(agent), sim.world.get::<Position>(agent));
    }
}
