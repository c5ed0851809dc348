//! Saved games: terrains, fields and searches that go on as if nothing had been.

use crate::noise;
use crate::rng::Rng;
use crate::sim::Sim;
use formic_ecs::{Codec, Component, RandomStream, World};
use formic_jobs::{IntoSystem, Pool, ResMut, Save, SaveRules, Schedule, Threads};
use formic_nav::{
    AgentClass, Avoid, Cell, DrawOptions, FlowFields, Grid, MoveRule, PathRequest, Position,
    RegionEvent, Route, SearchBudget, SearchReport, Terrain, Wander, Weight, debug_draw, systems,
};
use glam::Vec2;

/// Digs, fills and weighs some random cells.
fn edit(terrain: &mut Terrain, rng: &mut Rng, count: usize) {
    edit_up_to(4, terrain, rng, count);
}

/// The same, with weights up to so many.
fn edit_up_to(weight_max: usize, terrain: &mut Terrain, rng: &mut Rng, count: usize) {
    for _ in 0..count {
        let (width, height) = (terrain.grid().width(), terrain.grid().height());
        let x = u16::try_from(rng.below(width.into())).unwrap();
        let y = u16::try_from(rng.below(height.into())).unwrap();
        let cell = Cell::new(x, y);
        match rng.below(5) {
            0 | 1 => _ = terrain.dig(cell),
            2 if terrain.grid().open_count() > 1 => _ = terrain.fill(cell),
            _ => {
                let weight = Weight::new(1 + u8::try_from(rng.below(weight_max)).unwrap()).unwrap();
                _ = terrain.set_weight(cell, weight);
            }
        }
    }
}

fn read(terrain: &Terrain) -> Terrain {
    let mut bytes = Vec::new();
    Terrain::CODEC.write(terrain, &mut bytes).unwrap();
    let mut source = bytes.as_slice();
    let read = Terrain::CODEC.read(&mut source).unwrap();
    assert!(source.is_empty());
    read
}

/// Everything that can be seen of a terrain and depends on its past.
fn seen(terrain: &mut Terrain) -> (Vec<Option<u8>>, Vec<Vec<Cell>>, Vec<RegionEvent>, u64) {
    let grid = terrain.grid();
    let weights = grid.cells().map(|cell| {
        grid.weight(cell).map(|weight| weight.get() << 1 | u8::from(grid.is_open(cell)))
    });
    let weights = weights.collect();
    let regions = terrain.regions();
    let cells = regions.ids().map(|region| regions.cells(region).collect()).collect();
    let lost = regions.lost_event_count();
    (weights, cells, terrain.drain_events().collect(), lost)
}

#[test]
fn a_terrain_that_was_saved_is_edited_with_the_same_results() {
    // Of the last two, one has a level of groups between pieces and regions, and one has two of them.
    let sizes = [(70, 33), (70, 33), (300, 9), (2070, 3)];
    for ((seed, rule), (width, height)) in (1..).zip(MoveRule::ALL).zip(sizes) {
        let mut rng = Rng::new(seed);
        let grid = noise::noise(&mut rng, width, height, 60);
        let mut terrain = Terrain::new(grid, rule);
        for round in 0..12 {
            if round >= 5 {
                terrain.place_landmarks();
            }
            edit(&mut terrain, &mut rng, 400);
            let old = terrain.version();
            edit(&mut terrain, &mut rng, 30);
            let mut other = read(&terrain);
            other.check().unwrap();
            assert_eq!(other.version(), terrain.version());
            assert_eq!(other.has_landmarks(), terrain.has_landmarks());
            let since = |terrain: &Terrain| -> Option<Vec<_>> {
                Some(terrain.grid().changes_since(old)?.collect())
            };
            assert_eq!(since(&other), since(&terrain), "round {round}");
            let (mut one, mut two) = (Rng::new(round), Rng::new(round));
            let mut this = terrain.clone();
            edit(&mut this, &mut one, 200);
            edit(&mut other, &mut two, 200);
            assert_eq!(other.version(), this.version());
            assert_eq!(seen(&mut other), seen(&mut this), "round {round}");
        }
    }
}

