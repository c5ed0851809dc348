//! Classes of agents: regions and paths of each against squares that are looked at cell by cell.

use crate::flood::assert_exact;
use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, dijkstra, noise};
use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{
    AgentClass, Avoid, Cell, ClassId, FlowFields, FlowFollower, FlowStatus, Grid, MoveRule, Path,
    PathRequest, PathScratch, PathStats, Position, RequestStatus, SIZE_MAX, SearchBudget, Terrain,
    Unreachable, Wander, Weight, systems,
};
use glam::Vec2;

/// The cells of a square, or `None` where it is not all on the grid.
fn square(grid: &Grid, corner: Cell, size: u8) -> Option<Vec<Cell>> {
    let size = u16::from(size);
    let (x, y) = (corner.x + size, corner.y + size);
    let rows = corner.y..y;
    let cells = rows.flat_map(|y| (corner.x..x).map(move |x| Cell::new(x, y)));
    (x <= grid.width() && y <= grid.height()).then(|| cells.collect())
}

/// A class, said a second time.
#[derive(Clone)]
struct Told {
    size: u8,
    /// Weights of ground and what they are to the class; zero where it cannot cross.
    weights: Vec<(u8, u8)>,
}

fn weight(weight: u8) -> Weight {
    Weight::new(weight).unwrap()
}

impl Told {
    fn of_size(size: u8) -> Self {
        Self { size, weights: (1..=5).map(|weight| (weight, weight)).collect() }
    }

    /// Any size up to `size_max`, any weights.
    fn random(rng: &mut Rng, size_max: u8) -> Self {
        let mut below = |bound: u8| u8::try_from(rng.below(bound.into())).unwrap();
        let size = 1 + below(size_max);
        let weights = (1..=5).map(|ground| (ground, below(7).saturating_sub(1))).collect();
        Self { size, weights }
    }

    fn class(&self) -> AgentClass {
        let class = AgentClass::new(self.size);
        self.weights.iter().fold(class, |class, &(ground, told)| match told {
            0 => class.without(weight(ground)),
            told => class.with_weight(weight(ground), weight(told)),
        })
    }

    fn weight(&self, grid: &Grid, cell: Cell) -> u8 {
        let ground = grid.weight(cell).unwrap().get();
        self.weights.iter().find(|&&(other, _)| other == ground).unwrap().1
    }

    /// Whether an agent can be at a place.
    fn fits(&self, grid: &Grid, corner: Cell) -> bool {
        let is_open = |cell| grid.is_open(cell) && self.weight(grid, cell) > 0;
        square(grid, corner, self.size).is_some_and(|all| all.into_iter().all(is_open))
    }

    /// The grid of such agents, worked out anew.
    fn eroded(&self, grid: &Grid) -> Grid {
        let fits = |corner| self.fits(grid, corner);
        let mut eroded = Grid::from_fn(grid.width().into(), grid.height().into(), fits).unwrap();
        for corner in grid.cells().filter(|&corner| fits(corner)) {
            let all = square(grid, corner, self.size).unwrap();
            let heaviest = all.into_iter().map(|cell| self.weight(grid, cell)).max().unwrap();
            eroded.set_weight(corner, weight(heaviest));
        }
        eroded
    }
}

fn with_classes(grid: Grid, rule: MoveRule, told: &[Told]) -> Terrain {
    Terrain::new(grid, rule).with_classes(told.iter().map(Told::class))
}

/// The ids of so many classes.
fn ids(told: &[Told]) -> impl Iterator<Item = (ClassId, &Told)> {
    (1..).map(ClassId).zip(told)
}

fn edit(rng: &mut Rng, terrain: &mut Terrain) {
    let cell = cells::any_cell(rng, terrain.grid());
    let weight = Weight::new(u8::try_from(1 + rng.below(5)).unwrap()).unwrap();
    let changed = match rng.below(5) {
        0 => terrain.set_weight(cell, weight),
        _ => terrain.dig(cell) || terrain.fill(cell),
    };
    let _ = changed;
}

