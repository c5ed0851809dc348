//! Events: messages from system to system.

use std::any::{TypeId, type_name};
use std::collections::VecDeque;

use formic_ecs::{Res, ResourceError, World};

use super::access::{EventAging, How, SystemAccess};
use super::condition::{Condition, IntoCondition};
use super::error::ParamError;
use super::gather::{Gather, GatherSlot, GatherState};
use super::name;
use super::param::{RunContext, SystemParam};
use super::save::{
    COUNT_END, Change, LoadError, Reader, SaveRules, StateArchive, Unsaved, put_bytes,
};
use super::sink::{ParallelSink, sink_in_field};

/// The stored events of one type: a resource, which a system with an [`EventWriter`] or an
/// [`EventReader`] adds.
///
/// # Order
/// Events are in the order of the systems that wrote them, and those of one writer in the order of
/// writing, for any number of threads. A reader that runs after a writer sees its events in the same run;
/// one that runs before it sees them in the next run.
/// A host reads each event once by an [`EventCursor`] of its own.
///
/// # Lifetime
/// An event exists through the run in which it was written and the whole next one;
/// [`set_lifetime`](Self::set_lifetime) sets another lifetime. A reader [misses](EventReader::missed) the
/// events that it has not read by then. Events age with every run of a schedule that writes them; if no
/// schedule does, with every run of one that reads them.
///
/// ```
/// use formic_jobs::prelude::*;
/// #[derive(Component)]
/// struct Health(i32);
/// struct Died;
/// struct Score(u32);
///
/// fn suffer(mut all: Query<'_, &mut Health>, mut died: EventWriter<'_, Died>) {
///     all.par_for_each_with(&mut died, |health, died| {
///         health.0 -= 1;
///         if health.0 == 0 {
///             died.send(Died);
///         }
///     });
/// }
/// fn score(mut died: EventReader<'_, Died>, mut score: ResMut<'_, Score>) {
///     score.0 += died.read().count() as u32;
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Score(0));
/// world.spawn_batch((1..=10).map(Health));
/// let mut schedule = Schedule::builder().add((suffer, score)).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// for _ in 0..5 {
///     schedule.run(&mut world, &pool);
/// }
/// assert_eq!(world.resource::<Score>()?.0, 5);
/// // From outside, and to the outside.
/// world.resource_mut::<Events<Died>>()?.send(Died);
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.resource::<Score>()?.0, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Events<T> {
    log: VecDeque<T>,
    /// The number of the first event in the log: how many came before it.
    first: u64,
    /// The writes of systems since the log last aged: the version of the system's turn, and the number of
    /// its first event. Sorted by version, which is the order of the systems.
    runs: Vec<(u64, u64)>,
    /// The number of the first event after each of the last agings.
    ages: VecDeque<u64>,
    lifetime: usize,
    /// Whether a schedule was built that writes them.
    has_writers: bool,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self {
            log: VecDeque::new(),
            first: 0,
            runs: Vec::new(),
            ages: VecDeque::new(),
            lifetime: 2,
            has_writers: false,
        }
    }
}

debug_fields!([T] Events<T>:; len = |it| it.log.len());

impl<T> Events<T> {
    /// Adds an event, after all others.
    pub fn send(&mut self, event: T) {
        self.log.push_back(event);
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Returns whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Iterates over all events, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.log.iter()
    }

    /// Drops all events.
    pub fn clear(&mut self) {
        self.drop_before(self.end());
    }

    /// Sets the lifetime of events in runs, including the run in which they are written.
    ///
    /// # Panics
    /// Panics if `runs` is 0.
    pub fn set_lifetime(&mut self, runs: usize) {
        assert!(runs > 0, "an event is there for one run at least");
        self.lifetime = runs;
    }

    /// Ages all events by one run, and drops those that are too old. A schedule calls it; a host without
    /// a schedule calls it itself.
    pub fn age(&mut self) {
        self.runs.clear();
        self.ages.push_back(self.end());
        let mut end = self.first;
        while self.ages.len() >= self.lifetime {
            end = self.ages.pop_front().unwrap_or(end);
        }
        self.drop_before(end);
    }

