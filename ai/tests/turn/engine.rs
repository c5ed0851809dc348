//! The schedule, waiting for the player, drawing, dead subjects, panics.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use formic_ai::turn::{
    Change, Decision, Draft, Gone, Next, NotTheirTurn, Refusal, Rule, Ruling, Stopped,
    TurnActionKind, TurnLimits, Turns, Vacant, unseen,
};
use formic_ecs::EventKind;
use formic_ecs::prelude::*;

use crate::game::{Deed, Door, Health, Lit, Player, Position, Solid, bare, collision, put};

#[test]
fn a_panic_when_the_gone_are_despawned_leaves_the_turn_in_the_log() {
    let mut world = World::new();
    let who = walkers(&mut world, 1)[0];
    let limits = TurnLimits { undo: 0, ..TurnLimits::default() };
    let mut turns = bare().limits(limits).build(&mut world).unwrap();
    world.hooks().observe::<Gone>(EventKind::Despawn, |_, _| panic!("it is missed"));
    let dies = AssertUnwindSafe(|| turns.act(&mut world, Deed::Die(who), unseen));
    assert!(catch_unwind(dies).is_err());
    assert_eq!(turns.log().turns.len(), 1);
    assert!(!turns.now(&world).is_alive(who));
}

fn walkers(world: &mut World, count: i32) -> Vec<Entity> {
    (0..count).map(|y| put(world, &[&Position { x: 0, y }, &Solid, &Health(3)])).collect()
}

#[test]
fn turns_come_by_time_and_then_by_when_they_were_scheduled() {
    let mut world = World::new();
    let all = walkers(&mut world, 3);
    let mut turns = bare().build(&mut world).unwrap();
    turns.schedule(all[0], 1);
    turns.schedule(all[1], 0);
    turns.schedule(all[2], 1);
    let mut order = Vec::new();
    let wait = |_: &mut Turns<Deed>, _: &mut World, who| {
        order.push(who);
        Deed::Wait
    };
    turns.run(&mut world, 6, wait, unseen);
    assert_eq!(order, [all[1], all[0], all[2], all[1], all[0], all[2]]);
    assert_eq!(turns.clock(), 4);
}

#[test]
fn a_cancelled_ticket_gives_no_turn() {
    let mut world = World::new();
    let all = walkers(&mut world, 2);
    let mut turns = bare().build(&mut world).unwrap();
    let ticket = turns.schedule(all[0], 0);
    turns.schedule(all[1], 0);
    assert_eq!(turns.cancel(ticket), Some(all[0]));
    assert_eq!(turns.cancel(ticket), None);
    assert_eq!(turns.next(&world), Next::Ready(all[1]));
}

#[test]
fn the_players_turn_waits_until_there_is_a_decision() {
    let mut world = World::new();
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Player]);
    let rat = put(&mut world, &[&Position { x: 1, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    turns.schedule(rat, 0);
    turns.schedule(hero, 1);
    let mut asked = 0;
    let mut wait = |_: &mut Turns<Deed>, _: &mut World, _| {
        asked += 1;
        Deed::Wait
    };
    assert_eq!(turns.run(&mut world, 100, &mut wait, unseen), Next::Waiting(hero));
    let state = turns.state_hash(&world);
    for _ in 0..5 {
        assert_eq!(turns.run(&mut world, 100, &mut wait, unseen), Next::Waiting(hero));
    }
    assert_eq!(turns.state_hash(&world), state, "waiting changes nothing");
    turns.take_turn(&mut world, hero, Deed::Wait, unseen).unwrap();
    assert_eq!(turns.next(&world), Next::Ready(rat));
    assert_eq!(asked, 1);
}

#[test]
fn a_players_turn_in_which_nothing_is_done_is_not_spent_and_that_of_others_is() {
    let mut world = World::new();
    let wall = put(&mut world, &[&Position { x: 1, y: 0 }, &Solid]);
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Solid, &Player]);
    let rat = put(&mut world, &[&Position { x: 2, y: 0 }, &Solid]);
    let mut turns = bare().rule(collision()).build(&mut world).unwrap();
    turns.schedule(hero, 0);
    turns.schedule(rat, 0);
    let end = turns.take_turn(&mut world, hero, Deed::Walk(hero, 1, 0), unseen).unwrap();
    assert!(!end.spent);
    assert_eq!(turns.next(&world), Next::Waiting(hero));
    assert!(turns.log().turns.is_empty());
    // To wait is to do something.
    assert!(turns.take_turn(&mut world, hero, Deed::Echo(0), unseen).unwrap().spent);
    let end = turns.take_turn(&mut world, rat, Deed::Walk(rat, -1, 0), unseen).unwrap();
    assert!(end.spent && matches!(end.decision, Decision::Rejected(_)));
    assert_eq!(turns.next(&world), Next::Waiting(hero));
    assert!(world.contains(wall));
}

