//! The fields of a component as text. A snapshot uses it to notice that plain data has changed, and a
//! person reads and sets fields by it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::type_name;
use core::fmt::{self, Debug, Display, Write};
use core::marker::PhantomData;
use core::ptr;
use core::str::FromStr;

use crate::name::Name;

/// The fields of a struct or variant, for the derive: the name of each, which is empty in a tuple, and
/// the name of its type.
pub type FieldTexts<'a> = &'a [(&'a str, &'a str)];

/// Formats the fields of a struct: `x: f32, y: f32`, or `f32, f32` for a tuple.
#[doc(hidden)]
#[must_use]
pub fn struct_text(fields: FieldTexts<'_>) -> Name {
    Name::from(list(fields))
}

/// Formats the variants of an enum: `enum Idle, Walking(f32), Waiting = 7`.
#[doc(hidden)]
#[must_use]
pub fn enum_text(variants: &[(&str, FieldTexts<'_>)]) -> Name {
    let variants = variants.iter().map(|&(name, fields)| match fields {
        [] => String::from(name),
        _ => alloc::format!("{name}({})", list(fields)),
    });
    Name::from(alloc::format!("enum {}", variants.collect::<Vec<_>>().join(", ")))
}

/// Returns whether values saved with the fields `saved` are values with the fields `now`: these are the
/// same, or have more variants behind the others. An empty text is not compared.
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

/// Returns the name of a type without its modules, which change more often than the name.
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

/// One field of a component, as returned by [`ById::fields`](crate::ById::fields).
///
/// ```
/// use formic_ecs::prelude::*;
/// #[derive(Component)]
/// #[component(editable)]
/// struct Needs {
///     hunger: f32,
/// }
/// let mut world = World::new();
/// let cat = world.spawn(Needs { hunger: 0.5 });
/// let needs = world.component_id::<Needs>().expect("it is in use");
/// let fields = world.by_id().fields(cat, needs)?;
/// assert_eq!((fields[0].name, fields[0].type_name, fields[0].is_editable), ("hunger", "f32", true));
/// assert_eq!(fields[0].text.as_deref(), Some("0.5"));
/// # Ok::<(), formic_ecs::ByIdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldText {
    /// The name of the field: its index in a tuple, `variant` for the variant of an enum, and empty for a
    /// value whose fields are not known.
    pub name: &'static str,
    /// The path of its type; empty for a variant.
    pub type_name: &'static str,
    /// Its offset in the value, in bytes; `None` for a variant, the length of a buffer, and a whole
    /// value.
    pub offset: Option<usize>,
    /// Its value; `None` for a type that cannot be formatted.
    pub text: Option<String>,
    /// Whether it can be set from a text.
    pub is_editable: bool,
}

impl FieldText {
    /// Creates the text of a whole value whose fields are not known.
    pub(crate) fn whole(text: &str) -> Self {
        let text = Some(bounded(format_args!("{text}")).0);
        Self { name: "", type_name: "", offset: None, text, is_editable: false }
    }
}

/// Functions that format the fields of a component for a person to read, and set them from a text.
///
/// The derive creates one. Fields that are `Display` and `FromStr` are formatted and set, as are vectors
/// of two to four `f32`. Fields that are only `Debug` are formatted.
#[derive(Debug)]
pub struct FieldFns<T> {
    /// Calls the function with every field, in order.
    pub read: fn(&T, &mut dyn FnMut(FieldText)),
    /// Sets the field with this index from a text, or returns why it cannot be set.
    pub write: fn(&mut T, usize, &str) -> Result<(), String>,
}

/// A function that creates the default value of a component.
pub type DefaultFn<T> = fn() -> T;

/// The maximum length of a text in bytes. A longer text is cut off, and cannot be edited.
const TEXT_BYTES_MAX: usize = 1_000;

/// A type whose capabilities the derive detects. `(&&&&&&FieldProbe::of(field)).formic_show(field)` tries the
/// traits below in turn, the one with most references first, as [`HashProbe`](crate::hash::HashProbe)
/// does.
#[doc(hidden)]
#[derive(Debug)]
pub struct FieldProbe<T>(PhantomData<fn() -> T>);

impl<T> FieldProbe<T> {
    #[must_use]
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

/// A text, if there is one, and whether it can be edited.
type Text = (Option<String>, bool);

/// Creates the text of a field, for the derive.
#[doc(hidden)]
#[must_use]
pub fn field_text(
    name: &'static str,
    type_name: &'static str,
    offset: Option<usize>,
    (text, takes_text): Text,
    editable: bool,
) -> FieldText {
    FieldText { name, type_name, offset, text, is_editable: editable && takes_text }
}

/// Returns the offset of a field in a value, in bytes.
#[doc(hidden)]
#[must_use]
pub fn offset_in<T, F: ?Sized>(value: &T, field: &F) -> Option<usize> {
    ptr::from_ref(field).cast::<()>().addr().checked_sub(ptr::from_ref(value).addr())
}

/// Creates the text of the variant of an enum. A text can set it to a variant without fields.
#[doc(hidden)]
#[must_use]
pub fn variant_text(variant: &'static str, is_editable: bool) -> FieldText {
    let text = Some(variant.into());
    FieldText { name: "variant", type_name: "", offset: None, text, is_editable }
}

#[doc(hidden)]
#[cold]
pub fn not_editable(text: &str) -> Result<(), String> {
    Err(format!("no field takes {text:?}"))
}

macro_rules! shown {
    ($($trait:ident: $type:ty, [$($bounds:tt)*], $show:expr, $set:expr;)*) => {$(
        #[doc(hidden)]
        pub trait $trait {
            type Value;
            fn formic_show(&self, value: &Self::Value) -> Text;
            fn formic_set(&self, value: &mut Self::Value, text: &str) -> Result<(), String>;
        }

        impl<T: $($bounds)*> $trait for $type {
            type Value = T;
            fn formic_show(&self, value: &T) -> Text {
                $show(value)
            }
            fn formic_set(&self, value: &mut T, text: &str) -> Result<(), String> {
                $set(value, text)
            }
        }
    )*};
}

shown! {
    ShowText: &&&&&FieldProbe<T>, [Display + FromStr], show_text, set_text;
    ShowTwo: &&&&FieldProbe<T>, [AsRef<[f32; 2]> + AsMut<[f32; 2]>], show_vector, set_vector;
    ShowThree: &&&FieldProbe<T>, [AsRef<[f32; 3]> + AsMut<[f32; 3]>], show_vector, set_vector;
    ShowFour: &&FieldProbe<T>, [AsRef<[f32; 4]> + AsMut<[f32; 4]>], show_vector, set_vector;
    ShowDebug: &FieldProbe<T>, [Debug], |value| (Some(bounded(format_args!("{value:?}")).0), false), |_, text| not_editable(text);
    ShowNothing: FieldProbe<T>, [], |_| (None, false), |_, text| not_editable(text);
}

fn show_text<T: Display>(value: &T) -> Text {
    let (text, is_whole) = bounded(format_args!("{value}"));
    (Some(text), is_whole)
}

fn set_text<T: FromStr>(value: &mut T, text: &str) -> Result<(), String> {
    *value = text.parse().map_err(|_| format!("{text:?} is no {}", type_name::<T>()))?;
    Ok(())
}

fn show_vector<const N: usize>(value: &impl AsRef<[f32; N]>) -> Text {
    let mut text = String::new();
    for (place, number) in value.as_ref().iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        write!(text, "{comma}{number}").expect("a string takes any text");
    }
    (Some(text), true)
}

fn set_vector<const N: usize>(value: &mut impl AsMut<[f32; N]>, text: &str) -> Result<(), String> {
    let mut numbers = [0.0; N];
    let mut texts = text.split(',');
    let wrong = || format!("{text:?} is not {N} numbers with commas between");
    for number in &mut numbers {
        *number = texts.next().and_then(|text| text.trim().parse().ok()).ok_or_else(wrong)?;
    }
    if texts.next().is_some() {
        return Err(wrong());
    }
    *value.as_mut() = numbers;
    Ok(())
}

/// Returns the start of a text, and whether that is all of it. The rest is not formatted.
fn bounded(text: fmt::Arguments<'_>) -> (String, bool) {
    struct Bounded(String);
    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = TEXT_BYTES_MAX - self.0.len();
            let end = (0..=room.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
            self.0.push_str(&text[..end.unwrap_or(0)]);
            if text.len() > room { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut bounded = Bounded(String::new());
    let is_whole = bounded.write_fmt(text).is_ok();
    if !is_whole {
        bounded.0.push_str(" ...");
    }
    (bounded.0, is_whole)
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
