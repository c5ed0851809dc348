//! Ctrl-C: a run that is asked to stop ends after the tick that it is in.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
/// How many worlds are being built.
static BUILDING: AtomicU32 = AtomicU32::new(0);

/// Has Ctrl-C, and a request to terminate, [end the run](asked) from now on, and not the program.
/// The second one ends the program at once, and so does the first [while a world is built](building).
pub fn listen() {
    #[cfg(not(target_family = "wasm"))]
    {
        let heard = ctrlc::set_handler(|| {
            // Relaxed: nothing is handed over with it.
            if ASKED.swap(true, Ordering::Relaxed) || BUILDING.load(Ordering::Relaxed) > 0 {
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

/// Builds a world. That may take seconds and there is nothing to show for it yet, so that Ctrl-C ends
/// the program.
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
