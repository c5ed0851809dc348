//! Where commands are recorded: for one playback, or for any number of them.

use std::sync::Arc;

use formic_ecs::{Bundle, CommandBuffer, Component, Entity, RepeatableCommands, World};

use super::parts::Seed;
use super::shapes::{self, Shape};

/// Recorded commands of either kind, which take the same commands but for copies.
#[expect(clippy::large_enum_variant, reason = "there are four of them")]
pub(crate) enum Sink {
    Once(CommandBuffer),
    Again(RepeatableCommands),
}

/// Hands a call on to whichever it is.
macro_rules! either {
    ($sink:expr, $commands:ident => $call:expr) => {
        match $sink {
            Sink::Once($commands) => $call,
            Sink::Again($commands) => $call,
        }
    };
}

impl Sink {
    /// An empty one of the same kind, for this world.
    pub(crate) fn renewed(&self, world: &World) -> Self {
        match self {
            Self::Once(_) => Self::Once(CommandBuffer::new(world)),
            Self::Again(_) => Self::Again(RepeatableCommands::new(world)),
        }
    }

    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self, Self::Again(_))
    }

    pub(crate) fn len(&self) -> usize {
        either!(self, commands => commands.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        either!(self, commands => commands.is_empty())
    }

    pub(crate) fn set_sort_key(&mut self, sort_key: u64) {
        either!(self, commands => commands.set_sort_key(sort_key));
    }

    pub(crate) fn spawn<B: Bundle + Clone>(&mut self, bundle: B) -> Entity {
        either!(self, commands => commands.spawn(bundle))
    }

    pub(crate) fn insert<B: Bundle + Clone>(&mut self, entity: Entity, bundle: B) {
        either!(self, commands => commands.insert(entity, bundle));
    }

    pub(crate) fn remove<B: Bundle>(&mut self, entity: Entity) {
        either!(self, commands => commands.remove::<B>(entity));
    }

    pub(crate) fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        either!(self, commands => commands.set_enabled::<T>(entity, enabled));
    }

    pub(crate) fn despawn(&mut self, entity: Entity) {
        either!(self, commands => commands.despawn(entity));
    }

    /// A call that takes components from an entity, or takes it away. Where it is repeatable, a
    /// deferred entity stays deferred.
    pub(crate) fn call(&mut self, entity: Entity, shape: Option<Shape>) {
        let remove = shape.map(|shape| shape.fns().remove);
        let call = move |world: &mut World, entity| match remove {
            Some(remove) => drop(remove(world, entity)),
            None => drop(world.despawn(entity)),
        };
        match self {
            Self::Once(commands) => commands.run_with(entity, call),
            Self::Again(commands) => commands.run(move |world| call(world, entity)),
        }
    }

    /// Copies of an entity, each of them with a gift where there is a seed for it. Only once.
    pub(crate) fn instantiate(&mut self, original: Entity, count: usize, gift: Option<&Seed<'_>>) {
        let Self::Once(commands) = self else { panic!("copies cannot be recorded to be repeated") };
        let Some(&Seed { value, link, ledger }) = gift else {
            return commands.instantiate(original, count);
        };
        let ledger = Arc::clone(ledger);
        commands.instantiate_with(original, count, move |nth| {
            shapes::gift(&Seed { value, link, ledger: &ledger }, nth)
        });
    }
}
