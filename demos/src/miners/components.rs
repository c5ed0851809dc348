//! The components of workers and of their actions.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::Component;
use glam::Vec2;
use serde::Deserialize;

/// The position of an entity, in metres.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Position(pub(super) Vec2);

/// The speed of a worker, in metres per second.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Speed(pub(super) f32);

/// The offset at which this worker stands from a place, so that a crowd is not a point. In metres.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Standing(pub(super) Vec2);

/// The mine that the worker digs in, by its number.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Workplace(pub(super) u32);

/// A kind of thing that can be carried, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Deserialize)]
#[serde(from = "Goods")]
#[repr(transparent)]
pub(super) struct Item(u32);

/// The kinds as plan files name them.
#[derive(Clone, Copy, Deserialize)]
enum Goods {
    Gold,
    Silver,
    Iron,
    Coal,
}

impl From<Goods> for Item {
    fn from(goods: Goods) -> Self {
        Self(goods as u32)
    }
}

impl Item {
    /// The goods that the miners are after.
    pub(super) const GOLD: Self = Self(Goods::Gold as u32);
}

/// A number of things of a kind; if the number is zero, the kind is meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Stack {
    item: Item,
    count: u32,
}

/// The things that a worker carries: up to four kinds.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Inventory([Stack; 4]);

impl Inventory {
    pub(super) const EMPTY: Self = Self([Stack { item: Item::GOLD, count: 0 }; 4]);

    /// Returns the number of things of a kind.
    pub(super) fn count(&self, item: Item) -> u32 {
        self.0.iter().filter(|stack| stack.item == item).map(|stack| stack.count).sum()
    }

    /// Puts things in; returns whether there was room.
    pub(super) fn add(&mut self, item: Item, count: u32) -> bool {
        let same = |stack: &Stack| stack.count > 0 && stack.item == item;
        let place = self.0.iter().position(same);
        let place = place.or_else(|| self.0.iter().position(|stack| stack.count == 0));
        let Some(stack) = place.map(|place| &mut self.0[place]) else { return false };
        let Some(sum) = stack.count.checked_add(count) else { return false };
        *stack = if sum == 0 { Self::EMPTY.0[0] } else { Stack { item, count: sum } };
        true
    }

    /// Takes things out, all or none; returns whether they were there.
    pub(super) fn remove(&mut self, item: Item, count: u32) -> bool {
        let same = |stack: &&mut Stack| stack.count > 0 && stack.item == item;
        let Some(stack) = self.0.iter_mut().find(same) else { return count == 0 };
        let Some(rest) = stack.count.checked_sub(count) else { return false };
        *stack = if rest == 0 { Self::EMPTY.0[0] } else { Stack { item, count: rest } };
        true
    }
}

/// The accounts of one worker, which must always add up.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Books {
    /// Gold taken out of a mine.
    pub(super) mined: u64,
    /// Gold left at the castle.
    pub(super) delivered: u64,
}

/// An animation clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, Deserialize)]
#[repr(u32)]
pub(super) enum Clip {
    /// Standing or walking.
    #[serde(skip)]
    None,
    /// Swinging a pickaxe.
    Mine,
    /// Sitting down for a while.
    Rest,
}

impl Clip {
    /// Returns the duration of the clip, in seconds.
    pub(super) const fn seconds(self) -> f32 {
        match self {
            Self::None => 0.0,
            Self::Mine => 2.0,
            Self::Rest => 5.0,
        }
    }
}

/// A player of clips, one after the other; the requester knows its clip by a number.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Animator {
    pub(super) clip: Clip,
    pub(super) seconds_left: f32,
    /// The number of the last requested clip.
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

    /// Continues playing; returns whether the clip has ended.
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

/// The destinations of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, Deserialize)]
#[repr(u32)]
pub(super) enum Place {
    Castle,
    /// The worker's own mine.
    Mine,
}

/// Action: walk to a place. A plan file says where; the other fields are set on the way.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern, Deserialize)]
#[serde(deny_unknown_fields)]
#[repr(C)]
pub(super) struct MoveTo {
    pub(super) place: Place,
    #[serde(skip)]
    pub(super) seconds: f32,
    #[serde(skip)]
    pub(super) seconds_total: f32,
    #[serde(skip)]
    pub(super) from: Vec2,
    #[serde(skip)]
    pub(super) to: Vec2,
}

/// Action: play a clip to its end.
#[derive(
    Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, Deserialize,
)]
#[serde(deny_unknown_fields)]
#[repr(C)]
pub(super) struct PlayAnimation {
    pub(super) clip: Clip,
    /// The number under which the animator plays it.
    #[serde(skip)]
    pub(super) request: u32,
}

/// Action: put things into the inventory.
#[derive(
    Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, Deserialize,
)]
#[serde(deny_unknown_fields)]
#[repr(C)]
pub(super) struct AddItem {
    pub(super) item: Item,
    pub(super) count: u32,
}

/// Action: take things out of the inventory.
#[derive(
    Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, Deserialize,
)]
#[serde(deny_unknown_fields)]
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
    fn an_inventory_has_room_for_four_kinds_and_each_is_counted_apart() {
        let mut inventory = Inventory::EMPTY;
        let [gold, silver, iron, coal] =
            [Goods::Gold, Goods::Silver, Goods::Iron, Goods::Coal].map(Item::from);
        for (item, count) in [(gold, 1), (silver, 2), (iron, 3), (coal, 4)] {
            assert!(inventory.add(item, count));
        }
        assert!(!inventory.add(gold, u32::MAX), "there is no such number");
        assert_eq!([gold, coal].map(|item| inventory.count(item)), [1, 4]);
        assert!(inventory.remove(silver, 2));
        assert_eq!(inventory.count(silver), 0);
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
