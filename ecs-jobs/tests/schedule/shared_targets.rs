//! Rows that write to entities which they share: the wrong way is an error every time, and with
//! `Scatter` the result is the same on any number of threads.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::ClaimError;
use formic_jobs::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NURSES: u32 = if cfg!(miri) { 200 } else { 20_000 };
const TICKS: u32 = 20;

#[derive(Component)]
struct Feeds(Entity);
#[derive(Component)]
struct Strength(u64);
/// How many meals, and a value that depends on their order.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Stomach {
    meals: u64,
    taste: u64,
    sum: f64,
}

impl Stomach {
    fn eat(&mut self, strength: u64) {
        self.meals += 1;
        self.taste = self.taste.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(strength);
        self.sum += 1.0 / (1.0 + self.sum + strength as f64);
    }
}

/// Eight larvae, and nurses of which each feeds one.
fn nest() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let larvae = world.spawn_batch((0..8).map(|_| Stomach::default()));
    let nurses = (0..NURSES).map(|i| (Feeds(larvae[i as usize * 7 % 8]), Strength(i.into())));
    world.spawn_batch(nurses);
    (world, larvae)
}

/// The message of a panic.
fn complaint(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => String::from(*payload.downcast::<&str>().expect("a message")),
    }
}

#[test]
fn effects_on_shared_targets_are_all_applied_in_the_order_of_the_rows() {
    fn feed(
        mut nurses: Query<(&Feeds, &Strength)>,
        mut meals: Scatter<u64>,
        mut stomachs: ComponentLookup<&mut Stomach>,
    ) {
        nurses.par_for_each_with(&mut meals, |(feeds, strength), meals| {
            meals.push(feeds.0, strength.0);
        });
        assert_eq!(meals.len(), NURSES as usize);
        assert_eq!(meals.apply(&mut stomachs, |stomach, meal| stomach.eat(*meal)), 0);
        assert!(meals.is_empty());
    }
    // The same by one thread, row by row.
    let (mut world, larvae) = nest();
    let fed: Vec<_> = world.query::<(&Feeds, &Strength)>().map(|(f, s)| (f.0, s.0)).collect();
    for _ in 0..TICKS {
        let mut stomachs = world.view::<&mut Stomach>();
        fed.iter().for_each(|&(larva, meal)| stomachs.get_mut(larva).unwrap().eat(meal));
    }
    let expected: Vec<_> = larvae.iter().map(|&it| *world.get::<Stomach>(it).unwrap()).collect();
    let total: u64 = expected.iter().map(|stomach| stomach.meals).sum();
    assert_eq!(total, u64::from(NURSES * TICKS));
    for pool in pools() {
        let (mut world, larvae) = nest();
        let mut schedule = Schedule::builder().add(feed).build(&mut world).unwrap();
        (0..TICKS).for_each(|_| drop(schedule.run(&mut world, &pool)));
        for (&larva, expected) in larvae.iter().zip(&expected) {
            assert_eq!(world.get(larva), Ok(expected), "{} threads", pool.parallelism());
        }
    }
}

#[test]
fn effects_of_two_loops_and_those_around_them_come_one_after_the_other() {
    fn feed(
        mut nurses: Query<(&Feeds, &Strength)>,
        mut meals: Scatter<u64>,
        mut stomachs: ComponentLookup<&mut Stomach>,
    ) {
        let first = nurses.query().into_iter().next().map(|(feeds, _)| feeds.0);
        first.into_iter().for_each(|larva| meals.push(larva, 1_000_000));
        for round in 0..2 {
            nurses.par_for_each_with(&mut meals, |(feeds, strength), meals| {
                meals.push(feeds.0, strength.0 + round);
            });
        }
        first.into_iter().for_each(|larva| meals.push(larva, 2_000_000));
        meals.apply(&mut stomachs, |stomach, meal| stomach.eat(*meal));
    }
    let (mut world, larvae) = nest();
    let rows: Vec<_> = world.query::<(&Feeds, &Strength)>().map(|(f, s)| (f.0, s.0)).collect();
    let rounds = (0..2).flat_map(|round| rows.iter().map(move |&(larva, it)| (larva, it, round)));
    let mut effects = vec![(rows[0].0, 1_000_000)];
    effects.extend(rounds.map(|(larva, it, round)| (larva, it + round)));
    effects.push((rows[0].0, 2_000_000));
    let mut stomachs = world.view::<&mut Stomach>();
    effects.iter().for_each(|&(larva, meal)| stomachs.get_mut(larva).unwrap().eat(meal));
    drop(stomachs);
    let expected: Vec<_> = larvae.iter().map(|&it| *world.get::<Stomach>(it).unwrap()).collect();
    for pool in pools() {
        let (mut world, larvae) = nest();
        world.run_system(&pool, feed);
        for (&larva, expected) in larvae.iter().zip(&expected) {
            assert_eq!(world.get(larva), Ok(expected), "{} threads", pool.parallelism());
        }
    }
}

