//! The construction of units: whole squadrons at the start, and replacements later.

use std::sync::Arc;

use formic_ai::bt::TreeAgent;
use formic_ai::fsm::FsmAgent;
use formic_ai::goap::GoapAgent;
use formic_ai::prelude::*;
use formic_ecs::ComponentError;
use glam::Vec2;

use super::admirals;
use super::parts::{
    Aim, Gun, Hull, Member, Orders, Position, Side, Station, Strength, Toll, Velocity, War,
};
use super::ships::{self, Ships};
use super::sky::{Sky, Squadron};
use super::turrets::{self, Turrets};
use crate::direction::direction;

const SHIP_HULL: u32 = 24;
const TURRET_HULL: u32 = 60;
/// The distance of a turret from its base, in metres.
const TURRET_RING: f32 = 28.0;
/// The maximum distance of a ship from the middle of its formation, in metres.
const FORMATION: f32 = 26.0;

/// The templates from which units are built.
pub(super) struct Dockyard {
    ship: ActionSet,
    machine: Ships,
    turret: ActionSet,
    tree: Turrets,
    admiral: ActionSet,
}

impl Dockyard {
    pub(super) fn new() -> Self {
        let (ship, turret, admiral) = (ships::actions(), turrets::actions(), admirals::actions());
        let machine = Arc::new(ships::machine(&ship));
        let tree = Arc::new(turrets::tree(&turret));
        Self { ship, machine, turret, tree, admiral }
    }

    /// Inserts the decision engines of the units.
    pub(super) fn insert_minds(&self, world: &mut World) {
        world.insert_resource(Arc::clone(&self.machine));
        world.insert_resource(Arc::clone(&self.tree));
        world.insert_resource(admirals::sensors(&self.admiral));
    }

    /// Builds all squadrons. Admirals come first, so that each knows its foe.
    pub(super) fn found_squadrons(&self, world: &mut World, sky: &Sky, seed: u64) {
        let admirals: Vec<Entity> =
            sky.squadrons().map(|squadron| self.build_admiral(world, &squadron)).collect();
        let seed = RandomStream::new(seed);
        for (number, &admiral) in admirals.iter().enumerate() {
            let foe = admirals.get(number ^ 1).copied().unwrap_or(admiral);
            let war = War::new(foe, seed.fork(number as u64).state());
            assert!(world.insert(admiral, (war, Aim::none(admiral))).is_ok(), "it was just built");
            self.make_good(world, admiral).expect("the admiral has all that it takes");
        }
    }

    fn build_admiral(&self, world: &mut World, squadron: &Squadron) -> Entity {
        let Squadron { side, base, foe_base, ships, turrets } = *squadron;
        let admiral = world.spawn((
            Position(base),
            side,
            Orders { point: base, base, foe_base },
            Strength { ships: 0, turrets: 0, ships_max: ships, turrets_max: turrets },
        ));
        self.admiral.attach(world, admiral).expect("the set has five actions");
        GoapAgent::drive(world, admiral).expect("the admiral was just given a body");
        admiral
    }

    /// Builds the ships and turrets that a squadron lacks, and counts them.
    fn make_good(&self, world: &mut World, admiral: Entity) -> Result<(), ComponentError> {
        let (orders, side) = (*world.get::<Orders>(admiral)?, *world.get::<Side>(admiral)?);
        let strength = world.get_mut::<Strength>(admiral)?;
        let before = *strength;
        (strength.ships, strength.turrets) = (before.ships_max, before.turrets_max);
        let ships = before.ships_max - before.ships;
        let turrets = before.turrets_max - before.turrets;
        let war = world.get_mut::<War>(admiral)?;
        let seed = RandomStream::new(war.seed);
        let first = war.built;
        war.built += ships + turrets;
        let unit = |number: u32| Unit { admiral, side, random: seed.fork((first + number).into()) };
        for number in 0..turrets {
            // The remaining turrets need not be in the first places, but new ones keep to the ring.
            let place = (before.turrets + number) as f32 / before.turrets_max as f32;
            let offset = direction(place * std::f32::consts::TAU) * TURRET_RING;
            self.build_turret(world, unit(number), orders.base + offset);
        }
        for number in 0..ships {
            self.build_ship(world, unit(turrets + number), orders.base);
        }
        if let Ok(toll) = world.resource_mut::<Toll>() {
            toll.ships_built += u64::from(ships);
            toll.turrets_built += u64::from(turrets);
        }
        Ok(())
    }

    fn build_turret(&self, world: &mut World, unit: Unit, at: Vec2) {
        let Unit { admiral, side, random } = unit;
        let turret = world.spawn((
            Position(at),
            side,
            Member { admiral },
            Hull::new(TURRET_HULL),
            Aim::none(admiral),
            Gun { random: random.state(), reload: 0, heat: 0, heat_per_shot: 2, unused: 0 },
        ));
        self.turret.attach(world, turret).expect("the set has three actions");
        TreeAgent::drive(world, turret, &self.tree, random.state())
            .expect("the turret was just given a body");
    }

    fn build_ship(&self, world: &mut World, unit: Unit, base: Vec2) {
        let Unit { admiral, side, mut random } = unit;
        let angle = random.between(0.0, std::f32::consts::TAU);
        // The square root spreads them evenly over the disc.
        let station = direction(angle) * FORMATION * random.next_f32().sqrt();
        let ship = world.spawn((
            Position(base + station),
            Velocity(Vec2::ZERO),
            side,
            Member { admiral },
            Station(station),
            Hull::new(SHIP_HULL),
            Aim::none(admiral),
            Gun { random: random.state(), reload: 0, heat: 0, heat_per_shot: 0, unused: 0 },
        ));
        self.ship.attach(world, ship).expect("the set has four actions");
        FsmAgent::drive(world, ship, &self.machine).expect("the ship was just given a body");
    }
}

/// The data that all units of a squadron share.
struct Unit {
    admiral: Entity,
    side: Side,
    random: RandomStream,
}

/// Replaces the losses of squadrons whose admirals have called for it. Building a unit needs the whole
/// world, so it is a command.
pub(super) fn launch(
    mut admirals: Query<(Entity, &mut War)>,
    yard: Res<Arc<Dockyard>>,
    mut commands: Commands,
) {
    admirals.for_each(|(admiral, war)| {
        if std::mem::take(&mut war.called) == 0 {
            return;
        }
        let yard = Arc::clone(&yard);
        commands.run(move |world| _ = yard.make_good(world, admiral));
    });
}
