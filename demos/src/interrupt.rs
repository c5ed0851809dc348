//! Ctrl-C: a run that is asked to stop ends after the tick that it is in.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Has Ctrl-C, and a request to terminate, [end the run](asked) from now on, and not the program.
/// The second one ends the program at once.
pub fn listen() {
    #[cfg(not(target_family = "wasm"))]
    {
        let heard = ctrlc::set_handler(|| {
            // Relaxed: nothing is handed over with it.
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        // Where the system has no such thing, or another handler listens already, Ctrl-C does what it
        // always does.
        drop(heard);
    }
}

/// Whether the user has asked the run to end.
#[must_use]
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
