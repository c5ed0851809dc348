//! Unit tests of the game: doors, barrels, decisions, and the terminal screen.

use std::ops::ControlFlow;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use formic::inspect::View;
use formic_ecs::prelude::*;

use super::command::Command;
use super::game::{Game, Player, Status, unwatched, with_play};
use super::level::Level;
use super::mind;
use super::play::{Key, meaning};
use super::screen::{self, LEAST, Page};
use super::sight::{SIGHT, cell_of, sees};
use super::terminal::Canvas;
use super::things::{
    Asleep, Barrel, Cell, Closed, Door, Flame, Foe, Health, Look, Position, Solid, Velocity,
};
use crate::setup::Setup;
use crate::simulation::Simulation;

fn new_game(foes: u32, seed: u64) -> Game {
    let setup = Setup { agents: foes, ticks: 0, seed, threads: 1 };
    Game::new(&setup, Player::Nobody, false).expect("one thread is here")
}

/// Returns a direction, the free cell beside the hero in that direction, and the free cell behind it.
fn two_cells_in_a_row(game: &Game) -> (Cell, Cell, Cell) {
    let at = cell_of(&game.now(), game.hero).unwrap();
    let free = |cell| game.level().is_open(cell) && game.now().cell(cell).is_empty();
    let ways = [(1, 0), (-1, 0), (0, 1), (0, -1)];
    let way = ways.into_iter().find(|way| {
        free((at.0 + way.0, at.1 + way.1)) && free((at.0 + 2 * way.0, at.1 + 2 * way.1))
    });
    let way = way.expect("rooms are larger than that");
    (way, (at.0 + way.0, at.1 + way.1), (at.0 + 2 * way.0, at.1 + 2 * way.1))
}

fn put(game: &mut Game, cell: Cell, bundle: impl Bundle) -> Entity {
    let thing = game.engine.world.spawn(bundle);
    game.engine.world.insert(thing, Position::from(cell)).map_err(drop).unwrap();
    with_play(&mut game.engine.world, |play, world| play.turns.rebuild(world));
    thing
}

#[test]
fn a_bump_opens_a_door_and_closing_it_hides_what_is_behind() {
    let mut game = new_game(1, 3);
    let (way, beside, behind) = two_cells_in_a_row(&game);
    let door = put(&mut game, beside, (Door, Closed, Solid, super::things::Opaque));
    let at = cell_of(&game.now(), game.hero).unwrap();
    assert!(!sees(&game.now(), at, behind) || at.0 != behind.0 && at.1 != behind.1);
    game.command(Command::Go(way), &mut unwatched);
    assert!(!game.engine.world.has::<Closed>(door) && !game.engine.world.has::<Solid>(door));
    assert_eq!(cell_of(&game.now(), game.hero), Some(at), "opening takes the turn");
    assert!(game.play().progress.message.starts_with("A bump opens doors"));
    game.command(Command::Close(way), &mut unwatched);
    assert!(game.engine.world.has::<Closed>(door));
    game.command(Command::Undo, &mut unwatched);
    game.command(Command::Undo, &mut unwatched);
    assert!(game.engine.world.has::<Closed>(door));
    assert_eq!(game.check(), Ok(()));
}

#[test]
fn a_barrel_bursts_in_real_time_and_takes_the_next_one_along() {
    let mut game = new_game(1, 3);
    let (way, beside, behind) = two_cells_in_a_row(&game);
    let health = Health { now: 1, most: 1 };
    put(&mut game, beside, (Barrel, Solid, health));
    let second = put(&mut game, behind, (Barrel, Solid, health));
    let before = game.state_hash();
    let mut times = Vec::new();
    game.command(Command::Go(way), &mut |scene| {
        times.push(scene.time);
        ControlFlow::Continue(())
    });
    assert!(!game.now().is_alive(second));
    assert!(times.len() > 3 && times.is_sorted() && times[0] < *times.last().unwrap(), "{times:?}");
    assert_eq!(game.engine.world.query::<&Flame>().count(), 0, "all flames have gone out");
    assert!(game.engine.world.get::<Health>(game.hero).map_or(true, |health| health.now < 20));
    let why = game.play().progress.why.concat();
    assert!(why.contains("arrows and flames -> take") && why.contains("burst a barrel"), "{why}");
    game.command(Command::Undo, &mut unwatched);
    assert_eq!(game.state_hash(), before);
}

