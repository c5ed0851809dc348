//! Explanations: why a system ran, or did not.

use std::fmt;

use formic_ecs::Access;

use super::group::Target;
use super::node::{Node, NodeInfo, Outcome, Role};
use super::run::Schedule;
use super::stages::Part;

/// The outcome of one system in the last run; it prints as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The system.
    pub system: String,
    /// The tick of the last run; `None` if there was none, or none since a game was loaded.
    pub tick: Option<u64>,
    /// The reason.
    pub reason: Reason,
}

/// The reason why a system ran, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It ran.
    Ran,
    /// It runs every few ticks, and this was not one of them.
    NotDue {
        /// The interval between its runs, in ticks.
        every: u32,
        /// The number of ticks until it runs.
        next_in: u32,
    },
    /// A condition of its own did not hold.
    ConditionFalse {
        /// The condition.
        condition: String,
    },
    /// A condition of a group, or of a tuple that it was added with, did not hold.
    GroupOff {
        /// The group; `None` for a tuple.
        group: Option<String>,
        /// The condition.
        condition: String,
    },
    /// It or one of its conditions panicked.
    Panicked,
    /// It was not reached, because of a panic elsewhere.
    NotReached {
        /// The systems that panicked.
        panicked: Vec<String>,
    },
    /// The run is being stepped through, and has not reached it.
    NotYet,
    /// The schedule has not run yet, or not since a game was loaded.
    NeverRun,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, tick, reason } = self;
        let tick = tick.map(|tick| format!(" in tick {tick}")).unwrap_or_default();
        let why = match reason {
            Reason::Ran => return write!(f, "{system} ran{tick}"),
            Reason::Panicked => return write!(f, "{system} panicked{tick}"),
            Reason::NeverRun => {
                return write!(
                    f,
                    "{system} has not run: the schedule has not since it was built or loaded"
                );
            }
            Reason::NotYet => {
                return write!(f, "{system} has not run{tick}: its turn is still to come");
            }
            Reason::NotDue { every, next_in } => {
                format!("it runs every {every} ticks, next in {next_in}")
            }
            Reason::ConditionFalse { condition } => format!("{condition} was false"),
            Reason::GroupOff { group, condition } => {
                let what = group.as_ref().map(|group| format!("its group {group}"));
                let what = what.unwrap_or_else(|| "what it was added with".into());
                format!("{what} is off, as {condition} was false")
            }
            Reason::NotReached { panicked } => {
                let who =
                    if panicked.is_empty() { "a command".into() } else { panicked.join(", ") };
                format!("its turn did not come, because {who} panicked")
            }
        };
        write!(f, "{system} did not run{tick}: {why}")
    }
}

/// The outcomes of several systems; it prints one line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanations(pub Vec<Explanation>);

