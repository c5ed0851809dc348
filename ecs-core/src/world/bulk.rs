//! Changes to all entities that pass a filter, by runs of rows and whole chunks.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::World;
use crate::archetype::{Archetype, ArchetypeId};
use crate::bundle::{Bundle, Parts};
use crate::component::{ArchetypeFlags, Component, ComponentId};
use crate::entity::Entity;
use crate::mask::Rows;
use crate::query::{ChunkRef, MatchOf, QueryFilter, matches_once, rows};
use crate::storage::RowAddress;
use crate::transfer::{Change, ReplacedRows, RowMoves};

/// All entities that pass a filter when a change is made to them, made by [`World::bulk`].
///
/// The filter sees enabled bits as a query does. Rows go by runs and chunks, unless a hook
/// [watches](crate::Hooks::observe): then entities go one by one.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone)] struct Position(f32);
/// # #[derive(Component, Clone)] struct Frozen;
/// # #[derive(Component)] #[component(enableable)] struct Awake;
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(|i| (Position(i as f32), Awake)));
///
/// assert_eq!(world.bulk::<With<Awake>>().insert(Frozen), 1000);
/// assert_eq!(world.bulk::<With<Frozen>>().set_enabled::<Awake>(false), 1000);
/// assert_eq!(world.bulk::<Without<Awake>>().remove::<Frozen>(), 1000);
/// assert_eq!(world.bulk::<()>().despawn(), 1000);
/// assert!(world.is_empty());
/// ```
pub struct Bulk<'w, F: QueryFilter> {
    world: &'w mut World,
    filter: PhantomData<fn() -> F>,
}

debug_fields!([F: QueryFilter] Bulk<'_, F>:);

/// Bulk changes.
impl World {
    /// All entities that pass a filter, to be changed together.
    pub fn bulk<F: QueryFilter>(&mut self) -> Bulk<'_, F> {
        Bulk { world: self, filter: PhantomData }
    }
}

type Found<F> = MatchOf<(), F>;

