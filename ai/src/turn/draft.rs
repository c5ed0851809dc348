//! Drafts: turn actions that are being filled in, at the beginning of their turn.

use std::any::TypeId;
use std::collections::VecDeque;
use std::fmt;

use formic_ecs::{Component, ComponentError, Entity, MissingComponent, World};

use super::action::{Gone, TurnAction, Vacant};
use super::cells::CellName;
use super::error::Refusal;
use super::journal::Journal;
use super::situation::Situation;

/// A kind of turn action: a small enum of the game, with the arguments of each variant.
///
/// Minds decide on such a value, rules answer with it, and scripts and logs consist of it. It is *bound
/// late*: the components that it changes are computed when its turn has come, from the world as it is
/// then.
///
/// ```
/// use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind};
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Clone, PartialEq)]
/// struct Position(i32);
/// # impl CellPosition for Position { type Cell = i32; fn cell(&self) -> i32 { self.0 } }
///
/// #[derive(Clone, Debug)]
/// enum Deed {
///     Walk { who: Entity, by: i32 },
///     Vanish(Entity),
/// }
///
/// impl TurnActionKind for Deed {
///     type Cell = i32;
///
///     fn bind(&self, draft: &mut Draft<i32>) -> Result<(), Refusal> {
///         match *self {
///             Deed::Walk { who, by } => {
///                 let Position(at) = *draft.get(who)?;
///                 draft.insert(who, Position(at + by));
///             }
///             Deed::Vanish(who) => draft.despawn(who),
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait TurnActionKind: Clone + fmt::Debug + Send + Sync + 'static {
    /// The name of a cell. A game without cells uses `()`.
    type Cell: CellName;

    /// Fills in what this kind changes in the current world.
    ///
    /// # Errors
    /// Returns an error if the kind makes no sense here. Nothing has happened then.
    fn bind(&self, draft: &mut Draft<'_, Self::Cell>) -> Result<(), Refusal>;

    /// The description in [decision records](crate::explain), where `name` returns the name of an entity:
    /// `shoot Rat#12`. The default is the name of the variant in words.
    ///
    /// ```
    /// use formic_ai::turn::{Draft, Next, Refusal, TurnActionKind, Turns, unseen};
    /// use formic_ecs::{Entity, World};
    /// #[derive(Clone, Debug)]
    /// struct Greet(Entity);
    /// impl TurnActionKind for Greet {
    ///     type Cell = ();
    ///     fn bind(&self, _: &mut Draft<()>) -> Result<(), Refusal> { Ok(()) }
    ///     fn describe(&self, name: &dyn Fn(Entity) -> String) -> String { format!("greet {}", name(self.0)) }
    ///     fn duration(&self) -> u64 { 3 }
    /// }
    /// let mut world = World::new();
    /// let (hero, king) = (world.spawn(()), world.spawn(()));
    /// let mut turns = Turns::builder().build(&mut world)?;
    /// turns.schedule(hero, 0);
    /// turns.take_turn(&mut world, hero, Greet(king), unseen)?;
    /// let trace = turns.trace().described(&|_| "the king".to_owned());
    /// assert!(trace.starts_with("greet the king: committed"));
    /// assert_eq!(turns.upcoming().tickets_of(hero).next().map(|ticket| ticket.time()), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn describe(&self, name: &dyn Fn(Entity) -> String) -> String {
        _ = name;
        in_words(&format!("{self:?}"))
    }

    /// The time until the next turn of its actor, in units that the game chooses. If nothing was done, it
    /// is at least 1.
    fn duration(&self) -> u64 {
        1
    }
}

/// The name of the variant in words, from the debug text of a value: `CloseDoor { .. }` becomes `close
/// door`.
fn in_words(text: &str) -> String {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut words = String::new();
    for letter in text[..end].chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Declares a component to the world, the journal and the actions.
pub(super) type Declare = fn(&mut World, &mut Journal, &mut TurnAction);

/// Done before the game begins, so that neither what can be loaded nor the order in which an action is
/// applied depends on the turns that were taken.
pub(super) fn declare<T: Component + Clone>(
    world: &mut World,
    journal: &mut Journal,
    action: &mut TurnAction,
) {
    world.register::<T>();
    journal.declare::<T>();
    action.declare::<T>();
}

/// A component that an entity loses when a turn despawns it.
#[derive(Clone, Copy)]
pub(super) struct DeclaredComponent {
    pub(super) component: TypeId,
    pub(super) remove: fn(&World, Entity, &mut TurnAction),
    pub(super) declare: Declare,
}

impl DeclaredComponent {
    pub(super) fn of<T: Component + Clone>() -> Self {
        Self {
            component: TypeId::of::<T>(),
            remove: |world, entity, action| {
                if world.has::<T>(entity) {
                    action.remove::<T>(entity);
                }
            },
            declare: declare::<T>,
        }
    }
}

/// A turn action that is being filled in.
#[derive(Debug)]
pub struct Draft<'a, C> {
    pub(super) now: Situation<'a, C>,
    pub(super) action: &'a mut TurnAction,
    pub(super) vacant: &'a VecDeque<Entity>,
}

