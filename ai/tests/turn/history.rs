//! Undo, replay, scripts and logs that are not as they should be.

use std::ops::ControlFlow;

use formic_ai::turn::{
    Change, Decision, Motion, RealTime, ReplayError, Rule, Ruling, Stopped, TurnLimits, TurnLog,
    Turns, unseen,
};
use formic_ecs::prelude::*;

use crate::game::{Deed, Health, Lit, Player, Position, Velocity, bare, put};

#[test]
fn an_undone_death_gives_back_all_components_and_the_turn() {
    let mut world = World::new();
    let hero = put(&mut world, &[&Position { x: 2, y: 2 }, &Health(3), &Player, &Lit]);
    world.set_enabled::<Lit>(hero, false).unwrap();
    let mut turns = bare().component::<Player>().build(&mut world).unwrap();
    turns.schedule(hero, 4);
    let before = turns.state_hash(&world);
    turns.take_turn(&mut world, hero, Deed::Die(hero), unseen).unwrap();
    assert!(turns.next(&world).entity().is_none());
    let undone = turns.undo(&mut world).unwrap();
    assert_eq!((undone.actor, undone.kind), (Some(hero), Deed::Die(hero)));
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(world.is_enabled::<Lit>(hero), Ok(false));
    assert_eq!(turns.now(&world).cell((2, 2)).entities().collect::<Vec<_>>(), [hero]);
    assert_eq!((turns.clock(), turns.next(&world).entity()), (0, Some(hero)));
}

#[test]
fn only_so_many_turns_can_be_undone() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns =
        bare().limits(TurnLimits { undo: 3, ..TurnLimits::default() }).build(&mut world).unwrap();
    for _ in 0..10 {
        turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    }
    for left in (7..10).rev() {
        turns.undo(&mut world).unwrap();
        assert_eq!(world.get(who), Ok(&Position { x: left, y: 0 }));
    }
    assert_eq!(turns.undo(&mut world), None);
    assert_eq!(turns.log().turns.len(), 7, "those that cannot be undone are logged all the same");
}

#[test]
fn nothing_before_a_rebuild_can_be_undone() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    world.get_mut::<Position>(who).unwrap().x = 7;
    turns.rebuild(&world);
    assert_eq!(turns.cells().check(&world), Ok(()));
    assert_eq!(turns.undo(&mut world), None);
}

fn game() -> (World, Turns<Deed>, Entity, Entity) {
    let mut world = World::new();
    let (one, other) = (
        put(&mut world, &[&Position { x: 0, y: 0 }]),
        put(&mut world, &[&Position { x: 1, y: 1 }]),
    );
    let mut turns = bare().hash_every(1).build(&mut world).unwrap();
    turns.schedule(one, 0);
    turns.schedule(other, 1);
    (world, turns, one, other)
}

#[test]
fn a_replay_says_where_it_left_the_way_of_the_log() {
    let (mut world, mut turns, one, other) = game();
    turns.take_turn(&mut world, one, Deed::Walk(one, 1, 0), unseen).unwrap();
    turns.take_turn(&mut world, other, Deed::Walk(other, 1, 0), unseen).unwrap();
    let log = turns.log().clone();

    let (mut world, mut turns, ..) = game();
    world.get_mut::<Position>(other).unwrap().y = 5;
    turns.rebuild(&world);
    let error = turns.replay(&mut world, &log).unwrap_err();
    assert!(matches!(error, ReplayError::OtherHash { turn: 0, .. }), "{error}");

    let (mut world, mut turns, ..) = game();
    turns.act(&mut world, Deed::Die(one), unseen);
    let error = turns.replay(&mut world, &log).unwrap_err();
    let expected = ReplayError::OtherActor { turn: 0, logged: Some(one), here: Some(other) };
    assert_eq!(error, expected);

    let (mut world, mut turns, ..) = game();
    let mut still = log.clone();
    (still.turns[0].actor, still.turns[0].kind) = (None, Deed::Echo(2_000_000));
    assert_eq!(turns.replay(&mut world, &still), Err(ReplayError::NotSpent { turn: 0 }));
}

#[test]
fn a_turn_that_was_broken_off_is_replayed_to_where_it_ended() {
    // A soldier marches on by reactions, an arrow flies in real time, and both are seen.
    let begin = || {
        let mut world = World::new();
        let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
        let arrow = put(&mut world, &[&Position { x: 0, y: 1 }, &Velocity { x: 1, y: 0 }]);
        let march = Rule::on("march", |case, _: Change<'_, Position>, reactions| {
            reactions.push_after(15, *case.kind);
            Ruling::pass()
        });
        let fly = RealTime::new("fly", move |point| {
            let at = *point.now().get::<Position>(arrow).unwrap();
            point.insert(arrow, Position { x: at.x + 1, ..at });
            Motion::Moving
        });
        let builder = bare().rule(march).real_time(fly).hash_every(1);
        let turns = builder.build(&mut world).unwrap();
        (world, turns, who)
    };
    for frames in 1..9 {
        let (mut world, mut turns, who) = begin();
        let mut left = frames;
        let end = turns.act(&mut world, Deed::Walk(who, 1, 0), |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(end.stopped, Some(Stopped::Interrupted { .. })));
        let log = ron::to_string(turns.log()).unwrap();
        let log: TurnLog<Deed> = ron::from_str(&log).unwrap();
        let (mut again, mut replayed, _) = begin();
        assert_eq!(replayed.replay(&mut again, &log), Ok(()), "{frames} frames");
        assert_eq!(replayed.log(), turns.log());
        assert_eq!(replayed.state_hash(&again), turns.state_hash(&world));
    }
}

