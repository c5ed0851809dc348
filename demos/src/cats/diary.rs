//! A diary of the needs and actions of one cat.

use std::num::NonZeroU64;

use formic_ai::prelude::*;
use formic_ai::utility::{Reasoner, UtilityAgent};
use serde::{Deserialize, Serialize};

use super::mind::inputs;
use super::needs::{Hunger, Tiredness};

/// The state of one cat at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seconds: f32,
    pub(super) hunger: f32,
    pub(super) tiredness: f32,
    /// The scores of its options, as if none of them were running.
    pub(super) scores: [f32; 3],
    pub(super) choice: Option<usize>,
}

/// The diary of one cat. It never has more than [`Diary::ENTRIES_MAX`] entries: over a long life they are
/// further apart.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Diary {
    cat: Entity,
    tick_seconds: f32,
    ticks: u64,
    ticks_per_entry: NonZeroU64,
    entries: Vec<Entry>,
}

impl Diary {
    const ENTRIES_MAX: usize = 2_400;

    pub(super) fn new(cat: Entity, tick_seconds: f32) -> Self {
        Self { cat, tick_seconds, ticks: 0, ticks_per_entry: NonZeroU64::MIN, entries: Vec::new() }
    }

    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn note(&mut self, mut entry: Entry) {
        self.ticks += 1;
        if self.ticks % self.ticks_per_entry == 0 {
            entry.seconds = self.ticks as f32 * self.tick_seconds;
            self.entries.push(entry);
        }
        if self.entries.len() > Self::ENTRIES_MAX {
            self.ticks_per_entry = self.ticks_per_entry.saturating_add(self.ticks_per_entry.get());
            let mut place = 0;
            self.entries.retain(|_| {
                place += 1;
                place % 2 == 0
            });
        }
    }
}

/// Records the state of the diary's cat.
pub(super) fn keep_diary(
    mut diary: ResMut<Diary>,
    lookup: ComponentLookup<(&'static Hunger, &'static Tiredness, &'static UtilityAgent)>,
    reasoner: Res<Reasoner>,
) {
    let Ok((hunger, tiredness, agent)) = lookup.get(diary.cat) else { return };
    let scores = reasoner.scores(&inputs(hunger.0, tiredness.0));
    diary.note(Entry {
        seconds: 0.0,
        hunger: hunger.0,
        tiredness: tiredness.0,
        scores: std::array::from_fn(|option| scores[option]),
        choice: agent.current(),
    });
}
