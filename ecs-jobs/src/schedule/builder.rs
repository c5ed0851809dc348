//! Putting a schedule together.

use std::any::type_name;

use formic_ecs::{Component, RandomStream, World};

use super::config::{IntoSystem, SystemConfig};
use super::draft::Draft;
use super::error::ScheduleError;
use super::graph::{self, Input};
use super::node::{Built, Plan};
use super::run::Schedule;
use super::stages;
use crate::static_graph::Sharing;

/// A schedule in the making.
#[derive(Debug, Default)]
pub struct ScheduleBuilder {
    systems: SystemConfig,
    /// Names of components and resources.
    allowed: Vec<fn(&mut World) -> String>,
    deny_ambiguities: bool,
    deny_missing_resources: bool,
    shuffle: Option<u64>,
    skips_panics: bool,
    sharing: Sharing,
}

impl Schedule {
    /// A schedule in the making.
    #[must_use]
    pub fn builder() -> ScheduleBuilder {
        ScheduleBuilder::default()
    }
}

impl ScheduleBuilder {
    /// Adds a system, what is said of a [`Group`](super::Group), or a tuple of these. Between two systems
    /// that touch the same data and that no order connects, the one that was added first runs first.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adds to a list, as every builder does")]
    pub fn add<Marker>(mut self, system: impl IntoSystem<Marker>) -> Self {
        self.systems.append(system.into_config());
        self
    }

    /// Does not list pairs of systems of which no other component than this, or others that are
    /// allowed, makes an ambiguity.
    #[must_use]
    pub fn allow_ambiguities_about<T: Component>(mut self) -> Self {
        self.allowed.push(|world| {
            let id = world.register::<T>();
            world.components()[id.index()].name().to_string()
        });
        self
    }

