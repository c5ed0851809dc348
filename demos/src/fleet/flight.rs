//! Flight: three actions that steer, and a system that moves.

use formic_ai::prelude::*;
use glam::Vec2;

use super::parts::{Aim, Hull, Member, Orders, Position, Station, TICK_SECONDS, Velocity};

/// In metres per second.
const SPEED: f32 = 20.0;
/// In metres per second, per tick.
const ACCELERATION: f32 = 3.0;
/// The distance to a point that counts as arrived, in metres.
const ARRIVED: f32 = 12.0;
/// The hull points that a ship at its base repairs in a tick.
const MEND: u32 = 2;

/// Action: fly to the ship's place in the squadron.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Cruise;

/// Action: fly towards the target.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Close;

/// Action: fly to the base and stay there until repaired.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Retreat;

/// Turns the velocity towards a point; returns whether the ship has arrived.
fn steer(position: Vec2, velocity: &mut Velocity, to: Vec2) -> bool {
    let way = to - position;
    let distance = way.length();
    // Slower on the last metres, so that no ship circles around the point.
    let wanted = way * (SPEED / distance.max(ARRIVED));
    velocity.0 += (wanted - velocity.0).clamp_length_max(ACCELERATION);
    distance <= ARRIVED
}

type Pilot = (&'static Position, &'static mut Velocity, &'static Member, &'static Station);

pub(super) fn cruise(
    mut actions: Actions<Cruise>,
    pilots: AgentAccess<Pilot>,
    orders: ComponentLookup<&'static Orders>,
) {
    actions.update(|ship, Cruise| {
        pilots.act(ship, |(position, velocity, member, station)| {
            let Ok(orders) = orders.get(member.admiral) else { return ActionResult::Failed };
            steer(position.0, velocity, orders.point + station.0);
            ActionResult::Running
        })
    });
}

type Hunter = (&'static Position, &'static mut Velocity, &'static Aim);

pub(super) fn close(mut actions: Actions<Close>, hunters: AgentAccess<Hunter>) {
    actions.update(|ship, Close| {
        hunters.act(ship, |(position, velocity, aim)| {
            if aim.has_target() {
                steer(position.0, velocity, aim.at);
            }
            ActionResult::Running
        })
    });
}

type Patient = (&'static Position, &'static mut Velocity, &'static mut Hull, &'static Member);

pub(super) fn retreat(
    mut actions: Actions<Retreat>,
    patients: AgentAccess<Patient>,
    orders: ComponentLookup<&'static Orders>,
) {
    actions.update(|ship, Retreat| {
        patients.act(ship, |(position, velocity, hull, member)| {
            let Ok(orders) = orders.get(member.admiral) else { return ActionResult::Failed };
            let is_there = steer(position.0, velocity, orders.base);
            if is_there && hull.mend(MEND) { ActionResult::Success } else { ActionResult::Running }
        })
    });
}

/// Moves the ships, a chunk at a time as slices.
pub(super) fn fly(mut ships: Query<(&mut Position, &Velocity), With<Station>>) {
    ships.par_for_each_chunk(|(positions, velocities)| {
        for (position, velocity) in positions.iter_mut().zip(velocities) {
            position.0 += velocity.0 * TICK_SECONDS;
        }
    });
}
