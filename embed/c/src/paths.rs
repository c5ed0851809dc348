//! Agents that ask for paths and walk them.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_jobs::Schedule;
use formic_nav::{
    Cell, PathRequest, Position, RequestStatus, SearchBudget, Terrain, TimeStep, systems,
};

use crate::component::{fm_component, number_of};
use crate::entity::{each, fm_entity};
use crate::ffi;
use crate::schedule::{fm_schedule, list};
use crate::status::{Failure, call, fm_status};
use crate::terrain::{copy_of, fm_cell, fm_terrain};
use crate::world::{call_with, fm_world, with};

/// A place on a terrain, in cells: the middle of the first cell is (0.5, 0.5).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct fm_place {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

/// How the request of an agent stands.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_path_status {
    /// Nothing was asked, or the entity is no agent.
    FM_PATH_IDLE = 0,
    /// The answer is due.
    FM_PATH_PENDING = 1,
    /// The agent is on its way.
    FM_PATH_FOUND = 2,
    /// It is there.
    FM_PATH_ARRIVED = 3,
    /// It is on its way to the reachable cell that is nearest.
    FM_PATH_PARTIAL = 4,
    /// It is at that cell.
    FM_PATH_NEARBY = 5,
    /// There is no path.
    FM_PATH_UNREACHABLE = 6,
}

/// A wish of fm_paths_ask(): where the goal cannot be reached, the nearest reachable cell will do.
pub const FM_OR_NEAREST: u32 = 1;
/// A wish of fm_paths_ask(): where the goal cannot be reached, the search is made again once an edit has
/// made it reachable.
pub const FM_KEEP_TRYING: u32 = 2;
/// A wish of fm_paths_ask(): the shortest way at any angle, which takes several times the search.
pub const FM_ANY_ANGLE: u32 = 4;

/// Puts a copy of a terrain into a world and makes a schedule that answers requests and lets agents walk:
/// `seconds` of time in each run, and up to `budget` cells looked at in all searches of a run, 0 for the
/// usual number. Each world has one. `*out` is its handle.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_paths_new(
    world: fm_world,
    terrain: fm_terrain,
    seconds: f32,
    budget: u64,
    out: *mut fm_schedule,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(Failure::argument(format!("a run cannot take {seconds} seconds")));
        }
        let terrain = copy_of(terrain)?;
        let schedule = with(world, |state| {
            state.expect_no_lease()?;
            let world = &mut state.world;
            if world.resource::<Terrain>().is_ok() {
                return Err(Failure::argument("the world has a terrain already"));
            }
            systems::insert_resources(world, terrain);
            world.insert_resource(TimeStep { seconds });
            if budget > 0 {
                world.insert_resource(SearchBudget { expansions: budget });
            }
            systems::add(Schedule::builder()).build(world).map_err(Failure::argument)
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, list(world, schedule, None)) }
    })
}

fn expect_finite(what: &str, places: &[fm_place]) -> Result<(), Failure> {
    match places.iter().position(|it| !(it.x.is_finite() && it.y.is_finite())) {
        Some(place) => Err(Failure::argument(format!("{what} {place} is not finite"))),
        None => Ok(()),
    }
}

/// Spawns agents at these places that walk so many cells per second. `agents` gets their handles. They
/// may be given more components by fm_insert().
///
/// # Safety
/// `places` has `count` elements, `agents` room for as many handles, initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_paths_spawn(
    world: fm_world,
    places: *const fm_place,
    count: usize,
    speed: f32,
    agents: *mut fm_entity,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many places.
        let places = unsafe { ffi::slice("places", places, count) }?;
        // SAFETY: the caller vouches for room for as many handles.
        let agents = unsafe { ffi::slice_mut("agents", agents, count) }?;
        expect_finite("place", places)?;
        if !(speed.is_finite() && speed >= 0.0) {
            return Err(Failure::argument(format!("an agent cannot have the speed {speed}")));
        }
        with(world, |state| {
            state.expect_no_lease()?;
            let terrain = state.world.resource::<Terrain>().map_err(no_terrain)?;
            let is_in = |it: &fm_place| {
                let cell = Position((it.x, it.y).into()).cell();
                cell.is_some_and(|cell| terrain.grid().index(cell).is_some())
            };
            if let Some(place) = places.iter().position(|it| !is_in(it)) {
                return Err(Failure::argument(format!("place {place} is not on the terrain")));
            }
            let bundles = places.iter().map(|it| systems::agent((it.x, it.y).into(), speed));
            for (place, agent) in agents.iter_mut().zip(state.world.spawn_batch(bundles)) {
                *place = agent.to_bits();
            }
            Ok(())
        })
    })
}

fn no_terrain(_: impl Sized) -> Failure {
    Failure::argument("the world has no terrain: see fm_paths_new()")
}

