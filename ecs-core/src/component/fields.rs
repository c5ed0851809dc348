//! The fields of a component as text, by which a snapshot notices that plain data has changed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::name::Name;

/// The fields of a struct or variant, for the derive: the name of each, empty in a tuple, and what
/// its type is called.
pub type FieldTexts<'a> = &'a [(&'a str, &'a str)];

/// The fields of a struct: `x: f32, y: f32`, or `f32, f32` of a tuple.
#[doc(hidden)]
#[must_use]
pub fn struct_text(fields: FieldTexts<'_>) -> Name {
    Name::from(list(fields))
}

/// The variants of an enum: `enum Idle, Walking(f32), Waiting = 7`.
#[doc(hidden)]
#[must_use]
pub fn enum_text(variants: &[(&str, FieldTexts<'_>)]) -> Name {
    let variants = variants.iter().map(|&(name, fields)| match fields {
        [] => String::from(name),
        _ => alloc::format!("{name}({})", list(fields)),
    });
    Name::from(alloc::format!("enum {}", variants.collect::<Vec<_>>().join(", ")))
}

/// Whether values with these fields are still values: variants may be added behind the others.
pub(crate) fn are_still_values(saved: &str, now: &str) -> bool {
    let grown = || now.strip_prefix(saved).is_some_and(|rest| rest.starts_with(", "));
    saved == now || saved.is_empty() || now.is_empty() || saved.starts_with("enum ") && grown()
}

fn list(fields: FieldTexts<'_>) -> String {
    let mut text = String::new();
    for &(name, type_name) in fields {
        let comma = if text.is_empty() { "" } else { ", " };
        let colon = if name.is_empty() { "" } else { ": " };
        let written = write!(text, "{comma}{name}{colon}{}", without_paths(type_name));
        written.expect("a string takes any text");
    }
    text
}

/// The name of a type without the modules, which change more often than it does.
fn without_paths(type_name: &str) -> String {
    let mut short = String::new();
    for (index, part) in type_name.split("::").enumerate() {
        if index > 0 {
            let is_path = |c: char| c.is_alphanumeric() || c == '_';
            short.truncate(short.trim_end_matches(is_path).len());
        }
        short.push_str(part);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_a_type_are_left_out() {
        for (long, short) in [
            ("f32", "f32"),
            ("glam::f32::vec2::Vec2", "Vec2"),
            ("[core::option::Option<game::Id>; 4]", "[Option<Id>; 4]"),
            ("(a::B, c::D<e::F>)", "(B, D<F>)"),
        ] {
            assert_eq!(without_paths(long), short);
        }
    }

    #[test]
    fn variants_may_be_added_behind_the_others_and_nothing_else_may_change() {
        let text = |variants: &[&str]| {
            let variants: Vec<(&str, FieldTexts<'_>)> =
                variants.iter().map(|&name| (name, &[][..])).collect();
            enum_text(&variants)
        };
        let saved = text(&["Idle", "Walk"]);
        assert!(are_still_values(&saved, &text(&["Idle", "Walk", "Sleep"])));
        for now in
            [&["Walk", "Idle"][..], &["Idle"], &["Idle", "Walking"], &["Idle", "Sleep", "Walk"]]
        {
            assert!(!are_still_values(&saved, &text(now)), "{now:?}");
        }
        let point = struct_text(&[("x", "f32"), ("y", "f32")]);
        assert!(are_still_values(&point, &point));
        for now in [
            &[("x", "f32")][..],
            &[("y", "f32"), ("x", "f32")],
            &[("x", "f32"), ("y", "u32")],
            &[("x", "f32"), ("y", "f32"), ("z", "f32")],
        ] {
            assert!(!are_still_values(&point, &struct_text(now)), "{now:?}");
        }
        assert!(are_still_values("", &point), "it was not noted");
    }
}
