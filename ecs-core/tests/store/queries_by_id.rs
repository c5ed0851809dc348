//! Queries by component id.

use core::alloc::Layout;

use crate::dynamic::{Speed, bytes_component, switch};
use formic_ecs::prelude::*;
use formic_ecs::{
    ByIdError, ChildOf, ComponentDescriptor, ComponentId, DynamicBulk, DynamicQuery,
    DynamicQueryError, EventKind, Targets, TermError,
};

#[derive(Component)]
struct Label;

/// How many imps there are in a crowd.
const IMPS: usize = if cfg!(miri) { 60 } else { 300 };

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
    let imps: Vec<_> = (0..u16::try_from(IMPS).expect("few"))
        .map(|i| world.by_id_mut().spawn(&[(gold, &i.to_ne_bytes())]).expect("spawned"))
        .collect();
    for (i, &imp) in (0_u32..).zip(&imps) {
        if i % 2 == 0 {
            world.by_id_mut().insert(imp, burning, &i.to_ne_bytes()).expect("alive");
            world.by_id_mut().set_enabled(imp, burning, i % 3 != 0).expect("it burns");
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
    (0..IMPS).filter(|&i| matches(i)).collect()
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
        (all().mask(burning), expected(has)),
        (all().mask(burning).with(speed), expected(|i| has(i) && i % 5 == 0)),
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
fn a_mask_says_of_each_row_of_a_run_whether_it_is_enabled() {
    let mut crowd = crowd();
    let (gold, burning, speed) = (crowd.gold, crowd.burning, crowd.speed);
    let builder = DynamicQuery::builder().read(gold).mask(burning).mask(speed);
    let mut query = builder.build(&crowd.world).expect("no contradiction");
    let mut seen = 0;
    crowd.world.query_by_id(&mut query).expect("this world's").for_each_run(|run| {
        let numbers =
            run.bytes(0).unwrap().chunks(2).map(|two| u16::from_ne_bytes([two[0], two[1]]));
        let on = run.mask(burning).expect("asked for");
        assert_eq!(on.len(), run.row_count());
        assert!(on.eq(numbers.map(|i| i % 3 != 0)));
        assert!(run.mask(speed).expect("asked for").all(|on| on), "it is never off");
        assert!(matches!(run.mask(gold), Err(TermError::NoSuchTerm)), "not asked for");
        seen += run.row_count();
    });
    assert_eq!(seen, (0..IMPS).filter(|i| i % 10 == 0).count());
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
    assert_eq!(seen, IMPS);
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
    assert_eq!(rows, IMPS);
    let imp = crowd.imps[17];
    assert_eq!(crowd.world.by_id().get(imp, crowd.gold), Ok(&[1, 1][..]));
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
    let doubled = crowd.world.by_id().get(crowd.imps[50], crowd.gold);
    assert_eq!(doubled, Ok(&100_u16.to_ne_bytes()[..]));
}

#[test]
fn contradictions_are_found_as_the_query_is_built() {
    let crowd = crowd();
    let (gold, burning) = (crowd.gold, crowd.burning);
    let build = |builder: formic_ecs::DynamicQueryBuilder| builder.build(&crowd.world).err();
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
    let imp = world.by_id_mut().spawn(&[(gold, &[1])]).expect("spawned");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 1);
    world.insert(imp, Speed(1)).expect("alive");
    world.by_id_mut().spawn(&[(gold, &[1])]).expect("spawned");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 2);
}

