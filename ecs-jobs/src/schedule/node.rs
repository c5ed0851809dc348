//! The nodes of a schedule, its shared conditions, and the plan of a run.

use std::any::TypeId;

use formic_ecs::{DeclaredAccess, World};

use super::access::{EventAging, SystemAccess};
use super::condition::Condition;
use super::draft::{Draft, DraftSwitch, Kind};
use super::error::{Ambiguity, ScheduleError};
use super::graph::Graph;
use super::group::Group;
use super::param::RunContext;
use super::rate::Rate;
use super::save::StateArchive;
use super::stages::Part;
use super::system::System;
use crate::static_graph::{Sharing, StaticGraph};
use crate::sync::{AtomicBool, Mutex, Ordering};

/// A system, or the condition of a switch.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) role: Role,
    /// Those that have to be on.
    pub(super) switches: Vec<usize>,
    pub(super) rate: Rate,
    pub(super) rights: DeclaredAccess,
    pub(super) groups: Vec<Group>,
    /// Locked by the thread that runs it; the graph lets only one do so.
    pub(super) slot: Mutex<Slot>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is a system; of this type.
    System(TypeId),
    /// The same, with the world to itself.
    Exclusive(TypeId),
    /// It sets a switch.
    Switch(usize),
}

/// What running a node changes.
pub(super) struct Slot {
    /// None for a switch.
    pub(super) system: Option<Box<dyn System>>,
    pub(super) conditions: Vec<Condition>,
    /// Whether the system says that it records commands.
    pub(super) records_commands: bool,
    /// What it said when it panicked, in a run that went on.
    pub(super) panic: Option<String>,
    /// When its turn came the last time, and what came of it.
    pub(super) last: Option<(u64, Outcome)>,
}

/// What came of a node's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ran,
    /// The first of its switches that is off.
    SwitchedOff(usize),
    /// In how many ticks it will be due.
    NotDue(u32),
    /// The first of its conditions that does not hold.
    NotWanted(usize),
    Panicked,
}

/// A condition of several systems.
#[derive(Debug)]
pub(super) struct Switch {
    /// None for the condition of a tuple.
    pub(super) group: Option<Group>,
    /// Its node.
    pub(super) node: usize,
    /// Relaxed: the graph orders who sets it and who looks.
    pub(super) is_on: AtomicBool,
}

impl Slot {
    fn new(system: Option<Box<dyn System>>, conditions: Vec<Condition>) -> Mutex<Self> {
        Mutex::new(Self { system, conditions, records_commands: false, panic: None, last: None })
    }

    /// Saves or loads what the system and its conditions keep from run to run.
    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(system) = &mut self.system {
            system.visit_state(archive);
        }
        self.conditions.iter_mut().for_each(|condition| condition.visit_state(archive));
    }

    /// Why the node is not to run in this tick, if it is not.
    ///
    /// # Panics
    /// Panics if a condition does.
    pub(super) fn hindrance(
        &mut self,
        node: (&[usize], Rate),
        switches: &[Switch],
        context: &RunContext<'_>,
        tick: u64,
    ) -> Option<Outcome> {
        let (wanted, rate) = node;
        if let Some(&off) =
            wanted.iter().find(|&&switch| !switches[switch].is_on.load(Ordering::Relaxed))
        {
            return Some(Outcome::SwitchedOff(off));
        }
        if let Some(ticks) = rate.ticks_to_go(tick) {
            return Some(Outcome::NotDue(ticks));
        }
        let refused = self.conditions.iter_mut().position(|condition| !condition.holds(*context));
        refused.map(Outcome::NotWanted)
    }
}

/// Nodes that are ready for a world.
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    pub(super) accesses: Vec<SystemAccess>,
    pub(super) switches: Vec<Switch>,
    pub(super) aging: Vec<EventAging>,
}

