//! Jobs with handles: order, waiting, failing.

use crate::support::{pool, pools, wait_until, within};
use formic_jobs::{JobError, JobHandle, Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A list that jobs write down in what order they ran.
#[derive(Clone, Default)]
pub(crate) struct Diary(pub(crate) Arc<Mutex<Vec<usize>>>);

impl Diary {
    pub(crate) fn entry(&self, number: usize) -> impl FnOnce() + Send + 'static {
        let diary = self.clone();
        move || diary.0.lock().unwrap().push(number)
    }

    fn read(&self) -> Vec<usize> {
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
fn jobs_for_the_main_thread_run_on_it_whoever_waits() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let main = std::thread::current().id();
            let count = Arc::new(AtomicUsize::new(0));
            let on_main = || {
                let count = Arc::clone(&count);
                move || {
                    assert_eq!(std::thread::current().id(), main);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            };
            let before = pool.schedule(|| ());
            let shown = pool.on_main().after(&[before]).schedule(on_main());
            let after = pool.after(&[shown]).schedule(|| ());
            pool.complete(after);
            assert_eq!(count.load(Ordering::Relaxed), 1);

            let job = pool.on_main().schedule(on_main());
            std::thread::scope(|threads| {
                threads.spawn(|| assert_eq!(pool.run_main_thread_jobs(), 0));
                let waiter = threads.spawn(|| pool.complete(job));
                wait_until(|| pool.run_main_thread_jobs() > 0 || pool.is_done(job));
                waiter.join().unwrap();
            });
            assert_eq!(count.load(Ordering::Relaxed), 2);
        }
    });
}

#[test]
fn a_job_for_the_main_thread_that_schedules_itself_again_keeps_no_call_from_its_end() {
    fn again(pool: &Arc<Pool>, is_over: &Arc<AtomicBool>) {
        let (weak, is_over) = (Arc::downgrade(pool), Arc::clone(is_over));
        pool.on_main().schedule(move || {
            if let (Some(pool), false) = (weak.upgrade(), is_over.load(Ordering::Relaxed)) {
                again(&pool, &is_over);
            }
        });
    }
    within(Duration::from_secs(60), || {
        for threads in [Threads::None, Threads::Host(0), Threads::Own(2)] {
            let pool = Arc::new(Pool::new(threads).unwrap());
            let is_over = Arc::new(AtomicBool::new(false));
            again(&pool, &is_over);
            let first = pool.schedule(|| ());
            pool.complete(pool.after(&[first]).schedule(|| ()));
            pool.run_until_done(pool.in_background().schedule(|| ()));
            let has_run = Arc::new(AtomicBool::new(false));
            let job = Arc::clone(&has_run);
            pool.schedule(move || job.store(true, Ordering::Relaxed));
            pool.run_until(|| has_run.load(Ordering::Relaxed));
            assert_eq!(pool.run_main_thread_jobs(), 1);
            is_over.store(true, Ordering::Relaxed);
            pool.flush();
        }
    });
}

#[test]
fn a_wait_that_is_over_runs_no_other_job_for_the_main_thread() {
    for threads in [Threads::None, Threads::Host(1), Threads::Own(1)] {
        let pool = Pool::new(threads).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let schedule = |pause| {
            let count = Arc::clone(&count);
            pool.on_main().schedule(move || {
                std::thread::sleep(pause);
                count.fetch_add(1, Ordering::Relaxed);
            })
        };
        let all: Vec<_> = (0..4).map(|_| schedule(Duration::ZERO)).collect();
        for wanted in 1..=3 {
            pool.run_until(|| count.load(Ordering::Relaxed) >= wanted);
            assert_eq!(count.load(Ordering::Relaxed), wanted);
        }
        pool.complete(all[3]);
        let all: Vec<_> = (0..4).map(|_| schedule(Duration::from_millis(5))).collect();
        let late = pool.complete_for(pool.combine(&all), Duration::from_millis(1));
        assert!(matches!(late, Err(JobError::TimedOut)));
        assert!(count.load(Ordering::Relaxed) <= 5, "the job that had begun");
        pool.flush();
        assert_eq!(count.load(Ordering::Relaxed), 8);
    }
}

