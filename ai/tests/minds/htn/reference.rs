//! Plans of domains that were drawn by chance, against a decomposition that is tried out in full.

use formic_ai::goap::{Condition, Effect, Fact, Facts, NoPlan, Operator};
use formic_ai::htn::{Domain, DomainBuilder, Method, Plan, Preference};
use formic_ecs::RandomStream;

/// A number below the bound.
fn below(random: &mut RandomStream, bound: u32) -> u32 {
    u32::try_from(random.below(bound.into())).unwrap()
}

/// A domain as the reference knows it: without any of the planner's own code.
#[derive(Clone, Debug)]
struct Spec {
    facts: Vec<u32>,
    operators: Vec<SpecOperator>,
    /// For each compound task its methods.
    compounds: Vec<Vec<SpecMethod>>,
}

#[derive(Clone, Debug)]
struct SpecOperator {
    needs: Vec<(usize, u32)>,
    effects: Vec<(usize, char, u32)>,
    cost: u32,
}

#[derive(Clone, Debug)]
struct SpecMethod {
    needs: Vec<(usize, u32)>,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Operator(usize),
    Compound(usize),
}

/// Tasks name later ones alone, or themselves behind an operator that uses something up.
fn random_spec(random: &mut RandomStream) -> Spec {
    let facts: Vec<u32> = (0..3).map(|_| 1 + below(random, 3)).collect();
    let fact = |random: &mut RandomStream| below(random, 3) as usize;
    let needs = |random: &mut RandomStream| -> Vec<(usize, u32)> {
        (0..below(random, 2))
            .map(|_| {
                let fact = fact(random);
                (fact, below(random, facts[fact] + 1))
            })
            .collect()
    };
    let operators = (0..5)
        .map(|_| {
            let effect = fact(random);
            let change = ['=', '+', '-'][below(random, 3) as usize];
            let amount = below(random, facts[effect] + 1);
            let effects = vec![(effect, change, amount)];
            SpecOperator { needs: needs(random), effects, cost: below(random, 6) }
        })
        .collect();
    let compounds = (0..4)
        .map(|compound| {
            (0..1 + below(random, 3))
                .map(|_| {
                    let mut tasks: Vec<Task> = (0..below(random, 4))
                        .map(|_| match below(random, 2) {
                            0 if compound < 3 => {
                                let later = u32::try_from(3 - compound).unwrap();
                                Task::Compound(compound + 1 + below(random, later) as usize)
                            }
                            _ => Task::Operator(below(random, 5) as usize),
                        })
                        .collect();
                    if below(random, 4) == 0 {
                        tasks.insert(0, Task::Operator(below(random, 5) as usize));
                        tasks.push(Task::Compound(compound));
                    }
                    SpecMethod { needs: needs(random), tasks }
                })
                .collect()
        })
        .collect();
    Spec { facts, operators, compounds }
}

fn domain(spec: &Spec, preference: Preference) -> Domain {
    let mut facts = Facts::new();
    let numbers: Vec<Fact> = spec
        .facts
        .iter()
        .enumerate()
        .map(|(it, &max)| facts.number(format!("f{it}"), max))
        .collect();
    let condition = |&(fact, value): &(usize, u32)| -> Condition { numbers[fact].at_least(value) };
    let effect = |&(fact, change, amount): &(usize, char, u32)| -> Effect {
        match change {
            '=' => numbers[fact].set(amount),
            '+' => numbers[fact].add(amount),
            _ => numbers[fact].subtract(amount),
        }
    };
    let name = |task: &Task| match task {
        Task::Operator(it) => format!("o{it}"),
        Task::Compound(it) => format!("c{it}"),
    };
    let mut builder = DomainBuilder::new(facts).prefer(preference);
    for (it, spec) in spec.operators.iter().enumerate() {
        let operator = Operator::new(format!("o{it}")).cost(spec.cost);
        let operator = spec.needs.iter().map(condition).fold(operator, Operator::when);
        builder = builder.operator(spec.effects.iter().map(effect).fold(operator, Operator::then));
    }
    for (compound, methods) in spec.compounds.iter().enumerate() {
        for (it, spec) in methods.iter().enumerate() {
            let method = Method::new(format!("c{compound}"), format!("m{it}"));
            let method = spec.needs.iter().map(condition).fold(method, Method::when);
            builder = builder.method(spec.tasks.iter().map(name).fold(method, Method::task));
        }
    }
    builder.build("c0").unwrap()
}

