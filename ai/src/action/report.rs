//! Reports of ended actions to their owners.

use formic_ecs::EnabledMut;
use formic_jobs::{ComponentLookup, Scatter};

use super::body::{Body, Reported};
use super::components::{Action, ActionResult};

/// That an action of this place has ended. Several actions of one owner may end at the same time, on
/// several threads: their reports are collected, and delivered when all are done.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    index: usize,
    result: ActionResult,
}

/// What a report is written to.
pub(super) type Owner = (&'static mut Body, EnabledMut<Reported>);

impl Report {
    pub(super) const fn new(action: &Action, result: ActionResult) -> Self {
        Self { index: action.index(), result }
    }
}

/// Tells the owners that are there and wait for these actions.
pub(super) fn deliver(reports: &mut Scatter<'_, Report>, owners: &mut ComponentLookup<'_, Owner>) {
    // Those that are passed over are of former actions, whose owners have no body any more.
    _ = reports.apply(owners, |(body, mut reported), report| {
        if body.note(report.index, report.result) {
            reported.set(true);
        }
    });
}
