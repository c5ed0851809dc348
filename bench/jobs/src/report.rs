//! The table and the JSON file.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value, json};

use crate::cli::Options;
use crate::columns::{self, Column};
use crate::harness::Figure;
use crate::rows::{Bound, Metric, Row};

/// The figures of one cell, for one operation; `value` is what the row is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    value: f64,
    cpu_and_wall: Option<(f64, f64)>,
}

impl Entry {
    pub(crate) fn of_frames(figure: Figure, row: &Row) -> Self {
        let one = |of_frame: f64| of_frame / row.operations as f64;
        let (cpu, wall) = (one(figure.cpu), one(figure.wall));
        let value = match row.metric {
            Metric::Cpu => cpu,
            Metric::Wall => wall,
            Metric::Allocations | Metric::Value => one(figure.allocations),
        };
        let is_time = matches!(row.metric, Metric::Cpu | Metric::Wall);
        Self { value, cpu_and_wall: is_time.then_some((cpu, wall)) }
    }

    pub(crate) fn of_value(value: f64) -> Self {
        Self { value, cpu_and_wall: None }
    }
}

/// All rows so far.
pub(crate) struct Report {
    columns: Vec<Column>,
    threads: usize,
    budget: String,
    lines: Vec<Line>,
}

struct Line {
    row: Row,
    /// By column.
    entries: Vec<Option<Entry>>,
    rounds: u32,
}

impl Report {
    pub(crate) fn new(columns: &[Column], options: &Options) -> Self {
        let budget = format!("{:?}", options.budget);
        Self { columns: columns.to_vec(), threads: options.threads, budget, lines: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: &Row, entries: Vec<Option<Entry>>, rounds: u32) {
        self.lines.push(Line { row: row.clone(), entries, rounds });
    }

    /// The table. Times are `processor time (wall clock)`, or the other way round where the row is
    /// judged by the wall clock.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("| row | threads | unit |");
        for column in &self.columns {
            _ = write!(text, " {} |", column.name);
        }
        text += " targets | stretch | verdict |\n|---|---:|---|";
        text += &"---:|".repeat(self.columns.len());
        text += "---|---|---|\n";
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
        let clock = match line.row.metric {
            Metric::Cpu => "CPU ",
            Metric::Wall => "wall ",
            Metric::Allocations | Metric::Value => "",
        };
        let Row { name, threads, unit, .. } = line.row;
        _ = write!(text, "| {name} | {threads} | {clock}{unit} |");
        for entry in &line.entries {
            _ = write!(text, " {} |", entry.map_or_else(|| "-".into(), |entry| cell(entry, line)));
        }
        let bounds = |bounds: &[Bound]| {
            let each = bounds.iter().map(|&bound| self.bound(line, bound));
            each.collect::<Vec<_>>().join(", ")
        };
        _ = writeln!(
            text,
            " {} | {} | {} |",
            bounds(&line.row.targets),
            bounds(&line.row.stretches),
            self.verdict(line)
        );
    }

    fn verdict(&self, line: &Line) -> &'static str {
        let reached = |bounds: &[Bound]| {
            let each = bounds.iter().map(|&bound| self.reached(line, bound));
            each.collect::<Option<Vec<bool>>>().map(|all| all.into_iter().all(|reached| reached))
        };
        if line.row.targets.is_empty() {
            return "";
        }
        match (reached(&line.row.targets), reached(&line.row.stretches)) {
            (Some(true), Some(true)) if !line.row.stretches.is_empty() => "stretch",
            (Some(true), _) => "hit",
            (Some(false), _) => "**miss**",
            (None, _) => "-",
        }
    }

    fn value(&self, line: &Line, column: &str) -> Option<f64> {
        let place = self.columns.iter().position(|other| other.name == column)?;
        Some(line.entries[place]?.value)
    }

    /// What Formic's figure should not exceed. `None` where the other was not measured.
    fn limit(&self, line: &Line, bound: Bound) -> Option<f64> {
        match bound {
            Bound::Times(factor, column) => Some(factor * self.value(line, column)?),
            Bound::TimesBest(factor) => {
                let all = self.columns.iter().zip(&line.entries);
                let peers = all.filter(|(column, _)| column.is_peer);
                let best = peers.filter_map(|(_, entry)| Some((*entry)?.value));
                Some(factor * best.min_by(f64::total_cmp)?)
            }
            Bound::AtMost(limit) => Some(limit),
        }
    }

    fn reached(&self, line: &Line, bound: Bound) -> Option<bool> {
        Some(self.value(line, "formic")? <= self.limit(line, bound)?)
    }

    /// The bound, and the factor that was reached.
    fn bound(&self, line: &Line, bound: Bound) -> String {
        let (factor, name) = match bound {
            Bound::Times(factor, column) => (factor, column),
            Bound::TimesBest(factor) => (factor, "best"),
            Bound::AtMost(limit) => return format!("<= {limit}"),
        };
        let limit = self.limit(line, bound).zip(self.value(line, "formic"));
        let is = limit.map(|(limit, value)| format!(" (is {:.2})", value / (limit / factor)));
        format!("<= {factor} x {name}{}", is.unwrap_or_default())
    }

    /// Writes the figures as JSON.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let rows: Vec<Value> = self.lines.iter().map(|line| self.row_json(line)).collect();
        let names: Vec<_> = self.columns.iter().map(|column| column.name).collect();
        let all = json!({
            "budget": self.budget,
            "threads": self.threads,
            "columns": names,
            "left_out": columns::left_out(),
            "rows": rows,
        });
        fs::write(path, format!("{all:#}\n"))
    }

    fn row_json(&self, line: &Line) -> Value {
        let by_column = |of: &dyn Fn(Entry) -> Option<f64>| {
            let all = self.columns.iter().zip(&line.entries);
            let figures =
                all.map(|(column, entry)| (column.name.to_owned(), json!(entry.and_then(of))));
            figures.collect::<Map<String, Value>>()
        };
        let bounds = |bounds: &[Bound]| {
            bounds.iter().map(|&bound| self.bound(line, bound)).collect::<Vec<_>>()
        };
        json!({
            "row": line.row.name,
            "threads": line.row.threads,
            "unit": line.row.unit,
            "judged_by": format!("{:?}", line.row.metric),
            "rounds": line.rounds,
            "figures": by_column(&|entry| Some(entry.value)),
            "cpu": by_column(&|entry| Some(entry.cpu_and_wall?.0)),
            "wall": by_column(&|entry| Some(entry.cpu_and_wall?.1)),
            "targets": bounds(&line.row.targets),
            "stretches": bounds(&line.row.stretches),
            "verdict": self.verdict(line).trim_matches('*'),
        })
    }
}

fn cell(entry: Entry, line: &Line) -> String {
    let Some((cpu, wall)) = entry.cpu_and_wall else { return number(entry.value) };
    let other = if line.row.metric == Metric::Cpu { wall } else { cpu };
    format!("{} ({})", number(entry.value), number(other))
}

/// Two digits behind the point where that says something.
pub(crate) fn number(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}
