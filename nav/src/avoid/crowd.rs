//! The bodies of a tick, sorted by cell, and the neighbours of each.

#[cfg(test)]
mod tests;

use std::array::from_fn;
use std::iter::once;
use std::ops::Range;

use formic_ecs::Entity;
use glam::{Vec2, Vec4};
use smallvec::SmallVec;

use crate::avoid::half_plane::{LANE_COUNT, NEIGHBOUR_COUNT_MAX, Vectors};
use crate::avoid::reciprocal::Disc;
use crate::cell::Cell;
use crate::class::ClassId;
use crate::grid::count_u32;

/// The distance at which others are seen, in cells, if all agents are of one cell.
const SIGHT: u16 = 3;
/// The distance that bodies keep from each other, in cells for each of the two. In a press the rules
/// leave no velocity that meets all constraints, and bodies come too near by as much.
const SKIN: f32 = 0.04;
/// The maximum number of members of one cell that a body looks at. No more than four bodies of the usual
/// size have room in a cell. Only a press has more, and there these are near enough.
const LOOKED_AT_MAX: usize = 16;
/// If no more members than this are in sight of a group, all are looked at, without a look at cells.
const FEW_MAX: usize = 128;
/// The bits of a number below that.
const NUMBER: u32 = 127;
/// The maximum distance of the members of a group, in columns.
const GROUP_COLUMNS: u16 = 8;
/// The maximum number of strips in sight: of the widest bodies, those of classes of the maximum size, four
/// on each side.
const WINDOW_COUNT_MAX: usize = 9;
/// The number of parts along each side of a cell, by which its members are sorted.
const PARTS: f32 = 4.0;

/// A body at the beginning of the tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Member {
    pub(crate) entity: Entity,
    pub(crate) position: Vec2,
    pub(crate) velocity: Vec2,
    /// The radius of the body, without what its class adds.
    pub(crate) radius: f32,
    /// The distance from the centre of its cell to that of the square that it covers, along an axis.
    pub(crate) half_span: f32,
    pub(crate) class: ClassId,
    pub(crate) speed: f32,
    /// The velocity that it would like to have.
    pub(crate) wish: Vec2,
    /// The current goal, or the last one reached.
    pub(crate) goal: Vec2,
    /// Whether it has come no nearer to its goal for a while.
    pub(crate) is_blocked: bool,
    pub(crate) is_squeezing: bool,
    /// Whether it was at rest at its goal before, and goes back there.
    pub(crate) goes_back: bool,
    /// Whether it was moved away from where it came to rest.
    pub(crate) is_away: bool,
    /// Whether it gives way to no other.
    pub(crate) is_obstacle: bool,
}

impl Member {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.wish == Vec2::ZERO
    }

    /// The body as others see it.
    pub(crate) fn disc(&self) -> Disc {
        let radius = self.radius + self.half_span + SKIN;
        let (position, velocity) = (self.position + self.half_span, self.velocity);
        Disc {
            motion: Vec4::new(position.x, position.y, velocity.x, velocity.y),
            radius,
            is_special: self.is_at_rest() || self.is_squeezing || self.is_obstacle,
            is_obstacle: self.is_obstacle,
            entity: self.entity,
        }
    }
}

/// All bodies, in an order that depends on their positions and entities alone.
///
/// They are sorted by strip (a few rows), column, row, part of the cell and entity. So bodies near each
/// other lie near each other in memory, and those of a few columns of a strip are consecutive. Time
/// grows with the number of bodies and of rows, memory also with the largest index of a body; neither
/// depends on the number of columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    /// The part of each member that is read for each neighbour, kept apart for the sake of the cache.
    discs: Vec<Disc>,
    /// The cell of each member: that of its centre.
    cells: Vec<Cell>,
    /// The centre of each member, apart from the rest: most members that are looked at are too far away
    /// to count. Padded at the end, so that four can be read from any index.
    xs: Vec<f32>,
    ys: Vec<f32>,
    /// The index of each member, by the index of its entity.
    places: Vec<u32>,
    /// The members as they were added.
    added: Vec<Member>,
    /// In the order of the members: numbers are quick to sort.
    ///
    /// ```text
    ///   strip 16 | column 16 | row of the strip 2 | part of the cell 4 | place in `added` 26
    /// ```
    keys: Vec<u64>,
    /// The index where the members of each strip begin.
    starts: Vec<u32>,
    /// For each member, the index where the members of its cell end.
    ends: Vec<u32>,
    row_count: u16,
    /// The distance at which others are seen, in cells.
    sight: u16,
}

