//! The components of a snapshot: their table, and how they are found in a world by current and former
//! names.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::format::{ENABLEABLE, TRACKED, Writer};
use super::image::ComponentImage;
use crate::component::{
    ArchetypeFlags, CodecKind, ComponentId, ComponentInfo, Registry, are_still_values,
};
use crate::error::{RestoreError, SnapshotError};
use crate::name::Name;
use crate::world::World;

/// Returns the name of a component in snapshots. The crate's own generic types with a type of the
/// program, such as `Buffer<game::Step>`, omit their module in the crate.
pub(super) fn saved_name(info: &ComponentInfo) -> &str {
    let name = &**info.name();
    match name.split_once('<') {
        Some((path, _)) if path.starts_with("formic_ecs::") => {
            &name[path.rfind("::").map_or(0, |at| at + 2)..]
        }
        _ => name,
    }
}

/// Whether the component had this name in an earlier version of the program. For `Buffer<new>` it is
/// enough that the element had it.
pub(super) fn was_called(info: &ComponentInfo, name: &str) -> bool {
    let same_kind = || {
        let (kind, _) = saved_name(info).split_once('<')?;
        name.strip_prefix(kind)?.strip_prefix('<')?.strip_suffix('>')
    };
    info.was.contains(&name) || same_kind().is_some_and(|inner| info.was.contains(&inner))
}

fn described(fields: &str, size: u64) -> String {
    let space = if fields.is_empty() { "" } else { " " };
    format!("{fields}{space}({size} bytes)")
}

/// The components that a world can restore, by name, and those that it knows to be gone.
pub(super) struct KnownComponents<'w> {
    known: Vec<&'w ComponentInfo>,
    removed: &'w [Name],
}

impl<'w> KnownComponents<'w> {
    pub(super) fn of(registry: &'w Registry) -> Self {
        // The world keeps a managed component in step only if it knows the relation.
        let is_known = |info: &&ComponentInfo| {
            !info.managed || info.flags.any(ArchetypeFlags::RELATED.and(ArchetypeFlags::DESPAWNED))
        };
        let mut known: Vec<_> = registry.infos().iter().filter(is_known).collect();
        known.sort_unstable_by_key(|info| saved_name(info));
        Self { known, removed: registry.removed() }
    }

    /// Returns the world's id of each of these components, or `None` for those that are gone.
    pub(super) fn find_all(
        &self,
        components: &[ComponentImage<'_>],
    ) -> Result<Vec<Option<ComponentId>>, RestoreError> {
        let ids: Vec<_> =
            components.iter().map(|component| self.find(component)).collect::<Result<_, _>>()?;
        let mut seen: Vec<ComponentId> = ids.iter().flatten().copied().collect();
        seen.sort_unstable();
        if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            let is_it = |&at: &usize| ids[at] == Some(twice[0]);
            let at = (0..ids.len()).find(is_it).unwrap_or_default();
            let component = components[at].name.to_string();
            return Err(RestoreError::AmbiguousName { component });
        }
        Ok(ids)
    }

    fn find(&self, component: &ComponentImage<'_>) -> Result<Option<ComponentId>, RestoreError> {
        let name = || component.name.to_string();
        let start = self.known.partition_point(|known| saved_name(known) < component.name);
        let rest = self.known[start..].iter();
        let named = rest.take_while(|known| saved_name(known) == component.name);
        let renamed = self.known.iter().filter(|known| {
            !known.was.is_empty()
                && saved_name(known) != component.name
                && was_called(known, component.name)
        });
        let mut found = named.chain(renamed);
        let Some(known) = found.next() else {
            let is_removed = self.removed.iter().any(|removed| *removed == component.name);
            return if is_removed {
                Ok(None)
            } else {
                Err(RestoreError::UnknownComponent { component: name() })
            };
        };
        if found.next().is_some() {
            return Err(RestoreError::AmbiguousName { component: name() });
        }
        let different = |what| Err(RestoreError::DifferentComponent { component: name(), what });
        // A component that could not be saved has no values.
        if component.kind != CodecKind::Unsaved && component.kind != known.erased.codec.kind {
            return different("way of saving it");
        }
        let has_other_size =
            component.kind == CodecKind::Plain && component.size != known.layout().size() as u64;
        let has_other_fields = !are_still_values(component.fields, &known.fields);
        if component.kind != CodecKind::Unsaved && (has_other_size || has_other_fields) {
            return Err(RestoreError::ChangedFields {
                component: name(),
                saved: described(component.fields, component.size),
                now: described(&known.fields, known.layout().size() as u64),
            });
        }
        if component.enableable != known.is_enableable() {
            return different("answer to whether it is enableable");
        }
        if component.tracked != known.is_tracked() {
            return different("answer to whether it is tracked");
        }
        Ok(Some(known.id()))
    }
}

/// The components of the world's archetypes, sorted by name. So another world writes the same, even if it
/// registered the types in another order.
pub(super) struct Table<'w> {
    infos: Vec<&'w ComponentInfo>,
    /// The number of each component in archetypes, by component id. It is meaningless for components that
    /// no archetype has.
    numbers: Vec<usize>,
}

impl<'w> Table<'w> {
    pub(super) fn new(world: &'w World) -> Result<Self, SnapshotError> {
        let all = world.registry.infos();
        let mut is_used = Vec::from_iter(all.iter().map(|_| false));
        let sets = world.archetypes().iter().flat_map(|archetype| archetype.components().ids());
        sets.for_each(|id| is_used[id.index()] = true);
        let is_used = |info: &&ComponentInfo| is_used[info.id.index()];
        let mut infos: Vec<_> = all.iter().collect();
        infos.sort_unstable_by_key(|info| saved_name(info));
        // A restore would not know which of the two it is.
        let is_unclear =
            |pair: &&[_]| saved_name(pair[0]) == saved_name(pair[1]) && pair.iter().any(is_used);
        let ambiguous = |name: &str| SnapshotError::AmbiguousName { component: name.to_string() };
        if let Some(pair) = infos.windows(2).find(is_unclear) {
            return Err(ambiguous(saved_name(pair[0])));
        }
        infos.retain(is_used);
        // Nor if one was called as the other is.
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

    /// Returns the number of this component in archetypes.
    pub(super) fn number(&self, id: ComponentId) -> usize {
        self.numbers[id.index()]
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.infos.len());
        for info in &self.infos {
            writer.text(saved_name(info));
            let kind = info.erased.codec.kind;
            writer.u8(kind as u8);
            let enableable = if info.is_enableable() { ENABLEABLE } else { 0 };
            let tracked = if info.tracked { TRACKED } else { 0 };
            writer.u8(enableable | tracked);
            // A value that is saved by functions may have any size in memory.
            writer.long_count(if kind == CodecKind::Plain { info.layout().size() } else { 0 });
            writer.text(&info.fields);
        }
    }
}
