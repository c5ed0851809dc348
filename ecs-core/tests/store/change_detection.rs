//! Change detection: versions per row, versions per chunk, and since when.

mod plans;

use formic_ecs::prelude::*;
use formic_ecs::{DynamicQuery, ParallelScratch, RandomStream};

/// Exact per row.
#[derive(Component, Clone, Debug, PartialEq)]
#[component(tracked)]
struct Exact(u64);

/// By chunks.
#[derive(Component, Clone, Debug, PartialEq)]
struct Coarse(u64);

#[derive(Component, Clone, Debug, PartialEq)]
#[component(tracked, enableable)]
struct Lamp(u64);

#[derive(Component, Clone)]
struct Tag;

const COUNT: u64 = if cfg!(miri) { 70 } else { 3000 };

fn crowd() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT).map(|i| (Exact(i), Coarse(i))));
    (world, all)
}

fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable();
    entities
}

fn changed(world: &mut World, since: u64) -> Vec<Entity> {
    let query = world.query_filtered::<Entity, Changed<Exact>>().since(since);
    let found: Vec<Entity> = query.into_iter().collect();
    assert_eq!(world.query_ref_filtered::<(), Changed<Exact>>().since(since).count(), found.len());
    sorted(found)
}

fn added(world: &mut World, since: u64) -> Vec<Entity> {
    sorted(world.query_filtered::<Entity, Added<Exact>>().since(since).into_iter().collect())
}

fn coarsely<T: Component>(world: &mut World, since: u64, entity: Entity) -> (bool, bool) {
    let changed = world.query_filtered::<(), Changed<T>>().since(since).into_get(entity).is_ok();
    let added = world.query_filtered::<(), Added<T>>().since(since).into_get(entity).is_ok();
    (changed, added)
}

#[test]
fn a_query_of_the_world_asks_for_everything_that_was_ever_changed() {
    let (mut world, all) = crowd();
    assert_eq!(changed(&mut world, 0), sorted(all.clone()));
    assert_eq!(added(&mut world, 0), sorted(all));
    let now = world.version();
    assert_eq!(changed(&mut world, now), []);
    assert_eq!(added(&mut world, now), []);
}

#[test]
fn each_way_to_write_one_value_stamps_that_row_and_no_other() {
    let (mut world, all) = crowd();
    let ways: [fn(&mut World, Entity); 12] = [
        |world, entity| world.get_mut::<Exact>(entity).expect("alive").0 += 1,
        |world, entity| world.view::<&mut Exact>().get_mut(entity).expect("alive").0 += 1,
        |world, entity| world.query_one::<&mut Exact>(entity).expect("alive").0 += 1,
        |world, entity| world.query::<(Entity, &mut Exact)>().into_get(entity).expect("a").1.0 += 1,
        |world, entity| {
            world.query::<Option<&mut Exact>>().into_get(entity).expect("a").expect("b").0 += 1;
        },
        |world, entity| world.query::<Present<&mut Exact>>().into_get(entity).expect("a").0 += 1,
        |world, entity| {
            let mut plan = world.claim_plan::<&mut Exact>();
            let mut rows = world.plan::<Claimant<'_>>();
            let cell = world.cell();
            let claims = cell.claims(&mut plan).expect("free");
            let mut rows = cell.query(&mut rows).expect("free");
            let row = rows.query().into_get(entity).expect("alive");
            claims.claim(&row, entity).expect("free").get_mut().0 += 1;
        },
        |world, entity| {
            let mut plan = world.view_plan::<Mut<'_, Exact>>();
            let cell = world.cell();
            let mut view = cell.view(&mut plan).expect("free");
            view.get_mut(entity).expect("alive").0 += 1;
        },
        |world, entity| world.insert(entity, Exact(7)).expect("alive"),
        |world, entity| {
            let mut commands = CommandBuffer::new(world);
            commands.insert(entity, Exact(7));
            assert!(commands.play(world).failures().is_empty());
        },
        |world, entity| {
            let exact = world.register::<Exact>();
            let mut query = DynamicQuery::builder().write(exact).build(world).expect("known");
            for mut row in world.query_by_id(&mut query).expect("this world") {
                let read = row.get::<Exact>(0).expect("it has one").0;
                if row.entity() == entity {
                    row.get_mut::<Exact>(0).expect("to write").0 = read + 1;
                }
            }
        },
        |world, entity| {
            for (found, mut exact) in world.query::<(Entity, Mut<'_, Exact>)>() {
                if found == entity {
                    exact.0 += 1;
                }
            }
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let target = all[number * 7 % all.len()];
        let before = world.version();
        way(&mut world, target);
        assert_eq!(changed(&mut world, before), [target], "way {number}");
        assert_eq!(added(&mut world, before), [], "way {number}");
        world.check().expect("consistent");
    }
}

#[test]
fn to_read_changes_nothing() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.query::<(&Exact, Ref<'_, Exact>)>().for_each(drop);
    _ = world.view::<&Exact>().get(all[0]).expect("alive");
    _ = world.get::<Exact>(all[0]).expect("alive");
    world.query::<Mut<'_, Exact>>().for_each(|mut exact| {
        assert!(exact.is_changed(), "since ever");
        _ = exact.bypass_change_detection();
        assert!(!exact.set_if_neq(Exact(exact.0)));
    });
    assert_eq!(changed(&mut world, before), []);
    assert!(!coarsely::<Exact>(&mut world, before, all[0]).0);
}

