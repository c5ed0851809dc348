//! The game: a level, its turns, and what the hero has seen of it.
//!
//! All of it is in a world. The data outside components is in one resource, [`Play`]. The systems of a
//! tick take it out of the world while an actor has a turn, because turns change the whole world.
//!
//! ```text
//!   choose ──> hero_acts (if there is a command) ──> foes_act (if it is their turn)
//! ```

use std::collections::VecDeque;
use std::ops::ControlFlow;

use formic_ai::explain::DecisionLog;
use formic_ai::turn::{Decision, Next, Situation, Stopped, TurnEnd, Turns};
use formic_jobs::SaveRules;
use formic_jobs::prelude::*;
use serde::{Deserialize, Serialize};

use super::command::Command;
use super::deed::Deed;
use super::fire;
use super::level::{self, Level};
use super::mind::{self, Minds};
use super::rules;
use super::sight::{self, SIGHT, cell_of};
use super::things::{
    Asleep, Barrel, Blow, Bow, Cell, Closed, Door, Escaped, Flame, Foe, Hands, Health, Hero, Look,
    Opaque, Position, Potion, Solid, Stairs, TheHero, Velocity, noun,
};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::text::capital;

/// The outcome so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Playing,
    Dead,
    Escaped,
}

/// The world as it is to be drawn, possibly in the middle of a turn.
#[cfg_attr(target_family = "wasm", expect(dead_code, reason = "only a terminal looks at it"))]
pub(super) struct Scene<'a> {
    pub(super) now: Situation<'a, Cell>,
    pub(super) hero: Entity,
    pub(super) explored: &'a [bool],
    /// Milliseconds since the beginning of the turn.
    pub(super) time: u64,
}

impl Scene<'_> {
    /// Whether the hero has ever seen a cell.
    pub(super) fn is_explored(&self, cell: Cell) -> bool {
        sight::level(&self.now).index(cell).is_some_and(|index| self.explored[index])
    }

    /// Whether a thing in a cell, seen by the hero or not, is to be drawn. Foes are drawn only in cells
    /// in sight, other things also in explored ones. Flames that have yet to flare up are invisible.
    pub(super) fn shows(&self, thing: Entity, cell: Cell, is_seen: bool) -> bool {
        let is_waiting = self.now.get::<Flame>(thing).is_ok_and(|flame| flame.wait > 0);
        let is_remembered = self.is_explored(cell) && !self.now.has::<Foe>(thing);
        !is_waiting && (is_seen || is_remembered)
    }
}

/// A viewer: draws the scene and decides whether to go on.
pub(super) type Watch<'a> = dyn FnMut(&Scene<'_>) -> ControlFlow<()> + 'a;

/// The viewer for [`Game::command`] without one.
pub(super) fn unwatched(_: &Scene<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The source of the hero's commands.
#[derive(Serialize, Deserialize)]
pub(super) enum Player {
    /// The hero's own decision engine.
    Nobody,
    /// The rest of a script.
    Script(VecDeque<Command>),
    /// A player at the keyboard, whose commands come from outside.
    Terminal(VecDeque<Command>),
}

/// The state beside the things in the level.
pub(super) struct Play {
    pub(super) turns: Turns<Deed>,
    hero: Entity,
    minds: Minds,
    pub(super) progress: Progress,
}

/// The player's progress; a save keeps it together with the turns.
#[derive(Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) player: Player,
    /// The hero's next command.
    command: Option<Command>,
    /// Whether another actor has a turn before the hero's next one.
    is_foes_turn: bool,
    /// The cells that the hero has ever seen. Undo does not reset it.
    pub(super) explored: Vec<bool>,
    /// The traces of all turns since the hero's last decision, those that cost the hero health first.
    pub(super) why: Vec<String>,
    /// The result of the last command, for a person to read.
    pub(super) message: String,
    pub(super) hero_turn_count: u64,
    pub(super) undo_count: u64,
    /// The number of turns taken or undone; it changes whenever the level looks different.
    pub(super) change_count: u64,
}

