//! Types that must not compile: components, filters, and data that the world keeps in step.
//!
//! # What threads may not share is no component and no resource
//!
//! ```compile_fail,E0277
//! struct Local(std::rc::Rc<u32>);
//! impl formic_ecs::Component for Local {
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
//! }
//! ```
//! ```
//! struct Shared(std::sync::Arc<u32>);
//! impl formic_ecs::Component for Shared {
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
//! }
//! ```
//! ```compile_fail,E0277
//! formic_ecs::World::new().insert_resource(std::cell::Cell::new(1));
//! ```
//! ```
//! formic_ecs::World::new().insert_resource(std::sync::atomic::AtomicU32::new(1));
//! ```
//!
//! # What marks single rows as changed stays on its thread
//!
//! Rows side by side share a mask.
//!
//! ```compile_fail,E0277
//! # #[derive(formic_ecs::Component)] #[component(tracked)] struct Health(u32);
//! # let mut world = formic_ecs::World::new();
//! let all: Vec<_> = world.query::<formic_ecs::Mut<'_, Health>>().into_iter().collect();
//! std::thread::scope(|scope| _ = scope.spawn(|| all.into_iter().for_each(|mut it| it.0 += 1)));
//! ```
//! ```compile_fail,E0277
//! # #[derive(formic_ecs::Component)] #[component(tracked)] struct Health(u32);
//! # let mut world = formic_ecs::World::new();
//! let all = world.query::<formic_ecs::Mut<'_, Health>>().into_iter();
//! std::thread::scope(|scope| _ = scope.spawn(|| all.for_each(|mut it| it.0 += 1)));
//! ```
//! ```compile_fail,E0277
//! # let world = formic_ecs::World::new();
//! fn goes_to_threads<T: Send>() {}
//! goes_to_threads::<formic_ecs::DynamicRow<'_>>();
//! ```
//! ```
//! # #[derive(formic_ecs::Component)] #[component(tracked)] struct Health(u32);
//! # let mut world = formic_ecs::World::new();
//! let all: Vec<_> = world.query::<&mut Health>().into_iter().collect();
//! std::thread::scope(|scope| _ = scope.spawn(|| all.into_iter().for_each(|it| it.0 += 1)));
//! ```
//!
//! # Who claims rows does so on one thread
//!
//! Which of two threads came first would go with the time.
//!
//! ```compile_fail,E0277
//! # use formic_ecs::{Claimant, Present, Query};
//! fn goes_to_threads<T: Send>() {}
//! goes_to_threads::<Query<'_, Present<Claimant<'_>>>>();
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::{Claimant, ViewShard};
//! fn goes_to_threads<T: Send>() {}
//! goes_to_threads::<ViewShard<'_, Claimant<'_>>>();
//! ```
//! ```
//! # use formic_ecs::{Present, Query, ViewShard};
//! # #[derive(formic_ecs::Component)] struct Health(u32);
//! fn goes_to_threads<T: Send>() {}
//! goes_to_threads::<Query<'_, Present<&mut Health>>>();
//! goes_to_threads::<ViewShard<'_, &mut Health>>();
//! ```
//!
//! # A value that the state hash cannot see
//!
//! It is in no component unless that says so.
//!
//! ```compile_fail,E0277
//! #[derive(formic_ecs::Component)]
//! struct Plays(Box<dyn Fn() + Send + Sync>);
//! ```
//! ```compile_fail,E0277
//! #[derive(formic_ecs::Component)]
//! struct Memory(std::collections::HashMap<u32, u32>);
//! ```
//! ```compile_fail,E0277
//! #[derive(formic_ecs::Component)]
//! #[component(buffer = 4)]
//! enum Note { Empty, Written(std::sync::Mutex<u32>) }
//! ```
//! ```compile_fail,E0046
//! struct Silent(u32);
//! impl formic_ecs::Component for Silent {}
//! ```
//! ```
//! #[derive(formic_ecs::Component)]
//! #[component(unhashed)]
//! struct Plays(Box<dyn Fn() + Send + Sync>);
//! #[derive(formic_ecs::Component)]
//! struct Memory(std::collections::BTreeMap<u32, u32>);
//! #[derive(formic_ecs::Component)]
//! #[component(buffer = 4)]
//! enum Note { Empty, Written(Box<u32>) }
//! struct Silent(u32);
//! impl formic_ecs::Component for Silent {
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|it, hasher| hasher.write_u64(it.0.into()));
//! }
//! ```
//!
//! # What threads may not share is not in what the world calls later, or a buffer carries to another thread
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let seen = std::rc::Rc::new(());
//! World::new().hooks().observe::<A>(formic_ecs::EventKind::Add, move |_, _| drop(seen.clone()));
//! ```
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! let seen = std::rc::Rc::new(());
//! CommandBuffer::new(&World::new()).run(move |_| drop(seen));
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let seen = std::sync::Arc::new(());
//! CommandBuffer::new(&World::new()).run({
//!     let seen = seen.clone();
//!     move |_| drop(seen)
//! });
//! World::new().hooks().observe::<A>(formic_ecs::EventKind::Add, move |_, _| drop(seen.clone()));
//! ```
//!
//! # Borrowed data is no component
//!
//! ```compile_fail,E0478
//! struct Borrowed<'a>(&'a u32);
//! impl<'a> formic_ecs::Component for Borrowed<'a> {
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
//! }
//! ```
//! ```
//! struct Borrowed(&'static u32);
//! impl formic_ecs::Component for Borrowed {
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
//! }
//! ```
//!
//! # A component is not described as a subtype of itself
//!
//! That is another component, whose functions would be called with values that are not of its type.
//!
//! ```compile_fail,E0308
//! # use formic_ecs::{__private::InfoOf, Component, HashRule};
//! struct Call<F>(F);
//! impl Component for Call<for<'a> fn(&'a u8)> {
//!     const HASH: HashRule<Self> = HashRule::Unhashed;
//! }
//! impl Component for Call<fn(&'static u8)> {
//!     const HASH: HashRule<Self> = HashRule::Unhashed;
//!     fn info() -> InfoOf<Self> {
//!         InfoOf::<Call<for<'a> fn(&'a u8)>>::of()
//!     }
//! }
//! ```
//! ```
//! # use formic_ecs::{__private::InfoOf, Component, HashRule};
//! struct Call<F>(F);
//! impl Component for Call<for<'a> fn(&'a u8)> {
//!     const HASH: HashRule<Self> = HashRule::Unhashed;
//! }
//! impl Component for Call<fn(&'static u8)> {
//!     const HASH: HashRule<Self> = HashRule::Unhashed;
//!     fn info() -> InfoOf<Self> {
//!         InfoOf::of()
//!     }
//! }
//! ```
//!
//! # The bit of a component without one
//!
//! ```compile_fail,E0080
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! World::new().query::<EnabledMut<A>>().count();
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] #[component(enableable)] struct A(u32);
//! World::new().query::<EnabledMut<A>>().count();
//! ```
//!
//! # Filters are not made by hand
//!
//! They are handed the world's registry of types, and say which rows of a chunk there are.
//!
//! ```compile_fail,E0277
//! struct All;
//! impl formic_ecs::QueryFilter for All {
//!     type Terms = Self;
//! }
//! ```
//! ```
//! use formic_ecs::prelude::*;
//! type Most<A, B> = (With<A>, Without<B>);
//! # #[derive(Component)] struct A;
//! # #[derive(Component)] struct B;
//! World::new().query_filtered::<(), Most<A, B>>().count();
//! ```
//!
//! # Nor are terms, by way of references to types of one's own
//!
//! These count as types of one's own, too.
//!
//! ```compile_fail,E0405
//! # #[derive(formic_ecs::Component)] struct Gold(u32);
//! impl formic_ecs::__private::Term for &Gold {}
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(formic_ecs::Component)] struct Gold(u32);
//! World::new().query_filtered::<&Gold, With<Gold>>().count();
//! ```
//!
//! # What seals them has no name
//!
//! ```compile_fail,E0432
//! use formic_ecs::__private::Sealed;
//! ```
//! ```
//! use formic_ecs::__private::Rows;
//! ```
//!
//! # No type declares that data which writes only reads
//!
//! ```compile_fail,E0277
//! # #[derive(formic_ecs::Component)] struct Gold(u32);
//! impl formic_ecs::ReadOnly for &mut Gold {}
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(formic_ecs::Component)] struct Gold(u32);
//! fn count<Q: formic_ecs::ReadOnly>(world: &World) -> usize {
//!     world.query_ref::<Q>().count()
//! }
//! count::<&Gold>(&World::new());
//! ```
//!
//! # Nor does it with a trait of its own that says so
//!
//! `&mut Gold` counts as a type of this crate, so the compiler takes the first implementation.
//!
//! ```compile_fail,E0277
//! # use formic_ecs::{__private::PartsItem, ReadOnly, prelude::*};
//! # #[derive(Component)] struct Gold(u32);
//! # struct Purse<T>(T);
//! # impl<T> QueryData for Purse<T> {
//! #     type Item<'w> = &'w mut Gold;
//! #     type ReadOnly = Self;
//! #     type Parts = <&'static mut Gold as QueryData>::Parts;
//! #     fn from_parts<'w>(row: PartsItem<'w, Self>) -> Self::Item<'w> { row }
//! # }
//! trait Reads: ReadOnly {}
//! impl<T> ReadOnly for Purse<T> where Self: Reads {}
//! impl<T> Reads for Purse<T> {}
//! ```
//! ```
//! # use formic_ecs::{__private::PartsItem, ReadOnly, prelude::*};
//! # #[derive(Component)] struct Gold(u32);
//! # struct Purse<T>(T);
//! # impl<T> QueryData for Purse<T> {
//! #     type Item<'w> = &'w Gold;
//! #     type ReadOnly = Self;
//! #     type Parts = <&'static Gold as QueryData>::Parts;
//! #     fn from_parts<'w>(row: PartsItem<'w, Self>) -> Self::Item<'w> { row }
//! # }
//! trait Reads: ReadOnly {}
//! impl<T> Reads for Purse<T> {}
//! World::new().query_ref::<Purse<u8>>().count();
//! ```
//!
//! # A row with named fields writes only where it may
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! struct Purse<'w>(&'w mut Gold);
//! World::new().query_ref::<Purse>().count();
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! struct Purse<'w>(&'w Gold);
//! World::new().query_ref::<Purse>().count();
//! ```
//!
//! Its read-only form reads whatever is nested in it:
//!
//! ```compile_fail,E0277
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! struct Purse<'w>(&'w mut Gold);
//! #[derive(QueryData)]
//! #[query_data(read_only = OwnerReadOnly)]
//! struct Owner<'w>(Purse<'w>);
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! #[query_data(read_only = PurseReadOnly)]
//! struct Purse<'w>(&'w mut Gold);
//! #[derive(QueryData)]
//! #[query_data(read_only = OwnerReadOnly)]
//! struct Owner<'w>(Purse<'w>);
//! World::new().query_ref::<OwnerReadOnly>().count();
//! ```
//!
//! A row does not outlive its query:
//!
//! ```compile_fail,E0502
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! struct Purse<'w>(&'w mut Gold);
//! let mut world = World::new();
//! let purse = world.query::<Purse>().first();
//! world.len();
//! purse.map(|purse| purse.0.0 += 1);
//! ```
//! ```
//! # use formic_ecs::prelude::*;
//! # #[derive(Component)] struct Gold(u32);
//! #[derive(QueryData)]
//! struct Purse<'w>(&'w mut Gold);
//! let mut world = World::new();
//! let purse = world.query::<Purse>().first();
//! purse.map(|purse| purse.0.0 += 1);
//! world.len();
//! ```
//!
//! # A row that is written by hand is not freer than what it is made of
//!
//! ```compile_fail,E0277
//! # use formic_ecs::{__private::PartsItem, prelude::*};
//! struct Named;
//! impl QueryData for Named {
//!     type Item<'w> = Entity;
//!     type ReadOnly = Self;
//!     type Parts = Claimant<'static>;
//!     fn from_parts<'w>(row: PartsItem<'w, Self>) -> Self::Item<'w> { row.entity() }
//! }
//! fn send<T: Send>(_: T) {}
//! send(World::new().query::<Named>());
//! ```
//! ```
//! # use formic_ecs::{__private::PartsItem, prelude::*};
//! struct Named;
//! impl QueryData for Named {
//!     type Item<'w> = Entity;
//!     type ReadOnly = Self;
//!     type Parts = Entity;
//!     fn from_parts<'w>(row: PartsItem<'w, Self>) -> Self::Item<'w> { row }
//! }
//! fn send<T: Send>(_: T) {}
//! send(World::new().query::<Named>());
//! ```
//!
//! # What the world keeps in step is not written by a query
//!
//! ```compile_fail,E0080
//! # use formic_ecs::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! for children in world.query::<&mut Sources<ChildOf>>() {
//!     drop(children);
//! }
//! ```
//! ```
//! # use formic_ecs::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! for children in world.query::<&Sources<ChildOf>>() {
//!     assert!(!children.is_empty());
//! }
//! ```
//!
//! # What the world keeps in step is not taken by hand
//!
//! ```compile_fail,E0080
//! # use formic_ecs::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! world.remove::<Sources<ChildOf>>(entity).ok();
//! ```
//! ```
//! # use formic_ecs::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! world.relation_mut::<ChildOf>().set_parent(entity, None).ok();
//! ```
//!
//! # Nor by a command
//!
//! ```compile_fail,E0080
//! # use formic_ecs::{Despawned, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! let mut commands = CommandBuffer::new(&world);
//! commands.remove::<Despawned>(entity);
//! ```
//! ```
//! # use formic_ecs::{Prefab, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! let mut commands = CommandBuffer::new(&world);
//! commands.remove::<Prefab>(entity);
//! ```