#[test]
fn a_cell_lends_components_by_id_as_it_does_by_type() {
    let mut crowd = crowd();
    let (gold, speed) = (crowd.gold, crowd.speed);
    let build =
        |builder: formic_ecs::DynamicQueryBuilder| builder.build(&crowd.world).expect("built");
    let mut writing = build(DynamicQuery::builder().write(gold).read(speed));
    let mut reading = build(DynamicQuery::builder().read(gold));
    let mut also_reading = build(DynamicQuery::builder().read(speed));
    let mut typed = crowd.world.plan::<&mut Speed>();
    let cell = crowd.world.cell();
    let mut rows = cell.query_by_id(&mut writing).expect("nobody else");
    assert!(matches!(cell.query_by_id(&mut reading), Err(DynamicQueryError::Conflict(_))));
    assert!(cell.query_by_id(&mut also_reading).is_ok());
    assert!(cell.query(&mut typed).is_err(), "somebody reads it by id");
    rows.rows().for_each(|mut row| row.bytes_mut(0).expect("written").fill(3));
    drop(rows);
    assert!(cell.query(&mut typed).is_ok());
    assert_eq!(cell.query_by_id(&mut reading).expect("free again").rows().count(), IMPS);
}

#[test]
fn a_flip_in_the_chunk_being_visited_is_seen_by_the_next_pass() {
    let mut world = World::new();
    let burning = switch(&mut world, "burning");
    let imps: Vec<_> =
        (0..4).map(|_| world.by_id_mut().spawn(&[(burning, &[0; 4])]).expect("spawned")).collect();
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

#[test]
fn changed_and_added_go_by_row_where_the_component_is_tracked() {
    let mut world = World::new();
    let descriptor = ComponentDescriptor::bytes("health", Layout::new::<u8>()).tracked();
    let health = world.by_id_mut().register(descriptor).expect("a new name");
    let imps: Vec<_> =
        (0..100).map(|i| world.by_id_mut().spawn(&[(health, &[i])]).expect("spawned")).collect();
    let build = |builder: formic_ecs::DynamicQueryBuilder| builder.build(&world).expect("built");
    let mut changed = build(DynamicQuery::builder().changed(health));
    let mut added = build(DynamicQuery::builder().added(health));
    let mut writing = build(DynamicQuery::builder().write(health));
    let before = world.version();
    let count = |world: &mut World, query: &mut DynamicQuery| {
        let rows = world.query_by_id(query).expect("this world's").since(before);
        (rows.count(), rows.into_iter().map(|row| row.entity()).collect::<Vec<_>>())
    };
    assert_eq!(count(&mut world, &mut changed), (0, vec![]));
    world.by_id_mut().get_mut(imps[7], health).expect("it has one")[0] = 0;
    for mut row in world.query_by_id(&mut writing).expect("this world's") {
        if row.entity() == imps[9] {
            row.bytes_mut(0).expect("written")[0] = 0;
        }
    }
    assert_eq!(count(&mut world, &mut changed), (2, vec![imps[7], imps[9]]));
    let new = world.by_id_mut().spawn(&[(health, &[1])]).expect("spawned");
    assert_eq!(count(&mut world, &mut added), (1, vec![new]));
    assert_eq!(world.query_by_id(&mut added).expect("this world's").count(), 101);
}

#[test]
fn what_is_refused_by_id_does_not_count_as_changed() {
    #[derive(Component)]
    #[component(tracked)]
    struct Motto(&'static str);
    let mut world = World::new();
    let imp = world.spawn(Motto("dig"));
    let motto = world.component_id::<Motto>().expect("registered");
    let mut query = DynamicQuery::builder().write(motto).build(&world).expect("built");
    let before = world.version();
    {
        let mut rows = world.query_by_id(&mut query).expect("this world's");
        let mut row = rows.get(imp).expect("it matches");
        assert_eq!(row.bytes_mut(0), Err(TermError::NotBytes));
        assert!(matches!(row.get_mut::<Speed>(0), Err(TermError::OtherType)));
    }
    let changed =
        |world: &mut World| world.query_filtered::<&Motto, Changed<Motto>>().since(before).count();
    assert_eq!(changed(&mut world), 0);
    let mut rows = world.query_by_id(&mut query).expect("this world's");
    rows.get(imp).expect("it matches").get_mut::<Motto>(0).expect("its type").0 = "rest";
    assert_eq!(changed(&mut world), 1);
}

#[test]
fn what_only_the_world_changes_is_read_by_id_and_not_written() {
    let mut world = World::new();
    let [parent, child] = [world.spawn(()), world.spawn(())];
    world.relation_mut::<ChildOf>().set_parent(child, Some(parent)).expect("both are there");
    let targets = world.component_id::<Targets<ChildOf>>().expect("known");
    for asking in
        [DynamicQuery::builder().write(targets), DynamicQuery::builder().optional_write(targets)]
    {
        let refused = asking.build(&world).expect_err("nobody else writes it");
        assert!(matches!(refused, DynamicQueryError::Managed(_)), "{refused}");
    }
    let mut reading = DynamicQuery::builder().read(targets).build(&world).expect("only read");
    let mut rows = world.query_by_id(&mut reading).expect("this world");
    let row = rows.get(child).expect("it has a parent");
    assert_eq!(row.get::<Targets<ChildOf>>(0).expect("its type")[..], [parent]);
}

/// A query that is kept finds no other component: no id is ever released, whatever goes.
#[test]
fn an_id_is_never_given_to_another_component() {
    let mut world = World::new();
    let bytes = |name: &str| ComponentDescriptor::bytes(name.to_string(), Layout::new::<u64>());
    let mut known = Vec::new();
    let mut queries = Vec::new();
    for round in 0..20 {
        let id = world.by_id_mut().register(bytes(&format!("component {round}"))).expect("new");
        assert!(!known.contains(&id), "{id:?} was another component's");
        known.push(id);
        queries.push(DynamicQuery::builder().read(id).build(&world).expect("known"));
        let entity = world.spawn(());
        world.by_id_mut().insert(entity, id, &[0; 8]).expect("of this size");
        for (nth, query) in queries.iter_mut().enumerate() {
            let count = world.query_by_id(query).expect("this world").count();
            assert_eq!(count, usize::from(nth == round), "query {nth} in round {round}");
        }
        if round % 2 == 0 {
            world.clear();
        } else {
            world.despawn(entity).expect("alive");
        }
        world.compact();
        if round % 5 == 4 {
            let saved = World::new().snapshot().expect("nothing in it");
            world.restore(&saved).expect("nothing in it");
        }
    }
    world.check().expect("consistent");
}

/// One change to all that a query finds.
#[derive(Clone, Copy)]
enum Bulk {
    Insert,
    Remove,
    RemoveSpeed,
    Switch(bool),
    Despawn,
}

#[test]
fn changes_to_all_that_a_query_finds_are_those_that_one_by_one_would_make() {
    use Bulk::{Despawn, Insert, Remove, RemoveSpeed, Switch};
    let changes = [Insert, Remove, RemoveSpeed, Switch(false), Switch(true), Despawn];
    let numbered = changes.into_iter().cycle().take(36).enumerate();
    for (number, change) in numbered.step_by(if cfg!(miri) { 7 } else { 1 }) {
        let (mut all, mut each) = (crowd(), crowd());
        // A hook watches: then entities go one by one.
        let told = number >= 18;
        for crowd in [&mut all, &mut each] {
            if told {
                _ = crowd.world.hooks().observe::<Speed>(EventKind::Remove, |_, _| {});
            }
        }
        let build = |crowd: &Crowd| {
            let query = DynamicQuery::builder().with(crowd.gold);
            let query = match number / 6 % 3 {
                0 => query,
                1 => query.with(crowd.burning),
                _ => query.without(crowd.burning),
            };
            query.build(&crowd.world).expect("in order")
        };
        let (mut found, mut listed) = (build(&all), build(&each));
        let entities: Vec<_> = {
            let rows = each.world.query_by_id(&mut listed).expect("this world's");
            rows.into_iter().map(|row| row.entity()).collect()
        };
        let (gold, burning, speed) = (all.gold, all.burning, all.speed);
        let bulk = all.world.by_id_mut().bulk(&mut found).expect("this world's");
        let count = match change {
            Insert => bulk.insert(burning, &7_u32.to_ne_bytes()).expect("bytes"),
            Remove => bulk.remove(gold).expect("there"),
            RemoveSpeed => bulk.remove(speed).expect("there"),
            Switch(on) => bulk.set_enabled(burning, on).expect("enableable"),
            Despawn => bulk.despawn(),
        };
        let mut change_one = |&entity: &Entity| {
            let world = each.world.by_id_mut();
            match change {
                Insert => world.insert(entity, burning, &7_u32.to_ne_bytes()).is_ok(),
                Remove => world.remove(entity, gold).is_ok(),
                RemoveSpeed => world.remove(entity, speed).is_ok(),
                Switch(on) => world.set_enabled(entity, burning, on).is_ok(),
                Despawn => each.world.despawn(entity).is_ok(),
            }
        };
        assert_eq!(count, entities.iter().filter(|it| change_one(it)).count());
        assert_eq!(all.world.state_hash(), each.world.state_hash(), "change {number}");
        all.world.check().expect("consistent");
        each.world.check().expect("consistent");
    }
}

#[test]
fn a_change_by_ids_that_cannot_be_made_to_one_is_made_to_none() {
    let mut crowd = crowd();
    let (gold, speed) = (crowd.gold, crowd.speed);
    let hash = crowd.world.state_hash();
    let mut query = DynamicQuery::builder().with(gold).build(&crowd.world).expect("in order");
    let changes: [fn(DynamicBulk<'_>, _, _) -> Result<usize, ByIdError>; 3] = [
        |bulk, gold, _| bulk.insert(gold, &[1]),
        |bulk, _, speed| bulk.insert(speed, &[1; 4]),
        |bulk, gold, _| bulk.set_enabled(gold, true),
    ];
    for (change, says) in changes.into_iter().zip(["have 2 bytes", "not plain", "not enableable"]) {
        let bulk = crowd.world.by_id_mut().bulk(&mut query).expect("this world's");
        let error = change(bulk, gold, speed).expect_err("it cannot be made").to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut other = World::new();
    assert!(matches!(
        other.by_id_mut().bulk(&mut query).err(),
        Some(DynamicQueryError::OtherWorld)
    ));
    assert_eq!(crowd.world.state_hash(), hash);
}

#[test]
fn rows_that_a_query_by_id_refuses_do_not_count_as_written() {
    #[derive(Component)]
    struct Gold(u32);
    #[derive(Component)]
    #[component(enableable)]
    struct Lamp;

    let mut world = World::new();
    let [lit, dark] = [world.spawn((Gold(1), Lamp)), world.spawn((Gold(2), Lamp))];
    world.set_enabled::<Lamp>(dark, false).expect("enableable");
    let (gold, lamp) = (world.register::<Gold>(), world.register::<Lamp>());
    let mut query = DynamicQuery::builder().write(gold).with(lamp).build(&world).expect("known");
    let before = world.version();
    let changed =
        |world: &mut World| world.query_filtered::<(), Changed<Gold>>().since(before).count();
    assert!(world.query_by_id(&mut query).expect("its own").get(dark).is_err());
    assert_eq!(changed(&mut world), 0);
    assert!(world.query_by_id(&mut query).expect("its own").get(lit).is_ok());
    assert_eq!(changed(&mut world), 2, "by chunks");

    // An optional one that is disabled everywhere is not handed out either.
    world.set_enabled::<Lamp>(lit, false).expect("enableable");
    let builder = DynamicQuery::builder().read(gold).optional_write(lamp);
    let mut query = builder.build(&world).expect("known");
    let before = world.version();
    world.query_by_id(&mut query).expect("its own").for_each(|_| ());
    let lamps = world.query::<Present<Ref<'_, Lamp>>>().since(before);
    assert!(lamps.map(|lamp| lamp.is_changed()).eq([false, false]));
}