    /// The same for a resource.
    #[must_use]
    pub fn allow_ambiguities_about_resource<T: 'static>(mut self) -> Self {
        self.allowed.push(|_| type_name::<T>().into());
        self
    }

    /// Makes ambiguities an error of [`build`](Self::build).
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn plus(mut number: ResMut<'_, u32>) { *number += 1; }
    /// fn times(mut number: ResMut<'_, u32>) { *number *= 2; }
    /// let mut world = World::new();
    /// let unclear = Schedule::builder().add((plus, times)).deny_ambiguities();
    /// assert!(unclear.build(&mut world).unwrap_err().to_string().contains("u32"));
    /// let clear = Schedule::builder().add((plus, times).chain()).deny_ambiguities();
    /// assert!(clear.build(&mut world).is_ok());
    /// let on_purpose = Schedule::builder().add((plus, times.ambiguous_with(plus)));
    /// assert!(on_purpose.deny_ambiguities().build(&mut world).is_ok());
    /// ```
    #[must_use]
    pub const fn deny_ambiguities(mut self) -> Self {
        self.deny_ambiguities = true;
        self
    }

    /// Makes it an error of [`build`](Self::build) if a system takes a resource that is not in the
    /// world by then. A system that runs only under a condition may do so.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn grow(mut number: ResMut<'_, u32>) { *number += 1; }
    /// let builder = || Schedule::builder().add(grow).deny_missing_resources();
    /// let mut world = World::new();
    /// let error = builder().build(&mut world).unwrap_err();
    /// assert!(error.to_string().ends_with("grow takes the resource u32, which is not in the world"));
    /// world.insert_resource(1_u32);
    /// assert!(builder().build(&mut world).is_ok());
    /// ```
    #[must_use]
    pub const fn deny_missing_resources(mut self) -> Self {
        self.deny_missing_resources = true;
        self
    }

    /// Runs ambiguous systems in an order that depends on `seed`, and no longer on that of adding.
    ///
    /// For tests: a game whose result depends on the seed relies on an order that nothing declares.
    /// What is declared holds all the same, and the commands of a sync point are still played in the
    /// order of adding.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn plus(mut number: ResMut<'_, u32>) { *number += 1; }
    /// fn times(mut number: ResMut<'_, u32>) { *number *= 2; }
    /// let pool = Pool::new(Threads::None)?;
    /// let mut results = Vec::new();
    /// for seed in 0..20 {
    ///     let mut world = World::new();
    ///     world.insert_resource(1_u32);
    ///     let builder = Schedule::builder().add((plus, times)).shuffle_ambiguous(seed);
    ///     builder.build(&mut world)?.run(&mut world, &pool);
    ///     results.push(*world.resource::<u32>()?);
    /// }
    /// assert!(results.contains(&3) && results.contains(&4), "the result depends on the seed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn shuffle_ambiguous(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// Ends the turn of a system that panics, and not the run: what it has recorded is dropped, all
    /// other systems run, and [`RunReport::panics`](super::RunReport::panics) names it.
    ///
    /// What it changed before stays, and it runs again in the next tick. So does a system one of whose
    /// conditions panics; if that is the condition of several systems, they are off for the run.
    /// For tools and long-lived servers, which rather go on without a system than end. A panic in
    /// playback goes on all the same.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn fails() { panic!("out of coffee") }
    /// fn works(mut count: ResMut<'_, u32>) { *count += 1; }
    /// let mut world = World::new();
    /// world.insert_resource(0_u32);
    /// let mut schedule =
    ///     Schedule::builder().add((fails, works).chain()).skip_panics().build(&mut world)?;
    /// let report = schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// assert_eq!(*world.resource::<u32>()?, 1);
    /// assert!(report.panics[0].to_string().ends_with("fails panicked: out of coffee"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn skip_panics(mut self) -> Self {
        self.skips_panics = true;
        self
    }

    /// Sets whether systems are given to several threads; see [`Sharing`]. Nothing but speed depends
    /// on it.
    #[must_use]
    pub const fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Compiles the schedule for a world.
    ///
    /// # Errors
    /// Returns an error if the order is a cycle, names a system that was not added, a system
    /// contradicts itself, a condition writes, or there are ambiguities or missing resources and they
    /// were denied.
    pub fn build(self, world: &mut World) -> Result<Schedule, ScheduleError> {
        let allowed: Vec<_> = self.allowed.iter().map(|name| name(world)).collect();
        let draft = Draft::new(self.systems);
        let declared = draft.declared()?;
        let names = draft.names();
        let silenced = draft.silenced();
        let after_earlier = draft.after_earlier();
        let boundary_count = names.len() - draft.nodes.len();
        let mut built = Built::of(draft, &names, world)?;
        if let Some(missing) = built.missing.take().filter(|_| self.deny_missing_resources) {
            return Err(missing);
        }

        let node_count = built.nodes.len();
        let conflicts = |first: usize, second: usize| {
            built.accesses[first].conflicts(&built.accesses[second], world)
        };
        let expected = built.expected()?;
        let graph = graph::compile(&Input {
            node_count,
            expected: &expected,
            ranking: &ranking(node_count, self.shuffle),
            names: &names,
            declared: &declared,
            conflicts: &conflicts,
            is_silenced: &|first, second| {
                silenced.contains(&(first.min(second), first.max(second)))
            },
            after_earlier: &after_earlier,
            is_allowed: &|first, second, about| {
                allowed.contains(about)
                    || built.accesses[first].both_allow(&built.accesses[second], about)
            },
        })?;
        if self.deny_ambiguities && !graph.ambiguities.is_empty() {
            return Err(ScheduleError::Ambiguous { ambiguities: graph.ambiguities });
        }
        let parts = stages::cut(&graph, &built.accesses, boundary_count);
        let plan = Plan::new(graph, parts, self.sharing);
        Ok(Schedule::new(world.id(), built, plan, self.skips_panics))
    }
}

/// All nodes, in the order of adding or in one that depends on a seed.
fn ranking(count: usize, seed: Option<u64>) -> Vec<usize> {
    let mut ranking: Vec<usize> = (0..count).collect();
    if let Some(seed) = seed {
        let stream = RandomStream::new(seed);
        ranking.sort_by_cached_key(|&node| stream.fork(node as u64).next_u64());
    }
    ranking
}
