//! Flat loops: indices handed out in batches, from one counter for each share.
//!
//! There are no job objects and no queue. The loop lies in the caller's frame and is listed as an open
//! group; each thread that enters takes batches until none is left.

use crate::body_costs::Body;
use crate::context::WorkerContext;
use crate::panic_slot::PanicSlot;
use crate::shared::Shared;
use crate::sync::{AtomicUsize, Ordering};
use crate::task_group::{TaskGroup, TaskSource};
use crate::wait::share;
use crossbeam_utils::CachePadded;
use std::ops::Range;

/// A loop shorter than this is not worth waking a thread.
const ALONE_NS: u64 = 10_000;
/// The time for which the caller measures the cost of indices before it shares the rest.
const PROBE_NS: u64 = 3_000;
/// The minimum duration of a batch, except for the last ones of a share, so that the counter's cache line
/// is not passed around for nothing.
const BATCH_NS: u64 = 1_000;
/// The first batches are this fraction of what each thread would get. The smaller the batches, the
/// shorter the other threads wait for the last one.
const BATCHES_PER_THREAD: usize = 4;
/// The same for heavy indices. Only between two batches does a thread look for more urgent work, a deadline
/// or a condition.
const HEAVY_BATCHES_PER_THREAD: usize = 64;

/// The maximum number of shares of a loop. With more threads than shares, several threads begin in the
/// same share; with fewer batches, there are fewer shares.
const SHARE_COUNT_MAX: usize = if cfg!(loom) { 2 } else { 16 };

/// Hands out each index of a loop once. Each thread takes from a share of its own, in batches that shrink
/// towards its end (guided self-scheduling), and then from the shares of others (affinity scheduling,
/// Markatos and `LeBlanc` 1994). So a thread returns to the items that the last loop over them left in
/// its cache.
#[derive(Debug)]
pub(crate) struct BatchCounter {
    shares: [CachePadded<Share>; SHARE_COUNT_MAX],
    share_count: usize,
    batch_len_min: usize,
    divisor: usize,
}

/// A range of adjacent indices.
#[derive(Debug)]
struct Share {
    next: AtomicUsize,
    end: usize,
}

impl BatchCounter {
    pub(crate) fn new(
        indices: Range<usize>,
        batch_len_min: usize,
        batches_per_thread: usize,
        parallelism: usize,
    ) -> Self {
        let batch_count = indices.len().div_ceil(batch_len_min).max(1);
        let share_count = parallelism.min(SHARE_COUNT_MAX).min(batch_count);
        let share_len = indices.len().div_ceil(share_count);
        let border = |shares: usize| {
            share_len.saturating_mul(shares).saturating_add(indices.start).min(indices.end)
        };
        let share =
            |number| Share { next: AtomicUsize::new(border(number)), end: border(number + 1) };
        Self {
            shares: std::array::from_fn(|number| CachePadded::new(share(number))),
            share_count,
            batch_len_min,
            divisor: parallelism.div_ceil(share_count) * batches_per_thread,
        }
    }

    /// Takes the next batch, for the thread of this slot.
    pub(crate) fn claim(&self, slot: usize) -> Option<Range<usize>> {
        let own = slot % self.share_count;
        let (before, from_own) = self.shares[..self.share_count].split_at(own);
        from_own.iter().chain(before).find_map(|share| self.claim_from(share))
    }

    fn claim_from(&self, share: &Share) -> Option<Range<usize>> {
        // Relaxed: the counter orders nothing but itself. The loop's inputs were published with the open
        // list, and its results are published with the group's count.
        let mut start = share.next.load(Ordering::Relaxed);
        loop {
            let left = share.end - start;
            if left == 0 {
                return None;
            }
            let batch_len = (left / self.divisor).max(self.batch_len_min).min(left);
            let end = start + batch_len;
            let claim =
                share.next.compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed);
            match claim {
                Ok(_) => return Some(start..end),
                Err(moved_on) => start = moved_on,
            }
        }
    }

    /// Stops handing out batches.
    pub(crate) fn cancel(&self) {
        self.shares.iter().for_each(|share| share.next.store(share.end, Ordering::Relaxed));
    }

    /// The number of batches left if all have the minimum size.
    fn batches_left(&self) -> usize {
        let left = |share: &CachePadded<Share>| share.end - share.next.load(Ordering::Relaxed);
        self.shares.iter().map(left).sum::<usize>().div_ceil(self.batch_len_min)
    }
}

