//! The input of a search, which is saved and hashed in place of the search.

use formic_ecs::HashState;

/// The input of a search, and its progress. Everything that the search has found follows from this and
/// the planner, since a search gives the same result however it is divided. A loaded game therefore
/// searches again, instead of trusting results in a file, which it could not verify.
#[derive(Clone, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub(crate) struct SearchInput {
    /// A hash of the planner's contents: another planner begins a new search.
    pub(crate) planner: u64,
    /// The goal, or the tasks.
    pub(crate) aims: Vec<u32>,
    /// The values of the relevant facts.
    pub(crate) values: Vec<u8>,
    /// The costs of the relevant operators in this situation.
    pub(crate) costs: Vec<u32>,
    pub(crate) looked_at: usize,
}
