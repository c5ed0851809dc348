//! The end of a group against the owner who frees it, and the counter of loops.

#![expect(unsafe_code, reason = "opening a group and its last decrement are modelled here")]

use super::handles::hosted;
use super::slots::{Deed, claim, published};
use super::{explore, explore_within};
use crate::context::WorkerContext;
use crate::flat_loop::BatchCounter;
use crate::join::join;
use crate::queue::Queue;
use crate::run_job::{add_job, run_only};
use crate::scope::scope;
use crate::shared::Shared;
use crate::sleep::Tag;
use crate::slots::{JobId, JobKind};
use crate::task_group::{HelpScope, TaskGroup, TaskSource};
use crate::wait::{help_once, wait_until_done};
use crate::worker::{run_worker, wait_for_all};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// A frame with a group in it. Freeing it is a write to `frame` and using it is a read, so loom reports a
/// use after free as a race.
pub(super) struct Frame {
    pub(super) group: TaskGroup,
    frame: UnsafeCell<()>,
}

impl Frame {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { group: TaskGroup::new(count), frame: UnsafeCell::new(()) })
    }

    pub(super) fn touch(&self) {
        self.frame.with(|_| ());
    }

    pub(super) fn free(&self) {
        self.frame.with_mut(|_| ());
    }

    pub(super) fn finish_one(&self, shared: &Shared) {
        // SAFETY: the model counts one for the thread that calls this (J-2), and the allocation outlives
        // the model's threads in any case.
        unsafe { TaskGroup::finish_one(NonNull::from(&self.group), &shared.sleepers) };
    }
}

/// Waits as the owner of a group.
pub(super) fn wait_for(shared: &Shared, group: &TaskGroup, own: Option<&dyn TaskSource>) {
    WorkerContext::with(shared, |context| wait_until_done(shared, context, group, own));
}

#[test]
fn a_visitor_that_leaves_last_wakes_the_owner_who_frees_the_group() {
    explore("last of two helpers against owner", || {
        let shared = Arc::new(Shared::new(0).0);
        let frame = Frame::new(2);
        let helpers = [0, 1].map(|_| {
            let (frame, shared) = (Arc::clone(&frame), Arc::clone(&shared));
            thread::spawn(move || {
                frame.touch();
                frame.finish_one(&shared);
            })
        });
        wait_for(&shared, &frame.group, None);
        frame.free();
        helpers.into_iter().for_each(|helper| helper.join().unwrap());
    });
}

/// The queue of a group.
pub(super) trait Tasks: Send + Sync + 'static {
    fn put(&self);
    fn take(&self) -> bool;
    fn has_any(&self) -> bool;
}

/// A queue that adds no ordering of its own.
impl Tasks for AtomicUsize {
    fn put(&self) {
        self.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        self.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn has_any(&self) -> bool {
        self.load(Ordering::Relaxed) > 0
    }
}

/// The queue that all work waits in.
impl Tasks for Queue<usize> {
    fn put(&self) {
        self.push(1);
    }

    fn take(&self) -> bool {
        self.pop().is_some()
    }

    fn has_any(&self) -> bool {
        !self.is_empty()
    }
}

/// A group with a queue, as a scope is.
struct TaskQueue<Q> {
    shared: Shared,
    group: TaskGroup,
    queue: Q,
    /// Counts one until the task has run.
    run: TaskGroup,
}

impl<Q: Tasks> TaskSource for TaskQueue<Q> {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        usize::from(self.queue.has_any())
    }

    fn run_one(&self, _slot: usize) -> bool {
        let has_taken = self.queue.take();
        if has_taken {
            // SAFETY: the group counts one for the task, which uses it once (J-2).
            unsafe { TaskGroup::finish_one(NonNull::from(&self.run), &self.shared.sleepers) };
        }
        has_taken
    }
}

