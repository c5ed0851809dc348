//! Rules: their order, what they say, and what follows from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use formic_ai::explain::{DecisionLog, Label, RuleVerdict};
use formic_ai::turn::{
    Answer, Cause, Change, Checking, Decision, Draft, Fate, Refusal, Rule, RuleError, Ruling,
    Stopped, TurnActionKind, TurnLimits, Turns, unseen,
};
use formic_ecs::prelude::*;

use crate::game::{
    Deed, Door, Health, OpensDoors, Position, Solid, Velocity, bare, bump_opens_doors, collision,
    put,
};

fn pass(name: &str) -> Rule<Deed> {
    Rule::always(name, |_, _| Ruling::pass())
}

/// The names of the rules in the order in which they are asked.
fn order(rules: Vec<Rule<Deed>>) -> Result<Vec<String>, RuleError> {
    let mut world = World::new();
    let builder = rules.into_iter().fold(bare(), |builder, rule| builder.rule(rule));
    let mut turns = builder.build(&mut world)?;
    turns.act(&mut world, Deed::Wait, unseen);
    let trace = turns.trace();
    Ok(trace.rulings(0).iter().map(|it| trace.rule_name(it.rule).to_owned()).collect())
}

#[test]
fn rules_are_asked_as_they_were_added_unless_one_must_precede_another() {
    assert_eq!(order(vec![pass("a"), pass("b"), pass("c")]).unwrap(), ["a", "b", "c"]);
    let rules = vec![pass("a"), pass("b").behind("d"), pass("c").before("a"), pass("d")];
    assert_eq!(order(rules).unwrap(), ["c", "a", "d", "b"]);
}

#[test]
fn rules_in_a_cycle_are_an_error_with_their_names() {
    let rules = vec![
        pass("free"),
        pass("a").before("b"),
        pass("b").before("c"),
        pass("c").before("a"),
        pass("tail").behind("a"),
    ];
    let error = order(rules).unwrap_err();
    let RuleError::Cycle(names) = &error else { panic!("{error}") };
    assert_eq!(names.len(), 3);
    for (name, next) in names.iter().zip(names.iter().cycle().skip(1)) {
        assert!([("a", "b"), ("b", "c"), ("c", "a")].contains(&(name.as_str(), next.as_str())));
    }
    assert!(error.to_string().ends_with(" again"), "{error}");
    assert_eq!(order(vec![pass("a").before("a")]), Err(RuleError::Cycle(vec!["a".into()])));
}

#[test]
fn a_rule_that_names_no_rule_and_two_of_one_name_are_errors() {
    let unknown = RuleError::Unknown { rule: "a".into(), names: "b".into() };
    assert_eq!(order(vec![pass("a").before("b")]), Err(unknown));
    assert_eq!(order(vec![pass("a"), pass("a")]), Err(RuleError::Duplicate("a".into())));
}

#[test]
fn a_rule_is_asked_only_about_the_component_it_looks_at() {
    let asked = Arc::new([const { AtomicU32::new(0) }; 3]);
    let count = |index: usize| {
        let asked = Arc::clone(&asked);
        move || asked[index].fetch_add(1, Ordering::Relaxed)
    };
    let (moves, wounds, losses) = (count(0), count(1), count(2));
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(3), &Solid]);
    let mut turns = bare()
        .rule(Rule::on("moves", move |_, _: Change<'_, Position>, _| {
            moves();
            Ruling::pass()
        }))
        .rule(Rule::on("wounds", move |_, _: Change<'_, Health>, _| {
            wounds();
            Ruling::pass()
        }))
        .rule(Rule::on_removal::<Solid>("losses", move |_, _, _| {
            losses();
            Ruling::pass()
        }))
        .build(&mut world)
        .unwrap();
    let asked = || asked.iter().map(|it| it.load(Ordering::Relaxed)).collect::<Vec<_>>();
    turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    assert_eq!(asked(), [1, 0, 0]);
    assert_eq!(turns.trace().rulings(0).len(), 1);
    turns.act(&mut world, Deed::Hurt(who, 1), unseen);
    assert_eq!(asked(), [1, 1, 0]);
    turns.act(&mut world, Deed::Open(who), unseen);
    assert_eq!(asked(), [1, 1, 1]);
}

