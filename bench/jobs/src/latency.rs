//! Latencies that cannot be measured by repeating a frame: sleeping, waking, and lost wake-ups.

use std::cell::Cell;
use std::time::{Duration, Instant};
use std::{hint, thread};

use cpu_time::ProcessTime;

use crate::columns::{Column, Outside};
use crate::model::mixed;
use crate::rows::Kind;
use crate::signal::Signal;

/// A job that has not started after this long is stuck.
const STUCK: Duration = Duration::from_millis(1_500);
/// Long enough for every pool to go to sleep.
const SETTLE: Duration = Duration::from_millis(50);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) wakes: usize,
    pub(crate) pushes: usize,
    /// How long threads idle, and are fed one job at a time.
    pub(crate) idle: Duration,
    pub(crate) rounds: u32,
}

impl Effort {
    pub(crate) const FULL: Self =
        Self { wakes: 400, pushes: 20_000, idle: Duration::from_secs(1), rounds: 3 };
    pub(crate) const QUICK: Self =
        Self { wakes: 20, pushes: 200, idle: Duration::from_millis(100), rounds: 1 };
}

type ByColumn = Vec<Option<f64>>;

/// The figures of the row with this name, by column.
pub(crate) struct Sleeping {
    pub(crate) name: &'static str,
    pub(crate) figures: ByColumn,
}

/// Measures all rows of a kind, in all columns that have it.
pub(crate) fn measure(
    kind: Kind,
    columns: &[Column],
    threads: usize,
    effort: Effort,
) -> Vec<Sleeping> {
    match kind {
        Kind::Wake => wake(columns, threads, effort),
        Kind::Idle => vec![alone("idle_cpu", columns, threads, effort, idle)],
        Kind::Trickle => vec![trickle(columns, threads, effort)],
        Kind::LostWakeUps => vec![lost_wake_ups(columns, threads, effort)],
        _ => Vec::new(),
    }
}

/// Pushes a job to threads that sleep, again and again, a column after the other.
fn wake(columns: &[Column], threads: usize, effort: Effort) -> Vec<Sleeping> {
    let pools: Vec<_> = columns.iter().map(|column| (column.outside)(threads)).collect();
    let signal = Signal::leaked();
    let mut samples = vec![Vec::new(); columns.len()];
    for round in 0..effort.wakes {
        for step in 0..pools.len() {
            let at = (step + round) % pools.len();
            let Some(pool) = &pools[at] else { continue };
            thread::sleep(Duration::from_millis(2));
            let before = signal.count();
            let start = Instant::now();
            pool.push(signal, &|| _ = signal.wait(before, STUCK));
            samples[at].push(signal.after(start));
        }
    }
    samples.iter_mut().for_each(|samples| samples.sort_unstable());
    let quantile = |name, part: f64| {
        let of = |samples: &Vec<Duration>| {
            let last = samples.len().checked_sub(1)?;
            Some(samples[(last as f64 * part) as usize].as_nanos() as f64 / 1e3)
        };
        Sleeping { name, figures: samples.iter().map(of).collect() }
    };
    vec![quantile("wake_p50", 0.5), quantile("wake_p95", 0.95)]
}

/// Measures each column while its pool is the only one, several times, and keeps the least.
fn alone(
    name: &'static str,
    columns: &[Column],
    threads: usize,
    effort: Effort,
    once: fn(&dyn Outside, &'static Signal, Effort) -> f64,
) -> Sleeping {
    let signal = Signal::leaked();
    let mut figures: ByColumn = vec![None; columns.len()];
    for _ in 0..effort.rounds {
        for (column, figure) in columns.iter().zip(&mut figures) {
            let Some(pool) = (column.outside)(threads) else { continue };
            // It has worked before it idles.
            let before = signal.count();
            pool.push(signal, &|| _ = signal.wait(before, STUCK));
            thread::sleep(SETTLE);
            let value = once(&*pool, signal, effort);
            *figure = Some(figure.unwrap_or(f64::MAX).min(value));
        }
    }
    Sleeping { name, figures }
}

/// Microseconds of processor time in a second.
fn idle(_pool: &dyn Outside, _signal: &'static Signal, effort: Effort) -> f64 {
    let cpu = ProcessTime::now();
    thread::sleep(effort.idle);
    cpu.elapsed().as_nanos() as f64 / 1e3 / effort.idle.as_secs_f64()
}

/// One job each millisecond; what it costs beyond a loop that runs it itself.
fn trickle(columns: &[Column], threads: usize, effort: Effort) -> Sleeping {
    let mut row = alone("trickle_cpu", columns, threads, effort, |pool, signal, effort| {
        fed(effort, || {
            let before = signal.count();
            pool.push(signal, &|| _ = signal.wait(before, STUCK));
        })
    });
    let signal = Signal::leaked();
    let by_itself = (0..effort.rounds).map(|_| fed(effort, || signal.ring()));
    let by_itself = by_itself.fold(f64::MAX, f64::min);
    for figure in &mut row.figures {
        *figure = figure.map(|cpu| cpu - by_itself);
    }
    row
}

/// Microseconds of processor time for one job.
fn fed(effort: Effort, mut job: impl FnMut()) -> f64 {
    let jobs = effort.idle.as_millis() as u32;
    let cpu = ProcessTime::now();
    for _ in 0..jobs {
        job();
        thread::sleep(Duration::from_millis(1));
    }
    cpu.elapsed().as_nanos() as f64 / 1e3 / f64::from(jobs)
}

/// Pushes at odd moments, many of them just when a thread falls asleep, and counts what does not
/// start.
fn lost_wake_ups(columns: &[Column], threads: usize, effort: Effort) -> Sleeping {
    let signal = Signal::leaked();
    let count = |pool: Box<dyn Outside>| {
        let stuck = Cell::new(0_u32);
        for push in 0..effort.pushes {
            // Long enough that threads often are about to fall asleep.
            (0..mixed(push as u64) % 2_000).for_each(|_| hint::spin_loop());
            let before = signal.count();
            pool.push(signal, &|| {
                let looks = |_| {
                    hint::spin_loop();
                    signal.count() > before
                };
                if !(0..500).any(looks) && !signal.wait(before, STUCK) {
                    stuck.set(stuck.get() + 1);
                }
            });
        }
        f64::from(stuck.get())
    };
    let figures = columns.iter().map(|column| (column.outside)(threads).map(count)).collect();
    Sleeping { name: "lost_wake_ups", figures }
}
