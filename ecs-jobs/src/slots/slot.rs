//! A slot: the state of a job that other threads may see.

use crate::stored_job::StoredJob;
use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell, count_down, is_kept, needed};
use std::num::NonZeroU64;

/// The maximum number of jobs that one slot waits for; more need joints in between.
pub(super) const DEPENDENCIES_MAX: usize = EDGE_COUNT as usize;
const EDGE_COUNT: u32 = if cfg!(loom) { 2 } else { 4 };

/// Set in [`JobSlot::head`] when a thread sleeps until the job is done.
const AWAITED: u32 = 1 << 31;

/// The id of a job, unique among all jobs that the pool has had.
///
/// The generation is in the upper half, the index of the slot in the lower: as one number it fits into
/// one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct JobId(NonZeroU64);

impl JobId {
    /// The generation of a slot's first job. It is above zero, so that no id is all zero bits.
    pub(super) const GENERATION_FIRST: u32 = 1;
    /// The generation of a slot's last job.
    pub(super) const GENERATION_MAX: u32 = u32::MAX - 1;

    pub(crate) fn new(index: u32, generation: u32) -> Self {
        let bits = NonZeroU64::new(whole(generation, index));
        Self(bits.expect("generations are above zero"))
    }

    pub(crate) fn index(self) -> u32 {
        halves(self.to_bits()).1
    }

    pub(crate) fn generation(self) -> u32 {
        halves(self.to_bits()).0
    }

    #[inline]
    pub(crate) fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// `None` for zero, which is no id.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }
}

fn halves(bits: u64) -> (u32, u32) {
    let bytes = bits.to_ne_bytes();
    let [a, b, c, d, e, f, g, h] = bytes;
    let (first, second) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
    if cfg!(target_endian = "little") { (second, first) } else { (first, second) }
}

fn whole(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// One dependency of one job, as a link in the list of jobs that wait for another job: `index *
/// DEPENDENCIES_MAX + which + 1`, or zero for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge(u32);

impl Edge {
    const NONE: Self = Self(0);

    pub(super) fn new(index: u32, which: usize) -> Self {
        let which = u32::try_from(which).expect("a job has a handful of dependencies");
        Self(index * EDGE_COUNT + which + 1)
    }

    /// The slot of the waiting job, and which of its dependencies this is.
    pub(super) fn parts(self) -> Option<(u32, usize)> {
        let number = self.0.checked_sub(1)?;
        Some((number / EDGE_COUNT, (number % EDGE_COUNT) as usize))
    }
}

/// The progress of a job.
///
/// ```text
///   Free -> Waiting -> Ready -> Running -> Free, one generation on
///              |                   ^
///              +-------------------+   run at once by who made it ready
///
///   a gate:    Ready -> Running -> Waiting, or on as any other, when it is opened
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for its dependencies, or to be published.
    Waiting,
    /// Ready to be claimed.
    Ready,
    /// Claimed by a thread.
    Running,
}

/// The threads that may run a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// Any thread.
    Anywhere,
    /// Any thread, after more urgent jobs.
    Background,
    /// No thread: the job has nothing to run and only waits for others.
    Joint,
    /// Any thread; in a pool without threads of its own, one that waits.
    Poll,
    /// Only the thread of this number.
    Pinned(u32),
}

impl JobKind {
    /// The thread that created the pool.
    pub(crate) const MAIN: Self = Self::Pinned(0);
    /// No thread, until a call changes the kind.
    pub(crate) const GATE: Self = Self::Pinned(u32::MAX - Self::PINNED);
    /// The number of the first pinned kind.
    const PINNED: u32 = 4;

    /// The number of a worker among the threads that jobs are pinned to; the main thread comes first.
    pub(crate) fn thread_of(worker: usize) -> u32 {
        u32::try_from(worker).expect("there are few workers") + 1
    }

    /// Whether a flush waits for jobs of the kind with this number: for all but those of a broadcast, whose
    /// caller waits for them. A worker that waits for the call that flushes does not come to its own.
    #[inline]
    pub(super) fn is_flushed(number: u32) -> bool {
        let is_of_broadcast = number > Self::MAIN.number() && number != Self::GATE.number();
        !is_of_broadcast || !is_kept("broadcast_is_apart")
    }

