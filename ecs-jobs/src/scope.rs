//! Scopes: jobs that borrow from the frame that waits for them.

use crate::context::WorkerContext;
use crate::panic_slot::{PanicSlot, discard};
use crate::queue::Queue;
use crate::shared::Shared;
use crate::stored_job::StoredJob;
use crate::task_group::{TaskGroup, TaskSource};
use crate::wait::share;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::resume_unwind;

type Job<'scope> = StoredJob<'scope, Scope<'scope>>;

/// A place to spawn jobs in, made by [`Pool::scope`](crate::Pool::scope).
///
/// Jobs may borrow everything that lives outside the scope, because the scope ends only when all of them
/// have ended. A job gets the scope as an argument and may spawn further jobs into it.
///
/// A job's borrows must outlive the scope, so this does not compile:
///
/// ```compile_fail,E0373
/// # use formic_jobs::{Pool, Threads};
/// # let pool = Pool::new(Threads::None).unwrap();
/// pool.scope(|scope| {
///     let inside = 7;
///     scope.spawn(|_| assert_eq!(inside, 7)); // `inside` is gone when it runs
/// });
/// ```
///
/// ```
/// # use formic_jobs::{Pool, Threads};
/// # let pool = Pool::new(Threads::None).unwrap();
/// let outside = 7;
/// pool.scope(|scope| {
///     scope.spawn(|_| assert_eq!(outside, 7));
/// });
/// ```
///
/// The scope cannot be carried out of the closure:
///
/// ```compile_fail,E0521
/// # use formic_jobs::{Pool, Threads};
/// # let pool = Pool::new(Threads::None).unwrap();
/// let mut escaped = None;
/// pool.scope(|scope| escaped = Some(scope));
/// ```
///
/// A job cannot use values that are bound to one thread:
///
/// ```compile_fail,E0277
/// # use formic_jobs::{Pool, Threads};
/// # let pool = Pool::new(Threads::None).unwrap();
/// let counter = std::cell::Cell::new(0);
/// pool.scope(|scope| scope.spawn(|_| counter.set(1)));
/// ```
///
/// A scope cannot be coerced to another lifetime. With a shorter one, it could spawn jobs whose borrows
/// do not live long enough:
///
/// ```compile_fail
/// # use formic_jobs::Scope;
/// fn shorten<'short, 'long: 'short>(scope: &'short Scope<'long>) -> &'short Scope<'short> {
///     scope
/// }
/// ```
///
/// ```compile_fail
/// # use formic_jobs::Scope;
/// fn lengthen<'short, 'long: 'short>(scope: &'short Scope<'short>) -> &'short Scope<'long> {
///     scope
/// }
/// ```
///
/// ```
/// # use formic_jobs::Scope;
/// fn same<'short, 'long: 'short>(scope: &'short Scope<'long>) -> &'short Scope<'long> {
///     scope
/// }
/// ```
pub struct Scope<'scope> {
    shared: &'scope Shared,
    group: TaskGroup,
    panics: PanicSlot,
    /// The jobs that have not started.
    jobs: Queue<Job<'scope>>,
    /// Keeps `'scope` invariant, whatever the other fields become.
    _invariant: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

impl<'scope> Scope<'scope> {
    /// Spawns a job that ends before the scope does.
    ///
    /// Jobs start in the order of spawning; in a pool without workers each also ends before the next one
    /// starts. The caller runs jobs too, once `body` has returned.
    ///
    /// If a job of the scope panics, jobs that have not started yet are dropped.
    ///
    /// A job whose closure has at most 64 bytes does not allocate, once the pool has had a scope with as
    /// many jobs waiting. The pool keeps room for 4,096.
    pub fn spawn(&self, job: impl FnOnce(&Scope<'scope>) + Send + 'scope) {
        let mut stored = Job::empty();
        stored.put(job);
        self.jobs.push(stored);
        self.shared.announce_work(&self.group, 1);
    }
}

debug_fields!([] Scope<'_>: group);

impl TaskSource for Scope<'_> {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        self.jobs.len()
    }

    fn run_one(&self, _slot: usize) -> bool {
        let Some(mut job) = self.jobs.pop() else { return false };
        if !self.panics.has_kept() {
            self.panics.run(|| job.run(self));
        }
        true
    }
}

/// Runs `body` with a scope, then all the jobs spawned in it.
pub(crate) fn scope<'scope, R>(
    shared: &'scope Shared,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    WorkerContext::with(shared, |context| {
        let mut scope = Scope {
            shared,
            group: TaskGroup::new(0),
            panics: PanicSlot::new(),
            jobs: Queue::new(changed(shared.take_spare_list())),
            _invariant: PhantomData,
        };
        let mut result = None;
        share(shared, context, &scope, || result = scope.panics.run(|| body(&scope)));
        // All jobs have been taken out by now.
        shared.give_back_spare_list(changed(scope.jobs.take_list()));
        if let Some(payload) = scope.panics.take() {
            discard(result);
            resume_unwind(payload);
        }
        result.expect("a scope whose body panicked has resumed the panic")
    })
}

/// Returns an empty list for items of another type in the same memory: jobs of another scope differ only
/// in lifetime, and have the same size.
fn changed<T, U>(list: VecDeque<T>) -> VecDeque<U> {
    debug_assert!(list.is_empty(), "there is nothing to change");
    // Collecting from a list reuses its memory if the items have the same size. If it did not, the cost
    // would be an allocation.
    Vec::from(list).into_iter().map_while(|_| None).collect::<Vec<U>>().into()
}
