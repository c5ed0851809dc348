//! Schedules of the host's functions, and the threads that run them.
#![expect(unsafe_code, reason = "exports functions that take pointers, and calls the host's")]

use core::ffi::{c_char, c_void};
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use formic_ecs::World;
use formic_jobs::{
    IntoSystem, Pool, RunContext, Schedule, System, SystemAccess, SystemConfig, Threads,
};

use crate::ffi;
use crate::handles::Shared;
use crate::query::{QueryState, Runs, build, fm_run, fm_term};
use crate::status::{Failure, call, fm_status};
use crate::world::{away, fm_world, with};

/// Threads that run schedules.
pub type fm_pool = u64;
/// Systems in an order.
pub type fm_schedule = u64;

static POOLS: Shared<Arc<Pool>> = Shared::new("pool");
static SCHEDULES: Shared<ScheduleState> = Shared::new("schedule");

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

struct ScheduleState {
    world: fm_world,
    /// Not here while it runs.
    schedule: Option<Schedule>,
}

struct HostSystem {
    name: String,
    query: QueryState,
    run: fm_system_run,
    user: User,
    /// The version of the world when it ran last.
    seen: u64,
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
        let since = core::mem::replace(&mut self.seen, context.cell.version());
        let found = context.cell.query_by_id(&mut self.query.query);
        let mut rows = found.expect("the schedule keeps others away");
        let lent = Runs::of(rows.rows().since(since), &self.query.columns);
        let (user, tick) = (self.user.0, context.tick);
        let run = self.run.expect("fm_schedule_new() has looked");
        // SAFETY: the host gave the function for this; until it has returned `lent` holds the lists and
        // `rows` the columns.
        unsafe { run(user, tick, lent.runs.as_ptr(), lent.runs.len()) };
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
        let pool = Pool::new(threads).map_err(Failure::argument)?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, POOLS.insert(Arc::new(pool))) }
    })
}

/// Frees a pool. A run that uses it goes on to its end.
#[unsafe(no_mangle)]
pub extern "C" fn fm_pool_free(pool: fm_pool) -> fm_status {
    call(|| POOLS.free(pool, |_| Ok(())))
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
                let config = SystemConfig::of(HostSystem { name, query, run, user, seen: 0 });
                builder = builder.add(config.every(system.every.max(1)));
            }
            builder.build(&mut state.world).map_err(Failure::argument)
        })?;
        let state = ScheduleState { world, schedule: Some(schedule) };
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, SCHEDULES.insert(state)) }
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
        let pool = POOLS.with(pool, |pool| Ok(Arc::clone(pool)))?;
        let (world, mut own) = SCHEDULES
            .with(schedule, |state| Ok((state.world, state.schedule.take().ok_or_else(busy)?)))?;
        // Back to its place first, whatever happened.
        let run = || away(world, |world| drop(own.run(world, &pool)));
        let done = catch_unwind(AssertUnwindSafe(run));
        SCHEDULES.with(schedule, |state| {
            state.schedule = Some(own);
            Ok(())
        })?;
        done.unwrap_or_else(|payload| resume_unwind(payload))
    })
}
