//! A search for the tick, the system and the value in which two runs of a game part.

use std::fmt;

use formic_ecs::{Difference, World};

use super::run::Schedule;
use super::step::Step;
use crate::pool::Pool;

/// A game at its start, to be run by [`Divergence::search`].
#[derive(Debug)]
pub struct Rerun {
    /// Its world.
    pub world: World,
    /// Its systems.
    pub schedule: Schedule,
    /// The threads that it runs on.
    pub pool: Pool,
}

/// Where two runs that should have been equal part: the tick, the system, and what of which entity
/// is different after it.
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
    /// The system behind which they differ, or the sync point. None where they differ only if the
    /// systems of a tick run beside each other, not one by one.
    pub after: Option<String>,
    /// What is different; the first run is *here*.
    pub difference: Difference,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}, ", self.tick)?;
        match &self.after {
            Some(after) => write!(f, "{after}: ")?,
            None => f.write_str("and only when systems run beside each other: ")?,
        }
        self.difference.fmt(f)
    }
}

/// How many ticks lie between comparisons as long as nothing is known.
const STRIDE: u64 = 16;

/// How often the search goes back to the start where a run is not the same as itself.
const ATTEMPTS: usize = 3;

impl Divergence {
    /// Runs two games side by side for so many ticks, and says where their entities differ first.
    /// None where they do not. A difference is seen if it is still there at the next comparison: every
    /// sixteenth tick, and at the end.
    ///
    /// Each function gives a game at its start, and is called a few times: the ticks before the
    /// difference are run again, and from there on system by system. What is compared is the
    /// [tree of hashes](World::hash_tree), so entities that are visited in another order differ as
    /// well. Resources are not compared; what they lead to is.
    ///
    /// # Panics
    /// Panics if a system does, and if a schedule has no systems.
    pub fn search(
        ticks: u64,
        mut here: impl FnMut() -> Rerun,
        mut there: impl FnMut() -> Rerun,
    ) -> Option<Self> {
        let mut from = Pair(here(), there()).last_equal(ticks)?;
        for _ in 0..ATTEMPTS {
            let mut pair = Pair(here(), there());
            (0..from).for_each(|_| pair.tick());
            if pair.difference().is_some() {
                // A run that differs from itself: it is gone through whole.
                from = 0;
                continue;
            }
            let found = (from..ticks).find_map(|tick| pair.step_through(tick));
            if found.is_some() {
                return found;
            }
        }
        let mut pair = Pair(here(), there());
        (0..ticks).find_map(|tick| {
            pair.tick();
            pair.difference().map(|difference| Self { tick, after: None, difference })
        })
    }
}

/// Both runs.
struct Pair(Rerun, Rerun);

impl Pair {
    fn tick(&mut self) {
        for run in [&mut self.0, &mut self.1] {
            drop(run.schedule.run(&mut run.world, &run.pool));
        }
    }

    fn difference(&self) -> Option<Difference> {
        self.0.world.difference(&self.1.world)
    }

    fn is_equal(&self) -> bool {
        self.0.world.hash_tree() == self.1.world.hash_tree()
    }

    /// The last of the compared ticks before which they are equal, if they come to differ.
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

    /// Lives a tick system by system, up to the first that leaves a difference.
    fn step_through(&mut self, tick: u64) -> Option<Divergence> {
        loop {
            let Self(here, there) = self;
            let report = here.schedule.step(&mut here.world, &here.pool);
            there.schedule.step(&mut there.world, &there.pool);
            if !self.is_equal() {
                let names = self.0.schedule.system_names();
                let after = match report.step {
                    Step::System(number) => format!("system {}", names[number]),
                    Step::SyncPoint(number) => format!("sync point {number}"),
                };
                let difference = self.difference()?;
                return Some(Divergence { tick, after: Some(after), difference });
            }
            if report.ended.is_some() {
                return None;
            }
        }
    }
}
