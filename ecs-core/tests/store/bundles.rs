//! Structs that derive `Bundle`, and bundles whose conversions panic.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{ComponentError, EventKind};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct A(u32);

#[derive(Component, Clone, Debug, PartialEq)]
struct Text(String);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Tag;

#[derive(Component, Clone, Debug, PartialEq)]
struct Friend(#[component(entity)] Entity);

#[derive(Bundle, Clone, Debug, PartialEq)]
struct Body {
    text: Text,
    number: A,
}

/// One bundle inside another, a tuple, and a tag.
#[derive(Bundle, Clone, Debug, PartialEq)]
struct Ant(Friend, Body, (Tag,));

#[derive(Bundle)]
struct Holding<T: Component> {
    tag: Tag,
    r#type: T,
}

#[derive(Component, Clone, Debug, PartialEq)]
struct Nth<const N: usize>(usize);

#[derive(Bundle, Debug, PartialEq)]
struct Wide(
    Nth<0>,
    Nth<1>,
    Nth<2>,
    Nth<3>,
    Nth<4>,
    Nth<5>,
    Nth<6>,
    Nth<7>,
    Nth<8>,
    Nth<9>,
    Nth<10>,
    Nth<11>,
    Nth<12>,
    Nth<13>,
);

fn body(number: u32) -> Body {
    Body { text: Text(format!("text {number}")), number: A(number) }
}

#[test]
fn a_derived_bundle_is_its_fields_in_order() {
    let (mut derived, mut plain) = (World::new(), World::new());
    for number in 0..9 {
        let (one, two) = (derived.spawn(()), plain.spawn(()));
        derived.spawn(Ant(Friend(one), body(number), (Tag,)));
        plain.spawn((Friend(two), (Text(format!("text {number}")), A(number)), Tag));
    }
    assert_eq!(derived.state_hash(), plain.state_hash());
    assert_eq!(derived.stats().archetypes.len(), plain.stats().archetypes.len());
    derived.check().expect("consistent");
}

#[test]
fn a_derived_bundle_is_given_and_taken_like_a_tuple() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let ant = world.spawn(());
    world.insert(ant, Ant(Friend(ant), body(1), (Tag,)))?;
    world.insert(ant, body(2))?;
    assert_eq!(world.get::<A>(ant), Ok(&A(2)));
    assert_eq!(world.remove::<Ant>(ant)?, Ant(Friend(ant), body(2), (Tag,)));
    assert!(matches!(world.remove::<Body>(ant), Err(ComponentError::Missing(_))));
    world.despawn(ant)?;
    assert_eq!(world.insert(ant, body(3)).unwrap_err().bundle, body(3), "it comes back");

    let held = world.spawn(Holding { tag: Tag, r#type: A(4) });
    assert_eq!(world.remove::<Holding<A>>(held)?.r#type, A(4));
    let wide = || {
        Wide(
            Nth(0),
            Nth(1),
            Nth(2),
            Nth(3),
            Nth(4),
            Nth(5),
            Nth(6),
            Nth(7),
            Nth(8),
            Nth(9),
            Nth(10),
            Nth(11),
            Nth(12),
            Nth(13),
        )
    };
    let entity = world.spawn(wide());
    assert_eq!(world.get::<Nth<12>>(entity)?, &Nth(12));
    assert_eq!(world.remove::<Wide>(entity)?, wide());
    world.check()?;
    Ok(())
}

#[test]
fn many_entities_get_derived_bundles() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let all = world.spawn_batch((0..100).map(body));
    assert_eq!(world.get::<Text>(all[42])?, &Text("text 42".into()));
    assert_eq!(world.bulk::<With<A>>().insert(body(7)), 100, "in place");
    let bare = world.spawn_batch((0..50).map(|_| Tag));
    assert_eq!(world.bulk::<With<Tag>>().insert(body(8)), 50, "and moved");
    assert_eq!(world.get::<A>(bare[49])?, &A(8));
    assert_eq!(world.query::<(&Text, &A)>().count(), 150);
    assert_eq!(world.bulk::<()>().remove::<Body>(), 150);
    let copies = world.instantiate_with(bare[0], 3, |index| body(u32::try_from(index).unwrap()))?;
    assert_eq!(world.get::<A>(copies[2])?, &A(2));
    world.check()?;
    Ok(())
}

#[test]
fn a_bundle_without_bytes_may_be_made_of_components_with_some() {
    #[derive(Clone)]
    struct Seven;
    impl Bundle for Seven {
        type Parts = <Body as Bundle>::Parts;

        fn into_parts(self) -> Self::Parts {
            body(7).into_parts()
        }

        fn from_parts(parts: Self::Parts) -> Self {
            assert_eq!(Body::from_parts(parts), body(7));
            Self
        }
    }
    let mut world = World::new();
    let all = world.spawn_batch((0..20).map(|_| Tag));
    assert_eq!(world.bulk::<()>().insert(Seven), 20);
    assert_eq!(world.get::<Text>(all[19]), Ok(&Text("text 7".into())));
    world.check().expect("consistent");
    assert!(world.remove::<Seven>(all[3]).is_ok());
}

#[test]
fn commands_map_the_entities_in_derived_bundles() {
    let mut world = World::new();
    let old = world.spawn(Tag);
    let mut commands = CommandBuffer::new(&world);
    let friend = commands.spawn(body(1));
    commands.spawn(Ant(Friend(friend), body(2), (Tag,)));
    commands.insert(old, Ant(Friend(friend), body(3), (Tag,)));
    commands.remove::<Body>(old);
    commands.bulk::<With<Tag>>().insert(Ant(Friend(friend), body(4), (Tag,)));
    commands.instantiate_with(old, 2, move |_| Ant(Friend(friend), body(5), (Tag,)));
    assert!(commands.play(&mut world).failures().is_empty());
    let friends: Vec<Entity> = world.query::<&Friend>().map(|friend| friend.0).collect();
    assert_eq!(friends.len(), 4);
    assert!(friends.iter().all(|&friend| world.get::<A>(friend) == Ok(&A(1))));
    world.check().expect("consistent");
}

#[test]
fn observers_are_told_of_each_component_of_a_derived_bundle() {
    let mut world = World::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&seen);
    world.hooks().observe::<A>(EventKind::Add, move |world, event| {
        ours.lock().unwrap().push(world.get::<Text>(event.entity).cloned());
    });
    world.spawn(body(1));
    let entity = world.spawn(());
    assert!(world.insert(entity, body(2)).is_ok());
    world.spawn_batch([body(3)]);
    let texts = (1..4).map(|number| Ok(Text(format!("text {number}"))));
    assert!(texts.eq(seen.lock().unwrap().drain(..)));
}

#[test]
#[should_panic(
    expected = "a bundle (store::bundles::A, store::bundles::Text, store::bundles::A) has \
                store::bundles::A twice"
)]
fn a_derived_bundle_with_a_component_twice_panics_and_says_which() {
    #[derive(Bundle)]
    struct Twice {
        one: A,
        body: Body,
    }
    World::new().spawn(Twice { one: A(1), body: body(1) });
}