#[test]
fn rows_handed_out_to_be_written_are_stamped_and_those_passed_over_are_not() {
    let (mut world, all) = crowd();
    let before = world.version();
    let first: Vec<Entity> = world
        .query::<(Entity, &mut Exact)>()
        .into_iter()
        .take(5)
        .map(|(entity, _)| entity)
        .collect();
    assert_eq!(changed(&mut world, before), sorted(first));

    let before = world.version();
    let mut seen = 0;
    world.query::<&mut Exact>().for_each_chunk(|slice| seen += slice.len());
    assert_eq!(seen, all.len());
    assert_eq!(changed(&mut world, before), sorted(all));
}

#[test]
fn slices_stamp_the_rows_of_their_run_only() {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT).map(Lamp));
    for &entity in all.iter().step_by(3) {
        world.set_enabled::<Lamp>(entity, false).expect("it has one");
    }
    let before = world.version();
    world.query::<&mut Lamp>().for_each_chunk(|slice| assert!(slice.len() <= 2));
    for (index, &entity) in all.iter().enumerate() {
        world.set_enabled::<Lamp>(entity, true).expect("it has one");
        let expected = index % 3 != 0;
        assert_eq!(coarsely::<Lamp>(&mut world, before, entity), (expected, false), "{index}");
    }
    world.check().expect("consistent");
}

#[test]
fn loops_stamp_the_rows_that_they_hand_out_and_no_others() {
    let loops: [fn(&mut World); 4] = [
        |world| world.query::<&mut Lamp>().for_each(|_| ()),
        |world| world.query::<(Entity, &mut Lamp)>().for_each(|_| ()),
        |world| world.query::<Option<&mut Lamp>>().for_each(|_| ()),
        |world| world.query::<(Entity, Option<&mut Lamp>)>().for_each(|_| ()),
    ];
    for step in [1, 3, usize::MAX] {
        for hand_out in loops {
            let mut world = World::new();
            let all = world.spawn_batch((0..COUNT).map(Lamp));
            for &entity in all.iter().skip(1).step_by(step) {
                world.set_enabled::<Lamp>(entity, false).expect("it has one");
            }
            let before = world.version();
            hand_out(&mut world);
            let is_stamped = |(index, _): &(usize, Entity)| *index == 0 || (index - 1) % step != 0;
            let rows = all.iter().copied().enumerate();
            let expected: Vec<Entity> = rows.filter(is_stamped).map(|(_, entity)| entity).collect();
            for &entity in &all {
                world.set_enabled::<Lamp>(entity, true).expect("it has one");
            }
            let stamped = world.query_filtered::<Entity, Changed<Lamp>>().since(before);
            assert_eq!(sorted(stamped.into_iter().collect()), sorted(expected), "{step}");
        }
    }
}