/// A door to the right of an actor that can open doors.
fn door_game(is_locked: bool) -> (World, Turns<Deed>, Entity, Entity) {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Solid, &OpensDoors]);
    let door = put(&mut world, &[&Position { x: 1, y: 0 }, &Solid, &Door(0)]);
    let mut builder = bare().rule(collision()).rule(bump_opens_doors());
    if is_locked {
        builder = builder.rule(Rule::on("locked", |_, _: Change<'_, Door>, _| Ruling::reject()));
    }
    let turns = builder.build(&mut world).unwrap();
    (world, turns, who, door)
}

#[test]
fn who_bumps_into_a_door_opens_it_and_walks_through_the_next_time() {
    let (mut world, mut turns, who, door) = door_game(false);
    let end = turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    assert_eq!((end.commits, end.rejections, end.spent), (1, 1, true));
    let Decision::Rejected(rule) = end.decision else { panic!("{end:?}") };
    assert_eq!(turns.trace().rule_name(rule), "bump opens doors");
    assert_eq!(world.get(door), Ok(&Door(1)));
    let end = turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    assert_eq!(end.decision, Decision::Accepted);
    assert_eq!(world.get(who), Ok(&Position { x: 1, y: 0 }));
}

#[test]
fn who_learns_to_open_doors_by_the_action_that_bumps_into_one_opens_it() {
    let (mut world, mut turns, who, door) = door_game(false);
    world.remove::<OpensDoors>(who).unwrap();
    assert_eq!(turns.act(&mut world, Deed::Walk(who, 1, 0), unseen).commits, 0);
    let end = turns.act(&mut world, Deed::Learn(who, 1), unseen);
    assert!(matches!(end.decision, Decision::Rejected(_)));
    assert_eq!(world.get(door), Ok(&Door(1)));
    assert!(!world.has::<OpensDoors>(who), "nothing of what was rejected is done");
}

#[test]
fn a_rule_that_accepts_and_stops_is_the_last_that_is_asked() {
    for (ruling, expected) in [
        (Ruling::accept(), Decision::Accepted),
        (Ruling::pass(), Decision::Rejected(1)),
        (Ruling::reject(), Decision::Rejected(0)),
        (Ruling::reject().keep_checking(), Decision::Rejected(0)),
    ] {
        let mut world = World::new();
        let asked = if ruling.checking == Checking::StopChecking { 1 } else { 2 };
        let first = Rule::always("first", move |_, _| ruling.clone());
        let never = Rule::always("never", |_, _| Ruling::reject());
        let mut turns = bare().rule(first).rule(never).build(&mut world).unwrap();
        assert_eq!(turns.act(&mut world, Deed::Wait, unseen).decision, expected);
        assert_eq!(turns.trace().rulings(0).len(), asked);
    }
}

#[test]
fn a_reaction_goes_through_the_same_rules() {
    let (mut world, mut turns, who, door) = door_game(true);
    let end = turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    assert_eq!((end.commits, end.rejections, end.spent), (0, 2, false));
    assert_eq!(world.get(door), Ok(&Door(0)));
}

#[test]
fn the_trace_shows_the_tree_of_actions_rules_verdicts_and_reactions() {
    let (mut world, mut turns, who, _) = door_game(true);
    turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    let trace = turns.trace();
    assert_eq!(trace.children(0).collect::<Vec<_>>(), [1]);
    let bump = trace.rulings(0)[0];
    assert_eq!((bump.said, bump.checking), (Answer::Reject, Checking::StopChecking));
    assert_eq!(bump.reactions, 1);
    assert_eq!(trace.actions()[1].cause, Cause::Reaction { to: 0, rule: bump.rule });
    let expected = "walk: rejected by bump opens doors\n\
         \x20 | bump opens doors: reject, stop checking, 1 reaction\n\
         \x20   bump opens doors -> open: rejected by locked\n\
         \x20     | locked: reject, stop checking\n";
    assert_eq!(trace.to_string(), expected);
}

#[test]
fn the_log_of_decisions_has_what_the_rules_said_of_those_who_are_watched() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Solid, &OpensDoors]);
    let door = put(&mut world, &[&Position { x: 1, y: 0 }, &Solid, &Door(0)]);
    let other = put(&mut world, &[&Position { x: 0, y: 3 }]);
    let ice = Rule::on("ice", |case, _: Change<'_, Position>, _| match *case.kind {
        Deed::Walk(who, 2, 0) => Ruling::rewrite(Deed::Walk(who, 1, 0)),
        _ => Ruling::pass(),
    });
    let builder = bare().rule(ice).rule(bump_opens_doors()).rule(collision());
    let mut turns = builder.build(&mut world).unwrap();
    let mut log = DecisionLog::new();
    log.watch(who, "walker", 4);
    for (actor, x) in [(who, 2), (other, 1), (who, 1)] {
        turns.schedule(actor, 0);
        turns.take_turn(&mut world, actor, Deed::Walk(actor, x, 0), unseen).unwrap();
        turns.trace().note(&log, turns.clock());
    }
    assert!(log.last(other).is_none());
    let decisions = log.decisions(who);
    let to = "walk".into();
    assert_eq!(decisions[0].rules[0].verdict, RuleVerdict::Rewritten { to });
    assert_eq!(decisions.len(), 2);
    // Which rule said no to what the ice made of it.
    let bump = decisions[0].rejected_by().unwrap();
    assert_eq!((&*bump.rule, bump.reactions.len()), ("bump opens doors", 1));
    let sentence = &log.sentences(who)[0];
    assert!(sentence.contains("the rule ice made it walk"), "{sentence}");
    assert!(sentence.contains("the rule bump opens doors said no"), "{sentence}");

    // The door is open by now; that it was bumped into is in the reactions of the rewritten action.
    assert_eq!(world.get(door), Ok(&Door(1)));
    assert!(decisions[1].rejected_by().is_none());
    assert_eq!(decisions[1].rules.len(), 3);
}

