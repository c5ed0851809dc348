//! Subscriptions: the events that an activity waits for.

use formic_ecs::{BufferElement, CodecError, Entity, HashRule, HashState};

use super::event::{EventKinds, Token};

/// One thing that a task waits for: events of some kinds about a subject, or a point in time.
///
/// They are kept with the task, so that a snapshot has them; how to find them by their subject is
/// worked out from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, HashState)]
pub struct Subscription {
    subject: Entity,
    /// The kinds, as bits of their block, or when the timer runs out.
    what: u64,
    number: u32,
    /// [`TIMER`], or which block the kinds are of: as far as it is the first one, bytes and hashes are
    /// those of versions that had no more.
    sort: u8,
}

/// The sort of timers. Blocks of kinds but the first are above it.
const TIMER: u8 = 1;

// A third one takes all of them to the heap.
impl BufferElement for Subscription {
    type Inline = [Self; 2];
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);
}

impl Subscription {
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.subject.to_bits().to_le_bytes());
        bytes.extend(self.what.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.push(self.sort);
    }

    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        let subject = Entity::from_bits(u64::from_le_bytes(take(bytes)?)).ok_or(CodecError)?;
        let what = u64::from_le_bytes(take(bytes)?);
        let number = u32::from_le_bytes(take(bytes)?);
        let [sort] = take(bytes)?;
        let read = Self { subject, what, number, sort };
        let is_known = sort == TIMER || read.kinds().is_valid();
        is_known.then_some(read).ok_or(CodecError)
    }

    pub(super) const fn to(subject: Entity, kinds: EventKinds, number: u32) -> Self {
        let (what, block) = kinds.to_parts();
        let sort = if block == 0 { 0 } else { block + TIMER };
        Self { subject, what, number, sort }
    }

    pub(super) const fn timer(task: Entity, due: u64, number: u32) -> Self {
        Self { subject: task, what: due, number, sort: TIMER }
    }

    /// Who it is about; of a timer, the task itself.
    #[must_use]
    pub const fn subject(&self) -> Entity {
        self.subject
    }

    /// Which kinds of events; none for a timer.
    #[must_use]
    pub const fn kinds(&self) -> EventKinds {
        match self.sort {
            TIMER => EventKinds::NONE,
            sort => EventKinds::of_block(self.what, sort.saturating_sub(TIMER)),
        }
    }

    /// In which tick the timer runs out, if it is one.
    #[must_use]
    pub const fn due(&self) -> Option<u64> {
        if self.sort == TIMER { Some(self.what) } else { None }
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Its name, for the task that it is of.
    #[must_use]
    pub const fn token(&self, task: Entity) -> Token {
        Token { task, number: self.number }
    }
}

/// The first bytes, which it takes off.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], CodecError> {
    let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
    *bytes = rest;
    Ok(*first)
}

/// A request that a system keeps as a component.
#[cfg(test)]
#[derive(formic_ecs::Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(serde)]
struct Request {
    #[component(entity)]
    token: Token,
    subscriptions: Vec<Subscription>,
}

#[test]
fn a_component_with_tokens_and_subscriptions_is_hashed_saved_and_loaded() {
    let mut world = formic_ecs::World::new();
    let task = world.spawn(());
    let subscriptions =
        vec![Subscription::to(task, EventKinds::one(703), 7), Subscription::timer(task, 90, 8)];
    let request = Request { token: subscriptions[1].token(task), subscriptions };
    let holder = world.spawn(request.clone());
    let hash = world.state_hash();
    assert!(hash.is_whole(), "{:?} is left out", hash.uncovered());

    let saved = world.snapshot().expect("it has a codec");
    let mut loaded = formic_ecs::World::new();
    loaded.register::<Request>();
    loaded.restore(&saved).expect("the same components");
    assert_eq!(loaded.get(holder), Ok(&request));
    assert_eq!(loaded.state_hash(), hash);

    let change = |change: fn(&mut Request)| {
        let mut request = request.clone();
        change(&mut request);
        request
    };
    for other in [
        change(|request| request.token = Token::new(request.token.task(), 9)),
        change(|request| request.subscriptions[0].what ^= 1 << 9),
        change(|request| request.subscriptions[0].sort += 1),
        change(|request| request.subscriptions[1].sort = 0),
        change(|request| request.subscriptions[1].number += 1),
    ] {
        *loaded.get_mut(holder).expect("there") = other;
        assert_ne!(loaded.state_hash(), hash, "{:?}", loaded.get::<Request>(holder));
    }
}

#[test]
fn every_kind_and_all_of_them_are_written_and_read_again() {
    let task = formic_ecs::World::new().spawn(());
    let one = (0..EventKinds::COUNT_MAX).map(EventKinds::one);
    for kinds in one.chain([EventKinds::NONE, EventKinds::ALL]) {
        let (mut bytes, subscription) = (Vec::new(), Subscription::to(task, kinds, 7));
        subscription.write(&mut bytes);
        let read = Subscription::read(&mut bytes.as_slice());
        assert_eq!(read.map(|it| it.kinds()), Ok(kinds));
        // No block is above the last, and none but the first is empty.
        for (sort, what) in [(18, 1), (254, 1), (255, 1), (5, 0)] {
            let place = bytes.len() - 1;
            bytes[place] = sort;
            bytes[8..16].copy_from_slice(&u64::to_le_bytes(what));
            assert_eq!(Subscription::read(&mut bytes.as_slice()), Err(CodecError));
        }
    }
}
