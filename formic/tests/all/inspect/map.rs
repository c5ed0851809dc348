//! A world with a terrain has a map, without a line of its program.

use formic::glam::Vec2;
use formic::nav::{Cell, Grid, MoveRule, PathRequest, Position, Terrain};

use super::*;

/// Nine cells by five with a wall that has one gap, and an imp that walks around it.
fn hall() -> (World, Schedule) {
    let mut world = World::new();
    let grid = Grid::from_fn(9, 5, |cell| cell.x != 4 || cell.y == 4).expect("a size");
    systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
    let imp = world.spawn(systems::agent(Vec2::new(0.5, 0.5), 1.0));
    world.get_mut::<PathRequest>(imp).expect("it has one").ask(Vec2::new(8.5, 0.5));
    let schedule = systems::add(Schedule::builder()).build(&mut world).expect("an order");
    (world, schedule)
}

#[test]
fn a_world_with_a_terrain_has_a_map_and_its_agents_are_chosen_by_a_click() {
    let program = living(hall);
    program.pause();
    let state = program.get("/api/state");
    assert_eq!(state["scene"]["size"], json!([9.0, 5.0]), "{state}");
    program.post("/api/step", json!({ "what": "tick", "count": 3 }));
    let imp = program.only("Position");
    let at = program.component(&imp, "Position").expect("it has it");
    let at = at["fields"][0]["value"].as_str().expect("a text").to_owned();
    let mut at = at.split(", ").map(|part| part.parse::<f32>().expect("a number"));
    let (x, y) = (at.next().expect("two numbers"), at.next().expect("two numbers"));
    let click = |x: f32, y: f32| {
        program.post("/api/pick", json!({ "x": x, "y": y, "reach": 0.3 })).1.to_string()
    };
    assert!(click(x, y).contains(&imp), "{}", click(x, y));
    assert!(!click(x, y + 2.0).contains(&imp));
    // Without a terrain there is no map.
    let without = living(cats);
    assert_eq!(without.get("/api/state")["scene"]["size"], json!([0.0, 0.0]));
}

#[test]
fn the_map_shows_regions_faces_of_rock_agents_and_the_way_ahead() {
    use formic::inspect::{Marks, TerrainMap, View};
    let (mut world, mut schedule) = hall();
    assert!(TerrainMap::of(&World::new()).is_none());
    let pool = Pool::new(Threads::None).expect("no threads are needed");
    for _ in 0..3 {
        schedule.run(&mut world, &pool);
    }
    let map = TerrainMap::of(&world).expect("there is a terrain");
    let ground = map.ground();
    let colour = |x: usize, y: usize| ground.palette[usize::from(ground.tiles[y * 9 + x])];
    assert_eq!((ground.columns, ground.rows, ground.tiles.len()), (9, 5, 45));
    assert_eq!(colour(0, 0), colour(8, 4), "one region");
    assert_ne!(colour(4, 0), colour(4, 3), "rock, and its side above the gap");
    let mut marks = Marks::default();
    map.marks(&mut marks);
    let [imp] = marks[..] else { panic!("one agent: {marks:?}") };
    let way = map.path(imp.entity);
    assert_eq!(way[0], world.get::<Position>(imp.entity).expect("it has one").0);
    assert_eq!(way.last(), Some(&Vec2::new(8.5, 0.5)));
    assert!(way.contains(&Cell::new(4, 4).centre()), "through the gap: {way:?}");
    let version = map.ground_version();
    world.resource_mut::<Terrain>().expect("there is one").fill(Cell::new(4, 4));
    let map = TerrainMap::of(&world).expect("there is a terrain");
    assert_ne!(map.ground_version(), version);
    let ground = map.ground();
    assert_ne!(ground.tiles[0], ground.tiles[8], "two regions");
}
