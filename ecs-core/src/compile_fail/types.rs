//! What must not compile of types: of components, of filters, and of what the world keeps in step.
//!
//! # What threads may not share is no component and no resource
//!
//! ```compile_fail,E0277
//! struct Local(std::rc::Rc<u32>);
//! impl ecs_core::Component for Local {}
//! ```
//! ```
//! struct Shared(std::sync::Arc<u32>);
//! impl ecs_core::Component for Shared {}
//! ```
//! ```compile_fail,E0277
//! ecs_core::World::new().insert_resource(std::cell::Cell::new(1));
//! ```
//! ```
//! ecs_core::World::new().insert_resource(std::sync::atomic::AtomicU32::new(1));
//! ```
//!
//! ```compile_fail,E0277
//! #[derive(PartialEq, Eq, Hash)]
//! struct Level(std::rc::Rc<u32>);
//! impl ecs_core::SharedComponent for Level {}
//! ```
//! ```
//! #[derive(PartialEq, Eq, Hash)]
//! struct Level(std::sync::Arc<u32>);
//! impl ecs_core::SharedComponent for Level {}
//! ```
//! ```compile_fail,E0277
//! #[derive(Default)]
//! struct Bounds(std::cell::Cell<f32>);
//! impl ecs_core::ChunkComponent for Bounds {}
//! ```
//! ```
//! #[derive(Default)]
//! struct Bounds(std::sync::Mutex<f32>);
//! impl ecs_core::ChunkComponent for Bounds {}
//! ```
//!
//! # Nor is it in what the world calls later, or a buffer carries to another thread
//!
//! ```compile_fail,E0277
//! # use ecs_core::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let seen = std::rc::Rc::new(());
//! World::new().observe::<ecs_core::Add, A>(move |_, _| drop(seen.clone()));
//! ```
//! ```compile_fail,E0277
//! # use ecs_core::prelude::*;
//! let seen = std::rc::Rc::new(());
//! CommandBuffer::new(&World::new()).run(move |_| drop(seen));
//! ```
//! ```
//! # use ecs_core::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! let seen = std::sync::Arc::new(());
//! CommandBuffer::new(&World::new()).run({
//!     let seen = seen.clone();
//!     move |_| drop(seen)
//! });
//! World::new().observe::<ecs_core::Add, A>(move |_, _| drop(seen.clone()));
//! ```
//!
//! # Borrowed data is no component
//!
//! ```compile_fail,E0478
//! struct Borrowed<'a>(&'a u32);
//! impl<'a> ecs_core::Component for Borrowed<'a> {}
//! ```
//! ```
//! struct Borrowed(&'static u32);
//! impl ecs_core::Component for Borrowed {}
//! ```
//!
//! # The bit of a component without one
//!
//! ```compile_fail,E0080
//! # use ecs_core::prelude::*;
//! # #[derive(Component)] struct A(u32);
//! World::new().query::<EnabledMut<A>>().count();
//! ```
//! ```
//! # use ecs_core::prelude::*;
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
//! impl ecs_core::QueryFilter for All {
//!     type State = ();
//!     type Slots = ();
//!     fn state(_: &mut ecs_core::__private::IdSource<'_>) {}
//!     fn access(_: &(), _: &mut ecs_core::Access) {}
//!     fn slots(_: &(), _: &ecs_core::Archetype) -> Option<()> { Some(()) }
//!     fn rows(_: &(), _: &ecs_core::__private::Chunks, _: usize, _: u64, _: &mut ecs_core::__private::Rows) {}
//! }
//! ```
//! ```
//! use ecs_core::prelude::*;
//! type Most<A, B> = (With<A>, Without<B>);
//! # #[derive(Component)] struct A;
//! # #[derive(Component)] struct B;
//! World::new().query_filtered::<(), Most<A, B>>().count();
//! ```
//!
//! # Nor are they by way of references to types of one's own
//!
//! These count as types of one's own, too.
//!
//! ```compile_fail,E0277
//! # #[derive(ecs_core::Component)] struct Gold(u32);
//! impl ecs_core::QueryFilter for &Gold {
//!     type State = ();
//!     type Slots = ();
//!     fn state(_: &mut ecs_core::__private::IdSource<'_>) {}
//!     fn access(_: &(), _: &mut ecs_core::Access) {}
//!     fn slots(_: &(), _: &ecs_core::Archetype) -> Option<()> { Some(()) }
//!     fn rows(_: &(), _: &ecs_core::__private::Chunks, _: usize, _: u64, _: &mut ecs_core::__private::Rows) {}
//! }
//! ```
//! ```
//! # use ecs_core::prelude::*;
//! # #[derive(ecs_core::Component)] struct Gold(u32);
//! World::new().query_filtered::<&Gold, With<Gold>>().count();
//! ```
//!
//! # What seals them has no name
//!
//! ```compile_fail,E0432
//! use ecs_core::__private::Sealed;
//! ```
//! ```
//! use ecs_core::__private::Rows;
//! ```
//!
//! # Nobody declares that data which writes only reads
//!
//! ```compile_fail,E0277
//! # #[derive(ecs_core::Component)] struct Gold(u32);
//! impl ecs_core::ReadOnly for &mut Gold {}
//! ```
//! ```
//! # use ecs_core::prelude::*;
//! # #[derive(ecs_core::Component)] struct Gold(u32);
//! fn count<Q: ecs_core::ReadOnly>(world: &World) -> usize {
//!     world.query_ref::<Q>().count()
//! }
//! count::<&Gold>(&World::new());
//! ```
//!
//! # What the world keeps in step is not written by a query
//!
//! ```compile_fail,E0080
//! # use ecs_core::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! for children in world.query::<&mut Sources<ChildOf>>() {
//!     drop(children);
//! }
//! ```
//! ```
//! # use ecs_core::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! for children in world.query::<&Sources<ChildOf>>() {
//!     assert!(!children.is_empty());
//! }
//! ```
//!
//! # What the world keeps in step is not taken by hand
//!
//! ```compile_fail,E0080
//! # use ecs_core::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! world.remove::<Sources<ChildOf>>(entity).ok();
//! ```
//! ```
//! # use ecs_core::{ChildOf, Sources, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! world.set_parent(entity, None).ok();
//! ```
//!
//! # Nor by a command
//!
//! ```compile_fail,E0080
//! # use ecs_core::{Despawned, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! let mut commands = CommandBuffer::new(&world);
//! commands.remove::<Despawned>(entity);
//! ```
//! ```
//! # use ecs_core::{Prefab, prelude::*};
//! let mut world = World::new();
//! let entity = world.spawn(());
//! let mut commands = CommandBuffer::new(&world);
//! commands.remove::<Prefab>(entity);
//! ```
