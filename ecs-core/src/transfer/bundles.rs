//! The archetype that a bundle leads to. It is computed once for each pair of an archetype and a bundle,
//! and kept. The latest ones are cached.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::TypeId;
use core::hash::{Hash, Hasher};

use super::plan::{BundleIds, Change, Transition};
use crate::archetype::{Archetype, ArchetypeId, Archetypes, ComponentSet};
use crate::bundle::Parts;
use crate::component::{ComponentId, Registry};
use crate::entity::Entity;
use crate::error::MissingComponent;
use crate::hash::{BuildFibonacci, Fibonacci, TypeMap};

/// The bundle types that a world has used, and the transitions between archetypes.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    indexes: TypeMap<BundleIndex>,
    /// The lists of components that were inserted or removed by their ids.
    by_ids: hashbrown::HashMap<Box<[ComponentId]>, BundleIndex, BuildFibonacci>,
    /// The components of each bundle.
    known: Vec<BundleIds>,
    /// The indices of recently used transitions, in `edges`.
    cached_edges: [EdgeCache<TypeId>; 2],
    /// The same for single components by their ids, and for none.
    cached_edges_of_id: [EdgeCache<Option<ComponentId>>; 4],
    /// The transitions for each kind of change.
    edges: [Edges; 4],
}

/// Returns the set that a change leads to from an archetype, or `None` if the archetype lacks a component
/// that is removed.
fn target(change: Change, from: &Archetype, ids: &[ComponentId]) -> Option<ComponentSet> {
    let set = from.components();
    let those = |are_cleanup: bool| {
        let infos = from.columns.iter().map(|column| &column.info);
        let ids = infos.filter(|info| info.is_cleanup() == are_cleanup).map(|info| info.id);
        ComponentSet::new(ids.collect())
    };
    match change {
        Change::Insert => Some(set.with(ids)),
        Change::Remove => ids.iter().all(|&id| set.contains(id)).then(|| set.without(ids)),
        Change::Strip => Some(those(true).with(ids)),
        Change::Copy => Some(those(false).without(ids)),
    }
}

impl Bundles {
    /// Returns the index of this bundle type.
    ///
    /// Panics if the bundle has a component twice.
    pub(crate) fn index<P: Parts>(&mut self, registry: &mut Registry) -> BundleIndex {
        let known = self.indexes.get(&TypeId::of::<P>()).copied();
        known.unwrap_or_else(|| {
            let mut ids = Vec::with_capacity(P::COUNT);
            P::register(registry, &mut ids);
            self.enter(TypeId::of::<P>(), &ids, registry)
        })
    }

    fn enter(&mut self, bundle: TypeId, ids: &[ComponentId], registry: &Registry) -> BundleIndex {
        for (place, id) in ids.iter().enumerate() {
            if ids[..place].contains(id) {
                let name = |id: &ComponentId| registry.info(*id).name().to_string();
                let names = ids.iter().map(name).collect::<Vec<_>>().join(", ");
                panic!("a bundle ({names}) has {} twice", name(id));
            }
        }
        let index = self.push(Some(bundle), ids);
        self.indexes.insert(bundle, index);
        index
    }

    fn push(&mut self, of: Option<TypeId>, ids: &[ComponentId]) -> BundleIndex {
        let index = u32::try_from(self.known.len()).expect("fewer than 2^32 bundle types");
        self.known.push(BundleIds { of, ids: ids.into() });
        BundleIndex(index)
    }

    /// Returns the components of this bundle type.
    pub(crate) fn ids(&self, index: BundleIndex) -> &BundleIds {
        &self.known[index.0 as usize]
    }

    /// Returns the transition of a row that this bundle is inserted into or removed from, or `None` if it
    /// is to be removed and the row does not have all of it.
    #[inline]
    pub(crate) fn transition<P: Parts>(
        &mut self,
        change: Change,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let cached = self.cached_edges[change as usize].get(TypeId::of::<P>(), from.0);
        let place = match cached {
            Some(place) => place,
            None => self.find_edge_of::<P>(change, from, registry, archetypes),
        };
        self.edges[change as usize].known[place as usize].as_ref()
    }