impl<'a, C: CellName> Draft<'a, C> {
    /// The current world.
    #[must_use]
    pub fn now(&self) -> Situation<'a, C> {
        self.now
    }

    /// A component of an entity in the current world.
    ///
    /// # Errors
    /// Returns [`Refusal::Dead`] if the entity is gone, and [`Refusal::Missing`] if it lacks the
    /// component.
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&'a T, Refusal> {
        self.now.get(entity).map_err(|error| match error {
            _ if !self.now.is_alive(entity) => Refusal::Dead(entity),
            ComponentError::Missing(MissingComponent { entity, component }) => {
                Refusal::Missing { entity, component }
            }
            other => Refusal::Malformed(other.to_string()),
        })
    }

    /// See [`TurnAction::insert`].
    pub fn insert<T: Component + Clone>(&mut self, entity: Entity, value: T) {
        self.action.insert(entity, value);
    }

    /// See [`TurnAction::remove`].
    pub fn remove<T: Component + Clone>(&mut self, entity: Entity) {
        self.action.remove::<T>(entity);
    }

    /// Brings an entity into the game, one that waited as [`Vacant`]. Insert its components.
    ///
    /// # Errors
    /// Returns [`Refusal::NoVacancy`] if no entity is vacant. Return it from
    /// [`bind`](TurnActionKind::bind): more entities are made then, and the kind is bound again, up to
    /// 65,536 entities in one action, or as many as were [reserved](super::Turns::reserve).
    pub fn spawn(&mut self) -> Result<Entity, Refusal> {
        let entity = *self.vacant.get(self.action.spawned).ok_or(Refusal::NoVacancy)?;
        self.action.spawned += 1;
        self.action.remove::<Vacant>(entity);
        Ok(entity)
    }

    /// Takes an entity out of the game: it loses all components that the turns know, and becomes
    /// [`Gone`]. Its turns are cancelled. Insertions of the same action into it, before or after this,
    /// have no effect.
    pub fn despawn(&mut self, entity: Entity) {
        self.action.insert(entity, Gone);
    }

    /// Gives an entity a turn of its own, this long after the current one.
    pub fn schedule(&mut self, entity: Entity, delay: u64) {
        self.action.scheduled.push((entity, delay));
    }
}

/// Fills in an action, and checks that all entities that it concerns are alive.
pub(super) fn bind<K: TurnActionKind>(
    kind: &K,
    now: Situation<'_, K::Cell>,
    known: &[DeclaredComponent],
    vacant: &VecDeque<Entity>,
    action: &mut TurnAction,
) -> Result<(), Refusal> {
    action.clear();
    let bound = kind.bind(&mut Draft { now, action: &mut *action, vacant });
    let settled = bound.and_then(|()| settle(now, known, action));
    if settled.is_err() {
        action.clear();
    }
    settled
}

/// Completes an action: despawned entities keep nothing, and every entity that is changed must exist.
pub(super) fn settle<C: CellName>(
    now: Situation<'_, C>,
    known: &[DeclaredComponent],
    action: &mut TurnAction,
) -> Result<(), Refusal> {
    let gone: Vec<Entity> = action.inserted::<Gone>().map(|(entity, _)| entity).collect();
    for &entity in &gone {
        action.withdraw_all_but::<Gone>(entity);
        known.iter().for_each(|known| (known.remove)(now.world(), entity, action));
    }
    action.scheduled.retain(|(entity, _)| gone.binary_search(entity).is_err());
    let brought_count = action.removed::<Vacant>().count();
    if brought_count != action.spawned || action.inserted::<Vacant>().next().is_some() {
        return Err(Refusal::Malformed(String::from("only a draft brings those that are vacant")));
    }
    let all = action.columns().flat_map(|column| column.changes()).map(|it| it.0);
    let mut last = None;
    for entity in all.chain(action.scheduled.iter().map(|&(entity, _)| entity)) {
        let is_brought = || action.change::<Vacant>(entity) == Some(None);
        if last != Some(entity) && !now.is_alive(entity) && !is_brought() {
            return Err(Refusal::Dead(entity));
        }
        last = Some(entity);
    }
    Ok(())
}
