//! The pool: scopes, loops, joins, jobs with handles, hosts and guests, panics and sleep.

mod broadcast;
mod cancel;
mod futures;
mod gates;
mod guests;
mod handles;
mod hosting;
mod hosting_edges;
mod join;
mod load;
mod loops;
mod main_thread;
mod nested;
mod panics;
mod parallel;
mod scope;
mod sleep;
mod stress;
#[path = "../support/mod.rs"]
mod support;
