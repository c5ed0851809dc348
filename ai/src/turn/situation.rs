//! The world as it is, or as it would be after an action: the same questions.

use std::any::TypeId;
use std::fmt;
use std::iter::{FusedIterator, Peekable};

use ecs_core::{Component, ComponentError, Entity, MissingComponent, Present, World};

use super::action::{Gone, TurnAction, Vacant, either};
use super::cells::{CellName, Cells};

/// The world as it is, or as it would be after a [`TurnAction`], with the same getters.
///
/// Nothing is copied: what the action inserts is looked up there, what it removes is not seen, and
/// all else is the world's.
///
/// ```
/// # use ai::turn::{Draft, Refusal, TurnAction, TurnActionKind, Turns};
/// # use ecs_core::prelude::*;
/// # #[derive(Clone, Debug)] enum Deed {}
/// # impl TurnActionKind for Deed {
/// #     type Cell = (i32, i32);
/// #     fn bind(&self, _: &mut Draft<'_, (i32, i32)>) -> Result<(), Refusal> { match *self {} }
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
/// # Ok::<(), ai::turn::RuleError>(())
/// ```
pub struct Situation<'a, C> {
    world: &'a World,
    cells: &'a Cells<C>,
    action: Option<&'a TurnAction>,
}

impl<C> Clone for Situation<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Situation<'_, C> {}

impl<C> fmt::Debug for Situation<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Situation").field("after", &self.action).finish_non_exhaustive()
    }
}

impl<'a, C: CellName> Situation<'a, C> {
    pub(super) fn now(world: &'a World, cells: &'a Cells<C>) -> Self {
        Self { world, cells, action: None }
    }

    /// The world as it would be after this action, and this one alone.
    #[must_use]
    pub fn after(self, action: &'a TurnAction) -> Self {
        Self { action: Some(action), ..self }
    }

    /// A component of an entity.
    ///
    /// # Errors
    /// As [`World::get`].
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&'a T, ComponentError> {
        match self.action.and_then(|action| action.change_of::<T>(entity)) {
            None => self.world.get(entity),
            Some(Some(value)) => Ok(value),
            Some(None) => Err(MissingComponent { entity, component: T::name() }.into()),
        }
    }

    /// Whether an entity has a component.
    #[must_use]
    pub fn has<T: Component>(&self, entity: Entity) -> bool {
        match self.action.and_then(|action| action.change_of::<T>(entity)) {
            None => self.world.has::<T>(entity),
            Some(change) => change.is_some(),
        }
    }

    /// Whether an entity is in the world, neither [`Vacant`] nor [`Gone`].
    #[must_use]
    pub fn is_alive(&self, entity: Entity) -> bool {
        self.world.contains(entity) && !self.has::<Vacant>(entity) && !self.has::<Gone>(entity)
    }

    /// What is in a cell.
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

    /// All entities that have a component, enabled or not, in their order.
    ///
    /// A query comes by entities as their rows lie, which undoing may change; this order stays. It
    /// takes memory and time by how many there are.
    ///
    /// ```
    /// # use ai::turn::{Draft, Refusal, TurnAction, TurnActionKind, Turns};
    /// # use ecs_core::prelude::*;
    /// # #[derive(Clone, Debug)] enum Deed {}
    /// # impl TurnActionKind for Deed {
    /// #     type Cell = ();
    /// #     fn bind(&self, _: &mut Draft<'_, ()>) -> Result<(), Refusal> { match *self {} }
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
    /// # Ok::<(), ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn entities_with<T: Component>(&self) -> Vec<Entity> {
        let here = self.world.query_ref_filtered::<Entity, Present<T>>();
        let mut all: Vec<Entity> = here.into_iter().collect();
        if let Some(column) = self.action.and_then(|action| action.column(TypeId::of::<T>())) {
            all.retain(|&entity| !column.changes(entity));
            let inserted = (0..column.len()).filter(|&index| column.inserts(index));
            all.extend(inserted.map(|index| column.entity(index)));
        }
        all.sort_unstable();
        all
    }

    /// The world as it is now, without the action: for queries over all entities.
    #[must_use]
    pub fn world(&self) -> &'a World {
        self.world
    }
}

