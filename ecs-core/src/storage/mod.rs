//! Raw memory: how rows lie in a block, where blocks come from, and the chunks of an archetype.

mod bits;
mod block;
mod chunks;
mod directory;
mod layout;

pub(crate) use bits::EnableBits;
pub(crate) use block::BlockPool;
pub use chunks::Chunks;
pub(crate) use chunks::TakenRow;
pub(crate) use directory::{Directory, Place, RowAddress};
