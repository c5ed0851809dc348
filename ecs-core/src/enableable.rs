//! The effect of every operation on a component that is there and *disabled*.
//!
//! A component that is declared [`enableable`](trait@crate::Component) has one bit per row that switches
//! it off and on. The bit moves no row, runs no code and needs no borrow: a flip is one atomic
//! operation, and a query passes over whole chunks that are switched off without touching them.
//! Queries see a disabled component as absent. Everything that is asked about one entity sees that
//! it is there.
//!
//! | | a component that is there and disabled |
//! |---|---|
//! | [`World::has`], [`get`], [`get_mut`], [`View`]s, [`Claim`]s | seen as any other, also as an `Option` |
//! | `&T`, `&mut T`, [`Ref`], [`Mut`], [`With`] in a query | the row does not match |
//! | `Option<&T>`, `Option<&mut T>` in a query | the row matches with `None` |
//! | [`Without`] | the row matches, as if the component were absent |
//! | [`Present`] as a filter; `Present<&T>`, `Present<&mut T>` as data | the row matches, whatever the bit says; the data is handed out |
//! | [`Disabled`] | the row matches, and only such rows do |
//! | [`Enabled`], [`EnabledMut`] as data | the row matches; the bit is handed out |
//! | [`Or`], [`Not`] of filters | go by what the filters say, row by row |
//! | [`Changed`], [`Added`] | the row does not match; its versions stay what they were |
//! | queries by id ([`DynamicQuery`]) | as queries by type |
//! | `insert` over it, by type, by id, in bulk or by command | replaces the value and keeps the bit |
//! | `spawn`, `insert` where there was none | the component comes enabled |
//! | `remove` | takes it, whatever the bit says; when it comes again it is enabled |
//! | a structural change beside it | the bit goes along with the row |
//! | `despawn` | drops the value as any other; who gets the slot later starts enabled |
//! | `instantiate` | copies have the bit of the original |
//! | snapshot and restore, the state hash | have the bit |
//!
//! And what becomes of a flip:
//!
//! | a flip | |
//! |---|---|
//! | by [`World::set_enabled`], by id, by a view, a claim or a query of `EnabledMut` | is seen by all that come after it |
//! | and versions, hooks and observers | is no change: nothing is stamped, no hook runs |
//! | during a query, of a row in the chunk that is visited | is seen by the next pass: which rows are visited is decided as the chunk is entered |
//! | during a query, of a row in a later chunk | is seen when the chunk is entered |
//! | during a [parallel loop](crate::ParallelChunks) | is seen by the next pass, in whichever chunk |
//! | in a command buffer | comes at playback, in its place among the commands |
//! | of all rows that pass a filter ([`Bulk::set_enabled`]) | goes by words of bits; the filter sees the bits as they were |
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
