//! The level around the hero as a picture.

use super::game::Game;
use super::sight::cell_of;
use super::things::{Cell, Look, Position};
use crate::raster::{Colour, Point, Raster, Rectangle};

const TILE: u32 = 8;
/// How many cells are shown on each side at most.
const SIDE: (i32, i32) = (160, 100);

/// The part of a level that is shown, in cells.
pub(super) struct Window {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Window {
    /// The cells around the hero; all of them, where the level is not too large for that.
    pub(super) fn around_hero(game: &Game) -> Self {
        let level = game.level();
        let centre = cell_of(&game.now(), game.hero).unwrap_or((0, 0));
        let (width, height) = (level.width.min(SIDE.0), level.height.min(SIDE.1));
        let left = (centre.0 - width / 2).clamp(0, level.width - width);
        let top = (centre.1 - height / 2).clamp(0, level.height - height);
        Self { left, top, width, height }
    }

    pub(super) fn contains(&self, (x, y): Cell) -> bool {
        let Self { left, top, width, height } = *self;
        (left..left + width).contains(&x) && (top..top + height).contains(&y)
    }
}

pub(super) fn draw(game: &Game) -> Raster {
    let level = game.level();
    let window = Window::around_hero(game);
    let Window { left, top, width, height } = window;
    let pixels = |cells: i32| TILE * cells.unsigned_abs().max(1);
    let mut raster = Raster::new(pixels(width), pixels(height), Colour::ROCK);
    let tile = i32::try_from(TILE).unwrap_or(1);
    let corner = |(x, y): Cell| ((x - left) * tile, (y - top) * tile);
    for y in top..top + height {
        for x in left..left + width {
            if level.is_open((x, y)) {
                let explored = level.index((x, y)).is_some_and(|it| game.scene().explored[it]);
                let floor = if explored { [96, 92, 100] } else { [58, 55, 62] };
                let (x, y) = corner((x, y));
                raster.fill(Rectangle { x, y, width: TILE, height: TILE }, Colour(floor));
            }
        }
    }
    let mut things: Vec<(Cell, char)> = game
        .engine
        .world
        .query_ref::<(&Position, &Look)>()
        .map(|(position, look)| ((position.x, position.y), look.letter()))
        .filter(|&(cell, _)| window.contains(cell))
        .collect();
    // The hero lies above all others, and otherwise the order must not matter.
    things.sort_unstable_by_key(|&(cell, letter)| (letter == '@', cell, letter));
    for (cell, letter) in things {
        let (x, y) = corner(cell);
        let colour = colour(letter);
        match letter {
            '+' | '/' | '>' | '!' => {
                let inner = Rectangle { x: x + 1, y: y + 1, width: TILE - 2, height: TILE - 2 };
                raster.fill(inner, colour);
            }
            _ => raster.disc(Point::new(x + tile / 2, y + tile / 2), TILE / 2 - 1, colour),
        }
    }
    raster
}

/// The colour of a letter, in the picture and on the screen.
pub(super) fn colour(letter: char) -> Colour {
    match letter {
        '@' => Colour::WHITE,
        'r' => Colour([186, 140, 99]),
        'g' => Colour([0, 158, 115]),
        'a' => Colour([204, 121, 167]),
        'o' => Colour([213, 94, 0]),
        '*' => Colour([240, 228, 66]),
        '!' => Colour([86, 180, 233]),
        '>' => Colour([230, 159, 0]),
        _ => Colour([170, 150, 120]),
    }
}
