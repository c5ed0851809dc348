//! Snapshots of earlier versions of a program: what has changed since is restored as the program
//! says, or is an error that names it.
//!
//! The files in `saves` were written by the version of this crate that their names give, and stay as
//! they are. For a new version of the format add files beside them: run these tests with the
//! variable `FORMIC_WRITE_SAVES` set.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::prelude::*;
use formic_ecs::{ChildOf, Despawned, Relation, RestoreError, Snapshot, SnapshotError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The program that wrote the files.
mod then {
    use super::*;

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.position")]
    #[repr(C)]
    pub(super) struct Position {
        pub(super) x: f32,
        pub(super) y: f32,
    }

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(tracked)]
    #[repr(C)]
    pub(super) struct Gold(pub(super) u64);

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.mana", enableable)]
    #[repr(C)]
    pub(super) struct Mana(pub(super) u32);

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.socket", cleanup)]
    #[repr(C)]
    pub(super) struct Socket(pub(super) u32);

    #[derive(Component, Clone, Copy, NoUninit, CheckedBitPattern)]
    #[component(name = "game.mood")]
    #[repr(u8)]
    pub(super) enum Mood {
        Calm,
        Angry = 7,
    }

    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(buffer = 2)]
    #[repr(C)]
    pub(super) struct Step(pub(super) u32);

    #[derive(Component)]
    #[component(enableable)]
    pub(super) struct Awake;

    pub(super) struct Likes;
    impl Relation for Likes {}

    pub(super) fn world() -> World {
        let mut world = World::new();
        let at = |x| Position { x, y: 0.5 };
        let steps = |count: u32| (0..count).map(Step).collect::<Buffer<_>>();
        // Of those with mana the archetype differs in nothing else from that of the next two.
        let all = [
            world.spawn((at(0.0), Mana(9))),
            world.spawn((at(1.0), Mana(8))),
            world.spawn(at(2.0)),
            world.spawn(at(3.0)),
            world.spawn((Gold(40), Mood::Angry, steps(4))),
            world.spawn((Gold(50), Mood::Calm, Awake, steps(1))),
            world.spawn(Socket(80)),
        ];
        world.set_enabled::<Mana>(all[1], false).expect("it has some");
        world.set_enabled::<Awake>(all[5], false).expect("it is");
        world.relation_mut::<Likes>().add(all[2], all[4]).expect("alive");
        world.relation_mut::<ChildOf>().set_parent(all[3], all[5]).expect("alive");
        world.despawn(all[6]).expect("alive");
        world.get_mut::<Gold>(all[5]).expect("some").0 += 1;
        world
    }
}

/// The program of today, in which everything was renamed, and mana and sockets are gone.
mod now {
    use super::*;

    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(name = "game.place", was = "game.location", was = "game.position")]
    #[repr(C)]
    pub(super) struct Place {
        #[component(name = "x")]
        pub(super) east: f32,
        #[component(name = "y")]
        pub(super) north: f32,
    }

    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(tracked, was = "snapshot::migration::then::Gold")]
    #[repr(C)]
    pub(super) struct Coins(pub(super) u64);

    #[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
    #[component(name = "game.mood")]
    #[repr(u8)]
    #[expect(dead_code, reason = "saves have the first two")]
    pub(super) enum Mood {
        Calm,
        Angry = 7,
        Bored,
    }

    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(buffer = 8, was = "snapshot::migration::then::Step")]
    #[repr(C)]
    pub(super) struct Pace(pub(super) u32);

    #[derive(Component)]
    #[component(enableable, name = "game.awake", was = "snapshot::migration::then::Awake")]
    pub(super) struct Awake;

    /// No save has it.
    #[derive(Component, Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
    #[repr(C)]
    pub(super) struct Hunger(pub(super) u32);

    pub(super) struct Admires;
    impl Relation for Admires {
        const WAS: &'static [&'static str] = &["snapshot::migration::then::Likes"];
    }

    pub(super) fn world() -> World {
        let mut world = World::new();
        world.register::<Hunger>();
        world.register::<Place>();
        world.register::<Buffer<Pace>>();
        world.register::<Mood>();
        world.register::<Coins>();
        world.register::<Awake>();
        world.relation_mut::<Admires>();
        world.relation_mut::<ChildOf>();
        world.register_removed("game.socket");
        world.register_removed("game.mana");
        world
    }
}

