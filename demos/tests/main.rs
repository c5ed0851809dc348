//! The binary and the shell from outside. One test binary for all files here;
//! a new file needs its line below.

mod cats;
mod command_line;
mod dungeon;
mod layers;
mod minds;
mod miners;
mod proofs;
mod shell;
mod support;
