//! Worlds.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::cell::Cell;
use core::ffi::c_char;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{CommandBuffer, Component, ComponentId, World};

use crate::component::{Field, fm_component, number_of};
use crate::ffi;
use crate::handles::{Shared, Table};
use crate::query::{Lease, QueryState};
use crate::relation::HostRelation;
use crate::status::{Failure, call, fm_status};

/// A world of entities.
pub type fm_world = u64;

pub(crate) static WORLDS: Shared<WorldState> = Shared::new("world");

/// A world with what the interface keeps beside it.
pub(crate) struct WorldState {
    pub(crate) world: World,
    /// Those that the host has made, in their order.
    pub(crate) relations: Vec<HostRelation>,
    /// How many minds there are.
    pub(crate) minds: usize,
    pub(crate) fields: HashMap<ComponentId, Vec<Field>>,
    pub(crate) queries: Table<QueryState>,
    pub(crate) leases: Table<Lease>,
    pub(crate) buffers: Table<CommandBuffer>,
    /// The world is not here but in a run of a schedule.
    pub(crate) running: bool,
    /// Counts what may have been changes of structure: the addresses of rows are good for one number.
    pub(crate) structure: Cell<u64>,
}

impl WorldState {
    fn expect_here(&self) -> Result<(), Failure> {
        if self.running {
            let text = "a schedule is running the world, and its systems have what they declared";
            return Err(Failure::new(fm_status::FM_BUSY, text));
        }
        Ok(())
    }

    /// For changes of structure: no column may be leased, as rows move. What queries have kept about rows
    /// is out of date.
    pub(crate) fn expect_no_lease(&self) -> Result<(), Failure> {
        let count = self.leases.values().count();
        if count > 0 {
            return Err(Failure::leased(format!("{count} leases are not released")));
        }
        self.structure.set(self.structure.get() + 1);
        Ok(())
    }

    /// For reading values: no lease may write them.
    pub(crate) fn expect_readable(&self, id: ComponentId) -> Result<(), Failure> {
        if self.leases.values().any(|lease| lease.writes(id)) {
            return Err(self.leased(id, "writes"));
        }
        Ok(())
    }

    /// For writing values: no lease may use them.
    pub(crate) fn expect_writable(&self, id: ComponentId) -> Result<(), Failure> {
        if self.leases.values().any(|lease| lease.uses(id)) {
            return Err(self.leased(id, "uses"));
        }
        Ok(())
    }

    /// The same, of a component of the library.
    pub(crate) fn expect_writable_of<T: Component>(&self) -> Result<(), Failure> {
        self.world.component_id::<T>().map_or(Ok(()), |id| self.expect_writable(id))
    }

    /// For looking at all values, as hashes and snapshots do.
    pub(crate) fn expect_all_readable(&self) -> Result<(), Failure> {
        let written = self.leases.values().find_map(Lease::any_written);
        written.map_or(Ok(()), |id| Err(self.leased(id, "writes")))
    }

    fn leased(&self, id: ComponentId, how: &str) -> Failure {
        let name = self.world.components()[id.index()].name();
        Failure::leased(format!("a lease {how} {name}"))
    }

    /// The id with this number.
    pub(crate) fn component(&self, component: u32) -> Result<ComponentId, Failure> {
        let found = self.world.components().get(component as usize);
        found.map(formic_ecs::ComponentInfo::id).ok_or_else(|| {
            let text = format!("the world has no component {component}");
            Failure::new(fm_status::FM_NO_COMPONENT, text)
        })
    }
}

pub(crate) fn with<R>(
    world: fm_world,
    body: impl FnOnce(&mut WorldState) -> Result<R, Failure>,
) -> Result<R, Failure> {
    WORLDS.with(world, |state| {
        state.expect_here()?;
        body(state)
    })
}

/// Runs a call about a world.
pub(crate) fn call_with(
    world: fm_world,
    body: impl FnOnce(&mut WorldState) -> Result<(), Failure>,
) -> fm_status {
    call(|| with(world, body))
}

/// Runs a body with the world out of its table: what it calls finds the world busy, on any thread.
pub(crate) fn away<R>(world: fm_world, body: impl FnOnce(&mut World) -> R) -> Result<R, Failure> {
    let mut own = with(world, |state| {
        state.expect_no_lease()?;
        state.running = true;
        Ok(core::mem::take(&mut state.world))
    })?;
    let done = catch_unwind(AssertUnwindSafe(|| body(&mut own)));
    WORLDS.with(world, |state| {
        state.world = own;
        state.running = false;
        Ok(())
    })?;
    done.map_err(|payload| resume_unwind(payload))
}

/// Makes an empty world. `*out` is its handle.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_world_new(out: *mut fm_world) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let world = WORLDS.insert(WorldState {
            world: World::new(),
            relations: Vec::new(),
            minds: 0,
            fields: HashMap::new(),
            queries: Table::new("query"),
            leases: Table::new("lease"),
            buffers: Table::new("command buffer"),
            running: false,
            structure: Cell::new(0),
        });
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, world) }
    })
}

