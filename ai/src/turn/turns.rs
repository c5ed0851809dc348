//! `Turns`: everything in a game of turns that lasts from one turn to the next.

use std::any::TypeId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use formic_ecs::{Component, Entity, StateHash, With, Without, World};

use super::action::{Gone, TurnAction, Vacant};
use super::cells::{CellPosition, Cells};
use super::draft::{Declare, DeclaredComponent, TurnActionKind, bind, declare};
use super::error::{Refusal, RuleError};
use super::journal::{Journal, Step};
use super::log::TurnLog;
use super::real_time::RealTime;
use super::rule::{Reactions, Rule};
use super::rule_book::RuleBook;
use super::schedule::{Ticket, TurnSchedule};
use super::situation::Situation;
use super::trace::{Cause, Trace};

/// The state before a turn, apart from the components.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Record {
    pub(super) journal_start: u64,
    pub(super) clock: u64,
    pub(super) sequence: u64,
}

/// The bounds of turns: a turn in which something never ends is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// The maximum number of actions in a turn, including reactions: at least one, 1,000 by default.
    pub actions: usize,
    /// The maximum number of rewrites of an action; 16 by default.
    pub rewrites: u32,
    /// The maximum number of points in the real time of a turn: at least one, 10,000 by default.
    pub points: usize,
    /// The number of turns that can be undone; 1,000 by default. Entities that are [`Gone`] are kept as
    /// long.
    pub undo: usize,
    /// The maximum number of actions in a trace, and that of points; 1,000 by default, 0 for none.
    pub trace: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { actions: 1_000, rewrites: 16, points: 10_000, undo: 1_000, trace: 1_000 }
    }
}

type Seen<C> = Box<dyn Fn(&Situation<'_, C>, &Situation<'_, C>, &TurnAction) -> bool + Send + Sync>;

/// The turns of a game: the rules, the schedule, the cells, and the log.
///
/// It is separate from the world. Between turns the world may be read freely. Only turns may write the
/// components that they know; after other writes call [`rebuild`](Self::rebuild).
///
/// See the [module](super) for rules and undoing.
///
/// ```
/// use formic_ai::turn::{Decision, Draft, Next, Refusal, TurnActionKind, Turns, TurnLimits, unseen};
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Clone, Debug, PartialEq)]
/// struct Steps(u32);
/// #[derive(Component)]
/// struct Player;
/// #[derive(Clone, Debug)]
/// struct Step(Entity);
/// impl TurnActionKind for Step {
///     type Cell = ();
///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
///         draft.insert(self.0, Steps(draft.get::<Steps>(self.0)?.0 + 1));
///         Ok(())
///     }
/// }
///
/// // Two games that begin alike.
/// let game = || -> Result<_, Box<dyn std::error::Error>> {
///     let mut world = World::new();
///     let [hero, rat] = [world.spawn((Steps(0), Player)), world.spawn(Steps(0))];
///     let builder = Turns::builder().component::<Steps>().player::<Player>();
///     // A hash in the log after each turn, and the last ten turns can be undone.
///     let builder = builder.hash_every(1).limits(TurnLimits { undo: 10, ..TurnLimits::default() });
///     let mut turns = builder.build(&mut world)?;
///     turns.schedule(rat, 0);
///     turns.schedule(hero, 1);
///     Ok((world, turns, hero, rat))
/// };
/// let (mut world, mut turns, hero, rat) = game()?;
/// assert_eq!(turns.next(&world), Next::Ready(rat));
/// // What would become of it; nothing happens.
/// assert_eq!(turns.judge(&mut world, Step(rat)), Decision::Accepted);
/// // The minds take their turns until the player has to decide.
/// let next = turns.run(&mut world, 100, |_, _, who| Step(who), unseen);
/// assert_eq!(next, Next::Waiting(hero));
/// turns.take_turn(&mut world, hero, Step(hero), unseen)?;
/// assert_eq!(turns.clock(), 1);
/// assert_eq!(turns.upcoming().tickets_of(hero).count(), 1, "its next turn");
///
/// let (mut other_world, mut other, ..) = game()?;
/// other.replay(&mut other_world, turns.log())?;
/// assert_eq!(other.state_hash(&other_world), turns.state_hash(&world));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Turns<K: TurnActionKind> {
    pub(super) cells: Cells<K::Cell>,
    pub(super) rules: RuleBook<K>,
    pub(super) known: Vec<DeclaredComponent>,
    pub(super) hooks: Vec<RealTime<K>>,
    pub(super) visible: Vec<TypeId>,
    pub(super) seen: Option<Seen<K::Cell>>,
    pub(super) is_player: fn(&World, Entity) -> bool,
    pub(super) limits: TurnLimits,
    pub(super) hash_every: usize,
    pub(super) step: u64,

    pub(super) schedule: TurnSchedule,
    pub(super) clock: u64,
    /// Sorted by number.
    pub(super) vacant: VecDeque<Entity>,
    /// The number of the next vacant entity.
    pub(super) vacant_next: u64,
    /// The entities that are gone, each with the journal step that marks when. They stay as long as an
    /// earlier turn can be undone.
    pub(super) pending_despawns: VecDeque<(u64, Entity)>,

    pub(super) action: TurnAction,
    pub(super) reactions: Reactions<K>,
    /// The actions to come, by the time when they are due, then in the order in which they were queued.
    pub(super) pending: BTreeMap<(u64, u64), (K, Cause)>,
    pub(super) pending_sequence: u64,
    pub(super) requests: Vec<(u64, K)>,
    pub(super) touched: Vec<Entity>,

    pub(super) journal: Journal,
    pub(super) records: VecDeque<Record>,
    pub(super) log: TurnLog<K>,
    pub(super) trace: Trace<K>,
}

