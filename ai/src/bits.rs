//! Words as sets of small numbers.

/// The numbers of the bits that are set, from the lowest.
#[inline]
pub(crate) fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}

/// How many words the widest sets have.
pub(crate) const WORDS_MAX: usize = 16;

/// A set of numbers below 64 times `N`. With one word it costs what a `u64` costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits<const N: usize = WORDS_MAX>(pub(crate) [u64; N]);

impl<const N: usize> Bits<N> {
    pub(crate) const NONE: Self = Self([0; N]);

    /// The word of a number and its bit in that.
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

    /// With all of another set, whose words beyond these are empty.
    #[inline]
    pub(crate) fn add<const M: usize>(&mut self, other: &Bits<M>) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    #[inline]
    pub(crate) fn remove<const M: usize>(&mut self, other: &Bits<M>) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// The lowest number that is in another set as well.
    pub(crate) fn first_shared(&self, other: &Self) -> Option<usize> {
        let mut words = (0..).zip(self.0.iter().zip(&other.0));
        words.find_map(|(word, (a, b))| Some(64 * word + set_bits(a & b).next()?))
    }
}