/// The rows of a strip, such that a body sees into the strips beside its own, and no farther.
const STRIP_ROWS: u16 = SIGHT;

const fn strip_of(cell: Cell) -> u16 {
    cell.y / STRIP_ROWS
}

/// The cell of bodies outside of the map: after all rows, where no body sees them.
const OUTSIDE: Cell = Cell::new(u16::MAX, u16::MAX);

/// See `Crowd::keys`.
const PLACE_BITS: u32 = 26;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

#[expect(clippy::cast_possible_truncation, reason = "each is cut out of the key")]
fn cell_of(key: &u64) -> Cell {
    let (strip, x, row) = ((key >> 48) as u16, (key >> 32) as u16, (key >> 30) as u16 & 3);
    Cell::new(x, strip * STRIP_ROWS + row)
}

impl Crowd {
    /// Clears the crowd, for a map of `row_count` rows.
    pub(crate) fn begin(&mut self, row_count: u16) {
        (self.row_count, self.sight) = (row_count, SIGHT);
        self.added.clear();
        self.keys.clear();
    }

    pub(crate) fn add(&mut self, member: Member) {
        let disc = member.disc();
        // Two of the largest bodies see each other from as far as two bodies of one cell do.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cells")]
        let wider = (2.0 * disc.radius) as u16;
        self.sight = self.sight.max(SIGHT + wider);
        let cell = Cell::containing(disc.position()).filter(|cell| cell.y < self.row_count);
        let cell = cell.unwrap_or(OUTSIDE);
        let place = self.added.len() as u64;
        assert!(place <= PLACE_MASK, "too many bodies");
        let strip_and_column = u64::from(strip_of(cell)) << 16 | u64::from(cell.x);
        let row_and_part =
            u64::from(cell.y % STRIP_ROWS) << 4 | u64::from(part(cell, disc.position()));
        self.keys.push(strip_and_column << 32 | row_and_part << PLACE_BITS | place);
        self.added.push(member);
    }

    /// Sorts all bodies that were added.
    pub(crate) fn sort(&mut self) {
        self.keys.sort_unstable();
        let member_at = |&key: &u64| &self.added[(key & PLACE_MASK) as usize];
        for part in self.keys.chunk_by_mut(|a, b| a >> PLACE_BITS == b >> PLACE_BITS) {
            part.sort_unstable_by_key(|key| member_at(key).entity.to_bits());
        }
        self.discs.clear();
        self.discs.extend(self.keys.iter().map(member_at).map(Member::disc));
        self.cells.clear();
        self.cells.extend(self.keys.iter().map(cell_of));
        let middles = || self.discs.iter().map(Disc::position);
        self.xs.clear();
        self.xs.extend(middles().map(|middle| middle.x).chain([f32::INFINITY; 3]));
        self.ys.clear();
        self.ys.extend(middles().map(|middle| middle.y).chain([f32::INFINITY; 3]));
        self.starts.clear();
        for (place, (cell, disc)) in (0..).zip(self.cells.iter().zip(&self.discs)) {
            // Strips without members begin where the next strip does.
            let strip = usize::from(strip_of(*cell).min(self.strip_count()));
            while self.starts.len() <= strip {
                self.starts.push(place);
            }
            if !disc.is_obstacle {
                let index = disc.entity.index() as usize;
                self.places.resize(self.places.len().max(index + 1), 0);
                self.places[index] = place;
            }
        }
        self.starts.resize(usize::from(self.strip_count()) + 1, count_u32(self.keys.len()));
        self.ends.clear();
        for cell in self.cells.chunk_by(Cell::eq) {
            self.ends.resize(self.ends.len() + cell.len(), count_u32(self.ends.len() + cell.len()));
        }
    }

    /// The number of members.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn member(&self, place: usize) -> &Member {
        &self.added[(self.keys[place] & PLACE_MASK) as usize]
    }

    pub(crate) fn disc(&self, place: usize) -> &Disc {
        &self.discs[place]
    }

    const fn strip_count(&self) -> u16 {
        self.row_count.div_ceil(STRIP_ROWS)
    }

    /// The index among the members of an entity that was not added as an obstacle.
    pub(crate) fn place(&self, entity: Entity) -> usize {
        self.places[entity.index() as usize] as usize
    }

    /// The members of the cell of a member. `at` is where those of this or an earlier cell begin.
    fn cell_of(&self, place: usize, mut at: usize) -> Range<usize> {
        while self.ends[at] as usize <= place {
            at = self.ends[at] as usize;
        }
        at..self.ends[at] as usize
    }

    /// The members of a strip.
    fn strip(&self, strip: u16) -> Range<usize> {
        let start = |strip: usize| self.starts[strip] as usize;
        start(usize::from(strip))..start(usize::from(strip) + 1)
    }
}

