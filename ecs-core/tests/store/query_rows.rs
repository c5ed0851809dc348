//! Rows with named fields: structs that derive `QueryData`.
#![expect(elided_lifetimes_in_paths, reason = "rows are named as in a program without the lint")]

use formic_ecs::prelude::*;
use formic_ecs::{EnabledBit, EnabledBitMut, ParallelScratch};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(f32);

#[derive(Component, Clone, Debug, PartialEq)]
#[component(tracked)]
struct Health(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
struct Asleep(u32);

/// How many there are of each kind: enough for several chunks.
const EACH: u32 = if cfg!(miri) { 20 } else { 3000 };

#[derive(QueryData, Debug)]
#[query_data(read_only = VitalsReadOnly)]
struct Vitals<'w> {
    health: &'w mut Health,
    asleep: Option<&'w Asleep>,
}

#[derive(QueryData)]
#[query_data(read_only = MoverReadOnly)]
struct Mover<'w> {
    entity: Entity,
    position: &'w mut Position,
    velocity: &'w Velocity,
    vitals: Vitals<'w>,
    r#type: (Option<&'w Asleep>, Ref<'w, Velocity>),
}

impl Mover<'_> {
    fn step(&mut self) {
        self.position.0 += self.velocity.0;
        self.vitals.health.0 += 1 + self.vitals.asleep.map_or(0, |asleep| asleep.0);
        assert_eq!(self.vitals.asleep, self.r#type.0);
        assert_eq!(*self.velocity, *self.r#type.1);
    }
}

type Tuple<'w> = (&'w mut Position, &'w Velocity, (&'w mut Health, Option<&'w Asleep>));

fn step((position, velocity, (health, asleep)): <Tuple<'_> as QueryData>::Item<'_>) {
    position.0 += velocity.0;
    health.0 += 1 + asleep.map_or(0, |asleep| asleep.0);
}

/// Entities with all four, of which some sleep, and without `Asleep`; of every kind several chunks.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let body = |i: u32| (Position(i as f32), Velocity(0.5), Health(i));
    let mut all = world.spawn_batch((0..EACH).map(|i| (body(i), Asleep(i))));
    for &entity in all.iter().step_by(3) {
        world.set_enabled::<Asleep>(entity, false).expect("it has the component");
    }
    all.extend(world.spawn_batch((0..EACH).map(body)));
    world.spawn_batch((0..EACH).map(Health));
    (world, all)
}

/// The world after each row took a step: by the struct, and by the tuple.
#[track_caller]
fn check(
    by_struct: impl FnOnce(&mut World, &[Entity]),
    by_tuple: impl FnOnce(&mut World, &[Entity]),
) {
    let ((mut one, all), (mut two, _)) = (world(), world());
    assert_eq!(one.state_hash(), two.state_hash());
    let before = one.state_hash();
    by_struct(&mut one, &all);
    by_tuple(&mut two, &all);
    assert_ne!(one.state_hash(), before, "the rows were visited");
    assert_eq!(one.state_hash(), two.state_hash());
    one.check().expect("in order");
}

#[test]
fn a_struct_does_in_every_loop_what_the_tuple_does() {
    check(
        |world, _| world.query::<Mover>().for_each(|mut mover| mover.step()),
        |world, _| world.query::<Tuple>().for_each(step),
    );
    check(
        |world, _| {
            for mut mover in world.query::<Mover>() {
                mover.step();
            }
        },
        |world, _| world.query::<Tuple>().into_iter().for_each(step),
    );
    check(
        |world, _| {
            world.query::<Mover>().chunks(|chunk| chunk.for_each(|mut mover| mover.step()));
        },
        |world, _| world.query::<Tuple>().chunks(|chunk| chunk.into_iter().for_each(step)),
    );
    check(
        |world, _| {
            let mut scratch = ParallelScratch::default();
            let mut query = world.query::<Mover>();
            let chunks = query.parallel(&mut scratch);
            for index in 0..chunks.len() {
                let chunk = chunks.take(index).expect("each is taken once");
                chunk.for_each(|mut mover| mover.step());
            }
        },
        |world, _| world.query::<Tuple>().for_each(step),
    );
}

