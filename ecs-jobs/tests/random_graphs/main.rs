//! Random graphs of ten thousand jobs with handles against a sequential oracle; and, in
//! `prebuilt.rs`, graphs that are built once and run often.
//!
//! ```text
//! GRAPH_SECONDS=600 cargo test -p formic-jobs --release --test random_graphs -- --nocapture
//! ```
//!
//! Without `GRAPH_SECONDS` a few seeds are tried. `GRAPH_SEED` is the first one;
//! each that is tried is printed. The pool decides when and where a job runs, and
//! everything else follows from the seed.

mod prebuilt;
#[path = "../support/mod.rs"]
mod support;

use formic_jobs::{JobHandle, Pool};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{pool, within};

const JOBS: usize = if cfg!(miri) { 60 } else { 10_000 };
const LAYERS: usize = if cfg!(miri) { 8 } else { 64 };

/// SplitMix64: small, and good enough to draw graphs from.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

fn mixed(number: u64) -> u64 {
    let bits = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// What one job is to do.
#[derive(Default)]
struct Plan {
    /// Jobs that it is scheduled after.
    after: Vec<usize>,
    /// Whether it is scheduled after one handle that combines those.
    combines: bool,
    /// A job that it waits for while it runs.
    waits_for: Option<usize>,
    /// Whether it schedules a job of its own, after the one that it waits for,
    /// and completes it.
    has_child: bool,
    /// What else it calls in the pool: nothing, a scope, a join or a loop.
    call: usize,
    panics: bool,
    /// Idle rounds, so that jobs are not all equally short.
    rounds: usize,
}

/// What the oracle says of one job.
#[derive(Clone, Copy, Default)]
struct Expected {
    runs: bool,
    /// It panics, or is cancelled.
    fails: bool,
    value: u64,
}

struct Graph {
    plans: Vec<Plan>,
    expected: Vec<Expected>,
}

impl Graph {
    fn draw(seed: u64) -> Self {
        let mut random = Random(seed);
        let plans: Vec<Plan> = Vec::with_capacity(JOBS);
        let mut graph = Self { plans, expected: Vec::with_capacity(JOBS) };
        for job in 0..JOBS {
            let plan = graph.draw_one(&mut random, job);
            graph.expected.push(graph.foretell(job, &plan));
            graph.plans.push(plan);
        }
        graph
    }

    fn draw_one(&self, random: &mut Random, job: usize) -> Plan {
        let layer_len = JOBS.div_ceil(LAYERS);
        let start = job / layer_len * layer_len;
        let mut plan = Plan {
            combines: random.one_in(10),
            has_child: random.one_in(50),
            call: random.below(40),
            panics: random.one_in(100),
            rounds: random.below(4) * 25,
            ..Plan::default()
        };
        if start == 0 {
            return plan;
        }
        // One of the layer above, for the depth, and a few of any.
        let above = start - layer_len + random.below(layer_len);
        let others = (0..random.below(3)).map(|_| random.below(start)).collect::<Vec<_>>();
        for other in others.into_iter().chain([above]) {
            // Of the jobs that fail most are awaited from inside instead: else
            // the failures would eat the graph.
            if self.expected[other].fails && !random.one_in(20) {
                plan.waits_for = Some(other);
            } else if !plan.after.contains(&other) {
                plan.after.push(other);
            }
        }
        if random.one_in(20) {
            plan.waits_for = Some(random.below(start));
        }
        plan
    }

    /// The sequential oracle.
    fn foretell(&self, job: usize, plan: &Plan) -> Expected {
        let runs = !plan.after.iter().any(|&other| self.expected[other].fails);
        let fails = plan.panics || !runs;
        let value_of = |other| if runs { self.value_of(other) } else { 0 };
        let value = plan.after.iter().chain(&plan.waits_for).map(|&other| value_of(other));
        let value = if runs { own_value(job, value) } else { 0 };
        Expected { runs, fails, value }
    }

    fn value_of(&self, job: usize) -> u64 {
        self.expected[job].value
    }
}

fn own_value(job: usize, values: impl Iterator<Item = u64>) -> u64 {
    values.fold(mixed(job as u64), u64::wrapping_add) | 1
}

/// What the jobs leave behind.
struct Outcome {
    graph: Graph,
    pool: Arc<Pool>,
    values: Vec<AtomicU64>,
    runs: Vec<AtomicU32>,
    children: AtomicUsize,
    dropped: AtomicUsize,
    /// What did not go as foretold.
    complaints: Mutex<Vec<String>>,
    handles: Mutex<Vec<JobHandle>>,
}

/// Counts that a job's closure went, run or not.
struct Owned(Arc<Outcome>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Outcome {
    fn complain(&self, what: String) {
        self.complaints.lock().unwrap().push(what);
    }

    /// Waits for a job, and checks that it failed or not as foretold.
    fn wait_for(&self, job: usize, handle: JobHandle) {
        let failed = self.pool.try_complete(handle).is_err();
        if failed != self.graph.expected[job].fails {
            self.complain(format!("job {job}: failed is {failed}"));
        }
        if !self.pool.is_done(handle) {
            self.complain(format!("job {job} was awaited and is not done"));
        }
        let value = self.values[job].load(Ordering::Relaxed);
        if value != self.graph.value_of(job) {
            self.complain(format!("job {job} was awaited, and {value:x} is what it left"));
        }
    }

    /// What job number `job` does.
    fn run(self: &Arc<Self>, job: usize, awaited: Option<JobHandle>) {
        let plan = &self.graph.plans[job];
        self.runs[job].fetch_add(1, Ordering::Relaxed);
        (0..plan.rounds).for_each(|_| std::hint::spin_loop());
        if let (Some(other), Some(handle)) = (plan.waits_for, awaited) {
            self.wait_for(other, handle);
        }
        if plan.has_child {
            let inside = Arc::clone(self);
            let count = move || _ = inside.children.fetch_add(1, Ordering::Relaxed);
            let child = self.pool.schedule(count);
            self.pool.complete(child);
        }
        self.call(plan.call);
        let read = |&other: &usize| self.values[other].load(Ordering::Relaxed);
        let value = own_value(job, plan.after.iter().chain(&plan.waits_for).map(read));
        // Relaxed: who reads this has waited for the job.
        self.values[job].store(value, Ordering::Relaxed);
        if plan.panics {
            // Not `panic!`, whose hook would print thousands of lines.
            resume_unwind(Box::new(job));
        }
    }

    /// Calls that wait, inside of a job.
    fn call(&self, which: usize) {
        let count = AtomicUsize::new(0);
        let add = |_: usize| _ = count.fetch_add(1, Ordering::Relaxed);
        match which {
            0 => self.pool.scope(|scope| (0..3).for_each(|_| scope.spawn(|_| add(0)))),
            1 => _ = self.pool.join(|| self.pool.join(|| add(0), || add(1)), || add(2)),
            2 => self.pool.for_each_index(3, add),
            _ => return,
        }
        let count = count.into_inner();
        if count != 3 {
            self.complain(format!("call {which}: {count} of 3"));
        }
    }

    fn schedule_all(self: &Arc<Self>) {
        for (job, plan) in self.graph.plans.iter().enumerate() {
            let (after, awaited) = {
                let handles = self.handles.lock().unwrap();
                let after: Vec<_> = plan.after.iter().map(|&other| handles[other]).collect();
                (after, plan.waits_for.map(|other| handles[other]))
            };
            // It is said only later what these wait for, while others wait for them already.
            let gate = (job % 7 == 3).then(|| self.pool.gate());
            let now = gate.as_ref().map(|gate| vec![gate.handle()]);
            let after = if plan.combines { vec![self.pool.combine(&after)] } else { after };
            let now = now.as_ref().unwrap_or(&after);
            let owned = Owned(Arc::clone(self));
            let handle = self.pool.after(now).schedule(move || owned.0.run(job, awaited));
            self.handles.lock().unwrap().push(handle);
            gate.into_iter().for_each(|gate| gate.open_after(&after));
        }
    }

    /// Waits for jobs at random while others are scheduled and run.
    fn wait_at_random(&self, seed: u64, all_scheduled: &AtomicBool) {
        let mut random = Random(seed);
        let mut rounds = 0;
        while rounds < 200 || !all_scheduled.load(Ordering::Relaxed) {
            rounds += 1;
            let chosen = {
                let handles = self.handles.lock().unwrap();
                let place = (!handles.is_empty()).then(|| random.below(handles.len()));
                place.map(|place| (place, handles[place]))
            };
            let Some((job, handle)) = chosen else { continue };
            match random.below(4) {
                0 => _ = self.pool.is_done(handle),
                // Twice, by the same thread.
                1 => (0..2).for_each(|_| self.wait_for(job, handle)),
                2 => std::thread::yield_now(),
                _ => self.wait_for(job, handle),
            }
        }
    }

    fn check(&self, seed: u64, thread_count: usize) {
        let who = format!("GRAPH_SEED={seed} on {thread_count} threads");
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{who}: {complaints:#?}");
        for (job, expected) in self.graph.expected.iter().enumerate() {
            let runs = self.runs[job].load(Ordering::Relaxed);
            assert_eq!(runs, u32::from(expected.runs), "{who}: runs of job {job}");
            let value = self.values[job].load(Ordering::Relaxed);
            assert_eq!(value, expected.value, "{who}: value of job {job}");
        }
        let all = self.graph.plans.iter().zip(&self.graph.expected);
        let children = all.filter(|(plan, expected)| plan.has_child && expected.runs).count();
        assert_eq!(self.children.load(Ordering::Relaxed), children, "{who}: children");
        assert_eq!(self.dropped.load(Ordering::Relaxed), JOBS, "{who}: closures dropped");
    }
}

fn graph_agrees_with_the_oracle(seed: u64, thread_count: usize) {
    let graph = Graph::draw(seed);
    let outcome = Arc::new(Outcome {
        pool: Arc::new(pool(thread_count - 1)),
        values: graph.plans.iter().map(|_| AtomicU64::new(0)).collect(),
        runs: graph.plans.iter().map(|_| AtomicU32::new(0)).collect(),
        children: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
        complaints: Mutex::new(Vec::new()),
        handles: Mutex::new(Vec::with_capacity(JOBS)),
        graph,
    });
    let all_scheduled = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for other in 1..=2 {
            let (outcome, all_scheduled) = (&outcome, &all_scheduled);
            threads.spawn(move || outcome.wait_at_random(seed ^ other << 32, all_scheduled));
        }
        outcome.schedule_all();
        all_scheduled.store(true, Ordering::Relaxed);
    });
    let handles = std::mem::take(&mut *outcome.handles.lock().unwrap());
    for (job, &handle) in handles.iter().enumerate() {
        outcome.wait_for(job, handle);
    }
    outcome.check(seed, thread_count);
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a whole number"))
}

#[test]
fn graphs_of_jobs_run_as_the_sequential_oracle_says() {
    let first = setting("GRAPH_SEED").unwrap_or(1);
    let seconds = setting("GRAPH_SECONDS");
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let quick_count = if cfg!(miri) { 1 } else { 2 };
    let mut seed = first;
    while seed < first + quick_count || (seconds.is_some() && Instant::now() < end) {
        eprintln!("GRAPH_SEED={seed}");
        let thread_counts = if cfg!(miri) { vec![2] } else { vec![1, 2, 3, 5, 8] };
        for thread_count in thread_counts {
            within(Duration::from_secs(60), move || {
                graph_agrees_with_the_oracle(seed, thread_count);
            });
        }
        seed += 1;
    }
}

#[test]
#[cfg_attr(miri, ignore = "about the large graphs")]
fn the_oracle_sees_failures_and_depth() {
    let graph = Graph::draw(1);
    let failed = graph.expected.iter().filter(|expected| expected.fails).count();
    let cancelled = graph.expected.iter().filter(|expected| !expected.runs).count();
    assert!(failed > cancelled && cancelled > 0 && failed < JOBS / 10, "{failed}, {cancelled}");
    let mut depths = vec![1; JOBS];
    for (job, plan) in graph.plans.iter().enumerate() {
        let below = plan.after.iter().chain(&plan.waits_for).map(|&other| depths[other]);
        depths[job] = 1 + below.max().unwrap_or(0);
    }
    assert_eq!(depths.iter().max(), Some(&LAYERS));
}
