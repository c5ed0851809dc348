//! Components that are registered at run time, access by id, and queries by id.
#![expect(unsafe_code, reason = "plays a host that brings drop and clone functions")]

use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{
    ByIdError, ChildOf, ComponentDescriptor, ComponentId, DynamicQuery, DynamicQueryError,
    EventKind, InstantiateError, NoSuchEntity, RegisterError, StateHasher, Targets, TermError,
};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Speed(pub(crate) u32);

#[derive(Component)]
struct Label(String);

pub(crate) fn bytes_component(world: &mut World, name: &str, size: usize) -> ComponentId {
    let layout = Layout::from_size_align(size, 1).expect("a valid layout");
    world
        .by_id_mut()
        .register(ComponentDescriptor::bytes(name.to_string(), layout))
        .expect("a new name")
}

pub(crate) fn switch(world: &mut World, name: &'static str) -> ComponentId {
    let descriptor = ComponentDescriptor::bytes(name, Layout::new::<u32>()).enableable();
    world.by_id_mut().register(descriptor).expect("a new name")
}

/// What the function is given.
static USER_DATA: u8 = 77;

unsafe extern "C-unwind" fn drop_counted(user_data: *mut c_void, value: *mut c_void) {
    assert_eq!(user_data.cast_const(), (&raw const USER_DATA).cast());
    // SAFETY: the component's values are `Counted`, as every insertion of this file sees to.
    unsafe { value.cast::<Counted>().drop_in_place() }
}

unsafe fn clone_counted(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    assert_eq!(size, size_of::<Counted>());
    // SAFETY: as in `drop_counted`.
    let copy = unsafe { source.cast::<Counted>().as_ref() }.clone();
    // SAFETY: there is room for a value.
    unsafe { target.cast::<Counted>().write(copy) };
}

unsafe fn hash_counted(value: NonNull<u8>, size: usize, hasher: &mut StateHasher) {
    assert_eq!(size, size_of::<Counted>());
    // SAFETY: as in `drop_counted`.
    hasher.write_u64(unsafe { value.cast::<Counted>().as_ref() }.number());
}

/// `Counted`, as a host would register it that knows no Rust types.
fn counted_component(world: &mut World) -> ComponentId {
    // SAFETY: the functions are those of `Counted`, the only type of which values are inserted, and
    // it is `Send + Sync`.
    let descriptor = unsafe {
        ComponentDescriptor::with_functions(
            "host.counted",
            Layout::new::<Counted>(),
            Some((drop_counted, (&raw const USER_DATA).cast_mut().cast())),
            Some(clone_counted),
            Some(hash_counted),
        )
    };
    world.by_id_mut().register(descriptor).expect("a new name")
}

fn insert_counted(
    world: &mut World,
    entity: Entity,
    id: ComponentId,
    value: Counted,
) -> Result<(), ByIdError> {
    let mut value = ManuallyDrop::new(value);
    let address = NonNull::from(&mut *value).cast();
    // SAFETY: the component is one of `Counted`; the value is given up, unless it is refused.
    let inserted = unsafe { world.by_id_mut().insert_ptr(entity, id, address) };
    if inserted.is_err() {
        let (drop, user_data) =
            world.component_info(id).expect("known").drop_fn().expect("counted");
        // SAFETY: a value of the component, which is still the caller's, and is not used afterwards.
        unsafe { drop(user_data, address.as_ptr().cast()) };
    }
    inserted
}

fn counted_number(world: &World, entity: Entity, id: ComponentId) -> u64 {
    let address = world.by_id().get_ptr(entity, id).expect("it has one");
    // SAFETY: a value of `Counted`, and the world is borrowed.
    unsafe { address.cast::<Counted>().as_ref() }.number()
}

