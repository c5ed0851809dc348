//! Components that are registered at run time, access by id, and queries by id.
#![expect(unsafe_code, reason = "plays a host that brings drop and clone functions")]

#[path = "support/mod.rs"]
mod support;

use core::alloc::Layout;
use core::ptr::NonNull;
use std::mem::ManuallyDrop;

use ecs_core::prelude::*;
use ecs_core::{
    ByIdError, ComponentDescriptor, ComponentId, DynamicQuery, DynamicQueryError, InstantiateError,
    NoSuchEntity, RegisterError, TermError,
};
use support::{Counted, Ledger, panics_as_planned};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Speed(u32);

#[derive(Component)]
struct Label(#[expect(dead_code, reason = "only its type matters")] String);

fn bytes_component(world: &mut World, name: &str, size: usize) -> ComponentId {
    let layout = Layout::from_size_align(size, 1).expect("a valid layout");
    world
        .register_dynamic(ComponentDescriptor::bytes(name.to_string(), layout))
        .expect("a new name")
}

fn switch(world: &mut World, name: &'static str) -> ComponentId {
    let descriptor = ComponentDescriptor::bytes(name, Layout::new::<u32>()).enableable();
    world.register_dynamic(descriptor).expect("a new name")
}

unsafe fn drop_counted(value: NonNull<u8>) {
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

/// `Counted`, as a host would register it that knows no Rust types.
fn counted_component(world: &mut World) -> ComponentId {
    // SAFETY: the functions are those of `Counted`, the only type of which values are inserted, and
    // it is `Send + Sync`.
    let descriptor = unsafe {
        ComponentDescriptor::with_functions(
            "host.counted",
            Layout::new::<Counted>(),
            Some(drop_counted),
            Some(clone_counted),
        )
    };
    world.register_dynamic(descriptor).expect("a new name")
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
    let inserted = unsafe { world.insert_ptr_by_id(entity, id, address) };
    if inserted.is_err() {
        drop(ManuallyDrop::into_inner(value));
    }
    inserted
}

fn counted_number(world: &World, entity: Entity, id: ComponentId) -> u64 {
    let address = world.get_ptr_by_id(entity, id).expect("it has one");
    // SAFETY: a value of `Counted`, and the world is borrowed.
    unsafe { address.cast::<Counted>().as_ref() }.number()
}

#[test]
fn registration_refuses_what_cannot_be_kept() {
    let mut world = World::new();
    world.register::<Speed>();
    let mut register = |name: &str, size, align| {
        let layout = Layout::from_size_align(size, align).expect("a valid layout");
        world.register_dynamic(ComponentDescriptor::bytes(name.to_string(), layout))
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
    let imps: Vec<_> = (0..500_u16).map(|_| world.spawn(Speed(1))).collect();
    let coded = |i: u16| [i.to_le_bytes()[0], i.to_le_bytes()[1], 7];
    for (i, &imp) in (0..).zip(&imps) {
        world.insert_by_id(imp, gold, &coded(i)).expect("alive");
    }
    world.check().expect("consistent");
    for (i, &imp) in (0..).zip(&imps) {
        assert_eq!(world.get_by_id(imp, gold), Ok(&coded(i)[..]));
        assert_eq!(world.get::<Speed>(imp), Ok(&Speed(1)), "what was there goes along");
    }
    world.get_mut_by_id(imps[3], gold).expect("it has gold")[0] = 99;
    world.insert_by_id(imps[4], gold, &[1, 2, 3]).expect("replaced");
    assert_eq!(world.get_by_id(imps[3], gold), Ok(&[99, 0, 7][..]));
    assert_eq!(world.get_by_id(imps[4], gold), Ok(&[1, 2, 3][..]));
    world.remove_by_id(imps[5], gold).expect("it has gold");
    assert!(!world.has_id(imps[5], gold) && world.has_id(imps[6], gold));
    assert_eq!(world.get::<Speed>(imps[5]), Ok(&Speed(1)));
    world.check().expect("consistent");
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
    assert_eq!(world.insert_by_id(imp, gold, &[1, 2, 3]), Err(wrong.clone()));
    assert_eq!(world.insert_by_id(gone, gold, &[1, 2]), Err(no_entity()));
    assert_eq!(
        world.insert_by_id(imp, counted, &[]),
        Err(ByIdError::NotBytes("host.counted".into()))
    );
    assert!(matches!(world.insert_by_id(imp, label, &[0; 24]), Err(ByIdError::NotBytes(_))));
    assert_eq!(world.remove_by_id(imp, gold), Err(missing()));
    assert_eq!(world.remove_by_id(gone, gold), Err(no_entity()));
    assert_eq!(world.get_by_id(imp, gold), Err(missing()));
    assert!(matches!(world.get_by_id(imp, label), Err(ByIdError::NotBytes(_))));
    assert!(matches!(world.get_mut_by_id(imp, label), Err(ByIdError::NotBytes(_))));
    assert_eq!(world.get_mut_by_id(imp, gold), Err(missing()));
    assert_eq!(world.is_enabled_by_id(imp, gold), Err(missing()));
    assert!(matches!(world.set_enabled_by_id(imp, label, false), Err(ByIdError::NotEnableable(_))));
    assert_eq!(world.spawn_by_id(&[(gold, &[1, 2, 3])]), Err(wrong));
    let twice = world.spawn_by_id(&[(gold, &[1, 2]), (gold, &[1, 2])]);
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
    assert!(!world.has_id(imp, foreign));
    assert!(unknown(world.insert_by_id(imp, foreign, &[0; 4])));
    assert!(unknown(world.remove_by_id(imp, foreign)));
    assert!(unknown(world.get_by_id(imp, foreign).map(|_| ())));
    assert!(unknown(world.get_mut_by_id(imp, foreign).map(|_| ())));
    assert!(unknown(world.set_enabled_by_id(imp, foreign, true).map(|_| ())));
    assert!(unknown(world.spawn_by_id(&[(foreign, &[0; 4])]).map(|_| ())));
    assert!(world.component_info(foreign).is_err());
    let query = DynamicQuery::builder().read(foreign).build(&world);
    assert!(matches!(query, Err(DynamicQueryError::Unknown(_))));
    let filtered = DynamicQuery::builder().without(foreign).build(&world);
    assert!(matches!(filtered, Err(DynamicQueryError::Unknown(_))));
}

#[test]
fn several_components_by_id_are_one_archetype_with_their_typed_twin() {
    let mut world = World::new();
    let speed = world.register::<Speed>();
    let gold = bytes_component(&mut world, "gold", 2);
    let silver = bytes_component(&mut world, "silver", 4);
    let one = world.spawn_by_id(&[(silver, &[1, 2, 3, 4]), (gold, &[5, 6])]).expect("spawned");
    let two = world.spawn(());
    world.insert_by_id(two, gold, &[5, 6]).expect("alive");
    world.insert_by_id(two, silver, &[1, 2, 3, 4]).expect("alive");
    let archetypes = world.archetypes().iter().filter(|archetype| !archetype.is_empty());
    assert_eq!(archetypes.map(ecs_core::Archetype::len).collect::<Vec<_>>(), [2]);
    assert_eq!(world.get_by_id(one, gold), world.get_by_id(two, gold));
    world.insert(one, Speed(258)).expect("alive");
    assert_eq!(world.get_by_id(one, speed), Ok(&258_u32.to_ne_bytes()[..]), "a type with bytes");
    assert_eq!(world.get_by_id(one, silver), Ok(&[1, 2, 3, 4][..]));
    assert_eq!(world.components_of(one).expect("alive").len(), 3);
    world.check().expect("consistent");
}

#[test]
fn switching_by_id_follows_the_table_of_semantics() {
    let mut world = World::new();
    let burning = switch(&mut world, "burning");
    let imp = world.spawn_by_id(&[(burning, &[0; 4])]).expect("spawned");
    assert_eq!(world.is_enabled_by_id(imp, burning), Ok(true), "what is new comes enabled");
    assert_eq!(world.set_enabled_by_id(imp, burning, false), Ok(true));
    world.insert_by_id(imp, burning, &[1; 4]).expect("alive");
    assert_eq!(world.is_enabled_by_id(imp, burning), Ok(false), "a replaced one keeps its bit");
    assert_eq!(world.get_by_id(imp, burning), Ok(&[1; 4][..]), "disabled is still there");
    world.insert(imp, Speed(1)).expect("alive");
    assert_eq!(world.is_enabled_by_id(imp, burning), Ok(false), "the bit goes along");
    let copies = world.instantiate(imp, 3).expect("bytes can be copied");
    assert_eq!(world.is_enabled_by_id(copies[2], burning), Ok(false), "copies copy the bit");
    world.remove_by_id(imp, burning).expect("removed, whatever the bit says");
    world.insert_by_id(imp, burning, &[2; 4]).expect("alive");
    assert_eq!(world.is_enabled_by_id(imp, burning), Ok(true));
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
        world.insert_by_id(imp, a, &gold).expect("alive");
        world.insert_by_id(imp, b, &[9, 9]).expect("alive");
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
    world.remove_by_id(imps[1], counted).expect("it has one");
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
fn a_component_without_a_clone_function_refuses_instantiation() {
    let mut world = World::new();
    // SAFETY: there is nothing to drop, and the values are inserted as bytes of this layout.
    let descriptor =
        unsafe { ComponentDescriptor::with_functions("handle", Layout::new::<u64>(), None, None) };
    let handle = world.register_dynamic(descriptor).expect("a new name");
    let imp = world.spawn(());
    let mut value = 7_u64;
    // SAFETY: a number, as the descriptor says.
    unsafe { world.insert_ptr_by_id(imp, handle, NonNull::from(&mut value).cast()) }
        .expect("alive");
    let refused = world.instantiate(imp, 1);
    assert_eq!(refused, Err(InstantiateError::NotClone { component: "handle".into() }));
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
            1 => world.remove_by_id(imps[0], counted).expect("it has one"),
            _ => world.despawn(imps[0]).expect("alive"),
        }));
        world.check().expect("consistent");
        assert_eq!(ledger.live(), if nth == 0 { 3 } else { 2 });
        assert_eq!(world.has_id(imps[0], counted), operation == 0);
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
    let map = world.register_dynamic(ComponentDescriptor::bytes("map", layout)).expect("new");
    let maps: Vec<_> =
        (0..3).map(|i| world.spawn_by_id(&[(map, &vec![i; 40_960])]).expect("spawned")).collect();
    for (i, &entity) in (0..).zip(&maps) {
        let address = world.get_ptr_by_id(entity, map).expect("it has one");
        assert_eq!(address.as_ptr().align_offset(4096), 0);
        assert!(world.get_by_id(entity, map).expect("bytes").iter().all(|&byte| byte == i));
    }
    world.check().expect("consistent");
}

/// A world with imps that have gold and perhaps more: every second burns, every third of these is
/// switched off, every fifth has a speed.
struct Crowd {
    world: World,
    gold: ComponentId,
    burning: ComponentId,
    speed: ComponentId,
    imps: Vec<Entity>,
}

fn crowd() -> Crowd {
    let mut world = World::new();
    let speed = world.register::<Speed>();
    let gold = bytes_component(&mut world, "gold", 2);
    let burning = switch(&mut world, "burning");
    let imps: Vec<_> = (0..300_u16)
        .map(|i| world.spawn_by_id(&[(gold, &i.to_ne_bytes())]).expect("spawned"))
        .collect();
    for (i, &imp) in (0_u32..).zip(&imps) {
        if i % 2 == 0 {
            world.insert_by_id(imp, burning, &i.to_ne_bytes()).expect("alive");
            world.set_enabled_by_id(imp, burning, i % 3 != 0).expect("it burns");
        }
        if i % 5 == 0 {
            world.insert(imp, Speed(i)).expect("alive");
        }
    }
    world.check().expect("consistent");
    Crowd { world, gold, burning, speed, imps }
}

fn numbers(crowd: &mut Crowd, query: &mut DynamicQuery) -> Vec<usize> {
    let mut found = Vec::new();
    let imps = &crowd.imps;
    let rows = crowd.world.query_by_id(query).expect("it is this world's");
    let count = rows.count();
    for row in rows {
        found.push(imps.iter().position(|&imp| imp == row.entity()).expect("an imp"));
    }
    assert_eq!(found.len(), count);
    found.sort_unstable();
    found
}

fn expected(matches: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..300).filter(|&i| matches(i)).collect()
}

