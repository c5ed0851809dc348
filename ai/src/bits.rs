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
