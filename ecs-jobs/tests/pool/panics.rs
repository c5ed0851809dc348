//! Panics: caught, resumed once at the waiter, and the pool lives on.

use crate::support::{pools, wait_until, within};
use formic_jobs::{Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, PartialEq)]
struct Reason(usize);

/// Panics without the hook, which would print a page for each.
fn panic_with(reason: Reason) -> ! {
    resume_unwind(Box::new(reason))
}

fn reason_of<R>(call: impl FnOnce() -> R) -> Reason {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("the call was to panic");
    };
    *payload.downcast().expect("the payload is the job's own")
}

fn still_works(pool: &Pool) {
    let count = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    pool.for_each_index(10, |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert_eq!(count.into_inner(), 20);
}

#[test]
fn the_panic_of_a_scoped_job_is_resumed_with_its_payload() {
    for pool in pools() {
        let reason = reason_of(|| pool.scope(|scope| scope.spawn(|_| panic_with(Reason(1)))));
        assert_eq!(reason, Reason(1));
        still_works(&pool);
    }
}

#[test]
fn an_ordinary_panic_keeps_its_message() {
    for pool in pools() {
        let workers = pool.worker_count();
        let call = || pool.scope(|scope| scope.spawn(|_| panic!("one of {workers} panics")));
        let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("the job panics");
        assert_eq!(payload.downcast_ref::<String>(), Some(&format!("one of {workers} panics")));
    }
}

#[test]
fn the_panic_of_a_scope_body_waits_for_the_jobs_that_run() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let reason = reason_of(|| {
                pool.scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|_| {
                            started.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(2));
                            ended.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    panic_with(Reason(2));
                });
            });
            assert_eq!(reason, Reason(2));
            assert_eq!(started.into_inner(), ended.into_inner());
            still_works(&pool);
        }
    });
}

#[test]
fn of_many_panics_one_is_resumed() {
    for pool in pools() {
        let reason = reason_of(|| {
            pool.scope(|scope| {
                for job in 0..10 {
                    scope.spawn(move |_| panic_with(Reason(job)));
                }
            });
        });
        assert!(reason.0 < 10);
        if pool.worker_count() == 0 {
            assert_eq!(reason, Reason(0), "the first one, where there is an order");
        }
        still_works(&pool);
    }
}

