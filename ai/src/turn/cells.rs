//! The spatial hash: the entities in each cell, and which of them have certain components.

use std::any::TypeId;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::Arc;

use formic_ecs::{Component, Entity, Present, World};

use super::action::TurnAction;
use crate::bits::set_bits;
use crate::key_map::KeyMap;

/// A type that can name a cell: two numbers, for instance. Every type that can be copied, compared and
/// hashed is one.
pub trait CellName: Copy + Ord + Hash + Debug + Send + Sync + 'static {}

impl<T: Copy + Ord + Hash + Debug + Send + Sync + 'static> CellName for T {}

/// The component that says in which cell an entity is.
///
/// ```
/// use formic_ai::turn::CellPosition;
/// use formic_ecs::prelude::*;
/// #[derive(Component, Clone, PartialEq)]
/// struct Position { x: i32, y: i32 }
/// impl CellPosition for Position {
///     type Cell = (i32, i32);
///     fn cell(&self) -> (i32, i32) {
///         (self.x, self.y)
///     }
/// }
/// assert_eq!(Position { x: 2, y: 3 }.cell(), (2, 3));
/// ```
pub trait CellPosition: Component + Clone {
    /// The name of a cell.
    type Cell: CellName;

    /// The cell of this position.
    fn cell(&self) -> Self::Cell;
}

/// Functions that read positions of any type.
#[derive(Clone)]
struct Position<C> {
    component: TypeId,
    in_world: fn(&World, Entity) -> Option<C>,
    in_action: fn(&TurnAction, Entity) -> Option<Option<C>>,
    all: fn(&World) -> Vec<Entity>,
}

/// A component for which cells list the entities that have it.
#[derive(Clone)]
pub(super) struct Aggregate {
    component: TypeId,
    has: fn(&World, Entity) -> bool,
}

/// The cell of an entity, and its aggregated components, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed<C> {
    pub(super) cell: C,
    pub(super) bits: u64,
}

/// The contents of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CellContent {
    entities: Vec<Entity>,
    /// The entities with each aggregate.
    having: Vec<Vec<Entity>>,
}

/// The identity of cells and their state: values computed from others are invalid.
#[derive(Clone, Debug, Default)]
pub(super) struct CellsVersion {
    cells: Arc<()>,
    updates: u64,
}

impl PartialEq for CellsVersion {
    fn eq(&self, other: &Self) -> bool {
        self.updates == other.updates && Arc::ptr_eq(&self.cells, &other.cells)
    }
}

/// The maximum number of components that cells can aggregate.
pub(super) const AGGREGATE_COUNT_MAX: usize = 64;

/// The spatial hash of a world: the entities in each cell, and how many and which of them have certain
/// components.
///
/// The turns update it with every commit. Query it through a [`Situation`](super::Situation).
pub struct Cells<C> {
    position: Option<Position<C>>,
    pub(super) aggregates: Vec<Aggregate>,
    contents: KeyMap<C, CellContent>,
    placed: KeyMap<Entity, Placed<C>>,
    /// The number of cells that have an entry but no entities.
    empty_count: usize,
    pub(super) version: CellsVersion,
}

impl<C: CellName> Cells<C> {
    pub(super) fn new() -> Self {
        Self {
            position: None,
            aggregates: Vec::new(),
            contents: KeyMap::default(),
            placed: KeyMap::default(),
            empty_count: 0,
            version: CellsVersion::default(),
        }
    }

    pub(super) fn set_position<P: CellPosition<Cell = C>>(&mut self) {
        self.position = Some(Position {
            component: TypeId::of::<P>(),
            in_world: |world, entity| world.get::<P>(entity).ok().map(CellPosition::cell),
            in_action: |action, entity| {
                action.change::<P>(entity).map(|change| change.map(CellPosition::cell))
            },
            all: |world| world.query_ref_filtered::<Entity, Present<P>>().into_iter().collect(),
        });
    }

    /// Adds a component for which cells list the entities.
    pub(super) fn add_aggregate<T: Component>(&mut self) {
        let component = TypeId::of::<T>();
        if self.aggregate(component).is_some() {
            return;
        }
        assert!(
            self.aggregates.len() < AGGREGATE_COUNT_MAX,
            "cells aggregate 64 components at most"
        );
        self.aggregates.push(Aggregate { component, has: World::has::<T> });
    }

    pub(super) fn aggregate(&self, component: TypeId) -> Option<usize> {
        self.aggregates.iter().position(|aggregate| aggregate.component == component)
    }

    fn position_type(&self) -> Option<TypeId> {
        self.position.as_ref().map(|position| position.component)
    }

    /// Whether a change of this component changes the contents of cells.
    pub(super) fn depends_on(&self, component: TypeId) -> bool {
        self.position_type() == Some(component) || self.aggregate(component).is_some()
    }

    /// The entities in a cell, or those of them that have an aggregate.
    pub(super) fn list(&self, cell: C, aggregate: Option<usize>) -> &[Entity] {
        match (self.contents.get(&cell), aggregate) {
            (None, _) => &[],
            (Some(content), None) => &content.entities,
            (Some(content), Some(aggregate)) => &content.having[aggregate],
        }
    }