debug_fields!([K: TurnActionKind] Turns<K>: clock, schedule; log = |it| it.log.turns.len());

impl<K: TurnActionKind> Turns<K> {
    /// Creates a builder for the turns of a game with this kind of actions.
    #[must_use]
    pub fn builder() -> TurnsBuilder<K> {
        let turns = Turns {
            cells: Cells::new(),
            rules: RuleBook::default(),
            known: Vec::new(),
            hooks: Vec::new(),
            visible: Vec::new(),
            seen: None,
            is_player: |_, _| false,
            limits: TurnLimits::default(),
            hash_every: 0,
            step: 10,
            schedule: TurnSchedule::new(),
            clock: 0,
            vacant: VecDeque::new(),
            vacant_next: 0,
            pending_despawns: VecDeque::new(),
            action: TurnAction::new(),
            reactions: Reactions::default(),
            pending: BTreeMap::new(),
            pending_sequence: 0,
            requests: Vec::new(),
            touched: Vec::new(),
            journal: Journal::default(),
            records: VecDeque::new(),
            log: TurnLog::default(),
            trace: Trace::new(0),
        };
        TurnsBuilder { turns, rules: Vec::new(), vacancies: 0 }
    }

    /// The current world, with its cells.
    #[must_use]
    pub fn now<'a>(&'a self, world: &'a World) -> Situation<'a, K::Cell> {
        Situation::now(world, &self.cells)
    }

    /// The spatial hash.
    #[must_use]
    pub fn cells(&self) -> &Cells<K::Cell> {
        &self.cells
    }

    /// Writes into `action` what a kind would change in the current world, to look at the world
    /// [after](Situation::after) it.
    ///
    /// # Errors
    /// Returns an error if the kind makes no sense here, concerns an entity that is gone, or brings more
    /// entities than are vacant. No rule is asked.
    pub fn bind(&self, world: &World, kind: &K, action: &mut TurnAction) -> Result<(), Refusal> {
        let now = Situation::now(world, &self.cells);
        bind(kind, now, &self.known, &self.vacant, action)
    }

    /// Gives an entity its next turn, this long after the current one.
    pub fn schedule(&mut self, entity: Entity, delay: u64) -> Ticket {
        let ticket = self.schedule.insert(entity, self.clock.saturating_add(delay));
        self.journal.push(Step::Scheduled(ticket));
        ticket
    }

