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
//! let mut plan = world.plan::<&mut A>();
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
//! let mut plan = world.plan::<&mut A>();
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
//! fn write(claims: &formic_ecs::ExclusiveView<'_, &mut A>, row: Claimant<'_>) {
//!     let mut claim = claims.claim(&row, row.entity()).unwrap();
//!     let a = claim.get_mut();
//!     drop(claim);
//!     a.0 = 1;
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: &formic_ecs::ExclusiveView<'_, &mut A>, row: Claimant<'_>) {
//!     let mut claim = claims.claim(&row, row.entity()).unwrap();
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
//! fn write(claims: formic_ecs::ExclusiveView<'_, &mut A>, row: Claimant<'_>) {
//!     let mut claim = claims.claim(&row, row.entity()).unwrap();
//!     drop(claims);
//!     claim.get_mut().0 = 1;
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn write(claims: formic_ecs::ExclusiveView<'_, &mut A>, row: Claimant<'_>) {
//!     let mut claim = claims.claim(&row, row.entity()).unwrap();
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
//!
//! # A claimant does not outlive its query
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! fn keep(mut rows: formic_ecs::BorrowedQuery<'_, Claimant>) {
//!     let kept: Vec<Claimant> = rows.query().into_iter().collect();
//!     drop(rows);
//!     drop(kept);
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! fn keep(mut rows: formic_ecs::BorrowedQuery<'_, Claimant>) {
//!     let kept: Vec<Claimant> = rows.query().into_iter().collect();
//!     drop(kept);
//!     drop(rows);
//! }
//! ```
//!
//! # A claimant is not copied, not even by leave of a reference
//!
//! ```compile_fail,E0507
//! # use formic_ecs::prelude::*;
//! fn copy<'a>(row: &Claimant<'a>) -> Claimant<'a> {
//!     *row
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! fn pass<'a>(row: Claimant<'a>) -> Claimant<'a> {
//!     row
//! }
//! ```
//!
//! # A claimant, a reference to it, and a claim stay on their thread
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn send(row: Claimant<'static>) -> Box<dyn Send> {
//!     Box::new(row)
//! }
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn send(row: &'static Claimant<'static>) -> Box<dyn Send> {
//!     Box::new(row)
//! }
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn send(claim: formic_ecs::Claim<'static, Entity>) -> Box<dyn Send> {
//!     Box::new(claim)
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! fn send(row: &'static Entity) -> Box<dyn Send> {
//!     Box::new(row)
//! }
//! ```
//!
//! # Nor does a query or a view of claimants leave its thread, in a mutex or otherwise
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn share(rows: &'static std::sync::Mutex<formic_ecs::BorrowedQuery<'static, (Claimant<'static>, Entity)>>) -> Box<dyn Send> {
//!     Box::new(rows)
//! }
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn share(rows: &'static std::sync::Mutex<formic_ecs::View<'static, Claimant<'static>>>) -> Box<dyn Send> {
//!     Box::new(rows)
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! fn share(rows: &'static std::sync::Mutex<formic_ecs::BorrowedQuery<'static, (&'static mut A, Entity)>>) -> Box<dyn Send> {
//!     Box::new(rows)
//! }
//! ```
//!
//! # Two queries that are asked at the same time have no claimants
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! fn twice(world: &World) -> usize {
//!     world.query_ref::<Claimant>().count() + world.query_ref::<Claimant>().count()
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! fn twice(world: &mut World) -> usize {
//!     world.query::<Claimant>().count() + world.query::<Claimant>().count()
//! }
//! ```
