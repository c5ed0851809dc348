use std::io::Cursor;

use super::*;

const INK: Colour = Colour([10, 200, 30]);

fn paper() -> Raster {
    Raster::new(9, 7, Colour::BLACK)
}

/// Returns the picture as text: one character per pixel, `#` for ink.
fn drawn(raster: &Raster) -> Vec<String> {
    let row = |y| (0..9).map(|x| if raster.get(x, y) == Some(INK) { '#' } else { '.' }).collect();
    (0..7).map(row).collect()
}

fn rectangle(x: i32, y: i32, width: u32, height: u32) -> Rectangle {
    Rectangle::new(Point::new(x, y), Size::new(width, height))
}

fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    (info.width, info.height, pixels)
}

#[test]
fn a_written_png_decodes_to_the_same_pixels() {
    let mut raster = paper();
    raster.polyline(&[Point::new(0, 0)], Colour::RED);
    raster.polyline(&[Point::new(8, 6)], Colour::WHITE);
    raster.fill(rectangle(2, 3, 2, 1), INK);
    let (width, height, pixels) = decode(&raster.png());
    assert_eq!((width, height), (9, 7));
    for (index, channels) in pixels.chunks(3).enumerate() {
        let (x, y) = (i32::try_from(index % 9).unwrap(), i32::try_from(index / 9).unwrap());
        assert_eq!(raster.get(x, y).unwrap().0, channels, "at {x}, {y}");
    }
    assert_eq!(raster.png(), raster.clone().png());
}

#[test]
fn rectangles_are_cut_off_at_the_edges() {
    let mut raster = paper();
    raster.fill(rectangle(-2, -1, 4, 3), INK);
    raster.fill(rectangle(7, 5, 1 << 20, 1 << 20), INK);
    raster.fill(rectangle(9, 0, 5, 5), INK);
    raster.fill(rectangle(-1_000, -1_000, 5, 5), INK);
    let expected =
        ["##.......", "##.......", ".........", ".........", ".........", ".......##", ".......##"];
    assert_eq!(drawn(&raster), expected);
}

#[test]
fn a_polyline_turns_corners_and_leaves_the_picture() {
    let mut raster = paper();
    raster.polyline(&[Point::new(-3, 1), Point::new(4, 1), Point::new(4, 20)], INK);
    raster.polyline(&[Point::new(8, 6)], INK);
    raster.polyline(&[], INK);
    let expected =
        [".........", "#####....", "....#....", "....#....", "....#....", "....#....", "....#...#"];
    assert_eq!(drawn(&raster), expected);
}

#[test]
fn a_disc_is_round_and_cut_off_at_the_edges() {
    let mut raster = paper();
    raster.disc(Point::new(3, 3), 2, INK);
    raster.disc(Point::new(8, 0), 1, INK);
    raster.disc(Point::new(0, 6), 0, INK);
    raster.disc(Point::new(65_536, -65_536), 3, INK);
    let expected =
        [".......##", "..###...#", ".#####...", ".#####...", ".#####...", "..###....", "#........"];
    assert_eq!(drawn(&raster), expected);
}

#[test]
#[should_panic(expected = "a picture of 0 by 7 pixels")]
fn a_picture_has_pixels() {
    drop(Raster::new(0, 7, Colour::BLACK));
}

#[test]
fn the_same_shapes_give_the_same_pixels_and_bytes() {
    let picture = || {
        let mut raster = Raster::new(64, 48, Colour::BLACK);
        raster.fill(rectangle(3, 5, 20, 9), Colour([94, 180, 90]));
        raster.polyline(&[Point::new(-4, 2), Point::new(70, 31)], INK);
        raster.polyline(&[Point::new(1, 40), Point::new(30, 20), Point::new(61, 44)], Colour::RED);
        raster.disc(Point::new(40, 16), 11, Colour([220, 164, 60]));
        raster.text(Point::new(60, 10), "ant", Alignment::Right, INK);
        raster.letter(Point::new(40, 16), 3, 'B', Colour::WHITE);
        raster.png()
    };
    assert_eq!(picture(), picture());
    let (_, _, pixels) = decode(&picture());
    let mut hasher = formic_ecs::StateHasher::new();
    hasher.write(&pixels);
    assert_eq!(hasher.finish(), 10_754_578_134_835_693_734, "on every machine");
}
