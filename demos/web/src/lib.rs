//! The demos as a wasm module: a world that lives in a page, with no server at all.
//!
//! JavaScript and the module share one memory and hand over numbers and the addresses of two
//! buffers: the inbox, which the page writes requests to, and the outbox, which it reads answers and
//! frames from. An address holds until the next call. Everything else is a
//! [`Session`], the same that `demos serve` has. The page gives the module one function, its clock:
//! `page.now_ms`.
//!
//! The attribute that exports a function under its own name counts as unsafe, since two functions of
//! one name would be one. No other item of the program has a name that begins with `formic_`.
#![expect(unsafe_code, reason = "exports and imports functions under names that are known outside")]

use std::cell::RefCell;
use std::time::Duration;

use formic::inspect::{Known, Request, Session};
use formic_demos::catalogue::{DEMOS, FIRST};
use formic_demos::session::Live;
use formic_demos::setup::{self, Setup};
use formic_ecs::Entity;

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "page")]
// Safe: the page's function takes nothing, returns a number, and touches no memory of ours.
unsafe extern "C" {
    /// How many milliseconds have gone by since the page was opened.
    safe fn now_ms() -> f64;
}

/// Elsewhere than in a page nothing calls the module.
#[cfg(not(target_family = "wasm"))]
fn now_ms() -> f64 {
    0.0
}

/// What the page's clock says.
fn now() -> Duration {
    Duration::try_from_secs_f64(now_ms() / 1e3).unwrap_or_default()
}

/// What one page has.
#[derive(Debug, Default)]
struct Page {
    live: Option<(Session, Live)>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

thread_local! {
    /// A module has one thread.
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Calls `on` with the session; `otherwise` where none was opened.
fn with_session<T>(otherwise: T, on: impl FnOnce(&mut Session, &mut Live) -> T) -> T {
    PAGE.with_borrow_mut(|page| {
        page.live.as_mut().map_or(otherwise, |(session, live)| on(session, live))
    })
}

/// Fills the outbox and returns how many bytes are in it.
fn send(bytes: Vec<u8>) -> usize {
    PAGE.with_borrow_mut(|page| {
        page.outbox = bytes;
        page.outbox.len()
    })
}

/// Opens the demo that runs when none is named, paused at tick zero. Returns 1, or 0 where the numbers are refused.
#[unsafe(no_mangle)]
pub extern "C" fn formic_open(agents: u32, seed: u64) -> u32 {
    let setup = Setup { agents, ticks: 0, seed, threads: 1 };
    setup::use_clock(now);
    let live = Live::open(DEMOS, FIRST, setup).ok();
    PAGE.with_borrow_mut(|page| {
        page.live = live.map(|live| (Session::new(&live), live));
        page.live.is_some().into()
    })
}

/// Lets so many milliseconds go by, and at most so many ticks. Returns how many ticks went by.
#[unsafe(no_mangle)]
pub extern "C" fn formic_live(elapsed_ms: f64, ticks_max: u32) -> u32 {
    // A time that is none, or a long one, is as good as a second.
    let elapsed = if (0.0..1e3).contains(&elapsed_ms) { elapsed_ms } else { 1e3 };
    with_session(0, |session, live| {
        let (start, mut lived) = (now(), 0);
        session.live(live, Duration::from_secs_f64(elapsed / 1e3), || {
            lived += 1;
            lived > ticks_max
        });
        // The closure was asked once more where it ended the time.
        lived = lived.min(ticks_max);
        if lived > 0 {
            session.note_tick_time(now().saturating_sub(start) / lived);
        }
        lived
    })
}

/// A number that is another one when there is something new to see.
#[unsafe(no_mangle)]
pub extern "C" fn formic_version() -> u32 {
    let low = u64::from(u32::MAX);
    with_session(0, |session, _| u32::try_from(session.version() & low).unwrap_or(u32::MAX))
}

/// Puts a frame into the outbox for a page that knows this ground and these ids and has chosen this
/// entity (0 for none), with the paths of all agents or without. Returns its length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn formic_frame(ground: u32, ids: u32, paths: u32, chosen: u64) -> usize {
    let known = Known { ground, ids, paths: paths != 0 };
    let chosen = Entity::from_bits(chosen);
    send(with_session(Vec::new(), |session, live| {
        session.frame(live, known.paths, chosen).message(&known)
    }))
}

/// Makes room for a request of so many bytes. Returns where the page is to write it.
#[unsafe(no_mangle)]
pub extern "C" fn formic_inbox(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.inbox = vec![0; length];
        page.inbox.as_mut_ptr()
    })
}

/// Answers the request in the inbox: a method, a blank and a path in the first line, and then the
/// body. The answer is in the outbox; returns its length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn formic_answer() -> usize {
    let inbox = PAGE.with_borrow_mut(|page| std::mem::take(&mut page.inbox));
    let line_end = inbox.iter().position(|&byte| byte == b'\n').unwrap_or(inbox.len());
    let line = String::from_utf8_lossy(&inbox[..line_end]);
    let (method, target) = line.split_once(' ').unwrap_or(("GET", &line));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body = inbox.get(line_end + 1..).unwrap_or_default();
    let request = Request { is_post: method == "POST", path, query, body };
    send(with_session(Vec::new(), |session, live| session.answer(live, &request).bytes))
}

/// Where the outbox is.
#[unsafe(no_mangle)]
pub extern "C" fn formic_outbox() -> *const u8 {
    PAGE.with_borrow(|page| page.outbox.as_ptr())
}
