//! The bodies of a tick, sorted by cell, and who is near whom.

#[cfg(test)]
mod tests;

use std::iter::once;
use std::ops::Range;

use formic_ecs::Entity;
use glam::{Vec2, Vec4};

use crate::avoid::reciprocal::Disc;
use crate::cell::Cell;
use crate::class::ClassId;

/// Others are seen as far as this, in cells, where all are of one cell.
const SIGHT: u16 = 3;
/// The distance that bodies keep from each other, in cells for each of the two: in a press
/// the rules leave no velocity that is quite right, and bodies come as much too near.
const SKIN: f32 = 0.04;
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
    pub(crate) entity: Entity,
    pub(crate) position: Vec2,
    pub(crate) velocity: Vec2,
    /// Of the body, without what its class adds.
    pub(crate) radius: f32,
    /// From the middle of its cell to the middle of all that it covers, along an axis.
    pub(crate) half_span: f32,
    pub(crate) class: ClassId,
    pub(crate) speed: f32,
    /// The velocity that it would like to have.
    pub(crate) wish: Vec2,
    /// Where it goes, or came to last.
    pub(crate) goal: Vec2,
    /// Whether it has got no nearer to its goal for a while.
    pub(crate) is_blocked: bool,
    pub(crate) is_squeezing: bool,
    /// Whether it gives way to none.
    pub(crate) is_obstacle: bool,
}

impl Member {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.wish == Vec2::ZERO
    }

    /// As others see it.
    pub(crate) fn disc(&self) -> Disc {
        let radius = self.radius + self.half_span + SKIN;
        Disc { position: self.position + self.half_span, velocity: self.velocity, radius }
    }
}

/// Cell, part of the cell, entity, and the place among the members as they were added.
type Key = (Cell, u8, u64, u32);

/// All bodies, in an order that depends on where they are and who they are alone.
///
/// They are sorted by row, column, part of the cell and entity, so that those near each other
/// lie near each other in memory, and those of a few cells of a row one behind the other. Time
/// goes with the number of bodies and rows, memory with the greatest index of a body as well, and
/// neither with the size of the map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    members: Vec<Member>,
    /// The cell of each member, that of its middle.
    cells: Vec<Cell>,
    /// Its middle, apart from the rest: most that are looked at are too far away to count. A few
    /// more at the end, so that four can be read from any place on.
    xs: Vec<f32>,
    ys: Vec<f32>,
    /// The place of each, by the index of its entity.
    places: Vec<u32>,
    /// As they were added.
    added: Vec<Member>,
    /// In the order of the members: less to move about than they are.
    keys: Vec<Key>,
    /// Where the members of each row begin.
    starts: Vec<u32>,
    /// Where the members of the cell of each member end.
    ends: Vec<u32>,
    row_count: u16,
    /// How far others are seen, in cells.
    sight: u16,
    /// The goals of all that are at rest, in order.
    taken_goals: Vec<Cell>,
}

/// Where those are that are outside of the map: behind all rows, where none sees them.
const OUTSIDE: Cell = Cell::new(u16::MAX, u16::MAX);

impl Crowd {
    /// Forgets all, for a map of so many rows.
    pub(crate) fn begin(&mut self, row_count: u16) {
        (self.row_count, self.sight) = (row_count, SIGHT);
        self.added.clear();
        self.keys.clear();
        self.taken_goals.clear();
    }

    pub(crate) fn add(&mut self, member: Member) {
        self.taken_goals.extend(Cell::containing(member.goal).filter(|_| member.is_at_rest()));
        let disc = member.disc();
        // Two of the largest see each other from as far as two of one cell do.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cells")]
        let wider = (2.0 * disc.radius) as u16;
        self.sight = self.sight.max(SIGHT + wider);
        let cell = Cell::containing(disc.position).filter(|cell| cell.y < self.row_count);
        let (place, number) = (count_u32(self.added.len()), member.entity.to_bits());
        self.keys.push((cell.unwrap_or(OUTSIDE), part(disc.position), number, place));
        self.added.push(member);
    }

