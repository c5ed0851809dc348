//! The table of subscriptions, from subjects to the tasks that have subscribed to them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, Entity, World};
use formic_jobs::EventCursor;

use super::calls::Calls;
use super::event::{EventKinds, Token};
use super::subscription::Subscription;
use crate::heads::{Heads, NONE};

/// Marks a subject with subscribers, whose death must be reported. It is never removed.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Watched;

/// The number of the newest token of a task whose [`ActivitySlot`](super::ActivitySlot) was removed or
/// replaced; the next slot continues from it. It is never removed.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct LastNumber(pub(super) u32);

/// The subscriptions and timers of all tasks with activities of type `A`, by subject; a resource.
///
/// It is derived from the tasks, and rebuilt after a world was restored. Each subscription is a node on
/// two lists, that of its subject and that of its task. Adding and removing it takes the time to find it
/// among the task's own. Timers are in a heap. An event visits the list of its subject alone.
pub struct Subscriptions<A> {
    nodes: Vec<Node>,
    /// The first free node; free nodes are linked by `next_of_subject`.
    free: u32,
    len: usize,
    by_subject: Heads,
    by_task: Heads,
    /// The tick, the number of the subscription, and the node. Cancelled timers stay until they are due,
    /// or until there are too many of them.
    timers: BinaryHeap<Reverse<(u64, u32, u32)>>,
    timers_live: usize,
    /// Subjects that have died since the last delivery of deaths.
    pub(super) deaths: Vec<Entity>,
    /// Subjects that may lack the mark [`Watched`] after a rebuild.
    pub(super) unmarked: Vec<Entity>,
    /// Whether a run has begun and not ended: only the activities themselves know what they have
    /// subscribed to.
    pub(super) needs_rebuild: bool,
    /// The run of the schedule in which activities have queued changes that are not applied yet.
    pub(super) unapplied_tick: Option<u64>,
    pub(super) cursor: EventCursor,
    /// The number of events that the cursor had missed when it was last read.
    pub(super) missed: u64,
    /// The number of nodes that were visited to find receivers and subscriptions to end.
    pub(super) looked_at: usize,
    /// The wake-ups from outside the schedule.
    pub(super) calls: Arc<Calls>,
    /// The tick of the last run.
    pub(super) now: u64,
    /// The restore of the world after which this was built.
    pub(super) restored: Option<u64>,
    /// Whether it was read from a save, and not yet rebuilt.
    pub(super) is_loaded: bool,
    _activity: PhantomData<fn(A)>,
}

#[derive(Clone, Copy)]
struct Node {
    subscription: Subscription,
    task: Entity,
    next_of_subject: u32,
    previous_of_subject: u32,
    next_of_task: u32,
    previous_of_task: u32,
    is_free: bool,
}

impl<A> Default for Subscriptions<A> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            len: 0,
            by_subject: Heads::default(),
            by_task: Heads::default(),
            timers: BinaryHeap::new(),
            timers_live: 0,
            deaths: Vec::new(),
            unmarked: Vec::new(),
            needs_rebuild: false,
            unapplied_tick: None,
            cursor: EventCursor::default(),
            missed: 0,
            looked_at: 0,
            calls: Arc::default(),
            now: 0,
            restored: None,
            is_loaded: false,
            _activity: PhantomData,
        }
    }
}

impl<A> fmt::Debug for Subscriptions<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions")
            .field("len", &self.len)
            .field("places", &(self.by_subject.len() + self.by_task.len()))
            .field("timers", &self.timers.len())
            .finish()
    }
}

fn at(index: u32) -> usize {
    index as usize
}

impl<A> Subscriptions<A> {
    /// The state that cannot be derived from the tasks: which events were delivered, how many were
    /// missed, and the tick.
    pub(super) fn to_save(&self) -> [u64; 4] {
        let [next, missed] = self.cursor.to_numbers();
        [next, missed, self.missed, self.now]
    }

    /// The rest is rebuilt from the tasks in the next run.
    pub(super) fn load(&mut self, [next, missed, seen, now]: [u64; 4], _: &World) {
        *self = Self { calls: Arc::clone(&self.calls), is_loaded: true, ..Self::default() };
        // There is room to count on.
        self.cursor = EventCursor::from_numbers([next, missed.min(u64::MAX / 2)]);
        (self.missed, self.now) = (seen, now);
    }