fn assert_classes_are_exact(terrain: &Terrain, told: &[Told]) {
    let grid = terrain.grid();
    for (id, told) in ids(told) {
        let (kept, fresh) = (terrain.for_class(id).unwrap(), told.eroded(grid));
        assert_eq!(terrain.class(id), Some(&told.class()));
        for cell in grid.cells() {
            assert_eq!(kept.is_open(cell), fresh.is_open(cell), "{id:?} at {cell}");
            if fresh.is_open(cell) {
                assert_eq!(kept.grid().weight(cell), fresh.weight(cell), "{id:?} at {cell}");
            }
        }
        assert_exact(kept);
    }
    terrain.check().unwrap();
}

#[test]
fn regions_and_weights_of_every_class_are_exact_under_random_edits() {
    let mut rng = Rng::new(61);
    for (rule, size_max) in MoveRule::ALL.into_iter().zip([8, 3, 5, 2]) {
        let mut told: Vec<Told> = (2..=size_max).map(Told::of_size).collect();
        (0..4).for_each(|_| told.push(Told::random(&mut rng, 3)));
        let grid = noise::noise(&mut rng, 45, 37, 92);
        let mut terrain = with_classes(grid, rule, &told);
        assert_classes_are_exact(&terrain, &told);
        for _ in 0..12 {
            (0..25).for_each(|_| edit(&mut rng, &mut terrain));
            assert_classes_are_exact(&terrain, &told);
        }
    }
}

#[test]
fn paths_of_every_class_cost_what_dijkstra_finds_for_squares() {
    let mut rng = Rng::new(62);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let mut found = 0;
    for rule in MoveRule::ALL {
        let mut told: Vec<Told> = (1..=4).map(Told::of_size).collect();
        (0..4).for_each(|_| told.push(Told::random(&mut rng, 2)));
        let grid = noise::noise(&mut rng, 40, 40, 94);
        let mut terrain = with_classes(grid, rule, &told);
        for _ in 0..6 {
            (0..10).for_each(|_| edit(&mut rng, &mut terrain));
            for (id, told) in ids(&told) {
                let (kept, fresh) = (terrain.for_class(id).unwrap(), told.eroded(terrain.grid()));
                let start = cells::any_cell(&mut rng, &fresh);
                if !fresh.is_open(start) {
                    continue;
                }
                let distances = dijkstra::distances(&fresh, rule, start);
                for _ in 0..8 {
                    let goal = cells::any_cell(&mut rng, &fresh);
                    let best = distances[fresh.index(goal).unwrap()];
                    assert_eq!(kept.reachable(start, goal), best.is_some());
                    let cost = scratch.find(kept, start, goal, &mut path).cost();
                    assert_eq!(cost.map(|cost| cost.units()), best, "{id:?}: {start} to {goal}");
                    found += u32::from(best.is_some());
                    // All that such an agent covers on its way is open to it.
                    for &corner in path.cells() {
                        assert!(told.fits(terrain.grid(), corner));
                    }
                }
            }
        }
    }
    assert!(found > 150, "{found}");
}

#[test]
fn terrains_of_classes_are_saved_and_edited_with_the_same_results() {
    let mut rng = Rng::new(63);
    let told = [Told::random(&mut rng, 1), Told::of_size(2), Told::random(&mut rng, 3)];
    let mut terrain = with_classes(noise::noise(&mut rng, 40, 33, 90), MoveRule::BothFree, &told);
    (0..200).for_each(|_| edit(&mut rng, &mut terrain));
    let written = |terrain: &Terrain| {
        let mut bytes = Vec::new();
        Terrain::CODEC.write(terrain, &mut bytes).unwrap();
        bytes
    };
    let bytes = written(&terrain);
    let mut read = Terrain::CODEC.read(&mut bytes.as_slice()).unwrap();
    let (mut one, mut two) = (Rng::new(1), Rng::new(1));
    (0..200).for_each(|_| edit(&mut one, &mut terrain));
    (0..200).for_each(|_| edit(&mut two, &mut read));
    assert_eq!(written(&read), written(&terrain));
    assert_classes_are_exact(&read, &told);
    // A terrain of a class that does not follow from the other one is refused.
    let whole = written(&read);
    let last = written(read.for_class(ClassId(3)).unwrap());
    let other = written(read.for_class(ClassId(2)).unwrap());
    // Both end in the number of their own classes, which is none.
    let begin = whole.strip_suffix(&last[..last.len() - 1]).unwrap();
    let swapped = [begin, &other[..other.len() - 1]].concat();
    assert!(Terrain::CODEC.read(&mut swapped.as_slice()).is_err());
    for place in (0..whole.len()).step_by(173) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        if let Ok(read) = Terrain::CODEC.read(&mut bytes.as_slice()) {
            read.check().unwrap();
        }
    }
}