    /// Puts all that were added in order.
    pub(crate) fn sort(&mut self) {
        self.taken_goals.sort_unstable();
        self.keys.sort_unstable();
        self.members.clear();
        self.members.extend(self.keys.iter().map(|&(.., place)| self.added[place as usize]));
        self.cells.clear();
        self.cells.extend(self.keys.iter().map(|&(cell, ..)| cell));
        let middles = || self.members.iter().map(|member| member.disc().position);
        self.xs.clear();
        self.xs.extend(middles().map(|middle| middle.x).chain([f32::INFINITY; 3]));
        self.ys.clear();
        self.ys.extend(middles().map(|middle| middle.y).chain([f32::INFINITY; 3]));
        self.starts.clear();
        for (place, (cell, member)) in (0..).zip(self.cells.iter().zip(&self.members)) {
            // Rows without members begin where the next one does.
            let row = usize::from(cell.y.min(self.row_count));
            while self.starts.len() <= row {
                self.starts.push(place);
            }
            if !member.is_obstacle {
                let index = member.entity.index() as usize;
                self.places.resize(self.places.len().max(index + 1), 0);
                self.places[index] = place;
            }
        }
        self.starts.resize(usize::from(self.row_count) + 1, count_u32(self.members.len()));
        self.ends.clear();
        for cell in self.cells.chunk_by(Cell::eq) {
            self.ends.resize(self.ends.len() + cell.len(), count_u32(self.ends.len() + cell.len()));
        }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The place among the members of an entity that was added as no obstacle.
    pub(crate) fn place(&self, entity: Entity) -> usize {
        self.places[entity.index() as usize] as usize
    }

    /// How many rest whose goal is in the same cell.
    pub(crate) fn count_at_rest(&self, goal: Vec2) -> usize {
        let Some(goal) = Cell::containing(goal) else { return 0 };
        let goals = &self.taken_goals;
        goals.partition_point(|&other| other <= goal) - goals.partition_point(|&other| other < goal)
    }

    /// The members of the cell of a member; `at` is where those of a cell before it begin.
    fn cell_of(&self, place: usize, mut at: usize) -> Range<usize> {
        while self.ends[at] as usize <= place {
            at = self.ends[at] as usize;
        }
        at..self.ends[at] as usize
    }

    /// The members of a row.
    fn row(&self, row: u16) -> Range<usize> {
        let start = |row: usize| self.starts[row] as usize;
        start(usize::from(row))..start(usize::from(row) + 1)
    }
}

/// The members in sight of one row.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    row: u16,
    members: Range<usize>,
    /// Where those of the row end.
    end: usize,
}

/// Looks around from one member after the other, in their order: the windows move on with it.
#[derive(Debug)]
pub(crate) struct Lookout<'a> {
    crowd: &'a Crowd,
    /// The cell that the windows are around.
    cell: Cell,
    /// The own row, those beside it, and so on.
    windows: &'a mut Vec<Window>,
}

impl<'a> Lookout<'a> {
    /// One that uses the memory of `windows`.
    pub(crate) fn new(crowd: &'a Crowd, windows: &'a mut Vec<Window>) -> Self {
        windows.clear();
        Self { crowd, cell: OUTSIDE, windows }
    }

    /// The nearest others around a member, at most [`NEIGHBOUR_COUNT_MAX`], nearest first, of
    /// equals by their order.
    ///
    /// In a press those are the nearest of the ones that are looked at: in each cell
    /// [`LOOKED_AT_MAX`], those whose place in it is most like the place of the member in its own.
    pub(crate) fn neighbours(&mut self, place: usize) -> impl Iterator<Item = &'a Member> {
        let crowd = self.crowd;
        if self.cell != crowd.cells[place] {
            self.move_to(crowd.cells[place]);
        }
        let position = Vec2::new(crowd.xs[place], crowd.ys[place]);
        let out_of_sight = key(f32::from(crowd.sight * crowd.sight), 0);
        let entries = [out_of_sight; NEIGHBOUR_COUNT_MAX];
        let mut found = Nearest { crowd, position, place, entries };
        let mut own_cell = place..place + 1;
        let mut rank = 0.0;
        for Window { row, members, .. } in &*self.windows {
            let gap_y = gap(position.y, *row);
            if gap_y * gap_y >= found.reach() {
                continue;
            }
            if members.len() <= LOOKED_AT_MAX {
                found.look_at(members.clone());
                continue;
            }
            // The own cell first, for then what is behind the nearest ones needs no look.
            if *row == self.cell.y {
                own_cell = crowd.cell_of(place, members.start);
                if own_cell.len() > LOOKED_AT_MAX {
                    rank = (place - own_cell.start) as f32 / own_cell.len() as f32;
                }
                found.look_at_cell(own_cell.clone(), rank);
            }
            let mut at = members.start;
            while at < members.end {
                let cell = at..crowd.ends[at] as usize;
                let gap_x = gap(position.x, crowd.cells[at].x);
                if gap_x * gap_x + gap_y * gap_y < found.reach() && cell != own_cell {
                    found.look_at_cell(cell.clone(), rank);
                }
                at = cell.end;
            }
        }
        let near = found.entries.into_iter().take_while(move |&entry| entry < out_of_sight);
        near.map(|entry| &crowd.members[place_of(entry)])
    }

    /// Moves the windows on to a cell.
    fn move_to(&mut self, cell: Cell) {
        let crowd = self.crowd;
        let (first, last) =
            (cell.x.saturating_sub(crowd.sight), cell.x.saturating_add(crowd.sight));
        if cell.y != self.cell.y {
            self.windows.clear();
            let beside = (1..=crowd.sight)
                .flat_map(|distance| [cell.y.checked_add(distance), cell.y.checked_sub(distance)]);
            let rows = once(cell.y).chain(beside.flatten()).filter(|&row| row < crowd.row_count);
            self.windows.extend(rows.map(|row| {
                let Range { start, end } = crowd.row(row);
                let start = start + crowd.cells[start..end].partition_point(|cell| cell.x < first);
                Window { row, members: start..start, end }
            }));
        }
        for Window { members, end, .. } in &mut *self.windows {
            let count = |start, is_passed: &dyn Fn(u16) -> bool| {
                crowd.cells[start..*end].iter().take_while(|cell| is_passed(cell.x)).count()
            };
            members.start += count(members.start, &|x| x < first);
            members.end = members.end.max(members.start);
            members.end += count(members.end, &|x| x <= last);
        }
        self.cell = cell;
    }
}

