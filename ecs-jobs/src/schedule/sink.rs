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
    fn end_loop(&mut self) {}
}

/// What a parallel loop writes to: a [`ParallelSink`] that is borrowed, or a pair of such.
pub trait ParallelSinks: Sync {
    /// What one thread writes to: the slot, or the pair of slots.
    type Slots<'s>;
    /// The sort keys of the first batch.
    #[doc(hidden)]
    type Keys: Copy + Sync;

    #[doc(hidden)]
    fn begin_loop(&mut self, batch_count: usize) -> Self::Keys;

    #[doc(hidden)]
    fn with_slots<R>(
        &self,
        slot: usize,
        keys: Self::Keys,
        batch: u64,
        body: impl FnOnce(Self::Slots<'_>) -> R,
    ) -> R;

    /// The same slots for one row.
    #[doc(hidden)]
    fn reborrow<'b>(slots: &'b mut Self::Slots<'_>) -> Self::Slots<'b>;

    #[doc(hidden)]
    fn end_loop(&mut self);
}

impl<S: ParallelSink<Slot: 'static>> ParallelSinks for &mut S {
    type Slots<'s> = &'s mut S::Slot;
    type Keys = u64;

    fn begin_loop(&mut self, batch_count: usize) -> u64 {
        S::begin_loop(self, batch_count)
    }

    fn with_slots<R>(
        &self,
        slot: usize,
        key: u64,
        batch: u64,
        body: impl FnOnce(&mut S::Slot) -> R,
    ) -> R {
        self.with_slot(slot, key + batch, body)
    }

    #[inline]
    fn reborrow<'b>(slot: &'b mut &mut S::Slot) -> &'b mut S::Slot {
        slot
    }

    fn end_loop(&mut self) {
        S::end_loop(self);
    }
}

impl<A, B> ParallelSinks for (&mut A, &mut B)
where
    A: ParallelSink<Slot: 'static>,
    B: ParallelSink<Slot: 'static>,
{
    type Slots<'s> = (&'s mut A::Slot, &'s mut B::Slot);
    type Keys = (u64, u64);

    fn begin_loop(&mut self, batch_count: usize) -> (u64, u64) {
        (self.0.begin_loop(batch_count), self.1.begin_loop(batch_count))
    }

    fn with_slots<R>(
        &self,
        slot: usize,
        keys: (u64, u64),
        batch: u64,
        body: impl FnOnce(Self::Slots<'_>) -> R,
    ) -> R {
        self.0.with_slot(slot, keys.0 + batch, |one| {
            self.1.with_slot(slot, keys.1 + batch, |other| body((one, other)))
        })
    }

    #[inline]
    fn reborrow<'b>((one, other): &'b mut Self::Slots<'_>) -> Self::Slots<'b> {
        (one, other)
    }

    fn end_loop(&mut self) {
        self.0.end_loop();
        self.1.end_loop();
    }
}