#[test]
fn terms_and_filters_follow_the_table_of_semantics() {
    let mut crowd = crowd();
    let (gold, burning, speed) = (crowd.gold, crowd.burning, crowd.speed);
    let has = |i: usize| i % 2 == 0;
    let on = |i: usize| has(i) && i % 3 != 0;
    let all = || DynamicQuery::builder().read(gold);
    let cases: Vec<(_, Vec<usize>)> = vec![
        (all(), expected(|_| true)),
        (all().read(burning), expected(on)),
        (all().write(burning), expected(on)),
        (all().optional(burning), expected(|_| true)),
        (all().with(burning), expected(on)),
        (all().without(burning), expected(|i| !on(i))),
        (all().present(burning), expected(has)),
        (all().disabled(burning), expected(|i| has(i) && !on(i))),
        (all().present(burning).without(burning), expected(|i| has(i) && !on(i))),
        (all().with(speed), expected(|i| i % 5 == 0)),
        (all().without(speed), expected(|i| i % 5 != 0)),
        (all().read(speed).with(burning), expected(|i| i % 5 == 0 && on(i))),
        (DynamicQuery::builder().with(burning).without(speed), expected(|i| on(i) && i % 5 != 0)),
    ];
    for (number, (builder, expected)) in cases.into_iter().enumerate() {
        let mut query = builder.build(&crowd.world).expect("no contradiction");
        assert_eq!(numbers(&mut crowd, &mut query), expected, "case {number}");
        assert_eq!(numbers(&mut crowd, &mut query), expected, "case {number}, again");
    }
}

