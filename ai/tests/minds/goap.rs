//! Plans: they can be carried out, nothing is cheaper, and where there is none there is none.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

mod changes;
mod stage;

use formic_ai::action::MindError;
use formic_ai::goap::{
    Condition, Fact, Facts, Goal, NoPlan, Operator, OperatorSet, Plan, Planner, PlannerBuilder,
    Sensors,
};
use formic_ai::htn::DomainBuilder;
use formic_ai::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

use stage::Deed;

/// Facts, operators and goals that were drawn by chance.
struct Domain {
    facts: Facts,
    handles: Vec<Fact>,
    operators: Vec<Operator>,
    goals: Vec<Goal>,
}

fn pick<T: Copy>(random: &mut RandomStream, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

impl Domain {
    fn draw(random: &mut RandomStream) -> Self {
        Self::draw_with(random, 0)
    }

    /// With so many facts more, which come first in the goal: at least one of each thing, the last
    /// of which some operators use up.
    fn draw_with(random: &mut RandomStream, stock_count: usize) -> Self {
        let mut facts = Facts::new();
        let handles: Vec<(Fact, u32)> = (0..3 + random.below(4))
            .map(|fact| {
                let value_max = pick(random, &[1, 1, 1, 2, 4]);
                (facts.number(format!("f{fact}"), value_max), value_max)
            })
            .collect();
        let stock: Vec<Fact> =
            (0..stock_count).map(|it| facts.number(format!("s{it}"), Facts::VALUE_MAX)).collect();
        let condition = |random: &mut RandomStream| -> Condition {
            let (fact, value_max) = pick(random, &handles);
            let value = random.below(u64::from(value_max) + 1) as u32;
            match random.below(6) {
                0 => fact.at_least(value),
                1 => fact.at_most(value),
                2 => fact.differs_from(value),
                _ => fact.equals(value),
            }
        };
        let operators = (0..3 + random.below(8)).map(|operator| {
            let mut drawn = Operator::new(format!("o{operator}")).cost(random.below(6) as u32);
            let mut asked = BTreeSet::new();
            for _ in 0..random.below(3) {
                let condition = condition(random);
                if asked
                    .insert(format!("{condition:?}").split_once("allowed").unwrap().0.to_string())
                {
                    drawn = drawn.when(condition);
                }
            }
            let mut changed = BTreeSet::new();
            for _ in 0..1 + random.below(2) {
                let (fact, value_max) = pick(random, &handles);
                if changed.insert(fact.index()) {
                    drawn = drawn.then(match random.below(4) {
                        0 => fact.add(1),
                        1 => fact.subtract(1),
                        _ => fact.set(random.below(u64::from(value_max) + 1) as u32),
                    });
                }
            }
            match stock.last().filter(|_| operator % 2 == 0) {
                Some(stock) => drawn.then(stock.subtract(1)),
                None => drawn,
            }
        });
        let operators = operators.collect();
        let goal = Goal::new("goal");
        let goal = stock.iter().fold(goal, |goal, stock| goal.when(stock.at_least(1)));
        let mut goal = goal.when(condition(random));
        let second = condition(random);
        let is_other = format!("{second:?}").split_once("allowed").unwrap().0.to_string();
        if !format!("{goal:?}").contains(&is_other) {
            goal = goal.when(second);
        }
        let handles = handles.into_iter().map(|(fact, _)| fact).chain(stock).collect();
        Self { facts, handles, operators, goals: vec![goal] }
    }

    fn builder(&self, operators: impl IntoIterator<Item = Operator>) -> PlannerBuilder {
        let builder = PlannerBuilder::new(self.facts.clone());
        let builder = operators.into_iter().fold(builder, PlannerBuilder::operator);
        self.goals.iter().cloned().fold(builder, PlannerBuilder::goal)
    }

    fn planner(&self, pattern_states_max: usize) -> Result<Planner, MindError> {
        self.builder(self.operators.clone()).pattern_states_max(pattern_states_max).build()
    }

    fn values(&self, random: &mut RandomStream) -> Vec<u32> {
        let max = |fact: &Fact| (0..=63).rfind(|&it| fact.at_most(63).holds_for(it)).unwrap();
        self.handles.iter().map(|fact| random.below(u64::from(max(fact)) + 1) as u32).collect()
    }
}

/// What each state that can be reached costs, and whether the goal holds in it: Dijkstra over plain
/// values.
fn cheapest(planner: &Planner, start: &[u32]) -> Option<u64> {
    let mut open = BTreeSet::from([(0, start.to_vec())]);
    let mut costs = BTreeMap::from([(start.to_vec(), 0)]);
    while let Some((cost, values)) = open.pop_first() {
        if planner.holds(0, |fact| values[fact]) {
            return Some(cost);
        }
        for (place, operator) in planner.operators().iter().enumerate() {
            let Some(next) = planner.apply(place, &values) else { continue };
            let total = cost + u64::from(price(operator));
            if costs.get(&next).is_none_or(|&known| total < known) {
                costs.insert(next.clone(), total);
                open.insert((total, next));
            }
        }
    }
    None
}

/// The cost of an operator, read off its description.
fn price(operator: &Operator) -> u32 {
    let text = format!("{operator:?}");
    let (_, cost) = text.rsplit_once("cost: ").unwrap();
    cost.trim_end_matches([' ', '}']).parse().unwrap()
}

fn replay(planner: &Planner, plan: &Plan, start: &[u32]) {
    let mut values = start.to_vec();
    let mut cost = 0;
    for &operator in &plan.operators {
        values = planner.apply(operator, &values).expect("each step can be taken");
        cost += u64::from(price(&planner.operators()[operator]));
    }
    assert!(planner.holds(0, |fact| values[fact]), "it leads to the goal");
    assert_eq!(cost, plan.cost);
}

#[test]
fn plans_can_be_carried_out_and_nothing_is_cheaper_and_none_means_none() {
    let (found, unreachable) = check_plans(3_000, |_| 0);
    assert!(found > 1_000 && unreachable > 500, "{found} {unreachable}");
}

#[test]
fn the_same_is_true_of_states_that_are_wider_than_a_word() {
    let (found, unreachable) = check_plans(400, |random| pick(random, &[9, 10, 31, 64]));
    assert!(found > 200 && unreachable > 50, "{found} {unreachable}");
}

#[test]
fn a_goal_may_depend_on_1_024_facts() {
    const COUNT: usize = 1_024;
    let mut facts = Facts::new();
    let all: Vec<Fact> = (0..COUNT).map(|it| facts.number(it.to_string(), 63)).collect();
    let mut builder = PlannerBuilder::new(facts);
    for (place, &fact) in all.iter().enumerate() {
        let name = format!("{place:04}");
        let mut operator = Operator::new(name).when(fact.equals(2)).then(fact.add(3));
        if let Some(before) = place.checked_sub(1) {
            operator = operator.when(all[before].equals(5));
        }
        builder = builder.operator(operator);
    }
    let planner = builder.goal(Goal::new("last").when(all[COUNT - 1].equals(5))).build().unwrap();
    let plan = planner.plan(0, &[2; COUNT]).expect("step by step");
    assert_eq!(plan.operators, (0..COUNT).collect::<Vec<_>>());
    replay(&planner, &plan, &[2; COUNT]);
    let mut start = [2; COUNT];
    start[500] = 3;
    assert_eq!(planner.plan(0, &start), Err(NoPlan::Unreachable));
}

/// Plans of so many domains against Dijkstra: how many there were, and how often there was none.
fn check_plans(seeds: u64, stock_count: impl Fn(&mut RandomStream) -> usize) -> (usize, usize) {
    let (mut found, mut unreachable) = (0, 0);
    for seed in 0..seeds {
        let random = &mut RandomStream::new(seed);
        let stock_count = stock_count(random);
        let domain = Domain::draw_with(random, stock_count);
        let Ok(planner) = domain.planner(pick(random, &[1, 4, 16, 4096])) else { continue };
        for _ in 0..3 {
            let start = domain.values(random);
            let expected = cheapest(&planner, &start);
            let bound = planner.lower_bound(0, &start);
            match planner.plan(0, &start) {
                Ok(plan) => {
                    assert_eq!(Some(plan.cost), expected, "seed {seed}");
                    assert!(bound.is_some_and(|bound| bound <= plan.cost), "seed {seed}");
                    replay(&planner, &plan, &start);
                    let is_at_goal = planner.holds(0, |fact| start[fact]);
                    assert_eq!(plan.operators.is_empty(), is_at_goal, "seed {seed}");
                    found += usize::from(!is_at_goal);
                }
                Err(error) => {
                    assert_eq!((error, expected), (NoPlan::Unreachable, None), "seed {seed}");
                    unreachable += 1;
                }
            }
        }
    }
    (found, unreachable)
}

#[test]
fn a_plan_depends_neither_on_the_order_of_operators_nor_on_how_it_is_cut() {
    for seed in 0..300 {
        let random = &mut RandomStream::new(seed);
        let domain = Domain::draw(random);
        let Ok(planner) = domain.planner(4) else { continue };
        let start = domain.values(random);
        let expected = planner.plan(0, &start);
        let mut shuffled = domain.operators.clone();
        for place in (1..shuffled.len()).rev() {
            shuffled.swap(place, random.below(place as u64 + 1) as usize);
        }
        let other = domain.builder(shuffled).pattern_states_max(4).build().unwrap();
        assert_eq!(other.plan(0, &start), expected, "seed {seed}");
        let costs = |operator: usize| price(&planner.operators()[operator]);
        for slice in [1, 2, 3, 7] {
            let mut planning = planner.begin(0, |fact| start[fact], costs);
            let cut = loop {
                if let Some(plan) = planner.go_on(&mut planning, slice) {
                    break plan;
                }
            };
            assert_eq!(cut, expected, "seed {seed}");
        }
    }
}

#[test]
fn an_operator_may_cost_more_by_its_target_and_the_plan_is_still_the_cheapest() {
    for seed in 0..300 {
        let random = &mut RandomStream::new(seed);
        let domain = Domain::draw(random);
        let Ok(planner) = domain.planner(16) else { continue };
        let start = domain.values(random);
        let more: Vec<u32> = domain.operators.iter().map(|_| random.below(9) as u32).collect();
        let dearer = planner.operators().iter().zip(&more);
        let dearer: Vec<Operator> =
            dearer.map(|(operator, more)| operator.clone().cost(price(operator) + more)).collect();
        let dear = domain.builder(dearer.clone()).build().unwrap();
        let expected = cheapest(&dear, &start);
        let mut planning =
            planner.begin(0, |fact| start[fact], |operator| price(&dearer[operator]));
        let plan = planner.go_on(&mut planning, usize::MAX).unwrap();
        assert_eq!(plan.ok().map(|plan| plan.cost), expected, "seed {seed}");
    }
}

#[test]
fn a_state_to_which_a_cheaper_way_was_found_is_visited_once() {
    let mut facts = Facts::new();
    let place = facts.number("place", 9);
    let go = |name: &str, from, to, cost| {
        Operator::new(name).when(place.equals(from)).then(place.set(to)).cost(cost)
    };
    let planner = PlannerBuilder::new(facts)
        .operator(go("far", 0, 2, 10))
        .operator(go("near", 0, 1, 1))
        .operator(go("on", 1, 2, 1))
        .operator(go("last", 2, 3, 20))
        .goal(Goal::new("there").when(place.equals(3)))
        .pattern_states_max(1)
        .build()
        .unwrap();
    let mut planning = planner.begin(0, |_| 0, |operator| price(&planner.operators()[operator]));
    let plan = planner.go_on(&mut planning, usize::MAX).unwrap().unwrap();
    assert_eq!(plan.names(&planner).collect::<Vec<_>>(), ["near", "on", "last"]);
    assert_eq!((plan.cost, planning.looked_at()), (22, 4));
}

#[test]
fn jumping_less_far_for_less_is_found() {
    // dogoap 0.5 gives 4 here.
    let mut facts = Facts::new();
    let x = facts.number("x", 30);
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("jump").then(x.add(20)).cost(3))
        .operator(Operator::new("small").then(x.add(9)).cost(2))
        .operator(Operator::new("one").then(x.add(1)).cost(2))
        .goal(Goal::new("far").when(x.at_least(10)))
        .build()
        .unwrap();
    assert_eq!(planner.plan(0, &[0]).unwrap().cost, 3);
}

