//! The compiled half of the Python package `formic`; `python/formic` is what users import.
//!
//! Everything here takes and gives bytes. The other half knows the dtypes.
#![warn(missing_docs)]

mod error;
mod field;
mod fields;
mod lease;
mod town;
mod world;

use pyo3::prelude::*;

#[pymodule]
fn _formic(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add_to(module)?;
    module.add_class::<fields::Fields>()?;
    module.add_class::<town::Town>()?;
    module.add_class::<world::World>()?;
    module.add_class::<lease::Lease>()?;
    module.add_class::<lease::Column>()
}
