//! Slices that come from saves, and their jobs.

use std::sync::mpsc::channel;
use std::time::Duration;

use formic_ecs::Entity;
use formic_jobs::Threads;

use super::*;
use crate::cell::Cell;
use crate::class::ClassId;
use crate::direction::MoveRule;
use crate::grid::Grid;

#[test]
fn a_saved_search_that_needs_less_than_it_is_said_to_have_had_is_answered() {
    let grid = Grid::from_fn(30, 30, |cell| (cell.x * 5 + cell.y * 3) % 7 > 0).unwrap();
    let question = Question {
        entity: Entity::from_bits(1 << 32).unwrap(),
        number: 1,
        class: ClassId::default(),
        start: Some(Cell::new(1, 0)),
        goal: Some(Cell::new(28, 27)),
        is_beyond: false,
        or_nearest: false,
        is_any_angle: false,
    };
    let slice =
        Slice { questions: vec![question], allotment: 5000, charge: 5000, ..Slice::default() };
    let saved = Background::of_saved(slice, Terrain::new(grid, MoveRule::BothFree));
    let mut workshop = saved.finish();
    assert!(matches!(workshop.jobs()[0].outcome, PathOutcome::Found { .. }));
}

#[test]
fn the_next_slice_can_begin_while_a_job_still_holds_the_one_before() {
    let pool = Pool::new(Threads::Own(1)).unwrap();
    let background = Background::default();
    let held = background.workshop();
    background.begin(&pool);
    // The job waits for the lock, and does not count as one that has yet to run.
    let has_begun = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Arc::weak_count(&background.0) == 0
    });
    assert!(has_begun);
    background.begin(&pool);
    assert_eq!(Arc::weak_count(&background.0), 1);
    drop(held);
    pool.flush();
}

#[test]
fn one_job_waits_for_a_thread_however_many_slices_begin_meanwhile() {
    let pool = Pool::new(Threads::Own(1)).unwrap();
    // The only worker is held up.
    let (go, wait) = channel::<()>();
    let (began, has_begun) = channel();
    pool.schedule(move || {
        began.send(()).unwrap();
        wait.recv().unwrap_or_default();
    });
    has_begun.recv().unwrap();
    let background = Background::default();
    (0..100).for_each(|_| background.begin(&pool));
    assert_eq!(Arc::weak_count(&background.0), 1);
    drop(go);
    pool.flush();
    assert_eq!(Arc::weak_count(&background.0), 0);
}
