//! Real time inside a turn: ordinary systems that run at every point of it.

use bytemuck::{CheckedBitPattern, NoUninit};
use std::sync::Arc;

use formic_ecs::{Component, Entity, HashState, Present, World};

use super::action::TurnAction;
use super::cells::Cells;
use super::draft::{Declare, TurnActionKind, declare};
use super::journal::Journal;
use super::situation::Situation;

/// Whether the turn has to go on for a hook's sake.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u8)]
pub enum Motion {
    /// Something still moves.
    Moving,
    /// The hook has nothing to wait for.
    Still,
}

/// A point in the real time of a turn, as a hook sees it.
pub struct Point<'a, K: TurnActionKind> {
    pub(super) world: &'a mut World,
    pub(super) cells: &'a Cells<K::Cell>,
    pub(super) requests: &'a mut Vec<(u64, K)>,
    pub(super) time: u64,
}

debug_fields!([K: TurnActionKind] Point<'_, K>: time);

impl<K: TurnActionKind> Point<'_, K> {
    /// When it is, counted from the beginning of the turn.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The world as it is, with its cells; these do not know yet what the hook has written itself.
    #[must_use]
    pub fn now(&self) -> Situation<'_, K::Cell> {
        Situation::now(self.world, self.cells)
    }

    /// The world, to run systems on. Of the components that the turns know, only those may be
    /// written that the hook has [declared](RealTime::writes), and no entity may come or go: for
    /// that there are requests.
    pub fn world(&mut self) -> &mut World {
        self.world
    }

    /// Asks for a turn action, which comes before the rules at this very point.
    pub fn request(&mut self, kind: K) {
        self.request_after(0, kind);
    }

    /// Asks for a turn action, which comes before the rules later.
    pub fn request_after(&mut self, delay: u64, kind: K) {
        self.requests.push((delay, kind));
    }
}

