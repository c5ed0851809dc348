//! The parameters of a system.

use std::any::type_name;
use std::ops::{Deref, DerefMut};

use formic_ecs::{
    CommandBuffer, EnabledMut, QueryData, Res, ResMut, View, ViewPlan, World, WorldCell,
};

use super::access::{How, SystemAccess};
use super::error::ParamError;
use super::name;
use super::save::StateArchive;
use crate::pool::Pool;

/// The context of a run: a reference to its [`RunData`].
pub type RunContext<'a> = &'a RunData<'a>;

/// The data available to a run, see [`RunContext`].
#[derive(Debug)]
#[non_exhaustive]
pub struct RunData<'a> {
    /// The world, shared with the systems that run in parallel, and restricted to the declared access of
    /// the system.
    pub cell: WorldCell<'a>,
    /// The pool that the schedule runs on.
    pub pool: &'a Pool,
    /// The part of the entities for this tick, if the system is staggered: those whose index divided by
    /// `.0` leaves the remainder `.1`.
    pub slice: Option<(u32, u32)>,
    /// The number of the run, see [`Schedule::tick`](super::Schedule::tick); 0 for a system that runs
    /// outside a schedule.
    pub tick: u64,
}

/// A type that can be a parameter of a system, or a field of a struct that can: derive it for a struct of
/// parameters that several systems take.
///
/// ```
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Target(Entity);
/// # struct Wind(f32);
/// #[derive(SystemParam)]
/// struct Surroundings<'w> {
///     wind: Res<'w, Wind>,
///     positions: ComponentLookup<'w, &'static Position>,
/// }
///
/// fn aim(mut archers: Query<&Target>, around: Surroundings) {
///     for target in &mut archers {
///         let place = around.positions.get(target.0).map(|place| place.0 + around.wind.0);
///         assert_eq!(place, Ok(3.0));
///     }
/// }
/// # let mut world = World::new();
/// # world.insert_resource(Wind(1.0));
/// # let target = world.spawn(Position(2.0));
/// # world.spawn(Target(target));
/// # world.run_system(&Pool::new(Threads::None)?, aim);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Two fields that request conflicting accesses are an error that names them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system parameter",
    label = "`{Self}` is not a system parameter",
    note = "`Query`, `ResMut`, `Commands` and other parameters are taken by value: `mut all: Query<..>` in place of `all: &mut Query<..>`",
    note = "if it is no reference, use `Res<{Self}>` or `ResMut<{Self}>` for a resource, `Local<{Self}>` for state of the system, `Query<&{Self}>` for a component",
    note = "`&mut World` is the first argument of a system, or none"
)]
pub trait SystemParam {
    /// The state that is kept between runs.
    type State: Send + 'static;
    /// The argument for one run.
    type Item<'a>;

    /// Creates the state for a world, and declares the access.
    fn init(world: &mut World, access: &mut SystemAccess) -> Self::State;

    /// Returns the argument.
    ///
    /// # Errors
    /// Returns an error if it is not available: then the run panics with the name of the system.
    fn fetch<'a>(
        state: &'a mut Self::State,
        context: RunContext<'a>,
    ) -> Result<Self::Item<'a>, ParamError>;

    /// Passes the commands recorded during the run to `visit`, see [`System::visit_commands`].
    ///
    /// [`System::visit_commands`]: super::System::visit_commands
    fn visit_commands(state: &mut Self::State, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        _ = (state, visit);
    }

    /// Publishes what the argument collected during the run, as [`EventWriter`](super::EventWriter) does;
    /// not called if the system panics. A parameter that contains others forwards the call, as with
    /// `visit_commands`.
    fn finish(state: &mut Self::State, context: RunContext<'_>) {
        _ = (state, context);
    }

    /// Saves or loads the state that is kept between runs and affects later ones, see
    /// [`Save`](super::Save). By default, state that occupies memory cannot be saved, and `Save::of`
    /// reports it. A parameter that contains others forwards the call.
    fn visit_state(state: &mut Self::State, archive: &mut StateArchive<'_>) {
        _ = state;
        if size_of::<Self::State>() > 0 {
            let what = format!("the parameter {}", name::of_type(type_name::<Self>()));
            archive.cannot_save(&what, "implement `visit_state` for it");
        }
    }
}

