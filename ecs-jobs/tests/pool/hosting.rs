//! Threads of the host, hooks, and the host's clock.

use crate::support::{pools, wait_until, within};
use formic_jobs::{JobGraph, JobHandle, Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

fn host(seats: usize) -> Pool {
    Pool::new(Threads::Host(seats)).expect("no thread is asked for")
}

#[test]
fn jobs_of_a_host_pool_wait_for_a_thread_of_the_host() {
    within(Duration::from_secs(20), || {
        for seats in [0, 1, 2] {
            let pool = host(seats);
            assert_eq!(pool.worker_count(), seats);
            let has_run = Arc::new(AtomicBool::new(false));
            let inside = Arc::clone(&has_run);
            let job = pool.schedule(move || inside.store(true, Ordering::SeqCst));
            assert!(!pool.is_done(job));
            pool.run_until(|| has_run.load(Ordering::SeqCst));
            assert!(pool.is_done(job));
            // And when no thread comes, the end of the pool runs them.
            let inside = Arc::clone(&has_run);
            pool.schedule(move || inside.store(false, Ordering::SeqCst));
            drop(pool);
            assert!(!has_run.load(Ordering::SeqCst));
        }
    });
}

/// Runs `test` while `count` threads of the host work for the pool.
fn with_host_threads(pool: &Pool, count: usize, test: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..count {
            threads.spawn(|| pool.run_until(|| is_over.load(Ordering::SeqCst)));
        }
        test();
        is_over.store(true, Ordering::SeqCst);
        pool.wake_host_threads();
    });
}

#[test]
fn threads_of_the_host_wake_for_jobs_scopes_and_loops() {
    within(Duration::from_secs(60), || {
        let pool = host(2);
        with_host_threads(&pool, 2, || {
            let rounds = if cfg!(miri) { 3 } else { 200 };
            for _ in 0..rounds {
                let count = Arc::new(AtomicUsize::new(0));
                let inside = Arc::clone(&count);
                pool.schedule(move || _ = inside.fetch_add(1, Ordering::SeqCst));
                // This thread does not help.
                wait_until(|| count.load(Ordering::SeqCst) == 1);
                let seen = AtomicUsize::new(0);
                pool.scope(|scope| {
                    scope.spawn(|_| _ = seen.fetch_add(1, Ordering::SeqCst));
                    wait_until(|| seen.load(Ordering::SeqCst) == 1);
                });
            }
        });
    });
}

#[test]
fn each_slot_of_a_loop_is_one_thread_of_the_host_or_the_caller() {
    within(Duration::from_secs(60), || {
        let pool = host(2);
        // One more thread than there are seats: it leaves the loop alone.
        with_host_threads(&pool, 3, || {
            let buffers: Vec<Mutex<usize>> =
                (0..pool.parallelism()).map(|_| Mutex::new(0)).collect();
            let rounds = if cfg!(miri) { 2 } else { 50 };
            for _ in 0..rounds {
                pool.for_each_range_with_slot(64, |slot, range| {
                    let mut count = buffers[slot].try_lock().expect("nobody else has this slot");
                    std::thread::sleep(Duration::from_micros(20));
                    *count += range.len();
                });
            }
            let total: usize = buffers.iter().map(|buffer| *buffer.lock().unwrap()).sum();
            assert_eq!(total, 64 * rounds);
        });
    });
}

#[test]
fn a_thread_of_the_host_may_work_until_a_job_is_done() {
    within(Duration::from_secs(20), || {
        for pool in pools().chain([host(0), host(2)]) {
            let count = Arc::new(AtomicUsize::new(0));
            let mut last = pool.combine(&[]);
            for _ in 0..20 {
                let count = Arc::clone(&count);
                let add = move || _ = count.fetch_add(1, Ordering::Relaxed);
                last = pool.after(&[last]).schedule(add);
            }
            pool.run_until_done(last);
            assert_eq!(count.load(Ordering::Relaxed), 20);
        }
    });
}

