//! The exceptions of the package.

use std::fmt::Display;

use formic_ecs::{ByIdError, NoSuchEntity};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(formic, FormicError, PyException, "The base of all errors of formic.");
create_exception!(formic, NoSuchEntityError, FormicError, "The entity is not in the world.");
create_exception!(
    formic,
    NoSuchComponentError,
    FormicError,
    "The world has no such component, or the entity does not have it."
);
create_exception!(
    formic,
    LeasedError,
    FormicError,
    "Columns are lent that the call would move, read while they are written, or write."
);
create_exception!(formic, ReleasedError, FormicError, "A column was used after its lease ended.");
create_exception!(
    formic,
    BadDataError,
    FormicError,
    "The bytes are no snapshot, or do not fit this world."
);

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, class) in [
        ("FormicError", py.get_type::<FormicError>()),
        ("NoSuchEntityError", py.get_type::<NoSuchEntityError>()),
        ("NoSuchComponentError", py.get_type::<NoSuchComponentError>()),
        ("LeasedError", py.get_type::<LeasedError>()),
        ("ReleasedError", py.get_type::<ReleasedError>()),
        ("BadDataError", py.get_type::<BadDataError>()),
    ] {
        module.add(name, class)?;
    }
    Ok(())
}

pub(crate) fn no_entity(error: NoSuchEntity) -> PyErr {
    NoSuchEntityError::new_err(error.to_string())
}

pub(crate) fn by_id(error: ByIdError) -> PyErr {
    let text = error.to_string();
    match error {
        ByIdError::NoSuchEntity(_) => NoSuchEntityError::new_err(text),
        ByIdError::Unknown(_) | ByIdError::Missing { .. } => NoSuchComponentError::new_err(text),
        _ => FormicError::new_err(text),
    }
}

/// Whatever else cannot be done.
pub(crate) fn failed(error: impl Display) -> PyErr {
    FormicError::new_err(error.to_string())
}
