//! Flat loops: each index once, by all threads, with slots unique in each call.

use crate::support::{pool, pools, within};
use formic_jobs::Pool;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

fn work_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn every_index_is_run_once_whatever_the_length() {
    let lens = if cfg!(miri) { vec![0, 1, 2, 40] } else { vec![0, 1, 2, 3, 64, 1_000, 100_000] };
    for pool in pools() {
        for &len in &lens {
            let counts: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
            pool.for_each_index(len, |index| {
                counts[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn heavy_indices_are_run_once_each_by_several_threads() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        let threads = Mutex::new(BTreeSet::new());
        let counts: Vec<AtomicUsize> = (0..40).map(|_| AtomicUsize::new(0)).collect();
        pool.for_each_index(counts.len(), |index| {
            counts[index].fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            threads.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
        });
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        assert_eq!(threads.into_inner().unwrap().len(), 3);
    });
}

#[test]
fn ranges_are_not_empty_and_cover_the_loop_once() {
    for pool in pools() {
        let ranges = Mutex::new(Vec::new());
        pool.for_each_range(500, |range| {
            work_for(Duration::from_micros(if cfg!(miri) { 0 } else { 5 }));
            ranges.lock().unwrap().push((range.start, range.end));
        });
        let mut ranges = ranges.into_inner().unwrap();
        ranges.sort_unstable();
        assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, 500));
        assert!(ranges.iter().all(|(start, end)| start < end));
        assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
        pool.for_each_range(0, |_| panic!("there is no empty range"));
    }
}

#[test]
#[cfg_attr(miri, ignore = "nothing is short there")]
fn a_short_loop_of_tiny_bodies_ends_on_the_caller() {
    let pool = pool(2);
    let caller = std::thread::current().id();
    let elsewhere = AtomicUsize::new(0);
    for _ in 0..100 {
        pool.for_each_index(10, |_| {
            let here = std::thread::current().id() == caller;
            elsewhere.fetch_add(usize::from(!here), Ordering::Relaxed);
        });
    }
    // A busy machine may stop the caller in the middle of its probe.
    assert!(elsewhere.into_inner() < 500);
}

#[test]
fn without_workers_a_loop_is_one_range_in_order() {
    let pool = pool(0);
    let order = Mutex::new(Vec::new());
    pool.for_each_index(5, |index| order.lock().unwrap().push(index));
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
    let ranges = Mutex::new(Vec::new());
    pool.for_each_range_with_slot(5, |slot, range| ranges.lock().unwrap().push((slot, range)));
    assert_eq!(ranges.into_inner().unwrap(), [(0, 0..5)]);
}

#[test]
fn a_slot_is_never_in_use_by_two_threads_of_one_call() {
    within(Duration::from_secs(30), || {
        for pool in pools() {
            std::thread::scope(|threads| {
                // Three outside threads at once, each with slots of its own.
                for _ in 0..3 {
                    threads.spawn(|| {
                        let slots: Vec<_> =
                            (0..pool.parallelism()).map(|_| Mutex::new(0_u64)).collect();
                        for _ in 0..20 {
                            pool.for_each_range_with_slot(50, |slot, range| {
                                let mut sum = slots[slot].try_lock().expect("a slot of one's own");
                                work_for(Duration::from_micros(2));
                                *sum += range.len() as u64;
                            });
                        }
                        let total: u64 =
                            slots.into_iter().map(|slot| slot.into_inner().unwrap()).sum();
                        assert_eq!(total, 20 * 50);
                    });
                }
            });
        }
    });
}

/// Which thread has run batches with which slot.
struct SlotOwners(Vec<Mutex<Option<ThreadId>>>);

impl SlotOwners {
    fn new(pool: &Pool) -> Self {
        Self((0..pool.parallelism()).map(|_| Mutex::new(None)).collect())
    }

    fn check(&self, slot: usize) {
        let here = std::thread::current().id();
        let owner = *self.0[slot].lock().unwrap().get_or_insert(here);
        assert_eq!(owner, here, "slot {slot} has two threads");
    }
}

#[test]
fn a_slot_stays_with_one_thread_through_a_call_and_the_calls_inside_it() {
    within(Duration::from_secs(30), || {
        let rounds = if cfg!(miri) { 1 } else { 10 };
        for pool in pools() {
            let call = || {
                let owners = SlotOwners::new(&pool);
                let batch = |slot, _| {
                    owners.check(slot);
                    work_for(Duration::from_micros(if cfg!(miri) { 0 } else { 20 }));
                };
                // A thread that waits in here helps with the loops below.
                pool.scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|_| {
                            let inner = || pool.for_each_range_with_slot(8, batch);
                            pool.join(inner, inner);
                            pool.for_each_range_with_slot(4, |slot, range| {
                                batch(slot, range);
                                inner();
                            });
                        });
                    }
                });
            };
            std::thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| (0..rounds).for_each(|_| call()));
                }
            });
        }
    });
}

