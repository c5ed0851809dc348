//! Jobs with handles: order, waiting, failing.

use crate::support::{pool, pools, wait_until, within};
use formic_jobs::{JobError, JobHandle, Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A list that jobs write down in what order they ran.
#[derive(Clone, Default)]
pub(crate) struct Diary(pub(crate) Arc<Mutex<Vec<usize>>>);

impl Diary {
    pub(crate) fn entry(&self, number: usize) -> impl FnOnce() + Send + 'static {
        let diary = self.clone();
        move || diary.0.lock().unwrap().push(number)
    }

    pub(crate) fn read(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn fail(payload: &'static str) -> impl FnOnce() + Send + 'static {
    // Not `panic!`, whose hook would print.
    move || resume_unwind(Box::new(payload))
}

pub(crate) fn payload_of(run: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}

#[test]
fn a_job_runs_after_all_that_it_was_scheduled_after() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let diary = Diary::default();
            let first: Vec<JobHandle> =
                (0..3).map(|number| pool.schedule(diary.entry(number))).collect();
            let middle = pool.after(&first).schedule(diary.entry(3));
            let last = pool.after(&[middle, first[0]]).schedule(diary.entry(4));
            pool.complete(last);
            let order = diary.read();
            assert_eq!(order.len(), 5);
            assert_eq!(order[3..], [3, 4]);
        }
    });
}

#[test]
fn a_job_that_nobody_waits_for_runs_nevertheless() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let diary = Diary::default();
            let first = pool.schedule(diary.entry(0));
            pool.after(&[first]).schedule(diary.entry(1));
            drop(pool);
            assert_eq!(diary.read(), [0, 1]);
        }
    });
}

#[test]
fn without_threads_jobs_run_when_they_are_scheduled_and_in_that_order() {
    let pool = pool(0);
    let diary = Diary::default();
    for number in 0..5 {
        let job = pool.schedule(diary.entry(number));
        assert!(pool.is_done(job));
    }
    assert_eq!(diary.read(), [0, 1, 2, 3, 4]);
}

#[test]
fn without_threads_a_job_does_not_run_inside_of_the_job_that_schedules_it() {
    let pool = Arc::new(pool(0));
    let diary = Diary::default();
    let (inside, inner, after) = (Arc::clone(&pool), diary.entry(1), diary.entry(0));
    pool.schedule(move || {
        inside.schedule(inner);
        after();
    });
    assert_eq!(diary.read(), [0, 1]);
}

#[test]
fn a_job_sees_what_the_jobs_before_it_did() {
    within(Duration::from_secs(60), || {
        let pool = pool(2);
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        for _ in 0..rounds {
            let values: Arc<[AtomicUsize; 2]> =
                Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)));
            let set = |place: usize| {
                let values = Arc::clone(&values);
                move || values[place].store(1, Ordering::Relaxed)
            };
            let before = [pool.schedule(set(0)), pool.schedule(set(1))];
            let sum = Arc::new(AtomicUsize::new(0));
            let both = pool.after(&before).schedule({
                let (sum, values) = (Arc::clone(&sum), Arc::clone(&values));
                move || {
                    let both = values.iter().map(|value| value.load(Ordering::Relaxed)).sum();
                    sum.store(both, Ordering::Relaxed);
                }
            });
            pool.complete(both);
            assert_eq!(sum.load(Ordering::Relaxed), 2);
        }
    });
}

#[test]
fn a_combined_handle_is_done_when_all_are() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let count = Arc::new(AtomicUsize::new(0));
            let all: Vec<JobHandle> = (0..100)
                .map(|_| {
                    let count = Arc::clone(&count);
                    pool.schedule(move || _ = count.fetch_add(1, Ordering::Relaxed))
                })
                .collect();
            let combined = pool.combine(&all);
            pool.complete(combined);
            assert_eq!(count.load(Ordering::Relaxed), 100);
            assert!(all.iter().all(|&job| pool.is_done(job)));
            assert!(pool.is_done(pool.combine(&[])));
            assert_eq!(pool.combine(&[combined]), combined);
        }
    });
}

#[test]
fn a_handle_may_be_waited_for_twice_and_from_several_threads() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let job = pool.schedule(|| std::thread::sleep(Duration::from_millis(2)));
            std::thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| {
                        pool.complete(job);
                        pool.complete(job);
                        assert!(pool.is_done(job));
                    });
                }
            });
        }
    });
}

#[test]
fn an_old_handle_stays_done_when_its_slot_is_used_again() {
    let pool = pool(1);
    let old = pool.schedule(|| ());
    pool.complete(old);
    let hold = Arc::new(AtomicBool::new(false));
    let jobs: Vec<JobHandle> = (0..10)
        .map(|_| {
            let hold = Arc::clone(&hold);
            pool.schedule(move || wait_until(|| hold.load(Ordering::SeqCst)))
        })
        .collect();
    assert!(pool.is_done(old));
    pool.complete(old);
    assert!(jobs.iter().all(|&job| job != old && !pool.is_done(job)));
    hold.store(true, Ordering::SeqCst);
}