#[test]
fn a_disabled_component_has_not_changed_and_was_not_added() {
    let mut world = World::new();
    let (on, off) = (world.spawn(Lamp(1)), world.spawn(Lamp(2)));
    world.set_enabled::<Lamp>(off, false).expect("it has one");
    assert!(world.query_filtered::<Entity, Changed<Lamp>>().into_iter().eq([on]));
    assert!(world.query_filtered::<Entity, Added<Lamp>>().into_iter().eq([on]));
    assert!(world.query_filtered::<Entity, Not<Changed<Lamp>>>().into_iter().eq([off]));
    assert_eq!(world.query_filtered::<Entity, (Changed<Lamp>, Disabled<Lamp>)>().count(), 0);
    // The flip itself is no change; what is known of the row stays.
    let before = world.version();
    world.set_enabled::<Lamp>(off, true).expect("it has one");
    assert_eq!(world.query_filtered::<Entity, Changed<Lamp>>().since(before).count(), 0);
    assert_eq!(world.query_filtered::<Entity, Changed<Lamp>>().count(), 2);
}

#[test]
fn what_a_view_of_a_disabled_component_writes_is_a_change_once_it_is_enabled() {
    let mut world = World::new();
    let lamp = world.spawn(Lamp(1));
    world.set_enabled::<Lamp>(lamp, false).expect("it has one");
    let before = world.version();
    world.view::<&mut Lamp>().get_mut(lamp).expect("alive").0 = 2;
    assert!(!coarsely::<Lamp>(&mut world, before, lamp).0);
    world.set_enabled::<Lamp>(lamp, true).expect("it has one");
    assert!(coarsely::<Lamp>(&mut world, before, lamp).0);
}

#[test]
fn versions_go_along_when_rows_move() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.get_mut::<Exact>(all[5]).expect("alive").0 = 1;
    let after_write = world.version();
    // Rows leave from everywhere, so that others are moved into their places; and rows go to other
    // archetypes and back.
    for &entity in all[10..].iter().step_by(2) {
        world.despawn(entity).expect("alive");
    }
    world.insert(all[5], Tag).expect("alive");
    world.insert(all[3], Tag).expect("alive");
    let Tag = world.remove::<Tag>(all[3]).expect("it has one");
    assert_eq!(changed(&mut world, before), [all[5]]);
    assert_eq!(changed(&mut world, after_write), []);
    assert_eq!(added(&mut world, before), []);
    world.check().expect("consistent");
}

#[test]
fn versions_go_along_when_many_rows_move_at_once() {
    let (mut world, all) = crowd();
    let before = world.version();
    let written: Vec<Entity> = all.iter().copied().skip(1).step_by(4).collect();
    for &entity in &written {
        world.get_mut::<Exact>(entity).expect("alive").0 = 1;
    }
    let after_writes = world.version();
    let mut commands = CommandBuffer::new(&world);
    // Runs of rows go to another archetype, and leave holes that others fill.
    for (index, &entity) in all.iter().enumerate() {
        match index % 8 {
            0..3 => commands.insert(entity, Tag),
            3 => commands.despawn(entity),
            _ => {}
        }
    }
    commands.spawn((Exact(1), Coarse(1), Tag));
    assert!(commands.play(&mut world).failures().is_empty());
    let spawned = added(&mut world, before);
    assert_eq!(spawned.len(), 1);
    assert_eq!(changed(&mut world, after_writes), spawned);
    let mut expected = written;
    expected.push(spawned[0]);
    assert_eq!(changed(&mut world, before), sorted(expected));
    assert!(coarsely::<Tag>(&mut world, before, all[0]).1);
    world.check().expect("consistent");
}

#[test]
fn of_runs_that_move_the_chunk_keeps_the_age_of_its_components() {
    let (mut world, all) = crowd();
    let before = world.version();
    let mut commands = CommandBuffer::new(&world);
    all.iter().for_each(|&entity| commands.insert(entity, Tag));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(coarsely::<Coarse>(&mut world, before, all[7]), (true, false));
    assert_eq!(coarsely::<Tag>(&mut world, before, all[7]), (true, true));
}

