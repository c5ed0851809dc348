//! Pruning: the steps that a jump point search takes from a cell, by its arrival there.
//!
//! A step is left out if its cell can be reached from the cell before at no more cost without the one in
//! the middle, with diagonals first (D. Harabor and A. Grastien, 2011). If only orthogonal steps are
//! legal, horizontal ones go first. The cells that are left depend on the ring alone, so they are a table
//! for each rule.

use crate::direction::{Direction, MoveRule};

/// The steps to take, for each arrival and ring.
pub(crate) type PruneTable = [[u8; 256]; 8];

/// The table of a rule.
pub(crate) const fn table(rule: MoveRule) -> &'static PruneTable {
    &TABLES[rule as usize]
}

static TABLES: [PruneTable; 4] = {
    let [a, b, c, d] = MoveRule::ALL;
    [make(a), make(b), make(c), make(d)]
};

const fn make(rule: MoveRule) -> PruneTable {
    let mut table = [[0; 256]; 8];
    let mut arrival = 0;
    while arrival < 8 {
        let direction = Direction::ALL[arrival];
        let natural = natural(rule, direction);
        let mut ring = 0;
        while ring < 256 {
            let kept = natural | forced(rule, direction, ring);
            table[arrival][ring] = kept & rule.table()[ring];
            ring += 1;
        }
        arrival += 1;
    }
    table
}

/// The steps that lead on from an arrival: those of a diagonal as well that a jump looks along
/// while it is on its way.
pub(crate) const ONWARD: [u8; 8] = {
    let mut onward = [0; 8];
    let mut i = 0;
    while i < 8 {
        let (x, y) = Direction::ALL[i].offset();
        onward[i] = bit(x, y);
        if x != 0 && y != 0 {
            onward[i] |= bit(x, 0) | bit(0, y);
        }
        i += 1;
    }
    onward
};

/// The steps that are taken whatever the ring.
const fn natural(rule: MoveRule, arrival: Direction) -> u8 {
    let (x, y) = arrival.offset();
    let onward = arrival.bit();
    match rule {
        MoveRule::Orthogonal if y == 0 => onward | bit(0, -1) | bit(0, 1),
        // A diagonal becomes a node only where it is cut short, with both sides
        // looked at already.
        MoveRule::BothFree if arrival.is_diagonal() => onward,
        _ if arrival.is_diagonal() => onward | bit(x, 0) | bit(0, y),
        _ => onward,
    }
}

/// The steps that are taken because the paths around the middle are not open.
const fn forced(rule: MoveRule, arrival: Direction, ring: usize) -> u8 {
    let (x, y) = arrival.offset();
    let cuts_corners = matches!(rule, MoveRule::OneFree | MoveRule::Always);
    if arrival.is_diagonal() {
        // The cells behind the corners that the diagonal passed.
        return if cuts_corners {
            behind(ring, (-x, 0), (-x, y)) | behind(ring, (0, -y), (x, -y))
        } else {
            0
        };
    }
    // The two sides of a straight step.
    let (sx, sy) = (y, x);
    if cuts_corners {
        behind(ring, (sx, sy), (sx + x, sy + y)) | behind(ring, (-sx, -sy), (x - sx, y - sy))
    } else if matches!(rule, MoveRule::Orthogonal) && y == 0 {
        0
    } else {
        let one = behind(ring, (sx - x, sy - y), (sx, sy));
        let other = behind(ring, (-sx - x, -sy - y), (-sx, -sy));
        let mut set = one | other;
        if one != 0 {
            set |= bit(sx + x, sy + y);
        }
        if other != 0 {
            set |= bit(x - sx, y - sy);
        }
        set
    }
}

/// The step to `cell`, if that is open and `corner` is solid.
const fn behind(ring: usize, corner: (i16, i16), cell: (i16, i16)) -> u8 {
    let is_open = ring & bit(cell.0, cell.1) as usize != 0;
    let is_corner = ring & bit(corner.0, corner.1) as usize == 0;
    if is_open && is_corner { bit(cell.0, cell.1) } else { 0 }
}

/// The direction with this offset, as a set of one.
const fn bit(x: i16, y: i16) -> u8 {
    // The cell in the middle has no direction.
    let place = 3 * (y + 1) + x + 1;
    1 << (place - (place > 4) as i16)
}
