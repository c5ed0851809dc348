//! Queries: requests for components, and the passes over the rows that match.
//!
//! A *plan* caches which archetypes match and where their columns are. It is extended when archetypes
//! appear, and starts again when the world removes or replaces archetypes. A *query* is a plan with the
//! right to use it: it hands out rows one by one, whole chunks as slices, or single entities. A *view*
//! gives random access to entities.

mod access;
mod claims;
mod column;
mod cursor;
mod data;
mod filter;
mod iter;
#[cfg(all(test, loom))]
mod loom_models;
mod plan;
mod term;
mod view;

pub use access::Access;
pub(crate) use access::{Borrows, Use};
pub(crate) use access::{leave_read, leave_write, take_read, take_write, unused_word};
#[doc(hidden)]
pub use column::{AddressToken, ChunkAddress, ChunkRef, RangeToken, RowToken, Values};
pub(crate) use cursor::{BorrowedToken, ChunkWalk, Source, SourceToken, rows};
pub use cursor::{Chunk, ChunkIter, ParallelChunks, ParallelScratch, Query};
#[doc(hidden)]
pub use data::{BitsFetch, PartsItem, VersionedFetch, WriteFetch};
pub use data::{
    Claimant, ColumnData, Enabled, EnabledBit, EnabledBitMut, EnabledMut, Mut, Present, QueryData,
    ReadOnly, Ref,
};
pub use filter::{Added, Changed, Disabled, Not, Or, QueryFilter, With, Without};
pub use iter::{BorrowedQuery, RowIter};
pub use plan::QueryPlan;
pub(crate) use plan::{LastRun, Match, MatchOf, Plan, PlanCache, PlanSource, matches_once};
#[doc(hidden)]
pub use term::{MarkSlot, TermSlot, TermState, WrapState};
pub use view::{Claim, ExclusivePlan, ExclusiveView, View, ViewPlan, ViewShard};