    /// The number of subscriptions and timers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an activity waits for an event of one of these kinds about the subject. A system can use
    /// it to skip costly events that no activity wants.
    #[must_use]
    pub fn wants(&self, subject: Entity, kinds: EventKinds) -> bool {
        self.of_subject(subject).any(|(_, subscription)| subscription.kinds().intersects(kinds))
    }

    /// Whether another activity waits for anything about the subject, including its death.
    pub(super) fn is_watched(&self, subject: Entity) -> bool {
        self.of_subject(subject).any(|(task, _)| task != subject)
    }

    /// Queues the death of a subject, if it has subscribers.
    pub(super) fn note_death(&mut self, subject: Entity) {
        if self.is_watched(subject) {
            self.deaths.push(subject);
        }
    }

    /// The subscriptions to this subject, with their tasks.
    pub(super) fn of_subject(
        &self,
        subject: Entity,
    ) -> impl Iterator<Item = (Entity, Subscription)> {
        let first = self.by_subject.get(subject);
        self.list(first, |node| node.next_of_subject)
            .map(|(_, node)| (node.task, node.subscription))
            // Skips a dead entity with the same index whose death was not reported yet.
            .filter(move |(_, subscription)| subscription.subject() == subject)
    }

    /// The subscription that a token names, if it has not ended, and its task.
    pub(super) fn with_token(&self, token: Token) -> impl Iterator<Item = (Entity, Subscription)> {
        self.of_task(token.task())
            .map(|(_, node)| (node.task, node.subscription))
            .filter(move |(task, it)| it.due().is_none() && it.token(*task) == token)
    }

    /// All subscriptions to events, sorted by task and in the order of subscribing; with `also_to_calls`
    /// also those that only wait for a call.
    pub(super) fn all_to_events(&self, also_to_calls: bool, all: &mut Vec<(Entity, Subscription)>) {
        let live = self.nodes.iter().filter(|node| !node.is_free);
        let is_meant = |it: &Subscription| {
            it.kinds() != EventKinds::NONE || also_to_calls && it.due().is_none()
        };
        all.extend(live.map(|node| (node.task, node.subscription)).filter(|it| is_meant(&it.1)));
        all.sort_unstable_by_key(|(task, it)| it.token(*task));
    }

    fn of_task(&self, task: Entity) -> impl Iterator<Item = (u32, &Node)> {
        let first = self.by_task.get(task);
        self.list(first, |node| node.next_of_task).filter(move |(_, node)| node.task == task)
    }

    fn list(&self, first: u32, next: impl Fn(&Node) -> u32) -> impl Iterator<Item = (u32, &Node)> {
        let mut place = first;
        std::iter::from_fn(move || {
            let node = self.nodes.get(at(place))?;
            Some((std::mem::replace(&mut place, next(node)), node))
        })
    }

    /// Adds a subscription or a timer of a task.
    ///
    /// # Panics
    /// Panics if there are 2^32 - 1 of them.
    pub(super) fn link(&mut self, task: Entity, subscription: Subscription) {
        let is_timer = subscription.due().is_some();
        let next_of_task = self.by_task.get(task);
        let subject = subscription.subject();
        let next_of_subject = if is_timer { NONE } else { self.by_subject.get(subject) };
        let place = self.insert(Node {
            subscription,
            task,
            next_of_subject,
            previous_of_subject: NONE,
            next_of_task,
            previous_of_task: NONE,
            is_free: false,
        });
        self.by_task.set(task, place, self.nodes.len());
        if let Some(next) = self.nodes.get_mut(at(next_of_task)) {
            next.previous_of_task = place;
        }
        if let Some(due) = subscription.due() {
            self.timers.push(Reverse((due, subscription.token(task).number(), place)));
            self.timers_live += 1;
        } else {
            self.by_subject.set(subject, place, self.nodes.len());
            if let Some(next) = self.nodes.get_mut(at(next_of_subject)) {
                next.previous_of_subject = place;
            }
        }
        self.len += 1;
    }

    fn insert(&mut self, node: Node) -> u32 {
        if let Some(free) = self.nodes.get_mut(at(self.free)) {
            let next_free = std::mem::replace(free, node).next_of_subject;
            return std::mem::replace(&mut self.free, next_free);
        }
        let place = u32::try_from(self.nodes.len()).ok().filter(|&place| place != NONE);
        let place = place.expect("fewer than 2^32 - 1 subscriptions");
        self.nodes.push(node);
        place
    }

