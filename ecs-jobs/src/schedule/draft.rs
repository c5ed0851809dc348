//! All that was said of systems and groups, in numbers.

use std::collections::BTreeSet;

use super::condition::Condition;
use super::config::{Member, SystemConfig};
use super::error::ScheduleError;
use super::group::{Group, GroupConfig, Step, Target};
use super::name;

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The condition of a switch.
    Switch(usize),
    Member(usize),
}

/// A condition for several systems.
pub(super) struct DraftSwitch {
    pub(super) group: Option<usize>,
    pub(super) conditions: Vec<Condition>,
    pub(super) members: Vec<usize>,
    /// The switches of the groups that its group is in.
    pub(super) outer: Vec<usize>,
}

/// All that was said, in numbers.
pub(super) struct Draft {
    pub(super) members: Vec<Member>,
    chains: Vec<(usize, usize, Step)>,
    pub(super) groups: Vec<GroupConfig>,
    /// For each group, the groups that it is in, at whatever depth.
    outer: Vec<Vec<usize>>,
    /// For each member, the groups that it was put into.
    direct: Vec<Vec<usize>>,
    pub(super) switches: Vec<DraftSwitch>,
    /// In the order of adding; the condition of several systems before the first of them.
    pub(super) nodes: Vec<Kind>,
}

impl Draft {
    pub(super) fn new(systems: SystemConfig, mut groups: Vec<GroupConfig>) -> Self {
        let SystemConfig { members, chains, shared, .. } = systems;
        let mut direct: Vec<Vec<usize>> = Vec::new();
        for member in &members {
            let named = member.groups.iter();
            direct.push(named.map(|&group| position(&mut groups, group)).collect());
        }
        let mut place = 0;
        let mut inside: Vec<Vec<usize>> = Vec::new();
        while place < groups.len() {
            let named = groups[place].groups.clone();
            inside.push(named.into_iter().map(|group| position(&mut groups, group)).collect());
            place += 1;
        }
        let outer: Vec<_> = (0..groups.len()).map(|group| all_outer(&inside, group)).collect();
        let mut draft = Self {
            members,
            chains,
            groups,
            outer,
            direct,
            switches: Vec::new(),
            nodes: Vec::new(),
        };
        draft.make_switches(shared);
        draft.make_nodes();
        draft
    }

    /// Whether a member is in a group, directly or not.
    fn is_in(&self, member: usize, group: usize) -> bool {
        self.direct[member].iter().any(|&own| own == group || self.outer[own].contains(&group))
    }