/// What is in a cell of a [`Situation`].
///
/// Components that the turns aggregate are counted already; others are looked for among the
/// entities of the cell.
pub struct CellView<'a, C> {
    situation: Situation<'a, C>,
    name: C,
}

impl<C: CellName> Clone for CellView<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: CellName> Copy for CellView<'_, C> {}

impl<C: CellName> fmt::Debug for CellView<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.name)?;
        f.debug_list().entries(self.entities()).finish()
    }
}

impl<'a, C: CellName> CellView<'a, C> {
    /// All entities in the cell, in their order.
    #[must_use]
    pub fn entities(&self) -> CellEntities<'a, C> {
        let Situation { cells, action, .. } = self.situation;
        let stay = cells.content(self.name).map_or(&[][..], |content| &content.entities);
        let moved = action.zip(cells.position_type());
        let moved = moved.and_then(|(action, id)| Some((action, action.column(id)?)));
        let arrive = moved.map_or(0, |(_, column)| column.len());
        let sources = Sources { view: *self, stay, moved: moved.map(|(action, _)| action) };
        CellEntities {
            stay: Stay { sources, next: 0 }.peekable(),
            arrive: Arrive { sources, next: 0, end: arrive }.peekable(),
        }
    }

    /// How many entities in the cell have a component.
    #[must_use]
    pub fn count<T: Component>(&self) -> usize {
        let Situation { cells, action, .. } = self.situation;
        let id = TypeId::of::<T>();
        let touches = |action: &TurnAction| {
            cells.position_type().is_some_and(|position| action.column(position).is_some())
                || action.column(id).is_some()
        };
        match cells.aggregate(id) {
            Some(aggregate) if !action.is_some_and(touches) => cells.count(self.name, aggregate),
            Some(aggregate) => {
                // Those whom the action touches are taken off the count and counted again.
                let touched = self.touched(id);
                let has_now = |&entity: &Entity| {
                    cells.cell_of(entity) == Some(self.name)
                        && self.situation.world.has::<T>(entity)
                };
                let has_then = |&entity: &Entity| {
                    self.situation.cell_of(entity) == Some(self.name)
                        && self.situation.has::<T>(entity)
                };
                let counted = cells.count(self.name, aggregate);
                let leave = touched.clone().filter(has_now).count();
                counted - leave + touched.filter(has_then).count()
            }
            None => self.entities().filter(|&entity| self.situation.has::<T>(entity)).count(),
        }
    }

    /// The entities whose position or component of this type the action changes, each once.
    fn touched(&self, component: TypeId) -> impl Iterator<Item = Entity> + Clone + use<'a, C> {
        let Situation { cells, action, .. } = self.situation;
        let column = |id: TypeId| action.and_then(|action| action.column(id));
        let moved = cells.position_type().and_then(column);
        let changed = column(component);
        let same = cells.position_type() == Some(component);
        either(moved, if same { None } else { changed })
    }

    /// Whether any entity in the cell has a component.
    #[must_use]
    pub fn any<T: Component>(&self) -> bool {
        self.count::<T>() > 0
    }

    /// The entities in the cell that have a component, in their order.
    pub fn with<T: Component>(&self) -> impl Iterator<Item = Entity> + use<'a, T, C> {
        let Situation { cells, action, .. } = self.situation;
        let aggregate = cells.aggregate(TypeId::of::<T>()).filter(|_| action.is_none());
        let kept = aggregate.and_then(|aggregate| cells.ids(self.name, aggregate));
        let others = if kept.is_none() { Some(self.entities()) } else { None };
        let situation = self.situation;
        let others = others.into_iter().flatten().filter(move |&it| situation.has::<T>(it));
        kept.unwrap_or(&[]).iter().copied().chain(others)
    }

    /// The first entity in the cell that has a component.
    #[must_use]
    pub fn first<T: Component>(&self) -> Option<Entity> {
        self.with::<T>().next()
    }

    /// Whether nobody is in the cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities().next().is_none()
    }
}

/// Who is in the cell now, and the action that moves somebody.
struct Sources<'a, C> {
    view: CellView<'a, C>,
    stay: &'a [Entity],
    moved: Option<&'a TurnAction>,
}

