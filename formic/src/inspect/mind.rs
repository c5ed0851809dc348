//! The last decisions of an agent's decision engines, in numbers for the page to draw.

use formic_ai::explain::{Candidate, Decision, DecisionLog, Engine, Verdict};
use formic_ecs::{Entity, World};
use serde_json::{Value, json};

/// Returns the last decision of each decision engine of an agent; none if they are not logged.
pub(super) fn minds(world: &World, agent: Entity) -> Vec<Value> {
    let Ok(log) = world.resource::<DecisionLog>() else { return Vec::new() };
    let decisions = log.decisions(agent);
    let mut known = Vec::new();
    let last = decisions.iter().enumerate().rev().filter(|(_, it)| {
        let mind = (it.by, it.engine);
        let is_last = !known.contains(&mind);
        known.push(mind);
        is_last
    });
    let mut minds: Vec<Value> = last
        .map(|(place, last)| match plan_of(&decisions[..place], last) {
            Some((decision, step)) => mind_json(log, decision, step),
            None => mind_json(log, last, 0),
        })
        .collect();
    minds.reverse();
    minds
}

/// Returns the decision whose plan the last one continues, and the current step of the plan.
fn plan_of<'a>(before: &'a [Decision], last: &Decision) -> Option<(&'a Decision, usize)> {
    let is_planned = |it: &&Decision| it.by == last.by && it.plan.is_some();
    let decision = before.iter().rfind(is_planned).filter(|_| last.engine == Engine::Planner)?;
    let chosen = &last.chosen()?.name;
    let steps = decision.plan.as_ref()?.steps.iter().enumerate();
    let mut steps =
        steps.filter(|(place, step)| chosen.ends_with(&format!("with {step}, step {}", place + 1)));
    Some((decision, steps.next()?.0))
}

fn mind_json(log: &DecisionLog, decision: &Decision, step: usize) -> Value {
    let candidates = decision.candidates.iter().enumerate();
    let candidates = candidates.map(|(place, it)| candidate_json(decision, place, it));
    let plan = decision.plan.as_ref().map(|plan| {
        let steps: Vec<&str> = plan.steps.iter().map(|step| &**step).collect();
        json!({ "steps": steps, "at": step, "cost": plan.cost, "searched": plan.searched })
    });
    json!({
        "tick": decision.tick,
        "mind": engine_name(decision.engine),
        "by": (decision.by != decision.agent).then(|| log.name(decision.by)),
        "cause": decision.cause.as_deref(),
        "candidates": candidates.collect::<Vec<_>>(),
        "plan": plan,
    })
}

fn candidate_json(decision: &Decision, place: usize, candidate: &Candidate) -> Value {
    let factors = decision.factors_of(place).map(|factor| {
        json!({
            "name": &*factor.name,
            "input": factor.input,
            "curve": &*factor.curve,
            "points": &*factor.curve_points,
            "weight": factor.weight,
            "score": factor.score,
        })
    });
    let (verdict, text) = verdict(&candidate.verdict);
    json!({
        "name": &*candidate.name,
        "verdict": verdict,
        "text": text,
        "score": candidate.score,
        "bonus": candidate.bonus,
        "rank": candidate.rank,
        "factors": factors.collect::<Vec<_>>(),
    })
}

fn engine_name(engine: Engine) -> &'static str {
    match engine {
        Engine::Machine => "State machine",
        Engine::Tree => "Behaviour tree",
        Engine::Utility => "Utility",
        Engine::Planner => "Planner",
        Engine::Activity => "Activity",
        Engine::Composite => "Composite action",
        Engine::Sequence => "Sequence",
        Engine::Rules => "Rules",
        Engine::Paths => "Paths",
        Engine::Other(name) => name,
        _ => "Mind",
    }
}

