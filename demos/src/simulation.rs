//! The interface between the shell and the demos.

use std::path::PathBuf;

use formic::inspect::View;
use formic_ecs::{StateHash, World};
use formic_jobs::{Save, Step};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::picture::picture;
use crate::raster::Raster;

/// A world with the hooks of its page, as one object; implemented for every [`View`].
pub trait Viewed {
    /// Returns the hooks.
    fn view(&self) -> &dyn View;

    /// Returns the hooks for cheats.
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

/// A world that runs tick by tick and reports about itself.
///
/// The shell calls [`tick`](Simulation::tick) as often as the command line says, and measures only that.
/// It then calls the other methods, which change nothing. Their results must not depend on the number of
/// threads, on the clock or on an address. Figures that are times, and are named so, are the exception.
pub trait Simulation: Viewed + Send {
    /// Returns the engine of the world in focus.
    fn engine(&self) -> &Engine;

    /// Returns that engine mutably, to be stepped.
    fn engine_mut(&mut self) -> &mut Engine;

    /// Returns the world in focus.
    fn world(&self) -> &World {
        &self.engine().world
    }

    /// Called before each tick and each step of one: prepares what the coming tick depends on.
    fn begin_tick(&mut self) {}

    /// Runs one tick.
    fn tick(&mut self) {
        self.begin_tick();
        self.engine_mut().tick();
    }

    /// Takes one step of a tick; further steps, or [`tick`](Simulation::tick), finish the tick.
    fn step(&mut self) -> Step {
        self.begin_tick();
        self.engine_mut().step()
    }

    /// Whether the run has ended by itself, for example because a script is at its end. Further ticks are
    /// not run.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether a person at the terminal is to [play](Self::play_in_terminal).
    fn is_for_terminal(&self) -> bool {
        false
    }

    /// Lets a person at the terminal play, and returns when they quit. `note` gets the state hash and the
    /// input before each tick.
    ///
    /// # Errors
    /// Returns an error if there is no terminal, or `note` fails.
    fn play_in_terminal(&mut self, note: &mut Note<'_>) -> Result<(), Failure> {
        _ = note;
        Ok(())
    }

    /// Returns a hash of all state that the next tick depends on, the same for any number of threads.
    fn state_hash(&self) -> StateHash {
        self.world().state_hash()
    }

    /// Returns the demo's own figures, in the order in which the JSON shows them.
    fn counters(&self) -> Vec<Counter>;

    /// Returns further results for people: lines of a label and a text.
    fn lines(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Checks the invariants of the demo: no agent inside a wall, no gold out of nothing, a consistent
    /// world.
    ///
    /// # Errors
    /// Returns a line that says what is wrong; the program then exits with code 1.
    fn check(&self) -> Result<(), String>;

    /// Draws the world as a picture; by default, what the page shows.
    fn raster(&self) -> Raster {
        picture(self.view())
    }

    /// Returns the files that the demo's own arguments ask for beside the picture, with their paths and
    /// contents; by default, none.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        Vec::new()
    }

    /// Returns the worlds of the demo and their names, for `--explain`; by default, one without a name.
    fn worlds(&self) -> Vec<(&str, &World)> {
        vec![("", self.world())]
    }

    /// Returns the worlds mutably, to watch agents.
    fn worlds_mut(&mut self) -> Vec<&mut World> {
        vec![&mut self.engine_mut().world]
    }

    /// Returns the timeline of the last ticks, for `--trace`: JSON in the trace event format.
    fn trace(&self) -> String {
        self.engine().schedule().trace_json()
    }

    /// Saves all state that determines what happens next, between two ticks.
    ///
    /// # Errors
    /// Returns a list of what cannot be saved.
    fn save(&self) -> Result<Save, String> {
        self.engine().save().map_err(|error| error.to_string())
    }

    /// Loads a save of a simulation that was built alike. Returns lines about what did not fit; empty if
    /// everything did.
    ///
    /// # Errors
    /// Returns what is wrong with the save.
    fn load(&mut self, save: &Save) -> Result<String, String> {
        self.engine_mut().load(save).map(|it| it.to_string()).map_err(|error| error.to_string())
    }

    /// Applies an input from outside between two ticks: a key, a click, a cheat, in words of the demo's
    /// own. Recordings store these inputs.
    ///
    /// # Errors
    /// Returns a line that says why it cannot be done; nothing has changed then.
    fn input(&mut self, input: &str) -> Result<(), String> {
        _ = input;
        Err("nothing can be put in here".to_owned())
    }
}

/// A callback for the state hash before a tick, and the input for it.
pub type Note<'a> = dyn FnMut(u64, &str) -> Result<(), Failure> + 'a;

/// One figure of a demo: a key of the JSON object, in `snake_case` with its unit last, and its value.
pub type Counter = (&'static str, u64);