#[test]
fn to_insert_adds_what_was_not_there_and_changes_what_was() {
    let mut world = World::new();
    let (new, old) = (world.spawn(Tag), world.spawn(Exact(1)));
    let before = world.version();
    world.insert(new, (Exact(1), Coarse(1))).expect("alive");
    world.insert(old, (Exact(2), Coarse(2))).expect("alive");
    assert_eq!(added(&mut world, before), [new]);
    assert_eq!(changed(&mut world, before), sorted(vec![new, old]));
    assert_eq!(coarsely::<Coarse>(&mut world, before, old), (true, true));
    // Alone, and there already.
    let before = world.version();
    world.insert(old, Exact(3)).expect("alive");
    assert_eq!((added(&mut world, before), changed(&mut world, before)), (vec![], vec![old]));
}

#[test]
fn what_was_taken_and_given_again_is_added_again() {
    let (mut world, all) = crowd();
    let before = world.version();
    let exact = world.remove::<Exact>(all[4]).expect("it has one");
    assert_eq!(added(&mut world, before), []);
    world.insert(all[4], exact).expect("alive");
    assert_eq!(added(&mut world, before), [all[4]]);
}

#[test]
fn instances_are_added_and_changed_now() {
    let (mut world, all) = crowd();
    let before = world.version();
    let copies = world.instantiate(all[1], 3).expect("it can be cloned");
    assert_eq!(added(&mut world, before), sorted(copies.clone()));
    assert_eq!(changed(&mut world, before), sorted(copies));
}

#[test]
fn without_tracking_the_whole_chunk_counts_as_changed() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.get_mut::<Coarse>(all[0]).expect("alive").0 = 1;
    let found = world.query_filtered::<Entity, Changed<Coarse>>().since(before).count();
    let first = world.archetypes().iter().find(|archetype| !archetype.is_empty()).expect("rows");
    assert_eq!(found, first.entities(0).len());
    assert!(first.chunk_count() > 1 && found < all.len());
    assert_eq!(world.query_filtered::<Entity, Changed<Exact>>().since(before).count(), 0);
}

#[test]
fn of_a_chunk_too_only_what_is_newly_there_was_added() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.get_mut::<Coarse>(all[0]).expect("alive").0 = 1;
    assert_eq!(coarsely::<Coarse>(&mut world, before, all[0]), (true, false));
    // The row moves, the component is as old as it was.
    world.insert(all[0], Tag).expect("alive");
    assert_eq!(coarsely::<Coarse>(&mut world, before, all[0]), (true, false));
    assert_eq!(coarsely::<Tag>(&mut world, before, all[0]), (true, true));
    // A row that was added takes its age along: into another archetype, and into a hole.
    let young = world.spawn((Exact(0), Coarse(0)));
    world.insert(young, Tag).expect("alive");
    assert!(coarsely::<Coarse>(&mut world, before, young).1);
    let youngest = world.spawn((Exact(0), Coarse(0)));
    world.despawn(all[1]).expect("alive");
    assert!(coarsely::<Coarse>(&mut world, before, youngest).1);
    // An emptied chunk forgets.
    world.clear();
    let before = world.version();
    let again = world.spawn((Exact(0), Coarse(0)));
    assert!(coarsely::<Coarse>(&mut world, before, again).1);
    world.check().expect("consistent");
}

#[test]
fn rows_that_fill_the_holes_of_many_take_their_age_along() {
    let (mut world, all) = crowd();
    let before = world.version();
    let written = all[all.len() - 1];
    world.get_mut::<Coarse>(written).expect("alive").0 = 1;
    let young = world.spawn((Exact(0), Coarse(0)));
    let chunk = |world: &World, entity| world.place_of(entity).expect("alive").chunk;
    assert_ne!(chunk(&world, all[2]), chunk(&world, written));
    assert_eq!(coarsely::<Coarse>(&mut world, before, all[2]), (false, false));
    assert_eq!(world.despawn_many([all[1], all[0]]), 2);
    assert!([written, young].iter().all(|&it| chunk(&world, it) == chunk(&world, all[2])));
    assert_eq!(coarsely::<Coarse>(&mut world, before, written), (true, true));
    assert_eq!(coarsely::<Coarse>(&mut world, before, young), (true, true));
    assert_eq!(
        (changed(&mut world, before), added(&mut world, before)),
        (vec![young], vec![young])
    );
    world.check().expect("consistent");
}

