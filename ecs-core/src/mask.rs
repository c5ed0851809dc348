//! A set of rows of one chunk, with a bit per row: the rows that a query visits.

use core::ops::Range;

use crate::sync::{AtomicU64, Ordering};

/// The maximum number of rows of a chunk: as many as fit in a 16 KiB block of entities alone.
pub(crate) const ROWS_MAX: usize = 2048;
const WORDS: usize = ROWS_MAX / 64;

/// The rows of one chunk that a query visits, determined when the chunk is entered.
///
/// It is a copy by design: the effect of a bit that is flipped while the chunk is visited is seen by the
/// next pass, not in the middle of this one.
#[derive(Clone, Debug)]
pub struct RowMask {
    words: [u64; WORDS],
    len: usize,
}

impl RowMask {
    /// Creates a mask of `len` rows, all of them set.
    pub(crate) fn full(len: usize) -> Self {
        debug_assert!(len <= ROWS_MAX);
        let mut words = [0; WORDS];
        words[..len / 64].fill(u64::MAX);
        if len % 64 != 0 {
            words[len / 64] = (1 << (len % 64)) - 1;
        }
        Self { words, len }
    }

    /// Creates a mask of the rows of another one within a range, which begins at a word border.
    pub(crate) fn from_words(from: &[u64], within: &Range<usize>) -> Self {
        debug_assert!(within.end <= ROWS_MAX && within.start % 64 == 0);
        let mut words = [0; WORDS];
        let used = within.start / 64..within.end.div_ceil(64);
        words[used.clone()].copy_from_slice(&from[used]);
        Self { words, len: within.end }
    }

