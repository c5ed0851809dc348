//! Idle workers sleep, wake for every piece of work, and end with the pool.

use crate::support::{pool, wait_until, within};
use formic_jobs::{Pool, PoolError, Threads};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Processor time of this process in ticks of ten milliseconds.
#[cfg(target_os = "linux")]
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux says what we used");
    // The name is in parentheses and may contain spaces: count after it.
    let (_, after_name) = stat.rsplit_once(')').expect("the name is in parentheses");
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let field = |index: usize| fields[index].parse::<u64>().expect("a number of ticks");
    field(11) + field(12)
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "reads /proc")]
fn an_idle_pool_uses_no_processor_time() {
    // A process of its own, since the other tests here are not idle.
    if std::env::var_os("FORMIC_IDLE_CHILD").is_none() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sleep::an_idle_pool_uses_no_processor_time", "--test-threads=1"])
            .env("FORMIC_IDLE_CHILD", "1")
            .output()
            .expect("the test can start itself");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let pool = pool(4);
    pool.for_each_index(100, |_| std::thread::sleep(Duration::from_micros(100)));
    std::thread::sleep(Duration::from_millis(50));
    let before = cpu_ticks();
    std::thread::sleep(Duration::from_millis(600));
    let used = cpu_ticks() - before;
    assert!(used <= 1, "an idle pool used {used} ticks of 60 per thread");
}

#[test]
fn sleeping_workers_wake_for_each_of_many_single_jobs() {
    within(Duration::from_secs(60), || {
        let pool = pool(2);
        let rounds = if cfg!(miri) { 5 } else { 300 };
        for round in 0..rounds {
            let by_worker = AtomicUsize::new(0);
            pool.scope(|scope| {
                scope.spawn(|_| {
                    by_worker.store(1, Ordering::SeqCst);
                });
                // The caller is busy, so that it is a worker who has to wake.
                wait_until(|| by_worker.load(Ordering::SeqCst) == 1);
            });
            if round % 50 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
}

#[test]
fn dropping_a_pool_ends_its_threads_asleep_or_not() {
    within(Duration::from_secs(60), || {
        let rounds = if cfg!(miri) { 3 } else { 100 };
        for round in 0..rounds {
            let pool = pool(3);
            if round % 2 == 0 {
                pool.for_each_index(10, |_| std::thread::yield_now());
            }
            drop(pool);
        }
    });
}

#[test]
fn worker_threads_have_the_name_of_the_pool() {
    let pool = Pool::builder()
        .threads(Threads::Own(1))
        .name("ants")
        .stack_bytes(256 * 1024)
        .build()
        .expect("one thread is granted");
    let named = AtomicUsize::new(0);
    pool.scope(|scope| {
        scope.spawn(|_| {
            assert_eq!(std::thread::current().name(), Some("ants 0"));
            named.store(1, Ordering::SeqCst);
        });
        wait_until(|| named.load(Ordering::SeqCst) == 1);
    });
}

#[test]
fn a_pool_counts_its_workers_and_the_helping_caller() {
    for (threads, worker_count) in [(Threads::None, 0), (Threads::Own(0), 0), (Threads::Own(2), 2)]
    {
        let pool = Pool::new(threads).expect("two threads are granted");
        assert_eq!(pool.worker_count(), worker_count);
        assert_eq!(pool.parallelism(), worker_count + 1);
    }
}

#[test]
fn more_workers_than_a_pool_can_have_are_an_error() {
    for wanted in [Threads::WORKER_COUNT_MAX + 1, usize::MAX / 2, usize::MAX] {
        let error = Pool::new(Threads::Own(wanted)).expect_err("there is a limit");
        assert!(matches!(error, PoolError::TooManyWorkers { wanted: said } if said == wanted));
        assert!(error.to_string().contains(&wanted.to_string()));
    }
}

#[test]
fn a_pool_can_be_shared_and_sent() {
    fn shared_and_sent<T: Send + Sync>() {}
    shared_and_sent::<Pool>();
}
