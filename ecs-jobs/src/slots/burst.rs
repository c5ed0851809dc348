//! Slots for a burst of jobs, which are given back after it.

use super::slot::{JobId, Slot};
use crate::sync::{Arc, Mutex};

/// How many slots a segment has, and how many segments there are at most.
pub(super) const LEN: u32 = if cfg!(loom) { 2 } else { 1 << 14 };
const SEGMENT_COUNT_MAX: u32 = 1 << 10;
/// How many slots there are at most.
pub(super) const COUNT_MAX: u32 = LEN * SEGMENT_COUNT_MAX;

/// The slots of a segment, as long as anyone looks at one of them.
pub(super) type Shared = Arc<Box<[Slot]>>;

/// Segments of slots that come and go.
///
/// A segment whose slots are all free goes, but for one, so that a number of jobs that goes up and
/// down at its border costs nothing. Slots are taken from the first segment that has one, so that
/// the last ones become empty. A thread that looks at a slot has a share in its segment.
#[derive(Debug)]
pub(super) struct BurstSlots(Mutex<Segments>);

#[derive(Debug)]
struct Segments {
    list: Vec<Segment>,
    /// No segment before this one has a free slot.
    first_free: usize,
    /// How many segments are there and empty.
    empty_count: usize,
    /// Above the generation of every job that has ended here: that of the first jobs of a new segment,
    /// so that no old id stands for a new job.
    generation: u32,
}

#[derive(Debug, Default)]
struct Segment {
    slots: Option<Shared>,
    /// The free ones.
    free: Vec<u32>,
    /// For each slot the generation of the last job whose failure is not remembered by name any
    /// more. Empty as long as there is none; it stays when the slots go.
    forgotten: Vec<u32>,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.free.len() == LEN as usize
    }
}

impl BurstSlots {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Segments {
            list: Vec::new(),
            first_free: 0,
            empty_count: 0,
            generation: JobId::GENERATION_FIRST,
        }))
    }

    /// Takes a free slot, and returns its number; `None` if there are too many.
    pub(super) fn take(&self) -> Option<(u32, Shared)> {
        let mut segments = self.0.lock();
        loop {
            let number = segments.first_free;
            if number == SEGMENT_COUNT_MAX as usize {
                return None;
            }
            if number == segments.list.len() {
                segments.list.push(Segment::default());
            }
            if segments.list[number].slots.is_none() {
                segments.make(number);
            }
            let segment = &mut segments.list[number];
            let was_empty = segment.is_empty();
            if let (Some(index), Some(slots)) = (segment.free.pop(), &segment.slots) {
                let slots = Arc::clone(slots);
                segments.empty_count -= usize::from(was_empty);
                return Some((index, slots));
            }
            segments.first_free += 1;
        }
    }

    /// The segment of a slot, unless it has gone: then all its jobs have ended, and what they did is
    /// visible.
    pub(super) fn get(&self, index: u32) -> Option<Shared> {
        self.0.lock().list[(index / LEN) as usize].slots.clone()
    }

    /// Gives back a slot whose job of this generation has ended. Returns what is to be dropped.
    pub(super) fn give_back(&self, index: u32, generation: u32) -> Option<Shared> {
        let mut segments = self.0.lock();
        segments.generation = segments.generation.max(generation + 1);
        let number = (index / LEN) as usize;
        segments.first_free = segments.first_free.min(number);
        let segment = &mut segments.list[number];
        segment.free.push(index);
        if !segment.is_empty() {
            return None;
        }
        if segments.empty_count == 0 {
            segments.empty_count = 1;
            return None;
        }
        let segment = &mut segments.list[number];
        segment.free = Vec::new();
        segment.slots.take()
    }

    /// Notes that the failure of a slot's job in this generation is not remembered by name any more.
    pub(super) fn forget_failure(&self, index: u32, generation: u32) {
        let mut segments = self.0.lock();
        let forgotten = &mut segments.list[(index / LEN) as usize].forgotten;
        forgotten.resize(LEN as usize, 0);
        let last = &mut forgotten[(index % LEN) as usize];
        *last = generation.max(*last);
    }

    /// Whether a failure of a job that had this slot, in this generation or a later one, was
    /// forgotten.
    pub(super) fn has_forgotten(&self, index: u32, generation: u32) -> bool {
        let segments = self.0.lock();
        let forgotten = &segments.list[(index / LEN) as usize].forgotten;
        forgotten.get((index % LEN) as usize).is_some_and(|&last| last >= generation)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn segment_count(&self) -> usize {
        self.0.lock().list.iter().filter(|segment| segment.slots.is_some()).count()
    }
}

impl Segments {
    fn make(&mut self, number: usize) {
        let generation = self.generation;
        let slot = |_| Slot::of_generation(generation);
        let slots = (0..LEN).map(slot).collect();
        let first = LEN * u32::try_from(number).expect("there are a thousand");
        let free = (first..first + LEN).rev().collect();
        let segment = &mut self.list[number];
        (segment.slots, segment.free) = (Some(Arc::new(slots)), free);
        self.empty_count += 1;
    }
}