#[test]
fn an_arrow_flies_until_it_hits_and_leaves_nothing() {
    let mut game = new_game(1, 3);
    let (way, _, behind) = two_cells_in_a_row(&game);
    let health = Health { now: 9, most: 9 };
    let foe = put(&mut game, behind, (Solid, health, Foe(0), Asleep));
    game.command(Command::Shoot(way), &mut unwatched);
    assert!(game.engine.world.get::<Health>(foe).is_ok_and(|health| health.now == 7));
    assert!(!game.engine.world.has::<Asleep>(foe), "who is hurt wakes");
    assert_eq!(game.engine.world.query::<&Velocity>().count(), 0);
}

#[test]
fn who_sees_the_hero_wakes_and_comes_and_others_have_no_turns() {
    let mut game = new_game(30, 5);
    let asleep = game.engine.world.query_filtered::<Entity, With<Asleep>>().count();
    for _ in 0..40 {
        let command = mind::hero(&game.now(), game.hero);
        game.command(command, &mut unwatched);
    }
    let still = game.engine.world.query_filtered::<Entity, With<Asleep>>().count();
    assert!(still < asleep);
    let scheduled: Vec<Entity> = game.play().turns.upcoming().iter().map(|(_, who)| who).collect();
    assert!(scheduled.iter().all(|&who| !game.engine.world.has::<Asleep>(who)));
}

#[test]
fn games_can_be_taken_back_to_their_beginning() {
    for seed in 1..4 {
        let mut game = new_game(15, seed);
        let first = game.state_hash();
        for _ in 0..60 {
            let command = mind::hero(&game.now(), game.hero);
            game.command(command, &mut unwatched);
            assert_eq!(game.check(), Ok(()));
        }
        assert_ne!(game.state_hash(), first);
        for _ in 0..60 {
            game.command(Command::Undo, &mut unwatched);
        }
        assert_eq!(game.state_hash(), first, "seed {seed}");
        assert_eq!(game.check(), Ok(()));
    }
}

#[test]
fn death_can_be_taken_back() {
    let mut game = new_game(1, 3);
    let (way, beside, _) = two_cells_in_a_row(&game);
    put(&mut game, beside, (Barrel, Solid, Health { now: 1, most: 1 }));
    game.engine.world.get_mut::<Health>(game.hero).unwrap().now = 1;
    game.command(Command::Go(way), &mut unwatched);
    assert_eq!(game.status(), Status::Dead);
    game.command(Command::Rest, &mut unwatched);
    game.command(Command::Undo, &mut unwatched);
    assert_eq!(game.status(), Status::Playing);
}

#[test]
fn seeing_goes_both_ways() {
    let game = new_game(9, 2);
    let now = game.now();
    let level: &Level = game.level();
    let open = (0..level.height).flat_map(|y| (0..level.width).map(move |x| (x, y)));
    let open: Vec<Cell> = open.filter(|&cell| level.is_open(cell)).collect();
    for (&one, &other) in open.iter().zip(open.iter().skip(7)) {
        assert_eq!(sees(&now, one, other), sees(&now, other, one), "{one:?} {other:?}");
        assert!(!sees(&now, one, (one.0 + SIGHT + 1, one.1)));
    }
}

fn screen(game: &Game, width: u16, height: u16, page: Page<'_>) -> String {
    let mut canvas = Canvas::new(width, height);
    screen::draw(&mut canvas, &game.scene(), &game.play().progress.message, page);
    canvas.text()
}