#[test]
fn a_ref_and_a_mut_know_when_they_were_changed() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.get_mut::<Exact>(all[9]).expect("alive").0 = 1;
    let when = world.version();
    let mut view = world.view::<Ref<'_, Exact>>().since(before);
    let touched = view.get_mut(all[9]).expect("alive");
    assert_eq!(
        (touched.is_changed(), touched.is_added(), touched.last_changed()),
        (true, false, when)
    );
    assert!(touched.added_at() < before);
    let other = view.get(all[8]).expect("alive");
    assert_eq!((other.is_changed(), other.is_added(), other.0), (false, false, 8));
    drop(view);
    let mut view = world.view::<Mut<'_, Exact>>().since(before);
    let mut other = view.get_mut(all[8]).expect("alive");
    assert!(!other.is_changed() && !other.is_added());
    assert!(other.set_if_neq(Exact(70)));
    assert!(other.is_changed());
    assert_eq!(view.get_mut(all[7]).expect("alive").into_inner(), &mut Exact(7));
    drop(view);
    assert_eq!(changed(&mut world, when), sorted(vec![all[7], all[8]]));
}

#[test]
fn a_mut_of_an_untracked_component_stamps_its_chunk_when_it_is_written() {
    let (mut world, all) = crowd();
    let before = world.version();
    world.query::<Mut<'_, Coarse>>().for_each(|coarse| assert!(coarse.0 < COUNT));
    assert_eq!(world.query_filtered::<(), Changed<Coarse>>().since(before).count(), 0);
    world.query::<(Entity, Mut<'_, Coarse>)>().for_each(|(entity, mut coarse)| {
        if entity == all[0] {
            coarse.0 = 5;
            assert!(coarse.is_changed());
        }
    });
    let found = world.query_filtered::<(), Changed<Coarse>>().since(before).count();
    assert!(found > 0 && found < all.len());
}

#[test]
fn what_changed_may_be_written_in_the_same_query() {
    let (mut world, all) = crowd();
    let before = world.version();
    for &entity in all.iter().step_by(11) {
        world.get_mut::<Exact>(entity).expect("alive").0 = 0;
    }
    let mut visited = Vec::new();
    world.query_filtered::<(Entity, &mut Exact), Changed<Exact>>().since(before).for_each(
        |(entity, exact)| {
            exact.0 += 1;
            visited.push(entity);
        },
    );
    assert_eq!(sorted(visited), sorted(all.iter().copied().step_by(11).collect()));
}

/// Writes to all of one kind, in one of the ways to do so.
type WriteAll = fn(&mut World, &[Entity]);

#[derive(Component, Clone)]
struct Large([u64; 512]);

