//! Work that is finished also where user code in the midst of it panics.

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
