//! The features above the kernel. The kernel names none of them, and calls them only through
//! [`Callbacks`](crate::world::Callbacks).

pub(crate) mod buffer;
pub(crate) mod dynamic;
pub(crate) mod hooks;
pub(crate) mod prefab;
pub(crate) mod relation;
pub(crate) mod snapshot;
pub(crate) mod state_hash;

pub use buffer::{Buffer, BufferElement};
pub use dynamic::{
    BorrowedDynamicRows, ById, ByIdError, ByIdMut, CloneValueFn, ComponentDescriptor, DynamicBulk,
    DynamicQuery, DynamicQueryBuilder, DynamicQueryError, DynamicRow, DynamicRowIter, DynamicRows,
    DynamicRun, HashValueFn, RegisterError, TermError,
};
pub use hooks::{Event, EventKind, Hooks, ObserverId};
pub use prefab::{InstantiateError, Prefab};
pub use relation::{
    ChildOf, OnTargetDespawn, Related, Relation, RelationError, RelationId, RelationMut,
    RelationRef, RelationRules, Sources, Targets, Unrelated,
};
pub use snapshot::{
    DroppedComponent, MalformedSnapshot, RestoreError, RestoreReport, Snapshot, SnapshotError,
};
pub use state_hash::{Difference, HashTree, StateHash};