    pub(super) const fn number(self) -> u32 {
        match self {
            Self::Anywhere => 0,
            Self::Background => 1,
            Self::Joint => 2,
            Self::Poll => 3,
            Self::Pinned(thread) => Self::PINNED + thread,
        }
    }
}

/// A slot that holds one job at a time.
///
/// It is aligned to the 64 bytes of a cache line, so that threads that work on neighbouring slots do not
/// share a line. A line that two threads use in turn costs each of them tens of nanoseconds, so its fields
/// are in this order:
///
/// ```text
///   line 1   all that adding, running and ending a job write
///   line 2   the job: its table, and closures of up to 48 bytes
///   line 3   the rest of a larger closure; what only threads that add jobs or wait for them use
/// ```
#[repr(C, align(64))]
pub(crate) struct JobSlot {
    /// The generation, and the last link of the jobs that wait for this one, with [`AWAITED`]. They share
    /// one word, so that no job links to a job that has ended.
    head: AtomicU64,
    /// The generation of the job that the state belongs to, and the state.
    state: AtomicU64,
    /// The id of a failed dependency, or zero.
    pub(super) failed_by: AtomicU64,
    /// For each dependency, the next link in its list.
    pub(super) next_edges: [AtomicU32; DEPENDENCIES_MAX],
    /// The number of dependencies that have not ended.
    pub(super) pending: AtomicU32,
    /// The number of a [`JobKind`].
    pub(super) kind: AtomicU32,
    /// The generation of the last job that was cancelled by a call.
    cancelled: AtomicU32,
    /// The next ready joint, while a job before it ends.
    pub(super) next_joint: AtomicU32,
    pub(super) dependency_count: AtomicU32,
    pub(super) job: UnsafeCell<StoredJob<'static>>,
    /// The ids of the dependencies, for threads that look for something to help with.
    pub(super) dependencies: [AtomicU64; DEPENDENCIES_MAX],
    /// The last walk that visited this job.
    walk: AtomicU64,
    /// The id of the job, if an external thread runs it or helps inside it.
    external: AtomicU64,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    assert!(std::mem::offset_of!(JobSlot, job) == 64, "the job begins a line");
    assert!(size_of::<JobSlot>() == 192, "a slot is three lines");
};

debug_fields!([] JobSlot:; generation = |it| it.generation());

impl JobSlot {
    pub(super) fn new() -> Self {
        Self::of_generation(JobId::GENERATION_FIRST)
    }

    /// Creates a slot whose first job has this generation.
    pub(super) fn of_generation(generation: u32) -> Self {
        Self {
            head: AtomicU64::new(whole(generation, Edge::NONE.0)),
            state: AtomicU64::new(0),
            pending: AtomicU32::new(0),
            dependency_count: AtomicU32::new(0),
            dependencies: std::array::from_fn(|_| AtomicU64::new(0)),
            next_edges: std::array::from_fn(|_| AtomicU32::new(0)),
            failed_by: AtomicU64::new(0),
            walk: AtomicU64::new(0),
            external: AtomicU64::new(0),
            cancelled: AtomicU32::new(0),
            kind: AtomicU32::new(0),
            next_joint: AtomicU32::new(0),
            job: UnsafeCell::new(StoredJob::empty()),
        }
    }

    fn generation(&self) -> u32 {
        halves(self.head.load(Ordering::Relaxed)).0
    }

