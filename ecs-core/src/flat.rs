//! Slices of components as slices of numbers.

use bytemuck::{AnyBitPattern, NoUninit};

/// The numbers that plain values consist of, one after the other: of three positions with three
/// coordinates each, nine.
///
/// For loops over [`Query::for_each_chunk`](crate::Query::for_each_chunk): with flat numbers the
/// compiler can use the whole width of a vector, however many fields a component has.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use formic_ecs::prelude::*;
/// use formic_ecs::{flat, flat_mut};
///
/// #[derive(Component, Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32, z: f32 }
/// #[derive(Component, Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Velocity { x: f32, y: f32, z: f32 }
///
/// let mut world = World::new();
/// world.spawn((Position { x: 0.0, y: 1.0, z: 2.0 }, Velocity { x: 3.0, y: 3.0, z: 3.0 }));
/// world.query::<(&mut Position, &Velocity)>().for_each_chunk(|(positions, velocities)| {
///     for (p, v) in flat_mut::<f32>(positions).iter_mut().zip(flat::<f32>(velocities)) {
///         *p += v;
///     }
/// });
/// let numbers = world.query::<&Position>().map(|p| p.x + p.y + p.z).sum::<f32>();
/// assert_eq!(numbers, 12.0);
/// ```
///
/// # Panics
/// Panics if the values do not consist of such numbers: their size is no multiple of the number's,
/// or their alignment is smaller.
#[must_use]
#[inline]
pub fn flat<Number: AnyBitPattern>(values: &[impl NoUninit]) -> &[Number] {
    if size_of_val(values) == 0 { &[] } else { bytemuck::cast_slice(values) }
}

/// Like [`flat`], to be written.
///
/// # Panics
/// Panics if the values do not consist of such numbers: their size is no multiple of the number's,
/// or their alignment is smaller.
#[must_use]
#[inline]
pub fn flat_mut<Number: NoUninit + AnyBitPattern>(
    values: &mut [impl NoUninit + AnyBitPattern],
) -> &mut [Number] {
    if size_of_val(values) == 0 { &mut [] } else { bytemuck::cast_slice_mut(values) }
}
