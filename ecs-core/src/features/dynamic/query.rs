//! Queries by component id: building them, their terms, and the archetypes that match.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::DynamicQueryError;
use crate::archetype::Archetype;
use crate::component::{ComponentId, ComponentInfo, Registry};
use crate::mask::Rows;
use crate::query::{Access, ChunkRef, Match, Plan, PlanSource, TermSlot, Use};
use crate::world::World;

/// A query that names its components by id, for scripts and for hosts that know no Rust types.
///
/// It is built once for a world and kept; the archetypes that match are updated as new ones appear.
/// [`World::query_by_id`](crate::World::query_by_id) runs it.
///
/// A disabled component counts as absent, as in any query.
///
/// ```
/// use core::alloc::Layout;
/// use formic_ecs::prelude::*;
/// use formic_ecs::{ComponentDescriptor, DynamicQuery};
///
/// #[derive(Component)]
/// struct Speed(u8);
///
/// let mut world = World::new();
/// let speed = world.register::<Speed>();
/// let place = ComponentDescriptor::bytes("place", Layout::new::<[u8; 2]>());
/// let place = world.by_id_mut().register(place)?;
/// for x in 0..10 {
///     let imp = world.spawn(Speed(x));
///     world.by_id_mut().insert(imp, place, &[x, 0])?;
/// }
///
/// let mut moving = DynamicQuery::builder().write(place).read(speed).build(&world)?;
/// world.query_by_id(&mut moving)?.for_each(|mut row| {
///     let speed = row.get::<Speed>(1).map_or(0, |speed| speed.0);
///     if let Ok(place) = row.bytes_mut(0) {
///         place[0] += speed;
///     }
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DynamicQuery(pub(super) DynamicPlan);

debug_fields!([] DynamicQuery:; archetypes = |it| it.0.matches.len());

type DynamicPlan = Plan<Terms, DynamicSlots, ()>;

/// What a query asks for.
pub(super) struct Terms {
    pub(super) terms: Box<[Term]>,
    filters: Box<[Filter]>,
}

/// A component that is handed out.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) info: ComponentInfo,
    pub(super) write: bool,
    pub(super) optional: bool,
}

/// A component that narrows the rows.
#[derive(Clone, Copy, Debug)]
struct Filter {
    id: ComponentId,
    kind: FilterKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterKind {
    With,
    Without,
    Present,
    /// Like `Present`, and the bits are handed out.
    Mask,
    Disabled,
    Changed,
    Added,
}

use FilterKind::{Added, Changed, Disabled, Mask, Present, With, Without};

/// The positions of the components of a query in an archetype that matches.
#[derive(Debug)]
pub(super) struct DynamicSlots {
    /// For each term, its slot in the archetype. Only optional terms can be missing.
    pub(super) slots: Box<[Option<TermSlot>]>,
    /// The filters that narrow the rows of a chunk.
    row_filters: Box<[(FilterKind, TermSlot)]>,
}

pub(super) type DynamicMatch = Match<DynamicSlots>;

impl DynamicSlots {
    /// Sets `rows` to the rows of a chunk that match with the current bits. In place, because `Rows` is
    /// large.
    pub(super) fn rows(&self, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        *rows = Rows::All;
        for (kind, slot) in &self.row_filters {
            match kind {
                With => slot.bits.keep_enabled(chunk, rows),
                Without | Disabled => slot.bits.keep_disabled(chunk, rows),
                Changed => slot.keep_later(false, chunk, rows),
                Added => slot.keep_later(true, chunk, rows),
                Present | Mask => {}
            }
        }
    }

    /// Returns the rows of a chunk that have an optional term with the current bits.
    pub(super) fn optional_rows(&self, chunk: &ChunkRef<'_>, term: usize) -> Rows {
        let Some(slot) = &self.slots[term] else { return Rows::None };
        let mut rows = Rows::All;
        slot.bits.keep_enabled(chunk, &mut rows);
        rows
    }
}

impl Terms {
    /// Returns the positions of the components in an archetype, unless none of its rows can match.
    fn slots(&self, archetype: &Archetype) -> Option<DynamicSlots> {
        let has_bits = |slot: &TermSlot| slot.bits.get().is_some();
        // A component that cannot be disabled does not narrow the rows.
        let enabled = |slot| Some((With, slot)).filter(|(_, slot)| has_bits(slot));
        let mut row_filters = Vec::new();
        let mut slots = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let slot = TermSlot::find(term.info.id, archetype);
            if !term.optional {
                row_filters.extend(enabled(slot?));
            }
            slots.push(slot);
        }
        for &Filter { id, kind } in &self.filters {
            let slot = TermSlot::find(id, archetype);
            match kind {
                With => row_filters.extend(enabled(slot?)),
                Present | Mask => _ = slot?,
                Disabled => row_filters.push((kind, slot.filter(has_bits)?)),
                // A component that exists and cannot be disabled is always there.
                Without if slot.is_some_and(|slot| !has_bits(&slot)) => return None,
                Without => row_filters.extend(slot.map(|slot| (kind, slot))),
                Changed | Added => {
                    row_filters.extend(enabled(slot?));
                    row_filters.push((kind, slot?));
                }
            }
        }
        Some(DynamicSlots { slots: slots.into(), row_filters: row_filters.into() })
    }
}

impl DynamicQuery {
    /// The maximum number of terms that a query hands out.
    pub const TERMS_MAX: usize = 64;

    /// Creates a builder of a query that asks for nothing yet.
    pub fn builder() -> DynamicQueryBuilder {
        DynamicQueryBuilder::default()
    }

