//! The search for where two runs part finds what is planted.

use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use formic_ecs::{ComponentDescriptor, Difference};
use formic_jobs::prelude::*;
use formic_jobs::{Divergence, Rerun, ScheduleBuilder};

#[derive(Component, Debug)]
#[component(name = "tests.hunger")]
struct Hunger(u64);
#[derive(Component, Debug)]
#[component(name = "tests.place")]
struct Place(f32);
/// When the plant begins to show, and how many threads there are.
struct Plant {
    at: u64,
    threads: u64,
}
struct Tick(u64);

fn count(mut tick: ResMut<'_, Tick>) {
    tick.0 += 1;
}
fn walk(mut all: Query<'_, &mut Place>) {
    all.par_for_each(|place| place.0 += 0.25);
}
fn starve(mut all: Query<'_, &mut Hunger>) {
    all.par_for_each(|hunger| hunger.0 += 1);
}

fn is_due(tick: &Tick, plant: &Plant) -> bool {
    tick.0 > plant.at
}

fn game(threads: usize, at: u64, add: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder) -> Rerun {
    let mut world = World::new();
    world.insert_resource(Plant { at, threads: threads as u64 });
    world.insert_resource(Tick(0));
    world.spawn_batch((0..3000_u16).map(|it| (Hunger(it.into()), Place(f32::from(it)))));
    let schedule = Schedule::builder().add((count, walk, starve).chain());
    let schedule = add(schedule).build(&mut world).expect("they have an order");
    let threads = if threads == 1 { Threads::None } else { Threads::Own(threads - 1) };
    Rerun { world, schedule, pool: Pool::new(threads).expect("threads") }
}

fn check(found: Option<Divergence>, tick: u64, system: &str) -> Difference {
    let found = found.expect("it was planted");
    assert_eq!(found.tick, tick, "{found}");
    assert!(found.after.as_ref().is_some_and(|after| after.contains(system)), "{found}");
    found.difference
}

#[test]
fn runs_that_are_equal_have_no_divergence() {
    let start = |threads| game(threads, 0, |schedule| schedule);
    assert_eq!(Divergence::search(40, || start(1), || start(4)), None);
}

#[test]
fn a_system_that_reads_the_number_of_threads_is_named_with_both_values() {
    fn feed(mut all: Query<'_, &mut Hunger>, tick: Res<'_, Tick>, plant: Res<'_, Plant>) {
        if is_due(&tick, &plant) {
            all.par_for_each(|hunger| hunger.0 += plant.threads * u64::from(hunger.0 == 2037 + 38));
        }
    }
    let start = |threads| game(threads, 37, |schedule| schedule.add(feed.after(starve)));
    let difference = check(Divergence::search(60, || start(1), || start(3)), 37, "feed");
    let Difference::Value { component, here, there, .. } = difference else {
        panic!("{difference}")
    };
    assert_eq!(component, "tests.hunger");
    assert_eq!((&*here, &*there), ("Hunger(2076)", "Hunger(2078)"));
}

#[test]
fn runs_that_do_not_repeat_themselves_are_searched_from_their_start() {
    fn feed(mut all: Query<'_, &mut Hunger>, tick: Res<'_, Tick>, plant: Res<'_, Plant>) {
        if is_due(&tick, &plant) {
            all.par_for_each(|hunger| hunger.0 += 1);
        }
    }
    let start = |at| game(1, at, |schedule| schedule.add(feed.after(starve)));
    let search = |at: &[u64]| {
        let mut starts = at.iter().copied();
        let (mut last, mut count) = (0, 0);
        let there = || {
            (last, count) = (starts.next().unwrap_or(last), count + 1);
            start(last)
        };
        let found = Divergence::search(30, || start(u64::MAX), there);
        (found, count)
    };
    // The first run parts late, and those that are to tell where exactly do so earlier.
    check(search(&[20, 3]).0, 3, "feed");
    check(search(&[20, u64::MAX, 3]).0, 3, "feed");
    // It never happens again, in some runs.
    let (found, count) = search(&[20, u64::MAX]);
    assert_eq!(found, None);
    assert!((3..20).contains(&count), "{count}");
}

