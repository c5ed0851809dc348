//! Action sets and sequences as data, read from RON files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use formic_ecs::Component;
use ron::error::{Position, SpannedError};
use ron::value::RawValue;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::action_set::{ActionSet, ActionSetError, DEPTH_MAX, SpawnAction, spawn_action};
use super::composite::Composite;
use super::sequence::{OnFailure, Sequence};

debug_as_text!(LoadError, MindError);

/// The kinds of actions that files may use: filter components, by name.
///
/// ```
/// use formic_ai::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Component, Clone, Deserialize)]
/// struct MoveTo { place: Place }
/// #[derive(Clone, Deserialize, HashState)]
/// enum Place { Mine, Castle }
///
/// let kinds = Kinds::new().kind::<MoveTo>("MoveTo");
/// let actions = ActionSet::parse(
///     r#"(actions: [
///         (name: "out", kind: "MoveTo", with: (place: Mine)),
///         (name: "home", kind: "MoveTo", with: (place: Castle)),
///     ])"#,
///     &kinds,
/// )?;
/// assert!(actions.names().eq(["out", "home"]));
/// let broken = "(actions: [\n  (name: \"out\", kind: \"MoveTo\", with: (plaice: Mine)),\n])";
/// let error = ActionSet::parse(broken, &kinds).unwrap_err().to_string();
/// assert!(error.starts_with("line 2, column 52: "), "{error}");
/// assert!(error.contains("missing field named `place` in `MoveTo`"), "{error}");
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
#[derive(Default)]
pub struct Kinds {
    by_name: BTreeMap<String, Read>,
    exclusive: BTreeSet<String>,
}

type Read = Box<dyn Fn(&str) -> Result<SpawnAction, SpannedError> + Send + Sync>;

debug_fields!([] Kinds:; names = |it| it.by_name.keys().collect::<Vec<_>>());

/// The names of the composites in files.
const COMPOSITES: [(&str, Composite); 3] =
    [("Sequence", Composite::sequence()), ("Race", Composite::race()), ("Join", Composite::join())];

impl Kinds {
    /// Creates a list of kinds with only the composites `Sequence`, `Race` and `Join`, which have
    /// `parts`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind of action. Its filter component is read from the field `with`.
    ///
    /// # Panics
    /// Panics if there is already a kind with this name.
    #[must_use]
    pub fn kind<T: Component + Clone + DeserializeOwned>(mut self, name: &str) -> Self {
        let read: Read = Box::new(|text| Ok(spawn_action(ron::from_str::<T>(text)?, ())));
        let is_composite = COMPOSITES.iter().any(|(composite, _)| *composite == name);
        let is_there = is_composite || self.by_name.insert(name.into(), read).is_some();
        assert!(!is_there, "there is a kind of action {name:?} already");
        self
    }

    /// Adds a kind of action of which an agent runs at most one at a time, because its systems
    /// [claim](super::AgentAccess::claim) the agent. A file in which two of them could run at once, in
    /// different parts of a `Join` or a `Race`, is an error. Without this, the second one would be
    /// [`ClaimError::Contested`](formic_ecs::ClaimError::Contested) at run time.
    ///
    /// ```
    /// # use formic_ai::prelude::*;
    /// #[derive(Component, Clone, serde::Deserialize)]
    /// struct Walk;
    /// let kinds = Kinds::new().exclusive_kind::<Walk>("Walk");
    /// let file = r#"(actions: [(name: "both", kind: "Join", parts: [
    ///     (name: "left", kind: "Walk"),
    ///     (name: "right", kind: "Walk"),
    /// ])])"#;
    /// let error = ActionSet::parse(file, &kinds).unwrap_err().to_string();
    /// assert!(error.starts_with("line 3, column 27: "), "{error}");
    /// assert!(error.contains(r#""right""#) && error.contains(r#""left""#), "{error}");
    /// ```
    ///
    /// # Panics
    /// Panics if there is already a kind with this name.
    #[must_use]
    pub fn exclusive_kind<T: Component + Clone + DeserializeOwned>(mut self, name: &str) -> Self {
        self = self.kind::<T>(name);
        self.exclusive.insert(name.into());
        self
    }
}

/// An action set as written in a file.
#[derive(Deserialize)]
#[serde(rename = "ActionSet", deny_unknown_fields)]
struct ActionSetFile<'a> {
    #[serde(borrow)]
    actions: Vec<ActionEntry<'a>>,
}

