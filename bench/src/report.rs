//! The table and the JSON file.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Value, json};

use crate::cli::Options;
use crate::columns::{self, Column, Store};
use crate::rows::{Base, Bound, Row};

/// The figures of one row: by column, nanoseconds for one operation, or bytes for one entity.
pub(crate) struct Figures {
    pub(crate) by_column: Vec<Option<f64>>,
    pub(crate) rounds: u32,
}

/// All rows so far.
pub(crate) struct Report {
    columns: Vec<(&'static str, Store)>,
    settings: String,
    lines: Vec<Line>,
}

struct Line {
    name: &'static str,
    n: usize,
    figures: Figures,
    goal: Option<crate::rows::Goal>,
}

impl Report {
    pub(crate) fn new(columns: &[Column], options: &Options) -> Self {
        let columns = columns.iter().map(|column| (column.name, column.store)).collect();
        Self { columns, settings: format!("{:?}", options.budget), lines: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: &Row, figures: Figures) {
        self.lines.push(Line { name: row.name, n: row.n, figures, goal: row.goal });
    }

    /// The table.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("| row | n |");
        for (name, _) in &self.columns {
            _ = write!(text, " {name} |");
        }
        text += " / raw | / best archetype store | target | stretch | verdict |\n|---|---:|";
        text += &"---:|".repeat(self.columns.len());
        text += "---:|---:|---:|---:|---|\n";
        for line in &self.lines {
            self.write_line(&mut text, line);
        }
        let left_out = columns::left_out();
        if !left_out.is_empty() {
            _ = writeln!(text, "\nBuilt without {}.", left_out.join(", "));
        }
        text
    }

    fn write_line(&self, text: &mut String, line: &Line) {
        _ = write!(text, "| {} | {} |", line.name, line.n);
        for figure in &line.figures.by_column {
            _ = write!(text, " {} |", figure.map_or_else(|| "-".into(), number));
        }
        let raw = self.ratio(line, self.figure(line, "raw"));
        let best = self.best(line, |store| store == Store::Archetypes);
        let to_best = self.ratio(line, best.map(|(_, figure)| figure));
        let to_best = to_best.zip(best).map(|(ratio, (name, _))| format!("{ratio:.2} {name}"));
        let blank = || "-".to_owned();
        _ = write!(
            text,
            " {} | {} |",
            raw.map_or_else(blank, |ratio| format!("{ratio:.2}")),
            to_best.unwrap_or_else(blank),
        );
        let goal = line
            .goal
            .map(|goal| (self.reached(line, goal.target), self.reached(line, goal.stretch), goal));
        let Some((target, stretch, goal)) = goal else {
            *text += " - | - | |\n";
            return;
        };
        let verdict = match (target, stretch) {
            (Some(true), Some(true)) => "stretch",
            (Some(true), _) => "hit",
            (Some(false), _) => "**miss**",
            (None, _) => "-",
        };
        _ = writeln!(text, " {} | {} | {verdict} |", bound(goal.target), bound(goal.stretch));
    }

    fn figure(&self, line: &Line, column: &str) -> Option<f64> {
        let place = self.columns.iter().position(|(name, _)| *name == column)?;
        line.figures.by_column[place]
    }

    /// Formic's figure over another one.
    fn ratio(&self, line: &Line, other: Option<f64>) -> Option<f64> {
        Some(self.figure(line, "formic")? / other?)
    }

    /// The fastest column of these stores.
    fn best(&self, line: &Line, of: impl Fn(Store) -> bool) -> Option<(&'static str, f64)> {
        let all = self.columns.iter().zip(&line.figures.by_column);
        all.filter(|((_, store), _)| of(*store))
            .filter_map(|((name, _), figure)| Some((*name, (*figure)?)))
            .min_by(|left, right| left.1.total_cmp(&right.1))
    }

    /// Whether Formic is within the bound. `None` where one of the two figures was not measured.
    fn reached(&self, line: &Line, bound: Bound) -> Option<bool> {
        let base = match bound.of {
            Base::Column(column) => self.figure(line, column),
            Base::Other(row, column) => {
                let other = self.lines.iter().find(|other| other.name == row && other.n == line.n);
                other.and_then(|other| self.figure(other, column))
            }
            Base::Best => self
                .best(line, |store| matches!(store, Store::Archetypes | Store::SparseSets))
                .map(|(_, figure)| figure),
        };
        Some(self.ratio(line, base)? <= bound.factor)
    }

    /// Writes the figures as JSON.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let rows: Vec<Value> = self.lines.iter().map(|line| self.row_json(line)).collect();
        let names: Vec<_> = self.columns.iter().map(|(name, _)| name).collect();
        let all = json!({
            "unit": "nanoseconds for one operation; bytes for one entity in the memory row",
            "budget": self.settings,
            "columns": names,
            "left_out": columns::left_out(),
            "rows": rows,
        });
        fs::write(path, format!("{all:#}\n"))
    }

    fn row_json(&self, line: &Line) -> Value {
        let figures = self.columns.iter().zip(&line.figures.by_column);
        let figures: serde_json::Map<String, Value> =
            figures.map(|((name, _), figure)| ((*name).to_owned(), json!(figure))).collect();
        let best = self.best(line, |store| store == Store::Archetypes);
        json!({
            "row": line.name,
            "n": line.n,
            "rounds": line.figures.rounds,
            "figures": figures,
            "to_raw": self.ratio(line, self.figure(line, "raw")),
            "best_archetype_store": best.map(|(name, _)| name),
            "to_best_archetype_store": self.ratio(line, best.map(|(_, figure)| figure)),
            "target": line.goal.map(|goal| bound(goal.target)),
            "stretch": line.goal.map(|goal| bound(goal.stretch)),
            "target_hit": line.goal.and_then(|goal| self.reached(line, goal.target)),
            "stretch_hit": line.goal.and_then(|goal| self.reached(line, goal.stretch)),
        })
    }
}

/// Two digits behind the point where that says something.
fn number(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

fn bound(bound: Bound) -> String {
    let factor = bound.factor;
    match bound.of {
        Base::Column(column) => format!("{factor} x {column}"),
        Base::Other(row, column) => format!("{factor} x {column} {row}"),
        Base::Best => format!("{factor} x best"),
    }
}
