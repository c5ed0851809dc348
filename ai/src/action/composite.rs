//! Composites: actions that consist of other actions.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, EnabledMut, Entity, With};
use formic_jobs::{ComponentLookup, Query, Scatter};

use super::body::{Body, Reported, Switching};
use super::components::{Action, ActionFlags, ActionResult, Executing, Finished};
use super::names::NamingRecorder;
use super::report::{Owner, Report, deliver};
use crate::explain::{Candidate, Ended, Engine, Stopped, Verdict, Watch};

/// The filter component of an action that consists of other actions, its parts. Parts may be composites
/// themselves. A composite is an action for its owner, and a mind for its parts.
///
/// The parts begin in the same tick as the composite. The composite sees in the next tick that a part has
/// ended.
///
/// ```
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Walk;
/// # #[derive(Component, Clone)] struct Sing;
/// # #[derive(Component, Clone)] struct Rest;
/// let stroll = ActionSet::new().action("walk", Walk).action("sing", Sing);
/// let actions = ActionSet::new().composite("stroll", Composite::race(), stroll).action("rest", Rest);
/// let mut world = World::new();
/// actions.spawn(&mut world, ())?;
/// assert_eq!(world.len(), 1 + 2 + 2);
/// # Ok::<(), formic_ai::action::ActionSetError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct Composite {
    kind: Kind,
    /// The index of the part that a sequence is at.
    at: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
enum Kind {
    Sequence,
    Race,
    Join,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Race => "race",
            Self::Join => "join",
        }
    }
}

impl Composite {
    const fn of(kind: Kind) -> Self {
        Self { kind, at: 0 }
    }

    /// Runs the parts one after the other. It fails as soon as one of them fails.
    #[must_use]
    pub const fn sequence() -> Self {
        Self::of(Kind::Sequence)
    }

    /// Runs all parts at once. It succeeds as soon as one of them succeeds, and fails when all have
    /// failed.
    #[must_use]
    pub const fn race() -> Self {
        Self::of(Kind::Race)
    }

    /// Runs all parts at once. It succeeds when all of them have succeeded, and fails as soon as one
    /// fails.
    #[must_use]
    pub const fn join() -> Self {
        Self::of(Kind::Join)
    }

    fn begin(&mut self, body: &mut Body) {
        self.at = 0;
        let count = match self.kind {
            Kind::Sequence => body.action_count().min(1),
            Kind::Race | Kind::Join => body.action_count(),
        };
        (0..count).for_each(|part| body.begin(part));
    }

    /// The result, after some parts have ended.
    fn result(&mut self, body: &mut Body) -> ActionResult {
        match self.kind {
            // Only in a save that was tampered with.
            Kind::Sequence if self.at as usize >= body.action_count() => ActionResult::Failed,
            Kind::Sequence => match body.take_ended(self.at as usize) {
                None | Some(ActionResult::Running) => ActionResult::Running,
                Some(ActionResult::Failed) => ActionResult::Failed,
                Some(ActionResult::Success) => {
                    self.at += 1;
                    if self.at as usize == body.action_count() {
                        return ActionResult::Success;
                    }
                    body.begin(self.at as usize);
                    ActionResult::Running
                }
            },
            Kind::Race => settled(body, ActionResult::Success, ActionResult::Failed),
            Kind::Join => settled(body, ActionResult::Failed, ActionResult::Success),
        }
    }
}

/// `decisive` if some part ended with it; `unanimous` if all parts ended otherwise.
fn settled(body: &Body, decisive: ActionResult, unanimous: ActionResult) -> ActionResult {
    if (0..body.action_count()).any(|part| body.ended(part) == Some(decisive)) {
        decisive
    } else if body.running().next().is_none() {
        unanimous
    } else {
        ActionResult::Running
    }
}

/// The decision records of a composite.
struct Record<'a> {
    recorder: &'a NamingRecorder<'a>,
    watch: Watch<'a>,
}

impl<'a> Record<'a> {
    fn of(recorder: &'a NamingRecorder<'a>, agent: Entity, composite: Entity) -> Option<Self> {
        Some(Self { recorder, watch: recorder.decisions.watch_by(agent, composite)? })
    }

