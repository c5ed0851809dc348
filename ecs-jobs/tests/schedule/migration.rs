//! Saves of earlier versions of a game: what was renamed is found, what is gone is reported, and
//! what is new is given to the entities that lack it.
//!
//! The files in `saves` were written by the version of this crate that their names give, and stay as
//! they are. For a new version of the format add files beside them: run these tests with the
//! variable `FORMIC_WRITE_SAVES` set.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use std::any::type_name;
use std::marker::PhantomData;

use crate::support::pool;
use bytemuck::{Pod, Zeroable};
use formic_ecs::prelude::*;
use formic_ecs::{Codec, Prefab, RestoreError, StateHasher};
use formic_jobs::prelude::*;
use formic_jobs::{LoadError, Save, SaveRules};

/// The game that wrote the files.
mod then {
    use super::*;

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.worker")]
    #[repr(C)]
    pub(super) struct Worker(pub(super) u64);
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.mana")]
    #[repr(C)]
    pub(super) struct Mana(u32);
    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Score(u64);
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Shout(u64);
    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Runs(u64);
    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Weather(u64);

    pub(super) fn work(
        mut all: Query<&mut Worker>,
        mut runs: Local<Runs>,
        mut shouts: EventWriter<Shout>,
    ) {
        runs.0 += 1;
        all.for_each(|worker| worker.0 += runs.0);
        shouts.send(Shout(runs.0));
    }

    pub(super) fn hear(mut shouts: EventReader<Shout>, mut score: ResMut<Score>) {
        shouts.read().for_each(|shout| score.0 += shout.0);
    }

    /// The game after five ticks.
    pub(super) fn save() -> Save {
        let mut world = World::new();
        world.insert_resource(Score(0));
        world.insert_resource(Weather(3));
        SaveRules::of(&mut world)
            .save(Codec::<Score>::plain())
            .save(Codec::<Shout>::plain())
            .save(Codec::<Runs>::plain())
            .save(Codec::<Weather>::plain());
        world.spawn_batch((0..3).map(|number| (Worker(number), Mana(1))));
        world.spawn(Worker(100));
        world.spawn((Worker(0), Prefab));
        world.spawn(Mana(2));
        let schedule = Schedule::builder().add((hear, work).chain()).build(&mut world);
        let mut schedule = schedule.expect("in order");
        // When the file was written a writer of events brought two resources along, and now it brings one.
        world.insert_resource(());
        world.remove_resource::<()>();
        (0..5).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
        Save::of(&world, &schedule).expect("all of it has rules")
    }
}

/// The game of today: all is renamed, mana and the weather are gone, and workers get hungry.
mod next {
    use super::*;

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.ant", was = "game.worker")]
    #[repr(C)]
    pub(super) struct Ant(pub(super) u64);
    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(name = "game.hunger")]
    #[repr(C)]
    pub(super) struct Hunger(pub(super) u32);
    impl Default for Hunger {
        fn default() -> Self {
            Self(50)
        }
    }
    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Points(pub(super) u64);
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Call(u64);
    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Turns(u64);
    pub(super) struct Season(pub(super) u64);

    pub(super) fn work(
        mut all: Query<&mut Ant>,
        mut turns: Local<Turns>,
        mut calls: EventWriter<Call>,
    ) {
        turns.0 += 1;
        all.for_each(|ant| ant.0 += turns.0);
        calls.send(Call(turns.0));
    }

    pub(super) fn hear(mut calls: EventReader<Call>, mut points: ResMut<Points>) {
        calls.read().for_each(|call| points.0 += call.0);
    }

    pub(super) fn build() -> (World, Schedule) {
        let mut world = World::new();
        world.register::<Ant>();
        world.register_removed("game.mana");
        world.insert_resource(Points(0));
        world.insert_resource(Season(7));
        SaveRules::of(&mut world)
            .save(Codec::<Points>::plain())
            .save(Codec::<Call>::plain())
            .save(Codec::<Turns>::plain())
            .save_part(Codec::plain(), |it: &Season| it.0, |season, it: u64, _| season.0 = it)
            .renamed::<Points>("schedule::migration::then::Score")
            .renamed::<Call>("schedule::migration::then::Shout")
            .renamed::<Turns>("schedule::migration::then::Runs")
            .added::<Hunger, Ant>()
            .migrate("points count double", |world| {
                world.resource_mut::<Points>().expect("there").0 *= 2;
            });
        let schedule = Schedule::builder().add((hear, work).chain()).build(&mut world);
        (world, schedule.expect("in order"))
    }
}

