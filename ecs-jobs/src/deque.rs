//! The queues that jobs travel through: a face over crossbeam-deque.
//!
//! A [`Worker`] is the private end of a deque: its owner pushes and pops the
//! newest. A [`Stealer`] takes the oldest, from any thread.
//!
//! Under `--cfg loom` the same names are those of `modelled`, because
//! crossbeam-deque has no loom hooks: inside a model it would be invisible. Its
//! `Injector` is for models alone, where a queue must bring no order of its own.
//! Under `--cfg shuttle`, which knows no weak orders anyway, they are those of
//! `locked`.

#[cfg(shuttle)]
mod locked;
#[cfg(loom)]
mod modelled;

#[cfg(shuttle)]
pub(crate) use self::locked::{Stealer, Worker};
#[cfg(loom)]
#[cfg(all(test, loom))]
pub(crate) use self::modelled::Injector;
#[cfg(loom)]
pub(crate) use self::modelled::{Stealer, Worker};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use self::real::{Stealer, Worker};

#[cfg(not(any(loom, shuttle)))]
mod real {
    use crate::sync::spin_loop;
    use crossbeam_deque::Steal;

    #[derive(Debug)]
    pub(crate) struct Worker<T>(crossbeam_deque::Worker<T>);

    impl<T> Worker<T> {
        pub(crate) fn new() -> Self {
            Self(crossbeam_deque::Worker::new_lifo())
        }

        pub(crate) fn stealer(&self) -> Stealer<T> {
            Stealer(self.0.stealer())
        }

        pub(crate) fn push(&self, item: T) {
            self.0.push(item);
        }

        /// Takes the newest item.
        pub(crate) fn pop(&self) -> Option<T> {
            self.0.pop()
        }

        #[inline]
        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }
    }

    #[derive(Debug)]
    pub(crate) struct Stealer<T>(crossbeam_deque::Stealer<T>);

    impl<T> Stealer<T> {
        /// Takes the oldest item.
        pub(crate) fn steal(&self) -> Option<T> {
            insist(|| self.0.steal())
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    /// Repeats a steal until it has an answer. `Retry` is none: another thread
    /// took the item first, or its owner moved the buffer meanwhile, or the
    /// compare-exchange failed for no reason, as some processors let it. Each of
    /// these is over at once, so this does not wait for anybody's job.
    fn insist<T>(attempt: impl Fn() -> Steal<T>) -> Option<T> {
        loop {
            match attempt() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => spin_loop(),
            }
        }
    }
}
