//! Relations: both sides in step whatever happens, hierarchies, and what a despawn takes along.

mod model;

use std::sync::{Arc, Mutex};

use formic_ecs::prelude::*;
use formic_ecs::{
    ByIdError, ChildOf, Despawned, DynamicQuery, EventKind, NoSuchEntity, OnTargetDespawn,
    RandomStream, RegisterError, Related, Relation, RelationError, RelationId, RelationMut,
    RelationRef, RelationRules, Sources, Targets, Unrelated,
};

/// Of many to many, with cycles.
struct Likes;
impl Relation for Likes {}

/// Of many to many, without cycles; the sources go with any target.
struct Needs;
impl Relation for Needs {
    const ACYCLIC: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
}

/// With cycles that despawn each other.
struct Bound;
impl Relation for Bound {
    const EXCLUSIVE: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Debug)]
#[component(cleanup)]
struct Grave;

#[track_caller]
fn check(world: &World) {
    world.check().expect("every invariant holds");
}

fn numbered<const N: usize>(world: &mut World) -> [Entity; N] {
    core::array::from_fn(|i| world.spawn(Number(i as u64)))
}

#[test]
fn both_sides_are_in_step_and_in_order() {
    let mut world = World::new();
    let [a, b, c, d] = numbered(&mut world);
    assert_eq!(world.relation_mut::<Likes>().add(a, c), Ok(true));
    assert_eq!(world.relation_mut::<Likes>().add(a, b), Ok(true));
    assert_eq!(world.relation_mut::<Likes>().add(a, c), Ok(false), "once is enough");
    assert_eq!(world.relation_mut::<Likes>().add(d, c), Ok(true));
    assert_eq!(world.relation_mut::<Likes>().add(a, a), Ok(true), "one may like oneself");
    check(&world);
    assert_eq!(world.relation::<Likes>().targets(a), [c, b, a]);
    assert_eq!(world.relation::<Likes>().sources(c), [a, d]);
    assert_eq!(world.query::<&Targets<Likes>>().count(), 2);
    assert_eq!(world.query_filtered::<Entity, With<Sources<Likes>>>().count(), 3);
    assert_eq!(world.relation_mut::<Likes>().remove(a, d), Ok(false));
    assert_eq!(world.relation_mut::<Likes>().remove(a, c), Ok(true));
    assert_eq!(world.relation::<Likes>().targets(a), [b, a], "the others keep their order");
    assert_eq!(world.relation::<Likes>().sources(c), [d]);
    assert_eq!(world.relation_mut::<Likes>().remove(d, c), Ok(true));
    assert!(!world.has::<Targets<Likes>>(d) && !world.has::<Sources<Likes>>(c));
    check(&world);
    world.despawn(a).expect("alive");
    assert_eq!(world.query_filtered::<Entity, With<Sources<Likes>>>().count(), 0);
    check(&world);
}

#[test]
fn an_exclusive_relation_moves_to_the_new_target() {
    let mut world = World::new();
    let [a, b, c] = numbered(&mut world);
    world.relation_mut::<Bound>().add(a, b).expect("alive");
    world.relation_mut::<Bound>().add(a, c).expect("alive");
    assert_eq!(world.relation::<Bound>().targets(a), [c]);
    assert_eq!(world.relation::<Bound>().sources(b), []);
    world.relation_mut::<Bound>().add(a, a).expect("cycles are fine");
    world.relation_mut::<Bound>().add(a, b).expect("alive");
    assert_eq!(world.relation::<Bound>().targets(a), [b]);
    check(&world);
}