/// The members of one strip that are in sight.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    strip: u16,
    members: Range<usize>,
    /// The index where the members of the strip end.
    end: usize,
}

/// A member for each lane, the last one several times if there are fewer.
pub(crate) fn lanes(members: &Range<usize>) -> [usize; LANE_COUNT] {
    from_fn(|lane| (members.start + lane).min(members.end - 1))
}

/// Finds the neighbours of one group of members after the other, in their order. Its windows move on with
/// the group.
#[derive(Debug)]
pub(crate) struct Lookout<'a> {
    crowd: &'a Crowd,
    /// The strip around which the windows lie.
    strip: u16,
    /// The windows of the own strip, of those beside it, and so on.
    windows: SmallVec<[Window; WINDOW_COUNT_MAX]>,
    /// By number, the members of the windows.
    members: [usize; FEW_MAX],
}

/// The neighbours of a member, nearest first, of equals by their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbours {
    pub(crate) count: usize,
    pub(crate) places: [usize; NEIGHBOUR_COUNT_MAX],
    /// The shares of giving way that the member takes.
    pub(crate) shares: [f32; NEIGHBOUR_COUNT_MAX],
}

impl Neighbours {
    /// Beyond the count, too, all are places of members.
    const NONE: Self =
        Self { count: 0, places: [0; NEIGHBOUR_COUNT_MAX], shares: [0.5; NEIGHBOUR_COUNT_MAX] };

    pub(crate) fn get(&self) -> &[usize] {
        &self.places[..self.count]
    }
}

/// The own one, the neighbours, and the next one.
const ENTRY_COUNT: usize = NEIGHBOUR_COUNT_MAX + 2;

/// Inserts places into the sorted entries of each lane.
///
/// An entry is a squared distance, whose last bits are replaced by a number. Floats from zero on have the order
/// of their bits.
#[inline(never)]
fn look(nearest: &mut [Vec4; ENTRY_COUNT], xs: &[f32], ys: &[f32], own: Vectors, mut number: u32) {
    // A copy, to keep it in registers.
    let mut entries = *nearest;
    for (&x, &y) in xs.iter().zip(ys) {
        let x = Vec4::splat(x) - own.x;
        let y = Vec4::splat(y) - own.y;
        let squares = (x * x + y * y).to_array();
        let entry = squares.map(|square| f32::from_bits(square.to_bits() & !NUMBER | number));
        let entry = Vec4::from(entry);
        for at in (1..entries.len()).rev() {
            entries[at] = entries[at].min(entry).max(entries[at - 1]);
        }
        entries[0] = entries[0].min(entry);
        number += 1;
    }
    *nearest = entries;
}

impl<'a> Lookout<'a> {
    pub(crate) fn new(crowd: &'a Crowd) -> Self {
        Self { crowd, strip: u16::MAX, windows: SmallVec::new(), members: [0; FEW_MAX] }
    }

    /// The nearest others around each of up to four consecutive members, at most [`NEIGHBOUR_COUNT_MAX`].
    ///
    /// In a press those are the nearest of the ones that are looked at: in each cell [`LOOKED_AT_MAX`],
    /// those whose rank in it is closest to the rank of the member in its own.
    pub(crate) fn neighbours(&mut self, members: Range<usize>) -> [Neighbours; LANE_COUNT] {
        let mut neighbours = [Neighbours::NONE; LANE_COUNT];
        let (crowd, mut start) = (self.crowd, members.start);
        while start < members.end {
            let first = crowd.cells[start];
            let is_near = |cell: &&Cell| {
                strip_of(**cell) == strip_of(first) && cell.x - first.x < GROUP_COLUMNS
            };
            let count = crowd.cells[start..members.end].iter().take_while(is_near).count();
            let to = &mut neighbours[start - members.start..][..count];
            self.look_around(start..start + count, to);
            start += count;
        }
        neighbours
    }

    /// Finds the neighbours of some members that are near each other.
    fn look_around(&mut self, group: Range<usize>, to: &mut [Neighbours]) {
        self.move_to(self.crowd.cells[group.start], self.crowd.cells[group.end - 1]);
        let count: usize = self.windows.iter().map(|window| window.members.len()).sum();
        // One member is the own one.
        if count <= 1 {
            return;
        }
        if count <= FEW_MAX {
            self.look_at_all(group, to);
        } else {
            to.iter_mut().zip(group).for_each(|(to, place)| *to = self.look_at_cells(place));
        }
    }