    pub(super) fn placed(&self, entity: Entity) -> Option<Placed<C>> {
        self.placed.get(&entity).copied()
    }

    pub(super) fn cell_of(&self, entity: Entity) -> Option<C> {
        self.placed(entity).map(|placed| placed.cell)
    }

    /// The aggregated components of an entity in the world, one bit each.
    pub(super) fn bits(&self, world: &World, entity: Entity) -> u64 {
        let has = self.aggregates.iter().map(|aggregate| (aggregate.has)(world, entity));
        has.enumerate().fold(0, |bits, (bit, has)| bits | (u64::from(has) << bit))
    }

    /// The cell of an entity after an action.
    pub(super) fn cell_after(&self, action: &TurnAction, entity: Entity) -> Option<C> {
        let changed = self.position.as_ref().and_then(|it| (it.in_action)(action, entity));
        changed.unwrap_or_else(|| self.cell_of(entity))
    }

    /// Updates the entry of an entity from the world.
    pub(super) fn refresh(&mut self, world: &World, entity: Entity) {
        // Even if nothing changes here: the components of an entity that is in no cell yet may have
        // changed.
        self.version.updates += 1;
        let Some(position) = &self.position else { return };
        let cell = (position.in_world)(world, entity);
        let now = cell.map(|cell| Placed { cell, bits: self.bits(world, entity) });
        let before = self.placed(entity);
        if before == now {
            return;
        }
        if let Some(placed) = before {
            self.take_out(entity, placed);
        }
        match now {
            Some(placed) => {
                self.put_in(entity, placed);
                self.placed.insert(entity, placed);
            }
            None => {
                self.placed.remove(&entity);
            }
        }
        self.sweep();
    }

    fn put_in(&mut self, entity: Entity, placed: Placed<C>) {
        let having = self.aggregates.len();
        let content = self.contents.entry(placed.cell).or_insert_with(|| {
            self.empty_count += 1;
            CellContent { entities: Vec::new(), having: vec![Vec::new(); having] }
        });
        self.empty_count -= usize::from(content.entities.is_empty());
        insert_sorted(&mut content.entities, entity);
        for index in set_bits(placed.bits) {
            insert_sorted(&mut content.having[index], entity);
        }
    }

    fn take_out(&mut self, entity: Entity, placed: Placed<C>) {
        let Some(content) = self.contents.get_mut(&placed.cell) else { return };
        remove_sorted(&mut content.entities, entity);
        for index in set_bits(placed.bits) {
            remove_sorted(&mut content.having[index], entity);
        }
        self.empty_count += usize::from(content.entities.is_empty());
    }

    /// Removes empty cells once there are many. Some are kept, because entities often return to a cell.
    fn sweep(&mut self) {
        if self.empty_count > 64 + 2 * (self.contents.len() - self.empty_count) {
            self.contents.retain(|_, content| !content.entities.is_empty());
            self.empty_count = 0;
        }
    }

    /// Rebuilds everything from the world.
    pub(super) fn rebuild(&mut self, world: &World) {
        self.contents.clear();
        self.placed.clear();
        self.empty_count = 0;
        self.version.updates += 1;
        let entities = self.position.as_ref().map(|position| (position.all)(world));
        for entity in entities.into_iter().flatten() {
            self.refresh(world, entity);
        }
    }

    /// Compares the contents with the world.
    ///
    /// # Errors
    /// Returns a line that names the wrong cell or entity.
    pub fn check(&self, world: &World) -> Result<(), String> {
        let (position, aggregates) = (self.position.clone(), self.aggregates.clone());
        let mut fresh = Self { position, aggregates, ..Self::new() };
        fresh.rebuild(world);
        let known = self.contents.iter().filter(|(_, content)| !content.entities.is_empty());
        let wrong = known
            .filter(|(cell, content)| fresh.contents.get(cell) != Some(content))
            .map(|(&cell, _)| cell)
            .min();
        if let Some(cell) = wrong {
            let here = self.contents.get(&cell);
            return Err(format!("{cell:?} has {here:?}, not {:?}", fresh.contents.get(&cell)));
        }
        let all = self.placed.keys().chain(fresh.placed.keys());
        match all.filter(|entity| self.placed.get(entity) != fresh.placed.get(entity)).min() {
            Some(entity) => Err(format!("entity {entity} is not where its position says")),
            None => Ok(()),
        }
    }
}

impl<C: CellName> Debug for Cells<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut occupied: Vec<_> =
            self.contents.iter().filter(|(_, it)| !it.entities.is_empty()).collect();
        occupied.sort_by_key(|&(cell, _)| *cell);
        f.debug_map().entries(occupied.into_iter().map(|(cell, it)| (cell, &it.entities))).finish()
    }
}

fn insert_sorted(ids: &mut Vec<Entity>, entity: Entity) {
    if let Err(place) = ids.binary_search(&entity) {
        ids.insert(place, entity);
    }
}

fn remove_sorted(ids: &mut Vec<Entity>, entity: Entity) {
    if let Ok(place) = ids.binary_search(&entity) {
        ids.remove(place);
    }
}
