//! The search problem of one goal: its relevant facts and operators, compiled.

use super::facts::{Change, Condition, Facts, up_to};
use super::operator::{Goal, Operator};
use super::state::State;
use crate::bits::set_bits;

/// The facts that are relevant for one goal, packed into 64-bit words, and the relevant operators.
///
/// Everything else is left out (*relevance*): facts that no condition depends on, and operators that
/// change nothing towards any condition. Removing such an operator from a plan never breaks the plan, so
/// no plan is lost.
///
/// ```text
///   bits   0 ........ pattern ........ p ........ the other facts ........ 63
/// ```
///
/// If one word is not enough, others follow; a fact lies within one word.
///
/// The facts nearest to the goal are in the lowest bits. For these there is a table of the least cost to
/// the goal from each combination of their values, ignoring all other facts: a *pattern database*
/// (Culberson and Schaeffer 1996, for planning Edelkamp 2001). It is admissible and consistent, since
/// ignoring facts only makes the problem easier.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// The field of each relevant fact, in the order of the packed state.
    pub(super) fields: Vec<Field>,
    pub(super) operators: Vec<Compiled>,
    /// The test of each operator on the first word, stored contiguously because most operators fail it.
    first_tests: Vec<ValueTest>,
    goal: Tests,
    /// The number of words of a state, at least one.
    word_count: usize,
    /// The least cost by pattern; `UNREACHABLE` if there is no plan.
    pattern: Vec<u64>,
    /// The first operator of a cheapest plan by pattern, if the pattern covers all relevant facts and no
    /// operator is free. Then the bounds are exact, and decrease with each step. Otherwise empty.
    next: Vec<u32>,
    pattern_mask: u64,
}

pub(super) const UNREACHABLE: u64 = u64::MAX;

/// The position of a fact in a packed state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) fact: usize,
    word: usize,
    shift: u32,
    value_max: u32,
}

impl Field {
    fn bits(self) -> u32 {
        32 - self.value_max.leading_zeros()
    }

    /// The value of its fact, clamped to the maximum.
    fn value(self, mut value: impl FnMut(usize) -> u32) -> u8 {
        u8::try_from(value(self.fact).min(self.value_max)).unwrap_or(u8::MAX)
    }

    fn mask(self) -> u64 {
        ((1 << self.bits()) - 1) << self.shift
    }
}

/// Data per word of a state: for the first word, which is the only one of most states, and for others by
/// index.
#[derive(Clone, Debug, Default)]
struct ByWord<T> {
    first: T,
    more: Vec<(usize, T)>,
}

impl<T: Default> ByWord<T> {
    fn at(&mut self, word: usize) -> &mut T {
        if word == 0 {
            return &mut self.first;
        }
        let known = self.more.iter().position(|it| it.0 == word);
        let place = known.unwrap_or_else(|| {
            self.more.push((word, T::default()));
            self.more.len() - 1
        });
        &mut self.more[place].1
    }
}

