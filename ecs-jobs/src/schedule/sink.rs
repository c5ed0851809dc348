//! Sinks: the buffers into which a parallel loop writes its results.

/// Something that all threads of a parallel loop write to, each in its own slot, so that what comes
/// of it does not depend on which thread did what: [`Commands`](super::Commands) and
/// [`EventWriter`](super::EventWriter).
///
/// Used by [`Query::par_for_each_with`](super::Query::par_for_each_with).
pub trait ParallelSink: Sync {
    /// What one thread writes to.
    type Slot;

    /// Gets ready for a loop of this many batches; returns the sort key of the first of them.
    fn begin_loop(&mut self, batch_count: usize) -> u64;

    /// Calls `body` with the slot of a thread, for the batch with this sort key.
    fn with_slot<R>(&self, slot: usize, key: u64, body: impl FnOnce(&mut Self::Slot) -> R) -> R;

    /// Puts everything in the order of the keys, where that is not done later.
    fn end_loop(&mut self);
}
