//! The versions of each row of a tracked component: of its last change, and of its addition.

use alloc::boxed::Box;
use core::ops::Range;

use super::column_records::{ChangeWindow, Writers};
use crate::mask::Rows;
use crate::sync::{AtomicU64, Ordering};

/// The versions of the rows of one tracked component in one chunk. They are stored outside the blocks, so
/// that a search for changes reads no value.
#[derive(Debug)]
pub struct ChunkVersions {
    /// The version at which each value was last borrowed for writing, or replaced.
    pub(crate) changed: Stamps,
    /// The version at which each entity got the component.
    pub(crate) added: Stamps,
}

/// A version per row, with a summary of every 64 rows.
///
/// ```text
/// rows    [ 3  3  9  0 ...             ]     64 stamps each
/// groups  [ newest 9 floor 3 low 9 mask 0b100 ][ ... ]
/// ```
///
/// The mask answers which rows are stamped above a version that is at least `floor` and below `low`. No
/// row is stamped above a version that is at least `newest`. All other questions have to compare stamps.
///
/// All accesses are relaxed: a stamp says that something was written and publishes no data. A reader is
/// ordered after the writer by the schedule, or by `&mut World`.
///
/// A caller with exclusive access to the world also writes through shared references: views keep the
/// addresses of the versions of chunks (I-23), which an exclusive reference to the versions would
/// invalidate.
#[derive(Debug)]
pub(crate) struct Stamps {
    rows: Box<[AtomicU64]>,
    groups: Box<[Group]>,
}

/// The summary of 64 rows (I-14).
#[derive(Debug)]
struct Group {
    /// No row has a stamp above this.
    newest: AtomicU64,
    /// Every row with a stamp above this has its bit set.
    floor: AtomicU64,
    /// Every row whose bit is set has at least this stamp.
    low: AtomicU64,
    mask: AtomicU64,
}

const GROUP: usize = 64;

impl Default for Group {
    fn default() -> Self {
        Self {
            newest: AtomicU64::new(0),
            floor: AtomicU64::new(0),
            low: AtomicU64::new(u64::MAX >> 1),
            mask: AtomicU64::new(0),
        }
    }
}

impl Group {
    /// Adds rows that are stamped with the version of this window, which is not below `newest`.
    #[inline]
    fn mark(&self, newest: u64, bits: u64, window: ChangeWindow) {
        let version = window.version;
        if version > newest {
            self.newest.store(version, Ordering::Relaxed);
            // As a rule, no query asks about a version below `newest` any more: begin a new mask. Other
            // threads that mark at the same time would lose their bits, so only a single writer does
            // this.
            if newest <= window.newest_run && window.writers == Writers::One {
                self.floor.store(newest, Ordering::Relaxed);
                self.low.store(version, Ordering::Relaxed);
                self.mask.store(bits, Ordering::Relaxed);
                return;
            }
        }
        self.add(bits, window);
    }

    /// Adds rows to the mask.
    #[inline]
    fn add(&self, bits: u64, window: ChangeWindow) {
        // Threads that share a version store the same value.
        if window.version < self.low.load(Ordering::Relaxed) {
            self.low.store(window.version, Ordering::Relaxed);
        }
        if window.writers == Writers::Several {
            _ = self.mask.fetch_or(bits, Ordering::Relaxed);
        } else {
            self.mask.store(self.mask.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
        }
    }

    /// Adds the stamp of a row that has just come to its place.
    fn enter(&self, bit: u64, version: u64) {
        let [newest, floor, low, mask] = self.words();
        self.newest.store(version.max(newest), Ordering::Relaxed);
        if version > floor {
            self.mask.store(mask | bit, Ordering::Relaxed);
            self.low.store(version.min(low), Ordering::Relaxed);
        } else {
            self.mask.store(mask & !bit, Ordering::Relaxed);
        }
    }

    /// Returns `newest`, `floor`, `low` and `mask`.
    #[inline]
    fn words(&self) -> [u64; 4] {
        [&self.newest, &self.floor, &self.low, &self.mask].map(|word| word.load(Ordering::Relaxed))
    }

    /// Removes a row that leaves.
    fn leave(&self, bit: u64) {
        self.mask.store(self.mask.load(Ordering::Relaxed) & !bit, Ordering::Relaxed);
    }
}

impl Stamps {
    fn new(capacity: usize) -> Self {
        Self {
            rows: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            groups: (0..capacity.div_ceil(GROUP)).map(|_| Group::default()).collect(),
        }
    }

    /// Returns the version of one row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        self.rows[row].load(Ordering::Relaxed)
    }

