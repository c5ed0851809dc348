//! Several rows of a query at once: every combination of them.
#![expect(unsafe_code, reason = "hands out several rows at once, all of them different")]

use alloc::vec::Vec;
use core::fmt;

use super::column::RowRight;
use super::data::{QueryData, ReadOnly};
use super::filter::QueryFilter;
use super::iter::Query;

/// The rows of a query, settled beforehand: what becomes of bits and versions meanwhile makes no
/// difference. No row is in it twice (I-15).
struct Places<'w, Q: QueryData> {
    /// Of each chunk that has rows to visit.
    fetches: Vec<Q::Fetch<'w>>,
    /// The fetch of each row, and the row.
    rows: Vec<(u32, u32)>,
}

impl<'w, Q: QueryData> Places<'w, Q> {
    fn new<F: QueryFilter>(query: Query<'w, Q, F>) -> Self {
        let mut places = Self { fetches: Vec::new(), rows: Vec::new() };
        query.settle(|fetch, rows, len| {
            let number = |index: usize| u32::try_from(index).expect("fewer than 2^32 chunks");
            let chunk = number(places.fetches.len());
            rows.for_each(len, |row| places.rows.push((chunk, number(row))));
            places.fetches.push(fetch);
        });
        places
    }

    /// # Safety
    /// These are places of different rows, or Q only reads. The caller has the right that the query
    /// had for `'a` (I-10), and no other item of these rows is used meanwhile, unless Q only reads
    /// (I-11).
    unsafe fn items<'a, const K: usize>(&self, places: &[usize; K]) -> [Q::Item<'a>; K]
    where
        'w: 'a,
    {
        debug_assert!(places.is_sorted_by(|a, b| a < b), "places go up");
        places.map(|place| {
            let (chunk, row) = self.rows[place];
            // SAFETY: the row was one of the rows of this very fetch when it was settled, and no row
            // has come or gone since, as the query borrows the world. No row is in the list twice
            // (I-15), and the caller ensures that the places are different, or are only read.
            let right = unsafe { RowRight::new(row as usize) };
            Q::item(&self.fetches[chunk as usize], right)
        })
    }
}

/// `K` places that go up, from the first such choice to the last.
#[derive(Clone, Copy, Debug)]
struct Choice<const K: usize> {
    places: [usize; K],
    began: bool,
}

impl<const K: usize> Choice<K> {
    fn new() -> Self {
        const { assert!(K > 0, "a combination has at least one row") };
        Self { places: core::array::from_fn(|place| place), began: false }
    }

    /// The next choice out of `count` places.
    #[inline]
    fn next(&mut self, count: usize) -> Option<&[usize; K]> {
        if !self.began {
            self.began = true;
            return (K <= count).then_some(&self.places);
        }
        // The last place that can still go up does; those behind it follow closely.
        let last = (0..K).rev().find(|&at| self.places[at] + (K - at) < count)?;
        let first = self.places[last] + 1;
        for at in last..K {
            self.places[at] = first + (at - last);
        }
        Some(&self.places)
    }
}

/// Every combination of `K` rows of a query that only reads, see
/// [`Query::combinations`].
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch([1, 2, 4].map(Gold));
/// let sums = world.query::<&Gold>().combinations().map(|[a, b]| a.0 + b.0);
/// assert!(sums.eq([3, 5, 6]));
/// ```
pub struct Combinations<'w, Q: ReadOnly, const K: usize> {
    places: Places<'w, Q>,
    choice: Choice<K>,
}

impl<Q: ReadOnly, const K: usize> fmt::Debug for Combinations<'_, Q, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Combinations").field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl<'w, Q: ReadOnly, const K: usize> Iterator for Combinations<'w, Q, K> {
    type Item = [Q::Item<'w>; K];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let places = self.choice.next(self.places.rows.len())?;
        // SAFETY: Q only reads, and the query gave its right away with the places (I-10).
        Some(unsafe { self.places.items(places) })
    }
}

