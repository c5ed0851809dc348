//! Events that an async activity was sent and has not asked for yet.

use std::collections::{BTreeMap, VecDeque};

use formic_ecs::Entity;

use super::event::Token;

/// How many events are kept for an async activity that does not ask for them.
const EVENTS_MAX: usize = 1_024;

/// An event that an async activity has been told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told<E> {
    /// The subscription by which it came.
    pub token: Token,
    /// Who it is about.
    pub subject: Entity,
    /// What happened, or why there is no event.
    pub event: Result<E, NoEvent>,
}

impl<E> Told<E> {
    pub(super) const fn new(token: Token, subject: Entity, event: Result<E, NoEvent>) -> Self {
        Self { token, subject, event }
    }
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEvent {
    /// The subject was despawned. The subscription has ended.
    #[error("the subject was despawned")]
    Died,
    /// Events may have been [missed](super::Notice::Missed), or nothing has asked for 1,024 of
    /// them, and the oldest are gone. The subscription stays: look again, ask again. However often
    /// that happens before the async activity asks, it is told once, where the first of them was.
    #[error("events may have been missed")]
    Missed,
}

/// What was told and not taken yet, numbered in the order of its coming.
///
/// However long nothing is taken, there are so many events and no more, and of each
/// subscription one note of its subject's death and one of events that are missing.
pub(super) struct Inbox<E> {
    events: VecDeque<(u64, Told<E>)>,
    notes: BTreeMap<u64, Told<E>>,
    /// The number of the note that events are missing, of each subscription that has one.
    missed: BTreeMap<Token, u64>,
    next_number: u64,
}

impl<E> Default for Inbox<E> {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            notes: BTreeMap::new(),
            missed: BTreeMap::new(),
            next_number: 0,
        }
    }
}

impl<E> Inbox<E> {
    /// Keeps what was told. Gives back the oldest event, for the caller to drop, where there are too
    /// many; a note takes its place.
    pub(super) fn put(&mut self, told: Told<E>) -> Option<E> {
        let number = self.next_number;
        self.next_number += 1;
        match told.event {
            Ok(_) => self.events.push_back((number, told)),
            Err(NoEvent::Died) => drop(self.notes.insert(number, told)),
            Err(NoEvent::Missed) => self.miss(number, told.token, told.subject),
        }
        if self.events.len() <= EVENTS_MAX {
            return None;
        }
        let (number, Told { token, subject, event }) = self.events.pop_front()?;
        self.miss(number, token, subject);
        event.ok()
    }

    /// Notes that events are missing from here on. A reader of an earlier note looks at the world
    /// as it is when it reads, which makes a later one needless.
    fn miss(&mut self, number: u64, token: Token, subject: Entity) {
        if self.missed.get(&token).is_some_and(|&noted| noted < number) {
            return;
        }
        if let Some(later) = self.missed.insert(token, number) {
            self.notes.remove(&later);
        }
        self.notes.insert(number, Told::new(token, subject, Err(NoEvent::Missed)));
    }

    /// Takes out the first thing that came by any of these subscriptions.
    pub(super) fn take(&mut self, is_meant: impl Fn(Token) -> bool) -> Option<Told<E>> {
        let place = self.events.iter().position(|(_, told)| is_meant(told.token));
        let event = place.map(|place| self.events[place].0);
        let note = self.notes.iter().find(|(_, told)| is_meant(told.token)).map(|it| *it.0);
        let Some(note) = note.filter(|&note| event.is_none_or(|event| note < event)) else {
            return self.events.remove(place?).map(|(_, told)| told);
        };
        let told = self.notes.remove(&note)?;
        if told.event.as_ref().err() == Some(&NoEvent::Missed) {
            self.missed.remove(&told.token);
        }
        Some(told)
    }

    /// Takes out all that came by these subscriptions; its events, for the caller to drop.
    pub(super) fn forget(&mut self, is_ended: impl Fn(Token) -> bool) -> VecDeque<(u64, Told<E>)> {
        self.notes.retain(|_, told| !is_ended(told.token));
        self.missed.retain(|&token, _| !is_ended(token));
        let all = std::mem::take(&mut self.events);
        let (ended, kept) = all.into_iter().partition(|(_, told)| is_ended(told.token));
        self.events = kept;
        ended
    }
}