/// Asks for paths: agent `i` is to go to goal `i`, by FM_OR_NEAREST, FM_KEEP_TRYING and FM_ANY_ANGLE, or 0. The
/// answer is there after the next run, or a later one if the budget is spent. Those that are not in the world, or no
/// agents, are passed over, as for fm_despawn().
///
/// # Safety
/// `agents` and `goals` have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_paths_ask(
    world: fm_world,
    agents: *const fm_entity,
    goals: *const fm_place,
    count: usize,
    wishes: u32,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        // SAFETY: the caller vouches for as many places.
        let goals = unsafe { ffi::slice("goals", goals, count) }?;
        expect_finite("goal", goals)?;
        if wishes & !(FM_OR_NEAREST | FM_KEEP_TRYING | FM_ANY_ANGLE) != 0 {
            return Err(Failure::argument(format!("unknown wishes {wishes:#x}")));
        }
        with(world, |state| {
            state.expect_writable_of::<PathRequest>()?;
            each(agents, |place, agent| {
                state.world.place_of(agent)?;
                let request = state.world.get_mut::<PathRequest>(agent).map_err(no_agent)?;
                request.ask((goals[place].x, goals[place].y).into());
                if wishes & FM_OR_NEAREST != 0 {
                    request.or_nearest();
                }
                if wishes & FM_KEEP_TRYING != 0 {
                    request.keep_trying();
                }
                if wishes & FM_ANY_ANGLE != 0 {
                    request.any_angle();
                }
                Ok(())
            })
        })
    })
}

fn no_agent(error: impl core::fmt::Display) -> Failure {
    Failure::new(fm_status::FM_NO_COMPONENT, format!("it is no agent: {error}"))
}

const fn number(status: RequestStatus) -> u32 {
    let status = match status {
        RequestStatus::Idle => fm_path_status::FM_PATH_IDLE,
        RequestStatus::Pending => fm_path_status::FM_PATH_PENDING,
        RequestStatus::Found => fm_path_status::FM_PATH_FOUND,
        RequestStatus::Arrived => fm_path_status::FM_PATH_ARRIVED,
        RequestStatus::Partial(_) => fm_path_status::FM_PATH_PARTIAL,
        RequestStatus::Nearby(_) => fm_path_status::FM_PATH_NEARBY,
        RequestStatus::Unreachable(_) => fm_path_status::FM_PATH_UNREACHABLE,
    };
    status as u32
}

/// Gives how the requests of agents stand, and where they are: `statuses` gets an fm_path_status of each,
/// `places` its place; either may be null. Of those that are not in the world, or no agents, they get
/// FM_PATH_IDLE and (0, 0), as for fm_despawn().
///
/// # Safety
/// `agents` has `count` handles; `statuses` and `places`, where not null, room for as many, initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_paths_status(
    world: fm_world,
    agents: *const fm_entity,
    count: usize,
    statuses: *mut u32,
    places: *mut fm_place,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        let room = |is_null: bool| if is_null { 0 } else { count };
        // SAFETY: the caller vouches for as much room.
        let statuses = unsafe { ffi::slice_mut("statuses", statuses, room(statuses.is_null())) }?;
        // SAFETY: as above.
        let places = unsafe { ffi::slice_mut("places", places, room(places.is_null())) }?;
        statuses.fill(fm_path_status::FM_PATH_IDLE as u32);
        places.fill(fm_place::default());
        with(world, |state| {
            each(agents, |at, agent| {
                state.world.place_of(agent)?;
                let request = state.world.get::<PathRequest>(agent).map_err(no_agent)?;
                let place = state.world.get::<Position>(agent).map_err(no_agent)?.0;
                if let Some(status) = statuses.get_mut(at) {
                    *status = number(request.status());
                }
                if let Some(to) = places.get_mut(at) {
                    *to = fm_place { x: place.x, y: place.y };
                }
                Ok(())
            })
        })
    })
}

/// Gives the component in which agents have their places, as two floats: for FM_READ.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_paths_component(world: fm_world, out: *mut fm_component) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let id = with(world, |state| Ok(state.world.register::<Position>()))?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, number_of(id)) }
    })
}

/// Opens a cell of the world's terrain, or makes it solid: agents heed it in the next run.
#[unsafe(no_mangle)]
pub extern "C" fn fm_paths_set(world: fm_world, cell: fm_cell, open: bool) -> fm_status {
    call_with(world, |state| {
        let terrain = state.world.resource_mut::<Terrain>().map_err(no_terrain)?;
        let cell = Cell::from(cell);
        if terrain.grid().index(cell).is_none() {
            return Err(Failure::argument(format!("the map has no cell {cell}")));
        }
        _ = if open { terrain.dig(cell) } else { terrain.fill(cell) };
        Ok(())
    })
}
