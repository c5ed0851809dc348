//! The name of a component or a resource.

use alloc::borrow::Cow;

/// The name of a component or a resource, as used in messages and in the state hash.
///
/// The name of a Rust type is static; a component that is registered at run time owns its name.
pub type Name = Cow<'static, str>;
