//! Programs of world operations, and what the world has to make of them.
//!
//! A program is a list of [`Op`]s read from bytes, so that the fuzzer, the corpus and seeded
//! random numbers all feed the same test. Each runs on a [`World`](formic_ecs::World) and on a model
//! of it that is too simple to be wrong (a map from entity to components); after every operation
//! the two must agree about everything that can be seen from outside.

mod bonds;
mod bulk;
mod by_id;
mod commands;
mod model;
mod parts;
mod queries;
mod questions;
mod run;
mod shapes;
mod shrink;
mod sink;
mod snapshots;
mod society;
pub(crate) mod tamper;
mod watch;
mod wild;

use arbitrary::{Arbitrary, Unstructured};

use bonds::Bond;
use bulk::{Crowd, Deed};
use parts::Kind;
use queries::{Change, Walk};
use questions::Question;
use run::Run;
use shapes::Shape;
use watch::Watched;

/// Which entity an operation is about: most numbers pick one that is alive, the rest any handle
/// that was ever seen, however stale.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) struct Who(u8);

/// One operation.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Op {
    Spawn {
        shape: Shape,
        value: u8,
        link: Who,
    },
    SpawnBatch {
        shape: Shape,
        value: u8,
        link: Who,
        count: u8,
    },
    Insert {
        who: Who,
        shape: Shape,
        value: u8,
        link: Who,
    },
    Remove {
        who: Who,
        shape: Shape,
    },
    Despawn {
        who: Who,
    },
    /// Makes holes everywhere: one of every `step` entities goes.
    Thin {
        step: u8,
    },
    SetEnabled {
        who: Who,
        kind: Kind,
        enabled: bool,
    },
    Instantiate {
        who: Who,
        count: u8,
    },
    /// Makes copies each of which is given something.
    InstantiateWith {
        who: Who,
        count: u8,
        value: u8,
        link: Who,
    },
    Poke {
        who: Who,
        kind: Kind,
        value: u8,
        way: Way,
    },
    Sweep {
        change: Change,
        walk: Walk,
        value: u8,
    },
    Record {
        buffer: u8,
        sort_key: u8,
        command: Command,
    },
    Play {
        buffers: Buffers,
    },
    /// Has one buffer take over the commands of another.
    Append {
        into: u8,
        from: u8,
    },
    Forget {
        buffer: u8,
        drop: bool,
    },
    /// Remembers the version of the world, to ask later what has changed since.
    Mark,
    /// Exchanges what three entities have of one component, all at once.
    Rotate {
        who: [Who; 3],
        view: bool,
    },
    /// Asks a query of any shape, and one that was asked before, for what is new since some mark.
    Ask {
        question: Question,
        mark: u8,
        again: u8,
    },
    /// Claims entities, all at once.
    ClaimMany {
        who: [Who; 6],
        value: u8,
    },
    /// Switches entities on or off while a query walks.
    FlipMeanwhile {
        who: [Who; 4],
        on: bool,
    },
    /// Saves the world, to go back to later.
    Save,
    /// Goes back to what was saved last, if anything was; only where `sure` is small.
    Restore {
        sure: u8,
    },
    /// Goes on in another world, into which this one is loaded.
    Move,
    /// Tries to restore a snapshot of which these bytes were changed.
    Tamper {
        changes: [u8; 8],
    },
    /// Gives back memory, and archetypes if that is asked for.
    Compact {
        collect: bool,
    },
    Relate {
        bond: Bond,
        source: Who,
        target: Who,
    },
    /// Ends the relation to one of the targets.
    Unrelate {
        bond: Bond,
        source: Who,
        nth: u8,
    },
    /// Has a hook or an observer write down what it is told; only where `sure` is small.
    Watch {
        watched: Watched,
        is_hook: bool,
        sure: u8,
    },
    /// Changes all entities that pass a filter; despawns them only where `sure` is small.
    Bulk {
        crowd: Crowd,
        deed: Deed,
        value: u8,
        is_recorded: bool,
        sure: u8,
    },
    /// Rarely meant: only where `sure` is small.
    Clear {
        sure: u8,
    },
}

