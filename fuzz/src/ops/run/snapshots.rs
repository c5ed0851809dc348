//! Saving a world, going back, going on in another one, and snapshots that are not to be trusted.

use formic_ecs::{Snapshot, World};

use super::super::bonds::Bond;
use super::super::parts::Kind;
use super::super::tamper;
use super::super::watch::Log;
use super::Run;

/// A world that knows what the programs play with.
pub(in super::super) fn empty_world() -> World {
    let mut world = World::new();
    Kind::ALL.iter().for_each(|kind| _ = (kind.fns().id)(&mut world));
    Bond::ALL.iter().for_each(|bond| (bond.fns().register)(&mut world));
    drop(world.insert_resource(Log::default()));
    world
}

/// The same with other ids for everything: what it knows it got to know in another order.
fn other_world() -> World {
    let mut world = World::new();
    // Who is gone to before others, when they go, is a matter of the order of relations.
    Bond::ALL.iter().for_each(|bond| (bond.fns().register)(&mut world));
    Kind::ALL.iter().rev().for_each(|kind| _ = (kind.fns().id)(&mut world));
    drop(world.insert_resource(Log::default()));
    world
}

impl Run {
    pub(super) fn save(&mut self) {
        let saved = self.world.snapshot().expect("every component can be saved");
        assert_eq!(Snapshot::from_bytes(saved.as_bytes()).as_ref(), Ok(&saved));
        self.saved = Some((saved, self.model.clone()));
    }

    pub(super) fn restore(&mut self) {
        let Some((saved, model)) = &self.saved else { return };
        self.world.restore(saved).expect("it knows all that was saved");
        assert_eq!(self.world.snapshot().as_ref(), Ok(saved), "the same to the bit");
        // Watchers stay, and were told of nothing.
        let watches = std::mem::take(&mut self.model.watches);
        self.model = model.clone();
        self.model.watches = watches;
        // What was marked since then has not happened.
        let version = self.world.version();
        self.marks.retain(|&(marked, _)| marked <= version);
    }

    /// Loads the world into another one, and goes on with that; or stays, for comparison: no handle
    /// is to see a difference.
    pub(super) fn move_on(&mut self) {
        let saved = self.world.snapshot().expect("every component can be saved");
        if self.moves {
            let mut other = other_world();
            self.model.watches.begin_in(&mut other);
            other.restore(&saved).expect("it knows all that was saved");
            other.check().expect("in order");
            assert_eq!(other.snapshot().as_ref(), Ok(&saved), "the same to the bit");
            assert_eq!(other.state_hash(), self.world.state_hash());
            assert!(other.entities().eq(self.world.entities()), "in the same order");
            self.world = other;
        }
        // Neither buffers nor queries by id are good for another world.
        (0..self.recordings.len()).for_each(|recording| self.forget(recording, true));
        self.questions.clear();
    }

    /// Restores a snapshot with changed bytes: it is refused and nothing has happened, or it makes
    /// a world in order, which can go back.
    pub(super) fn tamper(&mut self, changes: &[u8]) {
        let (good, hash) = (self.world.snapshot().expect("it can be saved"), self.state_hash());
        if let Ok(changed) = Snapshot::from_bytes(tamper::changed(good.as_bytes(), changes)) {
            if self.world.restore(&changed).is_ok() {
                self.world.check().expect("in order");
                self.world.restore(&good).expect("its own");
            }
        }
        assert_eq!(self.state_hash(), hash);
        assert_eq!(self.world.snapshot(), Ok(good), "the same to the bit");
    }
}
