//! The minds and the actions that they drive. One program: what is generic is compiled once for all
//! of them.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

mod access;
mod altered;
mod bt;
mod btcpp;
mod choosing;
mod composite;
mod data;
mod emitting;
mod explain;
mod fsm;
mod generated_files;
mod goap;
mod htn;
mod interop;
mod lifetime;
mod limits;
mod mind_files;
mod mistakes;
mod model;
mod saves;
mod sequence;
mod support;
mod utility;