    /// Stamps a row. A later stamp is kept.
    #[inline]
    pub(crate) fn mark(&self, row: usize, window: ChangeWindow) {
        let (stamp, group) = (&self.rows[row], &self.groups[row / GROUP]);
        let newest = group.newest.load(Ordering::Relaxed);
        if window.version < newest {
            self.mark_late(row, window);
            return;
        }
        // The stamp is not read: it is far from everything else that is accessed here.
        stamp.store(window.version, Ordering::Relaxed);
        group.mark(newest, 1 << (row % GROUP), window);
    }

    /// Stamps a row of a group that has later stamps, for a version slot that comes late.
    #[cold]
    fn mark_late(&self, row: usize, window: ChangeWindow) {
        let stamp = &self.rows[row];
        if stamp.load(Ordering::Relaxed) < window.version {
            stamp.store(window.version, Ordering::Relaxed);
            self.groups[row / GROUP].add(1 << (row % GROUP), window);
        }
    }

    /// Stamps a range of rows.
    #[inline]
    pub(crate) fn mark_run(&self, rows: Range<usize>, window: ChangeWindow) {
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min((start / GROUP + 1) * GROUP);
            let group = &self.groups[start / GROUP];
            let newest = group.newest.load(Ordering::Relaxed);
            if window.version < newest {
                (start..end).for_each(|row| self.mark_late(row, window));
            } else {
                for stamp in &self.rows[start..end] {
                    stamp.store(window.version, Ordering::Relaxed);
                }
                let bits = u64::MAX >> (GROUP - (end - start)) << (start % GROUP);
                group.mark(newest, bits, window);
            }
            start = end;
        }
    }

    /// Writes the stamp of a row that has just come to its place.
    fn set(&self, row: usize, version: u64) {
        self.rows[row].store(version, Ordering::Relaxed);
        self.groups[row / GROUP].enter(1 << (row % GROUP), version);
    }

    /// Removes a row, and returns its stamp.
    fn take(&self, row: usize) -> u64 {
        self.groups[row / GROUP].leave(1 << (row % GROUP));
        let stamp = self.get(row);
        self.rows[row].store(0, Ordering::Relaxed);
        stamp
    }

    /// Narrows the rows of a chunk with `len` rows to those stamped after `since`.
    #[inline]
    pub(crate) fn keep_after(&self, since: u64, len: usize, rows: &mut Rows) {
        // The caller may pass any number; no version is as large as this.
        let since = since.min(u64::MAX >> 1);
        rows.keep_words(len, |index| self.after(index, since));
    }

    /// Returns a bit for each of 64 rows: whether it was stamped after `since`.
    #[inline]
    fn after(&self, index: usize, since: u64) -> u64 {
        let [newest, floor, low, mask] = self.groups[index].words();
        // The sign bit says whether a version is above `since`: versions are far below 2^63. Whether a
        // group has changed is unpredictable, so the only branch is on the rare case that the mask is not
        // the answer.
        let [any, floor, low] = [newest, floor, low].map(|version| since.wrapping_sub(version));
        if (any & (floor | !low)) >> 63 != 0 {
            return self.compare(index, since, if floor >> 63 == 0 { mask } else { u64::MAX });
        }
        mask & (any >> 63).wrapping_neg()
    }

    /// Compares the stamps of the candidates, which is slow.
    #[cold]
    fn compare(&self, index: usize, since: u64, candidates: u64) -> u64 {
        let start = index * GROUP;
        let stamps = &self.rows[start..self.rows.len().min(start + GROUP)];
        let mut found = 0;
        for (bit, stamp) in stamps.iter().enumerate() {
            // Versions are far below 2^63, so the sign bit says which is greater.
            let later = since.wrapping_sub(stamp.load(Ordering::Relaxed)) >> 63;
            found |= later << bit;
        }
        found & candidates
    }

    /// Returns whether the summaries are true (I-14), for a chunk with this many rows.
    fn check(&self, len: usize, version: u64) -> bool {
        let group_holds = |(index, group): (usize, &Group)| {
            let [newest, floor, low, mask] = group.words();
            let start = index * GROUP;
            let stamps = &self.rows[start..self.rows.len().min(start + GROUP)];
            newest <= version
                && stamps.iter().enumerate().all(|(bit, stamp)| {
                    let stamp = stamp.load(Ordering::Relaxed);
                    let is_set = mask & (1 << bit) != 0;
                    let is_row = start + bit < len;
                    stamp <= newest
                        && (stamp <= floor || is_set)
                        && (!is_set || (is_row && stamp >= low))
                        && (is_row == (stamp > 0))
                })
        };
        self.groups.iter().enumerate().all(group_holds)
    }
}

