//! Numbers, cells and lists as bytes, for what is saved with a game.

use formic_ecs::CodecError;

use crate::cell::Cell;

pub(crate) type Saved<T> = Result<T, CodecError>;

pub(crate) fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

pub(crate) fn get(bytes: &mut &[u8]) -> Saved<u64> {
    Ok(u64::from_le_bytes(take(bytes)?))
}

pub(crate) fn get_u32(bytes: &mut &[u8]) -> Saved<u32> {
    u32::try_from(get(bytes)?).map_err(|_| CodecError)
}

pub(crate) fn get_usize(bytes: &mut &[u8]) -> Saved<usize> {
    usize::try_from(get(bytes)?).map_err(|_| CodecError)
}

pub(crate) fn put_cell(out: &mut Vec<u8>, cell: Cell) {
    out.extend(cell.x.to_le_bytes());
    out.extend(cell.y.to_le_bytes());
}

pub(crate) fn get_cell(bytes: &mut &[u8]) -> Saved<Cell> {
    Ok(Cell::new(u16::from_le_bytes(take(bytes)?), u16::from_le_bytes(take(bytes)?)))
}

/// Reads the number of items that follow, which take `bytes_each` bytes each or more (`bytes_each` is not
/// zero). The result never exceeds what the bytes can hold, so a list can be allocated for it.
pub(crate) fn get_count(bytes: &mut &[u8], bytes_each: usize) -> Saved<usize> {
    let count = usize::try_from(get(bytes)?).map_err(|_| CodecError)?;
    if count <= bytes.len() / bytes_each { Ok(count) } else { Err(CodecError) }
}

pub(crate) fn put_cells(out: &mut Vec<u8>, cells: &[Cell]) {
    put(out, cells.len() as u64);
    cells.iter().for_each(|&cell| put_cell(out, cell));
}

pub(crate) fn get_cells(bytes: &mut &[u8]) -> Saved<Vec<Cell>> {
    let count = get_count(bytes, 4)?;
    (0..count).map(|_| get_cell(bytes)).collect()
}

/// Takes `N` bytes off the front.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Saved<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
    *bytes = rest;
    Ok(*first)
}
