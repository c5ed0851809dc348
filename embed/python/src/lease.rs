//! Columns in place: a lease lends them, and no row moves while one is lent.
//!
//! A [`Column`] gives its memory by the buffer protocol, which counts who holds it. A lease ends
//! when none does, so no array can lead to memory that was freed or moved:
//!
//! * the memory of a column stays where it is while the world's book ([`Book`]) has the lease,
//!   because every change of structure asks the book first;
//! * the book forgets the lease in [`Terms::give_back`] alone, once it has ended and no buffer is out;
//! * a buffer that is out keeps its column alive, a column its lease, a lease the world.
#![expect(unsafe_code, reason = "lends memory by the buffer protocol")]

use core::ffi::c_int;
use std::sync::Arc;

use formic_ecs::{ComponentId, DynamicQuery, Entity};
use parking_lot::Mutex;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::error::{LeasedError, ReleasedError, failed};
use crate::world::State;

/// Which components of a world are lent, and how often.
#[derive(Debug, Default)]
pub(crate) struct Book {
    lent: Vec<(ComponentId, bool)>,
    leases: usize,
}

impl Book {
    /// For changes of structure: rows move.
    pub(crate) fn expect_none(&self) -> PyResult<()> {
        if self.leases == 0 {
            return Ok(());
        }
        Err(LeasedError::new_err(format!(
            "columns are lent ({} leases): leave their `with` block first",
            self.leases
        )))
    }

    /// For writing values of a component, or for reading them.
    pub(crate) fn expect_free(&self, id: ComponentId, write: bool, name: &str) -> PyResult<()> {
        match self.lent.iter().find(|&&(lent, by_write)| lent == id && (write || by_write)) {
            None => Ok(()),
            Some((_, true)) => Err(LeasedError::new_err(format!("a lease writes {name}"))),
            Some((_, false)) => Err(LeasedError::new_err(format!("a lease reads {name}"))),
        }
    }

    /// For looking at all values.
    pub(crate) fn expect_none_written(&self) -> PyResult<()> {
        if self.lent.iter().any(|&(_, write)| write) {
            return Err(LeasedError::new_err(
                "a lease writes columns: leave its `with` block first",
            ));
        }
        Ok(())
    }
}

/// A lease from its beginning to its end.
#[derive(Debug)]
struct Terms {
    state: Arc<Mutex<State>>,
    columns: Vec<(ComponentId, bool)>,
    use_: Mutex<Use>,
}

#[derive(Debug)]
struct Use {
    /// Buffers that are out.
    out: usize,
    ended: bool,
}

impl Terms {
    /// Ends the lease, and says how many buffers are out: no more are lent, and with the last one that
    /// comes back the columns are free.
    fn end(&self) -> usize {
        let mut use_ = self.use_.lock();
        if !core::mem::replace(&mut use_.ended, true) && use_.out == 0 {
            self.give_back();
        }
        use_.out
    }

    /// A buffer came back.
    fn take_back(&self) {
        let mut use_ = self.use_.lock();
        use_.out -= 1;
        if use_.ended && use_.out == 0 {
            self.give_back();
        }
    }

    fn give_back(&self) {
        let mut state = self.state.lock();
        state.book.leases -= 1;
        for column in &self.columns {
            let lent = &mut state.book.lent;
            let at = lent.iter().position(|it| it == column).expect("it was lent");
            lent.swap_remove(at);
        }
    }
}

impl Drop for Terms {
    fn drop(&mut self) {
        // No buffer is out: each keeps its column alive, which keeps this alive.
        self.end();
    }
}

/// One run of rows: the entities, and a column for each term that has one.
type Run = (Py<PyByteArray>, Vec<Py<Column>>);

/// Columns that are lent until `release`.
#[pyclass(frozen, module = "formic._formic")]
#[derive(Debug)]
pub(crate) struct Lease {
    terms: Arc<Terms>,
    runs: Vec<Run>,
}

#[pymethods]
impl Lease {
    /// The runs, in the order of the query.
    fn runs(&self, py: Python<'_>) -> Vec<Run> {
        let copy = |(entities, columns): &Run| {
            let columns = columns.iter().map(|column| column.clone_ref(py)).collect();
            (entities.clone_ref(py), columns)
        };
        self.runs.iter().map(copy).collect()
    }

