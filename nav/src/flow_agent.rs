//! Agents that follow flow fields: many agents with one goal.
//!
//! There are two systems. [`settle_flows`] lets the fields follow the edits of the terrain, and computes
//! them as far as agents stand, within a budget. [`follow_flow`] asks the field of each agent for the
//! step from its cell, on all threads, and walks. An agent has no path and no plan: it can be pushed
//! anywhere and goes on from there, and the field knows of a new wall in front of it before it takes
//! another step.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

pub(crate) mod fields;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, HashState};
use formic_jobs::{Query, Res, ResMut};
use glam::Vec2;

use crate::agent::{ARRIVAL_DISTANCE, Facing, Position, Speed, TimeStep, walk_part};
use crate::avoid::body::Avoid;
use crate::cell::Cell;
use crate::flow::{FlowField, Known};
use crate::flow_agent::fields::{FlowFields, FlowId};
use crate::follow::steer::velocity_to;
use crate::link::is_step;
use crate::terrain::Terrain;

/// Makes an agent follow a flow field.
///
/// ```
/// use formic_ecs::World;
/// use formic_jobs::{Pool, Schedule, Threads};
/// use glam::Vec2;
/// use formic_nav::{Cell, FlowFields, FlowFollower, FlowStatus, Grid, MoveRule, Terrain, systems};
///
/// let terrain = Terrain::new(Grid::from_fn(20, 20, |_| true)?, MoveRule::default());
/// let mut fields = FlowFields::default();
/// let camp = fields.add(&terrain, &[Cell::new(10, 10)]);
/// let mut world = World::new();
/// systems::insert_resources(&mut world, terrain);
/// world.insert_resource(fields);
/// let agents: Vec<_> = (0..20_u8)
///     .map(|x| world.spawn(systems::flow_agent(Vec2::new(f32::from(x) + 0.5, 0.5), 4.0, camp)))
///     .collect();
///
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
/// for _ in 0..100 {
///     schedule.run(&mut world, &pool);
/// }
/// for agent in agents {
///     assert_eq!(world.get::<FlowFollower>(agent)?.status(), FlowStatus::Arrived);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Snapshots contain this component, with the id of the field. The [`FlowFields`] are a resource: a
/// program that restores a world restores the same resource, or adds the same fields in the same order.
#[derive(Component, Clone, Copy, PartialEq, Debug, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct FlowFollower {
    field: FlowId,
    status: FlowStatus,
    /// The part of the last step that rounding has left to walk.
    carry: f32,
}

/// The state of an agent that follows a flow field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, NoUninit, CheckedBitPattern, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u32)]
pub enum FlowStatus {
    /// The field is not computed yet where the agent stands, and never was.
    Waiting,
    /// The agent is on its way.
    Going,
    /// The agent has come to a goal, or, if it gives way to others, to those that rest there. It goes on
    /// if the field is given other goals, or others have pushed it away.
    Arrived,
    /// No goal can be reached from where the agent stands. It goes on once an edit changes that.
    Unreachable,
    /// The field was removed.
    NoField,
}

impl FlowFollower {
    /// Creates a follower of this field.
    #[must_use]
    pub const fn new(field: FlowId) -> Self {
        Self { field, status: FlowStatus::Waiting, carry: 0.0 }
    }

    /// The field that the agent follows.
    #[must_use]
    pub const fn field(&self) -> FlowId {
        self.field
    }

    /// The state of the agent.
    #[must_use]
    pub const fn status(&self) -> FlowStatus {
        self.status
    }
}

/// Lets the flow fields follow the edits of the terrain, by work on what these touch, and computes them
/// as far as their agents need, within [`expansions_per_tick`](FlowFields::expansions_per_tick).
pub fn settle_flows(
    mut agents: Query<(&Position, &FlowFollower)>,
    mut fields: ResMut<FlowFields>,
    terrain: Res<Terrain>,
) {
    if fields.begin(&terrain) {
        agents.for_each(|(position, follower)| {
            position.cell().into_iter().for_each(|cell| fields.want(follower.field, cell));
        });
    }
    fields.update(&terrain);
    agents.for_each(|(position, follower)| {
        let field = fields.get_on(follower.field, &terrain);
        let Some((cell, (field, terrain))) = position.cell().zip(field) else { return };
        if !field.is_final(terrain, cell) && matches!(field.known(terrain, cell), Known::NotYet(_))
        {
            fields.want(follower.field, cell);
        }
    });
    fields.serve(&terrain);
}

/// The agents, with everything that following changes.
type Followers<'a> = Query<
    'a,
    (
        &'static mut Position,
        &'static mut Facing,
        &'static Speed,
        &'static mut FlowFollower,
        Option<&'static mut Avoid>,
    ),