/// The body of a loop for a batch of indices, by the slot of the thread. The cost of the indirect call is
/// negligible per batch, and the loop is compiled once for all bodies.
#[derive(Clone, Copy)]
struct LoopBody<'body> {
    run: &'body (dyn Fn(usize, Range<usize>) + Sync),
    id: Body,
}

impl<'body> LoopBody<'body> {
    fn new<F: Fn(usize, Range<usize>) + Sync>(run: &'body F) -> Self {
        Self { run, id: Body::of(run) }
    }
}

struct FlatLoop<'body> {
    group: TaskGroup,
    panics: PanicSlot,
    counter: BatchCounter,
    body: LoopBody<'body>,
}

impl FlatLoop<'_> {
    /// Runs one batch, and records the cost of an index.
    fn run_measured(&self, shared: &Shared, slot: usize) {
        let Some(batch) = self.counter.claim(slot) else { return };
        self.run(|| {
            let (len, began_ns) = (batch.len(), shared.clock.begin_ns());
            (self.body.run)(slot, batch);
            let elapsed_ns = shared.clock.elapsed_ns(began_ns);
            shared.body_costs.note(self.body.id, scale(elapsed_ns, 1, len));
        });
    }

    /// Runs a batch. If it panics, no more indices are handed out.
    fn run(&self, batch: impl FnOnce()) {
        if self.panics.run(batch).is_none() {
            self.counter.cancel();
        }
    }
}

impl TaskSource for FlatLoop<'_> {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        self.counter.batches_left()
    }

    fn run_one(&self, slot: usize) -> bool {
        let Some(batch) = self.counter.claim(slot) else { return false };
        self.run(|| (self.body.run)(slot, batch));
        true
    }
}

/// Runs `body` with ranges that cover `0..len`, each index once, and with the slot of the thread.
pub(crate) fn for_each_range(
    shared: &Shared,
    len: usize,
    body: &(impl Fn(usize, Range<usize>) + Sync),
) {
    let body = LoopBody::new(body);
    // A short loop does not even register its thread.
    if let Some(rest) = begin(shared, WorkerContext::slot_in(shared), len, body) {
        WorkerContext::with(shared, |context| run_shared(shared, context, rest, body));
    }
}

/// The rest of a loop, which the caller shares.
struct Rest {
    indices: Range<usize>,
    batch_len_min: usize,
    /// As [`BATCHES_PER_THREAD`].
    batches_per_thread: usize,
}

/// Decides whether the loop is shared from the first index on, or probed; returns what is left of it.
///
/// Heavy indices are shared at once, so that the other threads need not wait for the first of them: those
/// of a body that was heavy the last time, and few indices of an unknown body, which may cost one wake-up
/// in vain, once.
fn begin(shared: &Shared, slot: usize, len: usize, body: LoopBody<'_>) -> Option<Rest> {
    if len < 2 || shared.worker_count == 0 {
        if len > 0 {
            (body.run)(slot, 0..len);
        }
        return None;
    }
    let is_heavy = match shared.body_costs.of(body.id) {
        Some(cost) => cost >= PROBE_NS && scale(cost, len, 1) >= ALONE_NS,
        None => len <= shared.parallelism() * BATCHES_PER_THREAD,
    };
    if is_heavy {
        let batches_per_thread = HEAVY_BATCHES_PER_THREAD;
        return Some(Rest { indices: 0..len, batch_len_min: 1, batches_per_thread });
    }
    probe(shared, slot, len, body)
}

