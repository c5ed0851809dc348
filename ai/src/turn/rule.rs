//! Rules: objections to turn actions, and reactions to them.

use std::any::TypeId;

use formic_ecs::{Component, Entity};

use super::action::TurnAction;
use super::draft::TurnActionKind;
use super::situation::Situation;

/// The answer of a rule to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<K> {
    /// The rule has no objection.
    Accept,
    /// It does not happen. One such answer is enough, whatever later rules answer: a rejected action is
    /// not rewritten.
    Reject,
    /// Another action happens instead, unless an earlier rule has rejected this one. The new action is
    /// judged from the first rule on; with [`StopChecking`](Checking::StopChecking) it is accepted as it
    /// is.
    Rewrite(K),
}

/// Whether later rules are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checking {
    /// They are asked.
    KeepChecking,
    /// They are not asked.
    StopChecking,
}

/// An answer, and whether it is the last one.
///
/// ```
/// use formic_ai::turn::{Change, Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Clone, Debug, PartialEq)]
/// struct Gold(u32);
/// #[derive(Component, Clone)]
/// struct Amulet;
/// #[derive(Clone, Debug)]
/// enum Deed { Earn(Entity, u32), Drop(Entity) }
/// impl TurnActionKind for Deed {
///     type Cell = ();
///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
///         match *self {
///             Deed::Earn(who, gold) => draft.insert(who, Gold(draft.get::<Gold>(who)?.0 + gold)),
///             Deed::Drop(who) => draft.remove::<Amulet>(who),
///         }
///         Ok(())
///     }
/// }
///
/// let mut world = World::new();
/// let hero = world.spawn((Gold(0), Amulet));
/// let tax = Rule::on("tax", move |_, gold: Change<Gold>, _| match gold.value.0 {
///     // Something else happens in its place, and is judged from the first rule on.
///     100.. => Ruling::rewrite(Deed::Earn(hero, 90)),
///     // Nothing speaks against it, and no other rule is asked.
///     0 => Ruling::accept(),
///     _ => Ruling::pass(),
/// });
/// let poverty = Rule::on("poverty", |_, _: Change<Gold>, _| Ruling::pass()).behind("tax");
/// // The other rules say what they think as well: one rejection is enough.
/// let curse = Rule::on_removal::<Amulet>("curse", |_, _, _| Ruling::reject().keep_checking());
/// let builder = Turns::builder().component::<Gold>().component::<Amulet>();
/// let mut turns = builder.rule(poverty).rule(tax).rule(curse).build(&mut world)?;
/// turns.act(&mut world, Deed::Earn(hero, 100), unseen);
/// turns.act(&mut world, Deed::Drop(hero), unseen);
/// assert_eq!(world.get::<Gold>(hero)?, &Gold(90));
/// assert!(world.has::<Amulet>(hero));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling<K> {
    /// The answer of the rule.
    pub verdict: Answer<K>,
    /// Whether later rules are asked.
    pub checking: Checking,
}

impl<K> Ruling<K> {
    /// No objection; later rules are asked.
    #[must_use]
    pub const fn pass() -> Self {
        Self { verdict: Answer::Accept, checking: Checking::KeepChecking }
    }

    /// No objection; later rules are not asked.
    #[must_use]
    pub const fn accept() -> Self {
        Self { verdict: Answer::Accept, checking: Checking::StopChecking }
    }

    /// The action does not happen; later rules are not asked.
    #[must_use]
    pub const fn reject() -> Self {
        Self { verdict: Answer::Reject, checking: Checking::StopChecking }
    }

    /// Another action happens instead, if the rules accept it.
    #[must_use]
    pub const fn rewrite(kind: K) -> Self {
        Self { verdict: Answer::Rewrite(kind), checking: Checking::KeepChecking }
    }

    /// Keeps the answer, but has later rules asked.
    #[must_use]
    pub fn keep_checking(mut self) -> Self {
        self.checking = Checking::KeepChecking;
        self
    }