#[test]
fn a_class_that_the_terrain_lacks_has_no_terrain() {
    let terrain = Terrain::new(Grid::from_fn(20, 20, |_| true).unwrap(), MoveRule::BothFree);
    assert!(terrain.for_class(ClassId(1)).is_none() && terrain.class(ClassId(0)).is_none());
    let terrain = terrain.with_classes([AgentClass::new(SIZE_MAX)]);
    assert_eq!(terrain.for_class(ClassId(1)).unwrap().grid().open_count(), 13 * 13);
    assert!(terrain.for_class(ClassId(2)).is_none());
}

/// Whether all that an agent covers is open.
fn stands_on_open_cells(sim: &Sim, agent: Entity, size: u8) -> bool {
    let corner = Cell::containing(sim.position(agent)).unwrap();
    let all = square(sim.terrain().grid(), corner, size);
    all.is_some_and(|all| all.into_iter().all(|cell| sim.terrain().is_open(cell)))
}

#[test]
fn a_troll_takes_the_wide_door_and_waits_where_there_is_none() {
    // A door of one cell, and one of two far from it.
    let open = |cell: Cell| cell.x != 10 || cell.y == 3 || cell.y == 26 || cell.y == 27;
    let mut sim = Sim::new(Grid::from_fn(20, 30, open).unwrap());
    let terrain = sim.terrain().clone().with_classes([AgentClass::new(2)]);
    sim.world.insert_resource(terrain);
    let [imp, troll] = [3.5, 2.5].map(|y| sim.spawn(2.5, y, 4.0));
    sim.world.insert(troll, ClassId(1)).unwrap();
    for agent in [imp, troll] {
        sim.ask(agent, 17.5, 3.5);
        sim.world.get_mut::<PathRequest>(agent).unwrap().keep_trying();
    }
    let mut rows = [0_u16; 2];
    for _ in 0..600 {
        sim.tick();
        for (row, agent) in rows.iter_mut().zip([imp, troll]) {
            *row = (*row).max(Cell::containing(sim.position(agent)).unwrap().y);
        }
        assert!(stands_on_open_cells(&sim, troll, 2));
    }
    assert_eq!([imp, troll].map(|agent| sim.status(agent)), [RequestStatus::Arrived; 2]);
    assert_eq!(rows, [3, 26]);

    // The wide door becomes narrow, and wide again.
    sim.terrain_mut().fill(Cell::new(10, 27));
    sim.ask(troll, 2.5, 3.5);
    sim.world.get_mut::<PathRequest>(troll).unwrap().keep_trying();
    sim.ticks(50);
    let apart = RequestStatus::Unreachable(Unreachable::Disconnected);
    assert_eq!(sim.status(troll), apart);
    // An edit that lets only smaller agents through does not have it ask again.
    let answers = sim.report().answers;
    sim.terrain_mut().dig(Cell::new(10, 12));
    sim.ticks(5);
    assert_eq!((sim.status(troll), sim.report().answers), (apart, answers));
    sim.terrain_mut().dig(Cell::new(10, 4));
    sim.ticks(100);
    assert_eq!(sim.status(troll), RequestStatus::Arrived);
}

