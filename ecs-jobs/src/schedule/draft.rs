//! A draft of a schedule: the configuration of systems and groups, by number.

use std::collections::BTreeSet;

use super::condition::Condition;
use super::config::{Item, Member, SystemConfig};
use super::error::ScheduleError;
use super::group::{Placement, Set, SetConfig, StepKind, Target};
use super::name;

/// A node of the graph.
pub(super) enum DraftNode {
    /// A system, and the sets that contain it, at any depth.
    Member(Member, Vec<usize>),
    /// The shared conditions of a set, by its number; it begins the set.
    SharedCondition(usize),
}

/// The configuration of systems and groups, by number.
pub(super) struct Draft {
    pub(super) sets: Vec<SetConfig>,
    /// For each set, the sets that contain it, at any depth.
    pub(super) around_sets: Vec<Vec<usize>>,
    /// In the order of adding; the conditions of a set precede the first of its systems.
    pub(super) nodes: Vec<DraftNode>,
    /// For each set, the node or boundary before everything in it, and the boundary after it.
    set_ends: Vec<[usize; 2]>,
}

type Steps = Vec<(usize, usize, StepKind)>;

impl Draft {
    pub(super) fn new(systems: SystemConfig) -> Self {
        let (mut members, mut sets) = (Vec::<Member>::new(), Vec::new());
        for item in systems.items {
            match item {
                Item::System(member) => members.push(member),
                Item::Set(config) => {
                    let number = number_of(config.set, &mut sets);
                    sets[number].merge(config);
                }
            }
        }
        let numbers_of = |named: &[Set], sets: &mut Vec<SetConfig>| -> Vec<usize> {
            named.iter().map(|&set| number_of(set, sets)).collect()
        };
        let direct: Vec<_> =
            members.iter().map(|member| numbers_of(&member.place.sets, &mut sets)).collect();
        let mut outer: Vec<Vec<usize>> = Vec::new();
        while outer.len() < sets.len() {
            let named = sets[outer.len()].place.sets.clone();
            outer.push(numbers_of(&named, &mut sets));
        }
        let all_around = |direct: &Vec<usize>| all_around(direct, &outer);
        let around_sets: Vec<_> = outer.iter().map(all_around).collect();

        let has_condition = |&set: &usize| !sets[set].place.conditions.is_empty();
        let mut shared_conditions: Vec<usize> = (0..sets.len()).filter(has_condition).collect();
        shared_conditions.sort_by_key(|&set| around_sets[set].len());
        let mut nodes = Vec::new();
        for (member, around) in members.into_iter().zip(direct.iter().map(all_around)) {
            let (first, later): (Vec<_>, _) =
                shared_conditions.into_iter().partition(|set| around.contains(set));
            nodes.extend(first.into_iter().map(DraftNode::SharedCondition));
            nodes.push(DraftNode::Member(member, around));
            shared_conditions = later;
        }
        let boundaries_of = |set: usize| [0, 1].map(|end| nodes.len() + 2 * set + end);
        let mut set_ends: Vec<_> = (0..sets.len()).map(boundaries_of).collect();
        for (number, node) in nodes.iter().enumerate() {
            if let DraftNode::SharedCondition(set) = *node {
                set_ends[set][0] = number;
            }
        }
        Self { sets, around_sets, nodes, set_ends }
    }

    /// The systems by their nodes, with the sets that contain them.
    fn members(&self) -> impl Iterator<Item = (usize, &Member, &[usize])> {
        self.nodes.iter().enumerate().filter_map(|(number, node)| match node {
            DraftNode::Member(member, around) => Some((number, member, &**around)),
            DraftNode::SharedCondition(_) => None,
        })
    }

    /// Those of the given sets that have conditions and systems, the largest first.
    pub(super) fn shared_conditions_of(&self, sets: &[usize]) -> Vec<usize> {
        // A node begins it, in place of the boundary beside the one at its end.
        let has_shared_condition =
            |&&set: &&usize| self.set_ends[set][0] + 1 != self.set_ends[set][1];
        let mut shared_conditions: Vec<_> =
            sets.iter().filter(has_shared_condition).copied().collect();
        shared_conditions.sort_by_key(|&set| (self.around_sets[set].len(), set));
        shared_conditions
    }

    /// The nodes of the members in a set, directly or not.
    fn nodes_in(&self, set: usize) -> Vec<usize> {
        let inside = self.members().filter(|(.., around)| around.contains(&set));
        inside.map(|(node, ..)| node).collect()
    }

