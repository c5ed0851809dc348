//! Enableable components: what queries and the entities themselves make of one that is switched
//! off. The table is in the documentation of `formic_ecs::enableable`; which test proves which of its
//! cells, and the rest of the tests, are in `enableable_everywhere.rs`.

use formic_ecs::prelude::*;
use formic_ecs::{ComponentError, QueryData, QueryEntityError, QueryFilter};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(enableable)]
struct Fuel(u32);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

#[derive(Component, Clone, Debug, PartialEq)]
struct Number(u32);

/// One entity with its `Fuel` enabled, one with it disabled, one without.
fn three() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let enabled = world.spawn((Number(0), Fuel(10)));
    let disabled = world.spawn((Number(1), Fuel(11)));
    let absent = world.spawn(Number(2));
    assert_eq!(world.set_enabled::<Fuel>(disabled, false), Ok(true));
    (world, [enabled, disabled, absent])
}

/// Which of the three the query visits, asked in every way.
#[track_caller]
fn visited<Q: QueryData, F: QueryFilter>() -> [bool; 3] {
    let (mut world, entities) = three();
    let mut rows = Vec::new();
    world.query_filtered::<(Entity, Q), F>().for_each(|(entity, _)| rows.push(entity));
    let iterated: Vec<_> = world.query_filtered::<(Entity, Q), F>().map(|row| row.0).collect();
    assert_eq!(iterated, rows);
    assert_eq!(world.query_filtered::<Q, F>().count(), rows.len());
    entities.map(|entity| {
        let got = world.query_filtered::<Q, F>().into_get(entity).map(drop);
        let expected = rows.contains(&entity);
        assert_eq!(got, if expected { Ok(()) } else { Err(QueryEntityError::NotMatching(entity)) });
        expected
    })
}

#[test]
fn a_disabled_component_is_still_there_for_has_and_get() {
    let (mut world, entities) = three();
    assert_eq!(entities.map(|entity| world.has::<Fuel>(entity)), [true, true, false]);
    assert_eq!(entities.map(|entity| world.get::<Fuel>(entity).is_ok()), [true, true, false]);
    world.get_mut::<Fuel>(entities[1]).expect("disabled is not gone").0 = 5;
    assert_eq!(world.get(entities[1]), Ok(&Fuel(5)));
    assert_eq!(world.is_enabled::<Fuel>(entities[1]), Ok(false), "a write does not enable");
}

#[test]
fn references_pass_over_disabled_rows() {
    assert_eq!(visited::<&Fuel, ()>(), [true, false, false]);
    assert_eq!(visited::<&mut Fuel, ()>(), [true, false, false]);
    assert_eq!(visited::<(&Number, &mut Fuel), ()>(), [true, false, false]);
}

#[test]
fn options_visit_every_row_and_see_a_disabled_component_as_absent() {
    assert_eq!(visited::<Option<&Fuel>, ()>(), [true, true, true]);
    assert_eq!(visited::<Option<&mut Fuel>, ()>(), [true, true, true]);
    let (mut world, _) = three();
    let seen: Vec<_> =
        world.query::<(&Number, Option<&Fuel>)>().map(|(n, f)| (n.0, f.cloned())).collect();
    assert_eq!(seen, [(0, Some(Fuel(10))), (1, None), (2, None)]);
    for (number, fuel) in world.query::<(&Number, Option<&mut Fuel>)>() {
        assert_eq!(fuel.is_some(), number.0 == 0);
    }
}

#[test]
fn filters_keep_the_cells_of_the_table() {
    assert_eq!(visited::<(), With<Fuel>>(), [true, false, false]);
    assert_eq!(visited::<(), Without<Fuel>>(), [false, true, true]);
    assert_eq!(visited::<(), Present<Fuel>>(), [true, true, false]);
    assert_eq!(visited::<(), Disabled<Fuel>>(), [false, true, false]);
    assert_eq!(visited::<Enabled<Fuel>, ()>(), [true, true, false]);
    assert_eq!(visited::<EnabledMut<Fuel>, ()>(), [true, true, false]);
    assert_eq!(visited::<Option<Enabled<Fuel>>, ()>(), [true, true, true]);
}

#[test]
fn filters_combine_by_and() {
    assert_eq!(visited::<(), (Present<Fuel>, Without<Fuel>)>(), [false, true, false]);
    assert_eq!(visited::<(), (With<Fuel>, Disabled<Fuel>)>(), [false; 3]);
    assert_eq!(visited::<&Fuel, Without<Fuel>>(), [false; 3]);
    assert_eq!(
        visited::<&Number, (With<Number>, (Without<Fuel>, Without<On>))>(),
        [false, true, true]
    );
    assert_eq!(visited::<Option<&Fuel>, Disabled<Fuel>>(), [false, true, false]);
}