const COST_MAX: u64 = 30;
const STEPS_MAX: usize = 8;

/// All plans for these tasks, in the order of the methods: as far as so many steps.
fn all_plans(
    spec: &Spec,
    state: &[u32],
    tasks: &[Task],
    steps: &mut Vec<usize>,
    is_cut: &mut bool,
    found: &mut Vec<Vec<usize>>,
) {
    if found.len() > 5_000 {
        *is_cut = true;
        return;
    }
    let Some((first, rest)) = tasks.split_first() else {
        found.push(steps.clone());
        return;
    };
    let hold =
        |needs: &[(usize, u32)], state: &[u32]| needs.iter().all(|&(fact, it)| state[fact] >= it);
    match *first {
        Task::Operator(it) => {
            if steps.len() == STEPS_MAX {
                *is_cut = true;
                return;
            }
            let operator = &spec.operators[it];
            if !hold(&operator.needs, state) {
                return;
            }
            let mut changed = state.to_vec();
            for &(fact, change, amount) in &operator.effects {
                let value = i64::from(state[fact]);
                let value = match change {
                    '=' => i64::from(amount),
                    '+' => value + i64::from(amount),
                    _ => value - i64::from(amount),
                };
                if !(0..=i64::from(spec.facts[fact])).contains(&value) {
                    return;
                }
                changed[fact] = u32::try_from(value).unwrap();
            }
            steps.push(it);
            all_plans(spec, &changed, rest, steps, is_cut, found);
            steps.pop();
        }
        Task::Compound(it) => {
            for method in spec.compounds[it].iter().filter(|it| hold(&it.needs, state)) {
                let tasks: Vec<Task> = method.tasks.iter().chain(rest).copied().collect();
                all_plans(spec, state, &tasks, steps, is_cut, found);
            }
        }
    }
}

fn steps(plan: &Plan, domain: &Domain) -> Vec<usize> {
    plan.names(domain).map(|name| name[1..].parse().unwrap()).collect()
}

/// Facts to start with, whether there are longer plans than are tried out, and all others.
fn tried_out(random: &mut RandomStream, spec: &Spec) -> (Vec<u32>, bool, Vec<Vec<usize>>) {
    let start: Vec<u32> = spec.facts.iter().map(|&max| below(random, max + 1)).collect();
    let (mut is_cut, mut all) = (false, Vec::new());
    all_plans(spec, &start, &[Task::Compound(0)], &mut Vec::new(), &mut is_cut, &mut all);
    (start, is_cut, all)
}

#[test]
fn the_cheapest_plan_costs_what_trying_out_everything_finds() {
    let mut judged = [0, 0];
    for seed in 0..3_000 {
        let random = &mut RandomStream::new(seed);
        let spec = random_spec(random);
        let (start, is_cut, all) = tried_out(random, &spec);
        if is_cut {
            continue;
        }
        let cost = |plan: &Vec<usize>| -> u64 {
            plan.iter().map(|&it| u64::from(spec.operators[it].cost)).sum()
        };
        let cheapest = domain(&spec, Preference::Cheapest);
        let plan = cheapest.plan(&start);
        match all.iter().map(cost).min() {
            None => {
                judged[0] += 1;
                assert_eq!(plan, Err(NoPlan::Unreachable), "seed {seed}: {spec:?}");
            }
            Some(least) => {
                judged[1] += 1;
                assert!(least <= COST_MAX * 2, "seed {seed}");
                let plan = plan.unwrap();
                assert_eq!(plan.cost, least, "seed {seed}: {spec:?}");
                let steps = steps(&plan, &cheapest);
                assert!(all.contains(&steps), "seed {seed}: {steps:?} is no decomposition");
                assert_eq!(cost(&steps), least, "seed {seed}");
            }
        }
    }
    assert!(judged.iter().all(|&count| count > 300), "{judged:?}");
}

