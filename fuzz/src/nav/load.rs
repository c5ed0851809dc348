//! Bytes as a map, as a scenario file, and as the rows of a map whose header is good.

use ::formic_nav::{Grid, LoadError, Scenario};

pub(crate) fn run(bytes: &[u8]) {
    map(bytes);
    scenarios(bytes);
    let rows: Vec<u8> = bytes.iter().map(|byte| b".GS@OTW.\n\rx"[usize::from(byte % 11)]).collect();
    let height = rows.split(|&byte| byte == b'\n').count();
    let width = rows.iter().position(|&byte| byte == b'\n').unwrap_or(rows.len());
    let header = format!("type octile\nheight {height}\nwidth {width}\nmap\n");
    map(&[header.as_bytes(), &rows].concat());
    scenarios(&[b"version 1\n", bytes].concat());
}

fn map(bytes: &[u8]) {
    match Grid::parse("m", bytes) {
        Ok(grid) => {
            let text = grid.to_map();
            let again = Grid::parse("m", text.as_bytes()).expect("what was written can be read");
            assert_eq!(again.to_map(), text);
            assert!(grid.open_count() <= grid.cell_count());
        }
        Err(error) => check(bytes, &error),
    }
}

fn scenarios(bytes: &[u8]) {
    match Scenario::parse("s", bytes) {
        Ok(scenarios) => {
            for scenario in scenarios {
                let is_inside = |x, y| x < scenario.width && y < scenario.height;
                assert!(is_inside(scenario.start.x, scenario.start.y));
                assert!(is_inside(scenario.goal.x, scenario.goal.y));
                assert!(scenario.length.is_finite() && scenario.is_optimal(scenario.length));
                assert!(scenario.line > 1);
            }
        }
        Err(error) => check(bytes, &error),
    }
}

/// An error is one line about a line of the file.
fn check(bytes: &[u8], error: &LoadError) {
    let line_count = bytes.split(|&byte| byte == b'\n').count();
    let line = error.line.expect("the bytes were there");
    assert!((1..=line_count).contains(&line), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}
