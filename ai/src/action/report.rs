//! How the owner of an action learns that it has ended.

use formic_ecs::ClaimError;
use formic_jobs::{EnabledLookup, ExclusiveLookup};

use super::body::{Body, Reported};
use super::components::{Action, ActionResult};

/// Tells the owner, if it is there and waits for this action.
pub(super) fn report(
    bodies: &ExclusiveLookup<'_, &'static mut Body>,
    reported: &EnabledLookup<'_, Reported>,
    action: &Action,
    result: ActionResult,
) {
    let is_awaited = loop {
        match bodies.claim(action.owner) {
            Ok(mut claim) => break claim.get_mut().note(action.index(), result),
            // Another action of the same owner ends at this moment, in another thread, which has a
            // handful of instructions to go. Notes do not depend on their order.
            Err(ClaimError::Claimed(_)) => std::thread::yield_now(),
            // Its owner has no body any more, and this is a former action that somebody kept.
            Err(_) => break false,
        }
    };
    if is_awaited {
        _ = reported.set(action.owner, true);
    }
}
