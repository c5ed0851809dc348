//! Decisions as data: the log of a game, and scripts.

use std::fmt::Display;
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
/// It is saved by serde, as text for instance:
///
/// ```
/// use formic_ai::turn::{LoggedTurn, TurnLog};
/// let turn = LoggedTurn { actor: None, kind: 7_u32, hash: Some(0xC0FFEE), broken_off: None };
/// let log = TurnLog { turns: vec![turn] };
/// let text = ron::to_string(&log)?;
/// assert_eq!(ron::from_str::<TurnLog<u32>>(&text)?, log);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TurnLog<K> {
    /// The turns.
    pub turns: Vec<LoggedTurn<K>>,
}

impl<K> Default for TurnLog<K> {
    fn default() -> Self {
        Self { turns: Vec::new() }
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
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(line, text): (usize, &str)| {
        text.parse().map_err(|error: K::Err| ScriptError { line, problem: error.to_string() })
    };
    lines.map(read).collect()
}
