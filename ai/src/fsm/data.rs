//! State machines as data, read from RON files.

use std::collections::HashMap;

use formic_ecs::{Buffer, EnabledMut, Entity, QueryData, World};
use serde::{Deserialize, Serialize};

use super::agent::{FsmAgent, StateChanged, StateMemory};
use super::builder::MachineBuilder;
use super::machine::{Machine, NONE};
use super::state::{Do, History, State};
use super::transition::{Guard, Transition, TransitionTarget, Trigger};
use crate::action::{Body, LoadError, MindError, MindText, Switching};
use crate::explain::Label;
use crate::library::Library;
use crate::reload::{IndexMapping, Reload, exchange};

/// A state machine as it is written in a file, in RON. A [`Library`] resolves the names of actions,
/// conditions and effects when a [`Machine`] is made from it.
///
/// The file has the form `(events: [..], states: [..], transitions: [..])`.
///
/// * A state has a `name`. Optional are the state that it lies `inside`, its `initial` state, an
///   `action`, a `history` (`Shallow` or `Deep`), and the effects `on_enter` and `on_exit`.
/// * A transition leads `from` a state `to` another. Without `from` it applies in any state, without `to`
///   it leads back to the state that was interrupted. With `interrupts` it is an interruption. It waits
///   for at most one of an event (`on`), a number of updates (`after`), and the end of the action
///   (`trigger`: `Done` or `Failed`). It may have a condition (`when`) and a `priority`.
///
/// ```
/// use formic_ai::action::MindText;
/// use formic_ai::fsm::MachineFile;
/// let text = r#"(
///     events: ["alarm"],
///     states: [(name: "calm", action: "patrol"), (name: "alarmed", action: "chase")],
///     transitions: [
///         (from: "calm", to: "alarmed", on: "alarm", priority: 1),
///         (from: "alarmed", to: "calm", after: 100, when: "nothing is near"),
///     ],
/// )"#;
/// let file = MachineFile::parse(text)?;
/// assert_eq!(MachineFile::parse(&file.to_text())?, file);
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Machine", deny_unknown_fields)]
pub struct MachineFile {
    /// The names of events, which are numbered from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<String>,
    states: Vec<StateEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<TransitionEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "State", deny_unknown_fields)]
struct StateEntry {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inside: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(default)]
    history: History,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_enter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_exit: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Transition", deny_unknown_fields)]
struct TransitionEntry {
    /// `None` for any state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// `None` for the state that was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// Whether a later transition returns to the state that this one leaves.
    #[serde(default)]
    interrupts: bool,
    #[serde(default)]
    trigger: TriggerEntry,
    /// The name of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u32>,
    /// The name of a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    #[serde(default)]
    priority: i32,
}

/// The trigger of a transition, if it is neither an event nor a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum TriggerEntry {
    #[default]
    Always,
    Done,
    Failed,
}

impl MindText for MachineFile {}

impl MachineFile {
    fn build<Q: QueryData + 'static>(&self, library: &Library<Q>) -> Result<Machine<Q>, MindError> {
        let effect = |field, name: &Option<String>| -> Result<Option<Do<Q>>, MindError> {
            let Some(name) = name else { return Ok(None) };
            let place = library.find("effect", field, name)?;
            let entries = library.entries.clone();
            Ok(Some(Box::new(move |item| (entries.effects[place].1)(item))))
        };
        let condition = |name: &Option<String>| -> Result<Option<Guard<Q>>, MindError> {
            let Some(name) = name else { return Ok(None) };
            let place = library.find("condition", "when", name)?;
            let entries = library.entries.clone();
            Ok(Some(Box::new(move |item| (entries.conditions[place].1)(item))))
        };
        let mut builder = MachineBuilder::new();
        for (number, event) in (0..).zip(&self.events) {
            if number == FsmAgent::EVENTS_MAX {
                let problem = format!("{event:?} is one event too many: there are {number}");
                return Err(MindError::about("", event, problem));
            }
            builder = builder.event(number, event.clone());
        }
        for entry in &self.states {
            let StateEntry { name, inside, initial, action, history, on_enter, on_exit } = entry;
            builder = builder.state(State {
                name: name.clone(),
                inside: inside.clone(),
                initial: initial.clone(),
                action: action.clone(),
                history: *history,
                enter: effect("on_enter", on_enter)?,
                exit: effect("on_exit", on_exit)?,
            });
        }
        for entry in &self.transitions {
            let TransitionEntry { from, to, interrupts, trigger, on, after, when, priority } =
                entry;
            let about = |field, problem| {
                let name = from.as_deref().or(to.as_deref()).unwrap_or("");
                MindError::about(field, name, problem)
            };
            let to = match to {
                Some(to) if *interrupts => TransitionTarget::Push(to.clone()),
                Some(to) => TransitionTarget::To(to.clone()),
                None if from.is_some() && !interrupts => TransitionTarget::Back,
                None => {
                    let problem = "a transition without `to` leads back: it has `from`, and does \
                                   not interrupt";
                    return Err(about("from", problem));
                }
            };
            let event = |event: &String| {
                let mut known = (0..).zip(&self.events);
                known.find(|it| it.1 == event).map(|it| it.0).ok_or_else(|| {
                    let known = self.events.iter().map(String::as_str);
                    MindError::unknown("event", "on", event, known)
                })
            };
            let trigger = match (trigger, on, after) {
                (TriggerEntry::Always, None, None) => Trigger::Always,
                (TriggerEntry::Done, None, None) => Trigger::Done,
                (TriggerEntry::Failed, None, None) => Trigger::Failed,
                (TriggerEntry::Always, Some(on), None) => Trigger::Event(event(on)?),
                (TriggerEntry::Always, None, Some(updates)) => Trigger::After(*updates),
                _ => {
                    let problem = "a transition waits for one of `on`, `after` and `trigger`";
                    return Err(about("", problem));
                }
            };
            builder = builder.transition(Transition {
                from: from.clone(),
                to,
                guard: condition(when)?,
                trigger,
                priority: *priority,
                name: when.clone().map(Label::from),
            });
        }
        builder.build_with(&library.known("action").collect::<Vec<_>>())
    }
}