#[test]
fn slots_are_unique_in_the_calls_that_workers_make_into_another_pool() {
    within(Duration::from_secs(30), || {
        let (outer, inner) = (pool(2), pool(2));
        outer.for_each_index(12, |_| {
            let owners = SlotOwners::new(&inner);
            inner.for_each_range_with_slot(12, |slot, _| {
                owners.check(slot);
                work_for(Duration::from_micros(if cfg!(miri) { 0 } else { 20 }));
                // Back into the first pool, and there a call of its own.
                let owners = SlotOwners::new(&outer);
                outer.for_each_range_with_slot(3, |slot, _| owners.check(slot));
            });
        });
    });
}

#[test]
fn a_loop_may_be_as_long_as_indices_go() {
    for pool in pools() {
        let count = AtomicUsize::new(0);
        pool.for_each_range(usize::MAX, |range| {
            count.fetch_add(range.len(), Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), usize::MAX);
    }
}

#[test]
fn loops_with_slots_inside_jobs_of_several_outside_threads_end() {
    within(Duration::from_secs(30), || {
        for pool in pools() {
            let count = AtomicU64::new(0);
            std::thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| {
                        pool.scope(|scope| {
                            for _ in 0..5 {
                                scope.spawn(|_| {
                                    pool.for_each_range_with_slot(20, |slot, range| {
                                        assert!(slot < pool.parallelism());
                                        work_for(Duration::from_micros(2));
                                        count.fetch_add(range.len() as u64, Ordering::Relaxed);
                                    });
                                });
                            }
                        });
                    });
                }
            });
            assert_eq!(count.into_inner(), 3 * 5 * 20);
        }
    });
}

#[test]
fn a_loop_inside_a_batch_keeps_the_slot() {
    let pool = pool(0);
    pool.for_each_range_with_slot(1, |outer, _| {
        pool.for_each_range_with_slot(1, |inner, _| assert_eq!(inner, outer));
    });
}

#[test]
fn of_two_heavy_indices_none_waits_for_the_other() {
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        for _ in 0..10 {
            let here = AtomicUsize::new(0);
            // Each waits for the other to start, so one thread alone would hang.
            pool.for_each_index(2, |_| {
                here.fetch_add(1, Ordering::SeqCst);
                work_for(Duration::from_millis(1));
                crate::support::wait_until(|| here.load(Ordering::SeqCst) == 2);
            });
        }
    });
}

/// Together they have more batches than a number has room for.
#[test]
fn loops_over_as_many_indices_as_there_are_run_beside_each_other() {
    within(Duration::from_secs(60), || {
        let pool = pool(2);
        std::thread::scope(|threads| {
            for _ in 0..6 {
                threads.spawn(|| {
                    for _ in 0..20 {
                        let body = |_| std::thread::sleep(Duration::from_micros(50));
                        pool.for_each_range(usize::MAX, body);
                    }
                });
            }
        });
    });
}
