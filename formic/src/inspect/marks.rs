//! The marks of a picture: all of them, or a sample if there are very many.

use std::ops::Deref;

use formic_ecs::Entity;

use super::Mark;

/// The maximum number of marks in a frame: a million bytes, and more could not be told apart.
const DRAWN_MAX: usize = 200_000;

/// A collector to which a [`View`](super::View) adds a mark for each agent.
///
/// For a frame of the page it keeps at most 200,000. Of more agents it keeps every second, fourth or
/// eighth, the same ones from frame to frame, and those that viewers have chosen.
///
/// ```
/// use formic::inspect::{Mark, Marks};
/// # use formic::prelude::*;
/// # let mut world = World::new();
/// # let entity = world.spawn(());
/// let mut marks = Marks::default();
/// marks.push(Mark { entity, at: Vec2::ZERO, kind: 0, world: 0 });
/// assert_eq!(marks.len(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Marks {
    list: Vec<Mark>,
    most: usize,
    /// One mark in this many is kept; a power of two.
    each: u32,
    /// The largest hashed index that is kept.
    last: u32,
    /// Entities whose marks are always kept.
    chosen: Vec<Entity>,
}

/// Keeps all marks.
impl Default for Marks {
    fn default() -> Self {
        Self { list: Vec::new(), most: usize::MAX, each: 1, last: u32::MAX, chosen: Vec::new() }
    }
}

impl Deref for Marks {
    type Target = [Mark];

    fn deref(&self) -> &[Mark] {
        &self.list
    }
}

impl Marks {
    /// Creates a collector that keeps as many marks as fit into a frame.
    pub(super) fn of_frame() -> Self {
        Self { most: DRAWN_MAX, ..Self::default() }
    }

    /// Begins the next frame, in which the marks of `chosen` are always kept.
    pub(super) fn begin(&mut self, chosen: &[Entity]) {
        if self.each > 1 && self.list.len() < self.most / 4 {
            self.keep_one_of(self.each / 2);
        }
        self.list.clear();
        self.chosen.clear();
        self.chosen.extend_from_slice(chosen);
    }

    fn keep_one_of(&mut self, each: u32) {
        (self.each, self.last) = (each, u32::MAX / each);
    }

    /// Whether the marks of `chosen` are always kept, or all marks are.
    pub(super) fn are_for(&self, chosen: &[Entity]) -> bool {
        self.each == 1 || self.chosen == chosen
    }

    /// Returns `n` if one mark in `n` is kept.
    pub(super) fn each(&self) -> u32 {
        self.each
    }

    /// Whether the mark of an entity would be kept. A view of very many agents asks this before it
    /// computes a mark.
    #[must_use]
    #[inline]
    pub fn wants(&self, entity: Entity) -> bool {
        // Hashing spreads the sample evenly, even if only every fourth entity is an agent.
        let place = entity.index().wrapping_mul(0x9E37_79B9);
        place <= self.last || self.chosen.contains(&entity)
    }

    /// Adds the mark of an agent, unless it is [not wanted](Self::wants).
    pub fn push(&mut self, mark: Mark) {
        if self.each > 1 && !self.wants(mark.entity) {
            return;
        }
        if self.list.len() >= self.most {
            self.keep_one_of(self.each * 2);
            let mut list = std::mem::take(&mut self.list);
            list.retain(|mark| self.wants(mark.entity));
            self.list = list;
            return self.push(mark);
        }
        self.list.push(mark);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formic_ecs::World;
    use glam::Vec2;

    use super::*;

    #[test]
    fn of_very_many_an_even_part_is_kept_and_the_chosen_ones() {
        let mut world = World::new();
        let entities = world.spawn_batch((0..400_000).map(|_| ()));
        // The entities between are not agents.
        let agents: Vec<Entity> = entities.iter().copied().step_by(4).collect();
        let mut marks = Marks { most: 20_000, ..Marks::default() };
        let draw = |marks: &mut Marks, agents: &[Entity], chosen: &[Entity]| {
            marks.begin(chosen);
            for &entity in agents {
                marks.push(Mark { entity, at: Vec2::ZERO, kind: 0, world: 0 });
            }
            marks.iter().map(|mark| mark.entity).collect::<BTreeSet<_>>()
        };
        let drawn = draw(&mut marks, &agents, &[]);
        assert_eq!(marks.each(), 8);
        assert!((11_500..13_500).contains(&drawn.len()), "an eighth: {}", drawn.len());
        for tenth in agents.chunks(10_000) {
            let count = tenth.iter().filter(|it| drawn.contains(it)).count();
            assert!((1_150..1_350).contains(&count), "an eighth of each part: {count}");
        }
        let hidden = *agents.iter().find(|it| !drawn.contains(it)).expect("most are hidden");
        let with_chosen = draw(&mut marks, &agents, &[hidden]);
        assert_eq!(with_chosen.len(), drawn.len() + 1, "the same ones, and the chosen one");
        assert!(with_chosen.contains(&hidden));
        // If there are few, all are drawn after a few frames.
        for each in [4, 2, 1] {
            draw(&mut marks, &agents[..1_000], &[]);
            assert_eq!(marks.each(), each * 2);
        }
        assert_eq!(draw(&mut marks, &agents[..1_000], &[]).len(), 1_000);
    }
}