#[test]
fn who_decides_after_their_turn_was_taken_away_is_told_so() {
    let mut world = World::new();
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Player]);
    let rat = put(&mut world, &[&Position { x: 1, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    let ticket = turns.schedule(hero, 0);
    turns.schedule(rat, 5);
    assert_eq!(turns.next(&world), Next::Waiting(hero));
    turns.cancel(ticket);
    let error = turns.take_turn(&mut world, hero, Deed::Walk(hero, 1, 0), unseen).unwrap_err();
    assert_eq!(error, NotTheirTurn { actor: hero, next: Some(rat) });
    turns.schedule(hero, 0);
    assert_eq!(turns.next(&world), Next::Waiting(hero));
    turns.act(&mut world, Deed::Die(hero), unseen);
    let error = turns.take_turn(&mut world, hero, Deed::Wait, unseen).unwrap_err();
    assert_eq!(error.next, Some(rat));
}

#[test]
fn the_dead_have_no_turns_and_nothing_can_be_done_to_them() {
    let mut world = World::new();
    let all = walkers(&mut world, 2);
    let mut turns = bare().build(&mut world).unwrap();
    for &who in &all {
        turns.schedule(who, 0);
    }
    turns.act(&mut world, Deed::Die(all[0]), unseen);
    assert!(world.has::<Gone>(all[0]));
    assert!(!world.has::<Position>(all[0]) && !world.has::<Health>(all[0]));
    assert_eq!(turns.next(&world), Next::Ready(all[1]));
    let state = turns.state_hash(&world);
    for deed in [Deed::Walk(all[0], 1, 0), Deed::Open(all[0]), Deed::Die(all[0])] {
        let end = turns.act(&mut world, deed, unseen);
        assert_eq!(end.decision, Decision::Refused(Refusal::Dead(all[0])));
    }
    let mut elsewhere = World::new();
    let stranger = (0..200).map(|_| put(&mut elsewhere, &[])).last().unwrap();
    let end = turns.act(&mut world, Deed::Open(stranger), unseen);
    assert_eq!(end.decision, Decision::Refused(Refusal::Dead(stranger)));
    let end = turns.act(&mut world, Deed::Call(all[0]), unseen);
    assert_eq!(end.decision, Decision::Refused(Refusal::Dead(all[0])));
    assert_eq!(turns.state_hash(&world), state);
}

#[test]
fn an_action_that_is_refused_leaves_world_turns_and_hashes_as_they_were() {
    let mut world = World::new();
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(3), &Player]);
    let rat = put(&mut world, &[&Position { x: 1, y: 0 }, &Health(2), &Solid]);
    let dead = put(&mut world, &[&Position { x: 2, y: 0 }]);
    // What is asked for before the refusal goes with it.
    let again = Rule::always("again", move |case, reactions| match *case.kind {
        Deed::Echo(number) => {
            reactions.push(Deed::Hurt(rat, 1));
            Ruling::rewrite(Deed::Echo(number + 1))
        }
        _ => Ruling::pass(),
    });
    let mut turns = bare()
        .rule(again)
        .limits(TurnLimits { rewrites: 5, ..TurnLimits::default() })
        .build(&mut world)
        .unwrap();
    turns.schedule(hero, 5);
    turns.schedule(rat, 7);
    assert!(turns.act(&mut world, Deed::Die(dead), unseen).spent);
    let vacant = world.query_filtered::<Entity, With<Vacant>>().first().unwrap();
    let refused = [
        (Deed::Echo(2_000_000), Refusal::Malformed("2000000 is too loud".into())),
        (Deed::Echo(0), Refusal::RewrittenTooOften { limit: 5 }),
        (Deed::Echo(999_998), Refusal::Malformed("1000001 is too loud".into())),
        (Deed::Walk(dead, 1, 0), Refusal::Dead(dead)),
        (Deed::Call(dead), Refusal::Dead(dead)),
        // The first half of it could be done.
        (Deed::Meet(rat, dead), Refusal::Dead(dead)),
        (
            Deed::Smuggle(vacant),
            Refusal::Malformed(String::from("only a draft brings those that are vacant")),
        ),
    ];
    let state = |world: &World, turns: &Turns<Deed>| {
        let upcoming: Vec<_> = turns.upcoming().iter().collect();
        let hashes = (turns.state_hash(world), world.state_hash());
        let counts = (turns.vacancies(), turns.log().turns.len(), turns.clock());
        (hashes, world.snapshot().unwrap(), format!("{turns:?}"), upcoming, counts)
    };
    let before = state(&world, &turns);
    for (deed, why) in &refused {
        let end = turns.act(&mut world, *deed, unseen);
        assert_eq!(end.decision, Decision::Refused(why.clone()), "{deed:?}");
        assert!(!end.spent && end.commits == 0, "{deed:?}");
        assert_eq!(state(&world, &turns), before, "{deed:?}");
        let end = turns.take_turn(&mut world, hero, *deed, unseen).unwrap();
        assert_eq!(end.decision, Decision::Refused(why.clone()), "{deed:?}");
        assert!(!end.spent && end.commits == 0, "{deed:?}");
        assert_eq!(state(&world, &turns), before, "{deed:?}");
        assert_eq!(turns.cells().check(&world), Ok(()));
        assert_eq!(turns.next(&world), Next::Waiting(hero));
    }
    // Room is made before it turns out to be too little: that is no part of the state.
    let end = turns.act(&mut world, Deed::Flood(100_000), unseen);
    assert_eq!(end.decision, Decision::Refused(Refusal::NoVacancy));
    assert_eq!(turns.state_hash(&world), before.0.0);
    assert_eq!((turns.log().turns.len(), turns.clock()), (before.4.1, before.4.2));
    assert!(turns.vacancies() >= 65_536);
    // Others than the player have had their turn, and nothing else is done in it.
    turns.take_turn(&mut world, hero, Deed::Wait, unseen).unwrap();
    let bytes = world.snapshot().unwrap();
    let end = turns.take_turn(&mut world, rat, Deed::Meet(rat, dead), unseen).unwrap();
    assert!(end.spent && matches!(end.decision, Decision::Refused(_)));
    assert_eq!(world.snapshot().unwrap(), bytes);
    turns.undo(&mut world).unwrap();
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), before.0.0);
}

