//! The nodes of a schedule, its shared conditions, and the plan of a run.

use std::any::TypeId;

use formic_ecs::{DeclaredAccess, World};

use super::access::{EventAging, Expected, SystemAccess};
use super::condition::Condition;
use super::config::Member;
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

/// A system, or the shared condition of a set.
pub(super) struct Node {
    pub(super) info: NodeInfo,
    /// Locked by the thread that runs the node; the graph lets only one thread do so.
    pub(super) state: Mutex<NodeState>,
}

/// The fixed properties of a node.
pub(super) struct NodeInfo {
    pub(super) name: String,
    pub(super) role: Role,
    /// The sets whose conditions must hold.
    pub(super) shared_conditions: Vec<usize>,
    pub(super) rate: Rate,
    pub(super) rights: DeclaredAccess,
    /// The sets that contain it; for a shared condition, its own set.
    pub(super) sets: Vec<Set>,
    /// Whether it declares that it records commands.
    pub(super) records_commands: bool,
}

impl NodeInfo {
    /// Whether it is a system that this target names.
    pub(super) fn is(&self, target: Target) -> bool {
        match target {
            Target::Type(wanted, _) => {
                matches!(self.role, Role::System(key) | Role::Exclusive(key) if key == wanted)
            }
            Target::Set(wanted) => self.sets.contains(&wanted),
        }
    }
}

/// The role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A system of this type.
    System(TypeId),
    /// An exclusive system of this type.
    Exclusive(TypeId),
    /// Evaluates the shared condition of a set.
    SharedCondition(usize),
}

/// The state of a node that a run changes.
pub(super) struct NodeState {
    /// `None` for a shared condition.
    pub(super) system: Option<Box<dyn System>>,
    pub(super) conditions: Vec<Condition>,
    /// The message of its panic, in a run that went on.
    pub(super) panic: Option<String>,
    /// The tick of its last turn, and the outcome.
    pub(super) last: Option<(u64, Outcome)>,
}

/// The outcome of a node's turn. With indices as `u32` it is two numbers, which stay in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ran,
    /// The first of its shared conditions that does not hold.
    SharedConditionFalse(u32),
    /// The number of ticks until it is due.
    NotDue(u32),
    /// The first of its conditions that does not hold.
    NotWanted(u32),
    Panicked,
}

impl NodeState {
    /// Saves or loads the state of the system and its conditions between runs.
    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(system) = &mut self.system {
            system.visit_state(archive);
        }
        self.conditions.iter_mut().for_each(|condition| condition.test.visit_state(archive));
    }
}

/// For each set, whether its conditions hold. Relaxed: the graph orders writers and readers.
pub(super) type SharedConditions = Vec<AtomicBool>;

/// Nodes that are initialized for a world.
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    pub(super) accesses: Vec<SystemAccess>,
    pub(super) shared_conditions: SharedConditions,
    pub(super) aging: Vec<EventAging>,
}

impl Built {
    /// Initializes all systems and conditions, in the order of adding.
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
        };
        let nodes = std::mem::take(&mut draft.nodes);
        for (node, name) in nodes.into_iter().zip(names) {
            let info = |role, around: &[usize], sets: &[usize], rate| NodeInfo {
                name: name.clone(),
                role,
                shared_conditions: draft.shared_conditions_of(around),
                rate,
                rights: DeclaredAccess::default(),
                sets: sets.iter().map(|&set| draft.sets[set].set).collect(),
                records_commands: false,
            };
            match node {
                DraftNode::Member(member, around) => {
                    let Member { key, mut system, place, rate, .. } = member;
                    let access = system.initialize(world);
                    check_clashes(name, &access)?;
                    let is_exclusive = access.is_exclusive();
                    let role = if is_exclusive { Role::Exclusive(key) } else { Role::System(key) };
                    let info = info(role, &around, &around, rate);
                    built.push(info, Some(system), place.conditions, access, world)?;
                }
                DraftNode::SharedCondition(set) => {
                    let (role, around) = (Role::SharedCondition(set), &draft.around_sets[set]);
                    let info = info(role, around, &[set], Rate::default());
                    let conditions = std::mem::take(&mut draft.sets[set].place.conditions);
                    built.push(info, None, conditions, SystemAccess::default(), world)?;
                }
            }
        }
        Ok(built)
    }

    /// Returns the pairs of nodes of which the first must be declared to run before the second, with the
    /// error to return otherwise.
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

    /// The error of the first unconditional system that requires a missing resource.
    pub(super) fn missing(&self, world: &World) -> Option<ScheduleError> {
        self.nodes.iter().zip(&self.accesses).find_map(|(Node { info, state }, access)| {
            let is_conditional =
                !info.shared_conditions.is_empty() || !state.lock().conditions.is_empty();
            let missing = |resource| {
                let system = info.name.clone();
                ScheduleError::MissingResource { system, resource }
            };
            access.missing_resource(world).filter(|_| !is_conditional).map(missing)
        })
    }

    /// Adds a node, whose access includes that of its conditions.
    fn push(
        &mut self,
        mut info: NodeInfo,
        system: Option<Box<dyn System>>,
        mut conditions: Vec<Condition>,
        mut access: SystemAccess,
        world: &mut World,
    ) -> Result<(), ScheduleError> {
        info.records_commands = access.records_commands();
        for condition in &mut conditions {
            let reads = condition.test.initialize(world);
            check_clashes(condition.name(), &reads)?;
            if !reads.is_read_only() {
                let (condition, system) = (condition.name().into(), info.name);
                return Err(ScheduleError::WritingCondition { condition, system });
            }
            access.absorb(&reads);
        }
        info.rights = access.rights(&info.name);
        for aging in &access.events {
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

pub(super) fn check_clashes(system: &str, access: &SystemAccess) -> Result<(), ScheduleError> {
    if access.clashes().is_empty() {
        return Ok(());
    }
    let (system, wanted) = (system.into(), access.clashes().to_vec());
    Err(ScheduleError::Contradiction { system, wanted })
}

/// The plan of a run, by node numbers.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    /// For each node, its successors.
    pub(super) successors: Vec<Vec<usize>>,
    /// For each node, its successors in its stage.
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
            within_stages: StaticGraph::new(within_stages, sharing),
            turns,
            ambiguities: graph.ambiguities,
        }
    }
}
