//! Panics in user code, at every place where the store runs any: nothing is dropped twice, what is
//! still there is intact, and the world goes on.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{EventKind, HashRule};
use std::cell::Cell;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone)]
struct Other(Counted);

#[derive(Component, Clone)]
#[component(enableable)]
struct On(Counted);

/// Enough rows for two chunks.
const ROWS: usize = if cfg!(any(miri, formic_small_blocks)) { 7 } else { 40 };

/// Three values per entity.
fn bundle(ledger: &Ledger, i: usize) -> (Counted, Number, Other, On) {
    let i = i as u64;
    (ledger.value(i), Number(i), Other(ledger.value(i)), On(ledger.value(i)))
}

fn filled(ledger: &Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..ROWS).map(|i| bundle(ledger, i)));
    (world, all)
}

/// The world is in order, every entity has the values that it was made with, and there are no
/// other values.
#[track_caller]
fn assert_intact(world: &mut World, ledger: &Ledger, also_alive: usize) {
    world.check().expect("every invariant holds");
    let mut values = also_alive;
    for entity in world.entities().collect::<Vec<_>>() {
        let number = world.get::<Number>(entity).expect("each has one").0;
        for value in [
            world.get::<Counted>(entity).ok(),
            world.get::<Other>(entity).ok().map(|other| &other.0),
            world.get::<On>(entity).ok().map(|on| &on.0),
        ]
        .into_iter()
        .flatten()
        {
            assert_eq!(value.number(), number);
            values += 1;
        }
    }
    assert_eq!(ledger.live(), values);
    // It can be used as if nothing had been.
    let new = world.spawn(bundle(ledger, 1000));
    world.despawn(new).expect("alive");
    world.check().expect("every invariant holds");
    assert_eq!(ledger.live(), values);
}

/// Runs `act` on a full world once for each of its drops, which panics; the last run has none that
/// does. Gives how many there were.
fn at_every_drop(act: impl Fn(&mut World, &[Entity], &Ledger)) -> usize {
    for nth in 0.. {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        ledger.panic_at_drop(nth);
        let panicked = panics_as_planned(|| act(&mut world, &all, &ledger));
        assert_intact_after(world, &ledger, panicked);
        if !panicked {
            return nth;
        }
    }
    unreachable!()
}

