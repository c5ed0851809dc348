//! The cats from outside.

use std::fs;

use crate::support::{has_keys, is_picture, json, refused, run, scratch, state_hash, text};

const SMALL: [&str; 5] = ["cats", "--agents", "300", "--ticks", "600"];

#[test]
fn they_sleep_more_than_they_eat() {
    let value = json(&["cats", "--agents", "100", "--ticks", "2400"]);
    has_keys(&value, "cats", &["eat_ticks", "sleep_ticks", "play_ticks", "switches"]);
    let count = |key: &str| value[key].as_u64().expect("a counter");
    assert!(count("sleep_ticks") > 2 * count("eat_ticks") && count("eat_ticks") > 0, "{value}");
    let all = count("eat_ticks") + count("sleep_ticks") + count("play_ticks");
    assert_eq!(all, 100 * 2_400, "every cat does one thing in every tick");
}

#[test]
fn the_plot_is_a_drawing_and_changes_nothing() {
    let svg = scratch("cats.svg");
    let path = svg.to_str().expect("the target folder is UTF-8");
    let plotted = json(&[&SMALL[..], &["--plot", path]].concat());
    assert_eq!(plotted["state_hash"], state_hash(&SMALL));
    let drawing = fs::read_to_string(&svg).expect("the plot is there");
    assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
    for word in ["hunger", "tiredness", "eat", "sleep", "play", "<polyline", "<rect"] {
        assert!(drawing.contains(word), "{word}");
    }
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
}

#[test]
fn a_plot_of_nothing_is_a_plot_and_one_that_cannot_be_written_is_refused() {
    let svg = scratch("cats-none.svg");
    let path = svg.to_str().expect("the target folder is UTF-8");
    json(&["cats", "--agents", "3", "--ticks", "0", "--plot", path]);
    assert!(!fs::read_to_string(&svg).expect("the plot is there").contains("NaN"));
    let folder = env!("CARGO_TARGET_TMPDIR");
    refused(&["cats", "--plot", folder], &["cannot write", folder]);
}

#[test]
fn the_picture_decodes_and_the_summary_names_all_files() {
    let (png, svg) = (scratch("cats.png"), scratch("cats-too.svg"));
    let [png, svg] = [&png, &svg].map(|path| path.to_str().expect("the target folder is UTF-8"));
    let output = run(&[&SMALL[..], &["--png", png, "--plot", svg]].concat());
    assert_eq!(output.status.code(), Some(0));
    is_picture(&fs::read(png).expect("the picture is there"));
    let summary = text(&output.stdout);
    assert!(summary.contains(png) && summary.contains(svg) && summary.contains("play "));
}
