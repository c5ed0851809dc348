//! The dungeon: a map, its imps, and what can be done to both.

use std::fmt;

use formic_ecs::{Bundle, Codec, Entity, RandomStream, World};
use formic_jobs::{IntoSystem, LoadReport, Save, SaveError, SaveRules, Schedule};
use formic_nav::{
    Cell, Facing, Grid, MoveRule, PathRequest, PathStats, PathStatsSum, Position, RequestStatus,
    Route, SearchReport, Terrain, Wander, systems,
};
use glam::Vec2;
use serde_json::json;

use crate::dungeon::cheat::Cheat;
use crate::dungeon::script::Script;
use crate::dungeon::works::{Works, work};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::walkers::{Watch, watch};

/// The slowest and the fastest imp, in cells per second; at twenty ticks a second
/// none walks half a cell in a tick, which `watch` relies on.
const SPEEDS: (f32, f32) = (2.0, 5.0);

/// Where on its tile an imp that a cheat spawns may stand, from the north-western corner.
const SPAWN_OFFSETS: (f32, f32) = (0.2, 0.8);
/// The most imps that there may be.
const IMPS_MAX: u32 = Setup::AGENTS_MAX;

/// Streams of random numbers that have nothing to do with each other.
const WORKS_STREAM: u64 = 0;
const PLACES_STREAM: u64 = 1;
const IMPS_STREAM: u64 = 2;

/// A world of imps, and what runs it.
///
/// Beside what the shell asks of every [`Simulation`](crate::simulation::Simulation), it shows what a player would see, and lets
/// itself be changed between two ticks.
///
/// ```
/// use formic_demos::dungeon::{Cheat, Dungeon};
/// use formic_demos::setup::Setup;
/// use formic_demos::simulation::Simulation;
/// use formic_nav::{Cell, Grid};
///
/// let setup = Setup { agents: 2, ticks: 0, seed: 1, threads: 1 };
/// let mut dungeon = Dungeon::new(&setup, Grid::from_fn(20, 20, |_| true)?)?;
/// dungeon.apply(Cheat::Spawn { count: 3, cell: Cell::new(4, 4) })?;
/// dungeon.apply(Cheat::Send(Cell::new(15, 15)))?;
/// (0..5).for_each(|_| dungeon.tick());
/// assert_eq!(dungeon.imps().count(), 5);
/// assert!(dungeon.imps().all(|imp| imp.path.last() == Some(&Cell::new(15, 15))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dungeon {
    pub(super) engine: Engine,
    pub(super) open_count_at_start: usize,
    ticks: u64,
    script: Script,
    /// Where imps that are still to come get their random numbers from, each from the stream of
    /// its number.
    streams: RandomStream,
    pub(super) imp_count: u32,
    pub(super) cheat_count: u64,
    pub(super) refusal_count: u64,
}

impl fmt::Debug for Dungeon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ticks, imp_count, cheat_count, .. } = self;
        let mut fields = f.debug_struct("Dungeon");
        fields.field("ticks", ticks).field("imp_count", imp_count);
        fields.field("cheat_count", cheat_count).finish_non_exhaustive()
    }
}

/// What an imp looks like from outside.
#[derive(Debug, Clone, Copy)]
pub struct Imp<'a> {
    /// Who it is.
    pub entity: Entity,
    /// Where it stands, in tiles.
    pub position: Vec2,
    /// Where it looks, of length one.
    pub facing: Vec2,
    /// Where it is to go, as long as it is.
    pub goal: Option<Vec2>,
    /// How that stands.
    pub status: RequestStatus,
    /// The tiles that it still has to enter.
    pub path: &'a [Cell],
}

/// Why a cheat changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The tile is not on the map.
    Outside,
    /// The tile is what it is to become already.
    NothingToDo,
    /// No agent can be spawned in rock.
    Solid,
    /// The last open tile stays open.
    LastTile,
    /// There would be too many imps.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outside => "the tile is not on the map",
            Self::NothingToDo => "the tile is so already",
            Self::Solid => "the tile is solid",
            Self::LastTile => "it is the last open tile",
            Self::TooMany => "there would be too many imps",
        })
    }
}

impl std::error::Error for Refusal {}

impl Dungeon {
    /// A dungeon on a map, with as many imps on random tiles as the setup says.
    ///
    /// # Errors
    /// [`Failure::Usage`] where the system refuses a thread, or there is no open tile to stand on.
    pub fn new(setup: &Setup, grid: Grid) -> Result<Self, Failure> {
        let terrain = Terrain::new(grid, MoveRule::default());
        let open_count_at_start = terrain.grid().open_count();
        if open_count_at_start == 0 {
            return Err(Failure::Usage("the map has no open tile to stand on".to_owned()));
        }
        let seed = RandomStream::new(setup.seed);
        let mut world = World::new();
        spawn_imps(&mut world, &terrain, setup.agents, &seed);
        world.insert_resource(Works::new(seed.fork(WORKS_STREAM), &terrain));
        systems::insert_resources(&mut world, terrain);
        SaveRules::of(&mut world).save(Codec::<Works>::serde());
        let schedule = systems::add(Schedule::builder().add(work.before(systems::block_cells)))
            .add((watch, formic::note_paths).after(systems::search));
        Ok(Self {
            engine: Engine::new(setup, world, schedule)?,
            open_count_at_start,
            ticks: 0,
            script: Script::default(),
            streams: seed.fork(IMPS_STREAM),
            imp_count: setup.agents,
            cheat_count: 0,
            refusal_count: 0,
        })
    }

