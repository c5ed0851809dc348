//! Enableable components beside plain queries: the cells of the table in `formic_ecs::enableable`
//! that go through other parts of the crate. Which test proves which cell:
//!
//! | cell | test (here, where no file is named) |
//! |---|---|
//! | `has`, `get`, `get_mut` | `enableable.rs`: `a_disabled_component_is_still_there_for_has_and_get` |
//! | views, claims | `enableable.rs`: `a_view_and_a_claim_see_what_is_disabled`, `an_option_in_a_view_sees_what_the_view_sees` |
//! | `&T`, `&mut T` | `enableable.rs`: `references_pass_over_disabled_rows`, `slices_are_the_runs_of_enabled_rows` |
//! | `Ref`, `Mut` | `ref_and_mut_pass_over_disabled_rows` |
//! | `Option` | `enableable.rs`: `options_visit_every_row_and_see_a_disabled_component_as_absent` |
//! | `With`, `Without`, `Present`, `Disabled`, `Enabled`, `EnabledMut` | `enableable.rs`: `filters_keep_the_cells_of_the_table`, `filters_combine_by_and`, `enabled_and_enabled_mut_read_and_write_the_bit_of_every_row` |
//! | `Present<&T>`, `Present<&mut T>` | `present_hands_out_the_value_whatever_the_bit_says` |
//! | `Or`, `Not` | `or_and_not_go_by_what_their_filters_say` |
//! | `Changed`, `Added` | `changed_and_added_pass_over_disabled_rows`; `change_detection.rs`: `a_disabled_component_has_not_changed_and_was_not_added` |
//! | queries by id | `queries_by_id_keep_the_cells_of_the_table` |
//! | `insert` | `enableable.rs`: `a_new_component_comes_enabled_and_a_replaced_one_keeps_its_bit` |
//! | by id | `dynamic.rs`: `switching_by_id_follows_the_table_of_semantics` |
//! | in bulk | `a_bulk_insertion_keeps_the_bits_it_meets`, `a_bulk_removal_takes_what_is_disabled` |
//! | by command | `commands_keep_the_bit_of_what_they_replace`, `commands_on_one_entity_leave_its_bits_as_changes_of_the_world_do` |
//! | `remove` | `enableable.rs`: `a_component_that_was_removed_while_disabled_comes_back_enabled` |
//! | a structural change beside it | `enableable.rs`: `bits_go_along_when_the_row_moves`, `the_row_that_fills_a_hole_brings_its_bit` |
//! | `despawn` | `despawn_drops_a_disabled_value_once`; `enableable.rs`: `a_slot_that_is_used_again_starts_enabled` |
//! | `instantiate` | `enableable.rs`: `copies_of_an_entity_have_its_bits` |
//! | snapshot, state hash | `a_snapshot_brings_back_the_bits`; `state_hash.rs` |
//! | versions, hooks and observers | `a_flip_stamps_nothing_and_tells_nobody` |
//! | flip in this chunk, in a later one | `enableable.rs`: `a_flip_in_the_chunk_at_hand_does_not_change_what_is_visited_in_it`, `a_flip_in_a_later_chunk_is_seen_when_the_pass_gets_there` |
//! | flip during a parallel loop | `a_flip_during_a_parallel_loop_is_seen_by_the_next_pass` |
//! | flip from a command buffer | `enableable.rs`: `a_flip_from_a_command_buffer_comes_at_playback` |
//! | flip of a whole query | `a_flip_in_bulk_sees_the_bits_as_they_were` |
//! | not enableable | `enableable.rs`: `a_component_that_cannot_be_switched_is_always_enabled` |

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use formic_ecs::prelude::*;
use formic_ecs::{DynamicQuery, EventKind, ParallelScratch, QueryData, QueryFilter};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::NoUninit, bytemuck::AnyBitPattern)]
#[component(enableable, name = "tests.fuel")]
#[repr(C)]
struct Fuel(u32);

/// As `Fuel`, with versions per row.
#[derive(Component, Clone, Debug, PartialEq)]
#[component(enableable, tracked)]
struct Lamp(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::NoUninit, bytemuck::AnyBitPattern)]
#[component(name = "tests.number")]
#[repr(C)]
struct Number(u32);

#[derive(Component, Clone)]
struct Tag;

