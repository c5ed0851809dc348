//! The nodes of a schedule, its shared conditions, and the plan of a run.

use std::any::TypeId;

use formic_ecs::{DeclaredAccess, World};

use super::access::{EventAging, Expected, SystemAccess};
use super::condition::Condition;
use super::draft::{Draft, DraftNode};
use super::error::{Ambiguity, ScheduleError};
use super::graph::Graph;
use super::group::{Set, Target};
use super::rate::Rate;
use super::save::StateArchive;
use super::stages::Part;
use super::system::System;
use crate::static_graph::{Sharing, StaticGraph};
use crate::sync::{AtomicBool, Mutex};

/// A system, or the condition of a switch.
pub(super) struct Node {
    pub(super) info: NodeInfo,
    /// Locked by the thread that runs it; the graph lets only one do so.
    pub(super) state: Mutex<NodeState>,
}

/// What is settled about a node.
pub(super) struct NodeInfo {
    pub(super) name: String,
    pub(super) role: Role,
    /// The sets that have to be on.
    pub(super) shared_conditions: Vec<usize>,
    pub(super) rate: Rate,
    pub(super) rights: DeclaredAccess,
    /// The sets that it is in, or of a switch the one that it is of.
    pub(super) sets: Vec<Set>,
    /// Whether it says that it records commands.
    pub(super) records_commands: bool,
}

impl NodeInfo {
    /// Whether it is a system that this names.
    pub(super) fn is(&self, target: Target) -> bool {
        match target {
            Target::Type(wanted, _) => {
                matches!(self.role, Role::System(key) | Role::Exclusive(key) if key == wanted)
            }
            Target::Set(wanted) => self.sets.contains(&wanted),
        }
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is a system; of this type.
    System(TypeId),
    /// The same, with the world to itself.
    Exclusive(TypeId),
    /// It sets the switch of a set.
    SharedCondition(usize),
}

/// What running a node changes.
pub(super) struct NodeState {
    /// None for a switch.
    pub(super) system: Option<Box<dyn System>>,
    pub(super) conditions: Vec<Condition>,
    /// What it said when it panicked, in a run that went on.
    pub(super) panic: Option<String>,
    /// When its turn came the last time, and what came of it.
    pub(super) last: Option<(u64, Outcome)>,
}

/// What came of a node's turn. With places as `u32` it is two numbers, which stay in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ran,
    /// The first of its shared conditions that is off.
    SharedConditionFalse(u32),
    /// In how many ticks it will be due.
    NotDue(u32),
    /// The first of its conditions that does not hold.
    NotWanted(u32),
    Panicked,
}

impl NodeState {
    /// Saves or loads what the system and its conditions keep from run to run.
    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(system) = &mut self.system {
            system.visit_state(archive);
        }
        self.conditions.iter_mut().for_each(|condition| condition.visit_state(archive));
    }
}

/// For each set, whether its conditions hold. Relaxed: the graph orders who sets it and who looks.
pub(super) type SharedConditions = Vec<AtomicBool>;

/// Nodes that are ready for a world.
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    pub(super) accesses: Vec<SystemAccess>,
    pub(super) shared_conditions: SharedConditions,
    pub(super) aging: Vec<EventAging>,
    /// The first system that runs under no condition, and takes a resource that is not there.
    pub(super) missing: Option<ScheduleError>,
}

impl Built {
    /// Gets all systems and conditions ready, in the order of adding.
    pub(super) fn of(
        mut draft: Draft,
        names: &[String],
        world: &mut World,
    ) -> Result<Self, ScheduleError> {
        let mut built = Self {
            nodes: Vec::new(),
            accesses: Vec::new(),
            shared_conditions: draft.sets.iter().map(|_| AtomicBool::new(true)).collect(),
            aging: Vec::new(),
            missing: None,
        };
        let mut members = std::mem::take(&mut draft.members).into_iter();
        for (&kind, name) in draft.nodes.iter().zip(names) {
            let mut info = NodeInfo {
                name: name.clone(),
                role: Role::SharedCondition(0),
                shared_conditions: Vec::new(),
                rate: Rate::default(),
                rights: DeclaredAccess::default(),
                sets: Vec::new(),
                records_commands: false,
            };
            match kind {
                DraftNode::Member(number) => {
                    let member = members.next().expect("each member is one node");
                    let mut system = member.system;
                    let access = system.initialize(world);
                    check_clashes(name, &access)?;
                    info.role = if access.is_exclusive() {
                        Role::Exclusive(member.key)
                    } else {
                        Role::System(member.key)
                    };
                    let around = &draft.around_members[number];
                    info.shared_conditions = draft.shared_conditions_of(around);
                    info.sets = around.iter().map(|&set| draft.sets[set].set).collect();
                    info.rate = member.rate;
                    built.push(info, Some(system), member.place.conditions, access, world)?;
                }
                DraftNode::SharedCondition(set) => {
                    info.role = Role::SharedCondition(set);
                    info.shared_conditions = draft.shared_conditions_of(&draft.around_sets[set]);
                    info.sets.push(draft.sets[set].set);
                    let conditions = std::mem::take(&mut draft.sets[set].place.conditions);
                    built.push(info, None, conditions, SystemAccess::default(), world)?;
                }
            }
        }
        Ok(built)
    }