impl<C: CellName> Clone for Sources<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: CellName> Copy for Sources<'_, C> {}

/// Those in the cell that the action leaves there.
#[derive(Clone)]
struct Stay<'a, C: CellName> {
    sources: Sources<'a, C>,
    next: usize,
}

impl<C: CellName> Iterator for Stay<'_, C> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let Sources { view, stay, moved } = self.sources;
        loop {
            let entity = *stay.get(self.next)?;
            self.next += 1;
            let Some(action) = moved else { return Some(entity) };
            if view.situation.cells.cell_after(action, entity) == Some(view.name) {
                return Some(entity);
            }
        }
    }
}

/// Those that the action brings to the cell from elsewhere.
#[derive(Clone)]
struct Arrive<'a, C: CellName> {
    sources: Sources<'a, C>,
    next: usize,
    end: usize,
}

impl<C: CellName> Iterator for Arrive<'_, C> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let Sources { view, stay, moved } = self.sources;
        let cells = view.situation.cells;
        let column = moved?.column(cells.position_type()?)?;
        while self.next < self.end {
            let entity = column.entity(self.next);
            self.next += 1;
            let is_here = cells.cell_after(moved?, entity) == Some(view.name);
            if is_here && stay.binary_search(&entity).is_err() {
                return Some(entity);
            }
        }
        None
    }
}

/// The entities in a cell, in their order: see [`CellView::entities`].
pub struct CellEntities<'a, C: CellName> {
    stay: Peekable<Stay<'a, C>>,
    arrive: Peekable<Arrive<'a, C>>,
}

impl<C: CellName> fmt::Debug for CellEntities<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellEntities").finish_non_exhaustive()
    }
}

impl<C: CellName> Iterator for CellEntities<'_, C> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        match (self.stay.peek(), self.arrive.peek()) {
            (Some(stay), Some(arrive)) if arrive < stay => self.arrive.next(),
            (Some(_), _) => self.stay.next(),
            (None, _) => self.arrive.next(),
        }
    }
}

impl<C: CellName> FusedIterator for CellEntities<'_, C> {}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ecs_core::{Entity, World};

    use crate::turn::action::{AnyColumn, either};
    use crate::turn::journal::Journal;

    /// Changes of some entities that count how many were looked at.
    struct Counting {
        entities: Vec<Entity>,
        looks: AtomicUsize,
    }

    impl AnyColumn for Counting {
        fn name(&self) -> &'static str {
            "Counting"
        }

        fn len(&self) -> usize {
            self.entities.len()
        }

        fn entity(&self, index: usize) -> Entity {
            self.looks.fetch_add(1, Ordering::Relaxed);
            self.entities[index]
        }

        fn inserts(&self, _: usize) -> bool {
            true
        }

        fn changes(&self, entity: Entity) -> bool {
            let look = |other: &Entity| {
                self.looks.fetch_add(1, Ordering::Relaxed);
                other.cmp(&entity)
            };
            self.entities.binary_search_by(look).is_ok()
        }

        fn withdraw(&mut self, _: Entity) {}

        fn clear(&mut self) {}

        fn remove_from(&self, _: &mut World, _: &mut Journal) {}

        fn insert_into(&mut self, _: &mut World, _: &mut Journal) {}

        fn as_any(&self) -> &dyn Any {
            self
        }

        fn as_any_mut(&mut self) -> &mut dyn Any {
            self
        }
    }

    #[test]
    fn who_is_in_two_columns_is_counted_once_without_looking_at_all_for_each() {
        let all: Vec<Entity> = World::new().spawn_batch([(); 1000]);
        let column = |entities: &[Entity]| {
            let looks = AtomicUsize::new(0);
            Counting { entities: entities.to_vec(), looks }
        };
        let (one, other) = (column(&all[..700]), column(&all[300..]));
        assert!(either(Some(&one), Some(&other)).eq(all.iter().copied()));
        let looks = one.looks.into_inner() + other.looks.into_inner();
        assert!(looks < 1400 + 700 * 12, "{looks} looks at 1400 changes");
    }
}
