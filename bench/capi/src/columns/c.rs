//! The C interface of Formic, called as from a shared library: nothing of it is inlined.

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::ptr;
use std::slice;

use formic::component::{fm_component, fm_component_desc, fm_component_register};
use formic::entity::{fm_despawn, fm_entity, fm_spawn};
use formic::query::{
    fm_lease, fm_lease_release, fm_query, fm_query_lease, fm_query_new, fm_run, fm_term,
    fm_term_kind,
};
use formic::status::fm_status;
use formic::world::{fm_world, fm_world_free, fm_world_new};

use super::{FRAGMENTS, Position, Store, Values, Velocity, advance, sum};

/// The calls that are timed.
struct Calls {
    spawn: unsafe extern "C" fn(
        fm_world,
        *const fm_component,
        usize,
        *const *const u8,
        usize,
        *mut fm_entity,
    ) -> fm_status,
    despawn: unsafe extern "C" fn(fm_world, *const fm_entity, usize) -> fm_status,
    lease: unsafe extern "C" fn(
        fm_world,
        fm_query,
        u64,
        *mut fm_lease,
        *mut *const fm_run,
        *mut usize,
    ) -> fm_status,
    release: extern "C" fn(fm_world, fm_lease) -> fm_status,
}

pub(crate) struct C {
    calls: Calls,
    world: fm_world,
    position: fm_component,
    velocity: fm_component,
    tags: Vec<fm_component>,
    moving: fm_query,
    held: Option<Held>,
    spawned: Vec<fm_entity>,
}

fn ok(status: fm_status) {
    assert_eq!(status, fm_status::FM_OK);
}

fn component<T>(world: fm_world, name: &str) -> fm_component {
    let name = CString::new(name).expect("it has no zero");
    let desc = fm_component_desc {
        name: name.as_ptr(),
        size: size_of::<T>(),
        align: align_of::<T>(),
        flags: 0,
        fields: ptr::null(),
        fields_len: 0,
        drop: None,
        user: ptr::null_mut(),
    };
    let mut number = 0;
    // SAFETY: the description has a name and no fields.
    ok(unsafe { fm_component_register(world, &desc, &mut number) });
    number
}

fn query(world: fm_world, terms: &[(fm_component, fm_term_kind)]) -> fm_query {
    let terms: Vec<_> =
        terms.iter().map(|&(component, kind)| fm_term { component, kind: kind as u32 }).collect();
    let mut query = 0;
    // SAFETY: as many terms as are said.
    ok(unsafe { fm_query_new(world, terms.as_ptr(), terms.len(), &mut query) });
    query
}

/// The runs of a lease.
#[derive(Clone, Copy)]
struct Held {
    lease: fm_lease,
    runs: *const fm_run,
    len: usize,
}

impl C {
    fn lease(&self, query: fm_query) -> Held {
        let mut held = Held { lease: 0, runs: ptr::null(), len: 0 };
        // SAFETY: all three may be written.
        ok(unsafe {
            let Held { lease, runs, len } = &mut held;
            (self.calls.lease)(self.world, query, 0, lease, runs, len)
        });
        held
    }

    fn release(&self, held: Held) {
        ok((self.calls.release)(self.world, held.lease));
    }
}

impl Held {
    fn runs(&self) -> &[fm_run] {
        // SAFETY: there are as many, until the lease is released, which nothing does that borrows it.
        unsafe { slice::from_raw_parts(self.runs, self.len) }
    }

    fn advance(&self) {
        for run in self.runs() {
            // SAFETY: the query has two columns.
            let [positions, velocities] = unsafe { *run.columns.cast::<[*mut c_void; 2]>() };
            // SAFETY: a column of so many rows, which the lease lets be written.
            let positions =
                unsafe { slice::from_raw_parts_mut(positions.cast::<Position>(), run.rows) };
            // SAFETY: a column of so many rows.
            let velocities =
                unsafe { slice::from_raw_parts(velocities.cast::<Velocity>(), run.rows) };
            advance(positions, velocities);
        }
    }
}

impl Store for C {
    fn new() -> Self {
        let mut world = 0;
        // SAFETY: it may be written.
        ok(unsafe { fm_world_new(&mut world) });
        let position = component::<Position>(world, "Position");
        let velocity = component::<Velocity>(world, "Velocity");
        let tags = (0..FRAGMENTS).map(|number| component::<()>(world, &format!("tag {number}")));
        let tags = tags.collect();
        let terms = [(position, fm_term_kind::FM_WRITE), (velocity, fm_term_kind::FM_READ)];
        let moving = query(world, &terms);
        // Through addresses, which are not inlined.
        let calls = black_box(Calls {
            spawn: fm_spawn,
            despawn: fm_despawn,
            lease: fm_query_lease,
            release: fm_lease_release,
        });
        Self { calls, world, position, velocity, tags, moving, held: None, spawned: Vec::new() }
    }

    fn spawn(&mut self, values: &Values, tag: Option<usize>) {
        let mut components = vec![self.position, self.velocity];
        let mut arrays = vec![values.positions.as_ptr().cast(), values.velocities.as_ptr().cast()];
        if let Some(tag) = tag {
            components.push(self.tags[tag]);
            arrays.push(ptr::null());
        }
        let count = values.positions.len();
        self.spawned = vec![0; count];
        let entities = self.spawned.as_mut_ptr();
        let (len, components) = (components.len(), components.as_ptr());
        // SAFETY: as many components, arrays, values and places as are said.
        ok(unsafe {
            (self.calls.spawn)(self.world, components, len, arrays.as_ptr(), count, entities)
        });
    }

    fn despawn(&mut self) {
        // SAFETY: as many handles as are said.
        ok(unsafe { (self.calls.despawn)(self.world, self.spawned.as_ptr(), self.spawned.len()) });
    }

    fn advance(&mut self) {
        let held = self.lease(self.moving);
        held.advance();
        self.release(held);
    }

    fn hold(&mut self) {
        self.held = Some(self.lease(self.moving));
    }

    fn advance_held(&mut self) {
        self.held.expect("it was taken").advance();
    }

    fn sum(&mut self) -> u64 {
        if let Some(held) = self.held.take() {
            self.release(held);
        }
        let all = self.lease(query(self.world, &[(self.position, fm_term_kind::FM_READ)]));
        let total = all.runs().iter().fold(0_u64, |total, run| {
            // SAFETY: the query has one column, of so many rows.
            let positions =
                unsafe { slice::from_raw_parts((*run.columns).cast::<Position>(), run.rows) };
            total.wrapping_add(sum(positions))
        });
        self.release(all);
        total
    }
}

impl Drop for C {
    fn drop(&mut self) {
        ok(fm_world_free(self.world));
    }
}
