//! Formic: one scratch, kept.

use formic_nav::{Cell, Path, PathOutcome, PathScratch, Terrain};

use crate::columns::{Column, Solver};
use crate::maps::Problem;

pub(crate) fn column(problem: &Problem) -> Column {
    of("formic", problem.terrain.clone())
}

/// `None` over cells of one weight, where searches do without.
pub(crate) fn with_landmarks(problem: &Problem) -> Option<Column> {
    let mut terrain = problem.terrain.clone();
    terrain.place_landmarks();
    terrain.has_landmarks().then(|| of("formic, landmarks", terrain))
}

fn of(name: &'static str, terrain: Terrain) -> Column {
    let solver = Formic { terrain, scratch: PathScratch::new(), path: Path::new(), length: None };
    Column { name, solver: Box::new(solver), is_exact: true }
}

struct Formic {
    terrain: Terrain,
    scratch: PathScratch,
    path: Path,
    length: Option<f64>,
}

impl Solver for Formic {
    fn solve(&mut self, start: Cell, goal: Cell) {
        let outcome = self.scratch.find(&self.terrain, start, goal, &mut self.path);
        self.length = match outcome {
            PathOutcome::Found { cost } => Some(cost.length()),
            _ => None,
        };
    }

    fn length(&self) -> Option<f64> {
        self.length
    }
}
