//! The name of a component or a resource.

use alloc::borrow::Cow;

/// The name of a component or a resource, as messages and the state hash use it.
///
/// A Rust type brings a name that lives for ever; a component that is registered at run time
/// brings its own.
pub type Name = Cow<'static, str>;
