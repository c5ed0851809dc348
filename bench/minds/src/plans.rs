//! Plans: ours, A* of `pathfinding` over bits, and the libraries that make plans.

use std::rc::Rc;

use formic_ai::goap::{Facts, Goal, Operator, Planner, PlannerBuilder};

use crate::domain::Domain;
use crate::harness::{Contender, Row};

const COUNT: usize = 200;

pub(crate) fn rows() -> Vec<Row> {
    let sizes = [(12, 20, 1, Some(400.0)), (16, 40, 1, Some(2_500.0)), (14, 24, 2, None)];
    sizes
        .map(|(facts, operators, effects, goal)| {
            let name = format!("goap: {facts} facts, {operators} operators, {effects} effects");
            Row::new(name, goal, move || {
                columns(Rc::new(Domain::solvable(facts, operators, effects, COUNT)))
            })
        })
        .into()
}

fn columns(domains: Rc<Vec<Domain>>) -> Vec<Contender> {
    #[cfg_attr(
        not(any(feature = "pathfinding", feature = "dogoap", feature = "goap")),
        expect(unused_mut, reason = "without peers these are all columns")
    )]
    let mut columns = vec![
        ours("formic", &domains, 1 << 12),
        ours("formic, table of 65,536", &domains, 1 << 16),
        ours("formic, no table", &domains, 1),
    ];
    #[cfg(feature = "pathfinding")]
    columns.push(peers::pathfinding(&domains));
    #[cfg(feature = "dogoap")]
    columns.push(peers::dogoap(&domains));
    #[cfg(feature = "goap")]
    columns.push(peers::goap(&domains));
    columns
}

/// A contender that makes a plan for each domain, whose cost `plan` gives.
fn contender<P: 'static>(
    column: &'static str,
    domains: &Rc<Vec<Domain>>,
    prepared: Vec<P>,
    plan: impl Fn(&Domain, &P) -> u32 + 'static,
) -> Contender {
    let judged = domains.iter().zip(&prepared);
    let dearer = judged.filter(|(domain, it)| plan(domain, it) != domain.cost).count();
    let domains = Rc::clone(domains);
    let mut contender = Contender::new(column, COUNT, move || {
        for (domain, prepared) in domains.iter().zip(&prepared) {
            std::hint::black_box(plan(domain, prepared));
        }
    });
    contender.remark = format!("{dearer} of {COUNT} not the cheapest");
    contender
}

fn ours(column: &'static str, domains: &Rc<Vec<Domain>>, table: usize) -> Contender {
    let start = std::time::Instant::now();
    let planners: Vec<Planner> = domains.iter().map(|domain| planner(domain, table)).collect();
    let built = start.elapsed().as_secs_f64() * 1e6 / COUNT as f64;
    let values = vec![0; domains[0].facts as usize];
    let mut contender = contender(column, domains, planners, move |_, planner| {
        let plan = planner.plan(0, &values).expect("there is one");
        u32::try_from(plan.cost).expect("operators cost little")
    });
    assert!(contender.remark.starts_with("0 of"), "{}", contender.remark);
    contender.remark += &format!("; made ready once, in {built:.0} us");
    contender
}

fn planner(domain: &Domain, table: usize) -> Planner {
    let mut facts = Facts::new();
    let flags: Vec<_> = (0..domain.facts).map(|it| facts.flag(it.to_string())).collect();
    let mut builder = PlannerBuilder::new(facts).pattern_states_max(table);
    for (place, bits) in domain.operators.iter().enumerate() {
        let mut operator = Operator::new(format!("{place:03}")).cost(bits.cost);
        for (place, flag) in flags.iter().enumerate() {
            if bits.mask >> place & 1 == 1 {
                operator = operator.when(flag.is(bits.value >> place & 1 == 1));
            }
            if bits.set_mask >> place & 1 == 1 {
                operator = operator.then(flag.becomes(bits.set_value >> place & 1 == 1));
            }
        }
        builder = builder.operator(operator);
    }
    let mut goal = Goal::new("goal");
    for (place, flag) in flags.iter().enumerate() {
        if domain.goal >> place & 1 == 1 {
            goal = goal.when(flag.is(true));
        }
    }
    builder.goal(goal).build().expect("it makes sense")
}

#[cfg(any(feature = "pathfinding", feature = "dogoap", feature = "goap"))]
mod peers {
    use std::rc::Rc;

