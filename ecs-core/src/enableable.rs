//! The effect of every operation on a component that an entity has but that is *disabled*.
//!
//! A component that is declared [`enableable`](trait@crate::Component) has one bit per row, which
//! disables and enables it. A flip of the bit moves no row, runs no code and needs no borrow: it is one
//! atomic operation. A query skips a chunk whose rows are all disabled, without accessing its values.
//! Queries treat a disabled component as absent. Operations on a single entity treat it as present.
//!
//! | | a disabled component |
//! |---|---|
//! | [`World::has`], [`get`], [`get_mut`], [`View`]s, [`Claim`]s | treat it as any other, also as an `Option` |
//! | `&T`, `&mut T`, [`Ref`], [`Mut`], [`With`] in a query | the row does not match |
//! | `Option<&T>`, `Option<&mut T>` in a query | the row matches with `None` |
//! | [`Without`] | the row matches, as if the component were absent |
//! | [`Present`] as a filter; `Present<&T>`, `Present<&mut T>` as data | the row matches, whatever the bit is; the data is returned |
//! | [`Disabled`] | the row matches; no other rows do |
//! | [`Enabled`], [`EnabledMut`] as data | the row matches; the bit is returned |
//! | [`Or`], [`Not`] of filters | combine the results of the filters, row by row |
//! | [`Changed`], [`Added`] | the row does not match; its versions do not change |
//! | queries by id ([`DynamicQuery`]) | the same as queries by type |
//! | `insert` over it, by type, by id, in bulk or by command | replaces the value and keeps the bit |
//! | `spawn`, `insert` if there was none | the component starts enabled |
//! | `remove` | removes it, whatever the bit is; if it is inserted again, it is enabled |
//! | a structural change of other components | the bit moves with the row |
//! | `despawn` | drops the value like any other; a later entity in the slot starts enabled |
//! | `instantiate` | copies have the bit of the original |
//! | snapshot and restore, the state hash | include the bit |
//!
//! The effect of a flip:
//!
//! | a flip | |
//! |---|---|
//! | by [`World::set_enabled`], by id, by a view, a claim or a query of `EnabledMut` | visible to all later operations |
//! | and versions, hooks and observers | not a change: nothing is stamped, no hook runs |
//! | during a query, of a row in the current chunk | visible to the next pass: the rows to visit are determined when the chunk is entered |
//! | during a query, of a row in a later chunk | visible when that chunk is entered |
//! | during a [parallel loop](crate::ParallelChunks) | visible to the next pass, in any chunk |
//! | in a command buffer | happens at playback, in its place among the commands |
//! | of all rows that pass a filter ([`Bulk::set_enabled`]) | happens by words of bits; the filter sees the previous bits |
//! | of a component that is not enableable | is refused; such a component is always enabled |
//!
//! ```
//! use formic_ecs::prelude::*;
//!
//! #[derive(Component, Debug, PartialEq)]
//! #[component(enableable)]
//! struct Fuel(u32);
//!
//! let mut world = World::new();
//! let lorry = world.spawn(Fuel(10));
//! assert_eq!(world.set_enabled::<Fuel>(lorry, false), Ok(true), "it was on");
//!
//! // A question about the entity sees that it is there; a query does not.
//! assert_eq!(world.get(lorry), Ok(&Fuel(10)));
//! assert_eq!(world.query::<&Fuel>().count(), 0);
//! assert_eq!(world.query::<Option<&Fuel>>().first(), Some(None));
//! assert_eq!(world.query_filtered::<Entity, Without<Fuel>>().first(), Some(lorry));
//!
//! // Unless it asks for such rows.
//! assert_eq!(world.query_filtered::<Present<&Fuel>, Disabled<Fuel>>().first(), Some(&Fuel(10)));
//!
//! // A value that is replaced keeps the bit.
//! world.insert(lorry, Fuel(20))?;
//! assert_eq!(world.is_enabled::<Fuel>(lorry), Ok(false));
//! # Ok::<(), formic_ecs::NotInserted<Fuel>>(())
//! ```
//!
//! [`World::has`]: crate::World::has
//! [`get`]: crate::World::get
//! [`get_mut`]: crate::World::get_mut
//! [`World::set_enabled`]: crate::World::set_enabled
//! [`View`]: crate::View
//! [`Claim`]: crate::Claim
//! [`Ref`]: crate::Ref
//! [`Mut`]: crate::Mut
//! [`With`]: crate::With
//! [`Without`]: crate::Without
//! [`Present`]: crate::Present
//! [`Disabled`]: crate::Disabled
//! [`Enabled`]: crate::Enabled
//! [`EnabledMut`]: crate::EnabledMut
//! [`Or`]: crate::Or
//! [`Not`]: crate::Not
//! [`Changed`]: crate::Changed
//! [`Added`]: crate::Added
//! [`DynamicQuery`]: crate::DynamicQuery
//! [`Bulk::set_enabled`]: crate::Bulk::set_enabled