    /// Looks at all members of the windows, from four members at a time. Where two of them seem equally far
    /// away, it looks again.
    fn look_at_all(&mut self, group: Range<usize>, to: &mut [Neighbours]) {
        let crowd = self.crowd;
        let own = Vectors::new(lanes(&group).map(|place| crowd.discs[place].position()));
        let mut entries = [Vec4::INFINITY; ENTRY_COUNT];
        let mut count = 0;
        for Window { members, .. } in &self.windows {
            let (xs, ys) = (&crowd.xs[members.clone()], &crowd.ys[members.clone()]);
            look(&mut entries, xs, ys, own, count_u32(count));
            let numbers = &mut self.members[count..];
            numbers.iter_mut().zip(members.clone()).for_each(|(to, place)| *to = place);
            count += members.len();
        }
        let sight = f32::from(crowd.sight * crowd.sight).to_bits();
        let entries = entries.map(|entry| entry.to_array().map(f32::to_bits));
        let (mut seen, mut is_unclear) = ([0; LANE_COUNT], [false; LANE_COUNT]);
        let mut last = [u32::MAX; LANE_COUNT];
        for entry in &entries {
            for lane in 0..LANE_COUNT {
                let is_seen = entry[lane] < sight;
                seen[lane] += u32::from(is_seen);
                is_unclear[lane] |= is_seen & (entry[lane] ^ last[lane] <= NUMBER);
            }
            last = *entry;
        }
        for (lane, (to, place)) in to.iter_mut().zip(group).enumerate() {
            if is_unclear[lane] {
                *to = self.look_at_cells(place);
                continue;
            }
            // The first one is the member itself: no other seems to be in the same place.
            to.count = NEIGHBOUR_COUNT_MAX.min(seen[lane].saturating_sub(1) as usize);
            for (to, entry) in to.places.iter_mut().zip(&entries[1..]) {
                *to = self.members[(entry[lane] & NUMBER) as usize];
            }
        }
    }

    /// Looks at the members of one cell after the other.
    fn look_at_cells(&self, place: usize) -> Neighbours {
        let crowd = self.crowd;
        let position = Vec2::new(crowd.xs[place], crowd.ys[place]);
        let out_of_sight = key(f32::from(crowd.sight * crowd.sight), 0);
        let entries = [out_of_sight; NEIGHBOUR_COUNT_MAX];
        let mut found = Nearest { crowd, position, place, entries };
        let mut own_cell = place..place + 1;
        let mut rank = 0.0;
        for Window { strip, members, .. } in &self.windows {
            let gap_y = gap(position.y, strip * STRIP_ROWS, STRIP_ROWS);
            if members.is_empty() || gap_y * gap_y >= found.reach() {
                continue;
            }
            // The own cell first: members farther away than the nearest ones found need no look
            // afterwards.
            if *strip == self.strip {
                own_cell = crowd.cell_of(place, members.start);
                if own_cell.len() > LOOKED_AT_MAX {
                    rank = (place - own_cell.start) as f32 / own_cell.len() as f32;
                }
                found.look_at_cell(own_cell.clone(), rank);
            }
            let mut at = members.start;
            while at < members.end {
                let cell = at..crowd.ends[at] as usize;
                let Cell { x, y } = crowd.cells[at];
                let (gap_x, gap_y) = (gap(position.x, x, 1), gap(position.y, y, 1));
                if gap_x * gap_x + gap_y * gap_y < found.reach() && cell != own_cell {
                    found.look_at_cell(cell.clone(), rank);
                }
                at = cell.end;
            }
        }
        let near = found.entries.into_iter().take_while(|&entry| entry < out_of_sight);
        let mut neighbours = Neighbours::NONE;
        for entry in near {
            neighbours.places[neighbours.count] = place_of(entry.to_bits());
            neighbours.count += 1;
        }
        neighbours
    }

    /// Moves the windows on to those around some cells of a strip.
    fn move_to(&mut self, west: Cell, east: Cell) {
        let crowd = self.crowd;
        let strip = strip_of(west);
        let (first, last) =
            (west.x.saturating_sub(crowd.sight), east.x.saturating_add(crowd.sight));
        if strip != self.strip {
            self.windows.clear();
            let beside = (1..=crowd.sight.div_ceil(STRIP_ROWS))
                .flat_map(|distance| [strip.checked_add(distance), strip.checked_sub(distance)]);
            let strips = once(strip).chain(beside.flatten());
            self.windows.extend(strips.filter(|&strip| strip < crowd.strip_count()).map(|strip| {
                let Range { start, end } = crowd.strip(strip);
                let start = start + crowd.cells[start..end].partition_point(|cell| cell.x < first);
                Window { strip, members: start..start, end }
            }));
        }
        for Window { members, end, .. } in &mut self.windows {
            while members.start < *end && crowd.cells[members.start].x < first {
                members.start += 1;
            }
            members.end = members.end.max(members.start);
            while members.end < *end && crowd.cells[members.end].x <= last {
                members.end += 1;
            }
        }
        self.strip = strip;
    }
}

