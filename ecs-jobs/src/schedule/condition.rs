//! Run conditions: whether a system runs in this tick.

use std::any::type_name;
use std::fmt;

use formic_ecs::{QueryFilter, World};

use super::access::SystemAccess;
use super::function::{AnyFunction, FunctionSystem, SystemFunction};
use super::name;
use super::param::RunContext;
use super::query::Query;
use super::save::StateArchive;
use super::system::System;

/// What decides whether a system, or a [`Group`](super::Group), runs in this tick.
///
/// A function with the arguments of a system that returns `bool` is a condition, if it only reads;
/// so are [`any_entity`], [`resource_exists`], [`resource_changed`], [`on_event`](super::on_event), and what
/// [`not`](IntoCondition::not), [`and`](IntoCondition::and) and [`or`](IntoCondition::or) make of others.
///
/// A condition is evaluated right before the system, where its turn has come: after everything that
/// the system waits for. Of several conditions the first that is false decides, and the others are
/// not asked. What they read orders the system as if it read it itself.
///
/// ```
/// use formic_jobs::prelude::*;
/// #[derive(Component)]
/// struct Fire;
/// struct Rain(bool);
///
/// fn it_rains(rain: Res<'_, Rain>) -> bool { rain.0 }
/// fn spread(mut fires: Query<'_, Entity, With<Fire>>, mut commands: Commands<'_>) {
///     fires.for_each(|_| _ = commands.spawn(Fire));
/// }
///
/// let mut world = World::new();
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule = Schedule::builder()
///     .add(spread.run_if(any_entity::<With<Fire>>().and(it_rains.not())))
///     .build(&mut world)?;
/// // Without a fire no system asks for the rain, which is not there yet.
/// schedule.run(&mut world, &pool);
/// world.spawn(Fire);
/// world.insert_resource(Rain(true));
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.len(), 1);
/// world.insert_resource(Rain(false));
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Condition {
    name: String,
    test: Box<dyn Test>,
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.name).finish()
    }
}

/// What a condition does.
trait Test: Send {
    fn initialize(&mut self, world: &mut World) -> SystemAccess;

    fn holds(&mut self, context: RunContext<'_>) -> bool;

    /// Saves or loads what it keeps from one evaluation to the next.
    fn visit_state(&mut self, archive: &mut StateArchive<'_>);
}

impl Condition {
    /// What it is called in explanations.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(super) fn initialize(&mut self, world: &mut World) -> SystemAccess {
        self.test.initialize(world)
    }

    pub(super) fn holds(&mut self, context: RunContext<'_>) -> bool {
        self.test.holds(context)
    }

    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        self.test.visit_state(archive);
    }

    fn with(name: String, test: impl Test + 'static) -> Self {
        Self { name, test: Box::new(test) }
    }
}

/// What can be a [`Condition`]: one, or a function that returns `bool` and only reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "not a condition",
    note = "a condition is a function that returns `bool` and whose arguments only read, such as `Res`, or what `any_entity`, `resource_exists`, `resource_changed` and `on_event` make"
)]
pub trait IntoCondition<Marker>: Sized {
    /// The condition.
    fn into_condition(self) -> Condition;

    /// Holds where both do. The other one is not asked where this one does not hold.
    fn and<Other>(self, other: impl IntoCondition<Other>) -> Condition {
        let parts = [self.into_condition(), other.into_condition()];
        let name = format!("({} and {})", parts[0], parts[1]);
        Condition::with(name, Combined { parts, decide: |holds| holds(0) && holds(1) })
    }

    /// Holds where one of them does. The other one is not asked where this one holds.
    fn or<Other>(self, other: impl IntoCondition<Other>) -> Condition {
        let parts = [self.into_condition(), other.into_condition()];
        let name = format!("({} or {})", parts[0], parts[1]);
        Condition::with(name, Combined { parts, decide: |holds| holds(0) || holds(1) })
    }

    /// Holds where this one does not.
    fn not(self) -> Condition {
        let parts = [self.into_condition()];
        Condition::with(format!("not {}", parts[0]), Combined { parts, decide: |holds| !holds(0) })
    }
}

display_text! { Condition:
    Self { name, .. } => "{name}";
}

/// Marks [`Condition`]s in [`IntoCondition`].
#[derive(Debug)]
pub struct IsCondition;

impl IntoCondition<IsCondition> for Condition {
    fn into_condition(self) -> Condition {
        self
    }
}

impl<Function, Marker: 'static> IntoCondition<fn() -> Marker> for Function
where
    Function: AnyFunction<Marker> + SystemFunction<Marker, Output = bool>,
{
    fn into_condition(self) -> Condition {
        let system = FunctionSystem::new(self);
        Condition::with(name::of_type(system.name()), system)
    }
}

