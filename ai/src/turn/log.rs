//! Decisions as data: the log of a game, and scripts.

use std::fmt::{self, Display, Write};
use std::str::FromStr;

use formic_ecs::Entity;

use super::error::ScriptError;

/// A turn in a [`TurnLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LoggedTurn<K> {
    /// The actor whose turn it was, if any.
    pub actor: Option<Entity>,
    /// What was decided.
    pub kind: K,
    /// The state hash after the turn, where one was taken, see
    /// [`TurnsBuilder::hash_every`](super::TurnsBuilder::hash_every).
    pub hash: Option<u64>,
    /// After how many actions and points in real time the frame that [draws](super::Frame) broke the turn
    /// off, if it did. A replay does the same.
    pub broken_off: Option<usize>,
}

/// All turns of a game that cost something, in their order: enough to play it again.
///
/// As text it has a line for each turn: the actor (a number, or `-`), the state hash (or `-`), after
/// how many steps it was broken off (or `-`), and the kind as its `Display` says.
///
/// ```
/// use formic_ai::turn::{LoggedTurn, TurnLog};
/// let turn = LoggedTurn { actor: None, kind: 7_u32, hash: Some(0xC0FFEE), broken_off: None };
/// let log = TurnLog { turns: vec![turn] };
/// assert_eq!(log.to_string(), "- 0000000000c0ffee - 7\n");
/// assert_eq!(log.to_string().parse(), Ok(log));
/// let error = "- - - 7\n- - - seven\n".parse::<TurnLog<u32>>().unwrap_err();
/// assert_eq!(error.to_string(), "line 2: invalid digit found in string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLog<K> {
    /// The turns.
    pub turns: Vec<LoggedTurn<K>>,
}

impl<K> Default for TurnLog<K> {
    fn default() -> Self {
        Self { turns: Vec::new() }
    }
}

impl<K: Display> Display for TurnLog<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for turn in &self.turns {
            match turn.actor {
                Some(actor) => write!(f, "{} ", actor.to_bits())?,
                None => f.write_str("- ")?,
            }
            match turn.hash {
                Some(hash) => write!(f, "{hash:016x} ")?,
                None => f.write_str("- ")?,
            }
            match turn.broken_off {
                Some(steps) => write!(f, "{steps} ")?,
                None => f.write_str("- ")?,
            }
            writeln!(f, "{}", turn.kind)?;
        }
        Ok(())
    }
}

impl<K: FromStr<Err: Display>> FromStr for TurnLog<K> {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let turns = read_lines(text, |line| {
            let mut parts = line.splitn(4, ' ');
            let mut part = || parts.next().unwrap_or("");
            let (actor, hash, broken_off, kind) = (part(), part(), part(), part());
            let actor = match actor {
                "-" => None,
                bits => Some(
                    bits.parse()
                        .ok()
                        .and_then(Entity::from_bits)
                        .ok_or_else(|| format!("{bits:?} is no entity"))?,
                ),
            };
            let hash = match hash {
                "-" => None,
                hash => Some(
                    u64::from_str_radix(hash, 16)
                        .map_err(|_| format!("{hash:?} is no state hash"))?,
                ),
            };
            let broken_off = match broken_off {
                "-" => None,
                steps => {
                    Some(steps.parse().map_err(|_| format!("{steps:?} is no number of steps"))?)
                }
            };
            let kind = kind.parse().map_err(|error| problem(&error))?;
            Ok(LoggedTurn { actor, kind, hash, broken_off })
        })?;
        Ok(Self { turns })
    }
}

/// Reads a script: a turn action in each line. Empty lines and those that begin with `#` are
/// passed over.
///
/// ```
/// use formic_ai::turn::read_script;
/// assert_eq!(read_script::<u32>("# two numbers\n1\n\n2\n"), Ok(vec![1, 2]));
/// let error = read_script::<u32>("1\ntwo\n").unwrap_err();
/// assert_eq!((error.line, error.problem.as_str()), (2, "invalid digit found in string"));
/// ```
///
/// # Errors
/// At the first line that is no turn action.
pub fn read_script<K: FromStr<Err: Display>>(text: &str) -> Result<Vec<K>, ScriptError> {
    read_lines(text, |line| line.parse().map_err(|error| problem(&error)))
}

fn problem(error: &dyn Display) -> String {
    let mut text = String::new();
    // Writing into a string does not fail.
    write!(text, "{error}").unwrap_or_default();
    text
}

fn read_lines<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, ScriptError> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| read(line).map_err(|problem| ScriptError { line: index + 1, problem }))
        .collect()
}