#[test]
fn after_a_restore_a_rebuild_knows_who_is_vacant_and_whose_turns_are_left() {
    let mut world = World::new();
    let mut turns = bare().vacancies(2).build(&mut world).unwrap();
    let bring = |turns: &mut Turns<Deed>, world: &mut World| {
        turns.act(world, Deed::Bring(0, 0), unseen).decision
    };
    let saved = world.snapshot().unwrap();
    for _ in 0..2 {
        assert_eq!(bring(&mut turns, &mut world), Decision::Accepted);
    }
    let full = world.snapshot().unwrap();
    world.restore(&saved).unwrap();
    turns.rebuild(&world);
    assert_eq!((turns.vacancies(), turns.upcoming().len()), (2, 0));
    for _ in 0..2 {
        assert_eq!(bring(&mut turns, &mut world), Decision::Accepted);
    }
    assert_eq!(world.snapshot().unwrap(), full, "the same entities are brought in the same order");
    world.restore(&saved).unwrap();
    world.restore(&full).unwrap();
    turns.rebuild(&world);
    assert_eq!(turns.vacancies(), 0);
    // New turns in a world that has been played in before know as much.
    world.restore(&saved).unwrap();
    let mut turns = bare().vacancies(3).build(&mut world).unwrap();
    assert_eq!(turns.vacancies(), 3);
    assert_eq!(turns.now(&world).entities_with::<formic_ai::turn::Vacant>().len(), 3);
    assert_eq!(bring(&mut turns, &mut world), Decision::Accepted);
}

#[test]
fn a_ticket_of_what_was_undone_or_has_run_strikes_nothing_else_out() {
    let mut world = World::new();
    let one = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let other = put(&mut world, &[&Position { x: 1, y: 0 }]);
    let mut turns = bare().build(&mut world).unwrap();
    let kept = turns.schedule(one, 0);
    turns.take_turn(&mut world, one, Deed::Wait, unseen).unwrap();
    let undone = turns.schedule(one, 5);
    assert_eq!(turns.cancel(kept), None, "it has run");
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.upcoming().len(), 1, "it is to run again");
    let again = [turns.schedule(other, 3), turns.schedule(other, 5)];
    assert_eq!(turns.cancel(undone), None);
    assert_eq!(again.map(|ticket| turns.cancel(ticket)), [Some(other); 2]);
    assert_eq!(turns.cancel(kept), Some(one), "its own turn came back");
}

#[test]
fn undoing_may_change_the_order_of_rows_but_neither_the_hash_nor_the_order_of_entities() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..4).map(|x| put(&mut world, &[&Position { x, y: 0 }])).collect();
    let mut turns = bare().build(&mut world).unwrap();
    let rows = |world: &World| {
        world.query_ref::<(Entity, &Position)>().map(|(who, _)| who).collect::<Vec<_>>()
    };
    let before = turns.state_hash(&world);
    assert_eq!(rows(&world), all);
    turns.act(&mut world, Deed::Die(all[1]), unseen);
    turns.undo(&mut world).unwrap();
    assert_ne!(rows(&world), all, "this test is of use where rows have moved");
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.now(&world).entities_with::<Position>(), all);
    assert!(turns.now(&world).cell((1, 0)).entities().eq([all[1]]));
}

#[test]
fn what_was_rejected_counts_where_a_turn_was_broken_off() {
    let begin = || {
        let mut world = World::new();
        let who = put(&mut world, &[&Health(100)]);
        // Every other one is rejected, and the next follows in any case.
        let turn_by_turn = Rule::on("in turn", move |case, _: Change<'_, Health>, reactions| {
            let Deed::Hurt(_, wounds) = *case.kind else { return Ruling::pass() };
            reactions.push_after(5, Deed::Hurt(who, 3 - wounds));
            if wounds == 1 { Ruling::reject() } else { Ruling::pass() }
        });
        let turns = bare().rule(turn_by_turn).hash_every(1).build(&mut world).unwrap();
        (world, turns, who)
    };
    let (mut world, mut turns, who) = begin();
    let mut left = 4;
    let end = turns.act(&mut world, Deed::Hurt(who, 2), |_| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((end.commits, end.rejections), (4, 3));
    assert_eq!(world.get(who), Ok(&Health(92)));
    let (mut other, mut its_turns, _) = begin();
    its_turns.replay(&mut other, turns.log()).unwrap();
    assert_eq!(its_turns.state_hash(&other), turns.state_hash(&world));
}

#[test]
fn every_third_turn_is_logged_with_a_hash() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let mut turns = bare().hash_every(3).build(&mut world).unwrap();
    let mut hashes = Vec::new();
    for _ in 0..7 {
        turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
        hashes.push(turns.state_hash(&world).value());
    }
    let logged: Vec<_> = turns.log().turns.iter().map(|it| it.hash).collect();
    let [third, sixth] = [hashes[2], hashes[5]].map(Some);
    assert_eq!(logged, [None, None, third, None, None, sixth, None]);
}