    /// Keeps the answer, and has no later rule asked.
    #[must_use]
    pub fn stop_checking(mut self) -> Self {
        self.checking = Checking::StopChecking;
        self
    }
}

/// An action before the rules.
pub struct Case<'a, K: TurnActionKind> {
    /// The kind of the action.
    pub kind: &'a K,
    /// The changes.
    pub action: &'a TurnAction,
    /// The world as it is.
    pub now: Situation<'a, K::Cell>,
    /// The world as it would be.
    pub after: Situation<'a, K::Cell>,
}

debug_fields!([K: TurnActionKind] Case<'_, K>: kind, action);

/// An action that follows from a rule, after a delay.
#[derive(Debug)]
pub(super) struct Reaction<K> {
    /// The number in the trace of the action that the rule looked at.
    pub(super) to: usize,
    pub(super) rule: usize,
    pub(super) delay: u64,
    pub(super) kind: K,
}

/// The reactions of rules: turn actions that will be put before the same rules.
///
/// Reactions that a rule adds with the answer `Accept` happen if the action happens in the end; those
/// added with `Reject` happen if it does not. A `Rewrite` drops those of the rules before it, and its own
/// happen if the new action does.
///
/// ```
/// use formic_ai::turn::{Change, Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
/// use formic_ecs::prelude::*;
/// #[derive(Component, Clone, Debug, PartialEq)]
/// struct Fuse(u32);
/// #[derive(Component, Clone)]
/// struct Crater;
/// #[derive(Clone, Debug)]
/// enum Deed { Light(Entity), Explode(Entity) }
/// impl TurnActionKind for Deed {
///     type Cell = ();
///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
///         match *self {
///             Deed::Light(bomb) => draft.insert(bomb, Fuse(30)),
///             Deed::Explode(bomb) => draft.insert(bomb, Crater),
///         }
///         Ok(())
///     }
/// }
/// let burns = Rule::on("a fuse burns down", |_, fuse: Change<Fuse>, reactions| {
///     reactions.push_after(fuse.value.0.into(), Deed::Explode(fuse.entity));
///     Ruling::pass()
/// });
/// # let mut world = World::new();
/// let bomb = world.spawn(());
/// let builder = Turns::builder().component::<Fuse>().component::<Crater>().rule(burns);
/// let mut turns = builder.build(&mut world)?;
/// turns.act(&mut world, Deed::Light(bomb), unseen);
/// assert!(world.has::<Crater>(bomb));
/// let [light, explode] = turns.trace().actions() else { panic!("one follows from the other") };
/// assert_eq!((light.time, explode.time), (0, 30));
/// # Ok::<(), formic_ai::turn::RuleError>(())
/// ```
#[derive(Debug)]
pub struct Reactions<K> {
    to: usize,
    rule: usize,
    is_rejected: bool,
    current: Vec<Reaction<K>>,
    accepted: Vec<Reaction<K>>,
    rejected: Vec<Reaction<K>>,
}

impl<K> Default for Reactions<K> {
    fn default() -> Self {
        Self {
            to: 0,
            rule: 0,
            is_rejected: false,
            current: Vec::new(),
            accepted: Vec::new(),
            rejected: Vec::new(),
        }
    }
}

impl<K> Reactions<K> {
    /// Adds a turn action that follows at once, after those that wait already.
    pub fn push(&mut self, kind: K) {
        self.push_after(0, kind);
    }

    /// Adds a turn action that follows later within the turn.
    ///
    /// The delay is in the units of [`TurnsBuilder::step`](super::TurnsBuilder::step), which the game
    /// chooses: milliseconds, for instance.
    pub fn push_after(&mut self, delay: u64, kind: K) {
        self.current.push(Reaction { to: self.to, rule: self.rule, delay, kind });
    }

    pub(super) fn begin_rule(&mut self, to: usize, rule: usize) {
        (self.to, self.rule) = (to, rule);
    }

    /// The number of reactions in both queues.
    pub(super) fn len(&self) -> usize {
        self.accepted.len() + self.rejected.len()
    }

    /// Queues the reactions that were added with an answer. A rewrite drops earlier reactions, since they
    /// are about another action; a rewrite that comes too late drops its own.
    fn settle(&mut self, verdict: &Answer<K>) {
        match verdict {
            Answer::Accept => self.accepted.append(&mut self.current),
            Answer::Reject => {
                self.is_rejected = true;
                self.rejected.append(&mut self.current);
            }
            Answer::Rewrite(_) if self.is_rejected => self.current.clear(),
            Answer::Rewrite(_) => {
                self.accepted.clear();
                self.rejected.clear();
                self.accepted.append(&mut self.current);
            }
        }
    }

    /// The reactions to the verdict. The other queue is emptied: it was about what did not happen.
    pub(super) fn decide(&mut self, accepted: bool) -> impl Iterator<Item = Reaction<K>> + '_ {
        let (kept, dropped) = if accepted {
            (&mut self.accepted, &mut self.rejected)
        } else {
            (&mut self.rejected, &mut self.accepted)
        };
        dropped.clear();
        self.is_rejected = false;
        kept.drain(..)
    }

    pub(super) fn clear(&mut self) {
        self.is_rejected = false;
        self.current.clear();
        self.accepted.clear();
        self.rejected.clear();
    }
}