#[test]
fn what_does_not_matter_is_left_out() {
    let mut facts = Facts::new();
    let [gold, hungry, dirty] =
        [facts.number("gold", 20), facts.flag("hungry"), facts.flag("dirty")];
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("mine").then(gold.add(5)).then(dirty.becomes(true)))
        .operator(Operator::new("eat").then(gold.subtract(2)).then(hungry.becomes(false)))
        .operator(Operator::new("wash").when(dirty.is(true)).then(dirty.becomes(false)))
        .operator(Operator::new("fast").then(hungry.becomes(true)))
        .goal(Goal::new("full").when(hungry.is(false)))
        .build()
        .unwrap();
    let (mut asked, mut costs) = (Vec::new(), Vec::new());
    let value = |fact| {
        asked.push(fact);
        u32::from(fact == hungry.index())
    };
    let cost = |operator: usize| {
        costs.push(planner.operators()[operator].name());
        1
    };
    let _planning = planner.begin(0, value, cost);
    assert_eq!(asked, [hungry.index(), gold.index()]);
    assert_eq!(costs, ["eat", "mine"]);
    assert_eq!(planner.plan(0, &[0, 1, 1]).unwrap().operators.len(), 2);
}

#[test]
fn two_facts_of_one_name_are_refused() {
    let mut facts = Facts::new();
    let fact = facts.flag("armed");
    facts.number("armed", 3);
    let operator = || Operator::new("draw").then(fact.becomes(true));
    let goal = Goal::new("safe").when(fact.is(true));
    let planner = PlannerBuilder::new(facts.clone()).operator(operator()).goal(goal).build();
    let domain = DomainBuilder::new(facts).operator(operator()).build("draw");
    for error in [planner.unwrap_err(), domain.unwrap_err()] {
        assert_eq!(error.to_string(), "the fact \"armed\" is defined twice");
    }
}

