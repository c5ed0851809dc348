//! Planning domains that are drawn by chance, over bits.

use formic_ecs::RandomStream;

/// An operator over bits.
#[derive(Clone, Copy)]
pub(crate) struct Operator {
    pub(crate) mask: u64,
    pub(crate) value: u64,
    pub(crate) set_mask: u64,
    pub(crate) set_value: u64,
    pub(crate) cost: u32,
}

impl Operator {
    pub(crate) fn is_applicable(&self, state: u64) -> bool {
        state & self.mask == self.value
    }

    pub(crate) fn apply(&self, state: u64) -> u64 {
        state & !self.set_mask | self.set_value
    }
}

/// Everything begins at 0; three facts are to become 1.
pub(crate) struct Domain {
    pub(crate) facts: u32,
    pub(crate) operators: Vec<Operator>,
    pub(crate) goal: u64,
    pub(crate) effects: u32,
    /// What the cheapest plan costs.
    pub(crate) cost: u32,
}

impl Domain {
    /// So many that have a plan.
    pub(crate) fn solvable(facts: u32, operators: usize, effects: u32, count: usize) -> Vec<Self> {
        (0..)
            .map(|seed| Self::draw(seed, facts, operators, effects))
            .filter_map(|mut domain| {
                domain.cost = domain.cheapest()?;
                Some(domain)
            })
            .take(count)
            .collect()
    }

    /// One to three conditions, one or several effects, two thirds of them to 1.
    fn draw(seed: u64, facts: u32, operators: usize, effects: u32) -> Self {
        let mut random = RandomStream::new(seed);
        let fact = |random: &mut RandomStream| 1_u64 << random.below(u64::from(facts));
        let some = |count: u64, random: &mut RandomStream| {
            let (mut mask, mut value) = (0, 0);
            for _ in 0..count {
                let bit = fact(random);
                if mask & bit == 0 {
                    mask |= bit;
                    value |= if random.below(3) > 0 { bit } else { 0 };
                }
            }
            (mask, value)
        };
        let operators = (0..operators)
            .map(|_| {
                let conditions = 1 + random.below(3);
                let (mask, value) = some(conditions, &mut random);
                let (set_mask, set_value) = some(u64::from(effects), &mut random);
                let cost = 1 + u32::try_from(random.below(5)).expect("below five");
                Operator { mask, value, set_mask, set_value, cost }
            })
            .collect();
        let mut goal = 0_u64;
        while goal.count_ones() < 3 {
            goal |= 1 << random.below(u64::from(facts));
        }
        Self { facts, operators, goal, effects, cost: 0 }
    }

    /// Dijkstra over all states.
    fn cheapest(&self) -> Option<u32> {
        let mut costs = vec![u32::MAX; 1 << self.facts];
        let mut open = std::collections::BTreeSet::from([(0, 0_u64)]);
        costs[0] = 0;
        while let Some((cost, state)) = open.pop_first() {
            if state & self.goal == self.goal {
                return Some(cost);
            }
            for operator in self.operators.iter().filter(|it| it.is_applicable(state)) {
                let (next, total) = (operator.apply(state), cost + operator.cost);
                let known = &mut costs[usize::try_from(next).expect("at most 16 facts")];
                if total < *known {
                    *known = total;
                    open.insert((total, next));
                }
            }
        }
        None
    }
}
