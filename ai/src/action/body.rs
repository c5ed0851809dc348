//! `Body`: the interface between a mind and the actions of its agent.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable, bytes_of};
use formic_ecs::{Codec, CodecError, Component, DebugFn, Entity, HashRule};

use super::components::ActionResult;
use crate::bits::{Bits, WORDS_MAX, set_bits};

/// The interface between a mind and the actions of its agent. The mind says which actions begin and halt;
/// the body says which actions are running, and how they ended.
///
/// Actions are numbered from 0 to below [`Body::ACTIONS_MAX`]. A mind that has begun or halted an action,
/// which [`Body::is_switching`] tells, enables the agent's [`Switching`]. The system
/// [`identify`](super::identify) then passes the changes on to the action entities. When an action ends,
/// its result is stored here and the agent's [`Reported`] is enabled.
///
/// A body cannot be instantiated: the copy would share the actions of the original.
///
/// ```
/// use formic_ai::prelude::*;
/// let mut body = Body::new(3);
/// body.begin(1);
/// assert!(body.is_running(1) && body.is_switching());
/// assert_eq!(body.ended(1), None);
/// body.halt(1);
/// assert_eq!(body.running().count(), 0);
/// (0..3).for_each(|action| body.begin(action));
/// body.halt_all();
/// assert_eq!(body.running().count(), 0);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    first: First,
    /// The words of the actions beyond the first 64, if there are any.
    more: Option<Box<[Word; WORDS_MAX - 1]>>,
}

/// The state of 64 actions, one bit per action in each field.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Word {
    /// Actions that were begun, and have neither ended nor been halted since.
    running: u64,
    /// Actions to begin, not yet passed on by `identify`.
    begin: u64,
    /// Actions to halt, not yet passed on by `identify`.
    halt: u64,
    succeeded: u64,
    failed: u64,
}

/// The whole body if it has at most 64 actions.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct First {
    word: Word,
    action_count: u32,
    /// The layout, which determines the names of the actions, see [`ActionNames`](super::ActionNames); 0
    /// if there is none.
    layout: u32,
}

impl Word {
    #[inline]
    const fn forget(&mut self, mask: u64) {
        self.begin &= !mask;
        self.succeeded &= !mask;
        self.failed &= !mask;
    }

    #[inline]
    const fn stop(&mut self, mask: u64) {
        self.halt |= self.running & mask;
        self.running &= !mask;
        self.forget(mask);
    }

    #[inline]
    const fn ended(&self) -> u64 {
        self.succeeded | self.failed
    }

    /// The actions of which anything is said.
    const fn any(&self) -> u64 {
        self.running | self.begin | self.halt | self.ended()
    }
}