#[test]
fn the_turns_of_the_dead_are_struck_out_with_the_death_and_by_nothing_else() {
    let mut world = World::new();
    let rat = put(&mut world, &[&Position { x: 1, y: 0 }]);
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Player]);
    let never = Rule::on("never", |_, _: Change<'_, Position>, _| Ruling::reject());
    let mut turns = bare().rule(never).build(&mut world).unwrap();
    for (who, delay) in [(rat, 0), (rat, 9), (hero, 5)] {
        turns.schedule(who, delay);
    }
    let alive = turns.state_hash(&world);
    turns.act(&mut world, Deed::Die(rat), unseen);
    assert!(turns.upcoming().iter().all(|(_, who)| who != rat), "struck out at once");
    let dead = (turns.state_hash(&world), format!("{turns:?}"));
    let end = turns.take_turn(&mut world, hero, Deed::Walk(hero, 1, 0), unseen).unwrap();
    assert!(!end.spent);
    assert_eq!((turns.state_hash(&world), format!("{turns:?}")), dead, "nothing was done");
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), alive);
    assert_eq!(turns.upcoming().tickets_of(rat).map(|it| it.time()).collect::<Vec<_>>(), [0, 9]);
}

#[test]
fn who_went_by_other_ways_than_turns_is_passed_over_and_not_struck_out_by_asking() {
    let mut world = World::new();
    let rat = put(&mut world, &[&Position { x: 1, y: 0 }]);
    let hero = put(&mut world, &[&Position { x: 0, y: 0 }, &Player]);
    let mut turns = bare().rule(collision()).build(&mut world).unwrap();
    turns.schedule(rat, 0);
    turns.schedule(hero, 0);
    world.despawn(rat).unwrap();
    let before = turns.state_hash(&world);
    assert_eq!(turns.next(&world), Next::Waiting(hero));
    assert!(!turns.take_turn(&mut world, hero, Deed::Echo(2_000_000), unseen).unwrap().spent);
    assert_eq!(turns.state_hash(&world), before);
    turns.take_turn(&mut world, hero, Deed::Wait, unseen).unwrap();
    assert_eq!(turns.upcoming().len(), 1, "a turn that is taken leaves none behind it");
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), before);
}

