//! Decision records of a domain: which methods were used, and why others were not.

use super::domain::{Domain, Preference};
use super::search::Plan;
use crate::explain::{Candidate, Verdict};

impl Domain {
    /// The methods of the root other than the one that was used, and why they were not used.
    pub(super) fn others(
        &self,
        method: Option<u32>,
        mut value: impl FnMut(usize) -> u32,
    ) -> Vec<Candidate> {
        let mut is_before = true;
        let mut others = Vec::new();
        for &other in self.methods_of(self.root) {
            if Some(other) == method {
                is_before = false;
                continue;
            }
            let missing = self.methods[other as usize].conditions.iter();
            let missing = missing.copied().find(|it| !it.holds_for(value(it.fact)));
            let verdict = match missing {
                Some(condition) => Verdict::Refused {
                    by: format!("its condition on {}", self.facts.name(condition.fact)).into(),
                },
                None if self.preference == Preference::Cheapest && method.is_some() => {
                    Verdict::Beaten
                }
                None if is_before => Verdict::Unreachable,
                None => Verdict::Outranked,
            };
            others.push(Candidate::new(self.method_name(other), verdict));
        }
        others
    }

    /// The method of the root that a plan uses, and the others.
    pub(super) fn candidates(
        &self,
        plan: &Plan,
        value: impl FnMut(usize) -> u32,
    ) -> Vec<Candidate> {
        let of_root = self.methods_of(self.root);
        let method = plan.methods.iter().copied().find(|it| of_root.contains(it));
        let name = match method {
            Some(method) => self.method_name(method),
            None => self.task_name(self.root).to_owned(),
        };
        let mut candidates = vec![Candidate::new(name, Verdict::Chosen)];
        candidates.extend(self.others(method, value));
        candidates
    }
}
