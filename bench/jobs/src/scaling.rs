//! The scaling table: the same work on 1 to N threads.
//!
//! For a machine with more cores than two, which is where stealing, waking and the shared counters
//! begin to matter.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use crate::cli::Options;
use crate::columns::Column;
use crate::harness::Figure;
use crate::model::{self, JoinTree, grind};
use crate::report::number;
use crate::rows::{Kind, Row};

/// Items of the heavy loop, and the rounds of arithmetic for each: about a microsecond.
const HEAVY_ITEMS: usize = 20_000;
const HEAVY_ROUNDS: u32 = 500;

/// The heavy loop.
#[derive(Clone)]
pub(crate) struct Heavy(Arc<AtomicU64>);

impl Heavy {
    pub(crate) const LEN: usize = HEAVY_ITEMS;

    pub(crate) fn new() -> Self {
        Self(model::counter())
    }

    pub(crate) fn visit(&self, index: usize) {
        self.0.fetch_add(grind(index as u64, HEAVY_ROUNDS), Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is run on 1 to N threads.
const BODIES: [(&str, Kind); 6] = [
    ("heavy", Kind::Heavy),
    ("light", Kind::For { batch: None }),
    ("imbalanced", Kind::Imbalanced),
    ("join_fib_30", Kind::Join { n: 30 }),
    ("join_random", Kind::Tree(JoinTree::RANDOM)),
    ("join_coarse", Kind::Tree(JoinTree::COARSE)),
];

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut columns = options.columns();
    // bevy's schedules have nothing to scale here, and their pool is one for the process.
    columns.retain(|column| !matches!(column.name, "bevy_multi" | "bevy_single"));
    let mut text = String::from("| body | threads |");
    for column in &columns {
        text += &format!(" {} |", column.name);
    }
    text += "\n|---|---:|";
    text += &"---:|".repeat(columns.len());
    text += "\n";
    let mut rows = Vec::new();
    for (name, kind) in BODIES {
        for threads in 1..=options.threads {
            eprintln!("{name} on {threads}");
            let (line, json) = measure(name, &Row::unjudged(kind, threads), &columns, options)?;
            text += &line;
            rows.push(json);
        }
    }
    println!(
        "Milliseconds by the wall clock, speed-up over the serial loop, milliseconds of CPU.\n"
    );
    print!("{text}");
    let all = json!({ "scaling_up_to": options.threads, "rows": rows });
    let path = &options.json;
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(path, format!("{all:#}\n")));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// One line of the table, and the same as JSON.
fn measure(
    name: &str,
    row: &Row,
    columns: &[Column],
    options: &Options,
) -> Result<(String, Value), String> {
    let figures = crate::frames(row, columns, options)?.0;
    let of_serial = columns.iter().position(|column| column.name == "serial");
    let serial = of_serial.and_then(|place| figures[place]).map(|figure| figure.wall);
    let mut line = format!("| {name} | {} |", row.threads);
    let mut by_column = Map::new();
    for (column, figure) in columns.iter().zip(&figures) {
        let Some(Figure { cpu, wall, .. }) = *figure else {
            line += " - |";
            continue;
        };
        let speed_up = serial.map(|serial| serial / wall);
        let times = speed_up.map_or_else(|| "-".into(), number);
        line += &format!(" {} / {times} / {} |", number(wall / 1e6), number(cpu / 1e6));
        let figures = json!({ "wall_ms": wall / 1e6, "speed_up": speed_up, "cpu_ms": cpu / 1e6 });
        by_column.insert(column.name.to_owned(), figures);
    }
    let json = json!({ "body": name, "threads": row.threads, "figures": by_column });
    Ok((line + "\n", json))
}
