//! Links: reachability, paths and fields against a search that crosses them one by one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, dijkstra, noise};
use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{
    AgentClass, Avoid, Cell, ClassId, FlowField, FlowFields, FlowFollower, FlowStatus, Grid, Link,
    MoveRule, Path, PathOutcome, PathQuery, PathScratch, Position, RequestStatus, STRAIGHT,
    Terrain, Unreachable, Wander, Weight, path_cost, systems,
};
use glam::Vec2;

fn weight(weight: u8) -> Weight {
    Weight::new(weight).unwrap()
}

/// Links between cells that do not touch, some of another kind of ground.
fn random_links(rng: &mut Rng, grid: &Grid, count: usize) -> Vec<Link> {
    let mut links = Vec::new();
    while links.len() < count {
        let [from, to] = [0, 1].map(|_| cells::any_cell(rng, grid));
        if from.x.abs_diff(to.x).max(from.y.abs_diff(to.y)) > 1 {
            let length = u8::try_from(1 + rng.below(9)).unwrap();
            let ground = weight(u8::try_from(1 + rng.below(3)).unwrap());
            links.push(Link { from, to, length, ground });
        }
    }
    links
}

/// The units of the cheapest ways from a cell to each in reading order, over steps (those of the
/// other oracle, from each cell anew) and links.
fn distances(grid: &Grid, rule: MoveRule, links: &[Link], start: Cell) -> Vec<Option<u64>> {
    let mut best = vec![None; grid.cell_count()];
    let mut queue = BinaryHeap::from([(Reverse(0), start)]);
    while let Some((Reverse(cost), cell)) = queue.pop() {
        let place = &mut best[grid.index(cell).unwrap()];
        if place.is_some_and(|best| best <= cost) {
            continue;
        }
        *place = Some(cost);
        // All that steps alone lead to.
        for (index, units) in dijkstra::distances(grid, rule, cell).into_iter().enumerate() {
            let Some(total) = units.map(|units| cost + units) else { continue };
            let known = &mut best[index];
            if known.is_none_or(|known| total < known) || index == grid.index(cell).unwrap() {
                *known = Some(known.map_or(total, |known: u64| known.min(total)));
                let at = grid.cells().nth(index).unwrap();
                for link in links.iter().filter(|link| link.from == at && grid.is_open(link.to)) {
                    let units =
                        u64::from(STRAIGHT) * u64::from(link.length) * u64::from(link.ground.get());
                    queue.push((Reverse(total + units), link.to));
                }
            }
        }
    }
    best
}

fn edit(rng: &mut Rng, terrain: &mut Terrain) {
    // Ends of links more often than other cells.
    let links = terrain.links();
    let cell = match rng.below(3) {
        0 if !links.is_empty() => {
            let link = links[rng.below(links.len())];
            [link.from, link.to][rng.below(2)]
        }
        _ => cells::any_cell(rng, terrain.grid()),
    };
    let weight = weight(u8::try_from(1 + rng.below(3)).unwrap());
    let _ = match rng.below(5) {
        0 => terrain.set_weight(cell, weight),
        _ => terrain.dig(cell) || terrain.fill(cell),
    };
}

