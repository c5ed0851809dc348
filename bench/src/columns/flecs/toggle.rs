//! The toggle rows.

use flecs_ecs::prelude::*;

use super::Value;
use super::loops::Asked;
use crate::harness::Cell;
use crate::model::{flipped, starts_on, sum_bits};

#[derive(Component, Clone, Copy)]
struct Flag(bool);
#[derive(Component)]
struct Tag;
#[derive(Component)]
#[flecs(traits(CanToggle))]
struct Active;

fn check_values(world: &World) -> u64 {
    let mut all = Vec::new();
    world.new_query::<&Value>().each(|value| all.push(value.0));
    sum_bits(all.into_iter())
}

pub(super) fn flag(n: usize) -> Cell {
    struct State {
        asked: Asked<Query<(&'static mut Value, &'static Flag)>>,
        flips: Vec<Entity>,
    }
    let world = World::new();
    let flags: Vec<Flag> = (0..n).map(|i| Flag(starts_on(i))).collect();
    let entities = world.entity_bulk(n as u32).set(&flags).set(&vec![Value(0); n]).build();
    let flips = flipped(n).map(|i| entities[i]).collect();
    let asked = Asked { query: world.query().set_cached().build(), world };
    let frame = |state: &mut State| {
        for &entity in &state.flips {
            let entity = state.asked.world.entity_from_id(entity);
            entity.get::<&mut Flag>(|flag| flag.0 = !flag.0);
        }
        state.asked.query.each(|(value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    Cell::frames(State { asked, flips }, frame, |state| check_values(&state.asked.world))
}

struct Switched {
    asked: Asked<Query<&'static mut Value>>,
    /// Each with whether it was on at the beginning.
    flips: Vec<(Entity, bool)>,
    is_odd: bool,
}

impl Switched {
    fn of(world: World, entities: &[Entity], tag: impl IntoId) -> Self {
        let flips = flipped(entities.len()).map(|i| (entities[i], starts_on(i))).collect();
        let query = world.query().with(tag).set_cached().build();
        Self { asked: Asked { query, world }, flips, is_odd: false }
    }

    /// Switches each, then adds one to those that are on.
    fn frame(&mut self, switch: impl Fn(EntityView<'_>, bool)) {
        for &(entity, started_on) in &self.flips {
            switch(self.asked.world.entity_from_id(entity), started_on == self.is_odd);
        }
        self.is_odd = !self.is_odd;
        self.asked.query.each(|value| value.0 += 1);
    }

    fn check(&mut self) -> u64 {
        check_values(&self.asked.world)
    }
}

pub(super) fn tag(n: usize) -> Cell {
    let world = World::new();
    let entities = world.entity_bulk(n as u32).set(&vec![Value(0); n]).build();
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.entity_from_id(entities[i]).add(Tag::id());
    }
    let switched = Switched::of(world, &entities, Tag::id());
    let frame = |switched: &mut Switched| {
        switched.frame(|entity, on| {
            _ = if on { entity.add(Tag::id()) } else { entity.remove(Tag::id()) };
        });
    };
    Cell::frames(switched, frame, Switched::check)
}

pub(super) fn native(n: usize) -> Cell {
    let world = World::new();
    world.component::<Active>();
    let entities = world.entity_bulk(n as u32).set(&vec![Value(0); n]).add::<Active>().build();
    for (i, &entity) in entities.iter().enumerate() {
        switch_active(world.entity_from_id(entity), starts_on(i));
    }
    let switched = Switched::of(world, &entities, Active::id());
    Cell::frames(switched, |switched| switched.frame(switch_active), Switched::check)
}

fn switch_active(entity: EntityView<'_>, on: bool) {
    _ = if on { entity.enable(Active::id()) } else { entity.disable(Active::id()) };
}