#[test]
fn registration_refuses_what_cannot_be_kept() {
    let mut world = World::new();
    world.register::<Speed>();
    let mut register = |name: &str, size, align| {
        let layout = Layout::from_size_align(size, align).expect("a valid layout");
        world.by_id_mut().register(ComponentDescriptor::bytes(name.to_string(), layout))
    };
    let gold = register("gold", 4, 4).expect("a new name");
    assert_eq!(register("gold", 4, 4), Err(RegisterError::NameTaken("gold".into())));
    let speed = std::any::type_name::<Speed>();
    assert_eq!(register(speed, 4, 4), Err(RegisterError::NameTaken(speed.to_string().into())));
    let size = ComponentDescriptor::SIZE_MAX + 1;
    assert_eq!(
        register("vast", size, 1),
        Err(RegisterError::TooLarge { name: "vast".into(), size })
    );
    let align = ComponentDescriptor::ALIGN_MAX * 2;
    let refused = Err(RegisterError::TooAligned { name: "coarse".into(), align });
    assert_eq!(register("coarse", align, align), refused);
    assert_eq!(register("odd", 6, 4), Err(RegisterError::Unpadded("odd".into())));
    assert_eq!(world.component_by_name("gold"), Some(gold));
    assert_eq!(world.component_by_name("odd"), None);
    let info = world.component_info(gold).expect("it is this world's");
    assert!(info.is_bytes() && info.type_id().is_none() && *info.name() == "gold");
    world.check().expect("consistent");
}

#[test]
fn bytes_come_back_as_they_were_put_in() {
    let mut world = World::new();
    let gold = bytes_component(&mut world, "gold", 3);
    let imps: Vec<_> =
        (0..if cfg!(miri) { 60_u16 } else { 500 }).map(|_| world.spawn(Speed(1))).collect();
    let coded = |i: u16| [i.to_le_bytes()[0], i.to_le_bytes()[1], 7];
    for (i, &imp) in (0..).zip(&imps) {
        world.by_id_mut().insert(imp, gold, &coded(i)).expect("alive");
    }
    world.check().expect("consistent");
    for (i, &imp) in (0..).zip(&imps) {
        assert_eq!(world.by_id().get(imp, gold), Ok(&coded(i)[..]));
        assert_eq!(world.get::<Speed>(imp), Ok(&Speed(1)), "what was there goes along");
    }
    world.by_id_mut().get_mut(imps[3], gold).expect("it has gold")[0] = 99;
    world.by_id_mut().insert(imps[4], gold, &[1, 2, 3]).expect("replaced");
    assert_eq!(world.by_id().get(imps[3], gold), Ok(&[99, 0, 7][..]));
    assert_eq!(world.by_id().get(imps[4], gold), Ok(&[1, 2, 3][..]));
    world.by_id_mut().remove(imps[5], gold).expect("it has gold");
    assert!(!world.by_id().has(imps[5], gold) && world.by_id().has(imps[6], gold));
    assert_eq!(world.get::<Speed>(imps[5]), Ok(&Speed(1)));
    world.check().expect("consistent");
}

#[test]
fn a_batch_by_id_is_the_same_as_entities_one_by_one() {
    let (mut world, mut other) = (World::new(), World::new());
    let ids = [&mut world, &mut other].map(|world| {
        (
            bytes_component(world, "pair", 2),
            switch(world, "switch"),
            bytes_component(world, "tag", 0),
        )
    });
    let (pair, switch, tag) = ids[0];
    assert_eq!(ids[0], ids[1]);
    let count = 5000_u32;
    let pairs = (0..count).flat_map(|i| [i.to_le_bytes()[0], 7]).collect::<Vec<_>>();
    let switches = (0..count).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    let batch = [(pair, &pairs[..]), (switch, &switches[..]), (tag, &[][..])];
    let spawned = world.by_id_mut().spawn_batch(&batch, count as usize).expect("fits");
    for i in 0..count as usize {
        let row = [(pair, &pairs[i * 2..][..2]), (switch, &switches[i * 4..][..4]), (tag, &[][..])];
        assert_eq!(other.by_id_mut().spawn(&row), Ok(spawned[i]));
    }
    assert_eq!(world.state_hash(), other.state_hash());
    assert_eq!(world.by_id_mut().spawn_batch(&[(pair, &[])], 0), Ok(vec![]));
    let short = world.by_id_mut().spawn_batch(&[(pair, &pairs)], count as usize - 1);
    let short = short.expect_err("too many bytes").to_string();
    assert_eq!(short, "the values of pair have 9998 bytes in all, not 10000");
    let many = world.by_id_mut().spawn_batch(&[(pair, &pairs)], usize::MAX);
    assert!(matches!(many, Err(ByIdError::WrongLength { .. })));
    assert_eq!(world.len(), count as usize, "nothing came");
    world.check().expect("in order");
}

