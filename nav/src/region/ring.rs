//! The ring test: the number of parts into which the neighbourhood of a cell falls.
//!
//! If all open neighbours of a cell are connected through its ring of eight, opening it merges nothing
//! and filling it splits nothing. On game maps that settles three edits of four, by one look-up in a
//! table.

use crate::direction::{Connectivity, Direction};

/// For each set of open ring cells, one direction per part: the first one in
/// which the part touches the cell in the middle.
pub(crate) const fn representatives(connectivity: Connectivity, ring: u8) -> u8 {
    TABLES[connectivity as usize][ring as usize]
}

static TABLES: [[u8; 256]; 2] = [table(Connectivity::Four), table(Connectivity::Eight)];

const fn table(connectivity: Connectivity) -> [u8; 256] {
    let mut table = [0; 256];
    let mut ring = 0_u8;
    loop {
        table[ring as usize] = first_of_each_part(connectivity, ring);
        if ring == u8::MAX {
            return table;
        }
        ring += 1;
    }
}

const fn first_of_each_part(connectivity: Connectivity, ring: u8) -> u8 {
    // Through sides only orthogonal neighbours touch the cell in the middle,
    // but diagonal ones still link them to one another.
    let touching = connectivity.directions();
    let mut rest = ring;
    let mut firsts = 0;
    while rest != 0 {
        let part = part_of(connectivity, ring, 1 << rest.trailing_zeros());
        let contacts = part & touching;
        if contacts != 0 {
            firsts |= 1 << contacts.trailing_zeros();
        }
        rest &= !part;
    }
    firsts
}

/// All cells of the ring that are connected to `seed`.
const fn part_of(connectivity: Connectivity, ring: u8, seed: u8) -> u8 {
    let mut part = seed;
    loop {
        let grown = part | (ring & touched_by(connectivity, part));
        if grown == part {
            return part;
        }
        part = grown;
    }
}

/// The ring cells that touch at least one of `cells`.
const fn touched_by(connectivity: Connectivity, mut cells: u8) -> u8 {
    let mut touched = 0;
    while cells != 0 {
        touched |= TOUCHED[connectivity as usize][cells.trailing_zeros() as usize];
        cells &= cells - 1;
    }
    touched
}

/// The ring cells that touch each of them.
const TOUCHED: [[u8; 8]; 2] = [touched(Connectivity::Four), touched(Connectivity::Eight)];

const fn touched(connectivity: Connectivity) -> [u8; 8] {
    let mut touched = [0; 8];
    let mut pair = 0;
    while pair < 64 {
        let (i, j) = (pair / 8, pair % 8);
        if touch(connectivity, Direction::ALL[i], Direction::ALL[j]) {
            touched[i] |= 1 << j;
        }
        pair += 1;
    }
    touched
}

const fn touch(connectivity: Connectivity, a: Direction, b: Direction) -> bool {
    let (ax, ay) = a.offset();
    let (bx, by) = b.offset();
    let (dx, dy) = ((ax - bx).abs(), (ay - by).abs());
    match connectivity {
        Connectivity::Four => dx + dy == 1,
        Connectivity::Eight => dx <= 1 && dy <= 1 && dx + dy > 0,
    }
}
