//! Filters that combine, data that ignores bits, and rows that are asked for by name or together.

use std::panic::{AssertUnwindSafe, catch_unwind};

use formic_ecs::prelude::*;
use formic_ecs::{NoSuchEntity, QueryData, QueryEntityError, QuerySingleError};

#[derive(Component, Debug, PartialEq)]
struct A(u64);
#[derive(Component, Debug, PartialEq)]
#[component(tracked)]
struct B(u64);
#[derive(Component, Debug, PartialEq)]
#[component(enableable)]
struct Lamp(u64);
#[derive(Component)]
#[component(enableable)]
struct Bell;

/// A hundred of each of four kinds; every third lamp and every fourth bell is switched off.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = world.spawn_batch((0..100).map(|i| (A(i),)));
    all.extend(world.spawn_batch((100..200).map(|i| (A(i), Lamp(i)))));
    all.extend(world.spawn_batch((200..300).map(|i| (A(i), Bell, B(i)))));
    all.extend(world.spawn_batch((300..400).map(|i| (A(i), Lamp(i), Bell, B(i)))));
    for (index, &entity) in all.iter().enumerate() {
        if index % 3 == 0 {
            _ = world.set_enabled::<Lamp>(entity, false);
        }
        if index % 4 == 0 {
            _ = world.set_enabled::<Bell>(entity, false);
        }
    }
    (world, all)
}

/// Whether the lamp, and the bell, of the entity with this number is there and on.
fn lamp(index: u64) -> bool {
    (index / 100 == 1 || index / 100 == 3) && index % 3 != 0
}

fn bell(index: u64) -> bool {
    index / 100 >= 2 && index % 4 != 0
}

macro_rules! check {
    ($filter:ty, $expected:expr) => {{
        let (mut world, all) = world();
        let expected: fn(u64) -> bool = $expected;
        let numbers: Vec<u64> = (0..400).filter(|&index| expected(index)).collect();
        let mut query = world.query_filtered::<(Entity, &A), $filter>();
        let found: Vec<u64> = query.iter().map(|(_, a)| a.0).collect();
        assert_eq!(found, numbers);
        assert_eq!(query.count(), numbers.len());
        for (index, &entity) in (0..).zip(&all) {
            assert_eq!(query.contains(entity), expected(index), "{index}");
            assert_eq!(query.get(entity).is_ok(), expected(index), "{index}");
        }
        let mut walked = Vec::new();
        query.for_each(|(_, a)| walked.push(a.0));
        assert_eq!(walked, numbers);
    }};
}

#[test]
fn one_of_several_filters_is_enough() {
    check!(Or<(With<Lamp>, With<Bell>)>, |i| lamp(i) || bell(i));
    check!(Or<(With<Lamp>,)>, lamp);
    check!(Or<(Disabled<Lamp>, With<Bell>)>, |i| (i / 100 % 2 == 1 && i % 3 == 0) || bell(i));
    check!(Or<(Without<Lamp>, Without<Bell>)>, |i| !lamp(i) || !bell(i));
    check!(Or<(Present<Bell>, ())>, |_| true);
}

#[test]
fn filters_nest() {
    check!((With<Lamp>, Or<(With<Bell>, Without<B>)>), |i| lamp(i) && (bell(i) || i < 200));
    check!(Or<((With<Lamp>, With<Bell>), (Without<Lamp>, Without<Bell>))>, |i| lamp(i) == bell(i));
    check!(((With<Lamp>,), ((Without<Bell>,),)), |i| lamp(i) && !bell(i));
    check!(Or<(Or<(With<Lamp>, With<Bell>)>, With<B>)>, |i| lamp(i) || bell(i) || i >= 200);
}

#[test]
fn what_a_filter_passes_over_its_negation_finds() {
    check!(Not<With<Lamp>>, |i| !lamp(i));
    check!(Not<Without<Lamp>>, lamp);
    check!(Not<Disabled<Lamp>>, |i| i / 100 % 2 == 0 || i % 3 != 0);
    check!(Not<Not<With<Bell>>>, bell);
    check!(Not<Or<(With<Lamp>, With<Bell>)>>, |i| !lamp(i) && !bell(i));
    check!(Not<(With<Lamp>, With<Bell>)>, |i| !(lamp(i) && bell(i)));
    check!(Not<()>, |_| false);
    check!((With<Bell>, Not<With<B>>), |_| false);
}

#[test]
fn changed_and_added_take_part_in_logic() {
    let (mut world, all) = world();
    let before = world.version();
    world.get_mut::<B>(all[205]).expect("it has one").0 = 0;
    world.insert(all[7], B(7)).expect("alive");
    let found = |world: &mut World| -> (usize, usize, usize) {
        let or = world.query_filtered::<(), Or<(Changed<B>, With<Lamp>)>>().since(before).count();
        let not = world.query_filtered::<&B, Not<Changed<B>>>().since(before).count();
        let added = world.query_filtered::<&B, (Changed<B>, Not<Added<B>>)>().since(before);
        (or, not, added.count())
    };
    let lamps = (0..400).filter(|&index| lamp(index)).count();
    assert_eq!(found(&mut world), (lamps + 2, 199, 1));
}

