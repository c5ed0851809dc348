//! Finding the components of a snapshot in a world: by name, and as they were.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::PLAIN;
use super::image::ComponentImage;
use super::table::mark;
use crate::component::{ArchetypeFlags, ComponentId, ComponentInfo, Registry};
use crate::error::RestoreError;

/// The components that a world can restore, by name.
pub(super) struct KnownComponents<'w>(Vec<&'w ComponentInfo>);

impl<'w> KnownComponents<'w> {
    pub(super) fn of(registry: &'w Registry) -> Self {
        // The world keeps a managed component in step only if it knows the relation.
        let is_known = |info: &&ComponentInfo| {
            !info.managed || info.flags.any(ArchetypeFlags::RELATED.and(ArchetypeFlags::DESPAWNED))
        };
        let mut all: Vec<_> = registry.infos().iter().filter(is_known).collect();
        all.sort_unstable_by_key(|info| info.name().as_str());
        Self(all)
    }

    /// The world's id of each of these components.
    pub(super) fn find_all(
        &self,
        components: &[ComponentImage<'_>],
    ) -> Result<Vec<ComponentId>, RestoreError> {
        components.iter().map(|component| self.find(component)).collect()
    }

    fn find(&self, component: &ComponentImage<'_>) -> Result<ComponentId, RestoreError> {
        let name = || component.name.to_string();
        let start = self.0.partition_point(|known| known.name().as_str() < component.name);
        let rest = self.0[start..].iter();
        let mut named = rest.take_while(|known| known.name().as_str() == component.name);
        let known =
            named.next().ok_or_else(|| RestoreError::UnknownComponent { component: name() })?;
        if named.next().is_some() {
            return Err(RestoreError::AmbiguousName { component: name() });
        }
        let different = |what| Err(RestoreError::DifferentComponent { component: name(), what });
        if component.kind != mark(known.erased.codec.kind) {
            return different("way of saving it");
        }
        if component.kind == PLAIN && component.size != known.layout().size() as u64 {
            return different("size");
        }
        if component.enableable != known.is_enableable() {
            return different("answer to whether it is enableable");
        }
        if component.tracked != known.is_tracked() {
            return different("answer to whether it is tracked");
        }
        Ok(known.id())
    }
}
