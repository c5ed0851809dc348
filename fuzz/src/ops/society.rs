//! Programs that are mostly about what entities are to each other, who watches them, and what is
//! left to do when they go.

use arbitrary::Arbitrary;

use super::bonds::Bond;
use super::shapes::Shape;
use super::watch::{Moment, Watched};
use super::{Command, Op, Who, steps};

/// What becomes one operation or several.
#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Crowd {
        shape: Shape,
        value: u8,
        count: u8,
    },
    /// A chain, each of which is related to the one before.
    Chain {
        bond: Bond,
        first: u8,
        count: u8,
        step: u8,
    },
    /// Many who are related to one.
    Star {
        bond: Bond,
        centre: Who,
        first: u8,
        count: u8,
    },
    Unrelate {
        bond: Bond,
        source: Who,
        nth: u8,
    },
    Despawn {
        who: Who,
    },
    /// Commands that despawn, between others that touch the same entities.
    RecordDespawns {
        first: u8,
        count: u8,
        shape: Shape,
        plays: bool,
    },
    /// What was despawned and waits to be cleaned up is cleaned up.
    CleanUp {
        who: Who,
    },
    Copy {
        who: Who,
        count: u8,
    },
    Give {
        who: Who,
        shape: Shape,
        value: u8,
    },
    Take {
        who: Who,
        shape: Shape,
    },
    Watch {
        watched: Watched,
        is_hook: bool,
        sure: u8,
    },
    Direct(Op),
}

pub(super) fn program(bytes: &[u8]) -> Vec<Op> {
    steps(bytes, push)
}

fn push(step: Step, ops: &mut Vec<Op>) {
    match step {
        Step::Crowd { shape, value, count } => {
            ops.push(Op::SpawnBatch { shape, value, link: Who(value), count: count % 32 });
        }
        Step::Chain { bond, first, count, step } => {
            let mut target = Who(first);
            for _ in 0..count % 12 {
                let source = Who(target.0.wrapping_add(step));
                ops.push(Op::Relate { bond, source, target });
                target = source;
            }
        }
        Step::Star { bond, centre, first, count } => {
            ops.extend((0..count % 12).map(|nth| {
                let source = Who(first.wrapping_add(nth));
                Op::Relate { bond, source, target: centre }
            }));
        }
        Step::Unrelate { bond, source, nth } => ops.push(Op::Unrelate { bond, source, nth }),
        Step::Despawn { who } => ops.push(Op::Despawn { who }),
        Step::RecordDespawns { first, count, shape, plays } => {
            let record = |command| Op::Record { buffer: 0, sort_key: 0, command };
            for nth in 0..count % 6 {
                let who = Who(first.wrapping_add(nth));
                ops.push(record(Command::Insert { who, shape, value: nth, link: who }));
                ops.push(record(Command::Despawn { who }));
                ops.push(record(Command::Remove { who, shape: Shape::Socket }));
            }
            if plays {
                ops.push(Op::Play { buffers: super::Buffers::One(0) });
            }
        }
        Step::CleanUp { who } => ops.push(Op::Remove { who, shape: Shape::Socket }),
        Step::Copy { who, count } => ops.push(Op::Instantiate { who, count }),
        Step::Give { who, shape, value } => {
            ops.push(Op::Insert { who, shape, value, link: who });
        }
        Step::Take { who, shape } => ops.push(Op::Remove { who, shape }),
        Step::Watch { watched, is_hook, sure } => {
            // Half of the programs have none.
            let watch = |watched| Op::Watch { watched, is_hook, sure: sure / 4 };
            match watched {
                // All that can become of a component, as often as one thing alone.
                Watched::Component(_, kind) if sure % 2 == 0 => {
                    ops.extend(Moment::ALL.map(|moment| watch(Watched::Component(moment, kind))));
                }
                _ => ops.push(watch(watched)),
            }
        }
        Step::Direct(op) => ops.push(op),
    }
}
