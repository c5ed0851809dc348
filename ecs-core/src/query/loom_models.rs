//! Loom models of the three protocols by which threads coordinate in this crate: borrow words, the words
//! of claims, and the bits of chunks that were taken.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 \
//!     cargo test -p formic-ecs --release --lib loom_models -- --nocapture
//! ```
//!
//! Every model prints the number of schedules that it explored and requires more than one, since a model
//! that loom cannot see into passes as well. The models in [`must_fail`] each have one ordering too weak
//! or one step wrong, and must fail. When a chunk is taken, no ordering matters: nothing is handed from
//! one taker to the next.
//!
//! Loom does not see: that nothing comes between a swap and the store that it has read (so no model asks
//! whether a flag is free in the end: a refused swap may seem to overwrite the store that freed it); more
//! than three threads; a load that returns a value stored later in the program (load buffering); enabled
//! bits, which are relaxed and publish nothing.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::access::{leave_read, leave_write, take_read, take_write};
use super::claims::ClaimWords;
use super::cursor::Taken;
use crate::sync::ProtocolU64;

/// Runs a model, and prints and checks the number of its schedules.
fn explore(name: &str, model: impl Fn() + Sync + Send + 'static) {
    // The counter of the standard library, which loom must not see.
    let schedules = std::sync::Arc::new(AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&schedules);
    loom::model(move || {
        _ = counter.fetch_add(1, StdOrdering::Relaxed);
        model();
    });
    let schedules = schedules.load(StdOrdering::Relaxed);
    // Not `println`, whose output the test harness captures.
    let line = std::format!("loom: {name}: {schedules} schedules\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    assert!(schedules > 1, "loom saw one schedule only: it cannot see into the model");
}

/// Data that a word or a flag guards. Loom reports a thread that reads it while another writes.
struct Guarded<P> {
    protocol: P,
    /// The data that the right is for. Loom checks which thread accesses it, and when.
    cell: UnsafeCell<()>,
    /// The number of writes, in an atomic that loom does not see.
    value: AtomicUsize,
}

impl<P> Guarded<P> {
    fn new(protocol: P) -> Arc<Self> {
        Arc::new(Self { protocol, cell: UnsafeCell::new(()), value: AtomicUsize::new(0) })
    }

    fn read(&self) -> usize {
        // Loom checks that no thread writes meanwhile. The model is to show that the protocol gives the
        // right that I-10 and I-12 require.
        self.cell.with(|_| self.value.load(StdOrdering::Relaxed))
    }

    fn write(&self) {
        // Loom checks that no other thread is here. The model is to show that the protocol gives the
        // right that I-10 and I-12 require.
        self.cell.with_mut(|_| {
            let value = self.value.load(StdOrdering::Relaxed);
            self.value.store(value + 1, StdOrdering::Relaxed);
        });
    }
}

fn word() -> Arc<Guarded<ProtocolU64>> {
    Guarded::new(ProtocolU64::new(0))
}

/// Writes if it may, and returns the number of writes.
fn try_write(guarded: &Guarded<ProtocolU64>) -> usize {
    if !take_write(&guarded.protocol) {
        return 0;
    }
    guarded.write();
    leave_write(&guarded.protocol);
    1
}

fn try_read(guarded: &Guarded<ProtocolU64>) -> Option<usize> {
    if !take_read(&guarded.protocol) {
        return None;
    }
    let seen = guarded.read();
    leave_read(&guarded.protocol);
    Some(seen)
}

fn words() -> Arc<Guarded<ClaimWords>> {
    let mut words = ClaimWords::default();
    words.prepare(6);
    Guarded::new(words)
}

/// Claims slot 5 for a row and writes, if it may. Returns the number of writes.
fn try_claim(guarded: &Guarded<ClaimWords>, row: u32, earlier: u32) -> usize {
    let Ok(mine) = guarded.protocol.take(5, row, earlier) else { return 0 };
    guarded.write();
    guarded.protocol.leave(5, mine);
    1
}

#[test]
fn writers_of_a_component_keep_each_other_out() {
    explore("two writers", || {
        let shared = word();
        let other = Arc::clone(&shared);
        let writes = thread::spawn(move || try_write(&other));
        let mine = try_write(&shared);
        let theirs = writes.join().expect("it does not panic");
        assert!(mine + theirs >= 1, "both were refused");
        assert_eq!(try_read(&shared), Some(mine + theirs));
    });
}

#[test]
fn a_writer_and_two_readers_keep_each_other_out() {
    explore("a writer and two readers", || {
        let shared = word();
        let readers = [(); 2].map(|()| {
            let other = Arc::clone(&shared);
            thread::spawn(move || try_read(&other))
        });
        let mine = try_write(&shared);
        for reader in readers {
            let seen = reader.join().expect("it does not panic");
            assert!(seen.is_none_or(|seen| seen <= mine));
        }
        assert_eq!(try_read(&shared), Some(mine), "everything was given back");
        assert_eq!(try_write(&shared), 1);
    });
}

#[test]
fn a_writer_after_a_reader_comes_after_all_readers() {
    explore("readers, then a writer", || {
        let shared = word();
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            _ = try_read(&other);
            try_write(&other)
        });
        _ = try_read(&shared);
        let mine = try_write(&shared);
        let theirs = reader.join().expect("it does not panic");
        assert_eq!(try_read(&shared), Some(mine + theirs));
    });
}