#[test]
fn effects_without_a_target_are_passed_over_and_counted_and_all_are_dropped() {
    let (mut world, larvae) = nest();
    world.despawn(larvae[3]).unwrap();
    world.remove::<Stomach>(larvae[4]).unwrap();
    let held = Arc::new(AtomicUsize::new(0));
    let lost = larvae[3..5].to_vec();
    for is_applied in [true, false] {
        let (held, lost) = (Arc::clone(&held), lost.clone());
        let all = Arc::clone(&held);
        let system = move |mut nurses: Query<&Feeds>,
                           mut meals: Scatter<Arc<AtomicUsize>>,
                           mut stomachs: ComponentLookup<&mut Stomach>| {
            nurses.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, held.clone()));
            let expected = nurses.query().into_iter().filter(|it| lost.contains(&it.0)).count();
            if is_applied {
                let passed_over = meals.apply(&mut stomachs, |_, count| {
                    _ = count.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(passed_over, expected);
                assert_eq!(held.load(Ordering::Relaxed), NURSES as usize - expected);
            }
        };
        let mut schedule = Schedule::builder().add(system).build(&mut world).unwrap();
        schedule.run(&mut world, &pool(2));
        drop(schedule);
        assert_eq!(Arc::strong_count(&all), 2, "all were dropped");
    }
}

#[test]
fn an_effect_that_panics_ends_the_run_and_the_next_begins_without_it() {
    fn feed(
        mut nurses: Query<&Feeds>,
        mut meals: Scatter<bool>,
        mut stomachs: ComponentLookup<&mut Stomach>,
        fails: Res<bool>,
    ) {
        nurses.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, *fails));
        meals.apply(&mut stomachs, |stomach, fails| {
            assert!(!fails, "planned");
            stomach.meals += 1;
        });
    }
    for pool in pools() {
        let (mut world, _) = nest();
        world.insert_resource(true);
        let mut schedule = Schedule::builder().add(feed).build(&mut world).unwrap();
        assert_eq!(complaint(|| drop(schedule.run(&mut world, &pool))), "planned");
        *world.resource_mut::<bool>().unwrap() = false;
        schedule.run(&mut world, &pool);
        let meals: u64 = world.query::<&Stomach>().map(|stomach| stomach.meals).sum();
        assert_eq!(meals, u64::from(NURSES));
    }
}

/// The system catches the panic and goes on: no effect is left to it, and it may collect others.
#[test]
fn after_a_panic_in_apply_that_is_caught_no_effect_is_left() {
    fn feed(
        mut nurses: Query<&Feeds>,
        mut meals: Scatter<Arc<()>>,
        mut stomachs: ComponentLookup<&mut Stomach>,
        counted: Res<Arc<()>>,
    ) {
        nurses.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, counted.clone()));
        assert_eq!(Arc::strong_count(&counted), 1 + NURSES as usize);
        let fail = |_: &mut Stomach, _: &Arc<()>| panic!("planned");
        assert_eq!(complaint(|| _ = meals.apply(&mut stomachs, fail)), "planned");
        assert_eq!((meals.len(), Arc::strong_count(&counted)), (0, 1), "all were dropped");
        assert_eq!(meals.apply(&mut stomachs, |stomach, _| stomach.meals += 1), 0);
        nurses.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, counted.clone()));
        meals.apply(&mut stomachs, |stomach, _| stomach.meals += 1);
        assert_eq!((meals.len(), Arc::strong_count(&counted)), (0, 1), "all were dropped");
    }
    for pool in pools() {
        let (mut world, _) = nest();
        world.insert_resource(Arc::new(()));
        world.run_system(&pool, feed);
        let meals: u64 = world.query::<&Stomach>().map(|stomach| stomach.meals).sum();
        assert_eq!(meals, u64::from(NURSES), "each effect after the panic once");
    }
}

