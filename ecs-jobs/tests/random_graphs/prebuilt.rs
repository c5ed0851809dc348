//! Graphs that are built once: the order, the counts, panics, and what stays from run to run.

use crate::support::{pool, pools, within};
use crate::{Random, mixed, setting};
use formic_jobs::{GraphError, JobGraph, JobGraphBuilder, Pool, Sharing};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const JOBS: usize = if cfg!(miri) { 40 } else { 10_000 };
const LAYERS: usize = if cfg!(miri) { 6 } else { 64 };
const SHARINGS: [Sharing; 3] = [Sharing::Always, Sharing::WhereWorthIt, Sharing::Never];

fn caught(run: impl FnOnce()) -> Option<Box<dyn std::any::Any + Send>> {
    catch_unwind(AssertUnwindSafe(run)).err()
}

/// For each job those that it comes after: one of the layer above, and a few of any.
fn draw(random: &mut Random) -> Vec<Vec<usize>> {
    let layer_len = JOBS.div_ceil(LAYERS);
    let mut before: Vec<Vec<usize>> = Vec::with_capacity(JOBS);
    for job in 0..JOBS {
        let start = job / layer_len * layer_len;
        let mut chosen = Vec::new();
        if start > 0 {
            chosen.push(start - layer_len + random.below(layer_len));
            chosen.extend((0..random.below(4)).map(|_| random.below(start)));
        }
        before.push(chosen);
    }
    before
}

/// What jobs leave behind in one run.
struct Deeds {
    values: Vec<AtomicU64>,
    runs: Vec<AtomicU32>,
    /// Jobs that panic in the run at hand.
    bad: Vec<AtomicBool>,
}

