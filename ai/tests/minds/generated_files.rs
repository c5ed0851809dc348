//! Files of minds that were drawn by chance: what is read is the mind that code makes, and what is
//! written reads as the same.

use std::fmt::Debug;

use formic_ai::action::MindText;
use formic_ai::goap::{
    Condition, Effect, Fact, Facts, Goal, Operator, Planner, PlannerBuilder, PlannerFile,
};
use formic_ai::htn::{Domain, DomainBuilder, DomainFile, Method, Preference};
use formic_ai::prelude::*;
use formic_ai::utility::{Combine, Curve, Input, Reasoner, ReasonerFile, Select, Utility};

#[derive(Component, Clone)]
struct Deed;

/// What is drawn next.
struct Dice(RandomStream);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.0.below(bound.into())).unwrap()
    }

    fn is(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(u32::try_from(all.len()).unwrap()) as usize].clone()
    }

    fn float(&mut self) -> f32 {
        match self.below(8) {
            0 => self.pick(&[0.0, 1.0, 1e-20, 16_777_216.0, 0.1]),
            _ => self.0.between(0.0, 1.0),
        }
    }
}

/// A name that has to be escaped.
fn name(kind: &str, number: usize) -> String {
    format!("{kind} \"{number}\"\\ü\n")
}

/// `key: value, ` where it is not left out.
fn field(text: &mut String, key: &str, value: &dyn Debug) {
    *text += &format!("{key}: {value:?}, ");
}

fn debug(value: &impl Debug) -> String {
    format!("{value:?}")
}

/// Facts with their names and highest values, and the list of a file.
fn draw_facts(dice: &mut Dice) -> (Facts, Vec<(Fact, String, u32)>, String) {
    let mut facts = Facts::new();
    let all: Vec<_> = (0..2 + dice.below(3) as usize)
        .map(|number| {
            let (name, value_max) = (name("fact", number), dice.pick(&[1, 1, 2, 5]));
            (facts.number(name.clone(), value_max), name, value_max)
        })
        .collect();
    let pairs: Vec<(&String, u32)> = all.iter().map(|(_, name, max)| (name, *max)).collect();
    let text = format!("facts: {pairs:?}, ");
    (facts, all, text)
}

/// Conditions about some of the facts.
fn draw_conditions(
    dice: &mut Dice,
    facts: &[(Fact, String, u32)],
    text: &mut String,
) -> Vec<Condition> {
    let (mut conditions, mut entries) = (Vec::new(), String::new());
    for (fact, name, value_max) in facts {
        if dice.below(3) > 0 {
            continue;
        }
        let value = dice.below(value_max + 1);
        let (condition, entry) = match dice.below(5) {
            0 => (fact.is(value > 0), format!("Is({})", value > 0)),
            1 => (fact.equals(value), format!("Equals({value})")),
            2 => (fact.differs_from(value), format!("Differs({value})")),
            3 => (fact.at_least(value), format!("AtLeast({value})")),
            _ => (fact.at_most(value), format!("AtMost({value})")),
        };
        conditions.push(condition);
        entries += &format!("({name:?}, {entry}), ");
    }
    *text += &format!("when: [{entries}], ");
    conditions
}

fn draw_effects(dice: &mut Dice, facts: &[(Fact, String, u32)], text: &mut String) -> Vec<Effect> {
    let (mut effects, mut entries) = (Vec::new(), String::new());
    for (fact, name, value_max) in facts {
        if dice.is() {
            continue;
        }
        let value = dice.below(value_max + 1);
        let (effect, entry) = match dice.below(4) {
            0 => (fact.becomes(value > 0), format!("Becomes({})", value > 0)),
            1 => (fact.set(value), format!("Set({value})")),
            2 => (fact.add(value), format!("Add({value})")),
            _ => (fact.subtract(value), format!("Subtract({value})")),
        };
        effects.push(effect);
        entries += &format!("({name:?}, {entry}), ");
    }
    *text += &format!("then: [{entries}], ");
    effects
}

fn draw_operators(
    dice: &mut Dice,
    facts: &[(Fact, String, u32)],
    text: &mut String,
) -> Vec<Operator> {
    *text += "operators: [";
    let operators = (0..1 + dice.below(4) as usize).map(|number| {
        *text += &format!("(name: {:?}, ", name("operator", number));
        let operator = Operator::new(name("operator", number));
        let conditions = draw_conditions(dice, facts, text).into_iter();
        let operator = conditions.fold(operator, Operator::when);
        let effects = draw_effects(dice, facts, text).into_iter();
        let mut operator = effects.fold(operator, Operator::then);
        if dice.is() {
            let cost = dice.below(9);
            operator = operator.cost(cost);
            field(text, "cost", &cost);
        }
        *text += "), ";
        operator
    });
    let operators = operators.collect();
    *text += "], ";
    operators
}

const STATES: [usize; 2] = [1 << 16, 77];