/// A sequence as written in a file.
#[derive(Deserialize)]
#[serde(rename = "Sequence", deny_unknown_fields)]
struct SequenceFile<'a> {
    #[serde(default)]
    on_failure: OnFailure,
    #[serde(borrow)]
    actions: Vec<ActionEntry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Action", deny_unknown_fields)]
struct ActionEntry<'a> {
    name: String,
    /// The raw text of the file, to find the position for errors.
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "given")]
    with: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parts: Vec<ActionEntry<'a>>,
}

/// Reads a value in place of `Some(..)`, which does not belong in a file.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// An error in reading a file or a text.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// The text is not valid.
    #[error("{}line {line}, column {column}: {problem}", prefix(.path.as_deref()))]
    Text {
        /// The path of the file, if the text comes from one.
        path: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The problem, with the names of the field and the action.
        problem: String,
    },
}

fn prefix(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!("{}: ", path.display()))
}

fn error_at(at: Position, problem: impl Into<String>) -> LoadError {
    LoadError::Text { path: None, line: at.line, column: at.col, problem: problem.into() }
}

impl LoadError {
    /// The same error, with the path of the file.
    pub(crate) fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Text { line, column, problem, .. } => {
                Self::Text { path: Some(file.into()), line, column, problem }
            }
            other => other,
        }
    }
}

/// A mind as it is written in a file, in RON: a machine, a reasoner, a planner.
pub trait MindText: Serialize + DeserializeOwned {
    /// Reads the mind from text. Optional values are written without `Some`.
    ///
    /// # Errors
    /// Returns an error, with line and column, if the text is not a valid mind of this type.
    fn parse(text: &str) -> Result<Self, LoadError> {
        format().from_str(text).map_err(|error| spanned(&error))
    }

    /// The mind as text, which reads back as the same mind.
    #[must_use]
    fn to_text(&self) -> String {
        let pretty = ron::ser::PrettyConfig::new().depth_limit(3);
        // Cannot fail: no float is NaN, and there are no maps.
        format().to_string_pretty(self, pretty).unwrap_or_else(|error| error.to_string())
    }
}

fn format() -> ron::Options {
    ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}

/// Reads a mind or actions from a file: returns the result of `parse` for its text.
///
/// ```no_run
/// use formic_ai::action::load_file;
/// use formic_ai::prelude::*;
/// # fn f(kinds: Kinds) -> Result<(), formic_ai::action::LoadError> {
/// let work = load_file("minds/work.ron", |text| Sequence::parse(text, &kinds))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns an error if the file cannot be read, or the error of `parse`, with the path of the file.
pub fn load_file<T>(
    path: impl AsRef<Path>,
    parse: impl FnOnce(&str) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    let path = path.as_ref();
    parse(&read_file(path)?).map_err(|error| error.in_file(path))
}

/// An error at a position in a text.
pub(crate) fn error_at_line(line: usize, column: usize, problem: impl Into<String>) -> LoadError {
    error_at(Position { line, col: column }, problem)
}

/// An error in a mind, as a sentence: an unknown or duplicate name, an exceeded limit, an invalid part. A
/// [`LoadError`] also says where in a text it is.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MindError {
    pub(crate) problem: String,
    /// The name that the error is about; empty if there is none.
    pub(crate) name: String,
    /// The field that holds the name; empty for any field.
    pub(crate) field: &'static str,
    /// The occurrence of the name that the error is about, from 0.
    pub(crate) nth: usize,
}

impl MindError {
    /// An error about the mind as a whole.
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self::about("", "", problem)
    }

    /// An error about a name in a field, or in any field if `field` is empty.
    pub(crate) fn about(field: &'static str, name: &str, problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), name: name.into(), field, nth: 0 }
    }

    /// An error about a name that is given twice; the second occurrence is the wrong one.
    pub(crate) fn twice(field: &'static str, name: &str, problem: impl Into<String>) -> Self {
        Self { nth: 1, ..Self::about(field, name, problem) }
    }

    /// An error about an unknown name, with a hint to the known ones.
    pub(crate) fn unknown<'a>(
        what: &str,
        field: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let hint = hint(name, known);
        Self::about(field, name, format!("there is no {what} {name:?}{hint}"))
    }

    /// The same error with its position in the text of the mind.
    pub(crate) fn in_text(&self, text: &str) -> LoadError {
        let quoted = format!("\"{}\"", self.name);
        let follows = |place: &usize| {
            let before = text[..*place].trim_end();
            let before = before.strip_suffix(':').map(str::trim_end);
            self.field.is_empty() || before.is_some_and(|before| before.ends_with(self.field))
        };
        let mut places = text.match_indices(&quoted).map(|(place, _)| place).filter(follows);
        let place = places.nth(self.nth).or_else(|| text.find(&quoted)).unwrap_or(0);
        error_at(start_of(text, &text[place..]), &*self.problem)
    }
}

