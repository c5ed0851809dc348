//! Misuse of cells, and of claims and guards that come from them, that must not compile.
//!
//! # An item of a query does not outlive the query of a cell
//!
//! ```compile_fail,E0515
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn first<'w>(cell: formic_ecs::WorldCell<'w>, plan: &'w mut formic_ecs::QueryPlan<&'static A>) -> Option<&'w A> {
//!     let mut query = cell.query(plan).ok()?;
//!     query.query().into_iter().next()
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn first<'w>(cell: formic_ecs::WorldCell<'w>, plan: &'w mut formic_ecs::QueryPlan<&'static A>) -> Option<u32> {
//!     let mut query = cell.query(plan).ok()?;
//!     query.query().into_iter().next().map(|a| a.0)
//! }
//! ```
//!
//! # Nothing is smuggled out of the closure of a cell's query
//!
//! ```compile_fail,E0597
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut plan = world.plan::<&mut A, ()>();
//! let cell = world.cell();
//! let mut smuggled = Vec::new();
//! {
//!     let mut query = cell.query(&mut plan).unwrap();
//!     query.query().for_each(|a| smuggled.push(a));
//! }
//! smuggled.pop();
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut plan = world.plan::<&mut A, ()>();
//! let cell = world.cell();
//! let mut smuggled = Vec::new();
//! {
//!     let mut query = cell.query(&mut plan).unwrap();
//!     query.query().for_each(|a| smuggled.push(a.0));
//! }
//! smuggled.pop();
//! ```
//!
//! # What a claim lends does not outlive the claim
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: &formic_ecs::ExclusiveView<'_, &mut A>, entity: Entity) {
//!     let mut claim = claims.claim(entity, entity).unwrap();
//!     let a = claim.get_mut();
//!     drop(claim);
//!     a.0 = 1;
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: &formic_ecs::ExclusiveView<'_, &mut A>, entity: Entity) {
//!     let mut claim = claims.claim(entity, entity).unwrap();
//!     let a = claim.get_mut();
//!     a.0 = 1;
//!     drop(claim);
//! }
//! ```
//!
//! # A claim does not outlive the view
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: formic_ecs::ExclusiveView<'_, &mut A>, entity: Entity) {
//!     let mut claim = claims.claim(entity, entity).unwrap();
//!     drop(claims);
//!     claim.get_mut().0 = 1;
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: formic_ecs::ExclusiveView<'_, &mut A>, entity: Entity) {
//!     let mut claim = claims.claim(entity, entity).unwrap();
//!     claim.get_mut().0 = 1;
//!     drop(claim);
//!     drop(claims);
//! }
//! ```
//!
//! # A cell does not outlive the borrow of its world
//!
//! ```compile_fail,E0502
//! # use formic_ecs::prelude::*;
//! let mut world = World::new();
//! let cell = world.cell();
//! let count = world.len();
//! cell.contains(Entity::from_bits(1 << 32).unwrap());
//! ```
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! let mut world = World::new();
//! let cell = world.cell();
//! drop(world);
//! cell.contains(Entity::from_bits(1 << 32).unwrap());
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! let mut world = World::new();
//! let cell = world.cell();
//! cell.contains(Entity::from_bits(1 << 32).unwrap());
//! let count = world.len();
//! drop(world);
//! ```
//!
//! # What a guard of a resource lends does not outlive the guard
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! let mut world = World::new();
//! world.insert_resource(1_u32);
//! let mut guard = world.cell().resource_mut::<u32>().unwrap();
//! let number = &mut *guard;
//! drop(guard);
//! *number += 1;
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! let mut world = World::new();
//! world.insert_resource(1_u32);
//! let mut guard = world.cell().resource_mut::<u32>().unwrap();
//! let number = &mut *guard;
//! *number += 1;
//! drop(guard);
//! ```
