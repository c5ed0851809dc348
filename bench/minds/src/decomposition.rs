//! Plans by methods, beside the same methods as functions that call each other.

use std::rc::Rc;

use formic_ai::goap::{Facts, Operator};
use formic_ai::htn::{Domain, DomainBuilder, Method};

use crate::harness::{Contender, Row};

/// Parcels to deliver and fuel, for each plan.
const STARTS: usize = 200;

pub(crate) fn rows() -> Vec<Row> {
    vec![Row::new("htn: deliver up to 16 parcels, 200 starts", None, || {
        let starts: Rc<Vec<[u32; 3]>> =
            Rc::new((0..STARTS as u32).map(|it| [1 + it % 16, it % 9, 0]).collect());
        let domain = domain();
        for start in starts.iter() {
            let ours = domain.plan(start).expect("there is one");
            let names: Vec<&str> = ours.names(&domain).collect();
            assert_eq!(names, by_hand(*start), "both make the same plan");
        }
        let (one, two) = (Rc::clone(&starts), starts);
        vec![
            Contender::new("formic", STARTS, move || {
                for start in one.iter() {
                    std::hint::black_box(domain.plan(start).is_ok());
                }
            }),
            Contender::new("recursion by hand", STARTS, move || {
                for start in two.iter() {
                    std::hint::black_box(by_hand(*start).len());
                }
            }),
        ]
    })]
}

fn domain() -> Domain {
    let mut facts = Facts::new();
    let parcels = facts.number("parcels", 16);
    let fuel = facts.number("fuel", 8);
    let loaded = facts.flag("loaded");
    let tasks =
        |method: Method, tasks: &[&str]| tasks.iter().fold(method, |it, &task| it.task(task));
    DomainBuilder::new(facts)
        .operator(
            Operator::new("load")
                .when(loaded.is(false))
                .then(loaded.becomes(true))
                .then(parcels.subtract(1)),
        )
        .operator(Operator::new("drive").when(fuel.at_least(2)).then(fuel.subtract(2)))
        .operator(Operator::new("unload").when(loaded.is(true)).then(loaded.becomes(false)))
        .operator(Operator::new("refuel").when(fuel.at_most(1)).then(fuel.set(8)))
        .method(Method::new("deliver all", "none is left").when(parcels.equals(0)))
        .method(tasks(Method::new("deliver all", "one more"), &["deliver one", "deliver all"]))
        .method(tasks(Method::new("deliver one", "at once"), &["load", "drive", "unload"]))
        .method(tasks(Method::new("deliver one", "refuel"), &["load", "refuel", "drive", "unload"]))
        .build("deliver all")
        .expect("it makes sense")
}

/// Parcels, fuel, and whether one is loaded.
type State = [u32; 3];

fn by_hand(start: State) -> Vec<&'static str> {
    let (mut state, mut plan) = (start, Vec::new());
    assert!(deliver_all(&mut state, &mut plan), "there is one");
    plan
}

fn deliver_all(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    state[0] == 0 || deliver_one(state, plan) && deliver_all(state, plan)
}

fn deliver_one(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    let (before, length) = (*state, plan.len());
    if load(state, plan) && drive(state, plan) && unload(state, plan) {
        return true;
    }
    *state = before;
    plan.truncate(length);
    load(state, plan) && refuel(state, plan) && drive(state, plan) && unload(state, plan)
}

fn load(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    let can = state[2] == 0 && state[0] > 0;
    if can {
        (state[2], state[0]) = (1, state[0] - 1);
        plan.push("load");
    }
    can
}

fn drive(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    let can = state[1] >= 2;
    if can {
        state[1] -= 2;
        plan.push("drive");
    }
    can
}

fn unload(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    let can = state[2] == 1;
    if can {
        state[2] = 0;
        plan.push("unload");
    }
    can
}

fn refuel(state: &mut State, plan: &mut Vec<&'static str>) -> bool {
    let can = state[1] <= 1;
    if can {
        state[1] = 8;
        plan.push("refuel");
    }
    can
}
