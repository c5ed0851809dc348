//! The maps that ship with the demos.

use std::path::{Path as FilePath, PathBuf};

use formic_nav::{Cell, Direction, Grid, MoveRule, Terrain, generate};

fn shipped(name: &str) -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../demos/maps").join(name)
}

/// The file must be what the generator makes; `cargo run -p formic-nav --example
/// write_maps` writes it anew.
fn check_shipped(name: &str, grid: &Grid) {
    let text = std::fs::read_to_string(shipped(name)).unwrap();
    assert!(text.replace("\r\n", "\n") == grid.to_map(), "{name} is not what the generator makes");
    assert_eq!(Grid::load(shipped(name)).unwrap().open_count(), grid.open_count());
}

#[test]
fn the_shipped_maps_are_what_their_generators_make() {
    check_shipped("dungeon.map", &generate::dungeon(128, 96, 4).unwrap());
    check_shipped("cavern.map", &generate::cavern(64, 48, 11).unwrap());
}

#[test]
fn the_shipped_maps_have_several_regions_that_digging_can_connect() {
    for name in ["dungeon.map", "cavern.map"] {
        let mut terrain = Terrain::load(shipped(name)).unwrap();
        let before = terrain.regions().count();
        assert!((2..=16).contains(&before), "{name}: {before} regions");
        let tunnels = short_tunnels(&terrain, 6);
        assert!(!tunnels.is_empty(), "{name}: no regions lie near each other");
        for tunnel in tunnels {
            tunnel.iter().for_each(|&cell| _ = terrain.dig(cell));
            assert!(terrain.regions().count() < before);
            tunnel.iter().for_each(|&cell| _ = terrain.fill(cell));
            assert_eq!(terrain.regions().count(), before);
        }
    }
}

/// Straight runs of at most `length_max` solid cells between two regions.
fn short_tunnels(terrain: &Terrain, length_max: usize) -> Vec<Vec<Cell>> {
    let open = terrain.grid().cells().filter(|&cell| terrain.is_open(cell));
    let ways = open.flat_map(|cell| [(cell, Direction::East), (cell, Direction::South)]);
    let tunnel = |(from, direction): (Cell, Direction)| {
        let ahead = std::iter::successors(direction.step(from), |&cell| direction.step(cell));
        let run: Vec<Cell> =
            ahead.take(length_max).take_while(|&cell| !terrain.is_open(cell)).collect();
        let beyond = direction.step(*run.last()?)?;
        let joins = terrain.is_open(beyond) && !terrain.reachable(from, beyond);
        joins.then_some(run)
    };
    ways.filter_map(tunnel).collect()
}

#[test]
fn generators_make_a_map_of_any_size_and_the_same_one_twice() {
    for (width, height) in [(1, 1), (2, 3), (15, 40), (16, 16), (17, 33), (100, 50), (300, 20)] {
        for seed in [0, 1, u64::MAX] {
            let check = |make: fn(u32, u32, u64) -> Result<Grid, formic_nav::GridSizeError>| {
                let map = make(width, height, seed).unwrap().to_map();
                assert_eq!(map, make(width, height, seed).unwrap().to_map());
            };
            check(generate::dungeon);
            check(generate::cavern);
        }
    }
    assert!(generate::dungeon(0, 5, 1).is_err() && generate::cavern(5, 0, 1).is_err());
}

#[test]
fn generated_maps_stay_inside_their_border() {
    for seed in 0..20 {
        for grid in [generate::dungeon(128, 96, seed), generate::cavern(64, 48, seed)] {
            let terrain = Terrain::new(grid.unwrap(), MoveRule::default());
            let (width, height) = (terrain.grid().width(), terrain.grid().height());
            let is_border = |x, y| x == 0 || y == 0 || x == width - 1 || y == height - 1;
            assert!(terrain.grid().cells().all(|c| !is_border(c.x, c.y) || !terrain.is_open(c)));
        }
    }
}