#[test]
fn who_is_despawned_is_given_nothing_by_the_same_action() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(3)]);
    let mut turns = bare().build(&mut world).unwrap();
    turns.act(&mut world, Deed::Burst(who), unseen);
    assert!(world.has::<Gone>(who) && !world.has::<Position>(who) && !world.has::<Lit>(who));
    assert!(!world.has::<Health>(who));
    assert_eq!(turns.now(&world).cell_of(who), None);
    assert!(turns.upcoming().is_empty());
    turns.undo(&mut world).unwrap();
    assert_eq!(world.get(who), Ok(&Health(3)));
}

#[test]
fn who_dies_in_their_own_turn_has_no_other() {
    let mut world = World::new();
    let all = walkers(&mut world, 1);
    let mut turns = bare().build(&mut world).unwrap();
    turns.schedule(all[0], 0);
    assert!(turns.take_turn(&mut world, all[0], Deed::Die(all[0]), unseen).unwrap().spent);
    assert!(turns.upcoming().is_empty());
    assert_eq!(turns.next(&world), Next::Nobody);
}

#[test]
fn malformed_actions_are_refused_with_a_reason() {
    let mut world = World::new();
    let rock = put(&mut world, &[&Solid]);
    let mut turns = bare().build(&mut world).unwrap();
    let end = turns.act(&mut world, Deed::Echo(2_000_000), unseen);
    let why = Refusal::Malformed("2000000 is too loud".into());
    assert_eq!(end.decision, Decision::Refused(why));
    let end = turns.act(&mut world, Deed::Walk(rock, 1, 0), unseen);
    let Decision::Refused(Refusal::Missing { entity, component }) = end.decision else { panic!() };
    assert!(entity == rock && component.ends_with("Position"), "{component}");
    assert!(turns.trace().to_string().contains(": refused, "));
    let waiting = turns.now(&world).entities_with::<Vacant>()[0];
    let end = turns.act(&mut world, Deed::Smuggle(waiting), unseen);
    assert!(matches!(end.decision, Decision::Refused(Refusal::Malformed(_))), "{end:?}");
    assert!(world.has::<Vacant>(waiting));
}

#[test]
fn entities_are_brought_and_where_none_is_vacant_more_are_made() {
    let mut world = World::new();
    let mut turns = bare().vacancies(2).build(&mut world).unwrap();
    let mut hashes = Vec::new();
    for _ in 0..40 {
        hashes.push(turns.state_hash(&world));
        assert_eq!(turns.judge(&mut world, Deed::Bring(0, 0)), Decision::Accepted);
        assert!(turns.act(&mut world, Deed::Bring(0, 0), unseen).spent);
    }
    assert_eq!(turns.now(&world).cell((0, 0)).count::<Health>(), 40);
    assert_eq!(turns.upcoming().len(), 40, "each was given a turn");
    let last = turns.state_hash(&world);
    while let Some(hash) = hashes.pop() {
        turns.undo(&mut world).unwrap();
        assert_eq!(turns.state_hash(&world), hash);
    }
    for _ in 0..40 {
        turns.act(&mut world, Deed::Bring(0, 0), unseen);
    }
    assert_eq!(turns.state_hash(&world), last, "the same are brought in the same order");
}

