//! The shared values of a snapshot, in the world that it is to be restored in.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::contradiction;
use super::image::TableImage;
use super::names::Found;
use crate::component::ComponentId;
use crate::error::RestoreError;
use crate::world::World;

/// A world that has been given shared values. Those that it did not have are taken from it again,
/// unless they are to be kept.
pub(super) struct Interned<'w> {
    world: &'w mut World,
    new: Vec<ComponentId>,
}

impl<'w> Interned<'w> {
    pub(super) fn new(world: &'w mut World) -> Self {
        Self { world, new: Vec::new() }
    }

    /// Reads the shared values; gives the ids of all that archetypes name by number. Types of shared
    /// values are not named by any.
    pub(super) fn intern(
        &mut self,
        table: &TableImage<'_>,
        found: &[Found],
    ) -> Result<Vec<ComponentId>, RestoreError> {
        let ids = found.iter().map(|found| match *found {
            Found::Component(id) => id,
            Found::Shared(_) => ComponentId::UNKNOWN,
        });
        let mut ids: Vec<ComponentId> = ids.collect();
        for shared in &table.shared {
            let Found::Shared(load) = found[shared.component] else { continue };
            let mut source = shared.value;
            let loaded = load(&mut self.world.registry, &mut source);
            if let Ok((id, true)) = loaded {
                self.new.push(id);
            }
            match loaded {
                Ok((id, _)) if source.is_empty() => ids.push(id),
                _ => {
                    let component = table.components[shared.component].name.to_string();
                    return Err(RestoreError::InvalidValue { component });
                }
            }
        }
        let mut values = ids[found.len()..].to_vec();
        values.sort_unstable();
        if values.windows(2).any(|pair| pair[0] == pair[1]) {
            // Entities that were told apart by them would be no more.
            return Err(contradiction("two shared values of one type are equal").into());
        }
        Ok(ids)
    }

    pub(super) fn world(&mut self) -> &mut World {
        self.world
    }

    /// Lets the world have the values for good.
    pub(super) fn keep(&mut self) -> &mut World {
        self.new.clear();
        self.world
    }
}

impl Drop for Interned<'_> {
    fn drop(&mut self) {
        if self.new.is_empty() {
            return;
        }
        self.new.sort_unstable();
        let is_new = |id| self.new.binary_search(&id).is_ok();
        drop(self.world.registry.release_unused_shared(is_new));
    }
}