    /// Ends the lease. LeasedError if an array shares memory with a column: it ends with the last of them.
    fn release(&self) -> PyResult<()> {
        match self.terms.end() {
            0 => Ok(()),
            out => Err(LeasedError::new_err(format!(
                "{out} arrays still share memory with the columns of this lease: `del` or copy them"
            ))),
        }
    }
}

/// The values of one component in one run of rows, as bytes.
#[pyclass(frozen, module = "formic._formic")]
#[derive(Debug)]
pub(crate) struct Column {
    terms: Arc<Terms>,
    start: Start,
    len: usize,
    write: bool,
}

/// The first byte of a column.
#[derive(Clone, Copy, Debug)]
struct Start(*mut u8);

// SAFETY: the address is handed on and never followed here; who follows it holds a buffer.
unsafe impl Send for Start {}
// SAFETY: as above.
unsafe impl Sync for Start {}

#[pymethods]
impl Column {
    /// Lends the bytes: ReleasedError once the lease has ended.
    ///
    /// # Safety
    /// As the buffer protocol asks: `view` may be written.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill in"));
        }
        let column = slf.get();
        // Counted first, and not under the lock: what follows may make an exception, and with it
        // collect garbage, which may take a buffer of this lease back.
        {
            let mut use_ = column.terms.use_.lock();
            if use_.ended {
                return Err(ReleasedError::new_err("the lease of this column has ended"));
            }
            use_.out += 1;
        }
        let len = isize::try_from(column.len).expect("no slice is longer");
        let read_only = c_int::from(!column.write);
        let start = column.start.0.cast();
        // SAFETY: the view may be written; the bytes are there until the lease ends, which it
        // does not while this buffer is counted.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, read_only, flags) };
        if filled != 0 {
            column.terms.take_back();
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }

    /// Takes a buffer back.
    ///
    /// # Safety
    /// As the buffer protocol asks: the buffer is one that `__getbuffer__` gave.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.terms.take_back();
    }

    /// How many bytes there are.
    fn __len__(&self) -> usize {
        self.len
    }
}

/// Lends the columns of a query.
pub(crate) fn take(
    py: Python<'_>,
    shared: &Arc<Mutex<State>>,
    query: &mut DynamicQuery,
    columns: Vec<(ComponentId, bool)>,
    since: u64,
) -> PyResult<Lease> {
    let mut state = shared.lock();
    for &(id, write) in &columns {
        state.book.expect_free(id, write, &state.name_of(id))?;
    }
    let rows = state.world.query_by_id(query).map_err(failed)?;
    let mut found = Vec::new();
    rows.since(since).for_each_run(|mut run| {
        let bytes_of = |(term, &(_, write)): (usize, &(ComponentId, bool))| {
            if write {
                run.bytes_mut(term).map(|bytes| (Start(bytes.as_mut_ptr()), bytes.len()))
            } else {
                run.bytes(term).map(|bytes| (Start(bytes.as_ptr().cast_mut()), bytes.len()))
            }
        };
        let columns: Result<Vec<_>, _> = columns.iter().enumerate().map(bytes_of).collect();
        found.push((bytes_of_entities(run.entities()), columns));
    });
    state.book.leases += 1;
    state.book.lent.extend_from_slice(&columns);
    drop(state);

    let use_ = Mutex::new(Use { out: 0, ended: false });
    let terms = Arc::new(Terms { state: Arc::clone(shared), columns, use_ });
    let mut runs = Vec::with_capacity(found.len());
    for (entities, starts) in found {
        let starts = starts.map_err(failed)?;
        let with_column = |((start, len), &(_, write)): ((Start, usize), &(ComponentId, bool))| {
            Py::new(py, Column { terms: Arc::clone(&terms), start, len, write })
        };
        let columns: PyResult<_> =
            starts.into_iter().zip(&terms.columns).map(with_column).collect();
        runs.push((PyByteArray::new(py, &entities).unbind(), columns?));
    }
    Ok(Lease { terms, runs })
}

pub(crate) fn bytes_of_entities(entities: &[Entity]) -> Vec<u8> {
    entities.iter().flat_map(|entity| entity.to_bits().to_ne_bytes()).collect()
}
