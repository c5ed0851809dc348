//! Futures on the pool: polled when they are woken, on any thread, to one end.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::support::{wait_until, within};
use formic_jobs::{Pool, Threads};

fn pools() -> impl Iterator<Item = Pool> {
    let threads = [Threads::None, Threads::Host(0), Threads::Own(1), Threads::Own(4)];
    threads.into_iter().map(|threads| Pool::new(threads).expect("threads are granted"))
}

/// Pending so many times, and each time it has woken itself already.
fn yields(count: usize) -> impl Future<Output = usize> + Send {
    let mut left = count;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(count);
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn a_future_that_wakes_itself_is_polled_until_it_is_ready() {
    for pool in pools() {
        assert_eq!(pool.block_on(yields(100)), 100);
        let tasks: Vec<_> = (0..50).map(|count| pool.spawn_future(yields(count))).collect();
        let sum = pool.spawn_future(async move {
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            sum
        });
        assert_eq!(pool.block_on(sum), 1225);
    }
}

#[test]
fn a_future_is_woken_by_any_thread_and_takes_none_in_between() {
    for pool in pools() {
        let (send, wakers) = mpsc::channel::<Waker>();
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let task = pool.spawn_future(poll_fn(move |context| {
            if counted.fetch_add(1, Ordering::Relaxed) == 3 {
                return Poll::Ready("woken");
            }
            send.send(context.waker().clone()).expect("the other thread listens");
            Poll::Pending
        }));
        let waking = thread::spawn(move || {
            for waker in wakers {
                // Twice is once.
                waker.wake_by_ref();
                waker.wake();
            }
        });
        assert_eq!(pool.block_on(task), "woken");
        waking.join().expect("it does not panic");
        // Of two wakes of one poll the second may come after the next one.
        assert!((4..=7).contains(&polls.load(Ordering::Relaxed)));
    }
}

#[test]
fn a_thread_that_blocks_on_a_future_runs_the_jobs_that_wake_it() {
    let pool = Pool::new(Threads::Host(0)).expect("no threads");
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let inside = Arc::clone(&waker);
    pool.schedule(move || inside.lock().unwrap().take().expect("it was polled").wake());
    let mut is_polled = false;
    pool.block_on(poll_fn(|context| {
        *waker.lock().unwrap() = Some(context.waker().clone());
        if std::mem::replace(&mut is_polled, true) { Poll::Ready(()) } else { Poll::Pending }
    }));
}

#[test]
fn a_future_that_wakes_itself_leaves_turns_to_what_it_waits_for() {
    for threads in [Threads::None, Threads::Host(0), Threads::Host(1), Threads::Own(1)] {
        within(Duration::from_secs(30), move || {
            let pool = Arc::new(Pool::new(threads).expect("threads are granted"));
            let shown = pool.on_main().schedule(|| ());
            let loaded = pool.spawn_future(yields(100));
            pool.block_on(async {
                while !(pool.is_done(shown) && loaded.is_done()) {
                    yields(1).await;
                }
            });
            // On a worker that is the only one.
            let inside = Arc::clone(&pool);
            let task = pool.spawn_future(async move {
                let job = inside.spawn_future(yields(100));
                inside.block_on(async {
                    while !job.is_done() {
                        yields(1).await;
                    }
                });
            });
            pool.block_on(task);
        });
    }
}

#[test]
fn a_panic_of_a_future_is_resumed_where_it_is_awaited_and_the_pool_goes_on() {
    for pool in pools() {
        let task = pool.spawn_future::<()>(async {
            yields(3).await;
            resume_unwind(Box::new("no such file"))
        });
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.block_on(task)));
        let payload = outcome.expect_err("it panicked");
        assert_eq!(payload.downcast_ref(), Some(&"no such file"));
        assert_eq!(pool.block_on(pool.spawn_future(yields(2))), 2);
    }
}

struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_future_goes_on_without_its_handle_and_drops_what_it_owns_before_its_output_is_given() {
    for pool in pools() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let note = Noted(Arc::clone(&dropped));
        drop(pool.spawn_future(async move {
            yields(5).await;
            drop(note);
        }));
        pool.run_until(|| dropped.load(Ordering::Relaxed) == 1);
        let note = Noted(Arc::clone(&dropped));
        pool.block_on(pool.spawn_future(poll_fn(move |_| {
            let _owned = &note;
            Poll::Ready(())
        })));
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }
}

