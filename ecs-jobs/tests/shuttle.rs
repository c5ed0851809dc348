//! Whole pools of five to eight threads under shuttle, which picks the schedules
//! at random.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p formic-jobs --release --test shuttle
//! ```
//!
//! A deadlock, a lost job, a lost wake-up or a worker that does not end is a
//! failure that shuttle reports with the schedule; `SHUTTLE_ITERATIONS` says how
//! many schedules each test tries. Shuttle takes all atomics for sequentially
//! consistent ones, so missing fences are not found here: see `loom_models` in the source for those.
#![cfg(shuttle)]

use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{JobGraph, JobHandle, Pool, Sharing, Threads};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Barrier;
use shuttle::{Config, Runner, thread};
use std::collections::HashSet;
use std::future::poll_fn;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

/// Tries a model with schedules that are random throughout, and with such that
/// switch only a few times, at random places: these find what needs one thread
/// to stand still for long.
fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let wanted = std::env::var("SHUTTLE_ITERATIONS").ok().and_then(|count| count.parse().ok());
    let wanted: usize = wanted.unwrap_or(300);
    let model = Arc::new(model);
    let start = Instant::now();
    let by_chance = run(RandomScheduler::new(wanted), Arc::clone(&model));
    let by_priority = run(PctScheduler::new(3, wanted), model);
    // Not `println`, whose output the test harness keeps to itself.
    let elapsed = start.elapsed();
    let line = format!("shuttle: {name}: {by_chance} + {by_priority} schedules in {elapsed:?}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    assert_eq!(by_chance + by_priority, 2 * wanted);
}

fn run(
    scheduler: impl Scheduler + 'static,
    model: Arc<impl Fn() + Send + Sync + 'static>,
) -> usize {
    let mut config = Config::new();
    // Jobs nest, and the default is a quarter of this.
    config.stack_size = 0x4_0000;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(move || model())
}

fn pool(worker_count: usize) -> Pool {
    Pool::new(Threads::Own(worker_count)).expect("shuttle grants any thread")
}

/// Three layers of jobs, each after two of the layer above; the order is looked at by shuttle's
/// schedules, the counts by us.
#[test]
fn graphs_of_jobs_run_again_and_again_and_after_a_panic() {
    explore("a graph of 12 jobs on 6 threads, three times", || {
        let pool = pool(5);
        let (ended, is_bad) =
            (Arc::new(Mutex::new(HashSet::new())), Arc::new(AtomicBool::new(false)));
        let mut builder = JobGraph::builder().sharing(Sharing::Always);
        let mut jobs = Vec::new();
        for job in 0..12 {
            let before =
                if job < 4 { vec![] } else { vec![job - 4, (job + 1) % 4 + job / 4 * 4 - 4] };
            let after: Vec<_> = before.iter().map(|&other: &usize| jobs[other]).collect();
            let (ended, is_bad) = (Arc::clone(&ended), Arc::clone(&is_bad));
            jobs.push(builder.add(job.to_string(), &after, move |_| {
                thread::yield_now();
                let mut ended = ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                assert!(before.iter().all(|other| ended.contains(other)), "job {job} is too early");
                if job == 5 && is_bad.load(Ordering::Relaxed) {
                    drop(ended);
                    resume_unwind(Box::new("on purpose"));
                }
                assert!(ended.insert(job), "job {job} runs twice");
            }));
        }
        let mut graph = builder.build().expect("there is no cycle");
        for bad in [false, true, false] {
            is_bad.store(bad, Ordering::Relaxed);
            let outcome = catch_unwind(AssertUnwindSafe(|| graph.run(&pool)));
            assert_eq!(outcome.is_err(), bad);
            let ended = std::mem::take(&mut *ended.lock().unwrap());
            assert!(if bad { ended.len() < 12 } else { ended.len() == 12 });
        }
    });
}

/// Counts without a place to switch: it belongs to the test, not to the model.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A model that shuttle cannot see into has one schedule, and passes.
#[test]
fn jobs_run_on_different_threads_in_different_schedules() {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let traces = Arc::clone(&seen);
    explore("who runs what on 5 threads", move || {
        let trace = Mutex::new(Vec::new());
        pool(4).scope(|scope| {
            for job in 0..3 {
                let trace = &trace;
                scope.spawn(move |_| {
                    trace.lock().unwrap().push((job, thread::current().id()));
                });
            }
        });
        traces.lock().unwrap().insert(trace.into_inner().unwrap());
    });
    let count = seen.lock().unwrap().len();
    assert!(count > 10, "{count} traces");
}

