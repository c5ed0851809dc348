//! Schedules of the host's functions, and the threads that run them.
#![expect(unsafe_code, reason = "exports functions that take pointers, and calls the host's")]

use core::ffi::{c_char, c_void};
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formic_ecs::{CodecError, World};
use formic_jobs::{
    IntoSystem, Pool, RunContext, Schedule, StateArchive, System, SystemAccess, SystemConfig,
    Threads,
};

use crate::ffi;
use crate::handles::Shared;
use crate::mind::HostMind;
use crate::query::{QueryState, build, fm_run, fm_term};
use crate::status::{Failure, call, fm_status};
use crate::world::{away, fm_world, with};

/// Threads that run schedules.
pub type fm_pool = u64;
/// Systems in an order.
pub type fm_schedule = u64;

static POOLS: Shared<PoolState> = Shared::new("pool");
static SCHEDULES: Shared<ScheduleState> = Shared::new("schedule");

/// A pool, and whether lent threads are to go home.
#[derive(Clone)]
struct PoolState {
    pool: Arc<Pool>,
    recalled: Arc<AtomicBool>,
}

impl PoolState {
    fn recall(&self) {
        self.recalled.store(true, Ordering::Release);
        self.pool.wake_host_threads();
    }
}

/// Does the work of a system: `user` is what the system was made with, `tick` counts the runs of the
/// schedule from 0, the runs have the columns of the terms. It may be called on any thread of the
/// pool, but not on two at once. It returns (C++: it throws no exception), and calls no function for
/// the same world, which is FM_BUSY.
pub type fm_system_run = Option<
    unsafe extern "C" fn(user: *mut c_void, tick: u64, runs: *const fm_run, runs_len: usize),
>;

/// A function of the host, and what it touches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_system {
    /// The name, for messages.
    pub name: *const c_char,
    /// What it reads and writes, as for fm_query_new(). FM_CHANGED and FM_ADDED are about what
    /// came since its last run.
    pub terms: *const fm_term,
    /// How many terms there are.
    pub terms_len: usize,
    /// The function.
    pub run: fm_system_run,
    /// What the function is given. It has to be good on any thread, until the schedule is freed.
    pub user: *mut c_void,
    /// It runs in every tick (0 and 1), every second one, ...
    pub every: u32,
}

pub(crate) struct ScheduleState {
    world: fm_world,
    /// Not here while it runs.
    schedule: Option<Schedule>,
    /// Of the agents that it drives, if it was made for that.
    mind: Option<Arc<HostMind>>,
}

/// Gives a schedule of a world to the host.
pub(crate) fn list(world: fm_world, schedule: Schedule, mind: Option<HostMind>) -> fm_schedule {
    let schedule = Some(schedule);
    SCHEDULES.insert(ScheduleState { world, schedule, mind: mind.map(Arc::new) })
}

/// The world of a schedule, and its mind.
pub(crate) fn mind_of(schedule: fm_schedule) -> Result<(fm_world, Arc<HostMind>), Failure> {
    SCHEDULES.with(schedule, |state| {
        let mind = state.mind.clone().ok_or_else(|| {
            Failure::new(fm_status::FM_BAD_HANDLE, "the schedule was not made by fm_mind_new()")
        })?;
        Ok((state.world, mind))
    })
}

struct HostSystem {
    name: String,
    query: QueryState,
    run: fm_system_run,
    user: User,
    /// The version of the world when it ran last, and how often that had been restored.
    seen: u64,
    restored: u64,
}

/// What the host gave for its function.
#[derive(Clone, Copy)]
struct User(*mut c_void);

// SAFETY: the host says that it is good on any thread; it is handed on and never followed here.
unsafe impl Send for User {}

impl fmt::Debug for HostSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSystem").field("name", &self.name).finish_non_exhaustive()
    }
}

impl System for HostSystem {
    fn name(&self) -> &str {
        &self.name
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        access.add_components(self.query.query.access(), world);
        access
    }

    fn run(&mut self, context: RunContext<'_>) {
        let mut since = core::mem::replace(&mut self.seen, context.cell.version());
        if self.restored != context.cell.restored() {
            // What was seen before says nothing any more.
            (since, self.restored) = (0, context.cell.restored());
        }
        let found = context.cell.query_by_id(&mut self.query.query);
        let mut rows = found.expect("the schedule keeps others away");
        let mut lent = core::mem::take(&mut self.query.kept);
        lent.fill(rows.rows().since(since), &self.query.columns);
        let (user, tick) = (self.user.0, context.tick);
        let run = self.run.expect("fm_schedule_new() has looked");
        // SAFETY: the host gave the function for this; until it has returned `lent` holds the lists and
        // `rows` the columns.
        unsafe { run(user, tick, lent.runs.as_ptr(), lent.runs.len()) };
        drop(rows);
        self.query.kept = lent;
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        let write = |it: &Self, out: &mut Vec<u8>| {
            out.extend(it.seen.to_le_bytes());
            Ok(())
        };
        archive.entry("what was seen", self, write, |it, bytes, world| {
            let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
            *bytes = rest;
            if let Some(world) = world {
                (it.seen, it.restored) = (u64::from_le_bytes(*first), world.restored());
            }
            Ok(())
        });
    }
}

/// Makes a pool with this many threads besides the one that calls. `*out` is its handle.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_pool_new(threads: usize, out: *mut fm_pool) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let threads = if threads == 0 { Threads::None } else { Threads::Own(threads) };
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, new_pool(threads)?) }
    })
}

