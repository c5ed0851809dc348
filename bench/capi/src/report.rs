//! The table and the JSON file.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value, json};

use crate::Row;
use crate::columns::{C, RUST};

/// The figures of a row: nanoseconds for one entity, by column.
pub(crate) struct Line {
    pub(crate) row: Row,
    pub(crate) names: Vec<&'static str>,
    pub(crate) figures: Vec<f64>,
    pub(crate) rounds: u32,
}

impl Line {
    fn figure(&self, column: &str) -> f64 {
        let place = self.names.iter().position(|name| *name == column);
        self.figures[place.expect("it is in every row")]
    }

    fn ratio(&self) -> f64 {
        self.figure(C) / self.figure(RUST)
    }

    fn verdict(&self) -> String {
        let Some(target) = self.row.target else { return "- | ".to_owned() };
        let hit = if self.ratio() <= target { "hit" } else { "miss" };
        format!("{target} x Rust | {hit}")
    }
}

pub(crate) fn markdown(lines: &[Line]) -> String {
    let Some(first) = lines.first() else { return String::new() };
    let mut text = String::from("| row | entities |");
    for name in &first.names {
        _ = write!(text, " {name} |");
    }
    text += " C / Rust | target | |\n|---|---:|";
    text += &"---:|".repeat(first.names.len());
    text += "---:|---|---|\n";
    for line in lines {
        _ = write!(text, "| {} | {} |", line.row.name, line.row.entities);
        for figure in &line.figures {
            _ = write!(text, " {figure:.2} |");
        }
        _ = writeln!(text, " {:.2} | {} |", line.ratio(), line.verdict());
    }
    text
}

pub(crate) fn write(lines: &[Line], path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let row = |line: &Line| {
        let figures: Map<String, Value> = line
            .names
            .iter()
            .zip(&line.figures)
            .map(|(name, ns)| ((*name).into(), json!(ns)))
            .collect();
        json!({
            "row": line.row.name,
            "entities": line.row.entities,
            "rounds": line.rounds,
            "figures": figures,
            "c_to_rust": line.ratio(),
            "target": line.row.target,
        })
    };
    let rows: Vec<Value> = lines.iter().map(row).collect();
    let all = json!({ "unit": "nanoseconds for one entity", "rows": rows });
    fs::write(path, format!("{all:#}\n"))
}
