//! A picture of the crowds over time: a strip for each decision engine, from left to right. Every column
//! shows how many foragers did what.

use formic::inspect::Kind;

use super::crowd::Crowd;
use super::view::{COLOURS, NAMES};
use crate::picture::{
    AXIS, Entry, INK, LEFT, MARK, PAPER, RIGHT, draw_legend, legend_height, pixel,
};
use crate::raster::{Alignment, Point, Raster, Rectangle, Size};
use crate::text::grouped;

/// The approximate width: the nearest that whole columns allow.
const WIDTH: u32 = 960;
const STRIP_HEIGHT: u32 = 96;
const GAP: u32 = 8;

pub(super) fn draw(crowds: &[Crowd]) -> Raster {
    // A short run is stretched.
    let samples = crowds.iter().map(|crowd| crowd.samples().len()).max().unwrap_or(0).max(1);
    let samples = u32::try_from(samples).unwrap_or(u32::MAX);
    let column_width = (WIDTH / samples).max(1);
    let (names_width, strips_width) = (LEFT + 40, samples * column_width);
    let width = names_width + strips_width + RIGHT;
    let count = u32::try_from(crowds.len()).unwrap_or(1);
    let bottom = count * (STRIP_HEIGHT + GAP) + GAP;
    let entry = |(name, colour)| Entry { kind: Kind::new(name, colour), text: name.to_owned() };
    let entries: Vec<Entry> = NAMES.into_iter().zip(COLOURS).map(entry).collect();
    let height = bottom + AXIS + legend_height(width, &entries);
    let mut raster = Raster::new(width, height, PAPER);
    for (crowd, row) in crowds.iter().zip(0..) {
        let top = pixel(GAP + row * (STRIP_HEIGHT + GAP));
        let middle = top + pixel(STRIP_HEIGHT / 2);
        raster.text(Point::new(8, middle), crowd.name(), Alignment::Left, INK);
        for (shares, place) in crowd.samples().iter().zip(0_u32..) {
            let x = pixel(names_width + place * column_width);
            let mut y = top;
            for (share, colour) in shares.iter().zip(COLOURS) {
                let height = u64::from(STRIP_HEIGHT) * u64::from(*share) / u64::from(crowd.size());
                let height = u32::try_from(height).unwrap_or(STRIP_HEIGHT);
                let size = Size::new(column_width, height);
                raster.fill(Rectangle::new(Point::new(x, y), size), colour);
                y += pixel(height);
            }
        }
    }
    draw_time(&mut raster, (names_width, strips_width), bottom, crowds);
    draw_legend(&mut raster, bottom + AXIS, &entries);
    raster
}

/// Draws five times below the strips, which have this left edge and width.
fn draw_time(raster: &mut Raster, (left, width): (u32, u32), top: u32, crowds: &[Crowd]) {
    let ticks = crowds.iter().map(Crowd::sampled_ticks).max().unwrap_or(0);
    for part in 0..=4 {
        let x = left + width * part / 4;
        let mark = Point::new(pixel(x), pixel(top));
        raster.fill(Rectangle::new(mark, Size::new(MARK, 6)), INK);
        let text = grouped(ticks * u64::from(part) / 4);
        raster.text(mark + Point::new(0, 18), &text, Alignment::Center, INK);
    }
    let end = Point::new(pixel(left + width), pixel(top + 38));
    raster.text(end, "tick", Alignment::Right, INK);
    // The height of a strip stands for the whole crowd.
    let begin = Point::new(8, end.y);
    raster.text(begin, "0 to 100 % of those with a mind", Alignment::Left, INK);
}
