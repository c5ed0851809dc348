//! Who is near: all bodies of a tick, sorted into squares.

use glam::Vec2;

use crate::avoid::reciprocal::Disc;
use crate::cell::Cell;

/// The side of a square, in cells; others are seen as far as that.
pub(crate) const SIGHT: u16 = 3;
/// The most neighbours that count, the nearest ones.
pub(crate) const NEIGHBOUR_COUNT_MAX: usize = 10;

/// A body at the beginning of the tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Member {
    /// The bits of its entity, by which equals are told apart.
    pub(crate) number: u64,
    pub(crate) disc: Disc,
    /// Where it goes, or came to last.
    pub(crate) goal: Vec2,
    pub(crate) is_at_rest: bool,
    /// Whether it has got no nearer to its goal for a while.
    pub(crate) is_blocked: bool,
    pub(crate) is_squeezing: bool,
}

/// All bodies, in an order that depends on where they are and who they are alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    members: Vec<Member>,
    /// As they were added.
    added: Vec<Member>,
    /// Square, number and place among the added ones: less to move about than members.
    keys: Vec<(u32, u64, u32)>,
    /// Where the members of each square begin.
    starts: Vec<u32>,
    columns: u32,
    rows: u32,
    /// The goals of all that are at rest, in order.
    taken_goals: Vec<Cell>,
}

impl Crowd {
    /// Forgets all, for a map of so many cells.
    pub(crate) fn begin(&mut self, width: u16, height: u16) {
        self.columns = u32::from(width.div_ceil(SIGHT));
        self.rows = u32::from(height.div_ceil(SIGHT));
        self.added.clear();
        self.keys.clear();
        self.taken_goals.clear();
    }

    /// Adds a body, unless it is outside of the map.
    pub(crate) fn add(&mut self, member: Member) {
        self.taken_goals.extend(Cell::containing(member.goal).filter(|_| member.is_at_rest));
        if let Some(square) = self.square(member.disc.position) {
            let place = count_u32(self.added.len());
            self.keys.push((square, member.number, place));
            self.added.push(member);
        }
    }

    /// Puts all that were added in order.
    pub(crate) fn sort(&mut self) {
        self.taken_goals.sort_unstable();
        self.keys.sort_unstable();
        self.members.clear();
        self.members.extend(self.keys.iter().map(|&(.., place)| self.added[place as usize]));
        self.starts.clear();
        for (place, &(square, ..)) in (0..).zip(&self.keys) {
            // Squares without members begin where the next one does.
            while self.starts.len() <= square as usize {
                self.starts.push(place);
            }
        }
        let count = count_u32(self.members.len());
        self.starts.resize((self.columns * self.rows) as usize + 1, count);
    }

    /// How many rest whose goal is in the same cell.
    pub(crate) fn count_at_rest(&self, goal: Vec2) -> usize {
        let Some(goal) = Cell::containing(goal) else { return 0 };
        let goals = &self.taken_goals;
        goals.partition_point(|&other| other <= goal) - goals.partition_point(|&other| other < goal)
    }

    /// The nearest members around a position, at most [`NEIGHBOUR_COUNT_MAX`], nearest
    /// first, of equals by number; without the one with this `number`.
    pub(crate) fn neighbours(&self, position: Vec2, number: u64) -> Neighbours<'_> {
        let mut found =
            Neighbours { crowd: self, nearest: [(0.0, 0); NEIGHBOUR_COUNT_MAX], count: 0 };
        let Some(square) = self.square(position) else { return found };
        let (column, row) = (square % self.columns, square / self.columns);
        let columns = column.saturating_sub(1)..(column + 2).min(self.columns);
        for row in row.saturating_sub(1)..(row + 2).min(self.rows) {
            // Squares side by side are one run of members.
            let [first, last] = [columns.start, columns.end]
                .map(|column| self.starts[(row * self.columns + column) as usize] as usize);
            for (place, member) in (first..last).zip(&self.members[first..last]) {
                let distance = member.disc.position.distance_squared(position);
                if distance < f32::from(SIGHT * SIGHT) && member.number != number {
                    found.insert(distance, place);
                }
            }
        }
        found
    }

    fn square(&self, position: Vec2) -> Option<u32> {
        let cell = Cell::containing(position)?;
        let (column, row) = (u32::from(cell.x / SIGHT), u32::from(cell.y / SIGHT));
        (column < self.columns && row < self.rows).then_some(row * self.columns + column)
    }
}

/// The members around somebody.
pub(crate) struct Neighbours<'a> {
    crowd: &'a Crowd,
    /// Distance squared and place, in order.
    nearest: [(f32, usize); NEIGHBOUR_COUNT_MAX],
    count: usize,
}

impl<'a> Neighbours<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Member> + '_ {
        self.nearest[..self.count].iter().map(|&(_, place)| &self.crowd.members[place])
    }

    fn insert(&mut self, distance: f32, place: usize) {
        let number = |place: usize| self.crowd.members[place].number;
        let before = |&&(other, at): &&(f32, usize)| {
            other < distance || (other == distance && number(at) < number(place))
        };
        let at = self.nearest[..self.count].iter().take_while(before).count();
        if at == NEIGHBOUR_COUNT_MAX {
            return;
        }
        self.count = (self.count + 1).min(NEIGHBOUR_COUNT_MAX);
        self.nearest[at..self.count].rotate_right(1);
        self.nearest[at] = (distance, place);
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 agents")
}
