//! The columns: each does the rows by its own calls, on the same values.

mod arrays;
mod c;
#[cfg(feature = "flecs")]
mod flecs;
mod rust;

use bytemuck::{Pod, Zeroable};
use formic_ecs::Component;

use crate::harness::Cell;
use crate::{Kind, Row};

pub(crate) const RUST: &str = "Rust";
pub(crate) const C: &str = "C";
/// Archetypes in the row of fragments: the two components and one tag of as many.
pub(crate) const FRAGMENTS: usize = 26;

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Velocity {
    x: f32,
    y: f32,
}

/// The values of the entities of a row, as a host has them: in arrays.
#[derive(Clone)]
pub(crate) struct Values {
    pub(crate) positions: Vec<Position>,
    pub(crate) velocities: Vec<Velocity>,
}

impl Values {
    pub(crate) fn new(count: usize) -> Self {
        let x = |place: usize| (place % 1000) as f32;
        let positions = (0..count).map(|place| Position { x: x(place), y: -x(place) }).collect();
        let velocity = |place| Velocity { x: (place % 8) as f32, y: 1.0 };
        Self { positions, velocities: (0..count).map(velocity).collect() }
    }
}

/// The loop of all columns over one run of rows. One copy of it: where a loop lies in memory, and what
/// it was inlined into, counts for more than the stores do.
#[inline(never)]
pub(crate) fn advance(positions: &mut [Position], velocities: &[Velocity]) {
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        position.x += velocity.x;
        position.y += velocity.y;
    }
}

/// A sum that does not depend on the order of the rows.
pub(crate) fn sum<'a>(positions: impl IntoIterator<Item = &'a Position>) -> u64 {
    let one = |position: &Position| {
        let bits = u64::from(position.x.to_bits()) << 32 | u64::from(position.y.to_bits());
        bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    positions.into_iter().fold(0, |sum, position| sum.wrapping_add(one(position)))
}

/// A store as a column uses it.
pub(crate) trait Store: Sized + 'static {
    /// A world that knows the two components and as many tags.
    fn new() -> Self;
    /// Spawns all in one call. With a tag, entities have it as well.
    fn spawn(&mut self, values: &Values, tag: Option<usize>);
    /// Despawns all that the last call of [`Store::spawn`] spawned.
    fn despawn(&mut self);
    /// Adds its velocity to each position.
    fn advance(&mut self);
    /// Asks for the columns, where they can be kept from frame to frame. [`Store::sum`] gives them back.
    fn hold(&mut self) {}
    /// [`Store::advance`] by the columns that were asked for.
    fn advance_held(&mut self) {
        self.advance();
    }
    fn sum(&mut self) -> u64;
}

fn cell<S: Store>(row: Row) -> Cell {
    let values = Values::new(row.entities);
    match row.kind {
        Kind::Spawn => Cell::rebuilt(S::new, move |store| store.spawn(&values, None), S::sum),
        Kind::Respawn => {
            let mut store = S::new();
            store.spawn(&values, None);
            let frame = move |store: &mut S| {
                store.despawn();
                store.spawn(&values, None);
            };
            Cell::frames(store, frame, S::sum)
        }
        Kind::Iterate => {
            let mut store = S::new();
            store.spawn(&values, None);
            Cell::frames(store, S::advance, S::sum)
        }
        Kind::Held => {
            let mut store = S::new();
            store.spawn(&values, None);
            store.hold();
            Cell::frames(store, S::advance_held, S::sum)
        }
        Kind::Fragments => {
            let mut store = S::new();
            let values = Values::new(row.entities / FRAGMENTS);
            (0..FRAGMENTS).for_each(|tag| store.spawn(&values, Some(tag)));
            Cell::frames(store, S::advance, S::sum)
        }
    }
}

/// The cells of a row, with the names of their columns.
pub(crate) fn cells(row: Row) -> Vec<(&'static str, Cell)> {
    vec![
        (RUST, cell::<rust::Rust>(row)),
        (C, cell::<c::C>(row)),
        #[cfg(feature = "flecs")]
        ("flecs' C", cell::<flecs::Flecs>(row)),
        ("arrays", cell::<arrays::Arrays>(row)),
    ]
}