#[test]
fn each_entity_of_a_batch_by_id_is_told_of_even_if_the_observer_changes_the_world() {
    let mut world = World::new();
    let other = bytes_component(&mut world, "other", 1);
    let told = bytes_component(&mut world, "told", 1);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let observer = world.hooks().observe_by_id(EventKind::Add, told, move |world, event| {
        world.by_id_mut().insert(event.entity, other, &[1]).expect("it is there");
        hears.lock().expect("no panic").push(event.entity);
    });
    observer.expect("a component of this world");
    let spawned = world.by_id_mut().spawn_batch(&[(told, &[5; 100])], 100).expect("fits");
    assert_eq!(*heard.lock().expect("no panic"), spawned);
    assert!(spawned.iter().all(|&entity| world.by_id().has(entity, other)));
    world.check().expect("in order");
}

#[test]
fn wrong_use_is_an_error_and_changes_nothing() {
    let mut world = World::new();
    let gold = bytes_component(&mut world, "gold", 2);
    let counted = counted_component(&mut world);
    let label = world.register::<Label>();
    let gone = world.spawn(());
    world.despawn(gone).expect("alive");
    let imp = world.spawn((Speed(5), Label("imp".into())));
    let before = world.state_hash();
    let no_entity = || ByIdError::NoSuchEntity(NoSuchEntity(gone));
    let missing = || ByIdError::Missing { entity: imp, component: "gold".into() };
    let wrong = ByIdError::WrongLength { component: "gold".into(), expected: 2, given: 3 };
    assert_eq!(world.by_id_mut().insert(imp, gold, &[1, 2, 3]), Err(wrong.clone()));
    assert_eq!(world.by_id_mut().insert(gone, gold, &[1, 2]), Err(no_entity()));
    assert_eq!(
        world.by_id_mut().insert(imp, counted, &[]),
        Err(ByIdError::NotBytes("host.counted".into()))
    );
    assert!(matches!(world.by_id_mut().insert(imp, label, &[0; 24]), Err(ByIdError::NotBytes(_))));
    assert_eq!(world.by_id_mut().remove(imp, gold), Err(missing()));
    assert_eq!(world.by_id_mut().remove(gone, gold), Err(no_entity()));
    assert_eq!(world.by_id().get(imp, gold), Err(missing()));
    assert!(matches!(world.by_id().get(imp, label), Err(ByIdError::NotBytes(_))));
    assert!(matches!(world.by_id_mut().get_mut(imp, label), Err(ByIdError::NotBytes(_))));
    assert_eq!(world.by_id_mut().get_mut(imp, gold), Err(missing()));
    assert_eq!(world.by_id().is_enabled(imp, gold), Err(missing()));
    assert!(matches!(
        world.by_id_mut().set_enabled(imp, label, false),
        Err(ByIdError::NotEnableable(_))
    ));
    assert_eq!(world.by_id_mut().spawn(&[(gold, &[1, 2, 3])]), Err(wrong));
    let twice = world.by_id_mut().spawn(&[(gold, &[1, 2]), (gold, &[1, 2])]);
    assert_eq!(twice, Err(ByIdError::Twice("gold".into())));
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.len(), 1);
    world.check().expect("consistent");
}

#[test]
fn an_id_that_the_world_does_not_have_is_refused() {
    let mut other = World::new();
    let foreign = (0..9).map(|i| bytes_component(&mut other, &format!("other.{i}"), 4)).last();
    let foreign = foreign.expect("nine of them");
    let mut world = World::new();
    let imp = world.spawn(Speed(1));
    let unknown = |result: Result<(), ByIdError>| matches!(result, Err(ByIdError::Unknown(error)) if error.index == foreign.index());
    assert!(!world.by_id().has(imp, foreign));
    assert!(unknown(world.by_id_mut().insert(imp, foreign, &[0; 4])));
    assert!(unknown(world.by_id_mut().remove(imp, foreign)));
    assert!(unknown(world.by_id().get(imp, foreign).map(|_| ())));
    assert!(unknown(world.by_id_mut().get_mut(imp, foreign).map(|_| ())));
    assert!(unknown(world.by_id_mut().set_enabled(imp, foreign, true).map(|_| ())));
    assert!(unknown(world.by_id_mut().spawn(&[(foreign, &[0; 4])]).map(|_| ())));
    assert!(world.component_info(foreign).is_err());
    let query = DynamicQuery::builder().read(foreign).build(&world);
    assert!(matches!(query, Err(DynamicQueryError::Unknown(_))));
    let filtered = DynamicQuery::builder().without(foreign).build(&world);
    assert!(matches!(filtered, Err(DynamicQueryError::Unknown(_))));
}

