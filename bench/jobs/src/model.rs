//! The workload of the rows: the bodies, the graph and the checksums, the same for every column.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Items of the flat loops with tiny bodies.
pub(crate) const ITEMS: usize = 1_000_000;
/// Jobs of the graph, and how many of them wait for each other in a row.
pub(crate) const GRAPH_JOBS: usize = 1_000;
/// Rows that each do something to an entity that they share with others.
pub(crate) const EFFECTS: usize = 200_000;
pub(crate) const GRAPH_DEPTH: usize = 64;

/// A well mixed number (SplitMix64's finaliser).
pub(crate) const fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

/// The tiny body.
#[inline(always)]
pub(crate) const fn step(value: u32) -> u32 {
    (value ^ value >> 7).wrapping_mul(3).wrapping_add(0x9e37)
}

/// The tiny body over a batch. Never inlined, so that all columns run the same machine code.
#[inline(never)]
pub(crate) fn step_all(batch: &mut [u32]) {
    for value in batch {
        *value = step(*value);
    }
}

pub(crate) fn items() -> Vec<u32> {
    (0..ITEMS as u32).collect()
}

pub(crate) fn sum_items(items: impl Iterator<Item = u32>) -> u64 {
    items.fold(0, |sum, item| sum.wrapping_add(mixed(u64::from(item))))
}

/// How many joins `fib(n)` makes.
pub(crate) const fn joins(n: u32) -> usize {
    if n < 2 { 0 } else { 1 + joins(n - 1) + joins(n - 2) }
}

/// Arithmetic that takes about a nanosecond a round.
#[inline(never)]
pub(crate) fn grind(seed: u64, rounds: u32) -> u64 {
    let mut state = seed | 1;
    for _ in 0..rounds {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(17) ^ seed;
    }
    state
}

/// Joins down to leaves of the same or of different lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinTree {
    seed: u64,
    leaves: u32,
    /// What a leaf takes at most, in rounds of [`grind`].
    rounds: u32,
    is_uneven: bool,
}

impl JoinTree {
    /// Eight leaves of about two milliseconds each, three joins deep.
    pub(crate) const COARSE: Self =
        Self { seed: 1, leaves: 8, rounds: 2_000_000, is_uneven: false };
    /// Leaves of up to 40 us, the tree split at random places.
    pub(crate) const RANDOM: Self =
        Self { seed: 1, leaves: 1_000, rounds: 40_000, is_uneven: true };

    /// The two halves, and nothing of a leaf.
    pub(crate) fn halves(self) -> Option<(Self, Self)> {
        let rest = self.leaves.checked_sub(2)?;
        let random = (mixed(self.seed) % u64::from(rest + 1)) as u32;
        let left = 1 + if self.is_uneven { random } else { rest / 2 };
        let half = |seed, leaves| Self { seed: mixed(seed), leaves, ..self };
        Some((half(self.seed, left), half(!self.seed, self.leaves - left)))
    }

    /// What a leaf does.
    pub(crate) fn run(self) -> u64 {
        let random = (mixed(!self.seed) % u64::from(self.rounds)) as u32;
        grind(self.seed, if self.is_uneven { random } else { self.rounds })
    }
}

/// A loop whose indices take very different times: one in a hundred is heavy.
pub(crate) struct Imbalanced {
    sum: AtomicU64,
}

impl Imbalanced {
    pub(crate) const LEN: usize = 4_096;

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { sum: AtomicU64::new(0) })
    }

    pub(crate) fn visit(&self, index: usize) {
        let mixed = mixed(index as u64);
        let rounds = if mixed.is_multiple_of(100) { 20_000 } else { 100 };
        self.sum.fetch_add(grind(mixed, rounds), Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

/// Jobs that do nothing but note that they ran, and wait for two of the layer above.
pub(crate) struct Graph {
    pub(crate) before: Vec<Vec<usize>>,
    pub(crate) after: Vec<Vec<usize>>,
    runs: Vec<AtomicU32>,
}

impl Graph {
    pub(crate) fn new() -> Arc<Self> {
        let layer = |job: usize| job * GRAPH_DEPTH / GRAPH_JOBS;
        let mut before = vec![Vec::new(); GRAPH_JOBS];
        let mut after = vec![Vec::new(); GRAPH_JOBS];
        for job in 0..GRAPH_JOBS {
            let Some(above) = layer(job).checked_sub(1) else { continue };
            let above: Vec<_> = (0..job).filter(|&other| layer(other) == above).collect();
            for edge in 0..2 {
                let chosen = above[mixed((2 * job + edge) as u64) as usize % above.len()];
                if !before[job].contains(&chosen) {
                    before[job].push(chosen);
                    after[chosen].push(job);
                }
            }
        }
        let runs = (0..GRAPH_JOBS).map(|_| AtomicU32::new(0)).collect();
        Arc::new(Self { before, after, runs })
    }

    /// What a job does: counts itself, without a locked instruction, for no other job has its
    /// place.
    #[inline(always)]
    pub(crate) fn run(&self, job: usize) {
        let count = self.runs[job].load(Ordering::Relaxed);
        self.runs[job].store(count + 1, Ordering::Relaxed);
    }

    /// The jobs that wait for no job.
    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..GRAPH_JOBS).filter(|&job| self.before[job].is_empty())
    }

    pub(crate) fn sum(&self) -> u64 {
        let runs = self.runs.iter().enumerate();
        runs.fold(0, |sum, (job, runs)| {
            sum.wrapping_add(mixed(job as u64) * u64::from(runs.load(Ordering::Relaxed)))
        })
    }
}

/// For each job of a [`Graph`], how many it still waits for: what columns need that have no
/// handles.
pub(crate) struct Countdown(Vec<AtomicU32>);

impl Countdown {
    pub(crate) fn new() -> Self {
        Self((0..GRAPH_JOBS).map(|_| AtomicU32::new(0)).collect())
    }

    pub(crate) fn reset(&self, graph: &Graph) {
        for (waiting, before) in self.0.iter().zip(&graph.before) {
            waiting.store(before.len() as u32, Ordering::Relaxed);
        }
    }

    /// Whether the job waits for no job any more.
    #[inline(always)]
    pub(crate) fn is_ready(&self, job: usize) -> bool {
        self.0[job].fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// A count that jobs of a scope add to.
pub(crate) fn counter() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(0))
}