impl Deeds {
    fn new() -> Self {
        Self {
            values: (0..JOBS).map(|_| AtomicU64::new(0)).collect(),
            runs: (0..JOBS).map(|_| AtomicU32::new(0)).collect(),
            bad: (0..JOBS).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Mixes the values of the jobs before into the job's own. Relaxed, all of it: the order is the
    /// graph's to bring.
    fn act(&self, job: usize, before: &[usize], call: usize, pool: &Pool) {
        self.runs[job].fetch_add(1, Ordering::Relaxed);
        if self.bad[job].load(Ordering::Relaxed) {
            resume_unwind(Box::new(job));
        }
        let part = AtomicU64::new(0);
        let add = |index: usize| _ = part.fetch_add(index as u64, Ordering::Relaxed);
        match call {
            0 => pool.for_each_index(3, add),
            1 => _ = pool.join(|| add(1), || add(2)),
            2 => pool.scope(|scope| (1..3).for_each(|index| scope.spawn(move |_| add(index)))),
            _ => add(3),
        }
        let values = before.iter().map(|&other| self.values[other].load(Ordering::Relaxed));
        let own = self.values[job].load(Ordering::Relaxed) + part.into_inner();
        self.values[job].store(values.fold(mixed(own), u64::wrapping_add), Ordering::Relaxed);
    }

    /// What `act` makes of all values, one job after the other.
    fn foretell(values: &mut [u64], before: &[Vec<usize>]) {
        for job in 0..values.len() {
            let own = mixed(values[job] + 3);
            values[job] =
                before[job].iter().fold(own, |sum, &other| sum.wrapping_add(values[other]));
        }
    }

    fn build(&self, before: &[Vec<usize>], seed: u64, sharing: Sharing) -> JobGraph<'_> {
        let mut random = Random(seed);
        let mut builder = JobGraph::builder().sharing(sharing);
        let mut jobs = Vec::new();
        for (job, before) in before.iter().enumerate() {
            let (own, call) = (before.clone(), random.below(40));
            let act = move |pool: &Pool| self.act(job, &own, call, pool);
            // Said in one way or the other, or in both.
            let how = random.below(3);
            let after: Vec<_> = before.iter().map(|&other| jobs[other]).collect();
            jobs.push(builder.add(format!("job {job}"), if how > 0 { &after } else { &[] }, act));
            if how < 2 {
                after.into_iter().for_each(|other| builder.order(other, jobs[job]));
            }
        }
        builder.build().expect("there is no cycle")
    }

    fn values(&self) -> Vec<u64> {
        self.values.iter().map(|value| value.load(Ordering::Relaxed)).collect()
    }
}

fn graph_agrees_with_the_oracle(seed: u64, thread_count: usize, sharing: Sharing) {
    let before = draw(&mut Random(seed));
    let deeds = Deeds::new();
    let pool = pool(thread_count - 1);
    let mut graph = deeds.build(&before, seed, sharing);
    let mut expected = deeds.values();
    let who = format!("GRAPH_SEED={seed} on {thread_count} threads, {sharing:?}");
    for _ in 0..3 {
        graph.run(&pool);
        Deeds::foretell(&mut expected, &before);
        assert!(deeds.values() == expected, "{who}: the values are others than the oracle's");
        assert!(deeds.runs.iter().all(|runs| runs.swap(0, Ordering::Relaxed) == 1), "{who}");
    }
    // A run in which some jobs panic, and then another one in which none does.
    let mut random = Random(seed ^ 7);
    deeds.bad.iter().for_each(|bad| bad.store(random.one_in(100), Ordering::Relaxed));
    deeds.bad[random.below(JOBS)].store(true, Ordering::Relaxed);
    let payload = caught(|| graph.run(&pool)).expect("a job panics");
    let guilty = *payload.downcast_ref::<usize>().expect("the panic is a job's own");
    assert!(deeds.bad[guilty].swap(false, Ordering::Relaxed), "{who}");
    let has_run = |job: usize| deeds.runs[job].load(Ordering::Relaxed) == 1;
    assert!(has_run(guilty), "{who}");
    for (job, before) in before.iter().enumerate() {
        let ended = |&other: &usize| {
            has_run(other) && other != guilty && !deeds.bad[other].load(Ordering::Relaxed)
        };
        assert!(!has_run(job) || before.iter().all(ended), "{who}: job {job} ran too early");
    }
    deeds.bad.iter().for_each(|bad| bad.store(false, Ordering::Relaxed));
    deeds.runs.iter().for_each(|runs| runs.store(0, Ordering::Relaxed));
    let mut expected = deeds.values();
    graph.run(&pool);
    Deeds::foretell(&mut expected, &before);
    assert!(deeds.values() == expected, "{who}: the run after a panic is like any other");
    assert!(deeds.runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{who}");
}

#[test]
fn prebuilt_graphs_run_as_the_sequential_oracle_says() {
    let first = setting("GRAPH_SEED").unwrap_or(1);
    let seconds = setting("GRAPH_SECONDS");
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut seed = first;
    while seed < first + 1 || (seconds.is_some() && Instant::now() < end) {
        let thread_counts = if cfg!(miri) { vec![3] } else { vec![1, 2, 3, 5, 8] };
        for thread_count in thread_counts {
            within(Duration::from_secs(60), move || {
                let sharing = SHARINGS[thread_count % 2];
                graph_agrees_with_the_oracle(seed, thread_count, Sharing::Always);
                graph_agrees_with_the_oracle(seed + 1, thread_count, sharing);
            });
        }
        seed += 1;
    }
}

/// Jobs that say their names, in a graph of `steps`.
fn saying<'env>(
    said: &'env Mutex<Vec<&'static str>>,
    names: &[&'static str],
    steps: &[(usize, usize)],
) -> JobGraphBuilder<'env> {
    let mut builder = JobGraph::builder();
    let jobs: Vec<_> = names
        .iter()
        .map(|&name| builder.add(name, &[], move |_| said.lock().unwrap().push(name)))
        .collect();
    steps.iter().for_each(|&(first, second)| builder.order(jobs[first], jobs[second]));
    builder
}

#[test]
fn one_thread_runs_jobs_in_the_order_of_adding_where_nothing_speaks_against_it() {
    let said = Mutex::new(Vec::new());
    let names = ["haul", "dig", "rest", "build"];
    let mut graph = saying(&said, &names, &[(1, 0), (0, 3)]).build().expect("there is no cycle");
    assert_eq!(graph.job_names(), names);
    graph.run(&pool(0));
    assert_eq!(*said.lock().unwrap(), ["dig", "haul", "rest", "build"]);
}

#[test]
fn a_cycle_is_an_error_with_the_names_of_its_members_and_of_nobody_else() {
    let said = Mutex::new(Vec::new());
    let names = ["before", "hen", "egg", "chick", "after"];
    let steps = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)];
    let error = saying(&said, &names, &steps).build().expect_err("there is a cycle");
    let GraphError::Cycle { jobs } = &error else { panic!("{error}") };
    assert_eq!(jobs, &["hen", "egg", "chick", "hen"]);
    let text = "these jobs would wait for each other: hen -> egg -> chick -> hen";
    assert_eq!(error.to_string(), text);
    let error = saying(&said, &["self"], &[(0, 0)]).build().expect_err("there is a cycle");
    assert!(error.to_string().ends_with(": self -> self"));
}

#[test]
fn a_job_of_another_graph_is_refused() {
    let mut one = JobGraph::builder();
    let mut other = JobGraph::builder();
    let (of_one, of_other) = (one.add("one", &[], |_| ()), other.add("other", &[], |_| ()));
    assert!(caught(|| one.order(of_one, of_other)).is_some());
    assert!(caught(|| one.order(of_other, of_one)).is_some());
    assert!(caught(|| _ = one.add("third", &[of_one, of_other], |_| ())).is_some());
    // What was refused left nothing behind.
    assert_eq!(one.build().expect("there is no cycle").job_names(), ["one"]);
}

#[test]
fn a_graph_without_jobs_runs() {
    pools().for_each(|pool| JobGraph::builder().build().expect("no cycle").run(&pool));
}

