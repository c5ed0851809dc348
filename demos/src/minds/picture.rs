//! A picture of the crowds over time: a strip for each mind, from left to right, and in every column
//! how many did what.

use super::crowd::Crowd;
use crate::raster::{Colour, Point, Raster, Rectangle};

/// As near to this as whole columns allow.
const WIDTH: u32 = 960;
const STRIP_HEIGHT: u32 = 96;
const GAP: u32 = 8;
/// Of gathering, eating, sleeping, hiding and idling: colours that the colour-blind can tell apart.
pub(super) const COLOURS: [Colour; 5] = [
    Colour([0, 158, 115]),
    Colour([230, 159, 0]),
    Colour([0, 114, 178]),
    Colour([204, 121, 167]),
    Colour([90, 90, 90]),
];

pub(super) fn draw(crowds: &[Crowd]) -> Raster {
    // A short run is stretched.
    let samples = crowds.iter().map(|crowd| crowd.samples().len()).max().unwrap_or(0).max(1);
    let samples = u32::try_from(samples).unwrap_or(u32::MAX);
    let column_width = (WIDTH / samples).max(1);
    let width = samples * column_width + 2 * GAP;
    let count = u32::try_from(crowds.len()).unwrap_or(1);
    let height = count * (STRIP_HEIGHT + GAP) + GAP;
    let mut raster = Raster::new(width, height, Colour::ROCK);
    for (crowd, row) in crowds.iter().zip(0..) {
        let top = pixel(GAP + row * (STRIP_HEIGHT + GAP));
        for (shares, place) in crowd.samples().iter().zip(0_u32..) {
            let x = pixel(GAP + place * column_width);
            let mut y = top;
            for (share, colour) in shares.iter().zip(COLOURS) {
                let height = u64::from(STRIP_HEIGHT) * u64::from(*share) / u64::from(crowd.size());
                let height = u32::try_from(height).unwrap_or(STRIP_HEIGHT);
                raster.fill(Rectangle { x, y, width: column_width, height }, colour);
                y += pixel(height);
            }
        }
        raster.line(Point::new(0, top - 1), Point::new(pixel(width) - 1, top - 1), Colour::BLACK);
    }
    raster
}

fn pixel(at: u32) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}
