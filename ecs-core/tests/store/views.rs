//! Views and queries that are kept while chunks come, go, move and change hands.

use formic_ecs::prelude::*;
use formic_ecs::{NoSuchEntity, RandomStream};

#[derive(Component, Clone, Debug, PartialEq)]
struct Plain(u64);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(tracked)]
struct Exact(u64);
#[derive(Component, Clone)]
#[component(enableable)]
struct Lamp;
#[derive(Component, Clone)]
struct Tag;

const STEPS: u64 = if cfg!(miri) { 60 } else { 400 };

struct Plans {
    plain: formic_ecs::ViewPlan<&'static mut Plain>,
    exact: formic_ecs::ViewPlan<(&'static mut Exact, Entity)>,
    lamps: formic_ecs::ViewPlan<EnabledMut<Lamp>>,
    either: formic_ecs::ViewPlan<(&'static Plain, Option<&'static Tag>)>,
    plains: formic_ecs::QueryPlan<(Entity, &'static mut Plain, Option<&'static Tag>)>,
    tagged: formic_ecs::QueryPlan<&'static mut Exact, With<Tag>>,
}

impl Plans {
    /// Each view finds what the world says of this entity, and what it writes is the world's.
    fn compare(&mut self, world: &mut World, entity: Entity, value: u64) {
        let plain = world.get::<Plain>(entity).ok().cloned();
        let is_tagged = plain.is_some().then(|| world.has::<Tag>(entity));
        let had_exact = world.has::<Exact>(entity);
        let lit = world.is_enabled::<Lamp>(entity).ok();
        let before = world.version();
        let cell = world.cell();
        let either = cell.view(&mut self.either).expect("free");
        assert_eq!(either.get(entity).ok().map(|(plain, _)| plain), plain.as_ref());
        assert_eq!(either.get(entity).ok().map(|(_, tag)| tag.is_some()), is_tagged);
        drop(either);
        let mut plains = cell.view(&mut self.plain).expect("free");
        assert_eq!(plains.get_mut(entity).ok().map(|plain| plain.0 = value), plain.map(drop));
        drop(plains);
        let mut exact = cell.view(&mut self.exact).expect("free");
        let found = exact.get_mut(entity).ok().map(|(exact, found)| {
            exact.0 = value;
            found
        });
        assert_eq!(found, had_exact.then_some(entity));
        let bits = cell.view(&mut self.lamps).expect("free");
        assert_eq!(bits.set(entity, value % 2 == 0).ok(), lit);
        drop((exact, bits));
        assert_eq!(world.get(entity).ok(), is_tagged.map(|_| Plain(value)).as_ref());
        assert_eq!(world.get(entity).ok(), had_exact.then_some(Exact(value)).as_ref());
        assert_eq!(world.is_enabled::<Lamp>(entity).ok(), lit.map(|_| value % 2 == 0));
        let changed = world.query_filtered::<Entity, Changed<Exact>>().since(before);
        assert!(changed.into_iter().eq(found), "its row alone is stamped");
        let written = world.query_filtered::<Entity, Changed<Plain>>().since(before);
        let is_written = written.into_iter().any(|other| other == entity);
        assert_eq!(is_written, is_tagged.is_some(), "its chunk counts as written, each time");
        // The world's own view, which is kept as well.
        let mine = world.view::<&mut Plain>().get_mut(entity).map(|plain| plain.0).ok();
        assert_eq!(mine, is_tagged.map(|_| value));
    }

