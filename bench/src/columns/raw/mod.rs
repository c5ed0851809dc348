//! Plain vectors: the physical limit for loops, a bound elsewhere. There are no entities; where a
//! row works by id, the id is an index.

mod agents;
mod change;
mod loops;

use glam::{Mat4, Vec3};

use super::Filled;
use crate::harness::Cell;
use crate::model::{body, random_half, sum_vectors};
use crate::rows::{Kind, Row};

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let n = row.n;
    Some(match row.kind {
        Kind::InsertBatch => {
            Cell::rebuilt(Bodies::default, move |bodies| bodies.extend(n), |bodies| bodies.check())
        }
        Kind::InsertSingle | Kind::InsertWorst => Cell::one_by_one(
            row.spawns(),
            Bodies::default,
            |bodies, i| bodies.push(i),
            |bodies| bodies.check(),
        ),
        Kind::InsertSuite => Cell::frames(0, move |len| *len = suite(n), |len| *len as u64),
        Kind::SimpleIter => loops::simple_iter(n),
        Kind::SimpleIterSlice => loops::simple_iter_slice(n),
        Kind::WideIter => loops::wide_iter(n),
        Kind::FragIter => loops::frag_iter(),
        Kind::ManyArchIter => loops::many_arch(|_| true),
        Kind::ManyArchFilter => loops::many_arch(crate::rows::passes_filter),
        Kind::HeavySerial => loops::heavy_serial(n),
        Kind::HeavyParallel => loops::heavy_parallel(n),
        Kind::ScheduleSerial => loops::schedule_serial(n),
        Kind::ScheduleParallel => loops::schedule_parallel(n),
        Kind::AddRemove => change::add_remove(n),
        Kind::ToggleFlag => change::toggle_flag(n),
        Kind::RandomRead => change::random_read(n),
        Kind::RandomRmw => change::random_rmw(n),
        Kind::DespawnAll => change::despawn(n, (0..n).collect()),
        Kind::DespawnHalf => change::despawn(n, random_half(n)),
        Kind::Churn => change::churn(n),
        Kind::Changed => change::changed(n),
        Kind::AgentsFlag => agents::flag(n, false),
        Kind::AgentsFlagShuf => agents::flag(n, true),
        Kind::AgentsFlagPush => agents::flag_push(n),
        Kind::AddRemoveCmd
        | Kind::ToggleTag
        | Kind::ToggleTagAlt
        | Kind::ToggleNative
        | Kind::AgentsTag
        | Kind::AgentsNative
        | Kind::AgentsNativeShuf
        | Kind::Memory => return None,
    })
}

/// Many bodies, a vector for each component.
#[derive(Default)]
struct Bodies {
    transforms: Vec<Mat4>,
    positions: Vec<Vec3>,
    rotations: Vec<Vec3>,
    velocities: Vec<Vec3>,
}

impl Bodies {
    fn of(n: usize) -> Self {
        let mut bodies = Self::default();
        bodies.extend(n);
        bodies
    }

    fn extend(&mut self, n: usize) {
        self.transforms.reserve(n);
        self.positions.reserve(n);
        self.rotations.reserve(n);
        self.velocities.reserve(n);
        (0..n).for_each(|i| self.push(i));
    }

    #[inline]
    fn push(&mut self, i: usize) {
        let (transform, position, rotation, velocity) = body(i);
        self.transforms.push(transform);
        self.positions.push(position);
        self.rotations.push(rotation);
        self.velocities.push(velocity);
    }

    fn swap_remove(&mut self, at: usize) {
        self.transforms.swap_remove(at);
        self.positions.swap_remove(at);
        self.rotations.swap_remove(at);
        self.velocities.swap_remove(at);
    }

    fn check(&self) -> u64 {
        sum_vectors(self.positions.iter().copied())
    }
}

fn suite(n: usize) -> usize {
    let bodies = Bodies::of(n);
    std::hint::black_box(&bodies).positions.len()
}

/// Three columns of 12 bytes.
pub(crate) fn fill(n: usize) -> Filled {
    let mut columns: [Vec<Vec3>; 3] = std::array::from_fn(|_| Vec::with_capacity(n));
    for (_, position, rotation, velocity) in (0..n).map(body) {
        columns[0].push(position);
        columns[1].push(rotation);
        columns[2].push(velocity);
    }
    let sum = sum_vectors(columns[0].iter().copied());
    (Box::new(columns), sum)
}
