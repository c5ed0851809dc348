//! Decisions as sentences.

use std::fmt::{self, Write};
use std::ptr;

use formic_ecs::Entity;

use super::decision::{Candidate, Decision, Ended, Engine, RuleVerdict, Stopped, Verdict};

impl Decision {
    /// The decision as a sentence. `who` is the name of the agent.
    ///
    /// ```
    /// use formic_ai::explain::{Candidate, DecisionLog, Engine, Stopped, Verdict};
    /// use formic_ai::prelude::*;
    /// let mut world = World::new();
    /// let cat = world.spawn(());
    /// let mut log = DecisionLog::new();
    /// log.watch(cat, "Cat", 16);
    /// log.note(cat, 40, Engine::Utility, |decision| {
    ///     decision.candidate(Candidate::new("eat", Verdict::Chosen).score(0.81));
    ///     decision.candidate(Candidate::new("sleep", Verdict::Beaten).score(0.44));
    ///     decision.stopped.push(Stopped::interrupted("play", Some("eat")));
    /// });
    /// assert_eq!(
    ///     log.sentences(cat),
    ///     ["Tick 40: Cat#0 chose eat 0.81 over sleep 0.44; play stopped: interrupted by eat."]
    /// );
    /// ```
    #[must_use]
    pub fn sentence(&self, who: &str) -> String {
        self.sentence_with(who, |entity| format!("entity {}", entity.index()))
    }

    /// The decision as a sentence, with the names of other entities.
    #[must_use]
    pub fn sentence_with(&self, who: &str, name: impl Fn(Entity) -> String) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        if self.write(&mut text, who, &name).is_err() {
            unreachable!("there is memory for it, or there would be no program");
        }
        text
    }

    fn write(&self, out: &mut String, who: &str, name: &dyn Fn(Entity) -> String) -> fmt::Result {
        // Turns are counted by themselves: a tick of a game may take many.
        let moment = if self.engine == Engine::Rules { "Turn" } else { "Tick" };
        write!(out, "{moment} {}: {who} ", self.tick)?;
        self.write_choice(out)?;
        if let Some(place) = self.candidates.iter().position(|it| it.verdict == Verdict::Chosen) {
            for (count, factor) in self.factors_of(place).enumerate() {
                out.push_str(if count == 0 { ": " } else { ", " });
                write!(out, "{} {:.2} -> {} -> ", factor.name, factor.input, factor.curve)?;
                write!(out, "{:.2}", factor.score)?;
                if factor.weight != 1.0 {
                    write!(out, " at a weight of {}", factor.weight)?;
                }
            }
            let bonus = self.candidates[place].bonus;
            if bonus > 0.0 {
                write!(out, ", {bonus:.2} of it because it was running")?;
            }
        }
        if let Some(cause) = &self.cause {
            write!(out, ", because {cause}")?;
        }
        if let Some(plan) = &self.plan {
            let steps: Vec<&str> = plan.steps.iter().map(|step| &**step).collect();
            write!(out, "; the plan is {} at a cost of {}", list(&steps), plan.cost)?;
            write!(out, ", found after {} states", plan.searched)?;
        }
        self.write_others(out)?;
        for rule in &self.rules {
            match &rule.verdict {
                RuleVerdict::Accepted if rule.reactions.is_empty() && !rule.stops => continue,
                RuleVerdict::Accepted => write!(out, "; the rule {} said yes", rule.rule)?,
                RuleVerdict::Rejected => write!(out, "; the rule {} said no", rule.rule)?,
                RuleVerdict::Rewritten { to } => {
                    write!(out, "; the rule {} made it {to}", rule.rule)?;
                }
            }
            if !rule.reactions.is_empty() {
                let reactions: Vec<&str> = rule.reactions.iter().map(|it| &**it).collect();
                write!(out, " and asked for {}", list(&reactions))?;
            }
            if rule.stops {
                out.push_str(", the last that was asked");
            }
        }
        for stopped in &self.stopped {
            write!(out, "; {stopped}")?;
        }
        self.write_sleep(out, name)?;
        out.push('.');
        Ok(())
    }

    fn write_choice(&self, out: &mut String) -> fmt::Result {
        let verb = match self.engine {
            Engine::Machine => "went to",
            Engine::Tree | Engine::Activity => "does",
            Engine::Planner => "pursues",
            Engine::Sequence | Engine::Composite => "goes on with",
            Engine::Rules => "wanted to",
            Engine::Paths => "asked for",
            Engine::Utility | Engine::Other(_) => "chose",
        };
        let mut chosen = self.candidates.iter().filter(|it| it.verdict == Verdict::Chosen);
        match chosen.next() {
            None if self.blocked_since.is_some() => out.push_str("sleeps"),
            None if self.engine == Engine::Machine => write!(out, "stayed where it was")?,
            None => out.push_str("does nothing"),
            Some(first) => {
                let other = self.runner_up().filter(|_| first.score.is_some());
                let scores = first.score.zip(other.and_then(|it| it.score));
                let decimals = scores.map_or(DECIMALS, |(one, other)| decimals(one, other));
                write!(out, "{verb} {}", Scored(first, decimals))?;
                // A tree can do several things at once.
                for other in chosen {
                    write!(out, " and {}", Scored(other, DECIMALS))?;
                }
                if let Some(other) = other {
                    write!(out, " over {}", Scored(other, decimals))?;
                }
                let place =
                    |it: &Candidate| self.candidates.iter().position(|known| ptr::eq(known, it));
                if self.margin() == Some(0.0) && place(first) < other.and_then(place) {
                    out.push_str(" (equal: the first one wins)");
                }
            }
        }
        Ok(())
    }

    /// Writes about candidates that were not chosen for another reason than their score.
    fn write_others(&self, out: &mut String) -> fmt::Result {
        for (place, it) in self.candidates.iter().enumerate() {
            let name = &it.name;
            for factor in self.factors_of(place).filter(|factor| factor.input.is_nan()) {
                write!(out, "; {name} scores 0 by {}, which is NaN", factor.name)?;
            }
            match &it.verdict {
                Verdict::Cooling { decisions } => {
                    let plural = if *decisions == 1 { "" } else { "s" };
                    write!(out, "; {name} is cooling down for {decisions} more decision{plural}")?;
                }
                Verdict::Waits { on } => write!(out, "; {name} waits for {on}")?,
                Verdict::Refused { by } => write!(out, "; {name}: {by} said no")?,
                Verdict::Holds => write!(out, "; {name} holds already")?,
                Verdict::Unreachable => write!(out, "; {name} cannot be reached")?,
                Verdict::GaveUp => write!(out, "; {name} was given up")?,
                Verdict::Unfinished => write!(out, "; {name} is being planned")?,
                Verdict::Succeeded => write!(out, "; {name}: yes")?,
                Verdict::Failed => write!(out, "; {name}: no")?,
                Verdict::Running => write!(out, "; {name} goes on")?,
                Verdict::Chosen | Verdict::Beaten | Verdict::Outranked | Verdict::Worthless => {}
            }
        }
        Ok(())
    }

    fn write_sleep(&self, out: &mut String, name: &dyn Fn(Entity) -> String) -> fmt::Result {
        let Some(since) = self.blocked_since else { return Ok(()) };
        write!(out, "; asleep since tick {since}")?;
        for (count, wish) in self.subscriptions.iter().enumerate() {
            out.push_str(if count == 0 { ", waits for " } else { " or " });
            let event = wish.event.as_deref().unwrap_or("anything");
            match wish.subject {
                None => write!(out, "{event}")?,
                Some(subject) if subject == self.agent || subject == self.by => {
                    write!(out, "{}", own(event))?;
                }
                Some(subject) => write!(out, "{event} of {}", name(subject))?,
            }
        }
        Ok(())
    }
}

