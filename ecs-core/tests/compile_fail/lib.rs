//! Programs that must not compile, each beside a twin that does and differs in the one point.
//!
//! Stable rustdoc sees to it that they do not compile; that it is for the reason which the error code
//! names, nightly rustdoc alone (`scripts/deep-check compile_fail`). The twins are what a plain
//! `cargo test` has against a typing error.
//!
//! # The world is not used while it is queried
//!
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! for (entity, _) in world.query::<(Entity, &A)>() {
//!     world.despawn(entity).unwrap();
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let all: Vec<Entity> = world.query::<(Entity, &A)>().map(|row| row.0).collect();
//! for entity in all {
//!     world.despawn(entity).unwrap();
//! }
//! ```
//!
//! Not even to look, while the query writes:
//!
//! ```compile_fail,E0502
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! for a in world.query::<&mut A>() {
//!     a.0 += world.get::<A>(entity).unwrap().0;
//! }
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let sum = world.query_ref::<&A>().map(|a| a.0 + world.get::<A>(entity).unwrap().0).sum::<u32>();
//! # assert_eq!(sum, 0);
//! ```
//!
//! # A component that was lent is not there after the entity
//!
//! ```compile_fail,E0502
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let a = world.get::<A>(entity).unwrap();
//! world.despawn(entity).unwrap();
//! assert_eq!(a.0, 0);
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let a = world.get::<A>(entity).unwrap();
//! assert_eq!(a.0, 0);
//! world.despawn(entity).unwrap();
//! ```
//!
//! # One mutable view at a time, and one item of it
//!
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut one = world.view::<&mut A>();
//! let mut two = world.view::<&mut A>();
//! let entity = Entity::from_bits(1 << 32).unwrap();
//! drop((one.get_mut(entity), two.get_mut(entity)));
//! ```
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut one = world.view::<&mut A>();
//! let entity = Entity::from_bits(1 << 32).unwrap();
//! drop((one.get_mut(entity), one.get_mut(entity)));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let one = world.view::<&A>();
//! let entity = Entity::from_bits(1 << 32).unwrap();
//! drop((one.get(entity), one.get(entity)));
//! ```
//!
//! A view that writes does not lend shared items, of which there could be several:
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = Entity::from_bits(1 << 32).unwrap();
//! drop(world.view::<&mut A>().get(entity));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = Entity::from_bits(1 << 32).unwrap();
//! drop(world.view::<&A>().get(entity));
//! ```
//!
//! # The same entity of one query, twice
//!
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let mut query = world.query::<&mut A>();
//! let one = query.get(entity).unwrap();
//! let two = query.get(entity).unwrap();
//! std::mem::swap(one, two);
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let mut query = world.query::<&mut A>();
//! query.get(entity).unwrap().0 += 1;
//! query.get(entity).unwrap().0 += 1;
//! ```
//!
//! # Several entities at once are lent once at a time
//!
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let [one, two] = [world.spawn(A(0)), world.spawn(A(0))];
//! let mut query = world.query::<&mut A>();
//! let first = query.get_many_mut([one, two]).unwrap();
//! let second = query.get_many_mut([two, one]).unwrap();
//! drop((first, second));
//! ```
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let [one, two] = [world.spawn(A(0)), world.spawn(A(0))];
//! let mut view = world.view::<&mut A>();
//! let first = view.get_many_mut([one, two]).unwrap();
//! let second = view.get_many_mut([two, one]).unwrap();
//! drop((first, second));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let [one, two] = [world.spawn(A(0)), world.spawn(A(0))];
//! let mut query = world.query::<&mut A>();
//! drop(query.get_many_mut([one, two]).unwrap());
//! drop(query.get_many_mut([two, one]).unwrap());
//! drop(query);
//! let mut view = world.view::<&mut A>();
//! drop(view.get_many_mut([one, two]).unwrap());
//! drop(view.get_many_mut([two, one]).unwrap());
//! ```
//!
//! # Who writes is not shared
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let query = world.query::<Mut<'_, A>>();
//! query.iter_many([entity, entity]).count();
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let query = world.query::<Present<&mut A>>();
//! let (one, two) = (query.as_readonly(), query.as_readonly());
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let entity = world.spawn(A(0));
//! let query = world.query::<(Ref<'_, A>, Present<&A>)>();
//! let (one, two) = (query.as_readonly(), query.as_readonly());
//! query.iter_many([entity, entity]).count();
//! ```
//!
//! # A Mut does not outlive what lends it
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! # let mut world = World::new();
//! # let entity = world.spawn(A(0));
//! let mut plan = world.claim_plan::<Mut<'_, A>>();
//! let mut rows = world.plan::<Claimant>();
//! let cell = world.cell();
//! let claims = cell.claims(&mut plan).unwrap();
//! let mut rows = cell.query(&mut rows).unwrap();
//! let row = rows.query().into_get(entity).unwrap();
//! let mut claim = claims.claim(&row, entity).unwrap();
//! let mut value = claim.get_mut();
//! drop(claim);
//! value.0 = 1;
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! # let mut world = World::new();
//! # let entity = world.spawn(A(0));
//! let mut plan = world.claim_plan::<Mut<'_, A>>();
//! let mut rows = world.plan::<Claimant>();
//! let cell = world.cell();
//! let claims = cell.claims(&mut plan).unwrap();
//! let mut rows = cell.query(&mut rows).unwrap();
//! let row = rows.query().into_get(entity).unwrap();
//! let mut claim = claims.claim(&row, entity).unwrap();
//! let mut value = claim.get_mut();
//! value.0 = 1;
//! drop(claim);
//! ```
//! ```compile_fail,E0502
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let value = world.query::<Mut<'_, A>>().first();
//! world.len();
//! drop(value);
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let value = world.query::<Mut<'_, A>>().first();
//! drop(value);
//! world.len();
//! ```
//!
//! # A Mut gives its reference away only whole
//!
//! ```compile_fail,E0597
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut smuggled = Vec::new();
//! world.query::<Mut<'_, A>>().for_each(|mut value| smuggled.push(&mut value.0));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut kept = Vec::new();
//! world.query::<Mut<'_, A>>().for_each(|value| kept.push(&mut value.into_inner().0));
//! ```
//!
//! # To write, the world has to be borrowed to write
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let world = World::new();
//! world.query_ref::<&mut A>();
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let world = World::new();
//! world.query_ref::<(Entity, Option<&mut A>)>();
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let world = World::new();
//! world.query_ref::<(Entity, Option<&A>)>();
//! ```
//!
//! # The slices of a chunk do not escape
//!
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut kept = Vec::new();
//! world.query::<&mut A>().for_each_chunk(|slice| kept.push(slice));
//! world.clear();
//! kept.pop();
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut kept = Vec::new();
//! world.query::<&mut A>().for_each_chunk(|slice| kept.push(slice));
//! kept.pop();
//! world.clear();
//! ```
//!
//! # A chunk that was taken does not outlive the parallel chunks
//!
//! ```compile_fail,E0505
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut scratch = formic_ecs::ParallelScratch::default();
//! let mut query = world.query::<&mut A>();
//! let chunks = query.parallel(&mut scratch);
//! let chunk = chunks.take(0);
//! drop(chunks);
//! chunk.map(|chunk| chunk.for_each(|a| a.0 = 1));
//! ```
//! ```compile_fail,E0499
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut scratch = (formic_ecs::ParallelScratch::default(), formic_ecs::ParallelScratch::default());
//! let mut query = world.query::<&mut A>();
//! let (one, two) = (query.parallel(&mut scratch.0), query.parallel(&mut scratch.1));
//! drop((one, two));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let mut world = World::new();
//! let mut scratch = formic_ecs::ParallelScratch::default();
//! let mut query = world.query::<&mut A>();
//! drop(query.parallel(&mut scratch));
//! drop(query.parallel(&mut scratch));
//! ```

mod cells;
mod dynamic;
mod types;
