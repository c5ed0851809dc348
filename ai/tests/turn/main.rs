//! Turns: actions as data, rules, the schedule, real time, traces, undo and replay.

mod engine;
mod game;
mod history;
mod properties;
mod real_time;
mod rules;
mod save;
