//! Components by their layout, and values as text.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::alloc::Layout;
use core::ffi::{c_char, c_void};
use core::fmt::Write;
use core::ptr::NonNull;

use bytemuck::{AnyBitPattern, CheckedBitPattern, checked, pod_read_unaligned};
use formic_ecs::{ComponentDescriptor, ComponentId, ComponentInfo, Entity, error::RegisterError};

use crate::entity::{entity_of, fm_entity};
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, fm_world, with};

/// A component of one world: numbers from 0 in the order of registration, those of the library among them.
pub type fm_component = u32;

/// The type of a field of a component.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
pub enum fm_field_type {
    /// A byte that is 0 or 1.
    FM_BOOL = 0,
    /// An int8_t.
    FM_I8 = 1,
    /// An int16_t.
    FM_I16 = 2,
    /// An int32_t.
    FM_I32 = 3,
    /// An int64_t.
    FM_I64 = 4,
    /// A uint8_t.
    FM_U8 = 5,
    /// A uint16_t.
    FM_U16 = 6,
    /// A uint32_t.
    FM_U32 = 7,
    /// A uint64_t.
    FM_U64 = 8,
    /// A float.
    FM_F32 = 9,
    /// A double.
    FM_F64 = 10,
    /// An fm_entity.
    FM_ENTITY = 11,
}

/// One field of a component, for tools that show values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_field {
    /// The name.
    pub name: *const c_char,
    /// One of fm_field_type.
    pub type_: u32,
    /// The distance from the beginning of the value, in bytes.
    pub offset: usize,
}

/// A flag of fm_component_desc: the component can be switched off for an entity, at the price of a
/// bit.
pub const FM_ENABLEABLE: u32 = 1;
/// A flag of fm_component_desc: changes are found by row rather than by block.
pub const FM_TRACKED: u32 = 2;

/// Ends a value that the world has owned: its entity or its component is gone, it was replaced, or the
/// world is freed. `user` is that of the component. It may be called on any thread that calls the
/// library for the world, returns (C++: it throws no exception), and calls nothing of the library: for
/// the same world that is FM_BUSY, or FM_BAD_HANDLE while the world is freed, and two worlds that call each
/// other may wait without an end.
pub type fm_drop = Option<unsafe extern "C-unwind" fn(user: *mut c_void, value: *mut c_void)>;

/// A component: values of one size, which are moved as bytes.
///
/// Without a drop function they are plain bytes: snapshots and hashes have them, those between the members
/// of a struct as well, so that equal values are those with equal bytes; and what they point at is the
/// caller's business. With one a value belongs to the world from the call on that brings it,
/// until the function is called with it, once; copies that were read are not owners. Such values are
/// in no snapshot, which is refused while entities have the component, nor in hashes (see
/// fm_hash_uncovered()), nor in command buffers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_component_desc {
    /// The name, which snapshots know the component by.
    pub name: *const c_char,
    /// The size of a value in bytes, a multiple of `align`; 0 for a tag.
    pub size: usize,
    /// The alignment, a power of two up to 4,096.
    pub align: usize,
    /// FM_ENABLEABLE, FM_TRACKED, or both, or 0.
    pub flags: u32,
    /// The fields, or null. They may leave bytes out.
    pub fields: *const fm_field,
    /// How many fields there are.
    pub fields_len: usize,
    /// What is called with a value at its end, or null.
    pub drop: fm_drop,
    /// What the function is given beside the value. It has to be good on any thread, until the world
    /// is freed.
    pub user: *mut c_void,
}

/// The number of a component.
pub(crate) fn number_of(id: ComponentId) -> fm_component {
    fm_component::try_from(id.index()).expect("fewer than 2^32 components")
}

/// Whether a component was registered here: its values are the host's to make.
pub(crate) fn is_hosts(info: &ComponentInfo) -> bool {
    info.type_id().is_none()
}

pub(crate) fn expect_hosts(info: &ComponentInfo) -> Result<(), Failure> {
    if is_hosts(info) {
        return Ok(());
    }
    Err(Failure::argument(format!("{} belongs to the library", info.name())))
}

#[derive(Debug)]
pub(crate) struct Field {
    name: String,
    kind: fm_field_type,
    offset: usize,
}

impl fm_field_type {
    fn size(self) -> usize {
        match self {
            Self::FM_BOOL | Self::FM_I8 | Self::FM_U8 => 1,
            Self::FM_I16 | Self::FM_U16 => 2,
            Self::FM_I32 | Self::FM_U32 | Self::FM_F32 => 4,
            Self::FM_I64 | Self::FM_U64 | Self::FM_F64 | Self::FM_ENTITY => 8,
        }
    }

    /// The text of a value with these bytes, of which there are [`size`](Self::size).
    fn show(self, bytes: &[u8]) -> String {
        fn number<T: AnyBitPattern + ToString>(bytes: &[u8]) -> String {
            pod_read_unaligned::<T>(bytes).to_string()
        }
        match self {
            Self::FM_BOOL => (bytes[0] != 0).to_string(),
            Self::FM_I8 => number::<i8>(bytes),
            Self::FM_I16 => number::<i16>(bytes),
            Self::FM_I32 => number::<i32>(bytes),
            Self::FM_I64 => number::<i64>(bytes),
            Self::FM_U8 => number::<u8>(bytes),
            Self::FM_U16 => number::<u16>(bytes),
            Self::FM_U32 => number::<u32>(bytes),
            Self::FM_U64 => number::<u64>(bytes),
            Self::FM_F32 => number::<f32>(bytes),
            Self::FM_F64 => number::<f64>(bytes),
            Self::FM_ENTITY => {
                let entity = Entity::from_bits(pod_read_unaligned(bytes));
                entity.map_or_else(|| "none".to_owned(), |it| it.to_string())
            }
        }
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        Self::argument(error)
    }
}

