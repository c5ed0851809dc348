//! Why an agent does what it does: the log itself, and what each kind of mind writes to it.

mod log;
