//! The components that the archetypes of a world have, in an order that another world with the same
//! archetypes has as well.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{CUSTOM, ENABLEABLE, PLAIN, TRACKED, UNSAVED, Writer};
use crate::component::{CodecKind, ComponentId, ComponentInfo};
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

/// What a snapshot notes for a way of saving values.
pub(super) fn mark(kind: CodecKind) -> u8 {
    match kind {
        CodecKind::Unsaved => UNSAVED,
        CodecKind::Plain => PLAIN,
        CodecKind::Custom => CUSTOM,
    }
}

impl<'w> Table<'w> {
    pub(super) fn new(world: &'w World) -> Result<Self, SnapshotError> {
        let all = world.registry.infos();
        let mut is_used = Vec::from_iter(all.iter().map(|_| false));
        let sets = world.archetypes().iter().flat_map(|archetype| archetype.components().ids());
        sets.for_each(|id| is_used[id.index()] = true);
        let mut infos: Vec<_> = all.iter().filter(|info| is_used[info.id.index()]).collect();
        infos.sort_unstable_by_key(|info| info.name().as_str());
        if let Some(pair) = infos.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(SnapshotError::AmbiguousName { component: pair[0].name().to_string() });
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
            writer.count(info.name().len());
            writer.0.extend_from_slice(info.name().as_bytes());
            let kind = mark(info.erased.codec.kind);
            writer.u8(kind);
            let enableable = if info.is_enableable() { ENABLEABLE } else { 0 };
            let tracked = if info.tracked { TRACKED } else { 0 };
            writer.u8(enableable | tracked);
            // A value that is saved by functions may have any size in memory.
            writer.long_count(if kind == PLAIN { info.layout().size() } else { 0 });
        }
    }
}
