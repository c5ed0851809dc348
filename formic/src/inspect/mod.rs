//! A page for any running world: `http://127.0.0.1:4747/`.
//!
//! Three lines attach it; see [`Inspector`]. The page lists entities and finds them by components, values
//! and names. It shows components as fields, which can be edited while the world is paused. It says which
//! systems ran and why others did not, and why an agent does what it does. It pauses the world, steps
//! through its ticks and systems, and runs it at any speed.
//!
//! It listens only to this machine, and refuses requests that come from pages of other sites.
//!
//! A world with the resource `Terrain` of `nav` has a map as well, with regions, agents and their paths.
//! A program that draws a map of its own, or has keys for its player, implements [`View`] and [`Host`].

mod advice;
mod answer;
mod breakpoint;
#[cfg(not(target_family = "wasm"))]
mod connection;
mod entity;
mod frame;
mod graph;
mod history;
#[cfg(not(target_family = "wasm"))]
mod http;
#[cfg(not(target_family = "wasm"))]
mod inspector;
#[cfg(feature = "nav")]
mod map;
mod marks;
mod mind;
mod name;
mod query;
mod report;
mod request;
mod scene;
#[cfg(not(target_family = "wasm"))]
mod server;
mod session;
mod slice;
mod view;

pub use advice::{Advice, FEW_ENTITIES, advice};
pub use answer::Answer;
pub use entity::actions;
pub use frame::{Frame, Known};
#[cfg(not(target_family = "wasm"))]
pub use inspector::{Inspector, Stopper};
#[cfg(feature = "nav")]
pub use map::TerrainMap;
pub use marks::Marks;
pub use name::EntityName;
pub use request::Request;
pub use scene::{
    Axes, Cheat, Colour, Ground, Kind, Landmark, Mark, Scene, Touch, grouped, short_name,
};
pub use session::Session;
pub use view::{Host, NoView, View};
