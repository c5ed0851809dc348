//! Reproducible random numbers for simulations: the same on every platform and in every version.

/// A stream of random numbers with 8 bytes of state (SplitMix64).
///
/// It is small enough for a component. So every entity can have its own stream, and the result does not
/// depend on the order in which entities are visited. The algorithm is fixed (Steele, Lea and Flood,
/// *Fast Splittable Pseudorandom Number Generators*, 2014; the constants are those of
/// `java.util.SplittableRandom`). It is not suitable for secrets.
///
/// ```
/// use formic_ecs::RandomStream;
/// let mut dice = RandomStream::new(7).fork(42);
/// assert!((1..=6).contains(&(1 + dice.below(6))));
/// ```
// `rand_xoshiro::SplitMix64` generates the same 64 bits. But it is neither `Copy` nor `Pod`, does not
// expose its state, which components save, and has no `fork`. Its ranges come from `rand`, which may
// generate other numbers in a later version. It could replace only the two functions `mix` and
// `next_u64`. This type is in this crate because all crates above use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct RandomStream {
    state: u64,
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl RandomStream {
    /// Creates the stream of this seed. All seeds are equally good.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Derives another stream from this one, identified by `key`. This stream does not change.
    ///
    /// Different keys give unrelated streams, so one seed serves many entities.
    #[must_use]
    pub fn fork(&self, key: u64) -> Self {
        Self { state: mix(self.state ^ mix(key.wrapping_add(GAMMA))) }
    }

    /// Returns the state, which can be saved and passed to [`new`](Self::new) again.
    #[must_use]
    pub const fn state(&self) -> u64 {
        self.state
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// Returns a number in `0..bound`, or zero if the bound is zero.
    ///
    /// It is the upper half of a product (Lemire 2019) without the rejection step: the bias is below
    /// `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `[0, 1)`, one of 2^24 evenly spaced values.
    pub fn next_f32(&mut self) -> f32 {
        const STEP: f32 = 1.0 / 16_777_216.0;
        ((self.next_u64() >> 40) as u32 as f32) * STEP
    }

    /// Returns a number in `[low, high)`, or `low` if the range is empty.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        let drawn = low + (high - low) * self.next_f32();
        // Rounding may have reached the upper end, which is not in the range.
        if drawn < high { drawn } else { low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_algorithm() {
        // The first outputs for seed 1234567, as in the reference implementation by Vigna.
        let mut stream = RandomStream::new(1_234_567);
        for expected in
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64]
        {
            assert_eq!(stream.next_u64(), expected);
        }
    }

    /// Saves and recordings rely on these values, which another program computed. They must not change.
    #[test]
    fn streams_of_a_key_and_draws_below_a_bound_are_the_same_for_ever() {
        let world = RandomStream::new(7);
        let firsts = [0, 1, 42, u64::MAX].map(|key| world.fork(key).next_u64());
        let expected = [
            8_879_317_973_683_161_050,
            14_720_192_278_103_030_758,
            12_839_089_978_326_185_296,
            686_028_366_111_335_694,
        ];
        assert_eq!(firsts, expected);
        let of_forks = [[1, 2], [2, 1]].map(|[key, next]| world.fork(key).fork(next).next_u64());
        assert_eq!(of_forks, [14_880_605_994_762_322_577, 1_640_049_498_823_254_762]);
        assert_eq!(world, RandomStream::new(7), "a fork leaves it as it is");

        let mut dice = world;
        let throws: [u64; 12] = core::array::from_fn(|_| dice.below(6));
        assert_eq!(throws, [2, 0, 5, 3, 2, 1, 2, 1, 0, 2, 0, 5]);
        let mut stream = world;
        let draws = [1 << 40, 1 << 40, 1 << 40, u64::MAX, 1, 0].map(|bound| stream.below(bound));
        let expected =
            [428_622_341_209, 18_458_925_044, 990_396_842_170, 10_753_165_928_301_472_202, 0, 0];
        assert_eq!(draws, expected);
        assert_eq!(stream.state(), 13_064_056_694_810_536_069, "each draw is one step");

        let mut stream = world;
        let parts: [f32; 3] = core::array::from_fn(|_| stream.next_f32() * 16_777_216.0);
        assert_eq!(
            parts.map(f32::to_bits),
            [6_540_257.0_f32, 281_660.0, 15_112_256.0].map(f32::to_bits)
        );
    }

    #[test]
    fn a_number_between_two_others_is_never_the_upper_one() {
        // The state before the output of all ones, the largest number.
        let last = || RandomStream::new(0x3162_8af6_7b21_31ab);
        assert_eq!(last().next_u64(), u64::MAX);
        for (low, high) in [(0.0, 1.0), (1.0, 2.0), (-3.0, 7.0), (1e6, 1e6 + 1.0), (-2.0, -1.0)] {
            let drawn = last().between(low, high);
            assert!((low..high).contains(&drawn), "{drawn} of {low}..{high}");
        }
        for (low, high) in [(2.0, 1.0), (1.0, 1.0), (0.0, -5.0)] {
            let drawn = RandomStream::new(7).between(low, high);
            assert_eq!(drawn.to_bits(), low.to_bits(), "{low}..{high} is empty");
        }
    }

    #[test]
    fn draws_stay_inside_their_bounds_and_reach_both_ends() {
        let mut stream = RandomStream::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[usize::try_from(stream.below(5)).expect("below five")] = true;
            assert!((0.0..1.0).contains(&stream.next_f32()));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(stream.below(0), 0);
    }
}
