//! The view of the roguelike: what the hero sees, what it remembers, and what is dark.

use formic::inspect::{Cheat, Ground, Kind, Mark, Marks, Scene, Touch, View};
use formic_ai::explain::DecisionLog;
use formic_ai::turn::{Gone, Vacant};
use formic_ecs::prelude::*;
use glam::Vec2;

use super::command::Command;
use super::game::{Game, Status};
use super::mind::number;
use super::sight::{WAYS, cell_of, field, first_step};
use super::things::{
    ASLEEP, Asleep, Cell, Closed, Foe, Health, KINDS, Look, Position, Solid, kind_of, noun,
};
use crate::raster::Colour;
use crate::simulation::Simulation;

/// The maximum number of cells shown on each side.
const SIDE: (i32, i32) = (160, 100);

/// The part of a level that is shown, in cells.
struct Window {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
}

impl Window {
    /// Returns the cells around the hero; all of them, if the level is small enough.
    fn around_hero(game: &Game) -> Self {
        let level = game.level();
        let centre = cell_of(&game.now(), game.hero).unwrap_or((0, 0));
        let (width, height) = (level.width.min(SIDE.0), level.height.min(SIDE.1));
        let left = (centre.0 - width / 2).clamp(0, level.width - width);
        let top = (centre.1 - height / 2).clamp(0, level.height - height);
        Self { left, top, width, height }
    }

    fn contains(&self, (x, y): Cell) -> bool {
        let Self { left, top, width, height } = *self;
        (left..left + width).contains(&x) && (top..top + height).contains(&y)
    }
}

/// Dark rock and floor are unknown; dim ones are remembered.
const PALETTE: [Colour; 6] = [
    Colour([12, 15, 20]),
    Colour([12, 15, 20]),
    Colour([46, 45, 54]),
    Colour([27, 28, 34]),
    Colour([98, 94, 108]),
    Colour([58, 52, 48]),
];
const GROUND: [Kind; 2] = [
    Kind::ground("wall, darker where it is remembered", PALETTE[4]),
    Kind::ground("floor", PALETTE[5]),
];
const DARK: u8 = 0;
const REMEMBERED: u8 = 2;
const SEEN: u8 = 4;

const fn way(name: &'static str, label: &'static str, key: &'static str) -> Cheat {
    Cheat { name, label, key, touch: Touch::None }
}

const CHEATS: [Cheat; 13] = [
    way("go west", "\u{2190}", "ArrowLeft"),
    way("go south", "\u{2193}", "ArrowDown"),
    way("go north", "\u{2191}", "ArrowUp"),
    way("go east", "\u{2192}", "ArrowRight"),
    way("go northwest", "\u{2196}", "y"),
    way("go northeast", "\u{2197}", "i"),
    way("go southwest", "\u{2199}", "b"),
    way("go southeast", "\u{2198}", "n"),
    way("rest", "Rest", "s"),
    way("undo", "Take back", "u"),
    Cheat { name: "walk", label: "Go there", key: "g", touch: Touch::Place },
    Cheat { name: "shoot", label: "Shoot there", key: "f", touch: Touch::Place },
    Cheat { name: "close", label: "Close door", key: "c", touch: Touch::Place },
];

impl View for Game {
    fn scene(&self) -> Scene {
        let Window { width, height, .. } = Window::around_hero(self);
        let kind = |(letter, name, colour)| Kind {
            is_thing: ">!+/o*-".contains(letter),
            ..Kind::letter(name, colour, letter)
        };
        Scene {
            size: Vec2::new(number(width), number(height)),
            unit: "cell",
            ticks_per_second: 5.0,
            mark_radius: 0.5,
            kinds: KINDS.map(kind).into_iter().chain(GROUND).collect(),
        }
    }

    fn ground_version(&self) -> u64 {
        self.play().progress.change_count
    }

