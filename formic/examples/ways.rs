//! A wall, a way around it, and why there is none once that is closed too.
//!
//! `cargo run -p formic --example ways`

#![expect(clippy::print_stdout, reason = "an example prints")]

use formic::nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain};

fn report(terrain: &Terrain, from: Cell, to: Cell) {
    let mut path = Path::new();
    match PathScratch::new().find(terrain, from, to, &mut path) {
        PathOutcome::Found { cost } => {
            println!("{cost} cells long, by {} corners", path.cells().len());
        }
        // Known without a search: the regions are kept under every edit.
        PathOutcome::Unreachable(why) => println!("no way: {why}"),
        other => println!("{other:?}"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let map = b"type octile\nheight 5\nwidth 9\nmap\n\
        .........\n....@....\n....@....\n....@....\n....@....\n";
    let mut terrain = Terrain::new(Grid::parse("hall.map", map)?, MoveRule::default());
    let (west, east) = (Cell::new(0, 4), Cell::new(8, 4));
    report(&terrain, west, east);
    terrain.dig(Cell::new(4, 3));
    report(&terrain, west, east);
    terrain.fill(Cell::new(4, 3));
    terrain.fill(Cell::new(4, 0));
    report(&terrain, west, east);
    Ok(())
}