type Run<K> = Box<dyn FnMut(&mut Point<'_, K>) -> Motion + Send + Sync>;

/// A hook that runs at every discrete point inside a turn: what moves by itself, in place of a
/// chain of reactions.
///
/// It may run ordinary systems on the world, and it may ask for turn actions. What it writes itself
/// goes past the rules, but is undone with the turn; it has to say beforehand what that is.
///
/// ```
/// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind};
/// use formic_ai::turn::{Motion, RealTime};
/// # use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, PartialEq)] struct Position(i32);
/// # #[derive(Component, Clone, PartialEq)] struct Velocity(i32);
/// # #[derive(Clone, Debug)] struct Fire;
/// # impl TurnActionKind for Fire {
/// #     type Cell = i32;
/// #     fn bind(&self, _: &mut Draft<'_, i32>) -> Result<(), Refusal> { Ok(()) }
/// # }
/// let fly = RealTime::<Fire>::new("fly", |point| {
///     let mut motion = Motion::Still;
///     for (position, velocity) in point.world().query::<(&mut Position, &Velocity)>() {
///         position.0 += velocity.0;
///         motion = Motion::Moving;
///     }
///     motion
/// })
/// .writes::<Position>();
/// assert_eq!(fly.name(), "fly");
/// ```
pub struct RealTime<K: TurnActionKind> {
    pub(super) name: Arc<str>,
    run: Run<K>,
    watches: Vec<Box<dyn AnyWatch>>,
    /// Whether values were copied that are still to be compared.
    is_running: bool,
}

debug_fields!([K: TurnActionKind] RealTime<K>: name);

impl<K: TurnActionKind> RealTime<K> {
    /// A hook of this name.
    pub fn new(
        name: impl Into<String>,
        run: impl FnMut(&mut Point<'_, K>) -> Motion + Send + Sync + 'static,
    ) -> Self {
        let (name, run) = (name.into().into(), Box::new(run));
        Self { name, run, watches: Vec::new(), is_running: false }
    }

    /// Declares that the hook gives, changes or takes components of this type.
    ///
    /// Their values are copied before each run and compared after it, which takes time by how many
    /// there are: so that the change can be undone, and the cells know of it.
    #[must_use]
    pub fn writes<T: Component + Clone + PartialEq>(mut self) -> Self {
        let watch = Watch::<T> { before: Vec::new(), after: Vec::new() };
        self.watches.push(Box::new(watch));
        self
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What declares each component that the hook writes.
    pub(super) fn declarations(&self) -> impl Iterator<Item = Declare> {
        self.watches.iter().map(|watch| watch.declaration())
    }

    /// Runs the hook, and writes down what was there before; whose components changed goes into
    /// `changed`, an entry for each change.
    pub(super) fn run(
        &mut self,
        point: &mut Point<'_, K>,
        journal: &mut Journal,
        changed: &mut Vec<Entity>,
        changes: Option<&mut HookChanges>,
    ) -> Motion {
        for watch in &mut self.watches {
            watch.copy(point.world);
        }
        self.is_running = true;
        let motion = (self.run)(point);
        self.finish(point.world, journal, changed, changes);
        motion
    }

    /// Writes down what the hook has changed, also if it panicked. Does nothing a second time.
    pub(super) fn finish(
        &mut self,
        world: &World,
        journal: &mut Journal,
        changed: &mut Vec<Entity>,
        mut changes: Option<&mut HookChanges>,
    ) {
        if std::mem::take(&mut self.is_running) {
            for watch in &mut self.watches {
                watch.compare(world, journal, changed, changes.as_deref_mut());
            }
        }
    }
}

/// What a hook has changed, as actions: for the judge of whether it can be seen.
#[derive(Default)]
pub(super) struct HookChanges {
    /// Leads from what was there before to what is there now.
    pub(super) forward: TurnAction,
    /// Leads back.
    pub(super) back: TurnAction,
}

impl HookChanges {
    pub(super) fn clear(&mut self) {
        self.forward.clear();
        self.back.clear();
    }

    fn add<T: Component + Clone>(&mut self, entity: Entity, before: Option<&T>, now: Option<&T>) {
        for (action, value) in [(&mut self.forward, now), (&mut self.back, before)] {
            match value {
                Some(value) => action.insert(entity, value.clone()),
                None => action.remove::<T>(entity),
            }
        }
    }
}

/// The values of one component before and after a hook, in the order of entities.
struct Watch<T> {
    before: Vec<(Entity, T, bool)>,
    after: Vec<(Entity, T, bool)>,
}

trait AnyWatch: Send + Sync {
    fn declaration(&self) -> Declare;
    fn copy(&mut self, world: &World);
    fn compare(
        &mut self,
        world: &World,
        journal: &mut Journal,
        changed: &mut Vec<Entity>,
        changes: Option<&mut HookChanges>,
    );
}

fn copy<T: Component + Clone>(world: &World, to: &mut Vec<(Entity, T, bool)>) {
    to.clear();
    for (entity, value) in world.query_ref::<(Entity, Present<&T>)>() {
        let enabled = !T::ENABLEABLE || world.is_enabled::<T>(entity).unwrap_or(true);
        to.push((entity, value.clone(), enabled));
    }
    to.sort_unstable_by_key(|&(entity, ..)| entity);
}

impl<T: Component + Clone + PartialEq> AnyWatch for Watch<T> {
    fn declaration(&self) -> Declare {
        declare::<T>
    }

    fn copy(&mut self, world: &World) {
        copy(world, &mut self.before);
    }

    fn compare(
        &mut self,
        world: &World,
        journal: &mut Journal,
        changed: &mut Vec<Entity>,
        mut changes: Option<&mut HookChanges>,
    ) {
        copy(world, &mut self.after);
        let mut note = |entity, before: Option<(T, bool)>, now: Option<&T>| {
            if let Some(changes) = &mut changes {
                changes.add(entity, before.as_ref().map(|(value, _)| value), now);
            }
            journal.save_value(entity, before);
            changed.push(entity);
        };
        let mut after = self.after.drain(..).peekable();
        for (entity, value, enabled) in self.before.drain(..) {
            while let Some((new, now, _)) = after.next_if(|(it, ..)| *it < entity) {
                note(new, None, Some(&now));
            }
            let same = after.next_if(|(it, ..)| *it == entity);
            if same.as_ref().is_none_or(|(_, now, is)| *now != value || *is != enabled) {
                note(entity, Some((value, enabled)), same.as_ref().map(|(_, now, _)| now));
            }
        }
        for (new, now, _) in after {
            note(new, None, Some(&now));
        }
    }
}
