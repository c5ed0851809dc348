//! Misuse of queries by id that must not compile.
//!
//! # The bytes of a row do not outlive the row
//!
//! ```compile_fail,E0505
//! # use formic_ecs::TermError;
//! fn keep(row: formic_ecs::DynamicRow<'_>) -> Result<usize, TermError> {
//!     let bytes = row.bytes(0)?;
//!     drop(row);
//!     Ok(bytes.len())
//! }
//! ```
//! ```
//! # use formic_ecs::TermError;
//! fn keep(row: formic_ecs::DynamicRow<'_>) -> Result<usize, TermError> {
//!     let bytes = row.bytes(0)?.len();
//!     drop(row);
//!     Ok(bytes)
//! }
//! ```
//!
//! # Two terms are not written at once
//!
//! They may be one component.
//!
//! ```compile_fail,E0499
//! # use formic_ecs::TermError;
//! fn swap(mut row: formic_ecs::DynamicRow<'_>) -> Result<(), TermError> {
//!     let one = row.bytes_mut(0)?;
//!     let two = row.bytes_mut(0)?;
//!     one.swap_with_slice(two);
//!     Ok(())
//! }
//! ```
//! ```
//! # use formic_ecs::TermError;
//! fn copy(mut row: formic_ecs::DynamicRow<'_>) -> Result<(), TermError> {
//!     let (one, two) = row.bytes_pair(0, 1)?;
//!     one.copy_from_slice(two);
//!     Ok(())
//! }
//! ```
//!
//! # A row of a cell's query by id does not outlive what was borrowed
//!
//! ```compile_fail,E0515
//! fn first<'w>(
//!     cell: formic_ecs::WorldCell<'w>,
//!     query: &'w mut formic_ecs::DynamicQuery,
//! ) -> Option<formic_ecs::DynamicRow<'w>> {
//!     let mut rows = cell.query_by_id(query).ok()?;
//!     rows.rows().into_iter().next()
//! }
//! ```
//! ```
//! fn first<'w>(
//!     cell: formic_ecs::WorldCell<'w>,
//!     query: &'w mut formic_ecs::DynamicQuery,
//! ) -> Option<formic_ecs::Entity> {
//!     let mut rows = cell.query_by_id(query).ok()?;
//!     rows.rows().into_iter().next().map(|row| row.entity())
//! }
//! ```
//!
//! # A component by id is not looked at while the world changes
//!
//! ```compile_fail,E0502
//! # use formic_ecs::{ByIdError, ComponentId, Entity, World};
//! fn last(world: &mut World, imp: Entity, gold: ComponentId) -> Result<usize, ByIdError> {
//!     let bytes = world.by_id().get(imp, gold)?;
//!     world.by_id_mut().remove(imp, gold)?;
//!     Ok(bytes.len())
//! }
//! ```
//! ```
//! # use formic_ecs::{ByIdError, ComponentId, Entity, World};
//! fn last(world: &mut World, imp: Entity, gold: ComponentId) -> Result<usize, ByIdError> {
//!     let bytes = world.by_id().get(imp, gold)?.len();
//!     world.by_id_mut().remove(imp, gold)?;
//!     Ok(bytes)
//! }
//! ```
//!