/// Everything about one start against the oracle.
fn check(rng: &mut Rng, terrain: &Terrain, scratch: &mut PathScratch) -> usize {
    let (grid, rule, links) = (terrain.grid(), terrain.rule(), terrain.links());
    let start = cells::any_cell(rng, grid);
    if !grid.is_open(start) {
        return 0;
    }
    let distances = distances(grid, rule, links, start);
    let mut path = Path::new();
    let mut linked = 0;
    for goal in grid.cells() {
        let reachable = distances[grid.index(goal).unwrap()].is_some();
        assert_eq!(terrain.reachable(start, goal), reachable, "{start} to {goal}");
    }
    for _ in 0..10 {
        let goal = cells::any_cell(rng, grid);
        let best = distances[grid.index(goal).unwrap()];
        let outcome = scratch.find(terrain, start, goal, &mut path);
        assert_eq!(outcome.cost().map(|cost| cost.units()), best, "{start} to {goal}");
        match best {
            Some(units) => {
                let cost = path_cost(grid, rule, path.cells()).unwrap();
                assert_eq!(cost.units(), units, "{:?}", path.cells());
                let is_link = |pair: &&[Cell]| links.iter().any(|it| [it.from, it.to] == **pair);
                linked += path.cells().windows(2).filter(is_link).count();
            }
            None if grid.is_open(goal) => {
                let reason = Unreachable::Disconnected;
                assert_eq!(outcome, PathOutcome::Unreachable(reason));
                // The nearest of all that can be reached, by the steps of the rule.
                let query = PathQuery::new(start, goal).or_nearest();
                let outcome = scratch.solve(terrain, &query, &mut path);
                assert!(matches!(outcome, PathOutcome::Partial { .. }));
                let flight = |cell: Cell| {
                    let (dx, dy) = (cell.x.abs_diff(goal.x), cell.y.abs_diff(goal.y));
                    let (dx, dy) = (u64::from(dx), u64::from(dy));
                    match rule {
                        MoveRule::Orthogonal => 33_461 * (dx + dy),
                        _ => 33_461 * dx.max(dy) + 13_860 * dx.min(dy),
                    }
                };
                let all = grid.cells().filter(|&it| distances[grid.index(it).unwrap()].is_some());
                let nearest = all.min_by_key(|&cell| (flight(cell), cell)).unwrap();
                assert_eq!(path.cells().last(), Some(&nearest), "{start} to {goal}");
            }
            None => {}
        }
    }
    linked
}

#[test]
fn reachability_and_paths_over_links_are_exact_under_random_edits() {
    let mut rng = Rng::new(91);
    let mut scratch = PathScratch::new();
    let (mut linked, mut with_landmarks) = (0, 0);
    for (round, rule) in (0..10).flat_map(|round| MoveRule::ALL.map(|rule| (round, rule))) {
        // Dense and sparse maps, few and many links: more than estimates know as well.
        let (percent, count) = ([55, 75, 92][round % 3], [3, 12, 60][round % 3]);
        let grid = noise::noise(&mut rng, 26, 22, percent);
        let links = random_links(&mut rng, &grid, count);
        let mut terrain = Terrain::new(grid, rule).with_links(links);
        if round % 2 == 1 {
            terrain.place_landmarks();
        }
        for _ in 0..4 {
            (0..12).for_each(|_| edit(&mut rng, &mut terrain));
            linked += check(&mut rng, &terrain, &mut scratch);
            terrain.check().unwrap();
            with_landmarks += usize::from(terrain.has_landmarks());
        }
    }
    assert!(linked > 200, "{linked} links were crossed");
    assert!(with_landmarks > 60, "{with_landmarks} of 80 rounds with landmarks");
}

/// Rooms of 3 x 3 cells, which only links join: one way to the east, both ways to the south.
fn rooms_joined_by_links(side: u16) -> Terrain {
    let cells = u32::from(side) * 4;
    let grid = Grid::from_fn(cells, cells, |cell| cell.x % 4 != 3 && cell.y % 4 != 3).unwrap();
    let room = |x: u16, y: u16| Cell::new(x * 4 + 1, y * 4 + 1);
    let mut links = Vec::new();
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        if x + 1 < side {
            links.push(Link::new(room(x, y), room(x + 1, y), 1));
        }
        if y + 1 < side {
            links.push(Link::new(room(x, y), room(x, y + 1), 1));
            links.push(Link::new(room(x, y + 1), room(x, y), 1));
        }
    }
    Terrain::new(grid, MoveRule::default()).with_links(links)
}

#[test]
fn an_edit_between_thousands_of_links_does_not_take_a_search_from_each() {
    let mut terrain = rooms_joined_by_links(60);
    let [first, below, last] = [(0, 0), (0, 236), (236, 0)].map(|(x, y)| Cell::new(x, y));
    let times = [0, 1, 2, 0, 1, 2].map(|x| {
        let corner = Cell::new(x, 0);
        assert!(terrain.fill(corner) && terrain.dig(corner));
        let began = Instant::now();
        assert!(terrain.reachable(first, last));
        let time = began.elapsed();
        assert!(terrain.reachable(first, below) && terrain.reachable(below, first));
        assert!(!terrain.reachable(last, first) && !terrain.reachable(last, below));
        time
    });
    // A search from each of 3,600 rooms takes 51 million steps.
    assert!(times.iter().min() < Some(&Duration::from_millis(100)), "{times:?}");
}

