//! The rows: what is measured, on how many threads, and what Formic should reach.

use crate::model;

/// What is done in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Fibonacci by joins, from a thread that stays in the pool.
    Join { n: u32 },
    /// The same from outside of the pool, each time anew.
    OutsideJoin { n: u32 },
    /// The graph of empty jobs, by handles where the library has such.
    Graph,
    /// The same, where the library can build a graph once: by what it makes of it, or on all threads
    /// whatever its jobs cost.
    GraphPrebuilt { shared: bool },
    /// The graph of empty jobs, spawned into one scope as they become ready.
    GraphScope,
    /// A scope of so many empty jobs.
    Scope { jobs: usize },
    /// The tiny body over all items, `None` where the pool chooses the batches.
    For { batch: Option<usize> },
    /// A loop with few heavy indices.
    Imbalanced,
    /// A loop over items of a microsecond each, in the scaling table.
    Heavy,
    /// Joins down to leaves that take a while, in the scaling table.
    Tree(model::JoinTree),
    /// So many systems that do nothing.
    Systems { count: usize },
    /// A frame of 100 small systems.
    Mixed,
    /// Rows that each write to one of so many entities, which they share.
    Effects { targets: usize },
    /// From the push of a job until it runs, on threads that sleep.
    Wake,
    /// Processor time of threads that have nothing to do.
    Idle,
    /// One lone empty job each millisecond.
    Trickle,
    /// Jobs pushed at the moment when a thread falls asleep.
    LostWakeUps,
}

/// What a row is judged by, and what comes first in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// The time of all processors.
    Cpu,
    /// The time that went by.
    Wall,
    Allocations,
    /// A number of its own, see the unit.
    Value,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) metric: Metric,
    pub(crate) unit: &'static str,
    /// Threads that run jobs, the calling one among them where it helps.
    pub(crate) threads: usize,
    /// What the figure of a frame is divided by.
    pub(crate) operations: usize,
    /// Frames in one turn, so that a turn is long beside the clock's tick.
    pub(crate) repeat: u32,
    pub(crate) targets: Vec<Bound>,
    pub(crate) stretches: Vec<Bound>,
}

/// What Formic's figure should not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// So many times that of this column.
    Times(f64, &'static str),
    /// So many times that of the best peer.
    TimesBest(f64),
    /// This number.
    AtMost(f64),
}

impl Row {
    fn new(kind: Kind, name: &'static str, threads: usize, operations: usize, repeat: u32) -> Self {
        let (targets, stretches) = (Vec::new(), Vec::new());
        let (metric, unit) = (Metric::Cpu, "ns");
        Self { kind, name, metric, unit, threads, operations, repeat, targets, stretches }
    }

    /// A row of the scaling table.
    pub(crate) fn unjudged(kind: Kind, threads: usize) -> Self {
        Self::new(kind, "scaling", threads, 1, 1)
    }

    fn judged_by(mut self, metric: Metric, unit: &'static str) -> Self {
        (self.metric, self.unit) = (metric, unit);
        self
    }

    fn target(mut self, bound: Bound) -> Self {
        self.targets.push(bound);
        self
    }

    fn stretch(mut self, bound: Bound) -> Self {
        self.stretches.push(bound);
        self
    }

    /// Another line about the same cells.
    fn allocations(&self) -> Self {
        let (targets, stretches) = (Vec::new(), Vec::new());
        let (metric, unit) = (Metric::Allocations, "allocations");
        Self { metric, unit, targets, stretches, ..self.clone() }
    }
}

/// All rows, in the order of the table; those about the same cells side by side.
pub(crate) fn all(threads: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let both = if threads > 1 { vec![1, threads] } else { vec![1] };
    for &threads in &both {
        rows.extend(calls(threads));
    }
    for &threads in &both {
        rows.extend(loops(threads));
    }
    rows.extend(systems(threads));
    rows.extend(sleeping(threads));
    rows
}

/// Joins, graphs and scopes.
fn calls(threads: usize) -> Vec<Row> {
    use Bound::{AtMost, Times};
    let jobs = model::GRAPH_JOBS;
    let join = Row::new(Kind::Join { n: 30 }, "join_fib_30", threads, model::joins(30), 1)
        .target(Times(0.5, "rayon"))
        .stretch(Times(1.2, "chili"));
    // A frame, and not a join, is what counts here.
    let outside = Row::new(Kind::OutsideJoin { n: 12 }, "outside_fib_12", threads, 1, 200)
        .judged_by(Metric::Wall, "ns a call")
        .target(Times(0.35, "rayon"))
        .stretch(Times(1.2, "chili"));
    let graph = Row::new(Kind::Graph, "graph_1000_empty", threads, jobs, 20)
        .target(Times(0.45, "rayon"))
        .stretch(Times(0.35, "rayon"));
    let graph_allocations = graph.allocations().target(AtMost(0.0));
    let prebuilt = Kind::GraphPrebuilt { shared: false };
    let prebuilt = Row::new(prebuilt, "graph_1000_prebuilt", threads, jobs, 20)
        .target(Times(0.45, "rayon"))
        .stretch(Times(0.35, "rayon"));
    let prebuilt_allocations = prebuilt.allocations().target(AtMost(0.0));
    let shared = Kind::GraphPrebuilt { shared: true };
    let shared = Row::new(shared, "graph_1000_shared", threads, jobs, 20);
    let shared_allocations = shared.allocations().target(AtMost(0.0));
    let graph_scope = Row::new(Kind::GraphScope, "graph_1000_scope", threads, jobs, 20);
    let scope = Row::new(Kind::Scope { jobs }, "scope_1000_empty", threads, jobs, 20);
    let scope_allocations = scope.allocations();
    let one = Row::new(Kind::Scope { jobs: 1 }, "scope_1_outside", threads, 1, 200)
        .judged_by(Metric::Wall, "ns a call");
    let graphs = vec![
        graph,
        graph_allocations,
        prebuilt,
        prebuilt_allocations,
        shared,
        shared_allocations,
        graph_scope,
    ];
    let scopes = vec![scope, scope_allocations, one];
    vec![join, outside].into_iter().chain(graphs).chain(scopes).collect()
}

