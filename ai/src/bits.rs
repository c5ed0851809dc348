//! Bit sets over arrays of 64-bit words.

/// The positions of the set bits, lowest first.
#[inline]
pub(crate) fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}

/// The number of words of the widest set.
pub(crate) const WORDS_MAX: usize = 16;

/// A set of numbers below `64 * N`. With `N = 1` it costs as much as a `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits<const N: usize = WORDS_MAX>(pub(crate) [u64; N]);

impl<const N: usize> Bits<N> {
    pub(crate) const NONE: Self = Self([0; N]);

    /// The index of a number's word, and the number's bit in that word.
    #[inline]
    const fn place(number: usize) -> (usize, u64) {
        (if N == 1 { 0 } else { number / 64 }, 1 << (number % 64))
    }

    #[inline]
    pub(crate) const fn insert(&mut self, number: usize) {
        let (word, bit) = Self::place(number);
        self.0[word] |= bit;
    }

    #[inline]
    pub(crate) const fn has(&self, number: usize) -> bool {
        let (word, bit) = Self::place(number);
        self.0[word] & bit != 0
    }

    /// Adds all numbers of another set. If that set is wider, its additional words must be empty.
    #[inline]
    pub(crate) fn add<const M: usize>(&mut self, other: &Bits<M>) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    #[inline]
    pub(crate) fn remove<const M: usize>(&mut self, other: &Bits<M>) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// The lowest number that both sets contain.
    pub(crate) fn first_shared(&self, other: &Self) -> Option<usize> {
        let mut words = (0..).zip(self.0.iter().zip(&other.0));
        words.find_map(|(word, (a, b))| Some(64 * word + set_bits(a & b).next()?))
    }
}