    fn unlink_place(&mut self, place: u32) {
        let node = self.nodes[at(place)];
        match self.nodes.get_mut(at(node.previous_of_task)) {
            Some(previous) => previous.next_of_task = node.next_of_task,
            None => self.by_task.set(node.task, node.next_of_task, 0),
        }
        if let Some(next) = self.nodes.get_mut(at(node.next_of_task)) {
            next.previous_of_task = node.previous_of_task;
        }
        if node.subscription.due().is_some() {
            self.timers_live -= 1;
        } else {
            match self.nodes.get_mut(at(node.previous_of_subject)) {
                Some(previous) => previous.next_of_subject = node.next_of_subject,
                None => {
                    let subject = node.subscription.subject();
                    self.by_subject.set(subject, node.next_of_subject, 0);
                }
            }
            if let Some(next) = self.nodes.get_mut(at(node.next_of_subject)) {
                next.previous_of_subject = node.previous_of_subject;
            }
        }
        let freed = &mut self.nodes[at(place)];
        (freed.is_free, freed.next_of_subject) = (true, self.free);
        self.free = place;
        self.len -= 1;
    }

    /// Ends one subscription.
    pub(super) fn unlink(&mut self, token: Token) {
        let is_it = |node: &Node| node.subscription.token(node.task) == token;
        let mut looked_at = 0;
        let mut own = self.of_task(token.task()).inspect(|_| looked_at += 1);
        let place = own.find(|(_, node)| is_it(node)).map(|it| it.0);
        drop(own);
        self.looked_at += looked_at;
        if let Some(place) = place {
            self.unlink_place(place);
            self.forget_cancelled_timers();
        }
    }

    /// Ends all subscriptions of a task.
    pub(super) fn unlink_all(&mut self, task: Entity) {
        loop {
            let place = self.of_task(task).next().map(|(place, _)| place);
            let Some(place) = place else { break };
            self.looked_at += 1;
            self.unlink_place(place);
        }
        self.forget_cancelled_timers();
    }

    /// Keeps the heap in proportion to the live timers. The cost is amortized over the cancelled ones.
    fn forget_cancelled_timers(&mut self) {
        if self.timers.len() > 2 * self.timers_live + 64 {
            let mut timers = std::mem::take(&mut self.timers);
            timers.retain(|Reverse(timer)| self.is_live(*timer));
            self.timers = timers;
        }
    }

    fn is_live(&self, (due, number, place): (u64, u32, u32)) -> bool {
        let node = &self.nodes[at(place)];
        let token = node.subscription.token(node.task);
        !node.is_free && node.subscription.due() == Some(due) && token.number() == number
    }

    /// Takes a timer that is due, the earliest first; ties go to the lower number.
    pub(super) fn pop_timer(&mut self, now: u64) -> Option<Token> {
        while let Some(&Reverse(timer)) = self.timers.peek() {
            if timer.0 > now {
                return None;
            }
            self.timers.pop();
            self.looked_at += 1;
            if self.is_live(timer) {
                let node = self.nodes[at(timer.2)];
                self.unlink_place(timer.2);
                return Some(node.subscription.token(node.task));
            }
        }
        None
    }

    /// Removes all subscriptions, but keeps pending deaths and calls.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.free = NONE;
        self.len = 0;
        self.by_subject.clear();
        self.by_task.clear();
        self.timers.clear();
        self.timers_live = 0;
    }

    /// Checks that the table has exactly the subscriptions of the tasks.
    ///
    /// # Errors
    /// Returns a description of the first discrepancy.
    pub(super) fn check<'t>(
        &self,
        tasks: impl Iterator<Item = (Entity, &'t [Subscription])>,
    ) -> Result<(), String> {
        let mut count = 0;
        for (task, subscriptions) in tasks {
            for subscription in subscriptions {
                count += 1;
                let found = self.of_task(task).any(|(_, node)| node.subscription == *subscription);
                if !found {
                    return Err(format!("{subscription:?} of {task} is not known"));
                }
                let entry = (task, *subscription);
                if subscription.due().is_none()
                    && !self.of_subject(subscription.subject()).any(|it| it == entry)
                {
                    return Err(format!("{subscription:?} of {task} is not on its subject's list"));
                }
            }
        }
        if count != self.len {
            return Err(format!("{} subscriptions are known, and {count} are there", self.len));
        }
        let timers = self.timers.iter().map(|Reverse(timer)| *timer);
        let mut live: Vec<_> = timers.filter(|&timer| self.is_live(timer)).collect();
        live.sort_unstable();
        // A cancelled timer may equal one that was set since.
        live.dedup();
        let timers = live.len();
        if timers != self.timers_live {
            return Err(format!("{timers} timers are known, of {}", self.timers_live));
        }
        Ok(())
    }
}