#[test]
fn an_id_of_another_world_is_what_has_its_number_here_and_is_checked_as_such() {
    let mut other = World::new();
    let mut world = World::new();
    // The same number: plain bytes there, something to drop here.
    let foreign = bytes_component(&mut other, "gold", size_of::<String>());
    let label = world.register::<Label>();
    assert_eq!(label, foreign);
    let imp = world.spawn(Label("imp".into()));
    let bytes = [7; size_of::<String>()];
    assert!(matches!(world.by_id_mut().insert(imp, foreign, &bytes), Err(ByIdError::NotBytes(_))));
    assert!(matches!(world.by_id_mut().get_mut(imp, foreign), Err(ByIdError::NotBytes(_))));
    assert!(matches!(world.by_id_mut().spawn(&[(foreign, &bytes)]), Err(ByIdError::NotBytes(_))));
    let mut commands = CommandBuffer::new(&world);
    commands.insert_by_id(imp, foreign, &bytes);
    assert_eq!(commands.play(&mut world).failures().len(), 1);
    let mut query = DynamicQuery::builder().write(foreign).build(&world).expect("it is known");
    for mut row in world.query_by_id(&mut query).expect("this world's") {
        assert_eq!(row.get_mut::<Speed>(0), Err(TermError::OtherType));
        assert_eq!(row.bytes_mut(0).err(), Some(TermError::NotBytes));
        assert!(row.get_mut::<Label>(0).is_ok());
    }
    world.check().expect("consistent");
}

#[test]
fn several_components_by_id_are_one_archetype_with_their_typed_twin() {
    let mut world = World::new();
    let speed = world.register::<Speed>();
    let gold = bytes_component(&mut world, "gold", 2);
    let silver = bytes_component(&mut world, "silver", 4);
    let one =
        world.by_id_mut().spawn(&[(silver, &[1, 2, 3, 4]), (gold, &[5, 6])]).expect("spawned");
    let two = world.spawn(());
    world.by_id_mut().insert(two, gold, &[5, 6]).expect("alive");
    world.by_id_mut().insert(two, silver, &[1, 2, 3, 4]).expect("alive");
    let archetypes = world.archetypes().iter().filter(|archetype| !archetype.is_empty());
    assert_eq!(archetypes.map(formic_ecs::Archetype::len).collect::<Vec<_>>(), [2]);
    assert_eq!(world.by_id().get(one, gold), world.by_id().get(two, gold));
    world.insert(one, Speed(258)).expect("alive");
    assert_eq!(world.by_id().get(one, speed), Ok(&258_u32.to_ne_bytes()[..]), "a type with bytes");
    assert_eq!(world.by_id().get(one, silver), Ok(&[1, 2, 3, 4][..]));
    assert_eq!(world.components_of(one).expect("alive").len(), 3);
    world.check().expect("consistent");
}

#[test]
fn switching_by_id_follows_the_table_of_semantics() {
    let mut world = World::new();
    let burning = switch(&mut world, "burning");
    let imp = world.by_id_mut().spawn(&[(burning, &[0; 4])]).expect("spawned");
    assert_eq!(world.by_id().is_enabled(imp, burning), Ok(true), "what is new comes enabled");
    assert_eq!(world.by_id_mut().set_enabled(imp, burning, false), Ok(true));
    world.by_id_mut().insert(imp, burning, &[1; 4]).expect("alive");
    assert_eq!(world.by_id().is_enabled(imp, burning), Ok(false), "a replaced one keeps its bit");
    assert_eq!(world.by_id().get(imp, burning), Ok(&[1; 4][..]), "disabled is still there");
    world.insert(imp, Speed(1)).expect("alive");
    assert_eq!(world.by_id().is_enabled(imp, burning), Ok(false), "the bit goes along");
    let copies = world.instantiate(imp, 3).expect("bytes can be copied");
    assert_eq!(world.by_id().is_enabled(copies[2], burning), Ok(false), "copies copy the bit");
    world.by_id_mut().remove(imp, burning).expect("removed, whatever the bit says");
    world.by_id_mut().insert(imp, burning, &[2; 4]).expect("alive");
    assert_eq!(world.by_id().is_enabled(imp, burning), Ok(true));
    world.check().expect("consistent");
}

