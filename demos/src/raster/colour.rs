//! A colour for each region.

use formic::inspect::Colour;

/// The colour of region `index`: always the same, and neighbours in the
/// numbering far apart.
///
/// Hues follow the golden ratio, which spreads any number of them evenly, and
/// every round of four changes the lightness too. No region is as dark as
/// rock or as light as an agent.
#[must_use]
pub fn region_colour(index: u32) -> Colour {
    /// 2^16 divided by the golden ratio, in 1/65536 of the colour circle.
    const HUE_STEP: u32 = 40_503;
    /// Most and least light of a channel, in turn.
    const LIGHT: [(u32, u32); 4] = [(220, 60), (140, 30), (235, 140), (180, 90)];
    let hue = index.wrapping_mul(HUE_STEP) & 0xFFFF;
    let (most, least) = LIGHT[(index % 4) as usize];
    hue_colour(hue, most, least)
}

/// The colour at `hue` (of 65536) whose channels go from `least` to `most`.
fn hue_colour(hue: u32, most: u32, least: u32) -> Colour {
    let sixths = hue * 6;
    let (sextant, part) = (sixths >> 16, sixths & 0xFFFF);
    let rising = least + (((most - least) * part) >> 16);
    let falling = most - (((most - least) * part) >> 16);
    let channels = match sextant {
        0 => [most, rising, least],
        1 => [falling, most, least],
        2 => [least, most, rising],
        3 => [least, falling, most],
        4 => [rising, least, most],
        _ => [most, least, falling],
    };
    Colour(channels.map(|channel| u8::try_from(channel).unwrap_or(u8::MAX)))
}
