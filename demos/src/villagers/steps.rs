//! The sub-activities: what villagers do, one thing at a time.
//!
//! Each first checks whether it is done. If not, it either subscribes to an event and sleeps, or does
//! neither and is ticked again in the next tick. That is the only difference that `--polling` makes.

use std::borrow::Cow;

use formic_ai::activity::{Activity, ActivityDomain, Effects, Ending, Status, Tick};
use formic_ai::prelude::*;
use formic_ecs::{Codec, HashRule};
use glam::Vec2;
use serde::{Deserialize, Serialize};

use super::parts::{ARRIVED, BROKEN, Block, Books, Dig, Happening, Pickaxe, Position, Walk};
use super::{HOME, REACH};

/// The data that activities read.
pub(super) struct Sight<'w> {
    pub(super) villagers: ComponentLookup<'w, (&'static Position, &'static Books)>,
    pub(super) blocks: ComponentLookup<'w, (&'static Position, &'static Block)>,
    /// If true, no villager sleeps; every one polls.
    pub(super) is_polling: bool,
}

/// A reason for failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Another villager has the block.
    Taken,
}

pub(super) enum Village {}

impl ActivityDomain for Village {
    type World<'w> = Sight<'w>;
    type Event = Happening;
    type Failure = Trouble;
    const FAILURE: Codec<Trouble> = Codec::tag(|_| Ok(Trouble::Taken));

    fn reason(failure: &Trouble) -> Option<Cow<'_, str>> {
        let Trouble::Taken = failure;
        Some("another villager has the block".into())
    }
}

/// A sub-activity.
#[derive(Clone, Copy, Debug, PartialEq, HashState, Serialize, Deserialize)]
pub(super) enum Step {
    /// Walks to a place.
    GoTo(Errand, Vec2),
    /// Breaks a block out and picks it up.
    Break(Errand, Entity),
    /// Carries the stone home; an interrupted villager drops it.
    Haul(Errand, Entity),
    /// Takes a pickaxe from the rack.
    Equip(Errand),
    /// Eats a loaf.
    Eat(Errand),
    /// Sits still behind the wall.
    Hide(Errand),
}

/// The progress of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, HashState, Serialize, Deserialize)]
pub(super) struct Errand {
    is_begun: bool,
    /// The tick at which it is over, if that is known.
    due: u64,
}

const EQUIP_TICKS: u64 = 5;
const EAT_TICKS: u64 = 40;
const HIDE_TICKS: u64 = 100;

impl Step {
    pub(super) fn go_to(place: Vec2) -> Self {
        Self::GoTo(Errand::default(), place)
    }

    /// Returns what ends it, as the rest of "It sleeps until ...".
    pub(super) fn waits_for(&self) -> &'static str {
        match self {
            Self::GoTo(..) => "it is there",
            Self::Break(..) => "the block is broken out",
            Self::Haul(..) => "it is home",
            Self::Equip(_) => "it has its pickaxe",
            Self::Eat(_) => "its meal is over",
            Self::Hide(_) => "it has hidden for long enough",
        }
    }
}

/// Returns the status of a step that waits: blocked, or ongoing if it polls.
fn wait(sight: &Sight) -> Status<Trouble> {
    if sight.is_polling { Status::Ongoing } else { Status::Blocked }
}

const DONE: Status<Trouble> = Status::Finished(Ending::Success);
const TAKEN: Status<Trouble> = Status::Finished(Ending::Failed(Trouble::Taken));

fn walk(errand: &mut Errand, to: Vec2, tick: &mut Tick<Village>, sight: &Sight) -> Status<Trouble> {
    let agent = tick.agent();
    let here = sight.villagers.get(agent).map_or(to, |(position, _)| position.0);
    if here.distance(to) <= REACH {
        return DONE;
    }
    if !errand.is_begun {
        errand.is_begun = true;
        // The subscription comes before the request, so that no answer can be missed.
        let request = if sight.is_polling { 0 } else { tick.subscribe(agent, ARRIVED).number() };
        tick.commands().insert(agent, Walk { to, request });
        tick.commands().set_enabled::<Walk>(agent, true);
    }
    wait(sight)
}