    /// All groups that a member is in, directly or not.
    pub(super) fn groups_of(&self, member: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.groups.len()).filter(move |&group| self.is_in(member, group))
    }

    fn members_of(&self, group: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|&member| self.is_in(member, group)).collect()
    }

    fn make_switches(&mut self, shared: Vec<Condition>) {
        for (number, condition) in shared.into_iter().enumerate() {
            let has = |&member: &usize| self.members[member].shared.contains(&number);
            let members = (0..self.members.len()).filter(has).collect();
            let conditions = vec![condition];
            self.switches.push(DraftSwitch { group: None, conditions, members, outer: Vec::new() });
        }
        let first = self.switches.len();
        for group in 0..self.groups.len() {
            let conditions = std::mem::take(&mut self.groups[group].conditions);
            if !conditions.is_empty() {
                let members = self.members_of(group);
                let switch = DraftSwitch { group: Some(group), conditions, members, outer: vec![] };
                self.switches.push(switch);
            }
        }
        for inner in first..self.switches.len() {
            let is_around = |&other: &usize| {
                let group = |switch: usize| self.switches[switch].group.expect("it is a group's");
                self.outer[group(inner)].contains(&group(other))
            };
            let outer = (first..self.switches.len()).filter(is_around).collect();
            self.switches[inner].outer = outer;
        }
    }

    fn make_nodes(&mut self) {
        let first_of = |switch: usize| self.switches[switch].members.first().copied();
        for member in 0..self.members.len() {
            let mut here: Vec<_> = (0..self.switches.len())
                .filter(|&switch| first_of(switch) == Some(member))
                .collect();
            // Larger groups first.
            here.sort_by_key(|&switch| self.switches[switch].outer.len());
            self.nodes.extend(here.into_iter().map(Kind::Switch));
            self.nodes.push(Kind::Member(member));
        }
    }

    fn node_of(&self, kind: Kind) -> Option<usize> {
        self.nodes.iter().position(|&node| node == kind)
    }

    /// The post before everything in a group, and the one after it.
    fn posts_of(&self, group: usize) -> [usize; 2] {
        [self.nodes.len() + 2 * group, self.nodes.len() + 2 * group + 1]
    }

    pub(super) fn names(&self) -> Vec<String> {
        let of_group = |group: &GroupConfig| Target::Group(group.group).name();
        let nodes = self.nodes.iter().map(|&kind| match kind {
            Kind::Member(member) => name::of_system(self.members[member].system.name()),
            Kind::Switch(switch) => {
                let switch = &self.switches[switch];
                let conditions: Vec<_> = switch.conditions.iter().map(Condition::name).collect();
                let whose =
                    switch.group.map(|group| format!(" of {}", of_group(&self.groups[group])));
                format!("the condition {}{}", conditions.join(" and "), whose.unwrap_or_default())
            }
        });
        let posts = self.groups.iter().flat_map(|group| [of_group(group), of_group(group)]);
        nodes.chain(posts).collect()
    }

    /// The declared steps between nodes and posts: the first runs before the second.
    pub(super) fn declared(&self) -> Result<Vec<(usize, usize, Step)>, ScheduleError> {
        let mut steps = Vec::new();
        let mut node_of = vec![0; self.members.len()];
        for (node, kind) in self.nodes.iter().enumerate() {
            if let Kind::Member(member) = *kind {
                node_of[member] = node;
            }
        }
        let chained =
            |&(first, second, step): &(usize, usize, Step)| (node_of[first], node_of[second], step);
        steps.extend(self.chains.iter().map(chained));
        for (member, config) in self.members.iter().enumerate() {
            let asking = || name::of_system(config.system.name());
            let node = node_of[member];
            for &(target, step) in &config.after {
                let earlier = self.ends_of(target, &node_of, 1, &asking)?;
                steps.extend(earlier.into_iter().map(|earlier| (earlier, node, step)));
            }
            for &(target, step) in &config.before {
                let later = self.ends_of(target, &node_of, 0, &asking)?;
                steps.extend(later.into_iter().map(|later| (node, later, step)));
            }
        }
        for (group, config) in self.groups.iter().enumerate() {
            let asking = || Target::Group(config.group).name();
            let [begin, end] = self.posts_of(group);
            for &(target, step) in &config.after {
                let earlier = self.ends_of(target, &node_of, 1, &asking)?;
                steps.extend(earlier.into_iter().map(|earlier| (earlier, begin, step)));
            }
            for &(target, step) in &config.before {
                let later = self.ends_of(target, &node_of, 0, &asking)?;
                steps.extend(later.into_iter().map(|later| (end, later, step)));
            }
            for &outer in &self.outer[group] {
                let [outer_begin, outer_end] = self.posts_of(outer);
                steps.push((outer_begin, begin, Step::Synced));
                steps.push((end, outer_end, Step::Synced));
            }
            // Also where it is empty.
            steps.push((begin, end, Step::Synced));
            let members = self.members_of(group);
            for &member in &members {
                steps.push((begin, node_of[member], Step::Synced));
                steps.push((node_of[member], end, Step::Synced));
            }
            if config.chained {
                let pairs = members.windows(2);
                steps.extend(pairs.map(|pair| (node_of[pair[0]], node_of[pair[1]], Step::Synced)));
            }
        }
        for number in 0..self.switches.len() {
            self.declare_switch(number, &node_of, &mut steps)?;
        }
        Ok(steps)
    }

    /// The pairs of nodes that were said to be ambiguous on purpose; the smaller number first.
    pub(super) fn silenced(&self) -> BTreeSet<(usize, usize)> {
        let members = || {
            let nodes = self.nodes.iter().enumerate();
            nodes.filter_map(|(node, &kind)| match kind {
                Kind::Member(member) => Some((node, member)),
                Kind::Switch(_) => None,
            })
        };
        let mut pairs = BTreeSet::new();
        for (node, member) in members() {
            for &target in &self.members[member].ambiguous_with {
                let is_meant = |other: usize| match target {
                    Target::Type(wanted, _) => self.members[other].key == wanted,
                    Target::Group(wanted) => self
                        .groups
                        .iter()
                        .position(|group| group.group == wanted)
                        .is_some_and(|group| self.is_in(other, group)),
                };
                for (other_node, other) in members() {
                    if is_meant(other) {
                        pairs.insert((node.min(other_node), node.max(other_node)));
                    }
                }
            }
        }
        pairs
    }

    /// The condition of a switch comes before its systems, and after what all of them come after.
    fn declare_switch(
        &self,
        number: usize,
        node_of: &[usize],
        steps: &mut Vec<(usize, usize, Step)>,
    ) -> Result<(), ScheduleError> {
        let switch = &self.switches[number];
        let Some(node) = self.node_of(Kind::Switch(number)) else { return Ok(()) };
        steps.extend(switch.members.iter().map(|&member| (node, node_of[member], Step::Synced)));
        let outer = switch.outer.iter().filter_map(|&outer| self.node_of(Kind::Switch(outer)));
        steps.extend(outer.map(|outer| (outer, node, Step::Synced)));
        if let Some(group) = switch.group {
            steps.push((self.posts_of(group)[0], node, Step::Synced));
            return Ok(());
        }
        let (&first, rest) = switch.members.split_first().expect("it has a node");
        for waited in &self.members[first].after {
            if rest.iter().all(|&other| self.members[other].after.contains(waited)) {
                let asking = || name::of_system(self.members[first].system.name());
                let earlier = self.ends_of(waited.0, node_of, 1, &asking)?;
                steps.extend(earlier.into_iter().map(|earlier| (earlier, node, waited.1)));
            }
        }
        Ok(())
    }

    /// The nodes that stand for a target, or of a group the post at its beginning (0) or end (1).
    fn ends_of(
        &self,
        target: Target,
        node_of: &[usize],
        end: usize,
        asking: &dyn Fn() -> String,
    ) -> Result<Vec<usize>, ScheduleError> {
        let found: Vec<_> = match target {
            Target::Type(wanted, _) => {
                let all = self.members.iter().zip(node_of);
                all.filter(|(member, _)| member.key == wanted).map(|(_, &node)| node).collect()
            }
            Target::Group(wanted) => {
                let group = self.groups.iter().position(|group| group.group == wanted);
                group.map(|group| self.posts_of(group)[end]).into_iter().collect()
            }
        };
        if found.is_empty() {
            return Err(ScheduleError::UnknownSystem { system: asking(), other: target.name() });
        }
        Ok(found)
    }
}

/// The number of a group, which is new if need be.
fn position(groups: &mut Vec<GroupConfig>, group: Group) -> usize {
    groups.iter().position(|known| known.group == group).unwrap_or_else(|| {
        groups.push(group.config());
        groups.len() - 1
    })
}

/// The groups that one is in, at whatever depth.
fn all_outer(inside: &[Vec<usize>], group: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = inside[group].clone();
    while let Some(outer) = open.pop() {
        if !found.contains(&outer) {
            found.push(outer);
            open.extend_from_slice(&inside[outer]);
        }
    }
    found
}
