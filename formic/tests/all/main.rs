//! The facade from outside. One test binary for all files here, so that the crates below are linked
//! once; a new file needs its line below.

mod facade;
#[cfg(feature = "inspect")]
mod inspect;
#[cfg(all(feature = "ai", feature = "nav"))]
mod paths;
#[cfg(feature = "ai")]
mod readme;
#[cfg(all(feature = "ai", feature = "nav"))]
mod saved_games;
