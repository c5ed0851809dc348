//! Queries, and leases: the columns of all rows that match, in place, until they are released.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::sync::Arc;

use formic_ecs::{ComponentId, DynamicQuery, DynamicRows};

use crate::component::{expect_hosts, fm_component, is_hosts};
use crate::entity::fm_entity;
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, call_with, fm_world, with};

/// A query of one world.
pub type fm_query = u64;
/// Columns that are in use.
pub type fm_lease = u64;

/// What a query does with a component.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_term_kind {
    /// A column to read. Rows without the component, or with it switched off, are passed over.
    FM_READ = 0,
    /// A column to write, which counts as changed.
    FM_WRITE = 1,
    /// A column to read where rows have the component and it is on, else a null pointer.
    FM_READ_OPTIONAL = 2,
    /// A column to write where rows have the component and it is on, else a null pointer.
    FM_WRITE_OPTIONAL = 3,
    /// No column: the row has the component, and it is on.
    FM_WITH = 4,
    /// No column: the row does not have the component, or it is off.
    FM_WITHOUT = 5,
    /// No column: the row has the component, on or off.
    FM_PRESENT = 6,
    /// No column: the row has the component, and it is off.
    FM_DISABLED = 7,
    /// No column: the value was written since the version of the lease.
    FM_CHANGED = 8,
    /// No column: the component came since the version of the lease.
    FM_ADDED = 9,
    /// The row has the component, on or off. A column of uint64_t: bit `i % 64` of element `i / 64` says
    /// whether row `i` of the run had it on when the lease began.
    FM_MASK = 10,
}

/// One component of a query.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_term {
    /// The component.
    pub component: fm_component,
    /// One of fm_term_kind.
    pub kind: u32,
}

/// Rows that lie one behind the other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_run {
    /// How many there are.
    pub rows: usize,
    /// The handle of each.
    pub entities: *const fm_entity,
    /// For each term with a column, in the order of the terms, its values: of those to be read
    /// none may be written. Null where an optional one is not there, or a component of the library has
    /// values that are not plain bytes.
    pub columns: *const *mut c_void,
}

/// A query, and its terms that have columns.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) query: DynamicQuery,
    pub(crate) columns: Arc<[Column]>,
    /// The lists of the last lease that was released, or of the last run of a system, for the next.
    pub(crate) kept: Runs,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    id: ComponentId,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Of a component that was registered here.
    Read,
    /// Of one of the library.
    ReadBytes,
    Write,
    Mask,
}

/// Runs whose addresses the caller has.
#[derive(Debug)]
pub(crate) struct Lease {
    query: fm_query,
    columns: Arc<[Column]>,
    runs: Runs,
}

/// The lists that the caller reads; they stay where they are until they are filled anew.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<fm_run>,
    addresses: Vec<*mut c_void>,
    masks: Vec<Vec<u64>>,
    /// The structure of the world that the lists are of, if they depend on nothing else.
    structure: Option<u64>,
}

// SAFETY: the addresses are kept for the caller and never followed here.
unsafe impl Send for Runs {}

impl Runs {
    pub(crate) fn fill(&mut self, rows: DynamicRows<'_>, columns: &[Column]) {
        let Self { runs, addresses, masks, structure } = self;
        *structure = None;
        runs.clear();
        addresses.clear();
        masks.clear();
        rows.for_each_run(|mut run| {
            let entities = run.entities().as_ptr().cast();
            runs.push(fm_run { rows: run.row_count(), entities, columns: ptr::null() });
            let mut term = 0;
            for column in columns {
                if column.how == How::Mask {
                    let mut mask = pack(run.mask(column.id).expect("the query asks for it"));
                    addresses.push(mask.as_mut_ptr().cast());
                    masks.push(mask);
                    continue;
                }
                // An optional column that is not there is an error here, and a null pointer outside.
                let start = if column.how == How::ReadBytes {
                    run.bytes(term).map(|bytes| bytes.as_ptr().cast_mut())
                } else {
                    run.ptr(term).map(NonNull::as_ptr)
                };
                addresses.push(start.map_or(ptr::null_mut(), <*mut u8>::cast));
                term += 1;
            }
        });
        // The addresses stay where they are from now on.
        for (place, run) in runs.iter_mut().enumerate() {
            run.columns = addresses[place * columns.len()..].as_ptr();
        }
    }
}