#[test]
fn trolls_stand_on_open_cells_after_every_edit_on_any_number_of_threads() {
    let mut hashes = Vec::new();
    for threads in [Threads::None, Threads::Own(2)] {
        let mut rng = Rng::new(64);
        let mut sim = Sim::on(noise::noise(&mut rng, 40, 40, 96), MoveRule::BothFree, threads);
        let terrain = sim.terrain().clone().with_classes([2, 3].map(AgentClass::new));
        let places: Vec<Cell> = {
            let large = terrain.for_class(ClassId(2)).unwrap();
            terrain.grid().cells().filter(|&cell| large.is_open(cell)).collect()
        };
        sim.world.insert_resource(terrain);
        // Some searches take more than a tick.
        sim.set_budget(40);
        let trolls: Vec<(Entity, u8)> = (0..30)
            .map(|number| {
                let place = places[rng.below(places.len())].centre();
                let size = 2 + u8::try_from(number % 2).unwrap();
                let troll = sim.spawn(place.x, place.y, 3.0);
                let wander = Wander::with_pause(RandomStream::new(number), 0.5);
                sim.world.insert(troll, (ClassId(size - 1), wander)).unwrap();
                (troll, size)
            })
            .collect();
        for _ in 0..500 {
            if rng.below(3) == 0 {
                edit(&mut rng, sim.terrain_mut());
            }
            sim.tick();
            for &(troll, size) in &trolls {
                assert!(stands_on_open_cells(&sim, troll, size));
            }
        }
        sim.terrain().check().unwrap();
        let arrivals: u32 = trolls
            .iter()
            .map(|&(troll, _)| sim.world.get::<PathStats>(troll).unwrap().arrivals)
            .sum();
        assert!(arrivals > 60, "{arrivals}");
        hashes.push((sim.world.state_hash(), sim.report()));
    }
    assert_eq!(hashes[0], hashes[1]);
}

/// A lake with an island, mud on the western bank.
const LAND: u8 = 1;
const MUD: u8 = 4;
const WATER: u8 = 9;

fn lake() -> Terrain {
    let grid = Grid::from_fn(24, 15, |_| true).unwrap();
    let mut terrain = Terrain::new(grid, MoveRule::BothFree);
    for cell in terrain.grid().cells() {
        let is_island = (14..17).contains(&cell.x) && (6..9).contains(&cell.y);
        let kind = match cell.x {
            10..=20 if !is_island => WATER,
            0..=5 => MUD,
            _ => LAND,
        };
        terrain.set_weight(cell, weight(kind));
    }
    let goblins = AgentClass::new(1).without(weight(WATER)).with_weight(weight(MUD), weight(2));
    let boats = AgentClass::new(2).only(&[weight(WATER)]);
    terrain.with_classes([goblins, boats])
}

#[test]
fn boats_keep_to_the_water_and_goblins_to_the_land() {
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(lake());
    let (goblin, boat) = (sim.spawn(1.5, 7.5, 4.0), sim.spawn(11.5, 1.5, 4.0));
    sim.world.insert(goblin, ClassId(1)).unwrap();
    sim.world.insert(boat, ClassId(2)).unwrap();
    sim.ask(goblin, 15.5, 7.5);
    sim.ask(boat, 19.2, 7.2);
    sim.tick();
    let apart = RequestStatus::Unreachable(Unreachable::Disconnected);
    assert_eq!((sim.status(goblin), sim.status(boat)), (apart, RequestStatus::Found));
    let floats = |sim: &Sim| {
        let all = square(sim.terrain().grid(), Cell::containing(sim.position(boat)).unwrap(), 2);
        let is_water = |cell| sim.terrain().grid().weight(cell) == Some(weight(WATER));
        all.unwrap().into_iter().all(is_water)
    };
    for _ in 0..100 {
        sim.tick();
        assert!(floats(&sim));
    }
    assert_eq!(sim.status(boat), RequestStatus::Arrived);
    // A dam is land: the goblin gets over, and the boat no longer through.
    sim.world.get_mut::<PathRequest>(goblin).unwrap().ask(Vec2::new(15.5, 7.5)).keep_trying();
    sim.tick();
    for x in 10..14 {
        sim.terrain_mut().set_weight(Cell::new(x, 7), weight(LAND));
    }
    sim.ask(boat, 11.5, 1.5);
    sim.ticks(300);
    assert_eq!(sim.status(goblin), RequestStatus::Arrived);
    assert_eq!(sim.status(boat), RequestStatus::Arrived);
    for y in 0..15 {
        sim.terrain_mut().set_weight(Cell::new(15, y), weight(LAND));
    }
    sim.ask(boat, 19.5, 1.5);
    sim.tick();
    assert_eq!(sim.status(boat), apart);
}

