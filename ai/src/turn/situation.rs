//! The world as it is, or as it would be after an action, with one interface.

#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;

use formic_ecs::{Component, ComponentError, Entity, MissingComponent, Present, World};

use super::action::{Gone, TurnAction, Vacant};
use super::cell_changes::{CellChange, CellChanges};
use super::cells::{CellName, Cells};

/// The world as it is, or as it would be after a [`TurnAction`], with the same getters.
///
/// Nothing is copied: inserted components are looked up in the action, removed ones are hidden, and
/// everything else comes from the world.
///
/// ```
/// # use formic_ai::turn::{Draft, Refusal, TurnAction, TurnActionKind, Turns};
/// # use formic_ecs::prelude::*;
/// # #[derive(Clone, Debug)] enum Deed {}
/// # impl TurnActionKind for Deed {
/// #     type Cell = (i32, i32);
/// #     fn bind(&self, _: &mut Draft<(i32, i32)>) -> Result<(), Refusal> { match *self {} }
/// # }
/// #[derive(Component, Clone, Debug, PartialEq)]
/// struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(5));
/// let turns = Turns::<Deed>::builder().build(&mut world)?;
///
/// let mut action = TurnAction::new();
/// action.insert(imp, Gold(6));
/// let now = turns.now(&world);
/// assert_eq!(now.get(imp), Ok(&Gold(5)));
/// assert_eq!(now.after(&action).get(imp), Ok(&Gold(6)));
/// # Ok::<(), formic_ai::turn::RuleError>(())
/// ```
pub struct Situation<'a, C> {
    world: &'a World,
    cells: &'a Cells<C>,
    action: Option<&'a TurnAction>,
}