#[test]
fn jobs_keep_what_they_own_from_run_to_run_and_drop_it_with_the_graph() {
    struct Owned<'a>(&'a AtomicUsize);
    impl Drop for Owned<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for pool in pools() {
        let (dropped, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut builder = JobGraph::builder();
        let (owned, last_of_job, mut count) = (Owned(&dropped), &last, 0);
        builder.add("count", &[], move |_| {
            let _inside = &owned;
            count += 1;
            last_of_job.store(count, Ordering::Relaxed);
        });
        let mut graph = builder.build().expect("there is no cycle");
        (0..40).for_each(|_| graph.run(&pool));
        assert_eq!(last.load(Ordering::Relaxed), 40);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(graph);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn jobs_that_do_not_wait_for_each_other_run_at_the_same_time() {
    within(Duration::from_secs(20), || {
        let meeting = Barrier::new(2);
        let mut builder = JobGraph::builder().sharing(Sharing::Always);
        let root = builder.add("root", &[], |_| ());
        for name in ["left", "right"] {
            builder.add(name, &[root], |_| _ = meeting.wait());
        }
        let mut graph = builder.build().expect("there is no cycle");
        let pool = pool(1);
        (0..10).for_each(|_| graph.run(&pool));
    });
}

#[test]
fn a_graph_of_tiny_jobs_stays_on_the_calling_thread_once_it_is_known() {
    let here = std::thread::current().id();
    let strangers = AtomicUsize::new(0);
    let mut builder = JobGraph::builder();
    for _ in 0..20 {
        builder.add("tiny", &[], |_| {
            let is_stranger = std::thread::current().id() != here;
            strangers.fetch_add(usize::from(is_stranger), Ordering::Relaxed);
        });
    }
    let mut graph = builder.build().expect("there is no cycle");
    let pool = pool(2);
    // On a loaded machine one measurement may be of a thread that had to wait. It is forgotten in
    // the next ones.
    let is_alone = (0..500).any(|_| {
        strangers.store(0, Ordering::Relaxed);
        (0..10).for_each(|_| graph.run(&pool));
        strangers.load(Ordering::Relaxed) == 0
    });
    assert!(is_alone, "twenty empty jobs are not worth a thread");
}

#[test]
fn a_panic_is_resumed_once_and_the_graph_runs_again() {
    for pool in pools() {
        for sharing in SHARINGS {
            let (ran, fails) = (AtomicUsize::new(0), AtomicBool::new(true));
            let mut builder = JobGraph::builder().sharing(sharing);
            let first = builder.add("first", &[], |_| _ = ran.fetch_add(1, Ordering::Relaxed));
            let bad = builder.add("bad", &[first], |_| {
                if fails.load(Ordering::Relaxed) {
                    resume_unwind(Box::new("too dark"));
                }
            });
            builder.add("last", &[bad], |_| _ = ran.fetch_add(100, Ordering::Relaxed));
            let mut graph = builder.build().expect("there is no cycle");
            for _ in 0..3 {
                let payload = caught(|| graph.run(&pool)).expect("the panic goes on");
                assert_eq!(payload.downcast_ref(), Some(&"too dark"));
            }
            assert_eq!(ran.swap(0, Ordering::Relaxed), 3, "what comes after a panic does not run");
            fails.store(false, Ordering::Relaxed);
            graph.run(&pool);
            assert_eq!(ran.load(Ordering::Relaxed), 101);
        }
    }
}

#[test]
fn a_job_may_run_another_graph() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let count = AtomicUsize::new(0);
            let tree = |width: usize| {
                let mut builder = JobGraph::builder().sharing(Sharing::Always);
                let root = builder.add("root", &[], |_| ());
                for _ in 0..width {
                    builder.add("leaf", &[root], |_| _ = count.fetch_add(1, Ordering::Relaxed));
                }
                builder.build().expect("there is no cycle")
            };
            let mut outer = JobGraph::builder().sharing(Sharing::Always);
            for _ in 0..4 {
                let mut inner = tree(5);
                outer.add("outer", &[], move |pool| inner.run(pool));
            }
            let mut outer = outer.build().expect("there is no cycle");
            (0..5).for_each(|_| outer.run(&pool));
            assert_eq!(count.load(Ordering::Relaxed), 5 * 4 * 5);
        }
    });
}

#[test]
fn a_graph_may_move_between_threads_and_pools() {
    let count = AtomicUsize::new(0);
    let mut builder = JobGraph::builder().sharing(Sharing::Always);
    for _ in 0..3 {
        builder.add("count", &[], |_| _ = count.fetch_add(1, Ordering::Relaxed));
    }
    let mut graph = builder.build().expect("there is no cycle");
    for pool in pools() {
        graph = std::thread::scope(|threads| {
            let run = threads.spawn(|| {
                graph.run(&pool);
                graph
            });
            run.join().expect("it ends well")
        });
    }
    drop(graph);
    assert_eq!(count.into_inner(), 9);
}