/// How one component of one entity is written.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Way {
    GetMut,
    View,
    Claim,
    QueryOne,
    ById,
}

/// Which buffers are played back; the last one can be repeated, and is not one of all.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Buffers {
    All,
    One(u8),
}

/// One recorded command.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Command {
    Spawn {
        shape: Shape,
        value: u8,
        link: Who,
    },
    Insert {
        who: Who,
        shape: Shape,
        value: u8,
        link: Who,
    },
    Remove {
        who: Who,
        shape: Shape,
    },
    SetEnabled {
        who: Who,
        kind: Kind,
        enabled: bool,
    },
    Despawn {
        who: Who,
    },
    /// A stored call that takes components from an entity, or takes it away.
    Call {
        who: Who,
        shape: Option<Shape>,
    },
    /// Makes copies, each of which is given something where there is a value for it.
    Instantiate {
        who: Who,
        count: u8,
        gift: Option<(u8, Who)>,
    },
}

/// Programs end here, however many bytes are left.
const OPS_MAX: usize = 200;

/// Runs the program that these bytes are, twice: the two worlds must come out the same. Panics
/// where world and model disagree.
pub(crate) fn run_bytes(bytes: &[u8]) {
    run_twice_or_shrink(&program(bytes));
}

/// Runs the program of mostly commands that these bytes are, as [`run_bytes`] does.
pub(crate) fn run_command_bytes(bytes: &[u8]) {
    run_twice_or_shrink(&commands::program(bytes));
}

/// Runs the program of mostly queries that these bytes are, as [`run_bytes`] does.
pub(crate) fn run_query_bytes(bytes: &[u8]) {
    run_twice_or_shrink(&questions::program(bytes));
}

/// Runs the program of mostly relations, watchers and clean-ups that these bytes are, as
/// [`run_bytes`] does.
pub(crate) fn run_society_bytes(bytes: &[u8]) {
    run_twice_or_shrink(&society::program(bytes));
}

/// Runs the program of mostly snapshots that these bytes are, as [`run_bytes`] does.
pub(crate) fn run_snapshot_bytes(bytes: &[u8]) {
    run_twice_or_shrink(&snapshots::program(bytes));
}

/// Runs the program of watchers that change the world that these bytes are.
pub(crate) fn run_wild_bytes(bytes: &[u8]) {
    wild::run_bytes(bytes);
}

/// Once with another world where the program says so, and once with the same one throughout.
fn run_twice(program: &[Op]) {
    let (moving, staying) = (run(program, true), run(program, false));
    assert_eq!(moving, staying, "the same program gave two different worlds");
}

/// As [`run_twice`]. Where the program fails, says a shorter one that does.
fn run_twice_or_shrink(program: &[Op]) {
    shrink::run_or_shrink(program, run_twice);
}

fn program(bytes: &[u8]) -> Vec<Op> {
    steps(bytes, |op, ops| ops.push(op))
}

/// What the steps that are in the bytes come to.
fn steps<'a, Step: Arbitrary<'a>>(bytes: &'a [u8], push: impl Fn(Step, &mut Vec<Op>)) -> Vec<Op> {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    while !bytes.is_empty() && ops.len() < OPS_MAX {
        let Ok(step) = bytes.arbitrary() else { break };
        push(step, &mut ops);
    }
    ops
}

/// Runs a program; gives the hash of the world after every operation.
fn run(program: &[Op], moves: bool) -> Vec<u64> {
    let mut run = Run::new(moves);
    let mut hashes = Vec::new();
    for (number, op) in program.iter().enumerate() {
        run.apply(op);
        run.verify(number, op);
        hashes.push(run.state_hash());
    }
    run.finish();
    hashes
}

/// Bytes from a seed (SplitMix64).
pub(crate) fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut stream = formic_ecs::RandomStream::new(seed);
    (0..len).map(|_| stream.next_u64().to_be_bytes()[0]).collect()
}
