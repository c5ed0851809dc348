//! Hooks that run at every point inside a turn.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use formic_ai::turn::{
    Cause, Change, Motion, Point, RealTime, Rule, Ruling, Stopped, TurnAction, TurnLimits, Turns,
    TurnsBuilder, unseen,
};
use formic_ecs::prelude::*;

use crate::game::{Deed, Health, Lit, Position, Solid, Velocity, bare, put};

/// Everything with a velocity moves; what runs into something solid stops and hurts it.
fn fly(point: &mut Point<'_, Deed>) -> Motion {
    let now = point.now();
    let mut motion = Motion::Still;
    for (arrow, position, velocity) in now.world().query_ref::<(Entity, &Position, &Velocity)>() {
        motion = Motion::Moving;
        let at = Position { x: position.x + velocity.x, y: position.y + velocity.y };
        point.insert(arrow, at);
        if let Some(hit) = now.cell((at.x, at.y)).first::<Solid>() {
            point.request(Deed::Hurt(hit, 2));
            point.request(Deed::Die(arrow));
        }
    }
    motion
}

fn range() -> (World, Turns<Deed>, Entity, Entity) {
    let mut world = World::new();
    let target = put(&mut world, &[&Position { x: 4, y: 0 }, &Solid, &Health(9)]);
    let who = put(&mut world, &[&Position { x: -1, y: 0 }, &Health(9)]);
    put(&mut world, &[&Position { x: 0, y: 0 }, &Velocity { x: 1, y: 0 }]);
    let turns = bare().real_time(RealTime::new("fly", fly)).build(&mut world).unwrap();
    (world, turns, target, who)
}

#[test]
fn what_flies_moves_at_every_point_until_it_hits() {
    let (mut world, mut turns, target, who) = range();
    let mut frames = Vec::new();
    let end = turns.act(&mut world, Deed::Hurt(who, 1), |frame| {
        let arrows = frame.now.world().query_ref::<(&Position, &Velocity)>();
        frames.push((frame.time, arrows.map(|(position, _)| position.x).next()));
        ControlFlow::Continue(())
    });
    let flight = [(0, Some(0)), (10, Some(1)), (20, Some(2)), (30, Some(3)), (40, Some(4))];
    assert_eq!(frames, [&flight[..], &[(40, Some(4)), (40, None)]].concat());
    assert_eq!((end.time, end.stopped, end.commits), (50, None, 3));
    assert_eq!(world.get(target), Ok(&Health(7)));
    assert_eq!(turns.cells().check(&world), Ok(()));
}

#[test]
fn the_trace_shows_what_a_hook_did_and_asked_for() {
    let (mut world, mut turns, ..) = range();
    turns.act(&mut world, Deed::Wait, unseen);
    let trace = turns.trace();
    assert_eq!(trace.actions()[1].cause, Cause::RealTime { hook: 0 });
    let points: Vec<_> =
        trace.points().iter().map(|it| (it.time, it.changes, it.requests)).collect();
    assert_eq!(points, [(10, 1, 0), (20, 1, 0), (30, 1, 0), (40, 1, 2)]);
    let text = trace.to_string();
    assert!(text.contains("fly -> hurt"), "{text}");
    assert!(text.ends_with("fly at 40: 1 change, 2 requests\n"), "{text}");
}

#[test]
fn what_a_hook_did_is_undone_with_the_turn_and_logged_with_it() {
    let (mut world, mut turns, ..) = range();
    let before = turns.state_hash(&world);
    turns.act(&mut world, Deed::Wait, unseen);
    let after = turns.state_hash(&world);
    assert_ne!(before, after);
    let log = turns.log().clone();
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.cells().check(&world), Ok(()));
    turns.replay(&mut world, &log).unwrap();
    assert_eq!(turns.state_hash(&world), after);
}

#[test]
fn something_that_flies_for_ever_is_cut_off() {
    let (mut world, mut turns, target, _) = range();
    turns.act(&mut world, Deed::Die(target), unseen);
    turns.undo(&mut world).unwrap();
    let hook = RealTime::new("fly", fly);
    let mut turns = bare()
        .real_time(hook)
        .limits(TurnLimits { points: 25, ..TurnLimits::default() })
        .build(&mut world)
        .unwrap();
    let end = turns.act(&mut world, Deed::Die(target), unseen);
    assert_eq!(end.stopped, Some(Stopped::TooManyPoints { limit: 25, dropped: 0 }));
    assert_eq!(end.time, 250);
}

