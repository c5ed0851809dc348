//! The ordered rules of a game, indexed by the component they look at.

use std::any::TypeId;
use std::sync::Arc;

use super::action::TurnAction;
use super::draft::TurnActionKind;
use super::error::RuleError;
use super::rule::{LooksAt, Rule};

/// All rules of a game, in the order in which they are asked.
pub(super) struct RuleBook<K: TurnActionKind> {
    pub(super) rules: Vec<Rule<K>>,
    pub(super) names: Vec<Arc<str>>,
    /// For each component the rules that look at its insertion, and those that look at its removal, one
    /// bit per rule.
    by_component: Vec<(TypeId, [Vec<u64>; 2])>,
    /// The rules that look at every action.
    always: Vec<u64>,
    /// The rules to ask about the current action.
    due: Vec<u64>,
}

impl<K: TurnActionKind> Default for RuleBook<K> {
    fn default() -> Self {
        let (rules, names, by_component) = (Vec::new(), Vec::new(), Vec::new());
        Self { rules, names, by_component, always: Vec::new(), due: Vec::new() }
    }
}

impl<K: TurnActionKind> RuleBook<K> {
    /// Orders the rules: as they were added, except that each comes after those that must precede it.
    pub(super) fn new(rules: Vec<Rule<K>>) -> Result<Self, RuleError> {
        let order = order(&rules)?;
        let mut slots: Vec<Option<Rule<K>>> = rules.into_iter().map(Some).collect();
        let rules: Vec<Rule<K>> = order.into_iter().filter_map(|it| slots[it].take()).collect();
        let words = rules.len().div_ceil(64);
        let mut book = Self {
            names: rules.iter().map(|rule| Arc::from(rule.name.as_str())).collect(),
            by_component: Vec::new(),
            always: vec![0; words],
            due: vec![0; words],
            rules: Vec::new(),
        };
        for (number, rule) in rules.iter().enumerate() {
            let mask = match rule.looks_at {
                LooksAt::Everything => &mut book.always,
                LooksAt::Inserted(component) => &mut book.masks(component)[0],
                LooksAt::Removed(component) => &mut book.masks(component)[1],
            };
            mask[number / 64] |= 1 << (number % 64);
        }
        book.rules = rules;
        Ok(book)
    }

    /// The masks of the rules that look at a component, to be extended.
    fn masks(&mut self, component: TypeId) -> &mut [Vec<u64>; 2] {
        let known = self.by_component.iter().position(|&(id, _)| id == component);
        let index = known.unwrap_or_else(|| {
            let none = vec![0; self.always.len()];
            self.by_component.push((component, [none.clone(), none]));
            self.by_component.len() - 1
        });
        &mut self.by_component[index].1
    }

    /// Finds the rules that an action concerns, without asking them.
    pub(super) fn look_up(&mut self, action: &TurnAction) {
        self.due.copy_from_slice(&self.always);
        for column in action.columns() {
            let known = self.by_component.iter().find(|&&(id, _)| id == column.component);
            let Some((_, masks)) = known else { continue };
            let mut changes = [false; 2];
            column.changes().iter().for_each(|it| changes[usize::from(!it.1)] = true);
            for (mask, _) in masks.iter().zip(changes).filter(|&(_, changes)| changes) {
                self.due.iter_mut().zip(mask).for_each(|(due, bits)| *due |= bits);
            }
        }
    }

    /// The first rule from this number on that the action concerns.
    pub(super) fn next_from(&self, number: usize) -> Option<usize> {
        let mut word = number / 64;
        let mut bits = self.due.get(word)? & (!0 << (number % 64));
        while bits == 0 {
            word += 1;
            bits = *self.due.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// The order of rules, by their numbers (Kahn's algorithm; among candidates, the one that was added
/// first).
fn order<K: TurnActionKind>(rules: &[Rule<K>]) -> Result<Vec<usize>, RuleError> {
    let find = |rule: &Rule<K>, name: &String| {
        rules
            .iter()
            .position(|other| other.name == *name)
            .ok_or_else(|| RuleError::Unknown { rule: rule.name.clone(), names: name.clone() })
    };
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); rules.len()];
    for (number, rule) in rules.iter().enumerate() {
        if rules[..number].iter().any(|other| other.name == rule.name) {
            return Err(RuleError::Duplicate(rule.name.clone()));
        }
        for name in &rule.before {
            predecessors[find(rule, name)?].push(number);
        }
        for name in &rule.behind {
            predecessors[number].push(find(rule, name)?);
        }
    }
    let mut order = Vec::with_capacity(rules.len());
    let mut is_done = vec![false; rules.len()];
    while order.len() < rules.len() {
        let is_free = |it: &usize| !is_done[*it] && predecessors[*it].iter().all(|&it| is_done[it]);
        let Some(next) = (0..rules.len()).find(is_free) else {
            let cycle = cycle(&predecessors, &is_done);
            return Err(RuleError::Cycle(
                cycle.into_iter().map(|it| rules[it].name.clone()).collect(),
            ));
        };
        is_done[next] = true;
        order.push(next);
    }
    Ok(order)
}

/// A cycle of rules, each of which precedes the next. Every rule that is not done has a predecessor that
/// is not done, so following predecessors arrives at some rule a second time.
fn cycle(predecessors: &[Vec<usize>], is_done: &[bool]) -> Vec<usize> {
    let mut path: Vec<usize> = Vec::new();
    let mut at = is_done.iter().position(|done| !done);
    while let Some(number) = at {
        if let Some(start) = path.iter().position(|&it| it == number) {
            let mut cycle = path.split_off(start);
            cycle.reverse();
            return cycle;
        }
        path.push(number);
        at = predecessors[number].iter().copied().find(|&it| !is_done[it]);
    }
    path
}