#[test]
fn fields_of_a_class_lead_agents_of_that_class() {
    let mut rng = Rng::new(65);
    let told = [Told::random(&mut rng, 1), Told::of_size(3)];
    let terrain = with_classes(noise::noise(&mut rng, 40, 40, 97), MoveRule::BothFree, &told);
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    let mut fields = FlowFields::default();
    let mut agents = Vec::new();
    for (id, told) in ids(&told) {
        let of_class = terrain.for_class(id).unwrap();
        let largest = of_class.regions().ids().max_by_key(|&it| of_class.regions().cell_count(it));
        let places: Vec<Cell> = of_class.regions().cells(largest.unwrap()).collect();
        let field = fields.add_for(id, &terrain, &[places[0]]);
        for _ in 0..10 {
            let place = places[rng.below(places.len())].centre();
            let agent = sim.world.spawn((systems::flow_agent(place, 4.0, field), id));
            agents.push((agent, told.clone()));
        }
    }
    sim.world.insert_resource(terrain);
    sim.world.insert_resource(fields);
    for tick in 0..900 {
        if tick % 20 == 0 && tick < 400 {
            edit(&mut rng, sim.terrain_mut());
        }
        sim.tick();
        for (agent, told) in &agents {
            let corner = Cell::containing(sim.position(*agent)).unwrap();
            assert!(told.fits(sim.terrain().grid(), corner), "{agent} in tick {tick}");
        }
    }
    let has_come = |&&(agent, _): &&(Entity, Told)| {
        sim.world.get::<FlowFollower>(agent).unwrap().status() == FlowStatus::Arrived
    };
    assert!(agents.iter().filter(has_come).count() >= 16);
}

#[test]
fn trolls_give_way_to_each_other_by_all_that_they_cover() {
    let grid = Grid::from_fn(30, 12, |_| true).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree).with_classes([AgentClass::new(3)]);
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(terrain);
    sim.world.insert_resource(SearchBudget::default());
    let ends = [Vec2::new(1.5, 4.5), Vec2::new(26.5, 4.5)];
    let trolls = ends.map(|place| {
        let agent = systems::agent(place, 3.0);
        sim.world.spawn((agent, Avoid::new(0.4), ClassId(1)))
    });
    for (troll, goal) in trolls.into_iter().zip([ends[1], ends[0]]) {
        sim.ask(troll, goal.x, goal.y);
    }
    let mut nearest = f32::INFINITY;
    for _ in 0..800 {
        sim.tick();
        let [one, other] = trolls.map(|troll| sim.world.get::<Position>(troll).unwrap().0);
        let squeezes = |&troll: &Entity| sim.world.get::<Avoid>(troll).unwrap().is_squeezing();
        if !trolls.iter().any(squeezes) {
            nearest = nearest.min(one.distance(other));
        }
        assert!(trolls.into_iter().all(|troll| stands_on_open_cells(&sim, troll, 3)));
    }
    // Each is 2 * (0.4 + 1) wide.
    assert!(nearest > 2.7, "{nearest}");
    for (troll, goal) in trolls.into_iter().zip([ends[1], ends[0]]) {
        assert!(sim.position(troll).distance(goal) < 0.2);
    }
}

#[test]
fn agents_heed_other_classes_that_are_put_in_the_place_of_theirs() {
    // A hall, and a corridor of one cell.
    let grid = Grid::from_fn(12, 5, |cell| cell.x < 5 || cell.y == 2).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree).with_classes([AgentClass::new(1)]);
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(terrain.clone());
    let agents = [8.5, 2.5].map(|x| {
        let agent = systems::agent(Vec2::new(x, 2.5), 3.0);
        sim.world.spawn((agent, ClassId(1)))
    });
    sim.ask(agents[1], 11.5, 2.5);
    sim.ticks(3);
    assert_eq!(sim.status(agents[1]), RequestStatus::Found);
    sim.world.insert_resource(terrain.clone().with_classes([AgentClass::new(2)]));
    sim.ticks(3);
    assert!(agents.into_iter().all(|agent| stands_on_open_cells(&sim, agent, 2)));
    assert_eq!(sim.status(agents[1]), RequestStatus::Unreachable(Unreachable::GoalBlocked));
    // So do those that wait for an edit.
    sim.world.get_mut::<PathRequest>(agents[1]).unwrap().ask(Vec2::new(11.5, 2.5)).keep_trying();
    sim.ticks(3);
    sim.world.insert_resource(terrain);
    sim.ticks_until(200, |sim| sim.status(agents[1]) == RequestStatus::Arrived);
    assert_eq!(sim.status(agents[1]), RequestStatus::Arrived);
}
