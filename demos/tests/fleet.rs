//! The fleet from outside.

use std::fs;

use crate::support::{has_keys, is_picture, json, run, scratch, text};

const SMALL: [&str; 5] = ["fleet", "--agents", "512", "--ticks", "250"];

#[test]
fn there_is_a_war() {
    let value = json(&["fleet", "--agents", "512", "--ticks", "400"]);
    has_keys(&value, "fleet", &["ships", "turrets", "admirals", "bullets", "plans"]);
    for key in ["bullets_fired", "hits", "ships_lost", "plans"] {
        assert!(value[key].as_u64().is_some_and(|count| count > 0), "{key} in {value}");
    }
}

#[test]
fn the_summary_tells_of_it_and_the_picture_decodes() {
    let png = scratch("fleet.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&[&SMALL[..], &["--png", path]].concat());
    assert_eq!(output.status.code(), Some(0));
    let summary = text(&output.stdout);
    for word in ["in flight", "closing", "plans begun", "admirals"] {
        assert!(summary.contains(word), "{word} in {summary}");
    }
    is_picture(&fs::read(&png).expect("the picture is there"));
}