#[test]
fn an_optional_term_is_there_exactly_where_it_is_enabled() {
    let mut crowd = crowd();
    let builder = DynamicQuery::builder().read(crowd.gold).optional(crowd.burning);
    let mut query = builder.optional(crowd.speed).build(&crowd.world).expect("no contradiction");
    let mut seen = 0;
    for row in crowd.world.query_by_id(&mut query).expect("this world's") {
        let i = u32::from(u16::from_ne_bytes(row.bytes(0).unwrap().try_into().unwrap()));
        let burning = row.bytes(1).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()));
        let on = i % 2 == 0 && i % 3 != 0;
        assert_eq!(burning, if on { Ok(i) } else { Err(TermError::Absent) });
        let speed = row.get::<Speed>(2).copied();
        assert_eq!(speed, if i % 5 == 0 { Ok(Speed(i)) } else { Err(TermError::Absent) });
        seen += 1;
    }
    assert_eq!(seen, 300);
}

#[test]
fn runs_are_cut_where_an_optional_term_begins_or_ends() {
    let mut crowd = crowd();
    let builder = DynamicQuery::builder().write(crowd.gold).optional(crowd.burning);
    let mut query = builder.build(&crowd.world).expect("no contradiction");
    let mut rows = 0;
    crowd.world.query_by_id(&mut query).expect("this world's").for_each_run(|mut run| {
        let count = run.row_count();
        assert_eq!(run.bytes(0).expect("a term").len(), 2 * count);
        let on = |i: u16| i % 2 == 0 && i % 3 != 0;
        let all: Vec<u16> = run
            .bytes(0)
            .unwrap()
            .chunks(2)
            .map(|two| u16::from_ne_bytes([two[0], two[1]]))
            .collect();
        match run.bytes(1) {
            Ok(burning) => {
                assert_eq!(burning.len(), 4 * count);
                assert!(all.iter().all(|&i| on(i)));
            }
            Err(error) => {
                assert_eq!(error, TermError::Absent);
                assert!(all.iter().all(|&i| !on(i)));
            }
        }
        assert_eq!(run.entities().len(), count);
        run.bytes_mut(0).expect("written").fill(1);
        rows += count;
    });
    assert_eq!(rows, 300);
    let imp = crowd.imps[17];
    assert_eq!(crowd.world.get_by_id(imp, crowd.gold), Ok(&[1, 1][..]));
    crowd.world.check().expect("consistent");
}