#[test]
fn things_may_change_places_and_stay_where_they_are_without_colliding() {
    let mut world = World::new();
    let one = put(&mut world, &[&Position { x: 0, y: 0 }, &Solid]);
    let other = put(&mut world, &[&Position { x: 1, y: 0 }, &Solid]);
    let mut turns = bare().rule(collision()).build(&mut world).unwrap();
    let mut verdict = |deed| turns.judge(&mut world, deed) == Decision::Accepted;
    assert!(verdict(Deed::Swap(one, other)));
    assert!(verdict(Deed::Walk(one, 0, 0)));
    assert!(!verdict(Deed::Walk(one, 1, 0)));
    assert!(!verdict(Deed::Meet(one, other)), "the cell was empty, and will not be");
}

/// What each rule reacts with happens by its own verdict and that of the whole.
#[test]
fn reactions_happen_if_their_verdict_is_the_final_one_and_leak_into_no_other_action() {
    let mut world = World::new();
    let (glad, sad) = (put(&mut world, &[&Health(100)]), put(&mut world, &[&Health(100)]));
    let mut turns = bare()
        .rule(Rule::always("glad", move |case, reactions| {
            if matches!(case.kind, Deed::Echo(_)) {
                reactions.push(Deed::Hurt(glad, 1));
            }
            Ruling::pass()
        }))
        .rule(Rule::always("sad", move |case, reactions| match case.kind {
            Deed::Echo(0) => {
                reactions.push(Deed::Hurt(sad, 1));
                Ruling::reject()
            }
            _ => Ruling::pass(),
        }))
        .build(&mut world)
        .unwrap();
    turns.act(&mut world, Deed::Echo(0), unseen);
    assert_eq!((world.get(glad), world.get(sad)), (Ok(&Health(100)), Ok(&Health(99))));
    turns.act(&mut world, Deed::Wait, unseen);
    assert_eq!((world.get(glad), world.get(sad)), (Ok(&Health(100)), Ok(&Health(99))));
    turns.act(&mut world, Deed::Echo(1), unseen);
    assert_eq!((world.get(glad), world.get(sad)), (Ok(&Health(99)), Ok(&Health(99))));
}