#[test]
fn fields_over_links_are_exact_under_random_edits() {
    let mut rng = Rng::new(92);
    let (mut linked, mut asked) = (0, 0);
    for (round, rule) in (0..5).flat_map(|round| MoveRule::ALL.map(|rule| (round, rule))) {
        let grid = noise::noise(&mut rng, 26, 22, [60, 80][round % 2]);
        let links = random_links(&mut rng, &grid, [4, 20][round % 2]);
        let mut terrain = Terrain::new(grid, rule).with_links(links);
        let goals = [0, 1].map(|_| cells::any_cell(&mut rng, terrain.grid()));
        let mut field = FlowField::new(&terrain, &goals);
        for edits in [0, 1, 1, 3, 20, 2] {
            (0..edits).for_each(|_| edit(&mut rng, &mut terrain));
            for _ in 0..15 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                let grid = terrain.grid();
                let from = if grid.is_open(cell) {
                    distances(grid, rule, terrain.links(), cell)
                } else {
                    vec![None; grid.cell_count()]
                };
                let best = goals.iter().filter_map(|&goal| from[grid.index(goal).unwrap()]).min();
                let distance = field.distance(&terrain, cell);
                assert_eq!(distance.map(|cost| cost.units()), best, "from {cell} to {goals:?}");
                // Where it leads to.
                let (mut at, mut path) = (cell, vec![cell]);
                while best.is_some() {
                    let step = field.direction(&terrain, at).and_then(|it| it.step(at));
                    let link = field.link(&terrain, at);
                    assert!(step.is_none() || link.is_none());
                    linked += usize::from(link.is_some());
                    let Some(next) = step.or(link) else { break };
                    path.push(next);
                    at = next;
                }
                if let Some(units) = best {
                    assert!(goals.contains(&at));
                    assert_eq!(path_cost(grid, rule, &path).unwrap().units(), units);
                    asked += 1;
                }
            }
        }
        // The same for threads that share it.
        let mut whole = field.clone();
        let settled = whole.settle_all(&terrain);
        for cell in terrain.grid().cells() {
            assert_eq!(settled.link(cell), field.link(&terrain, cell));
        }
    }
    assert!(linked > 100 && asked > 500, "{linked} of {asked}");
}

#[test]
fn fields_whose_edits_had_to_wait_for_agents_are_exact() {
    let mut rng = Rng::new(96);
    for round in 0..60 {
        let mut sim = Sim::new(noise::noise(&mut rng, 16, 12, 85));
        let links = random_links(&mut rng, sim.terrain().grid(), [0, 5, 20][round % 3]);
        let terrain = sim.terrain().clone().with_links(links);
        let goal = cells::any_cell(&mut rng, terrain.grid());
        let mut fields = FlowFields::default();
        fields.expansions_per_tick = [5, 20][round % 2];
        let id = fields.add(&terrain, &[goal]);
        sim.world.insert_resource(terrain);
        sim.world.insert_resource(fields);
        for tick in 0..120 {
            if tick % 20 == 0 {
                let place = cells::any_cell(&mut rng, sim.terrain().grid()).centre();
                sim.world.spawn(systems::flow_agent(place, 5.0, id));
            }
            // Some are beside the goal, which keeps the field busy, and ends of links open again.
            let beside = Cell::new(goal.x.saturating_sub(1), goal.y);
            let ends = sim.terrain().links().iter().take(3).map(|link| link.to);
            let flickering: Vec<Cell> =
                ends.chain([beside]).filter(|_| rng.below(2) == 0).collect();
            for cell in flickering {
                let _ = sim.terrain_mut().dig(cell) || sim.terrain_mut().fill(cell);
            }
            edit(&mut rng, sim.terrain_mut());
            sim.tick();
            let terrain = sim.terrain();
            let mut field = sim.world.resource::<FlowFields>().unwrap().get(id).unwrap().clone();
            let mut fresh = FlowField::new(terrain, &[goal]);
            for cell in terrain.grid().cells() {
                let [this, other] = [&mut field, &mut fresh]
                    .map(|field| (field.distance(terrain, cell), field.direction(terrain, cell)));
                assert_eq!(this, other, "{cell} in tick {tick} of round {round}");
            }
        }
    }
}

