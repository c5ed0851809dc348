//! `TreeAgent`, the component of an agent that follows a tree, and `Trees`, the system parameter that
//! ticks all of them.

use bytemuck::{CheckedBitPattern, NoUninit, TransparentWrapper};
use formic_ecs::{
    Buffer, Component, ComponentError, EnabledMut, Entity, QueryData, RandomStream, With, World,
};
use formic_jobs::{Query, SystemParam};

use super::node::Op;
use super::record::{Before, Leaves, Trace};
use super::tick::{State, tick_leaves, tick_tree};
use super::tree::Tree;
use crate::action::{ActionResult, Body, MindSystem, Reported, Switching, give_mind};
use crate::bits::{Bits, WORDS_MAX};
use crate::explain::DecisionRecorder;

/// The component of an agent that follows a behaviour tree (16 bytes). The agent also has a
/// `Buffer<NodeMemory>` with 8 bytes for each [memory](Tree::slot_count) of the tree, and 8 for each 64 of
/// them beyond the first 64.
///
/// ```
/// use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Flee;
/// let actions = ActionSet::new().action("flee", Flee);
/// let library = Library::<()>::new(&actions).condition("is_safe", |()| false);
/// let tree = Tree::parse("selector { is_safe? stay_until(is_safe?) flee }", &library)?;
/// let mut world = World::new();
/// let deer = actions.spawn(&mut world, ())?;
/// TreeAgent::drive(&mut world, deer, &tree, 1)?;
/// let think = move |mut trees: Trees<()>| trees.tick(&tree);
/// let schedule = formic_ai::action::add(Schedule::builder());
/// let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// let agent = world.get::<TreeAgent>(deer)?;
/// assert_eq!((agent.ticks(), agent.result()), (1, ActionResult::Running));
/// assert_eq!(agent.entry(), Some(2), "ticks go to the node that stays");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct TreeAgent {
    active: u64,
    ticks: u32,
    entry: u16,
    result: u16,
}

/// The memory of one node of a tree for one agent.
#[derive(
    Component,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    TransparentWrapper,
)]
#[component(buffer = 4)]
#[repr(transparent)]
pub struct NodeMemory(u64);

impl TreeAgent {
    /// Makes an entity with a body follow a tree, from the root on. Running actions are halted.
    ///
    /// The seed is for nodes that draw at random; agents should have different seeds.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive<Q: QueryData>(
        world: &mut World,
        agent: Entity,
        tree: &Tree<Q>,
        seed: u64,
    ) -> Result<(), ComponentError> {
        let mind = Self { active: 0, ticks: 0, entry: 0, result: 0 };
        let mut memories = Buffer::new();
        tree.reset(&mut memories, seed);
        give_mind::<Self>(world, agent, "an argument `Trees`", (mind, memories))
    }

    /// Resets the agent to the root, as if no node remembered anything.
    pub(super) const fn forget(&mut self) {
        (self.active, self.entry) = (0, 0);
    }

    /// Runs one tick.
    #[inline]
    fn tick<Q: QueryData>(
        &mut self,
        tree: &Tree<Q>,
        memories: &mut Buffer<NodeMemory>,
        body: &mut Body,
        data: &mut Q::Item<'_>,
        trace: &mut impl Trace,
    ) {
        let result = if tree.is_wide {
            self.tick_wide::<WORDS_MAX, Q>(tree, memories, body, data, trace)
        } else {
            self.tick_wide::<1, Q>(tree, memories, body, data, trace)
        };
        self.result = result as u16;
    }

    /// Runs one tick of a tree whose actions and memories fit into `N` words of bits. The words that mark
    /// the memories in use, beyond the first 64, follow the memories.
    #[inline(always)]
    fn tick_wide<const N: usize, Q: QueryData>(
        &mut self,
        tree: &Tree<Q>,
        memories: &mut Buffer<NodeMemory>,
        body: &mut Body,
        data: &mut Q::Item<'_>,
        trace: &mut impl Trace,
    ) -> ActionResult {
        if let Some(jumps) = &tree.jumps {
            self.ticks = self.ticks.wrapping_add(1);
            return tick_leaves::<N, Q, _>(tree, jumps, body, data, trace);
        }
        // A save made with a smaller tree has fewer.
        let missing = tree.memory_count().saturating_sub(memories.len());
        memories.extend(core::iter::repeat_n(NodeMemory(0), missing));
        let (memories, in_use) =
            NodeMemory::peel_slice_mut(&mut memories[..]).split_at_mut(tree.slot_count());
        let mut active = Bits::<N>::NONE;
        active.0[0] = self.active;
        active.0[1..].iter_mut().zip(&*in_use).for_each(|(word, known)| *word = *known);
        let mut state = State { active, ticks: self.ticks, entry: self.entry };
        let result = tick_tree(tree, &mut state, memories, body, data, trace);
        (self.active, self.ticks, self.entry) = (state.active.0[0], state.ticks, state.entry);
        in_use.iter_mut().zip(&state.active.0[1..]).for_each(|(known, word)| *known = *word);
        result
    }

    /// The result of the last tick; [`ActionResult::Running`] before the first.
    #[must_use]
    pub const fn result(&self) -> ActionResult {
        match self.result {
            0 => ActionResult::Running,
            1 => ActionResult::Success,
            _ => ActionResult::Failed,
        }
    }

    /// The number of ticks. Times in trees are measured in these.
    #[must_use]
    pub const fn ticks(&self) -> u32 {
        self.ticks
    }

    /// The node that ticks start at, if it is not the root: see
    /// [`Node::stay_until`](super::Node::stay_until).
    #[must_use]
    pub const fn entry(&self) -> Option<usize> {
        if self.entry == 0 { None } else { Some(self.entry as usize) }
    }
}

