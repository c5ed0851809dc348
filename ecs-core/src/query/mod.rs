//! Queries: what is asked of the world, and how the answer is walked.
//!
//! A *plan* knows which archetypes match and where their columns are; it is extended as archetypes
//! appear and never rebuilt. A *query* is a plan with the right to use it: it hands out rows one by
//! one, whole chunks as slices, or single entities. A *view* is for looking up entities at random.

mod access;
mod chunk;
mod claims;
mod column;
mod data;
mod dynamic;
mod dynamic_rows;
mod dynamic_run;
mod entities;
mod filter;
mod iter;
#[cfg(all(test, loom))]
mod loom_models;
mod parallel;
mod pass;
mod plan;
mod view;
mod view_plan;

pub use access::Access;
pub(crate) use access::{BorrowGuard, Borrows};
pub(crate) use access::{leave_read, leave_write, take_read, take_write};
pub use chunk::{Chunk, ChunkIter};
pub(crate) use chunk::{Source, rows};
pub use claims::{Claim, ExclusivePlan, ExclusiveView};
#[doc(hidden)]
pub use column::{
    CacheToken, CachedColumn, CachedPlace, ChunkAddress, RangeToken, RowToken, Values,
};
#[doc(hidden)]
pub use data::{
    BitsFetch, BitsSlot, MutFetch, RefFetch, TermSlot, TermState, WrapState, WriteFetch,
};
pub use data::{
    ColumnData, Enabled, EnabledBit, EnabledBitMut, EnabledMut, Mut, Present, QueryData, ReadOnly,
    Ref,
};
pub use dynamic::{DynamicQuery, DynamicQueryBuilder};
pub use dynamic_rows::{BorrowedDynamicRows, DynamicRowIter, DynamicRows};
pub use dynamic_run::{DynamicRow, DynamicRun};
pub use filter::{Added, Changed, Disabled, Not, Or, QueryFilter, With, Without};
pub use iter::{BorrowedQuery, Query, RowIter};
pub use parallel::{ParallelChunks, ParallelScratch};
pub use plan::QueryPlan;
pub(crate) use plan::{MatchOf, PlanCache, PlanSource, Planned, matches_once};
pub use view::{View, ViewShard};
pub(crate) use view_plan::ViewCache;
pub use view_plan::ViewPlan;
