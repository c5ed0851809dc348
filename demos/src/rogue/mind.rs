//! Decisions: utility for the foes, and a simple hero for when no one plays.

use formic_ai::turn::Situation;
use formic_ai::utility::{Curve, Input, Reasoner, Utility};
use formic_ecs::prelude::*;

use super::command::Command;
use super::deed::Deed;
use super::sight::{WAYS, cell_of, first_step, level};
use super::things::{
    Bow, Cell, Closed, Foe, Hands, Health, Hero, Opaque, Potion, Solid, Stairs, TheHero,
};

const ATTACK: usize = 0;
const FLEE: usize = 1;
const SHOOT: usize = 2;

/// The reasoners of the foes, by the number in [`Foe`]: rats, goblins, archers.
pub(super) struct Minds([Reasoner; 3]);

impl Minds {
    pub(super) fn new() -> Self {
        // Near: 1 beside the hero, 0 far away. Wounds: 0 unharmed, 1 almost dead. Shot: 1 with a clear
        // shot.
        let [near, wounds, shot] = Input::named(["near", "wounds", "shot"]);
        let always = |worth| Utility::of(near, Curve::linear(0.0, worth));
        let mind = |flee: Utility, shoot: Utility| {
            let attack = Utility::of(near, Curve::linear(0.3, 0.4));
            Reasoner::new().option("attack", attack).option("flee", flee).option("shoot", shoot)
        };
        let hurt = Utility::of(wounds, Curve::exponential(2.0));
        let crowded = Utility::of(near, Curve::exponential(6.0));
        let shot = Utility::of(shot, Curve::linear(0.9, 0.0));
        // Rats never flee, goblins flee once they are hurt, archers keep their distance.
        Self([mind(always(0.0), always(0.0)), mind(hurt, always(0.0)), mind(crowded, shot)])
    }

    /// Returns what a foe does in its turn.
    pub(super) fn decide(&self, now: &Situation<Cell>, who: Entity) -> Deed {
        let hero = now.world().resource::<TheHero>().ok().and_then(|hero| cell_of(now, hero.0));
        let (Some(hero), Some(at)) = (hero, cell_of(now, who)) else { return Deed::Rest };
        let (Ok(&Foe(mind)), Ok(&health)) = (now.get::<Foe>(who), now.get::<Health>(who)) else {
            return Deed::Rest;
        };
        let shot = now.get::<Bow>(who).ok().and_then(|bow| line_of_fire(now, at, hero, bow.0));
        let distance = (hero.0 - at.0).abs().max((hero.1 - at.1).abs());
        let inputs = [
            1.0 / number(distance.max(1)),
            1.0 - share(health),
            if shot.is_some() { 1.0 } else { 0.0 },
        ];
        let mind = usize::try_from(mind).unwrap_or(0).min(self.0.len() - 1);
        let scores = self.0[mind].scores(&inputs);
        let best = |best: usize, option: usize| {
            if scores[option] > scores[best] { option } else { best }
        };
        let choice = [FLEE, SHOOT].into_iter().fold(ATTACK, best);
        let step = match (choice, shot) {
            (SHOOT, Some(way)) => return Deed::Shoot { who, way },
            (FLEE, _) => away(now, at, hero).or_else(|| towards(now, who, at, hero)),
            _ => towards(now, who, at, hero),
        };
        step.map_or(Deed::Rest, |way| Deed::Step { who, way })
    }
}

pub(super) fn number(cells: i32) -> f32 {
    f32::from(i16::try_from(cells).unwrap_or(i16::MAX))
}

fn share(health: Health) -> f32 {
    let small = |number: u32| f32::from(u16::try_from(number).unwrap_or(u16::MAX));
    small(health.now) / small(health.most.max(1))
}

/// Returns the direction in which to shoot at a cell, if it is in a straight line, near enough, and
/// nothing is between.
fn line_of_fire(now: &Situation<Cell>, from: Cell, to: Cell, range: i32) -> Option<Cell> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let distance = dx.abs().max(dy.abs());
    let is_straight = dx == 0 || dy == 0 || dx.abs() == dy.abs();
    if !is_straight || distance > range || distance == 0 {
        return None;
    }
    let way = (dx.signum(), dy.signum());
    let between = (1..distance).map(|step| (from.0 + step * way.0, from.1 + step * way.1));
    let is_free = |cell| level(now).is_open(cell) && !now.cell(cell).any::<Solid>();
    between.into_iter().all(is_free).then_some(way)
}

fn towards(now: &Situation<Cell>, who: Entity, at: Cell, to: Cell) -> Option<Cell> {
    let has_hands = now.has::<Hands>(who);
    first_step(
        now,
        at,
        |cell| cell == to,
        |cell| {
            let here = now.cell(cell);
            here.any::<Solid>() && !(has_hands && here.any::<Closed>())
        },
    )
}

fn away(now: &Situation<Cell>, at: Cell, from: Cell) -> Option<Cell> {
    let distance = |cell: Cell| (cell.0 - from.0).pow(2) + (cell.1 - from.1).pow(2);
    let free = WAYS.into_iter().filter(|way| {
        let cell = (at.0 + way.0, at.1 + way.1);
        level(now).is_open(cell) && !now.cell(cell).any::<Solid>()
    });
    let best = free.max_by_key(|way| distance((at.0 + way.0, at.1 + way.1)))?;
    (distance((at.0 + best.0, at.1 + best.1)) > distance(at)).then_some(best)
}

/// Returns the hero's choice when no one plays: shoots, fights, drinks when hurt, and looks for the way
/// out.
pub(super) fn hero(now: &Situation<Cell>, who: Entity) -> Command {
    let Some(at) = cell_of(now, who) else { return Command::Rest };
    let range = now.get::<Bow>(who).map_or(0, |bow| bow.0);
    let mut shot = None;
    for cell in super::sight::field(now, at) {
        if now.cell(cell).first::<Foe>().is_none() {
            continue;
        }
        let way = (cell.0 - at.0, cell.1 - at.1);
        if way.0.abs() <= 1 && way.1.abs() <= 1 {
            return Command::Go(way);
        }
        shot = shot.or_else(|| line_of_fire(now, at, cell, range));
    }
    if let Some(way) = shot {
        return Command::Shoot(way);
    }
    let is_blocked = |cell| {
        let here = now.cell(cell);
        here.any::<Solid>() && !here.any::<Closed>()
    };
    let is_hurt = now.get::<Health>(who).is_ok_and(|health| 2 * health.now < health.most);
    let to_potion = || first_step(now, at, |cell| now.cell(cell).any::<Potion>(), is_blocked);
    let to_stairs = || first_step(now, at, |cell| now.cell(cell).any::<Stairs>(), is_blocked);
    // If every way is blocked by something, goes through it.
    let through = || {
        let is_stairs = |cell| now.cell(cell).any::<Stairs>();
        first_step(now, at, is_stairs, |cell| now.cell(cell).any::<Hero>())
    };
    let way = Some(()).filter(|()| is_hurt).and_then(|()| to_potion());
    let way = way.or_else(to_stairs).or_else(through);
    debug_assert!(!now.has::<Opaque>(who), "nobody hides the hero from the hero");
    way.map_or(Command::Rest, Command::Go)
}