/// A helper adds a job to a group and stays until it has run, so the owner has to come for it.
pub(super) fn spawn_against_park(shared: Shared, queue: impl Tasks, tell: fn(&Shared, &TaskGroup)) {
    let (group, run) = (TaskGroup::new(1), TaskGroup::new(1));
    let tasks = Arc::new(TaskQueue { shared, group, queue, run });
    let helper = thread::spawn({
        let tasks = Arc::clone(&tasks);
        move || {
            tasks.queue.put();
            tell(&tasks.shared, &tasks.group);
            wait_for(&tasks.shared, &tasks.run, None);
            // SAFETY: the group counts one for this thread, which uses it here for the last time (J-2).
            unsafe { TaskGroup::finish_one(NonNull::from(&tasks.group), &tasks.shared.sleepers) };
        }
    });
    wait_for(&tasks.shared, &tasks.group, Some(&*tasks));
    helper.join().unwrap();
}

fn announce(shared: &Shared, group: &TaskGroup) {
    shared.announce_work(group, 1);
}

#[test]
fn work_that_a_foreign_thread_brings_is_not_missed_by_an_owner_that_parks() {
    explore("spawn against owner's park", || {
        spawn_against_park(Shared::new(0).0, AtomicUsize::new(0), announce);
    });
}

#[test]
fn work_in_a_queue_with_a_lock_is_not_missed_by_an_owner_that_parks() {
    explore("spawn behind a lock against owner's park", || {
        spawn_against_park(Shared::new(0).0, Queue::new(VecDeque::new()), announce);
    });
}

#[test]
fn a_wake_up_that_a_worker_wastes_does_not_leave_the_owner_asleep() {
    explore("spawn against owner's park beside a busy worker", || {
        let (shared, _places) = Shared::new(1);
        // This worker will be woken and takes something else that never ends.
        drop(shared.sleepers.list(Tag::IDLE));
        spawn_against_park(shared, AtomicUsize::new(0), announce);
    });
}

#[test]
fn work_in_a_group_below_is_not_missed_by_an_owner_that_parks() {
    explore("group opened below against owner's park", || {
        let shared = Arc::new(Shared::new(0).0);
        let above = Frame::new(1);
        let opener = thread::spawn({
            let (above, shared) = (Arc::clone(&above), Arc::clone(&shared));
            move || {
                open_for_others(&shared, Some(&above.group), None);
                above.finish_one(&shared);
            }
        });
        wait_for(&shared, &above.group, None);
        above.free();
        opener.join().unwrap();
    });
}

/// A group with one task, whose owner does not help: it waits for the effect of the task, which is not
/// part of the group.
struct ForOthers<'a> {
    shared: &'a Shared,
    group: TaskGroup,
    queue: AtomicUsize,
    /// What the task does first.
    first: &'a (dyn Fn() + Sync),
    ended: TaskGroup,
}

impl TaskSource for ForOthers<'_> {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        usize::from(self.queue.has_any())
    }

    fn run_one(&self, _slot: usize) -> bool {
        let has_taken = self.queue.take();
        if has_taken {
            (self.first)();
            // SAFETY: the group counts one for the task, which uses it once (J-2).
            unsafe { TaskGroup::finish_one(NonNull::from(&self.ended), &self.shared.sleepers) };
        }
        has_taken
    }
}

impl ForOthers<'_> {
    /// Waits until the task has run, and closes the group.
    fn close(&self) {
        wait_for(self.shared, &self.ended, None);
        while !self.shared.open_groups.close(self) {
            wait_for(self.shared, &self.group, None);
        }
    }
}

/// Opens a group below `above` or inside the job `id`. It ends only if another thread comes.
pub(super) fn open_for_others(shared: &Shared, above: Option<&TaskGroup>, id: Option<JobId>) {
    with_tasks_for_others(shared, 1, (above, id), |group| shared.announce_work(group, 1));
}