/// One entity with its components enabled, one with them disabled, one without.
fn three() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let enabled = world.spawn((Number(0), Fuel(10), Lamp(20)));
    let disabled = world.spawn((Number(1), Fuel(11), Lamp(21)));
    let absent = world.spawn(Number(2));
    world.set_enabled::<Fuel>(disabled, false).expect("it has one");
    world.set_enabled::<Lamp>(disabled, false).expect("it has one");
    (world, [enabled, disabled, absent])
}

/// Which of the three a query visits.
fn visited<Q: QueryData, F: QueryFilter>() -> [bool; 3] {
    let (mut world, entities) = three();
    let rows: Vec<Entity> = world.query_filtered::<(Entity, Q), F>().map(|row| row.0).collect();
    entities.map(|entity| rows.contains(&entity))
}

fn bits<T: Component>(world: &World, entities: [Entity; 3]) -> [Option<bool>; 3] {
    entities.map(|entity| world.is_enabled::<T>(entity).ok())
}

#[test]
fn ref_and_mut_pass_over_disabled_rows() {
    assert_eq!(visited::<Ref<'_, Fuel>, ()>(), [true, false, false]);
    assert_eq!(visited::<Mut<'_, Fuel>, ()>(), [true, false, false]);
    assert_eq!(visited::<Ref<'_, Lamp>, ()>(), [true, false, false]);
    assert_eq!(visited::<Mut<'_, Lamp>, ()>(), [true, false, false]);
}

#[test]
fn present_hands_out_the_value_whatever_the_bit_says() {
    let (mut world, entities) = three();
    let seen: Vec<Fuel> = world.query::<Present<&Fuel>>().map(|fuel| *fuel).collect();
    assert_eq!(seen, [Fuel(10), Fuel(11)]);
    world.query::<Present<&mut Fuel>>().for_each(|fuel| fuel.0 += 5);
    assert_eq!(
        entities.map(|e| world.get(e).ok().copied()),
        [Some(Fuel(15)), Some(Fuel(16)), None]
    );
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true), Some(false), None], "no bit moved");
    assert_eq!(visited::<Option<Present<&Fuel>>, ()>(), [true; 3]);
    assert_eq!(visited::<Present<&Fuel>, Disabled<Fuel>>(), [false, true, false]);
}

#[test]
fn or_and_not_go_by_what_their_filters_say() {
    assert_eq!(visited::<(), Not<With<Fuel>>>(), [false, true, true]);
    assert_eq!(visited::<(), Not<Without<Fuel>>>(), [true, false, false]);
    assert_eq!(visited::<(), Not<Present<Fuel>>>(), [false, false, true]);
    assert_eq!(visited::<(), Not<Disabled<Fuel>>>(), [true, false, true]);
    assert_eq!(visited::<(), Or<(With<Fuel>, Disabled<Fuel>)>>(), [true, true, false]);
    assert_eq!(visited::<(), Or<(With<Fuel>, Without<Fuel>)>>(), [true; 3]);
    assert_eq!(visited::<(), Or<(With<Fuel>, Not<Present<Fuel>>)>>(), [true, false, true]);
    assert_eq!(visited::<(), Not<Or<(Disabled<Fuel>, Without<Lamp>)>>>(), [true, false, false]);
}

#[test]
fn changed_and_added_pass_over_disabled_rows() {
    assert_eq!(visited::<(), Changed<Fuel>>(), [true, false, false], "by chunks");
    assert_eq!(visited::<(), Added<Fuel>>(), [true, false, false]);
    assert_eq!(visited::<(), Changed<Lamp>>(), [true, false, false], "by rows");
    assert_eq!(visited::<(), Added<Lamp>>(), [true, false, false]);
    assert_eq!(visited::<(), (Present<Lamp>, Not<Changed<Lamp>>)>(), [false, true, false]);
    assert_eq!(visited::<Present<&Lamp>, Changed<Lamp>>(), [true, false, false]);
}

#[test]
fn queries_by_id_keep_the_cells_of_the_table() {
    let (mut world, entities) = three();
    let fuel = world.component_id::<Fuel>().expect("known");
    let builder = DynamicQuery::builder;
    let cases = [
        (builder().read(fuel), [true, false, false]),
        (builder().write(fuel), [true, false, false]),
        (builder().optional(fuel), [true, true, true]),
        (builder().with(fuel), [true, false, false]),
        (builder().without(fuel), [false, true, true]),
        (builder().present(fuel), [true, true, false]),
        (builder().disabled(fuel), [false, true, false]),
        (builder().changed(fuel), [true, false, false]),
        (builder().added(fuel), [true, false, false]),
    ];
    for (number, (builder, expected)) in cases.into_iter().enumerate() {
        let mut query = builder.build(&world).expect("no contradiction");
        let mut rows = Vec::new();
        world.query_by_id(&mut query).expect("ours").for_each(|row| rows.push(row.entity()));
        assert_eq!(entities.map(|entity| rows.contains(&entity)), expected, "case {number}");
    }
}

#[test]
fn a_bulk_insertion_keeps_the_bits_it_meets() {
    let (mut world, entities) = three();
    assert_eq!(world.bulk::<()>().insert(Fuel(7)), 3);
    assert_eq!(entities.map(|e| world.get(e).copied()), [Ok(Fuel(7)); 3]);
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true), Some(false), Some(true)]);
    // With a row that moves for another component.
    assert_eq!(world.bulk::<Present<Lamp>>().insert((Tag, Fuel(8))), 2);
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true), Some(false), Some(true)]);
    assert_eq!(bits::<Lamp>(&world, entities), [Some(true), Some(false), None]);
    world.check().expect("consistent");
}

