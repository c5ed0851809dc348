//! Rows that each write to an entity which they share with others: the world that a loop goes over
//! row by row, and that `Scatter` goes over in parallel.

use formic_ecs::prelude::*;

use crate::model::{self, EFFECTS};

/// Which entity a row writes to.
#[derive(Component, Clone, Copy)]
pub(crate) struct Feeds(pub(crate) Entity);

/// What is written: the order counts.
#[derive(Component, Clone, Copy)]
pub(crate) struct Stomach(pub(crate) u64);

impl Stomach {
    #[inline(always)]
    pub(crate) const fn eat(&mut self, meal: u64) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(meal);
    }
}

/// The targets lie in an order that has nothing to do with that of the rows.
pub(crate) fn world(targets: usize) -> World {
    let mut world = World::new();
    let stomachs = world.spawn_batch((0..targets).map(|_| Stomach(0)));
    let feeds = |row: usize| {
        let place = model::mixed(row as u64) % targets as u64;
        Feeds(stomachs[usize::try_from(place).expect("below a length")])
    };
    world.spawn_batch((0..EFFECTS).map(feeds));
    world
}

/// One row after the other.
pub(crate) fn one_by_one(world: &mut World, plans: &mut Plans) {
    let cell = world.cell();
    let mut rows = cell.query(&mut plans.0).expect("nobody else is here");
    let mut stomachs = cell.view(&mut plans.1).expect("nobody else is here");
    rows.query().for_each(|feeds| {
        if let Ok(stomach) = stomachs.get_mut(feeds.0) {
            stomach.eat(1);
        }
    });
}

/// What [`one_by_one`] keeps.
pub(crate) type Plans =
    (formic_ecs::QueryPlan<&'static Feeds>, formic_ecs::ViewPlan<&'static mut Stomach>);

pub(crate) fn sum(world: &mut World) -> u64 {
    world.query::<&Stomach>().into_iter().fold(0, |sum, it| sum.wrapping_mul(31).wrapping_add(it.0))
}