/// The name of an event that is about the agent itself: `the arrival` is `its own arrival`.
pub(crate) fn own(event: &str) -> String {
    match event.strip_prefix("the ") {
        Some(noun) => format!("its own {noun}"),
        None => format!("{event} of its own"),
    }
}

/// The default number of decimals of a score.
const DECIMALS: usize = 2;

/// The number of decimals that tells two scores apart; the default if they are equal.
fn decimals(one: f32, other: f32) -> usize {
    let differ = |&decimals: &usize| format!("{one:.decimals$}") != format!("{other:.decimals$}");
    (DECIMALS..=9).find(differ).unwrap_or(DECIMALS)
}

/// A candidate with its score, if it has one, to this many decimals.
struct Scored<'a>(&'a Candidate, usize);

impl fmt::Display for Scored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.score {
            Some(score) => write!(f, "{} {score:.*}", self.0.name, self.1),
            None => self.0.name.fmt(f),
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, ended, why } = self;
        match (ended, why) {
            (Ended::Success, _) => write!(f, "{what} is done"),
            (Ended::Failed, None) => write!(f, "{what} has failed"),
            (Ended::Failed, Some(why)) => write!(f, "{what} has failed: {why}"),
            (Ended::Interrupted, None) => write!(f, "{what} stopped: interrupted"),
            (Ended::Interrupted, Some(why)) => write!(f, "{what} stopped: {why}"),
        }
    }
}

/// The last segment of the path of a type.
pub(crate) fn short(name: &str) -> &str {
    let path = name.split('<').next().unwrap_or(name);
    let start = path.rfind("::").map_or(0, |place| place + 2);
    &name[start..]
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