#[test]
fn a_bulk_removal_takes_what_is_disabled() {
    let (mut world, entities) = three();
    assert_eq!(world.bulk::<()>().remove::<Fuel>(), 2);
    assert_eq!(bits::<Fuel>(&world, entities), [None; 3]);
    assert_eq!(bits::<Lamp>(&world, entities), [Some(true), Some(false), None], "it goes along");
    world.check().expect("consistent");
}

#[test]
fn a_flip_in_bulk_sees_the_bits_as_they_were() {
    let (mut world, entities) = three();
    assert_eq!(world.bulk::<With<Fuel>>().set_enabled::<Fuel>(false), 1);
    assert_eq!(bits::<Fuel>(&world, entities), [Some(false), Some(false), None]);
    assert_eq!(world.bulk::<Disabled<Fuel>>().set_enabled::<Fuel>(true), 2);
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true), Some(true), None]);
    assert_eq!(bits::<Lamp>(&world, entities), [Some(true), Some(false), None], "another bit");
    world.check().expect("consistent");
}

#[test]
fn commands_keep_the_bit_of_what_they_replace() {
    let (mut world, entities) = three();
    let mut commands = CommandBuffer::new(&world);
    entities.iter().for_each(|&entity| commands.insert(entity, Fuel(7)));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true), Some(false), Some(true)]);
    entities.iter().for_each(|&entity| commands.remove::<Fuel>(entity));
    entities.iter().for_each(|&entity| commands.insert(entity, Fuel(8)));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true); 3], "what comes again is enabled");
    world.check().expect("consistent");
}

#[test]
fn commands_on_one_entity_leave_its_bits_as_changes_of_the_world_do() {
    let (mut world, entities) = three();
    let mut commands = CommandBuffer::new(&world);
    // Side by side for each entity.
    for &entity in &entities {
        commands.insert(entity, (Tag, Fuel(7)));
        commands.set_enabled::<Fuel>(entity, entity == entities[2]);
        commands.insert(entity, Fuel(8));
        commands.insert(entity, Lamp(9));
    }
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(bits::<Fuel>(&world, entities), [Some(false), Some(false), Some(true)]);
    assert_eq!(bits::<Lamp>(&world, entities), [Some(true), Some(false), Some(true)]);
    for &entity in &entities {
        commands.set_enabled::<Fuel>(entity, false);
        commands.remove::<Fuel>(entity);
        commands.insert(entity, Fuel(10));
    }
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(bits::<Fuel>(&world, entities), [Some(true); 3], "what comes again is enabled");
    world.check().expect("consistent");
}