#[test]
fn a_component_that_cannot_be_switched_is_always_enabled() {
    assert_eq!(visited::<(), With<Number>>(), [true; 3]);
    assert_eq!(visited::<(), Without<Number>>(), [false; 3]);
    assert_eq!(visited::<(), Disabled<Number>>(), [false; 3]);
    assert_eq!(visited::<(), Present<Number>>(), [true; 3]);
    let (mut world, [entity, ..]) = three();
    assert_eq!(world.is_enabled::<Number>(entity), Ok(true));
    let refused = world.set_enabled::<Number>(entity, false);
    assert!(matches!(refused, Err(ComponentError::NotEnableable { .. })));
    assert_eq!(world.query::<&Number>().count(), 3);
}

#[test]
fn a_bit_of_a_component_that_is_not_there_cannot_be_switched() {
    let (mut world, [.., absent]) = three();
    assert!(matches!(world.set_enabled::<Fuel>(absent, true), Err(ComponentError::Missing(_))));
    assert!(matches!(world.set_enabled::<On>(absent, true), Err(ComponentError::Missing(_))));
    assert!(matches!(world.is_enabled::<Fuel>(absent), Err(ComponentError::Missing(_))));
}

#[test]
fn setting_a_bit_tells_what_it_was() {
    let (mut world, [entity, ..]) = three();
    let mut set = |enabled| world.set_enabled::<Fuel>(entity, enabled).expect("it has one");
    assert_eq!([true, false, false, true, true].map(&mut set), [true, true, false, false, true]);
    world.check().expect("the count of disabled rows follows");
}

#[test]
fn a_new_component_comes_enabled_and_a_replaced_one_keeps_its_bit() {
    let (mut world, [enabled, disabled, absent]) = three();
    for entity in [enabled, disabled, absent] {
        world.insert(entity, Fuel(99)).expect("alive");
        assert_eq!(world.get(entity), Ok(&Fuel(99)));
    }
    let bits = |world: &World| [enabled, disabled, absent].map(|e| world.is_enabled::<Fuel>(e));
    assert_eq!(bits(&world), [Ok(true), Ok(false), Ok(true)]);
    // Replaced in a bundle that makes the row move.
    for entity in [enabled, disabled, absent] {
        world.insert(entity, (On, Fuel(100))).expect("alive");
    }
    assert_eq!(bits(&world), [Ok(true), Ok(false), Ok(true)]);
    world.check().expect("consistent");
}

#[test]
fn bits_go_along_when_the_row_moves() {
    let (mut world, [enabled, disabled, _]) = three();
    for entity in [enabled, disabled] {
        world.insert(entity, On).expect("alive");
        assert_eq!(world.remove::<Number>(entity).map(drop), Ok(()));
    }
    assert_eq!(world.is_enabled::<Fuel>(enabled), Ok(true));
    assert_eq!(world.is_enabled::<Fuel>(disabled), Ok(false));
    assert_eq!(world.is_enabled::<On>(disabled), Ok(true));
    world.check().expect("consistent");
}

#[test]
fn a_component_that_was_removed_while_disabled_comes_back_enabled() {
    let (mut world, [_, disabled, _]) = three();
    assert_eq!(world.remove::<Fuel>(disabled), Ok(Fuel(11)), "disabled is not gone");
    world.insert(disabled, Fuel(12)).expect("alive");
    assert_eq!(world.is_enabled::<Fuel>(disabled), Ok(true));
}

#[test]
fn copies_of_an_entity_have_its_bits() {
    /// More than a word of bits.
    const COPIES: usize = 70;
    let (mut world, entities) = three();
    for prefab in entities {
        for copy in world.instantiate(prefab, COPIES).expect("all can be cloned") {
            assert_eq!(world.is_enabled::<Fuel>(copy).ok(), world.is_enabled::<Fuel>(prefab).ok());
        }
    }
    assert_eq!(world.query::<&Fuel>().count(), 1 + COPIES);
    world.check().expect("consistent");
}

#[test]
fn the_row_that_fills_a_hole_brings_its_bit() {
    let mut world = World::new();
    let all = world.spawn_batch((0..200).map(|i| (Fuel(i), Number(i))));
    for (i, &entity) in all.iter().enumerate().filter(|(i, _)| i % 5 < 2) {
        assert_eq!(world.set_enabled::<Fuel>(entity, false), Ok(true), "{i}");
    }
    for &entity in all.iter().step_by(3) {
        world.despawn(entity).expect("alive");
    }
    for (i, &entity) in all.iter().enumerate().filter(|(i, _)| i % 3 != 0) {
        assert_eq!(world.is_enabled::<Fuel>(entity), Ok(i % 5 >= 2), "{i}");
    }
    world.check().expect("consistent");
}