    /// Pairs of nodes of which the first has to be declared to run before the second, with the error
    /// where it is not.
    pub(super) fn expected(&self) -> Result<Vec<(usize, usize, ScheduleError)>, ScheduleError> {
        let mut pairs = Vec::new();
        for (node, access) in self.accesses.iter().enumerate() {
            for &Expected { others: (id, name), is_after, how } in &access.expected {
                let other = Target::Type(id, name);
                let system = || self.nodes[node].info.name.clone();
                let is_meant = |&at: &usize| self.nodes[at].info.is(other);
                let others: Vec<usize> = (0..self.nodes.len()).filter(is_meant).collect();
                if others.is_empty() {
                    let other = other.name();
                    return Err(ScheduleError::UnknownSystem { system: system(), other });
                }
                let side = if is_after { "after" } else { "before" };
                pairs.extend(others.into_iter().map(|at| {
                    let (system, other) = (system(), other.name());
                    let error = ScheduleError::Misplaced { system, side, other, how };
                    if is_after { (at, node, error) } else { (node, at, error) }
                }));
            }
        }
        Ok(pairs)
    }

    /// Adds a node, with the access of its conditions on top of its own.
    fn push(
        &mut self,
        mut info: NodeInfo,
        system: Option<Box<dyn System>>,
        mut conditions: Vec<Condition>,
        mut access: SystemAccess,
        world: &mut World,
    ) -> Result<(), ScheduleError> {
        info.records_commands = access.records_commands();
        if self.missing.is_none() && conditions.is_empty() && info.shared_conditions.is_empty() {
            let missing = |resource| {
                let system = info.name.clone();
                ScheduleError::MissingResource { system, resource }
            };
            self.missing = access.missing_resource(world).map(missing);
        }
        for condition in &mut conditions {
            let reads = condition.initialize(world);
            check_clashes(condition.name(), &reads)?;
            if !reads.is_read_only() {
                let (condition, system) = (condition.name().into(), info.name);
                return Err(ScheduleError::WritingCondition { condition, system });
            }
            access.absorb(&reads);
        }
        info.rights = access.rights(&info.name);
        for aging in access.event_aging() {
            match self.aging.iter_mut().find(|known| known.id == aging.id) {
                Some(known) => known.writes |= aging.writes,
                None => self.aging.push(*aging),
            }
        }
        self.accesses.push(access);
        let state = NodeState { system, conditions, panic: None, last: None };
        self.nodes.push(Node { info, state: Mutex::new(state) });
        Ok(())
    }
}

fn check_clashes(system: &str, access: &SystemAccess) -> Result<(), ScheduleError> {
    if access.clashes().is_empty() {
        return Ok(());
    }
    let (system, wanted) = (system.into(), access.clashes().to_vec());
    Err(ScheduleError::Contradiction { system, wanted })
}

/// What a run does, in numbers.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    /// For each node, those that wait for it.
    pub(super) successors: Vec<Vec<usize>>,
    /// The same, of one stage.
    pub(super) within_stages: StaticGraph,
    /// For each node, its turn in its stage.
    pub(super) turns: Vec<usize>,
    pub(super) ambiguities: Vec<Ambiguity>,
}

impl Plan {
    pub(super) fn new(graph: Graph, parts: Vec<Part>, sharing: Sharing) -> Self {
        let count = graph.successors.len();
        let (mut stage_of, mut turns) = (vec![0; count], vec![0; count]);
        for (number, part) in parts.iter().enumerate() {
            for (turn, &node) in part.nodes().iter().enumerate() {
                (stage_of[node], turns[node]) = (number, turn);
            }
        }
        let mut within_stages = graph.successors.clone();
        for (node, successors) in within_stages.iter_mut().enumerate() {
            successors.retain(|&successor| stage_of[successor] == stage_of[node]);
        }
        Self {
            parts,
            successors: graph.successors,
            within_stages: StaticGraph::new(&within_stages, sharing),
            turns,
            ambiguities: graph.ambiguities,
        }
    }
}
