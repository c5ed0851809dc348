//! Functions as systems.

use std::any::type_name;
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
/// `Marker` selects one of many implementations; the compiler infers it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of system parameters",
    note = "it has up to eight arguments; more go into a struct that derives `SystemParam`"
)]
pub trait SystemFunction<Marker>: Send + 'static {
    /// The parameters as a tuple.
    type Params: SystemParam;
    /// The return type.
    type Output: 'static;

    /// Calls the function.
    fn call(&mut self, arguments: <Self::Params as SystemParam>::Item<'_>) -> Self::Output;
}

/// A function of up to eight parameters of any types.
///
/// As a bound before those that restrict the parameters, it lets the compiler find the signature of a
/// function whose parameters do not fit, so that the error names the one that does not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of up to eight arguments",
    note = "more arguments go into a struct that derives `SystemParam`"
)]
pub trait AnyFunction<Signature> {}

/// A signature whose functions are systems, exclusive or not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the signature of a system",
    label = "not a system",
    note = "a system returns nothing; a function that returns `bool` may be a condition",
    note = "beside `&mut World` a system has only `Local` and `&Pool`; resources are asked of the world"
)]
pub trait SystemSignature<Function> {
    /// Converts the function into a system.
    fn system(function: Function) -> Box<dyn System>;
}

/// A function with the signature of a system: the inverse of [`SystemSignature`]. The compiler checks the
/// bound inside once it knows the whole signature, not as soon as it knows a part.
pub trait FunctionWith<Signature> {
    /// Converts the function into a system.
    fn into_system(self) -> Box<dyn System>;
}

impl<Function, Signature: SystemSignature<Function>> FunctionWith<Signature> for Function {
    fn into_system(self) -> Box<dyn System> {
        Signature::system(self)
    }
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

    pub(super) fn call(&mut self, context: RunContext<'_>) -> Function::Output {
        let state = self.state.as_mut().expect("a system is initialized before it runs");
        let output = match Function::Params::fetch(state, context) {
            Ok(arguments) => self.function.call(arguments),
            Err(why) => panic!("the system {} cannot run: {why}", self.name),
        };
        Function::Params::finish(state, context);
        output
    }
}

debug_fields!([Function: SystemFunction<Marker>, Marker] FunctionSystem<Function, Marker>: name);

// Also for functions that return a value: a condition is initialized and saved as a system is.
impl<Function: SystemFunction<Marker>, Marker> System for FunctionSystem<Function, Marker> {
    fn name(&self) -> &str {
        self.name
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        self.state = Some(Function::Params::init(world, &mut access));
        access
    }

    fn run(&mut self, context: RunContext<'_>) {
        self.call(context);
    }

    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_commands(state, visit);
        }
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_state(state, archive);
        }
    }
}

macro_rules! function_system {
    ($(($param:ident $variable:ident)),*) => {
        #[allow(
            clippy::allow_attributes,
            clippy::unused_unit,
            reason = "without arguments, and only then, the state is nothing"
        )]
        #[diagnostic::do_not_recommend]
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

        impl<Function, Output, $($param),*> AnyFunction<fn($($param),*) -> Output> for Function
        where
            for<'f> &'f mut Function: FnMut($($param),*) -> Output,
        {
        }

        impl<Function, $($param: SystemParam),*> SystemSignature<Function> for fn($($param),*)
        where
            Self: 'static,
            Function: SystemFunction<Self, Output = ()>,
        {
            fn system(function: Function) -> Box<dyn System> {
                Box::new(FunctionSystem::new(function))
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
                // Spelled out for the compiler, which otherwise infers a call with the parameters of the
                // first bound.
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