#[test]
fn relating_the_dead_or_in_a_cycle_is_refused() {
    let mut world = World::new();
    let [a, b, c, gone] = numbered(&mut world);
    let buried = world.spawn(Grave);
    world.despawn(buried).expect("alive");
    world.despawn(gone).expect("alive");
    for dead in [gone, buried] {
        let refused = Err(RelationError::NoSuchEntity(NoSuchEntity(dead)));
        assert_eq!(world.relation_mut::<Likes>().add(a, dead), refused);
        assert_eq!(world.relation_mut::<Likes>().add(dead, a), refused);
        assert_eq!(world.relation_mut::<Likes>().remove(dead, a), Err(NoSuchEntity(dead)));
        assert_eq!(world.relation_mut::<ChildOf>().set_parent(dead, None), refused.map(drop));
    }
    assert_eq!(
        world.relation_mut::<Needs>().add(a, a),
        Err(RelationError::Cycle { source: a, target: a })
    );
    world.relation_mut::<Needs>().add(a, b).expect("no cycle");
    world.relation_mut::<Needs>().add(b, c).expect("no cycle");
    world.relation_mut::<Needs>().add(a, c).expect("a second way is no cycle");
    assert_eq!(
        world.relation_mut::<Needs>().add(c, a),
        Err(RelationError::Cycle { source: c, target: a })
    );
    world.relation_mut::<ChildOf>().set_parent(a, b).expect("another relation");
    world.relation_mut::<ChildOf>().set_parent(b, c).expect("no cycle");
    assert!(
        world.relation_mut::<ChildOf>().set_parent(c, a).is_err()
            && world.relation_mut::<ChildOf>().set_parent(a, a).is_err()
    );
    assert_eq!(world.relation::<ChildOf>().parent(c), None);
    check(&world);
}

/// A walk up the chain for each child would be 5,000,000,000 steps, a minute or more.
#[test]
#[cfg_attr(miri, ignore = "many entities")]
fn a_chain_that_grows_at_its_end_is_not_walked_for_each_child() {
    let mut world = World::new();
    let chain = world.spawn_batch((0..100_000).map(Number));
    for pair in chain.windows(2) {
        world.relation_mut::<ChildOf>().set_parent(pair[1], pair[0]).expect("no cycle");
    }
    assert!(
        world.relation_mut::<ChildOf>().set_parent(chain[0], chain[99_999]).is_err(),
        "a cycle is still one"
    );
    let copy = world.instantiate(chain[0], 1).expect("there")[0];
    check(&world);
    world.despawn(chain[0]).expect("there");
    assert_eq!(world.relation::<ChildOf>().descendants(copy).count(), 99_999);
    check(&world);
}

#[test]
fn nobody_gets_the_lists_to_write_by_their_ids() {
    let mut world = World::new();
    let [source, target] = numbered(&mut world);
    world.relation_mut::<Likes>().add(source, target).expect("both are there");
    for (entity, id) in [
        (source, world.component_id::<Targets<Likes>>().expect("known")),
        (target, world.component_id::<Sources<Likes>>().expect("known")),
    ] {
        assert!(matches!(world.by_id_mut().get_mut_ptr(entity, id), Err(ByIdError::Managed(_))));
        assert!(world.by_id().get_ptr(entity, id).is_ok(), "it may be read");
        assert!(matches!(world.by_id_mut().remove(entity, id), Err(ByIdError::Managed(_))));
        let bytes = [0; size_of::<Targets<Likes>>()];
        let mut all = DynamicQuery::builder().build(&world).expect("of no component");
        for refused in [
            world.by_id_mut().insert_default(entity, id),
            world.by_id_mut().set_field(entity, id, 0, "0v1"),
            world.by_id_mut().bulk(&mut all).expect("this world's").remove(id).map(drop),
        ] {
            assert!(matches!(refused, Err(ByIdError::Managed(_))), "{refused:?}");
        }
        for refused in [
            world.by_id_mut().insert(entity, id, &bytes),
            world.by_id_mut().bulk(&mut all).expect("this world's").insert(id, &bytes).map(drop),
            world.by_id_mut().spawn_batch(&[(id, &bytes)], 1).map(drop),
        ] {
            assert!(matches!(refused, Err(ByIdError::NotBytes(_))), "{refused:?}");
        }
    }
    check(&world);
    assert_eq!(world.len(), 2);
    assert!(world.relation::<Likes>().contains(source, target));
}

