//! The minds from outside.

use std::fs;

use crate::support::{has_keys, is_picture, json, run, scratch, text};

const SMALL: [&str; 5] = ["minds", "--agents", "120", "--ticks", "400"];
const MINDS: [&str; 6] = ["if_else", "sequence", "machine", "tree", "utility", "planner"];

#[test]
fn every_mind_has_a_share_of_the_crowd_and_a_time_of_its_own() {
    let value = json(&["minds", "--agents", "121", "--ticks", "300"]);
    has_keys(&value, "minds", &[]);
    let count = |mind: &str, what: &str| {
        value[format!("{mind}_{what}")].as_u64().unwrap_or_else(|| panic!("{mind} {what}"))
    };
    assert_eq!(MINDS.map(|mind| count(mind, "agents")), [21, 20, 20, 20, 20, 20]);
    for mind in MINDS {
        assert!(count(mind, "ns") > count(mind, "thinking_ns"), "{mind} in {value}");
        assert!(count(mind, "meals") > 0, "{mind} in {value}");
    }
    assert!(MINDS[1..].iter().all(|mind| count(mind, "thinking_ns") > 0), "{value}");
}

#[test]
fn the_table_has_a_row_for_each_mind_and_the_picture_decodes() {
    let png = scratch("minds.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&[&SMALL[..], &["--png", path]].concat());
    assert_eq!(output.status.code(), Some(0));
    let table = text(&output.stdout);
    let rows = ["if, else", "sequence", "machine", "tree", "utility", "planner"];
    for row in rows.map(|name| format!("\n  {name} ")) {
        assert!(table.contains(&row), "{table}");
    }
    is_picture(&fs::read(&png).expect("the picture is there"));
}
