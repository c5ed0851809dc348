//! Decision records of utility agents.

use formic_ecs::Entity;

use super::reasoner::{Options, Reasoner};
use crate::explain::{Candidate, Decision, DecisionLog, Engine, Recall, Stopped, Verdict};

/// The data behind a decision, apart from the reasoner.
pub(super) struct Choice<'a> {
    /// The option that ran before the decision.
    pub(super) before: Option<usize>,
    /// The option that runs after it.
    pub(super) chosen: Option<usize>,
    pub(super) inputs: &'a [f32],
    /// For each option, the number of decisions for which it is unavailable; empty if there are no
    /// cooldowns.
    pub(super) cooldowns: &'a [u32],
}

/// Encodes the absence of an option.
const NO_OPTION: u32 = u32::MAX;

impl Reasoner {
    /// Records the inputs of a decision if the agent is watched. The scores are computed again when the
    /// record is read.
    #[cold]
    pub(super) fn note(&self, log: &DecisionLog, tick: u64, agent: Entity, choice: &Choice<'_>) {
        let option = |option: Option<usize>| {
            option.and_then(|option| u32::try_from(option).ok()).unwrap_or(NO_OPTION)
        };
        let inputs = &choice.inputs[..self.input_count()];
        let facts = [option(choice.before), option(choice.chosen)].into_iter();
        let facts = facts.chain(inputs.iter().map(|input| input.to_bits()));
        let facts = facts.chain(choice.cooldowns.iter().copied());
        log.note_facts(agent, tick, Engine::Utility, (&self.options, facts));
    }
}

impl Recall for Options {
    fn recall(&self, facts: &[u32], decision: &mut Decision) {
        let (ends, facts) = facts.split_at(2);
        let option = |fact: u32| (fact != NO_OPTION).then_some(fact as usize);
        let (before, chosen) = (option(ends[0]), option(ends[1]));
        let inputs_wanted = self.iter().map(|spec| spec.utility.inputs_wanted()).max();
        let (inputs, cooldowns) = facts.split_at(inputs_wanted.unwrap_or(0));
        let inputs: Vec<f32> = inputs.iter().copied().map(f32::from_bits).collect();
        self.record(&Choice { before, chosen, inputs: &inputs, cooldowns }, decision);
    }
}

impl Options {
    fn record(&self, choice: &Choice<'_>, decision: &mut Decision) {
        let rank = choice.chosen.map(|chosen| self[chosen].utility.rank);
        for (option, spec) in self.iter().enumerate() {
            let utility = &spec.utility;
            let base = utility.score(choice.inputs);
            let runs = choice.before == Some(option);
            let cooling = choice.cooldowns.get(option).copied().filter(|&left| !runs && left > 0);
            let score = match cooling {
                Some(_) => 0.0,
                None if runs => utility.running(base, choice.inputs),
                None => base,
            };
            let verdict = match cooling {
                _ if choice.chosen == Some(option) => Verdict::Chosen,
                Some(decisions) => Verdict::Cooling { decisions },
                None if score <= 0.0 => Verdict::Worthless,
                None if rank.is_some_and(|rank| utility.rank < rank) => Verdict::Outranked,
                None => Verdict::Beaten,
            };
            let bonus = if runs { score - base } else { 0.0 };
            let candidate = Candidate::new(spec.name.clone(), verdict).score(score).bonus(bonus);
            decision.candidate(candidate.rank(utility.rank));
            utility.record_factors(option, choice.inputs, decision);
        }
        let left = choice.before.filter(|_| choice.before != choice.chosen);
        if let Some(left) = left.and_then(|left| self.get(left)) {
            let by = choice.chosen.map(|chosen| &*self[chosen].name);
            decision.stopped.push(Stopped::interrupted(left.name.clone(), by));
        }
    }
}
