//! Map and scenario files: what is accepted, and what each fault is called.

use formic_nav::{Cell, Grid, LoadError, Scenario, Terrain};

use crate::noise;
use crate::rng::Rng;

/// The grid of a file that must be accepted, as rows of `.` and `@`.
fn check_map(text: &str, expected: &[&str]) {
    let grid = Grid::parse("m", text.as_bytes()).unwrap();
    let map = grid.to_map();
    assert_eq!(map.lines().skip(4).collect::<Vec<_>>(), expected);
}

/// A file that must be refused with this error.
fn check_fault(text: &[u8], expected: &str) {
    assert_eq!(Grid::parse("m", text).unwrap_err().to_string(), expected);
}

fn check_scenario_fault(text: &[u8], expected: &str) {
    assert_eq!(Scenario::parse("s", text).unwrap_err().to_string(), expected);
}

#[test]
fn all_terrains_are_told_apart() {
    check_map("type octile\nheight 2\nwidth 4\nmap\n.GS@\nOTW.\n", &["...@", "@@@."]);
}

#[test]
fn carriage_returns_swapped_fields_and_trailing_lines_are_accepted() {
    check_map("type octile\r\nheight 1\r\nwidth 2\r\nmap\r\n.@\r\n", &[".@"]);
    check_map("type octile\nwidth 2\nheight 1\nmap\n.@", &[".@"]);
    check_map("type octile \nheight  1\nwidth\t2\nmap\n.@\n\n\r\n", &[".@"]);
}

#[test]
fn broken_maps_are_refused_by_line_and_reason() {
    let with_rows =
        |rows: &str| format!("type octile\nheight 2\nwidth 3\nmap\n{rows}").into_bytes();
    check_fault(
        b"",
        "m:1: the first line is not `type octile`, as in files of the MovingAI benchmarks",
    );
    check_fault(
        b"type tile\nheight 1",
        "m:1: the first line is not `type octile`, as in files of the MovingAI benchmarks",
    );
    check_fault(b"type octile\nwidth 3\nmap\n...\n", "m:3: `height` is missing");
    check_fault(b"type octile\nheight 3\nmap\n...\n", "m:3: `width` is missing");
    check_fault(b"type octile\nheight 3\nwidth 3\n", "m:3: `map` is missing");
    check_fault(b"type octile\nheight 3\nheight 3\n", "m:3: `height` is given twice");
    check_fault(
        b"type octile\ndepth 3\n",
        "m:2: \"depth 3\" is none of `height N`, `width N` and `map`",
    );
    check_fault(b"type octile\nheight x\n", "m:2: height is not a valid number: \"x\"");
    check_fault(b"type octile\nheight -1\n", "m:2: height is not a valid number: \"-1\"");
    check_fault(b"type octile\nwidth\n", "m:2: width is not a valid number: \"\"");
    check_fault(
        b"type octile\nheight 99999999999\n",
        "m:2: height is not a valid number: \"99999999999\"",
    );
    check_fault(
        b"type octile\nheight 0\nwidth 3\nmap\n",
        "m:4: a map cannot have 3 columns and 0 rows",
    );
    check_fault(
        b"type octile\nheight 4000000000\nwidth 4000000000\nmap\n",
        "m:4: a map cannot have 4000000000 columns and 4000000000 rows",
    );
    check_fault(
        b"type octile\nheight 16000\nwidth 16000\nmap\n",
        "m:4: a map cannot have 16000 columns and 16000 rows",
    );
    check_fault(&with_rows("...\n..\n"), "m:6: the row is too short: 2 cells instead of 3");
    check_fault(&with_rows("....\n...\n"), "m:5: the row is too long: 4 cells instead of 3");
    check_fault(&with_rows("...\n"), "m:5: the file ends after 1 of 2 rows");
    check_fault(&with_rows(""), "m:4: the file ends after 0 of 2 rows");
    check_fault(&with_rows("...\n...\n\n..."), "m:8: nothing may follow the last row");
    let letters = "'.', 'G' and 'S' can be crossed, '@', 'O', 'T' and 'W' cannot";
    let strange = |at: &str| format!("m:{at} is no terrain: {letters}");
    check_fault(&with_rows("...\n.x.\n"), &strange("6: column 2: 'x'"));
    check_fault(&with_rows("..\x00\n...\n"), &strange("5: column 3: '\\x00'"));
}

#[test]
fn a_header_that_lies_about_the_size_takes_no_memory() {
    let text = b"type octile\nheight 4096\nwidth 4096\nmap\n...\n";
    check_fault(text, "m:5: the row is too short: 3 cells instead of 4096");
}

#[test]
fn a_file_that_is_not_there_is_named_without_a_line() {
    let error = Terrain::load("/nowhere/x.map").unwrap_err();
    assert_eq!(error.line, None);
    assert!(error.to_string().starts_with("/nowhere/x.map: cannot be read: "), "{error}");
    assert!(Scenario::load("/nowhere/x.scen").is_err());
}