/// Like [`open_for_others`], with this many tasks, and calls `body` before it waits for their end.
pub(super) fn with_tasks_for_others(
    shared: &Shared,
    count: usize,
    (above, id): (Option<&TaskGroup>, Option<JobId>),
    body: impl FnOnce(&TaskGroup),
) {
    let (group, ended) = (TaskGroup::new(0), TaskGroup::new(count));
    let work = ForOthers { shared, group, queue: AtomicUsize::new(0), first: &|| (), ended };
    // SAFETY: `above` counts the job that runs this function (J-3).
    unsafe { work.group.set_parent(above.map(NonNull::from), id) };
    // SAFETY: it is closed, and its end awaited, below (J-1, J-2).
    unsafe { shared.open_groups.open(&work) };
    (0..count).for_each(|_| work.queue.put());
    body(&work.group);
    work.close();
}

#[test]
fn a_half_that_is_opened_below_is_not_missed_by_an_owner_that_parks() {
    explore("half opened below against owner's park", || {
        let (shared, mut places) = Shared::new(1);
        let shared = Arc::new(shared);
        let (above, deed) = (Frame::new(1), Deed::new());
        let opener = thread::spawn({
            let (above, shared, deed) = (Arc::clone(&above), Arc::clone(&shared), deed.clone());
            let place = places.remove(0);
            move || {
                let awaited = TaskGroup::new(1);
                WorkerContext::with_worker(&shared, place, |context| {
                    context.inside(&above.group, || {
                        // The first half waits for the effect of the second, and may not run it. So it
                        // ends only if the owner of `above` comes.
                        let wait = || wait_for(&shared, &awaited, None);
                        let finish = || {
                            deed.act();
                            // SAFETY: the group counts one for this half, which uses it once (J-2).
                            unsafe {
                                TaskGroup::finish_one(NonNull::from(&awaited), &shared.sleepers);
                            }
                        };
                        join(&shared, wait, finish);
                    });
                });
                above.finish_one(&shared);
            }
        });
        wait_for(&shared, &above.group, None);
        deed.see();
        above.free();
        opener.join().unwrap();
    });
}

#[test]
fn a_wake_up_for_a_job_that_a_worker_spends_on_a_group_is_passed_on() {
    explore_within(0..=1, "job against two workers, one of them in a group", || {
        let (shared, places) = Shared::new(2);
        let shared = Arc::new(shared);
        let workers = places.into_iter().map(|place| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || run_worker(&shared, place))
        });
        let workers: Vec<_> = workers.collect();
        let (group, ended) = (TaskGroup::new(0), TaskGroup::new(1));
        let job = Arc::new(TaskGroup::new(1));
        let inside = (Arc::clone(&shared), Arc::clone(&job));
        let (queue, first) = (AtomicUsize::new(1), &|| wait_for(&shared, &job, None));
        let work = ForOthers { shared: &shared, group, queue, first, ended };
        // Both workers sleep, in some schedules.
        thread::yield_now();
        // No thread is woken for the task, as if its owner did not consider that worth the cost.
        // SAFETY: it is closed, and its end awaited, below (J-1, J-2).
        unsafe { shared.open_groups.open(&work) };
        let job = move || {
            // SAFETY: the group counts one for the job, which uses it once (J-2).
            unsafe { TaskGroup::finish_one(NonNull::from(&*inside.1), &inside.0.sleepers) };
        };
        add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], job);
        work.close();
        shared.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// The end of a job that a thread has run is told before it turns to work that may take long.