/// A save in which the systems have the names of today: a function cannot have two.
fn with_systems_renamed(save: &Save) -> Save {
    let mut bytes = save.to_bytes();
    for (old, new) in [(b"then::hear", b"next::hear"), (b"then::work", b"next::work")] {
        let at = bytes.windows(old.len()).position(|window| window == old).expect("it is there");
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    let mut hasher = StateHasher::new();
    hasher.write(&bytes[32..]);
    hasher.write_u64(bytes.len() as u64 - 32);
    bytes[24..32].copy_from_slice(&hasher.finish().to_le_bytes());
    Save::from_bytes(&bytes).expect("nothing else has changed")
}

/// The game in the file, which is what this version writes as well.
fn stored() -> Save {
    let path = format!("{}/tests/schedule/saves/plain-1.save", env!("CARGO_MANIFEST_DIR"));
    let made = then::save();
    if std::env::var_os("FORMIC_WRITE_SAVES").is_some() {
        made.write(&path).expect("a folder that can be written to");
    }
    let read = Save::read(path).expect("it stays in the repository");
    assert_eq!(read, made);
    with_systems_renamed(&read)
}

#[test]
fn a_save_of_an_earlier_game_goes_on_in_one_where_everything_has_another_name() {
    let (mut world, mut schedule) = next::build();
    let report = stored().load(&mut world, &mut schedule).expect("it says what has changed");
    world.check().expect("in order");
    assert_eq!(report.migrated, ["game.hunger", "points count double"]);
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    for part in [
        "the component game.mana, of 4 entities: dropped",
        "the resource Weather: dropped",
        "the resource Season: as the game was built",
        // What a query of other types has seen is not known: all is new to it.
        "QueryPlan<&mut Worker> of the system next::work: dropped",
        "QueryPlan<&mut Ant> of the system next::work: as the game was built",
        "game.hunger: the save is from before it",
        "points count double: the save is from before it",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(part)), "{part} in\n{text}");
    }
    // 1 + 2 + 3 + 4 was heard before, and counts double; 5 lies there to be heard.
    assert_eq!((schedule.tick(), world.resource::<next::Points>().unwrap().0), (5, 20));
    let ants = |world: &mut World| -> Vec<(u64, next::Hunger)> {
        world.query::<(&next::Ant, &next::Hunger)>().map(|(ant, it)| (ant.0, *it)).collect()
    };
    let expected = [15, 16, 17, 115].map(|number| (number, next::Hunger(50)));
    assert_eq!(ants(&mut world), expected);
    let prefabs = world.query_filtered::<&next::Hunger, With<Prefab>>().count();
    assert_eq!((prefabs, world.query::<&next::Hunger>().count()), (1, 4));
    schedule.run(&mut world, &pool(2));
    assert_eq!(world.resource::<next::Points>().unwrap().0, 25);
    assert_eq!(ants(&mut world)[0].0, 15 + 6);

    // What is saved from now on is a save of today.
    let (mut other, mut its_schedule) = next::build();
    let save = Save::of(&world, &schedule).unwrap();
    let report = save.load(&mut other, &mut its_schedule).unwrap();
    assert!(report.is_exact(), "{report}");
    assert_eq!(other.state_hash(), world.state_hash());
}

#[test]
fn a_save_of_a_later_game_says_which_steps_it_went_through() {
    let (mut world, schedule) = next::build();
    SaveRules::of(&mut world).migrate("seasons have names", |_| {});
    let save = Save::of(&world, &schedule).unwrap();
    let (mut world, mut schedule) = next::build();
    let report = save.load(&mut world, &mut schedule).unwrap();
    assert_eq!(report.dropped, ["the migration \"seasons have names\""]);
}

