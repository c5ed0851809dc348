//! Hot reloading of behaviour trees.

use formic_ecs::{Buffer, EnabledMut, Entity, QueryData, World};

use super::agent::{NodeMemory, TreeAgent};
use super::tree::Tree;
use crate::action::{Body, Switching};
use crate::reload::Reload;

type Row = (
    &'static mut TreeAgent,
    &'static mut Body,
    &'static mut Buffer<NodeMemory>,
    EnabledMut<Switching>,
);

/// Actions that are in both trees continue, if the next tick of the new tree reaches them. The memories
/// of nodes are reset: nodes cannot be matched between the trees.
impl<Q: QueryData + 'static> Reload for Tree<Q> {
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]) {
        let mut view = world.view::<Row>();
        for &agent in agents {
            let Ok((mind, body, memories, mut switching)) = view.get_mut(agent) else { continue };
            self.reset(memories, agent.to_bits());
            mind.forget();
            body.halt_all_but(&old.whole.actions, &self.whole.actions);
            if body.is_switching() {
                switching.set(true);
            }
        }
    }
}