    /// The number of the next event.
    fn end(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    fn drop_before(&mut self, end: u64) {
        let count = end.saturating_sub(self.first);
        // The drop of an event may read these fields: they are consistent by now.
        self.first = self.first.max(end);
        self.log.drain(..usize::try_from(count).expect("they are in the log"));
    }

    /// Adds the events of a system whose turn has this version, before those of later turns that ended
    /// earlier.
    fn hand_on(&mut self, version: u64, events: &mut Vec<T>) {
        let count = events.len();
        let later = self.runs.iter().position(|&(other, _)| other > version);
        let place = later.unwrap_or(self.runs.len());
        let start = later.map_or(self.end(), |later| self.runs[later].1);
        self.log.extend(events.drain(..));
        if later.is_some() {
            let index = usize::try_from(start - self.first).expect("it is in the log");
            self.log.make_contiguous()[index..].rotate_right(count);
        }
        self.runs[place..].iter_mut().for_each(|(_, start)| *start += count as u64);
        self.runs.insert(place, (version, start));
    }
}

/// Returns the events of a type, added to the world if missing.
fn ensure<T: Send + Sync + 'static>(world: &mut World) -> &mut Events<T> {
    if world.resource::<Events<T>>().is_err() {
        world.insert_resource(Events::<T>::default());
    }
    world.resource_mut().expect("it was just made sure of")
}

/// Ages the events of a type, for a schedule that `writes` them or only reads them.
fn age<T: Send + Sync + 'static>(world: &mut World, writes: bool) {
    if let Ok(events) = world.resource_mut::<Events<T>>() {
        if writes || !events.has_writers {
            events.age();
        }
    }
}

/// Notes that a schedule writes the events of a type. It does not count as a write.
fn note_writer<T: Send + Sync + 'static>(world: &mut World) {
    let version = world.resource_version::<Events<T>>().unwrap_or(0);
    if let Some(mut events) = world.remove_resource::<Events<T>>() {
        events.has_writers = true;
        world.restore_resource(events, version);
    }
}

fn declare<T: Send + Sync + 'static>(access: &mut SystemAccess, writes: bool) {
    access.events.push(EventAging {
        id: TypeId::of::<T>(),
        writes,
        age: age::<T>,
        note_writer: note_writer::<T>,
        name: type_name::<T>(),
        resource: TypeId::of::<Events<T>>(),
        save: |world, rules| match world.resource::<Events<T>>() {
            Ok(events) => events.save(world, rules),
            Err(_) => Ok(Vec::new()),
        },
        load: Events::<T>::load,
    });
}

/// The saved form of events: nothing if there is no such resource, or else
///
/// ```text
///   version of the resource | number of the first event | lifetime
///   | number of runs  | version, number of the first event of each
///   | number of ages  | number of the first event after each
///   | number of events | length of each, and what its rule writes
/// ```
impl<T: Send + Sync + 'static> Events<T> {
    fn save(&self, world: &World, rules: &SaveRules) -> Result<Vec<u8>, Unsaved> {
        let version = world.resource_version::<Self>().unwrap_or(0);
        let is_dropped = rules.drops::<T>();
        // Dropped events count as read by all readers.
        let first = if is_dropped { self.end() } else { self.first };
        let mut numbers = vec![version, first, self.lifetime as u64, self.runs.len() as u64];
        numbers.extend(self.runs.iter().flat_map(|run| [run.0, run.1.max(first)]));
        numbers.push(self.ages.len() as u64);
        numbers.extend(&self.ages);
        numbers.push(if is_dropped { 0 } else { self.log.len() as u64 });
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let unsaved = |remedy| Unsaved { what: Self::called(), remedy };
        if !is_dropped {
            // Also if there are no events: whether a game can be saved must not depend on the moment.
            rules.whole::<T>().map_err(|_| unsaved(Unsaved::rule_for_events(type_name::<T>())))?;
            let mut event_bytes = Vec::new();
            for event in &self.log {
                event_bytes.clear();
                rules.write_one(event, &mut event_bytes).map_err(unsaved)?;
                put_bytes(&mut bytes, &event_bytes);
            }
        }
        Ok(bytes)
    }

    fn load(world: &World, rules: &SaveRules, bytes: &[u8]) -> Result<Change, LoadError> {
        let change = Self::read(world, rules, Reader(bytes));
        change.ok_or_else(|| LoadError::InvalidValue { what: Self::called() })
    }

    fn called() -> String {
        format!("events of {}", name::of_type(type_name::<T>()))
    }

    fn read(world: &World, rules: &SaveRules, mut bytes: Reader<'_>) -> Option<Change> {
        if bytes.0.is_empty() {
            return Some(Box::new(|world| drop(world.remove_resource::<Self>())));
        }
        let (version, first, lifetime) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let mut loaded =
            Self { first, lifetime: usize::try_from(lifetime).ok()?, ..Self::default() };
        for _ in 0..bytes.u64()? {
            loaded.runs.push((bytes.u64()?, bytes.u64()?));
        }
        for _ in 0..bytes.u64()? {
            loaded.ages.push_back(bytes.u64()?);
        }
        for _ in 0..bytes.u64()? {
            let mut event = bytes.counted()?;
            loaded.log.push_back(rules.read_one(&mut event, world).filter(|_| event.is_empty())?);
        }
        // Numbers of events increase, and name events that existed.
        let end = loaded.first.checked_add(loaded.log.len() as u64)?;
        let is_true = loaded.lifetime > 0
            && end < COUNT_END
            && bytes.0.is_empty()
            && loaded.ages.iter().is_sorted()
            && loaded.ages.back().is_none_or(|&age| age <= end)
            && loaded.runs.is_sorted()
            && loaded.runs.iter().all(|run| (first..=end).contains(&run.1));
        if !is_true {
            return None;
        }
        Some(Box::new(move |world| {
            let mut events = loaded;
            if let Ok(built) = world.resource::<Self>() {
                events.has_writers = built.has_writers;
            }
            world.restore_resource(events, version);
        }))
    }
}

