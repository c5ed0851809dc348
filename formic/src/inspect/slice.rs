//! The time that one answer may take: all other viewers wait for it.

#[cfg(not(target_family = "wasm"))]
use std::time::{Duration, Instant};

/// How long the world may run, or requests be answered, before the other has its turn.
#[cfg(not(target_family = "wasm"))]
pub(super) const SLICE: Duration = Duration::from_millis(25);

/// Part of that time, for a search over many items.
#[derive(Debug)]
pub(super) struct Slice {
    #[cfg(not(target_family = "wasm"))]
    start: Instant,
}

impl Slice {
    /// Starts the clock.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            start: Instant::now(),
        }
    }

    /// Whether the time is up. A page without a server has no other viewers, so it never is.
    pub(super) fn is_over(&self) -> bool {
        #[cfg(not(target_family = "wasm"))]
        return self.start.elapsed() >= SLICE / 2;
        #[cfg(target_family = "wasm")]
        return false;
    }
}