fn new_pool(threads: Threads) -> Result<fm_pool, Failure> {
    let pool = Arc::new(Pool::new(threads).map_err(Failure::argument)?);
    Ok(POOLS.insert(PoolState { pool, recalled: Arc::default() }))
}

/// Makes a pool without threads, for up to this many that the host lends it. `*out` is its handle.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_pool_new_lent(threads: usize, out: *mut fm_pool) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, new_pool(Threads::Host(threads))?) }
    })
}

/// Lends the calling thread to a pool: it helps with whatever runs on the pool, and sleeps when there is
/// nothing, until fm_pool_recall() or fm_pool_free(). Threads beyond the number of fm_pool_new_lent(), and
/// all of a pool of fm_pool_new(), only sleep.
#[unsafe(no_mangle)]
pub extern "C" fn fm_pool_lend(pool: fm_pool) -> fm_status {
    call(|| {
        let PoolState { pool, recalled } = POOLS.with(pool, |state| Ok(state.clone()))?;
        pool.run_until(|| recalled.load(Ordering::Acquire));
        Ok(())
    })
}

/// Sends all threads home that were lent to a pool, when they have done what they are at; who lends one
/// later has it back at once.
#[unsafe(no_mangle)]
pub extern "C" fn fm_pool_recall(pool: fm_pool) -> fm_status {
    call(|| {
        POOLS.with(pool, |state| {
            state.recall();
            Ok(())
        })
    })
}

/// Frees a pool. A run that uses it goes on to its end; threads that were lent go home.
#[unsafe(no_mangle)]
pub extern "C" fn fm_pool_free(pool: fm_pool) -> fm_status {
    call(|| {
        POOLS.free(pool, |state| {
            state.recall();
            Ok(())
        })
    })
}

/// Makes a schedule of systems for a world. Those that touch nothing in common may run at the same
/// time; others run in the order of the array. `*out` is its handle.
///
/// # Safety
/// `systems` has `count` elements, each with a name that ends with a zero and as many terms as it says;
/// `out` may be written. Each function may be called as fm_system_run says, with its `user`, until the
/// schedule is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_schedule_new(
    world: fm_world,
    systems: *const fm_system,
    count: usize,
    out: *mut fm_schedule,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for as many systems.
        let systems = unsafe { ffi::slice("systems", systems, count) }?;
        let schedule = with(world, |state| {
            let mut builder = Schedule::builder();
            for system in systems {
                // SAFETY: the caller vouches for the zero at its end.
                let name = unsafe { ffi::text("the name of a system", system.name) }?.to_owned();
                // SAFETY: the caller vouches for as many terms.
                let terms = unsafe { ffi::slice("terms", system.terms, system.terms_len) }?;
                let (run, user) = (system.run, User(system.user));
                if run.is_none() {
                    return Err(Failure::new(
                        fm_status::FM_NULL,
                        format!("{name} has no function"),
                    ));
                }
                let query = build(state, terms)?;
                let config =
                    SystemConfig::of(HostSystem { name, query, run, user, seen: 0, restored: 0 });
                builder = builder.add(config.every(system.every.max(1)));
            }
            builder.build(&mut state.world).map_err(Failure::argument)
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, list(world, schedule, None)) }
    })
}

fn busy() -> Failure {
    Failure::new(fm_status::FM_BUSY, "the schedule is running")
}

/// Frees a schedule. FM_BUSY while it runs.
#[unsafe(no_mangle)]
pub extern "C" fn fm_schedule_free(schedule: fm_schedule) -> fm_status {
    call(|| {
        let ready = |state: &ScheduleState| state.schedule.as_ref().map(drop).ok_or_else(busy);
        SCHEDULES.free(schedule, ready)
    })
}

/// Runs a schedule once, on the calling thread and those of the pool. Until it returns, all other calls
/// for its world are FM_BUSY.
#[unsafe(no_mangle)]
pub extern "C" fn fm_schedule_run(schedule: fm_schedule, pool: fm_pool) -> fm_status {
    call(|| {
        let pool = POOLS.with(pool, |state| Ok(Arc::clone(&state.pool)))?;
        both(schedule, |world, schedule| drop(schedule.run(world, &pool)))
    })
}

/// Runs a body with a schedule and its world, both out of their tables: calls for them find them
/// busy.
pub(crate) fn both<R>(
    schedule: fm_schedule,
    body: impl FnOnce(&mut World, &mut Schedule) -> R,
) -> Result<R, Failure> {
    let (world, mut own) = SCHEDULES
        .with(schedule, |state| Ok((state.world, state.schedule.take().ok_or_else(busy)?)))?;
    // Back to its place first, whatever happened.
    let run = || away(world, |world| body(world, &mut own));
    let done = catch_unwind(AssertUnwindSafe(run));
    SCHEDULES.with(schedule, |state| {
        state.schedule = Some(own);
        Ok(())
    })?;
    done.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Writes which systems ran in the last run, and why the others did not, a line each. `*len` is how many
/// bytes the text has without the zero at its end; of more than `capacity` bytes with it, only the
/// beginning is written.
///
/// # Safety
/// `text` points at `capacity` bytes that are initialised and may be written; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_schedule_explain(
    schedule: fm_schedule,
    text: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    let why = || {
        SCHEDULES.with(schedule, |state| {
            Ok(state.schedule.as_ref().ok_or_else(busy)?.explain_all().to_string())
        })
    };
    // SAFETY: the caller vouches for as many bytes, and that all may be written.
    unsafe { ffi::answer_text(text, capacity, len, why) }
}
