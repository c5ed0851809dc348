//! The table, for people and as JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::costs::Cost;
use crate::maps::Problem;
use crate::measure::Figures;
use crate::ticks::Tick;

struct Row {
    map: String,
    is_weighted: bool,
    figures: Vec<(&'static str, Figures)>,
}

pub(crate) struct Report {
    rows: Vec<Row>,
    ticks: Vec<Tick>,
    costs: Vec<Cost>,
}

impl Report {
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new(), ticks: Vec::new(), costs: Vec::new() }
    }

    /// Adds a map; the first of the figures are ours.
    pub(crate) fn add(&mut self, problem: &Problem, figures: Vec<(&'static str, Figures)>) {
        let (map, is_weighted) = (problem.name.clone(), problem.is_weighted);
        self.rows.push(Row { map, is_weighted, figures });
    }

    pub(crate) fn set_ticks(&mut self, ticks: Vec<Tick>) {
        self.ticks = ticks;
    }

    pub(crate) fn set_costs(&mut self, costs: Vec<Cost>) {
        self.costs = costs;
    }

    /// Our microseconds, and the ratio of each peer to them: more is slower.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for is_weighted in [false, true] {
            let rows: Vec<&Row> =
                self.rows.iter().filter(|row| row.is_weighted == is_weighted).collect();
            let Some(first) = rows.first() else { continue };
            let name = |at: usize| first.figures[at].0;
            let mut heads: Vec<String> =
                (0..own_count(first)).map(|own| format!("{} us", name(own))).collect();
            heads.extend(pairs(first).map(|(own, peer)| match own {
                0 => name(peer).to_owned(),
                _ => format!("{} / {}", name(peer), name(own)),
            }));
            // Writing into a String cannot fail.
            let _ = writeln!(text, "| map | {} |", heads.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(heads.len()));
            for row in &rows {
                let _ = writeln!(text, "{}", line(row));
            }
            let means = pairs(first).map(|(own, peer)| {
                let logs: f64 = rows.iter().map(|row| ratio(row, own, peer).ln()).sum();
                format!("{:.2} x", (logs / rows.len() as f64).exp())
            });
            let means: Vec<String> = means.collect();
            let blank = " |".repeat(own_count(first));
            let _ = writeln!(text, "| **geomean** |{blank} {} |\n", means.join(" | "));
        }
        text.push_str("| tick | agents | us | target |\n|---|---|---|---|\n");
        for Tick { name, agent_count, us, target_us } in &self.ticks {
            let target = target_us.map_or(String::new(), |target| {
                format!("{target:.0}, {}", if *us <= target { "hit" } else { "missed" })
            });
            let _ = writeln!(text, "| {name} | {agent_count} | {us:.1} | {target} |");
        }
        text.push_str(
            "\n| cost | unit | at each size | last to first | target |\n|---|---|---|---|---|\n",
        );
        for Cost { name, unit, figures, target } in &self.costs {
            let all: Vec<String> =
                figures.iter().map(|(size, value)| format!("{size}: {value:.1}")).collect();
            let is_hit = |target| figures.iter().all(|(_, value)| *value <= target);
            let target = target.map_or(String::new(), |target| {
                format!("{target:.0}, {}", if is_hit(target) { "hit" } else { "missed" })
            });
            let growth = figures.last().zip(figures.first());
            let growth = growth.map_or(1.0, |(last, first)| last.1 / first.1);
            let all = all.join(", ");
            let _ = writeln!(text, "| {name} | {unit} | {all} | {growth:.1} x | {target} |");
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(json_row).collect();
        let tick = |tick: &Tick| {
            let Tick { name, agent_count, us, target_us } = tick;
            json!({ "name": name, "agents": agent_count, "us": us, "target_us": target_us })
        };
        let ticks: Vec<Value> = self.ticks.iter().map(tick).collect();
        let cost = |cost: &Cost| {
            let figures: Map<String, Value> =
                cost.figures.iter().map(|(size, value)| (size.clone(), json!(value))).collect();
            json!({ "name": cost.name, "unit": cost.unit, "figures": figures, "target": cost.target })
        };
        let costs: Vec<Value> = self.costs.iter().map(cost).collect();
        format!("{:#}\n", json!({ "rows": rows, "ticks": ticks, "costs": costs }))
    }
}

/// How many of the first columns are ours.
fn own_count(row: &Row) -> usize {
    row.figures.iter().take_while(|(name, _)| name.starts_with("formic")).count()
}

/// Each peer with each column of ours.
fn pairs(row: &Row) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (own_count, count) = (own_count(row), row.figures.len());
    (own_count..count).flat_map(move |peer| (0..own_count).map(move |own| (own, peer)))
}

/// How much more time a peer takes than we do.
fn ratio(row: &Row, own: usize, peer: usize) -> f64 {
    row.figures[peer].1.mean_us / row.figures[own].1.mean_us
}

fn line(row: &Row) -> String {
    let mut line = format!("| {} |", row.map);
    for (_, figures) in &row.figures[..own_count(row)] {
        let _ = write!(line, " {:.2} |", figures.mean_us);
    }
    for (own, peer) in pairs(row) {
        let figures = &row.figures[peer].1;
        let longer = (figures.length / row.figures[own].1.length - 1.0) * 100.0;
        let note = match figures.unsolved {
            0 if longer.abs() < 0.005 => String::new(),
            0 => format!(" ({longer:+.1} % length)"),
            unsolved => format!(" ({unsolved} unsolved)"),
        };
        let _ = write!(line, " {:.2} x{note} |", ratio(row, own, peer));
    }
    line
}

fn json_row(row: &Row) -> Value {
    let mut columns = Map::new();
    for (name, figures) in &row.figures {
        let Figures { mean_us, length, unsolved } = figures;
        let value = json!({ "mean_us": mean_us, "length": length, "unsolved": unsolved });
        columns.insert((*name).to_owned(), value);
    }
    json!({ "map": row.map, "weighted": row.is_weighted, "columns": columns })
}
