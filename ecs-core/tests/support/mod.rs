//! Values whose drops and clones are counted, and can be told to panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use formic_ecs::Component;

/// Who has been made and dropped, by number. Copies of a value have numbers of their own.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Books>>);

#[derive(Default)]
struct Books {
    made: usize,
    /// How often each was dropped.
    dropped: Vec<usize>,
    /// The drop (counted from zero) that panics after it was written down.
    panic_at_drop: Option<usize>,
    panic_at_clone: Option<usize>,
    drops: usize,
    clones: usize,
}

impl Ledger {
    /// A value that is written down here.
    pub(crate) fn value(&self, number: u64) -> Counted {
        let mut books = self.0.lock().expect("no panic while it is locked");
        let id = books.made;
        books.made += 1;
        books.dropped.push(0);
        Counted { number, id, books: Self(Arc::clone(&self.0)), heap: Box::new(number) }
    }

    pub(crate) fn panic_at_drop(&self, nth: usize) {
        let mut books = self.0.lock().expect("no panic while it is locked");
        books.panic_at_drop = Some(books.drops + nth);
    }

    pub(crate) fn panic_at_clone(&self, nth: usize) {
        let mut books = self.0.lock().expect("no panic while it is locked");
        books.panic_at_clone = Some(books.clones + nth);
    }

    /// How many are alive. Panics where one was dropped twice.
    pub(crate) fn live(&self) -> usize {
        let books = self.0.lock().expect("no panic while it is locked");
        assert!(books.dropped.iter().all(|&times| times <= 1), "a value was dropped twice");
        books.made - books.drops
    }
}

/// One value: its number is kept on the heap, too, so that a use after its drop is found out.
pub(crate) struct Counted {
    number: u64,
    id: usize,
    books: Ledger,
    heap: Box<u64>,
}

impl Component for Counted {
    const HASH: formic_ecs::HashRule<Self> =
        formic_ecs::HashRule::Fields(formic_ecs::HashState::hash_state);
    const CLONE: Option<fn(&Self) -> Self> = Some(Self::clone);
}

impl formic_ecs::HashState for Counted {
    fn hash_state(&self, hasher: &mut formic_ecs::StateHasher) {
        hasher.write_u64(self.number());
    }
}

impl Counted {
    pub(crate) fn number(&self) -> u64 {
        assert_eq!(*self.heap, self.number);
        self.number
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        let panics = {
            let mut books = self.books.0.lock().expect("no panic while it is locked");
            books.clones += 1;
            books.panic_at_clone == Some(books.clones - 1)
        };
        assert!(!panics, "planned: clone");
        self.books.value(self.number())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let panics = {
            let mut books = self.books.0.lock().expect("no panic while it is locked");
            books.dropped[self.id] += 1;
            books.drops += 1;
            books.panic_at_drop == Some(books.drops - 1)
        };
        // A panic while another unwinds would end the process.
        assert!(!panics || std::thread::panicking(), "planned: drop");
    }
}

/// Whether `f` panics on purpose; any other panic goes on.
pub(crate) fn panics_as_planned(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) => match payload.downcast_ref::<&str>() {
            Some(message) if message.starts_with("planned") => true,
            _ => std::panic::resume_unwind(payload),
        },
    }
}
