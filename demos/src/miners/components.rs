//! What workers and their actions are made of.

use bytemuck::{NoUninit, Pod, Zeroable};
use ecs_core::Component;
use glam::Vec2;

/// Where an entity is, in metres.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(transparent)]
pub(super) struct Position(pub(super) Vec2);

/// How fast a worker walks, in metres per second.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(transparent)]
pub(super) struct Speed(pub(super) f32);

/// Where around a place this worker stands, so that a crowd is not a point. In metres.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(transparent)]
pub(super) struct Standing(pub(super) Vec2);

/// A kind of thing that can be carried, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Item(u32);

impl Item {
    /// In place of a kind: the stack is empty.
    const NOTHING: Self = Self(0);
    /// What the miners are after.
    pub(super) const GOLD: Self = Self(1);
}

/// Some things of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Stack {
    item: Item,
    count: u32,
}

/// What a worker carries: up to four kinds of things.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(transparent)]
pub(super) struct Inventory([Stack; 4]);

impl Inventory {
    pub(super) const EMPTY: Self = Self([Stack { item: Item::NOTHING, count: 0 }; 4]);

    /// How many of these are carried.
    pub(super) fn count(&self, item: Item) -> u32 {
        self.0.iter().find(|stack| stack.item == item).map_or(0, |stack| stack.count)
    }

    /// Puts things in; whether there was room.
    pub(super) fn add(&mut self, item: Item, count: u32) -> bool {
        let place = self
            .0
            .iter()
            .position(|stack| stack.item == item)
            .or_else(|| self.0.iter().position(|stack| stack.item == Item::NOTHING));
        let Some(stack) = place.map(|place| &mut self.0[place]) else { return false };
        let Some(sum) = stack.count.checked_add(count) else { return false };
        *stack = Stack { item, count: sum };
        true
    }

    /// Takes things out: all of these or none. Whether they were there.
    pub(super) fn remove(&mut self, item: Item, count: u32) -> bool {
        let Some(stack) = self.0.iter_mut().find(|stack| stack.item == item) else {
            return count == 0;
        };
        let Some(rest) = stack.count.checked_sub(count) else { return false };
        *stack = if rest == 0 { Self::EMPTY.0[0] } else { Stack { item, count: rest } };
        true
    }
}

/// The books of one worker: what must add up, whatever happens.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub(super) struct Books {
    /// Gold taken out of a mine.
    pub(super) mined: u32,
    /// Gold left at the castle.
    pub(super) delivered: u32,
}

/// An animation clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub(super) enum Clip {
    /// Standing or walking.
    None,
    /// Swinging a pickaxe.
    Mine,
}

impl Clip {
    /// How long it takes to play, in seconds.
    pub(super) const fn seconds(self) -> f32 {
        match self {
            Self::None => 0.0,
            Self::Mine => 2.0,
        }
    }
}

/// Plays clips, one after the other; whoever asked for one knows it by its number.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub(super) struct Animator {
    pub(super) clip: Clip,
    pub(super) seconds_left: f32,
    /// The number of the last clip that was asked for.
    requested: u32,
    /// The number of the last clip that was played to its end.
    finished: u32,
}

impl Animator {
    pub(super) const IDLE: Self =
        Self { clip: Clip::None, seconds_left: 0.0, requested: 0, finished: 0 };

    /// Begins a clip; returns its number.
    pub(super) fn play(&mut self, clip: Clip) -> u32 {
        self.clip = clip;
        self.seconds_left = clip.seconds();
        self.requested = self.requested.wrapping_add(1);
        self.requested
    }

    /// Whether the clip of this number has been played.
    pub(super) fn has_finished(&self, request: u32) -> bool {
        self.finished == request
    }

    /// Goes on playing; whether the clip is at its end.
    pub(super) fn advance(&mut self, seconds: f32) -> bool {
        self.seconds_left -= seconds;
        let ended = self.seconds_left <= 0.0;
        if ended {
            *self = Self { clip: Clip::None, seconds_left: 0.0, finished: self.requested, ..*self };
        }
        ended
    }
}

/// The animator has a clip to play.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub(super) struct Playing;

/// Action: walk to a place.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub(super) struct MoveTo {
    /// Which place, by its number.
    pub(super) place: u32,
    pub(super) seconds: f32,
    pub(super) seconds_total: f32,
    pub(super) from: Vec2,
    pub(super) to: Vec2,
}

impl MoveTo {
    pub(super) fn place(place: u32) -> Self {
        Self { place, seconds: 0.0, seconds_total: 0.0, from: Vec2::ZERO, to: Vec2::ZERO }
    }
}

/// Action: play a clip to its end.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub(super) struct PlayAnimation {
    pub(super) clip: Clip,
    /// The number under which the animator plays it.
    pub(super) request: u32,
}

/// Action: put things into the inventory.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub(super) struct AddItem {
    pub(super) item: Item,
    pub(super) count: u32,
}

/// Action: take things out of the inventory.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub(super) struct RemoveItem {
    pub(super) item: Item,
    pub(super) count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_an_inventory_comes_out_of_it() {
        let mut inventory = Inventory::EMPTY;
        assert!(!inventory.remove(Item::GOLD, 1));
        assert!(inventory.add(Item::GOLD, 5));
        assert!(inventory.add(Item::GOLD, 2));
        assert!(!inventory.remove(Item::GOLD, 8), "all or nothing");
        assert!(inventory.remove(Item::GOLD, 7));
        assert_eq!(inventory, Inventory::EMPTY);
    }

    #[test]
    fn a_clip_has_finished_only_under_its_own_number() {
        let mut animator = Animator::IDLE;
        let first = animator.play(Clip::Mine);
        assert!(!animator.advance(1.5));
        assert!(!animator.has_finished(first));
        assert!(animator.advance(1.5));
        assert!(animator.has_finished(first));
        let second = animator.play(Clip::Mine);
        assert!(!animator.has_finished(second));
    }
}
