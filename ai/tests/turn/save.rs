//! Turns that were saved and loaded go on as if nothing had been.

use formic_ai::turn::{Decision, TurnLimits, Turns, TurnsSaveError, Vacant, unseen};
use formic_ecs::prelude::*;
use formic_ecs::{Codec, CodecError, Snapshot};

use crate::game::{Deed, Health, Lit, Position, bare, populate, put};

/// Decisions as their text.
const DEEDS: Codec<Deed> = Codec::custom(
    |deed, out| {
        out.extend(deed.to_string().bytes());
        Ok(())
    },
    |bytes| {
        let text = std::str::from_utf8(bytes).map_err(|_| CodecError)?;
        *bytes = &[];
        text.parse().map_err(|_| CodecError)
    },
);

/// A world of the same components, restored, and turns that go on in it.
fn loaded(world: &World, turns: &Turns<Deed>) -> (World, Turns<Deed>) {
    let bytes = turns.save(DEEDS).expect("all of it can be saved");
    let snapshot = world.snapshot().expect("all of it can be saved").as_bytes().to_vec();
    let mut other = World::new();
    populate(&mut other, 99, 3);
    let mut its_turns = few_undone().build(&mut other).unwrap();
    other.restore(&Snapshot::from_bytes(snapshot).unwrap()).unwrap();
    its_turns.load(&other, DEEDS, &bytes).expect("it was just saved");
    (other, its_turns)
}

/// Few turns can be undone, so that the gone are despawned and their handles come again; few are
/// vacant, so that more are made.
fn few_undone() -> formic_ai::turn::TurnsBuilder<Deed> {
    bare().limits(TurnLimits { undo: 6, ..TurnLimits::default() }).vacancies(2)
}

/// A turn, or a few taken back.
fn live(world: &mut World, turns: &mut Turns<Deed>, number: u64) {
    if number % 7 == 6 {
        for _ in 0..number % 4 {
            // As many as are remembered.
            _ = turns.undo(world);
        }
    } else if number % 11 == 3 {
        if let Some(first) = turns.now(world).entities_with::<Position>().first() {
            turns.schedule(*first, number % 5);
        }
    } else {
        turns.act(world, Deed::Anything(number), unseen);
    }
}

#[test]
fn saved_turns_go_on_with_the_same_handles_also_when_turns_are_taken_back() {
    let (seeds, length) = if cfg!(miri) { (1, 12) } else { (6, 90) };
    for seed in 0..seeds {
        let mut world = World::new();
        populate(&mut world, seed, 6);
        let mut turns = few_undone().build(&mut world).unwrap();
        for before in 0..length {
            live(&mut world, &mut turns, seed * 1000 + before);
            if before % 13 != 5 {
                continue;
            }
            let (mut other, mut its_turns) = loaded(&world, &turns);
            let mut here = loaded(&world, &turns);
            for after in 0..length {
                let number = seed * 1000 + 500 + after;
                live(&mut other, &mut its_turns, number);
                live(&mut here.0, &mut here.1, number);
                let which = format!("seed {seed}, saved after {before}, {after} later");
                // With all handles, also of those that are vacant or gone.
                assert_eq!(other.state_hash(), here.0.state_hash(), "{which}");
                assert_eq!(its_turns.state_hash(&other), here.1.state_hash(&here.0), "{which}");
                assert_eq!(its_turns.cells().check(&other), Ok(()), "{which}");
            }
        }
    }
}

#[test]
fn a_game_goes_on_beside_its_loaded_twin() {
    let (seeds, length) = if cfg!(miri) { (1, 10) } else { (6, 60) };
    for seed in 0..seeds {
        let mut world = World::new();
        populate(&mut world, seed, 6);
        let mut turns = few_undone().build(&mut world).unwrap();
        (0..seed + 9).for_each(|number| live(&mut world, &mut turns, number));
        let (mut other, mut its_turns) = loaded(&world, &turns);
        assert_eq!(its_turns.log(), turns.log());
        for number in 100..100 + length {
            live(&mut world, &mut turns, number);
            live(&mut other, &mut its_turns, number);
            assert_eq!(other.state_hash(), world.state_hash(), "seed {seed}, turn {number}");
            assert_eq!(its_turns.save(DEEDS), turns.save(DEEDS), "seed {seed}, turn {number}");
        }
    }
}

#[test]
fn a_loaded_game_can_be_undone_as_far_as_the_saved_one() {
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Lit]);
    world.set_enabled::<Lit>(who, false).unwrap();
    let mut turns = few_undone().build(&mut world).unwrap();
    for _ in 0..8 {
        turns.act(&mut world, Deed::Walk(who, 1, 0), unseen);
    }
    turns.act(&mut world, Deed::Anything(3), unseen);
    let (mut other, mut its_turns) = loaded(&world, &turns);
    let mut count = 0;
    while its_turns.undo(&mut other).is_some() {
        turns.undo(&mut world).unwrap();
        assert_eq!(its_turns.state_hash(&other), turns.state_hash(&world));
        count += 1;
    }
    assert_eq!((count, turns.undo(&mut world)), (6, None));
}