    /// Cheats to be applied when their ticks come.
    pub(super) fn set_script(&mut self, script: Script) {
        self.script = script;
    }

    /// The map, and the regions that hang together.
    ///
    /// # Panics
    /// Only if a caller had taken the terrain out of the world.
    #[must_use]
    pub fn terrain(&self) -> &Terrain {
        self.engine.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    /// What comes before the systems of a tick; nothing, where the tick was begun by steps.
    pub(super) fn begin_tick(&mut self) {
        if self.engine.schedule().is_stepping() {
            return;
        }
        while let Some(cheat) = self.script.next(self.ticks) {
            // What is refused is counted, and the run goes on: the map may have become another one
            // by then.
            let _refused = self.apply(cheat).is_err();
        }
        self.ticks += 1;
    }

    /// What there is beside the world: counters, and how far the script has come.
    pub(super) fn save_game(&self) -> Result<Save, SaveError> {
        let mut save = self.engine.save()?;
        let kept = json!([
            self.open_count_at_start,
            self.ticks,
            self.script.done(),
            self.imp_count,
            self.cheat_count,
            self.refusal_count
        ]);
        save.attach("dungeon", kept.to_string());
        Ok(save)
    }

    pub(super) fn load_game(&mut self, save: &Save) -> Result<LoadReport, String> {
        let kept = serde_json::from_slice(save.attached("dungeon").unwrap_or_default());
        let kept = kept.map_err(|error| format!("its counters: {error}"))?;
        let report = self.engine.load(save).map_err(|error| error.to_string())?;
        let done;
        (
            self.open_count_at_start,
            self.ticks,
            done,
            self.imp_count,
            self.cheat_count,
            self.refusal_count,
        ) = kept;
        self.script.skip_to(done);
        Ok(report)
    }

    /// How many ticks have passed.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.ticks
    }

    /// All imps.
    pub fn imps(&self) -> impl Iterator<Item = Imp<'_>> {
        type Seen<'a> = (Entity, &'a Position, &'a Facing, &'a PathRequest, &'a Route);
        let imps = self.engine.world.query_ref::<Seen<'_>>();
        imps.map(|(entity, position, facing, request, route)| Imp {
            entity,
            position: position.0,
            facing: facing.0,
            goal: request.goal(),
            status: request.status(),
            path: route.rest(),
        })
    }

    /// Does something to the dungeon between two ticks. Done before the same ticks, the same
    /// cheats give the same dungeon.
    ///
    /// # Errors
    /// Why nothing was changed.
    ///
    /// # Panics
    /// Only if a caller had taken the terrain out of the world.
    pub fn apply(&mut self, cheat: Cheat) -> Result<(), Refusal> {
        let done = self.try_apply(cheat);
        self.cheat_count += 1;
        self.refusal_count += u64::from(done.is_err());
        done
    }

    fn try_apply(&mut self, cheat: Cheat) -> Result<(), Refusal> {
        let terrain: &mut Terrain = self
            .engine
            .world
            .resource_mut()
            .expect("inserted at the start, and nobody takes it out");
        if !terrain.grid().contains(cheat.cell()) {
            return Err(Refusal::Outside);
        }
        match cheat {
            Cheat::Dig(cell) => terrain.dig(cell).then_some(()).ok_or(Refusal::NothingToDo),
            Cheat::Fill(cell) if !terrain.is_open(cell) => Err(Refusal::NothingToDo),
            Cheat::Fill(_) if terrain.grid().open_count() == 1 => Err(Refusal::LastTile),
            Cheat::Fill(cell) => {
                terrain.fill(cell);
                Ok(())
            }
            Cheat::Spawn { cell, .. } if !terrain.is_open(cell) => Err(Refusal::Solid),
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

    fn spawn(&mut self, count: u32, cell: Cell) -> Result<(), Refusal> {
        if count > IMPS_MAX.saturating_sub(self.imp_count) {
            return Err(Refusal::TooMany);
        }
        let corner = Vec2::new(cell.x.into(), cell.y.into());
        let (low, high) = SPAWN_OFFSETS;
        for number in self.imp_count..self.imp_count + count {
            let mut stream = self.streams.fork(number.into());
            // A hundred imps that share one point would look like one.
            let offset = Vec2::new(stream.between(low, high), stream.between(low, high));
            self.engine.world.spawn(imp(corner + offset, stream));
        }
        self.imp_count += count;
        Ok(())
    }

    pub(super) fn works(&self) -> &Works {
        self.engine.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    pub(super) fn report(&self) -> SearchReport {
        self.engine.world.resource().copied().unwrap_or_default()
    }

    pub(super) fn stats(&self) -> PathStatsSum {
        PathStats::sum(self.engine.world.query_ref::<&PathStats>().map(|stats| *stats))
    }
}

/// An imp that wanders, with a stream of random numbers of its own.
fn imp(position: Vec2, mut stream: RandomStream) -> impl Bundle {
    let speed = stream.between(SPEEDS.0, SPEEDS.1);
    (systems::agent(position, speed), Wander::new(stream), Watch::new(position))
}

/// Puts imps on random open cells, as many in each as may happen.
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
