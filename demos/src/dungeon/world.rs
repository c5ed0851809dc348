//! The dungeon: a map, its imps, and the cheats on both.

use formic_ecs::{Bundle, Codec, RandomStream, World};
use formic_jobs::{IntoSystem, SaveRules, Schedule};
use formic_nav::{Cell, Grid, MoveRule, PathRequest, Terrain, Wander, systems};
use glam::Vec2;
use serde::{Deserialize, Serialize};

use crate::dungeon::cheat::Cheat;
use crate::dungeon::script::Script;
use crate::dungeon::works::{Works, work};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::walkers::{Watch, watch};

/// The slowest and the fastest imp, in cells per second. At twenty ticks per second none walks half a
/// cell in a tick, which `watch` relies on.
const SPEEDS: (f32, f32) = (2.0, 5.0);

/// The range of offsets at which a spawned imp stands on its tile, from the north-western corner.
const SPAWN_OFFSETS: (f32, f32) = (0.2, 0.8);

/// The maximum number of imps.
const IMPS_MAX: u32 = Setup::AGENTS_MAX;

/// Independent streams of random numbers.
const WORKS_STREAM: u64 = 0;
const PLACES_STREAM: u64 = 1;
const IMPS_STREAM: u64 = 2;

/// A world of imps, and what runs it.
pub(super) struct Dungeon {
    pub(super) engine: Engine,
    pub(super) script: Script,
    /// The source of the random numbers of future imps, each from the stream of its number.
    streams: RandomStream,
}

/// Counts of what came from outside so far. A resource.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Visits {
    /// The number of imps that ever existed.
    pub(super) imps: u32,
    pub(super) cheats: u64,
    pub(super) refusals: u64,
}

impl Dungeon {
    /// Creates a dungeon on a map, with as many imps on random tiles as the setup says.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the system refuses a thread.
    pub(super) fn new(setup: &Setup, grid: Grid, script: Script) -> Result<Self, Failure> {
        let terrain = Terrain::new(grid, MoveRule::default());
        let seed = RandomStream::new(setup.seed);
        let mut world = World::new();
        spawn_imps(&mut world, &terrain, setup.agents, &seed);
        world.insert_resource(Works::new(seed.fork(WORKS_STREAM), &terrain));
        world.insert_resource(Visits { imps: setup.agents, cheats: 0, refusals: 0 });
        systems::insert_resources(&mut world, terrain);
        SaveRules::of(&mut world).save(Codec::<Works>::serde()).save(Codec::<Visits>::serde());
        let schedule = systems::add(Schedule::builder().add(work.before(systems::block_cells)))
            .add((watch, formic::note_paths).after(systems::search));
        let engine = Engine::new(setup, world, schedule)?;
        Ok(Self { engine, script, streams: seed.fork(IMPS_STREAM) })
    }

    /// Applies a cheat between two ticks. The same cheats before the same ticks give the same dungeon.
    ///
    /// # Errors
    /// Returns the reason if nothing was changed.
    pub(super) fn apply(&mut self, cheat: Cheat) -> Result<(), &'static str> {
        let done = self.try_apply(cheat);
        let visits: &mut Visits = self.engine.resource_mut();
        visits.cheats += 1;
        visits.refusals += u64::from(done.is_err());
        done
    }

    fn try_apply(&mut self, cheat: Cheat) -> Result<(), &'static str> {
        let terrain: &mut Terrain = self.engine.resource_mut();
        if !terrain.grid().contains(cheat.cell()) {
            return Err("the tile is not on the map");
        }
        match cheat {
            Cheat::Dig(cell) => terrain.dig(cell).then_some(()).ok_or("the tile is so already"),
            Cheat::Fill(cell) if !terrain.is_open(cell) => Err("the tile is so already"),
            Cheat::Fill(_) if terrain.grid().open_count() == 1 => Err("it is the last open tile"),
            Cheat::Fill(cell) => {
                terrain.fill(cell);
                Ok(())
            }
            Cheat::Spawn { cell, .. } if !terrain.is_open(cell) => Err("the tile is solid"),
            Cheat::Spawn { count, cell } => self.spawn(count, cell),
            Cheat::Send(cell) => {
                let goal = cell.centre();
                self.engine.world.query::<&mut PathRequest>().for_each(|request| {
                    request.ask(goal).or_nearest();
                });
                Ok(())
            }
        }
    }

    fn spawn(&mut self, count: u32, cell: Cell) -> Result<(), &'static str> {
        let imps = self.engine.resource::<Visits>().imps;
        if count > IMPS_MAX.saturating_sub(imps) {
            return Err("there would be too many imps");
        }
        let corner = Vec2::new(cell.x.into(), cell.y.into());
        let (low, high) = SPAWN_OFFSETS;
        for number in imps..imps + count {
            let mut stream = self.streams.fork(number.into());
            // A hundred imps at the same point would look like one.
            let offset = Vec2::new(stream.between(low, high), stream.between(low, high));
            self.engine.world.spawn(imp(corner + offset, stream));
        }
        self.engine.resource_mut::<Visits>().imps += count;
        Ok(())
    }
}

/// Creates an imp that wanders, with a stream of random numbers of its own.
fn imp(position: Vec2, mut stream: RandomStream) -> impl Bundle {
    let speed = stream.between(SPEEDS.0, SPEEDS.1);
    (systems::agent(position, speed), Wander::new(stream), Watch::new(position))
}

/// Puts imps on random open cells; a cell may get any number of them.
fn spawn_imps(world: &mut World, terrain: &Terrain, count: u32, seed: &RandomStream) {
    let grid = terrain.grid();
    let open: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
    let mut places = seed.fork(PLACES_STREAM);
    let streams = seed.fork(IMPS_STREAM);
    let imps = (0..count).map(|number| {
        let chosen = usize::try_from(places.below(open.len() as u64)).unwrap_or_default();
        imp(open[chosen].centre(), streams.fork(number.into()))
    });
    world.spawn_batch(imps);
}