/// How far a coordinate is from a row or column of cells.
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

/// The nearest of the members that were looked at around one.
struct Nearest<'a> {
    crowd: &'a Crowd,
    position: Vec2,
    place: usize,
    /// By their [`key`], in order. Behind the last are those of what is out of sight.
    entries: [f64; NEIGHBOUR_COUNT_MAX],
}

/// A distance squared, and a place, which is of less weight. Floats from zero on are in the order
/// of their bits, and the least and greatest of two are an instruction each.
fn key(distance: f32, place: usize) -> f64 {
    f64::from_bits(u64::from(distance.to_bits()) << 32 | u64::from(count_u32(place)))
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
const fn place_of(key: f64) -> usize {
    key.to_bits() as u32 as usize
}

impl Nearest<'_> {
    /// The square of the distance from which on others do not count.
    const fn reach(&self) -> f32 {
        f32::from_bits((self.entries[NEIGHBOUR_COUNT_MAX - 1].to_bits() >> 32) as u32)
    }

    /// Looks at the members of a cell, or in a press at some of them.
    fn look_at_cell(&mut self, cell: Range<usize>, rank: f32) {
        let spare = cell.len().saturating_sub(LOOKED_AT_MAX);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let middle = (rank * cell.len() as f32) as usize;
        let first = cell.start + middle.saturating_sub(LOOKED_AT_MAX / 2).min(spare);
        self.look_at(first..cell.end.min(first + LOOKED_AT_MAX));
    }

    /// Looks at all of these but the one in the middle.
    fn look_at(&mut self, places: Range<usize>) {
        for first in places.clone().step_by(4) {
            let x = Vec4::from_slice(&self.crowd.xs[first..]) - self.position.x;
            let y = Vec4::from_slice(&self.crowd.ys[first..]) - self.position.y;
            let squares = x * x + y * y;
            // A bit for each that counts, without the one in the middle and what is behind the last.
            let mut near = squares.cmple(Vec4::splat(self.reach())).bitmask();
            near &= (1 << (places.end - first).min(4)) - 1;
            if (first..first + 4).contains(&self.place) {
                near &= !(1 << (self.place - first));
            }
            while near != 0 {
                let lane = near.trailing_zeros() as usize;
                self.insert(key(squares[lane], first + lane));
                near &= near - 1;
            }
        }
    }

    /// Puts an entry where it belongs, and drops the last. Without branches: which are before it
    /// cannot be foreseen.
    fn insert(&mut self, entry: f64) {
        let before = self.entries;
        let least = |a: f64, b: f64| if a < b { a } else { b };
        let greatest = |a: f64, b: f64| if a > b { a } else { b };
        for at in 1..NEIGHBOUR_COUNT_MAX {
            self.entries[at] = greatest(least(before[at], entry), before[at - 1]);
        }
        self.entries[0] = least(before[0], entry);
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 agents")
}
