//! Every pattern of Formic as something to run and to look at.
//!
//! The crate is a shell and the demos that it runs. A demo is a folder with one public item: `DEMO`, its
//! card ([`card::Demo`]), which describes it and builds it ([`simulation::Simulation`]). The shell does
//! the rest: the command line, the progress bar, the clock, the JSON, the summary, the picture and the
//! exit code.
//!
//! ```text
//!   cli ──> plan ──> Demo::build ──> runner ──> report ──> stdout
//!                                 │    └──> raster ──> PNG
//!                                 └──> recording, saved_game ──> resume
//! ```
//!
//! Beside the demos there are proofs ([`proofs`]), which solve public problems and check the answers.
//!
//! A web page has no shell: the modules that a demo does not need are not built for wasm.
//!
//! To add a demo, write its folder, declare it as a module below, and add its card to
//! [`catalogue::DEMOS`].

#![forbid(unsafe_code)]
#![expect(elided_lifetimes_in_paths, reason = "systems and minds read better without <'_>")]

pub mod arguments;
pub mod card;
pub mod catalogue;
pub mod cats;
#[cfg(not(target_family = "wasm"))]
pub mod cli;
#[cfg(not(target_family = "wasm"))]
pub mod diff;
pub mod direction;
pub mod dungeon;
pub mod engine;
pub mod explain;
pub mod failure;
pub mod files;
pub mod fleet;
#[cfg(doctest)]
mod guide;
pub mod harbour;
pub mod interrupt;
pub mod minds;
pub mod miners;
pub mod origin;
pub mod picture;
#[cfg(not(target_family = "wasm"))]
pub mod plan;
pub mod progress;
pub mod proofs;
pub mod raster;
pub mod recording;
#[cfg(not(target_family = "wasm"))]
pub mod report;
#[cfg(not(target_family = "wasm"))]
pub mod resume;
pub mod rogue;
#[cfg(not(target_family = "wasm"))]
pub mod runner;
pub mod saved_game;
#[cfg(not(target_family = "wasm"))]
pub mod serve;
pub mod session;
pub mod setup;
#[cfg(not(target_family = "wasm"))]
pub mod shell;
pub mod simulation;
pub mod text;
pub mod villagers;
pub mod walkers;
