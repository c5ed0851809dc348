//! Relations, prefabs and despawned entities in snapshots: what the store keeps in order itself.

use super::*;
use formic_ecs::{
    ChildOf, ComponentId, Despawned, MalformedSnapshot, OnTargetDespawn, Prefab, Relation,
    RestoreError, Snapshot, Sources, Targets, Unrelated,
};

struct Likes;

impl Relation for Likes {}

/// As strict as a relation can be, apart from having any number of targets.
struct Needs;

impl Relation for Needs {
    const ACYCLIC: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
}

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(cleanup)]
#[repr(C)]
struct Socket(u32);

/// Families, likes in cycles, prefabs, and one that was despawned and has to be cleaned up.
fn society(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all: Vec<Entity> = (0..count).map(|i| world.spawn(position(i))).collect();
    for (i, &entity) in all.iter().enumerate().skip(1) {
        world.relation_mut::<ChildOf>().set_parent(entity, all[i / 3]).expect("a tree");
        world.relation_mut::<Likes>().add(entity, all[(i * 5) % all.len()]).expect("alive");
        world.relation_mut::<Likes>().add(entity, all[(i * 7) % all.len()]).expect("alive");
        if i % 4 == 0 {
            world.relation_mut::<Needs>().add(entity, all[i / 2]).expect("no cycle");
        }
        if i % 6 == 0 {
            world.insert(entity, Prefab).expect("alive");
        }
    }
    let gone = world.spawn((Socket(80), Tag));
    world.despawn(gone).expect("alive");
    (world, all)
}

fn related(world: &World, all: &[Entity]) -> Vec<Vec<Entity>> {
    let of = |&entity: &Entity| {
        let lists = [
            world.relation::<ChildOf>().targets(entity),
            world.relation::<ChildOf>().sources(entity),
            world.relation::<Likes>().targets(entity),
            world.relation::<Likes>().sources(entity),
            world.relation::<Needs>().targets(entity),
            world.relation::<Needs>().sources(entity),
        ];
        lists.map(<[Entity]>::to_vec)
    };
    all.iter().flat_map(of).collect()
}

#[test]
fn relations_come_back_in_their_order_and_go_on() {
    let (mut world, all) = society(if cfg!(miri) { 20 } else { 300 });
    let (before, hash) = (related(&world, &all), world.state_hash());
    let saved = world.snapshot().expect("all can be saved");
    let follow = |world: &mut World| {
        world.despawn(all[2]).expect("alive");
        _ = world.relation_mut::<Likes>().remove(all[4], all[0]);
        world.relation_mut::<Likes>().add(all[0], all[3]).expect("alive");
        let copies = world.instantiate(all[1], 2).expect("alive");
        (copies, related(world, &all), world.snapshot().expect("all can be saved"))
    };
    let first = follow(&mut world);
    world.restore(&saved).expect("its own");
    world.check().expect("in order");
    assert_eq!((related(&world, &all), world.state_hash()), (before, hash));
    assert!(follow(&mut world) == first);
    world.check().expect("in order");
}

#[test]
fn a_world_that_knows_the_relations_keeps_them_in_step() {
    let (world, all) = society(if cfg!(miri) { 12 } else { 20 });
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    other.register::<Position>();
    other.register::<Tag>();
    other.register::<Socket>();
    // The lists are known, but nothing would keep them in step.
    other.register::<Targets<ChildOf>>();
    other.register::<Sources<ChildOf>>();
    let error = other.restore(&saved).expect_err("it does not know the relation");
    assert!(matches!(error, RestoreError::UnknownComponent { .. }), "{error}");
    other.relation_mut::<ChildOf>();
    other.relation_mut::<Likes>();
    other.relation_mut::<Needs>();
    other.restore(&saved).expect("all is known");
    other.check().expect("in order");
    assert_eq!(other.snapshot().as_ref(), Ok(&saved));
    assert_eq!(related(&other, &all), related(&world, &all));
    let descendants: Vec<Entity> = other.relation::<ChildOf>().descendants(all[1]).collect();
    other.despawn(all[1]).expect("alive");
    assert!(descendants.iter().all(|&entity| !other.contains(entity)));
    other.check().expect("in order");
}