#[test]
fn a_despawn_takes_those_along_that_depend_on_it() {
    let mut world = World::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    world.hooks().observe::<Number>(EventKind::Despawn, move |world: &mut World, event| {
        check(world);
        let number = world.get::<Number>(event.entity).expect("told before").0;
        written.lock().expect("not poisoned").push(number);
    });
    let [root, left, right, leaf, friend] = numbered(&mut world);
    world.relation_mut::<ChildOf>().set_parent(left, root).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(right, root).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(leaf, left).expect("alive");
    world.relation_mut::<Likes>().add(friend, leaf).expect("alive");
    world.relation_mut::<Needs>().add(friend, right).expect("alive");
    world.despawn(root).expect("alive");
    let order = log.lock().expect("not poisoned").clone();
    assert_eq!(order, [4, 2, 3, 1, 0], "the last first, and none before its own");
    assert!(world.is_empty());
    check(&world);
}

/// The entities depend on those before them, in each order in which they may have come to do so.
#[test]
fn a_despawn_takes_none_before_those_that_depend_on_it() {
    let pairs = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2)];
    for turn in 0..pairs.len() {
        for is_reversed in [false, true] {
            let mut world = World::new();
            let gone: Arc<Mutex<Vec<Entity>>> = Arc::default();
            let heard = gone.clone();
            world.hooks().observe::<Number>(EventKind::Despawn, move |_: &mut World, event| {
                heard.lock().expect("no panic").push(event.entity);
            });
            let all: [Entity; 4] = numbered(&mut world);
            let mut order = pairs;
            order.rotate_left(turn);
            if is_reversed {
                order.reverse();
            }
            for (source, target) in order {
                assert_eq!(world.relation_mut::<Needs>().add(all[source], all[target]), Ok(true));
            }
            world.despawn(all[0]).expect("alive");
            assert!(world.is_empty());
            check(&world);
            assert!(gone.lock().expect("no panic").iter().eq(all.iter().rev()), "{order:?}");
        }
    }
}

#[test]
fn cycles_that_despawn_each_other_end() {
    let mut world = World::new();
    let [a, b, c, d] = numbered(&mut world);
    world.relation_mut::<Bound>().add(a, b).expect("alive");
    world.relation_mut::<Bound>().add(b, c).expect("alive");
    world.relation_mut::<Bound>().add(c, a).expect("alive");
    world.relation_mut::<Bound>().add(d, d).expect("alive");
    world.despawn(b).expect("alive");
    assert_eq!(world.len(), 1);
    check(&world);
    world.despawn(d).expect("alive");
    assert!(world.is_empty());
}

#[test]
fn deep_and_wide_families_go_without_recursion() {
    let depth = match () {
        () if cfg!(miri) => 40,
        () if cfg!(formic_small_blocks) => 300,
        () => 10_000,
    };
    let mut world = World::new();
    let root = world.spawn(Number(0));
    let mut last = root;
    for i in 1..depth {
        let next = world.spawn(Number(i));
        world.relation_mut::<ChildOf>().set_parent(next, last).expect("alive");
        last = next;
    }
    check(&world);
    assert_eq!(
        world.relation::<ChildOf>().ancestors(last).count(),
        usize::try_from(depth).expect("small") - 1
    );
    assert_eq!(
        world.relation::<ChildOf>().descendants(root).count(),
        usize::try_from(depth).expect("small") - 1
    );
    assert!(world.relation_mut::<ChildOf>().set_parent(root, last).is_err());
    world.despawn(root).expect("alive");
    assert!(world.is_empty());
    let root = world.spawn(());
    for i in 0..depth {
        let child = world.spawn(Number(i));
        world.relation_mut::<ChildOf>().set_parent(child, root).expect("alive");
    }
    world.despawn(root).expect("alive");
    assert!(world.is_empty());
    check(&world);
}