#[test]
fn what_is_gone_is_taken_out_of_the_world_when_no_turn_could_bring_it_back() {
    for undo in [0, 1, 5] {
        let mut world = World::new();
        let limits = TurnLimits { undo, ..TurnLimits::default() };
        let mut turns = bare().limits(limits).vacancies(3).build(&mut world).unwrap();
        for shot in 0..1_000 {
            turns.act(&mut world, Deed::Bring(shot, 0), unseen);
            let bullet = turns.upcoming().first().unwrap().1;
            let before = turns.state_hash(&world);
            assert!(turns.act(&mut world, Deed::Die(bullet), unseen).spent);
            assert!(turns.upcoming().is_empty());
            if undo > 0 {
                turns.undo(&mut world).unwrap();
                assert_eq!(turns.state_hash(&world), before);
                assert!(turns.now(&world).is_alive(bullet));
                turns.act(&mut world, Deed::Die(bullet), unseen);
            }
            let gone = turns.now(&world).entities_with::<Gone>().len();
            assert_eq!(gone, (shot as usize + 1).min(undo.div_ceil(2)), "undo {undo}");
        }
        assert!(world.len() <= 32, "{} entities are left", world.len());
        // After a restore no turn can be undone, and none of them is kept.
        turns.rebuild(&world);
        turns.act(&mut world, Deed::Bring(0, 0), unseen);
        turns.act(&mut world, Deed::Bring(0, 0), unseen);
        assert_eq!(turns.now(&world).entities_with::<Gone>().len(), 0);
        world.check().unwrap();
    }
}

#[test]
fn drawing_happens_only_after_a_commit_that_can_be_seen() {
    let mut world = World::new();
    let seen = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9), &Lit]);
    let hidden = put(&mut world, &[&Position { x: 5, y: 0 }, &Health(9)]);
    let mut turns =
        bare()
            .rule(Rule::on("walls", |_, moved: Change<'_, Position>, _| {
                if moved.value.x < 0 { Ruling::reject() } else { Ruling::pass() }
            }))
            .visible::<Position>()
            .seen(|now, after, action| {
                let mut moved = action.inserted::<Position>();
                moved.any(|(who, _)| now.has::<Lit>(who) || after.has::<Lit>(who))
            })
            .build(&mut world)
            .unwrap();
    let mut frames = |deed, expected: usize| {
        let mut drawn = Vec::new();
        let end = turns.act(&mut world, deed, |frame| {
            drawn.push(frame.now.get::<Position>(seen).unwrap().x);
            ControlFlow::Continue(())
        });
        assert_eq!((end.frames, drawn.len()), (expected, expected), "{deed:?}");
        drawn
    };
    assert_eq!(frames(Deed::Walk(seen, 1, 0), 1), [1], "the frame is of the time after it");
    frames(Deed::Walk(seen, -5, 0), 0);
    frames(Deed::Walk(hidden, 1, 0), 0);
    frames(Deed::Hurt(seen, 1), 0);
    frames(Deed::Wait, 0);
}

#[test]
fn removals_come_before_insertions_and_cells_are_right_before_anybody_looks() {
    let mut world = World::new();
    let door = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (inserted, removed) = (Arc::clone(&order), Arc::clone(&order));
    world
        .hooks()
        .on::<Door>(EventKind::Insert, move |_, _| inserted.lock().unwrap().push("insert"));
    world
        .hooks()
        .on::<Solid>(EventKind::Remove, move |_, _| removed.lock().unwrap().push("remove"));
    // An insertion of the component is known from here on, and comes first among the changes.
    turns.act(&mut world, Deed::Close(door), |frame| {
        assert_eq!(frame.now.cell((0, 0)).count::<Solid>(), 1);
        assert_eq!(frame.now.cell((0, 0)).first::<Door>(), Some(door));
        ControlFlow::Continue(())
    });
    let end = turns.act(&mut world, Deed::Open(door), |frame| {
        assert_eq!(frame.now.cell((0, 0)).count::<Solid>(), 0);
        ControlFlow::Continue(())
    });
    assert_eq!((end.frames, &**order.lock().unwrap()), (1, &["insert", "remove", "insert"][..]));
}

#[test]
fn who_draws_can_interrupt_what_would_still_follow() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let march = Rule::on("march", |case, moved: Change<'_, Position>, reactions| {
        reactions.push_after(5, *case.kind);
        let _ = moved;
        Ruling::pass()
    });
    let mut turns = bare().rule(march).build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    let end = turns.act(&mut world, Deed::Walk(who, 1, 0), |frame| {
        if frame.time < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(end.stopped, Some(Stopped::Interrupted { dropped: 1 }));
    assert_eq!(world.get(who), Ok(&Position { x: 5, y: 0 }));
    assert_eq!(turns.cells().check(&world), Ok(()));
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), before);
}