/// Conditions on a packed state.
#[derive(Clone, Debug, Default)]
pub(super) struct Tests {
    /// Conditions that require one value, combined per word.
    values: ByWord<ValueTest>,
    /// All other conditions.
    sets: Vec<SetTest>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ValueTest {
    mask: u64,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
struct SetTest {
    word: usize,
    shift: u32,
    mask: u64,
    allowed: u64,
}

impl ValueTest {
    #[inline]
    const fn holds(self, word: u64) -> bool {
        word & self.mask == self.value
    }
}

impl Tests {
    #[inline]
    pub(super) fn hold<S: State>(&self, state: &S) -> bool {
        self.values.first.holds(state.word(0)) && self.others_hold(state)
    }

    /// Everything except the combined test of the first word.
    #[inline]
    fn others_hold<S: State>(&self, state: &S) -> bool {
        let is_allowed =
            |set: &SetTest| set.allowed >> (state.word(set.word) >> set.shift & set.mask) & 1 == 1;
        (!S::IS_WIDE || self.values.more.iter().all(|it| it.1.holds(state.word(it.0))))
            && self.sets.iter().all(is_allowed)
    }
}

/// An operator on packed states.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// Its index in the planner.
    pub(super) operator: usize,
    tests: Tests,
    changes: ByWord<WordChange>,
    pub(super) cost: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct WordChange {
    set_mask: u64,
    set_value: u64,
    /// Added to the word as a whole: the amounts, shifted to their fields. The tests guarantee that no
    /// field overflows.
    amounts: u64,
}

impl WordChange {
    #[inline]
    const fn apply(self, word: &mut u64) {
        *word = ((*word & !self.set_mask) | self.set_value).wrapping_add(self.amounts);
    }
}

impl Compiled {
    #[inline]
    pub(super) fn is_applicable<S: State>(&self, state: &S) -> bool {
        self.tests.hold(state)
    }

    #[inline]
    pub(super) fn apply<S: State>(&self, state: &mut S) {
        self.changes.first.apply(state.word_mut(0));
        if S::IS_WIDE {
            self.changes.more.iter().for_each(|it| it.1.apply(state.word_mut(it.0)));
        }
    }
}

impl Problem {
    pub(super) fn new(
        facts: &Facts,
        operators: &[Operator],
        goal: &Goal,
        pattern_states_max: usize,
    ) -> Self {
        let relevant = Relevance::of(facts, operators, goal);
        let (mut word, mut shift) = (0, 0);
        let mut pattern_bits = 0;
        let mut fields = Vec::new();
        for &fact in &relevant.facts {
            let mut field = Field { fact, word, shift, value_max: facts.all[fact].1 };
            if shift + field.bits() > u64::BITS {
                word += 1;
                (field.word, field.shift) = (word, 0);
            }
            shift = field.shift + field.bits();
            // The pattern consists of the first fields, up to the first that does not fit.
            let is_next = word == 0 && pattern_bits == field.shift;
            if is_next && shift < 32 && 1_usize << shift <= pattern_states_max {
                pattern_bits = shift;
            }
            fields.push(field);
        }
        let field = |fact: usize| fields.iter().find(|field| field.fact == fact).copied();
        let compiled = relevant.operators.iter();
        let compiled = compiled.map(|&place| compile(place, &operators[place], &field));
        let compiled: Vec<Compiled> = compiled.collect();
        let goal = tests(goal.conditions.iter().copied(), &field);
        let mut problem = Self {
            fields,
            first_tests: compiled.iter().map(|it| it.tests.values.first).collect(),
            operators: compiled,
            goal,
            word_count: word + 1,
            pattern: vec![0],
            next: Vec::new(),
            pattern_mask: (1 << pattern_bits) - 1,
        };
        problem.pattern = problem.new_pattern(1 << pattern_bits);
        let is_inside = |it: &Field| it.word == 0 && it.mask() & !problem.pattern_mask == 0;
        if problem.fields.iter().all(is_inside) && problem.operators.iter().all(|it| it.cost > 0) {
            problem.next = (0..1 << pattern_bits).map(|state| problem.first_step(state)).collect();
        }
        problem
    }

    /// Whether a state needs more than one word.
    pub(super) const fn is_wide(&self) -> bool {
        self.word_count > 1
    }

    pub(super) fn is_goal(&self, state: &impl State) -> bool {
        self.goal.hold(state)
    }

    /// Calls a function with each operator that can be applied. The first words are compared without a
    /// branch per operator, because such branches are unpredictable.
    #[inline]
    pub(super) fn each_applicable<S: State>(&self, state: &S, mut act: impl FnMut(usize)) {
        let word = state.word(0);
        for (block, tests) in self.first_tests.chunks(64).enumerate() {
            let all = tests.iter().rev();
            let likely = all.fold(0, |set, test| set << 1 | u64::from(test.holds(word)));
            for bit in set_bits(likely) {
                let operator = block * 64 + bit;
                if self.operators[operator].tests.others_hold(state) {
                    act(operator);
                }
            }
        }
    }

    /// Whether [`next_operator`](Self::next_operator) is available with these costs of operators.
    pub(super) fn is_exact(&self, costs: &[u32]) -> bool {
        let mut operators = self.operators.iter().zip(costs);
        !self.next.is_empty() && operators.all(|(operator, &cost)| operator.cost == cost)
    }

    /// The first operator of a cheapest plan from a state that can reach the goal and is not there yet.
    #[inline]
    pub(super) fn next_operator(&self, state: &impl State) -> u32 {
        self.next[place(state.word(0))]
    }

    /// Among the operators whose successor keeps the bound, the one with the least cost left; ties go to
    /// the first.
    fn first_step(&self, state: u64) -> u32 {
        let total = self.bound(&state);
        let mut best = (UNREACHABLE, 0);
        if total == UNREACHABLE {
            return 0;
        }
        self.each_applicable(&state, |number| {
            let operator = &self.operators[number];
            let mut next = state;
            operator.apply(&mut next);
            let left = self.bound(&next);
            if left.saturating_add(operator.cost.into()) == total && left < best.0 {
                best = (left, number);
            }
        });
        u32::try_from(best.1).unwrap_or(0)
    }

    /// A lower bound of the cost to the goal.
    #[inline]
    pub(super) fn bound(&self, state: &impl State) -> u64 {
        self.pattern[place(state.word(0) & self.pattern_mask)]
    }

    /// The values of the fields, in order.
    pub(super) fn values(&self, mut value: impl FnMut(usize) -> u32) -> Vec<u8> {
        self.fields.iter().map(|field| field.value(&mut value)).collect()
    }

    /// Packs values of the fields, in order. Returns `None` if their number or a value is wrong.
    pub(super) fn pack<S: State>(&self, values: &[u8]) -> Option<S> {
        let is_value = |(field, &value): (&Field, &u8)| u32::from(value) <= field.value_max;
        if values.len() != self.fields.len() || !self.fields.iter().zip(values).all(is_value) {
            return None;
        }
        let mut state = S::zeros(self.word_count);
        for (field, &value) in self.fields.iter().zip(values) {
            *state.word_mut(field.word) |= u64::from(value) << field.shift;
        }
        Some(state)
    }

    /// The size of the table, which influences the order in which equals are visited.
    pub(super) fn pattern_len(&self) -> usize {
        self.pattern.len()
    }

    /// The costs in the problem that is reduced to the pattern, from each of its states: sweeps over all
    /// of them until no cost decreases.
    fn new_pattern(&self, state_count: u64) -> Vec<u64> {
        let mask = self.pattern_mask;
        let goal = self.goal.within(mask);
        let operators = self.operators.iter().map(|it| it.within(mask));
        let operators: Vec<Compiled> = operators.filter(|it| it.changes_within(mask)).collect();
        let is_inside = |field: &&Field| field.word == 0 && field.mask() & mask != 0;
        let inside: Vec<Field> = self.fields.iter().filter(is_inside).copied().collect();
        let is_state = |state: u64| {
            inside.iter().all(|it| (state & it.mask()) >> it.shift <= u64::from(it.value_max))
        };
        let mut costs: Vec<u64> = (0..state_count)
            .map(|state| if is_state(state) && goal.hold(&state) { 0 } else { UNREACHABLE })
            .collect();
        let states: Vec<u64> = (0..state_count).filter(|&state| is_state(state)).collect();
        loop {
            let mut is_settled = true;
            for &state in &states {
                let applicable = operators.iter().filter(|it| it.is_applicable(&state));
                let ways = applicable.map(|it| {
                    let mut next = state;
                    it.apply(&mut next);
                    costs[place(next & mask)].saturating_add(it.cost.into())
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
    /// The tests inside a mask of the first word, which divides no field.
    fn within(&self, mask: u64) -> Self {
        let ValueTest { mask: all, value } = self.values.first;
        let first = ValueTest { mask: all & mask, value: value & mask };
        let is_inside = |set: &&SetTest| set.word == 0 && (set.mask << set.shift) & mask != 0;
        let sets = self.sets.iter().filter(is_inside).copied().collect();
        Self { values: ByWord { first, more: Vec::new() }, sets }
    }
}

impl Compiled {
    fn within(&self, mask: u64) -> Self {
        let WordChange { set_mask, set_value, amounts } = self.changes.first;
        let first = WordChange { set_mask: set_mask & mask, set_value: set_value & mask, amounts };
        let changes = ByWord { first, more: Vec::new() };
        Self { tests: self.tests.within(mask), changes, ..*self }
    }

    fn changes_within(&self, mask: u64) -> bool {
        (self.changes.first.set_mask | self.changes.first.amounts) & mask != 0
    }
}

/// Conditions on the same fact are intersected into one set.
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
            let test = tests.values.at(field.word);
            test.mask |= field.mask();
            test.value |= u64::from(condition.allowed.trailing_zeros()) << field.shift;
        } else if condition.allowed != up_to(field.value_max) {
            let mask = field.mask() >> field.shift;
            let Field { word, shift, .. } = field;
            tests.sets.push(SetTest { word, shift, mask, allowed: condition.allowed });
        }
    }
    tests
}

fn compile(place: usize, operator: &Operator, field: &impl Fn(usize) -> Option<Field>) -> Compiled {
    let range = |fact: usize| field(fact).map_or(0, |field| field.value_max);
    let conditions = all_conditions(operator, range);
    let mut changes = ByWord::<WordChange>::default();
    for effect in &operator.effects {
        let Some(field) = field(effect.fact) else { continue };
        let change = changes.at(field.word);
        let at_place = |number: u32| u64::from(number) << field.shift;
        match effect.change {
            Change::Set(value) => {
                change.set_mask |= field.mask();
                change.set_value |= at_place(value);
            }
            Change::Add(amount) => change.amounts = change.amounts.wrapping_add(at_place(amount)),
            Change::Subtract(amount) => {
                change.amounts = change.amounts.wrapping_sub(at_place(amount));
            }
        }
    }
    let tests = tests(conditions.into_iter(), field);
    Compiled { operator: place, tests, changes, cost: operator.cost }
}

/// The conditions of an operator, and those that keep its amounts in range.
fn all_conditions(operator: &Operator, value_max: impl Fn(usize) -> u32) -> Vec<Condition> {
    let ranges = operator.effects.iter().map(|effect| {
        let max = value_max(effect.fact);
        let stays = |value: &u32| effect.change.of(*value, max).is_some();
        let allowed = (0..=max).filter(stays).fold(0_u64, |set, value| set | 1 << value);
        Condition { fact: effect.fact, allowed }
    });
    operator.conditions.iter().copied().chain(ranges).collect()
}

/// The facts and operators that are relevant for a goal.
struct Relevance {
    /// In the order in which they were found to be relevant.
    facts: Vec<usize>,
    operators: Vec<usize>,
}

impl Relevance {
    fn of(facts: &Facts, operators: &[Operator], goal: &Goal) -> Self {
        // If any operator adds to a fact, all values of that fact are relevant.
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