#[test]
fn the_end_of_all_jobs_is_not_missed_while_the_thread_of_the_last_is_in_a_group() {
    explore("flush against a job, and a group behind it", || {
        let shared = hosted();
        let id = published(&shared.slots);
        let has_seen = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::spawn({
            let (shared, has_seen) = (Arc::clone(&shared), Arc::clone(&has_seen));
            move || {
                let (group, ended) = (TaskGroup::new(0), TaskGroup::new(1));
                let first = &|| {
                    let mut seen = has_seen.0.lock().unwrap();
                    while !*seen {
                        seen = has_seen.1.wait(seen).unwrap();
                    }
                };
                let queue = AtomicUsize::new(1);
                let work = ForOthers { shared: &shared, group, queue, first, ended };
                WorkerContext::with(&shared, |context| {
                    run_only(&shared, context, claim(&shared.slots, id));
                    // SAFETY: it is closed, and its end awaited, below (J-1, J-2).
                    unsafe { shared.open_groups.open(&work) };
                    assert!(help_once(&shared, context, HelpScope::All, &mut || false));
                    work.close();
                });
            }
        });
        wait_for_all(&shared, false);
        *has_seen.0.lock().unwrap() = true;
        has_seen.1.notify_one();
        other.join().unwrap();
    });
}

#[test]
fn batches_are_disjoint_and_cover_the_loop() {
    const LEN: usize = 3;
    for share_count in 1..=2 {
        explore("batch counter", move || {
            let counter = Arc::new(BatchCounter::new(0..LEN, 1, 4, share_count));
            // Each index may be taken once: a second access would be a race.
            let taken: Arc<[UnsafeCell<()>; LEN]> =
                Arc::new(std::array::from_fn(|_| UnsafeCell::new(())));
            let work = move |slot: usize| {
                let mut count = 0;
                while let Some(batch) = counter.claim(slot) {
                    for index in batch {
                        count += 1;
                        taken[index].with_mut(|_| ());
                    }
                }
                count
            };
            let other = thread::spawn({
                let work = work.clone();
                move || work(1)
            });
            assert_eq!(work(0) + other.join().unwrap(), LEN);
        });
    }
}

/// A helper may leave the group with a job in it that it has added meanwhile.
#[test]
fn a_group_does_not_end_before_the_job_that_a_helper_leaves_in_it() {
    explore_within(3..=usize::MAX, "scope against a helper that leaves", || {
        let shared = hosted();
        let ran = Arc::new(AtomicUsize::new(0));
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                WorkerContext::with(&shared, |context| {
                    help_once(&shared, context, HelpScope::All, &mut || true);
                });
            }
        });
        scope(&shared, |scope| {
            scope.spawn(|scope| scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed)));
        });
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        other.join().unwrap();
    });
}

/// A graph of two nodes, the first of which queues the second and wakes no thread. The group counts one: a
/// thread in it that waits until the second has run.
struct InARow {
    shared: Shared,
    group: TaskGroup,
    queue: Queue<usize>,
}

impl TaskSource for InARow {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        self.queue.len()
    }

    fn run_one(&self, _slot: usize) -> bool {
        let node = self.queue.pop();
        match node {
            Some(1) => self.queue.push(2),
            // SAFETY: the group counts one for the thread that waits for this (J-2).
            Some(_) => unsafe {
                TaskGroup::finish_one(NonNull::from(&self.group), &self.shared.sleepers);
            },
            None => {}
        }
        node.is_some()
    }
}

#[test]
fn a_node_that_a_helper_leaves_in_a_graph_is_not_missed_by_an_owner_that_parks() {
    explore("helper that leaves a graph against owner's park", || {
        let (shared, group) = (Shared::new(0).0, TaskGroup::new(1));
        let graph = Arc::new(InARow { shared, group, queue: Queue::new(VecDeque::new()) });
        graph.queue.push(1);
        // SAFETY: it is closed, and its end awaited, below (J-1, J-2).
        unsafe { graph.shared.open_groups.open(&*graph) };
        let helper = thread::spawn({
            let graph = Arc::clone(&graph);
            move || {
                WorkerContext::with(&graph.shared, |context| {
                    help_once(&graph.shared, context, HelpScope::All, &mut || true);
                });
            }
        });
        wait_for(&graph.shared, &graph.group, Some(&*graph));
        while !graph.shared.open_groups.close(&*graph) {
            wait_for(&graph.shared, &graph.group, Some(&*graph));
        }
        helper.join().unwrap();
    });
}