/// Another thread may wait for such a job inside one that the main thread waits for.
#[test]
fn a_job_for_the_main_thread_does_not_wait_for_all_that_this_thread_helps_with() {
    let pool = Arc::new(Pool::new(Threads::Host(0)).unwrap());
    let diary = Diary::default();
    let (inside, shown) = (Arc::clone(&pool), diary.entry(1));
    let first = pool.schedule(move || _ = inside.on_main().schedule(shown));
    let second = pool.schedule(diary.entry(2));
    pool.complete(pool.combine(&[first, second]));
    assert_eq!(diary.read(), [1, 2]);
}

#[test]
fn the_main_thread_runs_its_jobs_while_it_waits_for_one_that_waits_for_them() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(1));
        let inside = Arc::clone(&pool);
        let job = pool.schedule(move || {
            let shown = inside.on_main().schedule(|| ());
            inside.complete(shown);
        });
        wait_until(|| !pool.is_done(job));
        pool.complete(job);
    });
}

#[test]
fn a_pool_that_is_dropped_elsewhere_cancels_the_jobs_of_the_main_thread() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let owned = Arc::new(());
            let inside = Arc::clone(&owned);
            let shown = pool.on_main().schedule(move || drop(inside));
            let after = Arc::clone(&owned);
            pool.after(&[shown]).schedule(move || unreachable!("{after:?}"));
            std::thread::spawn(move || drop(pool)).join().unwrap();
            assert_eq!(Arc::strong_count(&owned), 1);
        }
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

#[test]
fn a_cancelled_job_is_dropped_with_those_after_it_unless_it_has_begun() {
    for pool in [host(), pool(0), pool(2)] {
        let done = pool.schedule(|| ());
        pool.complete(done);
        let owned = Arc::new(());
        let job = || {
            let owned = Arc::clone(&owned);
            move || assert_eq!(Arc::strong_count(&owned), 0, "it is not to run")
        };
        let gate = pool.on_main().schedule(|| ());
        let waiting = pool.after(&[gate]).schedule(job());
        let after = pool.after(&[waiting]).schedule(job());
        let ready = pool.on_main().schedule(job());
        [waiting, ready, done].into_iter().for_each(|job| pool.cancel(job));
        assert!(pool.is_done(ready) && !pool.is_done(waiting));
        pool.complete(gate);
        for job in [waiting, after, ready] {
            let Err(JobError::Failed(panic)) = pool.try_complete(job) else {
                panic!("it was cancelled")
            };
            assert!(panic.take_payload().is_none());
        }
        assert_eq!(Arc::strong_count(&owned), 1, "all closures are dropped");
        assert!(pool.try_complete(done).is_ok(), "that one had run");
        pool.flush();
    }
}

#[test]
fn a_job_of_the_background_has_its_turn_also_where_there_are_no_threads() {
    fn lap(pool: &Arc<Pool>, is_over: &Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            let (weak, is_over) = (Arc::downgrade(pool), Arc::clone(is_over));
            pool.schedule(move || lap(&weak.upgrade().expect("it runs"), &is_over));
        }
    }
    within(Duration::from_secs(20), || {
        let (pool, is_over) = (Arc::new(pool(0)), Arc::new(AtomicBool::new(false)));
        let (inside, end) = (Arc::clone(&pool), Arc::clone(&is_over));
        pool.schedule(move || {
            lap(&inside, &end);
            inside.in_background().schedule(move || end.store(true, Ordering::Relaxed));
        });
        assert!(is_over.load(Ordering::Relaxed));
    });
}