#[track_caller]
fn assert_intact_after(mut world: World, ledger: &Ledger, panicked: bool) {
    if panicked {
        assert_intact(&mut world, ledger, 0);
    }
    _ = panics_as_planned(|| drop(world));
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_drop_in_despawn() {
    for row in [0, 3, ROWS - 1] {
        let drops = at_every_drop(|world, all, _| world.despawn(all[row]).expect("alive"));
        assert_eq!(drops, 3);
    }
}

#[test]
fn an_entity_is_gone_even_if_its_drop_panics() {
    let ledger = Ledger::default();
    let (mut world, all) = filled(&ledger);
    ledger.panic_at_drop(1);
    assert!(panics_as_planned(|| world.despawn(all[2]).expect("alive")));
    assert!(!world.contains(all[2]));
    assert_eq!(world.len(), ROWS - 1);
}

#[test]
fn where_the_drop_of_a_dependant_panics_it_is_gone_and_those_after_it_are_there() {
    // The last child first, and none before its own children.
    let order = [5, 6, 2, 4, 3, 1, 0];
    for (nth, last_gone) in order.into_iter().enumerate() {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        for (child, parent) in [(1, 0), (2, 0), (3, 1), (4, 1), (6, 2), (5, 2)] {
            world.relation_mut::<ChildOf>().set_parent(all[child], all[parent]).expect("alive");
        }
        // Each has three values.
        ledger.panic_at_drop(3 * nth + 1);
        assert!(panics_as_planned(|| world.despawn(all[0]).expect("alive")));
        assert!(!world.contains(all[last_gone]), "{last_gone}");
        for (place, &member) in order.iter().enumerate() {
            assert_eq!(world.contains(all[member]), place > nth, "{member} after {nth} others");
        }
        assert_eq!(world.len(), ROWS - nth - 1);
        assert_intact(&mut world, &ledger, 0);
        _ = world.despawn(all[0]);
        assert_eq!(world.len(), ROWS - 7, "the family can be despawned to its end");
        assert_intact(&mut world, &ledger, 0);
    }
}

#[test]
fn a_drop_of_a_value_that_is_overwritten_in_place() {
    let drops = at_every_drop(|world, all, ledger| {
        let values = (ledger.value(2), On(ledger.value(2)), Other(ledger.value(2)));
        world.insert(all[2], values).expect("alive");
    });
    assert_eq!(drops, 3);
}

#[test]
fn a_drop_of_a_value_that_is_overwritten_while_the_row_moves() {
    #[derive(Component)]
    struct Extra(Counted);
    let drops = at_every_drop(|world, all, ledger| {
        let values = (Other(ledger.value(2)), Number(2), On(ledger.value(2)));
        world.insert(all[2], (values, Number2)).expect("alive");
    });
    assert_eq!(drops, 2);
    let ledger = Ledger::default();
    let (mut world, all) = filled(&ledger);
    ledger.panic_at_drop(0);
    let value = ledger.value(7);
    assert!(panics_as_planned(|| {
        world.insert(all[2], (Other(ledger.value(2)), Extra(value))).expect("alive");
    }));
    assert_eq!(world.get::<Extra>(all[2]).expect("the new ones are there").0.number(), 7);
}

#[derive(Component)]
struct Number2;

#[test]
fn a_drop_of_a_value_that_was_removed() {
    let drops = at_every_drop(|world, all, _| {
        drop(world.remove::<(Other, Counted)>(all[0]).expect("it has both"));
    });
    assert_eq!(drops, 2);
}

#[test]
fn a_drop_of_a_value_that_came_back_because_nobody_was_there() {
    let drops = at_every_drop(|world, all, ledger| {
        // The despawn itself drops three.
        world.despawn(all[1]).expect("alive");
        drop(world.insert(all[1], (ledger.value(0), Other(ledger.value(0)))));
    });
    assert_eq!(drops, 5);
}

#[test]
fn a_drop_in_clear() {
    let drops = at_every_drop(|world, all, _| {
        _ = world.remove::<Number>(all[1]).map(|number| assert_eq!(number, Number(1)));
        world.clear();
    });
    assert_eq!(drops, ROWS * 3);
}

#[test]
fn after_a_panic_in_clear_nothing_is_left_and_old_handles_are_stale() {
    let ledger = Ledger::default();
    let (mut world, all) = filled(&ledger);
    ledger.panic_at_drop(4);
    assert!(panics_as_planned(|| world.clear()));
    assert!(world.is_empty());
    assert!(all.iter().all(|&entity| world.get::<Counted>(entity).is_err()));
    assert_eq!(world.query::<&Counted>().count(), 0);
    assert_eq!(ledger.live(), 0, "the rest was dropped while it unwound");
    assert_intact(&mut world, &ledger, 0);
}

#[test]
fn a_drop_at_the_end_of_the_world() {
    for nth in 0..ROWS * 3 {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        // A second archetype, which has to be dropped, too.
        drop(world.remove::<On>(all[1]).expect("it has one"));
        drop(world.insert_resource(String::from("a resource")));
        ledger.panic_at_drop(nth);
        _ = panics_as_planned(|| drop(world));
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn a_clone_in_instantiate() {
    for nth in 0..12 {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        ledger.panic_at_clone(nth);
        let panicked = panics_as_planned(|| drop(world.instantiate(all[2], 4)));
        assert!(panicked, "four copies of three values are twelve clones");
        assert_eq!(world.len(), ROWS + nth / 3, "the copies before it are there");
        assert_intact(&mut world, &ledger, 0);
    }
}

/// Rows of two archetypes, some of which pass and some of which stay between them: bulk changes
/// leave holes.
fn scatter(world: &mut World, all: &[Entity]) -> usize {
    for &entity in all.iter().step_by(5) {
        world.insert(entity, Number2).expect("alive");
    }
    for &entity in all.iter().step_by(3) {
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    world.query::<&On>().count()
}

#[test]
fn a_clone_in_a_bulk_insertion() {
    #[derive(Component, Clone)]
    struct Gift(Counted);
    for is_there in [false, true] {
        for nth in 0.. {
            let (ledger, gifts) = (Ledger::default(), Ledger::default());
            let (mut world, all) = filled(&ledger);
            if is_there {
                world.bulk::<()>().insert(Gift(gifts.value(1)));
            }
            let (passing, given) = (scatter(&mut world, &all), Gift(gifts.value(2)));
            gifts.panic_at_clone(nth);
            let panicked = panics_as_planned(|| _ = world.bulk::<With<On>>().insert(given));
            let numbers = world.query::<&Gift>().map(|gift| gift.0.number()).collect::<Vec<_>>();
            let new = numbers.iter().filter(|&&number| number == 2).count();
            assert_eq!(new, nth.min(passing), "those before the panic have it");
            assert_eq!(numbers.len(), if is_there { all.len() } else { new });
            assert_eq!(gifts.live(), numbers.len());
            for (i, &entity) in all.iter().enumerate() {
                assert_eq!(world.is_enabled::<On>(entity), Ok(i % 3 != 0));
            }
            assert_intact(&mut world, &ledger, 0);
            if !panicked {
                assert_eq!(nth, passing);
                break;
            }
        }
    }
}

#[test]
fn a_drop_in_a_bulk_change() {
    let despawns = at_every_drop(|world, all, _| {
        let passing = scatter(world, all);
        assert_eq!(world.bulk::<With<On>>().despawn(), passing);
    });
    let many = at_every_drop(|world, all, _| {
        _ = scatter(world, all);
        let leaving = all.iter().rev().step_by(2).copied();
        assert_eq!(world.despawn_many(leaving), ROWS.div_ceil(2));
    });
    assert_eq!(many, 3 * ROWS.div_ceil(2));
    let removes = at_every_drop(|world, all, _| {
        let passing = scatter(world, all);
        assert_eq!(world.bulk::<With<On>>().remove::<(Other, Counted)>(), passing);
    });
    let passing = (0..ROWS).filter(|i| i % 3 != 0).count();
    assert_eq!((despawns, removes), (3 * passing, 2 * passing));
}

#[test]
fn a_map_of_entities_in_instantiate() {
    struct Mapped(Counted);
    impl Component for Mapped {
        const HASH: HashRule<Self> = HashRule::Unhashed;
        const CLONE: Option<fn(&Self) -> Self> = Some(|mapped| Self(mapped.0.clone()));
        const MAP_ENTITIES: Option<fn(&mut Self, &mut dyn FnMut(Entity) -> Entity)> =
            Some(|_, _| panic!("planned: map"));
    }
    let ledger = Ledger::default();
    let mut world = World::new();
    let prefab = world.spawn((ledger.value(1), Number(1), Mapped(ledger.value(1))));
    assert!(panics_as_planned(|| drop(world.instantiate(prefab, 2))));
    assert_eq!((world.len(), ledger.live()), (1, 2));
    world.check().expect("every invariant holds");
    let mut commands = CommandBuffer::new(&world);
    _ = commands.spawn((Mapped(ledger.value(2)), ledger.value(2)));
    _ = commands.spawn(ledger.value(3));
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    assert_eq!((world.len(), ledger.live()), (1, 2), "what it held was dropped");
    world.check().expect("no reserved entity is left");
}

#[test]
fn the_iterator_of_a_batch() {
    for fails_at in 0..ROWS {
        let ledger = Ledger::default();
        let (mut world, _) = filled(&ledger);
        let panicked = panics_as_planned(|| {
            let bundles = (0..ROWS).map(|i| {
                assert!(i != fails_at, "planned: iterator");
                bundle(&ledger, i)
            });
            drop(world.spawn_batch(bundles));
        });
        assert!(panicked);
        assert_eq!(world.len(), ROWS + fails_at, "those before it are there");
        assert_intact(&mut world, &ledger, 0);
    }
}

#[test]
fn the_closure_of_a_query() {
    type Walk = fn(&mut World, &mut dyn FnMut(&mut Number));
    let walks: [Walk; 4] = [
        |world, f| world.query::<&mut Number>().for_each(f),
        |world, f| {
            let slices = world.query::<&mut Number>();
            slices.for_each_chunk(|slice| slice.iter_mut().for_each(&mut *f));
        },
        |world, f| world.query::<&mut Number>().into_iter().for_each(f),
        |world, f| {
            for number in world.query::<&mut Number>() {
                f(number);
            }
        },
    ];
    for walk in walks {
        for fails_at in 0..ROWS as u64 {
            let ledger = Ledger::default();
            let (mut world, all) = filled(&ledger);
            let panicked = panics_as_planned(|| {
                walk(&mut world, &mut |number| {
                    assert!(number.0 != fails_at, "planned: closure");
                    number.0 += 500;
                });
            });
            assert!(panicked);
            for (i, &entity) in (0..).zip(&all) {
                let expected = if i < fails_at { i + 500 } else { i };
                assert_eq!(world.get(entity), Ok(&Number(expected)), "rows before it were visited");
            }
            world.check().expect("every invariant holds");
            assert_eq!(ledger.live(), ROWS * 3);
        }
    }
}

/// A buffer with a bit of everything: six values, three of which replace others.
fn recorded(world: &World, all: &[Entity], ledger: &Ledger) -> CommandBuffer {
    let mut commands = CommandBuffer::new(world);
    commands.insert(all[0], (ledger.value(0), On(ledger.value(0))));
    _ = commands.spawn((ledger.value(77), Number(77)));
    commands.remove::<Other>(all[1]);
    commands.despawn(all[2]);
    commands.insert(all[2], ledger.value(2));
    commands.insert(all[3], (Number2, ledger.value(3)));
    _ = commands.spawn((Number(78), Other(ledger.value(78))));
    commands
}

#[test]
fn a_drop_of_a_buffer_that_was_never_played() {
    for nth in 0..6 {
        for clear in [false, true] {
            let ledger = Ledger::default();
            let (world, all) = filled(&ledger);
            let mut commands = recorded(&world, &all, &ledger);
            ledger.panic_at_drop(nth);
            assert!(panics_as_planned(|| {
                if clear {
                    commands.clear();
                }
                drop(commands);
            }));
            assert_intact(&mut { world }, &ledger, 0);
        }
    }
}

#[test]
fn a_drop_in_playback() {
    let drops = at_every_drop(|world, all, ledger| {
        let mut commands = recorded(world, all, ledger);
        // The buffer outlives the panic, and is empty.
        struct Empty<'a>(&'a mut CommandBuffer);
        impl Drop for Empty<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    assert!(self.0.is_empty());
                }
            }
        }
        let played = Empty(&mut commands).0.play(world);
        assert_eq!(played.failures().len(), 1);
    });
    assert_eq!(drops, 2 + 1 + 3 + 1 + 1);
}

