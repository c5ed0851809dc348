//! Plans as data: files that lay out the actions of a kind of agent.

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

/// The kinds of actions that plan files may use: filter components, by name.
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

/// What composites are called in files.
const COMPOSITES: [(&str, Composite); 3] =
    [("Sequence", Composite::sequence()), ("Race", Composite::race()), ("Join", Composite::join())];

impl Kinds {
    /// None yet but the composites `Sequence`, `Race` and `Join`, which have `parts`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind of action: its filter component is read from the field `with`.
    ///
    /// # Panics
    /// Panics if there is a kind of this name already.
    #[must_use]
    pub fn kind<T: Component + Clone + DeserializeOwned>(mut self, name: &str) -> Self {
        let read: Read = Box::new(|text| Ok(spawn_action(ron::from_str::<T>(text)?, ())));
        let is_composite = COMPOSITES.iter().any(|(composite, _)| *composite == name);
        let is_there = is_composite || self.by_name.insert(name.into(), read).is_some();
        assert!(!is_there, "there is a kind of action {name:?} already");
        self
    }

    /// Adds a kind of action of which an agent does one at a time: the systems of such a kind
    /// [claim](super::AgentAccess::claim) the agent. A file in which two of them could run at once, in
    /// different parts of a `Join` or a `Race`, is refused; without this the second one is
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
    /// Panics if there is a kind of this name already.
    #[must_use]
    pub fn exclusive_kind<T: Component + Clone + DeserializeOwned>(mut self, name: &str) -> Self {
        self = self.kind::<T>(name);
        self.exclusive.insert(name.into());
        self
    }
}

/// A plan file as it is written.
#[derive(Deserialize)]
#[serde(rename = "ActionSet", deny_unknown_fields)]
struct ActionSetFile<'a> {
    #[serde(borrow)]
    actions: Vec<ActionEntry<'a>>,
}

/// A sequence file as it is written.
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
    /// As it stands in the file, to say where it is.
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "given")]
    with: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parts: Vec<ActionEntry<'a>>,
}

/// In place of `Some(..)`, which does not belong in a file.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Why a file, or a text, could not be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// There is something wrong with the text.
    #[error("{}line {line}, column {column}: {problem}", prefix(.path.as_deref()))]
    Text {
        /// The file, if it was one.
        path: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there, with the names of the field and the action.
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
    /// The same about the text of this file.
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
    /// Reads it from text. What is optional is written as it is, without `Some`.
    ///
    /// # Errors
    /// Returns an error if the text is no such mind, with line and column.
    fn parse(text: &str) -> Result<Self, LoadError> {
        format().from_str(text).map_err(|error| spanned(&error))
    }

    /// The text, which reads as the same mind again.
    #[must_use]
    fn to_text(&self) -> String {
        let pretty = ron::ser::PrettyConfig::new().depth_limit(3);
        // Without floats that are not numbers, and maps, nothing of it can fail.
        format().to_string_pretty(self, pretty).unwrap_or_else(|error| error.to_string())
    }
}

fn format() -> ron::Options {
    ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}

/// Reads a mind, or actions, from a file: whatever `parse` makes of its text.
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
/// Returns an error if the file cannot be read, or that of `parse` with the name of the file.
pub fn load_file<T>(
    path: impl AsRef<Path>,
    parse: impl FnOnce(&str) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    let path = path.as_ref();
    parse(&read_file(path)?).map_err(|error| error.in_file(path))
}

/// A problem at a place in a text.
pub(crate) fn error_at_line(line: usize, column: usize, problem: impl Into<String>) -> LoadError {
    error_at(Position { line, col: column }, problem)
}

/// What is wrong with a mind, as a sentence: a name that means nothing or is given twice, a limit that
/// is passed, a part that cannot be. A [`LoadError`] says where in a text that is as well.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MindError {
    pub(crate) problem: String,
    /// The name that it is about, or nothing.
    pub(crate) name: String,
    /// The field that has the name; any where it is empty.
    pub(crate) field: &'static str,
    /// Which of several, from 0.
    pub(crate) nth: usize,
}

