//! Which archetype a bundle leads to: worked out once for each archetype and bundle.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::TypeId;

use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::bundle::Bundle;
use crate::component::{ComponentId, ComponentSet, Prefab, Registry};
use crate::hash::{BuildFibonacci, TypeMap};
use crate::storage::RowAddress;

/// The bundle types that a world has met, and the transitions between archetypes.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    indexes: TypeMap<BundleIndex>,
    /// Of the lists of components that were given or taken by their ids.
    by_ids: hashbrown::HashMap<Box<[ComponentId]>, BundleIndex, BuildFibonacci>,
    infos: Vec<BundleInfo>,
    inserts: Edges<Transition>,
    removes: Edges<Option<Transition>>,
    strippings: hashbrown::HashMap<u32, Transition, BuildFibonacci>,
    copyings: hashbrown::HashMap<u32, Transition, BuildFibonacci>,
}

/// What is known of pairs of an archetype and a bundle.
#[derive(Debug)]
struct Edges<T> {
    /// By archetype, then by bundle: the place in `known`, or [`UNKNOWN`]. As long as they had to
    /// be, so that a lookup is two loads.
    places: Vec<Vec<u32>>,
    known: Vec<T>,
}

const UNKNOWN: u32 = u32::MAX;

impl<T> Default for Edges<T> {
    fn default() -> Self {
        Self { places: Vec::new(), known: Vec::new() }
    }
}

impl<T> Edges<T> {
    /// What is known of this pair; `find` finds it out the first time.
    #[inline]
    fn obtain(&mut self, from: ArchetypeId, bundle: BundleIndex, find: impl FnOnce() -> T) -> &T {
        let row = self.places.get(from.index());
        let place = match row.and_then(|row| row.get(bundle.0 as usize)) {
            Some(&place) if place != UNKNOWN => place,
            _ => self.enter(from, bundle, find()),
        };
        &self.known[place as usize]
    }

    #[cold]
    fn enter(&mut self, from: ArchetypeId, bundle: BundleIndex, found: T) -> u32 {
        let place = u32::try_from(self.known.len()).expect("fewer than 2^32 transitions");
        self.known.push(found);
        let (from, bundle) = (from.index(), bundle.0 as usize);
        if self.places.len() <= from {
            self.places.resize_with(from + 1, Vec::new);
        }
        let row = &mut self.places[from];
        if row.len() <= bundle {
            row.resize(bundle + 1, UNKNOWN);
        }
        row[bundle] = place;
        place
    }
}

/// The number of a bundle type, or of a list of component ids, in one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BundleIndex(u32);

#[derive(Debug)]
struct BundleInfo {
    name: &'static str,
    /// In declared order.
    ids: Box<[ComponentId]>,
    spawn: Option<Placement>,
}

/// An archetype, and where in it the components of a bundle lie, in declared order.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub(crate) archetype: ArchetypeId,
    pub(crate) columns: Box<[usize]>,
}

/// What happens to a row that goes from one archetype to another (I-6).
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) target: ArchetypeId,
    /// Where the components of the bundle lie, in declared order: in the target for an insertion,
    /// in the source for a removal.
    pub(crate) columns: Box<[usize]>,
    /// The columns whose values go along: from the source, to the target.
    pub(crate) moves: Box<[(usize, usize)]>,
    /// The enabled bits that go along: of the source, of the target.
    pub(crate) bit_moves: Box<[(usize, usize)]>,
    /// What goes along of the versions.
    pub(crate) versions: VersionMoves,
    /// The columns of the source whose values are replaced by the bundle's.
    pub(crate) replaced: Box<[usize]>,
}

/// Which versions go along with a row, and which begin anew.
#[derive(Clone, Debug)]
pub(crate) struct VersionMoves {
    /// The columns that both have: of the source, of the target.
    columns: Box<[(usize, usize)]>,
    /// The columns of the target that its entities did not have before.
    fresh: Box<[usize]>,
    /// The tracked ones of the columns that both have, by the places of their versions of rows: of
    /// the source, of the target, and whether the value is replaced.
    rows: Box<[(usize, usize, bool)]>,
}

impl VersionMoves {
    fn new(source: &Archetype, goal: &Archetype, kept: impl Fn(&ComponentId) -> bool) -> Self {
        let ids = goal.components().ids().iter().enumerate();
        let fresh = ids.filter(|(_, id)| !source.components().contains(**id));
        let rows = source.columns.iter().filter_map(|column| {
            let from = column.track_slot?;
            let to = goal.columns[goal.column_of(column.info.id)?].track_slot?;
            Some((from, to, !kept(&column.info.id)))
        });
        Self {
            columns: moves(source, goal, |_| true),
            fresh: fresh.map(|(column, _)| column).collect(),
            rows: rows.collect(),
        }
    }