fn pack(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u64> {
    let mut words = vec![0; bits.len().div_ceil(64)];
    for (row, bit) in bits.enumerate() {
        words[row / 64] |= u64::from(bit) << (row % 64);
    }
    words
}

impl Column {
    fn is_values(self) -> bool {
        self.how != How::Mask
    }

    fn is_written(self) -> bool {
        self.how == How::Write
    }
}

impl Lease {
    pub(crate) fn uses(&self, id: ComponentId) -> bool {
        self.columns.iter().any(|column| column.id == id && column.is_values())
    }

    pub(crate) fn writes(&self, id: ComponentId) -> bool {
        self.columns.iter().any(|column| column.id == id && column.is_written())
    }

    pub(crate) fn any_written(&self) -> Option<ComponentId> {
        self.columns.iter().find(|column| column.is_written()).map(|column| column.id)
    }
}

/// Makes a query. `*out` is its handle.
///
/// # Safety
/// `terms` has `terms_len` elements; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_query_new(
    world: fm_world,
    terms: *const fm_term,
    terms_len: usize,
    out: *mut fm_query,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for as many terms.
        let terms = unsafe { ffi::slice("terms", terms, terms_len) }?;
        let query = with(world, |state| {
            let query = build(state, terms)?;
            Ok(state.queries.insert(query))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, query) }
    })
}

pub(crate) fn build(state: &WorldState, terms: &[fm_term]) -> Result<QueryState, Failure> {
    let mut builder = DynamicQuery::builder();
    let mut columns = Vec::new();
    for term in terms {
        let id = state.component(term.component)?;
        let info = state.world.component_info(id)?;
        if term.kind <= fm_term_kind::FM_WRITE_OPTIONAL as u32 {
            let how = match (term.kind % 2 == 1, is_hosts(info)) {
                (true, _) => {
                    expect_hosts(info)?;
                    How::Write
                }
                (false, true) => How::Read,
                (false, false) => How::ReadBytes,
            };
            columns.push(Column { id, how });
        }
        builder = match term.kind {
            0 => builder.read(id),
            1 => builder.write(id),
            2 => builder.optional(id),
            3 => builder.optional_write(id),
            4 => builder.with(id),
            5 => builder.without(id),
            6 => builder.present(id),
            7 => builder.disabled(id),
            8 => builder.changed(id),
            9 => builder.added(id),
            10 => {
                columns.push(Column { id, how: How::Mask });
                builder.mask(id)
            }
            kind => return Err(Failure::argument(format!("no kind of term is {kind}"))),
        };
    }
    let query = builder.build(&state.world).map_err(Failure::argument)?;
    Ok(QueryState { query, columns: columns.into(), kept: Runs::default() })
}

/// Frees a query. Its leases stay.
#[unsafe(no_mangle)]
pub extern "C" fn fm_query_free(world: fm_world, query: fm_query) -> fm_status {
    call(|| with(world, |state| state.queries.remove(query).map(drop)))
}

/// Leases the columns of all rows that match. Until fm_lease_release(), the runs and what they lead
/// to stay where they are: changes of structure are FM_LEASED, as are calls that would read what the
/// lease writes, or write what it uses. Several threads may divide the runs among them.
///
/// `since` is for FM_CHANGED and FM_ADDED: a version that fm_world_version() gave, or 0 for all. After
/// fm_restore() and fm_load() the versions from before say nothing.
///
/// # Safety
/// `lease`, `runs` and `runs_len` may be written. What the runs lead to may be used until the lease is
/// released: columns to be read for reading alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_query_lease(
    world: fm_world,
    query: fm_query,
    since: u64,
    lease: *mut fm_lease,
    runs: *mut *const fm_run,
    runs_len: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("lease", lease)?;
        ffi::expect_place("runs", runs)?;
        ffi::expect_place("runs_len", runs_len)?;
        let (handle, start, len) = with(world, |state| {
            let taken = take(state, query, since)?;
            let (start, len) = (taken.runs.runs.as_ptr(), taken.runs.runs.len());
            Ok((state.leases.insert(taken), start, len))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("lease", lease, handle) }?;
        // SAFETY: as above.
        unsafe { ffi::give("runs", runs, start) }?;
        // SAFETY: as above.
        unsafe { ffi::give("runs_len", runs_len, len) }
    })
}

fn take(state: &mut WorldState, query: fm_query, since: u64) -> Result<Lease, Failure> {
    let columns = Arc::clone(&state.queries.get(query)?.columns);
    for column in &*columns {
        if column.is_written() {
            state.expect_writable(column.id)?;
        } else if column.is_values() {
            state.expect_readable(column.id)?;
        }
    }
    let structure = state.structure.get();
    let found = state.queries.get_mut(query)?;
    let rows = state.world.query_by_id(&mut found.query).map_err(Failure::argument)?;
    let mut runs = core::mem::take(&mut found.kept);
    if runs.structure == Some(structure) {
        rows.mark_written();
    } else {
        runs.fill(rows.since(since), &columns);
        let is_whole = columns.iter().all(|it| it.is_values()) && found.query.is_whole();
        runs.structure = is_whole.then_some(structure);
    }
    Ok(Lease { query, columns, runs })
}

/// Ends a lease. What it lent must not be used any more.
#[unsafe(no_mangle)]
pub extern "C" fn fm_lease_release(world: fm_world, lease: fm_lease) -> fm_status {
    call_with(world, |state| {
        let Lease { query, runs, .. } = state.leases.remove(lease)?;
        // It may have been freed meanwhile.
        if let Ok(found) = state.queries.get_mut(query) {
            found.kept = runs;
        }
        Ok(())
    })
}
