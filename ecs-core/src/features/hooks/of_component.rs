//! The hooks of one component type.

use alloc::sync::Arc;
use core::marker::PhantomData;

use super::{Event, EventKind, HOOK, Observer};
use crate::component::Component;
use crate::world::World;

/// The hooks of one component type, being set; see [`World::hooks`].
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.insert_resource(Vec::<&str>::new());
/// let log = |what| move |world: &mut World, _| world.resource_mut::<Vec<_>>().unwrap().push(what);
/// world
///     .hooks::<Gold>()
///     .on_add(log("add"))
///     .on_insert(log("insert"))
///     .on_replace(log("replace"))
///     .on_remove(log("remove"))
///     .on_despawn(log("despawn"));
/// let imp = world.spawn(Gold(1));
/// world.insert(imp, Gold(2))?;
/// world.despawn(imp)?;
/// let expected = ["add", "insert", "replace", "insert", "despawn", "replace", "remove"];
/// assert_eq!(world.resource::<Vec<&str>>()?, &expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HooksOf<'w, T> {
    world: &'w mut World,
    _component: PhantomData<fn() -> T>,
}

debug_fields!([T] HooksOf<'_, T>:);

impl<'w, T: Component> HooksOf<'w, T> {
    pub(super) fn new(world: &'w mut World) -> Self {
        Self { world, _component: PhantomData }
    }

    fn set(
        self,
        kind: EventKind,
        hook: impl Fn(&mut World, Event) + Send + Sync + 'static,
    ) -> Self {
        let id = self.world.register::<T>();
        let list = self.world.watched().list_mut(kind, id);
        let is_set = list.first().is_some_and(|first| first.id == HOOK);
        assert!(!is_set, "{} has a hook for {kind:?} already", T::name());
        list.insert(0, Observer { id: HOOK, watch: Arc::new(hook) });
        self.world.add_flags(id, kind.flag());
        self
    }

    /// Sets what runs after the component has come to an entity that did not have it.
    ///
    /// # Panics
    /// Panics if this hook is set already.
    pub fn on_add(self, hook: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Self {
        self.set(EventKind::Add, hook)
    }

    /// Sets what runs after the component has been added or replaced.
    ///
    /// # Panics
    /// Panics if this hook is set already.
    pub fn on_insert(self, hook: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Self {
        self.set(EventKind::Insert, hook)
    }

    /// Sets what runs before a value is replaced or removed.
    ///
    /// # Panics
    /// Panics if this hook is set already.
    pub fn on_replace(self, hook: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Self {
        self.set(EventKind::Replace, hook)
    }

    /// Sets what runs before the component is removed.
    ///
    /// # Panics
    /// Panics if this hook is set already.
    pub fn on_remove(self, hook: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Self {
        self.set(EventKind::Remove, hook)
    }

    /// Sets what runs before an entity with the component is despawned.
    ///
    /// # Panics
    /// Panics if this hook is set already.
    pub fn on_despawn(self, hook: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Self {
        self.set(EventKind::Despawn, hook)
    }
}