#[test]
fn sources_that_leave_from_anywhere_keep_the_order_of_the_others() {
    let count = if cfg!(miri) { 30 } else { 200 };
    let from_the_front = |_: &mut RandomStream, _: usize| 0;
    let from_anywhere = |random: &mut RandomStream, len: usize| {
        usize::try_from(random.below(len as u64)).expect("a place in a list")
    };
    let from_both_ends =
        |random: &mut RandomStream, len: usize| (len - 1) * usize::from(random.below(2) > 0);
    let ways: [fn(&mut RandomStream, usize) -> usize; 3] =
        [from_the_front, from_anywhere, from_both_ends];
    for (seed, place_of) in (1..).zip(ways) {
        let random = &mut RandomStream::new(seed);
        let mut world = World::new();
        let root = world.spawn(());
        let mut expected = Vec::new();
        let mut left = count;
        while left > 0 || !expected.is_empty() {
            // They come faster than they go, until no more come.
            if left > 0 && (expected.is_empty() || random.below(3) > 0) {
                left -= 1;
                let child = world.spawn(());
                world.relation_mut::<ChildOf>().set_parent(child, root).expect("alive");
                expected.push(child);
            } else {
                let child = expected.remove(place_of(random, expected.len()));
                world.despawn(child).expect("alive");
            }
            assert_eq!(world.relation::<ChildOf>().children(root), expected);
        }
        check(&world);
    }
}

#[test]
fn a_copy_and_a_snapshot_of_a_family_have_those_that_did_not_leave() {
    let mut world = World::new();
    let root = world.spawn(());
    let children: Vec<_> = (0..7).map(|_| world.spawn(())).collect();
    for &child in &children {
        world.relation_mut::<ChildOf>().set_parent(child, root).expect("alive");
    }
    for &child in &children[..3] {
        world.despawn(child).expect("alive");
    }
    let (hash, saved) = (world.state_hash(), world.snapshot().expect("can be saved"));
    let copy = world.instantiate(root, 1).expect("can be copied")[0];
    assert_eq!(world.relation::<ChildOf>().children(copy).len(), 4);
    assert_eq!(world.relation::<ChildOf>().children(root), &children[3..]);
    check(&world);
    world.restore(&saved).expect("its own");
    assert_eq!(world.relation::<ChildOf>().children(root), &children[3..]);
    assert_eq!(world.state_hash(), hash);
    check(&world);
}

const SERVES: RelationRules = RelationRules {
    is_exclusive: true,
    is_acyclic: true,
    on_target_despawn: OnTargetDespawn::DespawnSources,
};

fn script_relations(world: &mut World) -> [RelationId; 2] {
    let mut register = |name, rules| {
        world.by_id_mut().register_relation(name, rules).expect("the name is free").id()
    };
    [register("script.likes", RelationRules::default()), register("script.serves", SERVES)]
}

fn relation(world: &World, id: RelationId) -> RelationRef<'_> {
    world.by_id().relation(id).expect("it is of this world")
}

fn relation_mut(world: &mut World, id: RelationId) -> RelationMut<'_> {
    world.by_id_mut().relation(id).expect("it is of this world")
}

#[test]
fn a_relation_made_at_run_time_keeps_its_rules() {
    let mut world = World::new();
    let [likes, serves] = script_relations(&mut world);
    let [a, b, c, d] = numbered(&mut world);
    let mut relate = |relation, source, target| {
        let related = relation_mut(&mut world, relation).add(source, target);
        check(&world);
        related
    };
    assert_eq!(relate(likes, a, b), Ok(true));
    assert_eq!(relate(likes, a, b), Ok(false), "once is enough");
    assert_eq!(relate(likes, b, a), Ok(true));
    assert_eq!(relate(likes, a, a), Ok(true));
    assert_eq!(relate(serves, a, b), Ok(true));
    assert_eq!(relate(serves, b, a), Err(RelationError::Cycle { source: b, target: a }));
    assert_eq!(relate(serves, b, c), Ok(true));
    assert_eq!(relate(serves, a, c), Ok(true), "its only target now");
    let [like, serve] = [likes, serves].map(|id| relation(&world, id));
    assert_eq!((like.targets(a), like.sources(a)), (&[b, a][..], &[b, a][..]));
    assert_eq!((serve.targets(a), serve.sources(c)), (&[c][..], &[b, a][..]));
    assert!(serve.sources(b).is_empty(), "those of one relation are not those of another");
    // A typed relation is one of these, and shares nothing with them.
    let typed = world.relation_mut::<Likes>().id();
    assert_eq!(relation_mut(&mut world, typed).add(d, a), Ok(true));
    assert_eq!(world.relation::<Likes>().targets(d), [a]);
    assert_eq!(relation_mut(&mut world, likes).remove(d, a), Ok(false));
    assert_eq!(relation_mut(&mut world, likes).remove(a, b), Ok(true));
    assert_eq!(relation(&world, likes).targets(a), [a]);
    check(&world);
    world.despawn(c).expect("alive");
    check(&world);
    assert_eq!(world.entities().collect::<Vec<_>>(), [d], "those that serve it go with it");
}

