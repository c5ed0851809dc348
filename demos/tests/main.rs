//! The binary and the shell from outside. One test binary for all files here;
//! a new file needs its line below.

mod browser;
mod cats;
mod command_line;
mod diff;
mod dungeon;
mod fleet;
mod guide;
mod harbour;
mod layers;
mod live;
mod matrix;
mod minds;
mod miners;
mod proofs;
mod recording;
mod rogue;
mod save;
mod serve;
mod shell;
mod static_page;
mod support;
mod villagers;
mod visit;
