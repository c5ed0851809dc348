//! Trees as files, read again while the game runs.

use formic_ecs::{Buffer, EnabledMut, Entity, QueryData, World};

use super::agent::{NodeMemory, TreeAgent};
use super::parse::tokens;
use super::tree::{Tree, TreeError};
use crate::action::{Body, LoadError, Switching, error_at_line};
use crate::library::Library;
use crate::reload::Reload;

impl<Q: QueryData> Tree<Q> {
    /// [`parse`](Self::parse) with the error of a file: for a
    /// [`MindFile`](crate::reload::MindFile).
    ///
    /// # Errors
    /// Returns an error if the text is no tree, or the tree makes no sense with this library.
    pub fn read(text: &str, library: &Library<Q>) -> Result<Self, LoadError> {
        Self::parse(text, library).map_err(|error| match &error {
            TreeError::Parse(at) => {
                error_at_line(at.line as usize, at.column as usize, at.problem.to_string())
            }
            TreeError::Unknown { name, .. } | TreeError::SharedAction(name) => {
                let is_condition = matches!(error, TreeError::Unknown { what: "condition", .. });
                let tokens = tokens(text);
                let mut pairs = tokens.windows(2);
                let found =
                    pairs.find(|it| it[0].text == name && (it[1].text == "?") == is_condition);
                let (line, column) = found.map_or((1, 1), |it| (it[0].line, it[0].column));
                error_at_line(line as usize, column as usize, error.to_string())
            }
            _ => error_at_line(1, 1, error.to_string()),
        })
    }
}

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
