//! A town whose residents move until enough of their neighbours are of their kind: Schelling's model of
//! segregation, by systems of a schedule. Whether one stays is a utility of the share of its neighbours.

use bytemuck::{Pod, Zeroable};
use formic::ecs::{Component, RandomStream, World};
use formic::jobs::prelude::*;
use formic::jobs::{Pool, Schedule, Threads};
use formic::prelude::{Curve, Input, Query, Res, ResMut, Utility};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::error::failed;

/// The number of a cell: rows of a torus, one behind the other.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Home(u32);

/// 0 or 1.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Kind(u8);

/// 1 for a resident that stays.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Happy(u8);

const EMPTY: u8 = 2;

/// What lies where.
struct Streets {
    side: u32,
    /// The kind of each cell's resident, or [`EMPTY`].
    cells: Vec<u8>,
    empty: Vec<u32>,
    random: RandomStream,
    stay: Utility,
}

impl Streets {
    /// The share of a cell's neighbours that are of this kind; 0 without neighbours.
    fn alike(&self, home: u32, kind: u8) -> f32 {
        let (side, last) = (self.side, self.side - 1);
        let (x, y) = (home % side, home / side);
        let around = |middle: u32| {
            [
                if middle == 0 { last } else { middle - 1 },
                middle,
                if middle == last { 0 } else { middle + 1 },
            ]
        };
        let (mut same, mut other) = (0_u8, 0_u8);
        for row in around(y) {
            for column in around(x) {
                let found = self.cells[(row * side + column) as usize];
                same += u8::from(found == kind);
                other += u8::from(found == 1 - kind);
            }
        }
        // It counted itself.
        same -= 1;
        if same + other == 0 { 0.0 } else { f32::from(same) / f32::from(same + other) }
    }
}

fn look(mut residents: Query<'_, (&Home, &Kind, &mut Happy)>, streets: Res<'_, Streets>) {
    let streets = &*streets;
    residents.par_for_each(|(home, kind, happy)| {
        let stays = streets.stay.score(&[streets.alike(home.0, kind.0)]) > 0.0;
        happy.0 = u8::from(stays);
    });
}

/// The unhappy ones move, one after the other in random order: who leaves makes room for those that follow.
fn move_on(mut residents: Query<'_, (&mut Home, &Kind, &Happy)>, mut streets: ResMut<'_, Streets>) {
    let Streets { cells, empty, random, .. } = &mut *streets;
    let mut movers: Vec<_> = Vec::new();
    residents.for_each(|(home, kind, happy)| {
        if happy.0 == 0 {
            movers.push((home, kind.0));
        }
    });
    if empty.is_empty() {
        return;
    }
    let mut below =
        |bound: usize| usize::try_from(random.below(bound as u64)).expect("it is below the bound");
    for next in 0..movers.len() {
        let chosen = next + below(movers.len() - next);
        movers.swap(next, chosen);
        let ((home, kind), place) = (&mut movers[next], below(empty.len()));
        cells[home.0 as usize] = EMPTY;
        cells[empty[place] as usize] = *kind;
        core::mem::swap(&mut home.0, &mut empty[place]);
    }
}

struct State {
    world: World,
    step: Schedule,
}

/// A town of residents of two kinds.
#[pyclass(frozen, module = "formic._formic")]
pub(crate) struct Town {
    pool: Pool,
    state: Box<Mutex<State>>,
}

#[pymethods]
impl Town {
    /// A torus of `side` x `side` cells, where residents stay whose share of neighbours of their kind is
    /// at least `homophily`.
    #[new]
    fn new(side: u32, density: f64, homophily: f32, seed: u64, threads: usize) -> PyResult<Self> {
        if !(3..=10_000).contains(&side) {
            return Err(failed("the side of a town has from 3 to 10000 cells"));
        }
        if !(0.0..=1.0).contains(&density) || !(0.0..=1.0).contains(&homophily) {
            return Err(failed("density and homophily are from 0 to 1"));
        }
        let threads = if threads == 0 { Threads::None } else { Threads::Own(threads) };
        let pool = Pool::new(threads).map_err(failed)?;
        let mut random = RandomStream::new(seed);
        let mut chance = |share: f64| (random.below(1 << 32) as f64) < share * (1_u64 << 32) as f64;
        let mut cell = |_| if chance(density) { u8::from(chance(0.5)) } else { EMPTY };
        let cells: Vec<u8> = (0..side * side).map(&mut cell).collect();
        let (mut world, mut empty) = (World::new(), Vec::new());
        let mut residents = Vec::new();
        for (home, &kind) in (0..).zip(&cells) {
            if kind == EMPTY {
                empty.push(home);
            } else {
                residents.push((Home(home), Kind(kind), Happy(0)));
            }
        }
        world.spawn_batch(residents);
        let [alike] = Input::named(["alike"]);
        let stay = Utility::of(alike, Curve::step(homophily));
        world.insert_resource(Streets { side, cells, empty, random, stay });
        let mut begin = Schedule::builder().add(look).build(&mut world).map_err(failed)?;
        begin.run(&mut world, &pool);
        let step = Schedule::builder().add((move_on, look).chain()).build(&mut world);
        let state = State { world, step: step.map_err(failed)? };
        Ok(Self { pool, state: Box::new(Mutex::new(state)) })
    }

    /// The unhappy ones move; then all look again.
    fn step(&self, py: Python<'_>) {
        py.detach(|| {
            let State { world, step } = &mut *self.state.lock();
            step.run(world, &self.pool);
        });
    }

    /// The kind in each cell, and 2 where there is none.
    fn cells<'py>(&self, py: Python<'py>) -> Bound<'py, PyByteArray> {
        let state = self.state.lock();
        let streets = state.world.resource::<Streets>().expect("it is there from the start");
        PyByteArray::new(py, &streets.cells)
    }

    /// How many are happy, and how many there are.
    fn happy(&self) -> (usize, usize) {
        let world = &self.state.lock().world;
        let happy = world.query_ref::<&Happy>().into_iter().filter(|it| it.0 == 1).count();
        (happy, world.len())
    }

    fn state_hash(&self) -> u64 {
        self.state.lock().world.state_hash().value()
    }
}