/// The bytes of a file that an earlier version wrote; `made` are those of this version.
fn stored(name: &str, made: &[u8]) -> Snapshot {
    let path = format!("{}/snapshot/saves/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("FORMIC_WRITE_SAVES").is_some() {
        std::fs::write(&path, made).expect("a folder that can be written to");
    }
    let bytes = std::fs::read(&path).expect("it stays in the repository");
    // Small chunks hold fewer rows each, and a snapshot has them chunk by chunk.
    if cfg!(not(formic_small_blocks)) {
        assert_eq!(bytes, made, "{name} is what this version writes");
    }
    Snapshot::from_bytes(bytes).expect("every version reads it")
}

fn stored_plain() -> Snapshot {
    stored("plain-4.snapshot", then::world().snapshot().expect("all can be saved").as_bytes())
}

#[test]
fn a_snapshot_of_an_earlier_program_is_restored_into_one_where_everything_has_another_name() {
    let mut world = now::world();
    let report = world.restore(&stored_plain()).expect("all of it is known");
    world.check().expect("in order");
    assert_eq!(
        report.to_string(),
        "game.mana of 2 entities: dropped, the program has it no more\n\
         game.socket of 1 entity: dropped, the program has it no more"
    );
    let east: Vec<_> = world.query::<&now::Place>().map(|place| place.east).collect();
    assert_eq!(east, [0.0, 1.0, 2.0, 3.0], "those who had mana are among the others");
    let rich = world.query::<(Entity, &now::Coins, &now::Mood, &Buffer<now::Pace>)>();
    let rich: Vec<_> = rich.map(|(e, coins, mood, all)| (e, coins.0, *mood, all.len())).collect();
    let &[(angry, 40, now::Mood::Angry, 4), (calm, 51, now::Mood::Calm, 1)] = &rich[..] else {
        panic!("{rich:?}");
    };
    assert_eq!(world.is_enabled::<now::Awake>(calm), Ok(false));
    assert_eq!(
        world
            .relation::<now::Admires>()
            .targets(world.relation::<now::Admires>().sources(angry)[0]),
        [angry]
    );
    assert_eq!(world.relation::<ChildOf>().children(calm).len(), 1);
    // The one that waited for its socket to be closed waits for nothing any more.
    assert_eq!(world.len(), 6);
    assert_eq!(world.query_filtered::<Entity, With<Despawned>>().count(), 0);
    assert_eq!(world.query::<&now::Hunger>().count(), 0);
    // It is a snapshot of the program of today from now on.
    let again = world.snapshot().expect("all can be saved");
    let mut other = now::world();
    assert!(other.restore(&again).expect("its own").dropped.is_empty());
    assert_eq!(other.state_hash(), world.state_hash());
}

#[test]
fn a_despawned_entity_goes_where_its_component_needs_no_cleanup_any_more() {
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.socket")]
    #[repr(C)]
    struct Socket(u32);
    let mut old = World::new();
    let [open, closed] = [1, 2].map(|number| old.spawn(then::Socket(number)));
    old.despawn(closed).expect("alive");
    let saved = old.snapshot().expect("plain data");
    old.restore(&saved).expect("its own");
    assert_eq!(old.len(), 2, "the one that was despawned waits for its socket");

    let mut world = World::new();
    world.register::<Socket>();
    let report = world.restore(&saved).expect("the component is known");
    assert!(report.dropped.is_empty());
    world.check().expect("in order");
    assert_eq!(world.len(), 1, "nothing waits any more");
    assert_eq!(world.get::<Socket>(open).map(|socket| socket.0), Ok(1));
}

