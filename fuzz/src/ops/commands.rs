//! Programs that are mostly commands: bursts on one entity, and runs of like commands over many,
//! which playback plays together. The model plays each by itself.

use arbitrary::Arbitrary;

use super::parts::Kind;
use super::shapes::Shape;
use super::{Buffers, Command, Op, Who, steps};

/// What becomes one operation or several.
#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Crowd {
        shape: Shape,
        value: u8,
        count: u8,
    },
    /// Commands on one entity, after a spawn perhaps.
    Burst {
        buffer: u8,
        sort_key: u8,
        born: Option<Shape>,
        who: u8,
        deeds: [Option<Deed>; 6],
    },
    /// The same command on many entities.
    Run {
        buffer: u8,
        sort_key: u8,
        deed: Deed,
        first: u8,
        count: u8,
        step: u8,
    },
    Spawns {
        buffer: u8,
        sort_key: u8,
        shape: Shape,
        count: u8,
    },
    Flip {
        who: Who,
        kind: Kind,
    },
    Play {
        one: Option<u8>,
    },
    Forget {
        buffer: u8,
        drop: bool,
    },
    Append {
        into: u8,
        from: u8,
    },
    Direct(Op),
}

/// What a command does to an entity.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Deed {
    Insert { shape: Shape, value: u8 },
    InsertLink { shape: Shape, link: Who },
    Remove { shape: Shape },
    SetEnabled { kind: Kind, enabled: bool },
    Despawn { sure: u8 },
    Call { shape: Option<Shape>, sure: u8 },
    Instantiate { count: u8, gift: Option<(u8, Who)> },
}

impl Deed {
    fn on(self, who: Who) -> Command {
        match self {
            Self::Insert { shape, value } => Command::Insert { who, shape, value, link: who },
            Self::InsertLink { shape, link } => Command::Insert { who, shape, value: 1, link },
            Self::Remove { shape } => Command::Remove { who, shape },
            Self::SetEnabled { kind, enabled } => Command::SetEnabled { who, kind, enabled },
            Self::Instantiate { count, gift } => Command::Instantiate { who, count, gift },
            Self::Despawn { sure } if sure < 80 => Command::Despawn { who },
            Self::Call { shape, sure } if shape.is_some() || sure < 80 => {
                Command::Call { who, shape }
            }
            Self::Call { .. } | Self::Despawn { .. } => {
                Command::Remove { who, shape: Shape::Nothing }
            }
        }
    }
}

pub(super) fn program(bytes: &[u8]) -> Vec<Op> {
    let mut ops = steps(bytes, push);
    ops.push(Op::Play { buffers: Buffers::All });
    ops
}

fn push(step: Step, ops: &mut Vec<Op>) {
    match step {
        Step::Crowd { shape, value, count } => {
            ops.push(Op::SpawnBatch { shape, value, link: Who(value), count: count % 32 });
        }
        Step::Burst { buffer, sort_key, born, who, deeds } => {
            let record = |command| Op::Record { buffer, sort_key, command };
            if let Some(shape) = born {
                ops.push(record(Command::Spawn { shape, value: who, link: Who(who) }));
            }
            // A multiple of three picks a deferred entity, where there is one.
            let who = Who(if born.is_some() { who - who % 3 } else { who });
            ops.extend(deeds.into_iter().flatten().map(|deed| record(deed.on(who))));
        }
        Step::Run { buffer, sort_key, deed, first, count, step } => {
            let mut who = first;
            for _ in 0..count % 16 {
                ops.push(Op::Record { buffer, sort_key, command: deed.on(Who(who)) });
                who = who.wrapping_add(step);
            }
        }
        Step::Spawns { buffer, sort_key, shape, count } => {
            for value in 0..count % 8 {
                let command = Command::Spawn { shape, value, link: Who(value) };
                ops.push(Op::Record { buffer, sort_key, command });
            }
        }
        Step::Flip { who, kind } => ops.push(Op::SetEnabled { who, kind, enabled: false }),
        Step::Play { one } => {
            let buffers = one.map_or(Buffers::All, Buffers::One);
            ops.push(Op::Play { buffers });
        }
        Step::Append { into, from } => ops.push(Op::Append { into, from }),
        Step::Forget { buffer, drop } if drop => ops.push(Op::Forget { buffer, drop: false }),
        Step::Forget { buffer, .. } => ops.push(Op::Play { buffers: Buffers::One(buffer) }),
        Step::Direct(op) => ops.push(op),
    }
}