impl<Q: QueryData> Tree<Q> {
    /// The length of the memory buffer: the memories of nodes, then words that mark which of those beyond
    /// the first 64 are in use.
    fn memory_count(&self) -> usize {
        self.slot_count() + self.slot_count().saturating_sub(1) / 64
    }

    /// Resets the memories to those of a new agent.
    pub(super) fn reset(&self, memories: &mut Buffer<NodeMemory>, seed: u64) {
        memories.clear();
        memories.extend(core::iter::repeat_n(NodeMemory(0), self.memory_count()));
        if memories.is_empty() {
            return;
        }
        for node in self.nodes.iter().filter(|node| matches!(node.op, Op::Random | Op::Weighted)) {
            let slot = usize::from(node.slot);
            memories[slot + 1].0 = RandomStream::new(seed).fork(slot as u64).state();
        }
    }
}

type Row<Q> = (
    Entity,
    &'static mut TreeAgent,
    &'static mut Body,
    &'static mut Buffer<NodeMemory>,
    EnabledMut<Switching>,
    Q,
);
/// Agents with actions that have ended. The tree reads the ends from the body, and clears the flag here.
type EndedActions<'a> = Query<'a, EnabledMut<Reported>, (With<Reported>, With<TreeAgent>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>>, EndedActions<'a>, DecisionRecorder<'a>);

/// The agents that follow trees and have the components that `Q` asks for: the argument of a system that
/// ticks their trees.
///
/// The [module documentation](super) has a complete example.
#[derive(SystemParam)]
pub struct Trees<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<TreeAgent, Row<()>>,
}

debug_fields!([Q: QueryData] Trees<'_, Q>:);

impl<Q: QueryData + 'static> Trees<'_, Q> {
    /// Ticks the tree once for each of these agents, on all threads of the pool.
    ///
    /// # Panics
    /// Panics if an agent's body has fewer actions than the tree uses.
    pub fn tick(&mut self, tree: &Tree<Q>) {
        let (query, ended, recorder) = &mut self.parts;
        ended.par_for_each(|mut reported| _ = reported.set(false));
        match recorder.log() {
            None => query.par_for_each(|(_, agent, body, memories, mut switching, mut data)| {
                agent.tick(tree, memories, body, &mut data, &mut ());
                if body.is_switching() {
                    switching.set(true);
                }
            }),
            Some(_) => {
                query.par_for_each(|(entity, agent, body, memories, mut switching, mut data)| {
                    if let Some(watch) = recorder.watch(entity) {
                        let before = Before::new(body, agent.result());
                        let mut leaves = Leaves::new();
                        agent.tick(tree, memories, body, &mut data, &mut leaves);
                        tree.note(watch, before, (body, agent.result()), &leaves);
                    } else {
                        agent.tick(tree, memories, body, &mut data, &mut ());
                    }
                    if body.is_switching() {
                        switching.set(true);
                    }
                });
            }
        }
    }
}
