//! Rules: what speaks against a turn action, and what follows from it.

use std::any::TypeId;

use formic_ecs::{Component, Entity};

use super::action::TurnAction;
use super::draft::TurnActionKind;
use super::situation::Situation;

/// What a rule says of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<K> {
    /// Nothing speaks against it.
    Accept,
    /// It does not happen. One such verdict is enough, whatever the rules that are asked later say:
    /// what is rejected is not rewritten any more.
    Reject,
    /// Something else happens in its place, unless a rule before has rejected it. The new action is
    /// judged from the first rule on; with [`StopChecking`](Checking::StopChecking) it is accepted
    /// as it is.
    Rewrite(K),
}

/// Whether the rules that come later are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checking {
    /// They are.
    KeepChecking,
    /// They are not.
    StopChecking,
}

/// A verdict, and whether it is the last one.
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
    /// What the rule says.
    pub verdict: Answer<K>,
    /// Whether other rules are asked.
    pub checking: Checking,
}

impl<K> Ruling<K> {
    /// Nothing speaks against it; ask the others.
    #[must_use]
    pub const fn pass() -> Self {
        Self { verdict: Answer::Accept, checking: Checking::KeepChecking }
    }

    /// Nothing speaks against it, and the other rules need not be asked.
    #[must_use]
    pub const fn accept() -> Self {
        Self { verdict: Answer::Accept, checking: Checking::StopChecking }
    }

    /// It does not happen, and the other rules need not be asked.
    #[must_use]
    pub const fn reject() -> Self {
        Self { verdict: Answer::Reject, checking: Checking::StopChecking }
    }

    /// Something else happens, if the rules let it.
    #[must_use]
    pub const fn rewrite(kind: K) -> Self {
        Self { verdict: Answer::Rewrite(kind), checking: Checking::KeepChecking }
    }

    /// The same verdict, and the other rules are asked as well.
    #[must_use]
    pub fn keep_checking(mut self) -> Self {
        self.checking = Checking::KeepChecking;
        self
    }

    /// The same verdict, and no other rule is asked.
    #[must_use]
    pub fn stop_checking(mut self) -> Self {
        self.checking = Checking::StopChecking;
        self
    }
}

/// An action before the rules.
pub struct Case<'a, K: TurnActionKind> {
    /// What is to be done.
    pub kind: &'a K,
    /// What it changes.
    pub action: &'a TurnAction,
    /// The world as it is.
    pub now: Situation<'a, K::Cell>,
    /// The world as it would be.
    pub after: Situation<'a, K::Cell>,
}

debug_fields!([K: TurnActionKind] Case<'_, K>: kind, action);

/// What follows, by which rule's word, and how long after.
#[derive(Debug)]
pub(super) struct Reaction<K> {
    /// The number of the action that the rule looked at, in the trace.
    pub(super) to: usize,
    pub(super) rule: usize,
    pub(super) delay: u64,
    pub(super) kind: K,
}

/// What rules want to happen next: turn actions that will come before the same rules.
///
/// What a rule adds together with the verdict `Accept` happens if the action does in the end; what
/// it adds together with `Reject`, if it does not.
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
    /// The delay is in the units of [`TurnsBuilder::step`](super::TurnsBuilder::step), which the
    /// game chooses: milliseconds, say.
    pub fn push_after(&mut self, delay: u64, kind: K) {
        self.current.push(Reaction { to: self.to, rule: self.rule, delay, kind });
    }

    pub(super) fn begin_rule(&mut self, to: usize, rule: usize) {
        (self.to, self.rule) = (to, rule);
    }

    /// How many wait in the queue of this verdict.
    pub(super) fn len(&self) -> usize {
        self.accepted.len() + self.rejected.len()
    }

    /// Puts what was added with a verdict into its queue. A rewritten action is another one, with
    /// which what was said before has nothing to do; where it comes too late to be done, nor has
    /// what was to follow from it.
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

    /// What follows from the verdict. The other queue is emptied: it was about what did not happen.
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

/// A component that an action gives to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a, T> {
    /// Who gets it.
    pub entity: Entity,
    /// Its value.
    pub value: &'a T,
}

/// What a rule is made of, once its component is known.
type Judge<K> = Box<dyn Fn(&Case<'_, K>, &mut Reactions<K>) -> Ruling<K> + Send + Sync>;

/// Which actions a rule is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LooksAt {
    /// All of them.
    Everything,
    /// Those that insert a component of this type.
    Inserted(TypeId),
    /// Those that remove one.
    Removed(TypeId),
}

/// Something that looks at turn actions before they happen: it may reject or rewrite them, and say
/// what follows.
///
/// A rule changes nothing itself. It says which component it looks at, and is asked only about
/// actions that change that one: once for each entity concerned. Rules are asked in the order in
/// which they were added, unless one says that it must [precede](Rule::before) or
/// [follow](Rule::behind) another.
///
/// ```
/// # use formic_ai::turn::{CellPosition, Draft, Refusal, TurnActionKind};
/// use formic_ai::turn::{Change, Rule, Ruling};
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
/// assert_eq!(collision.name(), "collision");
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
    /// A rule that is asked about each entity that is given a component of this type.
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

    /// A rule that is asked about each entity that loses a component of this type.
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

    /// A rule that is asked about every action, once.
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

    /// The rule must be asked before the rule of that name.
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

    /// The rule must be asked after the rule of that name.
    #[must_use]
    pub fn behind(mut self, rule: impl Into<String>) -> Self {
        self.behind.push(rule.into());
        self
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Asks about one change after the other, until one is rewritten or nothing more is to be asked.
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
            // It was said, and comes too late: the others are asked as after any rejection.
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