copied!([C] Situation<'_, C>);

debug_fields!([C] Situation<'_, C>: action);

impl<'a, C: CellName> Situation<'a, C> {
    pub(super) fn now(world: &'a World, cells: &'a Cells<C>) -> Self {
        Self { world, cells, action: None }
    }

    /// The world as it would be after this action alone.
    #[must_use]
    pub fn after(self, action: &'a TurnAction) -> Self {
        Self { action: Some(action), ..self }
    }

    /// A component of an entity.
    ///
    /// # Errors
    /// Returns the errors of [`World::get`].
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&'a T, ComponentError> {
        match self.action.and_then(|action| action.change::<T>(entity)) {
            None => self.world.get(entity),
            Some(Some(value)) => Ok(value),
            Some(None) => Err(MissingComponent { entity, component: T::name() }.into()),
        }
    }

    /// Whether an entity has a component.
    #[must_use]
    pub fn has<T: Component>(&self, entity: Entity) -> bool {
        match self.action.and_then(|action| action.change::<T>(entity)) {
            None => self.world.has::<T>(entity),
            Some(change) => change.is_some(),
        }
    }

    /// Whether an entity is in the game: in the world, and neither [`Vacant`] nor [`Gone`].
    ///
    /// ```
    /// # use formic_ai::turn::{Draft, Refusal, TurnActionKind, Turns, unseen};
    /// # use formic_ecs::prelude::*;
    /// #[derive(Clone, Debug)]
    /// struct Vanish(Entity);
    /// impl TurnActionKind for Vanish {
    ///     type Cell = ();
    ///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
    ///         draft.despawn(self.0);
    ///         Ok(())
    ///     }
    /// }
    /// # let mut world = World::new();
    /// let ghost = world.spawn(());
    /// let mut turns = Turns::builder().build(&mut world)?;
    /// turns.act(&mut world, Vanish(ghost), unseen);
    /// assert!(!turns.now(&world).is_alive(ghost));
    /// assert!(world.contains(ghost), "the turn can be undone");
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn is_alive(&self, entity: Entity) -> bool {
        self.world.contains(entity) && !self.has::<Vacant>(entity) && !self.has::<Gone>(entity)
    }

    /// The contents of a cell.
    #[must_use]
    pub fn cell(&self, name: C) -> CellView<'a, C> {
        CellView { situation: *self, name }
    }

    /// The cell that an entity is in.
    #[must_use]
    pub fn cell_of(&self, entity: Entity) -> Option<C> {
        match self.action {
            None => self.cells.cell_of(entity),
            Some(action) => self.cells.cell_after(action, entity),
        }
    }

    /// All entities that have a component, enabled or not, in ascending order.
    ///
    /// A query visits entities in the order of their rows, which undoing may change; this order is
    /// stable. It takes memory and time in proportion to their number.
    ///
    /// ```
    /// # use formic_ai::turn::{Draft, Refusal, TurnAction, TurnActionKind, Turns};
    /// # use formic_ecs::prelude::*;
    /// # #[derive(Clone, Debug)] enum Deed {}
    /// # impl TurnActionKind for Deed {
    /// #     type Cell = ();
    /// #     fn bind(&self, _: &mut Draft<()>) -> Result<(), Refusal> { match *self {} }
    /// # }
    /// #[derive(Component, Clone)]
    /// struct Burning;
    /// # let mut world = World::new();
    /// let (imp, rat) = (world.spawn(()), world.spawn(Burning));
    /// let turns = Turns::<Deed>::builder().build(&mut world)?;
    /// let mut action = TurnAction::new();
    /// action.insert(imp, Burning);
    /// assert_eq!(turns.now(&world).entities_with::<Burning>(), [rat]);
    /// assert_eq!(turns.now(&world).after(&action).entities_with::<Burning>(), [imp, rat]);
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn entities_with<T: Component>(&self) -> Vec<Entity> {
        let here = self.world.query_ref_filtered::<Entity, Present<T>>();
        let mut all: Vec<Entity> = here.into_iter().collect();
        if let Some(column) = self.action.and_then(|action| action.column(TypeId::of::<T>())) {
            all.retain(|&entity| column.change(entity).is_none());
            all.extend(column.changes().iter().filter(|(_, inserts)| *inserts).map(|it| it.0));
        }
        all.sort_unstable();
        all
    }

    /// The changes of the action in the cells, if there is one.
    fn changes(&self) -> Option<Cow<'a, CellChanges<C>>> {
        self.action.map(|action| CellChanges::of(self.world, self.cells, action))
    }

    /// The world as it is now, without the action, for queries over all entities.
    #[must_use]
    pub fn world(&self) -> &'a World {
        self.world
    }
}

/// The contents of a cell of a [`Situation`].
///
/// Components that the turns aggregate are counted in advance; others are searched among the entities of
/// the cell.
///
/// ```
/// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnAction, TurnActionKind, Turns};
/// # use formic_ecs::prelude::*;
/// #[derive(Component, Clone)]
/// struct Position(i32);
/// impl CellPosition for Position {
///     type Cell = i32;
///     fn cell(&self) -> i32 { self.0 }
/// }
/// #[derive(Component, Clone)]
/// struct Burning;
/// # #[derive(Clone, Debug)] enum Deed {}
/// # impl TurnActionKind for Deed {
/// #     type Cell = i32;
/// #     fn bind(&self, _: &mut Draft<i32>) -> Result<(), Refusal> { match *self {} }
/// # }
/// let mut world = World::new();
/// let (imp, rat) = (world.spawn((Position(3), Burning)), world.spawn(Position(3)));
/// let builder = Turns::<Deed>::builder().position::<Position>().set::<Burning>();
/// let turns = builder.build(&mut world)?;
/// let now = turns.now(&world);
/// assert!(now.cell(3).entities().eq([imp, rat]) && now.cell(3).any::<Burning>());
/// let mut action = TurnAction::new();
/// action.insert(imp, Position(4)); // It jumps aside:
/// let after = now.after(&action);
/// assert!(after.cell(3).entities().eq([rat]) && !after.cell(3).any::<Burning>());
/// assert_eq!((now.cell_of(imp), after.cell_of(imp)), (Some(3), Some(4)));
/// # Ok::<(), formic_ai::turn::RuleError>(())
/// ```
#[derive(Clone, Copy)]
pub struct CellView<'a, C> {
    situation: Situation<'a, C>,
    name: C,
}