#[test]
fn present_data_hands_out_what_is_switched_off() {
    let (mut world, all) = world();
    assert_eq!(world.query::<Present<&Lamp>>().count(), 200);
    let sum: u64 = world.query::<Present<&Lamp>>().map(|lamp| lamp.0).sum();
    assert_eq!(sum, (100..200).chain(300..400).sum());
    let both = world.query::<(&A, Option<&Lamp>, Option<Present<&Lamp>>)>();
    let (on, there) = both
        .map(|(_, on, there)| (on.is_some(), there.is_some()))
        .fold((0, 0), |(on, there), (is_on, is_there)| {
            (on + u32::from(is_on), there + u32::from(is_there))
        });
    assert_eq!((on, there), (133, 200));
    world.query::<Present<&mut Lamp>>().for_each_chunk(|lamps| {
        lamps.iter_mut().for_each(|lamp| lamp.0 = 1);
    });
    assert_eq!(world.get::<Lamp>(all[102]), Ok(&Lamp(1)), "which is switched off");
    assert_eq!(world.query::<Present<(&Lamp, &Bell)>>().count(), 100);
    assert_eq!(world.query::<(Present<&Lamp>, &Bell)>().count(), 75);
    assert_eq!(world.query_filtered::<Present<&Lamp>, Disabled<Lamp>>().count(), 67);
}

fn refusal(make: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(make)).err()?;
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

/// Whether a plan for this data is refused. What is asked for twice is found in the list of what
/// the data touches, which every way to a query asks for; [`by_all_ways`] sees that each does.
fn is_refused<Q: QueryData>() -> bool {
    World::new().plan::<Q>().access().clash().is_some()
}

fn by_all_ways<Q: QueryData>() -> [bool; 4] {
    let by_query = refusal(|| _ = world().0.query::<Q>().count());
    let by_plan = refusal(|| {
        let mut world = world().0;
        let mut plan = world.plan::<Q>();
        drop(world.cell().query(&mut plan));
    });
    let by_view = refusal(|| drop(world().0.view::<Q>()));
    let by_claims = refusal(|| {
        let mut world = world().0;
        let mut plan = world.claim_plan::<Q>();
        drop(world.cell().claims(&mut plan));
    });
    [by_query, by_plan, by_view, by_claims].map(|it| it.is_some_and(|it| it.contains("twice")))
}

#[test]
fn bits_that_are_handed_out_are_uses_whatever_wraps_them() {
    let mut world = World::new();
    let switches = world.plan::<EnabledMut<Lamp>>().access().clone();
    macro_rules! conflicts {
        ($($reads:ty),*) => { [$(world.plan::<$reads>().access().conflicts(&switches).len()),*] };
    }
    assert_eq!(
        conflicts!(Enabled<Lamp>, Present<Enabled<Lamp>>, Present<(&A, Enabled<Lamp>)>, &Lamp),
        [1; 4]
    );
    assert_eq!(conflicts!(Present<&Lamp>, Present<(&A, &Lamp)>, Present<Option<&Lamp>>), [0; 3]);
}

