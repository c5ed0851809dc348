//! The bodies of a tick, sorted by cell, and who is near whom.

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
}

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
    /// As they were added.
    added: Vec<Member>,
    /// Cell, part and number, and the place among the added ones: less to move about than
    /// members.
    keys: Vec<(Cell, u8, u64, u32)>,
    /// Where the members of each row begin.
    starts: Vec<u32>,
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
    }

    /// How many rest whose goal is in the same cell.
    pub(crate) fn count_at_rest(&self, goal: Vec2) -> usize {
        let Some(goal) = Cell::containing(goal) else { return 0 };
        let goals = &self.taken_goals;
        goals.partition_point(|&other| other <= goal) - goals.partition_point(|&other| other < goal)
    }

    /// The nearest members around a position, at most [`NEIGHBOUR_COUNT_MAX`], nearest
    /// first, of equals by number; without the one with this `number`.
    ///
    /// In a press those are the nearest of the ones that are looked at: in each cell
    /// [`LOOKED_AT_MAX`], those whose place in it is most like the place of the body in its own.
    pub(crate) fn neighbours(&self, position: Vec2, number: u64) -> Neighbours<'_> {
        let mut found =
            Neighbours { crowd: self, nearest: [(0.0, 0); NEIGHBOUR_COUNT_MAX], count: 0 };
        let Some(cell) = Cell::containing(position).filter(|cell| cell.y < self.row_count) else {
            return found;
        };
        let seeker = Seeker { position, number, rank: self.rank(cell, position, number) };
        // The own row first, for then the rows behind the nearest ones need no look.
        for distance in 0..=self.sight {
            let rows = [cell.y.checked_add(distance), cell.y.checked_sub(distance)];
            let rows = if distance == 0 { &rows[..1] } else { &rows[..] };
            for &row in rows.iter().flatten().filter(|&&row| row < self.row_count) {
                self.look_at_row(row, &seeker, &mut found);
            }
        }
        found
    }

    /// Where a body is among those of its cell, as a part of them.
    fn rank(&self, cell: Cell, position: Vec2, number: u64) -> f32 {
        let row = self.row(cell.y);
        let first = row.start + self.cells[row.clone()].partition_point(|other| other.x < cell.x);
        let end = row.start + self.cells[row].partition_point(|other| other.x <= cell.x);
        if end - first <= LOOKED_AT_MAX {
            return 0.0;
        }
        let key = (part(position), number);
        let before =
            self.keys[first..end].partition_point(|&(_, part, other, _)| (part, other) < key);
        before as f32 / (end - first) as f32
    }

    fn row(&self, row: u16) -> std::ops::Range<usize> {
        let start = |row: usize| self.starts[row] as usize;
        start(usize::from(row))..start(usize::from(row) + 1)
    }

    fn look_at_row(&self, row: u16, seeker: &Seeker, found: &mut Neighbours<'_>) {
        let gap = gap(seeker.position.y, row);
        let members = self.row(row);
        if members.is_empty() || gap * gap >= found.reach() {
            return;
        }
        let reach = (found.reach() - gap * gap).sqrt();
        let low = seeker.position.x - reach;
        let mut at = members.start
            + self.cells[members.clone()].partition_point(|cell| f32::from(cell.x) + 1.0 < low);
        while at < members.end {
            let column = self.cells[at].x;
            if f32::from(column) > seeker.position.x + reach {
                return;
            }
            let rest = &self.cells[at..members.end];
            let is_press = rest.get(LOOKED_AT_MAX).is_some_and(|cell| cell.x == column);
            if !is_press {
                // Run by run of members that are near: most cells have one.
                let count = rest.iter().take_while(|cell| cell.x == column).count();
                found.look_at(at..at + count, seeker);
                at += count;
                continue;
            }
            let count = rest.partition_point(|cell| cell.x == column);
            let spare = count - LOOKED_AT_MAX;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
            let middle = (seeker.rank * count as f32) as usize;
            let first = at + middle.saturating_sub(LOOKED_AT_MAX / 2).min(spare);
            found.look_at(first..first + LOOKED_AT_MAX, seeker);
            at += count;
        }
    }
}

/// Who looks around.
struct Seeker {
    position: Vec2,
    number: u64,
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
    /// Distance squared and place, in order.
    nearest: [(f32, usize); NEIGHBOUR_COUNT_MAX],
    count: usize,
}

impl<'a> Neighbours<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Member> + '_ {
        self.nearest[..self.count].iter().map(|&(_, place)| &self.crowd.members[place])
    }

    /// The square of the distance from which on others do not count.
    fn reach(&self) -> f32 {
        let sight = f32::from(self.crowd.sight * self.crowd.sight);
        if self.count < NEIGHBOUR_COUNT_MAX { sight } else { self.nearest[self.count - 1].0 }
    }

    fn look_at(&mut self, places: std::ops::Range<usize>, seeker: &Seeker) {
        let sight = f32::from(self.crowd.sight * self.crowd.sight);
        for place in places {
            let member = &self.crowd.members[place];
            let distance = member.disc.position.distance_squared(seeker.position);
            if distance < sight && member.number != seeker.number {
                self.insert(distance, place);
            }
        }
    }

    fn insert(&mut self, distance: f32, place: usize) {
        let number = |place: usize| self.crowd.members[place].number;
        let before = |&&(other, at): &&(f32, usize)| {
            other < distance || (other == distance && number(at) < number(place))
        };
        if self.count == NEIGHBOUR_COUNT_MAX && before(&&self.nearest[self.count - 1]) {
            return;
        }
        let at = self.nearest[..self.count].iter().take_while(before).count();
        self.count = (self.count + 1).min(NEIGHBOUR_COUNT_MAX);
        self.nearest[at..self.count].rotate_right(1);
        self.nearest[at] = (distance, place);
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 agents")
}