#[test]
fn reactions_come_in_the_order_of_their_delay_and_then_of_their_pushing() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare()
        .rule(Rule::always("chain", move |case, reactions| {
            if *case.kind == Deed::Echo(0) {
                reactions.push_after(20, Deed::Walk(who, 0, 1));
                reactions.push_after(5, Deed::Walk(who, 0, 2));
                reactions.push(Deed::Walk(who, 0, 3));
                reactions.push_after(5, Deed::Walk(who, 0, 4));
            }
            Ruling::pass()
        }))
        .build(&mut world)
        .unwrap();
    let end = turns.act(&mut world, Deed::Echo(0), unseen);
    assert_eq!(end.time, 20);
    let steps: Vec<_> = turns.trace().actions()[1..].iter().map(|it| (it.kind, it.time)).collect();
    let step = |time, y| (Deed::Walk(who, 0, y), time);
    assert_eq!(steps, [step(0, 3), step(5, 2), step(5, 4), step(20, 1)]);
    // Each was bound when its turn had come: it goes on from where the one before ended.
    assert_eq!(world.get(who), Ok(&Position { x: 0, y: 10 }));
}

#[test]
fn what_a_rule_rewrites_is_judged_from_the_first_rule_on() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Solid]);
    let wall = put(&mut world, &[&Position { x: 2, y: 0 }, &Solid]);
    let ice = Rule::on("ice", move |case, _: Change<'_, Position>, _| match *case.kind {
        Deed::Walk(who, 1, 0) => Ruling::rewrite(Deed::Walk(who, 2, 0)),
        _ => Ruling::pass(),
    });
    let mut turns = bare().rule(collision()).rule(ice).build(&mut world).unwrap();
    let end = turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    assert!(matches!(end.decision, Decision::Rejected(_)), "{end:?}");
    assert_eq!(turns.trace().actions()[0].fate, Fate::Rewritten);
    turns.act(&mut world, Deed::Walk(wall, 0, 1), unseen);
    assert!(turns.act(&mut world, Deed::Walk(who, 1, 0), unseen).spent);
    assert_eq!(world.get(who), Ok(&Position { x: 2, y: 0 }));
}

#[test]
fn what_is_rewritten_without_further_checks_happens() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let rewrite = Rule::always("instead", move |case, _| match case.kind {
        Deed::Wait => Ruling::rewrite(Deed::Walk(who, 1, 0)).stop_checking(),
        _ => Ruling::reject(),
    });
    let mut turns = bare().rule(rewrite).build(&mut world).unwrap();
    assert_eq!(turns.act(&mut world, Deed::Wait, unseen).decision, Decision::Accepted);
    assert_eq!(world.get(who), Ok(&Position { x: 1, y: 0 }));
}

