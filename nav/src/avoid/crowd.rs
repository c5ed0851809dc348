//! The bodies of a tick, sorted by cell, and who is near whom.

use std::ops::Range;

use glam::Vec2;

use crate::avoid::reciprocal::Disc;
use crate::cell::Cell;

/// Others are seen as far as this, in cells, where all are of one cell.
const SIGHT: u16 = 3;
/// The most neighbours that count, the nearest ones.
pub(crate) const NEIGHBOUR_COUNT_MAX: usize = 10;
/// The most members of one cell that a body looks at. More than four bodies of the usual
/// size have no room in one: only a press has more, and there these are near enough.
const LOOKED_AT_MAX: usize = 16;
/// A cell is divided by so many along each side, to sort its members.
const PARTS: f32 = 4.0;

/// A body at the beginning of the tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Member {
    /// The bits of its entity, by which equals are told apart.
    pub(crate) number: u64,
    pub(crate) disc: Disc,
    /// The velocity that it would like to have.
    pub(crate) wish: Vec2,
    /// Where it goes, or came to last.
    pub(crate) goal: Vec2,
    pub(crate) is_at_rest: bool,
    /// Whether it has got no nearer to its goal for a while.
    pub(crate) is_blocked: bool,
    pub(crate) is_squeezing: bool,
    /// Whether it gives way to none.
    pub(crate) is_obstacle: bool,
}

/// Cell, part of the cell, number, and the place among the members as they were added.
type Key = (Cell, u8, u64, u32);

/// All bodies, in an order that depends on where they are and who they are alone.
///
/// They are sorted by row, column, part of the cell and number. Rows begin where `starts`
/// says; within a row cells are found by bisection, so that memory and time go with the number
/// of bodies and rows, and not with the size of the map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    members: Vec<Member>,
    /// The cell of each member.
    cells: Vec<Cell>,
    /// Its place, apart from the rest: most that are looked at are too far away to count.
    positions: Vec<Vec2>,
    /// As they were added.
    added: Vec<Member>,
    /// In the order of the members: less to move about than they are.
    keys: Vec<Key>,
    /// Where the members of each row begin.
    starts: Vec<u32>,
    /// Whether some cell of the row has more than [`LOOKED_AT_MAX`] members.
    is_press: Vec<bool>,
    row_count: u16,
    /// How far others are seen, in cells.
    sight: u16,
    /// The goals of all that are at rest, in order.
    taken_goals: Vec<Cell>,
}

impl Crowd {
    /// Forgets all, for a map of so many rows.
    pub(crate) fn begin(&mut self, row_count: u16) {
        (self.row_count, self.sight) = (row_count, SIGHT);
        self.added.clear();
        self.keys.clear();
        self.taken_goals.clear();
    }

    /// Adds a body, unless it is outside of the map.
    pub(crate) fn add(&mut self, member: Member) {
        self.taken_goals.extend(Cell::containing(member.goal).filter(|_| member.is_at_rest));
        // Two of the largest see each other from as far as two of one cell do.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cells")]
        let wider = (2.0 * member.disc.radius).floor() as u16;
        self.sight = self.sight.max(SIGHT + wider);
        let cell = Cell::containing(member.disc.position);
        if let Some(cell) = cell.filter(|cell| cell.y < self.row_count) {
            let place = count_u32(self.added.len());
            self.keys.push((cell, part(member.disc.position), member.number, place));
            self.added.push(member);
        }
    }

    /// Puts all that were added in order.
    pub(crate) fn sort(&mut self) {
        self.taken_goals.sort_unstable();
        self.keys.sort_unstable();
        self.members.clear();
        self.members.extend(self.keys.iter().map(|&(.., place)| self.added[place as usize]));
        self.cells.clear();
        self.cells.extend(self.keys.iter().map(|&(cell, ..)| cell));
        self.starts.clear();
        for (place, cell) in (0..).zip(&self.cells) {
            // Rows without members begin where the next one does.
            while self.starts.len() <= usize::from(cell.y) {
                self.starts.push(place);
            }
        }
        self.starts.resize(usize::from(self.row_count) + 1, count_u32(self.members.len()));
        self.positions.clear();
        self.positions.extend(self.members.iter().map(|member| member.disc.position));
        self.is_press.clear();
        self.is_press.resize(usize::from(self.row_count), false);
        for pair in self.cells.windows(LOOKED_AT_MAX + 1) {
            self.is_press[usize::from(pair[0].y)] |= pair[0] == pair[LOOKED_AT_MAX];
        }
    }