/// Wounds follow from walking, and the second wound bursts a rule.
fn bursting(world: &mut World, who: Entity) -> Turns<Deed> {
    bare()
        .rule(Rule::on("march", move |_, _: Change<'_, Position>, reactions| {
            reactions.push(Deed::Hurt(who, 1));
            Ruling::pass()
        }))
        .rule(Rule::on("burst", |_, hurt: Change<'_, Health>, reactions| {
            reactions.push(Deed::Wait);
            assert!(hurt.value.0 != 8, "boom");
            Ruling::pass()
        }))
        .build(world)
        .unwrap()
}

#[test]
fn a_turn_in_which_a_rule_panics_is_taken_back() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
    let mut turns = bursting(&mut world, who);
    turns.schedule(who, 0);
    let before = turns.state_hash(&world);
    let turn = || turns.take_turn(&mut world, who, Deed::Walk(who, 1, 0), unseen);
    assert!(catch_unwind(AssertUnwindSafe(turn)).is_err());
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.cells().check(&world), Ok(()));
    assert_eq!(turns.next(&world), Next::Ready(who));
    let end = turns.take_turn(&mut world, who, Deed::Hurt(who, 2), unseen).unwrap();
    assert_eq!((end.commits, end.decision), (2, Decision::Accepted));
}

#[test]
fn a_turn_in_which_whoever_draws_panics_is_taken_back() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    let act = || turns.act(&mut world, Deed::Walk(who, 1, 0), |_| panic!("no paper"));
    assert!(catch_unwind(AssertUnwindSafe(act)).is_err());
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.cells().check(&world), Ok(()));
    assert!(turns.log().turns.is_empty());
}

#[test]
fn what_is_scheduled_and_cancelled_after_a_panic_stays_so() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
    let other = put(&mut world, &[&Health(9)]);
    let mut turns = bursting(&mut world, who);
    let ticket = turns.schedule(who, 0);
    let turn = || turns.take_turn(&mut world, who, Deed::Walk(who, 1, 0), unseen);
    assert!(catch_unwind(AssertUnwindSafe(turn)).is_err());
    turns.schedule(other, 7);
    assert_eq!(turns.cancel(ticket), Some(who));
    turns.reserve(&mut world, 3);
    assert_eq!(turns.next(&world), Next::Ready(other));
    turns.take_turn(&mut world, other, Deed::Hurt(other, 2), unseen).unwrap();
    assert_eq!((turns.clock(), turns.upcoming().len(), turns.vacancies()), (7, 1, 67));
}

#[test]
fn a_rule_that_panics_leaves_no_reactions_behind() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
    let mut turns = bursting(&mut world, who);
    let judge = || turns.judge(&mut world, Deed::Hurt(who, 1));
    assert!(catch_unwind(AssertUnwindSafe(judge)).is_err());
    let end = turns.act(&mut world, Deed::Hurt(who, 2), unseen);
    assert_eq!((end.commits, turns.trace().actions().len()), (2, 2), "one reaction, not two");
}

#[test]
fn an_undo_in_which_a_watcher_panics_is_complete_all_the_same() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9), &Lit]);
    world.set_enabled::<Lit>(who, false).unwrap();
    let mut turns = bare().build(&mut world).unwrap();
    turns.schedule(who, 4);
    let before = turns.state_hash(&world);
    turns.act(&mut world, Deed::Die(who), unseen);
    world.hooks().on::<Lit>(EventKind::Insert, |_, _| panic!("boom"));
    assert!(catch_unwind(AssertUnwindSafe(|| turns.undo(&mut world))).is_err());
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.cells().check(&world), Ok(()));
    assert!(turns.log().turns.is_empty());
    assert!(turns.undo(&mut world).is_none(), "there is nothing else to be undone");
}