#[test]
fn a_despawned_entity_goes_also_where_what_was_there_panics_as_it_goes() {
    #[derive(Component)]
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("planned");
        }
    }
    let mut old = World::new();
    for number in 0..3 {
        let closed = old.spawn(then::Socket(number));
        old.despawn(closed).expect("alive");
    }
    let saved = old.snapshot().expect("plain data");

    let mut world = World::new();
    world.register_removed("game.socket");
    world.spawn(Bomb);
    let restored = catch_unwind(AssertUnwindSafe(|| world.restore(&saved)));
    assert!(restored.is_err(), "what was there panics");
    world.check().expect("in order");
    assert!(world.is_empty(), "nothing waits any more");
}

#[test]
fn a_component_that_the_program_does_not_know_is_an_error_that_says_what_to_do() {
    let mut world = World::new();
    world.relation_mut::<then::Likes>();
    world.relation_mut::<ChildOf>();
    let error = world.restore(&stored_plain()).expect_err("no component is known");
    assert_eq!(
        error,
        RestoreError::UnknownComponent {
            component: "Buffer<snapshot::migration::then::Step>".into()
        }
    );
    let text = error.to_string();
    for part in ["register it first", "#[component(was = ", "World::register_removed("] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_relation_that_the_program_does_not_know_is_an_error_that_says_what_to_do() {
    let mut world = World::new();
    let [page, king] = [world.spawn(()), world.spawn(())];
    world.relation_mut::<then::Likes>().add(page, king).expect("both are alive");
    let saved = world.snapshot().expect("relations are saved");
    let error = World::new().restore(&saved).expect_err("the relation is not known").to_string();
    for part in ["<snapshot::migration::then::Likes>", "World::relation_mut", "Relation::WAS"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("#[component(was"), "no component of the program: {error}");
    let mut world = World::new();
    world.relation_mut::<then::Likes>();
    world.restore(&saved).expect("this is what the error says");
}

#[test]
fn plain_data_whose_fields_have_changed_is_an_error_that_names_them() {
    macro_rules! changed {
        ({ $($fields:tt)* }, $now:literal) => {{
            #[derive(Component, Clone, Copy, Pod, Zeroable)]
            #[component(name = "game.position.2", was = "game.position.1")]
            #[repr(C)]
            struct Position { $($fields)* }
            let mut old = World::new();
            {
                #[derive(Component, Clone, Copy, Pod, Zeroable)]
                #[component(name = "game.position.1")]
                #[repr(C)]
                struct Position { x: f32, y: f32 }
                old.spawn(Position { x: 1.0, y: 2.0 });
            }
            let saved = old.snapshot().expect("plain data");
            let mut world = World::new();
            world.register::<Position>();
            let error = world.restore(&saved).expect_err("the fields have changed");
            assert!(matches!(error, RestoreError::ChangedFields { .. }), "{error}");
            let text = error.to_string();
            let what = concat!(
                "game.position.1 was saved as x: f32, y: f32 (8 bytes), and is ", $now, " now"
            );
            assert!(text.starts_with(what), "{text}");
        }};
    }
    changed!({ x: f32, y: f32, z: f32 }, "x: f32, y: f32, z: f32 (12 bytes)");
    changed!({ y: f32, x: f32 }, "y: f32, x: f32 (8 bytes)");
    changed!({ x: u32, y: f32 }, "x: u32, y: f32 (8 bytes)");
    changed!({ x: f32 }, "x: f32 (4 bytes)");
}

/// The text of the fields is the same: the size is not.
#[test]
fn a_field_whose_type_has_another_size_is_an_error() {
    macro_rules! holder {
        ($inner:ty) => {{
            #[derive(Clone, Copy, Pod, Zeroable)]
            #[repr(C)]
            struct Inner($inner);
            #[derive(Component, Clone, Copy, Pod, Zeroable)]
            #[component(name = "game.holder")]
            #[repr(C)]
            struct Holder(Inner);
            let mut world = World::new();
            world.spawn(Holder(Inner(1)));
            world
        }};
    }
    let saved = holder!(u32).snapshot().expect("plain data");
    let mut world = holder!(u64);
    let error = world.restore(&saved).expect_err("another size");
    let RestoreError::ChangedFields { saved, now, .. } = &error else { panic!("{error}") };
    assert_eq!((&**saved, &**now), ("Inner (4 bytes)", "Inner (8 bytes)"));
    assert_eq!(world.len(), 1);
}

#[test]
fn a_component_with_a_new_name_is_still_of_its_kind() {
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.old")]
    #[repr(C)]
    struct Old(u32);
    let mut old = World::new();
    old.spawn(Old(1));
    let saved = old.snapshot().expect("plain data");
    macro_rules! check {
        ($what:literal, $derive:tt, $($option:tt)*) => {{
            #[derive $derive]
            #[component(name = "game.new", was = "game.old" $($option)*)]
            #[repr(C)]
            struct New(u32);
            let mut world = World::new();
            world.register::<New>();
            let error = world.restore(&saved).expect_err($what);
            let RestoreError::DifferentComponent { component, what } = &error else {
                panic!("{error}")
            };
            assert_eq!((&**component, *what), ("game.old", $what));
        }};
    }
    check!("answer to whether it is enableable", (Component, Clone, Copy, Pod, Zeroable), , enableable);
    check!("answer to whether it is tracked", (Component, Clone, Copy, Pod, Zeroable), , tracked);
    check!("way of saving it", (Component, Clone, Default), , transient);
}

/// Entities of two archetypes that differ in nothing but what is gone come to one archetype.
#[test]
fn rows_that_come_together_keep_their_values_bits_and_versions() {
    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(name = "game.number")]
    #[repr(C)]
    struct Number(u64);
    #[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[component(name = "game.exact", tracked)]
    #[repr(C)]
    struct Exact(u64);
    #[derive(Component)]
    #[component(name = "game.on", enableable)]
    struct On;
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.gone")]
    #[repr(C)]
    struct Gone(u32);

    const COUNT: u64 = if cfg!(miri) { 40 } else { 1500 };
    let mut old = World::new();
    let bundle = |i| (Number(i), Exact(2 * i), On);
    let mut all = old.spawn_batch((0..COUNT).map(bundle));
    all.extend(old.spawn_batch((COUNT..2 * COUNT).map(|i| (bundle(i), Gone(1)))));
    // Some have nothing else, of which nothing is left but the entity.
    let bare = old.spawn_batch((0..7).map(Gone));
    let mut versions = vec![0, old.version()];
    for (i, &entity) in all.iter().enumerate() {
        old.set_enabled::<On>(entity, i % 3 != 0 && i % 70 != 1).expect("it has one");
        if i % 11 == 0 {
            old.get_mut::<Exact>(entity).expect("there").0 += 1;
        }
        if i == 40 || i == all.len() - 13 {
            versions.push(old.version());
            old.get_mut::<Number>(entity).expect("there").0 += 100_000;
            versions.push(old.version());
        }
    }

    let (version, saved) = (old.version(), old.snapshot().expect("all can be saved"));
    let mut world = World::new();
    world.register::<Number>();
    world.register::<On>();
    world.register::<Exact>();
    world.register_removed("game.gone");
    let report = world.restore(&saved).expect("it is known");
    world.check().expect("in order");
    assert_eq!((world.version(), report.dropped.len()), (version, 1));
    assert_eq!(report.dropped[0].count as u64, COUNT + 7, "of every chunk of every archetype");
    assert_eq!(world.len(), all.len() + bare.len());
    assert!(bare.iter().all(|&entity| world.contains(entity) && !world.has::<Number>(entity)));
    let order: Vec<Entity> =
        world.query_filtered::<Entity, Present<Number>>().into_iter().collect();
    assert_eq!(order, all, "one archetype after the other, each in its order");
    for &entity in &all {
        assert_eq!(world.get::<Number>(entity), old.get::<Number>(entity));
        assert_eq!(world.get::<Exact>(entity), old.get::<Exact>(entity));
        assert_eq!(world.is_enabled::<On>(entity), old.is_enabled::<On>(entity));
    }
    for since in versions {
        macro_rules! news {
            ($world:ident, $filter:ty) => {{
                let found = $world.query_filtered::<Entity, $filter>();
                let found: Vec<Entity> = found.since(since).into_iter().collect();
                found
            }};
        }
        assert_eq!(news!(world, Changed<Exact>), news!(old, Changed<Exact>), "since {since}");
        assert_eq!(news!(world, Added<Exact>), news!(old, Added<Exact>), "since {since}");
        // What is not tracked is known by chunks: nothing that is news is lost.
        let (now, then) = (news!(world, Changed<Number>), news!(old, Changed<Number>));
        assert!(then.iter().all(|entity| now.contains(entity)), "since {since}");
    }
}

