//! Putting a schedule together.

use std::any::{TypeId, type_name};
use std::fmt;

use ecs_core::World;

use super::error::ScheduleError;
use super::function::{FunctionSystem, SystemFunction};
use super::graph;
use super::run::Schedule;
use super::system::System;

/// What can be added to a schedule: a function with the right arguments, a [`System`], or either
/// of them with an order.
pub trait IntoSystem<Marker>: Sized {
    /// The system with its place in the order.
    fn into_config(self) -> SystemConfig;

    /// Runs it after another function.
    fn after<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config().after(other)
    }

    /// Runs it before another function.
    fn before<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config().before(other)
    }
}

/// Marks functions in [`IntoSystem`].
#[derive(Debug)]
pub struct IsFunction<Marker>(Marker);

/// Marks [`SystemConfig`]s in [`IntoSystem`].
#[derive(Debug)]
pub struct IsConfig;

impl<Function, Marker> IntoSystem<IsFunction<Marker>> for Function
where
    Function: SystemFunction<Marker>,
    Marker: 'static,
{
    fn into_config(self) -> SystemConfig {
        SystemConfig::new(TypeId::of::<Function>(), FunctionSystem::new(self))
    }
}

impl IntoSystem<IsConfig> for SystemConfig {
    fn into_config(self) -> SystemConfig {
        self
    }
}

/// A system and its place in the order.
pub struct SystemConfig {
    key: TypeId,
    pub(super) system: Box<dyn System>,
    after: Vec<Other>,
    before: Vec<Other>,
}

/// A system that another one is ordered by: all of this type.
struct Other {
    key: TypeId,
    name: &'static str,
}

impl Other {
    fn of<T: 'static>(_: &T) -> Self {
        Self { key: TypeId::of::<T>(), name: type_name::<T>() }
    }
}

impl fmt::Debug for SystemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemConfig").field("system", &self.system.name()).finish_non_exhaustive()
    }
}

impl SystemConfig {
    fn new(key: TypeId, system: impl System + 'static) -> Self {
        Self { key, system: Box::new(system), after: Vec::new(), before: Vec::new() }
    }

    /// A system that is not a function. Others are ordered by it with a value of the same type.
    #[must_use]
    pub fn of<S: System + 'static>(system: S) -> Self {
        Self::new(TypeId::of::<S>(), system)
    }

    /// Runs it after every system of this type; functions have a type each.
    #[must_use]
    pub fn after<T: 'static>(mut self, other: T) -> Self {
        self.after.push(Other::of(&other));
        self
    }

    /// Runs it before every system of this type; functions have a type each.
    #[must_use]
    pub fn before<T: 'static>(mut self, other: T) -> Self {
        self.before.push(Other::of(&other));
        self
    }
}

/// A schedule in the making.
#[derive(Debug, Default)]
pub struct ScheduleBuilder {
    systems: Vec<SystemConfig>,
}

impl ScheduleBuilder {
    /// Adds a system. Between two that touch the same data and that no order connects, the one
    /// that was added first runs first.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adds to a list, as every builder does")]
    pub fn add<Marker>(mut self, system: impl IntoSystem<Marker>) -> Self {
        self.systems.push(system.into_config());
        self
    }

    /// Compiles the schedule for a world.
    ///
    /// # Errors
    /// Where the order is a circle, names a system that was not added, or a system contradicts
    /// itself.
    pub fn build(mut self, world: &mut World) -> Result<Schedule, ScheduleError> {
        let names: Vec<String> =
            self.systems.iter().map(|config| short(config.system.name())).collect();
        let accesses: Vec<_> =
            self.systems.iter_mut().map(|config| config.system.initialize(world)).collect();
        for (name, access) in names.iter().zip(&accesses) {
            if !access.clashes().is_empty() {
                let (system, wanted) = (name.clone(), access.clashes().to_vec());
                return Err(ScheduleError::Contradiction { system, wanted });
            }
        }
        let declared = self.declared(&names)?;
        let graph = graph::compile(&names, &accesses, &declared, world)?;
        Ok(Schedule::new(
            world.id(),
            names,
            self.systems.into_iter().map(|config| config.system),
            graph,
        ))
    }

    /// The declared steps, by place: the first runs before the second.
    fn declared(&self, names: &[String]) -> Result<Vec<(usize, usize)>, ScheduleError> {
        let mut steps = Vec::new();
        for (place, config) in self.systems.iter().enumerate() {
            for other in &config.after {
                steps.extend(self.places(names, place, other)?.map(|earlier| (earlier, place)));
            }
            for other in &config.before {
                steps.extend(self.places(names, place, other)?.map(|later| (place, later)));
            }
        }
        Ok(steps)
    }

    fn places<'a>(
        &'a self,
        names: &[String],
        asking: usize,
        other: &'a Other,
    ) -> Result<impl Iterator<Item = usize> + 'a, ScheduleError> {
        if self.systems.iter().all(|config| config.key != other.key) {
            return Err(ScheduleError::UnknownSystem {
                system: names[asking].clone(),
                other: short(other.name),
            });
        }
        let all = self.systems.iter().enumerate();
        Ok(all.filter(|(_, config)| config.key == other.key).map(|(place, _)| place))
    }
}

/// The last two parts of a path: `miners::systems::identify` becomes `systems::identify`.
fn short(name: &str) -> String {
    let generics = name.find('<').unwrap_or(name.len());
    let mut parts = name[..generics].rsplitn(3, "::");
    let last = parts.next().unwrap_or_default();
    let owner = parts.next().map(|owner| format!("{owner}::")).unwrap_or_default();
    format!("{owner}{last}{}", &name[generics..])
}