/// Panics when it is dropped, if it is the one to do so.
struct Meal(bool);

impl Drop for Meal {
    fn drop(&mut self) {
        assert!(!std::mem::take(&mut self.0), "planned");
    }
}

#[test]
fn an_effect_whose_drop_panics_is_applied_once_and_so_are_the_others() {
    fn feed(
        mut nurses: Query<(&Feeds, &Strength)>,
        mut meals: Scatter<Meal>,
        mut stomachs: ComponentLookup<&mut Stomach>,
    ) {
        nurses.par_for_each_with(&mut meals, |(feeds, strength), meals| {
            meals.push(feeds.0, Meal(strength.0 == 5));
        });
        let eat = |stomach: &mut Stomach, _: &Meal| stomach.meals += 1;
        assert_eq!(complaint(|| _ = meals.apply(&mut stomachs, eat)), "planned");
        assert!(meals.is_empty());
        meals.push(Entity::from_bits(1 << 32).unwrap(), Meal(false));
        assert_eq!(meals.len(), 1);
        meals.apply(&mut stomachs, eat);
    }
    for pool in pools() {
        let (mut world, _) = nest();
        world.run_system(&pool, feed);
        let meals: u64 = world.query::<&Stomach>().map(|stomach| stomach.meals).sum();
        assert_eq!(meals, u64::from(NURSES) + 1);
    }
}

/// Two rows that claim one entity, swallowed as well as one can.
fn contend(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
    nurses.par_for_each(|(nurse, feeds)| {
        let Ok(mut stomach) = stomachs.claim(&nurse, feeds.0) else { return };
        stomach.get_mut().meals += 1;
    });
}

#[test]
fn two_rows_that_claim_one_entity_are_an_error_every_time_that_names_both() {
    let mut all = Vec::new();
    for pool in pools() {
        for _ in 0..3 {
            let (mut world, larvae) = nest();
            let mut schedule = Schedule::builder().add(contend).build(&mut world).unwrap();
            let text = complaint(|| drop(schedule.run(&mut world, &pool)));
            let fed_by = world.query::<(Entity, &Feeds)>();
            let mut nurses: Vec<_> =
                fed_by.into_iter().filter(|it| it.1.0 == larvae[0]).map(|it| it.0).collect();
            nurses.sort_unstable();
            let named = format!("rows of {} and {}", nurses[0], nurses[1]);
            assert!(text.contains(&named) && text.contains(&larvae[0].to_string()), "{text}");
            assert!(text.contains("contend") && text.contains("Stomach"), "{text}");
            all.push(text);
        }
    }
    assert!(all.iter().all(|text| *text == all[0]), "they differ: {all:?}");
}

#[test]
fn rows_that_never_meet_are_found_as_well() {
    fn one_by_one(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.for_each(|(nurse, feeds)| {
            if let Ok(mut stomach) = stomachs.claim(&nurse, feeds.0) {
                stomach.get_mut().meals += 1;
            }
        });
    }
    let mut world = World::new();
    let larva = world.spawn(Stomach::default());
    world.spawn_batch([Feeds(larva), Feeds(larva)]);
    let text = complaint(|| world.run_system(&pool(0), one_by_one));
    assert!(text.contains("1v1 and 2v1") && text.contains("0v1"), "{text}");
}

/// As threads might: a larger target is contested first, and of the smallest the last row comes first.
#[test]
fn the_smallest_target_and_rows_are_named_whichever_came_first() {
    fn feed(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        let mut rows: Vec<_> = nurses.query().into_iter().collect();
        rows.sort_unstable_by_key(|(nurse, feeds)| std::cmp::Reverse((nurse.entity(), feeds.0)));
        rows.iter().for_each(|(nurse, feeds)| drop(stomachs.claim(nurse, feeds.0)));
    }
    let mut world = World::new();
    let larvae = world.spawn_batch([Stomach::default(), Stomach::default()]);
    let [first, second, third] = [(); 3].map(|()| world.spawn(Feeds(larvae[0])));
    world.spawn_batch([Feeds(larvae[1]), Feeds(larvae[1])]);
    let text = complaint(|| world.run_system(&pool(0), feed));
    let named = format!("the rows of {first} and {second} both claim");
    assert!(text.contains(&named) && text.contains(&format!("of {} in", larvae[0])), "{text}");
    assert!(second < third, "it came before them");
}

