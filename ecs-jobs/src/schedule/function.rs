//! Functions as systems.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use formic_ecs::{CommandBuffer, World};

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::system::System;

/// A function whose arguments are [`SystemParam`]s: up to eight of them.
///
/// One that returns nothing is a system; one that returns `bool`, and writes nothing, is a
/// [condition](super::IntoCondition). [`RunSystem`](super::RunSystem) runs any of them once.
///
/// `Marker` tells the compiler which of the many implementations is meant; it finds it by itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of system parameters",
    label = "one of its arguments is no system parameter",
    note = "it has up to eight arguments, and each is a `SystemParam`: `Query`, `Res`, `Commands` and so on; what is more goes into a struct that derives `SystemParam`",
    note = "a plain value is none: a resource is `Res<T>` or `ResMut<T>`, a value of the system's own is `Local<T>`",
    note = "`&'a mut T` inside of an argument is `&mut T` or `&'static mut T`"
)]
pub trait SystemFunction<Marker>: Send + 'static {
    /// The arguments as a tuple.
    type Params: SystemParam;
    /// What it returns.
    type Output: 'static;

    /// Calls the function.
    fn call(&mut self, arguments: <Self::Params as SystemParam>::Item<'_>) -> Self::Output;
}

/// A system that calls a function.
pub struct FunctionSystem<Function, Marker>
where
    Function: SystemFunction<Marker>,
{
    function: Function,
    name: &'static str,
    state: Option<<Function::Params as SystemParam>::State>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Function: SystemFunction<Marker>, Marker> FunctionSystem<Function, Marker> {
    pub(super) fn new(function: Function) -> Self {
        Self { function, name: type_name::<Function>(), state: None, marker: PhantomData }
    }

    pub(super) const fn function_name(&self) -> &'static str {
        self.name
    }

    pub(super) fn prepare(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        self.state = Some(Function::Params::init(world, &mut access));
        access
    }

    pub(super) fn call(&mut self, context: RunContext<'_>) -> Function::Output {
        let state = self.state.as_mut().expect("a system is initialized before it runs");
        let output = match Function::Params::fetch(state, context) {
            Ok(arguments) => self.function.call(arguments),
            Err(why) => panic!("the system {} cannot run: {why}", self.name),
        };
        Function::Params::finish(state, context);
        output
    }

    pub(super) fn visit_kept(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_state(state, archive);
        }
    }

    pub(super) fn visit_recorded(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_commands(state, visit);
        }
    }
}

impl<Function: SystemFunction<Marker>, Marker> fmt::Debug for FunctionSystem<Function, Marker> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionSystem").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<Function, Marker> System for FunctionSystem<Function, Marker>
where
    Function: SystemFunction<Marker, Output = ()>,
{
    fn name(&self) -> &str {
        self.name
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        self.prepare(world)
    }

    fn run(&mut self, context: RunContext<'_>) {
        self.call(context);
    }

    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        self.visit_recorded(visit);
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        self.visit_kept(archive);
    }
}

macro_rules! function_system {
    ($(($param:ident $variable:ident)),*) => {
        #[allow(
            clippy::allow_attributes,
            clippy::unused_unit,
            reason = "without arguments, and only then, the state is nothing"
        )]
        impl<$($param: SystemParam),*> SystemParam for ($($param,)*) {
            type State = ($($param::State,)*);
            type Item<'a> = ($($param::Item<'a>,)*);

            fn init(world: &mut World, access: &mut SystemAccess) -> Self::State {
                _ = (&world, &access);
                ($($param::init(world, access),)*)
            }

            fn fetch<'a>(state: &'a mut Self::State, context: RunContext<'a>) -> Result<Self::Item<'a>, ParamError> {
                let ($($variable,)*) = state;
                _ = context;
                Ok(($($param::fetch($variable, context)?,)*))
            }

            fn visit_commands(state: &mut Self::State, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
                _ = &visit;
                let ($($variable,)*) = state;
                $($param::visit_commands($variable, visit);)*
            }

            fn finish(state: &mut Self::State, context: RunContext<'_>) {
                let ($($variable,)*) = state;
                _ = context;
                $($param::finish($variable, context);)*
            }

            fn visit_state(state: &mut Self::State, archive: &mut StateArchive<'_>) {
                _ = &archive;
                let ($($variable,)*) = state;
                $($param::visit_state($variable, archive);)*
            }
        }

        impl<Function, Output, $($param: SystemParam),*> SystemFunction<fn($($param),*) -> Output>
            for Function
        where
            Function: Send + 'static,
            Output: 'static,
            // The first bound names the parameters, the second lets them borrow from the run.
            for<'f> &'f mut Function:
                FnMut($($param),*) -> Output + FnMut($($param::Item<'_>),*) -> Output,
        {
            type Params = ($($param,)*);
            type Output = Output;

            fn call(&mut self, arguments: <Self::Params as SystemParam>::Item<'_>) -> Output {
                // Spelled out for the compiler, which else takes the call for one with the
                // parameters of the first bound.
                fn inner<Output, $($param),*>(
                    mut function: impl FnMut($($param),*) -> Output,
                    ($($variable,)*): ($($param,)*),
                ) -> Output {
                    function($($variable),*)
                }
                inner(self, arguments)
            }
        }
    };
}

function_system!();
function_system!((A a));
function_system!((A a), (B b));
function_system!((A a), (B b), (C c));
function_system!((A a), (B b), (C c), (D d));
function_system!((A a), (B b), (C c), (D d), (E e));
function_system!((A a), (B b), (C c), (D d), (E e), (F f));
function_system!((A a), (B b), (C c), (D d), (E e), (F f), (G g));
function_system!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h));
