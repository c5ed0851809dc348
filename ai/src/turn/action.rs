//! Turn actions: changes of the world as data.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::OnceLock;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity, World};

use super::journal::Journal;
use super::values::{AnyValues, Values};

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
    columns: Vec<Column>,
    /// The number of vacant entities that it takes.
    pub(super) spawned: usize,
    /// The entities that get a turn, and how long after the current one.
    pub(super) scheduled: Vec<(Entity, u64)>,
    /// A value computed from the columns, cached until they change.
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The changes of one component.
pub(super) struct Column {
    pub(super) component: TypeId,
    /// The changed entities in ascending order, and whether the component is inserted or removed.
    changes: Vec<(Entity, bool)>,
    values: Box<dyn AnyValues>,
}

impl Column {
    fn find(&self, entity: Entity) -> Result<usize, usize> {
        match self.changes.last() {
            Some((last, _)) if *last >= entity => {
                self.changes.binary_search_by_key(&entity, |&(changed, _)| changed)
            }
            _ => Err(self.changes.len()),
        }
    }

    /// The changed entities in ascending order, and whether the component is inserted or removed.
    pub(super) fn changes(&self) -> &[(Entity, bool)] {
        &self.changes
    }

    /// Whether an entity's component is inserted, if it changes; a binary search.
    pub(super) fn change(&self, entity: Entity) -> Option<bool> {
        self.find(entity).ok().map(|index| self.changes[index].1)
    }

    /// Cancels an insertion into this entity.
    fn withdraw(&mut self, entity: Entity) {
        if let Some(index) = self.find(entity).ok().filter(|&index| self.changes[index].1) {
            self.changes.remove(index);
            self.values.forget(index);
        }
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
        self.set::<T>(entity, Some(value));
    }

    /// Removes a component from an entity, unless the action also inserts it.
    pub fn remove<T: Component + Clone>(&mut self, entity: Entity) {
        self.set::<T>(entity, None);
    }

    fn set<T: Component + Clone>(&mut self, entity: Entity, value: Option<T>) {
        let column = self.declare::<T>();
        let (found, inserts) = (column.find(entity), value.is_some());
        let values: Option<&mut Values<T>> = column.values.as_any_mut().downcast_mut();
        let values = values.expect("columns are found by the type of their component");
        match found {
            Ok(index) if inserts => (column.changes[index].1, values[index]) = (true, value),
            Ok(_) => {}
            Err(index) => {
                column.changes.insert(index, (entity, inserts));
                values.insert(index, value);
            }
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
        let (column, values) = self.typed::<T>()?;
        column.find(entity).ok().map(|index| values[index].as_ref())
    }

    /// The inserted components of this type, sorted by entity.
    pub fn inserted<T: Component + Clone>(&self) -> impl Iterator<Item = (Entity, &T)> {
        let typed = self.typed::<T>().into_iter();
        let all = typed.flat_map(|(column, values)| column.changes.iter().zip(values));
        all.filter_map(|(&(entity, _), value)| Some((entity, value.as_ref()?)))
    }

    /// The entities from which a component of this type is removed, in ascending order, whether they have
    /// it or not.
    pub fn removed<T: Component + Clone>(&self) -> impl Iterator<Item = Entity> {
        let changes = self.column(TypeId::of::<T>()).map_or(&[][..], Column::changes);
        changes.iter().filter(|(_, inserts)| !inserts).map(|&(entity, _)| entity)
    }

    /// The number of components that are inserted or removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.iter().map(|column| column.changes.len()).sum()
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
        for column in &mut self.columns {
            column.changes.clear();
            column.values.clear();
        }
    }

    /// Cancels all insertions into this entity except those of `T`.
    pub(super) fn withdraw_all_but<T: Component>(&mut self, entity: Entity) {
        self.kept.take();
        let others = self.columns.iter_mut().filter(|it| it.component != TypeId::of::<T>());
        others.for_each(|column| column.withdraw(entity));
    }

    /// The columns of components that change.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.changes.is_empty())
    }

    pub(super) fn column(&self, component: TypeId) -> Option<&Column> {
        self.columns().find(|column| column.component == component)
    }

    /// Applies the changes, and is empty afterwards. All removals precede all insertions.
    pub(super) fn apply(&mut self, world: &mut World, journal: &mut Journal) {
        self.kept.take();
        for Column { component, changes, values } in &self.columns {
            for &(entity, inserts) in changes {
                if !inserts && values.is_in(world, entity) {
                    journal.save(*component, &**values, world, entity);
                    values.remove_from(world, entity);
                }
            }
        }
        for Column { component, changes, values } in &mut self.columns {
            for (entity, inserts) in changes.drain(..) {
                if inserts {
                    journal.save(*component, &**values, world, entity);
                }
                values.put(0, world, entity, None);
            }
        }
        self.clear();
    }

    /// A value computed from the columns, cached until they change; `None` if a value of another type is
    /// cached.
    pub(super) fn kept<T: Send + Sync + 'static>(
        &self,
        work_out: impl FnOnce() -> T,
    ) -> Option<&T> {
        self.kept.get_or_init(|| Box::new(work_out())).downcast_ref()
    }

    fn typed<T: Component>(&self) -> Option<(&Column, &Values<T>)> {
        let column = self.column(TypeId::of::<T>())?;
        Some((column, column.values.as_any().downcast_ref()?))
    }

    /// The column of `T`. Its creation fixes its position in the order of application.
    pub(super) fn declare<T: Component + Clone>(&mut self) -> &mut Column {
        self.kept.take();
        let component = TypeId::of::<T>();
        let index = self.columns.iter().position(|it| it.component == component);
        let index = index.unwrap_or_else(|| {
            let values = Box::new(Values::<T>::new());
            self.columns.push(Column { component, changes: Vec::new(), values });
            self.columns.len() - 1
        });
        &mut self.columns[index]
    }
}

/// Lists the entities and the names of components, by component.
impl fmt::Debug for TurnAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for column in self.columns() {
            for (entity, inserts) in column.changes() {
                let sign = if *inserts { '+' } else { '-' };
                list.entry(&format_args!("{entity} {sign}{}", column.values.name()));
            }
        }
        list.finish()
    }
}
