//! Links: connections from one cell to another that are not steps.

use formic_ecs::CodecError;

use crate::bytes::{Bytes, Saved, bytes_as, bytes_by_field};
use crate::cell::Cell;
use crate::cost::{STRAIGHT, Weight};

/// The maximum cost of all links of a grid together, so that 48 bits hold the cost of any path.
pub(crate) const UNITS_SUM_MAX: u64 = 1 << 46;

/// A one-way connection between two cells that is not a step: a drop, a ladder, a teleporter, the stairs
/// to another floor (which lies elsewhere on the same grid).
///
/// A connection in both directions is two links. A link is open if both of its ends are, so an edit of an
/// end opens and closes it. Its ends must not touch, because a step joins cells that do.
///
/// [`Terrain::with_links`](crate::Terrain::with_links) takes all links of a game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link {
    /// The cell where it begins.
    pub from: Cell,
    /// The cell where it ends.
    pub to: Cell,
    /// The cost at weight one, in straight steps. At least one.
    pub length: u8,
    /// The kind of ground, given like the weight of a cell: classes of agents may have another weight for
    /// it, or be unable to cross it.
    pub ground: Weight,
}

bytes_by_field!(Link { from, to, length, ground });

impl Link {
    /// Creates a link over ordinary ground.
    #[must_use]
    pub const fn new(from: Cell, to: Cell, length: u8) -> Self {
        Self { from, to, length, ground: Weight::ONE }
    }

    /// The cost of the link.
    pub(crate) fn units(&self) -> u64 {
        u64::from(STRAIGHT) * u64::from(self.length) * self.ground.factor()
    }

    /// Whether the link is valid: its cells do not touch, and it has a length.
    pub(crate) fn is_sound(&self) -> bool {
        !is_step(self.from, self.to) && self.length > 0
    }
}

/// Whether two cells touch or are the same, so that a path goes from one to the other by a step and
/// not by a link.
pub(crate) fn is_step(from: Cell, to: Cell) -> bool {
    from.x.abs_diff(to.x) <= 1 && from.y.abs_diff(to.y) <= 1
}

/// The links of a grid, sorted by where they begin and by where they end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Links {
    outward: Vec<Link>,
    inward: Vec<Link>,
}

bytes_as!(Links as Vec<Link>, |it| it.outward.clone(), |it| Some(Self::new(it)));

impl Links {
    pub(crate) fn new(mut outward: Vec<Link>) -> Self {
        outward.sort_unstable();
        let mut inward = outward.clone();
        inward.sort_by_key(|link| link.to);
        Self { outward, inward }
    }

    /// Whether the cost of any path over the links is small enough to be exact.
    pub(crate) fn are_sound(&self) -> bool {
        self.outward.iter().map(Link::units).sum::<u64>() <= UNITS_SUM_MAX
    }

    pub(crate) fn all(&self) -> &[Link] {
        &self.outward
    }

    /// The links that begin at a cell.
    pub(crate) fn from(&self, cell: Cell) -> &[Link] {
        run(&self.outward, cell, |link| link.from)
    }

    /// The links that end at a cell.
    pub(crate) fn to(&self, cell: Cell) -> &[Link] {
        run(&self.inward, cell, |link| link.to)
    }
}

/// The links of a sorted list whose key is this cell.
fn run(links: &[Link], cell: Cell, key: impl Fn(&Link) -> Cell) -> &[Link] {
    if links.is_empty() {
        return links;
    }
    let start = links.partition_point(|link| key(link) < cell);
    let end = start + links[start..].iter().take_while(|link| key(link) == cell).count();
    &links[start..end]
}
