//! Rows that only loop.

use bytemuck::cast_slice;
use bytemuck::cast_slice_mut;
use rayon::prelude::*;

use super::Bodies;
use crate::harness::Cell;
use crate::model::{FRAGMENT_LEN, TAG_SETS, heavy_work, sum_floats, tag_set_len};

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |bodies: &mut Bodies| {
        for (position, velocity) in bodies.positions.iter_mut().zip(&bodies.velocities) {
            *position += *velocity;
        }
    };
    Cell::frames(Bodies::of(n), frame, |bodies| bodies.check())
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let frame = |bodies: &mut Bodies| {
        let positions: &mut [f32] = cast_slice_mut(&mut bodies.positions);
        let velocities: &[f32] = cast_slice(&bodies.velocities);
        for (position, velocity) in positions.iter_mut().zip(velocities) {
            *position += velocity;
        }
    };
    Cell::frames(Bodies::of(n), frame, |bodies| bodies.check())
}

pub(super) fn wide_iter(n: usize) -> Cell {
    let floats = |value: f32| vec![value; n];
    let written = [1.0, 2.0, 3.0, 4.0].map(floats);
    let read = [5.0, 6.0, 7.0, 8.0].map(floats);
    let frame = |(written, read): &mut ([Vec<f32>; 4], [Vec<f32>; 4])| {
        let [a, b, c, d] = written;
        let [e, f, g, h] = read;
        let of = a.iter_mut().zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h);
        for (((((((a, b), c), d), e), f), g), h) in of {
            *a += *e;
            *b += *f;
            *c += *g;
            *d += *h;
        }
    };
    Cell::frames((written, read), frame, |(written, _)| {
        sum_floats(written.iter().flatten().copied())
    })
}

pub(super) fn frag_iter() -> Cell {
    let tables = vec![vec![1.0_f32; FRAGMENT_LEN]; 26];
    Cell::frames(
        tables,
        |tables| add_one(tables),
        |tables| sum_floats(tables.iter().flatten().copied()),
    )
}

/// The tables that match are known beforehand, as in a query that is kept.
pub(super) fn many_arch(matches: fn(u32) -> bool) -> Cell {
    let table = |set: u32| vec![1.0_f32; tag_set_len(set) as usize];
    let (visited, rest): (Vec<u32>, Vec<u32>) = (0..TAG_SETS).partition(|&set| matches(set));
    let tables = |sets: Vec<u32>| sets.into_iter().map(table).collect::<Vec<_>>();
    Cell::frames(
        (tables(visited), tables(rest)),
        |(visited, _)| add_one(visited),
        |(visited, rest)| sum_floats(visited.iter().chain(rest.iter()).flatten().copied()),
    )
}

fn add_one(tables: &mut [Vec<f32>]) {
    for table in tables {
        table.iter_mut().for_each(|data| *data += 1.0);
    }
}

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |bodies: &mut Bodies| {
        for (transform, position) in bodies.transforms.iter_mut().zip(&mut bodies.positions) {
            heavy_work(transform, position);
        }
    };
    Cell::frames(Bodies::of(n), frame, |bodies| bodies.check())
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let frame = |bodies: &mut Bodies| {
        let both = bodies.transforms.par_iter_mut().zip(&mut bodies.positions);
        both.for_each(|(transform, position)| heavy_work(transform, position));
    };
    Cell::frames(Bodies::of(n), frame, |bodies| bodies.check())
}

/// The four tables of the schedule rows: (A, B), (A, B, C), (A, B, C, D), (A, B, C, E).
struct Tables {
    a: [Vec<f32>; 4],
    b: [Vec<f32>; 4],
    /// Of the second table.
    c: Vec<f32>,
    /// Of the third.
    cd: (Vec<f32>, Vec<f32>),
    /// Of the fourth.
    ce: (Vec<f32>, Vec<f32>),
}

impl Tables {
    fn of(n: usize) -> Self {
        let column = |first: f32| (0..n).map(|i| first + i as f32).collect::<Vec<_>>();
        Self {
            a: std::array::from_fn(|_| column(0.0)),
            b: std::array::from_fn(|_| column(1.0)),
            c: column(2.0),
            cd: (column(2.0), column(3.0)),
            ce: (column(2.0), column(4.0)),
        }
    }

    fn check(&self) -> u64 {
        let swapped = [&self.cd.0, &self.ce.0];
        sum_floats(self.a.iter().chain(swapped).flatten().chain(&self.c).copied())
    }
}

/// Element by element, as a system would; exchanging the vectors would be no loop at all.
#[inline(never)]
fn swap(left: &mut [f32], right: &mut [f32]) {
    left.swap_with_slice(right);
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    let frame = |tables: &mut Tables| {
        tables.a.iter_mut().zip(&mut tables.b).for_each(|(a, b)| swap(a, b));
        swap(&mut tables.cd.0, &mut tables.cd.1);
        swap(&mut tables.ce.0, &mut tables.ce.1);
    };
    Cell::frames(Tables::of(n), frame, |tables| tables.check())
}

/// The systems that do not conflict at the same time.
pub(super) fn schedule_parallel(n: usize) -> Cell {
    let frame = |tables: &mut Tables| {
        let Tables { a, b, cd, ce, .. } = tables;
        rayon::join(
            || a.iter_mut().zip(b).for_each(|(a, b)| swap(a, b)),
            || {
                swap(&mut cd.0, &mut cd.1);
                swap(&mut ce.0, &mut ce.1);
            },
        );
    };
    Cell::frames(Tables::of(n), frame, |tables| tables.check())
}
