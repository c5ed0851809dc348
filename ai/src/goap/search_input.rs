//! The input of a search, which is saved and hashed in place of the search.

use formic_ecs::HashState;

/// What a search was begun with, and how far it has come. All that it has found follows from this and
/// the planner: a search is the same however it is cut. So a loaded game, which has no other way to
/// be sure of what a file says that was found, finds it again.
#[derive(Clone, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub(crate) struct SearchInput {
    /// What the planner was made of, as a hash: another planner begins a new search.
    pub(crate) planner: u64,
    /// The goal, or the tasks.
    pub(crate) aims: Vec<u32>,
    /// The values of the facts that matter.
    pub(crate) values: Vec<u8>,
    /// What the operators that matter cost here.
    pub(crate) costs: Vec<u32>,
    pub(crate) looked_at: usize,
}
