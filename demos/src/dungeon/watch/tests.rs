//! The watch sees what it is there for.

use formic_ecs::World;
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{Grid, MoveRule};

use super::*;

/// Watches one imp go from one place to another, around a wall in column 1 whose
/// only gap is at its southern end; returns ticks in rock and illegal moves.
fn check(from: (f32, f32), to: (f32, f32), pushed_out: u32) -> (u32, u32) {
    let grid = Grid::from_fn(3, 3, |cell| cell.x != 1 || cell.y == 2).expect("a small grid");
    let mut world = World::new();
    world.insert_resource(Terrain::new(grid, MoveRule::default()));
    let stats = PathStats { pushed_out, ..PathStats::default() };
    let imp = world.spawn((Position(to.into()), stats, Watch::new(from.into())));
    let mut schedule = Schedule::builder().add(watch).build(&mut world).expect("one system");
    schedule.run(&mut world, &Pool::new(Threads::None).expect("no threads"));
    let watch = world.get::<Watch>(imp).expect("spawned with it");
    (watch.ticks_in_rock, watch.illegal_moves)
}

#[test]
fn steps_in_the_open_are_fine() {
    assert_eq!(check((0.5, 0.5), (0.7, 0.9), 0), (0, 0));
    assert_eq!(check((0.5, 0.9), (0.5, 1.1), 0), (0, 0));
    assert_eq!(check((0.9, 2.5), (1.1, 2.5), 0), (0, 0));
}

#[test]
fn rock_jumps_and_corners_are_noticed() {
    assert_eq!(check((0.9, 0.5), (1.1, 0.5), 0), (1, 0), "into the wall");
    assert_eq!(check((0.9, 0.5), (2.1, 0.5), 0), (0, 1), "through the wall");
    assert_eq!(check((0.9, 1.8), (1.2, 2.1), 0), (0, 1), "around its corner");
    assert_eq!(check((f32::NAN, 0.5), (0.5, 0.5), 0), (0, 1), "from nowhere");
    assert_eq!(check((0.5, 0.5), (f32::NAN, 0.5), 0), (1, 0), "to nowhere");
}

#[test]
fn to_be_put_aside_is_not_to_walk() {
    assert_eq!(check((0.9, 0.5), (2.1, 0.5), 1), (0, 0));
}