#[test]
fn a_turn_in_which_a_watcher_panics_is_taken_back() {
    let mut world = World::new();
    let all = walkers(&mut world, 3);
    let last = all[2];
    world
        .hooks()
        .on::<Lit>(EventKind::Insert, move |_, event| assert!(event.entity != last, "boom"));
    let light = move |who: Entity| {
        Rule::on(format!("light {who}"), move |_, hurt: Change<'_, Health>, reactions| {
            if hurt.entity == who {
                reactions.push(Deed::Anything(0));
            }
            Ruling::pass()
        })
    };
    let mut turns = bare().rule(light(all[0])).build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    // Some seed gives the last one light, among other things.
    let mut panics = 0;
    for seed in 0..if cfg!(miri) { 5 } else { 200 } {
        let act = || turns.act(&mut world, Deed::Anything(seed), unseen).spent;
        match catch_unwind(AssertUnwindSafe(act)) {
            Err(_) => {
                panics += 1;
                assert_eq!(turns.next(&world), Next::Nobody);
            }
            Ok(true) => drop(turns.undo(&mut world).unwrap()),
            Ok(false) => {}
        }
        assert_eq!(turns.state_hash(&world), before, "seed {seed}");
        assert_eq!(turns.cells().check(&world), Ok(()));
    }
    assert!(panics > 0 || cfg!(miri));
    world.check().unwrap();
}

#[test]
fn what_is_gone_leaves_with_the_first_turn_that_cannot_be_undone_and_with_no_other() {
    let game = |undo: usize| {
        let mut world = World::new();
        let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
        let rock = world.spawn(());
        let limits = TurnLimits { undo, ..TurnLimits::default() };
        let turns = bare().limits(limits).build(&mut world).unwrap();
        (world, turns, rock, Deed::Walk(who, 1, 0))
    };
    // The turn is one step: the rock has nothing to lose, and is gone.
    let (mut world, mut turns, rock, walk) = game(1);
    turns.act(&mut world, Deed::Die(rock), unseen);
    assert!(world.contains(rock) && !turns.now(&world).is_alive(rock));
    turns.act(&mut world, walk, unseen);
    assert!(!world.contains(rock));
    // Undoing what comes later does not keep it.
    let (mut world, mut turns, rock, walk) = game(2);
    turns.act(&mut world, Deed::Die(rock), unseen);
    turns.act(&mut world, walk, unseen);
    turns.undo(&mut world).unwrap();
    for is_there in [true, false] {
        turns.act(&mut world, walk, unseen);
        assert_eq!(world.contains(rock), is_there);
    }
}

#[test]
fn handles_after_a_rebuild_do_not_depend_on_the_order_in_which_the_world_has_the_gone() {
    let [one, other] = [false, true].map(|is_other_order| {
        let mut world = World::new();
        let mut both =
            [put(&mut world, &[&Position { x: 0, y: 0 }]), put(&mut world, &[&Health(1)])];
        let mut turns = bare().build(&mut world).unwrap();
        if is_other_order {
            both.reverse();
        }
        both.iter().for_each(|&it| world.insert(it, Gone).unwrap());
        turns.rebuild(&world);
        turns.act(&mut world, Deed::Wait, unseen);
        assert!(both.iter().all(|&it| !world.contains(it)));
        [world.spawn(()), world.spawn(())]
    });
    assert_eq!(one, other);
}

#[derive(Clone, Debug)]
struct Nothing;

impl TurnActionKind for Nothing {
    type Cell = ();

    fn bind(&self, _: &mut Draft<'_, ()>) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Takes no time, and is refused or not.
#[derive(Clone, Debug)]
struct Hasty(bool);

impl TurnActionKind for Hasty {
    type Cell = ();

    fn bind(&self, _: &mut Draft<'_, ()>) -> Result<(), Refusal> {
        if self.0 { Ok(()) } else { Err(Refusal::Malformed("nobody can".into())) }
    }

    fn duration(&self) -> u64 {
        0
    }
}

#[test]
fn a_turn_takes_one_unit_by_default_and_one_in_which_nothing_is_done_at_least_that() {
    fn time_of_the_next<K: TurnActionKind<Cell = ()>>(kind: K) -> u64 {
        let mut world = World::new();
        let who = world.spawn(());
        let mut turns = Turns::builder().build(&mut world).unwrap();
        turns.schedule(who, 5);
        assert!(turns.take_turn(&mut world, who, kind, unseen).unwrap().spent);
        turns.upcoming().first().unwrap().0.time()
    }
    assert_eq!(time_of_the_next(Nothing), 6);
    assert_eq!(time_of_the_next(Hasty(true)), 5);
    assert_eq!(time_of_the_next(Hasty(false)), 6);
}
