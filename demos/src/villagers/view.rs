//! The view of the village.

use formic::inspect::{Cheat, Ground, Kind, Landmark, Mark, Marks, Scene, Touch, View};
use formic_ai::activity::{ActivitySlot, State};
use formic_ai::prelude::*;
use glam::Vec2;

use super::chores::{Chore, Kind as ChoreKind};
use super::country::somewhere;
use super::parts::{Block, Books, Position, Walk, Wolf};
use super::{HOME, SIZE, TICKS_PER_SECOND, Villagers};
use crate::raster::Colour;
use crate::simulation::Simulation;
use crate::text::{called, counted};

const KINDS: [Kind; 7] = [
    Kind::thing("stones", Colour([112, 108, 104])),
    Kind::new("asleep until something happens", Colour([96, 128, 160])),
    Kind::new("awake", Colour([250, 240, 200])),
    Kind::new("at a meal", Colour([60, 180, 140])),
    Kind::new("in flight", Colour([250, 170, 60])),
    Kind::letter("wolves", Colour::RED, 'W'),
    Kind::ground("home", HOME_GROUND),
];
const HOME_GROUND: Colour = Colour([86, 66, 50]);
/// Stones are drawn first, so that they lie under villagers who walk over them.
const STONES: u8 = 0;
const SLEEPS: u8 = 1;
const ACTS: u8 = 2;
const EATS: u8 = 3;
const FLEES: u8 = 4;
const WOLVES: u8 = 5;

const CHEATS: [Cheat; 1] = [Cheat { name: "wolf", label: "A wolf", key: "w", touch: Touch::Place }];

impl View for Villagers {
    fn scene(&self) -> Scene {
        Scene {
            size: SIZE,
            unit: "metre",
            ticks_per_second: TICKS_PER_SECOND,
            mark_radius: 0.4,
            kinds: KINDS.to_vec(),
        }
    }

    fn noun(&self, agent: Entity) -> Option<&'static str> {
        let world = self.world();
        let is_villager = world.has::<ActivitySlot<Chore>>(agent);
        let nouns = [
            (world.has::<Block>(agent), "stone"),
            (world.has::<Wolf>(agent), "wolf"),
            (is_villager, "villager"),
        ];
        nouns.into_iter().find(|(is_one, _)| *is_one).map(|(_, noun)| noun)
    }

    fn ground(&self) -> Ground {
        let home =
            Landmark { at: HOME, radius: 3.0, colour: HOME_GROUND, label: "home".to_owned() };
        Ground { palette: vec![Colour([34, 46, 34])], landmarks: vec![home], ..Ground::default() }
    }

    fn marks(&self, marks: &mut Marks) {
        let world = self.world();
        let mut mark = |entity, position: &Position, kind| {
            marks.push(Mark { entity, at: position.0, kind, world: 0 });
        };
        let blocks = world.query_ref::<(Entity, &Position, &Block)>();
        blocks.for_each(|(entity, position, block)| {
            if block.carrier().is_none() {
                mark(entity, position, STONES);
            }
        });
        let villagers = world.query_ref::<(Entity, &Position, &ActivitySlot<Chore>)>();
        villagers.for_each(|(entity, position, doing)| mark(entity, position, kind(doing)));
        let wolves = world.query_ref_filtered::<(Entity, &Position), With<Wolf>>();
        wolves.for_each(|(entity, position)| mark(entity, position, WOLVES));
    }

    fn path(&self, agent: Entity) -> Vec<Vec2> {
        let world = self.world();
        let Ok(position) = world.get::<Position>(agent) else { return Vec::new() };
        let to = match (world.get::<Walk>(agent), world.get::<Wolf>(agent)) {
            (Ok(walk), _) if world.is_enabled::<Walk>(agent) == Ok(true) => walk.to,
            (_, Ok(wolf)) => wolf.to,
            _ => return Vec::new(),
        };
        vec![position.0, to]
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = self.world();
        if world.has::<Wolf>(agent) {
            return vec!["It prowls from one place to the next, and frightens.".to_owned()];
        }
        if let Ok(block) = world.get::<Block>(agent) {
            return vec![match block.carrier() {
                Some(carrier) => format!("It is in the arms of {}.", called(self, carrier)),
                None => {
                    let ticks = counted(block.ticks.into(), "ticks");
                    format!("It lies in the rock, and takes {ticks} to break out.")
                }
            }];
        }
        let (Ok(doing), Ok(books)) =
            (world.get::<ActivitySlot<Chore>>(agent), world.get::<Books>(agent))
        else {
            return Vec::new();
        };
        let Some(chore) = doing.activity() else {
            return vec!["It is at nothing: its mind has its turn every tenth tick.".to_owned()];
        };
        vec![format!("It is {doing}, because {}.", chore.reason()), waiting(doing), done(books)]
    }

    /// The stone that the agent's activity is about.
    fn companions(&self, agent: Entity) -> Vec<Entity> {
        let doing = self.world().get::<ActivitySlot<Chore>>(agent).ok();
        let stone = doing.and_then(|it| it.activity()?.stone());
        stone.filter(|&stone| self.world().contains(stone)).into_iter().collect()
    }

    fn cheats(&self) -> &'static [Cheat] {
        &CHEATS
    }

    fn cheat(&mut self, _: &str, at: Vec2) -> Result<String, String> {
        let at = at.clamp(Vec2::ONE, SIZE - Vec2::ONE);
        let mut random = RandomStream::new(self.engine.ticks()).fork(self.world().len() as u64);
        let to = somewhere(&mut random);
        self.engine.world.spawn((Wolf { to, random: random.state() }, Position(at)));
        Ok("A wolf is there.".to_owned())
    }
}

fn kind(doing: &ActivitySlot<Chore>) -> u8 {
    match (doing.activity().map(|chore| chore.kind), doing.state()) {
        (Some(ChoreKind::Flee), _) => FLEES,
        (Some(ChoreKind::Eat), _) => EATS,
        (_, State::Active) => ACTS,
        (_, _) => SLEEPS,
    }
}

/// Describes what a villager has done since the world began.
fn done(books: &Books) -> String {
    let [stones, meals, flights] =
        [(books.hauled, "stones"), (books.meals, "meals"), (books.flights, "times")]
            .map(|(count, noun)| counted(count.into(), noun));
    let dropped = books.dropped;
    format!("So far it hauled {stones} home, dropped {dropped}, had {meals} and fled {flights}.")
}

/// Describes what a villager waits for, if anything.
fn waiting(doing: &ActivitySlot<Chore>) -> String {
    match doing.state() {
        State::Blocked => {
            let until = doing.activity().map_or("something happens", Chore::waits_for);
            format!("It sleeps until {until}: nobody asks it before.")
        }
        State::Active => "It is awake, and asked in every tick.".to_owned(),
        State::Idle => "It has nothing to do.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_once_is_told_in_the_singular() {
        let said = |hauled, flights| done(&Books { hauled, flights, ..Books::default() });
        let once = "So far it hauled 1 stone home, dropped 0, had 0 meals and fled 1 time.";
        assert_eq!(said(1, 1), once);
        assert!(said(2, 3).contains("2 stones home") && said(2, 3).ends_with("fled 3 times."));
    }
}