    /// Returns the words that have rows.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.len.div_ceil(64)]
    }

    /// Keeps the rows whose bit is set in the words that `word` returns, each for 64 rows. Returns
    /// whether any row is left, and whether all of them are.
    #[inline]
    fn keep_words(&mut self, mut word: impl FnMut(usize) -> u64) -> (bool, bool) {
        let used = self.len.div_ceil(64);
        let (mut left, mut gone) = (0, 0);
        for (index, mine) in self.words[..used].iter_mut().enumerate() {
            let kept = *mine & word(index);
            left |= kept;
            gone |= *mine ^ kept;
            *mine = kept;
        }
        (left != 0, gone == 0)
    }

    /// Returns the number of rows that are left.
    pub(crate) fn count(&self) -> usize {
        self.words[..self.len.div_ceil(64)].iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether this row is left.
    pub(crate) fn contains(&self, row: usize) -> bool {
        row < self.len && self.words[row / 64] & (1 << (row % 64)) != 0
    }

    /// Returns the first run of rows that are left, at or after `from`.
    pub(crate) fn next_run(&self, from: usize) -> Option<Range<usize>> {
        let start = self.find(from, false)?;
        let end = self.find(start, true).unwrap_or(self.len);
        Some(start..end)
    }

    /// Calls `visit` with every row that is left, in order.
    #[inline]
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (index, &word) in self.words[..self.len.div_ceil(64)].iter().enumerate() {
            // Bit by bit: with short runs, the search for their ends costs more than it saves.
            let mut rest = word;
            while rest != 0 {
                visit(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// Returns the first row at or after `from` whose bit is one, or zero if `inverted`.
    fn find(&self, from: usize, inverted: bool) -> Option<usize> {
        let mut word_index = from / 64;
        let used = self.len.div_ceil(64);
        let mut keep = u64::MAX << (from % 64);
        while word_index < used {
            let word = if inverted { !self.words[word_index] } else { self.words[word_index] };
            let found = word & keep;
            if found != 0 {
                let row = word_index * 64 + found.trailing_zeros() as usize;
                return (row < self.len).then_some(row);
            }
            keep = u64::MAX;
            word_index += 1;
        }
        None
    }
}

/// The rows of a chunk to visit. The two simple cases need no mask.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for as long as a chunk is visited"
)]
pub enum Rows {
    /// No row: the chunk is skipped without an access to its block.
    None,
    /// Every row, in a dense loop.
    All,
    /// These rows.
    Some(RowMask),
}

impl Rows {
    /// Narrows to the rows whose bit in `words` is one.
    #[inline]
    pub(crate) fn keep(&mut self, words: &[AtomicU64], len: usize) {
        // Relaxed: a bit publishes no data, see `storage::bits`.
        self.keep_words(len, |index| words[index].load(Ordering::Relaxed));
    }

    /// Narrows to the rows whose bit in `words` is zero.
    #[inline]
    pub(crate) fn drop_set(&mut self, words: &[AtomicU64], len: usize) {
        self.keep_words(len, |index| !words[index].load(Ordering::Relaxed));
    }

    /// Narrows to the rows whose bit is one in the words that `word` returns, each for 64 rows.
    #[inline]
    pub(crate) fn keep_words(&mut self, len: usize, word: impl FnMut(usize) -> u64) {
        let any = match self {
            Self::None => return,
            Self::All => {
                // Written in place, because it is large.
                *self = Self::Some(RowMask::full(len));
                let Self::Some(mask) = self else { return };
                let (any, all) = mask.keep_words(word);
                if all {
                    *self = Self::All;
                    return;
                }
                any
            }
            Self::Some(mask) => mask.keep_words(word).0,
        };
        if !any {
            *self = Self::None;
        }
    }

    /// Narrows to the rows that are also in `other`.
    pub(crate) fn intersect(&mut self, other: Self, len: usize) {
        match (&mut *self, other) {
            (Self::None, _) | (_, Self::All) => {}
            (Self::All, other) => *self = other,
            (_, Self::None) => *self = Self::None,
            (Self::Some(_), Self::Some(theirs)) => {
                self.keep_words(len, |index| theirs.words[index]);
            }
        }
    }

    /// Adds the rows of `other`.
    pub(crate) fn unite(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) | (_, Self::None) => {}
            (Self::None, other) => *self = other,
            (_, Self::All) => *self = Self::All,
            (Self::Some(mine), Self::Some(theirs)) => {
                for (mine, theirs) in mine.words.iter_mut().zip(theirs.words) {
                    *mine |= theirs;
                }
            }
        }
    }

    /// Returns the rows, of `len`, that are not in this set.
    pub(crate) fn inverted(self, len: usize) -> Self {
        match self {
            Self::None => Self::All,
            Self::All => Self::None,
            Self::Some(mask) => {
                let mut rows = Self::All;
                rows.keep_words(len, |index| !mask.words[index]);
                rows
            }
        }
    }

    /// Returns whether this row is visited.
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(mask) => mask.contains(row),
        }
    }

    /// Returns the number of rows that are visited, of a chunk with `len` rows.
    pub(crate) fn count(&self, len: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => len,
            Self::Some(mask) => mask.count(),
        }
    }

    /// Returns the first run of visited rows at or after `from`, of a chunk with `len` rows.
    pub(crate) fn next_run(&self, from: usize, len: usize) -> Option<Range<usize>> {
        match self {
            Self::None => None,
            Self::All => (from < len).then_some(from..len),
            Self::Some(mask) => mask.next_run(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn runs(mask: &RowMask) -> Vec<Range<usize>> {
        let mut from = 0;
        let mut found = Vec::new();
        while let Some(run) = mask.next_run(from) {
            from = run.end;
            found.push(run);
        }
        found
    }

    #[test]
    fn a_full_mask_is_one_run_at_every_word_border() {
        for len in [1, 63, 64, 65, 127, 128, 129, ROWS_MAX - 1, ROWS_MAX] {
            let mask = RowMask::full(len);
            assert_eq!(runs(&mask), core::slice::from_ref(&(0..len)), "length {len}");
            assert_eq!(mask.count(), len);
        }
        assert!(runs(&RowMask::full(0)).is_empty());
    }

    #[test]
    fn runs_cross_word_borders_and_stop_at_zeros() {
        let bits = [AtomicU64::new(0xF000_0000_0000_0001), AtomicU64::new(0b1011)];
        let narrowed = |narrow: fn(&mut Rows, &[AtomicU64])| {
            let mut rows = Rows::All;
            narrow(&mut rows, &bits);
            let Rows::Some(mask) = rows else { panic!("some rows are left") };
            mask
        };
        let mask = narrowed(|rows, bits| rows.keep(bits, 128));
        assert_eq!(runs(&mask), [0..1, 60..66, 67..68]);
        assert_eq!(mask.count(), 8);

        let inverse = narrowed(|rows, bits| rows.drop_set(bits, 128));
        assert_eq!(runs(&inverse), [1..60, 66..67, 68..128]);
    }

    #[test]
    fn sets_of_rows_are_united_intersected_and_inverted() {
        const LEN: usize = 130;
        let some = |wanted: fn(usize) -> bool| {
            let mut rows = Rows::All;
            let bit = |index: usize, bit| index * 64 + bit < LEN && wanted(index * 64 + bit);
            rows.keep_words(LEN, |index| {
                (0..64).filter(|&at| bit(index, at)).fold(0, |word, at| word | 1 << at)
            });
            rows
        };
        let samples: [(Rows, fn(usize) -> bool); 4] = [
            (Rows::None, |_| false),
            (Rows::All, |_| true),
            (some(|row| row % 2 == 0), |row| row % 2 == 0),
            (some(|row| row > 100), |row| row > 100),
        ];
        let rows_of =
            |rows: &Rows| -> Vec<usize> { (0..LEN).filter(|&row| rows.contains(row)).collect() };
        let expected = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..LEN).filter(|&row| wanted(row)).collect()
        };
        for (a, in_a) in &samples {
            assert_eq!(rows_of(&a.clone().inverted(LEN)), expected(&|row| !in_a(row)));
            for (b, in_b) in &samples {
                let (mut both, mut either) = (a.clone(), a.clone());
                both.intersect(b.clone(), LEN);
                assert_eq!(rows_of(&both), expected(&|row| in_a(row) && in_b(row)));
                either.unite(b.clone());
                assert_eq!(rows_of(&either), expected(&|row| in_a(row) || in_b(row)));
            }
        }
    }

    #[test]
    fn words_that_keep_all_or_none_decide_without_a_mask() {
        let mut rows = Rows::All;
        rows.keep_words(70, |_| u64::MAX);
        assert!(matches!(rows, Rows::All));
        rows.keep_words(70, |index| if index == 0 { 2 } else { 0 });
        assert_eq!(rows.next_run(0, 70), Some(1..2));
        rows.keep_words(70, |_| 1);
        assert!(matches!(rows, Rows::None));
    }
}