#[test]
fn a_relation_made_at_run_time_is_copied_saved_and_hashed() {
    let mut world = World::new();
    let [likes, serves] = script_relations(&mut world);
    let [a, b, c] = core::array::from_fn(|_| world.spawn(()));
    for (relation, source, target) in [(likes, a, b), (likes, a, c), (serves, b, c)] {
        relation_mut(&mut world, relation).add(source, target).expect("alive");
    }
    let (hash, saved) = (world.state_hash(), world.snapshot().expect("can be saved"));
    let copy = world.instantiate(a, 1).expect("can be copied")[0];
    assert_eq!(relation(&world, likes).targets(copy), [b, c]);
    assert_eq!(relation(&world, likes).sources(c), [a, copy]);
    assert_ne!(world.state_hash(), hash);
    check(&world);

    let mut other = World::new();
    // In another order: relations go by their names.
    let serves = other.by_id_mut().register_relation("script.serves", SERVES).expect("free").id();
    other.relation_mut::<Likes>();
    let rules = RelationRules::default();
    let likes = other.by_id_mut().register_relation("script.likes", rules).expect("free").id();
    other.restore(&saved).expect("both are known");
    assert_eq!(relation(&other, likes).targets(a), [b, c]);
    assert_eq!(relation(&other, serves).targets(b), [c]);
    assert_eq!(other.state_hash(), hash);
    check(&other);
    other.despawn(c).expect("alive");
    assert_eq!(other.entities().collect::<Vec<_>>(), [a]);
    check(&other);
}

#[test]
fn wrong_use_of_a_relation_by_id_is_an_error() {
    let mut world = World::new();
    let [likes, serves] = script_relations(&mut world);
    let again = world.by_id_mut().register_relation("script.likes", SERVES);
    assert!(matches!(again, Err(RegisterError::NameTaken(_))), "{again:?}");
    let [a, b] = numbered(&mut world);
    let mut other = World::new();
    assert!(
        other.by_id_mut().relation(serves).is_none() && other.by_id().relation(likes).is_none()
    );
    world.despawn(b).expect("alive");
    let gone = RelationError::NoSuchEntity(NoSuchEntity(b));
    assert_eq!(relation_mut(&mut world, likes).add(a, b), Err(gone));
    assert_eq!(relation_mut(&mut world, likes).add(b, a), Err(gone));
    assert_eq!(relation_mut(&mut world, likes).add(a, a), Ok(true));
    for side in relation_mut(&mut world, likes).sides() {
        let removed = world.by_id_mut().remove(a, side);
        assert!(matches!(removed, Err(ByIdError::Managed(_))), "{removed:?}");
    }
    check(&world);
}

#[test]
fn a_pair_that_is_not_related_changes_nothing_when_it_is_taken_apart() {
    let mut world = World::new();
    let [a, b, c] = [(); 3].map(|()| world.spawn(()));
    world.relation_mut::<Needs>().add(a, b).expect("no cycle");
    let before = world.version();
    assert_eq!(world.relation_mut::<Needs>().remove(a, c), Ok(false));
    assert_eq!(world.relation_mut::<Needs>().remove(c, b), Ok(false));
    let changed = world.query_filtered::<Entity, Changed<Targets<Needs>>>();
    assert_eq!(changed.since(before).count(), 0);
}

