//! Tests of counting in the cells of a future world: the amount of work, and the state of the cells.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use formic_ecs::{Component, Entity, World};

use crate::turn::action::TurnAction;
use crate::turn::cells::{CellPosition, Cells};
use crate::turn::situation::Situation;

thread_local! {
    /// The number of times that a position or the name of a cell was read.
    static LOOKS: Cell<usize> = const { Cell::new(0) };
}

fn look() {
    LOOKS.set(LOOKS.get() + 1);
}

#[derive(Clone, Copy, Debug)]
struct Name(u32);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        look();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        look();
        self.0.hash(state);
    }
}

#[derive(Component, Clone)]
struct Position(u32);

impl CellPosition for Position {
    type Cell = Name;

    fn cell(&self) -> Name {
        look();
        Name(self.0)
    }
}

#[derive(Component, Clone)]
struct Solid;

/// A row of solid things, one in each cell, with the cells.
fn row(count: u32) -> (World, Cells<Name>, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..count).map(|x| (Position(x), Solid)));
    let mut cells = Cells::new();
    cells.set_position::<Position>();
    cells.add_aggregate::<Solid>();
    cells.rebuild(&world);
    (world, cells, all)
}

#[test]
fn to_count_after_each_of_many_moves_takes_work_by_how_many_there_are() {
    const COUNT: u32 = 1000;
    let (world, cells, all) = row(COUNT);
    let destinations: [fn(u32) -> u32; 3] = [|x| x + 1, |x| COUNT - 1 - x, |_| 7];
    for destination in destinations {
        let mut action = TurnAction::new();
        for (x, &entity) in (0..).zip(&all) {
            action.insert(entity, Position(destination(x)));
        }
        LOOKS.set(0);
        let after = Situation::now(&world, &cells).after(&action);
        let counts: Vec<usize> =
            (0..COUNT).map(|x| after.cell(Name(destination(x))).count::<Solid>()).collect();
        let looks = LOOKS.get();
        let meet = |x: u32| (0..COUNT).filter(|&it| destination(it) == destination(x)).count();
        assert_eq!((counts[0], counts[999]), (meet(0), meet(999)));
        assert!(looks < 1000 * 100, "{looks} looks for a thousand moves");
    }
}

#[test]
fn an_action_that_is_asked_about_again_is_about_the_cells_as_they_are_by_then() {
    let (mut world, mut cells, all) = row(3);
    let mut action = TurnAction::new();
    action.insert(all[0], Position(1));
    let solid = |world: &World, cells: &Cells<Name>, action: &TurnAction| {
        let after = Situation::now(world, cells).after(action);
        [0, 1, 2].map(|x| {
            let cell = after.cell(Name(x));
            assert_eq!(cell.entities().count(), cell.count::<Solid>());
            assert_eq!(cell.is_empty(), cell.count::<Solid>() == 0);
            cell.count::<Solid>()
        })
    };
    assert_eq!(solid(&world, &cells, &action), [0, 2, 1]);
    // Another actor goes first.
    world.get_mut::<Position>(all[1]).unwrap().0 = 2;
    cells.refresh(&world, all[1]);
    assert_eq!(solid(&world, &cells, &action), [0, 1, 2]);
    // In the cells of another game nothing has moved.
    assert_eq!(solid(&world, &row(3).1, &action), [0, 2, 1]);
    // The action changes.
    action.insert(all[0], Position(2));
    assert_eq!(solid(&world, &cells, &action), [0, 0, 3]);
    action.clear();
    assert_eq!(solid(&world, &cells, &action), [1, 0, 2]);
}