#[test]
fn a_row_may_claim_its_target_again_and_another_run_begins_anew() {
    fn feed(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.par_for_each(|(nurse, feeds)| {
            for _ in 0..3 {
                stomachs.claim(&nurse, feeds.0).unwrap().get_mut().meals += 1;
            }
        });
    }
    for pool in pools() {
        let mut world = World::new();
        let larvae = world.spawn_batch((0..100).map(|_| Stomach::default()));
        let mut nurses = world.spawn_batch(larvae.iter().map(|&larva| Feeds(larva)));
        let mut schedule = Schedule::builder().add(feed).build(&mut world).unwrap();
        for run in 1..=4 {
            // Others feed them.
            nurses.into_iter().for_each(|nurse| world.despawn(nurse).unwrap());
            nurses = world.spawn_batch(larvae.iter().rev().map(|&larva| Feeds(larva)));
            schedule.run(&mut world, &pool);
            assert!(world.query::<&Stomach>().into_iter().all(|it| it.meals == 3 * run));
        }
    }
}

#[test]
fn a_claim_on_what_the_row_holds_ends_the_run() {
    fn feed(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.for_each(|(nurse, feeds)| {
            let held = stomachs.claim(&nurse, feeds.0).unwrap();
            let again = stomachs.claim(&nurse, feeds.0).unwrap_err();
            assert_eq!(again, ClaimError::Held(feeds.0));
            drop(held);
        });
    }
    let mut world = World::new();
    let larva = world.spawn(Stomach::default());
    let nurse = world.spawn(Feeds(larva));
    let text = complaint(|| world.run_system(&pool(0), feed));
    assert!(text.contains(&format!("the row of {nurse} claims")), "{text}");
}

/// By a loop inside the loop: the row of the nurse is that of the outer one.
#[test]
fn a_row_that_claims_in_a_loop_of_its_own_is_found_as_well() {
    fn feed(
        mut nurses: Query<(Claimant, &Feeds)>,
        larvae: Res<Vec<Entity>>,
        stomachs: ExclusiveLookup<&mut Stomach>,
    ) {
        nurses.par_for_each(|(nurse, feeds)| {
            let others = larvae.iter().filter(|larva| larva.index() % 4 == feeds.0.index() % 4);
            for &larva in others {
                let Ok(mut stomach) = stomachs.claim(&nurse, larva) else { continue };
                stomach.get_mut().meals += 1;
            }
        });
    }
    let mut all = Vec::new();
    for pool in every_pool() {
        let (mut world, larvae) = nest();
        world.insert_resource(larvae);
        all.push(complaint(|| world.run_system(&pool, feed)));
    }
    assert!(all.iter().all(|text| *text == all[0]), "they differ: {all:?}");
}

fn every_pool() -> impl Iterator<Item = Pool> {
    [0, 1, 2, 3, 7].into_iter().map(pool)
}

/// Each nurse feeds the larvae that it is told, and works for a while before.
#[derive(Component)]
struct Tour {
    larvae: Vec<Entity>,
    work: u32,
}

/// How much one claim is worth; `Err` for the report of the run.
fn tour(world: &mut World, pool: &Pool) -> Result<u64, String> {
    fn go(mut nurses: Query<(Claimant, &Tour)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.par_for_each(|(nurse, tour)| {
            let work = (0..tour.work).fold(u64::from(nurse.entity().index()), |sum, i| {
                std::hint::black_box(sum.wrapping_mul(31).wrapping_add(u64::from(i)))
            });
            for &larva in &tour.larvae {
                let Ok(mut stomach) = stomachs.claim(&nurse, larva) else { return };
                stomach.get_mut().eat(work % 7);
            }
        });
    }
    let run = AssertUnwindSafe(|| world.run_system(pool, go));
    let outcome = catch_unwind(run).map_err(|text| *text.downcast::<String>().unwrap());
    outcome
        .map(|()| world.query::<&Stomach>().map(|stomach| stomach.taste).fold(0, u64::wrapping_add))
}

