//! Systems and schedules: order, conditions, parameters, commands, events, panics and the timeline.

mod commands;
mod conditions;
mod derived_params;
mod divergence;
mod events;
mod migration;
mod model;
mod order;
mod panics;
mod params;
mod planted;
mod query_rows;
mod save;
mod save_files;
mod shared_targets;
#[path = "../support/mod.rs"]
mod support;
mod systems;
#[cfg(feature = "timeline")]
mod timeline;
