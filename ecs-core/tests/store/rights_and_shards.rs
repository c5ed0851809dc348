//! The needs of a schedule from a cell: declared access, shards, and versions of resources.

use formic_ecs::prelude::*;
use formic_ecs::{Access, DeclaredAccess, ParallelScratch, WorldCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component)]
struct Gold(u32);
#[derive(Component)]
struct Debt;
#[derive(Component)]
#[component(enableable)]
struct Awake;

/// What the panic says that `ask` brings about, given the rights to these components, to read
/// `u8` and to write `u16`.
fn complaint(world: &mut World, rights: &Access, ask: impl FnOnce(WorldCell<'_>)) -> String {
    let mut rights = DeclaredAccess::new("the miner", rights.clone());
    rights.add_resource::<u8>(false);
    rights.add_resource::<u16>(true);
    let cell = world.cell().restrict_to(&rights);
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| ask(cell))) else { return String::new() };
    payload
        .downcast_ref::<String>()
        .expect("the panic has a text")
        .replace("store::rights_and_shards::", "")
}

#[test]
fn a_limited_cell_names_who_does_what_with_which_component() {
    let mut world = World::new();
    world.spawn((Gold(1), Debt, Awake));
    let mut read = world.plan::<&Gold>();
    let mut write = world.plan::<&mut Gold>();
    let mut changed = world.plan_filtered::<&Gold, Changed<Gold>>();
    let mut awake = world.plan_filtered::<(), With<Awake>>();
    let mut debts = world.view_plan::<&Debt>();
    let mut wake = world.view_plan::<EnabledMut<Awake>>();
    let mut claims = world.claim_plan::<&mut Gold>();
    let (reading, writing) = (read.access().clone(), write.access().clone());
    let waking = wake.access().clone();

    let fine = "";
    let found = complaint(&mut world, &reading, |cell| drop(cell.query(&mut read)));
    assert_eq!(found, fine);
    let found = complaint(&mut world, &writing, |cell| drop(cell.query(&mut read)));
    assert_eq!(found, fine, "who may write may read");
    let found = complaint(&mut world, &reading, |cell| drop(cell.query(&mut write)));
    assert_eq!(found, "the miner writes Gold, which it has not declared");
    let found = complaint(&mut world, &reading, |cell| drop(cell.claims(&mut claims)));
    assert_eq!(found, "the miner writes Gold, which it has not declared");
    let found = complaint(&mut world, &writing, |cell| drop(cell.view(&mut debts)));
    assert_eq!(found, "the miner reads Debt, which it has not declared");
    let found = complaint(&mut world, &reading, |cell| drop(cell.query(&mut changed)));
    assert_eq!(found, "the miner asks for changes of Gold, which it has not declared");
    let found = complaint(&mut world, &reading, |cell| drop(cell.query(&mut awake)));
    assert_eq!(
        found,
        "the miner asks whether there is an enabled Awake, which it has not declared"
    );
    let found = complaint(&mut world, &reading, |cell| drop(cell.view(&mut wake)));
    assert_eq!(found, "the miner switches Awake, which it has not declared");
    let found = complaint(&mut world, &waking, |cell| drop(cell.query(&mut awake)));
    assert_eq!(found, fine, "who may switch may ask");
    let named = world.plan_filtered::<(), Present<Awake>>().access().clone();
    let found = complaint(&mut world, &named, |cell| drop(cell.query(&mut awake)));
    assert!(found.starts_with("the miner asks whether there is an enabled Awake"), "{found}");
}

#[test]
fn a_limited_cell_names_who_does_what_with_which_resource() {
    let mut world = World::new();
    world.insert_resource(1_u8);
    world.insert_resource(2_u16);
    world.insert_resource(3_u32);
    let none = Access::default();
    assert_eq!(
        complaint(&mut world, &none, |cell| assert_eq!(*cell.resource::<u8>().unwrap(), 1)),
        ""
    );
    assert_eq!(complaint(&mut world, &none, |cell| *cell.resource_mut::<u16>().unwrap() += 1), "");
    assert_eq!(complaint(&mut world, &none, |cell| drop(cell.resource::<u16>())), "");
    let found = complaint(&mut world, &none, |cell| drop(cell.resource_mut::<u8>()));
    assert_eq!(found, "the miner writes the resource u8, which it has not declared");
    let found = complaint(&mut world, &none, |cell| drop(cell.resource::<u32>()));
    assert_eq!(found, "the miner reads the resource u32, which it has not declared");
}