// A copy would share the actions of the original, so there is no `CLONE`.
impl Component for Body {
    const INSTEAD_OF_CLONE: &'static str =
        "agents are made one by one, by `ActionSet::spawn` or `Sequence::spawn`";
    const HASH: HashRule<Self> = HashRule::Fields(|body, hasher| {
        hasher.write(bytes_of(&body.first));
        body.more.iter().for_each(|more| hasher.write(bytes_of(&**more)));
    });
    const DEBUG: Option<DebugFn<Self>> = Some(fmt::Debug::fmt);
    const CODEC: Codec<Self> = Codec::custom(
        |body, bytes| {
            bytes.extend(bytes_of(&body.first));
            body.more.iter().for_each(|more| bytes.extend(bytes_of(&**more)));
            Ok(())
        },
        |bytes| {
            let first: First = Codec::plain().read(bytes)?;
            let count = first.action_count as usize;
            if count > Self::ACTIONS_MAX {
                return Err(CodecError);
            }
            let more =
                (count > 64).then(|| Codec::plain().read(bytes).map(Box::new)).transpose()?;
            let body = Self { first, more };
            let is_whole = (0..).zip(body.words()).all(|(number, word): (usize, _)| {
                let count = u32::try_from(count.saturating_sub(64 * number)).unwrap_or(u32::MAX);
                word.any() & u64::MAX.checked_shl(count).unwrap_or(0) == 0
            });
            is_whole.then_some(body).ok_or(CodecError)
        },
    );
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("actions", &self.action_count())
            .field("running", &self.running().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Body {
    /// The maximum number of actions of a body. Group more of them into composites.
    pub const ACTIONS_MAX: usize = 64 * WORDS_MAX;

    /// Creates a body with this many actions, none of which is running. [`ActionSet`](super::ActionSet)
    /// creates it together with the action entities.
    ///
    /// # Panics
    /// Panics if there are more than [`Self::ACTIONS_MAX`].
    #[must_use]
    pub fn new(action_count: usize) -> Self {
        assert!(action_count <= Self::ACTIONS_MAX, "a body has at most 1024 actions");
        #[expect(clippy::cast_possible_truncation, reason = "at most 1024")]
        let first = First { word: Word::default(), action_count: action_count as u32, layout: 0 };
        let more = (action_count > 64).then(|| Box::new([Word::default(); WORDS_MAX - 1]));
        Self { first, more }
    }

    /// Sets the layout, which determines the names of the actions.
    pub(super) const fn with_layout(mut self, layout: u32) -> Self {
        self.first.layout = layout;
        self
    }

    pub(super) const fn layout(&self) -> u32 {
        self.first.layout
    }

    /// The word of an action, and the action's bit in that word.
    #[inline]
    fn place(&self, action: usize) -> (&Word, u64) {
        self.check(action);
        (self.word(action / 64).unwrap_or(&self.first.word), 1 << (action % 64))
    }

    #[inline]
    fn place_mut(&mut self, action: usize) -> (&mut Word, u64) {
        self.check(action);
        let word = match &mut self.more {
            Some(more) if action >= 64 => &mut more[action / 64 - 1],
            _ => &mut self.first.word,
        };
        (word, 1 << (action % 64))
    }

    #[inline]
    fn check(&self, action: usize) {
        let count = self.action_count();
        assert!(action < count, "there is no action {action}: the body has {count}");
    }

    #[inline]
    fn word(&self, number: usize) -> Option<&Word> {
        if number == 0 { Some(&self.first.word) } else { self.more.as_ref()?.get(number - 1) }
    }

    #[inline]
    fn word_mut(&mut self, number: usize) -> Option<&mut Word> {
        if number == 0 {
            Some(&mut self.first.word)
        } else {
            self.more.as_mut()?.get_mut(number - 1)
        }
    }

    fn words(&self) -> impl Iterator<Item = &Word> {
        std::iter::once(&self.first.word).chain(self.more.iter().flat_map(|more| &**more))
    }

    /// The number of actions.
    #[must_use]
    pub const fn action_count(&self) -> usize {
        self.first.action_count as usize
    }

    /// Begins an action. If it is running, it is interrupted first. An earlier result is discarded.
    ///
    /// # Panics
    /// Panics if there is no such action, as do all methods here.
    #[inline]
    pub fn begin(&mut self, action: usize) {
        let (word, bit) = self.place_mut(action);
        word.forget(bit);
        word.running |= bit;
        word.begin |= bit;
        word.halt &= !bit;
    }

    /// Halts an action if it is running: its processor cleans up once, as interrupted. An earlier result
    /// is discarded.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn halt(&mut self, action: usize) {
        let (word, bit) = self.place_mut(action);
        word.stop(bit);
    }

    /// Halts all running actions, and discards all results.
    pub fn halt_all(&mut self) {
        self.first.word.stop(u64::MAX);
        self.more.iter_mut().flat_map(|more| &mut **more).for_each(|word| word.stop(u64::MAX));
    }

    /// Halts the actions that are in `actions` and not in `kept`, which covers all words of the body.
    #[inline]
    pub(crate) fn halt_all_but<const N: usize>(&mut self, actions: &Bits, kept: &Bits<N>) {
        for (number, kept) in kept.0.iter().enumerate() {
            let Some(word) = self.word_mut(number) else { return };
            let mask = actions.0[number] & !kept;
            if mask & (word.running | word.ended()) != 0 {
                word.stop(mask);
            }
        }
    }

    /// Whether an action was begun, and has neither ended nor been halted since.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[must_use]
    #[inline]
    pub fn is_running(&self, action: usize) -> bool {
        let (word, bit) = self.place(action);
        word.running & bit != 0
    }

    /// The indices of the running actions.
    pub fn running(&self) -> impl Iterator<Item = usize> {
        let words = (0..).zip(self.words());
        words.flat_map(|(number, word)| set_bits(word.running).map(move |bit| 64 * number + bit))
    }

    /// The result of an action that has ended, [`ActionResult::Success`] or [`ActionResult::Failed`],
    /// unless it was taken.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[must_use]
    #[inline]
    pub fn ended(&self, action: usize) -> Option<ActionResult> {
        let (word, bit) = self.place(action);
        if word.succeeded & bit != 0 {
            Some(ActionResult::Success)
        } else if word.failed & bit != 0 {
            Some(ActionResult::Failed)
        } else {
            None
        }
    }

    /// Takes the result of an action that has ended, if it was not taken before.
    ///
    /// ```
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Knock;
    /// /// A mind of your own, which knocks until someone has opened.
    /// fn think(mut knockers: Query<(&mut Body, EnabledMut<formic_ai::action::Switching>)>) {
    ///     knockers.for_each(|(body, mut switching)| {
    ///         let has_opened = body.take_ended(0) == Some(ActionResult::Success);
    ///         if !has_opened && !body.is_running(0) {
    ///             body.begin(0);
    ///             switching.set(true);
    ///         }
    ///     });
    /// }
    /// # let mut world = World::new();
    /// let guest = ActionSet::new().action("knock", Knock).spawn(&mut world, ())?;
    /// world.run_system(&Pool::new(Threads::None)?, think);
    /// assert!(world.get::<Body>(guest)?.is_running(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn take_ended(&mut self, action: usize) -> Option<ActionResult> {
        let ended = self.ended(action)?;
        let (word, bit) = self.place_mut(action);
        word.succeeded &= !bit;
        word.failed &= !bit;
        Some(ended)
    }