    /// Each query finds what one does that is worked out anew, and what it writes is the world's. A kept one knows more
    /// about the chunks when it is asked again.
    fn compare_queries(&mut self, world: &mut World) {
        for _ in 0..3 {
            let rows = world.query_ref::<(Entity, &Plain, Option<&Tag>)>();
            let expected: Vec<_> =
                rows.map(|(entity, plain, tag)| (entity, plain.0, tag.is_some())).collect();
            let tagged = world.query_ref_filtered::<&Exact, With<Tag>>();
            let mut tagged: Vec<_> = tagged.map(|exact| exact.0).collect();
            let before = world.version();
            let mut found = Vec::new();
            let cell = world.cell();
            cell.query(&mut self.plains).expect("free").query().for_each(|(entity, plain, tag)| {
                found.push((entity, plain.0, tag.is_some()));
                plain.0 += 1;
            });
            assert_eq!(found, expected);
            let mut rest = tagged.iter_mut();
            cell.query(&mut self.tagged).expect("free").query().for_each_chunk(|run| {
                run.iter_mut().zip(rest.by_ref()).for_each(|(exact, expected)| {
                    assert_eq!(exact.0, *expected);
                    exact.0 += 1;
                    *expected += 1;
                });
            });
            assert_eq!(rest.len(), 0);
            let now = world.query_ref::<&Plain>().map(|plain| plain.0);
            assert!(now.eq(expected.iter().map(|&(_, plain, _)| plain + 1)));
            let changed = world.query_filtered::<&Exact, Changed<Exact>>().since(before);
            assert!(changed.map(|exact| exact.0).eq(tagged), "those that were written are stamped");
            // The world's own query, which is kept as well.
            let (mut mine, mut count) = (expected.iter(), 0);
            world.query::<&mut Plain>().for_each(|plain| {
                count += 1;
                plain.0 -= 1;
                assert_eq!(Some(plain.0), mine.next().map(|&(_, plain, _)| plain));
            });
            assert_eq!(count, expected.len());
        }
    }
}

#[test]
fn kept_views_and_queries_find_every_entity_whatever_became_of_the_chunks_meanwhile() {
    let mut world = World::new();
    let mut plans = Plans {
        plain: world.view_plan(),
        exact: world.view_plan(),
        lamps: world.view_plan(),
        either: world.view_plan(),
        plains: world.plan(),
        tagged: world.plan_filtered(),
    };
    let mut random = RandomStream::new(11);
    let mut all = vec![world.spawn(())];
    let saved = world.snapshot().expect("nothing is there");
    for step in 0..STEPS {
        let few = random.below(if cfg!(miri) { 12 } else { 300 });
        let one = all[usize::try_from(random.below(all.len() as u64)).expect("small")];
        match random.below(16) {
            0 => all.extend(world.spawn_batch((0..few).map(|i| (Plain(i), Lamp)))),
            1 => all.extend(world.spawn_batch((0..few).map(|i| (Exact(i), Tag)))),
            2 => all.extend(world.spawn_batch((0..few).map(|i| (Plain(i), Exact(i), Lamp)))),
            3 => all.extend(world.spawn_batch((0..few).map(Plain))),
            4 => all.extend(world.spawn_batch((0..few).map(|_| Tag))),
            5 => _ = world.insert(one, (Tag, Exact(1))),
            6 => _ = world.remove::<Lamp>(one),
            7 => _ = world.insert(one, Lamp),
            8 => _ = world.despawn(one),
            // Whole chunks change hands where the other archetype is empty.
            9 => _ = world.bulk::<Without<Tag>>().insert(Tag),
            10 => _ = world.bulk::<With<Tag>>().remove::<Tag>(),
            11 => _ = world.bulk::<With<Exact>>().despawn(),
            12 => _ = world.bulk::<Without<Exact>>().despawn(),
            13 => world.compact(),
            14 => _ = world.collect_archetypes(),
            _ if step % 4 == 0 => drop(world.restore(&saved).expect("as it was saved")),
            _ => world.clear(),
        }
        for _ in 0..3 {
            let one = all[usize::try_from(random.below(all.len() as u64)).expect("small")];
            plans.compare(&mut world, one, step);
        }
        plans.compare_queries(&mut world);
        world.check().expect("in order");
    }
}

#[test]
fn a_part_of_a_view_refuses_what_it_does_not_have() {
    #[derive(Component)]
    struct Place(u32);
    let mut world = World::new();
    let all = world.spawn_batch((0..5).map(Place));
    let bare = world.spawn(());
    world.despawn(all[4]).expect("alive");
    let mut view = world.view::<&mut Place>();
    for (which, mut shard) in (0..3).zip(view.shards(3)) {
        for &entity in &all[..4] {
            let found = shard.get_mut(entity).map(|place| place.0);
            let is_mine = entity.index() % 3 == which;
            assert_eq!(found.ok(), is_mine.then_some(entity.index()));
        }
        assert!(shard.get_mut(bare).is_err());
        let gone = NoSuchEntity(all[4]).into();
        assert_eq!(shard.get_mut(all[4]).err(), Some(gone), "whichever part it was of");
    }
    let none = std::panic::AssertUnwindSafe(|| drop(view.shards(0)));
    assert!(std::panic::catch_unwind(none).is_err(), "a view has one part at least");
}