/// Counted values, in a derived bundle.
#[derive(Component, Clone)]
struct Other(Counted);

#[derive(Bundle, Clone)]
struct Pair {
    one: Counted,
    other: Other,
}

fn pair(ledger: &Ledger, number: u64) -> Pair {
    Pair { one: ledger.value(number), other: Other(ledger.value(number)) }
}

/// A bundle made by hand, whose conversions can be told to panic.
#[derive(Clone)]
struct Touchy(Pair, Touch);

#[derive(Clone, Copy, PartialEq)]
enum Touch {
    Never,
    Apart,
    Together,
}

thread_local!(static TOGETHER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });

impl Bundle for Touchy {
    type Parts = <Pair as Bundle>::Parts;

    fn into_parts(self) -> Self::Parts {
        assert!(self.1 != Touch::Apart, "planned: apart");
        self.0.into_parts()
    }

    fn from_parts(parts: Self::Parts) -> Self {
        let pair = Pair::from_parts(parts);
        assert!(!TOGETHER.get(), "planned: together");
        Self(pair, Touch::Never)
    }
}

type Act = fn(&mut World, &[Entity], &Ledger, Touch);

const ACTS: [(&str, Act); 9] = [
    ("spawn", |world, _, ledger, touch| _ = world.spawn(Touchy(pair(ledger, 1), touch))),
    ("spawn a batch", |world, _, ledger, touch| {
        let pairs =
            (0..5).map(|i| Touchy(pair(ledger, i), if i == 3 { touch } else { Touch::Never }));
        drop(world.spawn_batch(pairs));
    }),
    ("insert", |world, all, ledger, touch| {
        drop(world.insert(all[1], Touchy(pair(ledger, 2), touch)));
        drop(world.insert(all[8], Touchy(pair(ledger, 2), touch)));
    }),
    ("remove", |world, all, _, _| drop(world.remove::<Touchy>(all[2]))),
    ("remove from none", |world, all, _, _| drop(world.remove::<Touchy>(all[8]))),
    ("bulk", |world, _, ledger, touch| {
        world.bulk::<()>().insert(Touchy(pair(ledger, 3), touch));
        world.bulk::<With<Counted>>().remove::<Touchy>();
    }),
    ("commands", |world, all, ledger, touch| {
        let mut commands = CommandBuffer::new(world);
        commands.insert(all[0], pair(ledger, 1));
        commands.spawn(Touchy(pair(ledger, 2), touch));
        commands.insert(all[8], Touchy(pair(ledger, 3), touch));
        commands.remove::<Touchy>(all[1]);
        drop(commands.play(world));
    }),
    ("bulk commands", |world, _, ledger, touch| {
        let mut commands = CommandBuffer::new(world);
        commands.bulk::<With<Tag>>().insert(Touchy(pair(ledger, 4), touch));
        commands.bulk::<With<Counted>>().remove::<Touchy>();
        drop(commands.play(world));
    }),
    ("instantiate", |world, all, ledger, touch| {
        let ledger = ledger.clone();
        drop(world.instantiate_with(all[0], 3, move |_| Touchy(pair(&ledger, 5), touch)));
    }),
];

