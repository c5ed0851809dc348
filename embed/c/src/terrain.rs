//! Terrains: grids of cells with exact regions and shortest paths.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain};

use crate::ffi;
use crate::handles::Shared;
use crate::status::{Failure, call, fm_status};

/// A grid of cells that are open or solid.
pub type fm_terrain = u64;

/// A cell: column and row, from 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct fm_cell {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
}

impl From<fm_cell> for Cell {
    fn from(cell: fm_cell) -> Self {
        Self::new(cell.x, cell.y)
    }
}

struct TerrainState {
    terrain: Terrain,
    scratch: PathScratch,
    path: Path,
}

static TERRAINS: Shared<TerrainState> = Shared::new("terrain");

/// The terrain itself, for a world.
pub(crate) fn copy_of(terrain: fm_terrain) -> Result<Terrain, Failure> {
    TERRAINS.with(terrain, |state| Ok(state.terrain.clone()))
}

/// Reads a map in the text format of the public grid benchmarks: `type octile`, `height 3`,
/// `width 5`, `map`, and a line for each row with `.` for open cells and `@` for solid ones. `*out`
/// is its handle; with FM_BAD_DATA, fm_error_text() has the line, and the column of a wrong character.
///
/// # Safety
/// `text` points at `len` bytes; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_terrain_parse(
    text: *const u8,
    len: usize,
    out: *mut fm_terrain,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for as many bytes.
        let text = unsafe { ffi::slice("text", text, len) }?;
        let grid = Grid::parse("map", text);
        let grid = grid.map_err(|error| Failure::new(fm_status::FM_BAD_DATA, error))?;
        let terrain = TERRAINS.insert(TerrainState {
            terrain: Terrain::new(grid, MoveRule::default()),
            scratch: PathScratch::new(),
            path: Path::new(),
        });
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, terrain) }
    })
}

/// Frees a terrain.
#[unsafe(no_mangle)]
pub extern "C" fn fm_terrain_free(terrain: fm_terrain) -> fm_status {
    call(|| TERRAINS.free(terrain, |_| Ok(())))
}

/// Opens a cell, or makes it solid. Regions stay exact. A cell outside is FM_BAD_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn fm_terrain_set(terrain: fm_terrain, cell: fm_cell, open: bool) -> fm_status {
    call(|| {
        TERRAINS.with(terrain, |state| {
            let cell = Cell::from(cell);
            if state.terrain.grid().index(cell).is_none() {
                return Err(Failure::argument(format!("the map has no cell {cell}")));
            }
            _ = if open { state.terrain.dig(cell) } else { state.terrain.fill(cell) };
            Ok(())
        })
    })
}

/// Whether there is a path between two cells, without a search: FM_OK, or FM_UNREACHABLE.
#[unsafe(no_mangle)]
pub extern "C" fn fm_terrain_reachable(
    terrain: fm_terrain,
    from: fm_cell,
    to: fm_cell,
) -> fm_status {
    call(|| {
        TERRAINS.with(terrain, |state| {
            if state.terrain.reachable(from.into(), to.into()) {
                return Ok(());
            }
            Err(Failure::new(fm_status::FM_UNREACHABLE, "the cells are in different regions"))
        })
    })
}

/// Finds a shortest path. `*len` is how many cells it has, both ends included; of more than `capacity`
/// the first ones are written. FM_UNREACHABLE, with the reason, if there is none.
///
/// # Safety
/// `cells` has room for `capacity` cells, initialised; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_terrain_path(
    terrain: fm_terrain,
    from: fm_cell,
    to: fm_cell,
    cells: *mut fm_cell,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("len", len)?;
        // SAFETY: the caller vouches for room for as many cells.
        let room = unsafe { ffi::slice_mut("cells", cells, capacity) }?;
        let count = TERRAINS.with(terrain, |state| {
            let TerrainState { terrain, scratch, path } = state;
            match scratch.find(terrain, from.into(), to.into(), path) {
                PathOutcome::Found { .. } => {}
                PathOutcome::Unreachable(why) => {
                    return Err(Failure::new(fm_status::FM_UNREACHABLE, why));
                }
                // A whole path was asked for, without a budget.
                outcome => unreachable!("{outcome:?}"),
            }
            for (place, cell) in room.iter_mut().zip(path.cells()) {
                *place = fm_cell { x: cell.x, y: cell.y };
            }
            Ok(path.cells().len())
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("len", len, count) }
    })
}
