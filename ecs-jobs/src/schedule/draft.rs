//! All that was said of systems and groups, in numbers.

use std::collections::BTreeSet;

use super::condition::Condition;
use super::config::{Member, SystemConfig};
use super::error::ScheduleError;
use super::group::{GroupConfig, Placement, Set, Step, Target};
use super::name;

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A switch: the conditions of a set, by its place in [`Draft::switches`].
    Switch(usize),
    /// The next member.
    Member,
}

/// All that was said, in numbers.
pub(super) struct Draft {
    pub(super) members: Vec<Member>,
    chains: Vec<(usize, usize, Step)>,
    pub(super) sets: Vec<GroupConfig>,
    /// For each set, those that it is in, at whatever depth.
    pub(super) around: Vec<Vec<usize>>,
    /// For each set, the members that are in it, directly or not.
    pub(super) inside: Vec<Vec<usize>>,
    /// The sets that have conditions, the largest first.
    pub(super) switches: Vec<usize>,
    /// In the order of adding; the conditions of a set before the first of its systems.
    pub(super) nodes: Vec<Kind>,
    member_nodes: Vec<usize>,
    switch_nodes: Vec<usize>,
}

type Steps = Vec<(usize, usize, Step)>;

impl Draft {
    pub(super) fn new(systems: SystemConfig, groups: Vec<GroupConfig>) -> Self {
        let SystemConfig { members, chains, mut sets, .. } = systems;
        sets.extend(groups);
        let direct: Vec<_> =
            members.iter().map(|member| numbers_of(&member.place.sets, &mut sets)).collect();
        let mut outer: Vec<Vec<usize>> = Vec::new();
        while outer.len() < sets.len() {
            let named = sets[outer.len()].place.sets.clone();
            outer.push(numbers_of(&named, &mut sets));
        }
        let all_around = |direct: &Vec<usize>| all_around(direct, &outer);
        let around: Vec<_> = outer.iter().map(all_around).collect();
        let own: Vec<_> = direct.iter().map(all_around).collect();
        let members_of = |set| (0..members.len()).filter(|&at| own[at].contains(&set)).collect();
        let inside: Vec<Vec<usize>> = (0..sets.len()).map(members_of).collect();

        let is_switch =
            |&set: &usize| !sets[set].place.conditions.is_empty() && !inside[set].is_empty();
        let mut switches: Vec<usize> = (0..sets.len()).filter(is_switch).collect();
        switches.sort_by_key(|&set| around[set].len());
        let (mut nodes, mut member_nodes) = (Vec::new(), Vec::new());
        let mut switch_nodes = vec![0; switches.len()];
        for member in 0..members.len() {
            for (switch, &set) in switches.iter().enumerate() {
                if inside[set][0] == member {
                    switch_nodes[switch] = nodes.len();
                    nodes.push(Kind::Switch(switch));
                }
            }
            member_nodes.push(nodes.len());
            nodes.push(Kind::Member);
        }
        Self { members, chains, sets, around, inside, switches, nodes, member_nodes, switch_nodes }
    }

