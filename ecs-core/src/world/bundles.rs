//! Which archetype a bundle leads to: worked out once for each archetype and bundle.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::TypeId;

use super::edges::{BundleIndex, EdgeCache, Edges};
use crate::archetype::{Archetype, ArchetypeId, Archetypes, Column};
use crate::bundle::Bundle;
use crate::component::{ComponentId, ComponentSet, Prefab, Registry};
use crate::hash::{BuildFibonacci, TypeMap};
use crate::storage::{ColumnAction, ColumnStep, RowPlan};

/// The bundle types that a world has met, and the transitions between archetypes.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    indexes: TypeMap<BundleIndex>,
    /// Of the lists of components that were given or taken by their ids.
    by_ids: hashbrown::HashMap<Box<[ComponentId]>, BundleIndex, BuildFibonacci>,
    infos: Vec<BundleInfo>,
    /// What was asked for lately, by type: numbers of bundles, and places among the transitions.
    cached_indexes: EdgeCache,
    cached_inserts: EdgeCache,
    cached_removes: EdgeCache,
    inserts: Edges<Transition>,
    removes: Edges<Option<Transition>>,
    strippings: hashbrown::HashMap<u32, Transition, BuildFibonacci>,
    copyings: hashbrown::HashMap<u32, Transition, BuildFibonacci>,
}

#[derive(Debug)]
struct BundleInfo {
    name: &'static str,
    /// In declared order.
    ids: Box<[ComponentId]>,
    /// Whether values that are removed go to the caller, rather than being dropped.
    is_typed: bool,
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
    /// The same and all else that goes along, for one row.
    pub(crate) plan: RowPlan,
    /// The columns of the source whose values are replaced by the bundle's.
    pub(crate) replaced: Box<[usize]>,
}

impl Bundles {
    /// The number of this bundle type.
    ///
    /// Panics where it names a component twice.
    #[inline]
    pub(crate) fn index<B: Bundle>(&mut self, registry: &mut Registry) -> BundleIndex {
        match self.cached_indexes.get(TypeId::of::<B>(), 0) {
            Some(index) => BundleIndex(index),
            None => self.find_index::<B>(registry),
        }
    }

    #[cold]
    fn find_index<B: Bundle>(&mut self, registry: &mut Registry) -> BundleIndex {
        let index = self.enter_index::<B>(registry);
        self.cached_indexes.put(TypeId::of::<B>(), 0, index.0);
        index
    }

    fn enter_index<B: Bundle>(&mut self, registry: &mut Registry) -> BundleIndex {
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
        let index = self.push(name, &ids, true);
        self.indexes.insert(TypeId::of::<B>(), index);
        index
    }

    /// The number of these components, which are of this world and each there once.
    pub(crate) fn index_of_ids(&mut self, ids: &[ComponentId]) -> BundleIndex {
        if let Some(&index) = self.by_ids.get(ids) {
            return index;
        }
        let index = self.push("components by their ids", ids, false);
        self.by_ids.insert(ids.into(), index);
        index
    }

