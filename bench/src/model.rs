//! The workload of the rows: the data, the orders and the checksums, the same for every column.
//!
//! Each framework defines the component types itself, with its own derive, from the one list below.

use glam::{Mat4, Vec3};

/// Calls a macro with the components that all frameworks share. Those that hold entities, or that
/// a framework stores in a special way, are defined where they are used.
macro_rules! shared_components {
    ($define:ident) => {
        $define! {
            Transform(pub glam::Mat4), Position(pub glam::Vec3), Rotation(pub glam::Vec3),
            Velocity(pub glam::Vec3), Data(pub f32), Value(pub u32), Progress(pub u32),
            A(pub f32), B(pub f32), C(pub f32), D(pub f32), E(pub f32), F(pub f32), G(pub f32),
            H(pub f32), I(pub f32), J(pub f32), K(pub f32), L(pub f32), M(pub f32), N(pub f32),
            O(pub f32), P(pub f32), Q(pub f32), R(pub f32), S(pub f32), T(pub f32), U(pub f32),
            V(pub f32), W(pub f32), X(pub f32), Y(pub f32), Z(pub f32),
        }
    };
}

/// Calls a macro with the 26 one-float components of the fragmented row.
macro_rules! for_each_letter {
    ($macro:ident) => {
        $macro! { A B C D E F G H I J K L M N O P Q R S T U V W X Y Z }
    };
}

/// Calls a macro with the ten tags of the rows of many archetypes, each with its number.
macro_rules! for_each_tag {
    ($macro:ident) => {
        $macro! { T0 0, T1 1, T2 2, T3 3, T4 4, T5 5, T6 6, T7 7, T8 8, T9 9 }
    };
}

pub(crate) use {for_each_letter, for_each_tag, shared_components};

/// Entities of each archetype in the fragmented row.
pub(crate) const FRAGMENT_LEN: usize = 20;
/// Archetypes in the rows of many archetypes: every set of ten tags.
pub(crate) const TAG_SETS: u32 = 1024;
/// Action entities for each agent.
pub(crate) const ACTIONS: u32 = 5;
/// One agent in so many advances in a frame.
pub(crate) const ADVANCE_EVERY: usize = 10;

/// The four components of entity `i` in the rows of whole bodies: 100 bytes.
pub(crate) fn body(i: usize) -> (Mat4, Vec3, Vec3, Vec3) {
    let x = i as f32;
    (matrix(i), Vec3::new(x, 0.5, -x), Vec3::X, Vec3::new(0.25, 1.0, (i % 8) as f32))
}

/// A general matrix whose inverse is not its own.
fn matrix(i: usize) -> Mat4 {
    let spread = 1.0 + (i % 5) as f32 * 0.125;
    Mat4::from_cols_array(&[
        spread, 0.5, 0.0, 0.25, 0.0, 2.0, 0.5, 0.0, 0.25, 0.0, 1.5, 0.5, 0.5, 0.25, 0.0, 1.0,
    ])
}

/// The work of the heavy rows for one entity.
#[inline]
pub(crate) fn heavy_work(transform: &mut Mat4, position: &mut Vec3) {
    for _ in 0..100 {
        *transform = transform.inverse();
    }
    // Made one long again, so that it does not run out of range over many frames.
    *position = transform.transform_vector3(*position).normalize();
}

/// How many entities have the tag set `set`: one to ten.
pub(crate) const fn tag_set_len(set: u32) -> u32 {
    1 + set * 7 % 10
}

/// Whether the tag set `set` has the tag with this number. Which bit stands for which tag keeps
/// the tags of the filtered row apart from the lengths above.
pub(crate) const fn has_tag(set: u32, tag: u32) -> bool {
    set >> ((tag + 3) % 10) & 1 == 1
}

/// All tag sets, each as often as it has entities.
pub(crate) fn tag_sets() -> impl Iterator<Item = u32> {
    (0..TAG_SETS).flat_map(|set| (0..tag_set_len(set)).map(move |_| set))
}

/// A well mixed number (SplitMix64's finaliser).
pub(crate) const fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

/// All indices below `len`, in an order that looks random and is always the same.
pub(crate) fn shuffled(len: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_unstable_by_key(|&i| mixed(i as u64));
    order
}

/// Half of the indices below `len`, in an order that looks random.
pub(crate) fn random_half(len: usize) -> Vec<usize> {
    let mut order = shuffled(len);
    order.truncate(len / 2);
    order
}

/// The half of the indices that the toggle rows flip, in ascending order.
pub(crate) fn flipped(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(|&i| mixed(i as u64) & 1 == 0)
}

/// Whether a toggle starts switched on.
pub(crate) fn starts_on(i: usize) -> bool {
    mixed(i as u64) & 2 == 0
}

/// The action that an agent begins with.
pub(crate) fn first_action(agent: usize) -> u32 {
    (mixed(agent as u64) % u64::from(ACTIONS)) as u32
}

/// The agent and the index of every action, in the order in which they are spawned.
pub(crate) fn action_order(agents: usize, shuffle: bool) -> Vec<(usize, u32)> {
    let place = |at: usize| (at / ACTIONS as usize, at as u32 % ACTIONS);
    let len = agents * ACTIONS as usize;
    if shuffle {
        shuffled(len).into_iter().map(place).collect()
    } else {
        (0..len).map(place).collect()
    }
}

/// A sum that does not depend on the order, of numbers that matter in every bit.
pub(crate) fn sum_bits(values: impl Iterator<Item = u32>) -> u64 {
    values.fold(0, |sum, bits| sum.wrapping_add(mixed(u64::from(bits))))
}

/// [`sum_bits`] of floats.
pub(crate) fn sum_floats(values: impl Iterator<Item = f32>) -> u64 {
    sum_bits(values.map(f32::to_bits))
}

/// [`sum_bits`] of vectors, each as one value.
pub(crate) fn sum_vectors(values: impl Iterator<Item = Vec3>) -> u64 {
    let one =
        |v: Vec3| v.to_array().iter().fold(0, |hash, part| mixed(hash ^ u64::from(part.to_bits())));
    values.fold(0, |sum, value| sum.wrapping_add(one(value)))
}