    /// Takes the result of an action if it has ended; otherwise begins it if it is not running, and
    /// returns [`ActionResult::Running`]. A behaviour tree needs no other call.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn drive(&mut self, action: usize) -> ActionResult {
        if let Some(ended) = self.take_ended(action) {
            return ended;
        }
        if !self.is_running(action) {
            self.begin(action);
        }
        ActionResult::Running
    }

    /// Whether some action was begun or halted and that has not been passed on. If so, the agent's
    /// [`Switching`] must be enabled.
    #[must_use]
    #[inline]
    pub fn is_switching(&self) -> bool {
        let switches = |word: &Word| word.begin | word.halt != 0;
        switches(&self.first.word) || self.more.as_ref().is_some_and(|it| it.iter().any(switches))
    }

    /// Takes the actions to begin and to halt from the word with this number; `None` if there is no such
    /// word.
    pub(super) fn take_orders(&mut self, number: usize) -> Option<(u64, u64)> {
        let word = self.word_mut(number)?;
        Some((std::mem::take(&mut word.begin), std::mem::take(&mut word.halt)))
    }

    /// Stores the result of an action. Returns whether the owner waits for it.
    pub(super) fn note(&mut self, action: usize, result: ActionResult) -> bool {
        // An action of a save that was tampered with may have any index.
        if action >= self.action_count() {
            return false;
        }
        let (word, bit) = self.place_mut(action);
        // The action was halted or begun again and that has not been passed on, or other code has enabled
        // it.
        if word.running & bit == 0 || word.begin & bit != 0 {
            return false;
        }
        word.running &= !bit;
        match result {
            ActionResult::Success => word.succeeded |= bit,
            ActionResult::Failed | ActionResult::Running => word.failed |= bit,
        }
        true
    }
}

/// The entity of one action of a [`Body`]. The owner has a `Buffer<OwnedAction>` with all of them.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 6, unique)]
#[repr(transparent)]
pub struct OwnedAction(#[component(entity)] pub(super) Entity);

impl OwnedAction {
    /// The action entity.
    #[must_use]
    pub const fn entity(self) -> Entity {
        self.0
    }
}

/// Enabled on an agent whose mind has begun or halted actions, until [`identify`](super::identify) passes
/// that on.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Switching;

/// Enabled on an agent when some of its actions have ended. A mind that only reacts to ended actions
/// queries for it, and disables it.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Reported;