#[test]
fn a_struct_is_looked_up_as_the_tuple_is() {
    check(
        |world, all| {
            let mut query = world.query::<Mover>();
            all.iter().for_each(|&entity| query.get(entity).expect("it matches").step());
        },
        |world, all| {
            let mut query = world.query::<Tuple>();
            all.iter().for_each(|&entity| step(query.get(entity).expect("it matches")));
        },
    );
    check(
        |world, all| {
            let mut view = world.view::<Mover>();
            for pair in all.chunks_exact(2) {
                let pair = view.get_many_mut([pair[0], pair[1]]).expect("they match");
                pair.into_iter().for_each(|mut mover| mover.step());
            }
        },
        |world, all| {
            let mut view = world.view::<Tuple>();
            all.iter().for_each(|&entity| step(view.get_mut(entity).expect("it matches")));
        },
    );
    check(
        |world, all| {
            let mut plan = world.view_plan::<Mover>();
            let mut view = world.cell().view(&mut plan).expect("it is free");
            for mut shard in view.shards(3) {
                all.iter().for_each(|&entity| {
                    if let Ok(mut mover) = shard.get_mut(entity) {
                        assert_eq!(mover.entity, entity);
                        mover.step();
                    }
                });
            }
        },
        |world, all| {
            let mut view = world.view::<Tuple>();
            all.iter().for_each(|&entity| step(view.get_mut(entity).expect("it matches")));
        },
    );
}

#[test]
fn plans_of_a_struct_and_of_its_tuple_touch_the_same() {
    let mut world = World::new();
    let (row, tuple) = (world.view_plan::<Mover>(), world.view_plan::<(Entity, Tuple)>());
    assert_eq!(row.access().reads(), tuple.access().reads());
    assert_eq!(row.access().writes(), tuple.access().writes());
    let reading = world.view_plan::<MoverReadOnly>();
    assert_eq!(reading.access().writes(), []);
    assert_eq!(reading.access().reads().len(), 4);
}

#[test]
fn the_read_only_form_has_the_same_fields() {
    let (world, all) = world();
    let rows: Vec<MoverReadOnly> = world.query_ref::<MoverReadOnly>().into_iter().collect();
    assert_eq!(rows.len(), all.len());
    for (row, &entity) in rows.iter().zip(&all) {
        assert_eq!(row.entity, entity);
        assert_eq!(Ok(row.position), world.get::<Position>(entity));
        assert_eq!(Ok(row.velocity), world.get::<Velocity>(entity));
        let vitals: &VitalsReadOnly = &row.vitals;
        assert_eq!(Ok(vitals.health), world.get::<Health>(entity));
        assert_eq!(vitals.asleep, row.r#type.0);
    }
    // Many rows of one entity, since nothing is written.
    let query = world.query_ref::<MoverReadOnly>();
    assert_eq!(query.iter_many([all[1], all[1]]).filter(|row| row.position.0 == 1.0).count(), 2);
}

#[test]
fn a_row_that_is_lent_to_write_counts_as_changed_and_no_other() {
    let (mut world, all) = world();
    let mut news = world.plan_filtered::<Entity, Changed<Health>>();
    let mut changed =
        |world: &mut World| world.cell().query(&mut news).expect("it is free").count();
    changed(&mut world);
    let mut query = world.query::<Mover>();
    assert!(query.get(all[1]).is_ok() && query.get(all[2]).is_ok());
    assert_eq!(changed(&mut world), 2);
    world.query_ref::<MoverReadOnly>().for_each(drop);
    assert_eq!(changed(&mut world), 0, "reading changes nothing");

    #[derive(QueryData)]
    #[query_data(read_only = PatientReadOnly)]
    struct Patient<'w> {
        health: Mut<'w, Health>,
    }
    for mut patient in world.query::<Patient>() {
        if patient.health.0 == 7 {
            patient.health.0 = 8;
        }
    }
    assert_eq!(changed(&mut world), 3, "one of each kind, the others were not touched");
    assert!(
        !world
            .query_ref::<PatientReadOnly>()
            .since(world.version())
            .into_iter()
            .any(|row| row.health.is_changed())
    );
}

#[derive(QueryData)]
struct Light<'w> {
    #[query_data(from = Present<&'w Asleep>)]
    whatever: &'w Asleep,
    #[query_data(from = Enabled<Asleep>)]
    is_on: EnabledBit<'w>,
}

#[derive(QueryData)]
#[query_data(read_only = SwitchReadOnly)]
struct Switch<'w>(#[query_data(from = EnabledMut<Asleep>)] EnabledBitMut<'w>, Entity);

#[test]
fn a_field_may_be_from_data_that_gives_another_type() {
    let (mut world, all) = world();
    let lights = world.query::<Light>();
    assert_eq!(lights.iter().count(), EACH as usize, "those that are off come as well");
    assert!(lights.iter().all(|light| light.is_on.get() == (light.whatever.0 % 3 != 0)));
    let mut switched = Vec::new();
    world.query::<Switch>().for_each(|mut switch| {
        switch.0.set(true);
        switched.push(switch.1);
    });
    assert_eq!(switched, all[..EACH as usize]);
    assert!(
        world.query_ref::<SwitchReadOnly>().into_iter().all(|SwitchReadOnly(bit, _)| bit.get())
    );
}

#[derive(QueryData)]
struct Holding<'w, T: Component, Q: QueryData, const N: usize> {
    held: &'w T,
    #[query_data(from = Q)]
    rest: Q::Item<'w>,
}