#[test]
fn of_two_rows_that_claim_one_entity_one_gets_it_each_time() {
    explore("claims of two rows", || {
        let shared = words();
        let other = Arc::clone(&shared);
        let claims = thread::spawn(move || try_claim(&other, 1, 0) + try_claim(&other, 1, 0));
        let mine = try_claim(&shared, 2, 0) + try_claim(&shared, 2, 0);
        let theirs = claims.join().expect("it does not panic");
        assert!((mine, theirs) == (2, 0) || (mine, theirs) == (0, 2), "{mine} and {theirs}");
        assert_eq!(shared.read(), 2);
    });
}

/// Two threads claim for one row. Claimants prevent this, but the words do not rely on that.
#[test]
fn claims_of_one_row_on_two_threads_keep_each_other_out() {
    explore("claims of one row", || {
        let shared = words();
        let other = Arc::clone(&shared);
        let claims = thread::spawn(move || try_claim(&other, 1, 0) + try_claim(&other, 1, 0));
        let mine = try_claim(&shared, 1, 0);
        let theirs = claims.join().expect("it does not panic");
        assert!(mine + theirs >= 1, "all were refused");
        assert_eq!(shared.read(), mine + theirs);
    });
}

/// A loop begins before the previous one has ended. Queries prevent this, but the words do not rely on
/// that.
#[test]
fn claims_of_two_loops_keep_each_other_out() {
    explore("claims of two loops", || {
        let shared = words();
        let other = Arc::clone(&shared);
        let claims = thread::spawn(move || try_claim(&other, 1, 0));
        let mine = try_claim(&shared, 2, 1);
        let theirs = claims.join().expect("it does not panic");
        assert!(mine + theirs >= 1, "all were refused");
        assert_eq!(shared.read(), mine + theirs);
    });
}

/// Two chunks whose bits are in one word, and one whose bit is in the next word.
const CHUNKS: [usize; 3] = [0, 63, 64];

/// The takers' protocol, and the contents of these three chunks.
struct Chunks<P> {
    taken: P,
    values: [Arc<Guarded<()>>; 3],
}

impl<P> Chunks<P> {
    fn new(taken: P) -> Arc<Self> {
        Arc::new(Self { taken, values: CHUNKS.map(|_| Guarded::new(())) })
    }

    /// Asks for chunks in this order, and writes to those that it gets. Returns which these were.
    fn take_each(&self, take: fn(&P, usize) -> bool, order: [usize; 3]) -> [bool; 3] {
        order.map(|nth| {
            let is_mine = take(&self.taken, CHUNKS[nth]);
            if is_mine {
                self.values[nth].write();
            }
            is_mine
        })
    }
}

/// Two threads ask for the same chunks from both ends. The thread that joins them reads all.
fn two_takers<P: 'static>(
    taken: fn() -> P,
    take: fn(&P, usize) -> bool,
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let chunks = Chunks::new(taken());
        let other = Arc::clone(&chunks);
        let thread = thread::spawn(move || other.take_each(take, [2, 1, 0]));
        let mine = chunks.take_each(take, [0, 1, 2]);
        let mut theirs = thread.join().expect("it does not panic");
        theirs.reverse();
        for (nth, value) in chunks.values.iter().enumerate() {
            assert_ne!(mine[nth], theirs[nth], "chunk {} was given out once", CHUNKS[nth]);
            assert_eq!(value.read(), 1);
        }
    }
}

fn no_chunk_taken() -> Taken {
    let mut taken = Taken::default();
    taken.prepare(65);
    taken
}

#[test]
fn a_chunk_is_taken_once_and_who_joins_the_takers_sees_what_they_wrote() {
    let take = |taken: &Taken, index: usize| taken.take(index..index + 1);
    explore("two takers of chunks", two_takers(no_chunk_taken, take));
}

