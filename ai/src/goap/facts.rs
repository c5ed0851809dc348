//! Facts: the state that plans are about, as small numbers.

use formic_ecs::HashState;
/// A fact of a [`Planner`](super::Planner): a small number, or a flag.
///
/// ```
/// use formic_ai::goap::Facts;
/// let mut facts = Facts::new();
/// let has_axe = facts.flag("has_axe");
/// let wood = facts.number("wood", 10);
/// assert!(wood.at_least(3).holds_for(4));
/// assert!(!has_axe.is(true).holds_for(0));
/// assert!(wood.at_most(3).holds_for(3) && !wood.equals(3).holds_for(2));
/// assert!(wood.differs_from(3).holds_for(2));
/// assert_eq!((has_axe.index(), wood.index()), (0, 1), "their places in the values of a state");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub struct Fact {
    pub(super) index: usize,
    pub(super) value_max: u32,
}

/// The facts of a planner, by name.
#[derive(Clone, Debug, Default, HashState)]
pub struct Facts {
    pub(super) all: Vec<(String, u32)>,
}

impl Facts {
    /// The highest possible value of a fact.
    pub const VALUE_MAX: u32 = 63;

    /// Creates a set without facts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a flag: a fact that holds (1) or does not (0).
    pub fn flag(&mut self, name: impl Into<String>) -> Fact {
        self.number(name, 1)
    }

    /// Adds a number from 0 to `value_max`.
    ///
    /// # Panics
    /// Panics if `value_max` is above [`Self::VALUE_MAX`].
    pub fn number(&mut self, name: impl Into<String>, value_max: u32) -> Fact {
        assert!(value_max <= Self::VALUE_MAX, "a fact goes up to 63, not to {value_max}");
        self.all.push((name.into(), value_max));
        Fact { index: self.all.len() - 1, value_max }
    }

    /// The names, in the order in which the facts were added.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// The name of a fact.
    pub(crate) fn name(&self, fact: usize) -> &str {
        &self.all[fact].0
    }

    /// The highest value of a fact.
    pub(crate) fn value_max(&self, fact: usize) -> u32 {
        self.all[fact].1
    }

    /// The fact with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Fact> {
        let index = self.all.iter().position(|(other, _)| other == name)?;
        Some(Fact { index, value_max: self.all[index].1 })
    }
}

/// A condition on a fact: a set of allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState)]
pub struct Condition {
    pub(crate) fact: usize,
    /// One bit per value.
    pub(super) allowed: u64,
}

/// The effect of an operator on a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState)]
pub struct Effect {
    pub(super) fact: usize,
    pub(super) change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState)]
pub(super) enum Change {
    Set(u32),
    Add(u32),
    Subtract(u32),
}

/// The set of values from 0 to `value_max`.
pub(super) const fn up_to(value_max: u32) -> u64 {
    u64::MAX >> (63 - value_max)
}

impl Fact {
    const fn all(self) -> u64 {
        up_to(self.value_max)
    }

    const fn allowing(self, allowed: u64) -> Condition {
        Condition { fact: self.index, allowed: allowed & self.all() }
    }

    const fn one(value: u32) -> u64 {
        if value <= Facts::VALUE_MAX { 1 << value } else { 0 }
    }

    /// Its index among the facts.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }

    /// For a flag: whether it must hold.
    #[must_use]
    pub const fn is(self, holds: bool) -> Condition {
        self.equals(holds as u32)
    }

    /// `fact == value`.
    #[must_use]
    pub const fn equals(self, value: u32) -> Condition {
        self.allowing(Self::one(value))
    }

    /// `fact != value`.
    #[must_use]
    pub const fn differs_from(self, value: u32) -> Condition {
        self.allowing(!Self::one(value))
    }

    /// `fact >= value`.
    #[must_use]
    pub const fn at_least(self, value: u32) -> Condition {
        if value == 0 {
            self.allowing(u64::MAX)
        } else if value > Facts::VALUE_MAX {
            self.allowing(0)
        } else {
            self.allowing(!up_to(value - 1))
        }
    }

    /// `fact <= value`.
    #[must_use]
    pub const fn at_most(self, value: u32) -> Condition {
        self.allowing(if value >= Facts::VALUE_MAX { u64::MAX } else { up_to(value) })
    }

    /// `fact := value`.
    #[must_use]
    pub const fn set(self, value: u32) -> Effect {
        Effect { fact: self.index, change: Change::Set(value) }
    }

    /// For a flag: holds after this, or does not.
    #[must_use]
    pub const fn becomes(self, holds: bool) -> Effect {
        self.set(holds as u32)
    }

    /// `fact += amount`. The operator cannot be applied if that exceeds the maximum of the fact.
    #[must_use]
    pub const fn add(self, amount: u32) -> Effect {
        Effect { fact: self.index, change: Change::Add(amount) }
    }

    /// `fact -= amount`. The operator cannot be applied if that is below 0.
    #[must_use]
    pub const fn subtract(self, amount: u32) -> Effect {
        Effect { fact: self.index, change: Change::Subtract(amount) }
    }
}

impl Condition {
    /// Whether the condition allows a value.
    #[must_use]
    pub const fn holds_for(self, value: u32) -> bool {
        value <= Facts::VALUE_MAX && self.allowed >> value & 1 == 1
    }
}

impl Change {
    /// Whether the new value depends on the old one.
    pub(super) const fn is_relative(self) -> bool {
        !matches!(self, Self::Set(_))
    }

    /// The new value, if it is in the range of the fact.
    pub(super) fn of(self, value: u32, value_max: u32) -> Option<u32> {
        let changed = match self {
            Self::Set(to) => Some(to),
            Self::Add(amount) => value.checked_add(amount),
            Self::Subtract(amount) => value.checked_sub(amount),
        };
        changed.filter(|&changed| changed <= value_max)
    }
}

/// Whether all of these hold. `value` is called only for their facts.
pub(crate) fn hold(conditions: &[Condition], mut value: impl FnMut(usize) -> u32) -> bool {
    conditions.iter().all(|condition| condition.holds_for(value(condition.fact)))
}
