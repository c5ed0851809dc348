//! A search for the tick, the system and the value at which two runs of a game diverge.

use std::convert::Infallible;

use formic_ecs::{Difference, HashTree, World};

use super::run::Schedule;
use super::step::Step;
use crate::pool::Pool;

/// A game at its start, to be run by [`Divergence::search`].
#[derive(Debug)]
pub struct Rerun {
    /// The world of the game.
    pub world: World,
    /// The systems of the game.
    pub schedule: Schedule,
    /// The threads that the game runs on.
    pub pool: Pool,
}

/// A game that can be run tick by tick and system by system, for [`Divergence::search`] to compare.
pub trait SteppedGame {
    /// Returns the world of the game.
    fn world(&self) -> &World;

    /// Returns the schedule of the game.
    fn schedule(&self) -> &Schedule;

    /// Runs a tick.
    fn tick(&mut self);

    /// Runs one step of a tick, as [`Schedule::step`] does.
    fn step(&mut self) -> Step;
}

impl SteppedGame for Rerun {
    fn world(&self) -> &World {
        &self.world
    }

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tick(&mut self) {
        drop(self.schedule.run(&mut self.world, &self.pool));
    }

    fn step(&mut self) -> Step {
        self.schedule.step(&mut self.world, &self.pool).step
    }
}

/// The point at which two runs that should be equal diverge: the tick, the system, and the entity and
/// value that differ after it.
///
/// ```
/// use formic_jobs::prelude::*;
/// use formic_jobs::{Divergence, Rerun};
///
/// #[derive(Component, Debug)]
/// #[component(name = "game.hunger")]
/// struct Hunger(usize);
/// struct Helpers(usize);
/// fn starve(mut all: Query<&mut Hunger>) { all.for_each(|hunger| hunger.0 += 1); }
/// fn eat(mut all: Query<&mut Hunger>, helpers: Res<Helpers>) {
///     all.for_each(|hunger| if hunger.0 == 10 { hunger.0 -= helpers.0 });
/// }
/// let start = |threads: usize| {
///     let mut world = World::new();
///     world.insert_resource(Helpers(threads));
///     world.spawn_batch((0..10).map(|_| Hunger(0)));
///     let schedule = Schedule::builder().add((starve, eat).chain()).build(&mut world).unwrap();
///     Rerun { world, schedule, pool: Pool::new(Threads::None).unwrap() }
/// };
/// assert!(Divergence::search(50, || start(1), || start(1)).is_none());
/// let found = Divergence::search(50, || start(1), || start(2)).expect("they differ");
/// assert_eq!(found.tick, 9);
/// assert!(found.to_string().starts_with("tick 9, system "), "{found}");
/// assert!(found.to_string().contains("game.hunger of "), "{found}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The tick, counted from 0.
    pub tick: u64,
    /// The system or sync point after which they differ, or `the start`, if they never were equal. `None`
    /// if they differ only when the systems of a tick run in parallel, not one by one.
    pub after: Option<String>,
    /// The difference; the first run is *here*.
    pub difference: Difference,
}

display_text! { Divergence:
    Self { tick, after: Some(after), difference } => "tick {tick}, {after}: {difference}";
    Self { tick, after: None, difference } => "tick {tick}, and only when systems run beside each other: {difference}";
}

/// The number of ticks between comparisons in the first pass.
const STRIDE: u64 = 16;

/// The number of restarts of the search if a run does not repeat itself.
const ATTEMPTS: usize = 3;

impl Divergence {
    /// Runs two games side by side for `ticks` ticks, and returns where their entities first differ, or
    /// `None` if they do not. A difference is found if it is still present at the next comparison: every
    /// sixteenth tick, and at the end.
    ///
    /// Each function returns a game at its start, and is called a few times: the ticks before the
    /// difference are run again, and from there on system by system. The search compares the [hashes of
    /// all chunks](HashTree), so entities that are visited in another order also differ. Resources are
    /// not compared; their effects on entities are.
    ///
    /// # Panics
    /// Panics if a system does, and if a schedule has no systems.
    pub fn search<G: SteppedGame>(
        ticks: u64,
        mut here: impl FnMut() -> G,
        mut there: impl FnMut() -> G,
    ) -> Option<Self> {
        let found = Self::try_search(ticks, || Ok(here()), || Ok(there()));
        found.unwrap_or_else(|error: Infallible| match error {})
    }

    /// Like [`search`](Self::search), for games whose start may fail, such as those read from files.
    ///
    /// # Errors
    /// Returns an error if one of the functions does.
    ///
    /// # Panics
    /// Panics if a system does, and if a schedule has no systems.
    pub fn try_search<G: SteppedGame, E>(
        ticks: u64,
        mut here: impl FnMut() -> Result<G, E>,
        mut there: impl FnMut() -> Result<G, E>,
    ) -> Result<Option<Self>, E> {
        let mut pair = Pair(here()?, there()?);
        if let Some(difference) = pair.difference() {
            return Ok(Some(Self { tick: 0, after: Some("the start".to_owned()), difference }));
        }
        let Some(mut from) = pair.last_equal(ticks) else { return Ok(None) };
        drop(pair);
        for _ in 0..ATTEMPTS {
            let mut pair = Pair(here()?, there()?);
            (0..from).for_each(|_| pair.tick());
            if pair.difference().is_some() {
                // This run does not repeat itself: step through all of it.
                from = 0;
                continue;
            }
            let found = (from..ticks).find_map(|tick| pair.step_through(tick));
            if found.is_some() {
                return Ok(found);
            }
        }
        let mut pair = Pair(here()?, there()?);
        Ok((0..ticks).find_map(|tick| {
            pair.tick();
            pair.difference().map(|difference| Self { tick, after: None, difference })
        }))
    }
}

/// Both runs.
struct Pair<G>(G, G);

impl<G: SteppedGame> Pair<G> {
    fn tick(&mut self) {
        self.0.tick();
        self.1.tick();
    }

    fn difference(&self) -> Option<Difference> {
        Difference::between(self.0.world(), self.1.world())
    }

    fn is_equal(&self) -> bool {
        HashTree::of(self.0.world()) == HashTree::of(self.1.world())
    }

    /// The last compared tick before which they are equal, if they diverge.
    fn last_equal(&mut self, ticks: u64) -> Option<u64> {
        let mut equal = 0;
        for tick in 0..ticks {
            if tick % STRIDE == 0 {
                if !self.is_equal() {
                    return Some(equal);
                }
                equal = tick;
            }
            self.tick();
        }
        (!self.is_equal()).then_some(equal)
    }

    /// Runs a tick system by system, up to the first that leaves a difference.
    fn step_through(&mut self, tick: u64) -> Option<Divergence> {
        loop {
            let step = self.0.step();
            self.1.step();
            if !self.is_equal() {
                let names = self.0.schedule().system_names();
                let after = match step {
                    Step::System(number) => format!("system {}", names[number]),
                    Step::SyncPoint(number) => format!("sync point {number}"),
                };
                let difference = self.difference()?;
                return Some(Divergence { tick, after: Some(after), difference });
            }
            if !self.0.schedule().is_stepping() {
                return None;
            }
        }
    }
}