/// Pairs, and entities without one.
fn filled(ledger: &Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = world.spawn_batch((0..6).map(|number| pair(ledger, number)));
    all.extend(world.spawn_batch([Tag; 4]));
    (world, all)
}

/// What is alive is what the world has, each entity has both of a pair or neither, and all goes on.
fn goes_on(mut world: World, ledger: &Ledger, what: &str) {
    world.check().unwrap_or_else(|broken| panic!("{what}: {broken}"));
    let both = world.query::<(&Counted, &Other)>().map(|(one, two)| one.number() + two.0.number());
    assert_eq!(both.count(), world.query_filtered::<(), With<Counted>>().count(), "{what}");
    assert_eq!(2 * world.query::<&Other>().count(), ledger.live(), "{what}");
    world.spawn(pair(ledger, 9));
    drop(world);
    assert_eq!(ledger.live(), 0, "{what}: nothing was left behind, nor dropped twice");
}

#[test]
fn a_bundle_that_panics_as_it_is_converted_leaves_the_world_in_order() {
    let mut planned = 0;
    for (what, act) in ACTS {
        for touch in [Touch::Never, Touch::Apart, Touch::Together] {
            let ledger = Ledger::default();
            let (mut world, all) = filled(&ledger);
            TOGETHER.set(touch == Touch::Together);
            planned += usize::from(panics_as_planned(|| act(&mut world, &all, &ledger, touch)));
            TOGETHER.set(false);
            goes_on(world, &ledger, what);
        }
    }
    assert!(planned >= 9, "{planned} of them panicked");
}

#[test]
fn a_derived_bundle_with_drops_and_clones_that_panic_leaves_the_world_in_order() {
    for (what, act) in ACTS {
        for nth in (0..40).step_by(if cfg!(miri) { 9 } else { 1 }) {
            for clones in [false, true] {
                let ledger = Ledger::default();
                let (mut world, all) = filled(&ledger);
                if clones {
                    ledger.panic_at_clone(nth);
                } else {
                    ledger.panic_at_drop(nth);
                }
                panics_as_planned(|| act(&mut world, &all, &ledger, Touch::Never));
                // A drop that was planned and has not come yet is that of a value in the world.
                panics_as_planned(|| goes_on(world, &ledger, what));
                assert_eq!(ledger.live(), 0, "{what}: nothing was left behind, nor dropped twice");
            }
        }
    }
}
