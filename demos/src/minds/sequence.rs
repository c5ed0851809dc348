//! A fixed sequence, whatever happens: gather, eat, sleep, hide, and again. It costs next to nothing, and
//! does not see the wolf.

use formic_ai::action;
use formic_ai::prelude::*;
use formic_jobs::ScheduleBuilder;

use super::crowd::Mind;
use super::forager::{bite, live};
use super::{actions, crowd};

pub(super) const MIND: Mind = Mind {
    name: "sequence",
    keys: crowd::keys!("sequence"),
    drive: |world, crowd| {
        // Without a berry the meal fails, and the sequence goes on.
        crowd::drive(world, crowd, &actions::set(), |world, it, _| {
            SequenceAgent::drive(world, it, OnFailure::Advance)
        });
    },
    thinks: Some("::advance"),
    systems,
};

/// The decision engine is `advance`, which comes with [`action::add`].
fn systems(schedule: ScheduleBuilder) -> ScheduleBuilder {
    actions::add(action::add(schedule.add(live.before(action::rest))))
        .add(bite.after(action::advance))
}
