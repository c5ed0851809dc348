//! Operations on relations, shared state and observers.

use std::sync::Arc;

use formic_ecs::{InstantiateError, NoSuchEntity, RelationError};

use super::super::Who;
use super::super::bonds::Bond;
use super::super::parts::Seed;
use super::super::shapes::{self, GIFT};
use super::super::watch::{self, Watched};
use super::{Run, values_of};

/// Above this, no other observer is added.
const WATCHES_MAX: usize = 24;

impl Run {
    /// Copies an entity, and gives each copy a gift where there is a value for it.
    pub(super) fn instantiate(&mut self, who: Who, count: usize, gift: Option<(u8, Who)>) {
        let original = self.pick(who);
        if !self.has_room(count * self.model.bonds.family(original).len()) {
            return;
        }
        let ledger = Arc::clone(&self.ledger);
        let gift = gift.map(|(value, link)| Seed {
            value: u64::from(value),
            link: self.pick_link(link),
            ledger: &ledger,
        });
        let world = &mut self.world;
        let copies = match &gift {
            None => world.instantiate(original, count),
            Some(seed) => world.instantiate_with(original, count, |nth| shapes::gift(seed, nth)),
        };
        if !self.model.is_there(original) {
            assert_eq!(copies, Err(InstantiateError::NoSuchEntity(NoSuchEntity(original))));
            return;
        }
        let expected = (0..count).map(|nth| {
            let made = self.model.copy(original);
            if let Some(seed) = &gift {
                self.model.insert(made[0], &values_of(&GIFT, &seed.nth(nth)));
            }
            self.handles.extend(&made);
            made[0]
        });
        assert_eq!(copies, Ok(expected.collect()), "every component can be cloned");
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
            assert_eq!(related, Err(RelationError::Cycle { source, target }));
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