/// Disjoint tours, but for two nurses at the ends of the colony: whether the conflict is met never
/// decides whether it is found, with light bodies and with heavy ones.
#[test]
fn a_conflict_of_two_rows_among_thousands_is_found_on_any_number_of_threads() {
    let count = if cfg!(miri) { 50 } else { 6_000 };
    for (is_shared, work) in [(false, 0), (true, 0), (false, 300), (true, 300)] {
        let mut outcomes = Vec::new();
        for pool in every_pool() {
            for _ in 0..2 {
                let mut world = World::new();
                let larvae = world.spawn_batch((0..count).map(|_| Stomach::default()));
                let mut last = Vec::new();
                let tours = larvae.iter().enumerate().map(|(nth, &larva)| {
                    let mut larvae = vec![larva];
                    if nth == 1 && is_shared {
                        last.push(larva);
                    }
                    if nth + 1 == count {
                        larvae.append(&mut last);
                    }
                    Tour { larvae, work: if nth % 64 == 0 { work * 64 } else { work } }
                });
                let nurses = world.spawn_batch(tours.collect::<Vec<_>>());
                let outcome = tour(&mut world, &pool);
                assert_eq!(outcome.is_err(), is_shared, "{} threads", pool.parallelism());
                if let Err(text) = &outcome {
                    let named = format!("{} and {}", nurses[1], nurses[count - 1]);
                    assert!(
                        text.contains(&named) && text.contains(&larvae[1].to_string()),
                        "{text}"
                    );
                }
                outcomes.push(outcome);
            }
        }
        assert!(outcomes.iter().all(|it| *it == outcomes[0]), "they differ: {outcomes:?}");
    }
}

/// Rows in a ring, each of which wants its own larva and the next one's, and goes home when it is
/// refused: which conflicts come up depends on timing, that one does, does not.
#[test]
fn rows_that_go_home_after_an_error_are_an_error_all_the_same() {
    for pool in every_pool() {
        for _ in 0..4 {
            let mut world = World::new();
            let larvae = world.spawn_batch((0..5_000).map(|_| Stomach::default()));
            let next = larvae.iter().cycle().skip(1);
            let tours = larvae.iter().zip(next).map(|(&own, &next)| vec![own, next]);
            let tours: Vec<_> = tours.map(|larvae| Tour { larvae, work: 3 }).collect();
            world.spawn_batch(tours);
            let text = tour(&mut world, &pool).expect_err("each larva is wanted twice");
            assert!(text.contains("both claim") && text.contains("Stomach"), "{text}");
        }
    }
}

#[test]
fn systems_one_after_the_other_claim_the_same_entities_and_a_run_after_an_error_begins_anew() {
    fn feed(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.par_for_each(|(nurse, feeds)| {
            let Ok(mut stomach) = stomachs.claim(&nurse, feeds.0) else { return };
            stomach.get_mut().eat(3);
        });
    }
    fn feed_again(nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        feed(nurses, stomachs);
    }
    for pool in every_pool() {
        let mut world = World::new();
        let larvae = world.spawn_batch((0..3_000).map(|_| Stomach::default()));
        let nurses = world.spawn_batch(larvae.iter().rev().map(|&larva| Feeds(larva)));
        let mut schedule =
            Schedule::builder().add((feed, feed_again).chain()).build(&mut world).unwrap();
        let run = |world: &mut World, schedule: &mut Schedule| {
            schedule.run(world, &pool);
            world.query::<&Stomach>().map(|stomach| stomach.meals).sum::<u64>()
        };
        assert_eq!(run(&mut world, &mut schedule), 2 * 3_000);
        // Two feed one larva: each run says so, the first that comes after says nothing.
        world.get_mut::<Feeds>(nurses[9]).unwrap().0 = larvae[17];
        let texts = [(); 3].map(|()| complaint(|| _ = run(&mut world, &mut schedule)));
        assert!(
            texts.iter().all(|text| *text == texts[0] && text.contains("both claim")),
            "{texts:?}"
        );
        world.get_mut::<Feeds>(nurses[9]).unwrap().0 = larvae[3_000 - 10];
        let before: u64 = world.query::<&Stomach>().map(|stomach| stomach.meals).sum();
        assert_eq!(run(&mut world, &mut schedule), before + 2 * 3_000);
    }
}