#[test]
fn links_are_saved_and_edited_with_the_same_results() {
    let mut rng = Rng::new(93);
    let grid = noise::noise(&mut rng, 30, 30, 70);
    let links = random_links(&mut rng, &grid, 15);
    // Trolls climb no ladders, which are ground of weight 2, and teleport as if it were 3.
    let trolls = AgentClass::new(2).without(weight(2)).with_weight(weight(3), weight(1));
    let mut terrain =
        Terrain::new(grid, MoveRule::BothFree).with_classes([trolls]).with_links(links.clone());
    let of_class = terrain.for_class(ClassId(1)).unwrap();
    let told = links.iter().filter(|link| link.ground != weight(2));
    let mut told: Vec<Link> = told.map(|link| Link { ground: weight(1), ..*link }).collect();
    told.sort();
    assert_eq!(of_class.links(), told);
    (0..100).for_each(|_| edit(&mut rng, &mut terrain));
    let written = |terrain: &Terrain| {
        let mut bytes = Vec::new();
        Terrain::CODEC.write(terrain, &mut bytes).unwrap();
        bytes
    };
    let bytes = written(&terrain);
    let mut read = Terrain::CODEC.read(&mut bytes.as_slice()).unwrap();
    let (mut one, mut two) = (Rng::new(1), Rng::new(1));
    (0..100).for_each(|_| edit(&mut one, &mut terrain));
    (0..100).for_each(|_| edit(&mut two, &mut read));
    assert_eq!(written(&read), written(&terrain));
    check(&mut rng, &read, &mut PathScratch::new());
    check(&mut rng, read.for_class(ClassId(1)).unwrap(), &mut PathScratch::new());
    for place in (0..bytes.len()).step_by(31) {
        let mut bytes = bytes.clone();
        bytes[place] ^= 1;
        if let Ok(read) = Terrain::CODEC.read(&mut bytes.as_slice()) {
            read.check().unwrap();
        }
    }
}

#[test]
fn links_of_neighbours_beyond_the_map_or_of_no_cost_are_refused() {
    let cell = Cell::new;
    for link in [
        Link::new(cell(0, 0), cell(1, 1), 3),
        Link::new(cell(0, 0), cell(0, 0), 3),
        Link::new(cell(0, 0), cell(9, 0), 3),
        Link::new(cell(0, 0), cell(5, 0), 0),
    ] {
        let made = std::panic::catch_unwind(|| {
            let grid = Grid::from_fn(8, 8, |_| true).unwrap();
            Terrain::new(grid, MoveRule::BothFree).with_links([link])
        });
        assert!(made.is_err(), "{link:?}");
    }
}

#[test]
fn links_whose_costs_cannot_be_told_are_refused() {
    let heaviest = Link { ground: weight(255), ..Link::new(Cell::new(0, 0), Cell::new(5, 0), 255) };
    // 2^46 units in all.
    for (count, is_allowed) in [(32_341, true), (32_342, false)] {
        let made = std::panic::catch_unwind(|| {
            let grid = Grid::from_fn(8, 8, |_| true).unwrap();
            Terrain::new(grid, MoveRule::BothFree).with_links(vec![heaviest; count])
        });
        assert_eq!(made.is_ok(), is_allowed, "{count}");
        // To a class, ordinary ground may be the heaviest.
        let made = std::panic::catch_unwind(|| {
            let grid = Grid::from_fn(8, 8, |_| true).unwrap();
            let link = Link { ground: Weight::ONE, ..heaviest };
            let terrain = Terrain::new(grid, MoveRule::BothFree).with_links(vec![link; count]);
            terrain.with_classes([AgentClass::new(1).with_weight(Weight::ONE, weight(255))])
        });
        assert_eq!(made.is_ok(), is_allowed, "{count}");
    }
}

/// Two floors side by side, each in two halls; stairs join the eastern halls, and a drop leads from the
/// west above to the west below.
fn house() -> Terrain {
    let open = |cell: Cell| cell.x != 10 && cell.x != 21 && (cell.x != 5 || cell.y == 4);
    let grid = Grid::from_fn(32, 9, open).unwrap();
    let stairs = [Cell::new(8, 4), Cell::new(30, 4)];
    let [down, up] = [[0, 1], [1, 0]].map(|[a, b]| Link::new(stairs[a], stairs[b], 4));
    let drop = Link::new(Cell::new(12, 1), Cell::new(1, 1), 1);
    let bridge = Link::new(Cell::new(19, 7), Cell::new(23, 7), 6);
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    terrain.with_links([down, up, drop, bridge])
}

