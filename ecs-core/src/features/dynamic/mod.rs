//! Components and queries that are known by their ids alone.

mod by_id;
mod descriptor;
mod error;
mod query;
mod rows;
mod run;

pub use descriptor::{CloneValueFn, ComponentDescriptor, DropValueFn, HashValueFn};
pub use error::{ByIdError, DynamicQueryError, RegisterError, TermError};
pub use query::{DynamicQuery, DynamicQueryBuilder};
pub use rows::{BorrowedDynamicRows, DynamicRowIter, DynamicRows};
pub use run::{DynamicRow, DynamicRun};