    /// Writes down the versions of `count` rows that have come to the target, and are still in the
    /// source. They were committed without a word about when their components came.
    #[inline]
    pub(crate) fn carry(
        &self,
        source: &Archetype,
        from: RowAddress,
        count: usize,
        target: &mut Archetype,
        to: RowAddress,
        version: u64,
    ) {
        for &(mine, theirs) in &self.columns {
            let added = source.chunks.stamps(from.chunk, mine).added();
            target.chunks.stamps_mut(to.chunk, theirs).raise_added(added);
        }
        for &column in &self.fresh {
            target.chunks.stamps_mut(to.chunk, column).raise_added(version);
        }
        for &(mine, theirs, is_replaced) in &self.rows {
            let versions = source.chunks.row_versions(mine, from.chunk);
            for offset in 0..count {
                let row = from.row + offset;
                let changed = if is_replaced { version } else { versions.changed.get(row) };
                let to = RowAddress { row: to.row + offset, ..to };
                target.chunks.set_row_versions(theirs, to, changed, versions.added.get(row));
            }
        }
    }
}

impl Bundles {
    /// The number of this bundle type.
    ///
    /// Panics where it names a component twice.
    pub(crate) fn index<B: Bundle>(&mut self, registry: &mut Registry) -> BundleIndex {
        if let Some(&index) = self.indexes.get(&TypeId::of::<B>()) {
            return index;
        }
        let mut ids = Vec::with_capacity(B::COUNT);
        B::register(registry, &mut ids);
        let name = core::any::type_name::<B>();
        for (place, id) in ids.iter().enumerate() {
            let twice = ids[..place].contains(id);
            assert!(!twice, "the bundle {name} has {} twice", registry.info(*id).name());
        }
        let index = self.push(name, &ids);
        self.indexes.insert(TypeId::of::<B>(), index);
        index
    }

    /// The number of these components, which are of this world and each there once.
    pub(crate) fn index_of_ids(&mut self, ids: &[ComponentId]) -> BundleIndex {
        if let Some(&index) = self.by_ids.get(ids) {
            return index;
        }
        let index = self.push("components by their ids", ids);
        self.by_ids.insert(ids.into(), index);
        index
    }

    fn push(&mut self, name: &'static str, ids: &[ComponentId]) -> BundleIndex {
        let index = u32::try_from(self.infos.len()).expect("fewer than 2^32 bundle types");
        self.infos.push(BundleInfo { name, ids: ids.into(), spawn: None });
        BundleIndex(index)
    }

    /// The components of this bundle type, in declared order.
    pub(crate) fn ids<B: Bundle>(&mut self, registry: &mut Registry) -> &[ComponentId] {
        let index = self.index::<B>(registry);
        &self.infos[index.0 as usize].ids
    }

