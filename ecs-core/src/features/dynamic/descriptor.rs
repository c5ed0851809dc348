//! The description of a component that is registered at run time.
#![expect(unsafe_code, reason = "takes over the word of who gives the functions of a component")]

use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::NonNull;

use super::RegisterError;
use crate::component::{
    ArchetypeFlags, ComponentId, ComponentInfo, ComponentKind, DropErasedFn as DropFn, DropValueFn,
    ErasedFns, Registry,
};
use crate::hash::StateHasher;
use crate::name::Name;

/// A function that clones the value at the first pointer into the room at the second. The number is the
/// size of a value in bytes.
pub type CloneValueFn = unsafe fn(NonNull<u8>, NonNull<u8>, usize);

/// A function that adds the value at the pointer to the state hash. The number is the size of a value in
/// bytes.
pub type HashValueFn = unsafe fn(NonNull<u8>, usize, &mut StateHasher);

/// The description of a component that has no Rust type: one that a script declares, or a host in another
/// language. It is passed to [`ByIdMut::register`](crate::ByIdMut::register).
///
/// Prefer [`bytes`](Self::bytes) if values are plain bytes: everything is safe then.
///
/// ```
/// use core::alloc::Layout;
/// use formic_ecs::prelude::*;
/// use formic_ecs::ComponentDescriptor;
///
/// let mut world = World::new();
/// let health = ComponentDescriptor::bytes("script.health".to_string(), Layout::new::<u32>());
/// let health = world.by_id_mut().register(health)?;
/// let imp = world.spawn(());
/// world.by_id_mut().insert(imp, health, &7_u32.to_ne_bytes())?;
/// assert_eq!(world.by_id().get(imp, health)?, 7_u32.to_ne_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// It has no id yet.
#[derive(Clone, Debug)]
pub struct ComponentDescriptor(ComponentInfo);

impl ComponentDescriptor {
    /// The maximum size of a value in bytes.
    pub const SIZE_MAX: usize = 1 << 24;
    /// The maximum alignment of a value in bytes.
    pub const ALIGN_MAX: usize = 4096;

    /// Describes a component whose values are plain bytes that need no drop. They are copied as bytes,
    /// are part of the state hash, and are saved in snapshots.
    pub fn bytes(name: impl Into<Name>, layout: Layout) -> Self {
        Self::new(name.into(), layout, ComponentKind::Bytes, ErasedFns::PLAIN)
    }

    /// Describes a component whose values are something else, by its functions. `drop` drops a value in
    /// place, and comes with the user data that it gets beside the value; values need no drop without it.
    /// `clone` clones a value, and is needed if instantiation is to copy the component. `hash` adds a
    /// value to the state hash; without it the component is one that the hash does [not
    /// cover](crate::StateHash::uncovered).
    ///
    /// The functions are called while the world is consistent, and may panic. Such values cannot be saved
    /// in a snapshot.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use core::ffi::c_void;
    /// use core::ptr::null_mut;
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    ///
    /// unsafe extern "C-unwind" fn drop_text(_user_data: *mut c_void, value: *mut c_void) {
    ///     unsafe { value.cast::<String>().drop_in_place() }
    /// }
    ///
    /// let layout = Layout::new::<String>();
    /// // SAFETY: values of this component are strings, which this drops.
    /// let text = unsafe {
    ///     ComponentDescriptor::with_functions(
    ///         "script.text",
    ///         layout,
    ///         Some((drop_text, null_mut())),
    ///         Some(|from, room, _size| unsafe {
    ///             room.cast::<String>().write(from.cast::<String>().as_ref().clone());
    ///         }),
    ///         Some(|value, _size, hasher| hasher.write(unsafe { value.cast::<String>().as_ref() }.as_bytes())),
    ///     )
    /// };
    /// let mut world = World::new();
    /// let text = world.by_id_mut().register(text)?;
    /// assert!(!world.component_info(text)?.is_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// * The functions are correct for every value that is ever inserted under the component's id, and
    ///   such a value has this layout. The user data is valid for the drop function, on any thread, for
    ///   as long as there are values.
    /// * Values may be shared between threads, sent to other threads, and dropped and cloned there, as
    ///   `Send + Sync` says of a Rust type.
    /// * The functions do not access a world.
    pub unsafe fn with_functions(
        name: impl Into<Name>,
        layout: Layout,
        drop: Option<(DropValueFn, *mut c_void)>,
        clone: Option<CloneValueFn>,
        hash: Option<HashValueFn>,
    ) -> Self {
        let erased = ErasedFns {
            drop: drop.map(|(function, user_data)| DropFn { function, user_data }),
            clone,
            hash: hash.unwrap_or(ErasedFns::NONE.hash),
            is_hashed: hash.is_some(),
            ..ErasedFns::NONE
        };
        Self::new(name.into(), layout, ComponentKind::Functions, erased)
    }

    fn new(name: Name, layout: Layout, kind: ComponentKind, erased: ErasedFns) -> Self {
        Self(ComponentInfo {
            id: ComponentId::UNKNOWN,
            kind,
            name,
            layout,
            enableable: false,
            tracked: false,
            erased,
            was: &[],
            fields: Name::from(""),
            flags: ArchetypeFlags::NONE,
            hides: false,
            managed: false,
            instead_of_clone: "",
        })
    }

    /// Makes the component one that can be disabled and enabled per entity.
    #[must_use]
    pub fn enableable(self) -> Self {
        Self(ComponentInfo { enableable: true, ..self.0 })
    }

    /// Adds versions per row, which record when the component was changed and added.
    #[must_use]
    pub fn tracked(self) -> Self {
        Self(ComponentInfo { tracked: true, ..self.0 })
    }

    pub(super) fn register(self, registry: &mut Registry) -> Result<ComponentId, RegisterError> {
        let Self(info) = self;
        let (name, size, align) = (info.name.clone(), info.layout.size(), info.layout.align());
        if registry.by_name(&name).is_some() {
            return Err(RegisterError::NameTaken(name));
        }
        if size > Self::SIZE_MAX {
            return Err(RegisterError::TooLarge { name, size });
        }
        if align > Self::ALIGN_MAX {
            return Err(RegisterError::TooAligned { name, align });
        }
        if size % align != 0 {
            return Err(RegisterError::Unpadded(name));
        }
        let [id] = registry.push([info]).ok_or(RegisterError::TooMany)?;
        Ok(id)
    }
}