#[test]
fn bytes_that_are_not_those_of_turns_change_nothing() {
    let mut world = World::new();
    populate(&mut world, 5, 6);
    let mut turns = few_undone().build(&mut world).unwrap();
    (0..20).for_each(|number| live(&mut world, &mut turns, number));
    let bytes = turns.save(DEEDS).unwrap();
    for length in (0..bytes.len()).step_by(if cfg!(miri) { 97 } else { 1 }) {
        assert!(turns.load(&world, DEEDS, &bytes[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(
        turns.load(&world, DEEDS, &[&bytes[..], &[0]].concat()),
        Err(TurnsSaveError::Malformed)
    );
    assert_eq!(turns.save(DEEDS), Ok(bytes.clone()));
    // Altered ones are refused, or are another game: never a panic, and never much memory.
    for place in (0..bytes.len()).step_by(if cfg!(miri) { 97 } else { 3 }) {
        let mut altered = bytes.clone();
        altered[place] ^= 0xFF;
        let mut other = few_undone().build(&mut World::new()).unwrap();
        drop(other.load(&world, DEEDS, &altered));
    }
}

/// The bytes with the number after each use of a key as large as can be.
fn with_highest<'b>(bytes: &'b [u8], key: &str) -> impl Iterator<Item = Vec<u8>> + use<'b> {
    let key = key.as_bytes().to_vec();
    let places = (0..bytes.len()).filter(move |&at| bytes[at..].starts_with(&key));
    let places: Vec<usize> = places.map(|at| at + key_len(bytes, at)).collect();
    places.into_iter().map(|at| {
        let len = match bytes[at] & 0x1F {
            24 => 2,
            25 => 3,
            26 => 5,
            27 => 9,
            _ => 1,
        };
        let highest = [0x1B].into_iter().chain([u8::MAX; 8]);
        bytes[..at].iter().copied().chain(highest).chain(bytes[at + len..].to_vec()).collect()
    })
}

/// The length of the key at this place, which is before its first byte.
fn key_len(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at - 1] & 0x1F)
}

#[test]
fn no_bytes_make_turns_that_panic_later() {
    let mut world = World::new();
    populate(&mut world, 5, 6);
    let mut turns = few_undone().build(&mut world).unwrap();
    (0..20).for_each(|number| live(&mut world, &mut turns, number));
    let snapshot = world.snapshot().unwrap();
    let bytes = turns.save(DEEDS).unwrap();
    let keys = ["clock", "vacant_next", "sequence", "stamp", "forgotten", "journal_start", "time"];
    let highest: Vec<_> = keys.into_iter().flat_map(|key| with_highest(&bytes, key)).collect();
    let flips = (0..bytes.len() * 8).step_by(if cfg!(miri) { 997 } else { 7 }).map(|bit| {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        altered
    });
    let mut loaded = 0;
    for altered in highest.into_iter().chain(flips) {
        world.restore(&snapshot).unwrap();
        let mut its_turns = few_undone().build(&mut world).unwrap();
        world.restore(&snapshot).unwrap();
        if its_turns.load(&world, DEEDS, &altered).is_err() {
            continue;
        }
        loaded += 1;
        for number in 0..6 {
            live(&mut world, &mut its_turns, number);
        }
        its_turns.reserve(&mut world, 2);
        while its_turns.undo(&mut world).is_some() {}
        live(&mut world, &mut its_turns, 3);
        live(&mut world, &mut its_turns, 14);
    }
    assert!(loaded > 100, "{loaded} loaded");
}

#[test]
fn a_vacant_entity_may_have_any_number() {
    let mut world = World::new();
    let mut turns = bare().vacancies(1).build(&mut world).unwrap();
    let highest = Vacant::CODEC.read(&mut &[u8::MAX; 8][..]).unwrap();
    world.query::<&mut Vacant>().for_each(|vacant| *vacant = highest);
    turns.rebuild(&world);
    for _ in 0..2 {
        assert_eq!(turns.act(&mut world, Deed::Bring(0, 0), unseen).decision, Decision::Accepted);
    }
}

#[test]
fn a_component_that_the_turns_were_not_told_of_is_named() {
    // Nothing is said of `Health`.
    let build = || Turns::<Deed>::builder().position::<Position>();
    let mut world = World::new();
    let who = put(&mut world, &[&Position { x: 0, y: 0 }, &Health(5)]);
    let mut turns = build().build(&mut world).unwrap();
    turns.act(&mut world, Deed::Hurt(who, 2), unseen);
    let error = turns.save(Codec::custom(|_, _| Ok(()), |_| Ok(Deed::Wait))).unwrap_err();
    assert!(
        matches!(&error, TurnsSaveError::Undeclared { component } if component.contains("Health"))
    );
    assert!(error.to_string().contains("TurnsBuilder::component"), "{error}");
    // Told of it, it can be saved, and is not loaded where nothing is known of it.
    turns.undo(&mut world).unwrap();
    let codec = Codec::custom(|_, _| Ok(()), |_| Ok(Deed::Wait));
    let mut told = build().component::<Health>().build(&mut world).unwrap();
    told.act(&mut world, Deed::Hurt(who, 2), unseen);
    let bytes = told.save(codec).unwrap();
    assert!(matches!(turns.load(&world, codec, &bytes), Err(TurnsSaveError::Undeclared { .. })));
    assert_eq!(told.load(&world, codec, &bytes), Ok(()));
    let unreadable = Codec::custom(|_, _| Err(CodecError), |_| Err(CodecError));
    assert_eq!(told.save(unreadable), Err(TurnsSaveError::Decision));
    assert_eq!(told.load(&world, unreadable, &bytes), Err(TurnsSaveError::Decision));
}