#[test]
fn what_the_drop_of_a_cancelled_job_schedules_runs_behind_that_drop_where_there_are_no_threads() {
    struct OnDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let pool = Arc::new(pool(0));
    let said = Arc::new(Mutex::new(Vec::new()));
    let say = |text| {
        let said = Arc::clone(&said);
        move || said.lock().unwrap().push(text)
    };
    let (begin, inside, end) = (say("drop begins"), say("other job"), say("drop ends"));
    let weak = Arc::downgrade(&pool);
    let guard = OnDrop(move || {
        begin();
        weak.upgrade().expect("it cancels").schedule(inside.clone());
        end();
    });
    let job = pool.on_main().schedule(move || drop(guard));
    pool.cancel(job);
    assert_eq!(*said.lock().unwrap(), ["drop begins", "drop ends", "other job"]);
}

#[test]
fn a_cancel_by_an_old_handle_does_not_reach_the_job_that_has_its_slot_now() {
    let pool = host();
    for _ in 0..100 {
        let old = pool.schedule(|| ());
        pool.complete(old);
        let new = pool.schedule(|| ());
        pool.cancel(old);
        pool.complete(new);
    }
}

#[test]
fn a_wait_with_a_limit_gives_up_in_time_and_the_job_goes_on() {
    let pool = pool(1);
    let (open, gate) = std::sync::mpsc::channel();
    let (tell, begun) = std::sync::mpsc::channel();
    let slow = pool.schedule(move || {
        tell.send(()).unwrap();
        gate.recv().unwrap();
    });
    let after = pool.after(&[slow]).schedule(|| ());
    // On the worker: this thread would run it, and wait for itself.
    begun.recv().unwrap();
    let (start, limit) = (Instant::now(), Duration::from_millis(20));
    assert!(matches!(pool.complete_for(after, limit), Err(JobError::TimedOut)));
    assert!(start.elapsed() >= limit && !pool.is_done(after));
    open.send(()).unwrap();
    within(Duration::from_secs(10), move || {
        pool.complete_for(after, Duration::MAX).unwrap();
        assert!(pool.is_done(after));
    });
}

#[test]
fn a_wait_with_a_limit_helps_and_tells_of_failures() {
    let pool = Pool::new(Threads::Host(0)).unwrap();
    let fine = pool.schedule(|| ());
    assert!(pool.complete_for(fine, Duration::from_secs(60)).is_ok());
    let bad = pool.schedule(|| resume_unwind(Box::new("on purpose")));
    let outcome = pool.complete_for(bad, Duration::from_secs(60));
    assert!(matches!(outcome, Err(JobError::Failed(_))));
    // No time at all: what is ready is left to others.
    let left = pool.schedule(|| ());
    assert!(matches!(pool.complete_for(left, Duration::ZERO), Err(JobError::TimedOut)));
    pool.complete(left);
}

/// More failures than there are payloads kept: the oldest have none, and have failed all the same.
#[test]
fn the_last_1024_payloads_are_kept_and_no_failure_is_forgotten() {
    struct Payload(usize, Arc<AtomicUsize>);
    impl Drop for Payload {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    const KEPT: usize = 1024;
    const COUNT: usize = KEPT + 3;
    let pool = pool(0);
    let dropped = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<JobHandle> = (0..COUNT)
        .map(|number| {
            let payload = Payload(number, Arc::clone(&dropped));
            pool.schedule(move || resume_unwind(Box::new(payload)))
        })
        .collect();
    assert_eq!(dropped.load(Ordering::Relaxed), COUNT - KEPT, "no more are kept");
    for (number, &job) in jobs.iter().enumerate() {
        let Err(JobError::Failed(panic)) = pool.try_complete(job) else { panic!("{number}") };
        let payload = panic.take_payload();
        assert_eq!(payload.is_some(), number >= COUNT - KEPT, "job {number}");
        let found = payload.map(|payload| payload.downcast_ref::<Payload>().expect("its own").0);
        assert!(found.is_none_or(|found| found == number), "job {number} has that of {found:?}");
    }
    for &job in &jobs {
        let Err(JobError::Failed(panic)) = pool.try_complete(job) else { panic!("it failed") };
        assert!(panic.take_payload().is_none(), "it was taken");
    }
    assert_eq!(dropped.load(Ordering::Relaxed), COUNT);
    pool.flush();
    assert!(pool.try_complete(pool.schedule(|| ())).is_ok());
}
