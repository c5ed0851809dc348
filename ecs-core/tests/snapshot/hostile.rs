//! Bytes that are no snapshot, or one that was altered.

use super::*;
use formic_ecs::{Changed, MalformedSnapshot, RestoreError, Snapshot};

#[test]
fn bytes_that_are_no_value_are_refused() {
    let mut world = World::new();
    world.spawn((Mood::Angry, Tag));
    let saved = world.snapshot().expect("all can be saved");
    let mut bytes = saved.as_bytes().to_vec();
    let last = bytes.len() - 1;
    let place = bytes.iter().rposition(|&byte| byte == Mood::Angry as u8).expect("there");
    assert!(place > last - 40);
    for byte in [0, 3, 255] {
        bytes[place] = byte;
        reseal(&mut bytes);
        let altered = Snapshot::from_bytes(&bytes[..]).expect("it contradicts nothing");
        let component = Mood::name().to_string();
        assert_eq!(world.restore(&altered), Err(RestoreError::InvalidValue { component }));
        assert_eq!(world.query::<&Mood>().into_iter().next(), Some(&Mood::Angry));
    }
}

#[test]
fn what_is_not_a_snapshot_is_told_from_what_is_damaged() {
    let (world, _) = sample(20);
    let saved = world.snapshot().expect("all can be saved");
    let good = saved.as_bytes();
    let check = |change: &dyn Fn(&mut Vec<u8>), expected| {
        let mut bytes = good.to_vec();
        change(&mut bytes);
        assert_eq!(Snapshot::from_bytes(bytes), Err(expected));
    };
    check(&|bytes| bytes.clear(), MalformedSnapshot::NotASnapshot);
    check(&|bytes| bytes[0] ^= 1, MalformedSnapshot::NotASnapshot);
    check(&|bytes| bytes[8] = 9, MalformedSnapshot::UnknownVersion { version: 9 });
    check(&|bytes| bytes[12..16].reverse(), MalformedSnapshot::ForeignByteOrder);
    check(&|bytes| bytes.truncate(20), MalformedSnapshot::WrongLength);
    check(&|bytes| bytes.push(0), MalformedSnapshot::WrongLength);
    check(&|bytes| bytes[40] ^= 1, MalformedSnapshot::WrongChecksum);
    assert_eq!(Snapshot::from_bytes(good), Ok(saved.clone()));
}

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked, enableable, name = "wear")]
#[repr(C)]
struct Wear(u32);