#[test]
fn a_condition_that_panics_leaves_the_pool_whole() {
    within(Duration::from_secs(20), || {
        for pool in pools().chain([host(1)]) {
            let mut looks = 0;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.run_until(|| {
                    looks += 1;
                    // At the first look, and at the one before the sleep.
                    if looks == 2 {
                        resume_unwind(Box::new("no more"));
                    }
                    false
                });
            }));
            assert!(outcome.is_err());
            let job = pool.schedule(|| ());
            pool.run_until(|| pool.is_done(job));
            with_host_threads(&pool, 1, || ());
        }
    });
}

#[test]
fn the_main_thread_runs_its_jobs_in_run_until() {
    within(Duration::from_secs(20), || {
        for pool in pools().chain([host(0), host(1)]) {
            let main = std::thread::current().id();
            let shown = Arc::new(AtomicBool::new(false));
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    let inside = Arc::clone(&shown);
                    pool.on_main().schedule(move || {
                        inside.store(std::thread::current().id() == main, Ordering::SeqCst);
                    });
                });
                pool.run_until(|| shown.load(Ordering::SeqCst));
            });
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "too many jobs")]
fn ids_of_jobs_that_waiters_ran_do_not_pile_up() {
    let pool = host(0);
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..10_000 {
        let inside = Arc::clone(&count);
        pool.complete(pool.schedule(move || _ = inside.fetch_add(1, Ordering::Relaxed)));
    }
    assert_eq!(count.load(Ordering::Relaxed), 10_000);
    assert!(!pool.try_run_one(), "nothing is left to run");
}

#[test]
fn hooks_run_on_each_worker_thread_first_and_last() {
    within(Duration::from_secs(20), || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let log = Arc::clone(&log);
            move |worker: usize| {
                let name = std::thread::current().name().map(str::to_owned);
                log.lock().unwrap().push((what, worker, name));
            }
        };
        let pool = Pool::builder()
            .threads(Threads::Own(2))
            .name("ants")
            .on_thread_start(note("start"))
            .on_thread_exit(note("exit"))
            .build()
            .expect("two threads are granted");
        wait_until(|| log.lock().unwrap().len() == 2);
        drop(pool);
        let mut log = log.lock().unwrap().clone();
        log[..2].sort();
        log[2..].sort();
        let expected = |what, worker| (what, worker, Some(format!("ants {worker}")));
        let order =
            [expected("start", 0), expected("start", 1), expected("exit", 0), expected("exit", 1)];
        assert_eq!(log, order);
    });
}

/// Builds a pool of one worker whose hook calls `hook` with the pool.
fn with_hook(hook: impl Fn(Arc<Pool>) + Send + Sync + 'static) {
    let (give, given) = mpsc::channel::<Arc<Pool>>();
    let (given, (tell, told)) = (Mutex::new(given), mpsc::channel());
    let on_start = move |_| {
        let pool = given.lock().unwrap().recv().expect("the test gives it");
        hook(pool);
        tell.send(()).expect("the test waits for it");
    };
    let builder = Pool::builder().threads(Threads::Own(1)).on_thread_start(on_start);
    let pool = builder.build().expect("one thread is granted");
    pool.schedule(|| ());
    give.send(Arc::new(pool)).expect("the hook waits for it");
    told.recv().expect("the hook ends");
}

#[test]
fn a_hook_may_drop_the_last_reference_to_its_pool_and_waits_for_no_worker() {
    within(Duration::from_secs(20), || {
        with_hook(drop);
        with_hook(|pool| {
            let broadcast = AssertUnwindSafe(|| pool.broadcast(|_worker| ()));
            catch_unwind(broadcast).expect_err("it would wait for itself");
            pool.flush();
        });
    });
}

