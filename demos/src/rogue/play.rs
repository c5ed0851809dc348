//! The game in a terminal.
//!
//! While the hero's turn waits, the program sleeps until a key is pressed. It draws only after a key, a
//! change of the terminal's size, or a visible commit.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::command::Command;
use super::game::{Game, Scene, Status};
use super::screen::{self, Page};
use super::terminal::Terminal;
use super::things::Cell;
use crate::failure::Failure;
use crate::interrupt;
use crate::simulation::{Note, Simulation};

/// The maximum pause between two frames of a turn.
const PAUSE_MAX: Duration = Duration::from_millis(120);

/// The maximum sleep while the player thinks.
const PATIENCE: Duration = Duration::from_secs(1);

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Why,
    /// The next key is the direction for this.
    Aim(Aim),
    Way(Cell),
    Say(Command),
    Other,
}

/// The use of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    Shoot,
    Close,
}

pub(super) fn meaning(key: KeyEvent) -> Key {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if is_control => Key::Quit,
        KeyCode::Char('q') => Key::Quit,
        KeyCode::Char('?') => Key::Why,
        KeyCode::Char('f') => Key::Aim(Aim::Shoot),
        KeyCode::Char('c') => Key::Aim(Aim::Close),
        KeyCode::Char('.' | 's') => Key::Say(Command::Rest),
        KeyCode::Char('u') => Key::Say(Command::Undo),
        KeyCode::Char('h') | KeyCode::Left => Key::Way((-1, 0)),
        KeyCode::Char('l') | KeyCode::Right => Key::Way((1, 0)),
        KeyCode::Char('k') | KeyCode::Up => Key::Way((0, -1)),
        KeyCode::Char('j') | KeyCode::Down => Key::Way((0, 1)),
        KeyCode::Char('y') | KeyCode::Home => Key::Way((-1, -1)),
        KeyCode::Char('i') | KeyCode::PageUp => Key::Way((1, -1)),
        KeyCode::Char('b') | KeyCode::End => Key::Way((-1, 1)),
        KeyCode::Char('n') | KeyCode::PageDown => Key::Way((1, 1)),
        _ => Key::Other,
    }
}

/// Plays until the player quits. The terminal is restored afterwards, even after a panic.
///
/// # Errors
/// Returns an error if there is no terminal, or it cannot be used.
pub(super) fn play(game: &mut Game, note: &mut Note<'_>) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let why = "--play needs a terminal; without one play a file with --script FILE";
        return Err(Failure::Usage(why.to_owned()));
    }
    let unusable = |error: io::Error| Failure::Usage(format!("cannot use the terminal: {error}"));
    let mut terminal = Terminal::open().map_err(unusable)?;
    let (mut aim, mut page) = (None, None);
    loop {
        match next_command(&mut terminal, game, &mut aim, &mut page) {
            Ok(Some(command)) => {
                note(game.state_hash().value(), &command.to_string())?;
                obey(&mut terminal, game, command).map_err(unusable)?;
            }
            Ok(None) => return Ok(()),
            Err(error) => return Err(unusable(error)),
        }
        if game.status() != Status::Playing {
            game.add_to_message(" u: take it back, ?: why, q: quit.");
        }
    }
}

/// Waits until the player gives a command; `None` to quit.
fn next_command(
    terminal: &mut Terminal,
    game: &Game,
    aim: &mut Option<Aim>,
    page: &mut Option<u16>,
) -> io::Result<Option<Command>> {
    loop {
        let message = match aim {
            Some(_) => "Which way?",
            None => &game.play().progress.message,
        };
        let shown = page.map_or(Page::None, |from| Page::Why(&game.play().progress.why, from));
        terminal.draw(|canvas| screen::draw(canvas, &game.scene(), message, shown))?;
        // Once in a while, checks whether the program was asked to end from outside.
        while !event::poll(PATIENCE)? {
            if interrupt::asked() {
                return Ok(None);
            }
        }
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let meaning = meaning(key);
        if meaning == Key::Quit && (page.is_none() || key.code != KeyCode::Char('q')) {
            return Ok(None);
        }
        if let Some(from) = *page {
            *page = match meaning {
                Key::Way((0, 1)) => Some(u16::saturating_add(from, 1)),
                Key::Way((0, -1)) => Some(from.saturating_sub(1)),
                _ => None,
            };
            continue;
        }
        let command = match (meaning, aim.take()) {
            (Key::Way(way), Some(Aim::Shoot)) => Command::Shoot(way),
            (Key::Way(way), Some(Aim::Close)) => Command::Close(way),
            (_, Some(_)) | (Key::Other | Key::Quit, None) => continue,
            (Key::Way(way), None) => Command::Go(way),
            (Key::Say(command), None) => command,
            (Key::Why, None) => {
                *page = Some(0);
                continue;
            }
            (Key::Aim(next), None) => {
                *aim = Some(next);
                continue;
            }
        };
        return Ok(Some(command));
    }
}

/// Executes a command, and shows arrows and bursts in real time; a key speeds it up.
fn obey(terminal: &mut Terminal, game: &mut Game, command: Command) -> io::Result<()> {
    let (mut shown, mut is_hurried) = (0, false);
    let mut failure = None;
    game.command(command, &mut |scene: &Scene<'_>| {
        // Time restarts with each actor's turn.
        let pause = Duration::from_millis(scene.time.saturating_sub(shown)).min(PAUSE_MAX);
        shown = scene.time;
        let drawn = terminal
            .draw(|canvas| screen::draw(canvas, scene, "", Page::None))
            .and_then(|()| event::poll(if is_hurried { Duration::ZERO } else { pause }));
        match drawn {
            Ok(is_key) => is_hurried |= is_key,
            // The turn still ends, so that the game stays consistent.
            Err(error) => drop(failure.get_or_insert(error)),
        }
        ControlFlow::Continue(())
    });
    failure.map_or(Ok(()), Err)
}
