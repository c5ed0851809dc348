//! Run conditions: whether a system runs in this tick.

use std::any::type_name;
use std::marker::PhantomData;

use formic_ecs::{QueryFilter, World};

use super::access::SystemAccess;
use super::error::ParamError;
use super::function::{AnyFunction, FunctionSystem, SystemFunction};
use super::name;
use super::param::{RunContext, SystemParam};
use super::query::Query;
use super::save::StateArchive;
use super::system::System;

/// A condition that decides whether a system, or a [`Group`](super::Group), runs in a tick.
///
/// A function with the parameters of a system that returns `bool` and only reads is a condition. So are
/// [`any_entity`], [`resource_exists`], [`resource_changed`], [`on_event`](super::on_event), and
/// combinations by [`not`](IntoCondition::not), [`and`](IntoCondition::and) and
/// [`or`](IntoCondition::or).
///
/// A condition is evaluated right before the system, after everything that the system waits for.
/// Conditions are evaluated in order up to the first that is false. The reads of a condition order the
/// system like its own reads.
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
    pub(super) test: Box<dyn Test>,
}

debug_fields!([] Condition: name);

/// The behaviour of a condition.
pub(super) trait Test: Send {
    fn initialize(&mut self, world: &mut World) -> SystemAccess;

    fn holds(&mut self, context: RunContext<'_>) -> bool;

    /// Saves or loads the state between evaluations.
    fn visit_state(&mut self, archive: &mut StateArchive<'_>);
}

impl Condition {
    /// Returns the name of the condition in explanations.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the same condition under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same condition with the name of a call of `function` for the type `T`.
    pub(super) fn of_type<T>(self, function: &str) -> Self {
        self.named(format!("{function}::<{}>", name::of_type(type_name::<T>())))
    }

    fn with(name: String, test: impl Test + 'static) -> Self {
        Self { name, test: Box::new(test) }
    }
}

/// A type that can be a [`Condition`]: one, or a function that returns `bool` and only reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "not a condition",
    note = "a condition is a function that returns `bool` and whose arguments only read, such as `Res`, or what `any_entity`, `resource_exists`, `resource_changed` and `on_event` make"
)]
pub trait IntoCondition<Marker>: Sized {
    /// The condition.
    fn into_condition(self) -> Condition;

    /// Holds if both hold. `other` is evaluated only if this one holds.
    fn and<Other>(self, other: impl IntoCondition<Other>) -> Condition {
        let parts = [self.into_condition(), other.into_condition()];
        let name = format!("({} and {})", parts[0], parts[1]);
        Condition::with(name, Combined { parts, decide: |holds| holds(0) && holds(1) })
    }

    /// Holds if one of them holds. `other` is evaluated only if this one does not hold.
    fn or<Other>(self, other: impl IntoCondition<Other>) -> Condition {
        let parts = [self.into_condition(), other.into_condition()];
        let name = format!("({} or {})", parts[0], parts[1]);
        Condition::with(name, Combined { parts, decide: |holds| holds(0) || holds(1) })
    }

    /// Holds if this one does not.
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

/// Several conditions combined: `decide` evaluates them by index.
struct Combined<const COUNT: usize> {
    parts: [Condition; COUNT],
    decide: fn(&mut dyn FnMut(usize) -> bool) -> bool,
}

impl<const COUNT: usize> Test for Combined<COUNT> {
    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        self.parts.iter_mut().for_each(|part| access.absorb(&part.test.initialize(world)));
        access
    }

    fn holds(&mut self, context: RunContext<'_>) -> bool {
        (self.decide)(&mut |place| self.parts[place].test.holds(context))
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        self.parts.iter_mut().for_each(|part| part.test.visit_state(archive));
    }
}

/// Holds if any entity passes a filter.
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
    any_entity::<F>.into_condition().of_type::<F>("any_entity")
}

/// Holds if the world has a resource of this type.
#[must_use]
pub fn resource_exists<T: Send + Sync + 'static>() -> Condition {
    fn exists<T: Send + Sync + 'static>(Existence(exists, _): Existence<T>) -> bool {
        exists
    }
    exists::<T>.into_condition().of_type::<T>("resource_exists")
}

/// Whether a resource exists: a parameter that does not wait for those that write the resource.
struct Existence<T>(bool, PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> SystemParam for Existence<T> {
    type State = ();
    type Item<'a> = Self;

    fn init(_world: &mut World, _access: &mut SystemAccess) {}

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<Self, ParamError> {
        Ok(Self(context.cell.has_resource::<T>(), PhantomData))
    }
}

/// Holds if a resource was inserted or written since this condition was last evaluated. At the first
/// evaluation, and at the first after the world was restored, it holds if the resource exists. A
/// [`ResMut`](super::ResMut) counts as a write once the system uses it mutably, not before.
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
    fn changed<T: Send + Sync + 'static>(OfResource(changed, _): OfResource<T>) -> bool {
        changed
    }
    changed::<T>.into_condition().of_type::<T>("resource_changed")
}

/// Whether a resource has changed since this was last asked.
struct OfResource<T>(bool, PhantomData<fn() -> T>);

/// The version at which it was last asked, and the number of the last restoring of the world by then.
type Asked = (u64, u64);

impl<T: Send + Sync + 'static> SystemParam for OfResource<T> {
    type State = Asked;
    type Item<'a> = Self;

    fn init(_world: &mut World, access: &mut SystemAccess) -> Asked {
        access.add_resource_read::<T>();
        (0, 0)
    }

    fn fetch<'a>(asked: &'a mut Asked, context: RunContext<'a>) -> Result<Self, ParamError> {
        let cell = context.cell;
        // Versions restart with a restoring: anything may have changed.
        let seen = if asked.1 == cell.restored() { asked.0 } else { 0 };
        *asked = (cell.version(), cell.restored());
        Ok(Self(cell.resource_version::<T>() > Some(seen), PhantomData))
    }

    fn visit_state((seen, restored): &mut Asked, archive: &mut StateArchive<'_>) {
        archive.version(type_name::<Self>(), seen, restored);
    }
}