impl Built {
    /// Gets all systems and conditions ready, in the order of adding.
    pub(super) fn of(
        draft: Draft,
        names: &[String],
        world: &mut World,
    ) -> Result<Self, ScheduleError> {
        let groups: Vec<_> = draft.groups.iter().map(|config| config.group).collect();
        let member_groups: Vec<Vec<Group>> = (0..draft.members.len())
            .map(|member| draft.groups_of(member).map(|group| groups[group]).collect())
            .collect();
        let mut switches: Vec<_> = draft
            .switches
            .iter()
            .map(|switch| Switch {
                group: switch.group.map(|group| groups[group]),
                node: 0,
                is_on: AtomicBool::new(true),
            })
            .collect();
        // The largest groups first, so that the outermost one is named as the reason.
        let mut by_depth: Vec<usize> = (0..switches.len()).collect();
        by_depth.sort_by_key(|&switch| draft.switches[switch].outer.len());
        let member_switches: Vec<Vec<usize>> = (0..draft.members.len())
            .map(|member| {
                let has = |switch: &usize| draft.switches[*switch].members.contains(&member);
                by_depth.iter().copied().filter(has).collect()
            })
            .collect();

        let Draft { members, switches: drafts, nodes: kinds, .. } = draft;
        let mut members: Vec<_> = members.into_iter().map(Some).collect();
        let mut drafts: Vec<_> = drafts.into_iter().map(Some).collect();
        let mut built = Self {
            nodes: Vec::new(),
            accesses: Vec::new(),
            switches: Vec::new(),
            aging: Vec::new(),
        };
        for (place, (kind, name)) in kinds.into_iter().zip(names).enumerate() {
            match kind {
                Kind::Member(number) => {
                    let member = members[number].take().expect("each member is one node");
                    let mut system = member.system;
                    let access = system.initialize(world);
                    check_clashes(name, &access)?;
                    let role = if access.is_exclusive() {
                        Role::Exclusive(member.key)
                    } else {
                        Role::System(member.key)
                    };
                    let node = Node {
                        name: name.clone(),
                        role,
                        switches: member_switches[number].clone(),
                        rate: member.rate,
                        rights: DeclaredAccess::default(),
                        groups: member_groups[number].clone(),
                        slot: Slot::new(Some(system), member.conditions),
                    };
                    built.push(node, access, world)?;
                }
                Kind::Switch(number) => {
                    let DraftSwitch { conditions, outer, .. } =
                        drafts[number].take().expect("each switch is one node");
                    switches[number].node = place;
                    let node = Node {
                        name: name.clone(),
                        role: Role::Switch(number),
                        switches: outer,
                        rate: Rate::default(),
                        rights: DeclaredAccess::default(),
                        groups: Vec::new(),
                        slot: Slot::new(None, conditions),
                    };
                    built.push(node, SystemAccess::default(), world)?;
                }
            }
        }
        built.switches = switches;
        Ok(built)
    }

    /// Adds a node, with the access of its conditions on top of its own.
    fn push(
        &mut self,
        mut node: Node,
        mut access: SystemAccess,
        world: &mut World,
    ) -> Result<(), ScheduleError> {
        let slot = node.slot.get_mut();
        slot.records_commands = access.records_commands();
        for condition in &mut slot.conditions {
            let reads = condition.initialize(world);
            check_clashes(condition.name(), &reads)?;
            if !reads.is_read_only() {
                let (condition, system) = (condition.name().into(), node.name);
                return Err(ScheduleError::WritingCondition { condition, system });
            }
            access.absorb(&reads);
        }
        node.rights = access.rights(&node.name);
        for aging in access.event_aging() {
            match self.aging.iter_mut().find(|known| known.id == aging.id) {
                Some(known) => known.writes |= aging.writes,
                None => self.aging.push(*aging),
            }
        }
        self.accesses.push(access);
        self.nodes.push(node);
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
            let nodes = match part {
                Part::Stage(nodes) => nodes,
                Part::Exclusive(node) => std::slice::from_ref(node),
                Part::Sync(_) => &[],
            };
            for (turn, &node) in nodes.iter().enumerate() {
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
