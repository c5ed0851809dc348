//! Activities: that they sleep and wake, that nothing is lost, and that each is finished once.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

mod asynchronous;
mod endings;
mod events;
mod interleavings;
mod losses;
mod model;
mod parallel;
mod porters;
mod puppet;
mod rovers;
mod snapshots;
mod threads;
mod timers;
