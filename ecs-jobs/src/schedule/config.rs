//! Systems with their position in the order.

use std::any::TypeId;
use std::ops::Range;

use super::condition::{Condition, IntoCondition};
use super::function::{AnyFunction, FunctionWith};
use super::group::{Group, Placement, Set, SetConfig, StepKind, Target};
use super::rate::Rate;
use super::system::System;

/// A type that can be added to a schedule: a function with suitable parameters, a [`SystemConfig`], a
/// [`Group`], or a tuple of up to twelve of these.
///
/// The methods configure order and conditions. On a tuple they apply to all of its parts. Adding a group
/// adds no systems, only the configuration of the group, which may be given in several places.
///
/// ```
/// use formic_jobs::prelude::*;
/// # struct Weather;
/// fn grow() {}
/// fn graze() {}
/// fn hunt() {}
/// fn think() {}
/// let mut world = World::new();
/// let schedule = Schedule::builder()
///     .add((grow, graze, hunt).chain().run_if(resource_exists::<Weather>()))
///     .add(think.every(10).staggered().before(graze))
///     .build(&mut world)?;
/// # Ok::<(), formic_jobs::ScheduleError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system",
    label = "not a system, a `SystemConfig`, or a tuple of up to twelve of these",
    note = "a system is a function of up to eight arguments that returns nothing",
    note = "more arguments go into a struct that derives `SystemParam`"
)]
pub trait IntoSystem<Marker>: Sized {
    /// Returns the systems with their position in the order.
    fn into_config(self) -> SystemConfig;

    /// Runs it after another function or a [`Group`], and after their commands are played.
    fn after<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config().placed(|place| place.after.push((Target::of(&other), StepKind::Synced)))
    }

    /// Runs it before another function or a [`Group`], which see the effects of its commands.
    fn before<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config().placed(|place| place.before.push((Target::of(&other), StepKind::Synced)))
    }

    /// Like [`after`](Self::after), but the commands of the others may be played later: this order alone
    /// creates no sync point.
    fn after_ignoring_commands<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config()
            .placed(|place| place.after.push((Target::of(&other), StepKind::Unsynced)))
    }

    /// Like [`before`](Self::before), but its commands may be played later.
    fn before_ignoring_commands<Other: 'static>(self, other: Other) -> SystemConfig {
        self.into_config()
            .placed(|place| place.before.push((Target::of(&other), StepKind::Unsynced)))
    }

    /// Runs it only in ticks in which the [condition](Condition) holds. The condition of several systems,
    /// or of a [`Group`], is evaluated once, before the first of them.
    fn run_if<Condition>(self, condition: impl IntoCondition<Condition>) -> SystemConfig {
        self.into_config().with_condition(condition.into_condition())
    }

    /// Adds it to a group.
    #[doc(alias = "in_set")]
    fn in_group(self, group: Group) -> SystemConfig {
        self.into_config().placed(|place| place.sets.push(Set::Group(group)))
    }

    /// Runs it every `ticks` ticks, beginning with the first.
    ///
    /// # Panics
    /// Panics if `ticks` is 0, or if it is more than 65,536 and the system is
    /// [staggered](Self::staggered). Panics if this is a [`Group`], which has no rate; the same holds for
    /// [`phase`](Self::phase) and `staggered`.
    #[doc(alias("on_timer", "Timer"))]
    fn every(self, ticks: u32) -> SystemConfig {
        self.into_config().for_systems(|member| member.rate = member.rate.every(ticks))
    }

    /// Delays a system that runs [`every`](Self::every) few ticks by `ticks` ticks, less whole intervals.
    fn phase(self, ticks: u32) -> SystemConfig {
        self.into_config().for_systems(|member| member.rate = member.rate.phase(ticks))
    }

    /// Spreads the entities over the ticks of [`every`](Self::every): the system runs in each tick, and
    /// its [`Query`](super::Query) parameters, and those of conditions of its own, visit a part of the
    /// entities, so that each entity is visited once in that many ticks, at constant intervals.
    ///
    /// The part of an entity depends only on its index. Access to single entities is not restricted, and
    /// [`Query::all`](super::Query::all) is the whole query. `Changed` and `Added` match what is new
    /// since the same part was last visited.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// #[derive(Component)]
    /// struct Mind { thoughts: u32 }
    ///
    /// fn think(mut minds: Query<'_, &mut Mind>) {
    ///     minds.par_for_each(|mind| mind.thoughts += 1);
    /// }
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..100).map(|_| Mind { thoughts: 0 }));
    /// let mut schedule = Schedule::builder().add(think.every(10).staggered()).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// schedule.run(&mut world, &pool);
    /// assert_eq!(world.query::<&Mind>().map(|mind| mind.thoughts).sum::<u32>(), 10);
    /// (1..10).for_each(|_| _ = schedule.run(&mut world, &pool));
    /// assert!(world.query::<&Mind>().into_iter().all(|mind| mind.thoughts == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the system runs less often than every 65,536 ticks.
    fn staggered(self) -> SystemConfig {
        self.into_config().for_systems(|member| member.rate = member.rate.staggered())
    }

    /// Declares that the order of this and the others does not matter, so that the pair is not listed in
    /// [`Schedule::ambiguities`](super::Schedule::ambiguities). They still run in the order of adding.
    ///
    /// # Panics
    /// Panics if it is a [`Group`]; the others may be one.
    fn ambiguous_with<Other: 'static>(self, other: Other) -> SystemConfig {
        let target = Target::of(&other);
        self.into_config().for_systems(|member| member.ambiguous_with.push(target))
    }

    /// Declares that this is meant to run after everything added before it with conflicting accesses,
    /// unless another order is declared. Such pairs are not listed in
    /// [`Schedule::ambiguities`](super::Schedule::ambiguities).
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn plan(mut number: ResMut<'_, u32>) { *number += 1; }
    /// fn resolve(mut number: ResMut<'_, u32>) { *number *= 2; }
    /// let mut world = World::new();
    /// let schedule = Schedule::builder().add(plan).add(resolve.after_earlier()).build(&mut world)?;
    /// assert!(schedule.ambiguities().is_empty());
    /// let schedule = Schedule::builder().add(resolve.after_earlier()).add(plan).build(&mut world)?;
    /// assert_eq!(schedule.ambiguities().len(), 1);
    /// # Ok::<(), formic_jobs::ScheduleError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is a [`Group`].
    fn after_earlier(self) -> SystemConfig {
        self.into_config().for_systems(|member| member.is_after_earlier = true)
    }

    /// Runs the parts of a tuple one after the other, each after the commands of the previous one; for a
    /// [`Group`], runs its systems in the order of adding.
    fn chain(self) -> SystemConfig {
        self.into_config().chained(StepKind::Synced)
    }

    /// Runs the parts of a tuple one after the other, without waiting for their commands to be played.
    fn chain_ignoring_commands(self) -> SystemConfig {
        self.into_config().chained(StepKind::Unsynced)
    }
}

