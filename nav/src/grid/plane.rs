//! Bit planes: one bit per cell inside a frame of zeros.

use crate::cell::Cell;

/// A bit per cell, row by row, each row starting on a word of its own.
///
/// ```text
///            column -1   0   1   2  ...  width-1   width   (rest of the words)
///  row -1          0     0   0   0         0         0      0 0 0 ...
///  row  0          0     b   b   b         b         0      0 0 0 ...
///  ...
///  row height      0     0   0   0         0         0      0 0 0 ...   + 1 word
/// ```
///
/// With the frame of zeros a neighbour can be read without a test whether it exists, and a scan along a
/// row always ends. All rows have a column at the same bit of a word, so neighbouring rows can be
/// combined word by word. With the extra word at the end [`BitPlane::ring`] can always read two words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BitPlane {
    words: Vec<u64>,
    row_words: usize,
}

impl BitPlane {
    /// Creates a plane of zeros.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let row_words = (usize::from(width) + 2).div_ceil(64);
        let words = vec![0; row_words * (usize::from(height) + 2) + 1];
        Self { words, row_words }
    }

    /// All rows with their frames.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bit of a cell inside the frame.
    pub(crate) fn get(&self, cell: Cell) -> bool {
        let (word, mask) = self.locate(cell);
        self.words[word] & mask != 0
    }

    pub(crate) fn set(&mut self, cell: Cell, value: bool) {
        let (word, mask) = self.locate(cell);
        if value {
            self.words[word] |= mask;
        } else {
            self.words[word] &= !mask;
        }
    }

    /// The bits of the eight cells around a cell inside the frame, as a set of
    /// directions: bit `d` belongs to the direction with discriminant `d`.
    #[inline]
    pub(crate) fn ring(&self, cell: Cell) -> u8 {
        // Column x - 1 is at bit x of its row, so three bits from there on are the neighbour to the west,
        // the cell, and the neighbour to the east.
        let word = usize::from(cell.y) * self.row_words + usize::from(cell.x >> 6);
        let shift = u32::from(cell.x & 63);
        let north = self.three_bits(word, shift);
        let middle = self.three_bits(word + self.row_words, shift);
        let south = self.three_bits(word + 2 * self.row_words, shift);
        north | (middle & 1) << 3 | (middle >> 2) << 4 | south << 5
    }

    /// The bits of 32 cells of a row, from a column on that is a multiple of 32.
    pub(crate) fn row(&self, x: u16, y: u16) -> u32 {
        let (word, mask) = self.locate(Cell { x, y });
        let shift = mask.trailing_zeros();
        // The cells of a shift of 33 may end in the next word, which begins with the frame
        // where it is of the next row.
        let bits = self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift);
        low_half(bits)
    }

    #[inline]
    fn three_bits(&self, word: usize, shift: u32) -> u8 {
        // Shifting the upper word in two steps keeps a shift of 64 apart.
        let bits = self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift);
        (bits & 0b111).to_le_bytes()[0]
    }

    fn locate(&self, cell: Cell) -> (usize, u64) {
        let column = usize::from(cell.x) + 1;
        let row = usize::from(cell.y) + 1;
        (row * self.row_words + column / 64, 1 << (column % 64))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
const fn low_half(bits: u64) -> u32 {
    bits as u32
}