#[test]
fn each_entity_is_in_one_slice_however_the_query_is_walked() {
    let mut world = World::new();
    // Several archetypes and chunks, and rows that are off.
    world.spawn_batch((0..700).map(Gold));
    let some = world.spawn_batch((0..900).map(|number| (Gold(number), Awake)));
    for entity in some.iter().step_by(3) {
        world.set_enabled::<Awake>(*entity, false).unwrap();
    }
    for count in [1, 2, 7, 64, 5000] {
        let mut seen = 0;
        let mut awake = 0;
        for which in 0..count {
            let belongs = |entity: Entity| assert_eq!(entity.index() % count, which);
            let rows = world.query::<Entity>().shard(count, which).count();
            let mut walked = [0; 4];
            world.query::<Entity>().shard(count, which).into_iter().for_each(|entity| {
                belongs(entity);
                walked[0] += 1;
            });
            world.query::<(Entity, &Gold)>().shard(count, which).for_each(|(entity, _)| {
                belongs(entity);
                walked[1] += 1;
            });
            world.query::<Entity>().shard(count, which).for_each_chunk(|entities| {
                entities.iter().copied().for_each(belongs);
                walked[2] += entities.len();
            });
            let mut scratch = ParallelScratch::default();
            let mut query = world.query::<Entity>().shard(count, which);
            let chunks = query.parallel(&mut scratch);
            for entity in (0..chunks.len()).filter_map(|index| chunks.take(index)).flatten() {
                belongs(entity);
                walked[3] += 1;
            }
            assert_eq!(walked, [rows; 4]);
            seen += rows;
            awake += world.query_filtered::<(), With<Awake>>().shard(count, which).count();
        }
        assert_eq!((seen, awake), (1600, 600), "{count} slices");
    }
}

#[test]
fn a_plan_that_keeps_to_one_declared_access_is_held_to_another_one() {
    let mut world = World::new();
    world.spawn(Gold(1));
    let (read, mut write) = (world.plan::<&Gold>(), world.plan::<&mut Gold>());
    let narrow = DeclaredAccess::new("the miner", read.access().clone());
    let mut wide = narrow.clone();
    wide.merge(&DeclaredAccess::new("the smith", write.access().clone()));
    let mut is_fine = |rights: &DeclaredAccess| {
        let cell = world.cell().restrict_to(rights);
        catch_unwind(AssertUnwindSafe(|| drop(cell.query(&mut write)))).is_ok()
    };
    for _ in 0..2 {
        assert!(!is_fine(&narrow), "also where the plan has kept to a wider one before");
        assert!(!is_fine(&DeclaredAccess::default()));
        assert!(is_fine(&wide) && is_fine(&wide.clone()));
    }
}

#[test]
#[should_panic(expected = "shard 3 of 3")]
fn there_is_no_slice_beyond_the_last() {
    _ = World::new().query::<()>().shard(3, 3).count();
}

#[test]
fn a_resource_is_changed_by_who_writes_it_and_not_by_who_could() {
    let mut world = World::new();
    assert_eq!(world.resource_version::<u32>(), None);
    world.insert_resource(5_u32);
    let inserted = world.resource_version::<u32>().unwrap();
    let cell = world.cell_with_versions(3);
    assert_eq!(*cell.version_slot(0).resource_mut::<u32>().unwrap(), 5);
    assert_eq!(cell.resource_version::<u32>(), Some(inserted), "it was only looked at");
    *cell.version_slot(1).resource_mut::<u32>().unwrap() = 6;
    assert_eq!(cell.resource_version::<u32>(), Some(cell.version_slot(1).version()));
    let later = world.cell().version();
    *world.resource_mut::<u32>().unwrap() = 7;
    assert!(world.resource_version::<u32>() > Some(later));
}

#[test]
fn what_is_asked_about_one_entity_is_not_narrowed_to_a_slice() {
    let mut world = World::new();
    let all: Vec<_> = (0..10).map(|i| world.spawn(Gold(i))).collect();
    let mut query = world.query::<&mut Gold>().shard(4, 1);
    for &entity in &all {
        assert!(query.get(entity).is_ok() && query.contains(entity));
    }
    assert!(query.get_many_mut([all[0], all[3]]).is_ok());
}

#[test]
fn versions_of_resources_go_back_with_the_world() {
    let mut world = World::new();
    world.insert_resource(5_u32);
    let saved = world.snapshot().expect("there is nothing that cannot be saved");
    for _ in 0..50 {
        *world.resource_mut::<u32>().expect("it is there") += 1;
    }
    world.restore(&saved).expect("it is a snapshot of this world");
    let restored = world.version();
    assert!(world.resource_version::<u32>() <= Some(restored));
    *world.resource_mut::<u32>().expect("it is there") += 1;
    assert!(world.resource_version::<u32>() > Some(restored));
}

#[test]
fn a_cell_knows_its_world_its_user_and_which_resources_there_are() {
    let mut world = World::new();
    world.insert_resource(5_u8);
    let id = world.id();
    let rights = DeclaredAccess::new("the miner", Access::default());
    let cell = world.cell();
    assert_eq!((cell.world_id(), cell.user()), (id, None));
    let cell = cell.restrict_to(&rights);
    assert_eq!(cell.user(), Some("the miner"));
    assert!(cell.has_resource::<u8>() && !cell.has_resource::<u16>(), "no right is asked for");
}

#[test]
fn an_access_says_whether_it_writes_and_whether_rows_of_it_claim() {
    let mut world = World::new();
    let says = |access: &Access| (access.is_read_only(), access.has_claimants());
    assert_eq!(says(world.plan::<&Gold>().access()), (true, false));
    assert_eq!(says(world.plan::<(Claimant<'_>, &mut Gold)>().access()), (false, true));
    assert_eq!(says(world.plan::<EnabledMut<Awake>>().access()), (false, false));
}