#[test]
fn an_agent_takes_the_drop_and_does_not_come_back_up() {
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(house());
    let walker = sim.spawn(13.5, 7.5, 4.0);
    let body = sim.spawn(14.5, 6.5, 4.0);
    sim.world.insert(body, Avoid::default()).unwrap();
    sim.ask(walker, 3.2, 7.2);
    sim.ask(body, 4.5, 7.5);
    let mut cells = Vec::new();
    for _ in 0..120 {
        sim.tick();
        let cell = Cell::containing(sim.position(walker)).unwrap();
        assert!(sim.terrain().is_open(cell));
        if cells.last() != Some(&cell) {
            cells.push(cell);
        }
    }
    assert_eq!([walker, body].map(|agent| sim.status(agent)), [RequestStatus::Arrived; 2]);
    assert!(cells.windows(2).any(|pair| pair == [Cell::new(12, 1), Cell::new(1, 1)]), "{cells:?}");
    // Back up is by no way: the hall of the drop has no other.
    sim.ask(walker, 13.5, 7.5);
    sim.tick();
    let apart = RequestStatus::Unreachable(Unreachable::Disconnected);
    assert_eq!(sim.status(walker), apart);
    // Up the stairs is.
    sim.ask(walker, 25.5, 2.5);
    sim.ask(body, 26.5, 2.5);
    sim.ticks(200);
    assert_eq!([walker, body].map(|agent| sim.status(agent)), [RequestStatus::Arrived; 2]);
    // The stairs are walled up while they are on their way back.
    sim.ask(walker, 1.5, 1.5);
    sim.ticks(5);
    sim.terrain_mut().fill(Cell::new(30, 4));
    sim.ticks(3);
    assert_eq!(sim.status(walker), apart);
}

#[test]
fn agents_that_were_to_cross_a_link_are_stopped_when_the_terrain_loses_its_last_links() {
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    let mut terrain = house();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(25, 2)]);
    let from = Vec2::new(1.5, 1.5);
    let follower = sim.world.spawn(systems::flow_agent(from, 4.0, field));
    let walker = sim.spawn(from.x, from.y, 4.0);
    sim.ask(walker, 25.5, 2.5);
    sim.world.insert_resource(terrain.clone());
    sim.world.insert_resource(fields);
    sim.ticks(5);
    assert_eq!(sim.status(walker), RequestStatus::Found);
    let before = terrain.version();
    terrain = terrain.with_links([]);
    assert!(terrain.version() != before && terrain.grid().changes_since(before).is_none());
    sim.world.insert_resource(terrain);
    sim.ticks(100);
    assert_eq!(sim.status(walker), RequestStatus::Unreachable(Unreachable::Disconnected));
    let status = sim.world.get::<FlowFollower>(follower).unwrap().status();
    assert_eq!(status, FlowStatus::Unreachable);
    assert!([walker, follower].iter().all(|&agent| sim.position(agent).x < 10.0));
}

#[test]
fn none_crosses_a_link_without_speed_or_without_time() {
    let from = Cell::new(12, 1).centre();
    for (speed, seconds) in [(0.0, 0.05), (2.0, 0.0), (2.0, -1.0), (2.0, f32::NAN), (2.0, 0.05)] {
        let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
        let (terrain, mut fields) = (house(), FlowFields::default());
        let field = fields.add(&terrain, &[Cell::new(1, 8)]);
        sim.world.insert_resource(terrain);
        sim.world.insert_resource(fields);
        sim.set_time_step(seconds);
        let [walker, body] = [0, 1].map(|_| sim.spawn(from.x, from.y, speed));
        [walker, body].into_iter().for_each(|agent| sim.ask(agent, 1.5, 8.5));
        let [follower, its_body] =
            [0, 1].map(|_| sim.world.spawn(systems::flow_agent(from, speed, field)));
        for agent in [body, its_body] {
            sim.world.insert(agent, Avoid::default()).unwrap();
        }
        sim.ticks(4);
        for agent in [walker, body, follower, its_body] {
            let stands = (speed, seconds) != (2.0, 0.05);
            assert_eq!(sim.position(agent) == from, stands, "{speed} over {seconds}");
        }
    }
}

