//! Packed states: the values of the facts that matter, in one word or in several.

/// A state of a search. That of most problems is one word, a `u64`, of which there is nothing to
/// allocate; where the facts do not fit, it is a `Box<[u64]>`.
pub(super) trait State: Clone + Eq {
    /// Whether there are words beside the first.
    const IS_WIDE: bool;

    /// So many words of zeros.
    fn zeros(word_count: usize) -> Self;

    fn word(&self, place: usize) -> u64;

    fn word_mut(&mut self, place: usize) -> &mut u64;

    /// A number whose lower 32 bits depend on all of the state.
    fn hash(&self) -> usize;
}

/// Fibonacci hashing: the upper bits of the product depend on all of the word.
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
