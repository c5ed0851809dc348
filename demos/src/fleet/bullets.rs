//! Bullets: entities that live for two seconds.

use formic_ai::prelude::*;

use super::parts::{Bullet, Hull, Member, Position, Side, Strength, TICK_SECONDS, Toll, Velocity};
use super::radar::Radar;

/// In metres per second.
pub(super) const SPEED: f32 = 60.0;
const LIFE_TICKS: u32 = 20;
/// As near to a unit as this is a hit, in metres; a bullet flies less than twice of it in a tick.
const HIT: f32 = 3.5;

/// What a bullet does to the unit that it hits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit;

pub(super) fn new(side: Side) -> Bullet {
    Bullet { ticks_left: LIFE_TICKS, side }
}

type Flying = (Entity, &'static mut Position, &'static Velocity, &'static mut Bullet);

/// Moves the bullets; those that hit something or whose time is up are despawned, and hits are taken
/// off the hulls. A unit may be hit by many at once, so that hits are collected and applied afterwards.
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
    // Those that are passed over are gone since the radar saw them.
    hits.apply(&mut hulls, |hull, Hit| hull.points = hull.points.saturating_sub(1));
}

/// Turrets have no velocity.
type Unit = (Entity, &'static Hull, &'static Member, Option<&'static Velocity>);

/// Despawns the units that are shot to pieces, which squadrons count.
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
