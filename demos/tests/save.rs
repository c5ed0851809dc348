//! Every demo, saved at odd ticks, goes on the same: also in another process and on other threads.

use formic_demos::catalogue::DEMOS;
use formic_demos::setup::Setup;
use formic_jobs::Save;

#[test]
fn every_demo_that_is_saved_goes_on_with_the_same_hash_in_every_tick() {
    // The turns of the roguelike keep what undoes them, which is not saved yet.
    for demo in DEMOS.iter().filter(|demo| demo.name != "rogue") {
        let setup = Setup { agents: 60, ticks: 90, seed: 3, threads: 1 };
        let mut game = demo.open(&setup).expect("it needs no arguments");
        let mut tick = 0;
        for saved_at in [1, 37, 61] {
            while tick < saved_at {
                game.tick();
                tick += 1;
            }
            let save = game.save().unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            let save = Save::from_bytes(&save.to_bytes()).expect("it was just written");
            let mut other = demo.open(&Setup { threads: 3, ..setup }).expect("as before");
            let report = other.load(&save).unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            assert_eq!(report, "", "{}", demo.name);
            let mut same = demo.open(&Setup { threads: 2, ..setup }).expect("as before");
            same.load(&save).expect("as before");
            for later in 0..29 {
                let which = format!("{}: {later} ticks after tick {saved_at}", demo.name);
                assert_eq!(other.state_hash(), game.state_hash(), "{which}");
                other.tick();
                game.tick();
            }
            assert_eq!(other.save(), game.save(), "{}", demo.name);
            other.check().unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            // From where it was saved.
            game = same;
        }
    }
}