#[test]
fn what_is_rejected_is_not_rewritten_any_more() {
    for later in [Checking::StopChecking, Checking::KeepChecking] {
        let mut world = World::new();
        let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
        let never = Rule::always("never", move |case, reactions| match case.kind {
            Deed::Echo(_) => {
                reactions.push(Deed::Hurt(who, 1));
                Ruling::reject().keep_checking()
            }
            _ => Ruling::pass(),
        });
        let instead = Rule::always("instead", move |case, reactions| match case.kind {
            Deed::Echo(_) => {
                reactions.push(Deed::Hurt(who, 5));
                Ruling { checking: later, ..Ruling::rewrite(Deed::Walk(who, 1, 0)) }
            }
            _ => Ruling::pass(),
        });
        let mut turns = bare().rule(never).rule(instead).build(&mut world).unwrap();
        let mut log = DecisionLog::new();
        log.watch(who, "walker", 4);
        turns.schedule(who, 0);
        let end = turns.take_turn(&mut world, who, Deed::Echo(0), unseen).unwrap();
        turns.trace().note(&log, 1);
        assert_eq!(end.decision, Decision::Rejected(0));
        assert_eq!(world.get(who), Ok(&Position { x: 0, y: 0 }));
        // What follows from the rejection does, and what would have from the other does not.
        assert_eq!(world.get(who), Ok(&Health(8)));
        assert_eq!(
            turns.trace().rulings(0)[1].said,
            Answer::Rewrite(()),
            "that it said so can be seen"
        );
        assert_eq!(&*log.last(who).unwrap().rejected_by().unwrap().rule, "never");
    }
}

#[test]
fn what_a_rule_rejects_for_one_it_does_not_rewrite_for_another() {
    let mut world = World::new();
    let one = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let other = put(&mut world, &[&Position { x: 1, y: 0 }]);
    for reject_first in [true, false] {
        let rule = Rule::on("split", move |case, moved: Change<'_, Position>, _| match case.kind {
            Deed::Swap(..) if (moved.entity == one) == reject_first => {
                Ruling::reject().keep_checking()
            }
            Deed::Swap(..) => Ruling::rewrite(Deed::Walk(one, 0, 1)).stop_checking(),
            _ => Ruling::pass(),
        });
        let mut turns = bare().rule(rule).build(&mut world).unwrap();
        // Whichever comes first decides: what is rewritten before a rule rejects it is another one.
        let expected = if reject_first { Decision::Rejected(0) } else { Decision::Accepted };
        assert_eq!(turns.judge(&mut world, Deed::Swap(one, other)), expected);
    }
}