#[test]
fn whatever_wraps_it_a_component_is_not_asked_for_twice_if_once_to_write() {
    macro_rules! each {
        ($($write:ty),*; $all:tt) => { $(each!(@ $write; $all);)* };
        (@ $write:ty; ($($other:ty),*)) => {
            $(
                assert!(is_refused::<($write, $other)>());
                assert!(is_refused::<($other, $write)>());
                assert!(is_refused::<($other, (Entity, ($write,)))>());
            )*
        };
    }
    each!(
        &mut B, Option<&mut B>, Present<&mut B>, Mut<'_, B>, Option<Mut<'_, B>>,
        Present<Option<Mut<'_, B>>>, (&A, &mut B), Present<(&A, &mut B)>;
        (&B, &mut B, Option<&B>, Present<&B>, Ref<'_, B>, Mut<'_, B>, Option<Present<Ref<'_, B>>>,
        (&Lamp, Present<&mut B>))
    );
    assert_eq!(by_all_ways::<(&B, &mut B)>(), [true; 4]);
    assert_eq!(by_all_ways::<(Present<Option<Mut<'_, B>>>, (Entity, (&B,)))>(), [true; 4]);
    assert_eq!(by_all_ways::<(&B, Ref<'_, B>, Option<&B>, Present<&B>, &mut A)>(), [false; 4]);
    type Bits<'a> = (&'a mut B, Enabled<Lamp>, EnabledMut<Lamp>, Present<&'a mut Lamp>);
    assert_eq!(by_all_ways::<Bits<'_>>(), [false; 4]);
}

#[test]
fn a_filter_of_versions_goes_with_a_writer_and_a_cell_allows_it() {
    let (mut world, _) = world();
    let mut changed = world.plan_filtered::<(Entity, &mut B), Changed<B>>();
    let mut asking = world.plan_filtered::<Entity, Changed<B>>();
    let cell = world.cell();
    let writing = cell.query(&mut changed).expect("no contradiction");
    assert_eq!(cell.query(&mut asking).expect("it looks at versions only").count(), 200);
    drop(writing);
}

#[test]
fn several_entities_are_handed_out_at_once() {
    let (mut world, all) = world();
    let mut query = world.query::<(&A, &mut B)>();
    let [(first, _), (_, second), (_, third)] =
        query.get_many_mut([all[399], all[200], all[300]]).expect("different, and they match");
    assert_eq!((first.0, second.0, third.0), (399, 200, 300));
    std::mem::swap(second, third);
    assert_eq!(query.get_many_mut::<0>([]).map(|none| none.len()), Ok(0));
    assert_eq!(world.get::<B>(all[200]), Ok(&B(300)));
    let mut view = world.view::<&mut B>();
    let [one, two] = view.get_many_mut([all[201], all[200]]).expect("different");
    std::mem::swap(one, two);
    drop(view);
    assert_eq!(world.get::<B>(all[201]), Ok(&B(300)));
}

#[test]
fn of_several_entities_one_bad_one_spoils_all_and_nothing_counts_as_written() {
    let (mut world, all) = world();
    let gone = all[350];
    world.despawn(gone).expect("alive");
    let before = world.version();
    let cases = [
        ([all[200], all[201], all[200]], QueryEntityError::Repeated(all[200])),
        ([all[200], gone, all[201]], QueryEntityError::NoSuchEntity(NoSuchEntity(gone))),
        ([all[200], all[201], all[0]], QueryEntityError::NotMatching(all[0])),
    ];
    for (entities, expected) in cases {
        let error = world.query::<&mut B>().get_many_mut(entities).expect_err("one is bad");
        assert_eq!(error, expected);
        let error = world.view::<&mut B>().get_many_mut(entities).expect_err("one is bad");
        assert_eq!(error, expected);
        assert!(!expected.to_string().is_empty());
    }
    assert_eq!(world.query_filtered::<(), Changed<B>>().since(before).count(), 0);
    // A switched off component does not match a query; a view does not mind.
    let dark = all[102];
    let error = world.query::<&mut Lamp>().get_many_mut([dark]).expect_err("switched off");
    assert_eq!(error, QueryEntityError::NotMatching(dark));
    assert!(world.view::<&mut Lamp>().get_many_mut([dark]).is_ok());
    assert!(world.view::<&Lamp>().contains(dark) && !world.view::<&Lamp>().contains(gone));
}

#[test]
fn a_reading_query_is_asked_for_many_entities_any_number_of_times() {
    let (mut world, all) = world();
    let query = world.query::<&B>();
    let wanted = [all[200], all[0], all[399], all[200]];
    let found: Vec<&B> = query.iter_many(wanted).collect();
    assert_eq!(found, [&B(200), &B(399), &B(200)]);
    assert_eq!(query.iter().count(), 200);
    assert_eq!((&query).into_iter().map(|b| b.0).sum::<u64>(), (200..400).sum());
}

#[test]
fn first_and_single_say_what_there_is() {
    let (mut world, all) = world();
    assert_eq!(world.query::<&Lamp>().first(), Some(&Lamp(100)));
    assert_eq!(world.query_filtered::<&A, (With<Lamp>, With<B>, Not<()>)>().first(), None);
    let error = world.query::<&Lamp>().single().expect_err("there are many");
    assert_eq!(error, QuerySingleError::SeveralRows);
    assert!(!error.to_string().is_empty());
    let before = world.version();
    assert!(world.query::<&mut B>().single().is_err());
    assert_eq!(world.query_filtered::<(), Changed<B>>().since(before).count(), 0);
    world.get_mut::<B>(all[300]).expect("it has one").0 = 5;
    let single = world.query_filtered::<&B, Changed<B>>().since(before).single();
    assert_eq!(single, Ok(&B(5)));
}

#[test]
fn a_panic_among_rows_leaves_the_world_in_order() {
    let (mut world, all) = world();
    let panics = |f: &mut dyn FnMut()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    panics(&mut || {
        let wanted = [200_usize, 201, 1000].map(|index| (index, &all));
        let query = world.query::<&B>();
        assert!(query.iter_many(wanted.into_iter().map(|(index, all)| all[index])).count() < 9);
    });
    world.check().expect("consistent");
    assert_eq!(world.query::<&mut B>().count(), 200);
}

#[test]
fn an_entity_that_does_not_match_is_told_apart_from_one_that_is_gone() {
    let (mut world, all) = world();
    world.despawn(all[399]).expect("alive");
    let mut query = world.query::<&B>();
    assert_eq!(query.get(all[0]), Err(QueryEntityError::NotMatching(all[0])));
    let gone = Err(QueryEntityError::NoSuchEntity(NoSuchEntity(all[399])));
    assert_eq!(query.get(all[399]), gone);
    assert!(query.contains(all[398]) && !query.contains(all[399]));
}
