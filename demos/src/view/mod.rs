//! The interface of a demo that is shown live: its map, its agents, and the facts known of each.
//!
//! A demo that implements [`View`] and says so in `Simulation::view` is shown by `demos serve` with
//! everything that the page has. So do all in the catalogue; a world without a view is shown as its
//! picture.

mod inspect;
mod scene;

use formic_ecs::{Entity, World};
use formic_jobs::{Schedule, Step};
use glam::Vec2;

use crate::engine::Engine;
pub use crate::view::inspect::{Field, Inspector};
pub use crate::view::scene::{Cheat, Ground, Kind, Landmark, Mark, Scene, Touch, short_name};

/// A world that can be looked at while it lives.
///
/// Places are in the units of the scene, with the origin in the upper left corner. Nothing here may
/// change what the world does next, but for [`step`](View::step) and [`cheat`](View::cheat).
pub trait View {
    /// The world and what runs it.
    fn engine(&self) -> &Engine;

    /// The same, to be stepped.
    fn engine_mut(&mut self) -> &mut Engine;

    /// The world itself, for its archetypes, chunks and components.
    fn world(&self) -> &World {
        &self.engine().world
    }

    /// The same, for what only a viewer keeps in it: the log of decisions.
    fn world_mut(&mut self) -> &mut World {
        &mut self.engine_mut().world
    }

    /// What runs it, for the timeline and for why something did not run.
    fn schedule(&self) -> &Schedule {
        self.engine().schedule()
    }

    /// What the worlds are called, of a demo that has several. Everything that is about one world is
    /// about the one in focus.
    fn world_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The number of the world in focus.
    fn focus(&self) -> u8 {
        0
    }

    /// Looks at another world. Called between two ticks, and for a number that is there.
    fn set_focus(&mut self, world: u8) {
        _ = world;
    }

    /// Takes one step of a tick; the tick that it begins is ended by further steps, or by the next
    /// `Simulation::tick`.
    fn step(&mut self) -> Step {
        self.engine_mut().step()
    }

    /// How large the world is, and what the marks in it mean.
    fn scene(&self) -> Scene;

    /// A number that is another one whenever [`ground`](View::ground) is.
    fn ground_version(&self) -> u64;

    /// What agents stand on.
    fn ground(&self) -> Ground;

    /// Adds a mark for each agent, in an order that stays the same from tick to tick where it can.
    fn marks(&self, marks: &mut Vec<Mark>);

    /// What an agent has ahead of it, beginning where it is; empty if it has no way to go.
    fn path(&self, agent: Entity) -> Vec<Vec2> {
        _ = agent;
        Vec::new()
    }

    /// What can be said of the components in it.
    fn inspector(&self) -> Inspector;

    /// Why an agent does what it does, in whole sentences.
    fn why(&self, agent: Entity) -> Vec<String> {
        _ = agent;
        Vec::new()
    }

    /// What an agent is called, where that is not the noun of the demo: one goblin is a goblin.
    fn noun(&self, agent: Entity) -> Option<&'static str> {
        _ = agent;
        None
    }

    /// Entities that belong to an agent: its actions, what it carries.
    fn companions(&self, agent: Entity) -> Vec<Entity> {
        _ = agent;
        Vec::new()
    }

    /// What a viewer may do to the world.
    fn cheats(&self) -> &'static [Cheat] {
        &[]
    }

    /// Does what the cheat of this name does, at a place, and says what came of it.
    ///
    /// # Errors
    /// Says why it cannot be done there.
    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        _ = at;
        Err(format!("there is no cheat {name} here"))
    }
}
