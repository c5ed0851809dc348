//! Undo, replay, scripts and logs that are not as they should be.

use ai::turn::{LoggedTurn, ReplayError, Turns, UndoError, read_script, unseen};
use ecs_core::prelude::*;

use crate::game::{Deed, Health, Lit, Player, Position, bare};

#[test]
fn an_undone_death_gives_back_all_components_and_the_turn() {
    let mut world = World::new();
    let hero = world.spawn((Position { x: 2, y: 2 }, Health(3), Player, Lit));
    world.set_enabled::<Lit>(hero, false).unwrap();
    let mut turns = bare().component::<Player>().build(&mut world).unwrap();
    turns.schedule(hero, 4);
    let before = turns.state_hash(&world);
    turns.take_turn(&mut world, hero, Deed::Die(hero), unseen).unwrap();
    assert!(turns.next(&mut world).entity().is_none());
    let undone = turns.undo(&mut world).unwrap();
    assert_eq!(undone, LoggedTurn { actor: Some(hero), kind: Deed::Die(hero), hash: None });
    assert_eq!(turns.state_hash(&world), before);
    assert_eq!(world.is_enabled::<Lit>(hero), Ok(false));
    assert_eq!(turns.now(&world).cell((2, 2)).entities().collect::<Vec<_>>(), [hero]);
    assert_eq!((turns.clock(), turns.next(&mut world).entity()), (0, Some(hero)));
}

#[test]
fn only_so_many_turns_can_be_undone() {
    let mut world = World::new();
    let who = world.spawn(Position { x: 0, y: 0 });
    let mut turns = bare().undo_max(3).build(&mut world).unwrap();
    for _ in 0..10 {
        turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    }
    for left in (7..10).rev() {
        turns.undo(&mut world).unwrap();
        assert_eq!(world.get(who), Ok(&Position { x: left, y: 0 }));
    }
    assert_eq!(turns.undo(&mut world), Err(UndoError::NothingLeft));
    assert_eq!(turns.log().turns.len(), 7, "those that cannot be undone are logged all the same");
}

#[test]
fn nothing_before_a_rebuild_can_be_undone() {
    let mut world = World::new();
    let who = world.spawn(Position { x: 0, y: 0 });
    let mut turns = bare().build(&mut world).unwrap();
    turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    world.get_mut::<Position>(who).unwrap().x = 7;
    turns.rebuild(&world);
    assert_eq!(turns.cells().check(&world), Ok(()));
    assert_eq!(turns.undo(&mut world), Err(UndoError::NothingLeft));
}

fn game() -> (World, Turns<Deed>, Entity, Entity) {
    let mut world = World::new();
    let (one, other) = (world.spawn(Position { x: 0, y: 0 }), world.spawn(Position { x: 1, y: 1 }));
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
    still.turns[0] = LoggedTurn { actor: None, kind: Deed::Echo(2_000_000), hash: None };
    assert_eq!(turns.replay(&mut world, &still), Err(ReplayError::NotSpent { turn: 0 }));
}

#[test]
fn a_script_is_read_and_a_malformed_one_says_in_which_line() {
    let script = "# two steps\nwalk 4294967296 1 0\n\n  anything 7\n";
    let who = Entity::from_bits(4_294_967_296).unwrap();
    assert_eq!(read_script(script), Ok(vec![Deed::Walk(who, 1, 0), Deed::Anything(7)]));
    for (text, expected) in [
        ("walk 4294967296 1 0\nwalk 0 1 0", "line 2: who walks?"),
        ("\n\nwalk 4294967296 1 east", "line 3: \"east\" is no number"),
        ("dance", "line 1: \"dance\" is nothing that can be done"),
        ("walk 4294967296 1", "line 1: \"walk 4294967296 1\" is nothing that can be done"),
    ] {
        assert_eq!(read_script::<Deed>(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_malformed_log_says_in_which_line() {
    use ai::turn::TurnLog;
    for (text, expected) in [
        ("- - anything 7\n0 - anything 7", "line 2: \"0\" is no entity"),
        ("- xyz anything 7", "line 1: \"xyz\" is no state hash"),
        ("- -", "line 1: \"\" is nothing that can be done"),
    ] {
        assert_eq!(text.parse::<TurnLog<Deed>>().unwrap_err().to_string(), expected);
    }
}
