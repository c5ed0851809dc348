//! The order of all systems around action entities.

use formic_jobs::{IntoSystem, ScheduleBuilder, SystemConfig};

use super::composite::{carry_composites, conclude};
use super::sequence::{advance, rest};
use super::systems::{bury, identify, identify_parts};

/// Puts an action system in its place of the tick.
pub trait ActionSystem<Marker>: IntoSystem<Marker> {
    /// Runs it after [`identify`] and before [`advance`]; its commands are played later.
    fn in_sequence(self) -> SystemConfig {
        self.into_config().after(identify).before_ignoring_commands(advance)
    }
}

impl<System: IntoSystem<Marker>, Marker> ActionSystem<Marker> for System {}

/// A tick of agents: adds what `minds` adds, then [`identify`], then what `actions` adds, then
/// [`advance`], and in between what composites need.
pub fn phases(
    schedule: ScheduleBuilder,
    minds: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
    actions: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
) -> ScheduleBuilder {
    after_actions(actions(between(minds(schedule))))
}

/// What comes between the minds and the actions. Apart, as the next, so that these systems are
/// compiled once, with this crate, and not wherever phases are asked for.
fn between(schedule: ScheduleBuilder) -> ScheduleBuilder {
    let schedule = schedule.add(rest).add(identify);
    // What composites begin is passed on in the same tick.
    schedule.add(carry_composites.after(identify)).add(conclude).add(identify_parts)
}

fn after_actions(schedule: ScheduleBuilder) -> ScheduleBuilder {
    schedule.add(bury).add(advance.after(identify))
}

/// A tick of agents that carry out sequences: [`phases`] without other minds.
pub fn sequence(
    schedule: ScheduleBuilder,
    actions: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
) -> ScheduleBuilder {
    phases(schedule, |schedule| schedule, actions)
}