>;

/// Walks every agent that follows a flow field, as far as its speed takes it in one tick, over any number
/// of cells. For agents that give way to others ([`Avoid`]) it only sets where to go, and
/// [`avoid`](crate::systems::avoid) moves them.
pub fn follow_flow(
    mut agents: Followers,
    fields: Res<FlowFields>,
    terrain: Res<Terrain>,
    step: Res<TimeStep>,
) {
    let seconds = step.elapsed();
    agents.par_for_each(|(position, facing, speed, follower, body)| {
        let Some((field, terrain)) = fields.get_on(follower.field, &terrain) else {
            follower.status = FlowStatus::NoField;
            body.into_iter().for_each(Avoid::pause);
            return;
        };
        follower.status = match body {
            Some(body) => direct(position, *speed, follower.status, field, terrain, body, seconds),
            None => {
                let carry = &mut follower.carry;
                let reach = speed.reach(seconds, *carry);
                walk(position, facing, carry, field, terrain, reach)
            }
        };
    });
}

/// Where a field leads from a position: the point to walk to, the point where the agent is then (another
/// one if a link begins at the first), and whether that is the goal. Or the reason why it leads nowhere.
fn lead(
    field: &FlowField,
    terrain: &Terrain,
    position: Vec2,
) -> Result<(Vec2, Vec2, bool), FlowStatus> {
    let cell = Cell::containing(position).ok_or(FlowStatus::Unreachable)?;
    match field.known(terrain, cell) {
        Known::NotYet(None) => Err(FlowStatus::Waiting),
        Known::Unreachable => Err(FlowStatus::Unreachable),
        Known::Goal => Ok((cell.centre(), cell.centre(), true)),
        Known::Step(next) | Known::NotYet(Some(next)) => {
            let target = if is_step(cell, next) { next } else { cell };
            Ok((target.centre(), next.centre(), false))
        }
    }
}

/// Walks `reach` cells, from the centre of one to the centre of the next. A straight line from any point
/// of a cell to there touches only cells that the step needs open.
fn walk(
    position: &mut Position,
    facing: &mut Facing,
    carry: &mut f32,
    field: &FlowField,
    terrain: &Terrain,
    mut reach: f32,
) -> FlowStatus {
    loop {
        let (target, end, is_home) = match lead(field, terrain, position.0) {
            Ok(way) => way,
            Err(status) => return status,
        };
        let offset = target - position.0;
        let distance = offset.length();
        if is_home && distance == 0.0 {
            return FlowStatus::Arrived;
        }
        // Rounding can make the carry negative.
        if reach <= 0.0 {
            *carry = reach;
            return FlowStatus::Going;
        }
        if distance > 0.0 {
            facing.0 = offset / distance;
        }
        if reach < distance {
            *carry = walk_part(&mut position.0, offset, reach);
            return FlowStatus::Going;
        }
        position.0 = end;
        reach -= distance;
    }
}

/// Tells an agent that gives way to others where to go.
fn direct(
    position: &mut Position,
    speed: Speed,
    status: FlowStatus,
    field: &FlowField,
    terrain: &Terrain,
    body: &mut Avoid,
    seconds: f32,
) -> FlowStatus {
    // All agents of one field have one goal, whichever of its cells they come to.
    let goal = field.goals().first().map_or(body.goal, |goal| goal.centre());
    let (target, end, is_home) = match lead(field, terrain, position.0) {
        Ok(way) => way,
        Err(FlowStatus::Waiting) => {
            body.hold();
            return FlowStatus::Waiting;
        }
        Err(status) => {
            body.pause();
            return status;
        }
    };
    // An agent that has arrived stays arrived while others push it aside.
    let was_there =
        status == FlowStatus::Arrived && body.goal == goal && !body.is_left_behind(position.0);
    // It takes a link from anywhere in its cell: if many wait to cross, none comes to the exact centre.
    if target != end && !was_there {
        if speed.reach(seconds, 0.0) > 0.0 {
            position.0 = end;
        }
        body.hold();
        return FlowStatus::Going;
    }
    let offset = target - position.0;
    let is_there = is_home && offset.length() < ARRIVAL_DISTANCE;
    if was_there {
        body.rest();
        return FlowStatus::Arrived;
    }
    if is_there || body.is_crowded_out() {
        body.arrive(position.0, goal);
        return FlowStatus::Arrived;
    }
    let left = Cell::containing(end).and_then(|next| field.left(next));
    let velocity = velocity_to(offset, is_home, speed.per_second(), seconds);
    body.go(velocity, goal, left.map(|left| left + offset.length()));
    FlowStatus::Going
}
