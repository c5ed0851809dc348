//! Why an agent does what it does: the log itself, and what each kind of mind writes to it.

mod activity;
mod log;
mod machine;
mod planner;
mod sequence;
pub(crate) mod stage;
mod tree;
mod utility;
