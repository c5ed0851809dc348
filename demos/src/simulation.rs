//! The border between the shell and the demos: what a demo has to answer.

use std::path::PathBuf;

use formic::inspect::View;
use formic_ecs::{StateHash, World};
use formic_jobs::{Save, Step};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::picture::picture;
use crate::raster::Raster;

/// A world with the hooks of its page, as one object: what every [`View`] is.
pub trait Viewed {
    /// The hooks.
    fn view(&self) -> &dyn View;

    /// The same, for cheats.
    fn view_mut(&mut self) -> &mut dyn View;
}

impl<T: View> Viewed for T {
    fn view(&self) -> &dyn View {
        self
    }

    fn view_mut(&mut self) -> &mut dyn View {
        self
    }
}

/// A world that lives tick by tick and can be asked about itself.
///
/// The shell calls [`tick`](Simulation::tick) as often as the command line
/// says, measures only that, and then asks the other questions, which change
/// nothing. Whatever the answers are made of, they must not depend on the
/// number of threads, on the clock or on an address; but figures that are times,
/// and are called so, may stand beside them.
pub trait Simulation: Viewed + Send {
    /// What the world in focus lives by.
    fn engine(&self) -> &Engine;

    /// The same, to be stepped.
    fn engine_mut(&mut self) -> &mut Engine;

    /// The world in focus.
    fn world(&self) -> &World {
        &self.engine().world
    }

    /// Lives one tick.
    fn tick(&mut self) {
        self.engine_mut().tick();
    }

    /// Takes one step of a tick; the tick that it begins is ended by further steps, or by
    /// [`tick`](Simulation::tick).
    fn step(&mut self) -> Step {
        self.engine_mut().step()
    }

    /// Whether there is nothing left to live: a script is at its end. Ticks that were asked for
    /// beyond that are not lived.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether a person at the terminal was to [`play`](Self::play).
    fn is_for_terminal(&self) -> bool {
        false
    }

    /// Lets a person at the terminal take over, and comes back when they have enough. `note` is told
    /// the state hash and what is put in, before each tick.
    ///
    /// # Errors
    /// Returns an error if there is no terminal, or `note` fails.
    fn play(&mut self, note: &mut Note<'_>) -> Result<(), Failure> {
        _ = note;
        Ok(())
    }

    /// A hash of everything that the next tick depends on, the same for any
    /// number of threads.
    fn state_hash(&self) -> StateHash {
        self.world().state_hash()
    }

    /// The demo's own figures, in the order in which the JSON shows them.
    fn counters(&self) -> Vec<Counter>;

    /// What happened beside these figures, for a person to read: lines of a label and a text.
    fn lines(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Looks for anything that must never happen: an agent inside a wall, gold
    /// out of nothing, a broken store.
    ///
    /// # Errors
    /// Returns a line that says what is wrong; the program then exits with code 1.
    fn check(&self) -> Result<(), String>;

    /// The world as a picture: what the page shows, if nothing else is said.
    fn raster(&self) -> Raster {
        picture(self.view())
    }

    /// The files that the demo's own arguments ask for beside the picture: where, and what is in
    /// them. None where nothing is said.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        Vec::new()
    }

    /// The worlds that the demo lives in and what they are called, for `--explain`: one without a
    /// name where there is no other.
    fn worlds(&self) -> Vec<(&str, &World)> {
        vec![("", self.world())]
    }

    /// The same, to have agents watched.
    fn worlds_mut(&mut self) -> Vec<&mut World> {
        vec![&mut self.engine_mut().world]
    }

    /// The timeline of the last ticks, for `--trace`: JSON in the trace event format.
    fn trace(&self) -> String {
        self.engine().schedule().trace_json()
    }

    /// Everything that decides what comes next, between two ticks.
    ///
    /// # Errors
    /// Returns a list of what cannot be saved.
    fn save(&self) -> Result<Save, String> {
        self.engine().save().map_err(|error| error.to_string())
    }

    /// Goes on with what was saved by a simulation that was built alike. What did not fit is told in
    /// lines, none where all did.
    ///
    /// # Errors
    /// Returns what is wrong with the save.
    fn load(&mut self, save: &Save) -> Result<String, String> {
        self.engine_mut().load(save).map(|it| it.to_string()).map_err(|error| error.to_string())
    }

    /// Takes something from outside between two ticks: a key, a click, a cheat, in words of the
    /// demo's own. It is what recordings keep.
    ///
    /// # Errors
    /// Returns a line that says why it cannot be done; nothing has changed then.
    fn input(&mut self, input: &str) -> Result<(), String> {
        _ = input;
        Err("nothing can be put in here".to_owned())
    }
}

/// Hears of the state hash before a tick, and of what is put in for it.
pub type Note<'a> = dyn FnMut(u64, &str) -> Result<(), Failure> + 'a;

/// One figure of a demo: a key of the JSON object, in `snake_case` with its unit last, and its value.
pub type Counter = (&'static str, u64);
