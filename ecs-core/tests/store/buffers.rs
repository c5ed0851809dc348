//! Dynamic buffers: lists as components, in the row while they are short.

use std::collections::VecDeque;

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{BufferElement, InstantiateError, MapEntities};

const INLINE: usize = 4;

#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
#[component(buffer = 4)]
#[repr(C)]
struct Step(u32);

#[derive(Component, Clone)]
#[component(buffer = 4)]
struct Item(Counted);

#[derive(Component, Clone, Copy)]
#[component(buffer = 2)]
struct Link(#[component(entity)] Entity);

#[derive(Component, Clone)]
#[component(buffer = 2, enableable, name = "tests.words")]
struct Word(String);

#[derive(Component, Clone, Copy)]
#[component(buffer = 2)]
struct Mark;

#[derive(Component)]
#[component(buffer = 0, unhashed)]
struct Opaque(u8);

fn steps(numbers: std::ops::Range<u32>) -> Buffer<Step> {
    numbers.map(Step).collect()
}

fn items(ledger: &Ledger, count: u64) -> Buffer<Item> {
    (0..count).map(|number| Item(ledger.value(number))).collect()
}

fn numbers(buffer: &Buffer<Item>) -> Vec<u64> {
    buffer.iter().map(|item| item.0.number()).collect()
}

#[test]
fn elements_lie_in_the_chunk_until_they_are_too_many() {
    let mut world = World::new();
    let entity = world.spawn(steps(0..4));
    let row = std::ptr::from_ref(world.get::<Buffer<Step>>(entity).expect("there"));
    let inside = |element: &Step| {
        let offset = std::ptr::from_ref(element).addr().wrapping_sub(row.addr());
        offset < size_of::<Buffer<Step>>()
    };
    let buffer = world.get_mut::<Buffer<Step>>(entity).expect("there");
    assert!(buffer.is_inline() && buffer.iter().all(inside));
    buffer.push(Step(4));
    assert!(!buffer.is_inline() && !buffer.iter().any(inside));
    assert_eq!(buffer[..], steps(0..5)[..]);
    assert_eq!(buffer.pop(), Some(Step(4)));
    assert!(!buffer.is_inline(), "it does not come back by itself");
    buffer.shrink_to_fit();
    assert!(buffer.is_inline() && buffer.iter().all(inside));
    assert_eq!(buffer[..], steps(0..4)[..]);
}

#[test]
fn what_fits_is_what_was_declared() {
    for (len, fits) in [(0, true), (INLINE, true), (INLINE + 1, false)] {
        assert_eq!(Buffer::from_iter(vec![Step(7); len]).is_inline(), fits, "{len}");
        assert_eq!(Buffer::<Step>::with_capacity(len).is_inline(), fits, "{len}");
    }
    assert_eq!(Buffer::<Step>::new().capacity(), INLINE);
    assert!(!Buffer::from_iter([Opaque(1)]).is_inline(), "none in the chunk");
}

fn below(random: &mut RandomStream, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("it is below a usize")
}

/// Every operation of a buffer against a queue that is known to be right.
#[test]
fn a_buffer_does_what_a_list_does() {
    for seed in 0..if cfg!(miri) { 4 } else { 200 } {
        let mut random = RandomStream::new(seed);
        let ledger = Ledger::default();
        let mut buffer = Buffer::<Item>::new();
        let mut model = VecDeque::<u64>::new();
        for value in 0..60 {
            let place = below(&mut random, model.len() + 1);
            let item = || Item(ledger.value(value));
            match below(&mut random, 11) {
                0..3 => {
                    buffer.push(item());
                    model.push_back(value);
                }
                3 => assert_eq!(buffer.pop().map(|item| item.0.number()), model.pop_back()),
                4 => {
                    buffer.insert(place, item());
                    model.insert(place, value);
                }
                5 if place < model.len() => {
                    assert_eq!(Some(buffer.remove(place).0.number()), model.remove(place));
                }
                6 if place < model.len() => {
                    let expected = model.swap_remove_back(place);
                    assert_eq!(Some(buffer.swap_remove(place).0.number()), expected);
                }
                7 => {
                    buffer.extend((0..3).map(|_| item()));
                    model.extend([value; 3]);
                }
                8 => {
                    buffer.retain(|item| item.0.number() % 3 != 0);
                    model.retain(|number| number % 3 != 0);
                }
                9 => {
                    // The iterator is given up early now and then.
                    let asked = below(&mut random, 3);
                    let drained: Vec<u64> =
                        buffer.drain(place..).take(asked).map(|item| item.0.number()).collect();
                    let expected: Vec<u64> = model.drain(place..).collect();
                    assert_eq!(drained, expected[..drained.len()]);
                }
                _ => {
                    buffer.truncate(place);
                    model.truncate(place);
                    buffer.shrink_to_fit();
                    assert_eq!(buffer.is_inline(), place <= INLINE);
                }
            }
            assert!(numbers(&buffer).iter().eq(&model), "seed {seed}");
            assert_eq!(ledger.live(), model.len());
        }
        let rest: Vec<u64> = buffer.into_iter().rev().map(|item| item.0.number()).collect();
        assert!(rest.iter().rev().eq(&model));
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn elements_go_along_when_their_entity_moves_and_go_with_it() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let all: Vec<Entity> = (0..200).map(|i| world.spawn(items(&ledger, i % 9))).collect();
    for &entity in &all {
        world.insert(entity, Word::buffer("a")).expect("alive");
    }
    for &entity in all.iter().step_by(2) {
        world.despawn(entity).expect("alive");
    }
    let mut expected = 0;
    for (i, &entity) in (0..).zip(&all).skip(1).step_by(2) {
        let found = numbers(world.get::<Buffer<Item>>(entity).expect("there"));
        assert_eq!(found, Vec::from_iter(0..i % 9));
        expected += found.len();
    }
    assert_eq!(ledger.live(), expected);
    let taken: Buffer<Item> = world.remove(all[1]).expect("there");
    assert_eq!(taken.len(), 1);
    world.check().expect("in order");
    drop((world, taken));
    assert_eq!(ledger.live(), 0);
}

impl Word {
    fn buffer(text: &str) -> Buffer<Self> {
        Buffer::from_iter([Self(text.into())])
    }
}

#[test]
fn queries_see_buffers_as_slices() {
    let mut world = World::new();
    drop(world.spawn_batch((0..100).map(|i| steps(0..i % 7))));
    for buffer in world.query::<&mut Buffer<Step>>() {
        buffer.iter_mut().for_each(|step| step.0 *= 2);
    }
    let sum: u32 = world.query::<&Buffer<Step>>().into_iter().flatten().map(|step| step.0).sum();
    let expected: u32 = (0..100).flat_map(|i| 0..i % 7).map(|number| number * 2).sum();
    assert_eq!(sum, expected);
}

#[test]
fn an_instance_has_elements_of_its_own_which_refer_to_the_instance() {
    let mut world = World::new();
    let prefab = world.spawn(());
    let other = world.spawn(());
    let links = (0..3).map(|i| Link(if i == 1 { other } else { prefab })).collect::<Buffer<_>>();
    world.insert(prefab, (links, Word::buffer("a"))).expect("alive");
    let copy = world.instantiate(prefab, 1).expect("cloneable")[0];
    world.get_mut::<Buffer<Word>>(prefab).expect("there")[0].0.push('b');
    let links =
        |entity| world.get::<Buffer<Link>>(entity).expect("there").iter().map(|link| link.0);
    assert!(links(copy).eq([copy, other, copy]));
    assert!(links(prefab).eq([prefab, other, prefab]));
    assert_eq!(world.get::<Buffer<Word>>(copy).expect("there")[0].0, "a");
}

#[test]
fn names_in_hashes_and_snapshots_do_not_follow_our_modules() {
    let mut world = World::new();
    world.relation_mut::<ChildOf>();
    let ids = [world.register::<Buffer<Opaque>>(), world.register::<Buffer<Word>>()];
    let sides = [
        world.component_id::<formic_ecs::Targets<ChildOf>>().expect("it is registered"),
        world.component_id::<formic_ecs::Sources<ChildOf>>().expect("it is registered"),
    ];
    let name = |id| world.component_info(id).expect("it is known").name().to_string();
    let element = std::any::type_name::<Opaque>();
    assert_eq!(
        ids.map(name),
        [format!("formic_ecs::component::buffer::Buffer<{element}>"), "tests.words".into()]
    );
    let side = |kind| format!("formic_ecs::relation::{kind}<formic_ecs::relation::ChildOf>");
    assert_eq!(sides.map(name), ["Targets", "Sources"].map(side));
}

#[test]
fn what_the_element_cannot_do_the_buffer_cannot() {
    let mut world = World::new();
    let entity = world.spawn(Buffer::from_iter([Opaque(1)]));
    assert_eq!(
        world.instantiate(entity, 1),
        Err(InstantiateError::NotClone { component: Buffer::<Opaque>::name().into(), instead: "" })
    );
    let hash = world.state_hash();
    let id = world.component_id::<Buffer<Opaque>>().expect("it is in use");
    assert_eq!(
        hash.uncovered(),
        std::slice::from_ref(world.component_info(id).expect("known").name())
    );
    world.get_mut::<Buffer<Opaque>>(entity).expect("there")[0].0 = 2;
    assert_eq!(world.state_hash(), hash);
}

#[test]
fn command_buffers_carry_buffers_and_remap_what_is_in_them() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let spark = commands.spawn(());
    let owner = commands.spawn(Buffer::from_iter([Link(spark), Link(spark), Link(spark)]));
    commands.insert(spark, Buffer::from_iter([Link(owner)]));
    assert_eq!(commands.play(&mut world).failures(), []);
    let found: Vec<(Entity, Vec<Entity>)> = world
        .query::<(Entity, &Buffer<Link>)>()
        .into_iter()
        .map(|(entity, links)| (entity, links.iter().map(|link| link.0).collect()))
        .collect();
    let [(a, of_a), (b, of_b)] = &found[..] else { panic!("two entities: {found:?}") };
    let (spark, owner, of_spark, of_owner) =
        if of_a.len() == 1 { (a, b, of_a, of_b) } else { (b, a, of_b, of_a) };
    assert_eq!(of_spark[..], [*owner]);
    assert_eq!(of_owner[..], [*spark; 3]);
}

#[test]
fn the_state_hash_takes_in_every_element_wherever_it_is() {
    let hash_of = |buffer| {
        let mut world = World::new();
        world.spawn::<Buffer<Step>>(buffer);
        world.state_hash().value()
    };
    let mut all = vec![hash_of(steps(0..0)), hash_of(steps(0..1)), hash_of(steps(0..6))];
    let mut changed = steps(0..6);
    changed[5].0 += 1;
    all.push(hash_of(changed));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4);
    let mut shrunk = steps(0..6);
    shrunk.truncate(2);
    assert!(!shrunk.is_inline());
    assert_eq!(hash_of(shrunk), hash_of(steps(0..2)), "where the elements are is no state");
}