/// Registers a component. `*out` is its number.
///
/// # Safety
/// `desc` points at a description whose name ends with a zero and whose fields are as many as it
/// says, each with a name that ends with a zero; `out` may be written. The drop function may be called
/// as fm_drop says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_component_register(
    world: fm_world,
    desc: *const fm_component_desc,
    out: *mut fm_component,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for one description.
        let desc = unsafe { ffi::slice("desc", desc, 1) }?[0];
        // SAFETY: the caller vouches for the zero at its end.
        let name = unsafe { ffi::text("the name", desc.name) }?;
        let layout = Layout::from_size_align(desc.size, desc.align);
        let layout = layout.map_err(|_| {
            let (size, align) = (desc.size, desc.align);
            let text = format!(
                "{name}: the alignment {align} is no power of two, or {size} bytes are too many"
            );
            Failure::argument(text)
        })?;
        if desc.flags & !(FM_ENABLEABLE | FM_TRACKED) != 0 {
            return Err(Failure::argument(format!("{name}: unknown flags {:#x}", desc.flags)));
        }
        // SAFETY: the caller vouches for as many fields.
        let given = unsafe { ffi::slice("fields", desc.fields, desc.fields_len) }?;
        let mut fields = Vec::new();
        for field in given {
            // SAFETY: the caller vouches for the zero at its end.
            let field_name = unsafe { ffi::text("the name of a field", field.name) }?;
            let kind: fm_field_type = checked::try_cast(field.type_).map_err(|_| {
                Failure::argument(format!("{name}.{field_name}: no type {}", field.type_))
            })?;
            if field.offset.checked_add(kind.size()).is_none_or(|end| end > desc.size) {
                return Err(Failure::argument(format!("{name}.{field_name} is out of the value")));
            }
            fields.push(Field { name: field_name.to_owned(), kind, offset: field.offset });
        }
        let mut descriptor = match desc.drop {
            None => ComponentDescriptor::bytes(name.to_owned(), layout),
            Some(function) => {
                let (name, drop) = (name.to_owned(), Some((function, desc.user)));
                // SAFETY: values are what the caller says, moved as bytes, and good on any thread, as
                // `user` is until the world is freed.
                unsafe { ComponentDescriptor::with_functions(name, layout, drop, None, None) }
            }
        };
        if desc.flags & FM_ENABLEABLE != 0 {
            descriptor = descriptor.enableable();
        }
        if desc.flags & FM_TRACKED != 0 {
            descriptor = descriptor.tracked();
        }
        let id = with(world, |state| {
            let id = state.world.by_id_mut().register(descriptor)?;
            state.fields.insert(id, fields);
            Ok(id)
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, number_of(id)) }
    })
}

/// Finds a component by its name. FM_NO_COMPONENT if the world has none of it.
///
/// # Safety
/// `name` ends with a zero; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_component_find(
    world: fm_world,
    name: *const c_char,
    out: *mut fm_component,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for the zero at its end.
        let name = unsafe { ffi::text("the name", name) }?;
        let id = with(world, |state| {
            state.world.component_by_name(name).ok_or_else(|| {
                let text = format!("the world has no component {name}");
                Failure::new(fm_status::FM_NO_COMPONENT, text)
            })
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, number_of(id)) }
    })
}

/// Writes the components of an entity as text, with the fields that were described, such as
/// `Position { x: 1, y: 2 }; Asleep (off)`. `*len` is how many bytes the text has without the zero at
/// its end; of more than `capacity` bytes with it, only the beginning is written.
///
/// # Safety
/// `text` points at `capacity` bytes that are initialised and may be written; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_entity_describe(
    world: fm_world,
    entity: fm_entity,
    text: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    let values = || with(world, |state| describe(state, entity));
    // SAFETY: the caller vouches for as many bytes, and that all may be written.
    unsafe { ffi::answer_text(text, capacity, len, values) }
}

fn describe(state: &WorldState, entity: fm_entity) -> Result<String, Failure> {
    let entity = entity_of(entity)?;
    state.world.place_of(entity)?;
    let mut said = String::new();
    for info in state.world.components() {
        if !state.world.by_id().has(entity, info.id()) {
            continue;
        }
        state.expect_readable(info.id())?;
        let separator = if said.is_empty() { "" } else { "; " };
        _ = write!(said, "{separator}{}", info.name());
        if let Some(fields) = state.fields.get(&info.id()) {
            let value = state.world.by_id().get_ptr(entity, info.id())?;
            let value = NonNull::slice_from_raw_parts(value, info.layout().size());
            // SAFETY: a value of a component of the host, which it has said is all bytes; no lease
            // writes it.
            let bytes = unsafe { value.as_ref() };
            for (place, field) in fields.iter().enumerate() {
                // The field lies in the value: that was looked at when it was registered.
                let value = field.kind.show(&bytes[field.offset..][..field.kind.size()]);
                let before = if place == 0 { " { " } else { ", " };
                _ = write!(said, "{before}{}: {value}", field.name);
            }
            if !fields.is_empty() {
                said.push_str(" }");
            }
        }
        if info.is_enableable() && !state.world.by_id().is_enabled(entity, info.id())? {
            said.push_str(" (off)");
        }
    }
    Ok(said)
}