/// Two threads ask for ranges of batches in two words, which overlap. One of them gets its range, or
/// neither does.
#[test]
fn batches_that_overlap_are_not_taken_twice() {
    explore("two takers of overlapping batches", || {
        let chunks = Chunks::new(no_chunk_taken());
        let other = Arc::clone(&chunks);
        let take = |chunks: &Chunks<Taken>, batches| {
            let is_mine = chunks.taken.take(batches);
            if is_mine {
                chunks.values[1..].iter().for_each(|value| value.write());
            }
            is_mine
        };
        let thread = thread::spawn(move || take(&other, 63..65));
        let mine = take(&chunks, 0..65);
        let theirs = thread.join().expect("it does not panic");
        assert!(!(mine && theirs), "both have batch 64");
        for value in &chunks.values[1..] {
            assert_eq!(value.read(), usize::from(mine || theirs));
        }
    });
}

/// The same models with one ordering too weak, or one step wrong.
mod must_fail {
    use super::*;
    use crate::sync::Ordering;

    /// A bit that is read and then set, in two steps.
    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_taker_that_looks_before_it_takes() {
        let words = || [ProtocolU64::new(0), ProtocolU64::new(0)];
        loom::model(two_takers(words, |words, index| {
            let (word, bit) = (&words[index / 64], 1 << (index % 64));
            let before = word.load(Ordering::Acquire);
            word.store(before | bit, Ordering::Release);
            before & bit == 0
        }));
    }

    /// A bit that is given back: a thread that then takes the chunk does not see what was written.
    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_chunk_that_is_given_back() {
        loom::model(|| {
            let chunks = Chunks::new(ProtocolU64::new(0));
            let take = |word: &ProtocolU64, index: usize| {
                word.fetch_or(1 << (index % 64), Ordering::Relaxed) & 1 << (index % 64) == 0
            };
            let give_back = |word: &ProtocolU64| word.store(0, Ordering::Relaxed);
            let other = Arc::clone(&chunks);
            let thread = thread::spawn(move || {
                _ = other.take_each(take, [0, 0, 0]);
                give_back(&other.taken);
            });
            _ = chunks.take_each(take, [0, 0, 0]);
            give_back(&chunks.taken);
            thread.join().expect("it does not panic");
        });
    }

    /// Two threads that `enter`, write to and `leave` a word that starts at zero.
    fn two_threads(
        enter: fn(&ProtocolU64) -> bool,
        leave: fn(&ProtocolU64),
    ) -> impl Fn() + Send + Sync + 'static {
        move || {
            let shared = word();
            let act = move |shared: &Guarded<ProtocolU64>| {
                if enter(&shared.protocol) {
                    shared.write();
                    leave(&shared.protocol);
                }
            };
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || act(&other));
            act(&shared);
            thread.join().expect("it does not panic");
        }
    }

    #[test]
    fn the_shape_of_these_models_is_right() {
        explore("the twins' model, orderings as they are", two_threads(take_write, leave_write));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_writer_that_leaves_relaxed() {
        loom::model(two_threads(take_write, |word| word.store(0, Ordering::Relaxed)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_writer_that_enters_relaxed() {
        let enter = |word: &ProtocolU64| {
            word.compare_exchange(0, u64::MAX, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        loom::model(two_threads(enter, leave_write));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_writer_that_looks_before_it_enters() {
        let enter = |word: &ProtocolU64| {
            let free = word.load(Ordering::Acquire) == 0;
            word.store(u64::MAX, Ordering::Release);
            free
        };
        loom::model(two_threads(enter, leave_write));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_reader_that_leaves_relaxed() {
        loom::model(|| {
            let shared = word();
            let other = Arc::clone(&shared);
            let reader = thread::spawn(move || {
                if take_read(&other.protocol) {
                    _ = other.read();
                    _ = other.protocol.fetch_sub(1, Ordering::Relaxed);
                }
            });
            _ = try_write(&shared);
            reader.join().expect("it does not panic");
        });
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_claim_that_is_taken_relaxed() {
        let enter = |word: &ProtocolU64| word.swap(1, Ordering::Relaxed) == 0;
        loom::model(two_threads(enter, |word| word.store(0, Ordering::Release)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_claim_that_is_left_relaxed() {
        let enter = |word: &ProtocolU64| word.swap(1, Ordering::Acquire) == 0;
        loom::model(two_threads(enter, |word| word.store(0, Ordering::Relaxed)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_claim_that_is_left_by_the_row_that_was_refused() {
        loom::model(|| {
            let shared = words();
            let act = |shared: &Guarded<ClaimWords>, row: u32| {
                let mine = shared.protocol.take(5, row, 0);
                if mine.is_ok() {
                    shared.write();
                }
                shared.protocol.leave(5, mine.unwrap_or(0));
            };
            let threads = [1, 2].map(|row| {
                let other = Arc::clone(&shared);
                thread::spawn(move || act(&other, row))
            });
            act(&shared, 3);
            for thread in threads {
                thread.join().expect("it does not panic");
            }
        });
    }
}