    /// The id of the job in this slot, for a caller that knows that there is one.
    pub(super) fn id(&self, index: u32) -> JobId {
        JobId::new(index, self.generation())
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn set_generation(&self, generation: u32) {
        self.head.store(whole(generation, Edge::NONE.0), Ordering::Relaxed);
    }

    /// Whether the job has ended. If so, its effects are visible.
    pub(super) fn is_done(&self, id: JobId) -> bool {
        // Acquire: pairs with `end`.
        let order = needed("job_is_done", Ordering::Acquire);
        halves(self.head.load(order)).0 != id.generation()
    }

    /// Adds a link to those that wait for the job `id`. Returns false if that has ended; its effects are
    /// visible then.
    pub(super) fn link(&self, id: JobId, edge: Edge, next_edge: &AtomicU32) -> bool {
        // Acquire: pairs with `end`, in case the job has ended.
        let seen = needed("link_seen", Ordering::Acquire);
        let mut head = self.head.load(seen);
        loop {
            let (generation, links) = halves(head);
            if generation != id.generation() {
                return false;
            }
            next_edge.store(links & !AWAITED, Ordering::Relaxed);
            let linked = whole(generation, edge.0 | links & AWAITED);
            // Release: `end` sees the waiting job as it is now.
            let order = needed("link", Ordering::Release);
            let result = self.head.compare_exchange_weak(head, linked, order, seen);
            match result {
                Ok(_) => return true,
                Err(other) => head = other,
            }
        }
    }

    /// Notes that a thread, which is listed, is about to sleep until the job `id` is done. Does nothing
    /// if it is already done, since it does not end again.
    pub(crate) fn note_awaited(&self, id: JobId) {
        let note = |head: u64| {
            let (generation, links) = halves(head);
            (generation == id.generation()).then(|| whole(generation, links | AWAITED))
        };
        // Relaxed: one word has one modification order, and the list has a lock.
        _ = self.head.fetch_update(Ordering::Relaxed, Ordering::Relaxed, note);
    }

    /// Ends the job. From here on the slot has no job, and no job links to it. Returns the links, and
    /// whether a thread awaits the job.
    pub(super) fn end(&self, id: JobId) -> (Edge, bool) {
        // Release: the effects of the job are visible to a thread that sees that it is done. Acquire: the
        // threads that linked are visible to this one.
        let order = needed("end", Ordering::AcqRel);
        let head = self.head.swap(whole(id.generation() + 1, Edge::NONE.0), order);
        let (generation, links) = halves(head);
        debug_assert_eq!(generation, id.generation(), "a job ends once");
        (Edge(links & !AWAITED), links & AWAITED != 0)
    }

    /// Like [`end`](Self::end), for a job whose id no other thread has: none links to it or awaits it.
    pub(super) fn end_unknown(&self, id: JobId) {
        debug_assert_eq!(
            self.head.load(Ordering::Relaxed),
            whole(id.generation(), Edge::NONE.0),
            "no other thread knows the job"
        );
        // Release: as in `end`. No compare-exchange of another thread succeeds meanwhile: each expects
        // the generation of an id that its thread has.
        let order = needed("end_unknown", Ordering::Release);
        self.head.store(whole(id.generation() + 1, Edge::NONE.0), order);
    }

    /// The link after that of the dependency `which`.
    pub(super) fn next_edge(&self, which: usize) -> Edge {
        // Relaxed: acquired by `end`.
        Edge(self.next_edges[which].load(Ordering::Relaxed))
    }

    /// The progress of the job `id`, unless it has ended.
    pub(crate) fn state(&self, id: JobId) -> Option<State> {
        let (generation, number) = halves(self.state.load(needed("state", Ordering::Acquire)));
        if generation != id.generation() {
            return None;
        }
        [State::Waiting, State::Ready, State::Running].into_iter().find(|&s| s as u32 == number)
    }

    /// Sets the progress of the job. Only the thread that holds the job calls this.
    pub(super) fn set_state(&self, id: JobId, state: State) {
        // Release: the thread that claims the job sees it as it is now.
        let order = needed("publish", Ordering::Release);
        self.state.store(whole(id.generation(), state as u32), order);
    }

    /// Ready -> Running, for one of the threads that try.
    pub(super) fn claim(&self, id: JobId) -> bool {
        let ready = whole(id.generation(), State::Ready as u32);
        let running = whole(id.generation(), State::Running as u32);
        // Acquire: pairs with `set_state`.
        let order = needed("claim", Ordering::Acquire);
        self.state.compare_exchange(ready, running, order, Ordering::Relaxed).is_ok()
    }

    /// Subtracts ended dependencies. Returns true if none is left: then the job belongs to the caller.
    pub(super) fn count_down(&self, ended: u32) -> bool {
        // Release: the thread that reaches zero sees the effects of the others' jobs. Acquire: so does
        // this thread, if it is the one.
        let look = needed("countdown_look", Ordering::Acquire);
        count_down(&self.pending, ended, look, needed("countdown", Ordering::AcqRel))
    }

    /// Lets one external thread help inside the job `id`. Returns false if there already is one, or if
    /// the job has ended and one is in a later job of this slot.
    pub(crate) fn let_external_in(&self, id: JobId) -> bool {
        // Acquire: external threads follow one another, with the same slot number.
        let is_earlier = |other: JobId| {
            other.generation() < id.generation() || other != id && !is_kept("external_is_earlier")
        };
        let let_in = |other| JobId::from_bits(other).is_none_or(is_earlier).then_some(id.to_bits());
        let order = needed("external_in", Ordering::Acquire);
        self.external.fetch_update(order, Ordering::Relaxed, let_in).is_ok()
            || !is_kept("one_external")
    }

    /// Whether an external thread is in the job `id`.
    pub(crate) fn has_external(&self, id: JobId) -> bool {
        // Relaxed: a hint.
        self.external.load(Ordering::Relaxed) == id.to_bits()
    }

    /// Like [`let_external_in`](Self::let_external_in), for the thread that is about to start the job,
    /// when no other thread can be in it.
    pub(crate) fn start_as_external(&self, id: JobId) {
        if is_kept("start_as_external") {
            // Relaxed: a thread that comes for a later job of this slot has its id, which was created
            // after this job ended.
            self.external.store(id.to_bits(), Ordering::Relaxed);
        }
    }

    /// Marks the external thread as gone. The job may have ended meanwhile, and another one be in the
    /// slot.
    pub(crate) fn let_external_out(&self, id: JobId) {
        let order = needed("external_out", Ordering::Release);
        _ = self.external.compare_exchange(id.to_bits(), 0, order, Ordering::Relaxed);
    }

    /// Makes the job `id` and its successors be dropped instead of run, unless the job is about to start.
    pub(crate) fn cancel(&self, id: JobId) {
        // Relaxed: visible through whatever orders the call before the start of the job, if anything
        // does. A later job in this slot has a larger generation.
        self.cancelled.fetch_max(id.generation(), Ordering::Relaxed);
    }

    /// Whether the job `id` was cancelled by a call.
    pub(super) fn is_cancelled(&self, id: JobId) -> bool {
        self.cancelled.load(Ordering::Relaxed) == id.generation()
    }

    /// Marks the job as visited by the walk `number`, and returns whether it already was.
    pub(crate) fn is_walked(&self, number: u64) -> bool {
        // Relaxed: a walk reads only its own mark, and if another walk overwrites it, this one merely
        // visits the job again.
        if self.walk.load(Ordering::Relaxed) == number {
            return true;
        }
        self.walk.store(number, Ordering::Relaxed);
        false
    }

    /// The number of the only thread that may run the job, if it is pinned.
    pub(crate) fn pinned(&self) -> Option<u32> {
        // Relaxed: visible through the state.
        self.kind.load(Ordering::Relaxed).checked_sub(JobKind::PINNED)
    }

    /// Whether the job polls a future.
    pub(crate) fn is_poll(&self) -> bool {
        // Relaxed: visible through the lock of the queue.
        self.kind.load(Ordering::Relaxed) == JobKind::Poll.number()
    }

    /// Whether this is a background job, less urgent than jobs of the frame.
    pub(crate) fn is_background(&self) -> bool {
        // Relaxed: visible through the state.
        self.kind.load(Ordering::Relaxed) == JobKind::Background.number()
    }

    /// A dependency of `id`, ended or not; `None` after the last one, or if `id` has ended.
    pub(crate) fn dependency(&self, id: JobId, which: usize) -> Option<JobId> {
        // Relaxed: visible through the state, which the caller has read.
        let count = self.dependency_count.load(Ordering::Relaxed) as usize;
        let cell = self.dependencies.get(which).filter(|_| which < count)?;
        // Acquire: if the value belongs to a later job, the next line detects it.
        let bits = cell.load(needed("dependency_load", Ordering::Acquire));
        if self.is_done(id) { None } else { JobId::from_bits(bits) }
    }
}
