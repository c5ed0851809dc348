//! What a decision by utility leaves in the log.

use ecs_core::Entity;

use super::reasoner::Reasoner;
use crate::explain::{Candidate, Decision, DecisionLog, Ending, Engine, Verdict};

/// What an agent has decided by, as far as it is not in the reasoner.
pub(super) struct Choice<'a> {
    /// The option that ran before.
    pub(super) before: Option<usize>,
    /// The one that runs from now on.
    pub(super) chosen: Option<usize>,
    pub(super) inputs: &'a [f32],
    /// For each option how many decisions it is not to be had for; none where there are no
    /// cooldowns.
    pub(super) cooldowns: &'a [u32],
}

impl Reasoner {
    /// Writes a decision down if the agent is watched: works the scores out once more, one by one.
    #[cold]
    pub(super) fn note(&self, log: &DecisionLog, tick: u64, agent: Entity, choice: &Choice<'_>) {
        log.note(agent, tick, Engine::Utility, |decision| self.record(choice, decision));
    }

    fn record(&self, choice: &Choice<'_>, decision: &mut Decision) {
        let rank = choice.chosen.map(|chosen| self.options[chosen].utility.rank_value());
        for (option, spec) in self.options.iter().enumerate() {
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
                None if rank.is_some_and(|rank| utility.rank_value() < rank) => Verdict::Outranked,
                None => Verdict::Beaten,
            };
            let bonus = if runs { score - base } else { 0.0 };
            let candidate = Candidate::new(spec.name.clone(), verdict).score(score).bonus(bonus);
            decision.candidate(candidate.rank(utility.rank_value()));
            utility.record_factors(option, choice.inputs, decision);
        }
        if let Some(left) = choice.before.filter(|_| choice.before != choice.chosen) {
            let by = choice.chosen.map(|chosen| self.options[chosen].name.clone());
            decision.stop(self.options[left].name.clone(), Ending::Interrupted { by });
        }
    }
}
