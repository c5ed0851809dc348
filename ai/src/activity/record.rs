//! Decision records of activities.

use formic_ecs::Entity;

use super::behaviour::{Activity, EventOf, Failure};
use super::domain::{ActivityDomain, Ending};
use super::event::{Event, EventKinds, Notice};
use super::slot::ActivitySlot;
use crate::explain::{self, Candidate, Engine, Label, Stopped, Subscribed, Verdict, Watch};

impl Watch<'_> {
    /// Records that an activity has ended, and which one comes next, if any. Without either there is
    /// nothing to record.
    pub(super) fn ended<A: Activity>(&self, stopped: Option<Stopped>, next: Option<&A>) {
        if stopped.is_none() && next.is_none() {
            return;
        }
        self.note(Engine::Activity, |decision| {
            decision.stopped.extend(stopped);
            if let Some(next) = next {
                let name = next.name().into_owned();
                decision.candidate(Candidate::new(name, Verdict::Chosen));
                decision.cause = Some("it was proposed".into());
            }
        });
    }

    /// Records that an activity sleeps from now on.
    pub(super) fn blocked<A: Activity>(&self, slot: &ActivitySlot<A>) {
        self.note(Engine::Activity, |decision| {
            decision.candidate(Candidate::new(slot.to_string(), Verdict::Running));
            // The time of a run may differ from the tick of the schedule, by which all other decisions
            // are numbered.
            let tick = self.tick;
            decision.blocked_since = Some(tick);
            let wishes = slot.subscriptions().iter();
            decision.subscriptions.extend(wishes.map(|subscription| match subscription.due() {
                Some(due) => {
                    let due = tick.saturating_add(due.saturating_sub(slot.since()));
                    Subscribed { subject: None, event: Some(format!("tick {due}").into()) }
                }
                // One that it has to itself for the sake of a waker.
                None if subscription.kinds() == EventKinds::NONE
                    && [self.agent, self.by].contains(&subscription.subject()) =>
                {
                    Subscribed { subject: None, event: Some("a call from outside".into()) }
                }
                None => Subscribed {
                    subject: Some(subscription.subject()),
                    event: kinds_name::<EventOf<A>>(subscription.kinds()),
                },
            }));
        });
    }

    /// Records that an activity was notified or called, and is awake again.
    pub(super) fn woken<A: Activity>(
        &self,
        activity: String,
        notice: Option<&Notice<'_, EventOf<A>>>,
        subject: Entity,
    ) {
        let name = self.log.name(subject);
        self.note(Engine::Activity, |decision| {
            decision.candidate(Candidate::new(activity, Verdict::Chosen));
            decision.cause = Some(match notice {
                Some(Notice::Event(event, _)) => {
                    let kind = kinds_name::<EventOf<A>>(event.kind());
                    let kind = kind.as_deref().unwrap_or("an event");
                    match subject == self.agent || subject == self.by {
                        true => format!("{} came", explain::own(kind)).into(),
                        false => format!("{kind} of {name} came").into(),
                    }
                }
                Some(Notice::Died(_)) => format!("{name} is gone").into(),
                Some(Notice::Time(_)) => "its timer ran out".into(),
                Some(Notice::Missed(_)) => format!("events of {name} may have been missed").into(),
                None => "it was called from outside".into(),
            });
        });
    }
}

/// The end of an activity, and what interrupted it.
pub(super) fn stopped_by<A: Activity>(
    activity: &A,
    ending: &Ending<Failure<A>>,
    by: Option<&A>,
) -> Stopped {
    let stopped = Stopped::new(activity.name(), ending.how());
    match ending {
        Ending::Failed(error) => match <A::Domain as ActivityDomain>::reason(error) {
            Some(reason) => stopped.because(reason),
            None => stopped,
        },
        Ending::Interrupted => Stopped::interrupted(stopped.what, by.map(A::name).as_deref()),
        Ending::Success => stopped,
    }
}

/// The names of kinds, as `arrived or eaten`; `None` for all kinds.
fn kinds_name<E: Event>(kinds: EventKinds) -> Option<Label> {
    if kinds == EventKinds::ALL {
        return None;
    }
    if kinds == EventKinds::NONE {
        return Some("the death".into());
    }
    let mut names: Vec<&str> =
        kinds.numbers().map(|number| E::kind_name(number).unwrap_or("an event")).collect();
    names.dedup();
    Some(names.join(" or ").into())
}
