//! Slots for bursts of jobs, which are freed after the burst.

use super::slot::{JobId, JobSlot};
use crate::sync::{Arc, Mutex};
use std::collections::VecDeque;

/// The number of slots in a segment, and the maximum number of segments.
pub(super) const LEN: u32 = super::COUNTS.2;
const SEGMENT_COUNT_MAX: u32 = 1 << 10;
/// The maximum number of slots.
pub(super) const COUNT_MAX: u32 = LEN * SEGMENT_COUNT_MAX;

/// The slots of a segment, shared by the threads that use one of them.
pub(super) type Shared = Arc<Box<[JobSlot]>>;

/// Segments of slots that are allocated and freed with bursts.
///
/// A segment whose slots are all free is freed, except for one, so that a number of jobs that oscillates
/// around a segment boundary costs nothing. Slots are taken from the first segment that has a free one,
/// so that the last segments become empty. A thread that uses a slot holds a reference to its segment, or
/// the slot's `Claimed`.
#[derive(Debug)]
pub(super) struct BurstSlots(Mutex<Segments>);

#[derive(Debug)]
struct Segments {
    list: Vec<Segment>,
    /// No segment before this index has a free slot.
    first_free: usize,
    /// The number of allocated segments without a taken slot.
    empty_count: usize,
}

#[derive(Debug)]
struct Segment {
    slots: Option<Shared>,
    /// The free slots. The slot that has been free longest is taken first: so all slots have the same
    /// number of jobs, and it takes years until one of them has used up its generations.
    free: VecDeque<u32>,
    /// A generation above that of every job that has ended here. When the segment is allocated again, its
    /// first jobs get this generation, so that no old id refers to a new job.
    generation: u32,
}

impl Segment {
    fn new() -> Self {
        Self { slots: None, free: VecDeque::new(), generation: JobId::GENERATION_FIRST }
    }

    fn is_empty(&self) -> bool {
        self.free.len() == LEN as usize
    }
}

impl BurstSlots {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Segments { list: Vec::new(), first_free: 0, empty_count: 0 }))
    }

    /// Takes a free slot, and returns its index; `None` if all are taken.
    pub(super) fn take(&self) -> Option<(u32, Shared)> {
        let mut segments = self.0.lock();
        loop {
            let number = segments.first_free;
            if number == SEGMENT_COUNT_MAX as usize {
                return None;
            }
            if number == segments.list.len() {
                segments.list.push(Segment::new());
            }
            if segments.list[number].slots.is_none() {
                segments.make(number);
            }
            let segment = &mut segments.list[number];
            let was_empty = segment.is_empty();
            if let (Some(index), Some(slots)) = (segment.free.pop_front(), &segment.slots) {
                let slots = Arc::clone(slots);
                segments.empty_count -= usize::from(was_empty);
                return Some((index, slots));
            }
            segments.first_free += 1;
        }
    }

    /// The segment of a slot, unless it has been freed. In that case all its jobs have ended, and their
    /// effects are visible.
    pub(super) fn get(&self, index: u32) -> Option<Shared> {
        self.0.lock().list[(index / LEN) as usize].slots.clone()
    }

    /// Frees the slot of a job of this generation that has ended. Returns the segment for the caller to
    /// drop, if all its slots are free and another such segment is kept.
    pub(super) fn give_back(&self, index: u32, generation: u32) -> Option<Shared> {
        let mut segments = self.0.lock();
        let number = (index / LEN) as usize;
        segments.first_free = segments.first_free.min(number);
        let segment = &mut segments.list[number];
        segment.generation = segment.generation.max(generation + 1);
        segment.free.push_back(index);
        if !segment.is_empty() {
            return None;
        }
        if segments.empty_count == 0 {
            segments.empty_count = 1;
            return None;
        }
        let segment = &mut segments.list[number];
        segment.free = VecDeque::new();
        segment.slots.take()
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn segment_count(&self) -> usize {
        self.0.lock().list.iter().filter(|segment| segment.slots.is_some()).count()
    }
}

impl Segments {
    fn make(&mut self, number: usize) {
        let segment = &mut self.list[number];
        let slots = (0..LEN).map(|_| JobSlot::of_generation(segment.generation)).collect();
        let first = LEN * u32::try_from(number).expect("there are a thousand");
        (segment.slots, segment.free) = (Some(Arc::new(slots)), (first..first + LEN).collect());
        self.empty_count += 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Takes a slot for one job and frees it; returns its index and its generation.
    fn one_job(burst: &BurstSlots) -> (u32, u32) {
        let (index, slots) = burst.take().expect("there is one");
        let slot = &slots[(index % LEN) as usize];
        let id = slot.id(index);
        slot.set_generation(id.generation() + 1);
        burst.give_back(index, id.generation());
        (index, id.generation())
    }

    #[test]
    fn no_slot_of_a_burst_is_used_up_before_the_others() {
        let burst = BurstSlots::new();
        let jobs = (0..3 * LEN).map(|_| one_job(&burst));
        let last = jobs.map(|(_, generation)| generation).max();
        assert_eq!(last, Some(JobId::GENERATION_FIRST + 2));
    }

    #[test]
    fn a_segment_whose_generations_are_used_up_leaves_those_of_the_others() {
        let burst = BurstSlots::new();
        let of_two = |burst: &BurstSlots| -> Vec<u32> {
            (0..2 * LEN).map(|_| burst.take().expect("there is one").0).collect()
        };
        let give_back = |index: u32, generation| drop(burst.give_back(index, generation));
        let taken = of_two(&burst);
        let old = |index: u32| JobId::GENERATION_MAX - 1 - u32::from(index >= LEN) * 1_000;
        taken.iter().for_each(|&index| give_back(index, old(index)));
        // The second segment is freed, and allocated again.
        let generation = |index: u32| {
            let slots = burst.get(index).expect("it is there");
            slots[(index % LEN) as usize].id(index).generation()
        };
        assert_eq!(burst.segment_count(), 1);
        assert_eq!(of_two(&burst).len(), taken.len());
        assert_eq!(generation(LEN), old(LEN) + 1);
    }
}