impl MindError {
    /// A problem with the whole.
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self::about("", "", problem)
    }

    /// A problem with a name, where a field has it, or anything if the field is empty.
    pub(crate) fn about(field: &'static str, name: &str, problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), name: name.into(), field, nth: 0 }
    }

    /// A name that is given twice: the second one is to go.
    pub(crate) fn twice(field: &'static str, name: &str, problem: impl Into<String>) -> Self {
        Self { nth: 1, ..Self::about(field, name, problem) }
    }

    /// A name that means nothing, with those that do.
    pub(crate) fn unknown<'a>(
        what: &str,
        field: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let hint = hint(name, known);
        Self::about(field, name, format!("there is no {what} {name:?}{hint}"))
    }

    /// The same with its place in the text of the mind.
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

/// For an error about a name that is not there: the one that was probably meant, or those that there
/// are.
pub(crate) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().map(|known| (unlike(name, known), known)).min();
    if let Some((_, meant)) = nearest.filter(|(unlike, _)| *unlike <= 2.min(name.len() / 2)) {
        return format!("; did you mean {meant:?}?");
    }
    let some: Vec<String> = known.iter().take(8).map(|name| format!("{name:?}")).collect();
    match known.len() {
        0 => String::new(),
        count @ 9.. => format!(", but {} and {} more", some.join(", "), count - some.len()),
        _ => format!(", but {}", some.join(", ")),
    }
}

/// How many letters of the longer name are neither of a beginning nor of an end that both have: 1
/// where a letter is wrong, missing or too many, 2 where two have changed places.
fn unlike(one: &str, other: &str) -> usize {
    let start = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (count, other_count) = (one.chars().count(), other.chars().count());
    let ends = one.chars().rev().zip(other.chars().rev()).take(count.min(other_count) - start);
    count.max(other_count) - start - ends.take_while(|(one, other)| one == other).count()
}

/// What some editors put before a text.
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
    /// Reads a plan from text in RON: `(actions: [..])`, each action with a `name`, a `kind` and,
    /// where its filter component has fields, `with` these. The composites `Sequence`, `Race` and
    /// `Join` have `parts` instead, which are actions.
    ///
    /// # Errors
    /// Returns an error if the text is no plan; see [`Kinds`] for what an error looks like.
    pub fn parse(text: &str, kinds: &Kinds) -> Result<Self, LoadError> {
        let file: ActionSetFile<'_> =
            plan_format().from_str(text).map_err(|error| spanned(&error))?;
        read_whole_plan(text, kinds, &file.actions)
    }
}

impl Sequence {
    /// Reads a plan from text, as [`ActionSet::parse`] does, and beside its `actions` an `on_failure`:
    /// `Retry`, `Advance`, `Stop` or `BackOff(ticks: .., ticks_max: ..)`.
    ///
    /// # Errors
    /// Returns an error if the text is no sequence.
    pub fn parse(text: &str, kinds: &Kinds) -> Result<Self, LoadError> {
        let file: SequenceFile<'_> =
            plan_format().from_str(text).map_err(|error| spanned(&error))?;
        Ok(Self::from(read_whole_plan(text, kinds, &file.actions)?).on_failure(file.on_failure))
    }
}

/// Composites in files may lie in each other as deep as others. Each is four levels to the parser; a
/// few more are for what lies in the innermost one.
fn plan_format() -> ron::Options {
    let format = ron::Options::default();
    let levels = 4 * (DEPTH_MAX + 4);
    format.with_recursion_limit(levels)
}

fn spanned(error: &SpannedError) -> LoadError {
    error_at(error.span.start, said(&error.code))
}

/// What is wrong, but for the advice that `ron` has for those who call it.
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
/// Returns an error at the second of two of one kind that could run at once.
fn exclusive_in<'a>(
    text: &str,
    kinds: &Kinds,
    entry: &'a ActionEntry<'_>,
) -> Result<Vec<(String, &'a ActionEntry<'a>)>, LoadError> {
    // It was read before.
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

/// Where a part of the text begins. Only for errors: it walks through the text.
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

/// A position in a part, as one in the whole.
fn moved(start: Position, inside: Position) -> Position {
    if inside.line == 1 {
        Position { line: start.line, col: start.col + inside.col - 1 }
    } else {
        Position { line: start.line + inside.line - 1, col: inside.col }
    }
}
