//! Values of a component of any type: what an action inserts, and what the journal restores. What only
//! the type itself can do is here, so that all the rest is compiled once.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{Codec, CodecError, Component, Entity, World};

/// What was said of an entity's value: that there was none, or whether it was enabled.
pub(super) const ABSENT: u8 = 0;
pub(super) const DISABLED: u8 = 1;
pub(super) const ENABLED: u8 = 2;

/// The values of a list of changes, `None` where there is no value.
pub(super) type Values<T> = VecDeque<Option<T>>;

/// [`Values`] of any type.
pub(super) trait AnyValues: Send + Sync {
    fn name(&self) -> &'static str;
    /// An empty list of the same type.
    fn empty(&self) -> Box<dyn AnyValues>;
    fn clear(&mut self);
    fn forget(&mut self, index: usize);
    /// Whether the entity has the component.
    fn is_in(&self, world: &World, entity: Entity) -> bool;
    fn remove_from(&self, world: &mut World, entity: Entity);
    /// Adds the value of an entity at the end, and returns its mark.
    fn save(&mut self, world: &World, entity: Entity) -> u8;
    /// Takes the value with this index from the list, and inserts it if there is one, with this enabled
    /// bit. Observers run last.
    fn put(&mut self, index: usize, world: &mut World, entity: Entity, enabled: Option<bool>);
    fn write(&self, index: usize, out: &mut Vec<u8>) -> Result<(), CodecError>;
    /// Reads a mark and its value, adds the value at the end, and returns the mark.
    fn read(&mut self, bytes: &mut &[u8]) -> Result<u8, CodecError>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Component + Clone> AnyValues for Values<T> {
    fn name(&self) -> &'static str {
        T::name()
    }

    fn empty(&self) -> Box<dyn AnyValues> {
        Box::new(Self::new())
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn forget(&mut self, index: usize) {
        self.remove(index);
    }

    fn is_in(&self, world: &World, entity: Entity) -> bool {
        world.has::<T>(entity)
    }

    fn remove_from(&self, world: &mut World, entity: Entity) {
        drop(world.remove::<T>(entity));
    }

    fn save(&mut self, world: &World, entity: Entity) -> u8 {
        let value = world.get::<T>(entity).ok();
        self.push_back(value.cloned());
        let is_enabled = || !T::ENABLEABLE || world.is_enabled::<T>(entity).unwrap_or(true);
        value.map_or(ABSENT, |_| if is_enabled() { ENABLED } else { DISABLED })
    }

    fn put(&mut self, index: usize, world: &mut World, entity: Entity, enabled: Option<bool>) {
        let Some(value) = self.remove(index).flatten() else { return };
        // If other code has despawned the entity, nothing is inserted.
        let insert = || drop(world.insert(entity, value));
        let inserted = catch_unwind(AssertUnwindSafe(insert));
        if let Some(enabled) = enabled.filter(|_| T::ENABLEABLE) {
            // An observer may have removed the component at once: then there is no bit to set.
            world.set_enabled::<T>(entity, enabled).unwrap_or_default();
        }
        // An observer has panicked: the value is in place nevertheless, and by now its bit is too.
        inserted.unwrap_or_else(|panic| resume_unwind(panic));
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        self[index].iter().try_for_each(|value| T::CODEC.write(value, out))
    }

    fn read(&mut self, bytes: &mut &[u8]) -> Result<u8, CodecError> {
        let mark = Codec::<u8>::plain().read(bytes)?;
        self.push_back(match mark {
            ABSENT => None,
            DISABLED | ENABLED => Some(T::CODEC.read(bytes)?),
            _ => return Err(CodecError),
        });
        Ok(mark)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
