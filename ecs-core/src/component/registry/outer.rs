//! The ids of what lies outside the rows: of shared values, and of chunk components.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;
use core::hash::{Hash, Hasher};

use super::{
    ArchetypeFlags, ChunkComponent, ChunkDefault, CodecError, ComponentId, ComponentInfo,
    ErasedFns, Kind, OuterCodec, Registry, SharedAny, SharedComponent, SharedValue,
};
use crate::hash::Fibonacci;
use crate::name::Name;

/// A type of shared values, and those that there are of it.
#[derive(Debug)]
pub(crate) struct SharedType {
    pub(crate) name: &'static str,
    pub(crate) codec: OuterCodec,
    pub(crate) load: LoadSharedFn,
    /// By their hash, which is kept: no user code runs while the table is being rebuilt.
    values: hashbrown::HashTable<(u64, ComponentId)>,
}

/// Reads a shared value from the bytes into the world's; gives its id, and whether it is a new one.
pub(crate) type LoadSharedFn =
    fn(&mut Registry, &mut &[u8]) -> Result<(ComponentId, bool), CodecError>;

impl SharedType {
    fn of<T: SharedComponent>(name: &'static str) -> Self {
        Self {
            name,
            codec: OuterCodec::of_shared::<T>(),
            load: |registry, source| {
                let value = T::CODEC.read(source)?;
                // What comes back is dropped when everything is in order.
                let (id, equal) = registry.intern(value);
                Ok((id, equal.is_none()))
            },
            values: hashbrown::HashTable::new(),
        }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

/// What a value's `Hash` says.
fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = Fibonacci::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Registry {
    /// The id of a shared value. Where the world has an equal one, that one's, and the value comes
    /// back.
    ///
    /// `Hash` and `Eq` are user code and run first. Whatever they say, the worst is that two equal
    /// values are told apart, or two others are taken for one.
    pub(crate) fn intern<T: SharedComponent>(&mut self, value: T) -> (ComponentId, Option<T>) {
        let (of, name) = (TypeId::of::<T>(), T::name());
        let hash = hash_of(&value);
        let infos = &self.infos;
        let equal = |&(other, id): &(u64, ComponentId)| match &infos[id.index()].kind {
            Kind::Shared(shared) if other == hash => {
                shared.value.downcast_ref::<T>().is_some_and(|there| *there == value)
            }
            _ => false,
        };
        if let Some(&(_, id)) =
            self.shared.get(&of).and_then(|known| known.values.find(hash, equal))
        {
            return (id, Some(value));
        }
        let codec = OuterCodec::of_shared::<T>();
        let shared = SharedValue { of, value: Arc::new(value), hash, codec };
        let id = self.push_marker(name, Kind::Shared(shared));
        let known = self.shared.entry(of).or_insert_with(|| SharedType::of::<T>(name));
        known.values.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        (id, None)
    }

    /// Makes a type of shared values known, so that a snapshot's can be read.
    pub(crate) fn register_shared<T: SharedComponent>(&mut self) {
        let name = T::name();
        self.shared.entry(TypeId::of::<T>()).or_insert_with(|| SharedType::of::<T>(name));
    }

    /// The types of shared values that the world has met, in no order that means anything.
    pub(crate) fn shared_types(&self) -> impl Iterator<Item = &SharedType> {
        self.shared.values()
    }

    /// A component without a size, for what lies outside the rows.
    fn push_marker(&mut self, name: &'static str, kind: Kind) -> ComponentId {
        let id = self.vacant.pop().or_else(|| self.next_id());
        let id = id.expect("fewer than 2^32 - 1 components");
        let info = ComponentInfo {
            id,
            kind,
            name: Name::from(name),
            layout: Layout::new::<()>(),
            enableable: false,
            erased: ErasedFns::plain(),
            duties: ArchetypeFlags::NONE,
            tracked: false,
            hides: false,
            managed: false,
        };
        match self.infos.get_mut(id.index()) {
            Some(vacant) => *vacant = info,
            None => self.infos.push(info),
        }
        id
    }

    /// Gives up those of the shared values named by `which` that no archetype has: they are handed
    /// over to be dropped, and their ids are used again.
    pub(crate) fn release_unused_shared(
        &mut self,
        which: impl Fn(ComponentId) -> bool,
    ) -> Vec<(ComponentId, SharedAny)> {
        let mut released = Vec::new();
        for info in &mut self.infos {
            let Kind::Shared(shared) = &info.kind else { continue };
            // Each archetype that has the value holds on to it.
            if !which(info.id) || Arc::strong_count(&shared.value) > 1 {
                continue;
            }
            let (of, hash, id) = (shared.of, shared.hash, info.id);
            let known = self.shared.get_mut(&of);
            let entry = known.map(|known| known.values.find_entry(hash, |&(_, it)| it == id));
            if let Some(Ok(entry)) = entry {
                entry.remove();
            }
            if let Kind::Shared(shared) = core::mem::replace(&mut info.kind, Kind::Vacant) {
                released.push((id, shared.value));
            }
            info.name = Name::from("a shared value that was given up");
            self.vacant.push(id);
        }
        released
    }

    /// The marker of a chunk component, which is registered where it was not.
    pub(crate) fn register_chunk<T: ChunkComponent>(&mut self) -> ComponentId {
        let of = TypeId::of::<T>();
        if let Some(&id) = self.chunk_ids.get(&of) {
            return id;
        }
        // User code: nothing has changed yet.
        let (name, value) = (T::name(), Arc::new(T::default()));
        let codec = OuterCodec::of_chunk::<T>();
        let id = self.push_marker(name, Kind::Chunk(ChunkDefault { of, value, codec }));
        self.chunk_ids.insert(of, id);
        id
    }

    /// The marker of a chunk component, if the world has met it.
    pub(crate) fn chunk_id<T: ChunkComponent>(&self) -> Option<ComponentId> {
        self.chunk_ids.get(&TypeId::of::<T>()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq, Eq, Hash)]
    struct Level(u32);

    impl SharedComponent for Level {}

    #[test]
    fn equal_values_have_one_id_and_given_up_ids_are_used_again() {
        let mut registry = Registry::default();
        let (cellar, spare) = registry.intern(Level(0));
        assert!(spare.is_none());
        let (attic, _) = registry.intern(Level(7));
        assert_ne!(cellar, attic);
        let (again, spare) = registry.intern(Level(0));
        assert!(again == cellar && spare == Some(Level(0)));
        let in_use = registry.info(attic).kind.clone();
        assert_eq!(registry.release_unused_shared(|_| true).len(), 1);
        registry.check().expect("consistent");
        assert!(registry.find(cellar).is_err() && registry.find(attic).is_ok());
        let (roof, _) = registry.intern(Level(9));
        assert_eq!(roof, cellar, "the id is used again");
        assert_eq!(registry.intern(Level(7)).0, attic);
        drop(in_use);
        assert_eq!(registry.release_unused_shared(|_| true).len(), 2);
        registry.check().expect("consistent");
    }
}