#[test]
fn terms_refuse_what_they_cannot_give() {
    let mut crowd = crowd();
    let builder = DynamicQuery::builder().read(crowd.gold).write(crowd.speed);
    let mut query = builder.build(&crowd.world).expect("no contradiction");
    let mut rows = crowd.world.query_by_id(&mut query).expect("this world's");
    let mut row = rows.get(crowd.imps[5]).expect("it matches");
    assert_eq!(row.bytes_mut(0), Err(TermError::ReadOnly));
    assert_eq!(row.bytes_mut(1), Err(TermError::NotBytes), "a typed one is not written as bytes");
    assert_eq!(row.bytes(1), Ok(&5_u32.to_ne_bytes()[..]), "but can be read");
    assert_eq!(row.bytes(2), Err(TermError::NoSuchTerm));
    assert_eq!(row.get::<Speed>(0), Err(TermError::OtherType));
    assert!(matches!(row.get::<Label>(1), Err(TermError::OtherType)));
    assert_eq!(row.bytes_pair(1, 1), Err(TermError::SameComponent));
    assert_eq!(row.bytes_pair(1, 7), Err(TermError::NoSuchTerm));
    row.get_mut::<Speed>(1).expect("a speed").0 = 77;
    assert!(rows.get(crowd.imps[6]).is_err(), "it has no speed");
    assert_eq!(crowd.world.get::<Speed>(crowd.imps[5]), Ok(&Speed(77)));
}