impl<Q: QueryData + 'static> Machine<Q> {
    /// Makes a machine from text, see [`MachineFile`].
    ///
    /// ```
    /// use formic_ai::fsm::{Library, Machine};
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Patrol;
    /// # #[derive(Component, Clone)] struct Chase;
    /// #[derive(Component)]
    /// struct Enemy { distance: f32 }
    /// let actions = ActionSet::new().action("patrol", Patrol).action("chase", Chase);
    /// let library = Library::<&'static Enemy>::new(&actions)
    ///     .condition("near", |enemy| enemy.distance < 5.0);
    /// let text = r#"(
    ///     states: [(name: "calm", action: "patrol"), (name: "alarmed", action: "chase")],
    ///     transitions: [(from: "calm", to: "alarmed", when: "neer")],
    /// )"#;
    /// let error = Machine::parse(text, &library).unwrap_err();
    /// assert_eq!(error.to_string(), "line 3, column 55: there is no condition \"neer\"; did you mean \"near\"?");
    /// let machine = Machine::parse(&text.replace("neer", "near"), &library)?;
    /// assert_eq!(machine.state_count(), 2);
    /// # Ok::<(), formic_ai::action::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error, with line, column and name, if the text is not a valid machine, or uses a name
    /// that the library does not have.
    pub fn parse(text: &str, library: &Library<Q>) -> Result<Self, LoadError> {
        MachineFile::parse(text)?.build(library).map_err(|error| error.in_text(text))
    }
}

type Row = (
    &'static mut FsmAgent,
    &'static mut Body,
    &'static mut Buffer<StateMemory>,
    EnabledMut<StateChanged>,
    EnabledMut<Switching>,
);

/// An agent stays in the state of the same name, and keeps its memory of other states. If there is no
/// such state any more, the agent begins with the initial state.
impl<Q: QueryData + 'static> Reload for Machine<Q> {
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]) {
        let states = IndexMapping::new(old.state_names(), self.state_names());
        let renamed = |state: u16| u16::try_from(states.get(state.into())?).ok();
        let is_innermost = |state: &u16| self.states[usize::from(*state)].initial == NONE;
        // If two events have the same name, the first one counts.
        let events = self.event_names.iter().rev();
        let events: HashMap<&str, u32> = events.map(|(&event, name)| (&**name, event)).collect();
        let renamed_event = |event: u32| match old.event_names.get(&event) {
            Some(name) => events.get(&**name).copied(),
            None => Some(event),
        };
        let mut new = Vec::new();
        let mut view = world.view::<Row>();
        for &agent in agents {
            let Ok((mind, body, memory, changed, switching)) = view.get_mut(agent) else {
                continue;
            };
            let (mut changed, mut switching) = (changed, switching);
            let state = renamed(mind.first.state).filter(is_innermost);
            let (before, after) =
                (old.actions_of(mind.first.state), self.actions_of(state.unwrap_or(NONE)));
            exchange((body, &mut switching), before, after);
            let (lasts, stack) = memory.split_at(old.histories().min(memory.len()));
            new.clear();
            new.resize(self.histories(), StateMemory(NONE));
            for (outer, last) in (0..).zip(lasts) {
                let Some(outer) = renamed(outer) else { continue };
                // One that lies elsewhere now is not entered.
                if let (Some(place), Some(last)) =
                    (new.get_mut(usize::from(outer)), renamed(last.0))
                {
                    place.0 = last;
                }
            }
            let stack = stack.iter().filter_map(|it| renamed(it.0)).filter(is_innermost);
            new.extend(stack.map(StateMemory));
            memory.clear();
            memory.extend(new.iter().copied());
            mind.first.state = state.unwrap_or(NONE);
            mind.rename_events(renamed_event);
            changed.set(false);
        }
    }
}

impl<Q: QueryData> Machine<Q> {
    fn state_names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|state| &*state.name)
    }

    /// The actions of a state and of all states that it lies in; none if there is no such state.
    fn actions_of(&self, state: u16) -> impl Iterator<Item = usize> + Clone {
        let state = Some(state).filter(|&state| usize::from(state) < self.states.len());
        let ancestors = state.into_iter().flat_map(|state| self.ancestors(state));
        ancestors.filter_map(|it| self.states[usize::from(it)].action).map(usize::from)
    }
}
