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

/// Python aligns its objects to 16 bytes, whatever their class asks for: what is padded to cache
/// lines, as a world is, lies behind a box.
const fn fits_python<T>() {
    assert!(align_of::<T>() <= 16, "Python does not align its objects to more than 16 bytes");
}

const _: () = {
    fits_python::<fields::Fields>();
    fits_python::<town::Town>();
    fits_python::<world::World>();
    fits_python::<lease::Lease>();
    fits_python::<lease::Column>();
};

#[pymodule]
fn _formic(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add_to(module)?;
    module.add_class::<fields::Fields>()?;
    module.add_class::<town::Town>()?;
    module.add_class::<world::World>()?;
    module.add_class::<lease::Lease>()?;
    module.add_class::<lease::Column>()
}