#[test]
fn two_columns_at_once_are_two_columns() {
    let mut crowd = crowd();
    let builder = DynamicQuery::builder().write(crowd.gold).read(crowd.speed);
    let mut query = builder.build(&crowd.world).expect("no contradiction");
    crowd.world.query_by_id(&mut query).expect("this world's").for_each_run(|mut run| {
        let (gold, speed) = run.bytes_pair(0, 1).expect("two columns");
        for (gold, speed) in gold.chunks_mut(2).zip(speed.chunks(4)) {
            let doubled = u32::from_ne_bytes(speed.try_into().unwrap()) * 2;
            gold.copy_from_slice(&u16::try_from(doubled).unwrap().to_ne_bytes());
        }
    });
    let doubled = crowd.world.get_by_id(crowd.imps[50], crowd.gold);
    assert_eq!(doubled, Ok(&100_u16.to_ne_bytes()[..]));
}

#[test]
fn contradictions_are_found_as_the_query_is_built() {
    let crowd = crowd();
    let (gold, burning) = (crowd.gold, crowd.burning);
    let build = |builder: ecs_core::DynamicQueryBuilder| builder.build(&crowd.world).err();
    let new = DynamicQuery::builder;
    let twice = Some(DynamicQueryError::Twice("gold".into()));
    assert_eq!(build(new().write(gold).read(gold)), twice);
    assert_eq!(build(new().read(gold).write(gold)), twice);
    assert_eq!(build(new().write(gold).optional_write(gold)), twice);
    assert_eq!(build(new().read(gold).read(gold)), None, "reading twice is no harm");
    let contradiction = |name: &'static str| Some(DynamicQueryError::Contradiction(name.into()));
    assert_eq!(build(new().with(gold).without(gold)), contradiction("gold"));
    assert_eq!(build(new().read(gold).without(gold)), contradiction("gold"));
    assert_eq!(build(new().present(gold).without(gold)), contradiction("gold"));
    assert_eq!(build(new().with(burning).disabled(burning)), contradiction("burning"));
    assert_eq!(build(new().present(burning).without(burning)), None, "there and disabled");
    assert_eq!(build(new().optional(gold).without(gold)), None);
    let not = Some(DynamicQueryError::NotEnableable("gold".into()));
    assert_eq!(build(new().disabled(gold)), not);
    let many = (0..=DynamicQuery::TERMS_MAX).fold(new(), |query, _| query.read(gold));
    assert_eq!(build(many), Some(DynamicQueryError::TooManyTerms));
}

