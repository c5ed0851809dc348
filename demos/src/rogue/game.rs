//! The game: a level, its turns, and what the hero has seen of it.

use std::ops::ControlFlow;

use ai::explain::DecisionLog;
use ai::turn::{Decision, Next, Situation, Stopped, TurnEnd, Turns};
use ecs_core::prelude::*;

use super::command::Command;
use super::deed::Deed;
use super::fire;
use super::level::{self, Level};
use super::mind::Minds;
use super::rules;
use super::sight::{self, SIGHT, cell_of};
use super::things::{
    Asleep, Barrel, Blow, Bow, Cell, Closed, Door, Escaped, Flame, Foe, Hands, Health, Hero, Look,
    Opaque, Position, Potion, Solid, Stairs, TheHero, Velocity,
};

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Playing,
    Dead,
    Escaped,
}

/// The world as it is to be drawn: also in the middle of a turn.
pub(super) struct Scene<'a> {
    pub(super) now: Situation<'a, Cell>,
    pub(super) hero: Entity,
    pub(super) explored: &'a [bool],
    /// Milliseconds since the beginning of the turn.
    pub(super) time: u64,
}

/// Somebody who watches: what is drawn, and whether to go on.
pub(super) type Watch<'a> = dyn FnMut(&Scene<'_>) -> ControlFlow<()> + 'a;

