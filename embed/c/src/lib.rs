//! The C interface of Formic.
//!
//! `include/formic.h` is made from these files and is the documentation for users: every exported
//! function, type and constant with its comment. The rules that hold for all of them:
//!
//! * Handles are numbers in tables ([`handles`]), so one that was freed or made up is an error.
//! * Every function runs inside [`status::call`]: an error leaves its text for the thread, and a
//!   panic ends there.
//! * Pointers from outside are read and written by the functions of [`ffi`] alone.
//! * Columns that were leased are protected by what the world notes about its leases ([`query`]),
//!   since the caller uses them while no call runs.
#![warn(missing_docs)]
#![allow(non_camel_case_types, reason = "the names that C sees")]

#[cfg(target_endian = "big")]
compile_error!(
    "an fm_entity is read from columns of handles, which fits machines of little endian alone"
);

pub mod commands;
pub mod component;
pub mod entity;
mod ffi;
mod handles;
pub mod memory;
pub mod mind;
pub mod paths;
pub mod query;
pub mod relation;
pub mod schedule;
pub mod snapshot;
pub mod status;
pub mod terrain;
pub mod world;