#[test]
fn the_state_hash_takes_in_bytes_and_not_the_order_of_ids() {
    let state = |first: &'static str, second: &'static str, gold: [u8; 2]| {
        let mut world = World::new();
        for name in [first, second] {
            bytes_component(&mut world, name, 2);
        }
        let imp = world.spawn(());
        let id = |world: &World, name| world.component_by_name(name).expect("registered");
        let (a, b) = (id(&world, "gold"), id(&world, "tin"));
        world.by_id_mut().insert(imp, a, &gold).expect("alive");
        world.by_id_mut().insert(imp, b, &[9, 9]).expect("alive");
        world.state_hash()
    };
    assert_eq!(state("gold", "tin", [1, 2]), state("tin", "gold", [1, 2]));
    assert_ne!(state("gold", "tin", [1, 2]), state("gold", "tin", [1, 3]));
}

#[test]
fn values_with_functions_are_dropped_once_wherever_they_go() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let counted = counted_component(&mut world);
    let imps: Vec<_> = (0..40).map(|_| world.spawn(Speed(1))).collect();
    for (i, &imp) in (0..).zip(&imps) {
        insert_counted(&mut world, imp, counted, ledger.value(i)).expect("alive");
    }
    assert_eq!(ledger.live(), 40);
    insert_counted(&mut world, imps[0], counted, ledger.value(100)).expect("replaced");
    assert_eq!((ledger.live(), counted_number(&world, imps[0], counted)), (40, 100));
    world.by_id_mut().remove(imps[1], counted).expect("it has one");
    world.despawn(imps[2]).expect("alive");
    assert_eq!(ledger.live(), 38);
    let copies = world.instantiate(imps[3], 5).expect("it can be cloned");
    assert_eq!((ledger.live(), counted_number(&world, copies[4], counted)), (43, 3));
    let refused = insert_counted(&mut world, imps[2], counted, ledger.value(7));
    assert!(refused.is_err());
    assert_eq!(ledger.live(), 43, "a refused value is still the caller's");
    world.check().expect("consistent");
    world.clear();
    assert_eq!(ledger.live(), 0);
    let last = world.spawn(());
    insert_counted(&mut world, last, counted, ledger.value(8)).expect("alive");
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn values_that_are_spawned_from_an_address_are_the_worlds() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let (counted, number) = (counted_component(&mut world), bytes_component(&mut world, "n", 2));
    let mut values: Vec<_> = (0..3000).map(|i| ManuallyDrop::new(ledger.value(i))).collect();
    let mut numbers: Vec<u16> = (0..3000).collect();
    let address = |values: &mut [ManuallyDrop<Counted>]| NonNull::from(values).cast();
    let columns =
        [(counted, address(&mut values)), (number, NonNull::from(&mut numbers[..]).cast())];
    let twice = [columns[0], columns[0]];
    // SAFETY: nothing is moved out where it fails.
    let refused = unsafe { world.by_id_mut().spawn_batch_ptr(&twice, 3000) };
    assert!(matches!(refused, Err(ByIdError::Twice(_))));
    let side = world.register::<Targets<ChildOf>>();
    let with_side = [columns[0], (side, columns[0].1)];
    // SAFETY: nothing is read where it fails.
    let refused = unsafe { world.by_id_mut().spawn_batch_ptr(&with_side, 3000) };
    assert!(matches!(refused, Err(ByIdError::Managed(_))));
    let lone = world.spawn(());
    // SAFETY: nothing is read where it fails.
    let refused = unsafe { world.by_id_mut().insert_ptr(lone, side, columns[0].1) };
    assert!(matches!(refused, Err(ByIdError::Managed(_))));
    world.despawn(lone).expect("alive");
    // SAFETY: 3,000 values of each, which are not used afterwards nor dropped here.
    let all = unsafe { world.by_id_mut().spawn_batch_ptr(&columns, 3000) }.expect("two components");
    assert_eq!((ledger.live(), all.len()), (3000, 3000));
    for i in [0_u16, 1234, 2999] {
        assert_eq!(counted_number(&world, all[usize::from(i)], counted), u64::from(i));
        assert_eq!(world.by_id().get(all[usize::from(i)], number), Ok(&i.to_ne_bytes()[..]));
    }
    world.check().expect("in order");
    world.clear();
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_component_without_a_clone_function_refuses_instantiation() {
    let mut world = World::new();
    // SAFETY: there is nothing to drop, and the values are inserted as bytes of this layout.
    let descriptor = unsafe {
        ComponentDescriptor::with_functions("handle", Layout::new::<u64>(), None, None, None)
    };
    let handle = world.by_id_mut().register(descriptor).expect("a new name");
    let imp = world.spawn(());
    let mut value = 7_u64;
    // SAFETY: a number, as the descriptor says.
    unsafe { world.by_id_mut().insert_ptr(imp, handle, NonNull::from(&mut value).cast()) }
        .expect("alive");
    let refused = world.instantiate(imp, 1);
    assert_eq!(
        refused,
        Err(InstantiateError::NotClone { component: "handle".into(), instead: "" })
    );
}