#[test]
fn every_job_of_a_scope_runs_once() {
    explore("scope on 5 threads", || {
        let count = Count::default();
        let pool = pool(4);
        for round in 1..=2 {
            pool.scope(|scope| (0..6).for_each(|_| scope.spawn(|_| count.add_one())));
            assert_eq!(count.get(), 6 * round);
        }
    });
}

#[test]
fn jobs_that_spawn_jobs_all_run_before_the_scope_ends() {
    explore("growing scope on 6 threads", || {
        let count = Count::default();
        let pool = pool(5);
        pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|scope| {
                    scope.spawn(|_| count.add_one());
                    scope.spawn(|scope| scope.spawn(|_| count.add_one()));
                });
            }
        });
        assert_eq!(count.get(), 6);
    });
}

fn fib(pool: &Pool, n: usize) -> usize {
    if n < 2 {
        return n;
    }
    let (left, right) = pool.join(|| fib(pool, n - 1), || fib(pool, n - 2));
    left + right
}

#[test]
fn joins_that_nest_give_the_sequential_result() {
    explore("joins on 7 threads", || assert_eq!(fib(&pool(6), 7), 13));
}

/// Each leaf waits for all others, so that a half which stays with its owner is a deadlock.
#[test]
fn the_leaves_of_a_coarse_tree_of_joins_run_at_one_time() {
    explore("4 leaves that meet on 4 threads", || {
        let (pool, meet) = (pool(3), Barrier::new(4));
        let leaf = || _ = meet.wait();
        let half = || _ = pool.join(leaf, leaf);
        pool.join(half, half);
    });
}

#[test]
fn loops_inside_loops_visit_each_index_once() {
    explore("nested loops on 5 threads", || {
        let visits: Vec<Count> = (0..12).map(|_| Count::default()).collect();
        let pool = pool(4);
        pool.for_each_index(4, |outer| {
            pool.for_each_index(3, |inner| visits[outer * 3 + inner].add_one());
        });
        assert!(visits.iter().all(|visits| visits.get() == 1));
    });
}

#[test]
fn threads_from_outside_share_a_pool() {
    explore("4 callers and 4 workers", || {
        let pool = Arc::new(pool(4));
        let count = Count::default();
        let callers: Vec<_> = (0..3)
            .map(|caller| {
                let (pool, count) = (Arc::clone(&pool), count.clone());
                thread::spawn(move || match caller {
                    0 => pool.scope(|scope| (0..3).for_each(|_| scope.spawn(|_| count.add_one()))),
                    1 => pool.for_each_index(3, |_| count.add_one()),
                    _ => _ = pool.join(|| count.add_one(), || fib(&pool, 4)),
                })
            })
            .collect();
        assert_eq!(fib(&pool, 5), 5);
        callers.into_iter().for_each(|caller| caller.join().expect("callers end well"));
        assert_eq!(count.get(), 7);
    });
}

#[test]
fn a_pool_ends_whatever_its_workers_are_about_to_do() {
    explore("shutdown of 7 workers", || {
        drop(pool(7));
        let count = Count::default();
        let pool = pool(7);
        pool.scope(|scope| (0..2).for_each(|_| scope.spawn(|_| count.add_one())));
        drop(pool);
        assert_eq!(count.get(), 2);
    });
}

#[test]
fn a_panic_comes_out_once_and_the_pool_goes_on() {
    explore("panics on 5 threads", || {
        let pool = pool(4);
        let count = Count::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for job in 0..5 {
                    let count = &count;
                    scope.spawn(move |_| {
                        if job == 2 {
                            // Not `panic!`, whose hook would end the model.
                            resume_unwind(Box::new("a job panics"));
                        }
                        count.add_one();
                    });
                }
            });
        }));
        assert!(outcome.is_err());
        assert!(count.get() <= 4);
        let joined = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| fib(&pool, 3), || resume_unwind(Box::new("a half panics")))
        }));
        assert!(joined.is_err());
        assert_eq!(fib(&pool, 5), 5);
    });
}

