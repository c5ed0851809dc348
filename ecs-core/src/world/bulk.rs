//! Changes to all entities that pass a filter, by runs of rows and whole chunks.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::World;
use crate::archetype::{Archetype, ArchetypeId};
use crate::bundle::Bundle;
use crate::component::{ArchetypeFlags, Component, ComponentId};
use crate::entity::Entity;
use crate::mask::Rows;
use crate::query::{ChunkRef, MatchOf, QueryFilter, matches_once, rows};
use crate::storage::RowAddress;
use crate::transfer::{Change, ReplacedRows, RowMoves};

/// All entities that pass a filter at the time of a change, created by [`World::bulk`].
///
/// The filter treats enabled bits as a query does. Rows are changed by runs and chunks, unless a hook
/// [observes](crate::Hooks::observe) the change: then entities are changed one by one.
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
    /// Selects all entities that pass a filter, to change them together.
    pub fn bulk<F: QueryFilter>(&mut self) -> Bulk<'_, F> {
        Bulk { world: self, filter: PhantomData }
    }
}

impl<F: QueryFilter> Bulk<'_, F> {
    /// Adds clones of these components to each entity, as [`World::insert`] does, and returns the number
    /// of entities.
    ///
    /// If a clone or a drop panics, some entities have the components and the others do not.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[expect(clippy::needless_pass_by_value, reason = "as `insert`; it is dropped in the end")]
    pub fn insert<B: Bundle + Clone>(self, bundle: B) -> usize {
        let matches = self.matches();
        let World { bundles, registry, archetypes, .. } = &mut *self.world;
        let targets: Vec<_> = matches
            .0
            .iter()
            .map(|found| bundles.insertion::<B::Parts>(found.0, registry, archetypes).target)
            .collect();
        let tells_of = |&target: &ArchetypeId| self.world.tells_of(target);
        if matches.tells(self.world) || targets.iter().any(tells_of) {
            let insert = |world: &mut World, entity| world.insert(entity, bundle.clone()).is_ok();
            return matches.one_by_one(self.world, insert);
        }
        // Rows that stay in their archetype come first, so that rows that arrive there are not replaced
        // as well.
        let (stay, go): (Vec<_>, Vec<_>) =
            matches.0.iter().zip(&targets).partition(|(found, target)| found.0 == **target);
        let stayed: usize =
            stay.iter().map(|(found, _)| self.world.replace_all(found, &bundle)).sum();
        let gone: usize = go.iter().map(|(found, _)| self.world.insert_all(found, &bundle)).sum();
        stayed + gone
    }

    /// Removes components from each entity that has all of them, drops them, and returns the number of
    /// entities.
    ///
    /// If a drop panics, the components of all entities of the same archetype are gone, and each was
    /// dropped once. If entities are changed one by one, this holds for the entities up to that one.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn remove<B: Bundle>(self) -> usize {
        let World { bundles, registry, .. } = &mut *self.world;
        let bundle = bundles.index::<B::Parts>(registry);
        let ids = bundles.ids(bundle).ids.clone();
        let one = |world: &mut World, entity| world.remove_parts::<B::Parts>(entity).is_ok();
        self.matches().remove(self.world, &ids, one)
    }

    /// Despawns each entity, and returns the number of entities. Those that went as the dependants of
    /// others before it was their turn are not counted.
    ///
    /// If a drop panics, all entities of the same archetype are gone, and each of their components was
    /// dropped once. If entities are despawned one by one, this holds for all entities up to that one.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn despawn(self) -> usize {
        self.matches().despawn(self.world)
    }

    /// Enables or disables a component of each entity that has it, and returns the number of entities. It
    /// writes whole words of bits; a filter that names the component sees the bits as they were before.
    ///
    /// Does not compile if the component is not declared enableable.
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn set_enabled<T: Component>(self, enabled: bool) -> usize {
        const {
            assert!(
                T::ENABLEABLE,
                "the component is not enableable: declare it with #[component(enableable)]"
            );
        };
        let Some(id) = self.world.registry.get::<T>() else { return 0 };
        self.matches().set_enabled(self.world, id, enabled)
    }

    fn matches(&self) -> Matches<impl Fn(&ChunkRef<'_>) -> Rows + use<F>> {
        let found = matches_once::<(), F>(&self.world.registry, self.world.archetypes.list());
        let rows = |found: MatchOf<(), F>| {
            (found.archetype, move |chunk: &ChunkRef<'_>| rows::<(), F>(&found, chunk))
        };
        Matches(found.into_iter().map(rows).collect())
    }
}

/// An archetype, and a function that selects the rows of its chunks that pass.
type Match<R> = (ArchetypeId, R);

/// All archetypes whose rows have to be checked, whatever the query.
pub(crate) struct Matches<R>(pub(crate) Vec<Match<R>>);