/// The hint in an error about an unknown name: the name that was probably meant, or the known ones.
pub(crate) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().map(|known| (edit_distance(name, known), known)).min();
    if let Some((_, meant)) = nearest.filter(|(distance, _)| *distance <= 2.min(name.len() / 2)) {
        return format!("; did you mean {meant:?}?");
    }
    let some: Vec<String> = known.iter().take(8).map(|name| format!("{name:?}")).collect();
    match known.len() {
        0 => String::new(),
        count @ 9.. => format!(", but {} and {} more", some.join(", "), count - some.len()),
        _ => format!(", but {}", some.join(", ")),
    }
}

/// The number of characters of the longer name that belong to neither the common prefix nor the common
/// suffix: 1 if one character is wrong, missing or added, 2 if two neighbours are swapped.
fn edit_distance(one: &str, other: &str) -> usize {
    let start = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (count, other_count) = (one.chars().count(), other.chars().count());
    let ends = one.chars().rev().zip(other.chars().rev()).take(count.min(other_count) - start);
    count.max(other_count) - start - ends.take_while(|(one, other)| one == other).count()
}

/// Some editors put this in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a file, without a byte order mark.
pub(crate) fn read_file(path: &Path) -> Result<String, LoadError> {
    let read = fs::read_to_string(path);
    let mut text = read.map_err(|error| LoadError::Io { path: path.into(), error })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.remove(0);
    }
    Ok(text)
}

impl ActionSet {
    /// Reads an action set from text in RON, `(actions: [..])`. Each action has a `name` and a `kind`. If
    /// its filter component has fields, they are given in `with`. The composites `Sequence`, `Race` and
    /// `Join` have `parts` instead, which are actions.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid action set; see [`Kinds`] for an example.
    pub fn parse(text: &str, kinds: &Kinds) -> Result<Self, LoadError> {
        let file: ActionSetFile<'_> =
            plan_format().from_str(text).map_err(|error| spanned(&error))?;
        read_whole_plan(text, kinds, &file.actions)
    }
}

impl Sequence {
    /// Reads a sequence from text, as [`ActionSet::parse`] reads an action set. Beside `actions` there is
    /// an optional `on_failure`: `Retry`, `Advance`, `Stop` or `BackOff(ticks: .., ticks_max: ..)`.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid sequence.
    pub fn parse(text: &str, kinds: &Kinds) -> Result<Self, LoadError> {
        let file: SequenceFile<'_> =
            plan_format().from_str(text).map_err(|error| spanned(&error))?;
        Ok(Self::from(read_whole_plan(text, kinds, &file.actions)?).on_failure(file.on_failure))
    }
}

/// The RON options for files with nested composites. Composites in files may be nested as deeply as
/// others; each takes four levels of the parser, and the innermost contents a few more.
fn plan_format() -> ron::Options {
    let format = ron::Options::default();
    let levels = 4 * (DEPTH_MAX + 4);
    format.with_recursion_limit(levels)
}

fn spanned(error: &SpannedError) -> LoadError {
    error_at(error.span.start, said(&error.code))
}

/// The message of an error, without the advice that `ron` gives to programmers.
fn said(code: &ron::Error) -> String {
    match code {
        ron::Error::ExceededRecursionLimit => "too many brackets lie in each other".into(),
        code => code.to_string(),
    }
}