#[test]
fn the_elements_of_a_buffer_are_plain_data_as_well() {
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(buffer = 2, name = "game.steps")]
    #[repr(C)]
    struct Step(u32);
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(buffer = 2, name = "game.steps")]
    #[repr(C)]
    struct Stride(f32);

    let mut old = World::new();
    old.spawn(Buffer::from_iter([Step(1)]));
    let mut world = World::new();
    world.register::<Buffer<Stride>>();
    let error = world.restore(&old.snapshot().expect("plain data")).expect_err("other elements");
    assert!(matches!(error, RestoreError::ChangedFields { .. }), "{error}");
}

#[test]
fn a_name_stands_for_one_component_only() {
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.old")]
    #[repr(C)]
    struct Old(u32);
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.new", was = "game.old")]
    #[repr(C)]
    struct New(u32);

    let mut world = World::new();
    world.spawn(Old(1));
    let of_old = world.snapshot().expect("nothing else is known");
    world.register::<New>();
    // A program that has both would not know which of the two it saved.
    let ambiguous = Err(SnapshotError::AmbiguousName { component: "game.old".into() });
    assert_eq!(world.snapshot(), ambiguous);
    let ambiguous = Err(RestoreError::AmbiguousName { component: "game.old".into() });
    assert_eq!(world.restore(&of_old), ambiguous);
    let mut world = World::new();
    world.register::<New>();
    assert_eq!(world.restore(&of_old).map(|report| report.dropped.len()), Ok(0));

    // Nor would it if the other one has the same name, even if no entity has had it.
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.old")]
    #[repr(C)]
    struct Other(u32);
    let mut world = World::new();
    world.spawn(Old(1));
    world.register::<Other>();
    let ambiguous = Err(SnapshotError::AmbiguousName { component: "game.old".into() });
    assert_eq!(world.snapshot(), ambiguous);

    // A snapshot that has both can only come from a program that was not this one.
    let mut world = World::new();
    world.spawn((Old(1), Renamed(2)));
    #[derive(Component, Clone, Copy, Pod, Zeroable)]
    #[component(name = "game.new")]
    #[repr(C)]
    struct Renamed(u32);
    let of_both = world.snapshot().expect("two names");
    let mut world = World::new();
    world.register::<New>();
    assert!(matches!(world.restore(&of_both), Err(RestoreError::AmbiguousName { .. })));
}