impl<R: Fn(&ChunkRef<'_>) -> Rows> Matches<R> {
    /// Removes components from each entity that has all of them. `one` does so for one entity, if hooks
    /// have to be triggered.
    pub(crate) fn remove(
        self,
        world: &mut World,
        ids: &[ComponentId],
        one: impl FnMut(&mut World, Entity) -> bool,
    ) -> usize {
        if self.tells(world) {
            return self.one_by_one(world, one);
        }
        let remove = |found: &Match<R>| {
            let from = found.0;
            if ids.is_empty() {
                let mut archetype = world.archetypes.get(from);
                return each_run(&mut archetype, found, |here| here, |_, _, _| {});
            }
            let moves = RowMoves::new(world.moves(), from, |bundles, registry, archetypes| {
                bundles.transition_of_ids(Change::Remove, ids, from, registry, archetypes)
            });
            moves.map_or(0, |moves| leave_all(moves, found))
        };
        self.0.iter().map(remove).sum()
    }

    pub(crate) fn despawn(self, world: &mut World) -> usize {
        if self.tells(world) {
            return self.one_by_one(world, |world, entity| world.despawn(entity).is_ok());
        }
        let despawn =
            |found: &Match<R>| leave_all(RowMoves::despawn(world.moves(), found.0), found);
        self.0.iter().map(despawn).sum()
    }

    /// Enables or disables an enableable component of each entity that has it.
    pub(crate) fn set_enabled(self, world: &World, id: ComponentId, enabled: bool) -> usize {
        let switch = |found: &Match<R>| {
            let archetype = world.archetypes.get(found.0);
            let column = archetype.column_of(id).map(|column| &archetype.columns[column]);
            let Some(slot) = column.and_then(|column| column.enable_slot) else { return 0 };
            let switch = |chunk| {
                let at = ChunkRef::new(&archetype.chunks, chunk);
                let rows = (found.1)(&at);
                archetype.chunks.marks(chunk).bits(slot).set_rows(at.len(), &rows, enabled);
                rows.count(at.len())
            };
            (0..archetype.chunks.used_count()).map(switch).sum::<usize>()
        };
        self.0.iter().map(switch).sum()
    }

    /// Whether a hook has to be triggered for some of the entities.
    fn tells(&self, world: &World) -> bool {
        self.0.iter().any(|found| world.tells_of(found.0))
    }

    /// Collects all entities first, and then changes them one by one: observers may change anything.
    pub(crate) fn one_by_one(
        self,
        world: &mut World,
        mut change: impl FnMut(&mut World, Entity) -> bool,
    ) -> usize {
        let mut all = Vec::new();
        for found in &self.0 {
            let mut archetype = world.archetypes.get(found.0);
            each_run(
                &mut archetype,
                found,
                |here| here,
                |here, from, count| {
                    let rows = from.row..from.row + count;
                    all.extend_from_slice(&here.chunks.entities(from.chunk)[rows]);
                },
            );
        }
        all.into_iter().filter(|&entity| change(world, entity)).count()
    }
}

/// Calls `visit` with every run of matching rows of an archetype, in order, and returns the number of
/// rows. `archetype` is called again each time, and returns its current state.
fn each_run<S>(
    state: &mut S,
    found: &Match<impl Fn(&ChunkRef<'_>) -> Rows>,
    archetype: impl Fn(&S) -> &Archetype,
    mut visit: impl FnMut(&mut S, RowAddress, usize),
) -> usize {
    let mut count = 0;
    for chunk in 0..archetype(state).chunks.used_count() {
        let here = ChunkRef::new(&archetype(state).chunks, chunk);
        let len = here.len();
        let rows = (found.1)(&here);
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
    fn replace_all<B: Bundle + Clone>(
        &mut self,
        found: &Match<impl Fn(&ChunkRef<'_>) -> Rows>,
        bundle: &B,
    ) -> usize {
        let replaced = self.moves().replaced::<B::Parts>(found.0);
        let mut rows = replaced.expect("they have the components");
        each_run(&mut rows, found, ReplacedRows::archetype, |rows, from, count| {
            for row in from.row..from.row + count {
                rows.replace(RowAddress { row, ..from }, bundle.clone().into_parts());
            }
        })
    }

    fn insert_all<B: Bundle + Clone>(
        &mut self,
        found: &Match<impl Fn(&ChunkRef<'_>) -> Rows>,
        bundle: &B,
    ) -> usize {
        let from = found.0;
        let moves = RowMoves::new(self.moves(), from, |bundles, registry, archetypes| {
            Some(bundles.insertion::<B::Parts>(from, registry, archetypes))
        });
        let mut moves = moves.expect("they do not have all of the components");
        let is_tags = size_of::<B::Parts>() == 0 && !core::mem::needs_drop::<B::Parts>();
        // User code runs before anything has changed. The clones have no bytes to write, and nothing to
        // drop.
        let clone = |count| (0..count).for_each(|_| drop(bundle.clone().into_parts()));
        if is_tags {
            if let Some(count) = hand_over(&mut moves, found, clone) {
                return count;
            }
        }
        each_run(&mut moves, found, RowMoves::source, |moves, from, count| {
            moves.insert_run(from, count, || bundle.clone().into_parts());
        })
    }

    /// Whether a hook has to be triggered for the entities of an archetype.
    fn tells_of(&self, archetype: ArchetypeId) -> bool {
        self.archetypes.get(archetype).flags != ArchetypeFlags::NONE
    }
}

/// Removes all rows that match, without writing anything, and returns their number.
fn leave_all(mut moves: RowMoves<'_>, found: &Match<impl Fn(&ChunkRef<'_>) -> Rows>) -> usize {
    hand_over(&mut moves, found, |_| ()).unwrap_or_else(|| {
        each_run(&mut moves, found, RowMoves::source, |moves, from, count| {
            moves.leave_run(from, count);
        })
    })
}

/// Moves all rows of an archetype by whole chunks, if possible: all of them pass, and only components
/// without a size are added or removed. `prepare` is called before, with their number.
fn hand_over(
    moves: &mut RowMoves<'_>,
    found: &Match<impl Fn(&ChunkRef<'_>) -> Rows>,
    prepare: impl FnOnce(usize),
) -> Option<usize> {
    let chunks = &moves.source().chunks;
    let passes = |chunk| matches!((found.1)(&ChunkRef::new(chunks, chunk)), Rows::All);
    (0..chunks.used_count()).all(passes).then(|| moves.hand_over(prepare)).flatten()
}
