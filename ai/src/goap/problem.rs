//! One goal and all that matters for it, made ready for the search.

use super::facts::{Change, Condition, Facts, up_to};
use super::operator::{Goal, Operator};

/// The facts that matter for one goal, packed into 64 bits, and the operators that matter.
///
/// What does not matter is left out (*relevance*): a fact that no condition asks for, and an
/// operator that changes nothing towards any condition. Leaving such an operator out of a plan never
/// breaks the plan, so that nothing is lost.
///
/// ```text
///   bits   0 ........ pattern ........ p ........ the other facts ........ 63
/// ```
///
/// The facts nearest to the goal lie in the lowest bits. For these there is a table of what it costs
/// at least to reach the goal from each of their values, all other facts left aside: a *pattern
/// database* (Culberson and Schaeffer 1996, for planning Edelkamp 2001). It is admissible and
/// consistent, since leaving facts aside only makes things easier.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// For each fact that matters, by its index.
    pub(super) fields: Vec<Field>,
    pub(super) operators: Vec<Compiled>,
    goal: Tests,
    /// The least cost by pattern; `UNREACHABLE` where there is no way.
    pattern: Vec<u64>,
    pattern_mask: u64,
}

pub(super) const UNREACHABLE: u64 = u64::MAX;

/// Where a fact is in a packed state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) fact: usize,
    shift: u32,
    value_max: u32,
}

impl Field {
    fn bits(self) -> u32 {
        32 - self.value_max.leading_zeros()
    }

    /// The value of its fact, as far as it goes up.
    pub(super) fn value(self, mut value: impl FnMut(usize) -> u32) -> u8 {
        u8::try_from(value(self.fact).min(self.value_max)).unwrap_or(u8::MAX)
    }

    fn mask(self) -> u64 {
        ((1 << self.bits()) - 1) << self.shift
    }
}

/// Conditions of a packed state.
#[derive(Clone, Debug, Default)]
pub(super) struct Tests {
    /// Those that ask for one value, all at once.
    mask: u64,
    value: u64,
    /// The others.
    sets: Vec<SetTest>,
}

#[derive(Clone, Copy, Debug)]
struct SetTest {
    shift: u32,
    mask: u64,
    allowed: u64,
}

impl Tests {
    #[inline]
    pub(super) fn hold(&self, state: u64) -> bool {
        state & self.mask == self.value
            && self.sets.iter().all(|set| set.allowed >> (state >> set.shift & set.mask) & 1 == 1)
    }
}

/// An operator for packed states.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// Its place among the planner's.
    pub(super) operator: usize,
    tests: Tests,
    set_mask: u64,
    set_value: u64,
    /// What is added to the state as a whole: amounts at their places. No field overflows, since the
    /// tests see to it.
    amounts: u64,
    pub(super) cost: u32,
}

impl Compiled {
    #[inline]
    pub(super) fn is_applicable(&self, state: u64) -> bool {
        self.tests.hold(state)
    }

    #[inline]
    pub(super) const fn apply(&self, state: u64) -> u64 {
        ((state & !self.set_mask) | self.set_value).wrapping_add(self.amounts)
    }
}

impl Problem {
    /// `None` where the facts that matter do not fit.
    pub(super) fn new(
        facts: &Facts,
        operators: &[Operator],
        goal: &Goal,
        pattern_states_max: usize,
    ) -> Option<Self> {
        let relevant = Relevance::of(facts, operators, goal);
        let mut shift = 0;
        let mut pattern_bits = 0;
        let mut fields = Vec::new();
        for &fact in &relevant.facts {
            let field = Field { fact, shift, value_max: facts.all[fact].1 };
            shift += field.bits();
            // The pattern is what comes first, up to the first that does not fit.
            if pattern_bits == field.shift && shift < 32 && 1_usize << shift <= pattern_states_max {
                pattern_bits = shift;
            }
            fields.push(field);
        }
        if shift > 64 {
            return None;
        }
        let field = |fact: usize| fields.iter().find(|field| field.fact == fact).copied();
        let compiled = relevant.operators.iter();
        let compiled = compiled.map(|&place| compile(place, &operators[place], &field)).collect();
        let goal = tests(goal.conditions.iter().copied(), &field);
        let mut problem = Self {
            fields,
            operators: compiled,
            goal,
            pattern: vec![0],
            pattern_mask: (1 << pattern_bits) - 1,
        };
        problem.pattern = problem.new_pattern(1 << pattern_bits);
        Some(problem)
    }

