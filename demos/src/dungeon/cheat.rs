//! Cheats: what a player may do to the dungeon from outside, between two ticks.

use std::fmt;
use std::str::FromStr;

use formic_nav::Cell;

/// The maximum number of imps that one cheat spawns.
const SPAWN_MAX: u32 = 10_000;

/// A change to the dungeon between two ticks.
///
/// As text: `dig X Y`, `fill X Y`, `spawn N X Y` and `send X Y`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cheat {
    /// Opens a tile.
    Dig(Cell),
    /// Makes a tile solid. An agent that stands on it is pushed out.
    Fill(Cell),
    /// Spawns imps on an open tile.
    Spawn {
        /// The number of imps, from 1 to [`SPAWN_MAX`].
        count: u32,
        /// The tile.
        cell: Cell,
    },
    /// Sends all imps to a tile, or as near as they can get.
    Send(Cell),
}

impl Cheat {
    /// Returns the tile that it is about.
    pub(super) const fn cell(self) -> Cell {
        match self {
            Self::Dig(cell) | Self::Fill(cell) | Self::Spawn { cell, .. } | Self::Send(cell) => {
                cell
            }
        }
    }
}

impl FromStr for Cheat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["dig", x, y] => Ok(Self::Dig(cell(x, y)?)),
            ["fill", x, y] => Ok(Self::Fill(cell(x, y)?)),
            ["send", x, y] => Ok(Self::Send(cell(x, y)?)),
            ["spawn", count, x, y] => match number(count)? {
                count @ 1..=SPAWN_MAX => Ok(Self::Spawn { count, cell: cell(x, y)? }),
                _ => Err(format!("expected to spawn 1 to {SPAWN_MAX} imps")),
            },
            _ => Err("expected dig X Y, fill X Y, spawn N X Y or send X Y".to_owned()),
        }
    }
}

fn cell(x: &str, y: &str) -> Result<Cell, String> {
    Ok(Cell::new(number(x)?, number(y)?))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let expected = || format!("expected whole numbers, X and Y up to {}", u16::MAX);
    text.parse().map_err(|_| expected())
}

impl fmt::Display for Cheat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { x, y } = self.cell();
        match self {
            Self::Dig(_) => write!(f, "dig {x} {y}"),
            Self::Fill(_) => write!(f, "fill {x} {y}"),
            Self::Spawn { count, .. } => write!(f, "spawn {count} {x} {y}"),
            Self::Send(_) => write!(f, "send {x} {y}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cheat_is_read_as_it_is_written() {
        for text in ["dig 3 7", "fill 0 65535", "spawn 100 12 7", "send 1 1"] {
            assert_eq!(text.parse::<Cheat>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "dig 3", "spawn a lot", "spawn 0 1 1", "send 1 65536", "blow 1 1"] {
            assert!(text.parse::<Cheat>().is_err(), "{text}");
        }
    }
}