impl<Function, Marker: 'static> Test for FunctionSystem<Function, Marker>
where
    Function: SystemFunction<Marker, Output = bool>,
{
    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        System::initialize(self, world)
    }

    fn holds(&mut self, context: RunContext<'_>) -> bool {
        self.call(context)
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        System::visit_state(self, archive);
    }
}

/// Conditions, and what they make of each other: `decide` asks them by their places.
struct Combined<const COUNT: usize> {
    parts: [Condition; COUNT],
    decide: fn(&mut dyn FnMut(usize) -> bool) -> bool,
}

impl<const COUNT: usize> Test for Combined<COUNT> {
    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        self.parts.iter_mut().for_each(|part| access.absorb(&part.initialize(world)));
        access
    }

    fn holds(&mut self, context: RunContext<'_>) -> bool {
        (self.decide)(&mut |place| self.parts[place].holds(context))
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        self.parts.iter_mut().for_each(|part| part.visit_state(archive));
    }
}

/// Whether any entity passes a filter.
///
/// ```
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Fire;
/// # #[derive(Component)] struct Wet;
/// fn spread() {}
/// let schedule = Schedule::builder().add(spread.run_if(any_entity::<(With<Fire>, Without<Wet>)>()));
/// ```
#[must_use]
pub fn any_entity<F: QueryFilter + 'static>() -> Condition {
    fn any_entity<F: QueryFilter + 'static>(mut all: Query<'_, (), F>) -> bool {
        !all.all().is_empty()
    }
    any_entity::<F>
        .into_condition()
        .named(format!("any_entity::<{}>", name::of_type(type_name::<F>())))
}

/// Whether the world has a resource of this type.
#[must_use]
pub fn resource_exists<T: Send + Sync + 'static>() -> Condition {
    of_resource::<T>("resource_exists", false, |version, _seen| version.is_some())
}

/// Whether a resource was put into the world or written since this condition was evaluated last;
/// the first time, whether it is there, and so the first time after the world was restored. A system that takes a [`ResMut`](super::ResMut) writes once
/// it uses it to change something, not before.
///
/// ```
/// use formic_jobs::prelude::*;
/// struct Map(u32);
/// struct Drawn(u32);
/// fn draw(mut drawn: ResMut<'_, Drawn>) { drawn.0 += 1; }
///
/// let mut world = World::new();
/// world.insert_resource(Map(1));
/// world.insert_resource(Drawn(0));
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule =
///     Schedule::builder().add(draw.run_if(resource_changed::<Map>())).build(&mut world)?;
/// schedule.run(&mut world, &pool);
/// schedule.run(&mut world, &pool);
/// world.resource_mut::<Map>()?.0 = 2;
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.resource::<Drawn>()?.0, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn resource_changed<T: Send + Sync + 'static>() -> Condition {
    of_resource::<T>("resource_changed", true, |version, seen| version > Some(seen))
}

struct OfResource<T> {
    /// Given the version of the resource, and when this was evaluated last.
    ask: fn(Option<u64>, u64) -> bool,
    /// Whether it depends on what others write, and not only on what is there.
    reads: bool,
    seen: u64,
    /// After which restoring of the world that was.
    restored: u64,
    marker: std::marker::PhantomData<fn() -> T>,
}

fn of_resource<T: Send + Sync + 'static>(
    called: &str,
    reads: bool,
    ask: fn(Option<u64>, u64) -> bool,
) -> Condition {
    let name = format!("{called}::<{}>", name::of_type(type_name::<T>()));
    let (seen, restored, marker) = (0, 0, std::marker::PhantomData);
    Condition::with(name, OfResource::<T> { ask, reads, seen, restored, marker })
}

impl<T: Send + Sync + 'static> Test for OfResource<T> {
    fn initialize(&mut self, _world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        if self.reads {
            access.add_resource_read::<T>();
        }
        access
    }

    fn holds(&mut self, context: RunContext<'_>) -> bool {
        let cell = context.cell;
        if cell.restored() != self.restored {
            // Versions have begun anew: all may have changed.
            (self.seen, self.restored) = (0, cell.restored());
        }
        let version = if self.reads {
            cell.resource_version::<T>()
        } else {
            cell.has_resource::<T>().then_some(0)
        };
        let holds = (self.ask)(version, self.seen);
        self.seen = context.cell.version();
        holds
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        archive.version(type_name::<Self>(), &mut self.seen, &mut self.restored);
    }
}
