//! Random draws from a stream.

use formic_ecs::RandomStream;

/// A random number from `0..bound`.
pub(crate) fn below(random: &mut RandomStream, bound: u16) -> u16 {
    let scaled = random.below(u64::from(bound));
    u16::try_from(scaled).expect("less than the bound, which is a u16")
}

/// True in `percent` of a hundred calls.
pub(crate) fn percent(random: &mut RandomStream, percent: u16) -> bool {
    below(random, 100) < percent
}

/// Scales 64 random bits to `0..bound` by multiplication (Lemire 2019); the
/// bias is below `bound / 2^64`.
pub(crate) fn pick(random: u64, bound: usize) -> usize {
    let scaled = (u128::from(random) * bound as u128) >> 64;
    usize::try_from(scaled).expect("less than the bound, which is a usize")
}