    pub(super) fn is_goal(&self, state: u64) -> bool {
        self.goal.hold(state)
    }

    /// What it costs at least to reach the goal.
    #[inline]
    pub(super) fn bound(&self, state: u64) -> u64 {
        self.pattern[place(state & self.pattern_mask)]
    }

    /// Packs the values that matter.
    pub(super) fn pack(&self, mut value: impl FnMut(usize) -> u32) -> u64 {
        let fields = self.fields.iter();
        fields.fold(0, |state, field| state | u64::from(field.value(&mut value)) << field.shift)
    }

    /// Packs the values of the fields, in their order, if they are those of all of them.
    pub(super) fn pack_fields(&self, values: &[u8]) -> Option<u64> {
        let is_value = |(field, &value): (&Field, &u8)| u32::from(value) <= field.value_max;
        if values.len() != self.fields.len() || !self.fields.iter().zip(values).all(is_value) {
            return None;
        }
        let fields = self.fields.iter().zip(values);
        Some(fields.fold(0, |state, (field, &value)| state | u64::from(value) << field.shift))
    }

    /// How many states the table has, which decides in which order equals are looked at.
    pub(super) fn pattern_len(&self) -> usize {
        self.pattern.len()
    }

    /// The costs in the world of the pattern alone, from each of its states: sweeps over all of
    /// them until nothing gets cheaper.
    fn new_pattern(&self, state_count: u64) -> Vec<u64> {
        let mask = self.pattern_mask;
        let goal = self.goal.within(mask);
        let operators: Vec<Compiled> = self.operators.iter().map(|it| it.within(mask)).collect();
        let is_state = |state: u64| {
            let inside = self.fields.iter().filter(|field| field.mask() & mask != 0);
            inside.into_iter().all(|it| (state & it.mask()) >> it.shift <= u64::from(it.value_max))
        };
        let mut costs: Vec<u64> = (0..state_count)
            .map(|state| if is_state(state) && goal.hold(state) { 0 } else { UNREACHABLE })
            .collect();
        let states: Vec<u64> = (0..state_count).filter(|&state| is_state(state)).collect();
        loop {
            let mut is_settled = true;
            for &state in &states {
                let applicable = operators.iter().filter(|it| it.is_applicable(state));
                let ways = applicable.map(|it| {
                    let next = it.apply(state) & mask;
                    costs[place(next)].saturating_add(it.cost.into())
                });
                let cost = ways.min().unwrap_or(UNREACHABLE);
                if cost < costs[place(state)] {
                    costs[place(state)] = cost;
                    is_settled = false;
                }
            }
            if is_settled {
                return costs;
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "patterns have at most 31 bits")]
#[inline]
const fn place(state: u64) -> usize {
    state as usize
}

impl Tests {
    /// Those that ask for something inside the mask, which cuts no field.
    fn within(&self, mask: u64) -> Self {
        let sets = self.sets.iter().copied().filter(|set| (set.mask << set.shift) & mask != 0);
        Self { mask: self.mask & mask, value: self.value & mask, sets: sets.collect() }
    }
}

impl Compiled {
    fn within(&self, mask: u64) -> Self {
        Self {
            operator: self.operator,
            tests: self.tests.within(mask),
            set_mask: self.set_mask & mask,
            set_value: self.set_value & mask,
            amounts: self.amounts,
            cost: self.cost,
        }
    }
}

/// The conditions on one fact are one set.
fn tests(
    conditions: impl Iterator<Item = Condition>,
    field: &impl Fn(usize) -> Option<Field>,
) -> Tests {
    let mut by_fact: Vec<Condition> = Vec::new();
    for condition in conditions {
        match by_fact.iter_mut().find(|other| other.fact == condition.fact) {
            Some(other) => other.allowed &= condition.allowed,
            None => by_fact.push(condition),
        }
    }
    let mut tests = Tests::default();
    for condition in by_fact {
        let Some(field) = field(condition.fact) else { continue };
        if condition.allowed.is_power_of_two() {
            tests.mask |= field.mask();
            tests.value |= u64::from(condition.allowed.trailing_zeros()) << field.shift;
        } else if condition.allowed != up_to(field.value_max) {
            let mask = field.mask() >> field.shift;
            tests.sets.push(SetTest { shift: field.shift, mask, allowed: condition.allowed });
        }
    }
    tests
}

fn compile(place: usize, operator: &Operator, field: &impl Fn(usize) -> Option<Field>) -> Compiled {
    let range = |fact: usize| field(fact).map_or(0, |field| field.value_max);
    let conditions = all_conditions(operator, range);
    let (mut set_mask, mut set_value, mut amounts) = (0, 0, 0_u64);
    for effect in &operator.effects {
        let Some(field) = field(effect.fact) else { continue };
        match effect.change {
            Change::Set(value) => {
                set_mask |= field.mask();
                set_value |= u64::from(value) << field.shift;
            }
            Change::Add(amount) => {
                amounts = amounts.wrapping_add(u64::from(amount) << field.shift);
            }
            Change::Subtract(amount) => {
                amounts = amounts.wrapping_sub(u64::from(amount) << field.shift);
            }
        }
    }
    let tests = tests(conditions.into_iter(), field);
    Compiled { operator: place, tests, set_mask, set_value, amounts, cost: operator.cost }
}

/// The conditions of an operator, and that its amounts stay in their ranges.
fn all_conditions(operator: &Operator, value_max: impl Fn(usize) -> u32) -> Vec<Condition> {
    let ranges = operator.effects.iter().map(|effect| {
        let max = value_max(effect.fact);
        let stays = |value: &u32| effect.change.of(*value, max).is_some();
        let allowed = (0..=max).filter(stays).fold(0_u64, |set, value| set | 1 << value);
        Condition { fact: effect.fact, allowed }
    });
    operator.conditions.iter().copied().chain(ranges).collect()
}

/// What matters for a goal.
struct Relevance {
    /// In the order in which they were found to matter.
    facts: Vec<usize>,
    operators: Vec<usize>,
}

impl Relevance {
    fn of(facts: &Facts, operators: &[Operator], goal: &Goal) -> Self {
        // A fact that is added to anywhere is a matter of all its values.
        let mut is_amount = vec![false; facts.all.len()];
        for effect in operators.iter().flat_map(|operator| &operator.effects) {
            is_amount[effect.fact] |= !matches!(effect.change, Change::Set(_));
        }
        let mut wanted = vec![0_u64; facts.all.len()];
        let mut order = Vec::new();
        let mut want = |wanted: &mut Vec<u64>, conditions: &[Condition]| {
            for condition in conditions {
                if condition.allowed != up_to(facts.all[condition.fact].1) {
                    wanted[condition.fact] |= condition.allowed;
                    if !order.contains(&condition.fact) {
                        order.push(condition.fact);
                    }
                }
            }
        };
        want(&mut wanted, &goal.conditions);
        let mut is_in = vec![false; operators.len()];
        loop {
            let helps = |operator: &Operator| {
                operator.effects.iter().any(|effect| match effect.change {
                    Change::Set(value) if !is_amount[effect.fact] => {
                        wanted[effect.fact] >> value & 1 == 1
                    }
                    _ => wanted[effect.fact] != 0,
                })
            };
            let found = (0..operators.len()).filter(|&it| !is_in[it] && helps(&operators[it]));
            let found: Vec<usize> = found.collect();
            if found.is_empty() {
                break;
            }
            for operator in found {
                is_in[operator] = true;
                let conditions = all_conditions(&operators[operator], |fact| facts.all[fact].1);
                want(&mut wanted, &conditions);
            }
        }
        let operators = (0..operators.len()).filter(|&it| is_in[it]).collect();
        Self { facts: order, operators }
    }
}
