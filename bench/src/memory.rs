//! The memory row: what a million entities take, each column in a process of its own.

use std::hint::black_box;
use std::process::{Command, ExitCode};

use crate::columns::{self, Column};
use crate::report::Figures;
use crate::rows::Row;

/// Has a child fill a world for each column.
pub(crate) fn measure(row: &Row, columns: &[Column]) -> Result<Figures, String> {
    let mut by_column = Vec::new();
    let mut sums = Vec::new();
    for column in columns {
        let (bytes, sum) = ask_child(column.name, row.n)?;
        by_column.push(bytes.map(|bytes| bytes as f64 / row.operations as f64));
        sums.push((column.name, sum));
    }
    crate::agree(&sums)?;
    Ok(Figures { by_column, rounds: 1 })
}

fn ask_child(column: &str, n: usize) -> Result<(Option<u64>, u64), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--fill", column, &n.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let bytes = words.next().map(|word| word.parse().ok());
    let sum = words.next().and_then(|word| word.parse().ok());
    bytes.zip(sum).filter(|_| output.status.success()).ok_or_else(|| {
        format!("the child for {column} failed: {}", String::from_utf8_lossy(&output.stderr).trim())
    })
}

/// What the child does: prints the bytes (`-` where the system does not tell) and the checksum.
pub(crate) fn fill(name: &str, n: usize) -> ExitCode {
    let all = columns::all();
    let Some(column) = all.iter().find(|column| column.name == name) else {
        eprintln!("there is no column {name}");
        return ExitCode::from(2);
    };
    let before = resident_bytes();
    let (world, sum) = (column.fill)(n);
    let after = resident_bytes();
    match before.zip(after) {
        Some((before, after)) => println!("{} {sum}", after.saturating_sub(before)),
        None => println!("- {sum}"),
    }
    drop(black_box(world));
    ExitCode::SUCCESS
}

/// The memory of this process that is really there. Only Linux tells it without further ado.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
