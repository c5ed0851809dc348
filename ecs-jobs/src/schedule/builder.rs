//! The builder of a schedule.

use std::any::{TypeId, type_name};

use formic_ecs::{ComponentInfo, RandomStream, World};

use super::config::{IntoSystem, SystemConfig};
use super::draft::Draft;
use super::error::ScheduleError;
use super::graph::{self, Input};
use super::node::{Built, Plan};
use super::run::Schedule;
use super::stages;
use crate::static_graph::Sharing;

/// A builder of schedules.
#[derive(Debug, Default)]
pub struct ScheduleBuilder {
    systems: SystemConfig,
    /// Functions that return the names of components and resources.
    allowed: Vec<fn(&World) -> String>,
    deny_ambiguities: bool,
    deny_missing_resources: bool,
    shuffle: Option<u64>,
    skips_panics: bool,
    sharing: Sharing,
}

impl Schedule {
    /// Returns a builder without systems.
    #[must_use]
    pub fn builder() -> ScheduleBuilder {
        ScheduleBuilder::default()
    }
}

impl ScheduleBuilder {
    /// Adds a system, the configuration of a [`Group`](super::Group), or a tuple of these. Of two systems
    /// with conflicting accesses and no declared order, the one added first runs first.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adds to a list, as every builder does")]
    #[doc(alias("add_systems", "add_system"))]
    pub fn add<Marker>(mut self, system: impl IntoSystem<Marker>) -> Self {
        self.systems.append(system.into_config());
        self
    }

    /// Does not report pairs of systems that are ambiguous only about this component or resource, or about
    /// others that are allowed.
    #[must_use]
    pub fn allow_ambiguities_about<T: 'static>(mut self) -> Self {
        // It may be both, and a component may have a name of its own.
        self.allowed.push(|_| type_name::<T>().into());
        self.allowed.push(|world| {
            let is_it = |info: &&ComponentInfo| info.type_id() == Some(TypeId::of::<T>());
            let component = world.components().iter().find(is_it);
            component.map_or_else(String::new, |info| info.name().to_string())
        });
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

    /// Makes [`build`](Self::build) return an error if a system requires a resource that is not in the
    /// world by then. Conditions and systems that run under one are exempt: a condition may ask whether the
    /// resource is there.
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

    /// Runs ambiguous systems in an order that depends on `seed`, instead of the order of adding.
    ///
    /// For tests: a game whose result depends on the seed relies on an undeclared order. The declared
    /// order still holds, and the commands of a sync point are still played in the order of adding.
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

    /// Makes a panicking system end only itself, not the run: its recorded commands are dropped, all
    /// other systems run, and [`RunReport::panics`](super::RunReport::panics) names it.
    ///
    /// Its earlier changes stay, and it runs again in the next tick. The same holds for a system one of
    /// whose conditions panics; if several systems share that condition, they are skipped for the run.
    /// For tools and long-lived servers, which prefer to go on without a system. A panic in playback is
    /// still resumed.
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

    /// Sets whether systems are given to several threads; see [`Sharing`]. It affects only speed.
    #[must_use]
    pub const fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Compiles the schedule for a world.
    ///
    /// # Errors
    /// Returns an error if the order is cyclic or names a system that was not added, if a system requests
    /// conflicting accesses or [requires](super::SystemAccess::expect_before) an order that is not
    /// declared, if a condition writes, or if ambiguities or missing resources exist and are denied.
    pub fn build(self, world: &mut World) -> Result<Schedule, ScheduleError> {
        let draft = Draft::new(self.systems);
        let declared = draft.declared()?;
        let names = draft.names();
        let silenced = draft.silenced();
        let after_earlier = draft.after_earlier();
        let boundary_count = names.len() - draft.nodes.len();
        let built = Built::of(draft, &names, world)?;
        // The components of systems are registered by now.
        let allowed: Vec<_> = self.allowed.iter().map(|name| name(world)).collect();
        if let Some(missing) = built.missing(world).filter(|_| self.deny_missing_resources) {
            return Err(missing);
        }

        let node_count = built.nodes.len();
        let conflicts = |first: usize, second: usize| {
            built.accesses[first].conflicts(&built.accesses[second], world)
        };
        let expected = built.expected()?;
        let graph = graph::compile(&Input {
            expected: &expected,
            ranking: &ranking(node_count, self.shuffle),
            names: &names,
            declared: &declared,
            conflicts: &conflicts,
            silenced: &silenced,
            after_earlier: &after_earlier,
            is_allowed: &|first, second, about| {
                let both_allow = [first, second].map(|node| &built.accesses[node].allowed);
                allowed.contains(about) || both_allow.iter().all(|all| all.contains(about))
            },
        })?;
        if self.deny_ambiguities && !graph.ambiguities.is_empty() {
            return Err(ScheduleError::Ambiguous { ambiguities: graph.ambiguities });
        }
        let parts = stages::cut(&graph, &built.accesses, boundary_count);
        let plan = Plan::new(graph, parts, self.sharing);
        let written = built.aging.iter().filter(|events| events.writes);
        written.for_each(|events| (events.note_writer)(world));
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
