//! Tests that the cats behave as their pattern says.

use super::*;

fn run(agents: u32, ticks: u64) -> CatWorld {
    let setup = Setup { agents, ticks, seed: 1, threads: 1 };
    let mut cats = CatWorld::new(&setup, None).expect("no threads are needed");
    (0..ticks).for_each(|_| cats.tick());
    cats.check().expect("nothing is wrong");
    cats
}

#[test]
fn a_cat_plays_and_naps_several_times_before_it_eats() {
    let cats = run(1, 2_400);
    let stays = cats.diary().entries().chunk_by(|one, other| one.choice == other.choice);
    let name = |stay: &[diary::Entry]| stay[0].choice.map_or("nothing", |option| OPTIONS[option]);
    let names: Vec<&str> = stays.map(name).collect();
    assert_eq!(names[..4], ["play", "sleep", "play", "sleep"], "{names:?}");
    let first_meal = names.iter().position(|&name| name == "eat").expect("it eats some day");
    assert!(first_meal >= 4, "{names:?}");
    assert!(names[..first_meal].iter().all(|&name| name == "play" || name == "sleep"));
}

#[test]
fn cats_sleep_more_than_they_eat() {
    let [eaten, slept, played] = run(200, 3_000).time_spent();
    assert!(slept > 2 * eaten && played > eaten && eaten > 0, "{eaten} {slept} {played}");
}

#[test]
fn what_is_begun_is_carried_through() {
    let cats = run(1, 2_400);
    for pair in cats.diary().entries().windows(2) {
        let [before, after] = pair else { continue };
        if before.choice != after.choice {
            match before.choice {
                Some(0) => assert!(before.hunger <= 0.0, "{before:?}"),
                Some(1) => assert!(before.tiredness <= 0.0, "{before:?}"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_long_diary_is_no_longer_than_a_short_one() {
    let cats = run(1, 12_000);
    let entries = cats.diary().entries();
    assert!((1_000..=2_400).contains(&entries.len()), "{}", entries.len());
    assert!(entries.windows(2).all(|pair| pair[0].seconds < pair[1].seconds));
    assert!(entries.last().is_some_and(|last| last.seconds > 1_190.0));
}

#[test]
fn the_check_finds_needs_out_of_range_and_time_that_was_not_spent() {
    DEMO.assert_check_finds("has hunger", |world| {
        world.query::<&mut Hunger>().for_each(|hunger| hunger.0 = 100.5);
    });
    DEMO.assert_check_finds("was busy for 21 of 20 ticks", |world| {
        world.query::<&mut TimeSpent>().for_each(|spent| spent.ticks[0] += 1);
    });
}
