//! Tests that meaningful colours can be told apart, with normal and with colour-deficient vision.

use std::iter::zip;

use formic::inspect::Kind;

use super::DEMOS;
use crate::raster::Colour;
use crate::setup::Setup;

/// The minimum CIEDE2000 difference; 1 is just noticeable to a trained eye side by side.
const APART: f64 = 10.0;

type Matrix = [[f64; 3]; 3];

/// Simulations of vision without one kind of cones, on linear red, green and blue, by Machado, Oliveira
/// and Fernandes (2009); the first one is the identity.
const EYES: [(&str, Matrix); 4] = [
    ("all colours", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// The conversion from linear sRGB to XYZ, relative to the white of D65.
const XYZ: Matrix = [
    [0.433_953, 0.376_219, 0.189_828],
    [0.212_639, 0.715_169, 0.072_192],
    [0.017_758, 0.109_477, 0.872_765],
];

fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| zip(row, vector).map(|(a, b)| a * b).sum())
}

/// Returns lightness, redness and yellowness of a colour, as seen by an eye.
fn lab(Colour(channels): Colour, eye: &Matrix) -> [f64; 3] {
    let linear = channels.map(|channel| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    let seen = times(eye, linear).map(|it| it.clamp(0.0, 1.0));
    let [x, y, z] = times(&XYZ, seen)
        .map(|it| if it > 216.0 / 24_389.0 { it.cbrt() } else { it * 841.0 / 108.0 + 4.0 / 29.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Returns the CIEDE2000 difference of two colours, with the names of its definition.
fn difference([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let seventh = |c: f64| (c.powi(7) / (c.powi(7) + 25_f64.powi(7))).sqrt();
    let g = 1.5 - 0.5 * seventh((a1.hypot(b1) + a2.hypot(b2)) / 2.0);
    let (c1, c2) = ((a1 * g).hypot(b1), (a2 * g).hypot(b2));
    let [h1, h2] = [b1.atan2(a1 * g), b2.atan2(a2 * g)].map(|h| h.to_degrees().rem_euclid(360.0));
    let grey = c1 * c2 == 0.0;
    // The shorter way around the hue circle, and its midpoint.
    let turn = if grey { 0.0 } else { (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0 };
    let h = if grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let wave = |factor: f64, offset: f64| (factor * h + offset).to_radians().cos();
    let t = 1.0 - 0.17 * wave(1.0, -30.0) + 0.24 * wave(2.0, 0.0) + 0.32 * wave(3.0, 6.0)
        - 0.2 * wave(4.0, -63.0);
    let square = (l - 50.0).powi(2);
    let lightness = (l2 - l1) / (1.0 + 0.015 * square / (20.0 + square).sqrt());
    let chroma = (c2 - c1) / (1.0 + 0.045 * c);
    let hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * c * t);
    let rotation = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let cross = -rotation.to_radians().sin() * 2.0 * seventh(c);
    (lightness.powi(2) + chroma.powi(2) + hue.powi(2) + cross * chroma * hue).sqrt()
}

#[test]
fn the_difference_is_that_of_the_published_pairs() {
    // From Sharma, Wu and Dalal (2005): a pair each of blue, near grey, of opposite hue, and of dark
    // colours.
    for (one, other, published) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
        ([50.0, 2.5, 0.0], [58.0, 24.0, 15.0], 19.4535),
        ([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082),
    ] {
        let found = difference(one, other);
        assert!((found - published).abs() < 0.0001, "{one:?}, {other:?}: {found}");
    }
}

/// Colours are not compared with the ground: marks have a black edge.
#[test]
fn kinds_are_told_apart_without_seeing_all_colours() {
    let setup = Setup { agents: 40, ticks: 0, seed: 1, threads: 1 };
    let mut alike = String::new();
    for demo in DEMOS {
        let simulation = demo.open(&setup).expect("small numbers are allowed");
        let kinds = simulation.view().scene().kinds;
        for (place, kind) in kinds.iter().enumerate() {
            // Different letters are told apart without colour, and so are discs and squares.
            let has_its_shape =
                |it: &&Kind| (it.letter, it.is_ground) == (kind.letter, kind.is_ground);
            for other in kinds[..place].iter().filter(has_its_shape) {
                for (eye, matrix) in &EYES {
                    let [one, two] = [kind, other].map(|it| lab(it.colour, matrix));
                    let found = difference(one, two);
                    if found < APART {
                        let names = (kind.name, other.name);
                        alike += &format!("{}, {eye}: {names:?}, {found:.1}\n", demo.name);
                    }
                }
            }
        }
    }
    assert!(alike.is_empty(), "\n{alike}");
}
