//! Decision records of state machines.

use std::ops::Range;

use formic_ecs::QueryData;

use super::agent::FsmAgent;
use super::machine::{Machine, NO_GUARD, NONE};
use super::situation::{INTERRUPTIONS_MAX, Situation};
use super::transition::{TransitionTarget, Trigger};
use crate::explain::{Candidate, Ended, Engine, Label, Stopped, Verdict, Watch};

/// The reasons for a transition, captured before it is taken.
pub(super) struct TransitionReasons {
    candidates: Vec<Candidate>,
    cause: Label,
    stopped: Stopped,
}

/// Records why the agent is in its new state. `reasons` is `None` if the machine has just begun.
#[cold]
pub(super) fn note<Q: QueryData>(
    watch: Watch<'_>,
    machine: &Machine<Q>,
    agent: &FsmAgent,
    reasons: Option<TransitionReasons>,
) {
    watch.note(Engine::Machine, |decision| {
        decision.cause = Some("it begins".into());
        if let Some(TransitionReasons { candidates, cause, stopped }) = reasons {
            decision.candidates.extend(candidates);
            decision.cause = Some(cause);
            decision.stopped.push(stopped);
        }
        let state = machine.described(agent.first.state);
        decision.candidate(Candidate::new(state, Verdict::Chosen));
    });
}

/// Records once that an agent stays in its state because the stack of interruptions is full.
#[cold]
pub(super) fn note_refusal<Q: QueryData>(watch: Watch<'_>, machine: &Machine<Q>, agent: &FsmAgent) {
    let last = watch.log.last_of(watch.agent, Engine::Machine);
    // Every other decision of a machine has an active state among its candidates.
    let is_told = |it: &Candidate| matches!(it.verdict, Verdict::Refused { .. });
    if last.is_none_or(|last| !last.candidates.iter().all(is_told)) {
        watch.note(Engine::Machine, |decision| {
            let what = format!("an interruption of {}", machine.described(agent.first.state));
            let by = format!("the limit of {INTERRUPTIONS_MAX}").into();
            decision.candidate(Candidate::new(what, Verdict::Refused { by }));
        });
    }
}

/// Records what keeps an agent in its state, if its machine has no record yet.
#[cold]
pub(super) fn note_first<Q: QueryData>(watch: Watch<'_>, situation: &Situation<'_, Q>) {
    if !watch.log.is_awaited(watch.agent, Engine::Machine) {
        return;
    }
    watch.note(Engine::Machine, |decision| {
        let state = situation.machine.described(situation.agent.first.state);
        decision.candidate(Candidate::new(state, Verdict::Running));
        decision.candidates.extend(situation.refused(situation.transitions()));
    });
}

impl TransitionReasons {
    /// Captures the reasons of an agent that is about to take the transition at index `chosen`.
    #[cold]
    pub(super) fn of<Q: QueryData>(situation: &Situation<'_, Q>, chosen: usize) -> Self {
        let machine = situation.machine;
        let candidates = situation.refused(situation.transitions().start..chosen).collect();
        let what = machine.states[usize::from(situation.agent.first.state)].name.clone();
        let stopped = match machine.transitions[chosen].trigger {
            Trigger::Done => Stopped::new(what, Ended::Success),
            Trigger::Failed => Stopped::new(what, Ended::Failed),
            _ => Stopped::interrupted(what, Some(&situation.target(chosen))),
        };
        Self { candidates, cause: machine.cause(chosen), stopped }
    }
}

impl<Q: QueryData> Situation<'_, Q> {
    /// The indices of the transitions of the active state.
    fn transitions(&self) -> Range<usize> {
        let state = &self.machine.states[usize::from(self.agent.first.state)];
        state.transitions.start as usize..state.transitions.end as usize
    }

    /// The given transitions as candidates that are not taken, with the reasons.
    fn refused(&self, places: Range<usize>) -> impl Iterator<Item = Candidate> {
        let machine = self.machine;
        places.map(|place| {
            let transition = &machine.transitions[place];
            let verdict = if !self.is_triggered(transition) {
                Verdict::Waits { on: machine.awaited(place) }
            } else if !self.is_possible(transition) {
                Verdict::Refused { by: "the stack of interruptions".into() }
            } else {
                // The guard was evaluated before, and is not evaluated again.
                let name =
                    machine.names[place].as_ref().map(|name| format!("{:?}", &**name).into());
                Verdict::Refused { by: name.unwrap_or("its condition".into()) }
            };
            let target = self.target(place);
            let is_again = target == machine.states[usize::from(self.agent.first.state)].name;
            let name = if is_again { format!("{target} again").into() } else { target };
            Candidate::new(name, verdict)
        })
    }

    /// The name of the state that a transition leads to.
    fn target(&self, transition: usize) -> Label {
        let state = match self.machine.transitions[transition].to {
            TransitionTarget::To(to) | TransitionTarget::Push(to) => to,
            TransitionTarget::Back if self.interruptions() == 0 => {
                return "what was interrupted".into();
            }
            TransitionTarget::Back => self.memory[self.memory.len() - 1].0,
        };
        let state = self.machine.states.get(usize::from(state));
        state.map_or("what was interrupted".into(), |state| state.name.clone())
    }
}

impl<Q: QueryData> Machine<Q> {
    /// The names of a state and of all states that it lies in.
    fn described(&self, state: u16) -> Label {
        let name = |state: u16| &self.states[usize::from(state)].name;
        if self.states[usize::from(state)].parent == NONE {
            return name(state).clone();
        }
        let names: Vec<&str> = self.ancestors(state).map(|state| &**name(state)).collect();
        names.join(" in ").into()
    }

    fn event_name(&self, event: u32) -> Label {
        let known = self.event_names.get(&event).cloned();
        known.unwrap_or_else(|| format!("event {event}").into())
    }

    /// The event, time or end that a transition waits for.
    fn awaited(&self, place: usize) -> Label {
        let transition = &self.transitions[place];
        let from = &self.states[usize::from(transition.from)].name;
        match transition.trigger {
            Trigger::Always => "nothing".into(),
            Trigger::Event(event) => self.event_name(event),
            Trigger::After(updates) => format!("the end of {updates} updates").into(),
            Trigger::Done => format!("{from} to be done").into(),
            Trigger::Failed => format!("{from} to fail").into(),
        }
    }

    /// The reason why a transition is taken.
    fn cause(&self, place: usize) -> Label {
        let transition = &self.transitions[place];
        let condition = match &self.names[place] {
            Some(name) => Some(name.clone()),
            None if transition.guard == NO_GUARD => None,
            None => Some("its condition holds".into()),
        };
        let from = &self.states[usize::from(transition.from)].name;
        let trigger = match transition.trigger {
            Trigger::Always => return condition.unwrap_or("nothing holds it back".into()),
            Trigger::Event(event) => format!("{} came", self.event_name(event)),
            Trigger::After(updates) => format!("{updates} updates have passed"),
            Trigger::Done => format!("{from} is done"),
            Trigger::Failed => format!("{from} has failed"),
        };
        match condition {
            Some(condition) => format!("{trigger} and {condition}").into(),
            None => trigger.into(),
        }
    }
}