#[test]
fn a_save_with_a_component_that_the_game_does_not_know_is_not_loaded() {
    let (mut world, mut schedule) = next::build();
    let (mut forgetful, mut its_schedule) = {
        let mut world = World::new();
        let schedule = Schedule::builder().build(&mut world).unwrap();
        (world, schedule)
    };
    let error = stored().load(&mut forgetful, &mut its_schedule).unwrap_err();
    let LoadError::World(RestoreError::UnknownComponent { component }) = &error else {
        panic!("{error}");
    };
    assert_eq!(component, "game.mana");
    assert!(format!("{error:?}").contains("World::register_removed(\"game.mana\")"));
    assert!(forgetful.is_empty());
    // A step that fails to migrate is not done to a world that was not loaded.
    SaveRules::of(&mut world).save_part(
        Codec::plain(),
        |it: &next::Points| [it.0; 2],
        |points, it: [u64; 2], _| points.0 = it[1],
    );
    let before = world.state_hash();
    assert!(stored().load(&mut world, &mut schedule).is_err());
    assert_eq!((world.state_hash(), world.resource::<next::Points>().unwrap().0), (before, 0));
}

/// A game with a number, and with these steps.
fn number_game(number: u64, add: impl FnOnce(&mut SaveRules)) -> (World, Schedule) {
    let mut world = World::new();
    world.insert_resource(number);
    add(SaveRules::of(&mut world));
    let schedule = Schedule::builder().build(&mut world).expect("no systems");
    (world, schedule)
}

fn number_of(world: &World) -> u64 {
    *world.resource::<u64>().expect("there")
}

fn change(world: &mut World, change: fn(u64) -> u64) {
    let number = world.resource_mut::<u64>().expect("there");
    *number = change(*number);
}

#[test]
fn steps_go_in_the_order_of_adding_and_one_of_a_known_name_replaces_it_in_its_place() {
    let (world, schedule) = number_game(5, |_| {});
    let save = Save::of(&world, &schedule).unwrap();
    let load = |add: fn(&mut SaveRules)| {
        let (mut world, mut schedule) = number_game(0, add);
        let report = save.load(&mut world, &mut schedule).unwrap();
        (number_of(&world), report.migrated)
    };
    let forth = load(|rules| {
        rules.migrate("b: add", |world| change(world, |it| it + 1));
        rules.migrate("a: double", |world| change(world, |it| it * 2));
    });
    assert_eq!(forth, (12, vec!["b: add".to_owned(), "a: double".into()]));
    let back = load(|rules| {
        rules.migrate("a: double", |world| change(world, |it| it * 2));
        rules.migrate("b: add", |world| change(world, |it| it + 1));
    });
    assert_eq!(back, (11, vec!["a: double".to_owned(), "b: add".into()]));
    let replaced = load(|rules| {
        rules.migrate("first", |world| change(world, |it| it + 1000));
        rules.migrate("second", |world| change(world, |it| it * 2));
        rules.migrate("first", |world| change(world, |it| it + 3));
    });
    assert_eq!(replaced, (16, vec!["first".to_owned(), "second".into()]), "5 and 3, twice");
}

#[test]
fn a_save_goes_through_the_steps_that_it_is_from_before_and_through_each_once() {
    fn old_steps(rules: &mut SaveRules) {
        rules.migrate("two", |world| change(world, |it| it * 2));
    }
    fn all_steps(rules: &mut SaveRules) {
        rules.migrate("one", |world| change(world, |it| it + 1));
        old_steps(rules);
        rules.migrate("three", |world| change(world, |it| it * 10));
    }
    let (world, schedule) = number_game(5, old_steps);
    let save = Save::of(&world, &schedule).unwrap();
    let (mut world, mut schedule) = number_game(0, all_steps);
    let report = save.load(&mut world, &mut schedule).unwrap();
    assert_eq!((number_of(&world), report.migrated.len()), (60, 2), "{report}");
    // What is loaded again, and what is saved now, counts as a game with all steps.
    let again = Save::of(&world, &schedule).unwrap();
    assert!(again.load(&mut world, &mut schedule).unwrap().is_exact());
    assert_eq!(number_of(&world), 60);
    save.load(&mut world, &mut schedule).unwrap();
    assert_eq!(number_of(&world), 60, "from the same old save");
}