    use super::{Contender, Domain, contender};

    /// With a bound: an operator brings so many facts of the goal at most, at the least cost.
    #[cfg(feature = "pathfinding")]
    pub(super) fn pathfinding(domains: &Rc<Vec<Domain>>) -> Contender {
        let least =
            domains.iter().map(|it| it.operators.iter().map(|it| it.cost).min().unwrap_or(0));
        let least: Vec<u32> = least.collect();
        contender("pathfinding over bits", domains, least, |domain, &least| {
            let found = pathfinding::prelude::astar(
                &0_u64,
                |&state| {
                    let applicable = domain.operators.iter();
                    let applicable = applicable.filter(move |it| it.is_applicable(state));
                    applicable.map(move |it| (it.apply(state), it.cost))
                },
                |&state| (domain.goal & !state).count_ones().div_ceil(domain.effects) * least,
                |&state| state & domain.goal == domain.goal,
            );
            found.expect("there is one").1
        })
    }

    /// Its actions have one list of changes, and it looks at the first effect only.
    #[cfg(feature = "dogoap")]
    pub(super) fn dogoap(domains: &Rc<Vec<Domain>>) -> Contender {
        use dogoap::prelude::*;
        let prepared = domains.iter().map(|domain| {
            let name = |place: u32| format!("f{place}");
            let is_set = |mask: u64, place: u32| mask >> place & 1 == 1;
            let start = (0..domain.facts).fold(LocalState::new(), |state, place| {
                state.with_datum(&name(place), Datum::Bool(false))
            });
            let actions: Vec<Action> = (0..)
                .zip(&domain.operators)
                .map(|(number, operator): (u32, _)| {
                    let key = format!("o{number}");
                    let mut effect = Effect::new(&key);
                    let mut action = Action::new(&key);
                    for place in 0..domain.facts {
                        if is_set(operator.mask, place) {
                            let wanted = Datum::Bool(is_set(operator.value, place));
                            action =
                                action.with_precondition(&name(place), Compare::Equals(wanted));
                        }
                        if is_set(operator.set_mask, place) {
                            let to = Datum::Bool(is_set(operator.set_value, place));
                            effect = effect.with_mutator(Mutator::Set(name(place), to));
                        }
                    }
                    effect.cost = operator.cost as usize;
                    action.with_effect(effect)
                })
                .collect();
            let wanted = (0..domain.facts).filter(|&place| is_set(domain.goal, place));
            let goal = wanted.fold(Goal::new(), |goal, place| {
                goal.with_req(&name(place), Compare::Equals(Datum::Bool(true)))
            });
            (start, actions, goal)
        });
        let prepared = prepared.collect();
        contender("dogoap", domains, prepared, |_, (start, actions, goal)| {
            let plan = make_plan(start, actions, goal);
            plan.map_or(u32::MAX, |(_, cost)| u32::try_from(cost).unwrap_or(u32::MAX))
        })
    }

    #[cfg(feature = "goap")]
    pub(super) fn goap(domains: &Rc<Vec<Domain>>) -> Contender {
        use goap::prelude::{Action, Goal, Planner, State};
        let prepared = domains.iter().map(|domain| {
            let name = |place: u32| format!("f{place}");
            let is_set = |mask: u64, place: u32| mask >> place & 1 == 1;
            let mut start = State::new();
            let mut goal = Goal::new("goal");
            for place in 0..domain.facts {
                start = start.set(&name(place), false);
                if is_set(domain.goal, place) {
                    goal = goal.requires(&name(place), true);
                }
            }
            let actions: Vec<Action> = (0..)
                .zip(&domain.operators)
                .map(|(number, operator): (u32, _)| {
                    let mut action = Action::new(&format!("o{number}")).cost(operator.cost.into());
                    for place in 0..domain.facts {
                        if is_set(operator.mask, place) {
                            action = action.requires(&name(place), is_set(operator.value, place));
                        }
                        if is_set(operator.set_mask, place) {
                            action = action.sets(&name(place), is_set(operator.set_value, place));
                        }
                    }
                    action.build()
                })
                .collect();
            (start.build(), actions, goal.build())
        });
        let prepared = prepared.collect();
        contender("goap", domains, prepared, |_, (start, actions, goal)| {
            let plan = Planner::new().plan(start.clone(), goal, actions);
            plan.map_or(u32::MAX, |plan| plan.cost.round() as u32)
        })
    }
}
