use std::io::Cursor;

use super::*;

const INK: Colour = Colour([10, 200, 30]);

fn paper() -> Raster {
    Raster::new(9, 7, Colour::BLACK)
}

/// The picture as text: one character per pixel, `#` for ink.
fn drawn(raster: &Raster) -> Vec<String> {
    let row = |y| (0..9).map(|x| if raster.get(x, y) == Some(INK) { '#' } else { '.' }).collect();
    (0..7).map(row).collect()
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
    raster.set(0, 0, Colour::RED);
    raster.set(8, 6, Colour::WHITE);
    raster.fill(Rectangle { x: 2, y: 3, width: 2, height: 1 }, INK);
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
    raster.fill(Rectangle { x: -2, y: -1, width: 4, height: 3 }, INK);
    raster.fill(Rectangle { x: 7, y: 5, width: u32::MAX, height: u32::MAX }, INK);
    raster.fill(Rectangle { x: 9, y: 0, width: 5, height: 5 }, INK);
    raster.fill(Rectangle { x: i32::MIN, y: i32::MIN, width: 5, height: 5 }, INK);
    let expected =
        ["##.......", "##.......", ".........", ".........", ".........", ".......##", ".......##"];
    assert_eq!(drawn(&raster), expected);
}

#[test]
fn a_line_is_connected_and_has_both_ends() {
    let mut raster = paper();
    raster.line(Point::new(1, 5), Point::new(7, 2), INK);
    let pixels: Vec<(i32, i32)> = (0..9)
        .flat_map(|x| (0..7).map(move |y| (x, y)))
        .filter(|&(x, y)| raster.get(x, y) == Some(INK))
        .collect();
    assert_eq!((pixels[0], pixels[pixels.len() - 1]), ((1, 5), (7, 2)));
    for pair in pixels.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        assert!(dx.abs() <= 1 && dy.abs() <= 1, "{pair:?}");
    }
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
fn a_line_to_far_away_takes_no_longer_than_others() {
    let mut raster = paper();
    for _ in 0..20 {
        raster.line(Point::new(3, 2), Point::new(i32::MAX, 2), INK);
        raster.line(Point::new(i32::MIN, i32::MIN), Point::new(i32::MAX, i32::MAX), INK);
    }
    let at = |x, y| raster.get(x, y) == Some(INK);
    assert!((3..9).all(|x| at(x, 2)) && (0..7).all(|place| at(place, place)));
    assert!(!at(2, 5));
}

#[test]
fn a_disc_is_round_and_cut_off_at_the_edges() {
    let mut raster = paper();
    raster.disc(Point::new(3, 3), 2, INK);
    raster.disc(Point::new(8, 0), 1, INK);
    raster.disc(Point::new(0, 6), 0, INK);
    raster.disc(Point::new(i32::MAX, i32::MIN), 3, INK);
    let expected =
        [".......##", "..###..##", ".#####...", ".#####...", ".#####...", "..###....", "#........"];
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
        raster.fill(Rectangle { x: 3, y: 5, width: 20, height: 9 }, Colour([94, 180, 90]));
        raster.line(Point::new(-4, 2), Point::new(70, 31), INK);
        raster.polyline(&[Point::new(1, 40), Point::new(30, 20), Point::new(61, 44)], Colour::RED);
        raster.disc(Point::new(40, 16), 11, Colour([220, 164, 60]));
        raster.png()
    };
    assert_eq!(picture(), picture());
    let (_, _, pixels) = decode(&picture());
    let mut hasher = formic_ecs::StateHasher::new();
    hasher.write(&pixels);
    assert_eq!(hasher.finish(), 15_524_011_280_766_494_706, "on every machine");
}
