//! Tests of mistakes in saves that were planted and that no other test had noticed.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::pool;
use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, StateHasher};
use formic_jobs::prelude::*;
use formic_jobs::{
    LoadError, MalformedSave, RunContext, Save, SaveRules, ScheduleBuilder, StateArchive, System,
    SystemAccess, SystemConfig,
};

struct Score(u64);

/// A game of these systems, with a score that is saved.
fn game(
    build: impl FnOnce(ScheduleBuilder, &mut SaveRules) -> ScheduleBuilder,
) -> (World, Schedule) {
    let mut world = World::new();
    world.insert_resource(Score(0));
    let rules = SaveRules::of(&mut world);
    rules.save_part(Codec::plain(), |it: &Score| it.0, |score, it: u64, _| score.0 = it);
    let builder = build(Schedule::builder(), rules);
    let schedule = builder.build(&mut world).expect("in order");
    (world, schedule)
}

fn run((world, schedule): &mut (World, Schedule), count: usize) -> u64 {
    (0..count).for_each(|_| drop(schedule.run(world, &pool(0))));
    world.resource::<Score>().expect("it is there").0
}

fn load(save: &Save, (world, schedule): &mut (World, Schedule)) {
    let report = save.load(world, schedule).expect("it fits");
    assert!(report.is_exact(), "{report}");
}

#[test]
fn two_systems_of_one_name_are_loaded_each_with_its_own() {
    fn count(mut runs: Local<u64>, mut score: ResMut<Score>) {
        *runs += 1;
        score.0 = score.0 * 3 + *runs;
    }
    let build = || game(|systems, _| systems.add((count, count.every(3), count.every(2)).chain()));
    let mut first = build();
    run(&mut first, 7);
    let save = Save::of(&first.0, &first.1).expect("all of it has rules");
    let mut second = build();
    load(&save, &mut second);
    assert_eq!(run(&mut second, 6), run(&mut first, 6));
}

#[test]
fn a_resource_whose_codec_leaves_bytes_is_not_loaded() {
    struct Odd;
    let build = || {
        let mut game = game(|systems, rules| {
            let write = |_: &Odd, out: &mut Vec<u8>| {
                out.extend([1, 2, 3]);
                Ok(())
            };
            let read = |bytes: &mut &[u8]| {
                *bytes = &bytes[1..];
                Ok(Odd)
            };
            rules.save(Codec::custom(write, read));
            systems
        });
        game.0.insert_resource(Odd);
        game
    };
    let (world, schedule) = build();
    let save = Save::of(&world, &schedule).expect("all of it has rules");
    let (mut world, mut schedule) = build();
    let error = save.load(&mut world, &mut schedule).unwrap_err();
    assert!(
        matches!(error, LoadError::InvalidValue { ref what } if what.contains("Odd")),
        "{error}"
    );
}

#[test]
fn what_is_rebuilt_is_there_in_a_game_that_is_loaded_from_one_without_it() {
    struct Picture(u32);
    let build = || {
        game(|systems, rules| {
            rules.rebuild::<Picture>();
            systems
        })
    };
    let (world, schedule) = build();
    let save = Save::of(&world, &schedule).expect("all of it has rules");
    let mut second = build();
    second.0.insert_resource(Picture(7));
    load(&save, &mut second);
    assert_eq!(second.0.resource::<Picture>().map(|picture| picture.0), Ok(7));
}

#[test]
fn a_save_that_has_a_part_twice_is_refused() {
    let (world, schedule) = game(|systems, _| systems);
    let bytes = Save::of(&world, &schedule).expect("all of it has rules").to_bytes();
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    // The length of a name, the name, the length of the part, the part.
    let first = &bytes[32..];
    let name = 4 + number(&first[..4]);
    let first = &first[..name + 8 + number(&first[name..name + 8])];
    let mut twice = [&bytes[..], first].concat();
    let length = (twice.len() - 32) as u64;
    let mut hasher = StateHasher::new();
    hasher.write(&twice[32..]);
    hasher.write_u64(length);
    twice[16..24].copy_from_slice(&length.to_le_bytes());
    twice[24..32].copy_from_slice(&hasher.finish().to_le_bytes());
    let refused = Save::from_bytes(&twice);
    assert!(matches!(refused, Err(MalformedSave::BadSection(_))), "{refused:?}");
}

