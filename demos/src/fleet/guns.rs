//! Guns: the action that fires them, for any unit, and the other actions of turrets.

use formic_ai::prelude::*;
use glam::Vec2;

use super::bullets;
use super::parts::{Aim, Gun, Hull, Position, Side, Velocity};

/// The maximum distance of a target, in metres.
pub(super) const RANGE: f32 = 60.0;
/// The heat at which a gun must cool down.
pub(super) const HEAT_MAX: u32 = 24;
/// The time between two shots.
const RELOAD_TICKS: u32 = 3;
/// The maximum deviation of a shot: the tangent of the angle.
const SPREAD: f32 = 0.16;

/// Action: fire at the target, as often as the gun can.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Fire;

/// Action: let the gun cool down.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Cool;

/// Action: repair the hull, slowly.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Repair;

type Gunner = (&'static Position, &'static Side, &'static Aim, &'static mut Gun);

/// Spawns a bullet for each shot, on all threads. Each thread records its spawns in a command buffer, and
/// playback puts them in one order.
pub(super) fn fire(
    mut actions: Actions<Fire>,
    gunners: AgentAccess<Gunner>,
    mut commands: Commands,
) {
    actions.with(&mut commands).update(|unit, Fire, commands| {
        gunners.act(unit, |(position, side, aim, gun)| {
            gun.reload = gun.reload.saturating_sub(1);
            if gun.reload > 0 || aim.distance > RANGE {
                return ActionResult::Running;
            }
            gun.reload = RELOAD_TICKS;
            gun.heat += gun.heat_per_shot;
            let mut random = RandomStream::new(gun.random);
            let astray = Vec2::new(1.0, random.between(-SPREAD, SPREAD)).normalize();
            gun.random = random.state();
            // The predicted position of the target when the bullet arrives.
            let ahead = aim.at + aim.motion * (aim.distance / bullets::SPEED);
            let way = (ahead - position.0).normalize_or(Vec2::X);
            let velocity = Velocity(astray.rotate(way) * bullets::SPEED);
            commands.spawn((*position, velocity, bullets::new(*side)));
            ActionResult::Running
        })
    });
}

pub(super) fn cool(mut actions: Actions<Cool>, guns: AgentAccess<&'static mut Gun>) {
    actions.update(|turret, Cool| {
        guns.act(turret, |gun| {
            gun.heat = gun.heat.saturating_sub(1);
            if gun.heat == 0 { ActionResult::Success } else { ActionResult::Running }
        })
    });
}

pub(super) fn repair(mut actions: Actions<Repair>, hulls: AgentAccess<&'static mut Hull>) {
    actions.update(|turret, Repair| {
        hulls.act(
            turret,
            |hull| {
                if hull.mend(1) { ActionResult::Success } else { ActionResult::Running }
            },
        )
    });
}