#[test]
fn elements_without_a_size_are_counted() {
    let mut buffer: Buffer<Mark> = [Mark; 100].into_iter().collect();
    assert_eq!(buffer.len(), 100);
    buffer.truncate(7);
    let mut world = World::new();
    let entity = world.spawn(buffer);
    let copy = world.instantiate(entity, 1).expect("cloneable")[0];
    assert_eq!(world.get::<Buffer<Mark>>(copy).expect("there").len(), 7);
}

#[test]
fn the_options_of_the_element_are_those_of_the_buffer() {
    assert_eq!(Buffer::<Word>::name(), "tests.words");
    let mut world = World::new();
    let entity = world.spawn(Word::buffer("a"));
    assert_eq!(world.set_enabled::<Buffer<Word>>(entity, false), Ok(true));
    assert_eq!(world.query::<&Buffer<Word>>().count(), 0);
}

#[test]
fn elements_that_are_no_buffer_can_be_mapped_as_a_field() {
    struct Element(Entity);
    impl MapEntities for Element {
        fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
            self.0 = map(self.0);
        }
    }
    impl BufferElement for Element {
        type Inline = [Self; 3];
        const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
    }
    let mut world = World::new();
    let (a, b) = (world.spawn(()), world.spawn(()));
    let mut buffer = Buffer::from_iter([Element(a), Element(b)]);
    buffer.map_entities(&mut |entity| if entity == a { b } else { a });
    assert_eq!([buffer[0].0, buffer[1].0], [b, a]);
}