    /// The switches of some sets.
    pub(super) fn switches_of(&self, is_meant: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.switches.len()).filter(|&switch| is_meant(self.switches[switch])).collect()
    }

    /// The post before everything in a set, and the one after it.
    fn posts_of(&self, set: usize) -> [usize; 2] {
        [self.nodes.len() + 2 * set, self.nodes.len() + 2 * set + 1]
    }

    /// The names of nodes and posts.
    pub(super) fn names(&self) -> Vec<String> {
        let mut members = self.members.iter();
        let of_member = |member: &Member| name::of_system(member.system.name());
        let nodes = self.nodes.iter().map(|&kind| match kind {
            Kind::Member => members.next().map(of_member).unwrap_or_default(),
            Kind::Switch(switch) => {
                let config = &self.sets[self.switches[switch]];
                let conditions: Vec<_> =
                    config.place.conditions.iter().map(Condition::name).collect();
                let whose = config.set.group().map(|_| format!(" of {}", config.set.name()));
                format!("the condition {}{}", conditions.join(" and "), whose.unwrap_or_default())
            }
        });
        let posts = self.sets.iter().flat_map(|config| [config.set.name(), config.set.name()]);
        nodes.chain(posts).collect()
    }

    /// The declared steps between nodes and posts: the first runs before the second.
    pub(super) fn declared(&self) -> Result<Steps, ScheduleError> {
        let node = |member: usize| self.member_nodes[member];
        let chains = self.chains.iter();
        let mut steps: Steps =
            chains.map(|&(first, second, step)| (node(first), node(second), step)).collect();
        for (member, &node) in self.members.iter().zip(&self.member_nodes) {
            let asking = || name::of_system(member.system.name());
            self.place(&member.place, [node, node], &asking, &mut steps)?;
        }
        for (set, config) in self.sets.iter().enumerate() {
            let [begin, end] = self.posts_of(set);
            self.place(&config.place, [begin, end], &|| config.set.name(), &mut steps)?;
            let mut add = |first, second| steps.push((first, second, Step::Synced));
            // Also where it is empty.
            add(begin, end);
            for &outer in &self.around[set] {
                let [outer_begin, outer_end] = self.posts_of(outer);
                add(outer_begin, begin);
                add(end, outer_end);
            }
            let inside = &self.inside[set];
            for &member in inside {
                add(begin, node(member));
                add(node(member), end);
            }
            if config.chained {
                inside.windows(2).for_each(|pair| add(node(pair[0]), node(pair[1])));
            }
        }
        for (&set, &switch) in self.switches.iter().zip(&self.switch_nodes) {
            let mut add = |first, second| steps.push((first, second, Step::Synced));
            add(self.posts_of(set)[0], switch);
            self.inside[set].iter().for_each(|&member| add(switch, node(member)));
            for outer in self.switches_of(|outer| self.around[set].contains(&outer)) {
                add(self.switch_nodes[outer], switch);
            }
        }
        Ok(steps)
    }

    /// Adds the steps that something was placed by: from others to its beginning, and from its end to
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

    /// The nodes that are meant to run after all that was added before them.
    pub(super) fn after_earlier(&self) -> Vec<usize> {
        let members = self.members.iter().zip(&self.member_nodes);
        members.filter(|(member, _)| member.is_after_earlier).map(|(_, &node)| node).collect()
    }

    /// The pairs of nodes that were said to be ambiguous on purpose; the smaller number first.
    pub(super) fn silenced(&self) -> BTreeSet<(usize, usize)> {
        let mut pairs = BTreeSet::new();
        for (member, &node) in self.members.iter().zip(&self.member_nodes) {
            for &target in &member.ambiguous_with {
                let others = match target {
                    Target::Type(..) => self.nodes_of(target),
                    Target::Group(group) => {
                        let inside = self.find(Set::Group(group)).map(|set| &self.inside[set]);
                        inside.into_iter().flatten().map(|&at| self.member_nodes[at]).collect()
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
        let all = self.members.iter().zip(&self.member_nodes);
        all.filter(|(member, _)| is_meant(member)).map(|(_, &node)| node).collect()
    }

    /// The nodes that stand for a target, or of a group the post at its beginning (0) or end (1).
    fn ends_of(
        &self,
        target: Target,
        end: usize,
        asking: &dyn Fn() -> String,
    ) -> Result<Vec<usize>, ScheduleError> {
        let found = match target {
            Target::Type(..) => self.nodes_of(target),
            Target::Group(group) => {
                let set = self.find(Set::Group(group));
                set.map(|set| self.posts_of(set)[end]).into_iter().collect()
            }
        };
        if found.is_empty() {
            return Err(ScheduleError::UnknownSystem { system: asking(), other: target.name() });
        }
        Ok(found)
    }
}

/// The numbers of some sets, which are new if need be.
fn numbers_of(named: &[Set], sets: &mut Vec<GroupConfig>) -> Vec<usize> {
    let mut number = |&set: &Set| {
        sets.iter().position(|known| known.set == set).unwrap_or_else(|| {
            sets.push(GroupConfig::of(set));
            sets.len() - 1
        })
    };
    named.iter().map(&mut number).collect()
}

/// Some sets, and those around them at whatever depth.
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
