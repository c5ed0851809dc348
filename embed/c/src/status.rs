//! The status of a call, and its error text.

use core::ffi::{c_char, c_uint};
use core::fmt::Display;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use formic_ecs::error::UnknownComponent;
use formic_ecs::{ByIdError, NoSuchEntity};

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_status {
    /// It did what it says.
    FM_OK = 0,
    /// A pointer is null that has to lead to something.
    FM_NULL = 1,
    /// A handle of a world, query, lease, buffer, schedule, pool, blob or terrain was freed, or never given.
    FM_BAD_HANDLE = 2,
    /// The entity is not in the world.
    FM_NO_ENTITY = 3,
    /// The world has no such component, or the entity does not have it.
    FM_NO_COMPONENT = 4,
    /// An argument makes no sense; nothing was done.
    FM_BAD_ARGUMENT = 5,
    /// A lease is in the way. Release it first.
    FM_LEASED = 6,
    /// Bytes are no snapshot, or do not fit this world; a file is no map.
    FM_BAD_DATA = 7,
    /// There is no way between the cells.
    FM_UNREACHABLE = 8,
    /// The world is at work, in a call that led to this one or in the run of a schedule.
    FM_BUSY = 9,
    /// An invariant of the world is broken.
    FM_BROKEN = 10,
    /// The library panicked. Free the world; everything else goes on.
    FM_PANIC = 11,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: fm_status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: fm_status, text: impl Display) -> Self {
        Self { status, text: text.to_string() }
    }

    pub(crate) fn argument(text: impl Display) -> Self {
        Self::new(fm_status::FM_BAD_ARGUMENT, text)
    }

    pub(crate) fn leased(text: impl Display) -> Self {
        Self::new(fm_status::FM_LEASED, text)
    }

    fn report(self) -> fm_status {
        let text = self.text.replace('\0', " ");
        let text = CString::new(text).unwrap_or_default();
        LAST.with_borrow_mut(|last| *last = text);
        self.status
    }
}

impl From<NoSuchEntity> for Failure {
    fn from(error: NoSuchEntity) -> Self {
        Self::new(fm_status::FM_NO_ENTITY, error)
    }
}

impl From<UnknownComponent> for Failure {
    fn from(error: UnknownComponent) -> Self {
        Self::new(fm_status::FM_NO_COMPONENT, error)
    }
}

impl From<ByIdError> for Failure {
    fn from(error: ByIdError) -> Self {
        let status = match &error {
            ByIdError::NoSuchEntity(_) => fm_status::FM_NO_ENTITY,
            ByIdError::Unknown(_) | ByIdError::Missing { .. } => fm_status::FM_NO_COMPONENT,
            _ => fm_status::FM_BAD_ARGUMENT,
        };
        Self::new(status, error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call: an error becomes its status and its text, and so does a panic.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> fm_status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => fm_status::FM_OK,
        Ok(Err(failure)) => failure.report(),
        Err(payload) => {
            let text = text_of(&*payload);
            // Its drop is foreign code, which may panic again.
            core::mem::forget(payload);
            Failure::new(fm_status::FM_PANIC, text).report()
        }
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the library panicked".to_owned())
}

/// Returns why the last call on this thread failed that did: UTF-8 that stays until the next one
/// fails on this thread. Empty if none has.
#[expect(unsafe_code, reason = "exports the function")]
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fm_error_text() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Returns the version of the interface that the library has; FM_VERSION is the header's. They are
/// equal, or the program should end.
#[expect(unsafe_code, reason = "exports the function")]
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fm_version() -> c_uint {
    1
}
