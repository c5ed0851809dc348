//! Asking a query for entities by name.
#![expect(unsafe_code, reason = "asks the rows of entities that were found to be different")]

use super::column::RowToken;
use super::data::{QueryData, ReadOnly};
use super::filter::QueryFilter;
use super::iter::Query;
use crate::entity::Entity;
use crate::error::{QueryEntityError, QueryManyError};
use crate::storage::RowAddress;

/// Calls `find` with each of some entities. Two of them are never the same.
pub(super) fn find_each<const N: usize, P: Copy>(
    entities: [Entity; N],
    mut find: impl FnMut(Entity) -> Result<P, QueryEntityError>,
) -> Result<[P; N], QueryManyError> {
    let mut found = [None; N];
    for (index, &entity) in entities.iter().enumerate() {
        if entities[..index].contains(&entity) {
            return Err(QueryManyError::Repeated(entity));
        }
        found[index] = Some(find(entity)?);
    }
    Ok(found.map(|place| place.expect("each was found")))
}

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// # Safety
    /// The place was found by this query, which gives its right to this row away (I-10); no other
    /// item of the row is used meanwhile, unless Q only reads (I-11).
    #[inline]
    unsafe fn item(&self, place: (usize, RowAddress)) -> Q::Item<'w> {
        let fetch = self.open_place(place);
        // SAFETY: the place is a row of the chunk that was just opened (I-1); the rest is the
        // caller's word.
        let right = unsafe { RowToken::new(place.1.row) };
        Q::item(&fetch, right)
    }

    /// Whether this entity matches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let [imp, ghost] = [world.spawn(Gold(1)), world.spawn(())];
    /// let query = world.query::<&Gold>();
    /// assert!(query.contains(imp) && !query.contains(ghost));
    /// ```
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.find(entity).is_ok()
    }

    /// What one entity gives.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let [imp, ghost] = [world.spawn(Gold(1)), world.spawn(())];
    /// let mut query = world.query::<&mut Gold>();
    /// query.get(imp)?.0 += 1;
    /// assert!(query.contains(imp) && !query.contains(ghost));
    /// assert_eq!(query.into_get(imp)?, &Gold(2));
    /// # Ok::<(), formic_ecs::QueryEntityError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    #[inline]
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        self.reborrow().into_get(entity)
    }

    /// What one entity gives, for as long as the world is borrowed.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// fn purse(world: &mut World, imp: Entity) -> Option<&mut Gold> {
    ///     world.query::<&mut Gold>().into_get(imp).ok()
    /// }
    /// let mut world = World::new();
    /// let imp = world.spawn(Gold(1));
    /// assert_eq!(purse(&mut world, imp).map(|gold| gold.0), Some(1));
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    #[inline]
    pub fn into_get(self, entity: Entity) -> Result<Q::Item<'w>, QueryEntityError> {
        let place = self.find(entity)?;
        // SAFETY: just found; the query holds the right (I-10) and is consumed, so there is no
        // other item (I-11).
        Ok(unsafe { self.item(place) })
    }

    /// What several entities give, all at once.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::QueryManyError;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let [ada, ben] = [world.spawn(Gold(5)), world.spawn(Gold(1))];
    /// let mut purses = world.query::<&mut Gold>();
    /// let [from, to] = purses.get_many_mut([ada, ben])?;
    /// std::mem::swap(from, to);
    /// assert_eq!(purses.get_many_mut([ada, ada]).err(), Some(QueryManyError::Repeated(ada)));
    /// # Ok::<(), QueryManyError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, does not match the query, or comes
    /// twice. Nothing counts as written then.
    pub fn get_many_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryManyError> {
        let query = self.reborrow();
        let places = find_each(entities, |entity| query.find(entity))?;
        // SAFETY: just found, of different entities, which are in different rows (I-1, I-15); the
        // query holds the right and is borrowed exclusively for as long as the items are used.
        Ok(places.map(|place| unsafe { query.item(place) }))
    }

    /// What each of these entities gives, of a query that only reads. Those that do not match are
    /// passed over, those that come twice are given twice.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let imps = world.spawn_batch((0..10).map(Gold));
    /// let ghost = world.spawn(());
    /// let query = world.query::<&Gold>();
    /// let gold = query.iter_many([imps[7], ghost, imps[2], imps[7]]).map(|gold| gold.0);
    /// assert!(gold.eq([7, 2, 7]), "in the order asked for; who does not match is passed over");
    /// ```
    pub fn iter_many<'a>(
        &'a self,
        entities: impl IntoIterator<Item = Entity> + 'a,
    ) -> impl Iterator<Item = Q::Item<'a>> + 'a
    where
        Q: ReadOnly,
    {
        let query = self.as_readonly();
        entities.into_iter().filter_map(move |entity| {
            let place = query.find(entity).ok()?;
            // SAFETY: just found; the query holds the right to read (I-10) and is borrowed for as
            // long as the items are used, of which there may be many, as all of them read (I-11).
            Some(unsafe { query.item(place) })
        })
    }
}