/// Every kind of call within every other, drawn from a number.
fn mixed(pool: &Pool, depth: usize, seed: usize, count: &Count) {
    if depth == 0 {
        return count.add_one();
    }
    let deeper = |branch| mixed(pool, depth - 1, seed / 3 + branch, count);
    match seed % 3 {
        0 => pool.scope(|scope| {
            scope.spawn(|_| deeper(0));
            scope.spawn(|_| deeper(1));
        }),
        1 => pool.for_each_index(2, deeper),
        _ => _ = pool.join(|| deeper(0), || deeper(1)),
    }
}

#[test]
fn calls_of_all_kinds_inside_each_other_run_every_leaf() {
    explore("mixed calls on 6 threads", || {
        let pool = pool(5);
        for seed in [0, 5, 7, 16] {
            let count = Count::default();
            mixed(&pool, 3, seed, &count);
            assert_eq!(count.get(), 8);
        }
    });
}

#[test]
fn a_job_runs_after_those_that_it_was_scheduled_after() {
    explore("graph of handles on 6 threads", || {
        let pool = pool(5);
        let done: Arc<[Count; 8]> = Arc::default();
        let mut handles = Vec::new();
        for job in 0..8 {
            let after: Vec<JobHandle> = [job / 2, job / 3]
                .into_iter()
                .filter(|&other| other < job)
                .map(|other| handles[other])
                .collect();
            let done = Arc::clone(&done);
            let body = move || {
                let others = [job / 2, job / 3].into_iter().filter(|&other| other < job);
                assert!(others.into_iter().all(|other| done[other].get() == 1));
                done[job].add_one();
            };
            handles.push(pool.after(&after).schedule(body));
        }
        pool.complete(pool.combine(&handles));
        assert!(done.iter().all(|done| done.get() == 1));
    });
}

#[test]
fn jobs_that_wait_for_jobs_inside_of_jobs_end() {
    explore("waits inside of jobs on 5 threads", || {
        let pool = Arc::new(pool(4));
        let count = Count::default();
        let job = |after: &[JobHandle], awaited: Option<JobHandle>| {
            let (pool_inside, count) = (Arc::clone(&pool), count.clone());
            let body = move || {
                awaited.into_iter().for_each(|other| pool_inside.complete(other));
                count.add_one();
            };
            pool.after(after).schedule(body)
        };
        let first = job(&[], None);
        let second = job(&[], Some(first));
        let third = job(&[first], Some(second));
        let last = job(&[], Some(third));
        pool.complete(last);
        pool.complete(last);
        assert_eq!(count.get(), 4);
        // Jobs hold the pool as well: the last one must not be the one to drop it.
        pool.flush();
    });
}

/// One future waits for a waker, the next for the first, and one waits for ever.
#[test]
fn futures_are_polled_or_dropped_once_when_their_pool_goes() {
    explore("3 futures, a thread that wakes and the end of a pool of 2", || {
        let (kept, gone) = (Arc::new(pool(2)), Arc::new(AtomicUsize::new(0)));
        let wakers = Arc::new(Mutex::new(Vec::new()));
        let waits = |mut count: usize| {
            let (note, wakers) = (Noted(Arc::clone(&gone)), Arc::clone(&wakers));
            let mut output = Some(Noted(Arc::clone(&gone)));
            poll_fn(move |context| {
                let _owned = &note;
                if count == 0 {
                    return Poll::Ready(output.take());
                }
                count -= 1;
                let mut wakers = wakers.lock().unwrap();
                wakers.extend([context.waker().clone(), context.waker().clone()]);
                Poll::Pending
            })
        };
        let first = kept.spawn_future(waits(1));
        let (own, second) = (waits(0), waits(usize::MAX));
        let then = kept.spawn_future(async move {
            drop(first.await);
            own.await
        });
        drop(kept.spawn_future(second));
        let waking = thread::spawn({
            let wakers = Arc::clone(&wakers);
            move || {
                for _ in 0..4 {
                    let waker: Option<Waker> = wakers.lock().unwrap().pop();
                    waker.into_iter().for_each(Waker::wake);
                    thread::yield_now();
                }
            }
        });
        // The last reference is a job's or this thread's.
        let inside = Arc::clone(&kept);
        kept.schedule(move || drop(inside));
        drop(kept);
        waking.join().expect("it ends well");
        while !then.is_done() {
            thread::yield_now();
        }
        drop(then);
        let left = std::mem::take(&mut *wakers.lock().unwrap());
        drop(left);
        while gone.load(Ordering::Relaxed) < 6 {
            thread::yield_now();
        }
    });
}