/// A future that owns a note and never ends, and where it puts its waker.
fn waits_for_ever(dropped: &Arc<AtomicUsize>) -> (impl Future<Output = ()> + Send + use<>, Kept) {
    let (note, kept) = (Noted(Arc::clone(dropped)), Kept::default());
    let inside = Arc::clone(&kept);
    let future = async move {
        let _note = note;
        poll_fn(|context| {
            *inside.lock().unwrap() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
        pending::<()>().await;
    };
    (future, kept)
}

type Kept = Arc<Mutex<Option<Waker>>>;

#[test]
fn a_future_that_waits_is_dropped_with_its_last_waker() {
    for pool in pools() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (future, kept) = waits_for_ever(&dropped);
        drop(pool.spawn_future(future));
        pool.run_until(|| kept.lock().unwrap().is_some());
        pool.flush();
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(kept.lock().unwrap().take());
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_future_that_waits_is_dropped_with_its_pool_and_what_awaits_it_panics() {
    for pool in pools() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (future, kept) = waits_for_ever(&dropped);
        let task = pool.spawn_future(future);
        pool.run_until(|| kept.lock().unwrap().is_some());
        let other = Pool::new(Threads::Own(1)).expect("a thread is granted");
        let awaits = other.spawn_future(task);
        other.flush();
        assert!(!awaits.is_done());
        // The poll may not have ended: the end of the pool waits for it.
        drop(pool);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        let outcome = catch_unwind(AssertUnwindSafe(|| other.block_on(awaits)));
        let payload = outcome.expect_err("there is no output");
        assert!(payload.downcast_ref::<&str>().expect("a text").contains("its pool has gone"));
        kept.lock().unwrap().take().expect("it was polled").wake();
    }
}

#[test]
fn a_future_that_wakes_itself_without_end_is_dropped_with_its_pool() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let owned = Arc::new(());
            let inside = Arc::clone(&owned);
            drop(pool.spawn_future(async move {
                let _inside = inside;
                poll_fn(|context| -> Poll<()> {
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }));
            drop(pool);
            assert_eq!(Arc::strong_count(&owned), 1);
        }
    });
}

#[test]
fn where_a_waker_panics_at_the_end_of_a_pool_all_futures_are_dropped() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new("planned"));
        }
    }
    for pool in pools() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let [first, second] = [(); 2].map(|()| waits_for_ever(&dropped));
        let mut tasks = [first.0, second.0].map(|future| pool.spawn_future(future));
        pool.run_until(|| [&first.1, &second.1].iter().all(|kept| kept.lock().unwrap().is_some()));
        let bad = Waker::from(Arc::new(Bad));
        for task in &mut tasks {
            assert!(Pin::new(task).poll(&mut Context::from_waker(&bad)).is_pending());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(pool))).is_ok());
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn an_output_that_no_code_awaits_is_not_kept_by_wakers_that_are_left_over() {
    for pool in pools() {
        let (dropped, wakers) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let spawn = || {
            let (inside, mut output) = (Arc::clone(&wakers), Some(Noted(Arc::clone(&dropped))));
            pool.spawn_future(poll_fn(move |context| {
                inside.lock().unwrap().push(context.waker().clone());
                output.take().map_or(Poll::Pending, Poll::Ready)
            }))
        };
        drop(spawn());
        let task = spawn();
        pool.flush();
        assert!(task.is_done());
        drop(task);
        // Their thread may hold a lock that the drop of an output takes.
        assert_eq!((wakers.lock().unwrap().len(), dropped.load(Ordering::Relaxed)), (2, 2));
    }
}

