//! Saved games: one that is loaded goes on as it would have gone on, or nothing of it is loaded.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_ecs::{Codec, CodecError};
use formic_jobs::prelude::*;
use formic_jobs::{LoadError, MalformedSave, Reason, Save, SaveError, SaveRules};

#[derive(Component, Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked)]
#[repr(C)]
pub(crate) struct Gold(pub(crate) u64);
/// How often a system reacted to the entity.
#[derive(Component, Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Seen(pub(crate) u64);

/// What every system writes something into.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Diary(u64);

impl Diary {
    fn note(&mut self, what: u64) {
        self.0 = (self.0.rotate_left(7) ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Weather(u64);
#[derive(Clone, Copy, Debug)]
struct Coin(u64);
/// A cache that is made from what it is asked.
#[derive(Default)]
struct Squares(Vec<u64>);

fn mint(
    mut all: Query<(Entity, &mut Gold)>,
    mut runs: Local<u64>,
    mut coins: EventWriter<Coin>,
    mut weather: ResMut<Weather>,
) {
    *runs += 1;
    let runs = *runs;
    for (entity, gold) in &mut all {
        if (u64::from(entity.index()) + runs) % 5 == 0 {
            gold.0 += runs;
            coins.send(Coin(gold.0));
        }
    }
    if runs % 4 == 0 {
        weather.0 += 1;
    }
}

fn hear(mut coins: EventReader<Coin>, mut diary: ResMut<Diary>) {
    coins.read().for_each(|coin| diary.note(coin.0));
}

/// Reads two events at a time: what it leaves is there in the next run, and is missed after that.
fn hear_some(mut coins: EventReader<Coin>, mut diary: ResMut<Diary>) {
    coins.read().take(2).for_each(|coin| diary.note(coin.0));
    diary.note(coins.missed());
}

fn react(mut changed: Query<&mut Seen, Changed<Gold>>) {
    changed.par_for_each(|seen| seen.0 += 1);
}

fn react_in_turns(mut changed: Query<&mut Seen, Changed<Gold>>) {
    changed.for_each(|seen| seen.0 += 1_000);
}

fn weather_changed(mut diary: ResMut<Diary>) {
    diary.note(1);
}

fn coins_were_minted(mut diary: ResMut<Diary>) {
    diary.note(2);
}

fn square(mut squares: Local<Squares>, mut diary: ResMut<Diary>) {
    let next = squares.0.len() as u64;
    squares.0.push(next * next);
    diary.note(squares.0[squares.0.len() / 2] & 1);
}

fn breed(mut commands: Commands, mut diary: ResMut<Diary>) {
    diary.note(3);
    commands.spawn((Gold(diary.0 % 100), Seen(0)));
}

fn of_the_whole_world(world: &mut World, mut runs: Local<u64>) {
    *runs += 1;
    let (runs, count) = (*runs, world.len() as u64);
    world.resource_mut::<Diary>().unwrap().note(runs ^ count);
}

fn build() -> (World, Schedule) {
    let mut world = World::new();
    world.register::<Gold>();
    world.register::<Seen>();
    world.insert_resource(Diary::default());
    world.insert_resource(Weather::default());
    world.insert_resource(String::from("made from a file"));
    SaveRules::of(&mut world)
        .save_part(Codec::plain(), |diary: &Diary| diary.0, |diary, it: u64, _| diary.0 = it)
        .save_part(
            Codec::plain(),
            |weather: &Weather| weather.0,
            |weather, it: u64, _| weather.0 = it,
        )
        .save_part(
            Codec::plain(),
            |it: &Squares| it.0.len() as u64,
            |it, len: u64, _| {
                it.0 = (0..len).map(|number| number * number).collect();
            },
        )
        .save(Codec::<Coin>::custom(
            |coin, bytes| Codec::plain().write(&coin.0, bytes),
            |bytes| Codec::plain().read(bytes).map(Coin),
        ))
        .rebuild::<String>();
    let schedule = Schedule::builder()
        .add(mint.every(2).phase(1))
        .add(hear)
        .add(hear_some.every(3))
        .add(react.every(3))
        .add(react_in_turns.every(4).staggered())
        .add(weather_changed.run_if(resource_changed::<Weather>()))
        .add(coins_were_minted.run_if(on_event::<Coin>().and(resource_changed::<Weather>().not())))
        .add(square)
        .add(breed.every(7).phase(2).after(square))
        .add(of_the_whole_world)
        .build(&mut world)
        .unwrap();
    (world, schedule)
}

pub(crate) fn begin() -> (World, Schedule) {
    let (mut world, schedule) = build();
    world.spawn_batch((0..50).map(|number| (Gold(number), Seen(0))));
    (world, schedule)
}

fn hash(world: &World) -> (u64, u64, u64) {
    let resource = |id| world.resource_types().find(|it| it.0 == id).map_or(0, |it| it.2);
    let changed = resource(std::any::TypeId::of::<Weather>());
    (world.state_hash().value(), world.resource::<Diary>().unwrap().0, changed)
}

#[test]
fn a_game_that_is_saved_at_any_tick_goes_on_the_same_on_any_number_of_threads() {
    let one = pool(0);
    let (mut world, mut schedule) = begin();
    let mut hashes = vec![hash(&world)];
    let mut saves = vec![Save::of(&world, &schedule).unwrap()];
    for _ in 0..45 {
        schedule.run(&mut world, &one);
        hashes.push(hash(&world));
        saves.push(Save::of(&world, &schedule).unwrap());
    }
    let pools: Vec<_> = pools().collect();
    for (tick, save) in saves.iter().enumerate().take(30) {
        let read = Save::from_bytes(&save.to_bytes()).unwrap();
        assert_eq!(&read, save);
        let (mut other, mut its_schedule) = build();
        let report = read.load(&mut other, &mut its_schedule).unwrap();
        assert!(report.is_exact(), "{report}");
        assert_eq!(its_schedule.tick(), tick as u64);
        for later in tick..=tick + 15 {
            assert_eq!(hash(&other), hashes[later], "tick {later} of a game saved at {tick}");
            // What is saved of a loaded game is what would have been saved of the other.
            let again = Save::of(&other, &its_schedule).unwrap();
            assert_eq!(again, saves[later], "tick {later} of a game saved at {tick}");
            its_schedule.run(&mut other, &pools[later % pools.len()]);
        }
    }
}

#[test]
fn no_system_of_a_loaded_game_is_said_to_have_missed_its_turn() {
    let (mut world, mut schedule) = begin();
    let pool = pool(0);
    let save = Save::of(&world, &schedule).unwrap();
    (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
    let later = Save::of(&world, &schedule).unwrap();
    for save in [save, later] {
        save.load(&mut world, &mut schedule).unwrap();
        for explained in schedule.explain_all().0 {
            assert_eq!((explained.tick, explained.reason), (None, Reason::NeverRun));
        }
        schedule.step(&mut world, &pool);
        let tick = save.tick();
        let all = schedule.explain_all().0;
        assert!(all.iter().all(|it| it.tick == tick && it.reason != Reason::NeverRun));
        schedule.run(&mut world, &pool);
    }
}

#[test]
fn a_game_goes_back_to_what_it_was_in_the_same_world() {
    let (mut world, mut schedule) = begin();
    let pool = pool(0);
    (0..7).for_each(|_| drop(schedule.run(&mut world, &pool)));
    let save = Save::of(&world, &schedule).unwrap();
    let mut next = || {
        (0..9).for_each(|_| drop(schedule.run(&mut world, &pool)));
        let hash = hash(&world);
        save.load(&mut world, &mut schedule).unwrap();
        hash
    };
    let first = next();
    assert_eq!([next(), next()], [first, first]);
}

#[test]
fn everything_that_cannot_be_saved_is_listed_with_a_remedy() {
    #[derive(Component)]
    struct Socket;
    impl Component for Wire {
        const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
    }
    struct Wire(#[expect(dead_code, reason = "it has bytes")] u8);
    struct Map;
    #[derive(Clone)]
    struct Bang;
    #[derive(Default)]
    struct Memory;
    fn use_all(_memory: Local<Memory>, _bangs: EventWriter<Bang>, _map: Res<Map>) {}

    let mut world = World::new();
    world.insert_resource(Map);
    world.spawn((Socket, Wire(1)));
    let schedule = Schedule::builder().add(use_all).build(&mut world).unwrap();
    let error = Save::of(&world, &schedule).unwrap_err();
    let text = error.to_string();
    assert_eq!(format!("{error:?}"), text, "as `main` prints it");
    let SaveError::Unsaved(all) = error else { panic!("{text}") };
    let named: Vec<&str> = all.iter().map(|it| it.what.rsplit("::").next().unwrap()).collect();
    assert_eq!(named.len(), 4, "{text}");
    for (part, remedy) in [
        ("Wire", "#[component(serde)]"),
        ("the resource Map", ".rebuild::<Map>()"),
        ("events of Bang", ".rebuild::<Bang>()"),
        ("Local<Memory> of the system", ".rebuild::<Memory>()"),
    ] {
        let it = all.iter().find(|it| it.what.contains(part)).unwrap_or_else(|| panic!("{text}"));
        assert!(it.remedy.contains(remedy), "{text}");
    }
    SaveRules::of(&mut world).rebuild::<Map>().rebuild::<Bang>().rebuild::<Memory>();
    world.clear();
    Save::of(&world, &schedule).unwrap();
}

#[test]
fn values_that_their_codecs_cannot_write_are_listed() {
    #[derive(Default)]
    struct Odd(u64);
    /// Cannot write odd numbers.
    fn codec() -> Codec<Odd> {
        Codec::custom(
            |odd, bytes| match odd.0 % 2 {
                0 => Codec::plain().write(&odd.0, bytes),
                _ => Err(CodecError),
            },
            |bytes| Codec::plain().read(bytes).map(Odd),
        )
    }
    fn count(mut runs: Local<Odd>, mut all: ResMut<Odd>, mut odds: EventWriter<Odd>) {
        runs.0 += 1;
        all.0 += 1;
        odds.send(Odd(runs.0));
    }
    let mut world = World::new();
    world.insert_resource(Odd(0));
    SaveRules::of(&mut world).save(codec());
    let mut schedule = Schedule::builder().add(count).build(&mut world).unwrap();
    Save::of(&world, &schedule).unwrap();
    schedule.run(&mut world, &pool(0));
    let SaveError::Unsaved(all) = Save::of(&world, &schedule).unwrap_err() else { panic!() };
    let texts: Vec<String> = all.iter().map(|it| format!("{}: {}", it.what, it.remedy)).collect();
    for part in ["the resource Odd", "events of Odd", "Odd of the system"] {
        let is_it = |text: &&String| text.contains(part) && text.contains("failed to write");
        assert_eq!(texts.iter().filter(is_it).count(), 1, "{part}: {texts:?}");
    }
    assert_eq!(texts.len(), 3, "{texts:?}");
}

/// They have not aged since.
#[test]
fn events_that_a_system_sent_between_two_runs_are_read_in_the_loaded_game() {
    let send = |world: &mut World| {
        for number in [3, 5] {
            world
                .run_system(&pool(0), move |mut coins: EventWriter<Coin>| coins.send(Coin(number)));
        }
    };
    let (mut world, mut schedule) = begin();
    schedule.run(&mut world, &pool(0));
    send(&mut world);
    let save = Save::of(&world, &schedule).unwrap();
    let (mut other, mut its_schedule) = build();
    save.load(&mut other, &mut its_schedule).unwrap();
    assert_eq!(Save::of(&other, &its_schedule).unwrap(), save);
    let (mut silent, mut last_schedule) = begin();
    last_schedule.run(&mut silent, &pool(0));
    for run in 0..4 {
        schedule.run(&mut world, &pool(0));
        its_schedule.run(&mut other, &pool(0));
        last_schedule.run(&mut silent, &pool(0));
        assert_eq!(hash(&other), hash(&world), "run {run}");
        assert_ne!(hash(&silent).1, hash(&world).1, "they are read");
        send(&mut world);
        send(&mut other);
    }
}

/// A resource of events is the schedule's, but a game may take it out.
#[test]
fn events_that_were_taken_out_are_not_there_in_the_loaded_game() {
    let (mut world, mut schedule) = begin();
    schedule.run(&mut world, &pool(0));
    schedule.run(&mut world, &pool(0));
    assert!(!world.resource::<Events<Coin>>().unwrap().is_empty());
    drop(world.remove_resource::<Events<Coin>>().expect("some were sent"));
    let save = Save::of(&world, &schedule).unwrap();
    let (mut other, mut its_schedule) = build();
    save.load(&mut other, &mut its_schedule).unwrap();
    assert!(other.resource::<Events<Coin>>().is_err());
}

#[test]
fn no_byte_of_a_save_can_be_changed_without_being_noticed() {
    let (mut world, mut schedule) = begin();
    schedule.run(&mut world, &pool(0));
    let bytes = Save::of(&world, &schedule).unwrap().to_bytes();
    assert_eq!(Save::from_bytes(b"a picture of a cat"), Err(MalformedSave::NotASave));
    assert_eq!(Save::from_bytes(b""), Err(MalformedSave::NotASave));
    let mut altered = bytes.clone();
    for place in (0..bytes.len()).step_by(3) {
        altered[place] ^= 1 << (place % 8);
        assert!(Save::from_bytes(&altered).is_err(), "byte {place}");
        altered[place] = bytes[place];
    }
    for len in (0..bytes.len()).step_by(17) {
        assert!(Save::from_bytes(&bytes[..len]).is_err(), "{len} bytes");
    }
    altered.push(0);
    assert_eq!(Save::from_bytes(&altered), Err(MalformedSave::WrongLength));
}

/// A game that counts with all that a save has, and never overflows by itself.
fn counting_game() -> (World, Schedule) {
    fn mint(mut coins: EventWriter<Coin>) {
        coins.send(Coin(1));
    }
    fn hear_one(mut coins: EventReader<Coin>) {
        assert!(coins.read().take(1).count() <= 1);
    }
    fn change(mut all: Query<&mut Gold>) {
        all.for_each(|gold| gold.0 = gold.0.wrapping_add(1));
    }
    fn see(mut changed: Query<&mut Seen, Changed<Gold>>, mut runs: Local<u64>) {
        *runs = runs.wrapping_add(1);
        changed.for_each(|seen| seen.0 = seen.0.wrapping_add(1));
    }
    fn nothing() {}
    let mut world = World::new();
    world.register::<Gold>();
    world.register::<Seen>();
    world.insert_resource(7_u32);
    SaveRules::of(&mut world).save(Codec::<Coin>::custom(
        |coin, bytes| Codec::plain().write(&coin.0, bytes),
        |bytes| Codec::plain().read(bytes).map(Coin),
    ));
    let schedule = Schedule::builder()
        .add(mint.every(2).phase(1))
        .add((hear_one, change, see))
        .add(see.every(3).staggered())
        .add(nothing.run_if(resource_changed::<u32>().or(on_event::<Coin>())))
        .build(&mut world)
        .unwrap();
    (world, schedule)
}

#[test]
fn whatever_numbers_a_save_has_it_is_refused_or_its_game_goes_on() {
    let pool = pool(0);
    let (mut world, mut schedule) = counting_game();
    world.spawn_batch((0..3).map(|number| (Gold(number), Seen(0))));
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool)));
    let bytes = Save::of(&world, &schedule).unwrap().to_bytes();
    let mut loaded = 0;
    for at in (32..bytes.len() - 8).step_by(if cfg!(miri) { 97 } else { 1 }) {
        for number in [0, u64::MAX - 1, u64::MAX] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            let mut hasher = formic_ecs::StateHasher::new();
            hasher.write(&bytes[32..]);
            hasher.write_u64(bytes.len() as u64 - 32);
            bytes[24..32].copy_from_slice(&hasher.finish().to_le_bytes());
            let Ok(save) = Save::from_bytes(&bytes) else { continue };
            let (mut world, mut schedule) = counting_game();
            if save.load(&mut world, &mut schedule).is_ok() {
                loaded += 1;
                (0..4).for_each(|_| drop(schedule.run(&mut world, &pool)));
                world.check().unwrap();
            }
        }
    }
    assert!(loaded > 20, "{loaded}");
}

#[test]
fn nothing_is_loaded_of_a_save_that_does_not_fit() {
    /// As the other diary, of another size.
    fn spoil(world: &mut World) {
        SaveRules::of(world).save_part(
            Codec::plain(),
            |weather: &Weather| [weather.0; 2],
            |weather, it: [u64; 2], _| weather.0 = it[1],
        );
    }
    fn spoil_local(world: &mut World) {
        SaveRules::of(world).save_part(
            Codec::plain(),
            |_: &Squares| 1_u8,
            |it, _: u8, _| it.0.clear(),
        );
    }
    let (mut world, mut schedule) = begin();
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
    let save = Save::of(&world, &schedule).unwrap();
    for spoil in [spoil, spoil_local] {
        let (mut other, mut its_schedule) = build();
        spoil(&mut other);
        other.spawn((Gold(3), Seen(4)));
        (0..2).for_each(|_| drop(its_schedule.run(&mut other, &pool(0))));
        let before = (hash(&other), Save::of(&other, &its_schedule).unwrap());
        let error = save.load(&mut other, &mut its_schedule).unwrap_err();
        assert!(matches!(error, LoadError::InvalidValue { .. }), "{error}");
        assert_eq!((hash(&other), Save::of(&other, &its_schedule).unwrap()), before);
    }
}

#[test]
fn what_comes_and_goes_between_versions_of_a_game_is_reported() {
    #[derive(Default)]
    struct New(u64);
    fn count(mut runs: Local<u64>, mut new: ResMut<New>) {
        *runs += 1;
        new.0 += *runs;
    }
    let (mut world, mut schedule) = begin();
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
    let save = Save::of(&world, &schedule).unwrap();

    let mut world = World::new();
    world.register::<Gold>();
    world.register::<Seen>();
    world.insert_resource(New(7));
    world.insert_resource(Weather(0));
    SaveRules::of(&mut world)
        .save_part(Codec::plain(), |new: &New| new.0, |new, it: u64, _| new.0 = it)
        .save_part(
            Codec::plain(),
            |weather: &Weather| weather.0,
            |weather, it: u64, _| weather.0 = it,
        );
    let mut schedule = Schedule::builder().add(count).build(&mut world).unwrap();
    let report = save.load(&mut world, &mut schedule).unwrap();
    assert!(!report.is_exact());
    assert_eq!(world.resource::<New>().unwrap().0, 7, "as it was built");
    assert_eq!(world.len(), 51);
    let text = report.to_string();
    for part in
        ["the resource New: as", "count: as", "the resource Diary: dropped", "events of Coin"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    schedule.run(&mut world, &pool(0));
    assert_eq!(schedule.tick(), 6);
}

#[test]
fn a_save_is_of_whole_ticks_and_of_the_schedule_of_its_world() {
    let (mut world, mut schedule) = begin();
    let (mut other, mut its_schedule) = begin();
    let save = Save::of(&world, &schedule).unwrap();
    assert_eq!(Save::of(&world, &its_schedule), Err(SaveError::OtherWorld));
    assert_eq!(save.load(&mut other, &mut schedule), Err(LoadError::OtherWorld));
    schedule.step(&mut world, &pool(0));
    assert_eq!(Save::of(&world, &schedule), Err(SaveError::MiddleOfRun));
    assert_eq!(save.load(&mut world, &mut schedule), Err(LoadError::MiddleOfRun));
    schedule.run(&mut world, &pool(0));
    save.load(&mut other, &mut its_schedule).unwrap();
}

#[test]
fn a_resource_that_was_taken_out_is_not_there_in_the_loaded_game() {
    let (mut world, schedule) = begin();
    world.remove_resource::<Weather>();
    let save = Save::of(&world, &schedule).unwrap();
    let (mut other, mut its_schedule) = build();
    save.load(&mut other, &mut its_schedule).unwrap();
    assert!(other.resource::<Weather>().is_err());
}

/// A resource that is saved as a whole, not put into one that is there.
#[test]
fn a_resource_has_changed_in_a_loaded_game_when_it_had_in_the_saved_one() {
    fn count(mut diary: ResMut<Diary>) {
        diary.0 += 1;
    }
    let build = || {
        let mut world = World::new();
        world.insert_resource(7_u64);
        world.insert_resource(Diary::default());
        SaveRules::of(&mut world).save(Codec::<u64>::plain()).save_part(
            Codec::plain(),
            |diary: &Diary| diary.0,
            |diary, it: u64, _| diary.0 = it,
        );
        let system = count.run_if(resource_changed::<u64>());
        let schedule = Schedule::builder().add(system).build(&mut world).unwrap();
        (world, schedule)
    };
    let (mut world, mut schedule) = build();
    for written in [true, false] {
        (0..3).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
        if written {
            *world.resource_mut::<u64>().unwrap() = 8;
        }
        let (mut other, mut its_schedule) = build();
        let save = Save::of(&world, &schedule).unwrap();
        save.load(&mut other, &mut its_schedule).unwrap();
        let before = other.resource::<Diary>().unwrap().0;
        (0..3).for_each(|_| drop(its_schedule.run(&mut other, &pool(0))));
        let after = other.resource::<Diary>().unwrap().0;
        assert_eq!(after - before, u64::from(written), "{before} before, {after} after");
    }
}

#[test]
fn the_host_can_attach_things_of_its_own() {
    let (world, schedule) = begin();
    let mut save = Save::of(&world, &schedule).unwrap();
    save.attach("level", *b"7");
    save.attach("level", *b"8");
    let read = Save::from_bytes(&save.to_bytes()).unwrap();
    assert_eq!(read.attached("level"), Some(&b"8"[..]));
    assert_eq!(read.attached("mood"), None);
}

/// Systems ask what they find, and write it where the test sees it.
#[test]
fn what_is_rebuilt_stays_as_it_is() {
    struct Picture(&'static str, usize);
    struct Cache(u64);
    impl Default for Cache {
        fn default() -> Self {
            Self(10)
        }
    }
    fn draw(mut picture: ResMut<Picture>, mut cache: Local<Cache>, mut runs: Local<u64>) {
        *runs += 1;
        cache.0 += 1;
        picture.1 = usize::try_from(cache.0 * 100 + *runs).unwrap();
    }
    let build = |name| {
        let mut world = World::new();
        world.insert_resource(Picture(name, 0));
        SaveRules::of(&mut world).rebuild::<Picture>().rebuild::<Cache>();
        let schedule = Schedule::builder().add(draw).build(&mut world).unwrap();
        (world, schedule)
    };
    let seen = |world: &World| {
        let picture = world.resource::<Picture>().unwrap();
        (picture.0, picture.1)
    };
    let (mut world, mut schedule) = build("then");
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
    assert_eq!(seen(&world), ("then", 1505));
    let save = Save::of(&world, &schedule).unwrap();

    let (mut other, mut its_schedule) = build("now");
    save.load(&mut other, &mut its_schedule).unwrap();
    assert_eq!(seen(&other), ("now", 0));
    its_schedule.run(&mut other, &pool(0));
    assert_eq!(seen(&other), ("now", 1106), "the cache is new, the number of runs is not");
    // In the game that was saved as well: what it has by now stays.
    (0..2).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
    save.load(&mut world, &mut schedule).unwrap();
    assert_eq!(seen(&world), ("then", 1707));
    schedule.run(&mut world, &pool(0));
    assert_eq!(seen(&world), ("then", 1806));
    // One that was not there when the game was saved, and one that is not there now.
    let without = {
        let (mut world, schedule) = build("then");
        world.remove_resource::<Picture>();
        Save::of(&world, &schedule).unwrap()
    };
    without.load(&mut world, &mut schedule).unwrap();
    assert_eq!(seen(&world), ("then", 1806));
    world.remove_resource::<Picture>();
    save.load(&mut world, &mut schedule).unwrap();
    assert!(world.resource::<Picture>().is_err());
}

#[test]
fn a_panic_of_a_codec_while_a_game_is_loaded_leaves_world_schedule_and_rules() {
    static PANICS: AtomicBool = AtomicBool::new(false);
    let (mut world, mut schedule) = begin();
    // Coins were minted in the last one.
    (0..4).for_each(|_| drop(schedule.run(&mut world, &pool(0))));
    let save = Save::of(&world, &schedule).unwrap();
    let (mut other, mut its_schedule) = build();
    SaveRules::of(&mut other).save::<Coin>(Codec::custom(
        |coin, bytes| Codec::plain().write(&coin.0, bytes),
        |bytes| {
            assert!(!PANICS.load(Ordering::Relaxed), "planned: a codec");
            Codec::plain().read(bytes).map(Coin)
        },
    ));
    (0..2).for_each(|_| drop(its_schedule.run(&mut other, &pool(0))));
    let before = (hash(&other), Save::of(&other, &its_schedule).unwrap());
    PANICS.store(true, Ordering::Relaxed);
    let load = std::panic::AssertUnwindSafe(|| drop(save.load(&mut other, &mut its_schedule)));
    std::panic::catch_unwind(load).expect_err("there are coins in it");
    assert_eq!((hash(&other), Save::of(&other, &its_schedule).unwrap()), before);
    PANICS.store(false, Ordering::Relaxed);
    save.load(&mut other, &mut its_schedule).unwrap();
    assert_eq!(hash(&other), hash(&world));
}

#[test]
fn a_panic_of_the_drop_of_a_resource_that_is_replaced_leaves_the_loaded_one() {
    struct Grumpy(u64);
    impl Drop for Grumpy {
        fn drop(&mut self) {
            assert!(self.0 != 1, "planned: a drop");
        }
    }
    let game = |value| {
        let mut world = World::new();
        world.insert_resource(Grumpy(value));
        let codec = Codec::custom(
            |it: &Grumpy, bytes| Codec::plain().write(&it.0, bytes),
            |bytes| Codec::plain().read(bytes).map(Grumpy),
        );
        SaveRules::of(&mut world).save::<Grumpy>(codec);
        let schedule = Schedule::builder().build(&mut world).unwrap();
        (world, schedule)
    };
    let (world, schedule) = game(2);
    let save = Save::of(&world, &schedule).unwrap();
    let (mut other, mut its_schedule) = game(1);
    let load = std::panic::AssertUnwindSafe(|| drop(save.load(&mut other, &mut its_schedule)));
    std::panic::catch_unwind(load).expect_err("the one before is dropped");
    assert_eq!(other.resource::<Grumpy>().unwrap().0, 2);
    save.load(&mut other, &mut its_schedule).unwrap();
}