/// Returns the style in which the page shows a verdict (active, good, bad or plain), and its description.
fn verdict(verdict: &Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Chosen => ("active", "chosen".to_owned()),
        Verdict::Running => ("active", "goes on".to_owned()),
        Verdict::Succeeded => ("good", "succeeded".to_owned()),
        Verdict::Holds => ("good", "holds already".to_owned()),
        Verdict::Failed => ("bad", "failed".to_owned()),
        Verdict::Beaten => ("", "worth less".to_owned()),
        Verdict::Outranked => ("", "of a lower rank".to_owned()),
        Verdict::Worthless => ("", "worth nothing".to_owned()),
        Verdict::Cooling { decisions: 1 } => ("", "not for 1 more decision".to_owned()),
        Verdict::Cooling { decisions } => ("", format!("not for {decisions} more decisions")),
        Verdict::Waits { on } => ("", format!("waits for {on}")),
        Verdict::Refused { by } => ("bad", format!("refused by {by}")),
        Verdict::Unreachable => ("bad", "cannot be reached".to_owned()),
        Verdict::GaveUp => ("bad", "search given up".to_owned()),
        Verdict::Unfinished => ("", "still searched for".to_owned()),
        _ => ("", String::new()),
    }
}

#[cfg(test)]
mod tests {
    use formic_ai::explain::PlanRecord;

    use super::*;

    #[test]
    fn each_verdict_has_its_words_and_each_kind_of_mind_its_name() {
        let label = || "the bell".into();
        for (it, style, text) in [
            (Verdict::Running, "active", "goes on"),
            (Verdict::Succeeded, "good", "succeeded"),
            (Verdict::Holds, "good", "holds already"),
            (Verdict::Failed, "bad", "failed"),
            (Verdict::Outranked, "", "of a lower rank"),
            (Verdict::Cooling { decisions: 1 }, "", "not for 1 more decision"),
            (Verdict::Waits { on: label() }, "", "waits for the bell"),
            (Verdict::Refused { by: label() }, "bad", "refused by the bell"),
            (Verdict::Unreachable, "bad", "cannot be reached"),
            (Verdict::GaveUp, "bad", "search given up"),
            (Verdict::Unfinished, "", "still searched for"),
        ] {
            assert_eq!(verdict(&it), (style, text.to_owned()));
        }
        for (engine, name) in [
            (Engine::Machine, "State machine"),
            (Engine::Tree, "Behaviour tree"),
            (Engine::Activity, "Activity"),
            (Engine::Composite, "Composite action"),
            (Engine::Sequence, "Sequence"),
            (Engine::Rules, "Rules"),
            (Engine::Paths, "Paths"),
            (Engine::Other("a mind of mine"), "a mind of mine"),
        ] {
            assert_eq!(engine_name(engine), name);
        }
    }

    #[test]
    fn the_step_of_a_plan_is_the_one_that_was_begun_last() {
        let mut world = World::new();
        let miner = world.spawn(());
        let mut log = DecisionLog::new();
        log.watch(miner, "Miner", 8);
        let note = |tick: u64, name: &'static str, plan: Option<PlanRecord>| {
            log.note(miner, tick, Engine::Planner, |decision| {
                decision.candidate(Candidate::new(name, Verdict::Chosen));
                decision.plan = plan;
            });
        };
        let steps = ["dig", "carry", "dig"].map(Into::into).to_vec();
        note(1, "be rich", Some(PlanRecord { steps, cost: 7, searched: 9 }));
        note(2, "be rich with dig, step 3", None);
        log.note(miner, 2, Engine::Utility, |decision| {
            decision.candidate(Candidate::new("work", Verdict::Chosen).score(0.5));
            decision.candidate(Candidate::new("rest", Verdict::Cooling { decisions: 2 }));
        });
        world.insert_resource(log);
        let minds = minds(&world, miner);
        assert_eq!(minds.len(), 2, "one for each mind: {minds:?}");
        let planner = minds.iter().find(|it| it["mind"] == "Planner").expect("it plans");
        assert_eq!((&planner["tick"], &planner["plan"]["at"]), (&json!(1), &json!(2)));
        let utility = minds.iter().find(|it| it["mind"] == "Utility").expect("it weighs");
        let [work, rest] = [0, 1].map(|place| &utility["candidates"][place]);
        assert_eq!((&work["verdict"], &work["score"]), (&json!("active"), &json!(0.5)));
        assert_eq!(
            (&rest["text"], &rest["score"]),
            (&json!("not for 2 more decisions"), &Value::Null)
        );
    }
}