/// As a machine writes it whose chunks are as large as you like: an entity per number, all in one
/// chunk, every third switched off, changed at the version after the number and added at 1.
fn one_chunk(count: u32) -> Vec<u8> {
    fn words(bytes: &mut Vec<u8>, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    fn longs(bytes: &mut Vec<u8>, longs: impl IntoIterator<Item = u64>) {
        longs.into_iter().for_each(|long| bytes.extend(long.to_le_bytes()));
    }
    let mut bytes = World::new().snapshot().expect("nothing to save").as_bytes()[..32].to_vec();
    let body = &mut bytes;
    longs(body, [u64::from(count) + 1]);
    words(body, [count]);
    words(body, (0..count).map(|_| 1));
    words(body, [0]);
    words(body, [1, 4]);
    body.extend(b"wear\x01\x03");
    longs(body, [4]);
    // Its fields are not noted.
    words(body, [0]);
    words(body, [2, 0, 0, 1, 0, 1, count]);
    longs(body, (0..u64::from(count)).map(|index| 1 << 32 | index));
    longs(body, [u64::from(count) + 1, 1]);
    let is_on = |row: u32| row < count && row % 3 != 0;
    let byte = |start: u32| (0..8).fold(0, |byte, bit| byte | u8::from(is_on(start + bit)) << bit);
    body.extend((0..count).step_by(8).map(byte));
    longs(body, (0..u64::from(count)).map(|row| row + 1));
    longs(body, (0..u64::from(count)).map(|_| 1));
    longs(body, [4 * u64::from(count)]);
    words(body, 0..count);
    reseal(&mut bytes);
    bytes
}

#[test]
fn rows_of_a_larger_chunk_come_back_in_their_order_with_bits_and_versions() {
    let count = if cfg!(miri) { 80 } else { 5000 };
    let snapshot = Snapshot::from_bytes(one_chunk(count)).expect("a snapshot");
    let mut world = World::new();
    world.register::<Wear>();
    world.restore(&snapshot).expect("all is known");
    world.check().expect("consistent");
    assert!(world.archetypes()[1].chunk_count() > 1, "it did not fit into one");
    let found: Vec<_> = world
        .query::<(Present<Ref<'_, Wear>>, Enabled<Wear>)>()
        .map(|(wear, bit)| (wear.0, wear.last_changed(), wear.added_at(), bit.get()))
        .collect();
    let expected = (0..count).map(|i| (i, u64::from(i) + 1, 1, i % 3 != 0));
    assert_eq!(found, expected.collect::<Vec<_>>());
    let late = u64::from(count) - 4;
    let changed = world.query_filtered::<&Wear, Changed<Wear>>().since(late).map(|wear| wear.0);
    assert!(changed.eq((count - 4..count).filter(|i| i % 3 != 0)));
}

#[test]
fn archetypes_that_contradict_each_other_are_refused() {
    let bytes =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let saved = one_chunk(1);
    // Two archetypes: one without components and chunks, and one with the component and a chunk.
    let listed = bytes(&[2, 0, 0, 1, 0, 1]);
    let at = saved.windows(listed.len()).position(|window| window == listed).expect("there");
    let check = |archetypes: &[u32], length: Option<usize>, expected: &'static str| {
        let mut altered = saved.clone();
        drop(altered.splice(at..at + listed.len(), bytes(archetypes)));
        altered.truncate(length.map_or(altered.len(), |length| at + length));
        reseal(&mut altered);
        let contradiction = MalformedSnapshot::Contradiction { detail: expected };
        assert_eq!(Snapshot::from_bytes(altered), Err(contradiction));
    };
    check(&[1, 1, 0, 1], None, "the first archetype is not the one without components");
    check(&[0], Some(4), "the first archetype is not the one without components");
    check(&[1, 0, 0], Some(12), "no archetype has a component that is listed");
    check(&[3, 0, 0, 1, 0, 0, 1, 0, 1], None, "two archetypes have the same components");
    check(&[3, 0, 0, 0, 0, 1, 0, 1], None, "two archetypes have the same components");
}

#[test]
fn rows_that_were_written_after_their_column_are_refused() {
    let column = |changed: u64, added: u64| [changed.to_le_bytes(), added.to_le_bytes()].concat();
    let saved = one_chunk(10);
    let known = column(11, 1);
    let at = saved.windows(known.len()).position(|window| window == known).expect("there");
    for (changed, added, is_possible) in [(10, 1, true), (9, 1, false), (10, 0, false)] {
        let mut altered = saved.clone();
        altered[at..at + known.len()].copy_from_slice(&column(changed, added));
        reseal(&mut altered);
        assert_eq!(Snapshot::from_bytes(altered).is_ok(), is_possible, "{changed}, {added}");
    }
}

#[test]
fn a_snapshot_of_a_world_that_has_no_versions_left_is_refused() {
    let mut world = World::new();
    let saved = world.snapshot().expect("all can be saved");
    let aged = |version: u64| {
        let mut bytes = saved.as_bytes().to_vec();
        bytes[32..40].copy_from_slice(&version.to_le_bytes());
        reseal(&mut bytes);
        Snapshot::from_bytes(bytes)
    };
    for version in [u64::MAX, 1 << 63, 1 << 62] {
        assert!(matches!(aged(version), Err(MalformedSnapshot::Contradiction { .. })));
    }
    let old = aged((1 << 62) - 1).expect("old enough to be told from a hostile one");
    world.restore(&old).expect("nothing is unknown");
    world.spawn(Tag);
    assert!(world.version() > (1 << 62) - 1);
    world.check().expect("consistent");
}

/// Stamps that were cut to fewer bits, or compared as if they went round, would be found out here.
#[test]
fn a_world_that_is_almost_out_of_versions_still_tells_new_from_old() {
    for version in [u64::from(u32::MAX) - 3, (1 << 32) + 1, (1 << 62) - 1000] {
        let mut world = World::new();
        world.register::<Wear>();
        let mut bytes = world.snapshot().expect("nothing to save").as_bytes().to_vec();
        bytes[32..40].copy_from_slice(&version.to_le_bytes());
        reseal(&mut bytes);
        let aged = Snapshot::from_bytes(bytes).expect("below 2^62");
        world.restore(&aged).expect("all is known");
        let all = world.spawn_batch((0..70).map(|i| (Wear(i), position(i))));
        let mut marks = vec![(world.version(), None)];
        for &entity in all.iter().step_by(9) {
            world.get_mut::<Wear>(entity).expect("there").0 += 1;
            // Rows that move take their versions along.
            world.insert(entity, Tag).expect("alive");
            marks.push((world.version(), Some(entity)));
        }
        let touched: Vec<Entity> = marks.iter().filter_map(|mark| mark.1).collect();
        for restores in [false, true] {
            if restores {
                let saved = world.snapshot().expect("all can be saved");
                world.restore(&saved).expect("its own");
            }
            for (nth, &(mark, _)) in marks.iter().enumerate() {
                let changed = world.query_filtered::<Entity, Changed<Wear>>().since(mark);
                let changed: Vec<Entity> = changed.into_iter().collect();
                assert_eq!(changed, touched[nth..], "after {mark}, {restores}");
                assert_eq!(world.query_filtered::<(), Added<Wear>>().since(mark).count(), 0);
            }
            let added = world.query_filtered::<(), Added<Wear>>().since(version);
            assert_eq!(added.count(), all.len());
            // Of what is not tracked, by chunks.
            let now = world.version();
            let changed = |world: &mut World| {
                world.query_filtered::<(), Changed<Position>>().since(now).count() > 0
            };
            assert!(!changed(&mut world));
            *world.get_mut::<Position>(all[1]).expect("there") = position(9);
            assert!(changed(&mut world));
            assert_eq!(world.query_filtered::<(), Changed<Wear>>().since(u64::MAX).count(), 0);
            world.check().expect("consistent");
        }
    }
}

#[test]
fn a_snapshot_that_is_cut_off_anywhere_is_refused() {
    let (world, _) = sample(25);
    let saved = world.snapshot().expect("all can be saved");
    for len in (0..saved.as_bytes().len()).step_by(if cfg!(miri) { 397 } else { 1 }) {
        let mut bytes = saved.as_bytes()[..len].to_vec();
        assert!(Snapshot::from_bytes(&bytes[..]).is_err());
        if len >= 32 {
            reseal(&mut bytes);
            let error = Snapshot::from_bytes(bytes).expect_err("something is missing");
            assert_ne!(error, MalformedSnapshot::WrongChecksum);
        }
    }
}

/// Whatever bytes are sealed: an error, or a world in order.
#[test]
fn altered_snapshots_are_refused_or_make_a_world_in_order() {
    let rounds = if cfg!(miri) { 4 } else { 6000 };
    let (mut world, _) = sample(if cfg!(miri) { 9 } else { 40 });
    let saved = world.snapshot().expect("all can be saved");
    let mut random = RandomStream::new(99);
    let mut below =
        |bound: usize| usize::try_from(random.below(bound as u64)).expect("below a usize");
    let (mut refused, mut restored, mut same) = (0, 0, 0);
    for round in 0..rounds {
        let mut bytes = saved.as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = 32 + below(bytes.len() - 32);
            match below(5) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at] = [0, 1, 127, 128, 255][below(5)],
                2 => {
                    let end = bytes.len().min(at + 1 + below(8));
                    bytes[at..end].fill(255);
                }
                3 => _ = bytes.remove(at),
                _ => bytes.insert(at, 0),
            }
        }
        reseal(&mut bytes);
        let before = world.state_hash();
        let outcome = match Snapshot::from_bytes(bytes) {
            Ok(altered) => world.restore(&altered).map(|_| altered),
            Err(error) => Err(error.into()),
        };
        match outcome {
            Ok(altered) => {
                restored += 1;
                // Mostly the same; bytes of a custom format may say one thing in two ways.
                let again = world.snapshot().expect("all can be saved");
                let hash = world.state_hash();
                same += usize::from(again == altered);
                disturb(&mut world);
                world.restore(&again).expect("its own");
                assert_eq!(world.snapshot().as_ref(), Ok(&again), "round {round}");
                assert_eq!(world.state_hash(), hash);
                disturb(&mut world);
            }
            Err(_) => {
                refused += 1;
                assert_eq!(world.state_hash(), before, "round {round}");
            }
        }
        world.check().expect("in order");
        world.restore(&saved).expect("its own");
    }
    assert!(
        cfg!(miri) || refused > rounds / 4 && restored > rounds / 100 && same > restored / 2,
        "{refused} {restored} {same}"
    );
}