struct Noted(Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn any_number_of_threads_wait_for_one_job() {
    explore("3 waiters and 4 workers", || {
        let pool = Arc::new(pool(4));
        let count = Count::default();
        let inside = count.clone();
        let first = pool.schedule(|| ());
        let job = pool.after(&[first]).schedule(move || inside.add_one());
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let (pool, count) = (Arc::clone(&pool), count.clone());
                thread::spawn(move || {
                    pool.complete(job);
                    assert_eq!(count.get(), 1);
                    assert!(pool.is_done(job));
                })
            })
            .collect();
        waiters.into_iter().for_each(|waiter| waiter.join().expect("waiters end well"));
    });
}

#[test]
fn a_panic_cancels_what_comes_after_and_nothing_else() {
    explore("failures on 5 threads", || {
        let pool = pool(4);
        let count = Count::default();
        let job = |after: &[JobHandle]| {
            let count = count.clone();
            pool.after(after).schedule(move || count.add_one())
        };
        let good = job(&[]);
        // Not `panic!`, whose hook would end the model.
        let bad = pool.after(&[good]).schedule(|| resume_unwind(Box::new("a job panics")));
        let cancelled = job(&[good, bad]);
        let independent = job(&[good]);
        assert!(pool.try_complete(cancelled).is_err());
        assert!(pool.try_complete(bad).is_err());
        assert!(pool.try_complete(independent).is_ok());
        assert_eq!(count.get(), 2);
    });
}

#[test]
fn handles_nobody_waits_for_are_run_or_dropped_when_the_pool_goes() {
    explore("forgotten handles on 5 threads", || {
        struct Owned(Count);
        impl Drop for Owned {
            fn drop(&mut self) {
                self.0.add_one();
            }
        }
        let dropped = Count::default();
        let pool = pool(4);
        let mut last = None;
        for _ in 0..5 {
            let owned = Owned(dropped.clone());
            let after: Vec<_> = last.into_iter().collect();
            last = Some(pool.after(&after).schedule(move || drop(owned)));
        }
        drop(pool);
        assert_eq!(dropped.get(), 5);
    });
}

#[test]
fn threads_of_the_host_run_the_jobs_and_leave_when_told() {
    explore("4 host threads and a caller", || {
        let pool = Arc::new(Pool::new(Threads::Host(4)).expect("the host has the threads"));
        let is_over = Arc::new(AtomicBool::new(false));
        let count = Count::default();
        let hosts: Vec<_> = (0..4)
            .map(|_| {
                let (pool, is_over) = (Arc::clone(&pool), Arc::clone(&is_over));
                thread::spawn(move || pool.run_until(|| is_over.load(Ordering::SeqCst)))
            })
            .collect();
        let job = |after: &[JobHandle]| {
            let count = count.clone();
            pool.after(after).schedule(move || count.add_one())
        };
        let first = job(&[]);
        let both = [job(&[first]), job(&[first])];
        pool.scope(|scope| (0..2).for_each(|_| scope.spawn(|_| count.add_one())));
        pool.complete(pool.combine(&both));
        assert_eq!(count.get(), 5);
        is_over.store(true, Ordering::SeqCst);
        pool.wake_host_threads();
        hosts.into_iter().for_each(|host| host.join().expect("hosts end well"));
    });
}

#[derive(Component)]
struct Gold(u64);
#[derive(Component)]
struct Wood(u64);

fn double(mut rows: Query<'_, &mut Gold>) {
    rows.for_each(|gold| gold.0 *= 2);
}

fn trade(mut rows: Query<'_, (&mut Gold, &mut Wood)>) {
    rows.for_each(|(gold, wood)| {
        gold.0 += 1;
        wood.0 += gold.0;
    });
}

