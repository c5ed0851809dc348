//! The random numbers of the map generators.

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014): every seed is valid, zero included.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `0..bound`.
    pub(crate) fn below(&mut self, bound: u16) -> u16 {
        let scaled = pick(self.next(), usize::from(bound));
        u16::try_from(scaled).expect("less than the bound, which is a u16")
    }

    /// True in `percent` of a hundred calls.
    pub(crate) fn percent(&mut self, percent: u16) -> bool {
        self.below(100) < percent
    }
}

/// Scales 64 random bits to `0..bound` by multiplication (Lemire 2019); the
/// bias is below `bound / 2^64`.
pub(crate) fn pick(random: u64, bound: usize) -> usize {
    let scaled = (u128::from(random) * bound as u128) >> 64;
    usize::try_from(scaled).expect("less than the bound, which is a usize")
}
