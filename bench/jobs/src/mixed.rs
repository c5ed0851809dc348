//! The frame of 100 small systems: ten kinds of rows, and for each of them four systems that
//! write, four that count, one that records commands, and one that does nothing.
//!
//! Their work gives the same in any order that keeps writers apart, since the libraries order
//! their systems differently.

/// Rows of each kind.
pub(crate) const ROWS: u32 = 16;
/// Writers, and counters, of each kind.
pub(crate) const REPEATS: usize = 4;
/// What the writers read from a resource.
pub(crate) const GAIN: u32 = 3;

/// What a writer does with a row.
#[inline(always)]
pub(crate) const fn advance(value: u32, steady: u32, gain: u32) -> u32 {
    // Below the bound of `is_over`: no row is ever removed, but the compiler cannot know.
    value.wrapping_add(steady * gain) & 0xffff
}

/// Whether a row is to be removed.
#[inline(always)]
pub(crate) const fn is_over(value: u32) -> bool {
    value > 0xffff
}

/// Calls a macro with the numbers of the ten kinds.
macro_rules! for_each_mixed {
    ($macro:ident) => {
        $macro! { 0 1 2 3 4 5 6 7 8 9 }
    };
}

pub(crate) use for_each_mixed;