#[test]
fn a_step_that_panics_leaves_the_game_loaded_and_those_behind_it_undone() {
    let (mut world, schedule) = number_game(5, |_| {});
    world.spawn_batch((0..3).map(then::Worker));
    let save = Save::of(&world, &schedule).unwrap();
    let (mut world, mut schedule) = number_game(0, |rules| {
        rules
            .migrate("first", |world| change(world, |it| it + 1))
            .migrate("second", |world| {
                change(world, |it| it * 2);
                panic!("planned: a step");
            })
            .migrate("third", |world| change(world, |it| it + 100));
    });
    world.register::<then::Worker>();
    world.spawn(());
    let load = std::panic::AssertUnwindSafe(|| drop(save.load(&mut world, &mut schedule)));
    std::panic::catch_unwind(load).expect_err("the second step panics");
    world.check().expect("in order");
    assert_eq!((number_of(&world), world.query::<&then::Worker>().count()), (12, 3));
    assert_eq!((world.len(), schedule.tick()), (3, 0));
    // The rules are there, and the game can be saved and loaded as any other.
    SaveRules::of(&mut world).migrate("second", |world| change(world, |it| it * 3));
    save.load(&mut world, &mut schedule).unwrap();
    assert_eq!(number_of(&world), 118);
    assert!(
        Save::of(&world, &schedule).unwrap().load(&mut world, &mut schedule).unwrap().is_exact()
    );
}

#[test]
fn names_within_names_are_found_whatever_order_the_rules_are_in() {
    struct Coin;
    struct List<T>(u64, PhantomData<T>);
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    struct Purse(u64);
    struct Penny;
    let (mut world, list) = (World::new(), List::<Coin>(3, PhantomData));
    world.insert_resource(list);
    SaveRules::of(&mut world).save(Codec::<List<Coin>>::custom(
        |list, out| Codec::plain().write(&list.0, out),
        |bytes| Codec::plain().read(bytes).map(|count| List(count, PhantomData)),
    ));
    let schedule = Schedule::builder().build(&mut world).expect("in order");
    let save = Save::of(&world, &schedule).expect("all of it has rules");
    // The order of the rules is that of a hash map, another one each time.
    for _ in 0..20 {
        let mut world = World::new();
        world.insert_resource(Purse(0));
        SaveRules::of(&mut world)
            .save(Codec::<Purse>::plain())
            .rebuild::<Penny>()
            .renamed::<Penny>(type_name::<Coin>())
            .renamed::<Purse>(type_name::<List<Coin>>());
        let mut schedule = Schedule::builder().build(&mut world).expect("in order");
        let report = save.load(&mut world, &mut schedule).expect("it fits");
        assert!(report.dropped.is_empty(), "{report}");
        assert_eq!(world.resource::<Purse>().expect("it is there").0, 3);
    }
}

#[test]
fn a_name_that_two_types_have_or_had_is_refused() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let refused = |act: fn(&mut SaveRules)| {
        let mut rules = SaveRules::default();
        catch_unwind(AssertUnwindSafe(|| act(&mut rules))).is_err()
    };
    assert!(refused(|rules| _ = rules.renamed::<u32>("u64")));
    assert!(refused(|rules| _ = rules.renamed::<u32>("old").renamed::<u64>("old")));
    assert!(refused(|rules| _ = rules.renamed::<u32>("u8").rebuild::<u8>()));
    assert!(!refused(|rules| _ = rules.renamed::<u32>("old").renamed::<u32>("older")));
}
