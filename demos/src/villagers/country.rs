//! The systems of the village that do not depend on any decisions.

use formic_ai::activity::{Activities, ActivitySlot, Blocking, Posted, Token};
use formic_ai::prelude::*;
use glam::Vec2;
use serde::{Deserialize, Serialize};

use super::chores::{Chore, Kind};
use super::parts::{Block, Books, Dig, Happening, Pickaxe, Position, Walk, Wolf};
use super::steps::Sight;
use super::{REACH, SIZE};

/// The distance that a villager walks in a tick, in metres.
const STRIDE: f32 = 0.4;
/// The distance that a wolf walks in a tick, in metres.
const LOPE: f32 = 0.3;
/// The distance at which villagers fear a wolf, in metres.
const FEAR: f32 = 6.0;

/// The state of the village as a whole.
#[derive(Serialize, Deserialize)]
pub(super) struct Country {
    pub(super) now: u64,
    pub(super) random: RandomStream,
    pub(super) is_polling: bool,
    /// The target number of blocks.
    pub(super) block_count: usize,
    /// The blocks that no villager carries, and their positions.
    pub(super) blocks: Vec<(Entity, Vec2)>,
    pub(super) wolves: Vec<Vec2>,
    /// The number of ticks of activities so far.
    pub(super) asked: u64,
}

/// Advances the time, and moves the wolves.
pub(super) fn prowl(mut country: ResMut<Country>, mut wolves: Query<(&mut Wolf, &mut Position)>) {
    country.now += 1;
    country.wolves.clear();
    for (wolf, position) in &mut wolves {
        let way = wolf.to - position.0;
        position.0 += way.clamp_length_max(LOPE);
        if way.length() <= LOPE {
            let mut random = RandomStream::new(wolf.random);
            wolf.to = somewhere(&mut random);
            wolf.random = random.state();
        }
        country.wolves.push(position.0);
    }
}

/// Updates the list of blocks every tenth tick, and spawns new ones to replace those taken away.
pub(super) fn survey(
    mut country: ResMut<Country>,
    mut blocks: Query<(Entity, &Block, &Position)>,
    mut commands: Commands,
) {
    country.blocks.clear();
    let mut count = 0;
    for (entity, block, position) in &mut blocks {
        count += 1;
        if block.carrier().is_none() {
            country.blocks.push((entity, position.0));
        }
    }
    // The order of rows depends on which villagers were watched.
    country.blocks.sort_unstable_by_key(|block| block.0);
    for _ in count..country.block_count {
        commands.spawn(new_block(&mut country.random));
    }
}

pub(super) fn new_block(random: &mut RandomStream) -> (Block, Position) {
    let place = somewhere(random);
    (Block::whole(20 + u32::try_from(random.below(60)).unwrap_or(0)), Position(place))
}

pub(super) fn somewhere(random: &mut RandomStream) -> Vec2 {
    Vec2::new(random.between(1.0, SIZE.x - 1.0), random.between(1.0, SIZE.y - 1.0))
}

/// The decision engine, which a tenth of the villagers uses in each tick.
pub(super) fn think(
    mut minds: Query<(
        Entity,
        &Position,
        &Books,
        Enabled<Pickaxe>,
        &mut ActivitySlot<Chore>,
        EnabledMut<Blocking>,
    )>,
    country: Res<Country>,
) {
    let random = RandomStream::new(country.now);
    minds.par_for_each(|(villager, position, books, pickaxe, doing, mut blocking)| {
        let is_near = |wolf: &Vec2| wolf.distance(position.0) < FEAR;
        let (priority, kind) = if doing.takes(9) && country.wolves.iter().any(is_near) {
            (9, Kind::Flee)
        } else if doing.takes(5) && books.is_hungry(country.now) {
            (5, Kind::Eat)
        } else if doing.takes(1) && !country.blocks.is_empty() {
            let place = random.fork(villager.index().into()).below(country.blocks.len() as u64);
            let place = usize::try_from(place).unwrap_or(0);
            let (block, place) = country.blocks[place];
            (1, Kind::Mine { block, place, equips: !pickaxe.get() })
        } else {
            return;
        };
        _ = doing.propose(priority, Chore::new(kind), &mut blocking);
    });
}

/// Runs the activities.
pub(super) fn live(
    activities: Activities<Chore>,
    villagers: ComponentLookup<(&'static Position, &'static Books)>,
    blocks: ComponentLookup<(&'static Position, &'static Block)>,
    mut country: ResMut<Country>,
) {
    let sight = Sight { villagers, blocks, is_polling: country.is_polling };
    country.asked += activities.run(country.now, &sight).awake as u64;
}

/// Moves walking villagers by a stride, and reports arrivals.
pub(super) fn walk(
    mut walkers: Query<(Entity, &Walk, &mut Position, EnabledMut<Walk>)>,
    mut posts: EventWriter<Posted<Happening>>,
) {
    walkers.par_for_each_with(&mut posts, |(walker, walk, position, mut walking), posts| {
        position.0 += (walk.to - position.0).clamp_length_max(STRIDE);
        if position.0.distance(walk.to) <= REACH {
            walking.set(false);
            let token = Token::new(walker, walk.request);
            posts.send(Posted::about(walker, Happening::Arrived).answering(token));
        }
    });
}

/// Advances digging villagers by a blow. A block may be shared by several diggers: the diggers that break
/// it out are collected, and of several in the same tick the first gets it.
pub(super) fn dig(
    mut diggers: Query<(Entity, &mut Dig, &ActivitySlot<Chore>, EnabledMut<Dig>)>,
    mut takers: Scatter<Entity>,
    mut blocks: ComponentLookup<&'static mut Block>,
    mut posts: EventWriter<Posted<Happening>>,
) {
    diggers.par_for_each_with(
        (&mut takers, &mut posts),
        |(digger, dig, doing, mut digging), (takers, posts)| {
            dig.ticks_left = dig.ticks_left.saturating_sub(1);
            let Some(block) = Entity::from_bits(dig.block).filter(|_| dig.ticks_left == 0) else {
                return;
            };
            digging.set(false);
            // Another event in this very tick may have come first.
            if doing.activity().is_some_and(|chore| chore.breaks(block)) {
                takers.push(block, digger);
            }
            posts.send(Posted::about(block, Happening::Broken));
        },
    );
    // A skipped block was already taken away by another villager.
    takers.apply(&mut blocks, |block, &digger| {
        if block.carrier().is_none() {
            *block = Block::carried(digger);
        }
    });
}