    /// Cancels a turn, even one that a player is waiting for, and returns its entity.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<Entity> {
        let entity = self.schedule.cancel(ticket)?;
        self.journal.push(Step::Unscheduled(ticket, entity));
        Some(entity)
    }

    /// The turns to come.
    #[must_use]
    pub fn upcoming(&self) -> &TurnSchedule {
        &self.schedule
    }

    /// The time of the last turn.
    #[must_use]
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Makes this many more entities that actions can [bring](super::Draft::spawn). Turns make more by
    /// themselves when none is left; doing it beforehand saves time in the middle of a turn.
    ///
    /// From now on they are in the world, as [`Vacant`]. This is not part of a turn and is not undone. It
    /// determines which handles actions get: a replay has to reserve the same number.
    ///
    /// ```
    /// use formic_ai::turn::{Draft, Refusal, TurnActionKind, Turns, unseen};
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone)]
    /// struct Arrow;
    /// #[derive(Clone, Debug)]
    /// struct Shoot;
    /// impl TurnActionKind for Shoot {
    ///     type Cell = ();
    ///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
    ///         let arrow = draft.spawn()?;
    ///         draft.insert(arrow, Arrow);
    ///         Ok(())
    ///     }
    /// }
    /// # let mut world = World::new();
    /// let mut turns = Turns::builder().component::<Arrow>().build(&mut world)?;
    /// turns.reserve(&mut world, 10);
    /// turns.act(&mut world, Shoot, unseen);
    /// assert_eq!((world.query::<&Arrow>().count(), turns.vacancies()), (1, 9));
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    pub fn reserve(&mut self, world: &mut World, count: usize) {
        let first = self.vacant_next;
        // It only wraps if a save was tampered with.
        let numbers = (0..count as u64).map(|more| Vacant(first.wrapping_add(more)));
        self.vacant_next = first.wrapping_add(count as u64);
        self.vacant.extend(world.spawn_batch(numbers));
    }

    /// The number of entities that can be brought before more have to be made.
    #[must_use]
    pub fn vacancies(&self) -> usize {
        self.vacant.len()
    }

    /// The trace of the last turn.
    #[must_use]
    pub fn trace(&self) -> &Trace<K> {
        &self.trace
    }

    /// All turns so far that cost something, without those that were undone.
    #[must_use]
    pub fn log(&self) -> &TurnLog<K> {
        &self.log
    }

    /// The hash of everything that determines the future: the entities of the world, the schedule and the
    /// clock.
    ///
    /// Entities that are [`Vacant`] or [`Gone`] are excluded. Their number depends on how far turns can
    /// be undone, and only future handles depend on it.
    pub fn state_hash(&self, world: &World) -> StateHash {
        let there = world.query_ref_filtered::<Entity, (Without<Vacant>, Without<Gone>)>();
        world.state_hash_of(there).and(|hasher| {
            hasher.write_u64(self.clock);
            self.schedule.hash(hasher);
        })
    }

    /// Rebuilds the turns from the world, after something other than turns changed it, such as a restore.
    /// Cells and vacancies are taken from the world, and turns of entities that are not alive are
    /// cancelled. Earlier turns can no longer be undone.
    ///
    /// ```
    /// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind, Turns};
    /// # use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone)] struct Position(i32);
    /// # impl CellPosition for Position { type Cell = i32; fn cell(&self) -> i32 { self.0 } }
    /// # #[derive(Clone, Debug)] enum Deed {}
    /// # impl TurnActionKind for Deed {
    /// #     type Cell = i32;
    /// #     fn bind(&self, _: &mut Draft<i32>) -> Result<(), Refusal> { match *self {} }
    /// # }
    /// # let mut world = World::new();
    /// let rat = world.spawn(Position(3));
    /// let mut turns = Turns::<Deed>::builder().position::<Position>().build(&mut world)?;
    /// world.get_mut::<Position>(rat).expect("it has one").0 = 9; // By an editor, say.
    /// turns.rebuild(&world);
    /// assert_eq!(turns.now(&world).cell_of(rat), Some(9));
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    pub fn rebuild(&mut self, world: &World) {
        self.abandon();
        self.records.clear();
        self.journal.forget_before(self.journal.end());
        let vacant = vacant_in(world);
        self.vacant_next = vacant.last().map_or(0, |&(Vacant(last), _)| last.wrapping_add(1));
        self.vacant = vacant.into_iter().map(|(_, entity)| entity).collect();
        let mut gone: Vec<Entity> =
            world.query_ref_filtered::<Entity, With<Gone>>().into_iter().collect();
        gone.sort_unstable();
        self.pending_despawns = gone.into_iter().map(|entity| (0, entity)).collect();
        let all: Vec<(Ticket, Entity)> = self.schedule.iter().collect();
        self.cells.rebuild(world);
        for (ticket, entity) in all {
            if !self.now(world).is_alive(entity) {
                self.schedule.cancel(ticket);
            }
        }
    }

    /// Drops all unfinished work.
    pub(super) fn abandon(&mut self) {
        self.pending.clear();
        self.pending_sequence = 0;
        self.reactions.clear();
        self.requests.clear();
        self.touched.clear();
        self.action.clear();
    }

    pub(super) fn enqueue(&mut self, kind: K, time: u64, cause: Cause) {
        let sequence = self.pending_sequence;
        self.pending_sequence += 1;
        self.pending.insert((time, sequence), (kind, cause));
    }
}