impl<F: QueryFilter> Bulk<'_, F> {
    /// Gives each entity clones of these components, as [`World::insert`] does; returns how many
    /// entities there were.
    ///
    /// Should a clone or a drop panic, some entities have the components and the others do not.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[expect(clippy::needless_pass_by_value, reason = "as `insert`; it is dropped in the end")]
    pub fn insert<B: Bundle + Clone>(self, bundle: B) -> usize {
        let matches = self.matches();
        let World { bundles, registry, archetypes, .. } = &mut *self.world;
        let targets: Vec<_> = matches
            .iter()
            .map(|found| {
                bundles.insertion::<B::Parts>(found.archetype, registry, archetypes).target
            })
            .collect();
        if self.tells(&matches) || targets.iter().any(|&target| self.tells_of(target)) {
            let insert = |world: &mut World, entity| world.insert(entity, bundle.clone()).is_ok();
            return self.one_by_one(&matches, insert);
        }
        // First those that stay: they must not meet the ones that come.
        let (stay, go): (Vec<_>, Vec<_>) =
            matches.iter().zip(&targets).partition(|(found, target)| found.archetype == **target);
        let stayed: usize =
            stay.iter().map(|(found, _)| self.world.replace_all::<B, F>(found, &bundle)).sum();
        let gone: usize =
            go.iter().map(|(found, _)| self.world.insert_all::<B, F>(found, &bundle)).sum();
        stayed + gone
    }

    /// Takes components from each entity that has all of them, and drops them; returns how many
    /// entities there were.
    ///
    /// Should a drop panic, the components of all entities of the same archetype are gone, and
    /// each was dropped once; where entities go one by one, those of the entities up to that one.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn remove<B: Bundle>(self) -> usize {
        let matches = self.matches();
        if self.tells(&matches) {
            return self.one_by_one(&matches, |world, entity| {
                world.remove_parts::<B::Parts>(entity).is_ok()
            });
        }
        matches.iter().map(|found| self.world.remove_all::<B::Parts, F>(found)).sum()
    }

    /// Takes each entity out of the world and drops its components; returns how many there were.
    ///
    /// Should a drop panic, all entities of the same archetype are gone, and each of their
    /// components was dropped once; where they go one by one, all entities up to that one.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn despawn(self) -> usize {
        let matches = self.matches();
        if self.tells(&matches) {
            return self.one_by_one(&matches, |world, entity| world.despawn(entity).is_ok());
        }
        matches.iter().map(|found| self.world.despawn_all::<F>(found)).sum()
    }

    /// Switches a component on or off in each entity that has it; returns how many there were. Whole
    /// words of bits are written; a filter that names the component sees the bits as they were.
    ///
    /// Does not compile where the component is not declared enableable.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn set_enabled<T: Component>(self, enabled: bool) -> usize {
        const {
            assert!(
                T::ENABLEABLE,
                "the component is not enableable: declare it with #[component(enableable)]"
            );
        };
        let Some(id) = self.world.registry.get::<T>() else { return 0 };
        let matches = self.matches();
        let switch = |found: &Found<F>| {
            let archetype = self.world.archetypes.get(found.archetype);
            set_enabled_in(archetype, id, rows_of::<F>(found), enabled)
        };
        matches.iter().map(switch).sum()
    }

    /// The archetypes that have rows to be looked at.
    fn matches(&self) -> Vec<Found<F>> {
        matches_once::<(), F>(&self.world.registry, self.world.archetypes.list())
    }

    /// Whether a hook has to be told of what happens to entities of an archetype.
    fn tells_of(&self, archetype: ArchetypeId) -> bool {
        self.world.archetypes.get(archetype).flags != ArchetypeFlags::NONE
    }

    fn tells(&self, matches: &[Found<F>]) -> bool {
        matches.iter().any(|found| self.tells_of(found.archetype))
    }

    /// All of them first, and then one after the other: observers may change anything.
    fn one_by_one(
        self,
        matches: &[Found<F>],
        mut change: impl FnMut(&mut World, Entity) -> bool,
    ) -> usize {
        let mut all = Vec::new();
        for found in matches {
            list_entities(
                self.world.archetypes.get(found.archetype),
                rows_of::<F>(found),
                &mut all,
            );
        }
        all.into_iter().filter(|&entity| change(self.world, entity)).count()
    }
}

/// The rows of a chunk that pass.
fn rows_of<F: QueryFilter>(found: &Found<F>) -> impl Fn(&ChunkRef<'_>) -> Rows {
    |chunk| rows::<(), F>(found, chunk)
}