#[test]
fn the_screen_shows_the_hero_the_walls_and_the_keys() {
    let game = new_game(6, 1);
    let text = screen(&game, 80, 24, Page::None);
    for part in ["@", "#", "Health", "20/20", "? why did that happen", "Find the stairs"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_terminal_that_is_too_small_says_so_and_any_size_is_drawn() {
    let game = new_game(6, 1);
    assert!(screen(&game, 43, 30, Page::None).contains("too small"));
    assert!(!screen(&game, LEAST.0, LEAST.1, Page::None).contains("too small"));
    for (width, height) in [(1, 1), (3, 40), (200, 2), (300, 100)] {
        screen(&game, width, height, Page::None);
        screen(&game, width, height, Page::Why(&game.play().progress.why, 9));
    }
}

#[test]
fn why_shows_the_rules() {
    let mut game = new_game(6, 1);
    assert!(
        screen(&game, 80, 24, Page::Why(&game.play().progress.why, 0))
            .contains("Nothing has happened yet")
    );
    game.command(Command::Rest, &mut unwatched);
    let (way, ..) = two_cells_in_a_row(&game);
    game.command(Command::Go(way), &mut unwatched);
    let text = screen(&game, 100, 24, Page::Why(&game.play().progress.why, 0));
    assert!(text.contains("the hero") && text.contains("| rock stands: accept"), "{text}");
}

#[test]
fn a_foe_that_is_awake_says_when_its_next_turn_is() {
    let mut game = new_game(1, 1);
    let (_, _, behind) = two_cells_in_a_row(&game);
    let health = Health { now: 3, most: 3 };
    let foe = put(&mut game, behind, (Solid, health, Foe(0)));
    with_play(&mut game.engine.world, |play, _| _ = play.turns.schedule(foe, 7));
    let said = game.why(foe);
    let health = "It has 3 of 3 points of health. ";
    assert_eq!(said, [format!("{health}It is after the hero, and has its next turn at time 7.")]);
}

#[test]
fn why_begins_with_what_cost_the_hero_health() {
    let mut game = new_game(30, 5);
    for _ in 0..300 {
        let health =
            |game: &Game| game.engine.world.get::<Health>(game.hero).map_or(0, |it| it.now);
        let before = health(&game);
        let command = mind::hero(&game.now(), game.hero);
        game.command(command, &mut unwatched);
        let lost = before.saturating_sub(health(&game));
        if lost > 0 && game.play().progress.why.len() > 1 {
            let first = &game.play().progress.why[0];
            assert!(first.starts_with("The hero lost "), "{first}");
            assert!(first.contains(" health from the hero"), "{first}");
            return;
        }
    }
    panic!("nothing ever hurt the hero");
}

#[test]
fn one_foe_is_named_in_the_singular() {
    assert_eq!(screen::foes_line('a', 1, 0), " a: 1 archer");
    assert_eq!(screen::foes_line('g', 3, 2), " g: 3 goblins, 2 asleep");
    assert_eq!(screen::foes_line('r', 1, 1), " r: 1 rat, 1 asleep");
}

#[test]
fn a_door_has_one_name_open_or_closed() {
    let mut game = new_game(1, 3);
    let (way, beside, _) = two_cells_in_a_row(&game);
    let door = (Look::of('+'), Door, Closed, Solid, super::things::Opaque);
    let door = put(&mut game, beside, door);
    let before = game.name(door);
    game.command(Command::Go(way), &mut unwatched);
    assert!(!game.engine.world.has::<Closed>(door));
    assert_eq!((&*before, game.name(door)), (&*format!("Door#{}", door.index()), before.clone()));
}

#[test]
fn deeds_are_named_in_words() {
    use formic_ai::turn::TurnActionKind;

    let game = new_game(1, 3);
    let deed = super::deed::Deed::Step { who: game.hero, way: (1, 0) };
    assert_eq!(deed.describe(&|entity| game.name(entity)), "go east");
}

#[test]
fn keys_mean_what_the_panel_says() {
    let key = |code| meaning(KeyEvent::new(code, KeyModifiers::NONE));
    assert_eq!(key(KeyCode::Char('h')), Key::Way((-1, 0)));
    assert_eq!(key(KeyCode::Up), Key::Way((0, -1)));
    assert_eq!(key(KeyCode::Char('u')), Key::Say(Command::Undo));
    assert_eq!(key(KeyCode::Char('?')), Key::Why);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(meaning(interrupt), Key::Quit);
    assert_ne!(key(KeyCode::Char('c')), Key::Quit);
}

#[test]
fn commands_are_read_as_they_are_written() {
    for text in ["go north", "shoot southwest", "close east", "rest", "undo"] {
        let command: Command = text.parse().unwrap();
        assert_eq!(command.to_string(), text);
    }
    assert_eq!("go ne".parse(), Ok(Command::Go((1, -1))));
    assert_eq!("shoot w".parse(), Ok(Command::Shoot((-1, 0))));
    for text in ["go", "go up", "dance", "rest now", ""] {
        assert!(text.parse::<Command>().is_err(), "{text}");
    }
}

#[test]
fn the_check_finds_what_is_in_the_rock_and_what_shares_a_cell() {
    let mut game = new_game(1, 3);
    game.check().expect("nothing is wrong");
    let (_, beside, _) = two_cells_in_a_row(&game);
    let thing = put(&mut game, beside, Solid);
    game.check().expect("it stands alone");
    put(&mut game, beside, Solid);
    assert_eq!(game.check(), Err(format!("two solid things are at {beside:?}")));
    game.engine.world.insert(thing, Position::from((0, 0))).map_err(drop).unwrap();
    with_play(&mut game.engine.world, |play, world| play.turns.rebuild(world));
    let fault = game.check().expect_err("rock is around");
    assert!(fault.ends_with("is inside the rock at (0, 0)"), "{fault}");
}
