//! flecs' C interface.

use std::ffi::CString;
use std::mem;
use std::ptr;
use std::slice;

use flecs_ecs_sys::*;

use super::{FRAGMENTS, Position, Store, Values, Velocity, advance, sum};

pub(crate) struct Flecs {
    world: *mut ecs_world_t,
    position: ecs_entity_t,
    velocity: ecs_entity_t,
    tags: Vec<ecs_entity_t>,
    moving: *mut ecs_query_t,
    all: *mut ecs_query_t,
    spawned: Vec<ecs_entity_t>,
}

/// # Safety
/// The world is in use.
unsafe fn component<T>(world: *mut ecs_world_t, name: &str) -> ecs_entity_t {
    let name = CString::new(name).expect("it has no zero");
    // SAFETY: all zeros is how its descriptions begin.
    let mut entity: ecs_entity_desc_t = unsafe { mem::zeroed() };
    entity.name = name.as_ptr();
    // SAFETY: as above.
    let mut desc: ecs_component_desc_t = unsafe { mem::zeroed() };
    // SAFETY: the caller vouches for the world.
    desc.entity = unsafe { ecs_entity_init(world, &entity) };
    desc.type_.size = size_of::<T>() as ecs_size_t;
    desc.type_.alignment = align_of::<T>() as ecs_size_t;
    // SAFETY: as above.
    unsafe { ecs_component_init(world, &desc) }
}

/// # Safety
/// The world is in use.
unsafe fn query(
    world: *mut ecs_world_t,
    terms: &[(ecs_entity_t, ecs_inout_kind_t)],
) -> *mut ecs_query_t {
    // SAFETY: all zeros is how its descriptions begin.
    let mut desc: ecs_query_desc_t = unsafe { mem::zeroed() };
    for (term, &(id, inout)) in desc.terms.iter_mut().zip(terms) {
        term.id = id;
        term.inout = inout as i16;
    }
    desc.cache_kind = ecs_query_cache_kind_t_EcsQueryCacheAuto;
    // SAFETY: the caller vouches for the world.
    let query = unsafe { ecs_query_init(world, &desc) };
    assert!(!query.is_null());
    query
}

impl Flecs {
    /// # Safety
    /// The column of the field has values of this type.
    unsafe fn field<'a, T>(table: &ecs_iter_t, index: i8) -> &'a mut [T] {
        // SAFETY: the caller vouches for the type.
        let start = unsafe { ecs_field_w_size(table, size_of::<T>(), index) };
        // SAFETY: flecs says that there are as many.
        unsafe { slice::from_raw_parts_mut(start.cast(), table.count as usize) }
    }

    fn for_each_table(&self, query: *mut ecs_query_t, mut body: impl FnMut(&ecs_iter_t)) {
        // SAFETY: the query is of this world.
        let mut tables = unsafe { ecs_query_iter(self.world, query) };
        // SAFETY: it is called until it says that there is no more.
        while unsafe { ecs_query_next(&mut tables) } {
            body(&tables);
        }
    }
}

impl Store for Flecs {
    fn new() -> Self {
        // SAFETY: nothing is asked for. It is the world without modules.
        let world = unsafe { ecs_mini() };
        // SAFETY: the world is in use, here and below.
        let position = unsafe { component::<Position>(world, "Position") };
        // SAFETY: as above.
        let velocity = unsafe { component::<Velocity>(world, "Velocity") };
        // SAFETY: as above.
        let tags = (0..FRAGMENTS).map(|_| unsafe { ecs_new(world) }).collect();
        let terms = [(position, ecs_inout_kind_t_EcsInOut), (velocity, ecs_inout_kind_t_EcsIn)];
        // SAFETY: as above.
        let moving = unsafe { query(world, &terms) };
        // SAFETY: as above.
        let all = unsafe { query(world, &[(position, ecs_inout_kind_t_EcsIn)]) };
        Self { world, position, velocity, tags, moving, all, spawned: Vec::new() }
    }

    fn spawn(&mut self, values: &Values, tag: Option<usize>) {
        // SAFETY: all zeros is how its descriptions begin.
        let mut desc: ecs_bulk_desc_t = unsafe { mem::zeroed() };
        let positions = values.positions.as_ptr().cast_mut().cast();
        let mut arrays = [positions, values.velocities.as_ptr().cast_mut().cast(), ptr::null_mut()];
        desc.count = i32::try_from(values.positions.len()).expect("a count of flecs");
        desc.ids[..2].copy_from_slice(&[self.position, self.velocity]);
        desc.ids[2] = tag.map_or(0, |tag| self.tags[tag]);
        desc.data = arrays.as_mut_ptr();
        // SAFETY: as many arrays as ids, of as many values.
        let first = unsafe { ecs_bulk_init(self.world, &desc) };
        // SAFETY: it returns as many handles, which stay until its next call.
        self.spawned = unsafe { slice::from_raw_parts(first, values.positions.len()) }.to_vec();
    }

    fn despawn(&mut self) {
        for &entity in &self.spawned {
            // SAFETY: the world is in use.
            unsafe { ecs_delete(self.world, entity) };
        }
    }

    fn advance(&mut self) {
        self.for_each_table(self.moving, |table| {
            // SAFETY: the fields of the query.
            let (positions, velocities) = unsafe { (Self::field(table, 0), Self::field(table, 1)) };
            advance(positions, velocities);
        });
    }

    fn sum(&mut self) -> u64 {
        let mut total = 0_u64;
        self.for_each_table(self.all, |table| {
            // SAFETY: the field of the query.
            let positions: &mut [Position] = unsafe { Self::field(table, 0) };
            total = total.wrapping_add(sum(&*positions));
        });
        total
    }
}

impl Drop for Flecs {
    fn drop(&mut self) {
        // SAFETY: the world is in use, and is not used any more.
        _ = unsafe { ecs_fini(self.world) };
    }
}