/// Marks functions in [`IntoSystem`].
#[derive(Debug)]
pub struct IsFunction<Marker>(Marker);

/// Marks [`SystemConfig`]s and [`Group`]s in [`IntoSystem`].
#[derive(Debug)]
pub struct IsConfig;

impl<Function, Signature> IntoSystem<IsFunction<Signature>> for Function
where
    Function: AnyFunction<Signature> + FunctionWith<Signature> + 'static,
{
    fn into_config(self) -> SystemConfig {
        SystemConfig::of_kind(TypeId::of::<Function>(), self.into_system())
    }
}

impl IntoSystem<IsConfig> for SystemConfig {
    fn into_config(self) -> SystemConfig {
        self
    }
}

impl IntoSystem<IsConfig> for Group {
    fn into_config(self) -> SystemConfig {
        SystemConfig::of_item(Item::Set(SetConfig::of(Set::Group(self))))
    }
}

macro_rules! tuple_of_systems {
    ($(($system:ident $marker:ident $variable:ident)),*) => {
        impl<$($system: IntoSystem<$marker>, $marker),*> IntoSystem<($($marker,)*)> for ($($system,)*) {
            fn into_config(self) -> SystemConfig {
                let ($($variable,)*) = self;
                let mut all = SystemConfig::default();
                $(all.append($variable.into_config());)*
                all
            }
        }
    };
}

macro_rules! tuples_of_systems {
    () => {};
    (($($first:tt)*) $(, ($($other:tt)*))*) => {
        tuple_of_systems!(($($first)*) $(, ($($other)*))*);
        tuples_of_systems!($(($($other)*)),*);
    };
}

