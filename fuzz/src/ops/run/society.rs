//! What entities are to each other, what they have in common, and who watches them.

use std::collections::BTreeMap;

use ecs_core::{Entity, InstantiateError, NoSuchEntity, RelationError};

use super::super::Who;
use super::super::bonds::Bond;
use super::super::outer::{Level, Reach};
use super::super::parts::Kind;
use super::super::watch::{self, Watched};
use super::Run;

/// Above this, nobody else begins to watch.
const WATCHES_MAX: usize = 12;

impl Run {
    pub(super) fn instantiate(&mut self, who: Who, count: usize) {
        let prefab = self.pick(who);
        let members = self.model.bonds.family(prefab);
        if !self.has_room(count * members.len()) {
            return;
        }
        let copies = self.world.instantiate(prefab, count);
        if !self.model.is_there(prefab) {
            assert_eq!(copies, Err(InstantiateError::NoSuchEntity(NoSuchEntity(prefab))));
            return;
        }
        let copies = copies.expect("every component can be cloned");
        assert_eq!(copies.len(), count);
        for copy in copies {
            let of_member = |&member: &Entity| (member, self.model.allocate());
            let of: BTreeMap<Entity, Entity> = members.iter().map(of_member).collect();
            assert_eq!(copy, of[&prefab]);
            self.model.bonds.copy(&of, &members);
            for member in &members {
                let mut holding = self.model.entities[member].copied();
                if let Some(link) = holding.0.get_mut(&Kind::Link) {
                    let to = Entity::from_bits(link.value).and_then(|to| of.get(&to));
                    link.value = to.map_or(link.value, |to| to.to_bits());
                }
                self.handles.push(of[member]);
                self.model.arrive(of[member], holding, None);
            }
            for member in &members {
                for bond in Bond::ALL {
                    for target in self.model.bonds.targets(bond, of[member]).to_vec() {
                        self.model.watches.tell_pair(bond, true, of[member], target);
                    }
                }
            }
        }
    }

    pub(super) fn relate(&mut self, bond: Bond, source: Who, target: Who) {
        let (source, target) = (self.pick(source), self.pick(target));
        let related = (bond.fns().relate)(&mut self.world, source, target);
        let model = &mut self.model;
        if let Some(missing) = [source, target].into_iter().find(|&it| !model.is_there(it)) {
            assert_eq!(related, Err(NoSuchEntity(missing).into()));
        } else if model.bonds.targets(bond, source).contains(&target) {
            assert_eq!(related, Ok(false));
        } else if bond == Bond::Child && model.bonds.leads_to(bond, target, source) {
            assert_eq!(related, Err(RelationError::Circle { source, target }));
        } else {
            assert_eq!(related, Ok(true));
            if let Some(old) = model.bonds.relate(bond, source, target) {
                model.watches.tell_pair(bond, false, source, old);
            }
            model.watches.tell_pair(bond, true, source, target);
        }
    }

    pub(super) fn unrelate(&mut self, bond: Bond, source: Who, nth: usize) {
        let source = self.pick(source);
        let targets = self.model.bonds.targets(bond, source);
        let target = targets.get(nth % targets.len().max(1)).copied().unwrap_or(self.handles[0]);
        let unrelated = (bond.fns().unrelate)(&mut self.world, source, target);
        if !self.model.is_there(source) {
            assert_eq!(unrelated, Err(NoSuchEntity(source)));
            return;
        }
        assert_eq!(unrelated, Ok(self.model.bonds.unrelate(bond, source, target)));
        if unrelated == Ok(true) {
            self.model.watches.tell_pair(bond, false, source, target);
        }
    }

    pub(super) fn set_level(&mut self, who: Who, level: Option<u32>) {
        let entity = self.pick(who);
        let held = self.model.entities.get_mut(&entity);
        if let Some(level) = level {
            let set = self.world.set_shared(entity, Level(level));
            assert_eq!(set.is_ok(), held.is_some());
            held.into_iter().for_each(|held| held.2.level = Some(level));
        } else {
            let removed = self.world.remove_shared::<Level>(entity);
            let before = held.and_then(|held| held.2.level.take());
            assert_eq!(removed.is_ok(), before.is_some());
        }
    }

    pub(super) fn set_reach(&mut self, who: Who, has: bool) {
        let entity = self.pick(who);
        let held = self.model.entities.get_mut(&entity);
        let before = held.as_ref().map(|held| held.2.has_reach);
        if has {
            let added = self.world.add_chunk_component::<Reach>(entity);
            assert_eq!(added.ok(), before, "whether it had it already");
        } else {
            let removed = self.world.remove_chunk_component::<Reach>(entity);
            assert_eq!(removed.is_ok(), before == Some(true));
        }
        held.into_iter().for_each(|held| held.2.has_reach = has);
    }

    pub(super) fn watch(&mut self, watched: Watched, is_hook: bool) {
        if self.model.watches.len() == WATCHES_MAX {
            return;
        }
        let is_hook = is_hook
            && !self.model.watches.has_hook(watched)
            && matches!(watched, Watched::Component(_, kind) if self.model.count(kind) == 0);
        let number = self.model.watches.add(watched, is_hook);
        watch::watch(&mut self.world, number, watched, is_hook);
    }
}
