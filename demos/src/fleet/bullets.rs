//! Bullets: entities that live for two seconds.

use formic_ai::prelude::*;

use super::parts::{Bullet, Hull, Member, Position, Side, Strength, TICK_SECONDS, Toll, Velocity};
use super::radar::Radar;

/// In metres per second.
pub(super) const SPEED: f32 = 60.0;
const LIFE_TICKS: u32 = 20;
/// The distance at which a bullet hits a unit, in metres; a bullet flies less than twice that in a tick.
const HIT: f32 = 3.5;

/// A hit of a bullet on a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit;

pub(super) fn new(side: Side) -> Bullet {
    Bullet { ticks_left: LIFE_TICKS, side }
}

type Flying = (Entity, &'static mut Position, &'static Velocity, &'static mut Bullet);

/// Moves the bullets, and despawns those that hit a unit or whose time is up. Hits reduce hull points.
/// Many bullets may hit a unit at once, so hits are collected and applied afterwards.
pub(super) fn race(
    mut bullets: Query<Flying>,
    radar: Res<Radar>,
    mut commands: Commands,
    mut hits: Scatter<Hit>,
    mut hulls: ComponentLookup<&'static mut Hull>,
    mut toll: ResMut<Toll>,
) {
    let is_new = |(_, _, _, bullet): (Entity, &mut Position, &Velocity, &mut Bullet)| {
        u64::from(bullet.ticks_left == LIFE_TICKS)
    };
    toll.fired += bullets.par_reduce(is_new, |one, other| one + other).unwrap_or(0);
    bullets.par_for_each_with(
        (&mut commands, &mut hits),
        |(entity, position, velocity, bullet), (commands, hits)| {
            position.0 += velocity.0 * TICK_SECONDS;
            bullet.ticks_left -= 1;
            let hit = radar.nearest(bullet.side.other(), position.0, HIT);
            if let Some((target, _)) = hit {
                hits.push(target, Hit);
            }
            if hit.is_some() || bullet.ticks_left == 0 {
                commands.despawn(entity);
            }
        },
    );
    toll.hits += hits.len() as u64;
    // Skipped units have been despawned since the radar scan.
    hits.apply(&mut hulls, |hull, Hit| hull.points = hull.points.saturating_sub(1));
}

/// The components of a unit; turrets have no velocity.
type Unit = (Entity, &'static Hull, &'static Member, Option<&'static Velocity>);

/// Despawns destroyed units, and updates the counts of their squadrons.
pub(super) fn sink(
    mut units: Query<Unit>,
    mut squadrons: ComponentLookup<&'static mut Strength>,
    mut toll: ResMut<Toll>,
    mut commands: Commands,
) {
    units.for_each(|(unit, hull, member, velocity)| {
        if hull.points > 0 {
            return;
        }
        commands.despawn(unit);
        let Ok(strength) = squadrons.get_mut(member.admiral) else { return };
        if velocity.is_some() {
            toll.ships_lost += 1;
            strength.ships -= 1;
        } else {
            toll.turrets_lost += 1;
            strength.turrets -= 1;
        }
    });
}
