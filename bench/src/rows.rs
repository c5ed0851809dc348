//! The rows: what is measured, over how many entities, and what Formic should reach.

use crate::model;

/// What is done in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    InsertBatch,
    InsertSingle,
    InsertWorst,
    InsertSuite,
    SimpleIter,
    SimpleIterSlice,
    WideIter,
    FragIter,
    ManyArchIter,
    ManyArchFilter,
    HeavySerial,
    HeavyParallel,
    ScheduleSerial,
    ScheduleParallel,
    AddRemove,
    AddRemoveCmd,
    ToggleFlag,
    ToggleTag,
    ToggleTagAlt,
    ToggleNative,
    RandomRead,
    RandomRmw,
    DespawnAll,
    DespawnHalf,
    Churn,
    Changed,
    AgentsFlag,
    AgentsFlagShuf,
    AgentsFlagPush,
    AgentsTag,
    AgentsNative,
    AgentsNativeShuf,
    Memory,
}

/// One row of the table.
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    /// Entities.
    pub(crate) n: usize,
    /// What the time is divided by.
    pub(crate) operations: usize,
    /// How often the work is repeated in one turn, so that a turn is long beside the clock's tick.
    pub(crate) repeat: u32,
    /// Nothing where the row is not one that Formic has to win.
    pub(crate) goal: Option<Goal>,
}

impl Row {
    /// How many entities are spawned one by one, and whether the call that takes longest counts.
    pub(crate) fn spawns(&self) -> (usize, bool) {
        (self.n, self.kind == Kind::InsertWorst)
    }
}

/// Formic's time in a row should be at most so many times another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) target: Bound,
    pub(crate) stretch: Bound,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) factor: f64,
    pub(crate) of: Base,
}

/// What a bound is relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// This column.
    Column(&'static str),
    /// This column of another row.
    Other(&'static str, &'static str),
    /// The fastest peer.
    Best,
}

const fn column(factor: f64, name: &'static str) -> Bound {
    Bound { factor, of: Base::Column(name) }
}

const fn other(factor: f64, row: &'static str, name: &'static str) -> Bound {
    Bound { factor, of: Base::Other(row, name) }
}

const fn best(factor: f64) -> Bound {
    Bound { factor, of: Base::Best }
}

#[expect(clippy::unnecessary_wraps, reason = "reads well in the table below")]
const fn goal(target: Bound, stretch: Bound) -> Option<Goal> {
    Some(Goal { target, stretch })
}

const fn row(
    kind: Kind,
    name: &'static str,
    n: usize,
    operations: usize,
    repeat: u32,
    goal: Option<Goal>,
) -> Row {
    Row { kind, name, n, operations, repeat, goal }
}