    /// The names of nodes and set boundaries.
    pub(super) fn names(&self) -> Vec<String> {
        let nodes = self.nodes.iter().map(|node| match node {
            DraftNode::Member(member, _) => name::of_system(member.system.name()),
            DraftNode::SharedCondition(set) => {
                let config = &self.sets[*set];
                let conditions: Vec<_> =
                    config.place.conditions.iter().map(Condition::name).collect();
                let whose = config.set.group().map(|_| format!(" of {}", config.set.name()));
                format!("the condition {}{}", conditions.join(" and "), whose.unwrap_or_default())
            }
        });
        let boundaries = self.sets.iter().flat_map(|config| [config.set.name(), config.set.name()]);
        nodes.chain(boundaries).collect()
    }

    /// The declared steps between nodes and set boundaries: the first runs before the second.
    pub(super) fn declared(&self) -> Result<Steps, ScheduleError> {
        let mut steps = Steps::new();
        for (node, member, _) in self.members() {
            let asking = || name::of_system(member.system.name());
            self.place(&member.place, [node, node], &asking, &mut steps)?;
        }
        for (set, config) in self.sets.iter().enumerate() {
            let [begin, end] = self.set_ends[set];
            self.place(&config.place, [begin, end], &|| config.set.name(), &mut steps)?;
            let mut add = |first, second| steps.push((first, second, StepKind::Synced));
            // Also for an empty set.
            add(begin, end);
            for &outer in &self.around_sets[set] {
                let [outer_begin, outer_end] = self.set_ends[outer];
                add(outer_begin, begin);
                add(end, outer_end);
            }
            let inside = self.nodes_in(set);
            for &node in &inside {
                add(begin, node);
                add(node, end);
            }
            if config.chained {
                inside.windows(2).for_each(|pair| add(pair[0], pair[1]));
            }
        }
        Ok(steps)
    }

    /// Adds the steps that were declared for an item: from others to its beginning, and from its end to
    /// others.
    fn place(
        &self,
        place: &Placement,
        [begin, end]: [usize; 2],
        asking: &dyn Fn() -> String,
        steps: &mut Steps,
    ) -> Result<(), ScheduleError> {
        for &(target, step) in &place.after {
            let earlier = self.ends_of(target, 1, asking)?;
            steps.extend(earlier.into_iter().map(|earlier| (earlier, begin, step)));
        }
        for &(target, step) in &place.before {
            let later = self.ends_of(target, 0, asking)?;
            steps.extend(later.into_iter().map(|later| (end, later, step)));
        }
        Ok(())
    }

    /// The nodes that are meant to run after everything added before them.
    pub(super) fn after_earlier(&self) -> Vec<usize> {
        let members = self.members().filter(|(_, member, _)| member.is_after_earlier);
        members.map(|(node, ..)| node).collect()
    }

    /// The pairs of nodes that were declared ambiguous on purpose, the smaller number first.
    pub(super) fn silenced(&self) -> BTreeSet<(usize, usize)> {
        let mut pairs = BTreeSet::new();
        for (node, member, _) in self.members() {
            for &target in &member.ambiguous_with {
                let others = match target {
                    Target::Type(..) => self.nodes_of(target),
                    Target::Set(set) => {
                        self.find(set).map_or_else(Vec::new, |set| self.nodes_in(set))
                    }
                };
                pairs.extend(others.into_iter().map(|other| (node.min(other), node.max(other))));
            }
        }
        pairs
    }

    fn find(&self, set: Set) -> Option<usize> {
        self.sets.iter().position(|known| known.set == set)
    }

    /// The systems of a type.
    fn nodes_of(&self, target: Target) -> Vec<usize> {
        let is_meant =
            |member: &Member| matches!(target, Target::Type(key, _) if key == member.key);
        self.members().filter(|(_, member, _)| is_meant(member)).map(|(node, ..)| node).collect()
    }

    /// The nodes of a target; for a group, the boundary at its beginning (0) or end (1).
    fn ends_of(
        &self,
        target: Target,
        end: usize,
        asking: &dyn Fn() -> String,
    ) -> Result<Vec<usize>, ScheduleError> {
        let found = match target {
            Target::Type(..) => self.nodes_of(target),
            Target::Set(set) => {
                self.find(set).map(|set| self.set_ends[set][end]).into_iter().collect()
            }
        };
        if found.is_empty() {
            return Err(ScheduleError::UnknownSystem { system: asking(), other: target.name() });
        }
        Ok(found)
    }
}

/// The number of a set, which is added if it is new.
fn number_of(set: Set, sets: &mut Vec<SetConfig>) -> usize {
    sets.iter().position(|known| known.set == set).unwrap_or_else(|| {
        sets.push(SetConfig::of(set));
        sets.len() - 1
    })
}

/// The given sets, and the sets around them at any depth.
fn all_around(direct: &[usize], outer: &[Vec<usize>]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = direct.to_vec();
    while let Some(set) = open.pop() {
        if !found.contains(&set) {
            found.push(set);
            open.extend_from_slice(&outer[set]);
        }
    }
    found
}