    #[cold]
    fn find_edge_of<P: Parts>(
        &mut self,
        change: Change,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> u32 {
        let index = self.index::<P>(registry);
        let place = self.find_edge(change, index, from, registry, archetypes);
        self.cached_edges[change as usize].put(TypeId::of::<P>(), from.0, place);
        place
    }

    /// Returns the transition of a row that this bundle is inserted into, which always exists. From the
    /// archetype without components it leads to the archetype of new entities with the bundle.
    #[inline]
    pub(crate) fn insertion<P: Parts>(
        &mut self,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        let insertion = self.transition::<P>(Change::Insert, from, registry, archetypes);
        insertion.expect("it leads somewhere")
    }

    /// Returns what [`transition`](Self::transition) returns, for these components. They belong to this
    /// world, and are distinct.
    pub(crate) fn transition_of_ids(
        &mut self,
        change: Change,
        ids: &[ComponentId],
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let cached = self.cached_edges_of_id[change as usize].get(ids.first().copied(), from.0);
        let place = match cached.filter(|_| ids.len() <= 1) {
            Some(place) => place,
            None => self.find_edge_of_ids(change, ids, from, registry, archetypes),
        };
        self.edges[change as usize].known[place as usize].as_ref()
    }

    #[cold]
    fn find_edge_of_ids(
        &mut self,
        change: Change,
        ids: &[ComponentId],
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> u32 {
        let known = self.by_ids.get(ids).copied();
        let index = known.unwrap_or_else(|| {
            let index = self.push(None, ids);
            self.by_ids.insert(ids.into(), index);
            index
        });
        let place = self.find_edge(change, index, from, registry, archetypes);
        if ids.len() <= 1 {
            self.cached_edges_of_id[change as usize].put(ids.first().copied(), from.0, place);
        }
        place
    }

    #[inline(never)]
    fn find_edge(
        &mut self,
        change: Change,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> u32 {
        let BundleIds { of, ref ids } = self.known[index.0 as usize];
        let Edges { places, known } = &mut self.edges[change as usize];
        *places.entry((from, index)).or_insert_with(|| {
            let set = target(change, archetypes.get(from), ids);
            let transition = set.map(|set| {
                let is_replaced = |id| change == Change::Insert && ids.contains(&id);
                let mut transition =
                    Transition::new(from, set, (registry, archetypes), is_replaced);
                transition.columns = match change {
                    Change::Insert => columns_of(archetypes.get(transition.target), ids),
                    Change::Remove => columns_of(archetypes.get(from), ids),
                    Change::Strip | Change::Copy => Box::default(),
                };
                transition.inserts = of.filter(|_| change == Change::Insert);
                transition
            });
            known.push(transition);
            u32::try_from(known.len() - 1).expect("fewer than 2^32 transitions")
        })
    }

    /// Returns the first component of a bundle that the archetype of an entity lacks.
    pub(crate) fn first_missing(
        &self,
        index: BundleIndex,
        entity: Entity,
        archetype: &Archetype,
        registry: &Registry,
    ) -> MissingComponent {
        let missing = self.ids(index).ids.iter().find(|&&id| !archetype.components().contains(id));
        let name = missing.and_then(|&id| registry.info(id).type_name());
        MissingComponent { entity, component: name.unwrap_or("a component") }
    }

    /// Checks that each transition leads where I-6 says, by computing that directly.
    pub(crate) fn check(&self, archetypes: &[Archetype]) -> Result<(), String> {
        for (change, edges) in Change::ALL.into_iter().zip(&self.edges) {
            for (&(from, bundle), &place) in &edges.places {
                let transition = &edges.known[place as usize];
                let BundleIds { of, ids } = self.ids(bundle);
                let source = &archetypes[from.index()];
                match (transition, target(change, source, ids)) {
                    (Some(transition), Some(set))
                        if transition.inserts == of.filter(|_| change == Change::Insert) =>
                    {
                        let goes_along = |id| change != Change::Insert || !ids.contains(&id);
                        transition.check(source, archetypes, &set, goes_along)?;
                    }
                    (None, None) => {}
                    _ => return Err(format!("{change:?} of {bundle:?} from {from:?} is amiss")),
                }
            }
        }
        Ok(())
    }
}

fn columns_of(archetype: &Archetype, ids: &[ComponentId]) -> Box<[usize]> {
    ids.iter()
        .map(|&id| archetype.column_of(id).expect("the archetype was made for these components"))
        .collect()
}

/// The index of a bundle type, or of a list of component ids, in one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BundleIndex(u32);

/// The transitions from archetypes by bundles; `None` if there is none.
#[derive(Debug, Default)]
struct Edges {
    /// The index of each pair in `known`.
    places: hashbrown::HashMap<(ArchetypeId, BundleIndex), u32, BuildFibonacci>,
    known: Vec<Option<Transition>>,
}

/// A small table of recent look-ups, by a key and a number: it takes one access where a hash map takes
/// several. A new entry displaces the one in its slot.
#[derive(Debug)]
struct EdgeCache<K> {
    /// Empty at first, then [`EDGES_MAX`] entries.
    entries: Vec<(K, u32, u32)>,
}

impl<K> Default for EdgeCache<K> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

const EDGES_MAX: usize = 64;

impl<K: Copy + Eq + Hash> EdgeCache<K> {
    #[inline]
    fn slot(of: K, number: u32) -> usize {
        let mut hasher = Fibonacci::default();
        of.hash(&mut hasher);
        // Types differ in all bits, numbers in the lowest.
        let mixed = hasher.finish() ^ u64::from(number.wrapping_mul(5));
        usize::from(mixed.to_le_bytes()[0]) % EDGES_MAX
    }

    #[inline]
    fn get(&self, of: K, number: u32) -> Option<u32> {
        let &(known, from, found) = self.entries.get(Self::slot(of, number))?;
        (known == of && from == number).then_some(found)
    }

    #[cold]
    fn put(&mut self, of: K, number: u32, found: u32) {
        // No archetype has this number.
        self.entries.resize(EDGES_MAX, (of, u32::MAX, 0));
        self.entries[Self::slot(of, number)] = (of, number, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[derive(crate::Component)]
    struct A(u32);
    #[derive(crate::Component)]
    struct B(u32);
    #[derive(crate::Component)]
    struct C;

    /// Returns what the check reports after `spoil` has changed the transition of an insertion.
    fn complaint(spoil: impl FnOnce(&mut Transition)) -> String {
        let mut world = World::new();
        let entity = world.spawn((A(1), B(2)));
        world.insert(entity, C).unwrap();
        world.check().unwrap();
        spoil(world.bundles.edges[0].known[1].as_mut().expect("it leads somewhere"));
        let broken = world.check().unwrap_err();
        assert_eq!(broken.invariant, "I-6");
        broken.detail
    }

    #[test]
    fn a_transition_that_leads_elsewhere_is_found() {
        let detail = complaint(|transition| transition.target = ArchetypeId(0));
        assert!(detail.starts_with("another set"), "{detail}");
    }

    #[test]
    fn a_transition_that_mixes_up_columns_is_found() {
        let detail = complaint(|transition| {
            let steps = &mut transition.plan.steps;
            (steps[0].target, steps[1].target) = (steps[1].target, steps[0].target);
        });
        assert!(detail.starts_with("a step of"), "{detail}");
        let detail = complaint(|transition| transition.plan.steps[1].size += 4);
        assert!(detail.starts_with("a step of"), "{detail}");
        let detail = complaint(|transition| transition.plan.fresh.clear());
        assert!(detail.starts_with("other columns are fresh"), "{detail}");
        let detail = complaint(|transition| {
            let drop = crate::component::DropErasedFn::of::<A>();
            transition.plan.drops.push((0, drop));
        });
        assert!(detail.starts_with("other values are dropped"), "{detail}");
    }

    #[test]
    fn a_transition_is_found_out_once() {
        let mut world = World::new();
        for _ in 0..2 {
            let entity = world.spawn((A(1), B(2)));
            world.insert(entity, C).unwrap();
            world.bundles.cached_edges = <[EdgeCache<TypeId>; 2]>::default();
        }
        assert_eq!(world.bundles.edges[0].known.len(), 2, "one of them for spawning");
        let entity = world.spawn(A(1));
        world.insert(entity, C).unwrap();
        assert_eq!(world.bundles.edges[0].known.len(), 4, "from another archetype");
    }

    #[test]
    fn what_was_displaced_is_not_found() {
        let mut cache = EdgeCache::default();
        let of = TypeId::of::<u8>();
        assert_eq!(cache.get(of, 0), None);
        // More than there is room for.
        for number in 0..1000 {
            cache.put(of, number, number + 7);
            assert_eq!(cache.get(of, number), Some(number + 7));
            assert_eq!(cache.get(TypeId::of::<u16>(), number), None);
        }
        let found: Vec<_> = (0..1000).filter(|&number| cache.get(of, number).is_some()).collect();
        assert_eq!(found.len(), EDGES_MAX);
        assert!(found.iter().all(|&number| cache.get(of, number) == Some(number + 7)));
    }
}
