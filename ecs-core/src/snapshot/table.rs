//! What the archetypes of a world have, in an order that another world with the same archetypes has
//! as well.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{CUSTOM, ENABLEABLE, PLAIN, Place, TRACKED, UNSAVED, Writer};
use crate::component::{CodecKind, ComponentId, ComponentInfo, Kind, SharedValue};
use crate::error::SnapshotError;
use crate::world::World;

/// The components of the world's archetypes, in the order of their names: another world, which has
/// met the same types in another order, writes the same. Then the shared values of each type, in
/// the order of the first archetypes that have them.
pub(super) struct Table<'w> {
    /// Of a shared component, the first of its values.
    infos: Vec<&'w ComponentInfo>,
    /// Each value, and the index above of its type.
    shared: Vec<(usize, &'w ComponentInfo, &'w SharedValue)>,
    /// By component id: the number that archetypes name it by. Of components that no archetype has
    /// it means nothing.
    numbers: Vec<usize>,
}

/// Where the values of a component lie.
pub(super) fn place(info: &ComponentInfo) -> Place {
    match &info.kind {
        Kind::Shared(_) => Place::Archetypes,
        Kind::Chunk(_) => Place::Chunks,
        Kind::Type(_) | Kind::Bytes | Kind::Functions | Kind::Vacant => Place::Rows,
    }
}

/// What a component is found by: a type may lie in rows here, and outside of them there.
pub(super) fn key(info: &ComponentInfo) -> (&str, Place) {
    (info.name().as_str(), place(info))
}

/// How the values of a component are saved, and how large they are in memory.
pub(super) fn way(info: &ComponentInfo) -> (u8, usize) {
    match &info.kind {
        Kind::Shared(value) => (mark(value.codec.kind), value.codec.size),
        Kind::Chunk(unset) => (mark(unset.codec.kind), unset.codec.size),
        Kind::Type(_) | Kind::Bytes | Kind::Functions | Kind::Vacant => {
            (mark(info.erased.codec.kind), info.layout().size())
        }
    }
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
        let (mut infos, mut values): (Vec<&ComponentInfo>, Vec<_>) = (Vec::new(), Vec::new());
        for archetype in world.archetypes() {
            for &id in archetype.components().ids() {
                let info = &all[id.index()];
                if core::mem::replace(&mut is_used[id.index()], true) {
                    continue;
                }
                let Kind::Shared(value) = &info.kind else {
                    infos.push(info);
                    continue;
                };
                if !infos.iter().any(|first| first.shared_type() == Some(value.of)) {
                    infos.push(info);
                }
                values.push((info, value));
            }
        }
        let is_below = |a: &&ComponentInfo, b: &&ComponentInfo| key(a).cmp(&key(b));
        infos.sort_unstable_by(is_below);
        if let Some(pair) = infos.windows(2).find(|pair| key(pair[0]) == key(pair[1])) {
            return Err(SnapshotError::AmbiguousName { component: pair[0].name().to_string() });
        }
        let of_value = |(info, value): (&'w ComponentInfo, &'w SharedValue)| {
            let found = infos.iter().position(|first| first.shared_type() == Some(value.of));
            (found.expect("the first value of each type is listed"), info, value)
        };
        let mut shared: Vec<_> = values.into_iter().map(of_value).collect();
        // Stable: within a type they stay in the order of the archetypes.
        shared.sort_by_key(|&(of, _, _)| of);
        let mut numbers = Vec::from_iter(all.iter().map(|_| 0));
        for (number, info) in infos.iter().enumerate() {
            numbers[info.id.index()] = number;
        }
        for (number, (_, info, _)) in (infos.len()..).zip(&shared) {
            numbers[info.id.index()] = number;
        }
        Ok(Self { infos, shared, numbers })
    }

    /// The number that archetypes name this component by.
    pub(super) fn number(&self, id: ComponentId) -> usize {
        self.numbers[id.index()]
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), SnapshotError> {
        writer.count(self.infos.len());
        for info in &self.infos {
            writer.count(info.name().len());
            writer.0.extend_from_slice(info.name().as_bytes());
            let (kind, size) = way(info);
            writer.u8(kind);
            let enableable = if info.is_enableable() { ENABLEABLE } else { 0 };
            let tracked = if info.tracked { TRACKED } else { 0 };
            writer.u8(enableable | tracked | place(info).flag());
            // How large a value is that is saved by functions is nobody's business.
            writer.long_count(if kind == PLAIN { size } else { 0 });
        }
        writer.count(self.shared.len());
        for (of, info, value) in &self.shared {
            let component = || info.name().to_string();
            if value.codec.kind == CodecKind::Unsaved {
                // To leave out an archetype, even an empty one, would be to change the order of the
                // others.
                return Err(SnapshotError::NotSerializable { component: component() });
            }
            writer.count(*of);
            let written = writer.counted(|out| (value.codec.write)(&*value.value, out));
            written.map_err(|_| SnapshotError::Unwritable { component: component() })?;
        }
        Ok(())
    }
}
