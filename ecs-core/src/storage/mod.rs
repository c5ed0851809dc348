//! Raw memory: the layout of rows in a block, the pool of blocks, and the chunks of an archetype.

mod bits;
mod block;
mod chunks;
mod column_records;
mod directory;
mod layout;
mod marks;
mod row_versions;

pub use bits::EnabledBit;
pub(crate) use bits::masks;
pub(crate) use block::BlockPool;
pub use chunks::Chunks;
pub(crate) use chunks::{ColumnAction, ColumnStep, DropFn, Fill, RowPlan, TakenRows};
pub use column_records::{ChangeWindow, ColumnRecord, ColumnStamps};
pub(crate) use column_records::{OneThread, Shard, Writers};
#[cfg(test)]
pub(crate) use directory::CHUNKS_LIMIT;
pub(crate) use directory::{Directory, Place, RowAddress};
#[cfg(test)]
pub(crate) use layout::BLOCK_BYTES;
pub use row_versions::ChunkVersions;
