//! Turn actions: changes of the world as data.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::OnceLock;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity, World};

use super::journal::Journal;

/// The component of an entity that waits to be brought into the game by
/// [`Draft::spawn`](super::Draft::spawn). The one with the lowest number is next.
#[derive(
    Component,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    NoUninit,
    CheckedBitPattern,
)]
#[repr(transparent)]
pub struct Vacant(pub(super) u64);

/// The tag of entities that were taken out of the game by [`Draft::despawn`](super::Draft::despawn).
///
/// Such an entity has none of the components that the turns know. It stays in the world as long as the
/// turn [can be undone](super::TurnLimits::undo), and is despawned then. For turns its handle is stale at
/// once, for the world from the despawn on.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone;

/// A turn action: changes of the world as data. It says which entities get which components, and which
/// lose some.
///
/// A flag is a component without fields. If an action both removes and inserts a component of an entity,
/// it inserts it, in whichever order the calls came: removals are applied first.
///
/// A [`Draft`](super::Draft) fills it in. It can also be filled in by hand, to see what [would
/// be](super::Situation::after).
///
/// ```
/// use formic_ai::turn::TurnAction;
/// use formic_ecs::prelude::*;
/// #[derive(Component, Clone, Debug, PartialEq)]
/// struct Gold(u32);
/// # let mut world = World::new();
/// # let (imp, rat) = (world.spawn(()), world.spawn(()));
/// let mut action = TurnAction::new();
/// action.insert(rat, Gold(7));
/// action.remove::<Gold>(imp);
/// assert!(action.inserted::<Gold>().eq([(rat, &Gold(7))]));
/// assert!(action.removed::<Gold>().eq([imp]));
/// assert_eq!(action.len(), 2);
/// ```
#[derive(Default)]
pub struct TurnAction {
    columns: Vec<(TypeId, Box<dyn AnyColumn>)>,
    /// The number of vacant entities that it takes.
    pub(super) spawned: usize,
    /// The entities that get a turn, and how long after the current one.
    pub(super) scheduled: Vec<(Entity, u64)>,
    /// A value computed from the columns, cached until they change.
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The changes of one component, sorted by entity: a value to insert, or `None` to remove.
struct Column<T> {
    changes: Vec<(Entity, Option<T>)>,
}

/// The changes of a component of any type.
pub(super) trait AnyColumn: Send + Sync {
    fn name(&self) -> &'static str;
    fn len(&self) -> usize;
    /// The entity of the change with this index.
    fn entity(&self, index: usize) -> Entity;
    fn inserts(&self, index: usize) -> bool;
    /// Whether an entity's component is inserted, if it changes; a binary search.
    fn change(&self, entity: Entity) -> Option<bool>;
    /// Cancels an insertion into this entity.
    fn withdraw(&mut self, entity: Entity);
    fn clear(&mut self);
    fn remove_from(&self, world: &mut World, journal: &mut Journal);
    fn insert_into(&mut self, world: &mut World, journal: &mut Journal);
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T> Column<T> {
    fn find(&self, entity: Entity) -> Result<usize, usize> {
        match self.changes.last() {
            Some((last, _)) if *last >= entity => {
                self.changes.binary_search_by_key(&entity, |&(changed, _)| changed)
            }
            _ => Err(self.changes.len()),
        }
    }
}

impl<T: Component + Clone> AnyColumn for Column<T> {
    fn name(&self) -> &'static str {
        T::name()
    }

    fn len(&self) -> usize {
        self.changes.len()
    }

    fn entity(&self, index: usize) -> Entity {
        self.changes[index].0
    }

    fn inserts(&self, index: usize) -> bool {
        self.changes[index].1.is_some()
    }

    fn change(&self, entity: Entity) -> Option<bool> {
        self.find(entity).ok().map(|index| self.inserts(index))
    }

    fn withdraw(&mut self, entity: Entity) {
        if let Ok(index) = self.find(entity) {
            if self.inserts(index) {
                self.changes.remove(index);
            }
        }
    }

    fn clear(&mut self) {
        self.changes.clear();
    }

    fn remove_from(&self, world: &mut World, journal: &mut Journal) {
        for (entity, value) in &self.changes {
            if value.is_none() && world.has::<T>(*entity) {
                journal.save::<T>(world, *entity);
                drop(world.remove::<T>(*entity));
            }
        }
    }

