//! The cache of transitions between archetypes: pairs of an archetype and a bundle, and the latest ones.

use alloc::vec::Vec;
use core::any::TypeId;
use core::hash::{Hash, Hasher};

use crate::archetype::ArchetypeId;
use crate::hash::PassThrough;

/// The number of a bundle type, or of a list of component ids, in one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BundleIndex(pub(super) u32);

/// What is known of pairs of an archetype and a bundle.
#[derive(Debug)]
pub(super) struct Edges<T> {
    /// By archetype, then by bundle: the place in `known`, or [`UNKNOWN`]. As long as they had to
    /// be, so that a lookup is two loads.
    places: Vec<Vec<u32>>,
    known: Vec<T>,
}

const UNKNOWN: u32 = u32::MAX;

impl<T> Default for Edges<T> {
    fn default() -> Self {
        Self { places: Vec::new(), known: Vec::new() }
    }
}

impl<T> Edges<T> {
    /// Where in `known` this pair is; `find` finds it out the first time.
    #[inline]
    pub(super) fn place(
        &mut self,
        from: ArchetypeId,
        bundle: BundleIndex,
        find: impl FnOnce() -> T,
    ) -> u32 {
        let row = self.places.get(from.index());
        match row.and_then(|row| row.get(bundle.0 as usize)) {
            Some(&place) if place != UNKNOWN => place,
            _ => self.enter(from, bundle, find()),
        }
    }

    /// What is known of the pair that [`place`](Self::place) has found.
    #[inline]
    pub(super) fn at(&self, place: u32) -> &T {
        &self.known[place as usize]
    }

    #[cfg(test)]
    pub(super) fn known_mut(&mut self, place: usize) -> &mut T {
        &mut self.known[place]
    }

    /// All that is known, with the pair that it is about.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ArchetypeId, BundleIndex, &T)> {
        (0..).zip(&self.places).flat_map(move |(from, row)| {
            let known = (0..).zip(row).filter(|&(_, &place)| place != UNKNOWN);
            known.map(move |(bundle, &place)| {
                (ArchetypeId(from), BundleIndex(bundle), self.at(place))
            })
        })
    }

    #[cold]
    fn enter(&mut self, from: ArchetypeId, bundle: BundleIndex, found: T) -> u32 {
        let place = u32::try_from(self.known.len()).expect("fewer than 2^32 transitions");
        self.known.push(found);
        let (from, bundle) = (from.index(), bundle.0 as usize);
        if self.places.len() <= from {
            self.places.resize_with(from + 1, Vec::new);
        }
        let row = &mut self.places[from];
        if row.len() <= bundle {
            row.resize(bundle + 1, UNKNOWN);
        }
        row[bundle] = place;
        place
    }
}

/// A small table of what was asked for lately, by a type and a number: one look where a hash map
/// takes several. A new entry displaces the one in its place.
#[derive(Debug, Default)]
pub(super) struct EdgeCache {
    /// None at first, then [`EDGES_MAX`].
    entries: Vec<(TypeId, u32, u32)>,
}

const EDGES_MAX: usize = 64;

impl EdgeCache {
    #[inline]
    fn slot(of: TypeId, number: u32) -> usize {
        let mut hasher = PassThrough::default();
        of.hash(&mut hasher);
        // Types differ in all bits, numbers in the lowest.
        let mixed = hasher.finish() ^ u64::from(number.wrapping_mul(5));
        usize::from(mixed.to_le_bytes()[0]) % EDGES_MAX
    }

    #[inline]
    pub(super) fn get(&self, of: TypeId, number: u32) -> Option<u32> {
        let &(known, from, found) = self.entries.get(Self::slot(of, number))?;
        (known == of && from == number).then_some(found)
    }

    #[cold]
    pub(super) fn put(&mut self, of: TypeId, number: u32, found: u32) {
        // No bundle is of this type.
        self.entries.resize(EDGES_MAX, (TypeId::of::<Self>(), 0, 0));
        self.entries[Self::slot(of, number)] = (of, number, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_out_once() {
        let mut edges = Edges::default();
        let place = edges.place(ArchetypeId(2), BundleIndex(5), || "found");
        let again = edges.place(ArchetypeId(2), BundleIndex(5), || unreachable!("it is known"));
        assert_eq!((again, *edges.at(place)), (place, "found"));
        let other = edges.place(ArchetypeId(2), BundleIndex(4), || "another");
        assert_eq!((*edges.at(place), *edges.at(other)), ("found", "another"));
    }

    #[test]
    fn what_was_displaced_is_not_found() {
        let mut cache = EdgeCache::default();
        let of = TypeId::of::<u8>();
        assert_eq!(cache.get(of, 0), None);
        // More than there is room for.
        for number in 0..1000 {
            cache.put(of, number, number + 7);
            assert_eq!(cache.get(of, number), Some(number + 7));
            assert_eq!(cache.get(TypeId::of::<u16>(), number), None);
        }
        let found: Vec<_> = (0..1000).filter(|&number| cache.get(of, number).is_some()).collect();
        assert_eq!(found.len(), EDGES_MAX);
        assert!(found.iter().all(|&number| cache.get(of, number) == Some(number + 7)));
    }
}
