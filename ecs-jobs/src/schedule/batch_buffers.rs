//! Buffers for the results of the threads of parallel loops, in an order that does not depend on threads.

use crate::pool::Pool;
use crate::sync::Mutex;

/// Two buffers for each thread of a parallel loop. Batches are numbered through all loops of a run, and
/// their numbers order the collected values.
pub struct BatchBuffers<T, const BUCKETS: usize> {
    /// The first buffer of each thread, then the second of each. Locked by the thread that runs a batch;
    /// no other thread wants the lock meanwhile.
    lent: Vec<Mutex<BatchBuffer<T, BUCKETS>>>,
    /// Holds the buffers while all values are read in order.
    aside: Vec<BatchBuffer<T, BUCKETS>>,
    /// The batches of all buffers in order: the number, the buffer, and the index in it.
    order: Vec<(u64, usize, usize)>,
    /// The number of the first batch of the loop.
    first_batch: u64,
    /// The number of the next loop's first batch.
    next_batch: u64,
}

/// The buffer of one thread of a parallel loop.
pub struct BatchBuffer<T, const BUCKETS: usize> {
    /// The number of each batch, and where it begins in each bucket, in ascending order of numbers.
    batches: Vec<(u64, [usize; BUCKETS])>,
    buckets: [Vec<T>; BUCKETS],
    /// The number of neighbouring indices per bucket, as a power of two.
    shift: u32,
}

debug_fields!(
    [T, const BUCKETS: usize] BatchBuffer<T, BUCKETS>:;
    len = |it| it.len()
);

debug_fields!([T, const BUCKETS: usize] BatchBuffers<T, BUCKETS>:);

impl<T, const BUCKETS: usize> BatchBuffer<T, BUCKETS> {
    const fn new(shift: u32) -> Self {
        Self { batches: Vec::new(), buckets: [const { Vec::new() }; BUCKETS], shift }
    }

    /// Adds a value to the bucket of an index.
    #[inline]
    pub(super) fn push_at(&mut self, index: u32, value: T) {
        self.buckets[(index >> self.shift) as usize % BUCKETS].push(value);
    }

    /// Whether all of its batches come before this one.
    fn is_before(&self, number: u64) -> bool {
        self.batches.last().is_none_or(|last| last.0 <= number)
    }

    fn begin(&mut self, number: u64) {
        assert!(self.is_before(number), "the batches of a slot go up, but for one time in a loop");
        self.batches.push((number, std::array::from_fn(|bucket| self.buckets[bucket].len())));
    }

    /// The number of values in batches.
    fn len(&self) -> usize {
        let Some((_, first)) = self.batches.first() else { return 0 };
        self.buckets.iter().zip(first).map(|(values, start)| values.len() - start).sum()
    }

    /// The values of one batch in one bucket.
    fn of(&self, batch: usize, bucket: usize) -> &[T] {
        let values = &self.buckets[bucket];
        let end = self.batches.get(batch + 1).map_or(values.len(), |(_, next)| next[bucket]);
        &values[self.batches[batch].1[bucket]..end]
    }
}

impl<T, const BUCKETS: usize> BatchBuffers<T, BUCKETS> {
    pub(super) const fn new() -> Self {
        Self {
            lent: Vec::new(),
            aside: Vec::new(),
            order: Vec::new(),
            first_batch: 0,
            next_batch: 0,
        }
    }

    /// Drops what a run left, and allocates buffers for the threads of a pool. A bucket holds this many
    /// neighbouring indices, a power of two.
    pub(super) fn begin_run(&mut self, pool: &Pool, neighbours: u32) {
        self.clear();
        let count = 2 * pool.parallelism();
        if self.lent.len() != count {
            let buffer = |_| Mutex::new(BatchBuffer::new(neighbours.ilog2()));
            self.lent = (0..count).map(buffer).collect();
        }
    }