fn chop(mut rows: Query<'_, &mut Wood>) {
    rows.for_each(|wood| wood.0 = wood.0 * 3 + 1);
}

fn count(mut rows: Query<'_, (&Gold, &Wood)>, mut commands: Commands<'_>) {
    let mut sum = 0;
    rows.for_each(|(gold, wood)| sum += gold.0 + wood.0);
    commands.spawn((Gold(sum), Wood(1)));
}

/// The world after three frames, on so many workers.
fn three_frames(worker_count: usize) -> Vec<(u64, u64)> {
    let mut world = World::new();
    world.spawn_batch((0..3).map(|row| (Gold(row), Wood(7 - row))));
    let builder = Schedule::builder().add(double).add(chop).add(trade).add(count).add(double);
    let mut schedule = builder.build(&mut world).expect("no contradiction");
    let pool = pool(worker_count);
    for _ in 0..3 {
        schedule.run(&mut world, &pool);
    }
    let mut rows = Vec::new();
    world.query::<(&Gold, &Wood)>().for_each(|(gold, wood)| rows.push((gold.0, wood.0)));
    rows
}

#[test]
fn systems_leave_the_world_that_they_leave_on_one_thread() {
    explore("a schedule on 5 threads", || assert_eq!(three_frames(4), three_frames(0)));
}

/// An event that was written: its system and its row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Post(u64, u64);
/// What was heard.
#[derive(Default)]
struct Heard(Vec<Post>);
/// Of each run, who was the first.
struct Arrivals(Mutex<Vec<u64>>);

fn arrive(who: u64, arrivals: &Arrivals) {
    arrivals.0.lock().unwrap().push(who);
    thread::yield_now();
}

fn post_by_row(
    mut rows: Query<'_, &Gold>,
    mut posts: EventWriter<'_, Post>,
    arrivals: Res<'_, Arrivals>,
) {
    arrive(1, &arrivals);
    rows.par_for_each_with(&mut posts, |gold, posts| {
        thread::yield_now();
        posts.send(Post(1, gold.0));
    });
}

fn post_two(mut posts: EventWriter<'_, Post>, arrivals: Res<'_, Arrivals>) {
    arrive(2, &arrivals);
    posts.send_batch([Post(2, 0), Post(2, 1)]);
}

fn post_three(mut posts: EventWriter<'_, Post>, arrivals: Res<'_, Arrivals>) {
    arrive(3, &arrivals);
    posts.send(Post(3, 0));
}

fn tell(mut posts: EventReader<'_, Post>, mut heard: ResMut<'_, Heard>) {
    heard.0.extend(posts.read());
}

/// What is told in two runs, on so many workers, and who was the first to post.
fn two_tellings(worker_count: usize) -> (Vec<Post>, u64) {
    let mut world = World::new();
    world.insert_resource(Heard::default());
    world.insert_resource(Arrivals(Mutex::default()));
    // Three chunks.
    world.spawn_batch((0..2).map(|row| (Gold(row),)));
    world.spawn_batch((2..4).map(|row| (Gold(row), Wood(0))));
    world.spawn_batch((4..5).map(|row| (Gold(row), Label)));
    let systems = (post_by_row, post_two, post_three, tell);
    let mut schedule =
        Schedule::builder().add(systems).build(&mut world).expect("no contradiction");
    let pool = pool(worker_count);
    for _ in 0..2 {
        schedule.run(&mut world, &pool);
    }
    let first = world.resource::<Arrivals>().unwrap().0.lock().unwrap()[0];
    (std::mem::take(&mut world.resource_mut::<Heard>().unwrap().0), first)
}

#[derive(Component)]
struct Label;

#[test]
fn what_systems_and_threads_post_at_once_is_told_once_and_in_order() {
    let firsts = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&firsts);
    explore("three systems that post, on 4 threads", move || {
        let (told, first) = two_tellings(3);
        let by_row = (0..5).map(|row| Post(1, row));
        let once: Vec<Post> = by_row.chain([Post(2, 0), Post(2, 1), Post(3, 0)]).collect();
        assert_eq!(told, [once.clone(), once].concat());
        seen.lock().unwrap().insert(first);
    });
    assert!(firsts.lock().unwrap().len() > 1, "nobody has posted beside another one");
}