#[test]
fn no_bytes_make_a_terrain_that_contradicts_itself() {
    // The second has a level of groups between pieces and regions.
    for (width, height, percent) in [(9, 7, 60), (260, 1, 98)] {
        let grid = noise::noise(&mut Rng::new(3), width, height, percent);
        let mut terrain = Terrain::new(grid, MoveRule::BothFree);
        edit(&mut terrain, &mut Rng::new(1), 30);
        if height > 1 {
            terrain.place_landmarks();
            assert!(terrain.has_landmarks());
        }
        let mut bytes = Vec::new();
        Terrain::CODEC.write(&terrain, &mut bytes).unwrap();
        for len in 0..bytes.len() {
            assert!(Terrain::CODEC.read(&mut &bytes[..len]).is_err(), "{len} bytes");
        }
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut altered = bytes.clone();
                altered[place] ^= 1 << bit;
                if let Ok(mut read) = Terrain::CODEC.read(&mut altered.as_slice()) {
                    read.check().unwrap();
                    edit(&mut read, &mut Rng::new(2), 20);
                    read.check().unwrap();
                }
            }
        }
    }
}

#[test]
fn no_bytes_make_a_class_of_agents_without_a_size() {
    // To any class, all of this ground is alike.
    let terrain = Terrain::new(Grid::from_fn(5, 4, |_| true).unwrap(), MoveRule::BothFree);
    let terrain = terrain.with_classes([AgentClass::new(1)]);
    let mut bytes = Vec::new();
    Terrain::CODEC.write(&terrain, &mut bytes).unwrap();
    for place in (0..bytes.len()).flat_map(|place| [place; 8].into_iter().zip(0..)) {
        let mut altered = bytes.clone();
        altered[place.0] ^= 1 << place.1;
        let Ok(mut read) = Terrain::CODEC.read(&mut altered.as_slice()) else { continue };
        edit(&mut read, &mut Rng::new(2), 20);
        read.check().unwrap();
    }
}

#[test]
fn no_bytes_make_changes_beyond_the_grid_or_too_many_to_count_on() {
    let mut grid = Grid::from_fn(9, 7, |_| true).unwrap();
    let start = grid.version();
    grid.fill(Cell::new(8, 6));
    let mut bytes = Vec::new();
    Grid::CODEC.write(&grid, &mut bytes).unwrap();
    // The last are the number of changes before, two hashes and a length, the cell and the kind.
    let [count, cell] = [bytes.len() - 37, bytes.len() - 5];
    assert_eq!(bytes[cell..], [8, 0, 6, 0, 1]);
    let mut read_count = 0;
    for place in (0..bytes.len()).flat_map(|place| [place; 8].into_iter().zip(0..)) {
        let mut altered = bytes.clone();
        altered[place.0] ^= 1 << place.1;
        let Ok(mut read) = Grid::CODEC.read(&mut altered.as_slice()) else { continue };
        let mut changes = read.changes_since(start).into_iter().flatten();
        assert!(changes.all(|change| read.contains(change.cell)), "{place:?}");
        drop(changes);
        read.dig(Cell::new(8, 6));
        read_count += 1;
    }
    assert!(read_count > 100, "{read_count} were read");
    bytes[count..][..8].fill(u8::MAX);
    assert!(Grid::CODEC.read(&mut bytes.as_slice()).is_err());
}

#[test]
fn no_bytes_make_two_fields_of_one_id() {
    let terrain = Terrain::new(Grid::from_fn(9, 7, |_| true).unwrap(), MoveRule::BothFree);
    let mut fields = FlowFields::default();
    let gone = [0, 1].map(|x| fields.add(&terrain, &[Cell::new(x, 0)]));
    assert!(gone.into_iter().all(|id| fields.remove(id)));
    let mut bytes = Vec::new();
    FlowFields::CODEC.write(&fields, &mut bytes).unwrap();
    // After three numbers: the free slots.
    assert_eq!(bytes[24..32], [0, 0, 0, 0, 1, 0, 0, 0]);
    bytes[28] = 0;
    assert!(FlowFields::CODEC.read(&mut bytes.as_slice()).is_err());
}