    /// Drops all values. They are removed from their batches first, so that a value whose drop panics
    /// finds consistent buffers, and values left over by that belong to no batch.
    fn clear(&mut self) {
        (self.first_batch, self.next_batch) = (0, 0);
        self.lent.iter_mut().for_each(|buffer| buffer.get_mut().batches.clear());
        for buffer in self.lent.iter_mut().map(Mutex::get_mut) {
            buffer.buckets.iter_mut().for_each(Vec::clear);
        }
    }

    pub(super) fn begin_loop(&mut self, batch_count: usize) {
        self.first_batch = self.next_batch;
        self.next_batch += batch_count as u64;
    }

    pub(super) fn with_slot<R>(
        &self,
        slot: usize,
        batch: usize,
        body: impl FnOnce(&mut BatchBuffer<T, BUCKETS>) -> R,
    ) -> R {
        let number = self.first_batch + batch as u64;
        let mut buffer = self.lent[slot].lock();
        if !buffer.is_before(number) {
            // A thread begins in the middle of a loop, at its own share, and comes to earlier batches at
            // the end.
            drop(buffer);
            buffer = self.lent[self.lent.len() / 2 + slot].lock();
        }
        buffer.begin(number);
        body(&mut buffer)
    }

    /// Adds a value outside a loop, after all existing values.
    pub(super) fn push_at(&mut self, index: u32, value: T) {
        // The number of the next loop's first batch. The value must come before that batch: it goes into
        // the first buffer, at an earlier position.
        let number = self.next_batch;
        let buffer = self.lent[0].get_mut();
        if buffer.batches.last().is_none_or(|last| last.0 != number) {
            buffer.begin(number);
        }
        buffer.push_at(index, value);
    }

    /// The number of collected values.
    pub(super) fn len(&self) -> usize {
        self.lent.iter().map(|buffer| buffer.lock().len()).sum()
    }

    /// Returns all values in order; they are dropped with the result.
    pub(super) fn in_order(&mut self) -> InOrder<'_, T, BUCKETS> {
        self.sort();
        self.swap();
        InOrder(self)
    }

    fn sort(&mut self) {
        self.order.clear();
        for (slot, buffer) in self.lent.iter_mut().map(Mutex::get_mut).enumerate() {
            let places = buffer.batches.iter().enumerate();
            self.order.extend(places.map(|(place, &(number, _))| (number, slot, place)));
        }
        self.order.sort_unstable();
    }

    fn swap(&mut self) {
        self.aside.resize_with(self.lent.len(), || BatchBuffer::new(0));
        for (lent, aside) in self.lent.iter_mut().zip(&mut self.aside) {
            std::mem::swap(lent.get_mut(), aside);
        }
    }
}

/// While this lives, the buffers are set aside for all threads to read. When it is dropped, also by a
/// panic, the values are dropped and their memory is reused for collecting.
pub(super) struct InOrder<'b, T, const BUCKETS: usize>(&'b mut BatchBuffers<T, BUCKETS>);

impl<T, const BUCKETS: usize> InOrder<'_, T, BUCKETS> {
    /// The values of one bucket, batch by batch.
    pub(super) fn batches_of(&self, bucket: usize) -> impl Iterator<Item = &[T]> {
        let batches = self.0.order.iter();
        batches.map(move |&(_, slot, batch)| self.0.aside[slot].of(batch, bucket))
    }
}

impl<T, const BUCKETS: usize> Drop for InOrder<'_, T, BUCKETS> {
    fn drop(&mut self) {
        self.0.swap();
        self.0.clear();
    }
}

impl<T> BatchBuffers<T, 1> {
    /// Appends all values to a list, in order.
    pub(super) fn move_into(&mut self, list: &mut Vec<T>) {
        self.sort();
        let Self { lent, order, .. } = self;
        // This puts the first batch of each at its end, where values can be taken out.
        lent.iter_mut().for_each(|buffer| buffer.get_mut().buckets[0].reverse());
        for &(_, slot, batch) in &*order {
            let BatchBuffer { batches, buckets: [values], .. } = lent[slot].get_mut();
            let left = match &batches[batch..] {
                [(_, [start]), (_, [next]), ..] => values.len() - (next - start),
                _ => 0,
            };
            list.extend(values.drain(left..).rev());
        }
        self.clear();
    }
}
