//! Finding the components of a snapshot in a world: by name, and as they were.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{PLAIN, Place};
use super::image::{ComponentImage, TableImage};
use super::table::{key, mark, way};
use crate::component::{ArchetypeFlags, ComponentId, ComponentInfo, Kind, LoadSharedFn, Registry};
use crate::error::RestoreError;

/// What a world has for a component of a snapshot.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Component(ComponentId),
    /// A type of shared values, and how to read them.
    Shared(LoadSharedFn),
}

/// The components that a world knows, by name and place.
pub(super) struct Known<'w>(Vec<KnownComponent<'w>>);

struct KnownComponent<'w> {
    key: (&'w str, Place),
    kind: u8,
    size: usize,
    enableable: bool,
    tracked: bool,
    found: Found,
}

impl<'w> Known<'w> {
    pub(super) fn of(registry: &'w Registry) -> Self {
        // One side of a relation that the world does not know would be kept in step by nobody.
        let is_known = |info: &&ComponentInfo| match info.kind {
            Kind::Shared(_) | Kind::Vacant => false,
            _ => {
                !info.managed
                    || info.duties.any(ArchetypeFlags::RELATED.and(ArchetypeFlags::DESPAWNED))
            }
        };
        let infos = registry.infos().iter().filter(is_known);
        let components = infos.map(|info| {
            let ((kind, size), found) = (way(info), Found::Component(info.id()));
            let (enableable, tracked) = (info.is_enableable(), info.is_tracked());
            KnownComponent { key: key(info), kind, size, enableable, tracked, found }
        });
        let shared = registry.shared_types().map(|known| KnownComponent {
            key: (known.name, Place::Archetypes),
            kind: mark(known.codec.kind),
            size: known.codec.size,
            enableable: false,
            tracked: false,
            found: Found::Shared(known.load),
        });
        let mut all: Vec<_> = components.chain(shared).collect();
        all.sort_unstable_by_key(|known| known.key);
        Self(all)
    }

    /// What the world has for each component of the table.
    pub(super) fn find_all(&self, table: &TableImage<'_>) -> Result<Vec<Found>, RestoreError> {
        table.components.iter().map(|component| self.find(component)).collect()
    }

    fn find(&self, component: &ComponentImage<'_>) -> Result<Found, RestoreError> {
        let (name, key) = (|| component.name.to_string(), (component.name, component.place));
        let start = self.0.partition_point(|known| known.key < key);
        let mut named = self.0[start..].iter().take_while(|known| known.key == key);
        let known =
            named.next().ok_or_else(|| RestoreError::UnknownComponent { component: name() })?;
        if named.next().is_some() {
            return Err(RestoreError::AmbiguousName { component: name() });
        }
        let different = |what| Err(RestoreError::DifferentComponent { component: name(), what });
        if component.kind != known.kind {
            return different("way of saving it");
        }
        if known.kind == PLAIN && component.size != known.size as u64 {
            return different("size");
        }
        if component.enableable != known.enableable {
            return different("answer to whether it is enableable");
        }
        if component.tracked != known.tracked {
            return different("answer to whether it is tracked");
        }
        Ok(known.found)
    }
}
