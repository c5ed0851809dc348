//! Ctrl-C: it ends the program, or a run after its current tick.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether a run asks.
static IS_POLLED: AtomicBool = AtomicBool::new(false);

/// From now on, the first Ctrl-C or request to terminate ends a run that is [polled], with its results. The
/// second one ends the program at once, and so does the first if there is no such run.
pub fn listen() {
    #[cfg(not(target_family = "wasm"))]
    {
        let heard = ctrlc::set_handler(|| {
            // Relaxed: the flags publish no other data.
            if ASKED.swap(true, Ordering::Relaxed) || !IS_POLLED.load(Ordering::Relaxed) {
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

/// Runs code that checks [`asked`] often, and that writes its results before it ends.
pub fn polled<T>(run: impl FnOnce() -> T) -> T {
    IS_POLLED.store(true, Ordering::Relaxed);
    let result = run();
    IS_POLLED.store(false, Ordering::Relaxed);
    result
}
