//! The time that one answer may take: all other viewers wait for it.

#[cfg(not(target_family = "wasm"))]
use std::time::{Duration, Instant};

/// How long the world may live, or requests be answered, before the others have their turn.
#[cfg(not(target_family = "wasm"))]
pub(super) const SLICE: Duration = Duration::from_millis(25);

/// A part of it, for what looks at one thing after the other.
#[derive(Debug)]
pub(super) struct Slice {
    #[cfg(not(target_family = "wasm"))]
    start: Instant,
}

impl Slice {
    /// Begins one.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            start: Instant::now(),
        }
    }

    /// Whether it is time for the others. In a page without a server there are none.
    pub(super) fn is_over(&self) -> bool {
        #[cfg(not(target_family = "wasm"))]
        return self.start.elapsed() >= SLICE / 2;
        #[cfg(target_family = "wasm")]
        return false;
    }
}