    /// Where new entities with this bundle go.
    pub(crate) fn placement<B: Bundle>(
        &mut self,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> &Placement {
        let index = self.index::<B>(registry);
        self.placement_at(index, registry, archetypes)
    }

    /// Where new entities with the bundle of this number go.
    pub(crate) fn placement_at(
        &mut self,
        index: BundleIndex,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> &Placement {
        let info = &mut self.infos[index.0 as usize];
        info.spawn.get_or_insert_with(|| {
            let set = ComponentSet::new(info.ids.to_vec());
            let archetype = archetypes.obtain(set, registry);
            Placement { archetype, columns: columns_of(archetypes.get(archetype), &info.ids) }
        })
    }

    /// The way of a row that is given this bundle.
    pub(crate) fn insertion<B: Bundle>(
        &mut self,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        let index = self.index::<B>(registry);
        self.insertion_at(index, from, registry, archetypes)
    }

    /// The way of a row that is given the bundle of this number.
    pub(crate) fn insertion_at(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        let ids = &self.infos[index.0 as usize].ids;
        self.inserts.obtain(from, index, || {
            let set = archetypes.get(from).components().with(ids);
            let set = set.without(&displaced(&set, ids, registry));
            let target = archetypes.obtain(set, registry);
            let (source, goal) = (archetypes.get(from), archetypes.get(target));
            let replaced = ids.iter().filter_map(|&id| source.column_of(id)).collect();
            let kept = |id: &ComponentId| !ids.contains(id);
            Transition {
                target,
                columns: columns_of(goal, ids),
                moves: moves(source, goal, kept),
                bit_moves: bit_moves(source, goal),
                versions: VersionMoves::new(source, goal, kept),
                replaced,
            }
        })
    }

    /// The way of a row that this bundle is taken from; `None` where it does not have all of it.
    pub(crate) fn removal<B: Bundle>(
        &mut self,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let index = self.index::<B>(registry);
        self.removal_at(index, from, registry, archetypes)
    }

    /// The way of a row that the bundle of this number is taken from; `None` where it does not have
    /// all of it.
    pub(crate) fn removal_at(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let ids = &self.infos[index.0 as usize].ids;
        let found = self.removes.obtain(from, index, || {
            let has_all = ids.iter().all(|&id| archetypes.get(from).components().contains(id));
            if !has_all {
                return None;
            }
            let set = archetypes.get(from).components().without(ids);
            let target = archetypes.obtain(set, registry);
            let (source, goal) = (archetypes.get(from), archetypes.get(target));
            Some(Transition {
                target,
                columns: columns_of(source, ids),
                moves: moves(source, goal, |_| true),
                bit_moves: bit_moves(source, goal),
                versions: VersionMoves::new(source, goal, |_| true),
                replaced: Box::default(),
            })
        });
        found.as_ref()
    }

    /// The way of a row that is left its cleanup components, and is given a tag; what does not go
    /// along is listed as replaced.
    pub(crate) fn stripping(
        &mut self,
        from: ArchetypeId,
        tag: ComponentId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        self.strippings.entry(from.0).or_insert_with(|| {
            let columns = archetypes.get(from).columns.iter();
            let kept = columns.filter(|column| column.info.is_cleanup());
            let ids = kept.map(|column| column.info.id).chain([tag]).collect();
            let target = archetypes.obtain(ComponentSet::new(ids), registry);
            let (source, goal) = (archetypes.get(from), archetypes.get(target));
            let ids = source.components().ids().iter().enumerate();
            let left = ids.filter(|&(_, &id)| goal.column_of(id).is_none());
            Transition {
                target,
                columns: Box::default(),
                moves: moves(source, goal, |_| true),
                bit_moves: bit_moves(source, goal),
                versions: VersionMoves::new(source, goal, |_| true),
                replaced: left.map(|(column, _)| column).collect(),
            }
        })
    }

    /// The way from a row to copies of it; the source may be the target.
    pub(crate) fn copying(
        &mut self,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        self.copyings.entry(from.0).or_insert_with(|| {
            let prefab = registry.get::<Prefab>();
            let columns = archetypes.get(from).columns.iter().map(|column| &column.info);
            let copied = columns.filter(|info| !info.is_cleanup() && Some(info.id) != prefab);
            let ids = copied.map(|info| info.id).collect();
            let target = archetypes.obtain(ComponentSet::new(ids), registry);
            let (source, goal) = (archetypes.get(from), archetypes.get(target));
            Transition {
                target,
                columns: Box::default(),
                moves: moves(source, goal, |_| true),
                bit_moves: bit_moves(source, goal),
                // A copy is new in all its parts.
                versions: VersionMoves::new(source, goal, |_| false),
                replaced: Box::default(),
            }
        })
    }

    /// The first component of this bundle that the archetype does not have.
    pub(crate) fn first_missing<B: Bundle>(
        &mut self,
        archetype: &Archetype,
        registry: &mut Registry,
    ) -> &'static str {
        let index = self.index::<B>(registry);
        let info = &self.infos[index.0 as usize];
        let missing = info.ids.iter().find(|&&id| !archetype.components().contains(id));
        missing.and_then(|&id| registry.info(id).name().as_static()).unwrap_or(info.name)
    }
}

/// The shared values of a set that go because another value of their type comes (I-17).
fn displaced(set: &ComponentSet, added: &[ComponentId], registry: &Registry) -> Vec<ComponentId> {
    let shared_type = |id: &ComponentId| registry.info(*id).shared_type();
    let comes = |of| added.iter().any(|id| shared_type(id) == Some(of));
    let old = set.ids().iter().filter(|id| !added.contains(id));
    old.filter(|id| shared_type(id).is_some_and(comes)).copied().collect()
}

fn columns_of(archetype: &Archetype, ids: &[ComponentId]) -> Box<[usize]> {
    ids.iter()
        .map(|&id| archetype.column_of(id).expect("the archetype was made for these components"))
        .collect()
}

fn moves(
    source: &Archetype,
    goal: &Archetype,
    kept: impl Fn(&ComponentId) -> bool,
) -> Box<[(usize, usize)]> {
    let ids = source.components().ids().iter().enumerate();
    ids.filter(|(_, id)| kept(id))
        .filter_map(|(from, &id)| Some((from, goal.column_of(id)?)))
        .collect()
}

fn bit_moves(source: &Archetype, goal: &Archetype) -> Box<[(usize, usize)]> {
    let columns = source.columns.iter();
    columns
        .filter_map(|column| {
            let from = column.enable_slot?;
            let to = goal.columns[goal.column_of(column.info.id)?].enable_slot?;
            Some((from, to))
        })
        .collect()
}