#[test]
fn a_loop_runs_each_of_its_indices_once() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let len = if cfg!(miri) { 50 } else { 10_000 };
            let seen: Arc<Vec<AtomicUsize>> =
                Arc::new((0..len + 7).map(|_| AtomicUsize::new(0)).collect());
            let inside = Arc::clone(&seen);
            let each = move |index: usize| _ = inside[index].fetch_add(1, Ordering::Relaxed);
            pool.complete(pool.parallel_for(7..len + 7, each));
            let counts: Vec<usize> = seen.iter().map(|one| one.load(Ordering::Relaxed)).collect();
            assert!(counts[..7].iter().all(|&count| count == 0));
            assert!(counts[7..].iter().all(|&count| count == 1));
        }
    });
}

#[test]
fn a_deferred_length_is_read_when_the_loop_starts() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let list = Arc::new(Mutex::new(Vec::new()));
            let count = Arc::new(AtomicUsize::new(0));
            let fill = Arc::clone(&list);
            let filled = pool.schedule(move || *fill.lock().unwrap() = vec![1; 123]);
            let (len, inside) = (Arc::clone(&list), Arc::clone(&count));
            let visited = pool.after(&[filled]).parallel_for_deferred(
                move || len.lock().unwrap().len(),
                move |_| _ = inside.fetch_add(1, Ordering::Relaxed),
            );
            pool.complete(visited);
            assert_eq!(count.load(Ordering::Relaxed), 123);
        }
    });
}

#[test]
fn loops_may_be_of_the_background_and_for_the_main_thread() {
    for threads in [Threads::None, Threads::Own(2)] {
        let pool = Pool::new(threads).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let add = || {
            let count = Arc::clone(&count);
            move |range: std::ops::Range<usize>| _ = count.fetch_add(range.len(), Ordering::Relaxed)
        };
        let main = std::thread::current().id();
        let shown = pool.on_main().parallel_for_deferred(
            move || if std::thread::current().id() == main { 100 } else { 0 },
            {
                let add = add();
                move |index| add(index..index + 1)
            },
        );
        let baked = pool.in_background().after(&[shown]).parallel_for_ranges(0..100, add());
        assert!(!pool.is_done(baked), "the main thread has not come");
        // Only what is named last counts.
        pool.complete(pool.after(&[baked]).after(&[]).schedule(|| ()));
        pool.complete(baked);
        assert_eq!(count.load(Ordering::Relaxed), 200);
    }
}

#[test]
fn a_waiting_thread_helps_with_the_loop_that_it_waits_for() {
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let here = Arc::new(Mutex::new(std::collections::HashSet::new()));
        let inside = Arc::clone(&here);
        let job = pool.parallel_for(0..2_000, move |_| {
            inside.lock().unwrap().insert(std::thread::current().id());
            // Until both threads have been here, or for a second.
            for _ in 0..100 {
                if inside.lock().unwrap().len() == 2 {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        pool.complete(job);
        assert_eq!(here.lock().unwrap().len(), 2);
    });
}

#[test]
fn a_panic_is_resumed_at_the_first_wait_and_named_at_later_ones() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let job = pool.schedule(fail("the tunnel collapsed"));
            assert_eq!(payload_of(|| pool.complete(job)).as_deref(), Some("the tunnel collapsed"));
            let later = payload_of(|| pool.complete(job)).expect("it has failed for good");
            assert!(later.contains("resumed elsewhere"));
            pool.complete(pool.schedule(|| ()));
        }
    });
}

#[test]
fn jobs_after_one_that_panics_are_dropped_and_have_failed_for_the_same_panic() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let owned = Arc::new(());
            let has_run = Arc::new(AtomicBool::new(false));
            let fine = pool.schedule(|| ());
            let failing = pool.schedule(fail("first"));
            let (inside, run) = (Arc::clone(&owned), Arc::clone(&has_run));
            let after = pool.after(&[fine, failing]).schedule(move || {
                run.store(true, Ordering::SeqCst);
                drop(inside);
            });
            let last = pool.combine(&[fine, after, fine, fine, fine, fine]);
            assert_eq!(payload_of(|| pool.complete(last)).as_deref(), Some("first"));
            assert!(!has_run.load(Ordering::SeqCst));
            assert_eq!(Arc::strong_count(&owned), 1, "the closure was dropped");
            // Scheduled after it is known to have failed.
            let late = pool.after(&[after]).schedule(|| unreachable!("cancelled"));
            let Err(JobError::Failed(panic)) = pool.try_complete(late) else {
                panic!("it has failed")
            };
            assert!(panic.take_payload().is_none(), "somebody has got it");
            pool.complete(fine);
        }
    });
}

#[test]
fn a_panic_in_a_loop_fails_the_job() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let job = pool.parallel_for(0..100, |index| {
                if index == 50 {
                    resume_unwind(Box::new("fifty"));
                }
            });
            assert_eq!(payload_of(|| pool.complete(job)).as_deref(), Some("fifty"));
        }
    });
}