fn draw_planner(dice: &mut Dice) -> (Planner, String) {
    let (facts, all, mut text) = draw_facts(dice);
    text = format!("({text}");
    let operators = draw_operators(dice, &all, &mut text);
    let builder = PlannerBuilder::new(facts);
    let mut builder = operators.into_iter().fold(builder, PlannerBuilder::operator);
    text += "goals: [";
    for number in 0..1 + dice.below(3) as usize {
        text += &format!("(name: {:?}, ", name("goal", number));
        let conditions = draw_conditions(dice, &all, &mut text).into_iter();
        let mut goal = conditions.fold(Goal::new(name("goal", number)), Goal::when);
        if dice.is() {
            let priority = i32::try_from(dice.below(7)).unwrap() - 3;
            goal = goal.priority(priority);
            field(&mut text, "priority", &priority);
        }
        text += "), ";
        builder = builder.goal(goal);
    }
    text += "], ";
    if dice.is() {
        let states = dice.pick(&STATES);
        builder = builder.states_max(states);
        field(&mut text, "states_max", &states);
    }
    (builder.build().unwrap(), text + ")")
}

#[test]
fn planners_of_text_are_those_of_code_and_are_written_as_they_are_read() {
    for seed in 0..400 {
        let (planner, text) = draw_planner(&mut Dice(RandomStream::new(seed)));
        let file = PlannerFile::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let written = file.to_text();
        assert_eq!(PlannerFile::parse(&written).unwrap(), file, "seed {seed}: {text}\n{written}");
        for text in [&text, &written] {
            let read = Planner::parse(text).unwrap();
            assert_eq!(debug(&read), debug(&planner), "seed {seed}: {text}");
        }
    }
}

fn draw_domain(dice: &mut Dice) -> (Domain, String) {
    let (facts, all, mut text) = draw_facts(dice);
    text = format!("({text}");
    let operators = draw_operators(dice, &all, &mut text);
    let operator_count = operators.len();
    let mut builder = DomainBuilder::new(facts);
    builder = operators.into_iter().fold(builder, DomainBuilder::operator);
    let compound_count = 1 + dice.below(3) as usize;
    text += "methods: [";
    for compound in 0..compound_count {
        for number in 0..1 + dice.below(3) as usize {
            let (of, own) = (name("task", compound), name("method", number));
            text += &format!("(of: {of:?}, name: {own:?}, ");
            let conditions = draw_conditions(dice, &all, &mut text).into_iter();
            let mut method = conditions.fold(Method::new(of, own), Method::when);
            let mut tasks: Vec<String> = Vec::new();
            for _ in 0..dice.below(4) {
                // A task names later ones alone, so that it cannot begin with itself.
                let later = compound + 1 + dice.below(3) as usize;
                let task = match dice.below(3) {
                    0 => "...".into(),
                    1 if later < compound_count => name("task", later),
                    _ => name(
                        "operator",
                        dice.below(u32::try_from(operator_count).unwrap()) as usize,
                    ),
                };
                method = if task == "..." { method.pause() } else { method.task(task.clone()) };
                tasks.push(task);
            }
            field(&mut text, "tasks", &tasks);
            text += "), ";
            builder = builder.method(method);
        }
    }
    text += "], ";
    let root = name("task", 0);
    field(&mut text, "root", &root);
    if dice.is() {
        let preference = dice.pick(&[Preference::Order, Preference::Cheapest]);
        builder = builder.prefer(preference);
        field(&mut text, "prefer", &preference);
    }
    if dice.is() {
        let states = dice.pick(&STATES);
        builder = builder.states_max(states);
        field(&mut text, "states_max", &states);
    }
    (builder.build(&root).unwrap(), text + ")")
}

#[test]
fn domains_of_text_are_those_of_code_and_are_written_as_they_are_read() {
    for seed in 0..400 {
        let (domain, text) = draw_domain(&mut Dice(RandomStream::new(seed)));
        let file = DomainFile::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let written = file.to_text();
        assert_eq!(DomainFile::parse(&written).unwrap(), file, "seed {seed}: {text}\n{written}");
        for text in [&text, &written] {
            let read = Domain::parse(text).unwrap();
            assert_eq!(debug(&read), debug(&domain), "seed {seed}: {text}");
        }
    }
}

fn draw_curve(dice: &mut Dice) -> (Curve, String) {
    loop {
        let (curve, text) = draw_any_curve(dice);
        if curve.is_sound() {
            return (curve, text);
        }
    }
}