    fn push(&mut self, name: &'static str, ids: &[ComponentId], is_typed: bool) -> BundleIndex {
        let index = u32::try_from(self.infos.len()).expect("fewer than 2^32 bundle types");
        self.infos.push(BundleInfo { name, ids: ids.into(), is_typed, spawn: None });
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

    /// The transition of a row that is given this bundle.
    #[inline]
    pub(crate) fn insertion<B: Bundle>(
        &mut self,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        let place = match self.cached_inserts.get(TypeId::of::<B>(), from.0) {
            Some(place) => place,
            None => {
                let index = self.index::<B>(registry);
                let place = self.insertion_place(index, from, registry, archetypes);
                self.cached_inserts.put(TypeId::of::<B>(), from.0, place);
                place
            }
        };
        self.inserts.at(place)
    }

    /// The transition of a row that is given the bundle of this number.
    pub(crate) fn insertion_at(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> &Transition {
        let place = self.insertion_place(index, from, registry, archetypes);
        self.inserts.at(place)
    }

    fn insertion_place(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> u32 {
        let ids = &self.infos[index.0 as usize].ids;
        self.inserts.place(from, index, || {
            let set = archetypes.get(from).components().with(ids);
            let target_id = archetypes.obtain(set, registry);
            let (source, target) = (archetypes.get(from), archetypes.get(target_id));
            let replaced = ids.iter().filter_map(|&id| source.column_of(id)).collect();
            let kept = |id: &ComponentId| !ids.contains(id);
            Transition {
                target: target_id,
                columns: columns_of(target, ids),
                moves: moves(source, target, kept),
                plan: plan(source, target, kept),
                replaced,
            }
        })
    }

    /// The transition of a row that this bundle is taken from; `None` where it does not have all of it.
    #[inline]
    pub(crate) fn removal<B: Bundle>(
        &mut self,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let place = match self.cached_removes.get(TypeId::of::<B>(), from.0) {
            Some(place) => place,
            None => {
                let index = self.index::<B>(registry);
                let place = self.removal_place(index, from, registry, archetypes);
                self.cached_removes.put(TypeId::of::<B>(), from.0, place);
                place
            }
        };
        self.removes.at(place).as_ref()
    }

    /// The transition of a row that the bundle of this number is taken from; `None` where it does not have
    /// all of it.
    pub(crate) fn removal_at(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> Option<&Transition> {
        let place = self.removal_place(index, from, registry, archetypes);
        self.removes.at(place).as_ref()
    }

    fn removal_place(
        &mut self,
        index: BundleIndex,
        from: ArchetypeId,
        registry: &Registry,
        archetypes: &mut Archetypes,
    ) -> u32 {
        let BundleInfo { ids, is_typed, .. } = &self.infos[index.0 as usize];
        self.removes.place(from, index, || {
            let has_all = ids.iter().all(|&id| archetypes.get(from).components().contains(id));
            if !has_all {
                return None;
            }
            let set = archetypes.get(from).components().without(ids);
            let target_id = archetypes.obtain(set, registry);
            let (source, target) = (archetypes.get(from), archetypes.get(target_id));
            let mut plan = plan(source, target, |_| true);
            if *is_typed {
                plan.forget_rest();
            }
            Some(Transition {
                target: target_id,
                columns: columns_of(source, ids),
                moves: moves(source, target, |_| true),
                plan,
                replaced: Box::default(),
            })
        })
    }

    /// The transition of a row that is left its cleanup components, and is given a tag; what does not go
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
            let target_id = archetypes.obtain(ComponentSet::new(ids), registry);
            let (source, target) = (archetypes.get(from), archetypes.get(target_id));
            let ids = source.components().ids().iter().enumerate();
            let left = ids.filter(|&(_, &id)| target.column_of(id).is_none());
            Transition {
                target: target_id,
                columns: Box::default(),
                moves: moves(source, target, |_| true),
                plan: plan(source, target, |_| true),
                replaced: left.map(|(column, _)| column).collect(),
            }
        })
    }

    /// The transition from a row to copies of it; the source may be the target.
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
            let target_id = archetypes.obtain(ComponentSet::new(ids), registry);
            let (source, target) = (archetypes.get(from), archetypes.get(target_id));
            Transition {
                target: target_id,
                columns: Box::default(),
                moves: moves(source, target, |_| true),
                plan: plan(source, target, |_| true),
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

    /// Whether each transition leads where I-6 says, by the shortest way of saying it.
    pub(crate) fn check(&self, archetypes: &[Archetype]) -> Result<(), String> {
        for (from, bundle, transition) in self.inserts.iter() {
            let ids = &*self.infos[bundle.0 as usize].ids;
            let source = &archetypes[from.index()];
            let with = source.components().with(ids);
            transition.check(source, archetypes, &with, |id| !ids.contains(&id))?;
        }
        for (from, bundle, transition) in self.removes.iter() {
            let ids = &*self.infos[bundle.0 as usize].ids;
            let source = &archetypes[from.index()];
            let has_all = ids.iter().all(|&id| source.components().contains(id));
            match transition {
                Some(transition) => {
                    transition.check(
                        source,
                        archetypes,
                        &source.components().without(ids),
                        |_| true,
                    )?;
                }
                None if has_all => {
                    return Err(format!("no transition takes {bundle:?} from {from:?}"));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl Transition {
    fn check(
        &self,
        source: &Archetype,
        archetypes: &[Archetype],
        set: &ComponentSet,
        goes_along: impl Fn(ComponentId) -> bool,
    ) -> Result<(), String> {
        let target = &archetypes[self.target.index()];
        let wrong = |what| format!("{what}, from {:?} to {:?}", source.id(), target.id());
        if target.components() != set {
            return Err(wrong("another set of components"));
        }
        let id_of =
            |(from, to): (usize, usize)| (source.columns[from].info.id, target.columns[to].info.id);
        if self.moves.iter().any(|&pair| id_of(pair).0 != id_of(pair).1) {
            return Err(wrong("a value goes into another component's column"));
        }
        let ids = source.components().ids().iter();
        let moved = ids.filter(|&&id| goes_along(id) && set.contains(id));
        if !moved.copied().eq(self.moves.iter().map(|&pair| id_of(pair).0)) {
            return Err(wrong("other values than those that go along"));
        }
        let steps = source.columns.iter().zip(&*self.plan.steps);
        let is_right = |(column, step): (&Column, &ColumnStep)| {
            let moves = goes_along(column.info.id) && set.contains(column.info.id);
            step.size == column.info.layout.size()
                && step.target.map(|at| at as usize) == target.column_of(column.info.id)
                && (step.action == ColumnAction::Move) == moves
        };
        if self.plan.steps.len() != source.columns.len() || !steps.into_iter().all(is_right) {
            return Err(wrong("a step of the row plan is another column's"));
        }
        Ok(())
    }
}

fn columns_of(archetype: &Archetype, ids: &[ComponentId]) -> Box<[usize]> {
    ids.iter()
        .map(|&id| archetype.column_of(id).expect("the archetype was made for these components"))
        .collect()
}

fn moves(
    source: &Archetype,
    target: &Archetype,
    kept: impl Fn(&ComponentId) -> bool,
) -> Box<[(usize, usize)]> {
    let ids = source.components().ids().iter().enumerate();
    ids.filter(|(_, id)| kept(id))
        .filter_map(|(from, &id)| Some((from, target.column_of(id)?)))
        .collect()
}

fn bit_moves(source: &Archetype, target: &Archetype) -> Box<[(usize, usize)]> {
    let columns = source.columns.iter();
    columns
        .filter_map(|column| {
            let from = column.enable_slot?;
            let to = target.columns[target.column_of(column.info.id)?].enable_slot?;
            Some((from, to))
        })
        .collect()
}

/// What happens to a row of the source; `kept` says which values may go along.
fn plan(source: &Archetype, target: &Archetype, kept: impl Fn(&ComponentId) -> bool) -> RowPlan {
    let steps: Box<[ColumnStep]> = source
        .columns
        .iter()
        .map(|column| {
            let target = target.column_of(column.info.id);
            let goes_along = target.is_some() && kept(&column.info.id);
            let left = column.left_behind();
            let target = target.map(|at| u32::try_from(at).expect("fewer than 2^32 components"));
            ColumnStep {
                target,
                action: if goes_along { ColumnAction::Move } else { left.action },
                ..left
            }
        })
        .collect();
    let ids = target.components().ids().iter().enumerate();
    let fresh = ids.filter(|(_, id)| !source.components().contains(**id));
    let version_moves = source.columns.iter().filter_map(|column| {
        let from = column.track_slot?;
        let to = target.columns[target.column_of(column.info.id)?].track_slot?;
        Some((from, to, !kept(&column.info.id)))
    });
    let has_marks = |archetype: &Archetype| {
        let mut columns = archetype.columns.iter();
        columns.any(|column| column.enable_slot.is_some() || column.track_slot.is_some())
    };
    RowPlan {
        drops: steps.iter().any(|step| step.action == ColumnAction::Drop),
        fresh: fresh.map(|(column, _)| column).collect(),
        bit_moves: bit_moves(source, target),
        version_moves: version_moves.collect(),
        has_marks: has_marks(source) || has_marks(target),
        steps,
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

    /// What a check says after `spoil` has been at the transition of an insertion.
    fn complaint(spoil: impl FnOnce(&mut Transition)) -> String {
        let mut world = World::new();
        let entity = world.spawn((A(1), B(2)));
        world.insert(entity, C).unwrap();
        world.check().unwrap();
        spoil(world.bundles.inserts.known_mut(0));
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
            let (from, to) = (transition.moves[0].0, transition.moves[1].0);
            (transition.moves[0].0, transition.moves[1].0) = (to, from);
        });
        assert!(detail.starts_with("a value goes into"), "{detail}");
        let detail = complaint(|transition| transition.moves = transition.moves[1..].into());
        assert!(detail.starts_with("other values"), "{detail}");
        let detail = complaint(|transition| transition.plan.steps[1].size += 4);
        assert!(detail.starts_with("a step of"), "{detail}");
    }
}