/// All rows, in the order of the table.
pub(crate) fn all() -> Vec<Row> {
    use Kind::*;

    const S: usize = 10_000;
    const M: usize = 100_000;
    const L: usize = 1_000_000;
    // Beyond the twentieth doubling.
    const G: usize = 1_100_000;
    let fragments = 26 * model::FRAGMENT_LEN;
    let tagged = model::tag_sets().count();
    let passing = model::tag_sets().filter(|&set| passes_filter(set)).count();
    vec![
        row(
            InsertBatch,
            "insert_batch",
            S,
            S,
            1,
            goal(column(1.0, "hecs"), column(1.0, "shipyard")),
        ),
        row(InsertSingle, "insert_single", S, S, 1, goal(column(1.0, "hecs"), column(0.7, "hecs"))),
        row(InsertWorst, "insert_worst", G, 1, 1, goal(column(0.5, "hecs"), column(0.1, "hecs"))),
        row(
            InsertSuite,
            "insert_suite",
            S,
            S,
            1,
            goal(column(1.0, "bevy"), column(1.0, "shipyard")),
        ),
        row(SimpleIter, "simple_iter", S, S, 20, goal(column(1.05, "raw"), column(1.0, "raw"))),
        row(SimpleIter, "simple_iter", L, L, 1, goal(column(1.25, "raw"), column(1.05, "raw"))),
        row(
            SimpleIterSlice,
            "simple_iter_slice",
            S,
            S,
            40,
            goal(column(1.15, "raw"), column(1.05, "raw")),
        ),
        row(
            SimpleIterSlice,
            "simple_iter_slice",
            L,
            L,
            1,
            goal(column(1.6, "raw"), column(1.15, "raw")),
        ),
        row(WideIter, "wide_iter", S, S, 40, goal(column(1.05, "raw"), column(1.0, "raw"))),
        row(
            FragIter,
            "frag_iter",
            fragments,
            fragments,
            1000,
            goal(column(1.0, "hecs"), column(1.0, "shipyard")),
        ),
        row(
            ManyArchIter,
            "many_arch_iter",
            1024,
            tagged,
            50,
            goal(column(1.0, "hecs"), column(0.6, "hecs")),
        ),
        row(
            ManyArchFilter,
            "many_arch_filter",
            1024,
            passing,
            200,
            goal(column(1.0, "hecs"), column(0.7, "hecs")),
        ),
        row(HeavySerial, "heavy_serial", 1000, 1000, 1, goal(best(1.02), best(1.0))),
        row(HeavyParallel, "heavy_parallel", 1000, 1000, 1, goal(best(1.0), best(1.0))),
        row(ScheduleSerial, "schedule_serial", S, 6 * S, 20, goal(best(1.0), column(1.0, "raw"))),
        row(ScheduleSerial, "schedule_serial", M, 6 * M, 2, goal(best(1.0), column(1.0, "raw"))),
        row(ScheduleParallel, "schedule_parallel", S, 6 * S, 20, goal(best(1.0), best(0.8))),
        row(ScheduleParallel, "schedule_parallel", M, 6 * M, 2, goal(best(1.0), best(0.8))),
        row(AddRemove, "add_remove", S, 2 * S, 1, goal(column(1.0, "hecs"), column(0.6, "hecs"))),
        row(
            AddRemoveCmd,
            "add_remove_cmd",
            S,
            2 * S,
            1,
            goal(column(0.8, "bevy"), column(0.5, "bevy")),
        ),
        row(ToggleFlag, "toggle_flag", M, M, 2, None),
        row(ToggleTag, "toggle_tag", M, M, 1, None),
        row(ToggleTagAlt, "toggle_tag_alt", M, M, 1, None),
        row(
            ToggleNative,
            "toggle_native",
            M,
            M,
            2,
            goal(other(2.0, "toggle_flag", "hecs"), other(1.0, "toggle_flag", "hecs")),
        ),
        row(RandomRead, "random_read", M, M, 1, goal(column(1.0, "hecs"), column(0.7, "hecs"))),
        row(RandomRmw, "random_rmw", M, M, 1, goal(best(1.0), best(0.8))),
        row(DespawnAll, "despawn_all", S, S, 1, goal(column(1.0, "hecs"), column(0.6, "hecs"))),
        row(
            DespawnHalf,
            "despawn_half",
            S,
            S / 2,
            1,
            goal(column(1.0, "hecs"), column(0.6, "hecs")),
        ),
        row(Churn, "churn", S, S / 10, 4, goal(column(1.0, "hecs"), column(0.7, "hecs"))),
        row(
            Changed,
            "changed_1pct",
            M,
            M / 100,
            2,
            goal(column(1.0, "specs"), column(0.5, "specs")),
        ),
        row(AgentsFlag, "agents_flag", M, 5 * M, 1, None),
        row(AgentsFlagShuf, "agents_flag_shuf", M, 5 * M, 1, None),
        row(AgentsFlagPush, "agents_flag_push", M, 5 * M, 1, None),
        row(AgentsTag, "agents_tag", M, 5 * M, 1, None),
        row(
            AgentsNative,
            "agents_native",
            M,
            5 * M,
            1,
            goal(other(1.0, "agents_flag", "hecs"), other(0.5, "agents_flag", "hecs")),
        ),
        row(
            AgentsNativeShuf,
            "agents_native_shuf",
            M,
            5 * M,
            1,
            goal(other(1.0, "agents_flag_shuf", "hecs"), other(0.7, "agents_flag_shuf", "hecs")),
        ),
        row(Memory, "mem_bytes_3x12B", L, L, 1, goal(column(1.05, "hecs"), column(1.0, "hecs"))),
    ]
}

/// Whether the tag set is visited in the filtered row: with T0, without T1.
pub(crate) const fn passes_filter(set: u32) -> bool {
    model::has_tag(set, 0) && !model::has_tag(set, 1)
}
