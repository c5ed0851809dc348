//! The inbox of an async activity: notices that it has not taken yet.

use std::collections::{BTreeMap, VecDeque};

use formic_ecs::Entity;

use super::event::Token;

/// The maximum number of events that are kept for an async activity that does not take them.
const EVENTS_MAX: usize = 1_024;

/// A notice to an async activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told<E> {
    /// The subscription that it came by.
    pub token: Token,
    /// The entity that it is about.
    pub subject: Entity,
    /// The event, or the reason why there is none.
    pub event: Result<E, NoEvent>,
}

impl<E> Told<E> {
    pub(super) const fn new(token: Token, subject: Entity, event: Result<E, NoEvent>) -> Self {
        Self { token, subject, event }
    }
}

/// The reason why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEvent {
    /// The subject was despawned. The subscription has ended.
    #[error("the subject was despawned")]
    Died,
    /// Events may have been [missed](super::Notice::Missed), or 1,024 events were not taken, and the
    /// oldest are lost. The subscription stays: check the world and request again. However often this
    /// happens before the async activity takes the notice, there is one notice, in the place of the first
    /// loss.
    #[error("events may have been missed")]
    Missed,
}

/// The notices that were not taken yet, numbered in the order in which they came.
///
/// Its size is bounded: up to [`EVENTS_MAX`] events, and per subscription one note of the death of its
/// subject and one of missed events.
pub(super) struct Inbox<E> {
    events: VecDeque<(u64, Told<E>)>,
    notes: BTreeMap<u64, Told<E>>,
    /// The number of the note of missed events, for each subscription that has one.
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
    /// Adds a notice. If there are too many events, the oldest is replaced by a note and returned for the
    /// caller to drop.
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

    /// Notes that events are missing from here on. The reader of an earlier note sees the world as it is
    /// when it reads, so a later note is redundant.
    fn miss(&mut self, number: u64, token: Token, subject: Entity) {
        if self.missed.get(&token).is_some_and(|&noted| noted < number) {
            return;
        }
        if let Some(later) = self.missed.insert(token, number) {
            self.notes.remove(&later);
        }
        self.notes.insert(number, Told::new(token, subject, Err(NoEvent::Missed)));
    }

    /// Takes the first notice of these subscriptions.
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

    /// Removes all notices of these subscriptions. Returns the events, for the caller to drop.
    pub(super) fn forget(&mut self, is_ended: impl Fn(Token) -> bool) -> VecDeque<(u64, Told<E>)> {
        self.notes.retain(|_, told| !is_ended(told.token));
        self.missed.retain(|&token, _| !is_ended(token));
        let all = std::mem::take(&mut self.events);
        let (ended, kept) = all.into_iter().partition(|(_, told)| is_ended(told.token));
        self.events = kept;
        ended
    }
}