tuples_of_systems!(
    (A MA a), (B MB b), (C MC c), (D MD d), (E ME e), (F MF f), (G MG g), (H MH h), (I MI i),
    (J MJ j), (K MK k), (L ML l)
);

/// Systems and groups, and their position in the order.
#[derive(Default)]
pub struct SystemConfig {
    pub(super) items: Vec<Item>,
    /// The parts of the tuple that this was made of, as ranges of items.
    parts: Vec<Range<usize>>,
}

/// A system, or the configuration of a set.
pub(super) enum Item {
    System(Member),
    Set(SetConfig),
}

/// One system of a [`SystemConfig`].
pub(super) struct Member {
    pub(super) key: TypeId,
    pub(super) system: Box<dyn System>,
    pub(super) place: Placement,
    pub(super) ambiguous_with: Vec<Target>,
    /// Whether running after everything added before it is not reported as an ambiguity.
    pub(super) is_after_earlier: bool,
    pub(super) rate: Rate,
}

debug_fields!([] SystemConfig:; items = |it| it.items.len());

impl SystemConfig {
    fn of_kind(key: TypeId, system: Box<dyn System>) -> Self {
        Self::of_item(Item::System(Member {
            key,
            system,
            place: Placement::default(),
            ambiguous_with: Vec::new(),
            is_after_earlier: false,
            rate: Rate::default(),
        }))
    }

    fn of_item(item: Item) -> Self {
        Self { items: vec![item], parts: Vec::new() }
    }

    /// Adds a system that is not a function. Other systems are ordered relative to it by a value of the
    /// same type.
    #[must_use]
    pub fn of<S: System + 'static>(system: S) -> Self {
        Self::of_kind(TypeId::of::<S>(), Box::new(system))
    }

    /// Appends all items of another config, as one part.
    pub(super) fn append(&mut self, other: Self) {
        let start = self.items.len();
        self.items.extend(other.items);
        self.parts.push(start..self.items.len());
    }

    fn placed(mut self, change: impl FnMut(&mut Placement)) -> Self {
        places(&mut self.items).for_each(change);
        self
    }

    fn for_systems(mut self, mut change: impl FnMut(&mut Member)) -> Self {
        for item in &mut self.items {
            match item {
                Item::System(member) => change(member),
                // It only has the condition of systems that are present as well.
                Item::Set(SetConfig { set: Set::Tuple(_), .. }) => {}
                Item::Set(SetConfig { set, .. }) => {
                    panic!("{} is no system: say this of its systems", set.name())
                }
            }
        }
        self
    }

    fn with_condition(mut self, condition: Condition) -> Self {
        let mut condition = Some(condition);
        if self.items.len() == 1 {
            return self.placed(|place| place.conditions.extend(condition.take()));
        }
        let mut config = SetConfig::of(Set::of_tuple());
        config.place.conditions.extend(condition);
        // It runs after everything that all of them run after, and is in every set that all of them are
        // in.
        let all: Vec<_> = places(&mut self.items).collect();
        config.place.after = common(all.iter().map(|place| &place.after));
        config.place.sets = common(all.iter().map(|place| &place.sets));
        let set = config.set;
        self = self.placed(|place| place.sets.push(set));
        self.items.push(Item::Set(config));
        self
    }

    fn chained(mut self, step: StepKind) -> Self {
        if let [Item::Set(group)] = &mut *self.items {
            group.chained = true;
        }
        for pair in self.parts.windows(2) {
            let set = Set::of_tuple();
            places(&mut self.items[pair[0].clone()]).for_each(|place| place.sets.push(set));
            let after = (Target::Set(set), step);
            places(&mut self.items[pair[1].clone()]).for_each(|place| place.after.push(after));
        }
        self
    }
}

fn places(items: &mut [Item]) -> impl Iterator<Item = &mut Placement> {
    items.iter_mut().map(|item| match item {
        Item::System(Member { place, .. }) | Item::Set(SetConfig { place, .. }) => place,
    })
}

/// The elements that all lists contain, in the order of the first.
fn common<'a, T: Copy + PartialEq + 'a>(mut lists: impl Iterator<Item = &'a Vec<T>>) -> Vec<T> {
    let mut common = lists.next().cloned().unwrap_or_default();
    lists.for_each(|list| common.retain(|it| list.contains(it)));
    common
}