#[test]
fn a_flush_waits_for_everything_and_resumes_the_panic_that_nobody_got() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let count = Arc::new(AtomicUsize::new(0));
            for _ in 0..50 {
                let count = Arc::clone(&count);
                pool.schedule(move || _ = count.fetch_add(1, Ordering::Relaxed));
            }
            pool.schedule(fail("nobody waits"));
            assert_eq!(payload_of(|| pool.flush()).as_deref(), Some("nobody waits"));
            assert_eq!(count.load(Ordering::Relaxed), 50);
            pool.flush();
        }
    });
}

#[test]
fn a_handle_of_another_pool_is_refused() {
    let (one, other) = (pool(0), pool(0));
    let job = one.schedule(|| ());
    assert!(matches!(other.try_complete(job), Err(JobError::OtherPool)));
    drop(one);
    assert!(matches!(other.try_complete(job), Err(JobError::OtherPool)));
    for refused in [
        payload_of(|| other.complete(job)),
        payload_of(|| _ = other.is_done(job)),
        payload_of(|| _ = other.after(&[job]).schedule(|| ())),
        payload_of(|| _ = other.combine(&[job])),
    ] {
        assert!(refused.expect("it panics").contains("another pool"));
    }
}

#[test]
fn a_job_that_waits_for_itself_is_told_so() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(1));
        let handle = Arc::new(Mutex::new(None));
        let guard = handle.lock().unwrap();
        let (inside, own) = (Arc::clone(&pool), Arc::clone(&handle));
        let job = pool.schedule(move || {
            let own: JobHandle = own.lock().unwrap().expect("it is known by now");
            inside.complete(own);
        });
        let mut guard = guard;
        *guard = Some(job);
        drop(guard);
        assert!(payload_of(|| pool.complete(job)).expect("it panics").contains("for itself"));
    });
}

#[test]
fn jobs_may_schedule_and_wait_for_jobs() {
    fn tree(pool: &Arc<Pool>, depth: usize, leaves: &Arc<AtomicUsize>) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let halves: Vec<JobHandle> = (0..2)
            .map(|_| {
                let (inside, leaves) = (Arc::clone(pool), Arc::clone(leaves));
                pool.schedule(move || tree(&inside, depth - 1, &leaves))
            })
            .collect();
        pool.complete(pool.combine(&halves));
    }
    within(Duration::from_secs(60), || {
        for pool in pools() {
            let (pool, leaves) = (Arc::new(pool), Arc::new(AtomicUsize::new(0)));
            let depth = if cfg!(miri) { 3 } else { 9 };
            tree(&pool, depth, &leaves);
            assert_eq!(leaves.load(Ordering::Relaxed), 1 << depth);
        }
    });
}

#[test]
fn a_wait_helps_with_nothing_but_what_it_waits_for() {
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let (busy, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (is_busy, is_over) = (Arc::clone(&busy), Arc::clone(&stop));
        // The only worker is in here.
        let awaited = pool.schedule(move || {
            is_busy.store(true, Ordering::SeqCst);
            wait_until(|| is_over.load(Ordering::SeqCst));
        });
        wait_until(|| busy.load(Ordering::SeqCst));
        let lock = Arc::new(Mutex::new(()));
        let stranger = pool.schedule({
            let lock = Arc::clone(&lock);
            move || drop(lock.lock().unwrap())
        });
        std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                stop.store(true, Ordering::SeqCst);
            });
            let _guard = lock.lock().unwrap();
            // The stranger wants the lock that this thread holds.
            pool.complete(awaited);
        });
        pool.run_until_done(stranger);
    });
}

#[test]
fn a_job_may_drop_the_last_reference_to_its_pool() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(2));
        let (inside, go, diary) =
            (Arc::clone(&pool), Arc::new(AtomicBool::new(false)), Diary::default());
        let is_alone = Arc::clone(&go);
        let job = pool.schedule(move || {
            wait_until(|| is_alone.load(Ordering::SeqCst));
            drop(inside);
        });
        pool.after(&[job]).schedule(diary.entry(7));
        drop(pool);
        go.store(true, Ordering::SeqCst);
        wait_until(|| diary.read() == [7]);
    });
}

#[test]
fn one_job_at_a_time_can_be_run_by_hand() {
    let pool = pool(0);
    assert!(!pool.try_run_one());
    let diary = Diary::default();
    let shown = pool.on_main().schedule(diary.entry(0));
    pool.on_main().after(&[shown]).schedule(diary.entry(1));
    assert!(pool.try_run_one());
    assert_eq!(diary.read(), [0]);
    assert!(pool.try_run_one());
    assert!(!pool.try_run_one());
    assert_eq!(diary.read(), [0, 1]);
}

#[test]
fn jobs_with_large_closures_run_as_well() {
    let pool = pool(1);
    let sum = Arc::new(AtomicUsize::new(0));
    let (inside, numbers) = (Arc::clone(&sum), [1_usize; 500]);
    pool.complete(pool.schedule(move || inside.store(numbers.iter().sum(), Ordering::SeqCst)));
    assert_eq!(sum.load(Ordering::SeqCst), 500);
}

/// A pool in which jobs are run by who waits for them.
pub(crate) fn host() -> Pool {
    Pool::new(Threads::Host(0)).expect("it has no threads")
}