/// A level in play.
pub(super) struct Game {
    pub(super) engine: Engine,
    pub(super) hero: Entity,
    /// Whether the summary has the traces of the last turns.
    pub(super) tells_why: bool,
}

impl Game {
    /// Creates a new level, with the number of foes that the setup says.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread.
    pub(super) fn new(setup: &Setup, player: Player, tells_why: bool) -> Result<Self, Failure> {
        let mut world = World::new();
        let hero = level::fill(&mut world, setup.agents, setup.seed);
        let play = Play::new(&mut world, hero, player);
        world.insert_resource(play);
        // The seed rebuilds the level and its hero; the play is attached to a save.
        SaveRules::of(&mut world).rebuild::<Play>().rebuild::<Level>().rebuild::<TheHero>();
        let systems = (choose, hero_acts.run_if(is_commanded), foes_act.run_if(is_foes_turn));
        let systems = Schedule::builder().add(systems.chain());
        Ok(Self { engine: Engine::new(setup, world, systems)?, hero, tells_why })
    }

    pub(super) fn play(&self) -> &Play {
        play(&self.engine.world)
    }

    pub(super) fn now(&self) -> Situation<'_, Cell> {
        self.play().turns.now(&self.engine.world)
    }

    pub(super) fn level(&self) -> &Level {
        sight::level(&self.now())
    }

    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            now: self.now(),
            hero: self.hero,
            explored: &self.play().progress.explored,
            time: 0,
        }
    }

    pub(super) fn status(&self) -> Status {
        self.play().status(&self.engine.world)
    }

    /// The hero executes a command, then all others have their turns until it is the hero's again.
    pub(super) fn command(&mut self, command: Command, watch: &mut Watch<'_>) {
        with_play(&mut self.engine.world, |play, world| {
            play.obey(world, command, watch);
            play.others(world, watch);
        });
    }

    /// Queues a command for the player of the next ticks.
    pub(super) fn say(&mut self, command: Command) -> Result<(), String> {
        with_play(&mut self.engine.world, |play, _| match &mut play.progress.player {
            Player::Terminal(commands) => {
                commands.push_back(command);
                Ok(())
            }
            Player::Nobody | Player::Script(_) => {
                Err(String::from("the hero listens to nobody but in --play"))
            }
        })
    }

    /// Appends to the message about the last command.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn add_to_message(&mut self, text: &str) {
        with_play(&mut self.engine.world, |play, _| play.progress.message.push_str(text));
    }

    /// Returns the name of an actor.
    pub(super) fn name(&self, who: Entity) -> String {
        name(&self.engine.world, who)
    }
}

fn play(world: &World) -> &Play {
    world.resource().expect("inserted with the world, and put back after each turn")
}

/// Takes the play out of the world, lends both out, and puts it back.
pub(super) fn with_play<T>(world: &mut World, lend: impl FnOnce(&mut Play, &mut World) -> T) -> T {
    let mut play: Play =
        world.remove_resource().expect("inserted with the world, and put back after each turn");
    let result = lend(&mut play, world);
    world.insert_resource(play);
    result
}

/// System: the player chooses the hero's next command.
fn choose(world: &mut World) {
    with_play(world, |play, world| play.progress.command = play.next_command(world));
}

fn is_commanded(play: Res<Play>) -> bool {
    play.progress.command.is_some()
}

/// System: the hero executes it.
fn hero_acts(world: &mut World) {
    with_play(world, |play, world| {
        if let Some(command) = play.progress.command.take() {
            play.obey(world, command, &mut unwatched);
        }
    });
}

fn is_foes_turn(play: Res<Play>) -> bool {
    play.progress.is_foes_turn
}

/// System: all others have their turns until it is the hero's again.
fn foes_act(world: &mut World) {
    with_play(world, |play, world| play.others(world, &mut unwatched));
}