/// The distance of a coordinate from a range of rows or columns of cells.
fn gap(at: f32, first: u16, count: u16) -> f32 {
    let low = f32::from(first);
    let high = low + f32::from(count);
    // Without `max`, which tests for NaN first.
    let greater = |a: f32, b: f32| if a > b { a } else { b };
    greater(greater(low - at, at - high), 0.0)
}

/// The part of its cell that a position is in. Consecutive parts are near each other.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a few parts")]
fn part(cell: Cell, position: Vec2) -> u8 {
    // Outside of all cells, a position may be any number of cells away.
    let along = |value: f32, cell: u16| ((value - f32::from(cell)) * PARTS).min(PARTS - 1.0) as u8;
    let (x, y) = (along(position.x, cell.x), along(position.y, cell.y));
    (y * PARTS as u8 + if y % 2 == 0 { x } else { PARTS as u8 - 1 - x }) & 15
}

/// The nearest of the members that were looked at around one member.
struct Nearest<'a> {
    crowd: &'a Crowd,
    position: Vec2,
    place: usize,
    /// Sorted by [`key`]. Entries after the last one found stand for members out of sight.
    entries: [f64; NEIGHBOUR_COUNT_MAX],
}

/// A key of a squared distance and, with less weight, an index. Floats from zero on have the order of
/// their bits, and the minimum and maximum of two are one instruction each.
fn key(distance: f32, place: u32) -> f64 {
    f64::from_bits(u64::from(distance.to_bits()) << 32 | u64::from(place))
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
const fn place_of(key: u64) -> usize {
    key as u32 as usize
}

impl Nearest<'_> {
    /// The square of the distance from which on others do not count.
    const fn reach(&self) -> f32 {
        f32::from_bits((self.entries[NEIGHBOUR_COUNT_MAX - 1].to_bits() >> 32) as u32)
    }

    /// Looks at the members of a cell except the one in the middle, or in a press at some of them.
    ///
    /// It handles four at a time, without a branch for each that is too far away, which would be
    /// unpredictable.
    #[expect(clippy::cast_possible_truncation, reason = "places have 26 bits")]
    fn look_at_cell(&mut self, cell: Range<usize>, rank: f32) {
        let spare = cell.len().saturating_sub(LOOKED_AT_MAX);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let middle = (rank * cell.len() as f32) as usize;
        let first = cell.start + middle.saturating_sub(LOOKED_AT_MAX / 2).min(spare);
        let count = LOOKED_AT_MAX.min(cell.end - first);
        let (x, y) = (Vec4::splat(self.position.x), Vec4::splat(self.position.y));
        let reach = Vec4::splat(self.reach());
        let mut squares = [[0.0; 4]; LOOKED_AT_MAX / 4];
        // A bit for each member that is near enough to count.
        let mut near = 0_u32;
        for (four, squares) in squares[..count.div_ceil(4)].iter_mut().enumerate() {
            let x = Vec4::from_slice(&self.crowd.xs[first + 4 * four..]) - x;
            let y = Vec4::from_slice(&self.crowd.ys[first + 4 * four..]) - y;
            let distances = x * x + y * y;
            *squares = distances.to_array();
            near |= distances.cmple(reach).bitmask() << (4 * four);
        }
        near &= (1 << count) - 1;
        near &= !1_u32.checked_shl(self.place.wrapping_sub(first) as u32).unwrap_or(0);
        // A copy, to keep it in registers.
        let mut entries = self.entries;
        while near != 0 {
            let at = near.trailing_zeros() as usize;
            near &= near - 1;
            insert(&mut entries, key(squares.as_flattened()[at], (first + at) as u32));
        }
        self.entries = entries;
    }
}

/// Inserts an entry in order, and drops the last.
fn insert(entries: &mut [f64; NEIGHBOUR_COUNT_MAX], entry: f64) {
    let least = |a: f64, b: f64| if a < b { a } else { b };
    let greatest = |a: f64, b: f64| if a > b { a } else { b };
    for at in (1..NEIGHBOUR_COUNT_MAX).rev() {
        entries[at] = greatest(least(entries[at], entry), entries[at - 1]);
    }
    entries[0] = least(entries[0], entry);
}