/// Adds the entities of some rows of an archetype to a list, in order.
pub(crate) fn list_entities(
    archetype: &Archetype,
    rows_of: impl Fn(&ChunkRef<'_>) -> Rows,
    all: &mut Vec<Entity>,
) {
    each_run(
        &mut &*archetype,
        rows_of,
        |here| here,
        |here, from, count| {
            let rows = from.row..from.row + count;
            all.extend_from_slice(&here.chunks.entities(from.chunk)[rows]);
        },
    );
}

/// Switches a component on or off in some rows of an archetype, if it is enableable and there;
/// returns how many these were.
pub(crate) fn set_enabled_in(
    archetype: &Archetype,
    id: ComponentId,
    rows_of: impl Fn(&ChunkRef<'_>) -> Rows,
    enabled: bool,
) -> usize {
    let column = archetype.column_of(id).map(|column| &archetype.columns[column]);
    let Some(slot) = column.and_then(|column| column.enable_slot) else { return 0 };
    let switch = |chunk| {
        let at = ChunkRef::new(&archetype.chunks, chunk);
        let rows = rows_of(&at);
        archetype.chunks.marks(chunk).bits(slot).set_rows(at.len(), &rows, enabled);
        rows.count(at.len())
    };
    (0..archetype.chunks.used_count()).map(switch).sum()
}

/// Calls `visit` with every run of rows of an archetype that match, in order; returns how many rows
/// there were. `archetype` gives it anew each time, as it is then.
fn each_run<S>(
    state: &mut S,
    rows_of: impl Fn(&ChunkRef<'_>) -> Rows,
    archetype: impl Fn(&S) -> &Archetype,
    mut visit: impl FnMut(&mut S, RowAddress, usize),
) -> usize {
    let mut count = 0;
    for chunk in 0..archetype(state).chunks.used_count() {
        let here = ChunkRef::new(&archetype(state).chunks, chunk);
        let len = here.len();
        let rows = rows_of(&here);
        let mut from = 0;
        while let Some(run) = rows.next_run(from, len) {
            from = run.end;
            count += run.len();
            visit(state, RowAddress { chunk, row: run.start }, run.len());
        }
    }
    count
}

impl World {
    fn replace_all<B: Bundle + Clone, F: QueryFilter>(
        &mut self,
        found: &Found<F>,
        bundle: &B,
    ) -> usize {
        let replaced = self.moves().replaced::<B::Parts>(found.archetype);
        let mut rows = replaced.expect("they have the components");
        each_run(&mut rows, rows_of::<F>(found), ReplacedRows::archetype, |rows, from, count| {
            for row in from.row..from.row + count {
                rows.replace(RowAddress { row, ..from }, bundle.clone().into_parts());
            }
        })
    }

    fn insert_all<B: Bundle + Clone, F: QueryFilter>(
        &mut self,
        found: &Found<F>,
        bundle: &B,
    ) -> usize {
        let from = found.archetype;
        let moves = RowMoves::new(self.moves(), from, |bundles, registry, archetypes| {
            Some(bundles.insertion::<B::Parts>(from, registry, archetypes))
        });
        let mut moves = moves.expect("they do not have all of the components");
        let is_tags = size_of::<B::Parts>() == 0 && !core::mem::needs_drop::<B::Parts>();
        // User code, before anything has changed. The clones have no bytes to be written, nor
        // anything to be dropped.
        let clone = |count| (0..count).for_each(|_| drop(bundle.clone().into_parts()));
        if is_tags {
            if let Some(count) = hand_over(&mut moves, rows_of::<F>(found), clone) {
                return count;
            }
        }
        each_run(&mut moves, rows_of::<F>(found), RowMoves::source, |moves, from, count| {
            moves.insert_run(from, count, || bundle.clone().into_parts());
        })
    }

    fn remove_all<P: Parts, F: QueryFilter>(&mut self, found: &Found<F>) -> usize {
        let (change, from) = (Change::Remove, found.archetype);
        if P::COUNT == 0 {
            let mut archetype = self.archetypes.get(from);
            return each_run(&mut archetype, rows_of::<F>(found), |here| here, |_, _, _| {});
        }
        let moves = RowMoves::new(self.moves(), from, |bundles, registry, archetypes| {
            bundles.transition::<P>(change, from, registry, archetypes)
        });
        moves.map_or(0, |moves| leave_all(moves, rows_of::<F>(found)))
    }

    fn despawn_all<F: QueryFilter>(&mut self, found: &Found<F>) -> usize {
        leave_all(RowMoves::despawn(self.moves(), found.archetype), rows_of::<F>(found))
    }
}

/// Lets all rows that match leave, where nothing is to be written; returns how many these were.
pub(crate) fn leave_all(mut moves: RowMoves<'_>, rows_of: impl Fn(&ChunkRef<'_>) -> Rows) -> usize {
    hand_over(&mut moves, &rows_of, |_| ()).unwrap_or_else(|| {
        each_run(&mut moves, rows_of, RowMoves::source, |moves, from, count| {
            moves.leave_run(from, count);
        })
    })
}

/// Moves all rows of an archetype by whole chunks, if they may go so: all of them pass, and nothing
/// but components without a size comes or goes. `prepare` is called before, with their number.
fn hand_over(
    moves: &mut RowMoves<'_>,
    rows_of: impl Fn(&ChunkRef<'_>) -> Rows,
    prepare: impl FnOnce(usize),
) -> Option<usize> {
    let chunks = &moves.source().chunks;
    let passes = |chunk| matches!(rows_of(&ChunkRef::new(chunks, chunk)), Rows::All);
    (0..chunks.used_count()).all(passes).then(|| moves.hand_over(prepare)).flatten()
}