/// For [`Game::command`] where nobody watches.
pub(super) fn unwatched(_: &Scene<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(super) struct Game {
    pub(super) world: World,
    pub(super) turns: Turns<Deed>,
    pub(super) hero: Entity,
    minds: Minds,
    /// Which cells the hero has ever seen. Nobody forgets by undoing.
    explored: Vec<bool>,
    /// The traces of all turns since the hero decided last.
    pub(super) why: Vec<String>,
    /// What the last command came to, for a person to read.
    pub(super) message: String,
    pub(super) hero_turn_count: u64,
    pub(super) undo_count: u64,
}

impl Game {
    pub(super) fn new(foes: u32, seed: u64) -> Self {
        let mut world = World::new();
        let hero = level::fill(&mut world, foes, seed);
        let builder = Turns::builder()
            .position::<Position>()
            .count::<Solid>()
            .count::<Opaque>()
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
        let mut turns = builder.build(&mut world).expect("each rule names rules that are there");
        turns.schedule(hero, 0);
        let cells = world.resource::<Level>().map_or(0, |level| level.width * level.height);
        let explored = vec![false; usize::try_from(cells).unwrap_or(0)];
        let message = String::from("Find the stairs: >");
        let (why, minds) = (Vec::new(), Minds::new());
        let mut game = Self {
            world,
            turns,
            hero,
            minds,
            explored,
            why,
            message,
            hero_turn_count: 0,
            undo_count: 0,
        };
        game.explore();
        game
    }

    pub(super) fn now(&self) -> Situation<'_, Cell> {
        self.turns.now(&self.world)
    }

    pub(super) fn level(&self) -> &Level {
        self.world.resource().expect("inserted with the world, and nobody takes it out")
    }

    pub(super) fn scene(&self) -> Scene<'_> {
        Scene { now: self.now(), hero: self.hero, explored: &self.explored, time: 0 }
    }

    pub(super) fn explored_count(&self) -> usize {
        self.explored.iter().filter(|seen| **seen).count()
    }

    pub(super) fn status(&self) -> Status {
        if self.world.has::<Escaped>(self.hero) {
            Status::Escaped
        } else if self.now().is_alive(self.hero) {
            Status::Playing
        } else {
            Status::Dead
        }
    }

    /// The hero does as told, then everybody else has their turns until it is the hero's again.
    pub(super) fn command(&mut self, command: Command, watch: &mut Watch<'_>) {
        let who = self.hero;
        let deed = match command {
            Command::Undo => return self.undo(),
            _ if self.status() != Status::Playing => return,
            Command::Go(way) => Deed::Step { who, way },
            Command::Shoot(way) => Deed::Shoot { who, way },
            Command::Close(way) => Deed::Close { who, way },
            Command::Rest => Deed::Rest,
        };
        // So rarely that undoing hardly ever goes back past it.
        if self.turns.vacancies() < 512 {
            self.turns.reserve(&mut self.world, 4096);
        }
        self.why.clear();
        let end = self.turn(who, deed, watch);
        self.message = end.map_or_else(String::new, |end| self.tell(&end));
        if let Next::Waiting(_) | Next::Nobody = self.turns.next(&self.world) {
            return;
        }
        self.others(watch);
    }

    fn others(&mut self, watch: &mut Watch<'_>) {
        while self.status() == Status::Playing {
            let Next::Ready(who) = self.turns.next(&self.world) else { break };
            let deed = self.minds.decide(&self.turns.now(&self.world), who);
            self.turn(who, deed, watch);
        }
    }

    fn turn(&mut self, who: Entity, deed: Deed, watch: &mut Watch<'_>) -> Option<TurnEnd> {
        let name = self.name(who);
        let Self { turns, world, hero, explored, .. } = self;
        let draw = |frame: &ai::turn::Frame<'_, Cell>| {
            watch(&Scene { now: frame.now, hero: *hero, explored, time: frame.time })
        };
        let end = turns.take_turn(world, who, deed, draw).ok()?;
        if who == self.hero && end.spent {
            self.hero_turn_count += 1;
        }
        // For `--explain`, of those who are watched.
        if let Ok(log) = self.world.resource::<DecisionLog>() {
            self.turns.trace().note(log, self.turns.log().turns.len() as u64);
        }
        self.why.push(format!("{name}\n{}", self.turns.trace()));
        self.explore();
        Some(end)
    }

    /// Takes turns back until the hero's last one is among them.
    fn undo(&mut self) {
        self.why.clear();
        self.message = String::from("There is nothing to take back.");
        while let Ok(turn) = self.turns.undo(&mut self.world) {
            if turn.actor == Some(self.hero) {
                self.undo_count += 1;
                self.hero_turn_count -= 1;
                self.message = String::from("Taken back.");
                break;
            }
        }
        // Nobody is told why something was done that was not.
        if let Ok(log) = self.world.resource_mut::<DecisionLog>() {
            log.forget_after(self.turns.log().turns.len() as u64);
        }
    }

    fn explore(&mut self) {
        let now = self.turns.now(&self.world);
        let Some(at) = cell_of(&now, self.hero) else { return };
        for cell in sight::field(&now, at) {
            if let Some(index) = sight::level(&now).index(cell) {
                self.explored[index] = true;
            }
        }
    }

    /// What came of the hero's decision, in a line.
    fn tell(&self, end: &TurnEnd) -> String {
        let text = match (&end.decision, self.status()) {
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

    /// What somebody is called.
    pub(super) fn name(&self, who: Entity) -> String {
        let letter = self.world.get::<Look>(who).map_or(' ', |look| look.letter());
        let kind = match letter {
            '@' => "the hero",
            'r' => "a rat",
            'g' => "a goblin",
            'a' => "an archer",
            'o' => "a barrel",
            _ => "something",
        };
        format!("{kind} ({who})")
    }

    /// Looks for what must never be.
    pub(super) fn check(&self) -> Result<(), String> {
        self.world.check().map_err(|error| error.to_string())?;
        self.turns.cells().check(&self.world)?;
        let now = self.now();
        for (entity, position) in self.world.query_ref::<(Entity, &Position)>() {
            let cell = (position.x, position.y);
            if !self.level().is_open(cell) {
                return Err(format!("{} is inside the rock at {cell:?}", self.name(entity)));
            }
            if now.cell(cell).count::<Solid>() > 1 {
                return Err(format!("two solid things are at {cell:?}"));
            }
        }
        Ok(())
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