/// The vacant entities, sorted by number.
pub(super) fn vacant_in(world: &World) -> Vec<(Vacant, Entity)> {
    let vacant = world.query_ref::<(&Vacant, Entity)>();
    let mut vacant: Vec<(Vacant, Entity)> =
        vacant.into_iter().map(|(&number, entity)| (number, entity)).collect();
    vacant.sort_unstable();
    vacant
}

/// A builder for [`Turns`].
pub struct TurnsBuilder<K: TurnActionKind> {
    turns: Turns<K>,
    rules: Vec<Rule<K>>,
    vacancies: usize,
}

debug_fields!([K: TurnActionKind] TurnsBuilder<K>: rules);

impl<K: TurnActionKind> TurnsBuilder<K> {
    /// Declares a component that turns may change. Entities that are despawned by a turn lose it.
    #[must_use]
    pub fn component<T: Component + Clone>(mut self) -> Self {
        let known = DeclaredComponent::of::<T>();
        if self.turns.known.iter().all(|other| other.component != known.component) {
            self.turns.known.push(known);
        }
        self
    }

    /// Declares the component that says in which cell an entity is. There is one such component.
    #[must_use]
    pub fn position<P: CellPosition<Cell = K::Cell>>(mut self) -> Self {
        self.turns.cells.set_position::<P>();
        self.component::<P>()
    }

    /// Declares a component for which each cell lists the entities that have it, in ascending order, so
    /// that counting and finding them does not visit the others in the cell.
    ///
    /// # Panics
    /// Panics if there are more than 64 such components.
    #[must_use]
    pub fn set<T: Component + Clone>(mut self) -> Self {
        self.turns.cells.add_aggregate::<T>();
        self.component::<T>()
    }