/// A name that another one begins with.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Coin(u64);
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Coins(u64);
/// What [`Coin`] is called now.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Guilder(u64);

/// Keeps one of each, under one name in every version of the game.
struct Purse<T>(T, Coins);

impl<T: Send + 'static> System for Purse<T> {
    fn name(&self) -> &str {
        "purse"
    }

    fn initialize(&mut self, _: &mut World) -> SystemAccess {
        SystemAccess::default()
    }

    fn run(&mut self, _: RunContext) {}

    fn visit_state(&mut self, archive: &mut StateArchive) {
        archive.value(&mut self.0);
        archive.value(&mut self.1);
    }
}

#[test]
fn an_earlier_name_is_not_found_inside_of_a_longer_one() {
    let (world, schedule) = game(|systems, rules| {
        rules.save(Codec::<Coin>::plain()).save(Codec::<Coins>::plain());
        systems.add(SystemConfig::of(Purse(Coin(5), Coins(700))))
    });
    let save = Save::of(&world, &schedule).expect("all of it has rules");
    let mut second = game(|systems, rules| {
        rules.save(Codec::<Guilder>::plain()).save(Codec::<Coins>::plain());
        rules.renamed::<Guilder>("schedule::planted::Coin");
        systems.add(SystemConfig::of(Purse(Guilder(0), Coins(0))))
    });
    load(&save, &mut second);
}

#[test]
fn events_that_are_not_saved_count_as_read_and_do_not_keep_a_game_from_loading() {
    struct Shout;
    fn shout(mut shouts: EventWriter<Shout>) {
        (0..3).for_each(|_| shouts.send(Shout));
    }
    fn hear(mut shouts: EventReader<Shout>, mut score: ResMut<Score>) {
        score.0 += shouts.read().count() as u64 + 1_000 * shouts.missed();
    }
    let build = || {
        game(|systems, rules| {
            rules.rebuild::<Shout>();
            systems.add((shout, hear).chain())
        })
    };
    let mut first = build();
    run(&mut first, 5);
    let save = Save::of(&first.0, &first.1).expect("all of it has rules");
    let mut second = build();
    load(&save, &mut second);
    assert_eq!(run(&mut second, 4), run(&mut first, 4));
}

#[test]
fn rebuilt_events_that_a_system_had_still_to_read_are_reported_by_the_load() {
    struct Shout;
    fn shout(mut shouts: EventWriter<Shout>) {
        (0..3).for_each(|_| shouts.send(Shout));
    }
    fn hear(mut shouts: EventReader<Shout>) {
        _ = shouts.read().count();
    }
    let build = || {
        game(|systems, rules| {
            rules.rebuild::<Shout>();
            systems.add((hear, shout).chain())
        })
    };
    let mut first = build();
    run(&mut first, 1);
    let save = Save::of(&first.0, &first.1).expect("all of it has rules");
    let mut second = build();
    let report = save.load(&mut second.0, &mut second.1).expect("it fits");
    assert!(!report.is_exact());
    let [lost] = &report.dropped[..] else { panic!("{report}") };
    assert!(lost.starts_with("3 unread ") && lost.contains("Shout"), "{report}");
}

#[test]
fn events_of_a_loaded_game_are_aged_by_the_schedule_that_writes_them_alone() {
    fn shout(mut shouts: EventWriter<u64>) {
        shouts.send(7);
    }
    fn hear(mut shouts: EventReader<u64>, mut score: ResMut<Score>) {
        score.0 += shouts.read().sum::<u64>();
    }
    let mut writer = game(|systems, _| systems.add(shout));
    let reader = Schedule::builder().add(hear.every(5)).build(&mut writer.0).expect("in order");
    run(&mut writer, 1);
    let save = Save::of(&writer.0, &writer.1).expect("all of it has rules");
    load(&save, &mut writer);
    // The schedule that only reads is run often, and hears what is there when it is due.
    let mut both = (writer.0, reader);
    assert_eq!(run(&mut both, 1), 7);
    let events = |both: &(World, Schedule)| both.0.resource::<Events<u64>>().unwrap().len();
    run(&mut both, 9);
    assert_eq!(events(&both), 1);
}