    /// How many rest whose goal is in the same cell.
    pub(crate) fn count_at_rest(&self, goal: Vec2) -> usize {
        let Some(goal) = Cell::containing(goal) else { return 0 };
        let goals = &self.taken_goals;
        goals.partition_point(|&other| other <= goal) - goals.partition_point(|&other| other < goal)
    }

    /// The nearest members around a position, at most [`NEIGHBOUR_COUNT_MAX`], nearest
    /// first, of equals by their order; without the one with this `number`.
    ///
    /// In a press those are the nearest of the ones that are looked at: in each cell
    /// [`LOOKED_AT_MAX`], those whose place in it is most like the place of the body in its own.
    pub(crate) fn neighbours(&self, position: Vec2, number: u64) -> Neighbours<'_> {
        let sight = f32::from(self.sight * self.sight);
        let mut found = Neighbours { crowd: self, nearest: [key(sight, 0); NEIGHBOUR_COUNT_MAX] };
        let Some(cell) = Cell::containing(position).filter(|cell| cell.y < self.row_count) else {
            return found;
        };
        let row = self.row(cell.y);
        let own = part_of(&self.cells, row, cell.x);
        let (own_part, keys) = (part(position), &self.keys[own.clone()]);
        let is_before = |&(_, part, other, _): &Key| (part, other) < (own_part, number);
        let before = keys.partition_point(is_before);
        let is_press = own.len() > LOOKED_AT_MAX;
        let rank = if is_press { before as f32 / own.len() as f32 } else { 0.0 };
        let seeker = Seeker { position, place: own.start + before, rank };
        // The own cell first, then the own row, for then what is behind the nearest ones needs no
        // look.
        self.look_at_cell(own.clone(), &seeker, &mut found);
        for distance in 0..=self.sight {
            let rows = [cell.y.checked_add(distance), cell.y.checked_sub(distance)];
            let rows = if distance == 0 { &rows[..1] } else { &rows[..] };
            for &row in rows.iter().flatten().filter(|&&row| row < self.row_count) {
                self.look_at_row(row, own.clone(), &seeker, &mut found);
            }
        }
        found
    }

    fn row(&self, row: u16) -> Range<usize> {
        let start = |row: usize| self.starts[row] as usize;
        start(usize::from(row))..start(usize::from(row) + 1)
    }

    /// Looks at the members of a row as far as they may count, but for those of the `own` cell.
    fn look_at_row(
        &self,
        row: u16,
        own: Range<usize>,
        seeker: &Seeker,
        found: &mut Neighbours<'_>,
    ) {
        let gap = gap(seeker.position.y, row);
        let members = self.row(row);
        if members.is_empty() || gap * gap >= found.reach() {
            return;
        }
        let reach = (found.reach() - gap * gap).sqrt();
        // Less than zero is zero.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "columns")]
        let [low, high] = [-reach, reach].map(|reach| (seeker.position.x + reach) as u16);
        let cells = &self.cells[members.clone()];
        let start = members.start + cells.partition_point(|cell| cell.x < low);
        let cells = &self.cells[start..members.end];
        if !self.is_press[usize::from(row)] {
            let end = start + cells.iter().take_while(|cell| cell.x <= high).count();
            let (before, behind) = (start..end.min(own.start), start.max(own.end)..end);
            let is_own = start <= own.start && own.end <= end;
            let all = if is_own { [before, behind] } else { [start..end, end..end] };
            all.into_iter().for_each(|members| found.look_at(members, seeker));
            return;
        }
        let end = start + cells.partition_point(|cell| cell.x <= high);
        let mut at = start;
        while at < end {
            let cell = part_of(&self.cells, at..end, self.cells[at].x);
            at = cell.end;
            if cell != own {
                self.look_at_cell(cell, seeker, found);
            }
        }
    }

    /// Looks at the members of a cell, or in a press at some of them.
    fn look_at_cell(&self, cell: Range<usize>, seeker: &Seeker, found: &mut Neighbours<'_>) {
        let spare = cell.len().saturating_sub(LOOKED_AT_MAX);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let middle = (seeker.rank * cell.len() as f32) as usize;
        let first = cell.start + middle.saturating_sub(LOOKED_AT_MAX / 2).min(spare);
        found.look_at(first..cell.end.min(first + LOOKED_AT_MAX), seeker);
    }
}

