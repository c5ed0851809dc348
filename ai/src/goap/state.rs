//! Packed states: the values of the relevant facts, in one word or several.

/// A state of a search. For most problems it is one word, a `u64`, which needs no allocation; if the
/// facts do not fit, it is a `Box<[u64]>`.
pub(super) trait State: Clone + Eq {
    /// Whether there is more than one word.
    const IS_WIDE: bool;

    /// A state of this many words, all zero.
    fn zeros(word_count: usize) -> Self;

    fn word(&self, place: usize) -> u64;

    fn word_mut(&mut self, place: usize) -> &mut u64;

    /// A hash whose lower 32 bits depend on the whole state.
    fn hash(&self) -> usize;
}

/// Fibonacci hashing: the upper bits of the product depend on the whole word.
const fn product(word: u64) -> u64 {
    word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl State for u64 {
    const IS_WIDE: bool = false;

    fn zeros(_: usize) -> Self {
        0
    }

    #[inline]
    fn word(&self, _: usize) -> u64 {
        *self
    }

    #[inline]
    fn word_mut(&mut self, _: usize) -> &mut u64 {
        self
    }

    #[inline]
    fn hash(&self) -> usize {
        (product(*self) >> 32) as usize
    }
}

impl State for Box<[u64]> {
    const IS_WIDE: bool = true;

    fn zeros(word_count: usize) -> Self {
        vec![0; word_count].into()
    }

    #[inline]
    fn word(&self, place: usize) -> u64 {
        self[place]
    }

    #[inline]
    fn word_mut(&mut self, place: usize) -> &mut u64 {
        &mut self[place]
    }

    fn hash(&self) -> usize {
        let hash = self.iter().fold(0, |hash: u64, &word| product(hash.rotate_left(29) ^ word));
        (hash >> 32) as usize
    }
}