#[test]
fn jobs_after_a_panic_are_not_started_in_a_pool_without_workers() {
    let pool = crate::support::pool(0);
    let ran = AtomicUsize::new(0);
    reason_of(|| {
        pool.scope(|scope| {
            scope.spawn(|_| panic_with(Reason(0)));
            scope.spawn(|_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        });
    });
    assert_eq!(ran.into_inner(), 0);
}

#[test]
fn a_panic_in_either_half_of_a_join_is_resumed() {
    for pool in pools() {
        assert_eq!(reason_of(|| pool.join(|| panic_with(Reason(1)), || ())), Reason(1));
        assert_eq!(reason_of(|| pool.join(|| (), || panic_with(Reason(2)))), Reason(2));
        // If both do, the first half's counts, and nothing is left behind.
        let both = || pool.join(|| panic_with(Reason(3)), || panic_with(Reason(4)));
        assert_eq!(reason_of(both), Reason(3));
        still_works(&pool);
    }
}

#[test]
fn a_stolen_half_that_panics_is_resumed_at_the_join() {
    within(Duration::from_secs(20), || {
        let pool = crate::support::pool(1);
        let stolen = AtomicUsize::new(0);
        let reason = reason_of(|| {
            pool.join(
                || wait_until(|| stolen.load(Ordering::SeqCst) == 1),
                || {
                    stolen.store(1, Ordering::SeqCst);
                    panic_with(Reason(7));
                },
            )
        });
        assert_eq!(reason, Reason(7));
        still_works(&pool);
    });
}

#[test]
fn a_panic_in_a_loop_is_resumed_and_ends_the_loop() {
    for pool in pools() {
        for bad in [0, 1, 30, 59] {
            let ran = AtomicUsize::new(0);
            let reason = reason_of(|| {
                pool.for_each_index(60, |index| {
                    if index == bad {
                        panic_with(Reason(index));
                    }
                    std::thread::sleep(Duration::from_micros(50));
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            });
            assert_eq!(reason, Reason(bad));
            assert!(ran.into_inner() < 60);
        }
        still_works(&pool);
    }
}

#[test]
fn a_panic_passes_through_nested_calls_and_is_resumed_once() {
    for pool in pools() {
        let caught_inside = AtomicUsize::new(0);
        pool.scope(|scope| {
            scope.spawn(|_| {
                let reason = reason_of(|| {
                    pool.join(
                        || pool.for_each_index(4, |_| ()),
                        || pool.scope(|scope| scope.spawn(|_| panic_with(Reason(5)))),
                    )
                });
                assert_eq!(reason, Reason(5));
                caught_inside.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(caught_inside.into_inner(), 1);
        still_works(&pool);
    }
}

/// Panics when dropped, which during another panic would abort the process.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_with(Reason(99));
    }
}

#[test]
fn what_a_half_that_did_not_start_owns_may_panic_when_dropped() {
    let kept = Arc::new(());
    for pool in pools() {
        // Now and then a worker starts it after all.
        for _ in 0..10 {
            let owned = (Bomb, Arc::clone(&kept));
            let second = move || drop(owned);
            assert_eq!(reason_of(|| pool.join(|| panic_with(Reason(1)), second)), Reason(1));
            assert_eq!(Arc::strong_count(&kept), 1, "it is dropped");
        }
        still_works(&pool);
    }
}

#[test]
fn the_result_of_the_first_half_may_panic_when_dropped() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let untaken = || pool.join(|| Bomb, || panic_with(Reason(2)));
            assert_eq!(reason_of(untaken), Reason(2));
            still_works(&pool);
        }
        let pool = crate::support::pool(1);
        let started = AtomicUsize::new(0);
        let first = || {
            wait_until(|| started.load(Ordering::SeqCst) == 1);
            Bomb
        };
        let stolen = || {
            started.store(1, Ordering::SeqCst);
            panic_with(Reason(3))
        };
        assert_eq!(reason_of(|| pool.join(first, stolen)), Reason(3));
        still_works(&pool);
    });
}

#[test]
fn what_a_stolen_half_leaves_may_panic_when_dropped() {
    within(Duration::from_secs(20), || {
        let pool = crate::support::pool(1);
        let kept = Arc::new(());
        for panics in [false, true] {
            let started = AtomicUsize::new(0);
            let first = || {
                wait_until(|| started.load(Ordering::SeqCst) == 1);
                panic_with(Reason(4))
            };
            let stolen = || {
                started.store(1, Ordering::SeqCst);
                let left = (Bomb, Arc::clone(&kept));
                if panics { resume_unwind(Box::new(left)) } else { left }
            };
            assert_eq!(reason_of(|| pool.join(first, stolen)), Reason(4));
            assert_eq!(Arc::strong_count(&kept), 1, "it is dropped");
            still_works(&pool);
        }
    });
}

#[test]
fn the_result_of_a_scope_body_may_panic_when_dropped() {
    for pool in pools() {
        let call = || {
            pool.scope(|scope| {
                scope.spawn(|_| panic_with(Reason(5)));
                Bomb
            })
        };
        assert_eq!(reason_of(call), Reason(5));
        still_works(&pool);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn jobs_that_go_with_their_pool_may_panic_when_dropped() {
    /// Counts its drop and panics.
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            drop(Bomb);
        }
    }

    // A process of its own, which two panics at once would abort.
    const CHILD: &str = "FORMIC_DROP_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let name = "panics::jobs_that_go_with_their_pool_may_panic_when_dropped";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .output()
            .expect("the test can start itself");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let pool = Arc::new(crate::support::pool(1));
    let drop_count = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let owned = Counted(Arc::clone(&drop_count));
        // The thread that made the pool never comes for it.
        pool.on_main().schedule(move || _ = &owned);
    }
    let last = Arc::clone(&pool);
    pool.schedule(move || {
        wait_until(|| Arc::strong_count(&last) == 1);
        drop(last);
    });
    drop(pool);
    wait_until(|| drop_count.load(Ordering::SeqCst) == 3);
}

/// Unwinding would leave a frame that other threads are in.
#[test]
#[cfg(not(miri))]
fn a_clock_or_a_hook_that_panics_ends_the_process() {
    const CHILD: &str = "FORMIC_CLOCK_CHILD";
    let Some(what) = std::env::var_os(CHILD) else {
        for what in ["clock", "span"] {
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "panics::a_clock_or_a_hook_that_panics_ends_the_process"])
                .env(CHILD, what)
                .output()
                .expect("the test can start itself");
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(!child.status.success(), "{what}: {said}");
            assert!(!said.contains("FAILED") && !said.contains("passed"), "{what}: {said}");
        }
        return;
    };
    let builder = Pool::builder().threads(Threads::Own(1));
    let builder = if what == "clock" {
        let looks = AtomicUsize::new(0);
        builder.clock(move || match looks.fetch_add(1, Ordering::SeqCst) {
            20.. => panic!("it has stopped"),
            count => Duration::from_micros(count as u64),
        })
    } else {
        builder.on_span(|_| panic!("no"), |_| {})
    };
    let pool = builder.build().expect("one thread");
    // Whatever unwinds is caught here, so that the test would fail and not abort.
    for _ in 0..100 {
        let run = || {
            pool.for_each_index(1_000, |_| {});
            pool.complete(pool.schedule(|| {}));
        };
        drop(catch_unwind(AssertUnwindSafe(run)));
    }
}