/// Runs the first indices on the caller alone, in batches that double, until it is known whether the rest
/// is worth sharing; small loops end here.
fn probe(shared: &Shared, slot: usize, len: usize, body: LoopBody<'_>) -> Option<Rest> {
    let clock = &shared.clock;
    let mut done = 0;
    let mut batch_len = 1;
    let began_ns = clock.begin_ns();
    loop {
        let end = done + batch_len.min(len - done);
        (body.run)(slot, done..end);
        done = end;
        batch_len = batch_len.saturating_mul(2);
        let elapsed_ns = clock.elapsed_ns(began_ns);
        let is_shared = elapsed_ns >= PROBE_NS && scale(elapsed_ns, len - done, done) >= ALONE_NS;
        if is_shared || done == len {
            shared.body_costs.note(body.id, scale(elapsed_ns, 1, done));
        }
        if is_shared {
            let batch_len_min = 1.max(scale(BATCH_NS, done, 1) / elapsed_ns);
            let batch_len_min = usize::try_from(batch_len_min).unwrap_or(len);
            let is_heavy = scale(elapsed_ns, 1, done) >= PROBE_NS;
            let batches_per_thread =
                if is_heavy { HEAVY_BATCHES_PER_THREAD } else { BATCHES_PER_THREAD };
            return Some(Rest { indices: done..len, batch_len_min, batches_per_thread });
        }
        if done == len {
            return None;
        }
    }
}

/// `value * numerator / denominator`, saturating.
fn scale(value: u64, numerator: usize, denominator: usize) -> u64 {
    let scaled = u128::from(value) * numerator as u128 / denominator as u128;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Opens the rest to other threads, and takes part.
fn run_shared(shared: &Shared, context: &WorkerContext, rest: Rest, body: LoopBody<'_>) {
    let Rest { indices, batch_len_min, batches_per_thread } = rest;
    let batch_count_max = indices.len().div_ceil(batch_len_min);
    let parallelism = shared.parallelism();
    let flat_loop = FlatLoop {
        group: TaskGroup::new(0),
        panics: PanicSlot::new(),
        counter: BatchCounter::new(indices, batch_len_min, batches_per_thread, parallelism),
        body,
    };
    // Several at once, which wake others: woken one by one, the last threads would find little work.
    let wanted = batch_count_max.min(shared.worker_count);
    share(shared, context, &flat_loop, || {
        shared.announce_work(&flat_loop.group, wanted);
        // The first batch of the caller measures the current cost of an index.
        context.inside(&flat_loop.group, || flat_loop.run_measured(shared, context.slot));
    });
    flat_loop.panics.resume_if_any();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_all_indices_once_and_never_grow() {
        for (slot, first) in [3, 253, 503, 753, 3].into_iter().enumerate() {
            let counter = BatchCounter::new(3..1000, 2, BATCHES_PER_THREAD, 4);
            let mut batches: Vec<_> = std::iter::from_fn(|| counter.claim(slot)).collect();
            assert_eq!(batches[0].start, first, "its own share first");
            let goes_on = |pair: &[Range<usize>]| pair[0].end == pair[1].start;
            let new_share = |pair: &[Range<usize>]| (pair[1].start - 3) % 250 == 0;
            let is_fine = |pair: &[Range<usize>]| {
                new_share(pair) || goes_on(pair) && pair[0].len() >= pair[1].len()
            };
            assert!(batches.windows(2).all(is_fine));
            batches.sort_by_key(|batch| batch.start);
            assert!(batches.windows(2).all(goes_on));
            assert_eq!((batches[0].start, batches[batches.len() - 1].end), (3, 1000));
        }
    }

    #[test]
    fn few_indices_and_many_threads_have_shares_that_are_empty() {
        for len in [0, 1, 17, 33] {
            let counter =
                BatchCounter::new(usize::MAX - len..usize::MAX, 1, BATCHES_PER_THREAD, 1_000);
            let all: Vec<_> = (0..).map_while(|slot| counter.claim(slot)).flatten().collect();
            assert_eq!(all.len(), len);
            assert_eq!((counter.batches_left(), counter.claim(7)), (0, None));
        }
    }

    #[test]
    fn a_cancelled_counter_hands_out_nothing() {
        let counter = BatchCounter::new(0..10, 1, BATCHES_PER_THREAD, 3);
        assert!(counter.claim(1).is_some());
        counter.cancel();
        assert!((0..3).all(|slot| counter.claim(slot).is_none()) && counter.batches_left() == 0);
    }

    #[test]
    fn scaling_saturates() {
        assert_eq!(scale(10, 3, 2), 15);
        assert_eq!(scale(u64::MAX, 3, 2), u64::MAX);
    }
}