#[test]
fn a_future_that_is_polled_when_a_job_drops_its_pool_is_dropped_after_the_poll() {
    let pool = Arc::new(Pool::new(Threads::Own(2)).expect("threads are granted"));
    let (dropped, is_polled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let note = Noted(Arc::clone(&dropped));
    let (polled, kept) = (Arc::clone(&is_polled), Kept::default());
    let inside = Arc::clone(&kept);
    let task = pool.spawn_future(poll_fn(move |context| {
        let _owned = &note;
        *inside.lock().unwrap() = Some(context.waker().clone());
        polled.store(1, Ordering::SeqCst);
        wait_until(|| polled.load(Ordering::SeqCst) == 2);
        Poll::<()>::Pending
    }));
    wait_until(|| is_polled.load(Ordering::SeqCst) == 1);
    let last = Arc::clone(&pool);
    let polled = Arc::clone(&is_polled);
    pool.schedule(move || {
        wait_until(|| Arc::strong_count(&last) == 1);
        drop(last);
        polled.store(2, Ordering::SeqCst);
    });
    drop(pool);
    wait_until(|| task.is_done());
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    drop(kept);
}

#[test]
#[should_panic(expected = "a future has given its output before")]
fn a_future_that_is_polled_after_its_end_says_so() {
    let pool = Pool::new(Threads::None).expect("no threads");
    let mut task = pool.spawn_future(async { 1 });
    assert_eq!(pool.block_on(&mut task), 1);
    pool.block_on(&mut task);
}

#[test]
fn a_future_is_woken_under_a_lock_that_it_takes() {
    #[derive(Default)]
    struct Timer {
        is_over: bool,
        waker: Option<Waker>,
    }
    for pool in pools() {
        let timer = Arc::new(Mutex::new(Timer::default()));
        let inside = Arc::clone(&timer);
        let task = pool.spawn_future(poll_fn(move |context| {
            let mut timer = inside.lock().unwrap();
            timer.waker = Some(context.waker().clone());
            if timer.is_over { Poll::Ready(()) } else { Poll::Pending }
        }));
        pool.run_until(|| timer.lock().unwrap().waker.is_some());
        let (send, ended) = mpsc::channel();
        let outside = Arc::clone(&timer);
        thread::spawn(move || {
            let mut timer = outside.lock().unwrap();
            timer.is_over = true;
            timer.waker.take().expect("it was polled").wake();
            drop(timer);
            send.send(()).expect("the test waits");
        });
        ended.recv_timeout(Duration::from_secs(20)).expect("it does not wait for its own lock");
        pool.block_on(task);
    }
}

#[test]
fn a_future_whose_drop_and_output_panic_ends() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            resume_unwind(Box::new("planned"));
        }
    }
    for pool in pools() {
        let owned = Bomb;
        let task = pool.spawn_future(poll_fn(move |_| {
            let _owned = &owned;
            Poll::Ready(Bomb)
        }));
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.block_on(task)));
        assert_eq!(outcome.err().expect("it panicked").downcast_ref(), Some(&"planned"));
        assert_eq!(pool.block_on(pool.spawn_future(yields(2))), 2);
    }
}

/// The thread that wakes holds a lock that the drop of the output takes, and the handle is gone.
#[test]
fn a_thread_that_wakes_does_not_drop_the_output() {
    struct Output(Arc<Mutex<()>>);
    impl Drop for Output {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    let rounds = if cfg!(miri) { 5 } else { 3_000 };
    let (ended, end) = mpsc::channel();
    let test = thread::spawn(move || {
        let pool = Pool::new(Threads::Own(1)).expect("threads are granted");
        for _ in 0..rounds {
            let (lock, waker) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(None::<Waker>)));
            let (output, kept) = (Output(Arc::clone(&lock)), Arc::clone(&waker));
            drop(pool.spawn_future(async move {
                let mut is_first = true;
                poll_fn(|context| {
                    if !std::mem::take(&mut is_first) {
                        return Poll::Ready(());
                    }
                    *kept.lock().expect("no panic") = Some(context.waker().clone());
                    Poll::Pending
                })
                .await;
                output
            }));
            let waker = loop {
                if let Some(waker) = waker.lock().expect("no panic").take() {
                    break waker;
                }
                thread::yield_now();
            };
            thread::sleep(Duration::from_micros(30));
            let held = lock.lock();
            waker.wake();
            drop(held);
        }
        ended.send(()).expect("it waits");
    });
    end.recv_timeout(Duration::from_secs(60)).expect("no thread waits for itself");
    test.join().expect("no panic");
}

/// A lock may be held across a wait, and each call ends when what it is about is there.
#[test]
fn no_call_of_a_pool_without_threads_polls_a_future_that_it_does_not_wait_for() {
    within(Duration::from_secs(20), || {
        let pool = Pool::new(Threads::None).expect("no threads");
        let polls = Arc::new(AtomicUsize::new(0));
        let lock = Arc::new(Mutex::new(false));
        let (inside, held) = (Arc::clone(&polls), Arc::clone(&lock));
        let stranger = pool.spawn_future(async move {
            while !*held.lock().unwrap() {
                inside.fetch_add(1, Ordering::SeqCst);
                yields(1).await;
            }
        });
        let guard = lock.lock().unwrap();
        pool.complete(pool.on_main().schedule(|| ()));
        pool.on_main().schedule(|| ());
        assert_eq!(pool.run_main_thread_jobs(), 1);
        drop(guard);
        assert!(pool.is_done(pool.schedule(|| ())));
        pool.cancel(pool.on_main().schedule(|| ()));
        let gate = pool.gate();
        let behind = pool.after(&[gate.handle()]).schedule(|| ());
        gate.open_after(&[]);
        assert!(pool.is_done(behind));
        assert_eq!(polls.load(Ordering::SeqCst), 0);

        assert!(pool.try_run_one());
        assert_eq!(polls.load(Ordering::SeqCst), 1);
        pool.run_until(|| polls.load(Ordering::SeqCst) >= 3);
        pool.block_on(yields(2));
        *lock.lock().unwrap() = true;
        pool.block_on(stranger);
    });
}