#[test]
fn the_commands_before_a_panic_have_been_applied_and_the_buffer_can_be_used_again() {
    let ledger = Ledger::default();
    let (mut world, all) = filled(&ledger);
    let mut commands = CommandBuffer::new(&world);
    let first = commands.spawn((ledger.value(50), Number(50)));
    commands.insert(all[0], Link(first));
    commands.despawn(all[4]);
    let second = commands.spawn((ledger.value(51), Number(51)));
    commands.insert(all[1], Link(second));
    ledger.panic_at_drop(0);
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    let spawned = world.get::<Link>(all[0]).expect("applied").0;
    assert_eq!(world.get::<Number>(spawned), Ok(&Number(50)));
    assert!(!world.contains(all[4]));
    assert!(!world.has::<Link>(all[1]), "not applied");
    assert!(commands.is_empty());
    assert_intact(&mut world, &ledger, 0);

    let third = commands.spawn((ledger.value(52), Number(52)));
    commands.insert(all[1], Link(third));
    assert!(commands.play(&mut world).failures().is_empty());
    let spawned = world.get::<Link>(all[1]).expect("applied").0;
    assert_eq!(world.get::<Number>(spawned), Ok(&Number(52)));
}

#[derive(Component, Clone, Copy)]
struct Link(#[component(entity)] Entity);

#[test]
fn a_bundle_with_a_component_twice_in_a_buffer_harms_nothing_at_playback() {
    let ledger = Ledger::default();
    let (mut world, _) = filled(&ledger);
    let mut commands = CommandBuffer::new(&world);
    _ = commands.spawn((ledger.value(1), Number(1), ledger.value(2)));
    _ = commands.spawn((ledger.value(3), Number(3)));
    let play = std::panic::AssertUnwindSafe(|| drop(commands.play(&mut world)));
    assert!(std::panic::catch_unwind(play).is_err());
    assert_eq!(world.len(), ROWS);
    assert_intact(&mut world, &ledger, 0);
}

std::thread_local! {
    static SAYS_NAME: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone)]