#[test]
fn what_a_rewriting_rule_asks_for_follows_from_what_it_looked_at() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
    let instead = Rule::always("instead", move |case, reactions| match case.kind {
        Deed::Echo(_) => {
            reactions.push(Deed::Hurt(who, 1));
            Ruling::rewrite(Deed::Walk(who, 1, 0)).stop_checking()
        }
        _ => Ruling::pass(),
    });
    let mut turns = bare().rule(instead).build(&mut world).unwrap();
    turns.act(&mut world, Deed::Echo(0), unseen);
    let causes: Vec<_> = turns.trace().actions().iter().map(|it| it.cause).collect();
    let (rewrite, reaction) =
        (Cause::Rewrite { of: 0, rule: 0 }, Cause::Reaction { to: 0, rule: 0 });
    assert_eq!(causes, [Cause::Decision(None), rewrite, reaction]);
    assert_eq!(turns.trace().children(0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn decisions_of_turns_that_were_undone_are_taken_out_of_the_log_of_decisions() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    let mut log = DecisionLog::new();
    log.watch(who, "walker", 9);
    turns.schedule(who, 0);
    for x in 1..=3 {
        turns.take_turn(&mut world, who, Deed::Walk(who, x, 0), unseen).unwrap();
        turns.trace().note(&log, turns.log().turns.len() as u64);
    }
    let first = log.decisions(who)[0].clone();
    turns.undo(&mut world).unwrap();
    turns.undo(&mut world).unwrap();
    log.forget_after(turns.log().turns.len() as u64);
    assert_eq!(log.decisions(who), [first]);
    turns.take_turn(&mut world, who, Deed::Wait, unseen).unwrap();
    turns.trace().note(&log, turns.log().turns.len() as u64);
    assert_eq!(log.last(who).unwrap().chosen().unwrap().name, Label::from("wait"));
    assert_eq!(log.decisions(who).len(), 2);
}

#[test]
fn rules_that_rewrite_each_other_for_ever_are_refused() {
    let mut world = World::new();
    let turn_on = Rule::always("louder", |case, reactions| match *case.kind {
        Deed::Echo(number) => {
            reactions.push(Deed::Wait);
            Ruling::rewrite(Deed::Echo(number + 1))
        }
        _ => Ruling::pass(),
    });
    let mut turns = bare()
        .rule(turn_on)
        .limits(TurnLimits { rewrites: 3, ..TurnLimits::default() })
        .build(&mut world)
        .unwrap();
    let end = turns.act(&mut world, Deed::Echo(0), unseen);
    assert_eq!(end.decision, Decision::Refused(Refusal::RewrittenTooOften { limit: 3 }));
    assert_eq!((end.commits, end.rejections), (0, 1));
    // As often as the limit says it may be.
    let up_to = |most: u32| {
        let turn_on = Rule::always("louder", move |case, _| match *case.kind {
            Deed::Echo(number) if number < most => Ruling::rewrite(Deed::Echo(number + 1)),
            _ => Ruling::pass(),
        });
        let limits = TurnLimits { rewrites: 3, ..TurnLimits::default() };
        let mut turns = bare().rule(turn_on).limits(limits).build(&mut world).unwrap();
        turns.act(&mut world, Deed::Echo(0), unseen).decision
    };
    let refused = Decision::Refused(Refusal::RewrittenTooOften { limit: 3 });
    assert_eq!([3, 4].map(up_to), [Decision::Accepted, refused]);
}

#[test]
fn a_chain_of_reactions_without_end_is_cut_off() {
    let mut world = World::new();
    let echo = Rule::always("echo", |case, reactions| {
        if let Deed::Echo(number) = *case.kind {
            reactions.push(Deed::Echo(number + 1));
            reactions.push(Deed::Wait);
        }
        Ruling::pass()
    });
    let limits = TurnLimits { actions: 50, trace: 10, ..TurnLimits::default() };
    let mut turns = bare().rule(echo).limits(limits).build(&mut world).unwrap();
    let end = turns.act(&mut world, Deed::Echo(0), unseen);
    let Some(Stopped::TooManyActions { limit: 50, dropped }) = end.stopped else { panic!() };
    assert!(dropped > 0);
    assert_eq!(end.commits, 50);
    assert_eq!((turns.trace().actions().len(), turns.trace().left_out()), (10, 40));
    assert!(turns.trace().to_string().ends_with("and 40 more\n"));
    // What was dropped does not come back with the next turn.
    assert_eq!(turns.act(&mut world, Deed::Wait, unseen).commits, 1);
}

#[test]
fn the_action_that_was_decided_is_within_every_limit() {
    let mut world = World::new();
    let limits = TurnLimits { actions: 0, rewrites: 0, points: 0, undo: 0, trace: 0 };
    let mut turns = bare().limits(limits).build(&mut world).unwrap();
    let end = turns.act(&mut world, Deed::Wait, unseen);
    assert_eq!((end.decision, end.commits, end.stopped), (Decision::Accepted, 1, None));
}

#[test]
fn an_endless_chain_of_the_longest_kind_can_be_printed() {
    let mut world = World::new();
    let echo = Rule::always("echo", |case, reactions| {
        if let Deed::Echo(number) = *case.kind {
            reactions.push(Deed::Echo(number + 1));
        }
        Ruling::pass()
    });
    let count = if cfg!(miri) { 50 } else { 5000 };
    let limits = TurnLimits { actions: count, trace: count, ..TurnLimits::default() };
    let mut turns = bare().rule(echo).limits(limits).build(&mut world).unwrap();
    turns.act(&mut world, Deed::Echo(0), unseen);
    assert_eq!(turns.trace().to_string().lines().count(), 2 * count);
}

#[test]
fn more_than_64_rules_are_asked_in_order() {
    let rules: Vec<_> = (0..150).map(|number| pass(&number.to_string())).collect();
    let expected: Vec<_> = (0..150).map(|number| number.to_string()).collect();
    assert_eq!(order(rules).unwrap(), expected);
}

#[test]
fn a_component_that_cells_do_not_know_is_looked_for_in_them() {
    let mut world = World::new();
    let arrow = put(&mut world, &[&Position { x: 1, y: 1 }, &Velocity { x: 1, y: 0 }]);
    let turns = bare().build(&mut world).unwrap();
    let cell = turns.now(&world).cell((1, 1));
    assert_eq!((cell.count::<Velocity>(), cell.first::<Velocity>()), (1, Some(arrow)));
    assert!(cell.any::<Velocity>() && !cell.any::<Health>());
}

#[test]
fn a_refusal_is_told_with_what_entities_are_called() {
    let mut world = World::new();
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let [rat, stone] = [put(&mut world, &[&Health(1)]), put(&mut world, &[])];
    let mut turns = bare().build(&mut world).unwrap();
    let mut log = DecisionLog::new();
    log.watch(hero, "Hero", 4);
    log.call(rat, "Rat");
    log.call(stone, "Stone");
    world.despawn(rat).unwrap();
    for (turn, victim) in (1..).zip([rat, stone]) {
        turns.schedule(hero, 0);
        turns.take_turn(&mut world, hero, Deed::Hurt(victim, 1), unseen).unwrap();
        turns.trace().note(&log, turn);
    }
    assert_eq!(
        log.sentences(hero),
        [
            "Turn 1: Hero#0 wanted to hurt; hurt has failed: Rat#1 is not alive.",
            "Turn 2: Hero#0 wanted to hurt; hurt has failed: Stone#2 has no Health.",
        ]
    );
}

#[test]
fn the_trace_counts_the_reactions_of_a_rule_that_rewrites() {
    let mut world = World::new();
    let talk = Rule::always("talk", |case, reactions| {
        if *case.kind == Deed::Echo(1) {
            reactions.push(Deed::Wait);
            reactions.push(Deed::Wait);
        }
        Ruling::pass()
    });
    let calm = Rule::always("calm", |case, reactions| match case.kind {
        Deed::Echo(1) => {
            reactions.push(Deed::Wait);
            Ruling::rewrite(Deed::Echo(2))
        }
        _ => Ruling::pass(),
    });
    let mut turns = bare().rule(talk).rule(calm).build(&mut world).unwrap();
    turns.act(&mut world, Deed::Echo(1), unseen);
    let count = |it: &formic_ai::turn::TracedRuling| it.reactions;
    assert!(turns.trace().rulings(0).iter().map(count).eq([2, 1]), "{}", turns.trace());
}

#[derive(Clone, Debug)]
struct Brood(usize);

impl TurnActionKind for Brood {
    type Cell = ();

    fn bind(&self, draft: &mut Draft<'_, ()>) -> Result<(), Refusal> {
        (0..self.0).try_for_each(|_| draft.spawn().map(drop))
    }
}

#[test]
fn an_action_brings_65_536_entities_at_most_unless_more_were_made_before() {
    let mut world = World::new();
    let mut turns = Turns::builder().vacancies(3).build(&mut world).unwrap();
    let refused = Decision::Refused(Refusal::NoVacancy);
    assert_eq!(turns.judge(&mut world, Brood(65_537)), refused);
    assert_eq!(turns.judge(&mut world, Brood(65_536)), Decision::Accepted);
    turns.reserve(&mut world, 1);
    assert_eq!(turns.judge(&mut world, Brood(65_537)), Decision::Accepted);
}

#[test]
fn a_check_of_the_cells_names_the_wrong_cell_or_entity() {
    let mut world = World::new();
    let turns = bare().build(&mut world).unwrap();
    let stray = put(&mut world, &[&Position { x: 7, y: 8 }]);
    let said = turns.cells().check(&world).unwrap_err();
    assert!(said.contains(&stray.to_string()), "{said}");
}
