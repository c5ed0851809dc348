//! Real time inside a turn: hooks that run at every point of it.

use bytemuck::{CheckedBitPattern, NoUninit};
use std::sync::Arc;

use formic_ecs::{Component, Entity, HashState};

use super::action::TurnAction;
use super::draft::TurnActionKind;
use super::situation::Situation;

/// Whether the turn has to go on for a hook's sake.
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
    /// The hook has nothing to wait for.
    Still,
}

/// A point in the real time of a turn, as a hook sees it.
pub struct Point<'a, K: TurnActionKind> {
    pub(super) now: Situation<'a, K::Cell>,
    pub(super) action: &'a mut TurnAction,
    pub(super) requests: &'a mut Vec<(u64, K)>,
    pub(super) time: u64,
}

debug_fields!([K: TurnActionKind] Point<'_, K>: time);

impl<'a, K: TurnActionKind> Point<'a, K> {
    /// When it is, counted from the beginning of the turn.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The world as it is, with its cells; both know what the hook writes only when it has ended.
    #[must_use]
    pub fn now(&self) -> Situation<'a, K::Cell> {
        self.now
    }

    /// Gives a component to an entity, or a new value, when the hook has ended.
    pub fn insert<T: Component + Clone>(&mut self, entity: Entity, value: T) {
        self.action.insert(entity, value);
    }

    /// Takes a component from an entity when the hook has ended.
    pub fn remove<T: Component + Clone>(&mut self, entity: Entity) {
        self.action.remove::<T>(entity);
    }

    /// Asks for a turn action, which comes before the rules at this very point.
    pub fn request(&mut self, kind: K) {
        self.request_after(0, kind);
    }

    /// Asks for a turn action, which comes before the rules later.
    pub fn request_after(&mut self, delay: u64, kind: K) {
        self.requests.push((delay, kind));
    }
}

type Run<K> = Box<dyn FnMut(&mut Point<'_, K>) -> Motion + Send + Sync>;

/// A hook that runs at every discrete point inside a turn: what moves by itself, in place of a
/// chain of reactions.
///
/// It may ask for turn actions, and it may write components itself. What it writes goes past the
/// rules, but is undone with the turn. It cannot bring or take out entities: for that there are
/// requests.
///
/// # Panics
///
/// Panics if the hook writes to an entity that is not alive; the turn is taken back then.
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
    /// A hook of this name.
    pub fn new(
        name: impl Into<String>,
        run: impl FnMut(&mut Point<'_, K>) -> Motion + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into().into(), run: Box::new(run) }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}
