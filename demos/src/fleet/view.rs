//! The view of the war.

use formic::inspect::{Ground, Kind, Landmark, Mark, Marks, Scene, View, actions};
use formic_ai::fsm::FsmAgent;
use formic_ai::prelude::*;
use glam::Vec2;

use super::Fleet;
use super::guns::{Cool, Fire, RANGE};
use super::parts::{Aim, Bullet, Hull, Orders, Position, Side, TICK_SECONDS, Velocity};
use super::ships::Ships;
use super::sky::Sky;
use crate::raster::Colour;
use crate::simulation::Simulation;
use crate::text::called;

const SPACE: Colour = Colour([10, 12, 22]);
const BASE: Colour = Colour([26, 30, 48]);
/// In metres.
const BASE_RADIUS: f32 = 34.0;

/// The kinds of marks; turrets are darker than ships.
const KINDS: [Kind; 6] = [
    Kind::new("red ships", Colour([255, 110, 80])),
    Kind::new("blue ships", Colour([90, 170, 255])),
    Kind::new("red turrets", Colour([170, 73, 53])),
    Kind::new("blue turrets", Colour([60, 113, 170])),
    Kind::new("bullets", Colour([255, 240, 170])),
    Kind::ground("bases", BASE),
];
/// The kinds of the first of two sides; those of the other side follow.
const SHIPS: u8 = 0;
const TURRETS: u8 = 2;
const BULLETS: u8 = 4;

impl View for Fleet {
    fn scene(&self) -> Scene {
        Scene {
            size: self.world().resource::<Sky>().map_or(Vec2::ONE, Sky::size),
            unit: "metre",
            ticks_per_second: 1.0 / TICK_SECONDS,
            mark_radius: 1.2,
            kinds: KINDS.to_vec(),
        }
    }

    fn ground(&self) -> Ground {
        let bases = self.world().query_ref::<(&Orders, &Side)>();
        let bases = bases.map(|(orders, _)| Landmark {
            at: orders.base,
            radius: BASE_RADIUS,
            colour: BASE,
            label: String::new(),
        });
        Ground { palette: vec![SPACE], landmarks: bases.collect(), ..Ground::default() }
    }

    fn marks(&self, marks: &mut Marks) {
        type Unit<'a> = (Entity, &'a Position, &'a Side, Option<&'a Velocity>);
        let units = self.world().query_ref_filtered::<Unit<'_>, With<Hull>>();
        units.for_each(|(entity, position, side, velocity)| {
            if !marks.wants(entity) {
                return;
            }
            let kind = if velocity.is_some() { SHIPS } else { TURRETS } + *side as u8;
            marks.push(Mark { entity, at: position.0, kind, world: 0 });
        });
        let bullets = self.world().query_ref_filtered::<(Entity, &Position), With<Bullet>>();
        bullets.for_each(|(entity, position)| {
            marks.push(Mark { entity, at: position.0, kind: BULLETS, world: 0 });
        });
    }

    /// From a unit to its target.
    fn path(&self, agent: Entity) -> Vec<Vec2> {
        let world = self.world();
        match (world.get::<Position>(agent), world.get::<Aim>(agent)) {
            (Ok(position), Ok(aim)) if aim.has_target() => vec![position.0, aim.at],
            _ => Vec::new(),
        }
    }

    fn noun(&self, entity: Entity) -> Option<&'static str> {
        let world = self.world();
        let nouns = [
            (world.has::<Orders>(entity), "admiral"),
            (world.has::<Bullet>(entity), "bullet"),
            (world.has::<Hull>(entity) && world.has::<Velocity>(entity), "ship"),
            (world.has::<Hull>(entity), "turret"),
        ];
        nouns.into_iter().find(|(is_one, _)| *is_one).map(|(_, noun)| noun)
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = self.world();
        if let Ok(bullet) = world.get::<Bullet>(agent) {
            let ticks = bullet.ticks_left;
            return vec![format!("It flies straight on for {ticks} more ticks, or until it hits.")];
        }
        let (Ok(hull), Ok(aim)) = (world.get::<Hull>(agent), world.get::<Aim>(agent)) else {
            return Vec::new();
        };
        let health = if hull.is_hurt() { "It is badly hurt" } else { "It is fit to fight" };
        let health = format!("{health}: {} of {} points of hull.", hull.points, hull.points_max);
        let target = if aim.has_target() {
            let (target, distance) = (called(self, aim.target), aim.distance);
            format!("It aims at {target}, the nearest enemy, {distance:.0} metres away.")
        } else {
            "It aims at nobody, because no enemy is near enough.".to_owned()
        };
        vec![self.doing(agent, hull, aim), target, health]
    }
}

impl Fleet {
    /// Describes what a unit does, and which of its inputs made it do so.
    fn doing(&self, unit: Entity, hull: &Hull, aim: &Aim) -> String {
        let world = self.world();
        let near = if aim.distance < RANGE { "in range" } else { "in sight, but out of range" };
        if let (Ok(agent), Ok(machine)) = (world.get::<FsmAgent>(unit), world.resource::<Ships>()) {
            let state = agent.state().map_or("waiting", |state| machine.name(state));
            return match state {
                "retreating" => "It is retreating, because it was badly hurt.".to_owned(),
                _ if aim.has_target() => format!("It is {state}, because an enemy is {near}."),
                _ => format!("It is {state}, because no enemy is in sight."),
            };
        }
        let runs = |&action: &Entity| world.is_enabled::<Executing>(action) == Ok(true);
        let doing = actions(world, unit).into_iter().find(runs);
        let does = |name: &str| format!("It {name}.");
        match doing {
            Some(it) if world.has::<Fire>(it) => does("fires, because an enemy is in range"),
            Some(it) if world.has::<Cool>(it) => does("cools its gun, which was too hot"),
            Some(_) if hull.points < hull.points_max => {
                does("repairs itself, because nobody is in range and it is damaged")
            }
            _ => does("waits, because nobody is in range and it is whole"),
        }
    }
}
