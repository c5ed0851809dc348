//! Reports of ended actions to their owners.

use formic_ecs::EnabledMut;
use formic_jobs::{ComponentLookup, Scatter};

use super::body::{Body, Reported};
use super::components::{Action, ActionResult};

/// The report that the action with this index has ended. Several actions of one owner may end at the same
/// time, on several threads: reports are collected, and delivered when all actions have run.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    index: usize,
    result: ActionResult,
}

/// The components that a report is written to.
pub(super) type Owner = (&'static mut Body, EnabledMut<Reported>);

impl Report {
    pub(super) const fn new(action: &Action, result: ActionResult) -> Self {
        Self { index: action.index(), result }
    }
}

/// Delivers the reports to owners that still exist and wait for these actions.
pub(super) fn deliver(reports: &mut Scatter<'_, Report>, owners: &mut ComponentLookup<'_, Owner>) {
    // Reports without a receiver are from actions whose owners no longer have a body.
    _ = reports.apply(owners, |(body, mut reported), report| {
        if body.note(report.index, report.result) {
            reported.set(true);
        }
    });
}