/// A mistake in one chunk of many hides behind the others, so that each is asked by itself.
#[test]
fn each_way_to_write_all_values_stamps_every_chunk() {
    let count = if cfg!(miri) { 30 } else { 150 };
    let ways: [(&str, WriteAll); 14] = [
        ("for_each", |world, _| world.query::<&mut Large>().for_each(|it| it.0[0] += 1)),
        ("iteration", |world, _| {
            world.query::<&mut Large>().into_iter().for_each(|it| it.0[0] += 1);
        }),
        ("of two", |world, _| {
            world.query::<(&mut Large, &Coarse)>().for_each(|(it, _)| it.0[0] += 1);
        }),
        ("filtered", |world, _| {
            world.query_filtered::<&mut Large, With<Lamp>>().for_each(|it| it.0[0] += 1);
        }),
        ("Option", |world, _| {
            world.query::<Option<&mut Large>>().for_each(|it| it.expect("it has one").0[0] += 1);
        }),
        ("Mut", |world, _| world.query::<Mut<'_, Large>>().for_each(|mut it| it.0[0] += 1)),
        ("slices", |world, _| {
            world
                .query::<&mut Large>()
                .for_each_chunk(|all| all.iter_mut().for_each(|it| it.0[0] += 1));
        }),
        ("chunks", |world, _| {
            world.query::<&mut Large>().chunks(|chunk| chunk.for_each(|it| it.0[0] += 1));
        }),
        ("parallel", |world, _| {
            let (mut query, mut scratch) =
                (world.query::<&mut Large>(), ParallelScratch::default());
            let chunks = query.parallel(&mut scratch);
            for chunk in (0..chunks.len()).filter_map(|index| chunks.take(index)) {
                chunk.for_each(|it| it.0[0] += 1);
            }
        }),
        ("dynamic rows", |world, _| {
            let large = world.register::<Large>();
            let mut query = DynamicQuery::builder().write(large).build(world).expect("known");
            let rows = world.query_by_id(&mut query).expect("this world");
            rows.for_each(|mut row| row.get_mut::<Large>(0).expect("to write").0[0] += 1);
        }),
        ("dynamic runs", |world, _| {
            let large = world.register::<Large>();
            let mut query = DynamicQuery::builder().write(large).build(world).expect("known");
            let rows = world.query_by_id(&mut query).expect("this world");
            rows.for_each_run(|mut run| {
                run.slice_mut::<Large>(0).expect("to write").iter_mut().for_each(|it| it.0[0] += 1);
            });
        }),
        ("view", |world, all| {
            let mut view = world.view::<&mut Large>();
            all.iter().for_each(|&it| view.get_mut(it).expect("alive").0[0] += 1);
        }),
        ("exclusive view", |world, all| {
            let mut plan = world.claim_plan::<&mut Large>();
            let mut rows = world.plan::<Claimant<'_>>();
            let cell = world.cell();
            let view = cell.claims(&mut plan).expect("free");
            let mut rows = cell.query(&mut rows).expect("free");
            let row = rows.query().into_get(all[0]).expect("alive");
            all.iter().for_each(|&it| view.claim(&row, it).expect("free").get_mut().0[0] += 1);
        }),
        ("get_mut", |world, all| {
            all.iter().for_each(|&it| world.get_mut::<Large>(it).expect("alive").0[0] += 1);
        }),
    ];
    let mut world = World::new();
    let bundles = (0..count).map(|i| (Large([i; 512]), Coarse(i), Lamp(i)));
    let all = world.spawn_batch(bundles);
    let chunk_count = world.archetypes().iter().map(|it| it.chunk_count()).max();
    assert!(chunk_count > Some(8), "{chunk_count:?} chunks are few");
    for (way, write_all) in ways {
        let before = world.version();
        write_all(&mut world, &all);
        for (i, &entity) in (0..).zip(&all) {
            let (is_changed, is_added) = coarsely::<Large>(&mut world, before, entity);
            assert!(is_changed && !is_added, "{way}: entity {i} of {count}");
        }
    }
    world.check().expect("consistent");
}

#[test]
fn random_writes_are_found_whoever_asks_since_when() {
    let (mut world, all) = crowd();
    let mut random = RandomStream::new(3);
    let mut stamps: Vec<u64> =
        world.query::<Ref<'_, Exact>>().map(|exact| exact.last_changed()).collect();
    for round in 0..if cfg!(miri) { 6 } else { 60 } {
        for _ in 0..20 {
            let index = usize::try_from(random.next_u64() % COUNT).expect("small");
            match random.next_u64() % 3 {
                0 => world.get_mut::<Exact>(all[index]).expect("alive").0 += 1,
                1 => world.view::<&mut Exact>().get_mut(all[index]).expect("alive").0 += 1,
                _ => world.insert(all[index], Exact(1)).expect("alive"),
            }
            let mut view = world.view::<Ref<'_, Exact>>();
            stamps[index] = view.get_mut(all[index]).expect("alive").last_changed();
        }
        let oldest = if round % 2 == 0 { world.version() } else { stamps[0] };
        for since in [oldest, oldest.saturating_sub(70), stamps[7], stamps[8] - 1] {
            let expected = all.iter().zip(&stamps).filter(|(_, stamp)| **stamp > since);
            let expected = sorted(expected.map(|(&entity, _)| entity).collect());
            assert!(changed(&mut world, since) == expected, "since {since}");
        }
    }
}