/// Frees a world with all that is in it and of it: queries, command buffers. FM_LEASED while a lease
/// is not released.
#[unsafe(no_mangle)]
pub extern "C" fn fm_world_free(world: fm_world) -> fm_status {
    call(|| WORLDS.free(world, |state| state.expect_here().and_then(|()| state.expect_no_lease())))
}

/// Takes all entities out. Components, queries and buffers stay.
#[unsafe(no_mangle)]
pub extern "C" fn fm_world_clear(world: fm_world) -> fm_status {
    call_with(world, |state| {
        state.expect_no_lease()?;
        state.world.clear();
        Ok(())
    })
}

/// Gives the version of the world: what is written from now on has changed since it.
/// fm_query_lease() takes such a version. FM_LEASED while a lease writes: its columns count as
/// changed from the moment they were leased.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_world_version(world: fm_world, out: *mut u64) -> fm_status {
    call(|| {
        let version = with(world, |state| {
            state.expect_all_readable()?;
            Ok(state.world.version())
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, version) }
    })
}

/// Verifies every invariant of the store. FM_BROKEN with the first that does not hold.
#[unsafe(no_mangle)]
pub extern "C" fn fm_world_check(world: fm_world) -> fm_status {
    call_with(world, |state| {
        state.expect_all_readable()?;
        let checked = state.world.check();
        checked.map_err(|broken| Failure::new(fm_status::FM_BROKEN, broken))
    })
}

/// How much memory a world takes, in bytes but for the first two. fm_world_archetype() has its parts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct fm_stats {
    /// Entities in the world.
    pub entities: usize,
    /// Sets of components that entities have or had.
    pub archetypes: usize,
    /// Blocks of the columns.
    pub block_bytes: usize,
    /// What of the blocks is rows in use.
    pub used_bytes: usize,
    /// All of it: blocks, spare blocks, tables, lists.
    pub total_bytes: usize,
}

/// Gives the statistics of a world.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_world_stats(world: fm_world, out: *mut fm_stats) -> fm_status {
    call(|| {
        let stats = with(world, |state| Ok(state.world.stats()))?;
        let stats = fm_stats {
            entities: stats.entity_count,
            archetypes: stats.archetypes.len(),
            block_bytes: stats.block_bytes(),
            used_bytes: stats.used_bytes(),
            total_bytes: stats.total_bytes(),
        };
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, stats) }
    })
}

/// One archetype: the entities that have the same components.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct fm_archetype {
    /// How many entities are in it.
    pub entities: usize,
    /// How many its chunks have room for.
    pub capacity: usize,
    /// The chunks that have entities: as many runs at least, in a lease of all of it.
    pub chunks: usize,
    /// Bytes for one entity: its handle and its components.
    pub row_bytes: usize,
    /// Bytes of all its chunks.
    pub block_bytes: usize,
    /// How many components it has.
    pub components_len: usize,
}

/// Gives the statistics of an archetype, and the numbers of its components, the first ones of them if
/// there is room for fewer. Archetypes have numbers from 0 to one below what fm_world_stats() says;
/// FM_BAD_ARGUMENT for others. fm_world_describe() has all as a text.
///
/// # Safety
/// `out` may be written; `components` has room for `capacity` numbers, initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_world_archetype(
    world: fm_world,
    archetype: usize,
    out: *mut fm_archetype,
    components: *mut fm_component,
    capacity: usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for room for as many numbers.
        let room = unsafe { ffi::slice_mut("components", components, capacity) }?;
        let stats = with(world, |state| {
            let all = state.world.stats().archetypes;
            let stats = all.get(archetype).ok_or_else(|| {
                let text = format!("no archetype {archetype}: the world has {}", all.len());
                Failure::argument(text)
            })?;
            for (place, name) in room.iter_mut().zip(&stats.components) {
                let id = state.world.component_by_name(name).expect("a component of the world");
                *place = number_of(id);
            }
            Ok(fm_archetype {
                entities: stats.entity_count,
                capacity: stats.capacity,
                chunks: stats.chunk_count,
                row_bytes: stats.row_bytes,
                block_bytes: stats.block_bytes,
                components_len: stats.components.len(),
            })
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, stats) }
    })
}

/// Writes the statistics of a world as text: a table of its archetypes with the names of their
/// components. `*len` is how many bytes the text has without the zero at its end; of more than
/// `capacity` bytes with it, only the beginning is written.
///
/// # Safety
/// `text` points at `capacity` bytes that are initialised and may be written; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_world_describe(
    world: fm_world,
    text: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    let stats = || with(world, |state| Ok(state.world.stats().to_string()));
    // SAFETY: the caller vouches for as many bytes, and that all may be written.
    unsafe { ffi::answer_text(text, capacity, len, stats) }
}