#[test]
fn a_panicking_drop_function_leaves_the_world_in_order() {
    for (nth, operation) in [0, 1, 2].into_iter().enumerate() {
        let ledger = Ledger::default();
        let mut world = World::new();
        let counted = counted_component(&mut world);
        let imps: Vec<_> = (0..3).map(|_| world.spawn(())).collect();
        for (i, &imp) in (0..).zip(&imps) {
            insert_counted(&mut world, imp, counted, ledger.value(i)).expect("alive");
        }
        ledger.panic_at_drop(0);
        assert!(panics_as_planned(|| match operation {
            0 => insert_counted(&mut world, imps[0], counted, ledger.value(9)).expect("alive"),
            1 => world.by_id_mut().remove(imps[0], counted).expect("it has one"),
            _ => world.despawn(imps[0]).expect("alive"),
        }));
        world.check().expect("consistent");
        assert_eq!(ledger.live(), if nth == 0 { 3 } else { 2 });
        assert_eq!(world.by_id().has(imps[0], counted), operation == 0);
        assert_eq!(counted_number(&world, imps[2], counted), 2);
    }
}

#[test]
fn a_panicking_clone_function_leaves_no_copy_behind() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let counted = counted_component(&mut world);
    let imp = world.spawn(ledger.value(1));
    insert_counted(&mut world, imp, counted, ledger.value(2)).expect("alive");
    for nth in 0..2 {
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| drop(world.instantiate(imp, 1))));
        world.check().expect("consistent");
        assert_eq!((world.len(), ledger.live()), (1, 2));
    }
}

#[test]
fn a_large_and_coarsely_aligned_value_gets_its_room() {
    let mut world = World::new();
    let layout = Layout::from_size_align(40_960, 4096).expect("a valid layout");
    let map = world.by_id_mut().register(ComponentDescriptor::bytes("map", layout)).expect("new");
    let maps: Vec<_> = (0..3)
        .map(|i| world.by_id_mut().spawn(&[(map, &vec![i; 40_960])]).expect("spawned"))
        .collect();
    for (i, &entity) in (0..).zip(&maps) {
        let address = world.by_id().get_ptr(entity, map).expect("it has one");
        assert_eq!(address.as_ptr().align_offset(4096), 0);
        assert!(world.by_id().get(entity, map).expect("bytes").iter().all(|&byte| byte == i));
    }
    world.check().expect("consistent");
}

/// What the model knows of one entity.
#[derive(Clone, Default)]
struct Known {
    gold: Option<[u8; 3]>,
    burning: Option<([u8; 4], bool)>,
    counted: Option<u64>,
    speed: Option<u32>,
}

