//! Names in records.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A name in a record: of an option, a state, a rule. Cheap to clone, whatever it was made of.
///
/// ```
/// use formic_ai::explain::Label;
/// let plain: Label = "eat".into();
/// let made = Label::from(format!("{}{}", "e", "at"));
/// assert_eq!(plain, made);
/// assert_eq!(&*made.clone(), "eat");
/// ```
#[derive(Clone)]
pub struct Label(Text);

#[derive(Clone)]
enum Text {
    Plain(&'static str),
    Shared(Arc<str>),
}

impl Label {
    /// A name that was there when the program was written, as a constant.
    #[must_use]
    pub const fn plain(text: &'static str) -> Self {
        Self(Text::Plain(text))
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Text::Plain(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl From<&'static str> for Label {
    fn from(text: &'static str) -> Self {
        Self(Text::Plain(text))
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Self(Text::Shared(text.into()))
    }
}

impl From<Arc<str>> for Label {
    fn from(text: Arc<str>) -> Self {
        Self(Text::Shared(text))
    }
}

impl Default for Label {
    fn default() -> Self {
        Self::plain("")
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Label {}

impl PartialEq<str> for Label {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