#[test]
fn no_bytes_make_flow_fields_that_cannot_be_worked_out() {
    let terrain = Terrain::new(noise::noise(&mut Rng::new(3), 9, 7, 80), MoveRule::BothFree);
    let open: Vec<Cell> = terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
    let mut fields = FlowFields::default();
    fields.expansions_per_tick = 9;
    let field = fields.add(&terrain, &open[..1]);
    let gone = fields.add(&terrain, &open[1..2]);
    fields.remove(gone);
    let mut world = World::new();
    systems::insert_resources(&mut world, terrain.clone());
    world.insert_resource(fields);
    open.iter().for_each(|cell| _ = world.spawn(systems::flow_agent(cell.centre(), 0.0, field)));
    let pool = Pool::new(Threads::None).unwrap();
    let mut schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    schedule.run(&mut world, &pool);
    let mut bytes = Vec::new();
    FlowFields::CODEC.write(world.resource().unwrap(), &mut bytes).unwrap();
    for len in 0..bytes.len() {
        assert!(FlowFields::CODEC.read(&mut &bytes[..len]).is_err(), "{len} bytes");
    }
    let to_max = (0..bytes.len()).map(|place| {
        let mut altered = bytes.clone();
        altered[place..].iter_mut().take(8).for_each(|byte| *byte = u8::MAX);
        altered
    });
    // Forty bytes come before the class of the first field, and the systems panic without that class.
    let class_bits = 40 * 8..41 * 8;
    let bits = (0..bytes.len() * 8).step_by(11).filter(|bit| !class_bits.contains(bit));
    let flips = bits.map(|bit| {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        altered
    });
    for altered in to_max.chain(flips) {
        let Ok(mut read) = FlowFields::CODEC.read(&mut altered.as_slice()) else { continue };
        read.expansions_per_tick = 200;
        world.insert_resource(terrain.clone());
        world.insert_resource(read);
        let mut rng = Rng::new(5);
        for _ in 0..4 {
            assert!(schedule.run(&mut world, &pool).failures.is_empty());
            edit(world.resource_mut::<Terrain>().unwrap(), &mut rng, 2);
        }
    }
}

#[test]
fn no_bytes_make_flow_fields_that_cannot_be_drawn() {
    let terrain = Terrain::new(Grid::from_fn(5, 40, |_| true).unwrap(), MoveRule::BothFree);
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(4, 0)]);
    fields.get_mut(field).unwrap().settle_all(&terrain);
    let mut bytes = Vec::new();
    FlowFields::CODEC.write(&fields, &mut bytes).unwrap();
    let mut world = World::new();
    systems::insert_resources(&mut world, terrain);
    let options = DrawOptions { field: Some(field), cell_pixels: 4, ..DrawOptions::default() };
    // The class is not altered: without it the systems panic.
    for bit in (0..160 * 8).filter(|bit| bit / 8 != 36) {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let Ok(read) = FlowFields::CODEC.read(&mut altered.as_slice()) else { continue };
        world.insert_resource(read);
        drop(debug_draw(&world, options));
    }
}

#[test]
fn no_bytes_make_a_route_into_rock() {
    for is_any_angle in [false, true] {
        let mut sim = Sim::of(&["......", ".@@@@.", "......"]);
        let agent = sim.spawn(0.5, 2.5, 2.0);
        let mut request = PathRequest::to(Vec2::new(5.5, 0.5));
        if is_any_angle {
            request.any_angle();
        }
        sim.world.insert(agent, request).unwrap();
        sim.ticks(8);
        let (from, walking) = (sim.position(agent), *sim.world.get::<PathRequest>(agent).unwrap());
        let mut bytes = Vec::new();
        Route::CODEC.write(sim.world.get(agent).unwrap(), &mut bytes).unwrap();
        let mut read_count = 0;
        let flips = (0..bytes.len() * 8).map(|bit| {
            let mut altered = bytes.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            altered
        });
        // The places of the cells between which the agent walks.
        let legs = (0..16_u8).flat_map(|behind| (0..16_u8).map(move |next| (behind, next)));
        let legs = legs.map(|(behind, next)| {
            let mut altered = bytes.clone();
            (altered[0], altered[4]) = (behind, next);
            altered
        });
        for altered in flips.chain(legs) {
            let Ok(route) = Route::CODEC.read(&mut altered.as_slice()) else { continue };
            read_count += 1;
            sim.world.insert(agent, (route, walking, Position(from))).unwrap();
            for _ in 0..4 {
                sim.tick();
                let place = sim.position(agent);
                assert!(sim.terrain().is_open(Cell::containing(place).unwrap()), "{place}");
            }
        }
        assert!(read_count > 100, "{read_count} routes");
    }
}

struct Earthquakes(u64);