/// The pool that the schedule runs on, for work beyond queries.
impl SystemParam for &Pool {
    type State = ();
    type Item<'a> = &'a Pool;

    fn init(_world: &mut World, _access: &mut SystemAccess) {}

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<&'a Pool, ParamError> {
        Ok(context.pool)
    }
}

impl<T: Send + Sync + 'static> SystemParam for Res<'_, T> {
    type State = ();
    type Item<'a> = Res<'a, T>;

    fn init(_world: &mut World, access: &mut SystemAccess) {
        access.add_resource_read::<T>();
    }

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<Res<'a, T>, ParamError> {
        Ok(context.cell.resource()?)
    }
}

/// An optional resource: `None` if it is not in the world.
impl<T: Send + Sync + 'static> SystemParam for Option<Res<'_, T>> {
    type State = ();
    type Item<'a> = Option<Res<'a, T>>;

    fn init(_world: &mut World, access: &mut SystemAccess) {
        access.add_resource::<T>(How::Read, true);
    }

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<Self::Item<'a>, ParamError> {
        let is_there = context.cell.has_resource::<T>();
        Ok(if is_there { Some(context.cell.resource()?) } else { None })
    }
}

impl<T: Send + Sync + 'static> SystemParam for ResMut<'_, T> {
    type State = ();
    type Item<'a> = ResMut<'a, T>;

    fn init(_world: &mut World, access: &mut SystemAccess) {
        access.add_resource_write::<T>();
    }

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<ResMut<'a, T>, ParamError> {
        Ok(context.cell.resource_mut()?)
    }
}

/// A value owned by the system and kept between runs.
#[derive(Debug)]
pub struct Local<'a, T>(&'a mut T);

impl<'a, T> Local<'a, T> {
    pub(super) const fn new(value: &'a mut T) -> Self {
        Self(value)
    }
}

impl<T: Default + Send + 'static> SystemParam for Local<'_, T> {
    type State = T;
    type Item<'a> = Local<'a, T>;

    fn init(_world: &mut World, _access: &mut SystemAccess) -> T {
        T::default()
    }

    fn fetch<'a>(state: &'a mut T, _context: RunContext<'a>) -> Result<Local<'a, T>, ParamError> {
        Ok(Local(state))
    }

    fn visit_state(state: &mut T, archive: &mut StateArchive<'_>) {
        archive.value(state);
    }
}

impl<T> Deref for Local<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> DerefMut for Local<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0
    }
}

/// Random access to the components of any entity: the view of ecs-core.
pub type ComponentLookup<'a, Q> = View<'a, Q>;

impl<Q: QueryData + 'static> SystemParam for View<'_, Q> {
    type State = ViewPlan<Q>;
    type Item<'a> = View<'a, Q>;

    fn init(world: &mut World, access: &mut SystemAccess) -> ViewPlan<Q> {
        let plan = world.view_plan::<Q>();
        access.add_components(plan.access(), world);
        plan
    }

    fn fetch<'a>(
        plan: &'a mut ViewPlan<Q>,
        context: RunContext<'a>,
    ) -> Result<View<'a, Q>, ParamError> {
        Ok(context.cell.view(plan)?)
    }

    /// It remembers only the positions of components.
    fn visit_state(_plan: &mut ViewPlan<Q>, _archive: &mut StateArchive<'_>) {}
}

/// Enables and disables `T` of any entity, from any thread of the system: a lookup with
/// [`set`](View::set).
///
/// If rows of a parallel loop set one bit to different values, or use the former value that the call
/// returns while others set that bit, the result depends on timing. Where several rows may switch one
/// bit, claim it by an [`ExclusiveLookup`](super::ExclusiveLookup) of [`EnabledMut`].
pub type EnabledLookup<'a, T> = ComponentLookup<'a, EnabledMut<T>>;
