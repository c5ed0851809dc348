//! A world of Formic that lives inside a Bevy app.
//!
//! The world and its schedule are a resource of Bevy. Each update ticks them, and then copies the places of
//! ants into the transforms of the entities that Bevy draws. Nothing else is kept twice.

#![forbid(unsafe_code)]

use bevy_app::{App, Plugin, Startup, Update};
use bevy_ecs::prelude as bevy;
use bevy_ecs::prelude::IntoScheduleConfigs;
use bevy_transform::components::Transform;
use formic::prelude::*;

/// An ant's place, in metres.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Place([f32; 2]);

/// What an ant moves by in a tick.
#[derive(Component)]
struct Pace([f32; 2]);

/// The entity that Bevy draws for an ant.
#[derive(Component)]
#[component(unhashed)]
struct Drawn(bevy::Entity);

fn walk(mut ants: Query<'_, (&mut Place, &Pace)>) {
    ants.par_for_each(|(place, pace)| {
        place.0[0] += pace.0[0];
        place.0[1] += pace.0[1];
    });
}

/// Ants that walk, as many as that.
#[derive(Debug)]
pub struct AntPlugin {
    /// How many.
    pub ants: u16,
}

/// The ants' world and all that it lives by.
#[derive(bevy::Resource)]
struct Ants {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Plugin for AntPlugin {
    fn build(&self, app: &mut App) {
        let mut world = World::new();
        world.spawn_batch((0..self.ants).map(|ant| (Place([0.0; 2]), Pace([1.0, f32::from(ant)]))));
        let schedule = Schedule::builder().add(walk).build(&mut world);
        let schedule = schedule.expect("one system has an order");
        let pool = Pool::new(Threads::all_cores()).expect("the system grants threads");
        app.insert_resource(Ants { world, schedule, pool })
            .add_systems(Startup, spawn_drawn)
            // In a game: `FixedUpdate`, so that a tick is always as long.
            .add_systems(Update, (tick, copy_places).chain());
    }
}

/// Gives each ant an entity of Bevy; in a game with a sprite or a mesh.
fn spawn_drawn(mut ants: bevy::ResMut<'_, Ants>, mut commands: bevy::Commands<'_, '_>) {
    let entities: Vec<Entity> = ants.world.query_ref::<Entity>().into_iter().collect();
    for ant in entities {
        let drawn = commands.spawn(Transform::default()).id();
        ants.world.insert(ant, Drawn(drawn)).expect("the ant lives");
    }
}

fn tick(mut ants: bevy::ResMut<'_, Ants>) {
    let Ants { world, schedule, pool } = &mut *ants;
    schedule.run(world, pool);
}

fn copy_places(ants: bevy::Res<'_, Ants>, mut drawn: bevy::Query<'_, '_, &mut Transform>) {
    for (place, entity) in &ants.world.query_ref::<(&Place, &Drawn)>() {
        // Bevy's side may have despawned it.
        if let Ok(mut transform) = drawn.get_mut(entity.0) {
            (transform.translation.x, transform.translation.y) = (place.0[0], place.0[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bevy_draws_ants_where_they_are_after_twenty_ticks() {
        let mut app = App::new();
        app.add_plugins(AntPlugin { ants: 100 });
        (0..20).for_each(|_| app.update());
        let mut drawn: Vec<[f32; 2]> = (app.world_mut().query::<&Transform>().iter(app.world()))
            .map(|it| [it.translation.x, it.translation.y])
            .collect();
        drawn.sort_by(|one, other| one[1].total_cmp(&other[1]));
        let expected: Vec<[f32; 2]> = (0..100_u16).map(|ant| [20.0, f32::from(20 * ant)]).collect();
        assert_eq!(drawn, expected);
    }
}