struct Shy(Counted);

impl Component for Shy {
    const HASH: HashRule<Self> = HashRule::Fields(|shy, hasher| hasher.write_u64(shy.0.number()));

    fn name() -> &'static str {
        assert!(SAYS_NAME.get(), "planned: name");
        "tests.shy"
    }
}

/// A type says its name when the world meets it: before anything has changed.
#[test]
fn the_name_of_a_type_that_is_new_to_the_world() {
    type Use = fn(&mut World, Entity, Shy);
    let uses: [Use; 9] = [
        |world, _, shy| _ = world.spawn(shy),
        |world, _, shy| drop(world.spawn_batch([(Number(0), shy)])),
        |world, all, shy| drop(world.insert(all, (shy, Number(0)))),
        |world, all, _| drop(world.remove::<(Number, Shy)>(all)),
        |world, _, shy| _ = world.bulk::<()>().insert(shy),
        |world, _, shy| {
            let mut commands = CommandBuffer::new(world);
            commands.spawn_batch([shy.clone(), shy]);
            commands.play(world);
        },
        |world, all, shy| {
            let mut commands = CommandBuffer::new(world);
            (0..2).for_each(|_| commands.insert(all, shy.clone()));
            commands.play(world);
        },
        |world, _, _| _ = world.query::<(&mut Number, &Shy)>().count(),
        |world, _, _| _ = world.hooks().observe::<Shy>(EventKind::Add, |_, _| {}),
    ];
    for use_it in uses {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        SAYS_NAME.set(false);
        let shy = Shy(ledger.value(1));
        assert!(panics_as_planned(|| use_it(&mut world, all[0], shy)));
        assert_intact(&mut world, &ledger, 0);
        SAYS_NAME.set(true);
        use_it(&mut world, all[0], Shy(ledger.value(2)));
        world.check().expect("every invariant holds");
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}
