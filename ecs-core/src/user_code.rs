//! Code of a user that does not keep its word: sizes that are wrong, and panics.

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

/// Calls `run`, and once more where that panics: it keeps outside of itself how far it came, and goes
/// on behind what has panicked. The panic goes on afterwards; a second one aborts.
#[inline(always)]
pub(crate) fn finish(run: impl FnMut()) {
    struct Again<F: FnMut()> {
        run: F,
        is_done: bool,
    }

    impl<F: FnMut()> Drop for Again<F> {
        #[inline]
        fn drop(&mut self) {
            if !self.is_done {
                (self.run)();
            }
        }
    }

    let mut again = Again { run, is_done: false };
    (again.run)();
    again.is_done = true;
}
