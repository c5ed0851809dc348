//! Cheats: what a player may do to the dungeon from outside, between two ticks.

use std::fmt;
use std::str::FromStr;

use formic_nav::Cell;

/// The most imps that one cheat spawns.
pub const SPAWN_MAX: u32 = 10_000;

/// Something that is done to the dungeon between two ticks.
///
/// As text: `dig X Y`, `fill X Y`, `spawn N X Y` and `send X Y`.
///
/// ```
/// use formic_demos::dungeon::Cheat;
/// use formic_nav::Cell;
/// let cheat: Cheat = "spawn 100 12 7".parse()?;
/// assert_eq!(cheat, Cheat::Spawn { count: 100, cell: Cell::new(12, 7) });
/// assert_eq!(cheat.to_string().parse(), Ok(cheat));
/// assert!("spawn a lot".parse::<Cheat>().is_err());
/// # Ok::<(), formic_demos::dungeon::CheatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cheat {
    /// Opens a tile.
    Dig(Cell),
    /// Makes a tile solid. An agent that stands on it is pushed out.
    Fill(Cell),
    /// Spawns imps on an open tile.
    Spawn {
        /// How many, from 1 to [`SPAWN_MAX`].
        count: u32,
        /// Where.
        cell: Cell,
    },
    /// Sends all imps to a tile, or as near as they can get.
    Send(Cell),
}

impl Cheat {
    /// The tile that it is about.
    #[must_use]
    pub const fn cell(self) -> Cell {
        match self {
            Self::Dig(cell) | Self::Fill(cell) | Self::Spawn { cell, .. } | Self::Send(cell) => {
                cell
            }
        }
    }
}

/// A text is no cheat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheatError {
    /// It is not one of the forms.
    Form,
    /// A number is none, or too large.
    Number,
    /// No agent is to be spawned, or too many.
    Count,
}

impl fmt::Display for CheatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("expected dig X Y, fill X Y, spawn N X Y or send X Y"),
            Self::Number => write!(f, "expected whole numbers, X and Y up to {}", u16::MAX),
            Self::Count => write!(f, "expected to spawn 1 to {SPAWN_MAX} imps"),
        }
    }
}

impl std::error::Error for CheatError {}

impl FromStr for Cheat {
    type Err = CheatError;

    fn from_str(text: &str) -> Result<Self, CheatError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["dig", x, y] => Ok(Self::Dig(cell(x, y)?)),
            ["fill", x, y] => Ok(Self::Fill(cell(x, y)?)),
            ["send", x, y] => Ok(Self::Send(cell(x, y)?)),
            ["spawn", count, x, y] => {
                let count = number(count)?;
                if !(1..=SPAWN_MAX).contains(&count) {
                    return Err(CheatError::Count);
                }
                Ok(Self::Spawn { count, cell: cell(x, y)? })
            }
            _ => Err(CheatError::Form),
        }
    }
}

fn cell(x: &str, y: &str) -> Result<Cell, CheatError> {
    Ok(Cell::new(number(x)?, number(y)?))
}

fn number<T: FromStr>(text: &str) -> Result<T, CheatError> {
    text.parse().map_err(|_| CheatError::Number)
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
