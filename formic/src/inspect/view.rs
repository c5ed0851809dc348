//! Hooks: how a world is drawn, what its agents are called, and what a viewer may do to it.

use formic_ecs::{Entity, World};
use formic_jobs::{Save, Schedule, Step};
use glam::Vec2;

use super::{Answer, Axes, Cheat, Ground, Marks, Request, Scene};

/// The program's own knowledge of its world: a map, words and keys.
///
/// Every method has a default, with which the page shows the world as lists. Positions are in the units
/// of the scene, with the origin in the upper left corner. No method may change what the world does next,
/// except [`cheat`](View::cheat).
pub trait View {
    /// Returns the names of the worlds of a program that has several. Methods about one world refer to
    /// the world in focus.
    fn world_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the number of the world in focus.
    fn focus(&self) -> u8 {
        0
    }

    /// Puts another world into focus. Called between two ticks, with a valid number.
    fn set_focus(&mut self, world: u8) {
        _ = world;
    }

    /// Returns the view to which the default map hooks delegate, such as a
    /// [`TerrainMap`](super::TerrainMap).
    fn base(&self) -> Option<Box<dyn View + '_>> {
        None
    }

    /// Returns the size of the world and the meaning of its marks. A world without a size has no map.
    fn scene(&self) -> Scene {
        self.base().map_or_else(Scene::default, |base| base.scene())
    }

    /// Returns the names of the two axes of the map, and the direction of the second one.
    fn axes(&self) -> Axes {
        Axes { names: ["x", "y"], is_upwards: false }
    }

    /// Returns a number that changes whenever [`ground`](View::ground) does.
    fn ground_version(&self) -> u64 {
        self.base().map_or(1, |base| base.ground_version())
    }

    /// Returns the ground under the agents.
    fn ground(&self) -> Ground {
        self.base().map_or_else(Ground::default, |base| base.ground())
    }

    /// Adds a mark for each agent, in an order that stays the same from tick to tick where possible. With
    /// very many agents, ask first whether a mark [is wanted](Marks::wants).
    fn marks(&self, marks: &mut Marks) {
        if let Some(base) = self.base() {
            base.marks(marks);
        }
    }

    /// Returns the path ahead of an agent, beginning at its position; empty if it has none.
    fn path(&self, agent: Entity) -> Vec<Vec2> {
        self.base().map_or_else(Vec::new, |base| base.path(agent))
    }

    /// Returns the reasons for what an agent does, in whole sentences. If there are none, the page shows
    /// the result of [`why`](crate::why).
    fn why(&self, agent: Entity) -> Vec<String> {
        _ = agent;
        Vec::new()
    }

    /// Returns the noun for an entity, if known, such as "goblin".
    fn noun(&self, entity: Entity) -> Option<&'static str> {
        _ = entity;
        None
    }

    /// Returns the entities that belong to an agent, such as what it carries. Its
    /// [actions](super::actions) need not be included.
    fn companions(&self, agent: Entity) -> Vec<Entity> {
        _ = agent;
        Vec::new()
    }

    /// Returns what a viewer may do to the world.
    fn cheats(&self) -> &'static [Cheat] {
        &[]
    }

    /// Performs the cheat with this name, one of [`cheats`](View::cheats), at a place, and returns a
    /// description of the result.
    ///
    /// # Errors
    /// Returns the reason if it cannot be done there.
    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        _ = at;
        Err(format!("there is no cheat {name} here"))
    }
}

/// A world without a map.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoView;

impl View for NoView {}

/// A world and what runs it, as a [`Session`](super::Session) sees it.
///
/// [`Inspector::poll`](super::Inspector::poll) builds one from a world and its schedule. A program that
/// leaves its loop to [`Inspector::run`](super::Inspector::run) implements it.
pub trait Host {
    /// Returns the world.
    fn world(&self) -> &World;

    /// Returns the world for edits, and for data that only a viewer keeps in it: the decision log.
    fn world_mut(&mut self) -> &mut World;

    /// Returns the schedule that runs the world.
    fn schedule(&self) -> &Schedule;

    /// Returns the number of threads that the world runs on.
    fn threads(&self) -> usize;

    /// Runs one tick, or the rest of the one that [`step`](Host::step) began.
    fn tick(&mut self);

    /// Takes one step of a tick: a system or a sync point.
    fn step(&mut self) -> Step;

    /// Returns the hooks.
    fn view(&self) -> &dyn View;

    /// Returns the hooks for cheats.
    fn view_mut(&mut self) -> &mut dyn View;

    /// Returns the host's own entries, which `/api/state` shows.
    fn describe(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// Returns a hash of all state that determines what happens next.
    fn state_hash(&self) -> u64 {
        self.world().state_hash().value()
    }

    /// Returns the noun for entities for which [`View::noun`] returns `None`.
    fn noun(&self) -> &'static str {
        "entity"
    }

    /// Checks the invariants of the world, between two ticks.
    ///
    /// # Errors
    /// Returns a line that says what is wrong.
    fn check(&self) -> Result<(), String> {
        self.world().check().map_err(|fault| fault.to_string())
    }

    /// Saves all state that determines what happens next, between two ticks. The page uses it to go back
    /// in time.
    ///
    /// # Errors
    /// Returns what cannot be saved; by default, nothing can.
    fn save(&self) -> Result<Save, String> {
        Err("this program does not say how it is saved".to_owned())
    }

    /// Restores a saved state. Data that a viewer keeps in the world need not be restored.
    ///
    /// # Errors
    /// Returns what does not fit.
    fn load(&mut self, save: &Save) -> Result<(), String> {
        _ = save;
        Err("this program does not say how it is loaded".to_owned())
    }

    /// Answers a request of the host's own, and says whether the host now has another world. If it has,
    /// the answer is replaced by the new state. Returns `None` for any other request.
    ///
    /// Run long work on a thread of its own: a request whose answer has the status 202 is repeated a
    /// moment later, while the world goes on.
    fn answer(&mut self, request: &Request<'_>) -> Option<(Answer, bool)> {
        _ = request;
        None
    }
}
