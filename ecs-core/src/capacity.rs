//! The growth of capacity for values before they arrive.

/// The most values that room is made for at once on the word of an iterator or of a caller.
const EXPECTED_MAX: usize = 1 << 20;

/// How many values of `count` room is made for beforehand.
pub(crate) fn expected(count: usize) -> usize {
    count.min(EXPECTED_MAX)
}

/// How many values of an iterator room is made for beforehand. Its hint is user code, which may be
/// wrong by any amount.
pub(crate) fn expected_of(values: &impl Iterator) -> usize {
    expected(values.size_hint().0)
}