fn draw_any_curve(dice: &mut Dice) -> (Curve, String) {
    let (a, b, c) = (dice.float(), dice.float(), dice.float());
    match dice.below(11) {
        0 => (Curve::linear(a, b), format!("Linear({a:?}, {b:?})")),
        1 => (Curve::exponential(a), format!("Exponential({a:?})")),
        2 => (Curve::fast_then_slow(a), format!("FastThenSlow({a:?})")),
        3 => (Curve::polynomial(a, 3, b, c), format!("Polynomial({a:?}, 3, {b:?}, {c:?})")),
        4 => (Curve::growth(a), format!("Growth({a:?})")),
        5 => (Curve::logistic(a, b), format!("Logistic({a:?}, {b:?})")),
        6 => (Curve::logit(a, b), format!("Logit({a:?}, {b:?})")),
        7 => (Curve::normal(a, b), format!("Normal({a:?}, {b:?})")),
        8 => (Curve::sine(a, b), format!("Sine({a:?}, {b:?})")),
        9 => (Curve::step(a), format!("Step({a:?})")),
        _ => {
            let points = [(0.1, a), (0.5, b), (0.9, c)];
            (Curve::piecewise(points), format!("Piecewise({points:?})"))
        }
    }
}

const INPUTS: [&str; 3] = ["hunger", "a \"second\" one", "the last\none"];

fn draw_utility(dice: &mut Dice, text: &mut String) -> Utility {
    let combine = [Combine::Product, Combine::WeightedSum, Combine::Minimum, Combine::Maximum];
    let combine = dice.pick(&combine);
    // A product is what a utility is where nothing is said; it begins with its first consideration.
    let start = match combine {
        Combine::WeightedSum => Some(Utility::sum()),
        Combine::Minimum => Some(Utility::minimum()),
        Combine::Maximum => Some(Utility::maximum()),
        _ => None,
    };
    if start.is_some() || dice.is() {
        field(text, "combine", &combine);
    }
    *text += "considerations: [";
    let mut utility = start;
    for _ in 0..1 + dice.below(3) {
        let input = dice.below(3) as usize;
        let (mut curve, entry) = draw_curve(dice);
        *text += &format!("(input: {:?}, curve: {entry}, ", INPUTS[input]);
        if dice.is() {
            curve = curve.inverted();
            field(text, "inverted", &true);
        }
        utility = Some(match utility {
            None => Utility::of(Input::named(INPUTS)[input], curve),
            Some(utility) if dice.is() => {
                let weight = dice.float();
                field(text, "weight", &weight);
                utility.weighted(weight, Input::named(INPUTS)[input], curve)
            }
            Some(utility) => utility.and(Input::named(INPUTS)[input], curve),
        });
        *text += "), ";
    }
    *text += "], ";
    let mut utility = utility.unwrap();
    if dice.is() {
        utility = utility.compensated();
        field(text, "compensated", &true);
    }
    type Set = fn(Utility, f32) -> Utility;
    let settings: [(&str, Set); 3] = [
        ("weight", |utility, value| utility.weight(value)),
        ("inertia", |utility, value| utility.inertia(value)),
        ("momentum", |utility, value| utility.momentum(1.0 + value)),
    ];
    for (key, set) in settings {
        if dice.is() {
            let value = dice.0.between(0.0, 1.0);
            utility = set(utility, value);
            let said = if key == "momentum" { 1.0 + value } else { value };
            field(text, key, &said);
        }
    }
    if dice.is() {
        let rank = i32::try_from(dice.below(5)).unwrap() - 2;
        let cooldown = dice.below(9);
        utility = utility.rank(rank).cooldown(cooldown);
        field(text, "rank", &rank);
        field(text, "cooldown", &cooldown);
    }
    if dice.is() {
        let (input, at_most) = (dice.below(3) as usize, dice.0.between(0.0, 1.0));
        utility = utility.until(Input::named(INPUTS)[input], at_most);
        field(text, "until", &(INPUTS[input], at_most));
    }
    utility
}

fn draw_reasoner(dice: &mut Dice, actions: &ActionSet) -> (Reasoner, String) {
    let mut text = String::from("(");
    let mut reasoner = Reasoner::new();
    if dice.is() {
        let select = dice.pick(&[Select::Highest, Select::FirstAbove(0.3), Select::WeightedRandom]);
        reasoner = reasoner.select(select);
        field(&mut text, "select", &select);
    }
    text += "options: [";
    for number in 0..1 + dice.below(3) as usize {
        text += &format!("(name: {:?}, ", name("deed", number));
        let utility = draw_utility(dice, &mut text);
        text += "), ";
        reasoner = reasoner.option(name("deed", number), utility);
    }
    (reasoner.bind(actions).unwrap(), text + "])")
}

#[test]
fn reasoners_of_text_are_those_of_code_and_are_written_as_they_are_read() {
    let names = (0..3).map(|number| name("deed", number));
    let actions = names.fold(ActionSet::new(), |set, name| set.action(name, Deed));
    for seed in 0..400 {
        let (reasoner, text) = draw_reasoner(&mut Dice(RandomStream::new(seed)), &actions);
        let file = ReasonerFile::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let written = file.to_text();
        assert_eq!(ReasonerFile::parse(&written).unwrap(), file, "seed {seed}: {text}\n{written}");
        for text in [&text, &written] {
            let read = Reasoner::parse(text, &INPUTS, &actions).unwrap();
            assert_eq!(debug(&read), debug(&reasoner), "seed {seed}: {text}");
        }
    }
}