mod with_serde {
    use super::*;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    mod then {
        use super::*;

        #[derive(Component, Serialize, Deserialize)]
        #[component(serde, name = "game.inventory")]
        pub(super) struct Inventory {
            pub(super) items: BTreeMap<String, u32>,
            pub(super) weight: f32,
            pub(super) owner: Option<Entity>,
            pub(super) wish: Wish,
        }

        #[derive(Serialize, Deserialize)]
        pub(super) enum Wish {
            Food(u8),
            Sleep { until: u64 },
        }

        pub(super) fn world() -> World {
            let mut world = World::new();
            let owner = world.spawn(());
            let items = |count: u32| (0..count).map(|i| (format!("item {i}"), i)).collect();
            world.spawn(Inventory {
                items: items(3),
                weight: 1.5,
                owner: None,
                wish: Wish::Food(3),
            });
            let wish = Wish::Sleep { until: 700 };
            world.spawn(Inventory { items: items(0), weight: -0.0, owner: Some(owner), wish });
            world
        }
    }

    mod now {
        use super::*;

        /// The weight is gone, the others have changed their places, and two are new.
        #[derive(Component, Debug, PartialEq, Serialize, Deserialize)]
        #[component(serde, name = "game.bag", was = "game.inventory")]
        pub(super) struct Bag {
            pub(super) wish: Wish,
            #[serde(default = "four")]
            pub(super) slots: u8,
            #[serde(alias = "owner")]
            pub(super) carried_by: Option<Entity>,
            #[serde(default)]
            pub(super) colour: Option<String>,
            pub(super) items: BTreeMap<String, u32>,
        }

        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        pub(super) enum Wish {
            Sleep {
                #[serde(default)]
                deep: bool,
                until: u64,
            },
            Drink,
            Food(u8),
        }