    /// Returns what the query accesses.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.0.access
    }

    /// Whether all rows of the archetypes that matched at the last run are handed out, with the same
    /// terms, whatever is disabled or written. This is so if no component that it hands out or requires
    /// to be enabled, disabled or absent can be disabled there, and if it does not ask for what has
    /// changed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.matches.iter().all(|Match { slots: matched, .. }| {
            let mut slots = matched.slots.iter().flatten();
            matched.row_filters.is_empty() && slots.all(|slot| slot.bits.get().is_none())
        })
    }

    /// Checks the archetypes that have appeared since the last call.
    pub(crate) fn extend(&mut self, source: PlanSource<'_>) -> Result<(), DynamicQueryError> {
        if self.0.world != source.world {
            return Err(DynamicQueryError::OtherWorld);
        }
        self.0.extend_in(source);
        Ok(())
    }

    /// Returns what the query hands out.
    pub(super) fn terms(&self) -> &[Term] {
        &self.0.state.terms
    }

    /// Whether the bits of a component are handed out.
    pub(super) fn masks(&self, id: ComponentId) -> bool {
        self.0.state.filters.iter().any(|filter| filter.id == id && filter.kind == Mask)
    }
    /// Returns the indices of the optional terms.
    pub(super) fn optional_terms(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms().iter().enumerate().filter(|(_, term)| term.optional).map(|(place, _)| place)
    }
}

/// A builder of a [`DynamicQuery`].
///
/// The terms that are handed out (`read`, `write`, `optional`, `optional_write`) are numbered in the
/// order in which they were named, from zero. The others narrow the rows and have no number.
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

    fn filter(mut self, id: ComponentId, kind: FilterKind) -> Self {
        self.filters.push(Filter { id, kind });
        self
    }

    /// Requires that the row has the component, enabled, and reads it.
    pub fn read(self, id: ComponentId) -> Self {
        self.term(id, false, false)
    }

    /// Requires that the row has the component, enabled, and writes it.
    pub fn write(self, id: ComponentId) -> Self {
        self.term(id, true, false)
    }

    /// Reads the component if the row has it, enabled.
    pub fn optional(self, id: ComponentId) -> Self {
        self.term(id, false, true)
    }

    /// Writes the component if the row has it, enabled.
    pub fn optional_write(self, id: ComponentId) -> Self {
        self.term(id, true, true)
    }

    /// Requires that the row has the component, enabled.
    pub fn with(self, id: ComponentId) -> Self {
        self.filter(id, With)
    }

    /// Requires that the row lacks the component, or has it disabled.
    pub fn without(self, id: ComponentId) -> Self {
        self.filter(id, Without)
    }

    /// Requires that the row has the component, enabled or not.
    pub fn present(self, id: ComponentId) -> Self {
        self.filter(id, Present)
    }

    /// Requires that the row has the component, enabled or not. A [run](crate::DynamicRun::mask) says
    /// which.
    pub fn mask(self, id: ComponentId) -> Self {
        self.filter(id, Mask)
    }

    /// Requires that the row has the component, disabled.
    pub fn disabled(self, id: ComponentId) -> Self {
        self.filter(id, Disabled)
    }

    /// Requires that the row has the component, enabled, and that it was changed after the version given
    /// to [`DynamicRows::since`](crate::DynamicRows::since), in the sense of [`Changed`](crate::Changed).
    pub fn changed(self, id: ComponentId) -> Self {
        self.filter(id, Changed)
    }

    /// Requires that the row has the component, enabled, and that it was added after the version given to
    /// [`DynamicRows::since`](crate::DynamicRows::since), in the sense of [`Added`](crate::Added).
    pub fn added(self, id: ComponentId) -> Self {
        self.filter(id, Added)
    }

    /// Builds the query for this world.
    ///
    /// # Errors
    /// Returns an error if the world does not know an id, a component is asked for twice, at least once
    /// for writing, or for writing although only the world changes it, or to be disabled although it is
    /// not enableable, if no entity could ever match, or if there are too many terms.
    pub fn build(self, world: &World) -> Result<DynamicQuery, DynamicQueryError> {
        self.plan(world.id(), &world.registry)
    }

    /// Builds the query for the world with this id and this registry.
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
            if filter.kind == Disabled && !info.enableable {
                return Err(DynamicQueryError::NotEnableable(info.name.clone()));
            }
            if info.enableable && filter.kind != Present {
                access.add(Use::BitRead, filter.id);
            }
            if filter.kind == Changed {
                access.add(Use::VersionRead, filter.id);
            }
            if self.contradicts(info) {
                return Err(DynamicQueryError::Contradiction(info.name.clone()));
            }
        }
        let state = Terms { terms: terms.into(), filters: self.filters.into() };
        Ok(DynamicQuery(Plan::new(world, state, access, None, |plan, archetypes, directory| {
            plan.find(archetypes, false, Terms::slots);
            plan.cached_at = directory.changes();
        })))
    }

    /// Whether no row can have the component as the terms and filters require.
    fn contradicts(&self, info: &ComponentInfo) -> bool {
        let asked =
            |kind| self.filters.iter().any(|filter| filter.id == info.id && filter.kind == kind);
        let handed_out = self.terms.iter().any(|&(id, _, optional)| id == info.id && !optional);
        let enabled = handed_out || [With, Changed, Added].into_iter().any(asked);
        let there = enabled || asked(Present) || asked(Mask) || asked(Disabled);
        (enabled && (asked(Without) || asked(Disabled)))
            || (there && asked(Without) && !info.enableable)
    }
}