/// Flat loops.
fn loops(threads: usize) -> Vec<Row> {
    use Bound::{Times, TimesBest};
    let tiny = |name, batch| {
        let row = Row::new(Kind::For { batch }, name, threads, 1, 3);
        row.judged_by(Metric::Cpu, "ns a loop")
    };
    // On one thread there is nothing to balance, and bevy_tasks has two.
    let of_imbalanced = if threads == 1 { Metric::Cpu } else { Metric::Wall };
    vec![
        tiny("for_batch_64", Some(64))
            .target(Times(1.15, "serial"))
            .target(Times(1.05, "rayon"))
            .stretch(Times(1.10, "serial")),
        tiny("for_batch_256", Some(256)).target(Times(1.15, "serial")),
        tiny("for_batch_1024", Some(1_024)).target(Times(1.03, "serial")),
        tiny("for_batch_16384", Some(16_384)).target(Times(1.03, "serial")),
        tiny("for_adaptive", None).target(Times(1.05, "serial")).stretch(Times(1.03, "serial")),
        Row::new(Kind::Imbalanced, "for_imbalanced", threads, 1, 3)
            .judged_by(of_imbalanced, "ns a loop")
            .target(TimesBest(1.05)),
    ]
}

/// Schedules of systems. bevy's threads are the process's, so these run on all of them.
fn systems(threads: usize) -> Vec<Row> {
    use Bound::{AtMost, Times};
    let empty = |name, count, repeat| {
        Row::new(Kind::Systems { count }, name, threads, count, repeat)
            .judged_by(Metric::Wall, "ns a system")
    };
    let mixed = Row::new(Kind::Mixed, "mixed_100_systems", threads, 1, 50)
        .judged_by(Metric::Wall, "ns a frame")
        .target(Times(0.15, "bevy_multi"))
        .target(Times(2.0, "bevy_single"))
        .stretch(Times(1.2, "bevy_single"));
    let mixed_allocations = mixed.allocations().target(AtMost(0.0));
    let hundred = empty("systems_100_empty", 100, 50).target(Times(0.1, "bevy_multi"));
    let hundred_allocations = hundred.allocations().target(AtMost(0.0));
    let effects = |name, targets| {
        Row::new(Kind::Effects { targets }, name, threads, model::EFFECTS, 3)
            .judged_by(Metric::Wall, "ns an effect")
            .target(Times(2.0, "serial"))
            .stretch(Times(1.0, "serial"))
    };
    let few = effects("effects_8_targets", 8);
    let few_allocations = few.allocations().target(AtMost(0.0));
    vec![
        few,
        few_allocations,
        effects("effects_100k_targets", 100_000),
        empty("systems_1_empty", 1, 500),
        empty("systems_10_empty", 10, 200),
        hundred,
        hundred_allocations,
        empty("systems_1000_empty", 1_000, 5)
            .target(Times(0.1, "bevy_multi"))
            .stretch(Times(1.5, "bevy_single")),
        mixed,
        mixed_allocations,
    ]
}

/// What sleeping costs, and being woken.
fn sleeping(threads: usize) -> Vec<Row> {
    use Bound::{AtMost, Times, TimesBest};
    let row = |kind, name, unit| Row::new(kind, name, threads, 1, 1).judged_by(Metric::Value, unit);
    vec![
        row(Kind::Wake, "wake_p50", "us"),
        row(Kind::Wake, "wake_p95", "us"),
        row(Kind::Idle, "idle_cpu", "us a second"),
        row(Kind::Trickle, "trickle_cpu", "us a job"),
        row(Kind::LostWakeUps, "lost_wake_ups", "stuck jobs"),
    ]
    .into_iter()
    .map(|row| match row.kind {
        // The best peer, and what two figures differ by that do not differ.
        Kind::Wake => row.target(TimesBest(1.05)).stretch(Times(1.3, "serial")),
        Kind::Idle => row.target(Times(1.5, "serial")),
        Kind::Trickle => row.target(Times(0.15, "rayon")).target(Times(1.2, "bevy_tasks")),
        _ => row.target(AtMost(0.0)),
    })
    .collect()
}
