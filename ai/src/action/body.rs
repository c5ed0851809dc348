//! The face that every mind sees: which actions of an agent run, and how they ended.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable, bytes_of};
use formic_ecs::{Codec, CodecError, Component, DebugFn, Entity, HashRule};

use super::components::ActionResult;
use crate::bits::{Bits, WORDS_MAX, set_bits};

/// What an agent can do, for whatever decides: a mind tells it which actions are to begin and to
/// halt, and it says which are running and how they ended.
///
/// Actions are named by their place, below [`Body::ACTIONS_MAX`]. A mind that has begun or halted
/// something switches the agent's [`Switching`] on, which [`Body::is_switching`] says; the system
/// [`identify`](super::identify) then passes it on to the action entities. When an action ends it is
/// noted here and the agent's [`Reported`] is switched on.
///
/// It cannot be instantiated: the copy would share the actions of the original.
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
    /// Those of the other actions, if there are more than 64.
    more: Option<Box<[Word; WORDS_MAX - 1]>>,
}

/// 64 actions, a bit for each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Word {
    /// Those that were begun, and neither ended nor halted since.
    running: u64,
    /// Those that are to begin, which `identify` has not passed on.
    begin: u64,
    /// Those that are to halt, likewise.
    halt: u64,
    succeeded: u64,
    failed: u64,
}

/// What a body with at most 64 actions is.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct First {
    word: Word,
    action_count: u32,
    /// Which names its actions have, see [`ActionNames`](super::ActionNames); 0 for none.
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
}

// A copy would share the actions of the original: there is no `CLONE`.
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
            Ok(Self { first, more })
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
    /// How many actions a body can have. More of them are grouped into composites.
    pub const ACTIONS_MAX: usize = 64 * WORDS_MAX;

    /// A body with this many actions, all of them asleep. [`ActionSet`](super::ActionSet) makes it together
    /// with the action entities.
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

    /// The same, with actions of these names.
    pub(super) const fn with_layout(mut self, layout: u32) -> Self {
        self.first.layout = layout;
        self
    }

    pub(super) const fn layout(&self) -> u32 {
        self.first.layout
    }

    /// The word of an action, and its bit in that.
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

    /// How many actions there are.
    #[must_use]
    pub const fn action_count(&self) -> usize {
        self.first.action_count as usize
    }

    /// Has an action begin, from the start: one that is running is interrupted first. What it
    /// ended with before is forgotten.
    ///
    /// # Panics
    /// Panics if there is no such action, as all methods here.
    #[inline]
    pub fn begin(&mut self, action: usize) {
        let (word, bit) = self.place_mut(action);
        word.forget(bit);
        word.running |= bit;
        word.begin |= bit;
        word.halt &= !bit;
    }

    /// Has an action stop, if it is running: its processor cleans up as interrupted, once. What it
    /// ended with before is forgotten.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn halt(&mut self, action: usize) {
        let (word, bit) = self.place_mut(action);
        word.stop(bit);
    }

    /// Has all actions stop that are running, and forgets what the others ended with.
    pub fn halt_all(&mut self) {
        self.first.word.stop(u64::MAX);
        self.more.iter_mut().flat_map(|more| &mut **more).for_each(|word| word.stop(u64::MAX));
    }

    /// Has those of `actions` stop that are not in `kept`, which has the numbers of all.
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

    /// Whether an action was begun, and neither ended nor was halted since.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[must_use]
    #[inline]
    pub fn is_running(&self, action: usize) -> bool {
        let (word, bit) = self.place(action);
        word.running & bit != 0
    }

    /// The actions that are running.
    pub fn running(&self) -> impl Iterator<Item = usize> {
        let words = (0..).zip(self.words());
        words.flat_map(|(number, word)| set_bits(word.running).map(move |bit| 64 * number + bit))
    }

    /// What an action ended with, if it has and that was not taken: [`ActionResult::Success`] or
    /// [`ActionResult::Failed`].
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

    /// What an action ended with, if it has and that was not taken; takes it.
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

    /// How an action stands for a mind that wants it done: it is begun where it is neither running
    /// nor has ended, and what it ended with is taken. This is all that a behaviour tree asks.
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

    /// Whether something was begun or halted that has not been passed on: the agent's [`Switching`]
    /// is to be on.
    #[must_use]
    #[inline]
    pub fn is_switching(&self) -> bool {
        let switches = |word: &Word| word.begin | word.halt != 0;
        switches(&self.first.word) || self.more.as_ref().is_some_and(|it| it.iter().any(switches))
    }

    /// Takes what is to begin and what is to halt of the 64 actions of this number; `None` if there
    /// are no more.
    pub(super) fn take_orders(&mut self, number: usize) -> Option<(u64, u64)> {
        let word = self.word_mut(number)?;
        Some((std::mem::take(&mut word.begin), std::mem::take(&mut word.halt)))
    }

    /// Notes that an action has ended. Whether an owner waits for it.
    pub(super) fn note(&mut self, action: usize, result: ActionResult) -> bool {
        let (word, bit) = self.place_mut(action);
        // A halt that has not been passed on, or an action that other code has switched on.
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

/// The entity of one action of a [`Body`]; the list of them is a `Buffer<OwnedAction>` beside it.
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

/// On an agent: its mind has begun or halted actions, which [`identify`](super::identify) passes on.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Switching;

/// On an agent: some of its actions have ended, which waits to be taken note of. Minds that only
/// have to do when something has ended ask for it in their query, and switch it off.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Reported;