#[test]
fn a_panicking_drop_of_an_element_drops_the_others() {
    for count in [INLINE, 9] {
        for nth in 0..count {
            let ledger = Ledger::default();
            let mut world = World::new();
            let entity = world.spawn((items(&ledger, count as u64), Step::in_buffer()));
            let other = world.spawn((items(&ledger, 3), Step::in_buffer()));
            ledger.panic_at_drop(nth);
            assert!(panics_as_planned(|| world.despawn(entity).expect("alive")));
            world.check().expect("in order");
            assert!(!world.contains(entity));
            assert_eq!(ledger.live(), 3);
            assert_eq!(numbers(world.get::<Buffer<Item>>(other).expect("there")), [0, 1, 2]);
        }
    }
}

impl Step {
    fn in_buffer() -> Buffer<Self> {
        Buffer::from_iter([Self(1)])
    }
}

#[test]
fn a_panicking_clone_of_an_element_leaves_no_instance_and_no_element() {
    for nth in 0..9 {
        let ledger = Ledger::default();
        let mut world = World::new();
        let entity = world.spawn(items(&ledger, 9));
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| drop(world.instantiate(entity, 1))));
        world.check().expect("in order");
        assert_eq!((world.len(), ledger.live()), (1, 9));
    }
}

#[test]
fn a_panic_in_user_code_leaves_the_buffer_whole() {
    for inline in [true, false] {
        let ledger = Ledger::default();
        let count = if inline { INLINE as u64 } else { 10 };
        let mut buffer = items(&ledger, count);
        for nth in 0..count {
            let mut asked = 0;
            assert!(panics_as_planned(|| buffer.retain(|_| {
                asked += 1;
                assert!(asked <= nth, "planned: retain");
                true
            })));
            assert_eq!(numbers(&buffer), Vec::from_iter(0..count));
        }
        assert!(panics_as_planned(|| buffer.extend((0..20).map(|i| {
            assert!(i < 2, "planned: next");
            Item(ledger.value(i))
        }))));
        assert_eq!(ledger.live(), buffer.len());
        let len = buffer.len();
        ledger.panic_at_drop(1);
        assert!(panics_as_planned(|| buffer.truncate(len - 3)));
        // Those that it did not come to are still there.
        assert_eq!(buffer.len(), len - 2);
        assert_eq!(ledger.live(), len - 2);
    }
}
