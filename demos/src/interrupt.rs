//! Ctrl-C: an interrupted run ends after the current tick.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
/// The number of worlds being built.
static BUILDING: AtomicU32 = AtomicU32::new(0);

/// From now on, Ctrl-C or a request to terminate [ends the run](asked) instead of the program. The second
/// one ends the program at once, and so does the first [while a world is being built](building).
pub fn listen() {
    #[cfg(not(target_family = "wasm"))]
    {
        let heard = ctrlc::set_handler(|| {
            // Relaxed: the flag publishes no other data.
            if ASKED.swap(true, Ordering::Relaxed) || BUILDING.load(Ordering::Relaxed) > 0 {
                std::process::exit(130);
            }
        });
        // If the system does not support it, or another handler is installed already, Ctrl-C keeps its
        // default effect.
        drop(heard);
    }
}

/// Whether the user has asked the run to end.
#[must_use]
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Builds a world. That may take seconds with no results to show yet, so Ctrl-C ends the program
/// meanwhile.
pub fn building<T>(build: impl FnOnce() -> T) -> T {
    struct Built;
    impl Drop for Built {
        fn drop(&mut self) {
            BUILDING.fetch_sub(1, Ordering::Relaxed);
        }
    }
    BUILDING.fetch_add(1, Ordering::Relaxed);
    let _built = Built;
    build()
}