/// A component that an action inserts into an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a, T> {
    /// The entity that gets it.
    pub entity: Entity,
    /// Its value.
    pub value: &'a T,
}

/// The function of a rule, for any type of component.
type Judge<K> = Box<dyn Fn(&Case<'_, K>, &mut Reactions<K>) -> Ruling<K> + Send + Sync>;

/// The actions that a rule is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LooksAt {
    /// All actions.
    Everything,
    /// Actions that insert a component of this type.
    Inserted(TypeId),
    /// Actions that remove one.
    Removed(TypeId),
}

/// A rule that looks at turn actions before they happen: it may reject or rewrite them, and add
/// reactions.
///
/// A rule changes nothing itself. It names the component that it looks at, and is asked only about
/// actions that change it: once for each entity concerned. Rules are asked in the order in which they
/// were added, unless a rule must [precede](Rule::before) or [follow](Rule::behind) another.
///
/// ```
/// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind};
/// use formic_ai::turn::{Change, Rule, Ruling, Turns};
/// # use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, PartialEq)] struct Position(i32);
/// # impl CellPosition for Position { type Cell = i32; fn cell(&self) -> i32 { self.0 } }
/// # #[derive(Component, Clone)] struct Solid;
/// # #[derive(Clone, Debug)] struct Walk;
/// # impl TurnActionKind for Walk {
/// #     type Cell = i32;
/// #     fn bind(&self, _: &mut Draft<i32>) -> Result<(), Refusal> { Ok(()) }
/// # }
/// let collision = Rule::<Walk>::on("collision", |case, moved: Change<Position>, _| {
///     // In the world as it would be: an entity that leaves the cell in the same action does not count.
///     let solid = case.after.cell(moved.value.0).count::<Solid>();
///     if case.after.has::<Solid>(moved.entity) && solid > 1 { Ruling::reject() } else { Ruling::pass() }
/// });
/// let builder = Turns::builder().position::<Position>().set::<Solid>().rule(collision);
/// ```
pub struct Rule<K: TurnActionKind> {
    pub(super) name: String,
    pub(super) before: Vec<String>,
    pub(super) behind: Vec<String>,
    pub(super) looks_at: LooksAt,
    pub(super) judge: Judge<K>,
}

debug_fields!([K: TurnActionKind] Rule<K>: name, before, behind);

impl<K: TurnActionKind> Rule<K> {
    /// A rule that is asked about each entity into which a component of this type is inserted.
    pub fn on<T: Component + Clone>(
        name: impl Into<String>,
        rule: impl Fn(&Case<'_, K>, Change<'_, T>, &mut Reactions<K>) -> Ruling<K>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::new(name.into(), LooksAt::Inserted(TypeId::of::<T>()), move |case, reactions| {
            let changes = case.action.inserted::<T>();
            ask_about(changes, reactions, |(entity, value), reactions| {
                rule(case, Change { entity, value }, reactions)
            })
        })
    }

