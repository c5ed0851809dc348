//! The status of a call, and its error text.

use core::ffi::{c_char, c_uint, c_void};
use core::fmt::Display;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use formic_ecs::error::UnknownComponent;
use formic_ecs::{ByIdError, NoSuchEntity};
use parking_lot::RwLock;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_status {
    /// It did what it says.
    FM_OK = 0,
    /// A pointer is null that has to lead to something.
    FM_NULL = 1,
    /// A handle of a world, query, lease, relation, buffer, schedule, pool, blob or terrain was freed, or never given.
    FM_BAD_HANDLE = 2,
    /// The entity is not in the world.
    FM_NO_ENTITY = 3,
    /// The world has no such component, or the entity does not have it.
    FM_NO_COMPONENT = 4,
    /// An argument makes no sense. Nothing was done, unless the call says what was.
    FM_BAD_ARGUMENT = 5,
    /// A lease is in the way. Release it first.
    FM_LEASED = 6,
    /// Bytes are no snapshot, or do not fit this world; a file is no map.
    FM_BAD_DATA = 7,
    /// There is no way between the cells.
    FM_UNREACHABLE = 8,
    /// The world or the schedule is at work: in a call that led to this one, or in fm_schedule_run(), fm_save()
    /// or fm_load(). Also what fm_log_to() and fm_memory_from() say.
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
        log(fm_log_level::FM_LOG_ERROR, &text);
        // A thread that ends may have dropped its text already.
        _ = LAST.try_with(|last| last.replace(text));
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
    // A thread that ends may have dropped its text already.
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or_else(|_| c"".as_ptr())
}

/// Returns the version of the interface that the library has; FM_VERSION is the header's. They are
/// equal, or the program should end.
#[expect(unsafe_code, reason = "exports the function")]
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fm_version() -> c_uint {
    const VERSION: &str = env!("FORMIC_C_VERSION");
    VERSION.parse().unwrap_or(0)
}

/// What a line of the log is about.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_log_level {
    /// A call failed: the text is that of fm_error_text().
    FM_LOG_ERROR = 0,
    /// Code panicked, inside the library: the text says where. The call will be FM_PANIC.
    FM_LOG_PANIC = 1,
    /// A call has something to tell that is no error.
    FM_LOG_NOTE = 2,
}

/// Takes a line of the log: UTF-8 that ends with a zero, for as long as the function runs. It is called
/// on the thread that it is about, which may be one of a pool, on several at once, while a call runs:
/// it returns (C++: it throws no exception), and calls for a world that is at work are FM_BUSY, as is
/// fm_log_to().
pub type fm_log_run =
    Option<unsafe extern "C" fn(user: *mut c_void, level: u32, text: *const c_char)>;

#[derive(Clone, Copy)]
struct Log {
    run: unsafe extern "C" fn(*mut c_void, u32, *const c_char),
    user: *mut c_void,
}

// SAFETY: the host says that `user` is good on any thread; it is handed on and never followed here.
#[expect(unsafe_code, reason = "the host's word")]
unsafe impl Send for Log {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "the host's word")]
unsafe impl Sync for Log {}

static LOG: RwLock<Option<Log>> = RwLock::new(None);
/// Whether panics ask for the log.
static HOOK: Once = Once::new();

thread_local! {
    static LOGGING: Cell<bool> = const { Cell::new(false) };
}

/// Writes a line of the log, if there is one. What is logged while the host takes a line is not.
pub(crate) fn log(level: fm_log_level, text: &CStr) {
    let Some(Log { run, user }) = *LOG.read() else { return };
    if LOGGING.replace(true) {
        return;
    }
    #[expect(unsafe_code, reason = "calls the host")]
    // SAFETY: the host gave the function for this; the text ends with a zero.
    unsafe {
        run(user, level as u32, text.as_ptr());
    }
    LOGGING.set(false);
}

/// Has the library write its log to this function, or, with null, none any more: calls that fail, and
/// panics, which go to the standard error stream otherwise.
///
/// # Safety
/// `run` may be called with `user` as fm_log_run says, on any thread, until another call of this has
/// returned and calls that began before it as well.
#[expect(unsafe_code, reason = "exports the function")]
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_log_to(run: fm_log_run, user: *mut c_void) -> fm_status {
    call(|| {
        if LOGGING.get() || std::thread::panicking() {
            return Err(Failure::new(fm_status::FM_BUSY, "a line of the log is being taken"));
        }
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if LOG.read().is_none() {
                    return usual(info);
                }
                let text = info.to_string().replace('\0', " ");
                log(fm_log_level::FM_LOG_PANIC, &CString::new(text).unwrap_or_default());
            }));
        });
        *LOG.write() = run.map(|run| Log { run, user });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a panic may carry: its drop panics as well.
    struct Spiteful;

    impl Drop for Spiteful {
        fn drop(&mut self) {
            panic!("again");
        }
    }

    fn text() -> String {
        LAST.with_borrow(|last| last.to_string_lossy().into_owned())
    }

    static LINES: RwLock<Vec<(u32, String)>> = RwLock::new(Vec::new());

    #[expect(unsafe_code, reason = "reads what the log gives")]
    unsafe extern "C" fn take_line(_: *mut c_void, level: u32, text: *const c_char) {
        // SAFETY: the log gives a text with a zero at its end.
        let text = unsafe { CStr::from_ptr(text) };
        LINES.write().push((level, text.to_string_lossy().into_owned()));
    }

    #[test]
    fn the_log_has_the_panic_and_its_call_while_there_is_one() {
        let fail = || assert_eq!(call(|| panic!("for the log")), fm_status::FM_PANIC);
        // Other tests panic meanwhile.
        let lines = || {
            let lines = LINES.read();
            let own = lines.iter().filter(|(_, line)| line.contains("for the log"));
            own.cloned().collect::<Vec<_>>()
        };
        for _ in 0..2 {
            #[expect(unsafe_code, reason = "gives the log a function")]
            // SAFETY: it may be called for ever.
            let begun = unsafe { fm_log_to(Some(take_line), core::ptr::null_mut()) };
            assert_eq!(begun, fm_status::FM_OK);
            LINES.write().clear();
            fail();
            let [(kind, panic), (_, _)] = &lines()[..] else { panic!("{:?}", lines()) };
            assert!(*kind == fm_log_level::FM_LOG_PANIC as u32 && panic.contains("status.rs"));
            #[expect(unsafe_code, reason = "takes it back")]
            // SAFETY: there is no function.
            let ended = unsafe { fm_log_to(None, core::ptr::null_mut()) };
            assert_eq!(ended, fm_status::FM_OK);
            fail();
            assert_eq!(lines().len(), 2);
        }
    }

    #[test]
    fn panics_end_at_the_border_whatever_they_carry() {
        assert_eq!(call(|| panic!("a text")), fm_status::FM_PANIC);
        assert_eq!(text(), "a text");
        assert_eq!(call(|| panic!("number {}", 7)), fm_status::FM_PANIC);
        assert_eq!(text(), "number 7");
        let spite = || std::panic::panic_any(Spiteful);
        assert_eq!(call(spite), fm_status::FM_PANIC);
        assert_eq!(text(), "the library panicked");
        assert_eq!(call(|| Err(Failure::argument("zero \0 inside"))), fm_status::FM_BAD_ARGUMENT);
        assert_eq!(text(), "zero   inside");
        let other = std::thread::spawn(|| {
            assert_eq!(text(), "", "each thread has its own");
            assert_eq!(call(|| panic!("elsewhere")), fm_status::FM_PANIC);
        });
        assert!(other.join().is_ok());
        assert_eq!(text(), "zero   inside");
    }
}
