//! Queries that are narrowed by values outside the rows, before a chunk is touched.
#![expect(unsafe_code, reason = "opens each chunk of a query once")]

use core::any::TypeId;

use super::{Chunk, Matches, Query, QueryData, QueryFilter, open};
use crate::archetype::Archetype;
use crate::component::{ChunkComponent, SharedComponent};

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// The same query, of those entities alone whose shared value is equal to this one.
    ///
    /// `Eq` is asked once for each archetype that matches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Level(u32);
    /// let mut world = World::new();
    /// for level in [0, 1, 1] {
    ///     let imp = world.spawn(());
    ///     world.set_shared(imp, Level(level))?;
    /// }
    /// assert_eq!(world.query::<Shared<Level>>().with_shared(&Level(1)).count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_shared<T: SharedComponent>(self, value: &T) -> Self {
        let has_value = |archetype: usize| {
            let outer = self.source.archetypes[archetype].chunks.outer();
            let slot = outer.shared_slot(TypeId::of::<T>());
            slot.and_then(|slot| outer.shared::<T>(slot)).is_some_and(|mine| mine == value)
        };
        let matches = self.matches.as_slice().iter();
        let matches = matches.filter(|found| has_value(found.archetype.index())).copied().collect();
        Self { source: self.source, matches: Matches::Once(matches) }
    }

    /// Calls `visit` with every chunk that has rows to visit and whose value of type `T` is
    /// `wanted`. Chunks without such a value are passed over; a chunk that is not wanted is not
    /// touched.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// #[derive(ChunkComponent, Default)]
    /// struct Richest(u32);
    /// let mut world = World::new();
    /// for purse in world.spawn_batch((0..9).map(Gold)) {
    ///     world.add_chunk_component::<Richest>(purse)?;
    /// }
    /// world.update_chunk_values::<Richest, &Gold>(|richest, chunk| {
    ///     richest.0 = chunk.into_iter().map(|gold| gold.0).max().unwrap_or(0);
    /// });
    /// let mut rows = 0;
    /// let rich = |richest: &Richest| richest.0 > 100;
    /// world.query::<&Gold>().chunks_where::<Richest>(rich, |chunk| rows += chunk.row_count());
    /// assert_eq!(rows, 0, "no chunk was entered");
    /// # Ok::<(), formic_ecs::NoSuchEntity>(())
    /// ```
    pub fn chunks_where<T: ChunkComponent>(
        self,
        mut wanted: impl FnMut(&T) -> bool,
        mut visit: impl FnMut(Chunk<'w, Q>),
    ) {
        let of = TypeId::of::<T>();
        let wanted = |archetype: &Archetype, chunk| {
            let outer = archetype.chunks.outer();
            let slot = outer.chunk_slot(of);
            slot.and_then(|slot| outer.chunk_value::<T>(slot, chunk)).is_some_and(&mut wanted)
        };
        self.chunks_at(wanted, |_, _, chunk| visit(chunk));
    }

    /// Calls `visit` with every chunk that has rows to visit and is `wanted`, and its place: the
    /// archetype's index and the chunk's in it.
    pub(crate) fn chunks_at(
        self,
        mut wanted: impl FnMut(&Archetype, usize) -> bool,
        mut visit: impl FnMut(usize, usize, Chunk<'w, Q>),
    ) {
        let mut ordinal = 0;
        for found in self.matches.as_slice() {
            let archetype = &self.source.archetypes[found.archetype.index()];
            for chunk in 0..archetype.chunks.used_count() {
                ordinal += 1;
                if !wanted(archetype, chunk) {
                    continue;
                }
                let moment = self.source.moment;
                // SAFETY: the query holds the right (I-10) and is consumed; the matches are each
                // there once (I-8), so each chunk comes up once (I-11).
                let opened = unsafe { open::<Q, F>(archetype, found, chunk, ordinal - 1, moment) };
                if let Some(opened) = opened {
                    visit(found.archetype.index(), chunk, opened);
                }
            }
        }
    }
}