    /// A rule that is asked about each entity from which the action removes a component of this type,
    /// whether the entity has it or not.
    pub fn on_removal<T: Component + Clone>(
        name: impl Into<String>,
        rule: impl Fn(&Case<'_, K>, Entity, &mut Reactions<K>) -> Ruling<K> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name.into(), LooksAt::Removed(TypeId::of::<T>()), move |case, reactions| {
            ask_about(case.action.removed::<T>(), reactions, |entity, reactions| {
                rule(case, entity, reactions)
            })
        })
    }

    /// A rule that is asked once about every action.
    pub fn always(
        name: impl Into<String>,
        rule: impl Fn(&Case<'_, K>, &mut Reactions<K>) -> Ruling<K> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name.into(), LooksAt::Everything, move |case, reactions| {
            ask_about(std::iter::once(()), reactions, |(), reactions| rule(case, reactions))
        })
    }

    fn new(
        name: String,
        looks_at: LooksAt,
        judge: impl Fn(&Case<'_, K>, &mut Reactions<K>) -> Ruling<K> + Send + Sync + 'static,
    ) -> Self {
        let judge = Box::new(judge);
        Self { name, before: Vec::new(), behind: Vec::new(), looks_at, judge }
    }

    /// Requires that the rule is asked before the rule with that name.
    ///
    /// ```
    /// # use formic_ai::turn::{Draft, Fate, Refusal, TurnActionKind, Turns, unseen};
    /// use formic_ai::turn::{Rule, Ruling};
    /// # #[derive(Clone, Debug)] struct Walk;
    /// # impl TurnActionKind for Walk {
    /// #     type Cell = ();
    /// #     fn bind(&self, _: &mut Draft<()>) -> Result<(), Refusal> { Ok(()) }
    /// # }
    /// let walls = Rule::<Walk>::always("walls stand", |_, _| Ruling::reject());
    /// // Added later, from a cheat menu, and asked first.
    /// let ghosts = Rule::always("ghosts walk", |_, _| Ruling::pass().stop_checking()).before("walls stand");
    /// # let mut world = formic_ecs::World::new();
    /// let mut turns = Turns::builder().rule(walls).rule(ghosts).build(&mut world)?;
    /// turns.act(&mut world, Walk, unseen);
    /// assert!(matches!(turns.trace().actions()[0].fate, Fate::Committed { .. }));
    /// # Ok::<(), formic_ai::turn::RuleError>(())
    /// ```
    #[must_use]
    pub fn before(mut self, rule: impl Into<String>) -> Self {
        self.before.push(rule.into());
        self
    }

    /// Requires that the rule is asked after the rule with that name.
    #[must_use]
    pub fn behind(mut self, rule: impl Into<String>) -> Self {
        self.behind.push(rule.into());
        self
    }
}

/// Asks about one change after the other, until one is rewritten or the rule stops checking.
fn ask_about<K, I>(
    changes: impl Iterator<Item = I>,
    reactions: &mut Reactions<K>,
    ask: impl Fn(I, &mut Reactions<K>) -> Ruling<K>,
) -> Ruling<K> {
    let mut whole = Ruling::pass();
    for change in changes {
        let ruling = ask(change, reactions);
        reactions.settle(&ruling.verdict);
        whole.checking = ruling.checking;
        match ruling.verdict {
            Answer::Reject => whole.verdict = Answer::Reject,
            Answer::Rewrite(_) if !reactions.is_rejected => return ruling,
            // The rewrite comes too late: the other changes are asked about as after any rejection.
            Answer::Rewrite(other) if matches!(whole.verdict, Answer::Accept) => {
                whole.verdict = Answer::Rewrite(other);
            }
            Answer::Accept | Answer::Rewrite(_) => {}
        }
        if whole.checking == Checking::StopChecking {
            break;
        }
    }
    whole
}
