//! The commands of a player, by keys or in a script.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::things::Cell;

/// A command to the hero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Command {
    /// Goes to the adjacent cell, opens a door there, or attacks what is there.
    Go(Cell),
    /// Shoots in a direction.
    Shoot(Cell),
    /// Closes the adjacent door.
    Close(Cell),
    /// Waits.
    Rest,
    /// Undoes everything since the hero's last turn, including that turn.
    Undo,
}

/// The eight directions, with north up, and their long and short names.
const DIRECTIONS: [(&str, &str, Cell); 8] = [
    ("north", "n", (0, -1)),
    ("northeast", "ne", (1, -1)),
    ("east", "e", (1, 0)),
    ("southeast", "se", (1, 1)),
    ("south", "s", (0, 1)),
    ("southwest", "sw", (-1, 1)),
    ("west", "w", (-1, 0)),
    ("northwest", "nw", (-1, -1)),
];

fn direction(word: &str) -> Result<Cell, String> {
    let known = DIRECTIONS.iter().find(|(name, short, _)| [*name, *short].contains(&word));
    known
        .map(|&(.., way)| way)
        .ok_or_else(|| format!("{word:?} is no direction: north, ne, east ... or n, e, s, w"))
}

/// Returns the long name of a direction; "north" is up.
pub(super) fn direction_name(way: Cell) -> &'static str {
    DIRECTIONS.iter().find(|(.., it)| *it == way).map_or("nowhere", |(name, ..)| name)
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["go", way] => direction(way).map(Self::Go),
            ["shoot", way] => direction(way).map(Self::Shoot),
            ["close", way] => direction(way).map(Self::Close),
            ["rest"] => Ok(Self::Rest),
            ["undo"] => Ok(Self::Undo),
            _ => Err(format!(
                "{text:?} is no command: go, shoot or close with a direction, rest, or undo"
            )),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, way) = match self {
            Self::Go(way) => ("go", way),
            Self::Shoot(way) => ("shoot", way),
            Self::Close(way) => ("close", way),
            Self::Rest => return f.write_str("rest"),
            Self::Undo => return f.write_str("undo"),
        };
        write!(f, "{verb} {}", direction_name(*way))
    }
}