#[test]
fn a_walk_over_a_hash_map_is_found() {
    fn gossip(
        mut all: Query<'_, (Entity, &mut Place)>,
        tick: Res<'_, Tick>,
        plant: Res<'_, Plant>,
    ) {
        if is_due(&tick, &plant) {
            // Each map has an order of its own.
            let told: HashMap<Entity, f32> =
                (&mut all).into_iter().map(|(entity, place)| (entity, place.0)).collect();
            let sum = told.values().fold(0.0, |sum: f32, place| sum * 0.999 + place);
            all.for_each(|(_, place)| place.0 += sum * 1e-6);
        }
    }
    let start = || game(1, 3, |schedule| schedule.add(gossip.after(walk)));
    let difference = check(Divergence::search(20, start, start), 3, "gossip");
    assert!(
        matches!(difference, Difference::Value { component, .. } if component == "tests.place")
    );
}

#[test]
fn a_clock_is_found() {
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    fn age(mut all: Query<'_, &mut Hunger>, tick: Res<'_, Tick>, plant: Res<'_, Plant>) {
        if is_due(&tick, &plant) {
            // Never twice the same, as a clock.
            let now = CLOCK.fetch_add(1, Ordering::Relaxed);
            all.for_each(|hunger| hunger.0 += now);
        }
    }
    let start = || game(1, 18, |schedule| schedule.add(age.after(starve)));
    check(Divergence::search(30, start, start), 18, "age");
}

#[test]
fn effects_that_are_merged_in_the_order_of_arrival_are_found() {
    // As threads would hand them in: the more there are, the later come the first.
    fn breed(mut all: Query<'_, &Hunger>, plant: Res<'_, Plant>, mut commands: Commands<'_>) {
        let arrived = Mutex::new(Vec::new());
        all.par_for_each(|hunger| arrived.lock().unwrap().push(hunger.0));
        let mut arrived = arrived.into_inner().unwrap();
        arrived.sort_unstable();
        arrived.truncate(5);
        if plant.threads > 1 {
            arrived.swap(0, 1);
        }
        for hunger in arrived {
            commands.spawn(Hunger(hunger));
        }
    }
    let start = |threads| game(threads, 0, |schedule| schedule.add(breed.after(starve)));
    let difference = check(Divergence::search(3, || start(1), || start(2)), 0, "sync point");
    assert!(matches!(difference, Difference::Value { .. }), "{difference}");
}

#[test]
fn padding_that_no_field_is_written_into_is_found() {
    // As a host in another language lays a record out: a byte, three of padding, four of a number.
    fn lay_out(world: &mut World) {
        // Never twice the same, as what was in memory before.
        static MEMORY: AtomicU64 = AtomicU64::new(1);
        let record = world.component_by_name("tests.record").expect("it was registered");
        let is_due = world.resource::<Tick>().unwrap().0 > world.resource::<Plant>().unwrap().at;
        let all = world.query::<(Entity, &Hunger)>().map(|(entity, hunger)| (entity, hunger.0));
        let all: Vec<(Entity, u64)> = all.filter(|(_, hunger)| hunger % 1000 == 7).collect();
        for (entity, hunger) in all {
            let [low, high, more, ..] = MEMORY.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            let padding = if is_due { [low, high, more] } else { [0; 3] };
            let [a, b, c] = padding;
            let [d, e, f, g, ..] = hunger.to_le_bytes();
            world
                .by_id_mut()
                .insert(entity, record, &[1, a, b, c, d, e, f, g])
                .expect("eight bytes");
        }
    }
    let start = || {
        let mut game = game(1, 9, |schedule| schedule.add(lay_out.after(starve)));
        let layout = Layout::from_size_align(8, 4).expect("it is one");
        let record = ComponentDescriptor::bytes("tests.record", layout);
        game.world.by_id_mut().register(record).expect("the name is free");
        game
    };
    let difference = check(Divergence::search(20, start, start), 9, "lay_out");
    let Difference::Value { component, here, there, .. } = difference else {
        panic!("{difference}")
    };
    assert_eq!(component, "tests.record");
    assert_ne!(here, there);
}

