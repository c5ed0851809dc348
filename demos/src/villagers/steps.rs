//! The sub-activities: what villagers do, one thing at a time.
//!
//! Each looks first whether it is done. Where it is not, it says what it waits for and sleeps; or it
//! does not, and is asked again in the next tick: that is all the difference that `--polling` makes.

use std::borrow::Cow;

use formic_ai::activity::{Activity, ActivityDomain, Effects, Ending, Status, Tick};
use formic_ai::prelude::*;
use formic_ecs::{Codec, HashRule};
use glam::Vec2;
use serde::{Deserialize, Serialize};

use super::parts::{ARRIVED, BROKEN, Block, Books, Dig, Happening, Pickaxe, Position, Walk};
use super::{HOME, REACH};

/// What activities read.
pub(super) struct Sight<'w> {
    pub(super) villagers: ComponentLookup<'w, (&'static Position, &'static Books)>,
    pub(super) blocks: ComponentLookup<'w, (&'static Position, &'static Block)>,
    /// No villager sleeps; every one asks.
    pub(super) is_polling: bool,
}

/// Why something could not be done.
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
    /// Walk somewhere.
    GoTo(Errand, Vec2),
    /// Break a block out and take it up.
    Break(Errand, Entity),
    /// Carry the stone home; an interrupted villager drops it.
    Haul(Errand, Entity),
    /// Take a pickaxe from the rack.
    Equip(Errand),
    /// Eat a loaf.
    Eat(Errand),
    /// Sit still behind the wall.
    Hide(Errand),
}

/// How far something has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, HashState, Serialize, Deserialize)]
pub(super) struct Errand {
    is_begun: bool,
    /// When it is over, where that takes a time that is known.
    due: u64,
}

const EQUIP_TICKS: u64 = 5;
const EAT_TICKS: u64 = 40;
const HIDE_TICKS: u64 = 100;

impl Step {
    pub(super) fn go_to(place: Vec2) -> Self {
        Self::GoTo(Errand::default(), place)
    }

    /// What ends it, as the rest of "It sleeps until ...".
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

/// Sleeps, or does not.
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
        // First the subscription, then the request: no answer can be missed.
        let request = if sight.is_polling { 0 } else { tick.subscribe(agent, ARRIVED).number() };
        tick.commands().insert(agent, Walk { to, request });
        tick.commands().set_enabled::<Walk>(agent, true);
    }
    wait(sight)
}

/// For what takes so many ticks.
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
                // It may have been broken out in the tick before something else came first.
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

/// Writes something into the books of a villager; several steps may do so in one tick.
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
