//! Questions about a query as a whole: emptiness, counts, single results.

use super::{MatchOf, Query, QueryData, QueryFilter};
use crate::error::QuerySingleError;

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// How many rows match.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// assert_eq!(world.query::<&Gold>().count(), 9);
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.matches.as_slice().iter().map(|found| self.count_in(found)).sum()
    }

    fn count_in(&self, found: &MatchOf<Q, F>) -> usize {
        let archetype = &self.source.archetypes[found.archetype.index()];
        let in_chunk = |chunk| self.rows_of(found, chunk).count(archetype.chunks.len(chunk));
        (0..archetype.chunks.used_count()).map(in_chunk).sum()
    }

    /// Whether no row matches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// assert!(world.query::<&Gold>().is_empty());
    /// world.spawn(Gold(1));
    /// assert!(!world.query::<&Gold>().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matches.as_slice().iter().all(|found| self.count_in(found) == 0)
    }

    /// The first row, in the order of the query.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// assert_eq!(world.query::<&Gold>().first(), None);
    /// world.spawn(Gold(1));
    /// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(1)));
    /// ```
    #[must_use]
    pub fn first(self) -> Option<Q::Item<'w>> {
        self.into_iter().next()
    }

    /// The one row that matches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// assert!(world.query::<&Gold>().single().is_err());
    /// world.spawn(Gold(1));
    /// assert_eq!(world.query::<&Gold>().single(), Ok(&Gold(1)));
    /// world.spawn(Gold(2));
    /// assert!(world.query::<&Gold>().single().is_err());
    /// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(1)));
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is none, or more than one.
    pub fn single(self) -> Result<Q::Item<'w>, QuerySingleError> {
        let mut count = 0;
        for found in self.matches.as_slice() {
            let chunks = &self.source.archetypes[found.archetype.index()].chunks;
            for chunk in 0..chunks.used_count() {
                count += self.rows_of(found, chunk).count(chunks.len(chunk));
                if count > 1 {
                    return Err(QuerySingleError::SeveralRows);
                }
            }
        }
        self.first().ok_or(QuerySingleError::NoRow)
    }

    /// The rows, one by one, each turned into something else. Short for `into_iter().map(f)`.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..3).map(Gold));
    /// assert!(world.query::<&Gold>().map(|gold| gold.0 * 2).eq([0, 2, 4]));
    /// ```
    pub fn map<T>(self, f: impl FnMut(Q::Item<'w>) -> T) -> impl Iterator<Item = T> {
        self.into_iter().map(f)
    }
}