#[test]
fn another_order_of_rows_alone_is_found() {
    #[derive(Component)]
    struct Fed;
    fn mark(
        mut all: Query<'_, (Entity, &Hunger), Without<Fed>>,
        plant: Res<'_, Plant>,
        mut commands: Commands<'_>,
    ) {
        let mut chosen: Vec<Entity> =
            (&mut all).into_iter().map(|(entity, _)| entity).take(4).collect();
        if plant.threads > 1 {
            chosen.reverse();
        }
        chosen.into_iter().for_each(|entity| commands.insert(entity, Fed));
    }
    let start = |threads| game(threads, 0, |schedule| schedule.add(mark.after(starve)));
    let difference = check(Divergence::search(3, || start(1), || start(2)), 0, "sync point");
    assert!(matches!(difference, Difference::Order { .. }), "{difference}");
}

/// The rows that changed places lie before the value that is another one, in another archetype and
/// in an earlier chunk of the same one.
#[test]
fn what_differs_about_an_entity_comes_before_an_order_of_rows_that_does() {
    #[derive(Component)]
    struct Fed;
    fn fall_apart(world: &mut World) {
        let (threads, is_due) = {
            let plant = world.resource::<Plant>().unwrap();
            (plant.threads, is_due(world.resource::<Tick>().unwrap(), plant))
        };
        if !is_due {
            return;
        }
        let all: Vec<Entity> = world.query_filtered::<Entity, With<Hunger>>().into_iter().collect();
        let mut moved = [all[0], all[1]];
        if threads > 1 {
            moved.reverse();
            world.get_mut::<Hunger>(all[all.len() - 40]).unwrap().0 += 100;
        }
        // There and back: they come to the end in another order, and others fill their rows.
        moved.into_iter().for_each(|entity| world.insert(entity, Fed).unwrap());
        moved.into_iter().for_each(|entity| _ = world.remove::<Fed>(entity).unwrap());
        moved.into_iter().for_each(|entity| world.insert(entity, Fed).unwrap());
    }
    let start = |threads| game(threads, 2, |schedule| schedule.add(fall_apart.after(starve)));
    let difference = check(Divergence::search(8, || start(1), || start(2)), 2, "fall_apart");
    let Difference::Value { component, here, there, .. } = difference else {
        panic!("{difference}")
    };
    assert_eq!(component, "tests.hunger");
    let number = |text: &str| text[7..text.len() - 1].parse::<u64>().unwrap();
    assert_eq!(number(&there), number(&here) + 100);
}

#[test]
fn of_two_worlds_a_value_an_entity_and_a_component_come_before_an_order() {
    #[derive(Component)]
    struct Fed;
    let crowd = |reversed: bool| {
        let mut world = World::new();
        let all = world.spawn_batch((0..3000_u64).map(Hunger));
        let mut first = [all[0], all[1]];
        if reversed {
            first.reverse();
        }
        first.into_iter().for_each(|entity| world.insert(entity, Fed).unwrap());
        first.into_iter().for_each(|entity| _ = world.remove::<Fed>(entity).unwrap());
        (world, all)
    };
    let (here, _) = crowd(false);
    // Of the rows that are in another order, one is in the first chunk and one in the last.
    let order = Difference::between(&here, &crowd(true).0).expect("the rows differ");
    assert!(matches!(order, Difference::Order { .. }), "{order}");
    type Change = fn(&mut World, Entity);
    let changes: [(Change, &str); 4] = [
        (|world, entity| world.get_mut::<Hunger>(entity).unwrap().0 += 1, "is Hunger("),
        (|world, entity| world.insert(entity, Place(1.0)).unwrap(), "has tests.place there only"),
        (|world, entity| _ = world.remove::<Hunger>(entity).unwrap(), "has tests.hunger here only"),
        (|world, entity| world.despawn(entity).unwrap(), "is alive here only"),
    ];
    for row in [2, 1500, 2999] {
        for (change, text) in changes {
            let (mut there, all) = crowd(true);
            change(&mut there, all[row]);
            let difference = Difference::between(&here, &there).expect("it differs").to_string();
            assert!(difference.contains(text), "{difference}, where row {row} {text}");
        }
    }
}

#[test]
fn games_that_differ_from_the_start_are_compared_as_they_start() {
    let start = |hunger: u64| {
        let mut game = game(1, 0, |schedule| schedule);
        game.world.spawn(Hunger(hunger));
        game
    };
    for ticks in [0, 1, 20] {
        let found = Divergence::search(ticks, || start(1), || start(2));
        let difference = check(found, 0, "the start");
        assert!(difference.to_string().contains("Hunger(1) here and Hunger(2) there"));
    }
}