        fn four() -> u8 {
            4
        }
    }

    #[test]
    fn fields_of_serde_components_come_and_go() {
        let made = then::world().snapshot().expect("all can be saved");
        let mut world = World::new();
        world.register::<now::Bag>();
        world.restore(&stored("serde-4.snapshot", made.as_bytes())).expect("serde says how");
        let bags: Vec<&now::Bag> = world.query::<&now::Bag>().into_iter().collect();
        let owner = bags[1].carried_by.expect("it has one");
        let items = |count: u32| (0..count).map(|i| (format!("item {i}"), i)).collect();
        let bag = |wish, carried_by, count| now::Bag {
            wish,
            slots: 4,
            carried_by,
            colour: None,
            items: items(count),
        };
        assert_eq!(*bags[0], bag(now::Wish::Food(3), None, 3));
        let wish = now::Wish::Sleep { deep: false, until: 700 };
        assert_eq!(*bags[1], bag(wish, Some(owner), 0));
        assert!(world.contains(owner));
    }

    #[test]
    fn a_field_without_a_default_is_an_error_that_names_the_component() {
        #[derive(Component, Serialize, Deserialize)]
        #[component(serde, name = "game.inventory")]
        struct Inventory {
            items: BTreeMap<String, u32>,
            colour: String,
        }
        let mut world = World::new();
        world.register::<Inventory>();
        let error = world.restore(&then::world().snapshot().expect("all can be saved"));
        let component = "game.inventory".into();
        assert_eq!(error, Err(RestoreError::InvalidValue { component }));
    }

    #[test]
    fn the_hash_sees_every_field_of_a_serde_component() {
        #[derive(Component, Clone, Serialize, Deserialize)]
        #[component(serde)]
        struct Bag {
            items: BTreeMap<String, f32>,
            owner: Option<Option<Entity>>,
            open: bool,
        }
        let hash = |change: fn(&mut Bag)| {
            let mut world = World::new();
            let mut bag = Bag { items: BTreeMap::new(), owner: None, open: false };
            change(&mut bag);
            world.spawn(bag);
            let hash = world.state_hash();
            assert!(hash.uncovered().is_empty());
            hash.value()
        };
        let same = hash(|_| {});
        assert_eq!(hash(|_| {}), same);
        let others = [
            hash(|bag| bag.open = true),
            hash(|bag| bag.owner = Some(None)),
            hash(|bag| _ = bag.items.insert("bread".into(), 0.0)),
            hash(|bag| _ = bag.items.insert("bread".into(), -0.0)),
        ];
        for (number, hash) in others.iter().enumerate() {
            assert!(*hash != same && !others[..number].contains(hash), "number {number}");
        }
    }
}
