//! The components that a world has met: by id, by type and by name.

use super::World;
use crate::component::{Component, ComponentId, ComponentInfo};
use crate::error::UnknownComponent;
use crate::name::Name;

impl World {
    /// The component types that this world has met, in order of first use.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// assert!(world.components()[gold.index()].name().as_str().ends_with("Gold"));
    /// ```
    #[must_use]
    pub fn components(&self) -> &[ComponentInfo] {
        self.registry.infos()
    }

    /// Makes a component type known; returns its number.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// assert_eq!(world.component_id::<Gold>(), Some(gold));
    /// assert_eq!(world.register::<Gold>(), gold, "the second time it is known");
    /// ```
    pub fn register<T: Component>(&mut self) -> ComponentId {
        self.registry.register::<T>()
    }

    /// Says that snapshots may have a component which the program has no more:
    /// [`restore`](Self::restore) drops its values, and reports how many there were. Without it a
    /// component that the world does not know is an error, since more often its registration was
    /// forgotten.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[component(name = "game.mana")]
    /// #[repr(C)]
    /// struct Mana(u32);
    /// let mut old = World::new();
    /// let wizard = old.spawn(Mana(7));
    /// let saved = old.snapshot()?;
    ///
    /// // The next version of the program has no such type.
    /// let mut world = World::new();
    /// assert!(world.restore(&saved).is_err());
    /// world.register_removed("game.mana");
    /// let report = world.restore(&saved)?;
    /// assert_eq!(report.to_string(), "game.mana of 1 entity: dropped, the program has it no more");
    /// assert!(world.contains(wizard));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_removed(&mut self, name: impl Into<Name>) {
        self.registry.register_removed(name.into());
    }

    /// The id of a component type, if the world has met it.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// assert_eq!(world.component_id::<Gold>(), None);
    /// let gold = world.register::<Gold>();
    /// assert_eq!(world.component_id::<Gold>(), Some(gold));
    /// ```
    #[must_use]
    pub fn component_id<T: Component>(&self) -> Option<ComponentId> {
        self.registry.get::<T>()
    }

    /// The component of this name. Should several types call themselves the same, the first.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    /// use core::alloc::Layout;
    /// #[derive(Component)]
    /// #[component(name = "game.gold")]
    /// struct Gold(u32);
    ///
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// let silver = world.register_dynamic(ComponentDescriptor::bytes("silver", Layout::new::<u32>()))?;
    /// assert_eq!(world.component_by_name("game.gold"), Some(gold));
    /// assert_eq!(world.component_info(silver)?.name().as_str(), "silver");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn component_by_name(&self, name: &str) -> Option<ComponentId> {
        self.registry.by_name(name)
    }

    /// What the world knows about a component.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// assert_eq!(world.component_info(gold)?.layout().size(), 4);
    /// assert!(World::new().component_info(gold).is_err());
    /// # Ok::<(), formic_ecs::UnknownComponent>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the id is not of this world.
    pub fn component_info(&self, id: ComponentId) -> Result<&ComponentInfo, UnknownComponent> {
        self.registry.find(id)
    }
}