#[test]
fn a_system_with_two_queries_of_claimants_is_not_built() {
    fn both(_: Query<(Claimant, &Feeds)>, _: Query<Claimant, With<Stomach>>) {}
    let mut world = World::new();
    let refused = Schedule::builder().add(both).build(&mut world).expect_err("two of them");
    assert!(refused.to_string().contains("Claimant"), "{refused}");
}

#[test]
fn a_lookup_that_is_leaked_ends_the_run_all_the_same() {
    fn leak(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        nurses.for_each(|(nurse, feeds)| drop(stomachs.claim(&nurse, feeds.0)));
        std::mem::forget(stomachs);
    }
    let (mut world, _) = nest();
    let mut schedule = Schedule::builder().add(leak).build(&mut world).unwrap();
    for _ in 0..2 {
        let text = complaint(|| drop(schedule.run(&mut world, &pool(0))));
        assert!(text.contains("leak went wrong") && text.contains("both claim"), "{text}");
    }
    let text = complaint(|| world.run_system(&pool(0), leak));
    assert!(text.contains("both claim"), "{text}");
}

#[test]
fn a_system_that_catches_the_panic_of_its_lookup_ends_the_run_all_the_same() {
    fn claim_all(nurses: &mut Query<(Claimant, &Feeds)>, stomachs: &ExclusiveLookup<&mut Stomach>) {
        nurses.for_each(|(nurse, feeds)| drop(stomachs.claim(&nurse, feeds.0)));
    }
    fn caught(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        claim_all(&mut nurses, &stomachs);
        complaint(|| drop(stomachs));
    }
    fn hidden(mut nurses: Query<(Claimant, &Feeds)>, stomachs: ExclusiveLookup<&mut Stomach>) {
        claim_all(&mut nurses, &stomachs);
        // Dropped while another panic is under way.
        complaint(|| {
            let _stomachs = stomachs;
            panic!("planned")
        });
    }
    let (mut world, _) = nest();
    for builder in [Schedule::builder().add(caught), Schedule::builder().add(hidden)] {
        let mut schedule = builder.build(&mut world).unwrap();
        for _ in 0..2 {
            let text = complaint(|| drop(schedule.run(&mut world, &pool(0))));
            assert!(text.contains("both claim"), "{text}");
        }
    }
}

#[test]
fn a_system_that_leaks_its_lookup_and_panics_is_as_new_afterwards() {
    fn leak(
        mut nurses: Query<(Claimant, &Feeds)>,
        stomachs: ExclusiveLookup<&mut Stomach>,
        fails: Res<bool>,
    ) {
        if *fails {
            nurses.for_each(|(nurse, feeds)| drop(stomachs.claim(&nurse, feeds.0)));
            std::mem::forget(stomachs);
            panic!("planned");
        }
    }
    let (mut world, _) = nest();
    world.insert_resource(true);
    let mut schedule = Schedule::builder().add(leak).build(&mut world).unwrap();
    assert_eq!(complaint(|| drop(schedule.run(&mut world, &pool(0)))), "planned");
    *world.resource_mut::<bool>().unwrap() = false;
    schedule.run(&mut world, &pool(0));
}

#[test]
fn a_system_that_panics_by_itself_says_why_and_is_as_new_afterwards() {
    fn feed(
        mut nurses: Query<(Claimant, &Feeds)>,
        stomachs: ExclusiveLookup<&mut Stomach>,
        fails: Res<bool>,
    ) {
        nurses.for_each(|(nurse, feeds)| {
            if *fails {
                drop(stomachs.claim(&nurse, feeds.0));
            }
        });
        assert!(!*fails, "planned");
    }
    let (mut world, _) = nest();
    world.insert_resource(true);
    let mut schedule = Schedule::builder().add(feed).build(&mut world).unwrap();
    assert_eq!(complaint(|| drop(schedule.run(&mut world, &pool(0)))), "planned");
    *world.resource_mut::<bool>().unwrap() = false;
    schedule.run(&mut world, &pool(0));
}