#[test]
fn followers_of_a_field_cross_links() {
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    let terrain = house();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(25, 2)]);
    sim.world.insert_resource(terrain);
    sim.world.insert_resource(fields);
    let places = [(1.5, 1.5), (2.5, 7.5), (13.5, 3.5), (15.5, 7.5)];
    let alone = places.map(|it| sim.world.spawn(systems::flow_agent(it.into(), 4.0, field)));
    let bodies = places.map(|(x, y)| {
        let agent = systems::flow_agent(Vec2::new(x, y + 1.0), 4.0, field);
        sim.world.spawn((agent, Avoid::default()))
    });
    sim.ticks(500);
    for agent in alone.into_iter().chain(bodies) {
        let status = sim.world.get::<FlowFollower>(agent).unwrap().status();
        assert_eq!(status, FlowStatus::Arrived, "{}", sim.position(agent));
    }
}

#[test]
fn followers_cross_links_while_edits_beside_the_goal_keep_the_field_busy() {
    // A wall from the north to the south, two links over it, and more of them that lead elsewhere.
    let grid = Grid::from_fn(100, 60, |cell| cell.x != 50).unwrap();
    let (start, goal) = (Cell::new(48, 5), Cell::new(99, 59));
    let to = |x, y| Link::new(start, Cell::new(x, y), 2);
    let links = [to(2, 2), to(52, 5), to(2, 50), Link::new(Cell::new(52, 5), start, 2)];
    let terrain = Terrain::new(grid, MoveRule::BothFree).with_links(links);
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    let mut fields = FlowFields::default();
    fields.expansions_per_tick = 300;
    let field = fields.add(&terrain, &[goal]);
    sim.world.insert_resource(terrain);
    sim.world.insert_resource(fields);
    let alone = systems::flow_agent(Vec2::new(40.5, 5.5), 4.0, field);
    let body = systems::flow_agent(Vec2::new(42.5, 8.5), 4.0, field);
    let agents = [sim.world.spawn(alone), sim.world.spawn((body, Avoid::default()))];
    let status = |sim: &Sim, agent| sim.world.get::<FlowFollower>(agent).unwrap().status();
    // The field is computed once.
    sim.ticks_until(100, |sim| agents.iter().all(|&it| status(sim, it) == FlowStatus::Going));
    for tick in 0..200 {
        for cell in [Cell::new(goal.x - 1, goal.y), Cell::new(goal.x, goal.y - 1)] {
            let terrain = sim.terrain_mut();
            assert!(if tick % 2 == 0 { terrain.fill(cell) } else { terrain.dig(cell) });
        }
        sim.tick();
    }
    for agent in agents {
        let place = sim.position(agent);
        assert!(place.x > 51.0, "{:?} at {place}", status(&sim, agent));
    }
}

#[test]
fn a_follower_that_was_pushed_away_from_its_goal_goes_back_over_a_link() {
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    let terrain = house();
    let link = terrain.links()[0];
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[link.to]);
    sim.world.insert_resource(terrain);
    sim.world.insert_resource(fields);
    let agent = systems::flow_agent(link.to.centre() + Vec2::Y, 4.0, field);
    let agent = sim.world.spawn((agent, Avoid::default()));
    sim.ticks(50);
    // Pushed to where the field leads over the link.
    sim.world.get_mut::<Position>(agent).unwrap().0 = link.from.centre();
    sim.ticks(50);
    let status = sim.world.get::<FlowFollower>(agent).unwrap().status();
    assert_eq!(
        (status, Cell::containing(sim.position(agent))),
        (FlowStatus::Arrived, Some(link.to))
    );
}