#[test]
fn written_maps_read_back_the_same() {
    let mut rng = Rng::new(21);
    for percent in [0, 60, 100] {
        for _ in 0..20 {
            let width = u32::try_from(1 + rng.below(130)).unwrap();
            let grid = noise::noise(&mut rng, width, 9, percent);
            let text = grid.to_map();
            let back = Grid::parse("m", text.as_bytes()).unwrap();
            assert_eq!(back.to_map(), text);
            assert!(grid.cells().all(|cell| grid.is_open(cell) == back.is_open(cell)));
        }
    }
}

#[test]
fn a_map_of_solid_cells_alone_is_a_map() {
    check_map("type octile\nheight 2\nwidth 3\nmap\n@@@\nTOW\n", &["@@@", "@@@"]);
}

#[test]
fn both_dialects_of_scenarios_are_read() {
    let check = |text: &[u8]| {
        let scenarios = Scenario::parse("s", text).unwrap();
        let [scenario] = &scenarios[..] else { panic!("one scenario") };
        assert_eq!(scenario.bucket, 61);
        assert_eq!(scenario.map, "my maps/AR0011SR.map");
        assert_eq!((scenario.width, scenario.height), (512, 400));
        assert_eq!((scenario.start, scenario.goal), (Cell::new(210, 395), Cell::new(87, 201)));
        assert!(scenario.is_optimal(244.951));
    };
    check(b"version 1.0\n61 my maps/AR0011SR.map 512 400 210 395 87 201 244.95\n");
    check(b"version 1\n61\tmy maps/AR0011SR.map\t512\t400\t210\t395\t87\t201\t244.95\r\n\r\n");
}

#[test]
fn broken_scenarios_are_refused_by_line_and_reason() {
    let with_line = |line: &str| format!("version 1\n{line}\n").into_bytes();
    check_scenario_fault(
        b"",
        "s:1: the first line is not `version 1`, as in files of the MovingAI benchmarks",
    );
    check_scenario_fault(
        b"version 2\n",
        "s:1: the first line is not `version 1`, as in files of the MovingAI benchmarks",
    );
    check_scenario_fault(&with_line("7"), "s:2: `length` is missing");
    check_scenario_fault(
        &with_line("0 m 9 9 1 1 2 x 1"),
        "s:2: goal y is not a valid number: \"x\"",
    );
    check_scenario_fault(&with_line("9 9 1 1 2 2 1.5"), "s:2: `width` is missing");
    check_scenario_fault(&with_line("m 9 9 1 1 2 2 1.5"), "s:2: `map` is missing");
    check_scenario_fault(
        &with_line("b m 9 9 1 1 2 2 1.5"),
        "s:2: bucket is not a valid number: \"b\"",
    );
    check_scenario_fault(
        &with_line("0 m 9 9 9 1 2 2 1.5"),
        "s:2: the start lies outside of the map",
    );
    check_scenario_fault(
        &with_line("0 m 9 9 1 1 2 9 1.5"),
        "s:2: the goal lies outside of the map",
    );
    check_scenario_fault(
        &with_line("0 m 9 9 1 1 2 2 nan"),
        "s:2: length is not a valid number: \"NaN\"",
    );
    check_scenario_fault(
        &with_line("0 m 9 9 1 1 2 2 -1"),
        "s:2: length is not a valid number: \"-1\"",
    );
    check_scenario_fault(b"version 1\n\n0 \xff 9 9 1 1 2 2 1\n", "s:3: the line is not UTF-8 text");
}

#[test]
fn mutated_files_are_read_or_refused_but_never_panic() {
    let map = b"type octile\nheight 4\nwidth 5\nmap\n.....\n.@@T.\n.GS@.\n.....\n";
    let scen = b"version 1.0\n0 a b.map 5 4 0 0 4 3 7.00\n1\tc.map\t5\t4\t0\t3\t4\t0\t7\n";
    let mut rng = Rng::new(22);
    let mut refused_count = 0;
    for _ in 0..20_000 {
        let map = mutate(&mut rng, map);
        let scen = mutate(&mut rng, scen);
        refused_count += usize::from(is_refused_well(&map, Grid::parse("m", &map).err()));
        is_refused_well(&scen, Scenario::parse("s", &scen).err());
    }
    assert!(refused_count > 5000, "the mutations should hit something: {refused_count}");
}

/// Whether there is an error; if so, it must be one line about a line of the file.
fn is_refused_well(text: &[u8], error: Option<LoadError>) -> bool {
    let Some(error) = error else { return false };
    let line_count = text.split(|&byte| byte == b'\n').count();
    assert!((1..=line_count).contains(&error.line.unwrap()), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
    true
}

/// One to three bytes changed, removed, repeated or cut off.
fn mutate(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + rng.below(3) {
        if text.is_empty() {
            break;
        }
        let i = rng.below(text.len());
        match rng.below(5) {
            0 => text[i] = rng.next().to_le_bytes()[0],
            1 => text[i] = b"0123456789 \n\r\t.@"[rng.below(16)],
            2 => _ = text.remove(i),
            3 => text.insert(i, text[i]),
            _ => text.truncate(i),
        }
    }
    text
}
