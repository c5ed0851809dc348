//! Tests that each decision engine behaves as its pattern is known for.

use super::forager::{Books, Needs};
use super::*;

fn crowds(ticks: u64) -> Vec<Crowd> {
    let setup = Setup { agents: 60, ticks, seed: 3, threads: 1 };
    let pool = Arc::new(setup.pool().expect("no threads are needed"));
    let crowd = |mind: &&'static Mind| {
        let mut crowd =
            Crowd::new(mind, 60, &setup, Arc::clone(&pool)).expect("the systems have an order");
        (0..ticks).for_each(|_| crowd.tick());
        crowd.check().expect("nothing is wrong");
        crowd
    };
    MINDS.iter().map(crowd).collect()
}

#[test]
fn every_mind_feeds_its_crowd_and_only_the_sequence_is_bitten_for_long() {
    for crowd in crowds(3_000) {
        let tally = crowd.tally();
        assert!(tally.meals > 60 * 3, "{}: {tally:?}", crowd.name());
        assert!(tally.ticks.iter().all(|&ticks| ticks > 0), "{}: {tally:?}", crowd.name());
        let wolf_ticks = 60 * 3_000 * 40 / 300;
        match crowd.name() {
            "sequence" => assert!(tally.bitten > wolf_ticks / 3, "{tally:?}"),
            name => assert!(tally.bitten < wolf_ticks / 20, "{name}: {tally:?}"),
        }
    }
}

#[test]
fn minds_with_the_same_rules_do_the_same() {
    let crowds = crowds(1_200);
    let tally = |name: &str| {
        let crowd = crowds.iter().find(|crowd| crowd.name() == name);
        crowd.expect("there is such a mind").tally()
    };
    let (plain, tree) = (tally("if, else"), tally("tree"));
    for (a, b) in plain.ticks.into_iter().zip(tree.ticks) {
        assert!(a.abs_diff(b) <= 60 * 1_200 / 20, "{plain:?} and {tree:?}");
    }
}

#[test]
fn a_run_that_goes_on_for_long_has_the_picture_of_one_begun_for_as_long() {
    let run = |planned: u64, ticks: u64| {
        let setup = Setup { agents: 12, ticks: planned, seed: 3, threads: 1 };
        let pool = Arc::new(setup.pool().expect("no threads are needed"));
        let mut crowd = Crowd::new(MINDS[0], 12, &setup, pool).expect("the systems have an order");
        (0..ticks).for_each(|_| crowd.tick());
        crowd
    };
    // One column per tick up to 1,920 columns; then one for two ticks.
    assert_eq!(run(960, 1_919).samples().len(), 1_919);
    let (longer, planned) = (run(960, 1_926), run(1_920, 1_926));
    assert_eq!((longer.samples().len(), longer.sampled_ticks()), (963, 1_926));
    assert!(longer.samples() == planned.samples(), "the columns differ");
    assert!(longer.samples().iter().all(|shares| shares.iter().sum::<u32>() == 12));
}

#[test]
fn the_check_finds_berries_out_of_nothing_and_foragers_in_two_places() {
    let books = |spoil: fn(&mut Books)| {
        move |world: &mut World| world.query::<&mut Books>().for_each(spoil)
    };
    DEMO.assert_check_finds("berries, ate", books(|it| it.gathered += 1));
    DEMO.assert_check_finds("was busy for", books(|it| it.ticks[0] += 21));
    DEMO.assert_check_finds("has Needs", |world| {
        world.query::<&mut Needs>().for_each(|needs| needs.tiredness = -1.0);
    });
}