impl<C: CellName> fmt::Debug for CellView<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.name)?;
        f.debug_list().entries(self.entities()).finish()
    }
}

impl<'a, C: CellName> CellView<'a, C> {
    /// All entities in the cell, in ascending order.
    #[must_use]
    pub fn entities(&self) -> CellEntities<'a, C> {
        self.list(None)
    }

    /// The list of a cell without the entities that the action takes from it, and with those that it
    /// adds.
    fn list(&self, aggregate: Option<usize>) -> CellEntities<'a, C> {
        let kept = self.situation.cells.list(self.name, aggregate);
        let changes = match self.situation.changes() {
            None => Cow::Borrowed(&[][..]),
            Some(Cow::Borrowed(changes)) => Cow::Borrowed(changes.in_cell(self.name)),
            Some(Cow::Owned(changes)) => Cow::Owned(changes.in_cell(self.name).to_vec()),
        };
        CellEntities { kept, changes, next: 0, aggregate }
    }

    /// The number of entities in the cell that have a component.
    ///
    /// For a component that the turns aggregate this takes the time of a lookup, however many entities an
    /// action moves: its changes are computed once, when they are first needed.
    #[must_use]
    pub fn count<T: Component>(&self) -> usize {
        match self.situation.cells.aggregate(TypeId::of::<T>()) {
            aggregate @ Some(_) => self.len(aggregate),
            None => self.entities().filter(|&entity| self.situation.has::<T>(entity)).count(),
        }
    }

    /// The number of all entities, or of those with an aggregate.
    fn len(&self, aggregate: Option<usize>) -> usize {
        let now = self.situation.cells.list(self.name, aggregate).len();
        let more = self.situation.changes().map_or(0, |it| it.more(self.name, aggregate));
        now.saturating_add_signed(more)
    }

    /// Whether any entity in the cell has a component.
    #[must_use]
    pub fn any<T: Component>(&self) -> bool {
        self.count::<T>() > 0
    }

    /// The entities in the cell that have a component, in ascending order.
    pub fn with<T: Component>(&self) -> impl Iterator<Item = Entity> + use<'a, T, C> {
        let situation = self.situation;
        let aggregate = situation.cells.aggregate(TypeId::of::<T>());
        let has = move |&entity: &Entity| aggregate.is_some() || situation.has::<T>(entity);
        self.list(aggregate).filter(has)
    }

    /// The first entity in the cell that has a component.
    #[must_use]
    pub fn first<T: Component>(&self) -> Option<Entity> {
        self.with::<T>().next()
    }

    /// Whether the cell is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len(None) == 0
    }
}

/// The entities in a cell, in ascending order: see [`CellView::entities`].
pub struct CellEntities<'a, C: CellName> {
    /// The entities that are there now.
    kept: &'a [Entity],
    changes: Cow<'a, [CellChange<C>]>,
    /// The index of the first change that was not visited.
    next: usize,
    /// The aggregate that they must have, by index.
    aggregate: Option<usize>,
}

debug_fields!([C: CellName] CellEntities<'_, C>:);

impl<C: CellName> Iterator for CellEntities<'_, C> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        loop {
            let change = self.changes.get(self.next);
            if let Some((&entity, rest)) = self.kept.split_first() {
                if change.is_none_or(|change| entity < change.entity) {
                    self.kept = rest;
                    return Some(entity);
                }
                if change.is_some_and(|change| entity == change.entity) {
                    self.kept = rest;
                }
            }
            let change = change?;
            self.next += 1;
            if change.stays(self.aggregate) {
                return Some(change.entity);
            }
        }
    }
}

impl<C: CellName> FusedIterator for CellEntities<'_, C> {}
