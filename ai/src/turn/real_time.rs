//! Real time inside a turn: hooks that run at every point of it.

use bytemuck::{CheckedBitPattern, NoUninit};
use std::sync::Arc;

use formic_ecs::{Component, Entity, HashState};

use super::action::TurnAction;
use super::draft::TurnActionKind;
use super::situation::Situation;

/// Whether a hook requires the turn to continue.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u8)]
pub enum Motion {
    /// Something still moves.
    Moving,
    /// The hook waits for nothing.
    Still,
}

/// A point in the real time of a turn, as passed to a hook.
pub struct Point<'a, K: TurnActionKind> {
    pub(super) now: Situation<'a, K::Cell>,
    pub(super) action: &'a mut TurnAction,
    pub(super) requests: &'a mut Vec<(u64, K)>,
    pub(super) time: u64,
}

debug_fields!([K: TurnActionKind] Point<'_, K>: time);

impl<'a, K: TurnActionKind> Point<'a, K> {
    /// The time since the beginning of the turn.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The world with its cells. Neither sees the writes of the hook until it has returned.
    #[must_use]
    pub fn now(&self) -> Situation<'a, K::Cell> {
        self.now
    }

    /// Inserts a component into an entity, or replaces its value, after the hook has returned.
    pub fn insert<T: Component + Clone>(&mut self, entity: Entity, value: T) {
        self.action.insert(entity, value);
    }

    /// Removes a component from an entity after the hook has returned.
    pub fn remove<T: Component + Clone>(&mut self, entity: Entity) {
        self.action.remove::<T>(entity);
    }

    /// Requests a turn action, which is put before the rules at this very point.
    pub fn request(&mut self, kind: K) {
        self.request_after(0, kind);
    }

    /// Requests a turn action, which is put before the rules later.
    pub fn request_after(&mut self, delay: u64, kind: K) {
        self.requests.push((delay, kind));
    }
}

type Run<K> = Box<dyn FnMut(&mut Point<'_, K>) -> Motion + Send + Sync>;

/// A hook that runs at every discrete point inside a turn, for things that move by themselves, in place
/// of a chain of reactions.
///
/// It may request turn actions, and it may write components itself. Its writes bypass the rules, but are
/// undone with the turn. It cannot bring or take out entities: request an action for that.
///
/// # Panics
///
/// Panics if the hook writes to an entity that is not alive; the turn is undone then.
///
/// ```
/// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind};
/// use formic_ai::turn::{Motion, RealTime};
/// # use formic_ecs::prelude::*;
/// # #[derive(Component, Clone)] struct Position(i32);
/// # #[derive(Component, Clone)] struct Velocity(i32);
/// # #[derive(Clone, Debug)] struct Fire;
/// # impl TurnActionKind for Fire {
/// #     type Cell = i32;
/// #     fn bind(&self, _: &mut Draft<i32>) -> Result<(), Refusal> { Ok(()) }
/// # }
/// let fly = RealTime::<Fire>::new("fly", |point| {
///     let mut motion = Motion::Still;
///     let world = point.now().world();
///     for (entity, position, velocity) in world.query_ref::<(Entity, &Position, &Velocity)>() {
///         point.insert(entity, Position(position.0 + velocity.0));
///         motion = Motion::Moving;
///     }
///     motion
/// });
/// assert_eq!(fly.name(), "fly");
/// ```
pub struct RealTime<K: TurnActionKind> {
    pub(super) name: Arc<str>,
    pub(super) run: Run<K>,
}

debug_fields!([K: TurnActionKind] RealTime<K>: name);

impl<K: TurnActionKind> RealTime<K> {
    /// Creates a hook with this name.
    pub fn new(
        name: impl Into<String>,
        run: impl FnMut(&mut Point<'_, K>) -> Motion + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into().into(), run: Box::new(run) }
    }

    /// The name of the hook.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}