fn read_whole_plan(
    text: &str,
    kinds: &Kinds,
    entries: &[ActionEntry<'_>],
) -> Result<ActionSet, LoadError> {
    let plan = read_plan(text, kinds, entries, 1)?;
    for entry in entries {
        exclusive_in(text, kinds, entry)?;
    }
    Ok(plan)
}

/// The actions of exclusive kinds in an entry, each with its kind.
///
/// # Errors
/// Returns an error at the second of two actions of one exclusive kind that could run at once.
fn exclusive_in<'a>(
    text: &str,
    kinds: &Kinds,
    entry: &'a ActionEntry<'_>,
) -> Result<Vec<(String, &'a ActionEntry<'a>)>, LoadError> {
    // Parsed successfully before.
    let kind: String = ron::from_str(entry.kind.get_ron()).unwrap_or_default();
    if kinds.exclusive.contains(&kind) {
        return Ok(vec![(kind, entry)]);
    }
    let is_at_once = COMPOSITES.iter().any(|(name, _)| *name == kind) && kind != "Sequence";
    let mut all: Vec<(String, &ActionEntry<'_>)> = Vec::new();
    for part in &entry.parts {
        let of_part = exclusive_in(text, kinds, part)?;
        for (kind, second) in of_part.iter().filter(|_| is_at_once) {
            if let Some((_, first)) = all.iter().find(|(other, _)| other == kind) {
                let problem = format!(
                    "an agent does one {kind} at a time, and {:?} could run beside {:?} (in the \
                     action {:?})",
                    second.name, first.name, entry.name
                );
                return Err(error_at(start_of(text, second.kind.get_ron()), problem));
            }
        }
        all.extend(of_part);
    }
    Ok(all)
}

fn read_plan(
    text: &str,
    kinds: &Kinds,
    entries: &[ActionEntry<'_>],
    depth: usize,
) -> Result<ActionSet, LoadError> {
    let mut plan = ActionSet::new();
    let mut names = HashSet::new();
    for entry in entries {
        let name = &entry.name;
        let at = || start_of(text, entry.kind.get_ron());
        let problem =
            |problem: String| error_at(at(), format!("{problem} (in the action {name:?})"));
        if !names.insert(name) {
            return Err(problem("this name is taken already".into()));
        }
        let kind: String =
            ron::from_str(entry.kind.get_ron()).map_err(|error| problem(said(&error.code)))?;
        let composite = COMPOSITES.iter().find(|(composite, _)| *composite == kind);
        plan = match (composite, kinds.by_name.get(&kind)) {
            (Some(_), _) if entry.with.is_some() => {
                return Err(problem(format!("{kind} has parts, and no field `with`")));
            }
            (Some(_), _) if entry.parts.is_empty() => {
                return Err(problem(format!("{kind} needs the field `parts`")));
            }
            (Some(_), _) if depth > DEPTH_MAX => {
                return Err(problem(ActionSetError::TooDeep.to_string()));
            }
            (Some(&(_, composite)), _) => {
                plan.composite(name, composite, read_plan(text, kinds, &entry.parts, depth + 1)?)
            }
            (None, None) => {
                let known = kinds.by_name.keys().map(String::as_str);
                let hint = hint(&kind, known.chain(COMPOSITES.map(|(name, _)| name)));
                return Err(problem(format!("there is no kind {kind:?}{hint}")));
            }
            (None, Some(_)) if !entry.parts.is_empty() => {
                return Err(problem(format!("{kind} has no field `parts`")));
            }
            (None, Some(read)) => {
                let with = entry.with.map_or("()", RawValue::get_ron);
                let spawn = read(with).map_err(|error| {
                    let start = entry.with.map_or_else(at, |with| start_of(text, with.get_ron()));
                    let at = moved(start, error.span.start);
                    error_at(at, format!("{} (in the action {name:?})", said(&error.code)))
                })?;
                plan.push(name.clone(), spawn, None)
            }
        };
    }
    if let Err(error) = plan.check() {
        return Err(error_at(Position { line: 1, col: 1 }, error.to_string()));
    }
    Ok(plan)
}

/// The position of a part of the text. It walks through the text, and is only for errors.
fn start_of(text: &str, part: &str) -> Position {
    let mut at = Position { line: 1, col: 1 };
    for (place, character) in text.char_indices() {
        if std::ptr::eq(text[place..].as_ptr(), part.as_ptr()) {
            break;
        }
        at = if character == '\n' {
            Position { line: at.line + 1, col: 1 }
        } else {
            Position { line: at.line, col: at.col + 1 }
        };
    }
    at
}

/// Converts a position in a part of a text into one in the whole text.
fn moved(start: Position, inside: Position) -> Position {
    if inside.line == 1 {
        Position { line: start.line, col: start.col + inside.col - 1 }
    } else {
        Position { line: start.line + inside.line - 1, col: inside.col }
    }
}