#[test]
fn wanderers_over_links_and_edits_are_the_same_on_any_number_of_threads() {
    let mut hashes = Vec::new();
    for threads in [Threads::None, Threads::Own(2)] {
        let mut rng = Rng::new(95);
        let mut sim = Sim::on(Grid::solid(1, 1).unwrap(), MoveRule::BothFree, threads);
        let grid = noise::noise(&mut rng, 40, 40, 66);
        let links = random_links(&mut rng, &grid, 40);
        let terrain = Terrain::new(grid, MoveRule::BothFree).with_links(links);
        let open: Vec<Cell> = terrain.grid().cells().filter(|&it| terrain.is_open(it)).collect();
        sim.world.insert_resource(terrain);
        sim.set_budget(300);
        let agents: Vec<Entity> = (0..30)
            .map(|number| {
                let place = open[rng.below(open.len())].centre();
                let agent = sim.spawn(place.x, place.y, 3.0);
                let wander = Wander::with_pause(RandomStream::new(number), 0.5);
                sim.world.insert(agent, wander).unwrap();
                agent
            })
            .collect();
        for tick in 0..400 {
            if tick % 3 == 0 {
                edit(&mut rng, sim.terrain_mut());
                let agent = agents[rng.below(agents.len())];
                let goal = open[rng.below(open.len())].centre();
                sim.ask(agent, goal.x, goal.y);
            }
            sim.tick();
            for &agent in &agents {
                let cell = Cell::containing(sim.position(agent)).unwrap();
                assert!(sim.terrain().is_open(cell), "tick {tick}");
            }
        }
        let arrivals = sim.total(&agents, |stats| stats.arrivals);
        assert!(arrivals > 40, "{arrivals}");
        hashes.push((sim.world.state_hash(), sim.report()));
    }
    assert_eq!(hashes[0], hashes[1]);
}

/// A hall full of agents, small ones and some of two cells, who all go up the same stairs: in which tick
/// the last one comes to its goal.
fn ticks_to_climb(seed: u64, small: u16, large: u16) -> Option<u32> {
    let grid = Grid::from_fn(41, 12, |cell| cell.x != 20).unwrap();
    let stairs = Link::new(Cell::new(10, 6), Cell::new(31, 6), 4);
    let terrain = Terrain::new(grid, MoveRule::BothFree).with_links([stairs]);
    let mut sim = Sim::new(Grid::solid(1, 1).unwrap());
    sim.world.insert_resource(terrain.with_classes([AgentClass::new(1), AgentClass::new(2)]));
    let mut rng = Rng::new(seed);
    let agents: Vec<Entity> = (0..small + large)
        .map(|number| {
            let class = ClassId(if number < small { 1 } else { 2 });
            let [x, y, goal_x, goal_y] =
                [18, 10, 17, 10].map(|count| rng.below(count) as f32 + 0.5);
            let agent = systems::agent(Vec2::new(x, y), 2.0);
            let agent = sim.world.spawn((agent, class, Avoid::new(0.3)));
            sim.ask(agent, 21.0 + goal_x, goal_y);
            agent
        })
        .collect();
    (0..6_000).find(|_| {
        sim.tick();
        agents.iter().all(|&agent| sim.status(agent) == RequestStatus::Arrived)
    })
}

#[test]
fn a_crowd_of_all_sizes_gets_up_the_stairs() {
    for seed in 1..=4 {
        for (small, large) in [(40, 0), (20, 6), (0, 12)] {
            let ticks = ticks_to_climb(seed, small, large);
            assert!(ticks.is_some_and(|ticks| ticks < 1_400), "{small} and {large}: {ticks:?}");
        }
    }
}

#[test]
fn open_lists_stay_small_and_searches_exact_beside_the_dearest_of_links() {
    let mut rng = Rng::new(88);
    let grid = noise::noise(&mut rng, 64, 64, 80);
    let mut plain = Terrain::new(grid, MoveRule::BothFree);
    for cell in plain.grid().cells().collect::<Vec<_>>() {
        plain.set_weight(cell, weight(u8::try_from(1 + rng.below(5)).unwrap()));
    }
    // No way over it is as short as one by steps.
    let [from, to] = [Cell::new(0, 0), Cell::new(63, 63)];
    let link = Link { from, to, length: 255, ground: weight(255) };
    let mut linked = plain.clone().with_links([link]);
    [from, to].into_iter().for_each(|end| _ = plain.dig(end) | linked.dig(end));
    for has_landmarks in [false, true] {
        if has_landmarks {
            linked.place_landmarks();
        }
        let (mut scratch, mut path) = (PathScratch::new(), Path::new());
        for _ in 0..200 {
            let [start, goal] = [0, 1].map(|_| cells::any_cell(&mut rng, plain.grid()));
            if plain.reachable(start, goal) {
                let expected = PathScratch::new().find(&plain, start, goal, &mut path);
                let outcome = scratch.find(&linked, start, goal, &mut path);
                assert_eq!(outcome, expected, "{start} to {goal}");
            }
        }
        assert!(scratch.bytes() < 1 << 20, "{} bytes", scratch.bytes());
    }
}