    /// Adds a rule, which is asked after those that were added before.
    #[must_use]
    pub fn rule(mut self, rule: Rule<K>) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds a hook that runs at every point inside a turn, after those that were added before.
    ///
    /// ```
    /// use formic_ai::turn::{Draft, Motion, RealTime, Refusal, TurnActionKind, Turns, unseen};
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone)]
    /// struct Height(i32);
    /// #[derive(Component, Clone)]
    /// struct Broken;
    /// #[derive(Clone, Debug)]
    /// enum Deed { Drop(Entity), Break(Entity) }
    /// impl TurnActionKind for Deed {
    ///     type Cell = ();
    ///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
    ///         match *self {
    ///             Deed::Drop(vase) => draft.insert(vase, Height(2)),
    ///             Deed::Break(vase) => draft.insert(vase, Broken),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// let fall = RealTime::new("what is dropped falls", |point| {
    ///     let mut motion = Motion::Still;
    ///     for (vase, height) in point.now().world().query_ref::<(Entity, &Height)>() {
    ///         match height.0 {
    ///             0 => continue,
    ///             1 => point.request(Deed::Break(vase)), // It comes before the rules.
    ///             _ => motion = Motion::Moving,
    ///         }
    ///         point.insert(vase, Height(height.0 - 1));
    ///     }
    ///     motion
    /// });
    /// # let mut world = World::new();
    /// let vase = world.spawn(());
    /// let builder = Turns::builder().component::<Height>().component::<Broken>().real_time(fall);
    /// let mut turns = builder.build(&mut world)?;
    /// turns.act(&mut world, Deed::Drop(vase), unseen);
    /// assert!(world.has::<Broken>(vase), "in the same turn");
    /// assert_eq!(turns.trace().points().len(), 2);
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn real_time(mut self, hook: RealTime<K>) -> Self {
        self.turns.hooks.push(hook);
        self
    }

    /// Sets the time between two points inside a turn, in units that the game chooses; delays of
    /// reactions are in the same units. The default is 10.
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn step(mut self, step: u64) -> Self {
        assert!(step > 0, "time must pass between two points");
        self.turns.step = step;
        self
    }

    /// Declares the component of players: their turns wait for a decision from outside.
    #[must_use]
    pub fn player<T: Component>(mut self) -> Self {
        self.turns.is_player = World::has::<T>;
        self
    }

    /// Declares a component whose changes can be seen. If none is declared, all changes can be seen.
    #[must_use]
    pub fn visible<T: Component>(mut self) -> Self {
        self.turns.visible.push(TypeId::of::<T>());
        self
    }

    /// Sets the function that decides which commits can be seen, among those that change something
    /// visible. It gets the world before and after, and the changes. Writes of real-time hooks are passed
    /// to it in the same way.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use formic_ai::turn::{Draft, Refusal, TurnActionKind, Turns};
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone)]
    /// struct Position(i32);
    /// #[derive(Clone, Debug)]
    /// struct Walk(Entity, i32);
    /// impl TurnActionKind for Walk {
    ///     type Cell = ();
    ///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
    ///         draft.insert(self.0, Position(self.1));
    ///         Ok(())
    ///     }
    /// }
    /// # let mut world = World::new();
    /// let rat = world.spawn(Position(0));
    /// // The hero sees five cells far.
    /// let builder = Turns::builder().component::<Position>().visible::<Position>();
    /// let builder = builder.seen(|_before, _after, action| {
    ///     action.inserted::<Position>().any(|(_, position)| position.0 <= 5)
    /// });
    /// let mut turns = builder.build(&mut world)?;
    /// let mut frame_count = 0;
    /// for to in [5, 6, 7] {
    ///     turns.act(&mut world, Walk(rat, to), |_frame| {
    ///         frame_count += 1;
    ///         ControlFlow::Continue(())
    ///     });
    /// }
    /// assert_eq!(frame_count, 1);
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn seen(
        mut self,
        seen: impl Fn(&Situation<'_, K::Cell>, &Situation<'_, K::Cell>, &TurnAction) -> bool
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.turns.seen = Some(Box::new(seen));
        self
    }

    /// Sets the bounds of turns.
    #[must_use]
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.turns.limits = limits;
        self
    }

    /// Adds the state hash to the log after every `turns` turns; by default never. It takes time in
    /// proportion to the size of the world.
    #[must_use]
    pub fn hash_every(mut self, turns: usize) -> Self {
        self.turns.hash_every = turns;
        self
    }

    /// Sets the number of entities that actions can bring before more are made, see [`Turns::reserve`].
    /// Those that are already [`Vacant`] in the world count.
    #[must_use]
    pub fn vacancies(mut self, count: usize) -> Self {
        self.vacancies = count;
        self
    }

    /// Orders the rules, reads the world, and is ready for the first turn.
    ///
    /// # Errors
    /// Returns an error if two rules have the same name, if one names a rule that does not exist, or if
    /// rules precede each other in a cycle. The world is unchanged.
    pub fn build(self, world: &mut World) -> Result<Turns<K>, RuleError> {
        let mut turns = self.turns;
        turns.rules = RuleBook::new(self.rules)?;
        let own = [declare::<Vacant> as Declare, declare::<Gone>];
        let known = turns.known.iter().map(|known| known.declare);
        for declare in own.into_iter().chain(known) {
            declare(world, &mut turns.journal, &mut turns.action);
        }
        turns.trace.limit = turns.limits.trace;
        turns.trace.rules = turns.rules.names.as_slice().into();
        turns.trace.hooks = turns.hooks.iter().map(|hook| Arc::clone(&hook.name)).collect();
        turns.rebuild(world);
        turns.reserve(world, self.vacancies.saturating_sub(turns.vacancies()));
        Ok(turns)
    }
}
