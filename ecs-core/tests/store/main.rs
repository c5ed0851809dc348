//! The store as a user meets it: entities, components, chunks, queries, command buffers.

mod aliasing;
#[path = "../support/allocator.rs"]
mod allocator;
mod archetypes;
mod block_memory;
mod buffers;
mod bulk;
mod bundles;
mod cell;
mod change_detection;
mod chunks;
mod cleanup;
mod command_buffers;
mod command_calls;
mod commands_on_one_entity;
mod dynamic;
mod enableable;
mod enableable_everywhere;
mod entities;
mod fields;
mod hooks;
mod layouts;
mod panic_sweeps;
mod panics;
mod planted;
mod prefabs;
mod queries;
mod queries_by_id;
mod queries_more;
mod query_rows;
mod refusals;
mod relations;
mod resources;
mod rights_and_shards;
mod state_hash;
#[path = "../support/mod.rs"]
mod support;
mod unwinding;
mod views;
