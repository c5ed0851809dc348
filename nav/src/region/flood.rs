//! Floods in lock-step: does a region still hang together, for the price of the
//! smaller side?
//!
//! One flood starts on each side of a filled cell, and they take turns of a
//! few pieces. Floods that meet are of one part. A part whose floods have nowhere to
//! go is complete, and once all but one part are, the last needs no more work:
//! the cost is that of the smaller sides. The idea is that of decremental
//! connectivity by Even and Shiloach (1981); here every region stays exact under
//! digging as well.

use crate::region::pieces::Pieces;

/// A neighbourhood falls into four parts at most: one per side, or per corner.
const PART_COUNT_MAX: usize = 4;

/// The most pieces that a flood takes in a turn. Turns begin at one piece, for most
/// cut-off parts are tiny, and get longer, for changing over costs as well.
const TURN_PIECES_MAX: usize = 16;

/// The memory of floods, used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flood {
    /// Per piece, `stamp + i` if flood `i` of the current run was there.
    marks: Vec<u32>,
    /// A multiple of [`PART_COUNT_MAX`], greater than every older mark.
    stamp: u32,
    fronts: [Front; PART_COUNT_MAX],
    front_count: usize,
}

/// One flood: the pieces it has reached, those before `head` explored.
#[derive(Clone, Debug, Default)]
struct Front {
    pieces: Vec<u32>,
    head: usize,
    /// The lowest flood that this one is known to be of one part with.
    part: usize,
}

impl Flood {
    /// Floods from some pieces until it is known which of them hang together.
    ///
    /// True if there is more than one part; [`Flood::cut_off`] then tells them.
    pub(crate) fn run(&mut self, pieces: &Pieces, seeds: impl Iterator<Item = u32>) -> bool {
        self.start(pieces, seeds);
        let mut turn_pieces = 0;
        while !self.is_settled() {
            turn_pieces = (turn_pieces + 1).min(TURN_PIECES_MAX);
            for i in 0..self.front_count {
                if self.turn(pieces, i, turn_pieces) {
                    return self.parts().count() > 1;
                }
            }
        }
        self.parts().count() > 1
    }

    /// Lets one flood take so many pieces. True if the question is settled.
    fn turn(&mut self, pieces: &Pieces, i: usize, piece_count: usize) -> bool {
        for _ in 0..piece_count {
            let Some(&piece) = self.fronts[i].pieces.get(self.fronts[i].head) else { return false };
            self.fronts[i].head += 1;
            let mut met = false;
            for next in pieces.touched(piece) {
                met |= self.reach(i, next);
            }
            let is_exhausted = self.fronts[i].head == self.fronts[i].pieces.len();
            if (met || is_exhausted) && self.is_settled() {
                return true;
            }
        }
        false
    }

    /// The completed parts, all but the one that keeps its region, in a
    /// deterministic order: each as the lists of its floods.
    pub(crate) fn cut_off(
        &self,
        pieces: &Pieces,
    ) -> impl Iterator<Item = impl Iterator<Item = &[u32]>> {
        let kept = self.kept_part(pieces);
        self.parts().filter(move |&part| part != kept).map(|part| {
            let fronts = self.fronts[..self.front_count].iter();
            fronts.filter(move |front| front.part == part).map(|front| &front.pieces[..])
        })
    }

    fn start(&mut self, pieces: &Pieces, seeds: impl Iterator<Item = u32>) {
        self.advance_stamp();
        if self.marks.len() < pieces.number_end() {
            self.marks.resize(pieces.number_end(), 0);
        }
        self.front_count = 0;
        for seed in seeds {
            let i = self.front_count;
            let mark = &mut self.marks[seed as usize];
            // Several seeds can be of one piece.
            if *mark < self.stamp {
                *mark = self.stamp + index_u32(i);
                let front = &mut self.fronts[i];
                front.pieces.clear();
                front.pieces.push(seed);
                (front.head, front.part) = (0, i);
                self.front_count += 1;
            }
        }
    }

    fn advance_stamp(&mut self) {
        let step = index_u32(PART_COUNT_MAX);
        // The marks of a stamp must not overflow either.
        self.stamp = match self.stamp.checked_add(2 * step) {
            Some(end) => end - step,
            None => {
                self.marks.fill(0);
                step
            }
        };
    }

    /// Takes a piece into flood `i`. True if it met another flood that was not known to be of
    /// the same part.
    #[inline]
    fn reach(&mut self, i: usize, next: u32) -> bool {
        let mark = &mut self.marks[next as usize];
        if *mark < self.stamp {
            *mark = self.stamp + index_u32(i);
            self.fronts[i].pieces.push(next);
            return false;
        }
        let other = (*mark - self.stamp) as usize;
        other != i && self.join(i, other)
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.fronts[a].part, self.fronts[b].part);
        for front in &mut self.fronts[..self.front_count] {
            if front.part == a.max(b) {
                front.part = a.min(b);
            }
        }
        a != b
    }

    /// Whether at most one part is incomplete.
    fn is_settled(&self) -> bool {
        self.parts().count() == 1 || self.parts().filter(|&p| !self.is_complete(p)).count() <= 1
    }

    fn is_complete(&self, part: usize) -> bool {
        let mut fronts = self.fronts[..self.front_count].iter();
        fronts.all(|front| front.part != part || front.head == front.pieces.len())
    }

    /// The part that has not been flooded to its end, or else the one of the most cells, of
    /// equals the first.
    fn kept_part(&self, pieces: &Pieces) -> usize {
        let size = |part| {
            let fronts = self.fronts[..self.front_count].iter();
            let all = fronts.filter(|front| front.part == part).flat_map(|front| &front.pieces);
            all.map(|&piece| pieces.cell_count(piece)).sum()
        };
        let rank = |part: usize| {
            let size: u32 = if self.is_complete(part) { size(part) } else { u32::MAX };
            (size, std::cmp::Reverse(part))
        };
        self.parts().max_by_key(|&part| rank(part)).unwrap_or(0)
    }

    /// The parts that are known to be, each by its lowest flood.
    fn parts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.front_count).filter(|&i| self.fronts[i].part == i)
    }
}

/// An index of floods, of which there are four, as part of a mark.
#[expect(clippy::cast_possible_truncation, reason = "at most PART_COUNT_MAX")]
const fn index_u32(i: usize) -> u32 {
    i as u32
}