#[test]
fn random_programs_agree_with_a_model() {
    for seed in 0..if cfg!(miri) { 2 } else { 60 } {
        let ledger = Ledger::default();
        let mut random = RandomStream::new(seed);
        let mut world = World::new();
        let gold = bytes_component(&mut world, "gold", 3);
        let burning = switch(&mut world, "burning");
        let counted = counted_component(&mut world);
        let mut model: BTreeMap<Entity, Known> = BTreeMap::new();
        for _ in 0..if cfg!(miri) { 60 } else { 400 } {
            let byte = random.below(256).to_le_bytes()[0];
            let place = usize::try_from(random.below(model.len().max(1) as u64)).expect("small");
            let picked = model.iter_mut().nth(place).map(|(&entity, known)| (entity, known));
            match (random.below(9), picked) {
                (0 | 1, _) | (_, None) => {
                    let burns = [byte; 4];
                    let spawned = world.by_id_mut().spawn(&[(burning, &burns), (gold, &[byte; 3])]);
                    let known = Known {
                        gold: Some([byte; 3]),
                        burning: Some((burns, true)),
                        ..Known::default()
                    };
                    model.insert(spawned.expect("both are bytes"), known);
                }
                (2, Some((entity, _))) => {
                    world.despawn(entity).expect("alive");
                    model.remove(&entity);
                }
                (3, Some((entity, known))) => {
                    world.by_id_mut().insert(entity, gold, &[byte; 3]).expect("alive");
                    known.gold = Some([byte; 3]);
                }
                (4, Some((entity, known))) => {
                    world.by_id_mut().insert(entity, burning, &[byte; 4]).expect("alive");
                    let enabled = known.burning.is_none_or(|(_, enabled)| enabled);
                    known.burning = Some(([byte; 4], enabled));
                }
                (5, Some((entity, known))) => {
                    let flipped = world.by_id_mut().set_enabled(entity, burning, byte < 128);
                    assert_eq!(flipped.ok(), known.burning.map(|(_, enabled)| enabled));
                    known.burning = known.burning.map(|(bytes, _)| (bytes, byte < 128));
                }
                (6, Some((entity, known))) => {
                    let value = ledger.value(byte.into());
                    insert_counted(&mut world, entity, counted, value).expect("alive");
                    known.counted = Some(byte.into());
                }
                (7, Some((entity, known))) => match byte % 4 {
                    0 => assert_eq!(
                        world.by_id_mut().remove(entity, gold).is_ok(),
                        known.gold.take().is_some()
                    ),
                    1 => assert_eq!(
                        world.by_id_mut().remove(entity, burning).is_ok(),
                        known.burning.take().is_some()
                    ),
                    2 => assert_eq!(
                        world.by_id_mut().remove(entity, counted).is_ok(),
                        known.counted.take().is_some()
                    ),
                    _ => {
                        world.insert(entity, Speed(byte.into())).expect("alive");
                        known.speed = Some(byte.into());
                    }
                },
                (_, Some((entity, known))) => {
                    let copy = world.instantiate(entity, 1).expect("all of it can be copied")[0];
                    let known = known.clone();
                    model.insert(copy, known);
                }
            }
            world.check().expect("consistent");
        }
        assert_eq!(world.len(), model.len());
        for (&entity, known) in &model {
            assert_eq!(world.by_id().get(entity, gold).ok(), known.gold.as_ref().map(|b| &b[..]));
            let burns = world.by_id().get(entity, burning).ok();
            assert_eq!(burns, known.burning.as_ref().map(|(bytes, _)| &bytes[..]));
            let enabled = world.by_id().is_enabled(entity, burning).ok();
            assert_eq!(enabled, known.burning.map(|(_, enabled)| enabled));
            assert_eq!(world.by_id().has(entity, counted), known.counted.is_some());
            if let Some(number) = known.counted {
                assert_eq!(counted_number(&world, entity, counted), number);
            }
            assert_eq!(world.get::<Speed>(entity).ok().map(|speed| speed.0), known.speed);
        }
        assert_eq!(ledger.live(), model.values().filter(|known| known.counted.is_some()).count());
        let mut query = DynamicQuery::builder().read(burning).build(&world).expect("built");
        let found = world.query_by_id(&mut query).expect("this world's").count();
        let burn = |known: &&Known| known.burning.is_some_and(|(_, enabled)| enabled);
        assert_eq!(found, model.values().filter(burn).count());
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}