    fn begun(&self, composite: &Composite, body: &Body) {
        self.watch.note(Engine::Composite, |decision| {
            for part in body.running() {
                let name = self.recorder.name(body, part);
                decision.candidate(Candidate::new(name, Verdict::Chosen));
            }
            decision.cause = Some(format!("the {} begins", composite.kind.name()).into());
        });
    }

    /// Records that some parts have ended, and what the composite did then.
    fn went_on(&self, composite: &Composite, before: &Body, after: &Body, result: ActionResult) {
        self.watch.note(Engine::Composite, |decision| {
            let kind = composite.kind.name();
            let is_over = result != ActionResult::Running;
            decision.cause = match result {
                ActionResult::Running => None,
                ActionResult::Success => Some(format!("the {kind} is done").into()),
                ActionResult::Failed => Some(format!("the {kind} has failed").into()),
            };
            for part in after.running().filter(|_| !is_over) {
                let verdict =
                    if before.is_running(part) { Verdict::Running } else { Verdict::Chosen };
                decision.candidate(Candidate::new(self.recorder.name(after, part), verdict));
            }
            for part in 0..before.action_count() {
                let ended = match before.ended(part) {
                    Some(result) => result.into(),
                    None if is_over && before.is_running(part) => Ended::Interrupted,
                    None => continue,
                };
                decision.stopped.push(Stopped::new(self.recorder.name(before, part), ended));
            }
        });
    }
}

/// Enabled on a composite that has ended, until its owner is told.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Concluded;

type Parts = (
    Entity,
    &'static mut Action,
    &'static mut Composite,
    &'static mut Body,
    EnabledMut<Executing>,
    EnabledMut<Finished>,
    EnabledMut<Switching>,
    EnabledMut<Reported>,
    EnabledMut<Concluded>,
);

/// Runs the composites that execute: begins and halts their parts, and moves sequences on to the next
/// part.
pub fn carry_composites(mut composites: Query<Parts, With<Executing>>, recorder: NamingRecorder) {
    composites.par_for_each(
        |(
            entity,
            action,
            composite,
            body,
            mut executing,
            mut finished,
            mut switching,
            mut reported,
            mut concluded,
        )| {
            let is_reported = reported.set(false);
            let is_steady =
                action.flags == ActionFlags::UNDERWAY && action.started == action.activations;
            if is_steady && !is_reported {
                return;
            }
            if !is_steady {
                // An interruption: its parts are halted, and it needs no other cleanup.
                finished.set(false);
                if action.is_underway() {
                    body.halt_all();
                }
                action.flags = ActionFlags::NONE;
                if action.started == action.activations {
                    executing.set(false);
                } else {
                    action.started = action.activations;
                    action.flags = ActionFlags::UNDERWAY;
                    composite.begin(body);
                    if let Some(record) = Record::of(&recorder, action.agent, entity) {
                        record.begun(composite, body);
                    }
                }
            } else {
                let record = Record::of(&recorder, action.agent, entity);
                let record = record.map(|record| (record, body.clone()));
                let result = composite.result(body);
                if let Some((record, before)) = record {
                    record.went_on(composite, &before, body, result);
                }
                if result != ActionResult::Running {
                    body.halt_all();
                    action.result = result;
                    action.flags = ActionFlags::NONE;
                    executing.set(false);
                    concluded.set(true);
                }
            }
            if body.is_switching() {
                switching.set(true);
            }
        },
    );
}

/// Tells the owners of composites that these have ended.
pub fn conclude(
    mut ended: Query<(&Action, EnabledMut<Concluded>), With<Concluded>>,
    mut reports: Scatter<Report>,
    mut owners: ComponentLookup<Owner>,
) {
    ended.par_for_each_with(&mut reports, |(action, mut concluded), reports| {
        concluded.set(false);
        // It may have been begun again or halted since it ended.
        if action.result != ActionResult::Running && !action.is_underway() {
            reports.push(action.owner, Report::new(action, action.result));
        }
    });
    deliver(&mut reports, &mut owners);
}
