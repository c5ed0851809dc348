//! Sinks: the buffers into which a parallel loop writes its results.

/// A target of the results of a parallel loop, with a slot per thread, such that the outcome does not
/// depend on which thread ran what: [`Commands`](super::Commands), [`EventWriter`](super::EventWriter),
/// [`Gather`](super::Gather) and [`Scatter`](super::Scatter); `()` takes nothing.
///
/// Used by [`Query::par_for_each_with`](super::Query::par_for_each_with).
pub trait ParallelSink: Sync {
    /// The buffer that one thread writes to.
    type Slot: 'static;

    /// Prepares for a loop of this many batches.
    fn begin_loop(&mut self, batch_count: usize);

    /// Calls `body` with the slot of a thread, for the batch of the loop with this number. The batch
    /// numbers of one slot increase, except that once in a loop they may restart below all earlier ones
    /// of this loop.
    ///
    /// # Panics
    ///
    /// Panics if the numbers decrease otherwise, in a sink that keeps values in the order of batches.
    fn with_slot<R>(&self, slot: usize, batch: usize, body: impl FnOnce(&mut Self::Slot) -> R)
    -> R;
}

impl ParallelSink for () {
    type Slot = ();

    fn begin_loop(&mut self, _: usize) {}

    fn with_slot<R>(&self, _: usize, _: usize, body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }
}

/// Implements [`ParallelSink`] for a parameter by the sink or the buffers in one of its fields.
macro_rules! sink_in_field {
    ($param:ident, $slot:ident, $($field:ident).+) => {
        impl<T: Send + Sync + 'static> ParallelSink for $param<'_, T> {
            type Slot = $slot<T>;

            fn begin_loop(&mut self, batch_count: usize) {
                self.$($field).+.begin_loop(batch_count);
            }

            fn with_slot<R>(
                &self,
                slot: usize,
                batch: usize,
                body: impl FnOnce(&mut $slot<T>) -> R,
            ) -> R {
                self.$($field).+.with_slot(slot, batch, body)
            }
        }
    };
}

pub(super) use sink_in_field;

/// The targets of a parallel loop: a borrowed [`ParallelSink`], or a pair of these.
pub trait ParallelSinks: Sync {
    /// The slot that one thread writes to, or the pair of slots.
    type Slots<'s>;

    /// As [`ParallelSink::begin_loop`].
    fn begin_loop(&mut self, batch_count: usize);

    /// As [`ParallelSink::with_slot`].
    fn with_slots<R>(
        &self,
        slot: usize,
        batch: usize,
        body: impl FnOnce(&mut Self::Slots<'_>) -> R,
    ) -> R;
}

impl<S: ParallelSink> ParallelSinks for &mut S {
    type Slots<'s> = S::Slot;

    fn begin_loop(&mut self, batch_count: usize) {
        S::begin_loop(self, batch_count);
    }

    fn with_slots<R>(&self, slot: usize, batch: usize, body: impl FnOnce(&mut S::Slot) -> R) -> R {
        self.with_slot(slot, batch, body)
    }
}

impl<A: ParallelSink, B: ParallelSink> ParallelSinks for (&mut A, &mut B) {
    type Slots<'s> = (&'s mut A::Slot, &'s mut B::Slot);

    fn begin_loop(&mut self, batch_count: usize) {
        self.0.begin_loop(batch_count);
        self.1.begin_loop(batch_count);
    }

    fn with_slots<R>(
        &self,
        slot: usize,
        batch: usize,
        body: impl FnOnce(&mut Self::Slots<'_>) -> R,
    ) -> R {
        self.0.with_slot(slot, batch, |one| {
            self.1.with_slot(slot, batch, |other| body(&mut (one, other)))
        })
    }
}
