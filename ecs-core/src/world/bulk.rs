//! Changes to all entities that pass a filter, by runs of rows and whole chunks.
#![expect(unsafe_code, reason = "writes bundles into the rows of entities that move together")]

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::World;
use super::change::replace;
use crate::archetype::{Archetype, ArchetypeId};
use crate::bundle::{Bundle, ColumnStarts, Parts};
use crate::component::{ArchetypeFlags, Component};
use crate::entity::Entity;
use crate::mask::Rows;
use crate::query::{ChunkRef, MatchOf, QueryFilter, matches_once, rows};
use crate::storage::{BlockPool, RowAddress};
use crate::transfer::{Change, MoveContext, RowMoves, Transition};

/// All entities that pass a filter when a change is made to them, made by [`World::bulk`].
///
/// The filter sees enabled bits as a query does. Rows go by runs and chunks, unless a hook
/// [watches](World::observe): then entities go one by one.
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
        let matches = self.matches();
        let World { registry, archetypes, .. } = self.world;
        let Some(id) = registry.get::<T>() else { return 0 };
        let mut count = 0;
        for found in &matches {
            let archetype = archetypes.get_mut(found.archetype);
            let column = archetype.column_of(id).map(|column| &archetype.columns[column]);
            let Some(slot) = column.and_then(|column| column.enable_slot) else { continue };
            for chunk in 0..archetype.chunks.used_count() {
                let at = ChunkRef::new(&archetype.chunks, chunk);
                let rows = rows::<(), F>(found, &at);
                count += rows.count(at.len());
                archetype.chunks.set_enabled(slot, chunk, &rows, enabled);
            }
        }
        count
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
            let mut archetype = self.world.archetypes.get(found.archetype);
            each_run::<F, _>(
                &mut archetype,
                found,
                |here| here,
                |here, from, count| {
                    let rows = from.row..from.row + count;
                    all.extend_from_slice(&here.chunks.entities(from.chunk)[rows]);
                },
            );
        }
        all.into_iter().filter(|&entity| change(self.world, entity)).count()
    }
}

/// Calls `visit` with every run of rows of an archetype that match, in order; returns how many rows
/// there were. `archetype` gives it anew each time, as it is then.
fn each_run<F: QueryFilter, S>(
    state: &mut S,
    found: &Found<F>,
    archetype: impl Fn(&S) -> &Archetype,
    mut visit: impl FnMut(&mut S, RowAddress, usize),
) -> usize {
    let mut count = 0;
    for chunk in 0..archetype(state).chunks.used_count() {
        let here = ChunkRef::new(&archetype(state).chunks, chunk);
        let len = here.len();
        let rows = rows::<(), F>(found, &here);
        let mut from = 0;
        while let Some(run) = rows.next_run(from, len) {
            from = run.end;
            count += run.len();
            visit(state, RowAddress { chunk, row: run.start }, run.len());
        }
    }
    count
}

/// Cuts a run into pieces for which there is room.
fn each_piece(
    moves: &mut RowMoves<'_>,
    mut from: RowAddress,
    mut count: usize,
    mut visit: impl FnMut(&mut RowMoves<'_>, RowAddress, usize),
) {
    while count > 0 {
        let piece = moves.prepare(count).min(count);
        visit(moves, from, piece);
        from.row += piece;
        count -= piece;
    }
}

/// Bundles that are being written for a run of rows. Those that are written go with their rows,
/// also where a clone panics.
struct Writing<'a, 'w> {
    moves: &'a mut RowMoves<'w>,
    from: RowAddress,
    written: usize,
}

impl Drop for Writing<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: made only by `insert_all`, for rows for which `prepare` has said that there is
        // room, and which come up once, so that none is a hole (C-2); so many bundles were written
        // (C-3).
        unsafe { self.moves.leave(self.from, self.written) };
    }
}

impl World {
    fn replace_all<B: Bundle + Clone, F: QueryFilter>(
        &mut self,
        found: &Found<F>,
        bundle: &B,
    ) -> usize {
        let from = found.archetype;
        _ = self.next_version();
        let moment = self.moment();
        let World { bundles, registry, archetypes, .. } = self;
        let insertion = bundles.insertion::<B::Parts>(from, registry, archetypes);
        let mut archetype = archetypes.get(from);
        each_run::<F, _>(
            &mut archetype,
            found,
            |here| here,
            |here, from, count| {
                for row in from.row..from.row + count {
                    let copy = bundle.clone().into_parts();
                    replace(here, insertion, RowAddress { row, ..from }, copy, moment);
                }
            },
        )
    }