#[test]
fn prefabs_stay_hidden_and_the_despawned_wait_to_be_cleaned_up() {
    let (mut world, _) = society(20);
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    other.register::<Position>();
    other.register::<Tag>();
    other.register::<Socket>();
    other.relation_mut::<ChildOf>();
    other.relation_mut::<Likes>();
    other.relation_mut::<Needs>();
    for world in [&mut world, &mut other] {
        world.restore(&saved).expect("all is known");
        assert_eq!(world.query::<&Position>().count(), 17);
        assert_eq!(world.query_filtered::<&Position, With<Prefab>>().count(), 3);
        let gone = world.query_filtered::<Entity, With<Despawned>>().first().expect("one");
        assert!(world.despawn(gone).is_err(), "it was");
        assert_eq!(world.remove::<Socket>(gone), Ok(Socket(80)));
        assert!(!world.contains(gone));
        world.check().expect("in order");
    }
}

#[test]
fn observers_hear_of_what_ends_after_a_restore() {
    let mut world = World::new();
    world.insert_resource(0_u32);
    world.hooks().observe_event(|world: &mut World, _: &Unrelated<ChildOf>, _| {
        *world.resource_mut::<u32>().expect("there") += 1;
    });
    let [family, child] = [world.spawn(()), world.spawn(())];
    world.relation_mut::<ChildOf>().set_parent(child, family).expect("alive");
    let saved = world.snapshot().expect("all can be saved");
    world.relation_mut::<ChildOf>().set_parent(child, None).expect("alive");
    world.restore(&saved).expect("its own");
    world.despawn(family).expect("alive");
    assert_eq!(world.resource(), Ok(&2_u32));
}

#[test]
fn lists_that_are_not_in_step_are_refused() {
    let bits = |entities: &[Entity]| {
        let mut list = (entities.len() as u64).to_le_bytes().to_vec();
        list.extend(entities.iter().flat_map(|entity| entity.to_bits().to_le_bytes()));
        list
    };
    let mut world = World::new();
    let [a, b, c] = [world.spawn(()), world.spawn(()), world.spawn(())];
    world.relation_mut::<Needs>().add(a, b).expect("alive");
    world.relation_mut::<Needs>().add(a, c).expect("alive");
    world.relation_mut::<ChildOf>().add(c, b).expect("alive");
    let saved = world.snapshot().expect("all can be saved");
    let hash = world.state_hash();
    let stranger = Entity::from_bits(1 << 32 | 77).expect("a handle");
    let cases: [(&[&[Entity]], &[&[Entity]]); 5] = [
        // Another target, the same one twice, one that is not there, itself, and its own source.
        (&[&[b, c]], &[&[b, a]]),
        (&[&[b, c]], &[&[b, b]]),
        (&[&[b, c]], &[&[b, stranger]]),
        (&[&[b]], &[&[a]]),
        (&[&[b]], &[&[c]]),
    ];
    for (old, new) in cases {
        let mut bytes = saved.as_bytes().to_vec();
        for (old, new) in old.iter().zip(new) {
            let (old, new) = (bits(old), bits(new));
            let at = bytes.windows(old.len()).rposition(|window| window == old).expect("there");
            bytes[at..at + old.len()].copy_from_slice(&new);
        }
        reseal(&mut bytes);
        let altered = Snapshot::from_bytes(bytes).expect("to be seen only by who knows relations");
        let error = world.restore(&altered).expect_err("not in step");
        let is_contradiction =
            matches!(error, RestoreError::Malformed(MalformedSnapshot::Contradiction { .. }));
        assert!(is_contradiction, "{error}");
        assert_eq!(world.state_hash(), hash);
        world.check().expect("in order");
    }
}