/// A step that takes a fixed number of ticks.
fn rest(
    errand: &mut Errand,
    ticks: u64,
    tick: &mut Tick<Village>,
    sight: &Sight,
) -> Status<Trouble> {
    if !errand.is_begun {
        *errand = Errand { is_begun: true, due: tick.now() + ticks };
        if !sight.is_polling {
            tick.wake_at(errand.due);
        }
    }
    if tick.now() >= errand.due { DONE } else { wait(sight) }
}

fn dig(
    errand: &mut Errand,
    block: Entity,
    tick: &mut Tick<Village>,
    sight: &Sight,
) -> Status<Trouble> {
    let agent = tick.agent();
    let Ok((_, &it)) = sight.blocks.get(block) else { return TAKEN };
    match it.carrier() {
        Some(carrier) if carrier == agent => return DONE,
        Some(_) => return TAKEN,
        None => {}
    }
    if !errand.is_begun {
        errand.is_begun = true;
        if !sight.is_polling {
            tick.subscribe(block, BROKEN);
        }
        let dig = Dig { block: block.to_bits(), ticks_left: it.ticks, unused: 0 };
        tick.commands().insert(agent, dig);
        tick.commands().set_enabled::<Dig>(agent, true);
    }
    wait(sight)
}

impl Activity for Step {
    type Domain = Village;
    const CODEC: Codec<Self> = Codec::serde();
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::GoTo(_, place) => format!("going to ({:.0}, {:.0})", place.x, place.y).into(),
            Self::Break(..) => "breaking the block".into(),
            Self::Haul(..) => "hauling the stone home".into(),
            Self::Equip(_) => "taking a pickaxe".into(),
            Self::Eat(_) => "eating".into(),
            Self::Hide(_) => "hiding".into(),
        }
    }

    fn on_tick(&mut self, tick: &mut Tick<Village>, sight: &Sight) -> Status<Trouble> {
        match self {
            Self::GoTo(errand, place) => walk(errand, *place, tick, sight),
            Self::Break(errand, block) => dig(errand, *block, tick, sight),
            Self::Haul(errand, _) => walk(errand, HOME, tick, sight),
            Self::Equip(errand) => rest(errand, EQUIP_TICKS, tick, sight),
            Self::Eat(errand) => rest(errand, EAT_TICKS, tick, sight),
            Self::Hide(errand) => rest(errand, HIDE_TICKS, tick, sight),
        }
    }

    fn on_finish(self, ending: &Ending<Trouble>, effects: &mut Effects<Village>, sight: &Sight) {
        let agent = effects.agent();
        let Ok((&position, _)) = sight.villagers.get(agent) else { return };
        let is_done = *ending == Ending::Success;
        let now = effects.now();
        let commands = effects.commands();
        match self {
            Self::GoTo(..) => commands.set_enabled::<Walk>(agent, false),
            Self::Break(_, block) => {
                commands.set_enabled::<Dig>(agent, false);
                // It may have been broken out in the last tick, before the interruption.
                let holds = sight.blocks.get(block).is_ok_and(|it| it.1.carrier() == Some(agent));
                if holds {
                    note(commands, agent, |books| books.broken += 1);
                }
                if holds && !is_done {
                    drop_stone(commands, agent, block, position);
                }
            }
            Self::Haul(_, stone) => {
                commands.set_enabled::<Walk>(agent, false);
                if is_done {
                    commands.despawn(stone);
                    note(commands, agent, |books| books.hauled += 1);
                } else {
                    drop_stone(commands, agent, stone, position);
                }
            }
            Self::Equip(_) if is_done => {
                commands.set_enabled::<Pickaxe>(agent, true);
                note(commands, agent, |books| books.equipped += 1);
            }
            Self::Eat(_) if is_done => note(commands, agent, move |books| {
                books.ate_at = now;
                books.meals += 1;
            }),
            Self::Hide(_) if is_done => note(commands, agent, |books| books.flights += 1),
            Self::Equip(_) | Self::Eat(_) | Self::Hide(_) => {}
        }
    }
}

/// Updates the statistics of a villager; several steps may do so in one tick.
fn note(
    commands: &mut CommandBuffer,
    villager: Entity,
    change: impl FnOnce(&mut Books) + Send + 'static,
) {
    commands.run(move |world| {
        if let Ok(books) = world.get_mut::<Books>(villager) {
            change(books);
        }
    });
}

fn drop_stone(commands: &mut CommandBuffer, villager: Entity, stone: Entity, place: Position) {
    commands.insert(stone, (Block::whole(1), place));
    note(commands, villager, |books| books.dropped += 1);
}