impl<T: Component, Q: QueryData, const N: usize> Holding<'_, T, Q, N> {
    const COUNT: usize = N;
}

#[derive(QueryData, Debug, PartialEq)]
struct Nothing {}

#[derive(QueryData, Debug, PartialEq)]
struct Name(Entity, Nothing);

#[derive(Component)]
struct Nth<const N: usize>(usize);

#[derive(QueryData)]
struct Wide<'w>(
    &'w Nth<0>,
    &'w Nth<1>,
    &'w Nth<2>,
    &'w Nth<3>,
    &'w Nth<4>,
    &'w Nth<5>,
    &'w Nth<6>,
    &'w mut Nth<7>,
    &'w Nth<8>,
    &'w Nth<9>,
    &'w Nth<10>,
    &'w Nth<11>,
    &'w Nth<12>,
    &'w Nth<13>,
);

#[test]
fn a_row_may_be_generic_empty_or_of_more_fields_than_a_tuple_has() {
    let (mut world, all) = world();
    let row = world.query::<Holding<Position, Vitals, 7>>().into_get(all[3]).expect("it matches");
    assert_eq!((row.held, &*row.rest.health), (&Position(3.0), &Health(3)));
    assert_eq!(Holding::<Position, Vitals<'_>, 7>::COUNT, 7);
    let name = world.query_ref::<Name>().into_get(all[5]);
    assert_eq!(name, Ok(Name(all[5], Nothing {})));
    let few = (Nth::<0>(0), Nth::<1>(1), Nth::<2>(2), Nth::<3>(3), Nth::<4>(4), Nth::<5>(5));
    let more = (Nth::<6>(6), Nth::<7>(7), Nth::<8>(8), Nth::<9>(9), Nth::<10>(10));
    world.spawn((few, more, Nth::<11>(11), Nth::<12>(12), Nth::<13>(13)));
    world.query::<Wide>().for_each(|Wide(a, b, c, d, e, f, g, h, i, j, k, l, m, n)| {
        h.0 += a.0 + b.0 + c.0 + d.0 + e.0 + f.0 + g.0 + i.0 + j.0 + k.0 + l.0 + m.0 + n.0;
    });
    assert_eq!(world.query::<&Nth<7>>().map(|nth| nth.0).sum::<usize>(), (0..14).sum());
}

#[derive(QueryData)]
struct Flat<'w> {
    position: &'w mut Position,
    entity: Entity,
    velocity: Pace<'w>,
}

#[derive(QueryData)]
struct Pace<'w>(&'w Velocity);

#[test]
fn the_slices_of_a_struct_come_as_a_tuple_in_the_order_of_its_fields() {
    let (mut world, all) = world();
    let mut seen = Vec::new();
    world.query::<Flat>().for_each_chunk(|(positions, entities, (velocities,))| {
        for (position, velocity) in positions.iter_mut().zip(velocities) {
            position.0 += velocity.0;
        }
        seen.extend_from_slice(entities);
    });
    assert_eq!(seen, all);
    for row in world.query::<Flat>() {
        assert_eq!(row.position.0.fract(), row.velocity.0.0, "{}", row.entity);
    }
}

#[test]
fn a_row_that_contradicts_itself_is_refused_by_its_name() {
    #[derive(QueryData)]
    struct Twice<'w> {
        _one: &'w mut Position,
        _two: Flat<'w>,
    }
    let ask = AssertUnwindSafe(|| World::new().query::<Twice>().for_each(drop));
    let panic = catch_unwind(ask).expect_err("it asks for the position twice");
    let message = panic.downcast_ref::<String>().expect("a text");
    assert!(message.contains("Twice") && message.contains("Position"), "{message}");
}

#[derive(QueryData)]
#[query_data(read_only = NurseReadOnly)]
struct Nurse<'w> {
    row: Claimant<'w>,
    position: &'w Position,
}

#[test]
fn a_claimant_inside_a_row_claims_as_the_row() {
    let (mut world, all) = world();
    let mut plan = world.claim_plan::<Vitals>();
    let mut nurses = world.plan_filtered::<Nurse, With<Asleep>>();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("it is free");
    let mut nurses = cell.query(&mut nurses).expect("it is free");
    nurses.query().for_each(|nurse| {
        let mut claim = claims.claim(&nurse.row, nurse.row.entity()).expect("its own");
        claim.get_mut().health.0 += u32::from(nurse.position.0 > 0.5);
    });
    drop((nurses, claims));
    assert_eq!(world.get::<Health>(all[1]), Ok(&Health(2)));
    // The form that reads has the entity in the place of the claimant.
    assert!(world.query_ref::<NurseReadOnly>().into_iter().any(|nurse| nurse.row == all[1]));
}