#[test]
fn a_query_of_another_world_is_refused() {
    let crowd = crowd();
    let mut query = DynamicQuery::builder().read(crowd.gold).build(&crowd.world).expect("built");
    let mut other = World::new();
    assert_eq!(other.query_by_id(&mut query).err(), Some(DynamicQueryError::OtherWorld));
    let refused = other.cell().query_by_id(&mut query).err();
    assert_eq!(refused, Some(DynamicQueryError::OtherWorld));
}

#[test]
fn a_query_sees_archetypes_that_appear_after_it_was_asked() {
    let mut world = World::new();
    let gold = bytes_component(&mut world, "gold", 1);
    let mut query = DynamicQuery::builder().read(gold).build(&world).expect("built");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 0);
    let imp = world.spawn_by_id(&[(gold, &[1])]).expect("spawned");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 1);
    world.insert(imp, Speed(1)).expect("alive");
    world.spawn_by_id(&[(gold, &[1])]).expect("spawned");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 2);
}

#[test]
fn a_cell_lends_components_by_id_as_it_does_by_type() {
    let mut crowd = crowd();
    let (gold, speed) = (crowd.gold, crowd.speed);
    let build =
        |builder: ecs_core::DynamicQueryBuilder| builder.build(&crowd.world).expect("built");
    let mut writing = build(DynamicQuery::builder().write(gold).read(speed));
    let mut reading = build(DynamicQuery::builder().read(gold));
    let mut also_reading = build(DynamicQuery::builder().read(speed));
    let mut typed = crowd.world.plan::<&mut Speed, ()>();
    let cell = crowd.world.cell();
    let mut rows = cell.query_by_id(&mut writing).expect("nobody else");
    assert!(matches!(cell.query_by_id(&mut reading), Err(DynamicQueryError::Conflict(_))));
    assert!(cell.query_by_id(&mut also_reading).is_ok());
    assert!(cell.query(&mut typed).is_err(), "somebody reads it by id");
    rows.rows().for_each(|mut row| row.bytes_mut(0).expect("written").fill(3));
    drop(rows);
    assert!(cell.query(&mut typed).is_ok());
    assert_eq!(cell.query_by_id(&mut reading).expect("free again").rows().count(), 300);
}

#[test]
fn a_flip_in_the_chunk_being_visited_is_seen_by_the_next_pass() {
    let mut world = World::new();
    let burning = switch(&mut world, "burning");
    let imps: Vec<_> =
        (0..4).map(|_| world.spawn_by_id(&[(burning, &[0; 4])]).expect("spawned")).collect();
    #[derive(Component)]
    #[component(enableable)]
    struct Awake;
    for &imp in &imps {
        world.insert(imp, Awake).expect("alive");
    }
    let awake = world.component_id::<Awake>().expect("registered");
    let builder = DynamicQuery::builder().read(burning).optional(awake).with(awake);
    let mut query = builder.build(&world).expect("built");
    let mut bits = world.view_plan::<EnabledMut<Awake>>();
    let cell = world.cell();
    let bits = cell.view(&mut bits).expect("nobody else");
    let mut rows = cell.query_by_id(&mut query).expect("nobody else");
    let mut seen = 0;
    for row in rows.rows() {
        assert!(row.get::<Awake>(1).is_ok());
        imps.iter().for_each(|&imp| _ = bits.set(imp, false));
        seen += 1;
    }
    assert_eq!((seen, rows.rows().count()), (4, 0));
}