/// A pool of one worker, for which so many nanoseconds go by from one look at the clock to the next.
fn with_clock(step_ns: u64) -> Pool {
    let now = AtomicU64::new(0);
    let clock = move || Duration::from_nanos(now.fetch_add(step_ns, Ordering::Relaxed));
    let builder = Pool::builder().threads(Threads::Own(1)).clock(clock);
    builder.build().expect("one thread is granted")
}

#[test]
fn the_clock_of_the_host_decides_whether_a_graph_is_worth_sharing() {
    within(Duration::from_secs(20), || {
        let is_shared = |pool: &Pool| {
            let (caller, others) = (std::thread::current().id(), AtomicUsize::new(0));
            let mut builder = JobGraph::builder();
            for _ in 0..4 {
                builder.add("linger", &[], |_| {
                    std::thread::sleep(Duration::from_millis(2));
                    let is_other = std::thread::current().id() != caller;
                    others.fetch_add(usize::from(is_other), Ordering::Relaxed);
                });
            }
            let mut graph = builder.build().expect("there is no cycle");
            // The first runs find out.
            (0..4).for_each(|_| graph.run(pool));
            let known = others.load(Ordering::Relaxed);
            (0..8).for_each(|_| graph.run(pool));
            drop(graph);
            others.into_inner() > known
        };
        assert!(!is_shared(&with_clock(0)), "no time goes by");
        assert!(is_shared(&with_clock(1_000_000_000)));
    });
}

#[test]
fn what_a_look_at_the_clock_takes_is_no_cost_of_a_job() {
    std::thread_local! { static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) }; }
    within(Duration::from_secs(20), || {
        // A look takes 40 ns, and nothing else takes any time.
        let look = || NOW.with(|now| now.replace(now.get() + 40));
        let builder = Pool::builder().threads(Threads::Own(1));
        let pool = builder.clock(move || Duration::from_nanos(look())).build().unwrap();
        let (caller, others) = (std::thread::current().id(), AtomicUsize::new(0));
        let mut builder = JobGraph::builder();
        for _ in 0..2_000 {
            builder.add("nothing", &[], |_| {
                let is_other = std::thread::current().id() != caller;
                others.fetch_add(usize::from(is_other), Ordering::Relaxed);
            });
        }
        let mut graph = builder.build().expect("there is no cycle");
        // The first runs find out that no time goes by between two looks.
        (0..4).for_each(|_| graph.run(&pool));
        let known = others.load(Ordering::Relaxed);
        (0..8).for_each(|_| graph.run(&pool));
        assert_eq!(others.load(Ordering::Relaxed), known);
    });
}

#[test]
fn the_clock_of_the_host_decides_whether_a_loop_is_worth_sharing() {
    within(Duration::from_secs(20), || {
        // No time goes by: the loop ends on the caller.
        let (pool, caller) = (with_clock(0), std::thread::current().id());
        pool.for_each_index(100, |_| {
            std::thread::sleep(Duration::from_micros(50));
            assert_eq!(std::thread::current().id(), caller);
        });
        assert_eq!(pool.now(), Duration::ZERO);
        // A second from one look to the next: the worker is called for.
        let pool = with_clock(1_000_000_000);
        let here = Mutex::new(std::collections::HashSet::new());
        pool.for_each_index(100, |_| {
            here.lock().unwrap().insert(std::thread::current().id());
            for _ in 0..1_000 {
                if here.lock().unwrap().len() == 2 {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(here.lock().unwrap().len(), 2);
    });
}

#[test]
fn one_job_at_a_time_is_run_by_hand_in_a_host_pool() {
    let pool = host(0);
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |number: usize| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(number)
    };
    let first: JobHandle = pool.schedule(note(0));
    pool.after(&[first]).schedule(note(1));
    pool.schedule(note(2));
    for done in 1..=3 {
        assert!(pool.try_run_one());
        assert_eq!(order.lock().unwrap().len(), done);
    }
    assert!(!pool.try_run_one());
    assert_eq!(order.lock().unwrap()[0], 0);
}
