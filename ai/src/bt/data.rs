//! Trees whose files are read again while the game runs.

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

/// Actions that are in both trees go on, if the new one comes by them in its next tick. What nodes
/// remember is forgotten: which node is which cannot be told.
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
