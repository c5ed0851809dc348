//! The table from a subject to the tasks that have subscribed to it.

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

/// On a subject with a subscriber: its death is told. It stays.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Watched;

/// On who has had an [`ActivitySlot`](super::ActivitySlot) that was removed or replaced: the number of its newest
/// token, after which the next one goes on. It stays.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct LastNumber(pub(super) u32);

/// The subscriptions and timers of all tasks with activities of type `A`, by subject: a resource.
///
/// It is worked out from the tasks, and again after a world was restored. Each subscription is a
/// node on two lists, that of its subject and that of its task, so that it comes and goes in the
/// time that it takes to find it among its task's own; timers are in a heap. Events look at the list
/// of their subject alone.
pub struct Subscriptions<A> {
    nodes: Vec<Node>,
    /// The first of the nodes that are free, which hang together by `next_of_subject`.
    free: u32,
    len: usize,
    by_subject: Heads,
    by_task: Heads,
    /// When, the number of the subscription, and the node. Those that have been cancelled stay
    /// until their time has come, or there are too many of them.
    timers: BinaryHeap<Reverse<(u64, u32, u32)>>,
    timers_live: usize,
    /// Subjects that have died since they were told of last.
    pub(super) deaths: Vec<Entity>,
    /// Subjects that may not be marked as [`Watched`] yet, after this was worked out anew.
    pub(super) unmarked: Vec<Entity>,
    /// Whether a run has begun and not ended: what its activities have subscribed to is known to
    /// them alone.
    pub(super) is_torn: bool,
    /// In which run of the schedule activities have queued updates that were not made yet.
    pub(super) unplayed: Option<u64>,
    pub(super) cursor: EventCursor,
    /// How many events the cursor had missed when that was looked at last.
    pub(super) missed: u64,
    /// How many nodes were looked at to find whom to tell, and what to end.
    pub(super) looked_at: usize,
    /// Who was called from outside of the schedule.
    pub(super) calls: Arc<Calls>,
    /// The tick of the last run.
    pub(super) now: u64,
    /// Which restoring of the world this was worked out after.
    pub(super) restored: Option<u64>,
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
            is_torn: false,
            unplayed: None,
            cursor: EventCursor::default(),
            missed: 0,
            looked_at: 0,
            calls: Arc::default(),
            now: 0,
            restored: None,
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
    /// What the tasks do not know: which events were told, how many were missed, and the tick.
    pub(super) fn to_save(&self) -> [u64; 4] {
        let [next, missed] = self.cursor.to_numbers();
        [next, missed, self.missed, self.now]
    }

    /// The rest is worked out from the tasks, in the next run.
    pub(super) fn load(&mut self, [next, missed, seen, now]: [u64; 4], _: &World) {
        *self = Self { calls: Arc::clone(&self.calls), ..Self::default() };
        self.cursor = EventCursor::from_numbers([next, missed]);
        (self.missed, self.now) = (seen, now);
    }

    /// How many subscriptions and timers there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an activity waits for an event of one of these kinds about the subject, so that a
    /// system can leave out what is costly to compute and not wanted.
    #[must_use]
    pub fn wants(&self, subject: Entity, kinds: EventKinds) -> bool {
        self.of_subject(subject).any(|(_, subscription)| subscription.kinds().intersects(kinds))
    }

    /// Whether another activity waits for anything about the subject, its death included.
    pub(super) fn is_watched(&self, subject: Entity) -> bool {
        self.of_subject(subject).any(|(task, _)| task != subject)
    }

    /// Has the subscribers told that a subject has died, if there are any.
    pub(super) fn note_death(&mut self, subject: Entity) {
        if self.is_watched(subject) {
            self.deaths.push(subject);
        }
    }

    /// Who has subscribed to this subject, and to what.
    pub(super) fn of_subject(
        &self,
        subject: Entity,
    ) -> impl Iterator<Item = (Entity, Subscription)> {
        let first = self.by_subject.get(subject);
        self.list(first, |node| node.next_of_subject)
            .map(|(_, node)| (node.task, node.subscription))
            // A dead entity with the same index, whose death was not told yet.
            .filter(move |(_, subscription)| subscription.subject() == subject)
    }

    /// The subscription that a token names, if it has not ended, and whose it is.
    pub(super) fn with_token(&self, token: Token) -> impl Iterator<Item = (Entity, Subscription)> {
        self.of_task(token.task())
            .map(|(_, node)| (node.task, node.subscription))
            .filter(move |(task, it)| it.due().is_none() && it.token(*task) == token)
    }

    /// All subscriptions that wait for events, by task and in the order of subscribing; and those
    /// to being called, where `also_to_calls`.
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

    /// Takes in a subscription or a timer of a task.
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

    /// Keeps the heap in proportion to the timers that count, at a price that each cancelled one
    /// has paid for.
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

    /// Takes out a timer that is due by now, the earliest first and of one task the one that was
    /// made first.
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

    /// Takes out everything, but not what has happened meanwhile.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.free = NONE;
        self.len = 0;
        self.by_subject.clear();
        self.by_task.clear();
        self.timers.clear();
        self.timers_live = 0;
    }

    /// Looks whether these are the subscriptions of the tasks, each of them, and no others.
    ///
    /// # Errors
    /// Returns a line that says what is wrong.
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
        // A cancelled one may agree with one that was set since.
        live.dedup();
        let timers = live.len();
        if timers != self.timers_live {
            return Err(format!("{timers} timers are known, of {}", self.timers_live));
        }
        Ok(())
    }
}