fn shake(mut quakes: ResMut<'_, Earthquakes>, mut terrain: ResMut<'_, Terrain>) {
    quakes.0 += 1;
    let mut rng = Rng::new(quakes.0);
    if rng.below(9) == 0 {
        // Where all weighs the same there are ways at any angle.
        let weight_max = if quakes.0 >> 32 == 3 { 1 } else { 4 };
        edit_up_to(weight_max, &mut terrain, &mut rng, 3);
    }
}

fn build(seed: u64) -> (World, Schedule) {
    let mut world = World::new();
    let grid = noise::noise(&mut Rng::new(seed), 60, 60, 70);
    systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
    world.insert_resource(SearchBudget { expansions: 300 });
    world.insert_resource(Earthquakes(seed << 32));
    SaveRules::of(&mut world).save_part(
        Codec::plain(),
        |quakes: &Earthquakes| quakes.0,
        |quakes, saved, _| quakes.0 = saved,
    );
    let terrain = world.remove_resource::<Terrain>().unwrap();
    let fields = world.resource_mut::<FlowFields>().unwrap();
    fields.expansions_per_tick = 40;
    let open: Vec<Cell> = terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
    let field = fields.add(&terrain, &[open[open.len() / 2]]);
    let gone = fields.add(&terrain, &[open[0]]);
    fields.remove(gone);
    let mut rng = Rng::new(seed + 1);
    for number in 0..60 {
        let place = open[rng.below(open.len())].centre();
        let stream = RandomStream::new(seed).fork(number);
        let speed = 2.0 + f32::from(u8::try_from(number % 7).unwrap());
        match number % 4 {
            0 => drop(world.spawn(systems::flow_agent(place, speed, field))),
            1 => drop(world.spawn((
                systems::agent(place, speed),
                Wander::new(stream),
                Avoid::new(0.3),
            ))),
            2 => {
                let mut request = PathRequest::to(open[rng.below(open.len())].centre());
                request.or_nearest().keep_trying();
                if number % 8 == 2 {
                    request.any_angle();
                }
                let agent = world.spawn(systems::agent(place, speed));
                world.insert(agent, request).unwrap();
            }
            _ => drop(world.spawn((systems::agent(place, speed), Wander::new(stream)))),
        }
    }
    world.insert_resource(terrain);
    let schedule = systems::add(Schedule::builder().add(shake.before(systems::block_cells)));
    let schedule = schedule.build(&mut world).unwrap();
    (world, schedule)
}

#[test]
fn a_game_with_unfinished_searches_and_fields_goes_on_the_same() {
    let pools = [Threads::None, Threads::Own(2)].map(|threads| Pool::new(threads).unwrap());
    let mut interruptions = 0;
    for seed in 1..=3 {
        let (mut world, mut schedule) = build(seed);
        for tick in 0..60 {
            schedule.run(&mut world, &pools[0]);
            let saved = Save::of(&world, &schedule).unwrap();
            let before = world.resource::<SearchReport>().unwrap().interruptions;
            let (mut other, mut its_schedule) = build(seed);
            let read = Save::from_bytes(&saved.to_bytes()).unwrap();
            let report = read.load(&mut other, &mut its_schedule).unwrap();
            assert!(report.is_exact(), "{report}");
            assert_eq!(Save::of(&other, &its_schedule).unwrap(), saved, "tick {tick}");
            // The game itself goes on from another load of it, on to be compared.
            let (mut same, mut its_own_schedule) = (other, its_schedule);
            if tick % 5 == 0 {
                let (mut twin, mut twin_schedule) = build(seed);
                saved.load(&mut twin, &mut twin_schedule).unwrap();
                for later in 0..12 {
                    schedule.run(&mut world, &pools[0]);
                    its_own_schedule.run(&mut same, &pools[1]);
                    let which = format!("{later} ticks after tick {tick} of seed {seed}");
                    assert_eq!(same.state_hash(), world.state_hash(), "{which}");
                    let reports = [&world, &same].map(|it| *it.resource::<SearchReport>().unwrap());
                    assert_eq!(reports[0], reports[1], "{which}");
                }
                let now = world.resource::<SearchReport>().unwrap().interruptions;
                interruptions += now - before;
                (world, schedule) = (twin, twin_schedule);
            }
        }
    }
    assert!(interruptions > 20, "{interruptions} searches were interrupted");
}
