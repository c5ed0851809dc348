//! Domains as data, read from RON files.

use formic_ecs::{Buffer, EnabledMut, Entity, QueryData, World};
use serde::{Deserialize, Serialize};

use super::agent::{HtnAgent, HtnState, PlannedTask};
use super::domain::{Domain, DomainBuilder, Method, PAUSE as PAUSE_TASK, Preference};
use crate::action::{Body, LoadError, MindError, MindText, Switching};
use crate::goap::{
    ConditionEntry, FileFacts, OperatorEntry, PlannedStep, Replan, Sensors, exchange_steps,
};
use crate::reload::{IndexMapping, Reload};

/// A domain as it is written in a file, in RON.
///
/// The file has the form `(facts: [..], operators: [..], methods: [..], root: ..)`.
///
/// * Facts, operators and conditions are those of [`PlannerFile`](crate::goap::PlannerFile).
/// * A method names the compound task that it is a method `of`. It has a `name`, conditions (`when`) and
///   `tasks`, among which `"..."` is a [pause](Method::pause).
/// * Optional are `prefer`, which is `Order` or `Cheapest`, and the limit `states_max`.
///
/// ```
/// use formic_ai::action::MindText;
/// use formic_ai::htn::{Domain, DomainFile};
/// let text = r#"(
///     facts: [("cash", 10)],
///     operators: [(name: "walk"), (name: "ride", then: [("cash", Subtract(2))])],
///     methods: [
///         (of: "go home", name: "by taxi", when: [("cash", AtLeast(2))], tasks: ["ride"]),
///         (of: "go home", name: "on foot", tasks: ["walk"]),
///     ],
///     root: "go home",
/// )"#;
/// let file = DomainFile::parse(text)?;
/// assert_eq!(DomainFile::parse(&file.to_text())?, file);
/// let domain = Domain::parse(text)?;
/// assert_eq!(domain.plan(&[1]).unwrap().names(&domain).collect::<Vec<_>>(), ["walk"]);
/// let error = Domain::parse(&text.replace("[\"walk\"]", "[\"wlak\"]")).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 6, column 50: \"go home on foot\" names \"wlak\", which has neither an operator nor methods; did you mean \"walk\"?"
/// );
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Domain", deny_unknown_fields)]
pub struct DomainFile {
    facts: Vec<(String, u32)>,
    operators: Vec<OperatorEntry>,
    methods: Vec<MethodEntry>,
    root: String,
    #[serde(default)]
    prefer: Preference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    states_max: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Method", deny_unknown_fields)]
struct MethodEntry {
    of: String,
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    when: Vec<ConditionEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<String>,
}

/// Stands for a pause among tasks.
const PAUSE: &str = "...";

impl MindText for DomainFile {}

impl DomainFile {
    fn build(&self) -> Result<Domain, MindError> {
        let known = FileFacts::new(&self.facts)?;
        let mut builder = DomainBuilder::new(known.facts.clone()).prefer(self.prefer);
        if let Some(states) = self.states_max {
            builder = builder.states_max(states);
        }
        for entry in &self.operators {
            builder = builder.operator(known.operator(entry)?);
        }
        for entry in &self.methods {
            let task = |task: &String| (task != PAUSE).then(|| task.clone());
            builder = builder.method(Method {
                compound: entry.of.clone(),
                name: entry.name.clone(),
                conditions: known.conditions(&entry.when)?,
                tasks: entry.tasks.iter().map(task).collect(),
            });
        }
        builder.build(&self.root)
    }
}

impl Domain {
    /// Makes a domain from text, see [`DomainFile`].
    ///
    /// # Errors
    /// Returns an error, with line, column and name, if the text is not a valid domain, or if
    /// [building](DomainBuilder::build) it fails.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        DomainFile::parse(text)?.build().map_err(|error| error.in_text(text))
    }
}

type Row = (
    &'static mut HtnAgent,
    &'static mut Body,
    &'static mut Buffer<PlannedStep>,
    &'static mut Buffer<PlannedTask>,
    &'static mut HtnState,
    EnabledMut<Switching>,
    EnabledMut<Replan>,
);

/// A plan is continued if all of its operators, and the tasks after its pause, still exist; otherwise it
/// is dropped.
impl<Q: QueryData + 'static> Reload for Sensors<Q, Domain> {
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]) {
        let operators = old.renamed(self);
        let tasks = IndexMapping::new(old.planner().task_names(), self.planner().task_names());
        let task = |task: u32| if task == PAUSE_TASK { Some(task) } else { tasks.get(task) };
        let mut view = world.view::<Row>();
        for &agent in agents {
            let Ok((mind, body, steps, rest, state, mut switching, mut replan)) =
                view.get_mut(agent)
            else {
                continue;
            };
            let is_wanted = rest.iter().all(|it| task(it.0).is_some());
            let whose = (body, &mut switching, &mut *steps);
            if exchange_steps((old, self, &operators), whose, mind.step, is_wanted) {
                rest.iter_mut().for_each(|it| it.0 = task(it.0).unwrap_or(it.0));
            } else {
                rest.clear();
                mind.step = 0;
            }
            state.0 = None;
            if steps.is_empty() {
                replan.set(true);
            }
        }
    }
}
