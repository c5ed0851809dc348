//! The turn actions of the dungeon.

use formic_ai::turn::{Draft, Refusal, TurnActionKind};
use formic_ecs::prelude::*;
use serde::{Deserialize, Serialize};

use super::command::direction_name;
use super::sight::{level, sees};
use super::things::{
    Asleep, Bow, Cell, Closed, Door, Escaped, Flame, Health, Look, Opaque, Position, Solid,
    Velocity,
};

/// The reach of flames, in cells.
const BLAST: i32 = 2;

/// Every turn action of the dungeon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Deed {
    /// Moves to an adjacent cell, or does what bumping into it does.
    Step { who: Entity, way: Cell },
    /// Waits.
    Rest,
    /// Opens a door.
    Open(Entity),
    /// Closes the door in the adjacent cell.
    Close { who: Entity, way: Cell },
    /// Shoots an arrow.
    Shoot { who: Entity, way: Cell },
    /// Moves an arrow by a cell.
    Fly(Entity),
    /// Damages an actor or a thing.
    Wound { who: Entity, blow: u32 },
    /// Bursts a barrel.
    Burst(Entity),
    /// Removes something: an arrow, a flame, a rat.
    End(Entity),
    /// Wakes a foe that notices the hero.
    Wake(Entity),
    /// The hero drinks a potion.
    Drink { who: Entity, potion: Entity },
    /// The hero escapes.
    Escape(Entity),
}

impl TurnActionKind for Deed {
    type Cell = Cell;

    fn describe(&self, name: &dyn Fn(Entity) -> String) -> String {
        match *self {
            Self::Step { way, .. } => format!("go {}", direction_name(way)),
            Self::Rest => String::from("rest"),
            Self::Open(it) => format!("open {}", name(it)),
            Self::Close { way, .. } => format!("close the door {}", direction_name(way)),
            Self::Shoot { way, .. } => format!("shoot {}", direction_name(way)),
            Self::Fly(_) => String::from("let an arrow fly on"),
            Self::Wound { who, blow } => format!("take {blow} health from {}", name(who)),
            Self::Burst(_) => String::from("burst a barrel"),
            Self::End(it) => format!("put an end to {}", name(it)),
            Self::Wake(it) => format!("wake {}", name(it)),
            Self::Drink { .. } => String::from("drink a potion"),
            Self::Escape(_) => String::from("escape"),
        }
    }

    fn bind(&self, draft: &mut Draft<Cell>) -> Result<(), Refusal> {
        match *self {
            Self::Step { who, way } => step(draft, who, way)?,
            Self::Rest => {}
            Self::Open(door) => {
                draft.remove::<Closed>(door);
                draft.remove::<Solid>(door);
                draft.remove::<Opaque>(door);
                draft.insert(door, Look::of('/'));
            }
            Self::Close { who, way } => close(draft, who, way)?,
            Self::Shoot { who, way } => {
                let _can_shoot: &Bow = draft.get(who)?;
                let from = *draft.get::<Position>(who)?;
                let arrow = draft.spawn()?;
                draft.insert(arrow, from);
                draft.insert(arrow, Velocity { x: way.0, y: way.1 });
                draft.insert(arrow, Look::of(arrow_letter(way)));
            }
            Self::Fly(arrow) => {
                let Velocity { x, y } = *draft.get(arrow)?;
                step(draft, arrow, (x, y))?;
            }
            Self::Wound { who, blow } => {
                let Health { now, most } = *draft.get(who)?;
                draft.insert(who, Health { now: now.saturating_sub(blow), most });
            }
            Self::Burst(barrel) => burst(draft, barrel)?,
            Self::End(thing) => draft.despawn(thing),
            Self::Wake(who) => {
                let _sleeps: &Asleep = draft.get(who)?;
                draft.remove::<Asleep>(who);
                draft.schedule(who, 5);
            }
            Self::Drink { who, potion } => {
                let Health { most, .. } = *draft.get(who)?;
                draft.insert(who, Health { now: most, most });
                draft.despawn(potion);
            }
            Self::Escape(who) => draft.insert(who, Escaped),
        }
        Ok(())
    }

    fn duration(&self) -> u64 {
        match self {
            Self::Shoot { .. } => 15,
            _ => 10,
        }
    }
}

fn step(draft: &mut Draft<Cell>, who: Entity, way: Cell) -> Result<(), Refusal> {
    let Position { x, y } = *draft.get(who)?;
    draft.insert(who, Position { x: x + way.0, y: y + way.1 });
    Ok(())
}

fn close(draft: &mut Draft<Cell>, who: Entity, way: Cell) -> Result<(), Refusal> {
    let Position { x, y } = *draft.get(who)?;
    let cell = draft.now().cell((x + way.0, y + way.1));
    let door = cell.first::<Door>().filter(|&door| !draft.now().has::<Closed>(door));
    let Some(door) = door else {
        return Err(Refusal::Malformed(String::from("there is no open door")));
    };
    if cell.any::<Solid>() {
        return Err(Refusal::Malformed(String::from("somebody is in the way")));
    }
    draft.insert(door, Closed);
    draft.insert(door, Solid);
    draft.insert(door, Opaque);
    draft.insert(door, Look::of('+'));
    Ok(())
}

/// Spawns a flame in every cell within reach that the barrel sees; those farther away flare up later.
fn burst(draft: &mut Draft<Cell>, barrel: Entity) -> Result<(), Refusal> {
    let Position { x, y } = *draft.get(barrel)?;
    draft.despawn(barrel);
    let now = draft.now();
    for dy in -BLAST..=BLAST {
        for dx in -BLAST..=BLAST {
            let cell = (x + dx, y + dy);
            if dx * dx + dy * dy > BLAST * BLAST + 1 || !level(&now).is_open(cell) {
                continue;
            }
            if sees(&now, (x, y), cell) {
                let flame = draft.spawn()?;
                let wait = 1 + dx.unsigned_abs().max(dy.unsigned_abs());
                draft.insert(flame, Position::from(cell));
                draft.insert(flame, Flame { wait, left: 2 });
                draft.insert(flame, Look::of('*'));
            }
        }
    }
    Ok(())
}

fn arrow_letter(way: Cell) -> char {
    match way {
        (_, 0) => '-',
        (0, _) => '|',
        (x, y) if x == y => '\\',
        _ => '/',
    }
}
