//! Protection against user code that breaks its promises: wrong sizes, and panics.

/// The maximum number of values for which memory is reserved at once because an iterator or a caller
/// announces them.
const EXPECTED_MAX: usize = 1 << 20;

/// Returns for how many of `count` values to reserve memory in advance.
pub(crate) fn expected(count: usize) -> usize {
    count.min(EXPECTED_MAX)
}

/// Returns for how many values of an iterator to reserve memory in advance. Its hint is user code, which
/// may be wrong by any amount.
pub(crate) fn expected_of(values: &impl Iterator) -> usize {
    expected(values.size_hint().0)
}

/// Calls `run`, and once more if it panics. `run` keeps its progress outside of itself, and continues
/// behind the value that panicked. The panic continues afterwards; a second panic aborts.
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