/// Writes events of type `T`, as a parameter of a system.
///
/// Systems that only write do not wait for each other. Systems that read wait for those that write, or
/// the other way round, by the order of the schedule. Events become visible to others when the system has
/// ended; if it panics, they are dropped. A system may read and write events of the same type: it reads
/// its own in its next run.
///
/// In a parallel loop it is an output of [`Query::par_for_each_with`](super::Query::par_for_each_with).
#[derive(Debug)]
#[doc(alias = "MessageWriter")]
pub struct EventWriter<'a, T> {
    written: Gather<'a, T>,
}

impl<T: Send + Sync + 'static> SystemParam for EventWriter<'_, T> {
    type State = GatherState<T>;
    type Item<'a> = EventWriter<'a, T>;

    fn init(world: &mut World, access: &mut SystemAccess) -> GatherState<T> {
        ensure::<T>(world);
        access.add_resource::<Events<T>>(How::Append, false);
        declare::<T>(access, true);
        Gather::init(world, access)
    }

    fn fetch<'a>(
        state: &'a mut GatherState<T>,
        context: RunContext<'a>,
    ) -> Result<EventWriter<'a, T>, ParamError> {
        Ok(EventWriter { written: Gather::fetch(state, context)? })
    }

    /// Between two runs no events are pending.
    fn visit_state(_state: &mut GatherState<T>, _archive: &mut StateArchive<'_>) {}

    fn finish(state: &mut GatherState<T>, context: RunContext<'_>) {
        let written = state.in_order();
        if written.is_empty() {
            return;
        }
        // Writers wait for each other here, and the schedule excludes all other systems.
        let handed_on = context.pool.one_at_a_time(|| {
            let mut events = context.cell.resource_mut::<Events<T>>()?;
            events.hand_on(context.cell.version(), written);
            Ok::<_, ResourceError>(())
        });
        handed_on.unwrap_or_else(|why| panic!("events cannot be handed on: {why}"));
    }
}

impl<T> EventWriter<'_, T> {
    /// Writes an event.
    #[doc(alias("send_event", "write"))]
    pub fn send(&mut self, event: T) {
        self.written.push(event);
    }

    /// Writes several events.
    pub fn send_batch(&mut self, events: impl IntoIterator<Item = T>) {
        // Not `extend`, which would reserve as many as the iterator claims.
        events.into_iter().for_each(|event| self.send(event));
    }
}

sink_in_field!(EventWriter, GatherSlot, written);

/// Reads the events of type `T` that this system has not read yet, each once.
#[doc(alias = "MessageReader")]
pub struct EventReader<'a, T> {
    events: Res<'a, Events<T>>,
    cursor: &'a mut EventCursor,
}

/// The position of one reader in the events of one type.
///
/// ```
/// use formic_jobs::{EventCursor, Events};
/// let mut events = Events::default();
/// let mut cursor = EventCursor::default();
/// events.send("one");
/// assert!(cursor.read(&events).eq(&["one"]));
/// events.send("two");
/// assert!(cursor.read(&events).eq(&["two"]));
/// assert_eq!(cursor.read(&events).next(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventCursor {
    /// The number of the next one to read.
    next: u64,
    missed: u64,
}

