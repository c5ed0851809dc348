//! Numbers for threads.

use crate::sync::{thread_local, unique_number};

/// Returns a number that no other thread of this process ever has.
///
/// The standard library's id needs a reference-counted handle.
pub(crate) fn thread_id() -> u64 {
    thread_local! {
        static ID: u64 = unique_number();
    }
    ID.with(|id| *id)
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) use self::indices::thread_index;

/// In models no thread has an index: state of one thread alone gives a model nothing to check.
#[cfg(any(loom, shuttle))]
pub(crate) fn thread_index() -> Option<usize> {
    None
}

#[cfg(not(any(loom, shuttle)))]
mod indices {
    use crate::sync::{Mutex, thread_local};

    /// Returns a small number that no other live thread has, for arrays with an entry per thread; `None`
    /// in a thread that is about to end.
    ///
    /// When a thread ends, its number goes to another one, which sees all effects of the former: the list
    /// of free numbers is behind a lock.
    pub(crate) fn thread_index() -> Option<usize> {
        thread_local! {
            static INDEX: ThreadIndex = ThreadIndex::take();
        }
        INDEX.try_with(|index| index.0).ok()
    }

    static FREE: Mutex<Free> = Mutex::new(Free { given_back: Vec::new(), next: 0 });

    struct Free {
        given_back: Vec<usize>,
        next: usize,
    }

    struct ThreadIndex(usize);

    impl ThreadIndex {
        fn take() -> Self {
            let mut free = FREE.lock();
            if let Some(index) = free.given_back.pop() {
                return Self(index);
            }
            free.next += 1;
            Self(free.next - 1)
        }
    }

    impl Drop for ThreadIndex {
        fn drop(&mut self) {
            FREE.lock().given_back.push(self.0);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::thread;

        #[test]
        fn threads_that_live_at_the_same_time_have_different_indices() {
            let barrier = std::sync::Barrier::new(4);
            let indices: Vec<usize> = thread::scope(|scope| {
                let barrier = &barrier;
                let threads = [(); 4].map(|()| {
                    scope.spawn(move || {
                        let index = thread_index().expect("the thread goes on");
                        barrier.wait();
                        assert_eq!(thread_index(), Some(index));
                        index
                    })
                });
                threads.into_iter().map(|thread| thread.join().expect("it ends well")).collect()
            });
            let different: std::collections::HashSet<usize> = indices.iter().copied().collect();
            assert_eq!(different.len(), 4);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn no_other_thread_has_the_id_of_one_even_when_that_has_ended() {
        let here = thread_id();
        assert_eq!(thread_id(), here);
        let ids: Vec<u64> =
            (0..3).map(|_| std::thread::spawn(thread_id).join().expect("it ends well")).collect();
        assert!(!ids.contains(&here));
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