impl fmt::Display for Explanations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no such system is in the schedule");
        }
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Schedule {
    /// Explains the outcome of a system, or of all systems in a [`Group`](super::Group), in the last run:
    /// it ran, or the reason why it did not.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// # struct Weather;
    /// fn think() {}
    /// fn rain() {}
    /// let mut world = World::new();
    /// let mut schedule = Schedule::builder()
    ///     .add(think.every(10).phase(3))
    ///     .add(rain.run_if(resource_exists::<Weather>()))
    ///     .build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// let text = schedule.explain(think).to_string();
    /// assert!(text.ends_with("think did not run in tick 0: it runs every 10 ticks, next in 3"));
    /// let text = schedule.explain(rain).to_string();
    /// assert!(text.ends_with("did not run in tick 0: resource_exists::<Weather> was false"));
    /// # fn other() {}
    /// assert_eq!(schedule.explain(other).to_string(), "no such system is in the schedule");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain<T: 'static>(&self, system: T) -> Explanations {
        let target = Target::of(&system);
        self.explain_those(|info| info.is(target))
    }

    /// Explains the outcomes of all systems, in the order of adding.
    #[must_use]
    pub fn explain_all(&self) -> Explanations {
        self.explain_those(|_| true)
    }

    fn explain_those(&self, is_meant: impl Fn(&NodeInfo) -> bool) -> Explanations {
        let is_meant = |&number: &usize| {
            let info = &self.nodes[number].info;
            !matches!(info.role, Role::SharedCondition(_)) && is_meant(info)
        };
        let numbers = (0..self.nodes.len()).filter(is_meant);
        Explanations(numbers.map(|number| self.explanation(number)).collect())
    }

    /// The outcome of a node's turn in the last run, if it was reached.
    fn last_outcome(&self, node: usize) -> Option<Outcome> {
        let (tick, outcome) = self.nodes[node].state.lock().last?;
        (tick + 1 == self.tick).then_some(outcome)
    }

    pub(super) fn explanation(&self, number: usize) -> Explanation {
        let node = &self.nodes[number].info;
        let reason = match self.last_outcome(number) {
            None if self.tick == self.first_tick => Reason::NeverRun,
            None if self.begun.is_some() => Reason::NotYet,
            None => Reason::NotReached { panicked: self.panicked_names() },
            Some(Outcome::Ran) => Reason::Ran,
            Some(Outcome::Panicked) => Reason::Panicked,
            Some(Outcome::NotDue(next_in)) => Reason::NotDue { every: node.rate.ticks(), next_in },
            Some(Outcome::NotWanted(condition)) => {
                Reason::ConditionFalse { condition: self.condition_name(number, condition) }
            }
            Some(Outcome::SharedConditionFalse(set)) => {
                let is_it = |node: &Node| node.info.role == Role::SharedCondition(set as usize);
                let switch = self.nodes.iter().position(is_it).expect("it was off");
                let info = &self.nodes[switch].info;
                match self.last_outcome(switch) {
                    Some(Outcome::NotWanted(condition)) => Reason::GroupOff {
                        group: info.sets[0].group().map(|group| group.name().into()),
                        condition: self.condition_name(switch, condition),
                    },
                    // A schedule that skips panics has passed over its systems.
                    _ => Reason::NotReached { panicked: vec![info.name.clone()] },
                }
            }
        };
        let tick = (self.tick > self.first_tick).then(|| self.tick - 1);
        Explanation { system: node.name.clone(), tick, reason }
    }

    fn condition_name(&self, node: usize, condition: u32) -> String {
        self.nodes[node].state.lock().conditions[condition as usize].name().into()
    }

    fn panicked_names(&self) -> Vec<String> {
        let panicked = |&node: &usize| self.last_outcome(node) == Some(Outcome::Panicked);
        let numbers = (0..self.nodes.len()).filter(panicked);
        numbers.map(|node| self.nodes[node].info.name.clone()).collect()
    }

    /// Returns the systems and their accesses, including those of conditions, in the order of adding. The
    /// access is `None` for an exclusive system, which may access everything.
    pub fn accesses(&self) -> impl Iterator<Item = (&str, Option<&Access>)> {
        self.nodes.iter().filter_map(|Node { info, .. }| match info.role {
            Role::SharedCondition(_) => None,
            Role::Exclusive(_) => Some((&*info.name, None)),
            Role::System(_) => Some((&*info.name, Some(info.rights.components()))),
        })
    }

    /// Returns the sync points, in the order of a run.
    #[must_use]
    pub fn sync_points(&self) -> Vec<SyncPoint> {
        let name = |node: usize| self.nodes[node].info.name.clone();
        let mut points = Vec::new();
        for (place, part) in self.plan.parts.iter().enumerate() {
            let Part::Sync(sync) = part else { continue };
            let because = match self.plan.parts.get(place + 1) {
                None => SyncReason::EndOfRun,
                Some(Part::Exclusive(node)) => SyncReason::Exclusive(name(*node)),
                Some(_) => {
                    let pairs = sync.because.iter();
                    SyncReason::Order(pairs.map(|&(one, other)| (name(one), name(other))).collect())
                }
            };
            points.push(SyncPoint {
                plays: sync.plays.iter().map(|&node| name(node)).collect(),
                because,
            });
        }
        points
    }
}

/// A point of a run at which commands are played and no system runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// The systems whose commands are played, in this order.
    pub plays: Vec<String>,
    /// The reason for it.
    pub because: SyncReason,
}

/// The reason for a sync point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncReason {
    /// Commands must be visible: in each pair the first system records commands, and the second was
    /// declared to run after it.
    Order(Vec<(String, String)>),
    /// This exclusive system comes next.
    Exclusive(String),
    /// The end of the run, at which all remaining commands are played.
    EndOfRun,
}

display_text! { SyncPoint:
    Self { plays, because: SyncReason::Order(pairs) } => "sync point: plays the commands of {}, as {}", plays.join(", "),
        pairs.iter().map(|(one, other)| format!("{other} is to run after {one}")).collect::<Vec<_>>().join(" and ");
    Self { plays, because: SyncReason::Exclusive(system) } => "sync point: plays the commands of {}, before {system} gets the world",
        plays.join(", ");
    Self { plays, because: SyncReason::EndOfRun } => "sync point: plays the commands of {}, at the end", plays.join(", ");
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sync_points = self.sync_points().into_iter();
        for part in &self.plan.parts {
            match part {
                Part::Stage(nodes) => {
                    let names: Vec<_> =
                        nodes.iter().map(|&node| &*self.nodes[node].info.name).collect();
                    writeln!(f, "stage: {}", names.join(", "))?;
                }
                Part::Exclusive(node) => writeln!(f, "alone: {}", self.nodes[*node].info.name)?,
                Part::Sync(_) => {
                    sync_points.next().map_or(Ok(()), |point| writeln!(f, "{point}"))?;
                }
            }
        }
        Ok(())
    }
}