#[test]
fn the_first_plan_is_the_one_that_the_order_of_the_methods_names() {
    let mut judged = 0;
    for seed in 0..3_000 {
        let random = &mut RandomStream::new(seed);
        let spec = random_spec(random);
        let (start, is_cut, all) = tried_out(random, &spec);
        if is_cut {
            continue;
        }
        let ordered = domain(&spec, Preference::Order);
        let plan = ordered.plan(&start).ok().map(|plan| steps(&plan, &ordered));
        assert_eq!(plan, all.first().cloned(), "seed {seed}: {spec:?}");
        judged += usize::from(plan.is_some());
    }
    assert!(judged > 300, "{judged}");
}

#[test]
fn where_a_search_is_cut_does_not_matter() {
    for seed in 0..500 {
        let random = &mut RandomStream::new(seed);
        let spec = random_spec(random);
        let start: Vec<u32> = spec.facts.iter().map(|&max| below(random, max + 1)).collect();
        for preference in [Preference::Order, Preference::Cheapest] {
            let domain = domain(&spec, preference);
            let costs = |it: usize| spec.operators[it].cost;
            let mut planning = domain.begin(|fact| start[fact], costs);
            let plan = loop {
                let slice = 1 + below(random, 3) as usize;
                if let Some(plan) = domain.go_on(&mut planning, slice) {
                    break plan;
                }
            };
            assert_eq!(plan, domain.plan(&start), "seed {seed}");
        }
    }
}

#[test]
fn of_plans_that_cost_the_same_it_is_always_the_same_one() {
    // The first by the order of the methods, where there is nothing else between them.
    let choice = |names: [&str; 2]| {
        let mut facts = Facts::new();
        let there = facts.flag("there");
        let by = |name: &str| Operator::new(name).then(there.becomes(true)).cost(3);
        let builder = DomainBuilder::new(facts).operator(by("walk")).operator(by("ride"));
        let method = |name: &str| Method::new("go", name).task(name);
        let builder = builder.method(method(names[0])).method(method(names[1]));
        let domain = builder.prefer(Preference::Cheapest).build("go").unwrap();
        domain.plan(&[0]).unwrap().names(&domain).next().unwrap().to_owned()
    };
    assert_eq!(
        (choice(["walk", "ride"]), choice(["ride", "walk"])),
        ("walk".into(), "ride".into())
    );

    let mut ties = 0;
    let mut hasher = formic_ecs::StateHasher::new();
    for seed in 0..1_000 {
        let random = &mut RandomStream::new(seed);
        let mut spec = random_spec(random);
        // Few costs and small ones, so that many plans cost the same.
        spec.operators.iter_mut().for_each(|operator| operator.cost /= 4);
        let (start, _, all) = tried_out(random, &spec);
        let first = domain(&spec, Preference::Cheapest);
        let Ok(plan) = first.plan(&start) else { continue };
        let cost = |plan: &Vec<usize>| -> u64 {
            plan.iter().map(|&it| u64::from(spec.operators[it].cost)).sum()
        };
        let mut cheapest: Vec<_> = all.iter().filter(|it| cost(it) == plan.cost).collect();
        cheapest.sort();
        cheapest.dedup();
        ties += usize::from(cheapest.len() > 1);
        // Made anew, cut anywhere, on another thread.
        let again = domain(&spec, Preference::Cheapest);
        assert_eq!(again.plan(&start).as_ref(), Ok(&plan), "seed {seed}: {spec:?}");
        let costs = |it: usize| spec.operators[it].cost;
        let mut planning = again.begin(|fact| start[fact], costs);
        let cut = loop {
            if let Some(cut) = again.go_on(&mut planning, 1 + below(random, 3) as usize) {
                break cut;
            }
        };
        assert_eq!(cut.as_ref(), Ok(&plan), "seed {seed}: {spec:?}");
        let elsewhere =
            std::thread::scope(|scope| scope.spawn(|| again.plan(&start)).join().unwrap());
        assert_eq!(elsewhere.as_ref(), Ok(&plan), "seed {seed}: {spec:?}");
        plan.operators.iter().for_each(|&it| hasher.write_u64(it as u64));
    }
    assert!(ties > 60, "{ties} ties");
    // In every process.
    assert_eq!(hasher.finish(), 4_063_892_276_459_797_138);
}