#[test]
fn the_id_of_a_relation_of_another_world_finds_none() {
    let [mut world, mut other] = [World::new(), World::new()];
    let [likes, serves] = script_relations(&mut world);
    let [others, _] = script_relations(&mut other);
    let child_of = other.relation_mut::<ChildOf>().id();
    assert_ne!(likes, others, "the first relation of either");
    for id in [others, child_of] {
        assert!(world.by_id().relation(id).is_none() && world.by_id_mut().relation(id).is_none());
        assert!(other.by_id().relation(id).is_some());
    }
    let _: RelationRef<'_> = relation(&world, serves);
}

#[test]
fn an_entity_that_waits_to_be_cleaned_up_has_no_relations() {
    let mut world = World::new();
    let [a, b] = numbered(&mut world);
    let buried = world.spawn(Grave);
    world.relation_mut::<Likes>().add(a, buried).expect("alive");
    world.relation_mut::<Likes>().add(buried, b).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(b, buried).expect("alive");
    world.despawn(buried).expect("alive");
    assert!(world.has::<Despawned>(buried));
    assert!(!world.contains(b), "its child");
    assert_eq!(world.relation::<Likes>().targets(a), []);
    check(&world);
    world.remove::<Grave>(buried).expect("it has one");
    assert_eq!(world.len(), 1);
    check(&world);
}

#[test]
fn observers_are_not_told_of_a_pair_that_others_have_taken_apart_meanwhile() {
    let mut world = World::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    world.hooks().observe_event(move |_: &mut World, pair: &Related<ChildOf>, _: Entity| {
        log.lock().expect("no panic").push((pair.source, pair.target));
    });
    let [first, second, gone, moved] = core::array::from_fn(|_| world.spawn(()));
    for child in [gone, moved] {
        world.relation_mut::<ChildOf>().set_parent(child, first).expect("alive");
    }
    world.hooks().observe_event(move |world: &mut World, _: &Unrelated<ChildOf>, child: Entity| {
        if child == gone {
            // It is told of again by what it does.
            _ = world.despawn(child);
        } else {
            world.relation_mut::<ChildOf>().set_parent(child, None).expect("alive");
        }
    });
    for child in [gone, moved] {
        let mut family = world.relation_mut::<ChildOf>();
        assert_eq!(family.add(child, second), Ok(true));
    }
    assert_eq!(*told.lock().expect("no panic"), [(gone, first), (moved, first)]);
    check(&world);
}

#[test]
fn observers_are_told_of_pairs() {
    let mut world = World::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (first, second) = (Arc::clone(&log), Arc::clone(&log));
    world.hooks().observe_event(move |world: &mut World, pair: &Related<ChildOf>, source| {
        check(world);
        assert_eq!(source, pair.source);
        first.lock().expect("not poisoned").push(("related", pair.source, pair.target));
    });
    world.hooks().observe_event(move |world: &mut World, pair: &Unrelated<ChildOf>, _| {
        check(world);
        second.lock().expect("not poisoned").push(("unrelated", pair.source, pair.target));
    });
    let take = || std::mem::take(&mut *log.lock().expect("not poisoned"));
    let [a, b, c] = numbered(&mut world);
    world.relation_mut::<ChildOf>().set_parent(c, a).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(c, b).expect("alive");
    assert_eq!(take(), [("related", c, a), ("unrelated", c, a), ("related", c, b)]);
    world.relation_mut::<ChildOf>().set_parent(c, None).expect("alive");
    assert_eq!(take(), [("unrelated", c, b)]);
    world.relation_mut::<ChildOf>().set_parent(c, b).expect("alive");
    take();
    world.despawn(b).expect("alive");
    assert_eq!(take(), [("unrelated", c, b)], "once, as the child went");
}

