//! One thing after the other, come what may: gather, eat, sleep, hide, and again. It costs next to
//! nothing, and does not see the wolf.

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
        let actions = actions::set();
        for &forager in crowd {
            actions.attach(world, forager).expect("the set has four actions");
            // Without a berry there is no meal, and it goes on.
            SequenceAgent::drive(world, forager, OnFailure::Advance)
                .expect("the forager was just given a body");
        }
    },
    thinks: Some("::advance"),
    systems,
};

/// The mind is `advance`, which comes with [`action::add`].
fn systems(schedule: ScheduleBuilder) -> ScheduleBuilder {
    actions::add(action::add(schedule.add(live.before(action::rest))))
        .add(bite.after(action::advance))
}
