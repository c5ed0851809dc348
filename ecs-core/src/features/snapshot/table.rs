//! The components that the archetypes of a world have, in an order that another world with the same
//! archetypes has as well.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{ENABLEABLE, PLAIN, TRACKED, Writer};
use super::names::{mark, saved_name, was_called};
use crate::component::{ComponentId, ComponentInfo};
use crate::error::SnapshotError;
use crate::world::World;

/// The components of the world's archetypes, in the order of their names: another world, which has
/// met the same types in another order, writes the same.
pub(super) struct Table<'w> {
    infos: Vec<&'w ComponentInfo>,
    /// By component id: the number that archetypes name it by. Of components that no archetype has
    /// it means nothing.
    numbers: Vec<usize>,
}

impl<'w> Table<'w> {
    pub(super) fn new(world: &'w World) -> Result<Self, SnapshotError> {
        let all = world.registry.infos();
        let mut is_used = Vec::from_iter(all.iter().map(|_| false));
        let sets = world.archetypes().iter().flat_map(|archetype| archetype.components().ids());
        sets.for_each(|id| is_used[id.index()] = true);
        let mut infos: Vec<_> = all.iter().filter(|info| is_used[info.id.index()]).collect();
        infos.sort_unstable_by_key(|info| saved_name(info));
        let ambiguous = |name: &str| SnapshotError::AmbiguousName { component: name.to_string() };
        if let Some(pair) = infos.windows(2).find(|p| saved_name(p[0]) == saved_name(p[1])) {
            return Err(ambiguous(saved_name(pair[0])));
        }
        // Restoring would not know which of the two it is.
        for renamed in all.iter().filter(|info| !info.was.is_empty()) {
            let is_confused = |info: &&&ComponentInfo| {
                info.id != renamed.id && was_called(renamed, saved_name(info))
            };
            if let Some(info) = infos.iter().find(is_confused) {
                return Err(ambiguous(saved_name(info)));
            }
        }
        let mut numbers = Vec::from_iter(all.iter().map(|_| 0));
        for (number, info) in infos.iter().enumerate() {
            numbers[info.id.index()] = number;
        }
        Ok(Self { infos, numbers })
    }

    /// The number that archetypes name this component by.
    pub(super) fn number(&self, id: ComponentId) -> usize {
        self.numbers[id.index()]
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.infos.len());
        for info in &self.infos {
            writer.text(saved_name(info));
            let kind = mark(info.erased.codec.kind);
            writer.u8(kind);
            let enableable = if info.is_enableable() { ENABLEABLE } else { 0 };
            let tracked = if info.tracked { TRACKED } else { 0 };
            writer.u8(enableable | tracked);
            // A value that is saved by functions may have any size in memory.
            writer.long_count(if kind == PLAIN { info.layout().size() } else { 0 });
            writer.text(&info.fields);
        }
    }
}
