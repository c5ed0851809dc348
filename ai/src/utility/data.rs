//! Reasoners as data, read from RON files.

use formic_ecs::{Buffer, EnabledMut, Entity, World};
use serde::{Deserialize, Serialize};

use super::agent::{Cooldown, NONE, UtilityAgent};
use super::considerations::{Combine, Utility};
use super::curve::{Curve, Shape};
use super::reasoner::{Reasoner, Select};
use crate::action::{ActionSet, Body, LoadError, MindError, MindText, Switching};
use crate::reload::{IndexMapping, Reload, exchange};

/// A reasoner as it is written in a file, in RON.
///
/// The file has the form `(select: .., options: [..])`, where `select` is `Highest`, `FirstAbove(0.3)` or
/// `WeightedRandom`.
///
/// * An option has the `name` of an action and `considerations`, which are combined (`combine`) by
///   `Product`, `WeightedSum`, `Minimum` or `Maximum`. The other settings of [`Utility`] are optional:
///   `compensated`, `weight`, `rank`, `inertia`, `momentum`, `cooldown`, `until`.
/// * A consideration has an `input` and a `curve`, named by its constructor in [`Curve`]. Optional are
///   `inverted` and a `weight`.
///
/// ```
/// use formic_ai::action::MindText;
/// use formic_ai::prelude::*;
/// use formic_ai::utility::{Reasoner, ReasonerFile};
/// # #[derive(Component, Clone)] struct Eat;
/// # #[derive(Component, Clone)] struct Sleep;
/// let text = r#"(
///     options: [
///         (name: "eat", considerations: [(input: "hunger", curve: Exponential(2.0))]),
///         (name: "sleep", considerations: [(input: "tired", curve: Linear(1.0, 0.0))], inertia: 0.1),
///     ],
/// )"#;
/// let file = ReasonerFile::parse(text)?;
/// assert_eq!(ReasonerFile::parse(&file.to_text())?, file);
/// let actions = ActionSet::new().action("eat", Eat).action("sleep", Sleep);
/// // The inputs in the order in which the system of the mind fills them.
/// let reasoner = Reasoner::parse(text, &["hunger", "tired"], &actions)?;
/// assert_eq!(reasoner.scores(&[0.5, 0.4]), [0.25, 0.4]);
/// let error = Reasoner::parse(text, &["hunger"], &actions).unwrap_err();
/// assert_eq!(error.to_string(), "line 4, column 50: there is no input \"tired\", but \"hunger\"");
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Reasoner", deny_unknown_fields)]
pub struct ReasonerFile {
    #[serde(default)]
    select: Select,
    options: Vec<OptionEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Option", deny_unknown_fields)]
struct OptionEntry {
    name: String,
    #[serde(default)]
    combine: Combine,
    considerations: Vec<ConsiderationEntry>,
    #[serde(default)]
    compensated: bool,
    #[serde(default = "one")]
    weight: f32,
    #[serde(default)]
    rank: i32,
    #[serde(default)]
    inertia: f32,
    #[serde(default = "one")]
    momentum: f32,
    #[serde(default)]
    cooldown: u32,
    /// An input, and the value that it must fall to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<(String, f32)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Consideration", deny_unknown_fields)]
struct ConsiderationEntry {
    input: String,
    curve: Shape,
    #[serde(default)]
    inverted: bool,
    #[serde(default = "one")]
    weight: f32,
}

const fn one() -> f32 {
    1.0
}

impl MindText for ReasonerFile {}

impl ReasonerFile {
    fn build(&self, inputs: &[&str], actions: &ActionSet) -> Result<Reasoner, MindError> {
        let input = |name: &str| {
            let place = inputs.iter().position(|&known| known == name);
            place.ok_or_else(|| MindError::unknown("input", "", name, inputs.iter().copied()))
        };
        let mut reasoner = Reasoner::new().select(self.select);
        for entry in &self.options {
            let mut utility = Utility::new(entry.combine);
            for it in &entry.considerations {
                let curve = Curve::new(it.curve.clone());
                let curve = if it.inverted { curve.inverted() } else { curve };
                let named = (input(&it.input)?, it.input.clone().into());
                utility = utility.consider(it.weight, named, curve);
            }
            utility = utility.weight(entry.weight).rank(entry.rank).inertia(entry.inertia);
            utility = utility.momentum(entry.momentum).cooldown(entry.cooldown);
            if entry.compensated {
                utility = utility.compensated();
            }
            if let Some((name, at_most)) = &entry.until {
                utility = utility.until_at(input(name)?, *at_most);
            }
            reasoner = reasoner.option(entry.name.clone(), utility);
        }
        reasoner.bind(actions)
    }
}

impl Reasoner {
    /// Makes a reasoner from text, see [`ReasonerFile`]. `inputs` are the names of the inputs, in the
    /// order in which the system of the mind supplies them.
    ///
    /// # Errors
    /// Returns an error, with line, column and name, if the text is not a valid reasoner, or names an
    /// input or action that does not exist.
    pub fn parse(text: &str, inputs: &[&str], actions: &ActionSet) -> Result<Self, LoadError> {
        ReasonerFile::parse(text)?.build(inputs, actions).map_err(|error| error.in_text(text))
    }
}

type Row = (
    &'static mut UtilityAgent,
    &'static mut Body,
    Option<&'static mut Buffer<Cooldown>>,
    EnabledMut<Switching>,
);

/// The option of the same name continues, and cooldowns are kept. If there is no such option any more,
/// its action is halted.
impl Reload for Reasoner {
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]) {
        let options = IndexMapping::new(old.names(), self.names());
        let action = |reasoner: &Self, option: u32| {
            reasoner.options.get(option as usize).map(|option| option.action).into_iter()
        };
        let cooldowns = if self.has_cooldowns() { self.options.len() } else { 0 };
        let mut new = Vec::new();
        let mut without = Vec::new();
        let mut view = world.view::<Row>();
        for &agent in agents {
            let Ok((mind, body, left, mut switching)) = view.get_mut(agent) else { continue };
            let current = options.get(mind.current).unwrap_or(NONE);
            exchange((body, &mut switching), action(old, mind.current), action(self, current));
            mind.current = current;
            match left {
                None if cooldowns > 0 => without.push(agent),
                None => {}
                Some(left) => {
                    new.clear();
                    new.resize(cooldowns, Cooldown(0));
                    for (option, &cooldown) in (0..).zip(left.iter()) {
                        let place = options.get(option).and_then(|it| new.get_mut(it as usize));
                        place.into_iter().for_each(|place| *place = cooldown);
                    }
                    left.clear();
                    left.extend(new.iter().copied());
                }
            }
        }
        drop(view);
        for agent in without {
            let none: Buffer<Cooldown> = self.names().map(|_| Cooldown(0)).collect();
            drop(world.insert(agent, none));
        }
    }
}
