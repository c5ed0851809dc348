//! Tests of every kind's paths through the harbour, by searches without classes.

use std::collections::BTreeSet;

use formic_ecs::{Entity, With};
use formic_nav::{Cell, ClassId, PathRequest, RequestStatus};
use glam::Vec2;

use super::map::{symbol, terrain};
use super::*;

fn harbour(agents: u32, seed: u64) -> Harbour {
    Harbour::new(&Setup { agents, ticks: 0, seed, threads: 1 }).expect("one thread")
}

/// Whether an agent of a kind can be at a cell, according to the map and the carts.
fn may_be(kind: Kind, terrain: &Terrain, cell: Cell) -> bool {
    let size = if kind == Kind::Troll { 2 } else { 1 };
    (0..size * size).map(|part| Cell::new(cell.x + part % size, cell.y + part / size)).all(|cell| {
        let is_water = symbol(cell) == b'~';
        let has_key = kind == Kind::Porter || symbol(cell) != b'=';
        terrain.is_open(cell) && has_key && is_water == (kind == Kind::Boat)
    })
}

/// Returns every cell that an agent of a kind can reach from one, step by step and link by link.
fn reached(kind: Kind, terrain: &Terrain, start: Cell) -> BTreeSet<Cell> {
    let (mut reached, mut stack) = (BTreeSet::from([start]), vec![start]);
    while let Some(cell) = stack.pop() {
        let Cell { x, y } = cell;
        let links = terrain.links().iter().filter(|link| link.from == cell).map(|link| link.to);
        let steps = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)].map(|(x, y)| Cell::new(x, y));
        for next in links.chain(steps) {
            if may_be(kind, terrain, next) && reached.insert(next) {
                stack.push(next);
            }
        }
    }
    reached
}

/// Returns a cell whose symbol is unique on the map.
fn place(letter: u8) -> Cell {
    terrain().grid().cells().find(|&cell| symbol(cell) == letter).expect("the map has it")
}

#[test]
fn the_map_has_a_way_for_goblins_that_trolls_have_not() {
    let terrain = terrain();
    let (quay, vault, hall) = (Cell::new(2, 8), Cell::new(60, 14), Cell::new(25, 14));
    let of = |kind| reached(kind, &terrain, quay);
    let [goblin, porter, troll] = [Kind::Goblin, Kind::Porter, Kind::Troll].map(of);
    assert!(goblin.contains(&hall) && !goblin.contains(&vault));
    assert!(porter.contains(&hall) && porter.contains(&vault));
    assert!(!troll.contains(&hall) && !troll.contains(&vault));
    // It uses the ramp; the stairs are too narrow.
    assert!(troll.contains(&place(b'C')) && !troll.contains(&place(b'a')));
    assert_eq!(terrain.links().len(), 5);
    // The drop leads down, and not up.
    let links: Vec<_> = terrain.links().iter().map(|link| (link.from, link.to)).collect();
    assert!(links.contains(&(place(b'e'), place(b'E'))));
    assert!(!links.contains(&(place(b'E'), place(b'e'))));
}

#[test]
fn all_who_have_a_way_arrive_and_no_others_are_refused() {
    let mut harbour = harbour(30, 5);
    let mut answered = [0; 30];
    let (mut found, mut refused) = (0, 0);
    for _ in 0..2_000 {
        harbour.tick();
        let agents =
            harbour.engine.world.query_ref::<(&Position, &PathRequest, &Errand, &ClassId)>();
        for (number, (position, request, errand, &class)) in agents.into_iter().enumerate() {
            // Only once, when the answer has come.
            let status = request.status();
            if status == RequestStatus::Pending || answered[number] == request.number() {
                continue;
            }
            answered[number] = request.number();
            let kind = Kind::of(class).expect("every class is a kind");
            let ends = position.cell().zip(Cell::containing(errand.goal()));
            let (start, goal) = ends.expect("both are on the map");
            let has_way = reached(kind, harbour.terrain(), start).contains(&goal);
            match status {
                RequestStatus::Found | RequestStatus::Arrived => found += 1,
                RequestStatus::Unreachable(_) => refused += 1,
                other => panic!("{other:?}"),
            }
            let is_refused = matches!(status, RequestStatus::Unreachable(_));
            assert_eq!(has_way, !is_refused, "{} from {start} to {goal}", kind.noun());
        }
    }
    assert!(found > 200 && refused > 3, "{found} found, {refused} refused");
    assert_eq!(harbour.check(), Ok(()));
    // No more errands begin, and those under way come to their end.
    let world = &mut harbour.engine.world;
    let agents: Vec<Entity> =
        world.query_ref_filtered::<Entity, With<Errand>>().into_iter().collect();
    for &agent in &agents {
        world.remove::<Errand>(agent).expect("it has one");
    }
    let is_at_rest = |harbour: &Harbour, agent| {
        harbour.engine.world.get::<PathRequest>(agent).is_ok_and(|it| it.status().is_at_rest())
    };
    let mut ticks = 0;
    while !agents.iter().all(|&agent| is_at_rest(&harbour, agent)) {
        harbour.tick();
        ticks += 1;
        assert!(ticks < 3_000, "some never arrive");
    }
}

#[test]
fn a_detour_names_the_door_that_is_too_narrow_and_the_one_that_is_locked() {
    let mut harbour = harbour(4, 1);
    let world = &mut harbour.engine.world;
    let agents = world.query_ref_filtered::<Entity, With<Errand>>();
    let agents: Vec<Entity> = agents.into_iter().collect();
    let [goblin, _boat, troll, porter] = agents[..] else { panic!("{agents:?}") };
    for agent in [goblin, troll, porter] {
        let position = world.get_mut::<Position>(agent).expect("it is somewhere");
        position.0 = Vec2::new(30.5, 9.5);
    }
    let why = |agent, goal| harbour.detour(agent, Some(goal)).unwrap_or_default();
    let (vault, hall) = (Cell::new(60, 14), Cell::new(25, 14));
    assert!(why(troll, hall).ends_with("it is too wide for the door at (28, 12)."));
    assert!(why(goblin, vault).ends_with("it has no key for the locked door at (57, 14)."));
    assert_eq!(why(goblin, hall), "");
    assert_eq!(why(porter, vault), "");
}

#[test]
fn the_check_finds_a_tick_that_searched_too_long() {
    DEMO.assert_check_finds("the searches of a tick expanded", |world| {
        let report = world.resource_mut::<SearchReport>().expect("there is one");
        report.expansions_max = BUDGET.expansions + 1;
    });
}