impl Play {
    fn new(world: &mut World, hero: Entity, player: Player) -> Self {
        let builder = Turns::builder()
            .position::<Position>()
            .set::<Solid>()
            .set::<Opaque>()
            .set::<Health>()
            .set::<Closed>()
            .set::<Asleep>()
            .set::<Foe>()
            .component::<Look>()
            .component::<Blow>()
            .component::<Bow>()
            .component::<Velocity>()
            .component::<Flame>()
            .component::<Door>()
            .component::<Barrel>()
            .component::<Potion>()
            .component::<Stairs>()
            .component::<Hero>()
            .component::<Escaped>()
            .component::<Hands>()
            .player::<Hero>()
            .visible::<Position>()
            .visible::<Look>()
            .visible::<Flame>()
            .visible::<Health>()
            .seen(|now, after, action| {
                let hero = now.world().resource::<TheHero>().ok();
                let Some(at) = hero.and_then(|hero| cell_of(now, hero.0)) else { return true };
                let near = |cell: Cell| (cell.0 - at.0).abs().max((cell.1 - at.1).abs()) <= SIGHT;
                let looks = action.inserted::<Look>().map(|(who, _)| who);
                let moved = action.inserted::<Position>().map(|(who, _)| who);
                let gone = action.removed::<Position>();
                let flames = action.inserted::<Flame>().map(|(who, _)| who);
                let mut touched = looks.chain(moved).chain(gone).chain(flames);
                touched.any(|who| {
                    let cells = [now.cell_of(who), after.cell_of(who)];
                    cells.into_iter().flatten().any(near)
                })
            })
            .step(fire::STEP_MS)
            .real_time(fire::real_time())
            .vacancies(4096);
        let builder = rules::all().into_iter().fold(builder, |builder, rule| builder.rule(rule));
        let mut turns = builder.build(world).expect("each rule names rules that are there");
        turns.schedule(hero, 0);
        let cells = world.resource::<Level>().map_or(0, |level| level.width * level.height);
        let explored = vec![false; usize::try_from(cells).unwrap_or(0)];
        let mut play = Self {
            turns,
            hero,
            minds: Minds::new(),
            progress: Progress {
                player,
                command: None,
                is_foes_turn: false,
                explored,
                why: Vec::new(),
                message: String::from("Find the stairs: >"),
                hero_turn_count: 0,
                undo_count: 0,
                change_count: 0,
            },
        };
        play.explore(world);
        play
    }

    fn status(&self, world: &World) -> Status {
        if world.has::<Escaped>(self.hero) {
            Status::Escaped
        } else if self.turns.now(world).is_alive(self.hero) {
            Status::Playing
        } else {
            Status::Dead
        }
    }

    fn next_command(&mut self, world: &World) -> Option<Command> {
        let is_playing = self.status(world) == Status::Playing;
        match &mut self.progress.player {
            Player::Nobody if !is_playing => None,
            Player::Nobody => Some(mind::hero(&self.turns.now(world), self.hero)),
            // A script may undo the hero's death.
            Player::Script(commands) | Player::Terminal(commands) => commands.pop_front(),
        }
    }

    /// Executes a command of the hero.
    fn obey(&mut self, world: &mut World, command: Command, watch: &mut Watch<'_>) {
        self.progress.is_foes_turn = false;
        let who = self.hero;
        let deed = match command {
            Command::Undo => return self.undo(world),
            _ if self.status(world) != Status::Playing => return,
            Command::Go(way) => Deed::Step { who, way },
            Command::Shoot(way) => Deed::Shoot { who, way },
            Command::Close(way) => Deed::Close { who, way },
            Command::Rest => Deed::Rest,
        };
        self.progress.why.clear();
        let end = self.turn(world, who, deed, watch);
        self.progress.message = end.map_or_else(String::new, |end| self.tell(world, &end));
        self.progress.is_foes_turn = matches!(self.turns.next(world), Next::Ready(_));
    }

