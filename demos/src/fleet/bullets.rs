//! Bullets: entities that live for two seconds.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::prelude::*;

use super::parts::{Bullet, Hull, Member, Position, Side, Strength, TICK_SECONDS, Velocity};
use super::radar::Radar;
use super::tally::Toll;

/// In metres per second.
pub(super) const SPEED: f32 = 60.0;
const LIFE_TICKS: u32 = 20;
/// As near to a unit as this is a hit, in metres; a bullet flies less than twice of it in a tick.
const HIT: f32 = 3.5;

/// A unit has been hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    target: Entity,
}

pub(super) fn new(side: Side) -> Bullet {
    Bullet { ticks_left: LIFE_TICKS, side }
}

type Flying = (Entity, &'static mut Position, &'static Velocity, &'static mut Bullet);

/// Moves the bullets; those that hit something or whose time is up are despawned, and hits are
/// told.
pub(super) fn race(
    mut bullets: Query<Flying>,
    radar: Res<Radar>,
    mut commands: Commands,
    mut hits: EventWriter<Hit>,
) {
    bullets.par_for_each_with_both(
        &mut commands,
        &mut hits,
        |(entity, position, velocity, bullet), commands, hits| {
            position.0 += velocity.0 * TICK_SECONDS;
            bullet.ticks_left -= 1;
            let hit = radar.nearest(bullet.side.other(), position.0, HIT);
            if let Some((target, _)) = hit {
                hits.send(Hit { target });
            }
            if hit.is_some() || bullet.ticks_left == 0 {
                commands.despawn(entity);
            }
        },
    );
}

/// Turrets have no velocity.
type Targets = (&'static mut Hull, &'static Member, Option<&'static Velocity>);

/// Takes the hits off the hulls. One after the other: a unit may be hit twice, and squadrons count
/// their own.
pub(super) fn damage(
    mut hits: EventReader<Hit>,
    mut targets: Query<Targets>,
    mut squadrons: Query<&mut Strength>,
    mut toll: ResMut<Toll>,
    mut commands: Commands,
) {
    for hit in hits.read() {
        toll.hits += 1;
        // Gone since the radar saw it, or in this very tick.
        let Ok((hull, member, velocity)) = targets.get(hit.target) else { continue };
        if hull.points == 0 {
            continue;
        }
        hull.points -= 1;
        if hull.points > 0 {
            continue;
        }
        commands.despawn(hit.target);
        let Ok(strength) = squadrons.get(member.admiral) else { continue };
        if velocity.is_some() {
            toll.ships_lost += 1;
            strength.ships -= 1;
        } else {
            toll.turrets_lost += 1;
            strength.turrets -= 1;
        }
    }
}
