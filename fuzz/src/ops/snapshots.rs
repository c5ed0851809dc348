//! Programs that are mostly snapshots of a world that has something of everything: going back, going
//! on in another world, and bytes that were altered.

use arbitrary::Arbitrary;

use super::bonds::Bond;
use super::parts::Kind;
use super::shapes::Shape;
use super::{Command, Op, Who, steps};

/// What becomes one operation or several.
#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Crowd {
        shape: Shape,
        value: u8,
        count: u8,
    },
    /// Many who are related to one.
    Star {
        bond: Bond,
        centre: Who,
        first: u8,
        count: u8,
    },
    Flips {
        kind: Kind,
        first: u8,
        count: u8,
    },
    Thin {
        step: u8,
    },
    Despawn {
        who: Who,
    },
    /// Something that a buffer holds while the world changes under it.
    Record {
        buffer: u8,
        shape: Shape,
        value: u8,
        who: Who,
    },
    Mark,
    Save,
    Restore,
    Move,
    Tamper {
        changes: [u8; 8],
    },
    Direct(Op),
}

pub(super) fn program(bytes: &[u8]) -> Vec<Op> {
    let mut ops = steps(bytes, push);
    ops.push(Op::Move);
    ops
}

fn push(step: Step, ops: &mut Vec<Op>) {
    let several = |first: u8, count: u8| (0..count % 12).map(move |nth| first.wrapping_add(nth));
    match step {
        Step::Crowd { shape, value, count } => {
            ops.push(Op::SpawnBatch { shape, value, link: Who(value), count: count % 32 });
        }
        Step::Star { bond, centre, first, count } => {
            let relate = |who| Op::Relate { bond, source: Who(who), target: centre };
            ops.extend(several(first, count).map(relate));
        }
        Step::Flips { kind, first, count } => {
            let flip = |who| Op::SetEnabled { who: Who(who), kind, enabled: who % 4 == 0 };
            ops.extend(several(first, count).map(flip));
        }
        Step::Thin { step } => ops.push(Op::Thin { step }),
        Step::Despawn { who } => ops.push(Op::Despawn { who }),
        Step::Record { buffer, shape, value, who } => {
            let command = Command::Insert { who, shape, value, link: who };
            ops.push(Op::Record { buffer, sort_key: value, command });
        }
        Step::Mark => ops.push(Op::Mark),
        Step::Save => ops.push(Op::Save),
        Step::Restore => ops.push(Op::Restore { sure: 0 }),
        Step::Move => ops.push(Op::Move),
        Step::Tamper { changes } => ops.push(Op::Tamper { changes }),
        Step::Direct(op) => ops.push(op),
    }
}
