//! Words in pictures: letters of five by seven pixels, as on old displays.

use crate::raster::{Colour, Point, Raster, Rectangle};

/// Columns from one letter to the next, and rows from one line to the next, before they are scaled.
pub const LETTER: (u32, u32) = (6, 9);

impl Raster {
    /// Writes a text whose upper left corner is `at`, each pixel of a letter `scale` pixels wide.
    /// What is not ASCII is a question mark.
    pub fn text(&mut self, at: Point, scale: u32, text: &str, colour: Colour) {
        for (place, letter) in (0_u32..).zip(text.chars()) {
            let index = u32::from(letter).wrapping_sub(u32::from(' '));
            let columns = usize::try_from(index).ok().and_then(|index| LETTERS.get(index));
            let columns = columns.unwrap_or(&LETTERS['?' as usize - ' ' as usize]);
            for (x, y) in (0..5).flat_map(|x| (0..8).map(move |y| (x, y))) {
                if columns >> (8 * x + y) & 1 == 1 {
                    let right = (place * LETTER.0 + x).saturating_mul(scale);
                    let [right, down] =
                        [right, y * scale].map(|by| i32::try_from(by).unwrap_or(i32::MAX));
                    let (x, y) = (at.x.saturating_add(right), at.y.saturating_add(down));
                    self.fill(Rectangle { x, y, width: scale, height: scale }, colour);
                }
            }
        }
    }
}

/// The letters from the blank on. Each byte is a column, the lowest the leftmost; each bit a pixel
/// of it, the lowest the topmost.
#[rustfmt::skip]
const LETTERS: [u64; 95] = [
    0x0000000000, 0x00005f0000, 0x0007000700, 0x147f147f14, 0x122a7f2a24, 0x6264081323,
    0x5020564936, 0x0003070800, 0x0041221c00, 0x001c224100, 0x2a1c7f1c2a, 0x08083e0808,
    0x0030708000, 0x0808080808, 0x0060600000, 0x0204081020, 0x3e4549513e, 0x00407f4200,
    0x4649494972, 0x334d494121, 0x107f121418, 0x3945454527, 0x3149494a3c, 0x0709112141,
    0x3649494936, 0x1e29494946, 0x0000140000, 0x0000344000, 0x4122140800, 0x1414141414,
    0x0814224100, 0x0609590102, 0x4e595d413e, 0x7c1211127c, 0x364949497f, 0x224141413e,
    0x3e4141417f, 0x414949497f, 0x010909097f, 0x735141413e, 0x7f0808087f, 0x00417f4100,
    0x013f414020, 0x412214087f, 0x404040407f, 0x7f021c027f, 0x7f1008047f, 0x3e4141413e,
    0x060909097f, 0x5e2151413e, 0x462919097f, 0x3249494926, 0x03017f0103, 0x3f4040403f,
    0x1f2040201f, 0x3f4038403f, 0x6314081463, 0x0304780403, 0x434d495961, 0x4141417f00,
    0x2010080402, 0x7f41414100, 0x0402010204, 0x4040404040, 0x0008070300, 0x4078545420,
    0x384444287f, 0x2844444438, 0x7f28444438, 0x1854545438, 0x02097e0800, 0x789ca4a418,
    0x780404087f, 0x00407d4400, 0x003d404020, 0x004428107f, 0x00407f4100, 0x780478047c,
    0x780404087c, 0x3844444438, 0x18242418fc, 0xfc18242418, 0x080404087c, 0x2454545448,
    0x24443f0404, 0x7c2040403c, 0x1c2040201c, 0x3c4030403c, 0x4428102844, 0x7c9090904c,
    0x444c546444, 0x0041360800, 0x0000770000, 0x0008364100, 0x0204020102,
];