    fn insert_all<B: Bundle + Clone, F: QueryFilter>(
        &mut self,
        found: &Found<F>,
        bundle: &B,
    ) -> usize {
        let from = found.archetype;
        let version = self.next_version();
        let World { bundles, registry, archetypes, entities, blocks, scratch, .. } = self;
        let insertion = bundles.insertion::<B::Parts>(from, registry, archetypes);
        let is_tags = size_of::<B::Parts>() == 0 && !core::mem::needs_drop::<B::Parts>();
        // User code, before anything has changed. The clones have no bytes to be written, nor
        // anything to be dropped.
        let clone = |count| (0..count).for_each(|_| drop(bundle.clone().into_parts()));
        let pair = archetypes.get_two(from, insertion.target);
        if is_tags && hand_over::<F>(pair, blocks, found, insertion, version, clone) {
            return archetypes.get(insertion.target).len();
        }
        let context = MoveContext { entities, blocks, scratch, version };
        let pair = archetypes.get_two(from, insertion.target);
        let mut moves = RowMoves::new(context, pair, insertion, &insertion.columns);
        each_run::<F, _>(&mut moves, found, RowMoves::source, |moves, from, count| {
            each_piece(moves, from, count, |moves, from, count| {
                let (columns, row) = moves.next_row();
                let columns: ColumnStarts = columns.into();
                let mut writing = Writing { moves, from, written: 0 };
                for _ in 0..count {
                    // User code: should it panic, the rows before it arrive.
                    let copy = bundle.clone().into_parts();
                    // SAFETY: the columns are those of the insertion of this bundle (I-6, I-9),
                    // and `prepare` has reserved `count` rows from there on.
                    unsafe { copy.write(&columns, row + writing.written) };
                    writing.written += 1;
                }
            });
        })
    }

    fn remove_all<P: Parts, F: QueryFilter>(&mut self, found: &Found<F>) -> usize {
        let from = found.archetype;
        let version = self.next_version();
        let World { bundles, registry, archetypes, entities, blocks, scratch, .. } = self;
        let removal = bundles.transition::<P>(Change::Remove, from, registry, archetypes);
        let Some(removal) = removal else { return 0 };
        if removal.target == from {
            return each_run::<F, _>(archetypes, found, |all| all.get(from), |_, _, _| {});
        }
        let pair = archetypes.get_two(from, removal.target);
        if hand_over::<F>(pair, blocks, found, removal, version, |_| ()) {
            return archetypes.get(removal.target).len();
        }
        let context = MoveContext { entities, blocks, scratch, version };
        let pair = archetypes.get_two(from, removal.target);
        leave_all::<F>(RowMoves::new(context, pair, removal, &[]), found)
    }

    fn despawn_all<F: QueryFilter>(&mut self, found: &Found<F>) -> usize {
        let version = self.next_version();
        let World { archetypes, entities, blocks, scratch, .. } = self;
        let context = MoveContext { entities, blocks, scratch, version };
        leave_all::<F>(RowMoves::despawn(context, archetypes.get_mut(found.archetype)), found)
    }
}

/// Lets all rows that match leave, where nothing is to be written; returns how many these were.
fn leave_all<F: QueryFilter>(mut moves: RowMoves<'_>, found: &Found<F>) -> usize {
    each_run::<F, _>(&mut moves, found, RowMoves::source, |moves, from, count| {
        each_piece(moves, from, count, |moves, from, count| {
            // SAFETY: `each_piece` asked for room; each row of the source comes up once, so that
            // none is a hole (C-2).
            unsafe { moves.leave(from, count) };
        });
    })
}

/// Moves all rows of an archetype by whole chunks, if they may go so: all of them pass, and nothing
/// but components without a size comes or goes. `prepare` is called before, with their number.
fn hand_over<F: QueryFilter>(
    (source, target): (&mut Archetype, &mut Archetype),
    blocks: &mut BlockPool,
    found: &Found<F>,
    transition: &Transition,
    version: u64,
    prepare: impl FnOnce(usize),
) -> bool {
    let passes = |chunk| {
        let rows = rows::<(), F>(found, &ChunkRef::new(&source.chunks, chunk));
        matches!(rows, Rows::All)
    };
    let all_pass = (0..source.chunks.used_count()).all(passes);
    let may_go = all_pass && source.chunks.is_alike(&target.chunks, &transition.plan);
    if may_go {
        prepare(source.len());
        source.chunks.hand_over(blocks, &mut target.chunks, &transition.plan, version);
    }
    may_go
}
