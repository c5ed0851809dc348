//! Numbers and times as text for people.

use std::io::{self, Write};
use std::time::Duration;

use formic::inspect::View;
pub use formic::inspect::grouped;
use formic_ecs::Entity;
use serde::Serialize;

/// Returns the singular of a noun: "worker" for "workers".
#[must_use]
pub fn singular(noun: &str) -> &str {
    noun.strip_suffix('s').unwrap_or(noun)
}

/// Formats a count with a plural noun: "1 worker", "2,000 workers".
#[must_use]
pub fn counted(count: u64, plural: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { singular(plural) } else { plural })
}

/// Capitalises a noun: "Worker" for "worker".
pub(crate) fn capital(noun: &str) -> String {
    let mut letters = noun.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the name of an entity, as in the decision log: `Worker#12`.
pub(crate) fn called(view: &dyn View, entity: Entity) -> String {
    format!("{}#{}", capital(view.noun(entity).unwrap_or("entity")), entity.index())
}

/// Formats a time in the unit that gives a readable number: `0.84 ms`, `12.3 s`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

/// Writes a line of a summary: a label, and its text in the second column.
pub(crate) fn write_line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {label:<12}{text}")
}

/// Writes one JSON value, in a line.
pub(crate) fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    writeln!(out, "{text}")
}

/// Rounds to three decimals, the useful precision of a clock.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_from_the_right() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn one_of_many_is_called_so() {
        assert_eq!(capital(singular("workers")), "Worker");
        assert_eq!(capital("stairs"), "Stairs");
        assert_eq!(capital(""), "");
        assert_eq!(
            (counted(1, "imps"), counted(2_000, "imps")),
            ("1 imp".into(), "2,000 imps".into())
        );
    }

    #[test]
    fn a_time_has_the_unit_that_suits_it() {
        assert_eq!(duration(Duration::from_micros(840)), "0.84 ms");
        assert_eq!(duration(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(duration(Duration::from_secs(600)), "10.0 min");
    }
}
