//! Hooks: how a world is drawn, what its agents are called, and what a viewer may do to it.

use formic_ecs::{Entity, World};
use formic_jobs::{Save, Schedule, Step};
use glam::Vec2;

use super::{Answer, Axes, Cheat, Ground, Marks, Request, Scene};

/// What only the program knows of its world: a map, words and keys.
///
/// Everything has a default, with which the page shows the world as lists. Places are in the units
/// of the scene, with the origin in the upper left corner. Nothing here may change what the world
/// does next, but for [`cheat`](View::cheat).
pub trait View {
    /// What the worlds are called, of a program that has several. Everything that is about one world
    /// is about the one in focus.
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

    /// The view that draws what this one does not: the defaults of the hooks of the map ask it, such as
    /// a [`TerrainMap`](super::TerrainMap).
    fn base(&self) -> Option<Box<dyn View + '_>> {
        None
    }

    /// How large the world is, and what the marks in it mean. A world without a size has no map.
    fn scene(&self) -> Scene {
        self.base().map_or_else(Scene::default, |base| base.scene())
    }

    /// What the two axes of the map are called, and which way the second one goes.
    fn axes(&self) -> Axes {
        Axes { names: ["x", "y"], is_upwards: false }
    }

    /// A number that is another one whenever [`ground`](View::ground) is.
    fn ground_version(&self) -> u64 {
        self.base().map_or(1, |base| base.ground_version())
    }

    /// What agents stand on.
    fn ground(&self) -> Ground {
        self.base().map_or_else(Ground::default, |base| base.ground())
    }

    /// Adds a mark for each agent, in an order that stays the same from tick to tick where it can. If there may be very
    /// many, ask first whether one [is wanted](Marks::wants).
    fn marks(&self, marks: &mut Marks) {
        if let Some(base) = self.base() {
            base.marks(marks);
        }
    }

    /// What an agent has ahead of it, beginning where it is; empty if it has no way to go.
    fn path(&self, agent: Entity) -> Vec<Vec2> {
        self.base().map_or_else(Vec::new, |base| base.path(agent))
    }

    /// Why an agent does what it does, in whole sentences; the page adds what
    /// [`why`](crate::why) knows if there are none.
    fn why(&self, agent: Entity) -> Vec<String> {
        _ = agent;
        Vec::new()
    }

    /// What an entity is called, where that is known: one goblin is a goblin.
    fn noun(&self, entity: Entity) -> Option<&'static str> {
        _ = entity;
        None
    }

    /// Entities that belong to an agent, such as what it carries. Its [actions](super::actions) need
    /// not be among them.
    fn companions(&self, agent: Entity) -> Vec<Entity> {
        _ = agent;
        Vec::new()
    }

    /// What a viewer may do to the world.
    fn cheats(&self) -> &'static [Cheat] {
        &[]
    }

    /// Does what the cheat of this name does, one of [`cheats`](View::cheats), at a place, and says what
    /// came of it.
    ///
    /// # Errors
    /// Returns why it cannot be done there.
    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        _ = at;
        Err(format!("there is no cheat {name} here"))
    }
}

/// A world without a map.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoView;

impl View for NoView {}

/// A world with what runs it, as a [`Session`](super::Session) is given it.
///
/// [`Inspector::poll`](super::Inspector::poll) makes one of a world and its schedule; a program that
/// leaves its loop to [`Inspector::run`](super::Inspector::run) implements it.
pub trait Host {
    /// The world.
    fn world(&self) -> &World;

    /// The same, for edits, and for what only a viewer keeps in it: the log of decisions.
    fn world_mut(&mut self) -> &mut World;

    /// What runs it.
    fn schedule(&self) -> &Schedule;

    /// How many threads it runs on.
    fn threads(&self) -> usize;

    /// Lives one tick, or the rest of the one that [`step`](Host::step) began.
    fn tick(&mut self);

    /// Takes one step of a tick: the turn of a system, or a sync point.
    fn step(&mut self) -> Step;

    /// The hooks.
    fn view(&self) -> &dyn View;

    /// The same, for cheats.
    fn view_mut(&mut self) -> &mut dyn View;

    /// What the host itself has to say: the entries of an object, which `/api/state` shows.
    fn describe(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// A hash of everything that decides what comes next.
    fn state_hash(&self) -> u64 {
        self.world().state_hash().value()
    }

    /// What an agent is called where [`View::noun`] does not say.
    fn noun(&self) -> &'static str {
        "entity"
    }

    /// Looks for what must never be, between two ticks.
    ///
    /// # Errors
    /// Returns a line that says what is wrong.
    fn check(&self) -> Result<(), String> {
        self.world().check().map_err(|fault| fault.to_string())
    }

    /// Everything that decides what comes next, between two ticks: the page goes back to it.
    ///
    /// # Errors
    /// Returns what cannot be saved; here that nothing can.
    fn save(&self) -> Result<Save, String> {
        Err("this program does not say how it is saved".to_owned())
    }

    /// Goes back to what was saved. What a viewer keeps in the world need not come back.
    ///
    /// # Errors
    /// Returns what does not fit.
    fn load(&mut self, save: &Save) -> Result<(), String> {
        _ = save;
        Err("this program does not say how it is loaded".to_owned())
    }

    /// Answers a request of the host's own, and says whether its world is another one now: then the
    /// answer is the new state. `None` for a request that is none of its own. What takes long is best done
    /// on a thread of its own: a request whose answer has the status 202 is asked again a moment later,
    /// while the world lives on.
    fn answer(&mut self, request: &Request<'_>) -> Option<(Answer, bool)> {
        _ = request;
        None
    }
}