#[test]
fn a_search_that_is_too_long_is_given_up() {
    let mut facts = Facts::new();
    let digits: Vec<Fact> = (0..8).map(|digit| facts.number(format!("d{digit}"), 7)).collect();
    let mut builder = PlannerBuilder::new(facts).pattern_states_max(1).states_max(100);
    let mut goal = Goal::new("all");
    for (place, &digit) in digits.iter().enumerate() {
        builder = builder.operator(Operator::new(format!("o{place}")).then(digit.add(1)));
        goal = goal.when(digit.equals(7));
    }
    let planner = builder.goal(goal).build().unwrap();
    assert_eq!(planner.plan(0, &[0; 8]), Err(NoPlan::GaveUp));
    // A save that says it got further than that is not searched so far.
    let mut planning = planner.begin(0, |_| 0, |_| 1);
    assert_eq!(planner.go_on(&mut planning, 3), None);
    let mut altered = claiming(&planning, 101);
    assert_eq!(planner.go_on(&mut altered, 1), Some(Err(NoPlan::OtherPlanner)));
    let mut altered = claiming(&planning, 99);
    assert_eq!(planner.go_on(&mut altered, 1), Some(Err(NoPlan::GaveUp)));
}

/// A search as a save gives it back that says it has visited so many states.
pub(crate) fn claiming<P: serde::Serialize + serde::de::DeserializeOwned>(
    planning: &P,
    count: usize,
) -> P {
    let text = ron::to_string(planning).unwrap();
    let (before, after) = text.split_once("looked_at:").unwrap();
    let after = after.trim_start_matches(|it: char| it.is_ascii_digit());
    ron::from_str(&format!("{before}looked_at:{count}{after}")).unwrap()
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut facts = Facts::new();
    let (flag, number) = (facts.flag("flag"), facts.number("number", 5));
    let mut others = facts.clone();
    let stranger = others.flag("stranger");
    let goal = || Goal::new("goal").when(flag.is(true));
    let build = |operator: Operator| {
        PlannerBuilder::new(facts.clone())
            .operator(operator)
            .goal(goal())
            .build()
            .unwrap_err()
            .to_string()
    };
    let new = || Operator::new("o");
    let bad_effect = "\"o\" changes a fact twice, or to a value that it cannot have";
    let impossible = "\"o\" requires a value that the fact cannot have";
    let unknown_fact = "\"o\" uses a fact that the planner does not have";
    let none = PlannerBuilder::new(facts.clone()).operator(new()).build();
    assert_eq!(none.unwrap_err().to_string(), "a planner needs at least one goal");
    assert_eq!(build(new().then(number.set(6))), bad_effect);
    assert_eq!(build(new().then(number.add(6))), bad_effect);
    let twice = new().then(number.add(1)).then(number.set(1));
    assert_eq!(build(twice), bad_effect);
    let contradiction = new().when(number.at_least(3)).when(number.at_most(2));
    assert_eq!(build(contradiction), impossible);
    assert_eq!(build(new().when(number.equals(9))), impossible);
    assert_eq!(build(new().when(stranger.is(true))), unknown_fact);
    assert_eq!(build(new().then(stranger.set(1))), unknown_fact);
    let doubled = PlannerBuilder::new(facts.clone()).operator(new()).operator(new());
    let doubled = doubled.goal(goal()).build().unwrap_err();
    assert_eq!(doubled.to_string(), "\"o\" is defined twice");
    let goals = PlannerBuilder::new(facts.clone()).goal(goal()).goal(goal()).build();
    assert_eq!(goals.unwrap_err().to_string(), "\"goal\" is defined twice");
    let planner =
        PlannerBuilder::new(facts).operator(new()).goal(Goal::new("g").when(flag.is(true)));
    let actions = ActionSet::new().action("other", Deed::default());
    let error = Sensors::<()>::new(planner.build().unwrap(), &actions).unwrap_err();
    assert_eq!(error.to_string(), "no action is called \"o\"");
}

#[test]
fn values_are_clamped_to_what_the_planner_knows_of_the_fact() {
    let facts = |value_max| {
        let mut facts = Facts::new();
        let wood = facts.number("wood", value_max);
        (facts, wood)
    };
    let ((few, _), (_, of_another)) = (facts(3), facts(9));
    let planner = PlannerBuilder::new(few).goal(Goal::new("any")).build().unwrap();
    let sensors = Sensors::<()>::new(planner, &ActionSet::new()).unwrap();
    assert_eq!(sensors.fact(of_another, |()| 7).value(0, &()), 3);
}
