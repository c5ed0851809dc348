//! The targets of navigation: loaders, edits, and searches, each against an oracle of its own.

pub(crate) mod edits;
pub(crate) mod load;
pub(crate) mod paths;

use ::formic_nav::{Cell, Grid, MoveRule};

/// Bytes that are read one by one; zeros for ever behind the end.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first
    }

    /// A number from zero to `side - 1`.
    fn below(&mut self, side: u16) -> u16 {
        u16::from(self.byte()) % side
    }

    pub(crate) fn rule(&mut self) -> MoveRule {
        MoveRule::ALL[usize::from(self.byte() % 4)]
    }

    /// A cell of a grid, or once in a while one just outside of it.
    pub(crate) fn cell(&mut self, grid: &Grid) -> Cell {
        Cell::new(self.below(grid.width() + 1), self.below(grid.height() + 1))
    }

    /// A small grid: a byte for each side, one for what most of it is, and then a bit for each
    /// cell that differs.
    pub(crate) fn grid(&mut self) -> Grid {
        // Wide enough for three words of bits.
        let (width, height) = (1 + u32::from(self.byte() % 140), 1 + u32::from(self.byte() % 24));
        let is_mostly_open = self.byte() % 2 == 0;
        let mut bits = 0;
        let mut left = 0;
        Grid::from_fn(width, height, |_| {
            if left == 0 {
                (bits, left) = (self.byte(), 8);
            }
            let is_other = bits & 1 != 0;
            bits >>= 1;
            left -= 1;
            is_other != is_mostly_open
        })
        .expect("the size is a small one")
    }
}