#[test]
fn a_slot_that_is_used_again_starts_enabled() {
    let (mut world, [_, disabled, _]) = three();
    world.despawn(disabled).expect("alive");
    let again = world.spawn((Number(3), Fuel(3)));
    assert_eq!(world.is_enabled::<Fuel>(again), Ok(true));
    world.set_enabled::<Fuel>(again, false).expect("it has one");
    world.clear();
    let after = world.spawn((Number(4), Fuel(4)));
    assert_eq!(world.is_enabled::<Fuel>(after), Ok(true));
    world.check().expect("consistent");
}

#[test]
fn enabled_and_enabled_mut_read_and_write_the_bit_of_every_row() {
    let (mut world, [enabled, disabled, _]) = three();
    let seen: Vec<_> =
        world.query_ref::<(Entity, Enabled<Fuel>)>().map(|(e, b)| (e, b.get())).collect();
    assert_eq!(seen, [(enabled, true), (disabled, false)]);
    for mut bit in world.query::<EnabledMut<Fuel>>() {
        let was = bit.get();
        assert_eq!(bit.set(!was), was);
        assert_eq!(bit.get(), !was);
    }
    assert_eq!(world.is_enabled::<Fuel>(enabled), Ok(false));
    assert_eq!(world.is_enabled::<Fuel>(disabled), Ok(true));
    world.check().expect("consistent");
}

/// Enough entities for several chunks and words.
const MANY: u32 = if cfg!(miri) { 100 } else { 1000 };

fn many() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..MANY).map(|i| (Number(i), On)));
    (world, all)
}

#[test]
fn a_flip_in_the_chunk_at_hand_does_not_change_what_is_visited_in_it() {
    let (mut world, all) = many();
    let (first_chunk, _) = world.archetypes().last().expect("theirs").chunk_fill(0);
    // While row 0 of each chunk is visited, rows 1.. of the same chunk are switched off.
    let mut visited = 0;
    world.query_filtered::<EnabledMut<On>, With<On>>().chunks(|chunk| {
        let mut rows: Vec<_> = chunk.into_iter().collect();
        rows.iter_mut().for_each(|bit| _ = bit.set(false));
        visited += rows.len();
    });
    assert_eq!(visited, all.len());
    assert_eq!(world.query::<&On>().count(), 0);

    // The other way round: a row of this chunk that is switched on is not visited in this pass.
    world.set_enabled::<On>(all[0], true).expect("it has one");
    let bits: Vec<_> = all[..first_chunk].to_vec();
    let mut plan = world.plan_filtered::<&Number, With<On>>();
    let mut flip = world.view_plan::<EnabledMut<On>>();
    let cell = world.cell();
    let flip = cell.view(&mut flip).expect("bits are never in the way");
    let mut visited = Vec::new();
    for number in cell.query(&mut plan).expect("free").query() {
        visited.push(number.0);
        for &entity in &bits {
            _ = flip.set(entity, true).expect("it has one");
        }
    }
    assert_eq!(visited, [0]);
    drop(flip);
    assert_eq!(world.query::<&On>().count(), first_chunk);
}

#[test]
fn a_flip_in_a_later_chunk_is_seen_when_the_pass_gets_there() {
    let (mut world, all) = many();
    let mut plan = world.plan_filtered::<&Number, With<On>>();
    let mut flip = world.view_plan::<EnabledMut<On>>();
    let (first_chunk, _) = world.archetypes().last().expect("theirs").chunk_fill(0);
    let cell = world.cell();
    let flip = cell.view(&mut flip).expect("bits are never in the way");
    let mut visited = Vec::new();
    for number in cell.query(&mut plan).expect("free").query() {
        if number.0 == 0 {
            all.iter().for_each(|&entity| _ = flip.set(entity, false).expect("it has one"));
            _ = flip.set(all[all.len() - 1], true).expect("it has one");
        }
        visited.push(number.0);
    }
    let expected: Vec<u32> = (0..MANY).take(first_chunk).chain([MANY - 1]).collect();
    assert_eq!(visited, expected);
    drop(flip);
    world.check().expect("consistent");
}