impl ChunkVersions {
    /// Creates the versions of a chunk without rows.
    pub(super) fn new(capacity: usize) -> Self {
        Self { changed: Stamps::new(capacity), added: Stamps::new(capacity) }
    }

    /// Writes both versions of a row.
    pub(crate) fn set(&self, row: usize, changed: u64, added: u64) {
        self.changed.set(row, changed);
        self.added.set(row, added);
    }

    /// Copies to these rows the versions of as many rows from `start` on, in another chunk or later in
    /// this one. `changed`, if given, replaces the versions of the last change.
    pub(super) fn copy_rows(
        &self,
        rows: Range<usize>,
        from: &Self,
        start: usize,
        changed: Option<u64>,
    ) {
        for (row, source) in rows.zip(start..) {
            let changed = changed.unwrap_or_else(|| from.changed.get(source));
            self.set(row, changed, from.added.get(source));
        }
    }

    /// Removes rows.
    pub(super) fn pop_rows(&self, rows: Range<usize>) {
        for row in rows {
            _ = self.changed.take(row);
            _ = self.added.take(row);
        }
    }

    /// Returns whether all summaries are true, see [`Stamps::check`].
    pub(super) fn check(&self, len: usize, version: u64) -> bool {
        self.changed.check(len, version) && self.added.check(len, version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use alloc::vec::Vec;

    const LEN: usize = 150;

    fn found(stamps: &Stamps, since: u64) -> Vec<usize> {
        let mut rows = Rows::All;
        stamps.keep_after(since, LEN, &mut rows);
        (0..LEN).filter(|&row| rows.contains(row)).collect()
    }

    /// Two threads have both read the summary of a group before either of them stamps a row.
    #[test]
    fn several_writers_do_not_begin_a_new_mask_each() {
        let stamps = Stamps::new(LEN);
        (0..LEN).for_each(|row| stamps.set(row, 1));
        let window = ChangeWindow {
            version: 5,
            since: 0,
            newest_run: 5,
            writers: Writers::Several,
            shard: None,
        };
        let group = &stamps.groups[0];
        let newest = group.newest.load(Ordering::Relaxed);
        for row in [3, 40] {
            stamps.rows[row].store(window.version, Ordering::Relaxed);
            group.mark(newest, 1 << row, window);
        }
        assert_eq!(found(&stamps, 4), [3, 40]);
        assert!(stamps.check(LEN, window.version));
    }

    #[test]
    fn what_is_found_is_what_the_stamps_say_whoever_asked_before() {
        let mut random = RandomStream::new(7);
        let stamps = Stamps::new(LEN);
        let mut model = [1_u64; LEN];
        (0..LEN).for_each(|row| stamps.set(row, 1));
        let mut version = 1;
        for _ in 0..if cfg!(miri) { 12 } else { 2000 } {
            let next = |random: &mut RandomStream, below: usize| {
                usize::try_from(random.next_u64() % below as u64).expect("small")
            };
            version += next(&mut random, 3) as u64;
            // A version slot that comes late stamps with a lower version than the newest.
            let window = ChangeWindow {
                version: version.saturating_sub(next(&mut random, 3) as u64).max(1),
                since: 0,
                newest_run: version.saturating_sub(next(&mut random, 6) as u64),
                writers: [Writers::Several, Writers::One][next(&mut random, 4).min(1)],
                shard: None,
            };
            let row = next(&mut random, LEN);
            match next(&mut random, 4) {
                0 => {
                    let rows = row..LEN.min(row + 1 + next(&mut random, 80));
                    stamps.mark_run(rows.clone(), window);
                    model[rows].iter_mut().for_each(|stamp| *stamp = window.version.max(*stamp));
                }
                1 => {
                    let last = stamps.take(LEN - 1);
                    assert_eq!(last, model[LEN - 1]);
                    stamps.set(row, last);
                    stamps.set(LEN - 1, window.version);
                    model[row] = last;
                    model[LEN - 1] = window.version;
                }
                _ => {
                    stamps.mark(row, window);
                    model[row] = window.version.max(model[row]);
                }
            }
            assert!(stamps.check(LEN, version));
            for since in [0, version.saturating_sub(4), version - 1, version, u64::MAX] {
                let expected: Vec<usize> = (0..LEN).filter(|&row| model[row] > since).collect();
                assert_eq!(found(&stamps, since), expected, "since {since} at {version}");
            }
        }
    }
}