#[test]
fn hooks_may_give_change_and_take_components() {
    let mut world = World::new();
    let all: Vec<Entity> =
        (0..4).map(|x| put(&mut world, &[&Position { x, y: 0 }, &Lit, &Health(1)])).collect();
    world.remove::<Lit>(all[3]).unwrap();
    world.set_enabled::<Lit>(all[0], false).unwrap();
    let others = all.clone();
    let hook = RealTime::<Deed>::new("switch", move |point| {
        if point.time() == 10 {
            point.remove::<Lit>(others[0]);
            point.remove::<Lit>(others[1]);
            point.insert(others[2], Health(2));
            point.insert(others[3], Lit);
        }
        Motion::Still
    });
    let mut turns = bare().real_time(hook).build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    assert_eq!(turns.act(&mut world, Deed::Wait, unseen).frames, 1);
    let lit = |world: &World, who| world.has::<Lit>(who) && world.is_enabled::<Lit>(who).unwrap();
    assert_eq!(
        all.iter().map(|&who| lit(&world, who)).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    assert_eq!(world.get(all[2]), Ok(&Health(2)));
    assert_eq!(turns.trace().points()[0].changes, 4);
    turns.undo(&mut world).unwrap();
    assert_eq!(turns.state_hash(&world), before);
}

#[test]
fn what_a_hook_does_is_drawn_only_where_it_can_be_seen() {
    // At 10 an actor is hurt, at 20 something moves in the dark, at 30 in the light, at 40 out of
    // it, and at 50 the lamp moves.
    let frames = |builder: TurnsBuilder<Deed>| {
        let mut world = World::new();
        let rat = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(9)]);
        let lamp = put(&mut world, &[&Position { x: 9, y: 0 }, &Lit]);
        let hook = RealTime::<Deed>::new("scurry", move |point| {
            let time = point.time();
            match time {
                10 => point.insert(rat, Health(8)),
                20..50 => {
                    let x = if time == 30 { 8 } else { 1 };
                    point.insert(rat, Position { x, y: 0 });
                }
                _ => point.insert(lamp, Position { x: 5, y: 0 }),
            }
            if time < 50 { Motion::Moving } else { Motion::Still }
        });
        let mut turns = builder.real_time(hook).build(&mut world).unwrap();
        let mut frames = Vec::new();
        let end = turns.act(&mut world, Deed::Wait, |frame| {
            frames.push(frame.time);
            ControlFlow::Continue(())
        });
        assert_eq!(end.frames, frames.len());
        frames
    };
    assert_eq!(frames(bare()), [10, 20, 30, 40, 50]);
    assert_eq!(frames(bare().visible::<Position>()), [20, 30, 40, 50]);
    assert_eq!(frames(bare().visible::<Solid>()), []);
    let in_the_light = bare().visible::<Position>().seen(|before, after, changes| {
        let lamp = after.entities_with::<Lit>()[0];
        let is_near = |cell: Option<(i32, i32)>| cell.is_some_and(|(x, _)| (x - 9).abs() < 3);
        changes.inserted::<Position>().any(|(who, _)| {
            who == lamp || is_near(before.cell_of(who)) || is_near(after.cell_of(who))
        })
    });
    assert_eq!(frames(in_the_light), [30, 40, 50]);
}

#[test]
fn a_turn_in_which_a_hook_panics_is_taken_back() {
    let mut world = World::new();
    let arrow = put(&mut world, &[&Position { x: 0, y: 0 }, &Velocity { x: 1, y: 0 }]);
    let hook = RealTime::<Deed>::new("fly", move |point| {
        let x = point.now().get::<Position>(arrow).unwrap().x + 1;
        point.insert(arrow, Position { x, y: 0 });
        assert!(x < 3, "boom");
        Motion::Moving
    });
    let mut turns = bare().real_time(hook).build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    let act = || turns.act(&mut world, Deed::Wait, unseen);
    assert!(catch_unwind(AssertUnwindSafe(act)).is_err());
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(turns.cells().check(&world), Ok(()));
}

#[test]
fn a_turn_in_which_a_hook_writes_to_the_dead_is_taken_back() {
    let mut world = World::new();
    let arrow = put(&mut world, &[&Position { x: 0, y: 0 }, &Velocity { x: 1, y: 0 }]);
    let dead = world.spawn(());
    world.despawn(dead).unwrap();
    let hook = RealTime::<Deed>::new("fly", move |point| {
        let whom = if point.time() == 10 { arrow } else { dead };
        point.insert(whom, Position { x: 1, y: 0 });
        Motion::Moving
    });
    let mut turns = bare().real_time(hook).build(&mut world).unwrap();
    let before = turns.state_hash(&world);
    let act = || turns.act(&mut world, Deed::Wait, unseen);
    let panic = catch_unwind(AssertUnwindSafe(act)).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("the hook \"fly\" cannot write this"), "{message}");
    assert_eq!(turns.state_hash(&world), before);
}

#[test]
fn a_hook_that_asks_what_would_be_is_told_by_cells_that_do_not_know_yet_what_it_wrote() {
    let mut world = World::new();
    let imp = put(&mut world, &[&Position { x: 0, y: 0 }]);
    let hook = RealTime::<Deed>::new("harden", move |point| {
        point.insert(imp, Solid);
        let mut action = TurnAction::new();
        action.insert(imp, Position { x: 1, y: 0 });
        let after = point.now().after(&action);
        assert_eq!([0, 1].map(|x| after.cell((x, 0)).count::<Solid>()), [0, 0]);
        assert_eq!([0, 1].map(|x| after.cell((x, 0)).entities().count()), [0, 1]);
        Motion::Still
    });
    let mut turns = bare().real_time(hook).build(&mut world).unwrap();
    turns.act(&mut world, Deed::Wait, unseen);
    assert_eq!(turns.now(&world).cell((0, 0)).count::<Solid>(), 1);
}

#[test]
fn an_action_that_is_due_comes_before_the_hooks_of_its_time_and_they_wait_for_it() {
    let mut world = World::new();
    let who = put(&mut world, &[&Health(9)]);
    let again = Rule::on("again", move |_, hurt: Change<'_, Health>, reactions| {
        if hurt.value.0 == 8 {
            reactions.push_after(20, Deed::Hurt(who, 1));
        }
        Ruling::pass()
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let hook = RealTime::new("look", move |point: &mut Point<'_, Deed>| {
        let health = point.now().get::<Health>(who).unwrap().0;
        noted.lock().unwrap().push((point.time(), health));
        Motion::Still
    });
    let mut turns = bare().rule(again).real_time(hook).build(&mut world).unwrap();
    let end = turns.act(&mut world, Deed::Hurt(who, 1), unseen);
    assert_eq!(*seen.lock().unwrap(), [(10, 8), (20, 7)]);
    assert_eq!((end.time, end.commits, end.stopped), (20, 2, None));
}
