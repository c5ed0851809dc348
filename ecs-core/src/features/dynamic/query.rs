//! Queries by component id: what they ask for, and which archetypes match.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{DynamicQueryBuilder, DynamicQueryError};
use crate::archetype::Archetype;
use crate::component::{ComponentId, ComponentInfo};
use crate::mask::Rows;
use crate::query::{Access, BitsSlot, PlanSource, TermSlot};
use crate::storage::Chunks;

/// A query that names its components by id, for scripts and for hosts that know no Rust types.
///
/// It is built once for a world and kept: which archetypes match is worked out as they appear.
/// [`World::query_by_id`](crate::World::query_by_id) asks it.
///
/// A component that is disabled is absent to it, as to any query.
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
/// let place = world.register_dynamic(place)?;
/// for x in 0..10 {
///     let imp = world.spawn(Speed(x));
///     world.insert_by_id(imp, place, &[x, 0])?;
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
pub struct DynamicQuery {
    pub(super) world: u64,
    pub(super) epoch: u64,
    pub(super) terms: Box<[Term]>,
    pub(super) filters: Box<[Filter]>,
    pub(super) access: Access,
    /// How many archetypes were looked at; `matches` lists exactly those of them that match (I-8).
    pub(super) seen: usize,
    pub(super) matches: Vec<DynamicMatch>,
}

debug_fields!([] DynamicQuery: access; archetypes = |it| it.matches.len());

/// One component that is handed out.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) info: ComponentInfo,
    pub(super) write: bool,
    pub(super) optional: bool,
}

/// One component that narrows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    pub(super) id: ComponentId,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    With,
    Without,
    Present,
    /// The same, and the bits are handed out.
    Mask,
    Disabled,
    Changed,
    Added,
}

/// One archetype that matches.
#[derive(Debug)]
pub(super) struct DynamicMatch {
    pub(super) archetype: usize,
    /// Of each term, where the archetype has it. Only optional ones may be missing.
    pub(super) slots: Box<[Option<TermSlot>]>,
    narrowing: Box<[Narrowing]>,
}

/// What narrows the rows of a chunk.
#[derive(Clone, Copy, Debug)]
enum Narrowing {
    Enabled(TermSlot),
    /// The bits, of which the zeros stay.
    Disabled(BitsSlot),
    Changed(TermSlot),
    Added(TermSlot),
}

impl Narrowing {
    fn narrow(self, chunks: &Chunks, chunk: usize, since: u64, rows: &mut Rows) {
        match self {
            Self::Enabled(slot) => slot.bits.keep_enabled(chunks, chunk, rows),
            Self::Disabled(slot) => slot.keep_disabled(chunks, chunk, rows),
            Self::Changed(slot) => slot.keep_later(false, chunks, chunk, since, rows),
            Self::Added(slot) => slot.keep_later(true, chunks, chunk, since, rows),
        }
    }
}

impl DynamicMatch {
    /// Sets `rows` to those of a chunk that match, as the bits are now; what was stamped after `since`
    /// is new. In place: they are large.
    pub(super) fn rows(&self, chunks: &Chunks, chunk: usize, since: u64, rows: &mut Rows) {
        *rows = Rows::All;
        for narrowing in &self.narrowing {
            narrowing.narrow(chunks, chunk, since, rows);
        }
    }

    /// The rows of a chunk in which an optional term is there, as the bits are now.
    pub(super) fn optional_rows(&self, chunks: &Chunks, chunk: usize, term: usize) -> Rows {
        let Some(slot) = &self.slots[term] else { return Rows::None };
        let mut rows = Rows::All;
        slot.bits.keep_enabled(chunks, chunk, &mut rows);
        rows
    }
}

impl DynamicQuery {
    /// The most terms that a query hands out.
    pub const TERMS_MAX: usize = 64;

    /// A query that asks for nothing yet.
    pub fn builder() -> DynamicQueryBuilder {
        DynamicQueryBuilder::default()
    }

    /// What the query touches.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// Looks at the archetypes that have appeared since the last time.
    pub(crate) fn extend(&mut self, source: PlanSource<'_>) -> Result<(), DynamicQueryError> {
        if self.world != source.world {
            return Err(DynamicQueryError::OtherWorld);
        }
        if self.epoch != source.epoch {
            self.seen = 0;
            self.matches.clear();
            self.epoch = source.epoch;
        }
        for (index, archetype) in source.archetypes.iter().enumerate().skip(self.seen) {
            self.seen = index + 1;
            if self.access.leaves_out(archetype) {
                continue;
            }
            self.matches.extend(self.match_of(index, archetype));
        }
        Ok(())
    }

    fn match_of(&self, index: usize, archetype: &Archetype) -> Option<DynamicMatch> {
        let mut narrowing = Vec::new();
        let mut slots = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let slot = TermSlot::find(term.info.id, archetype);
            if !term.optional {
                narrowing.push(Narrowing::Enabled(slot?));
            }
            slots.push(slot);
        }
        for filter in &self.filters {
            let slot = TermSlot::find(filter.id, archetype);
            let bits = slot.map(|slot| slot.bits.get().map(|_| Narrowing::Disabled(slot.bits)));
            match filter.how {
                How::With => narrowing.push(Narrowing::Enabled(slot?)),
                How::Present | How::Mask => _ = slot?,
                How::Disabled => narrowing.push(bits??),
                // One that is there and cannot be disabled is there for good.
                How::Without => narrowing.extend(bits.map_or(Some(None), |bits| bits.map(Some))?),
                How::Changed => {
                    narrowing.extend([Narrowing::Enabled(slot?), Narrowing::Changed(slot?)]);
                }
                How::Added => {
                    narrowing.extend([Narrowing::Enabled(slot?), Narrowing::Added(slot?)]);
                }
            }
        }
        Some(DynamicMatch { archetype: index, slots: slots.into(), narrowing: narrowing.into() })
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether the bits of a component are handed out.
    pub(super) fn masks(&self, id: ComponentId) -> bool {
        self.filters.iter().any(|filter| filter.id == id && filter.how == How::Mask)
    }

    pub(super) fn matches(&self) -> &[DynamicMatch] {
        &self.matches
    }

    /// The places of the optional terms.
    pub(super) fn optional_terms(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().enumerate().filter(|(_, term)| term.optional).map(|(place, _)| place)
    }
}