impl EventCursor {
    /// Returns the events that were not read yet, each once. Events that the iterator has not reached
    /// stay unread.
    pub fn read<'e, T>(
        &'e mut self,
        events: &'e Events<T>,
    ) -> impl ExactSizeIterator<Item = &'e T> + use<'e, T> {
        self.catch_up(events);
        let read = usize::try_from(self.next - events.first).unwrap_or(usize::MAX);
        events.log.range(read.min(events.len())..).inspect(|_| self.next += 1)
    }

    /// Returns the total number of events that were dropped unread, as of the last [`read`](Self::read).
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns the cursor as numbers, for code that saves cursors itself.
    #[must_use]
    pub const fn to_numbers(&self) -> [u64; 2] {
        [self.next, self.missed]
    }

    /// Creates a cursor from [saved](Self::to_numbers) numbers.
    #[must_use]
    pub const fn from_numbers([next, missed]: [u64; 2]) -> Self {
        Self { next, missed }
    }

    /// Saves or loads the reading position in these events.
    fn visit_state(&mut self, events: &str, archive: &mut StateArchive<'_>) {
        archive.number(&format!("events read of {events}"), &mut self.next);
        archive.number(&format!("events missed of {events}"), &mut self.missed);
    }

    fn catch_up<T>(&mut self, events: &Events<T>) {
        if self.next > events.end() {
            // The events that it knows have been replaced by others.
            self.next = events.first;
        }
        self.missed = self.missed.saturating_add(events.first.saturating_sub(self.next));
        self.next = self.next.max(events.first);
    }
}

debug_fields!([T] EventReader<'_, T>: cursor);

impl<T: Send + Sync + 'static> SystemParam for EventReader<'_, T> {
    type State = EventCursor;
    type Item<'a> = EventReader<'a, T>;

    fn init(world: &mut World, access: &mut SystemAccess) -> EventCursor {
        access.add_resource_read::<Events<T>>();
        declare::<T>(access, false);
        // Events from before this reader existed do not count as missed.
        EventCursor { next: ensure::<T>(world).first, missed: 0 }
    }

    fn fetch<'a>(
        cursor: &'a mut EventCursor,
        context: RunContext<'a>,
    ) -> Result<EventReader<'a, T>, ParamError> {
        let events = context.cell.resource()?;
        cursor.catch_up(&events);
        Ok(EventReader { events, cursor })
    }

    fn visit_state(cursor: &mut EventCursor, archive: &mut StateArchive<'_>) {
        cursor.visit_state(type_name::<T>(), archive);
        archive.note_lost::<T>(|world| {
            let end = world.resource::<Events<T>>().map_or(0, |events| events.end());
            end.saturating_sub(cursor.next)
        });
    }
}

impl<T> EventReader<'_, T> {
    /// Returns the events that this system has not read yet. Events that the iterator has not reached
    /// stay unread.
    pub fn read(&mut self) -> impl ExactSizeIterator<Item = &T> {
        self.cursor.read(&self.events)
    }

    /// Returns the number of unread events.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.events.end() - self.cursor.next).unwrap_or(usize::MAX)
    }

    /// Returns whether there are no unread events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Marks all events as read.
    pub fn clear(&mut self) {
        self.cursor.next = self.events.end();
    }

    /// Returns the total number of events that were dropped before this system read them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.cursor.missed
    }
}

/// Holds if events of this type were written that this condition has not seen yet.
///
/// ```
/// use formic_jobs::prelude::*;
/// struct Quake;
/// fn flee() {}
/// let mut world = World::new();
/// let mut schedule = Schedule::builder().add(flee.run_if(on_event::<Quake>())).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// assert!(schedule.explain(flee).to_string().ends_with("on_event::<Quake> was false"));
/// world.resource_mut::<Events<Quake>>()?.send(Quake);
/// schedule.run(&mut world, &pool);
/// assert!(schedule.explain(flee).to_string().ends_with("flee ran in tick 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn on_event<T: Send + Sync + 'static>() -> Condition {
    fn on_event<T: Send + Sync + 'static>(mut events: EventReader<'_, T>) -> bool {
        let any = !events.is_empty();
        events.clear();
        any
    }
    on_event::<T>.into_condition().of_type::<T>("on_event")
}
