//! Decisions as data: the log of a game, and scripts.

use formic_ecs::Entity;

/// A turn in a [`TurnLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LoggedTurn<K> {
    /// The actor whose turn it was, if any.
    pub actor: Option<Entity>,
    /// The decision.
    pub kind: K,
    /// The state hash after the turn, if one was taken, see
    /// [`TurnsBuilder::hash_every`](super::TurnsBuilder::hash_every).
    pub hash: Option<u64>,
    /// The number of actions and points in real time after which the callback that [draws](super::Frame)
    /// broke the turn off, if it did. A replay does the same.
    pub broken_off: Option<usize>,
}

/// All turns of a game that cost something, in order: enough to replay it, unless something was done
/// between turns, such as [scheduling](super::Turns::schedule) one.
///
/// It is saved with serde, for instance as text:
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