    fn ground(&self) -> Ground {
        let (level, scene) = (self.level(), self.scene());
        let Window { left, top, width, height } = Window::around_hero(self);
        let tile = |(x, y): Cell| {
            let known = if scene.is_explored((x, y)) { REMEMBERED } else { DARK };
            known + u8::from(level.is_open((x, y)))
        };
        let cells = (top..top + height).flat_map(|y| (left..left + width).map(move |x| (x, y)));
        let mut tiles: Vec<u8> = cells.map(tile).collect();
        for (x, y) in self.seen() {
            let place = usize::try_from((y - top) * width + x - left).unwrap_or(usize::MAX);
            if let Some(tile) = tiles.get_mut(place) {
                *tile = SEEN + u8::from(level.is_open((x, y)));
            }
        }
        Ground {
            columns: u16::try_from(width).unwrap_or(0),
            rows: u16::try_from(height).unwrap_or(0),
            palette: PALETTE.to_vec(),
            tiles,
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Marks) {
        let (scene, seen) = (self.scene(), self.seen());
        let window = Window::around_hero(self);
        let things = self.world().query_ref::<(Entity, &Position, &Look)>();
        things.for_each(|(entity, position, look)| {
            let cell = (position.x, position.y);
            // Most things are farther away.
            if window.contains(cell) && scene.shows(entity, cell, seen.contains(&cell)) {
                let asleep = scene.now.has::<Asleep>(entity);
                let letter = if asleep { ASLEEP } else { look.letter() };
                let at = middle((cell.0 - window.left, cell.1 - window.top));
                let kind = u8::try_from(kind_of(letter)).unwrap_or_default();
                marks.push(Mark { entity, at, kind, world: 0 });
            }
        });
    }

    /// Describes an agent, and for the hero every rule that applied since the last command.
    fn why(&self, agent: Entity) -> Vec<String> {
        let now = self.now();
        let health = now.get::<Health>(agent);
        let health = health.map_or_else(
            |_| String::new(),
            |health| format!("It has {} of {} points of health. ", health.now, health.most),
        );
        let state = if now.has::<Asleep>(agent) {
            "It sleeps, because it has not seen the hero: it has no turns.".to_owned()
        } else if now.has::<Foe>(agent) {
            let turn = self.play().turns.upcoming().tickets_of(agent).next();
            let turn = turn.map_or_else(String::new, |turn| {
                format!(", and has its next turn at time {}", turn.time())
            });
            format!("It is after the hero{turn}.")
        } else if agent == self.hero {
            match self.status() {
                Status::Playing => self.play().progress.message.clone(),
                Status::Dead => "It is dead.".to_owned(),
                Status::Escaped => "It got away.".to_owned(),
            }
        } else if now.has::<Vacant>(agent) {
            "It is not in the game: it waits to be an arrow or another thing.".to_owned()
        } else if now.has::<Gone>(agent) {
            "It is gone, and comes back only if turns are taken back.".to_owned()
        } else {
            "It decides nothing.".to_owned()
        };
        let mut lines = vec![format!("{health}{state}")];
        if agent == self.hero {
            lines.extend(
                self.play().progress.why.iter().flat_map(|trace| trace.lines()).map(str::to_owned),
            );
        } else if let Ok(log) = self.world().resource::<DecisionLog>() {
            lines.extend(log.sentences(agent).pop());
        }
        lines
    }

    fn noun(&self, agent: Entity) -> Option<&'static str> {
        noun(self.world(), agent)
    }

    fn cheats(&self) -> &'static [Cheat] {
        &CHEATS
    }

    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        let command = self.command_of(name, at)?;
        self.command(command, &mut super::game::unwatched);
        Ok(format!("{command}: {}", self.play().progress.message))
    }
}

impl Game {
    /// Returns the cells that the hero sees.
    fn seen(&self) -> Vec<Cell> {
        let now = self.now();
        cell_of(&now, self.hero).map_or_else(Vec::new, |hero| field(&now, hero))
    }

    /// Returns the command of a button or a click.
    fn command_of(&self, name: &str, at: Vec2) -> Result<Command, String> {
        let now = self.now();
        let window = Window::around_hero(self);
        let target = (window.left + whole(at.x), window.top + whole(at.y));
        let hero = cell_of(&now, self.hero);
        // The direction that points there best.
        let towards = || {
            let (x, y) = hero.ok_or("there is no hero any more")?;
            let wanted = Vec2::new(number(target.0 - x), number(target.1 - y)).normalize_or_zero();
            let along = |way: &Cell| {
                Vec2::new(number(way.0), number(way.1)).normalize_or_zero().dot(wanted)
            };
            let best = WAYS.into_iter().max_by(|one, other| along(one).total_cmp(&along(other)));
            best.ok_or_else(|| "there is no path".to_owned())
        };
        match name {
            "walk" => {
                let from = hero.ok_or("there is no hero any more")?;
                let is_blocked =
                    |cell| now.cell(cell).any::<Solid>() && !now.cell(cell).any::<Closed>();
                let step = first_step(&now, from, |cell| cell == target, is_blocked);
                step.map(Command::Go).ok_or_else(|| "no path there is known".to_owned())
            }
            "shoot" => towards().map(Command::Shoot),
            "close" => towards().map(Command::Close),
            command => command.parse(),
        }
    }
}

fn middle((x, y): Cell) -> Vec2 {
    Vec2::new(number(x) + 0.5, number(y) + 0.5)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the page shows a window of some hundred cells"
)]
fn whole(at: f32) -> i32 {
    at.floor() as i32
}