#[test]
fn despawn_drops_a_disabled_value_once() {
    #[derive(Component)]
    #[component(enableable, unhashed)]
    struct Counted(Arc<AtomicU32>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let drops = Arc::new(AtomicU32::new(0));
    let mut world = World::new();
    let [by_hand, by_command, in_bulk] = [(); 3].map(|()| world.spawn(Counted(drops.clone())));
    for entity in [by_hand, by_command, in_bulk] {
        world.set_enabled::<Counted>(entity, false).expect("it has one");
    }
    world.despawn(by_hand).expect("alive");
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    let mut commands = CommandBuffer::new(&world);
    commands.despawn(by_command);
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    assert_eq!(world.bulk::<With<Counted>>().despawn(), 0, "a filter passes over it");
    assert_eq!(world.bulk::<Disabled<Counted>>().despawn(), 1);
    assert_eq!(drops.load(Ordering::Relaxed), 3);
    world.check().expect("consistent");
}

#[test]
fn a_snapshot_brings_back_the_bits() {
    const COUNT: u32 = 150;
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT).map(|i| (Fuel(i), Number(i))));
    for &entity in all.iter().step_by(3) {
        world.set_enabled::<Fuel>(entity, false).expect("it has one");
    }
    let saved = world.snapshot().expect("all can be saved");
    for &entity in &all {
        world.set_enabled::<Fuel>(entity, false).expect("it has one");
    }
    world.restore(&saved).expect("its own");
    for (i, &entity) in all.iter().enumerate() {
        assert_eq!(world.is_enabled::<Fuel>(entity), Ok(i % 3 != 0), "{i}");
    }
    assert_eq!(world.query_filtered::<(), Disabled<Fuel>>().count(), all.len() / 3);
    world.check().expect("the counts of disabled rows came along");
}

#[test]
fn a_flip_stamps_nothing_and_tells_nobody() {
    let (mut world, [entity, ..]) = three();
    let told = Arc::new(AtomicU32::new(0));
    let count = || {
        let told = told.clone();
        move |_: &mut World, _: formic_ecs::Event| _ = told.fetch_add(1, Ordering::Relaxed)
    };
    world.hooks().observe::<Lamp>(EventKind::Add, count());
    world.hooks().observe::<Lamp>(EventKind::Insert, count());
    world.hooks().observe::<Lamp>(EventKind::Replace, count());
    world.hooks().observe::<Lamp>(EventKind::Remove, count());
    let before = world.version();
    for enabled in [false, true, false, true] {
        world.set_enabled::<Lamp>(entity, enabled).expect("it has one");
    }
    assert_eq!(world.version(), before);
    world.bulk::<()>().set_enabled::<Lamp>(true);
    world.query::<EnabledMut<Lamp>>().for_each(|mut bit| _ = bit.set(true));
    let mut commands = CommandBuffer::new(&world);
    commands.set_enabled::<Lamp>(entity, true);
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    assert_eq!(told.load(Ordering::Relaxed), 0);
    assert_eq!(world.query_filtered::<(), Changed<Lamp>>().since(before).count(), 0);
    assert_eq!(world.query_filtered::<(), Added<Lamp>>().since(before).count(), 0);
    world.insert(entity, Lamp(1)).expect("alive");
    assert!(told.load(Ordering::Relaxed) > 0, "the observers are there");
    assert_eq!(world.query_filtered::<(), Changed<Lamp>>().since(before).count(), 1);
}

#[test]
fn a_flip_during_a_parallel_loop_is_seen_by_the_next_pass() {
    /// Enough for several chunks.
    const MANY: u32 = if cfg!(miri) { 100 } else { 1000 };
    let mut world = World::new();
    let all = world.spawn_batch((0..MANY).map(|i| (Number(i), Fuel(i))));
    for &entity in all.iter().step_by(2) {
        world.set_enabled::<Fuel>(entity, false).expect("it has one");
    }
    let mut plan = world.plan_filtered::<&Number, With<Fuel>>();
    let mut flip = world.view_plan::<EnabledMut<Fuel>>();
    let cell = world.cell();
    let flip = cell.view(&mut flip).expect("bits are never in the way");
    let mut query = cell.query(&mut plan).expect("free");
    let mut scratch = ParallelScratch::default();
    let mut rows = query.query();
    let chunks = rows.parallel(&mut scratch);
    assert!(chunks.len() > 1, "there is a chunk that comes later");
    let mut visited = Vec::new();
    for index in 0..chunks.len() {
        if index == 0 {
            // What was off is on, and the other way round, in this chunk and in those to come.
            for (i, &entity) in all.iter().enumerate() {
                flip.set(entity, i % 2 == 0).expect("it has one");
            }
        }
        chunks.take(index).expect("nobody else takes any").for_each(|n| visited.push(n.0));
    }
    visited.sort_unstable();
    assert!(visited.into_iter().eq((0..MANY).filter(|i| i % 2 == 1)), "as it was cut");
    drop((flip, query));
    let next: Vec<u32> = world.query_filtered::<&Number, With<Fuel>>().map(|n| n.0).collect();
    assert!(next.into_iter().eq((0..MANY).filter(|i| i % 2 == 0)));
    world.check().expect("consistent");
}
