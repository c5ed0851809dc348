//! Turns in the decision log, beside the decisions of other minds.

use crate::explain::{
    Candidate, DecisionLog, Ended, Engine, Label, RuleRecord, RuleVerdict, Stopped, Verdict,
};

use super::draft::TurnActionKind;
use super::rule::{Answer, Checking};
use super::trace::{Cause, Fate, Trace, TracedRuling};

impl<K: TurnActionKind> Trace<K> {
    /// Records what the actors of this turn wanted to do, and the answer of each rule. Nothing is
    /// recorded for actors that are not watched.
    ///
    /// Call it after a turn, with the number of the turn. If turns can be undone, use the number of turns
    /// in the [log](super::Turns::log): after undoing, [`DecisionLog::forget_after`] with the remaining
    /// number drops the decisions that no longer happened.
    ///
    /// ```
    /// # use formic_ai::turn::{Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
    /// # use formic_ecs::prelude::*;
    /// use formic_ai::explain::DecisionLog;
    /// # #[derive(Clone, Debug)] struct Walk;
    /// # impl TurnActionKind for Walk {
    /// #     type Cell = ();
    /// #     fn bind(&self, _: &mut Draft<()>) -> Result<(), Refusal> { Ok(()) }
    /// # }
    /// # let mut world = World::new();
    /// let hero = world.spawn(());
    /// let rule = Rule::always("webs hold fast", |_, _| Ruling::reject());
    /// let mut turns = Turns::<Walk>::builder().rule(rule).build(&mut world)?;
    /// turns.schedule(hero, 0);
    /// let mut log = DecisionLog::new();
    /// log.watch(hero, "hero", 10);
    ///
    /// turns.take_turn(&mut world, hero, Walk, unseen)?;
    /// turns.trace().note(&log, turns.log().turns.len() as u64);
    /// let decision = log.last(hero).expect("it is watched");
    /// assert_eq!(&*decision.rejected_by().expect("a rule said no").rule, "webs hold fast");
    /// assert!(log.sentences(hero)[0].contains("webs hold fast"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn note(&self, log: &DecisionLog, turn: u64) {
        for (number, action) in self.actions().iter().enumerate() {
            let Cause::Decision(Some(actor)) = action.cause else { continue };
            log.note(actor, turn, Engine::Rules, |decision| {
                let name = |entity| log.name(entity);
                let kind = action.kind.describe(&name);
                decision.candidate(Candidate::new(kind, Verdict::Chosen));
                // The rulings on the decision, then on what it was rewritten to, and so on.
                let mut at = Some(number);
                while let Some(number) = at {
                    if let Fate::Refused(why) = &self.actions()[number].fate {
                        let what = self.actions()[number].kind.describe(&name);
                        let why = why.described(&name);
                        decision.stopped.push(Stopped::new(what, Ended::Failed).because(why));
                    }
                    let rulings = self.rulings(number).iter();
                    decision.rules.extend(rulings.map(|it| self.rule_record(log, number, it)));
                    at = self.rewritten(number);
                }
            });
        }
    }

    /// The action that an action was rewritten to.
    fn rewritten(&self, action: usize) -> Option<usize> {
        let is_rewrite = |&it: &usize| matches!(self.actions()[it].cause, Cause::Rewrite { .. });
        self.children(action).find(is_rewrite)
    }

    fn rule_record(&self, log: &DecisionLog, action: usize, ruling: &TracedRuling) -> RuleRecord {
        let name = |entity| log.name(entity);
        let label = |number: usize| Label::from(self.actions()[number].kind.describe(&name));
        let verdict = match ruling.said {
            Answer::Accept => RuleVerdict::Accepted,
            Answer::Reject => RuleVerdict::Rejected,
            Answer::Rewrite(()) => {
                // There is none if an earlier rule had rejected the action.
                let to = self.rewritten(action).map_or("nothing, too late".into(), label);
                RuleVerdict::Rewritten { to }
            }
        };
        let follows = |it: &usize| match self.actions()[*it].cause {
            Cause::Reaction { rule, .. } => rule == ruling.rule,
            _ => false,
        };
        RuleRecord {
            rule: self.rule_name(ruling.rule).to_owned().into(),
            verdict,
            stops: ruling.checking == Checking::StopChecking,
            reactions: self.children(action).filter(follows).map(label).collect(),
        }
    }
}
