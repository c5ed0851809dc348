//! The harbour from outside.

use crate::support::{has_keys, json, run, text};

#[test]
fn every_kind_goes_about_on_both_floors_and_carts_break_paths() {
    let value = json(&["harbour", "--agents", "60", "--ticks", "1500"]);
    let counters =
        ["goblins", "porters", "boats", "trolls", "upstairs", "arrivals", "paths_broken"];
    has_keys(&value, "harbour", &counters);
    let count = |key: &str| value[key].as_u64().expect("a counter");
    for key in counters.iter().chain(&["paths_unreachable", "interruptions"]) {
        assert!(count(key) > 0, "{key} in {value}");
    }
    let kinds = ["goblins", "porters", "boats", "trolls"].map(count);
    assert_eq!(kinds.iter().sum::<u64>(), 60, "{value}");
    // Some six errands each: the way across takes half a minute, and there are five quarters of one.
    assert!(count("arrivals") > 3 * 60, "{value}");
    // What a tick may expand is spent to the last cell, and never more.
    assert_eq!(count("cells_expanded_max"), 300, "{value}");
}

#[test]
fn a_troll_says_which_door_it_is_too_wide_for() {
    let output = run(&["harbour", "--ticks", "300", "--explain", "2"]);
    let said = text(&output.stdout);
    assert!(said.contains("\nTick 300: Troll#2 "), "{said}");
    assert!(said.contains("because it is too wide for the door at (19, 15)."), "{said}");
}