#[test]
fn a_flip_from_a_command_buffer_comes_at_playback() {
    let (mut world, [enabled, disabled, absent]) = three();
    let mut commands = CommandBuffer::new(&world);
    for (entity, _) in world.query::<(Entity, &Fuel)>() {
        commands.set_enabled::<Fuel>(entity, false);
    }
    commands.set_enabled::<Fuel>(disabled, true);
    commands.set_enabled::<Fuel>(absent, true);
    commands.set_enabled::<Number>(enabled, false);
    assert_eq!(world.is_enabled::<Fuel>(enabled), Ok(true));
    let playback = commands.play(&mut world);
    assert_eq!(playback.applied_count(), 2);
    let reasons: Vec<String> = playback.failures().iter().map(ToString::to_string).collect();
    assert!(reasons[0].contains("has no component store::enableable::Fuel"), "{reasons:?}");
    assert!(reasons[1].contains("store::enableable::Number is not enableable"), "{reasons:?}");
    assert_eq!(world.is_enabled::<Fuel>(enabled), Ok(false));
    assert_eq!(world.is_enabled::<Fuel>(disabled), Ok(true));
}

#[test]
fn a_view_and_a_claim_see_what_is_disabled() {
    let (mut world, [enabled, disabled, absent]) = three();
    let mut view = world.view::<&mut Fuel>();
    assert_eq!(view.get_mut(disabled).map(|fuel| fuel.0), Ok(11));
    assert_eq!(view.get_mut(enabled).map(|fuel| fuel.0), Ok(10));
    assert_eq!(view.get_mut(absent).err(), Some(QueryEntityError::NotMatching(absent)));
    drop(view);
    let mut plan = world.claim_plan::<(&mut Fuel, EnabledMut<Fuel>)>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("free");
    let mut rows = cell.query(&mut rows).expect("free");
    let row = rows.query().into_get(absent).expect("alive");
    let mut claim = claims.claim(&row, disabled).expect("disabled is not gone");
    let (fuel, mut bit) = claim.get_mut();
    fuel.0 += 1;
    assert!(!bit.set(true));
    drop(claim);
    drop((claims, rows));
    assert_eq!(world.query_one::<&Fuel>(disabled), Ok(&Fuel(12)));
}

#[test]
fn an_option_in_a_view_sees_what_the_view_sees() {
    let (mut world, entities) = three();
    let view = world.view::<Option<&Fuel>>();
    let seen = entities.map(|entity| view.get(entity).expect("an option always matches").cloned());
    assert_eq!(seen, [Some(Fuel(10)), Some(Fuel(11)), None]);
}

#[test]
fn slices_are_the_runs_of_enabled_rows() {
    let mut world = World::new();
    let all = world.spawn_batch((0..60).map(Fuel));
    for row in [0, 7, 8, 20] {
        world.set_enabled::<Fuel>(all[row], false).expect("it has one");
    }
    let mut visited = Vec::new();
    let mut runs = 0;
    world.query::<(Entity, &mut Fuel)>().for_each_chunk(|(entities, fuels)| {
        assert_eq!(entities.len(), fuels.len());
        runs += 1;
        visited.extend(fuels.iter().map(|fuel| fuel.0));
    });
    let expected: Vec<u32> = (0..60).filter(|row| ![0, 7, 8, 20].contains(row)).collect();
    assert_eq!(visited, expected);
    assert!(runs >= 3);
}

#[test]
fn the_bits_of_two_components_of_one_row_are_two_bits() {
    let mut world = World::new();
    let all = world.spawn_batch((0..300).map(|i| (Fuel(i), On)));
    for (i, &entity) in all.iter().enumerate() {
        world.set_enabled::<Fuel>(entity, i % 2 == 0).expect("it has one");
        world.set_enabled::<On>(entity, i % 3 == 0).expect("it has one");
    }
    assert_eq!(world.query::<(&Fuel, &On)>().count(), 50);
    assert_eq!(world.query_filtered::<&Fuel, Without<On>>().count(), 100);
    assert_eq!(world.query_filtered::<(), (Disabled<Fuel>, Disabled<On>)>().count(), 100);
    world.check().expect("consistent");
}

#[test]
fn bits_flipped_by_a_view_of_the_world_itself_are_counted_as_any_others() {
    let mut world = World::new();
    let all = world.spawn_batch((0..100).map(|i| (Number(i), On)));
    let mut bits = world.view::<EnabledMut<On>>();
    for (index, &entity) in all.iter().enumerate() {
        assert_eq!(bits.set_mut(entity, index % 3 == 0), Ok(true));
        assert_eq!(bits.set_mut(entity, index % 3 == 0), Ok(index % 3 == 0));
    }
    drop(bits);
    world.check().expect("every bit is counted");
    assert_eq!(world.query_filtered::<Entity, With<On>>().count(), 34);
    let mut plan = world.view_plan::<EnabledMut<On>>();
    let cell = world.cell();
    let mut bits = cell.view(&mut plan).expect("nobody else uses them");
    assert_eq!(bits.set_mut(all[1], true), Ok(false));
    drop(bits);
    world.check().expect("also through a cell");
}
