//! The builder of queries by component id.

use alloc::vec::Vec;

use super::DynamicQueryError;
use super::query::{DynamicQuery, Filter, How, Term};
use crate::component::{ComponentId, ComponentInfo, Registry};
use crate::query::{Access, Use};
use crate::world::World;

/// What a [`DynamicQuery`] is to ask for.
///
/// The terms that are handed out (`read`, `write`, `optional`, `optional_write`) are numbered in
/// the order in which they were named, from zero; the others narrow and have no number.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{DynamicQuery, DynamicQueryError};
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// world.spawn((Gold(1), Lamp));
/// world.spawn(Gold(2));
/// let (gold, lamp) = (world.register::<Gold>(), world.register::<Lamp>());
///
/// // Term 0 is the gold, term 1 the lamp.
/// let mut all = DynamicQuery::builder().write(gold).optional(lamp).build(&world)?;
/// assert_eq!(world.query_by_id(&mut all)?.count(), 2);
/// let mut dark = DynamicQuery::builder().read(gold).without(lamp).build(&world)?;
/// assert_eq!(world.query_by_id(&mut dark)?.count(), 1);
/// let builder = DynamicQuery::builder().with(lamp).disabled(lamp);
/// assert!(matches!(builder.build(&world), Err(DynamicQueryError::Contradiction(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct DynamicQueryBuilder {
    terms: Vec<(ComponentId, bool, bool)>,
    filters: Vec<Filter>,
}

impl DynamicQueryBuilder {
    fn term(mut self, id: ComponentId, write: bool, optional: bool) -> Self {
        self.terms.push((id, write, optional));
        self
    }

    fn filter(mut self, id: ComponentId, how: How) -> Self {
        self.filters.push(Filter { id, how });
        self
    }

    /// The row has the component, enabled, and it is read.
    pub fn read(self, id: ComponentId) -> Self {
        self.term(id, false, false)
    }

    /// The row has the component, enabled, and it is written.
    pub fn write(self, id: ComponentId) -> Self {
        self.term(id, true, false)
    }

    /// The component is read where the row has it, enabled.
    pub fn optional(self, id: ComponentId) -> Self {
        self.term(id, false, true)
    }

    /// The component is written where the row has it, enabled.
    pub fn optional_write(self, id: ComponentId) -> Self {
        self.term(id, true, true)
    }

    /// The row has the component, and it is enabled.
    pub fn with(self, id: ComponentId) -> Self {
        self.filter(id, How::With)
    }

    /// The row does not have the component, or has it disabled.
    pub fn without(self, id: ComponentId) -> Self {
        self.filter(id, How::Without)
    }

    /// The row has the component, enabled or not.
    pub fn present(self, id: ComponentId) -> Self {
        self.filter(id, How::Present)
    }

    /// The row has the component, enabled or not, and a [run](crate::DynamicRun::mask) says which.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component)] #[component(enableable)] struct Awake;
    /// let mut world = World::new();
    /// let [imp, _] = [world.spawn(Awake), world.spawn(Awake)];
    /// world.set_enabled::<Awake>(imp, false).expect("it has it");
    /// let awake = world.register::<Awake>();
    /// let mut query = DynamicQuery::builder().mask(awake).build(&world)?;
    /// let mut bits = Vec::new();
    /// world.query_by_id(&mut query)?.for_each_run(|run| bits.extend(run.mask(awake).expect("asked for")));
    /// assert_eq!(bits, [false, true]);
    /// # Ok::<(), formic_ecs::DynamicQueryError>(())
    /// ```
    pub fn mask(self, id: ComponentId) -> Self {
        self.filter(id, How::Mask)
    }

    /// The row has the component, and it is disabled.
    pub fn disabled(self, id: ComponentId) -> Self {
        self.filter(id, How::Disabled)
    }

    /// The row has the component, enabled, and it was changed after the version that
    /// [`DynamicRows::since`](crate::DynamicRows::since) names, as [`Changed`](crate::Changed) says.
    pub fn changed(self, id: ComponentId) -> Self {
        self.filter(id, How::Changed)
    }

    /// The row has the component, enabled, and got it after the version that
    /// [`DynamicRows::since`](crate::DynamicRows::since) names, as [`Added`](crate::Added) says.
    pub fn added(self, id: ComponentId) -> Self {
        self.filter(id, How::Added)
    }

    /// The query, for this world.
    ///
    /// # Errors
    /// Returns an error if an id is not of this world, a component is asked for twice, once of them
    /// to write, or to be written though only the world changes it, or no entity could ever match.
    pub fn build(self, world: &World) -> Result<DynamicQuery, DynamicQueryError> {
        self.plan(world.id(), &world.registry)
    }

    /// The query, for the world with this id and this registry.
    fn plan(self, world: u64, registry: &Registry) -> Result<DynamicQuery, DynamicQueryError> {
        if self.terms.len() > DynamicQuery::TERMS_MAX {
            return Err(DynamicQueryError::TooManyTerms);
        }
        let mut access = Access::default();
        let mut terms = Vec::with_capacity(self.terms.len());
        for &(id, write, optional) in &self.terms {
            let info = registry.find(id)?.clone();
            if write && info.managed {
                return Err(DynamicQueryError::Managed(info.name));
            }
            access.add(if write { Use::Write } else { Use::Read }, id);
            if info.enableable {
                access.add(Use::BitRead, id);
            }
            if access.clash().is_some() {
                return Err(DynamicQueryError::Twice(info.name));
            }
            terms.push(Term { info, write, optional });
        }
        for filter in &self.filters {
            let info = registry.find(filter.id)?;
            access.add(Use::Name, filter.id);
            if filter.how == How::Disabled && !info.enableable {
                return Err(DynamicQueryError::NotEnableable(info.name.clone()));
            }
            if info.enableable && filter.how != How::Present {
                access.add(Use::BitRead, filter.id);
            }
            if filter.how == How::Changed {
                access.add(Use::VersionRead, filter.id);
            }
            if self.contradicts(info) {
                return Err(DynamicQueryError::Contradiction(info.name.clone()));
            }
        }
        let filters = self.filters.into();
        Ok(DynamicQuery {
            world,
            epoch: 0,
            terms: terms.into(),
            filters,
            access,
            seen: 0,
            matches: Vec::new(),
        })
    }

    /// Whether no row can have the component as the terms and filters ask.
    fn contradicts(&self, info: &ComponentInfo) -> bool {
        let asked =
            |how| self.filters.iter().any(|filter| filter.id == info.id && filter.how == how);
        let handed_out = self.terms.iter().any(|&(id, _, optional)| id == info.id && !optional);
        let enabled = handed_out || [How::With, How::Changed, How::Added].into_iter().any(asked);
        let there = enabled || asked(How::Present) || asked(How::Mask) || asked(How::Disabled);
        (enabled && (asked(How::Without) || asked(How::Disabled)))
            || (there && asked(How::Without) && !info.enableable)
    }
}
