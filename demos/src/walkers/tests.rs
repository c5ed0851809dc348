//! Tests that the watch detects illegal positions and moves.

use formic_ecs::World;
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{AgentClass, Grid, Link, MoveRule, Weight};

use super::*;

/// Watches one agent of a class move from one place to another; returns ticks in rock and illegal moves.
fn check_on(
    terrain: Terrain,
    class: ClassId,
    from: (f32, f32),
    to: (f32, f32),
    pushed_out: u32,
) -> (u32, u32) {
    let mut world = World::new();
    world.insert_resource(terrain);
    let stats = PathStats { pushed_out, ..PathStats::default() };
    let agent = world.spawn((Position(to.into()), stats, Watch::new(from.into()), class));
    let mut schedule = Schedule::builder().add(watch).build(&mut world).expect("one system");
    schedule.run(&mut world, &Pool::new(Threads::None).expect("no threads"));
    let watch = *world.get::<Watch>(agent).expect("spawned with it");
    let is_fine = watch.ticks_in_rock + watch.illegal_moves == 0;
    assert_eq!(check(&world).is_ok(), is_fine, "{watch:?}");
    (watch.ticks_in_rock, watch.illegal_moves)
}

/// Does the same around a wall in column 1 whose only gap is at its southern end.
fn check_wall(from: (f32, f32), to: (f32, f32), pushed_out: u32) -> (u32, u32) {
    let grid = Grid::from_fn(3, 3, |cell| cell.x != 1 || cell.y == 2).expect("a small grid");
    check_on(Terrain::new(grid, MoveRule::default()), ClassId(0), from, to, pushed_out)
}

#[test]
fn steps_in_the_open_are_fine() {
    assert_eq!(check_wall((0.5, 0.5), (0.7, 0.9), 0), (0, 0));
    assert_eq!(check_wall((0.5, 0.9), (0.5, 1.1), 0), (0, 0));
    assert_eq!(check_wall((0.9, 2.5), (1.1, 2.5), 0), (0, 0));
}

#[test]
fn rock_jumps_and_corners_are_noticed() {
    assert_eq!(check_wall((0.9, 0.5), (1.1, 0.5), 0), (1, 0), "into the wall");
    assert_eq!(check_wall((0.9, 0.5), (2.1, 0.5), 0), (0, 1), "through the wall");
    assert_eq!(check_wall((0.9, 1.8), (1.2, 2.1), 0), (0, 1), "around its corner");
    assert_eq!(check_wall((f32::NAN, 0.5), (0.5, 0.5), 0), (0, 1), "from nowhere");
    assert_eq!(check_wall((0.5, 0.5), (f32::NAN, 0.5), 0), (1, 0), "to nowhere");
}

#[test]
fn to_be_put_aside_is_not_to_walk() {
    assert_eq!(check_wall((0.9, 0.5), (2.1, 0.5), 1), (0, 0));
}

#[test]
fn agents_keep_to_the_ground_of_their_class_with_all_that_they_cover() {
    // A bank, a river of two columns, and another bank.
    let water = Weight::new(5).expect("not zero");
    let mut terrain =
        Terrain::new(Grid::from_fn(6, 4, |_| true).expect("a small grid"), MoveRule::default());
    for y in 0..4 {
        assert!([2, 3].into_iter().all(|x| terrain.set_weight(Cell::new(x, y), water)));
    }
    let (goblin, boat, troll) = (ClassId(1), ClassId(2), ClassId(3));
    let check = |class, from, to| {
        let classes = [AgentClass::new(1).without(water), AgentClass::new(1).only(&[water])];
        let classes = classes.into_iter().chain([AgentClass::new(2).without(water)]);
        check_on(terrain.clone().with_classes(classes), class, from, to, 0)
    };
    assert_eq!(check(goblin, (1.5, 0.5), (1.8, 0.5)), (0, 0));
    assert_eq!(check(goblin, (1.8, 0.5), (2.1, 0.5)), (1, 0), "into the water");
    assert_eq!(check(goblin, (1.8, 0.5), (4.1, 0.5)), (0, 1), "over the water");
    assert_eq!(check(boat, (2.5, 0.5), (3.3, 0.5)), (0, 0));
    assert_eq!(check(boat, (3.9, 0.5), (4.1, 0.5)), (1, 0), "onto land");
    assert_eq!(check(troll, (0.5, 0.5), (0.9, 2.5)), (0, 0));
    assert_eq!(check(troll, (0.9, 0.5), (1.1, 0.5)), (1, 0), "with one half in the water");
    assert_eq!(check(troll, (4.5, 2.9), (4.5, 3.1)), (1, 0), "with one half beside the map");
}

#[test]
fn a_link_is_crossed_in_its_direction_and_by_those_alone_who_can() {
    let stairs = Weight::new(2).expect("not zero");
    let grid = Grid::from_fn(9, 3, |cell| cell.x != 4).expect("a small grid");
    let link = Link { ground: stairs, ..Link::new(Cell::new(1, 1), Cell::new(7, 1), 3) };
    let check = |class, from, to| {
        let terrain = Terrain::new(grid.clone(), MoveRule::default()).with_links([link]);
        let classes = [AgentClass::new(1), AgentClass::new(1).without(stairs)];
        check_on(terrain.with_classes(classes), class, from, to, 0)
    };
    assert_eq!(check(ClassId(0), (1.4, 1.6), (7.5, 1.5)), (0, 0));
    assert_eq!(check(ClassId(1), (1.4, 1.6), (7.5, 1.5)), (0, 0));
    assert_eq!(check(ClassId(2), (1.4, 1.6), (7.5, 1.5)), (0, 1), "it cannot climb");
    assert_eq!(check(ClassId(1), (7.5, 1.5), (1.5, 1.5)), (0, 1), "the wrong way");
    assert_eq!(check(ClassId(1), (0.5, 1.5), (7.5, 1.5)), (0, 1), "from beside it");
}

#[test]
fn one_cell_is_not_one_cells() {
    let grid = Grid::from_fn(4, 1, |_| true).expect("a small grid");
    let mut world = World::new();
    formic_nav::systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
    let agent = world.spawn(formic_nav::systems::agent(Vec2::new(0.5, 0.5), 1.0));
    world.get_mut::<PathRequest>(agent).expect("it has one").ask(Vec2::new(3.5, 0.5));
    let schedule = formic_nav::systems::add(Schedule::builder()).build(&mut world);
    let mut schedule = schedule.expect("systems in order");
    let pool = Pool::new(Threads::None).expect("no threads");
    let mut said = String::new();
    for _ in 0..200 {
        schedule.run(&mut world, &pool);
        said += &doing(&world, agent, 0.0).expect("it asks for paths");
    }
    assert!(said.contains(", 3 cells ahead,") && said.contains(", 1 cell ahead,"), "{said}");
}