    fn insert_into(&mut self, world: &mut World, journal: &mut Journal) {
        for (entity, value) in self.changes.drain(..) {
            let Some(value) = value else { continue };
            journal.save::<T>(world, entity);
            // An observer of an earlier change may have despawned the entity. Then nothing is inserted.
            drop(world.insert(entity, value));
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl TurnAction {
    /// Creates an action that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a component into an entity, or replaces its value.
    pub fn insert<T: Component + Clone>(&mut self, entity: Entity, value: T) {
        let column = self.column_mut::<T>();
        match column.find(entity) {
            Ok(index) => column.changes[index].1 = Some(value),
            Err(index) => column.changes.insert(index, (entity, Some(value))),
        }
    }

    /// Removes a component from an entity, unless the action also inserts it.
    pub fn remove<T: Component + Clone>(&mut self, entity: Entity) {
        let column = self.column_mut::<T>();
        if let Err(index) = column.find(entity) {
            column.changes.insert(index, (entity, None));
        }
    }

    /// The change of an entity's component: none, a new value, or a removal.
    ///
    /// ```
    /// # use formic_ai::turn::TurnAction;
    /// # use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)]
    /// # struct Gold(u32);
    /// # let mut world = World::new();
    /// # let (imp, rat, cat) = (world.spawn(()), world.spawn(()), world.spawn(()));
    /// let mut action = TurnAction::new();
    /// action.insert(rat, Gold(7));
    /// action.remove::<Gold>(imp);
    /// assert_eq!(action.change(rat), Some(Some(&Gold(7))));
    /// assert_eq!(action.change::<Gold>(imp), Some(None), "it loses it");
    /// assert_eq!(action.change::<Gold>(cat), None, "nothing changes for it");
    /// action.clear();
    /// assert!(action.is_empty());
    /// ```
    #[must_use]
    pub fn change<T: Component>(&self, entity: Entity) -> Option<Option<&T>> {
        let column = self.typed::<T>()?;
        column.find(entity).ok().map(|index| column.changes[index].1.as_ref())
    }

    /// The inserted components of this type, sorted by entity.
    pub fn inserted<T: Component + Clone>(&self) -> impl Iterator<Item = (Entity, &T)> {
        let changes = self.typed::<T>().map_or(&[][..], |column| &column.changes);
        changes.iter().filter_map(|(entity, value)| Some((*entity, value.as_ref()?)))
    }

    /// The entities that lose a component of this type, in ascending order.
    pub fn removed<T: Component + Clone>(&self) -> impl Iterator<Item = Entity> {
        let changes = self.typed::<T>().map_or(&[][..], |column| &column.changes);
        changes.iter().filter_map(|(entity, value)| value.is_none().then_some(*entity))
    }

    /// The number of components that are inserted or removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.iter().map(|(_, column)| column.len()).sum()
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.scheduled.is_empty()
    }

    /// Resets the action so that it changes nothing. Its memory is kept.
    pub fn clear(&mut self) {
        self.kept.take();
        self.spawned = 0;
        self.scheduled.clear();
        for (_, column) in &mut self.columns {
            column.clear();
        }
    }

    /// Cancels all insertions into this entity except those of `T`.
    pub(super) fn withdraw_all_but<T: Component>(&mut self, entity: Entity) {
        self.kept.take();
        let others = self.columns.iter_mut().filter(|(id, _)| *id != TypeId::of::<T>());
        others.for_each(|(_, column)| column.withdraw(entity));
    }

    /// The columns of components that change.
    pub(super) fn columns(&self) -> impl Iterator<Item = (TypeId, &dyn AnyColumn)> {
        let columns = self.columns.iter().map(|(id, column)| (*id, &**column));
        columns.filter(|(_, column)| column.len() > 0)
    }

    pub(super) fn column(&self, component: TypeId) -> Option<&dyn AnyColumn> {
        self.columns().find(|&(id, _)| id == component).map(|(_, column)| column)
    }

    /// Applies the changes, and is empty afterwards. All removals precede all insertions.
    pub(super) fn apply(&mut self, world: &mut World, journal: &mut Journal) {
        self.kept.take();
        for (_, column) in &self.columns {
            column.remove_from(world, journal);
        }
        for (_, column) in &mut self.columns {
            column.insert_into(world, journal);
        }
    }

    /// A value computed from the columns, cached until they change; `None` if a value of another type is
    /// cached.
    pub(super) fn kept<T: Send + Sync + 'static>(
        &self,
        work_out: impl FnOnce() -> T,
    ) -> Option<&T> {
        self.kept.get_or_init(|| Box::new(work_out())).downcast_ref()
    }

    fn typed<T: Component>(&self) -> Option<&Column<T>> {
        let id = TypeId::of::<T>();
        let column = &self.columns.iter().find(|&&(known, _)| known == id)?.1;
        column.as_any().downcast_ref()
    }

    /// Creates the column of `T`, which fixes its position in the order of application.
    pub(super) fn declare<T: Component + Clone>(&mut self) {
        self.column_mut::<T>();
    }

    /// The column of a component, to add changes.
    fn column_mut<T: Component + Clone>(&mut self) -> &mut Column<T> {
        self.kept.take();
        let id = TypeId::of::<T>();
        let index = self.columns.iter().position(|&(known, _)| known == id);
        let index = index.unwrap_or_else(|| {
            self.columns.push((id, Box::new(Column::<T> { changes: Vec::new() })));
            self.columns.len() - 1
        });
        let column = self.columns[index].1.as_any_mut().downcast_mut();
        column.expect("columns are found by the type of their component")
    }
}

/// Lists the entities and the names of components, by component.
impl fmt::Debug for TurnAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for (_, column) in self.columns() {
            for index in 0..column.len() {
                let sign = if column.inserts(index) { '+' } else { '-' };
                list.entry(&format_args!("{} {sign}{}", column.entity(index), column.name()));
            }
        }
        list.finish()
    }
}