/// Every combination of `K` rows of a query, each lent until the next is asked for; see
/// [`Query::combinations_mut`].
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch([1, 2, 4].map(Gold));
/// let mut pairs = world.query::<&mut Gold>().combinations_mut();
/// while let Some([left, right]) = pairs.fetch_next() {
///     std::mem::swap(left, right);
/// }
/// # drop(pairs);
/// assert!(world.query::<&Gold>().map(|gold| gold.0).eq([4, 2, 1]));
/// ```
pub struct CombinationsMut<'w, Q: QueryData, const K: usize> {
    places: Places<'w, Q>,
    choice: Choice<K>,
}

impl<Q: QueryData, const K: usize> fmt::Debug for CombinationsMut<'_, Q, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CombinationsMut").field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl<Q: QueryData, const K: usize> CombinationsMut<'_, Q, K> {
    /// The next combination. `None` where all have been lent, now and ever after.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch([1, 2].map(Gold));
    /// let mut pairs = world.query::<&mut Gold>().combinations_mut();
    /// let [one, two] = pairs.fetch_next().expect("there is a pair");
    /// one.0 += two.0;
    /// assert_eq!(one.0, 3);
    /// assert!(pairs.fetch_next().is_none(), "that was the only one");
    /// ```
    #[inline]
    pub fn fetch_next(&mut self) -> Option<[Q::Item<'_>; K]> {
        let places = self.choice.next(self.places.rows.len())?;
        // SAFETY: the places go up, so they are different (I-15); the query gave its right away
        // with the places (I-10), and the items borrow `self` exclusively (I-11).
        Some(unsafe { self.places.items(places) })
    }
}

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// Every combination of `K` rows, each set of rows once: the rows of a combination come in the
    /// order of the query, and so do the combinations.
    ///
    /// Which rows there are is settled at once.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Position(f32);
    /// let mut world = World::new();
    /// world.spawn_batch([1.0, 2.0, 4.0].map(Position));
    /// let gaps = world.query::<&Position>().combinations().map(|[a, b]| b.0 - a.0);
    /// assert!(gaps.eq([1.0, 3.0, 2.0]));
    /// ```
    #[must_use]
    pub fn combinations<const K: usize>(self) -> Combinations<'w, Q, K>
    where
        Q: ReadOnly,
    {
        Combinations { places: Places::new(self), choice: Choice::new() }
    }

    /// Every combination of `K` rows, as [`combinations`](Self::combinations) gives them, to be
    /// written: each is lent until the next is asked for.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Mass(f32);
    /// # #[derive(Component)] struct Pull(f32);
    /// let mut world = World::new();
    /// world.spawn_batch([1.0, 2.0, 4.0].map(|mass| (Mass(mass), Pull(0.0))));
    /// let mut pairs = world.query::<(&Mass, &mut Pull)>().combinations_mut();
    /// while let Some([(my_mass, my_pull), (mass, pull)]) = pairs.fetch_next() {
    ///     my_pull.0 += mass.0;
    ///     pull.0 += my_mass.0;
    /// }
    /// # drop(pairs);
    /// assert!(world.query::<&Pull>().map(|pull| pull.0).eq([6.0, 5.0, 3.0]));
    /// ```
    #[must_use]
    pub fn combinations_mut<const K: usize>(self) -> CombinationsMut<'w, Q, K> {
        CombinationsMut { places: Places::new(self), choice: Choice::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<const K: usize>(count: usize) -> Vec<[usize; K]> {
        let mut choice = Choice::new();
        let mut found = Vec::new();
        while let Some(places) = choice.next(count) {
            found.push(*places);
        }
        found
    }

    #[test]
    fn choices_go_up_and_come_once() {
        assert_eq!(all::<2>(3), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(all::<3>(4), [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]);
        assert_eq!(all::<1>(2), [[0], [1]]);
        assert_eq!(all::<3>(3), [[0, 1, 2]]);
        assert_eq!(all::<3>(2), [[0; 3]; 0]);
        assert_eq!(all::<1>(0), [[0; 1]; 0]);
        assert_eq!(all::<4>(9).len(), 126);
    }

    #[test]
    fn after_the_last_choice_there_is_none_ever_after() {
        let mut choice = Choice::<2>::new();
        for _ in 0..3 {
            assert!(choice.next(3).is_some());
        }
        for _ in 0..3 {
            assert!(choice.next(3).is_none());
        }
        let mut none = Choice::<2>::new();
        assert!(none.next(1).is_none() && none.next(1).is_none());
    }
}