    fn others(&mut self, world: &mut World, watch: &mut Watch<'_>) {
        while self.progress.is_foes_turn && self.status(world) == Status::Playing {
            let Next::Ready(who) = self.turns.next(world) else { break };
            let deed = self.minds.decide(&self.turns.now(world), who);
            self.turn(world, who, deed, watch);
        }
        self.progress.is_foes_turn = false;
    }

    fn turn(
        &mut self,
        world: &mut World,
        who: Entity,
        deed: Deed,
        watch: &mut Watch<'_>,
    ) -> Option<TurnEnd> {
        let name = name(world, who);
        let health = |world: &World, hero| world.get::<Health>(hero).map_or(0, |health| health.now);
        let before = health(world, self.hero);
        let Self { turns, hero, progress, .. } = self;
        let draw = |frame: &formic_ai::turn::Frame<Cell>| {
            watch(&Scene {
                now: frame.now,
                hero: *hero,
                explored: &progress.explored,
                time: frame.time,
            })
        };
        let end = turns.take_turn(world, who, deed, draw).ok()?;
        self.progress.change_count += 1;
        if who == self.hero && end.spent {
            self.progress.hero_turn_count += 1;
        }
        // For `--explain`, for watched agents.
        if let Ok(log) = world.resource::<DecisionLog>() {
            self.turns.trace().note(log, self.turns.log().turns.len() as u64);
        }
        let trace = self.turns.trace().described(&|entity| self::name(world, entity));
        match before.saturating_sub(health(world, self.hero)) {
            0 => self.progress.why.push(format!("{name}\n{trace}")),
            lost => self
                .progress
                .why
                .insert(0, format!("The hero lost {lost} health in the turn of {name}\n{trace}")),
        }
        self.explore(world);
        Some(end)
    }

    /// Undoes turns up to and including the hero's last one.
    fn undo(&mut self, world: &mut World) {
        self.progress.why.clear();
        self.progress.message = String::from("There is nothing to take back.");
        while let Some(turn) = self.turns.undo(world) {
            self.progress.change_count += 1;
            if turn.actor == Some(self.hero) {
                self.progress.undo_count += 1;
                self.progress.hero_turn_count -= 1;
                self.progress.message = String::from("Taken back.");
                break;
            }
        }
        // An undone action keeps no reason.
        if let Ok(log) = world.resource_mut::<DecisionLog>() {
            log.forget_after(self.turns.log().turns.len() as u64);
        }
    }

    fn explore(&mut self, world: &World) {
        let now = self.turns.now(world);
        let Some(at) = cell_of(&now, self.hero) else { return };
        for cell in sight::field(&now, at) {
            if let Some(index) = sight::level(&now).index(cell) {
                self.progress.explored[index] = true;
            }
        }
    }

    /// Describes the result of the hero's decision, in a line.
    fn tell(&self, world: &World, end: &TurnEnd) -> String {
        let text = match (&end.decision, self.status(world)) {
            (_, Status::Escaped) => String::from("You got away."),
            (_, Status::Dead) => String::from("You are dead."),
            (Decision::Accepted, _) => String::new(),
            (Decision::Rejected(rule), _) => {
                let rule = self.turns.trace().rule_name(*rule);
                let then = if end.spent { "" } else { " Nothing happens." };
                format!("{}.{then}", capital(rule))
            }
            (Decision::Refused(why), _) => format!("{}.", capital(&why.to_string())),
        };
        match end.stopped {
            Some(Stopped::TooManyActions { .. } | Stopped::TooManyPoints { .. }) => {
                format!("{text} It went on for ever and was cut off.")
            }
            _ => text,
        }
    }
}

/// Returns the name of an actor.
fn name(world: &World, who: Entity) -> String {
    match noun(world, who) {
        Some("hero") => String::from("the hero"),
        kind => format!("{}#{}", capital(kind.unwrap_or("thing")), who.index()),
    }
}