/// Those of some members of a row that are in a column.
fn part_of(cells: &[Cell], row: Range<usize>, column: u16) -> Range<usize> {
    let cells = &cells[row.clone()];
    let first = cells.partition_point(|other| other.x < column);
    // Most cells have one or none.
    let count = match cells.get(first + 1) {
        Some(second) if second.x == column => {
            cells[first..].partition_point(|other| other.x == column)
        }
        _ => usize::from(cells.get(first).is_some_and(|other| other.x == column)),
    };
    row.start + first..row.start + first + count
}

/// Who looks around.
struct Seeker {
    position: Vec2,
    /// Where it is among the members, and where among those of its cell, as a part of them.
    place: usize,
    rank: f32,
}

/// How far a coordinate is from a row of cells.
fn gap(at: f32, row: u16) -> f32 {
    let low = f32::from(row);
    (low - at).max(at - low - 1.0).max(0.0)
}

/// The part of its cell that a position is in, in an order in which those that follow each
/// other are near.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a few parts")]
fn part(position: Vec2) -> u8 {
    let along = |value: f32| (value.fract() * PARTS) as u8;
    let (x, y) = (along(position.x), along(position.y));
    y * PARTS as u8 + if y % 2 == 0 { x } else { PARTS as u8 - 1 - x }
}

/// The members around a body.
pub(crate) struct Neighbours<'a> {
    crowd: &'a Crowd,
    /// Distances squared and places, in order. Behind the last are those of what is out of sight.
    nearest: [u64; NEIGHBOUR_COUNT_MAX],
}

/// A distance squared and a place, which is of less weight. Floats from zero on are in the order
/// of their bits.
fn key(distance: f32, place: usize) -> u64 {
    u64::from(distance.to_bits()) << 32 | u64::from(count_u32(place))
}

impl<'a> Neighbours<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Member> + '_ {
        let end = key(f32::from(self.crowd.sight * self.crowd.sight), 0);
        let near = self.nearest.iter().take_while(move |&&key| key < end);
        near.map(|&key| &self.crowd.members[key as u32 as usize])
    }

    /// The square of the distance from which on others do not count.
    const fn reach(&self) -> f32 {
        f32::from_bits((self.nearest[NEIGHBOUR_COUNT_MAX - 1] >> 32) as u32)
    }

    fn look_at(&mut self, places: Range<usize>, seeker: &Seeker) {
        let first = places.start;
        for (at, position) in self.crowd.positions[places].iter().enumerate() {
            let entry = key(position.distance_squared(seeker.position), first + at);
            if entry < self.nearest[NEIGHBOUR_COUNT_MAX - 1] && first + at != seeker.place {
                self.insert(entry);
            }
        }
    }

    /// Puts an entry where it belongs, and drops the last. Without branches: which are before it
    /// cannot be foreseen.
    fn insert(&mut self, entry: u64) {
        for at in (1..NEIGHBOUR_COUNT_MAX).rev() {
            self.nearest[at] = self.nearest[at].min(entry).max(self.nearest[at - 1]);
        }
        self.nearest[0] = self.nearest[0].min(entry);
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 agents")
}
