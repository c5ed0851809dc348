//! Planners as data, read from RON files.

use std::collections::HashMap;

use formic_ecs::{Buffer, EnabledMut, Entity, QueryData, World};
use serde::{Deserialize, Serialize};

use super::agent::{GoapAgent, PlannedStep, PlannerState, Replan, exchange_steps};
use super::facts::{Condition, Effect, Fact, Facts};
use super::operator::{Goal, Operator};
use super::planner::{Planner, PlannerBuilder};
use super::sensors::Sensors;
use crate::action::{Body, LoadError, MindError, MindText, Switching};
use crate::reload::{IndexMapping, Reload};

/// A planner as it is written in a file, in RON. The sources of the facts are not in the file, but in
/// code, in [`Sensors`](super::Sensors).
///
/// The file has the form `(facts: [..], operators: [..], goals: [..])`, and optionally the limit
/// `states_max`.
///
/// * A fact is its name and its highest value, which is 1 for a flag.
/// * An operator has a `name`, conditions (`when`), effects (`then`) and a `cost`.
/// * A goal has a `name`, conditions (`when`) and a `priority`.
/// * A condition is the name of a fact with `Is(true)`, `Equals(2)`, `Differs(2)`, `AtLeast(2)` or
///   `AtMost(2)`.
/// * An effect is the name of a fact with `Becomes(true)`, `Set(2)`, `Add(2)` or `Subtract(2)`.
///
/// ```
/// use formic_ai::action::MindText;
/// use formic_ai::goap::{Planner, PlannerFile};
/// let text = r#"(
///     facts: [("axe", 1), ("wood", 10)],
///     operators: [
///         (name: "fetch_axe", then: [("axe", Set(1))], cost: 4),
///         (name: "chop", when: [("axe", Is(true))], then: [("wood", Add(1))]),
///     ],
///     goals: [(name: "stocked", when: [("wood", AtLeast(3))])],
/// )"#;
/// let file = PlannerFile::parse(text)?;
/// assert_eq!(PlannerFile::parse(&file.to_text())?, file);
/// assert_eq!(Planner::parse(text)?.plan(0, &[0, 0]).unwrap().cost, 7);
/// let error = Planner::parse(&text.replace("(\"axe\", Is", "(\"ax\", Is")).unwrap_err();
/// assert_eq!(error.to_string(), "line 5, column 32: there is no fact \"ax\"; did you mean \"axe\"?");
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Planner", deny_unknown_fields)]
pub struct PlannerFile {
    facts: Vec<(String, u32)>,
    operators: Vec<OperatorEntry>,
    goals: Vec<GoalEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    states_max: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Operator", deny_unknown_fields)]
pub(crate) struct OperatorEntry {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    when: Vec<ConditionEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    then: Vec<(String, ChangeEntry)>,
    #[serde(default = "one")]
    cost: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Goal", deny_unknown_fields)]
struct GoalEntry {
    name: String,
    #[serde(default)]
    when: Vec<ConditionEntry>,
    #[serde(default)]
    priority: i32,
}

/// A fact, and the test of its value.
pub(crate) type ConditionEntry = (String, TestEntry);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TestEntry {
    Is(bool),
    Equals(u32),
    Differs(u32),
    AtLeast(u32),
    AtMost(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ChangeEntry {
    Becomes(bool),
    Set(u32),
    Add(u32),
    Subtract(u32),
}

const fn one() -> u32 {
    1
}

/// The facts of a file, by name.
pub(crate) struct FileFacts<'a> {
    pub(crate) facts: Facts,
    by_name: HashMap<&'a str, Fact>,
}

impl<'a> FileFacts<'a> {
    pub(crate) fn new(entries: &'a [(String, u32)]) -> Result<Self, MindError> {
        let (mut facts, mut by_name) = (Facts::new(), HashMap::new());
        for (name, value_max) in entries {
            if *value_max > Facts::VALUE_MAX {
                let problem =
                    format!("the fact {name:?} goes up to {value_max}, and the limit is 63");
                return Err(MindError::about("", name, problem));
            }
            by_name.insert(&**name, facts.number(name.clone(), *value_max));
        }
        Ok(Self { facts, by_name })
    }

    fn named(&self, name: &str) -> Result<Fact, MindError> {
        let known = self.facts.names();
        let fact = self.by_name.get(name).copied();
        fact.ok_or_else(|| MindError::unknown("fact", "", name, known))
    }

    /// Resolves the conditions of an operator, a goal or a method.
    pub(crate) fn conditions(&self, all: &[ConditionEntry]) -> Result<Vec<Condition>, MindError> {
        all.iter().map(|condition| self.condition(condition)).collect()
    }

    fn condition(&self, (name, test): &ConditionEntry) -> Result<Condition, MindError> {
        let fact = self.named(name)?;
        Ok(match *test {
            TestEntry::Is(holds) => fact.is(holds),
            TestEntry::Equals(value) => fact.equals(value),
            TestEntry::Differs(value) => fact.differs_from(value),
            TestEntry::AtLeast(value) => fact.at_least(value),
            TestEntry::AtMost(value) => fact.at_most(value),
        })
    }

    fn effect(&self, (name, change): &(String, ChangeEntry)) -> Result<Effect, MindError> {
        let fact = self.named(name)?;
        Ok(match *change {
            ChangeEntry::Becomes(holds) => fact.becomes(holds),
            ChangeEntry::Set(value) => fact.set(value),
            ChangeEntry::Add(amount) => fact.add(amount),
            ChangeEntry::Subtract(amount) => fact.subtract(amount),
        })
    }

    /// Resolves an operator.
    pub(crate) fn operator(&self, entry: &OperatorEntry) -> Result<Operator, MindError> {
        let effects =
            entry.then.iter().map(|effect| self.effect(effect)).collect::<Result<_, _>>()?;
        let (name, conditions) = (entry.name.clone(), self.conditions(&entry.when)?);
        Ok(Operator { name, conditions, effects, cost: entry.cost })
    }
}

impl MindText for PlannerFile {}

impl PlannerFile {
    fn build(&self) -> Result<Planner, MindError> {
        let known = FileFacts::new(&self.facts)?;
        let mut builder = PlannerBuilder::new(known.facts.clone());
        if let Some(states) = self.states_max {
            builder = builder.states_max(states);
        }
        for entry in &self.operators {
            builder = builder.operator(known.operator(entry)?);
        }
        for entry in &self.goals {
            let (name, conditions) = (entry.name.clone(), known.conditions(&entry.when)?);
            builder = builder.goal(Goal { name, conditions, priority: entry.priority });
        }
        builder.build()
    }
}

impl Planner {
    /// Makes a planner from text, see [`PlannerFile`].
    ///
    /// # Errors
    /// Returns an error, with line, column and name, if the text is not a valid planner, or if
    /// [building](PlannerBuilder::build) it fails.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        PlannerFile::parse(text)?.build().map_err(|error| error.in_text(text))
    }
}

type Row = (
    &'static mut GoapAgent,
    &'static mut Body,
    &'static mut Buffer<PlannedStep>,
    &'static mut PlannerState,
    EnabledMut<Switching>,
    EnabledMut<Replan>,
);

/// A plan is continued if its goal and all of its operators still exist; otherwise it is dropped. An
/// unfinished search starts anew.
impl<Q: QueryData + 'static> Reload for Sensors<Q> {
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]) {
        let (before, after) = (&old.planner().goals, &self.planner().goals);
        let goals = IndexMapping::new(before.iter().map(Goal::name), after.iter().map(Goal::name));
        let operators = old.renamed(self);
        let mut view = world.view::<Row>();
        for &agent in agents {
            let Ok((mind, body, steps, state, mut switching, mut replan)) = view.get_mut(agent)
            else {
                continue;
            };
            let goal = goals.get(mind.goal);
            let whose = (body, &mut switching, steps);
            let is_kept = exchange_steps((old, self, &operators), whose, mind.step, goal.is_some());
            mind.candidate = 0;
            (mind.goal, mind.step) = match goal {
                Some(goal) if is_kept => (goal, mind.step),
                _ => (u32::MAX, 0),
            };
            state.0 = None;
            if !is_kept {
                replan.set(true);
            }
        }
    }
}