/// Both sides say the same, which no relation can be.
#[test]
fn pairs_that_are_listed_twice_and_lists_without_a_pair_are_refused() {
    // A column of one row.
    let list = |entities: &[Entity]| {
        let mut list = (entities.len() as u64).to_le_bytes().to_vec();
        list.extend(entities.iter().flat_map(|entity| entity.to_bits().to_le_bytes()));
        let mut column = (list.len() as u64).to_le_bytes().to_vec();
        column.append(&mut list);
        column
    };
    let mut world = World::new();
    // Each in an archetype of its own.
    let [a, d] = [world.spawn(()), world.spawn(position(0))];
    let [b, c] = [world.spawn(Tag), world.spawn(Mood::Calm)];
    for (source, target) in [(a, b), (a, c), (d, b)] {
        world.relation_mut::<Likes>().add(source, target).expect("alive");
    }
    let saved = world.snapshot().expect("all can be saved");
    let hash = world.state_hash();
    let mut check = |lists: &[(&[Entity], &[Entity])], expected| {
        let mut bytes = saved.as_bytes().to_vec();
        for &(old, new) in lists {
            let (old, new) = (list(old), list(new));
            let at = bytes.windows(old.len()).position(|window| window == old).expect("there");
            drop(bytes.splice(at..at + old.len(), new));
        }
        reseal(&mut bytes);
        let altered = Snapshot::from_bytes(bytes).expect("to be seen only by who knows relations");
        let error = MalformedSnapshot::Contradiction { detail: expected };
        assert_eq!(world.restore(&altered), Err(RestoreError::Malformed(error)));
        assert_eq!(world.state_hash(), hash);
        world.check().expect("in order");
    };
    // Sources and targets of the pairs (a, b), (a, b) and (d, c).
    let twice: [(&[Entity], &[Entity]); 4] =
        [(&[b, c], &[b, b]), (&[a, d], &[a, a]), (&[a], &[d]), (&[b], &[c])];
    check(&twice, "an entity is related twice");
    check(&[(&[b, c], &[])], "an entity is related to no other");
}

/// Both sides in step and yet impossible: a search for the root would never end.
#[test]
fn a_cycle_of_parents_is_refused() {
    let mut world = World::new();
    let [a, b, c] = [world.spawn(()), world.spawn(()), world.spawn(())];
    world.relation_mut::<Likes>().add(a, b).expect("alive");
    world.relation_mut::<Likes>().add(b, c).expect("alive");
    world.relation_mut::<Likes>().add(c, a).expect("alive");
    world.relation_mut::<ChildOf>();
    let saved = world.snapshot().expect("all can be saved");
    let mut bytes = saved.as_bytes().to_vec();
    let renamed = [
        (world.component_id::<Targets<Likes>>(), world.component_id::<Targets<ChildOf>>()),
        (world.component_id::<Sources<Likes>>(), world.component_id::<Sources<ChildOf>>()),
    ];
    for (old, new) in renamed {
        let text = |id: Option<ComponentId>| {
            let name = world.component_info(id.expect("it is registered")).expect("known").name();
            // Snapshots leave out the modules of the crate.
            let name = &name[name.find("Targets").or(name.find("Sources")).expect("a side")..];
            let mut text = u32::try_from(name.len()).expect("short").to_le_bytes().to_vec();
            text.extend(name.as_bytes());
            text
        };
        let (old, new) = (text(old), text(new));
        let at = bytes.windows(old.len()).position(|window| window == old).expect("there");
        drop(bytes.splice(at..at + old.len(), new));
    }
    reseal(&mut bytes);
    let cycle = Snapshot::from_bytes(bytes).expect("to be seen only by who knows relations");
    let detail = "a relation goes in a cycle";
    let error = RestoreError::Malformed(MalformedSnapshot::Contradiction { detail });
    assert_eq!(world.restore(&cycle), Err(error));
    world.check().expect("in order");
}