#[test]
fn a_watcher_that_keeps_adding_children_is_stopped() {
    let mut world = World::new();
    world.hooks().observe::<Number>(EventKind::Despawn, |world: &mut World, event| {
        let parent = world.relation::<ChildOf>().parent(event.entity).expect("all but the root");
        let another = world.spawn(Number(0));
        world.relation_mut::<ChildOf>().set_parent(another, parent).expect("alive");
    });
    let root = world.spawn(());
    let child = world.spawn(Number(0));
    world.relation_mut::<ChildOf>().set_parent(child, root).expect("alive");
    let stopped = std::panic::AssertUnwindSafe(|| world.despawn(root));
    assert!(std::panic::catch_unwind(stopped).is_err());
    check(&world);
    assert!(world.contains(root));
}

#[test]
fn each_of_many_may_get_a_child_while_it_goes() {
    let mut world = World::new();
    world.hooks().observe::<Number>(EventKind::Despawn, |world: &mut World, event| {
        let unit = world.relation::<ChildOf>().parent(event.entity).expect("it has one");
        let debris = world.spawn(());
        world.relation_mut::<ChildOf>().set_parent(debris, unit).expect("both are there");
    });
    let army = world.spawn(());
    for number in 0..130 {
        let [unit, weapon] = [world.spawn(()), world.spawn(Number(number))];
        world.relation_mut::<ChildOf>().set_parent(unit, army).expect("both are there");
        world.relation_mut::<ChildOf>().set_parent(weapon, unit).expect("both are there");
    }
    world.despawn(army).expect("alive");
    assert!(world.is_empty());
    check(&world);
}

#[test]
fn an_observer_of_a_pair_may_undo_it() {
    let mut world = World::new();
    world.hooks().observe_event(|world: &mut World, pair: &Related<Likes>, _| {
        world.despawn(pair.target).expect("alive");
    });
    let [a, b] = numbered(&mut world);
    assert_eq!(world.relation_mut::<Likes>().add(a, b), Ok(true));
    assert!(!world.contains(b) && world.relation::<Likes>().targets(a).is_empty());
    check(&world);
}

#[test]
fn a_world_that_is_cleared_ends_relations_for_their_observers() {
    for is_known_before in [false, true] {
        let mut world = World::new();
        if is_known_before {
            world.relation_mut::<Likes>();
        }
        let ended = Arc::new(Mutex::new(Vec::new()));
        let log = ended.clone();
        world.hooks().observe_event(move |_: &mut World, it: &Unrelated<Likes>, _: Entity| {
            log.lock().expect("no panic").push((it.source, it.target));
        });
        let [a, b, c] = numbered(&mut world);
        world.relation_mut::<Likes>().add(a, b).expect("alive");
        world.relation_mut::<Likes>().add(c, a).expect("alive");
        world.clear();
        assert!(world.is_empty());
        let mut ended = std::mem::take(&mut *ended.lock().expect("no panic"));
        ended.sort_unstable();
        assert_eq!(ended, [(a, b), (c, a)]);
        check(&world);
    }
}

/// By their number, which is that of their registration, a world finds them all the same.
#[test]
fn an_entity_of_several_relations_goes_alike_whichever_the_world_met_first() {
    let gone = |orders: [fn(&mut World) -> RelationId; 2]| {
        let mut world = World::new();
        let ids = orders.map(|met| met(&mut world));
        assert_eq!(ids.map(RelationId::index), [0, 1]);
        let [root, bound, needs] = numbered(&mut world);
        world.relation_mut::<Bound>().add(bound, root).expect("alive");
        world.relation_mut::<Needs>().add(needs, root).expect("alive");
        for id in ids {
            let sources = world.by_id().relation(id).expect("its own").sources(root);
            assert_eq!(sources.len(), 1);
        }
        world.despawn(root).expect("alive");
        check(&world);
        // Slots are used again in the order in which they were freed.
        [(); 3].map(|()| world.spawn(()))
    };
    let (bound, needs): (fn(&mut World) -> RelationId, fn(&mut World) -> RelationId) =
        (|world| world.relation_mut::<Bound>().id(), |world| world.relation_mut::<Needs>().id());
    assert_eq!(gone([bound, needs]), gone([needs, bound]));
}
