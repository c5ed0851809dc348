//! Taking turns, and the table.

use std::path::PathBuf;
use std::process::ExitCode;

use cpu_time::ThreadTime;
use serde_json::json;

use crate::allocations;

/// What is asked for on the command line.
pub(crate) struct Options {
    rows: Vec<String>,
    rounds: usize,
    json: PathBuf,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let json = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/minds.json").into();
        let mut options = Self { rows: Vec::new(), rounds: 30, json };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                // What cargo adds.
                "--bench" => {}
                "--quick" => options.rounds = 3,
                "--rows" => options.rows = value()?.split(',').map(String::from).collect(),
                "--json" => options.json = value()?.into(),
                "--rounds" => {
                    options.rounds = value()?.parse().map_err(|_| "--rounds needs a number")?;
                }
                _ => {
                    return Err(format!(
                        "{argument} is not known; there are --rows, --rounds, --quick, --json"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| row.starts_with(part.as_str()))
    }
}

/// One way to do what a row is about.
pub(crate) struct Contender {
    pub(crate) column: &'static str,
    /// How many agents or plans a frame is about.
    pub(crate) units: usize,
    pub(crate) frame: Box<dyn FnMut()>,
    /// What else is to be said about it.
    pub(crate) remark: String,
}

impl Contender {
    pub(crate) fn new(column: &'static str, units: usize, frame: impl FnMut() + 'static) -> Self {
        Self { column, units, frame: Box::new(frame), remark: String::new() }
    }
}

/// A row: its name, the goal for Formic in nanoseconds or of the second column in multiples of it, and
/// who takes part, made when it is its turn.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) goal: Option<f64>,
    pub(crate) second_within: Option<f64>,
    pub(crate) contenders: Box<dyn Fn() -> Vec<Contender>>,
}

impl Row {
    pub(crate) fn new(
        name: impl Into<String>,
        goal: Option<f64>,
        contenders: impl Fn() -> Vec<Contender> + 'static,
    ) -> Self {
        Self { name: name.into(), goal, second_within: None, contenders: Box::new(contenders) }
    }

    /// The same, where the second column may take so many times as long as the first.
    pub(crate) fn second_within(self, times: f64) -> Self {
        Self { second_within: Some(times), ..self }
    }
}

pub(crate) fn run(rows: Vec<Row>, options: &Options) -> ExitCode {
    let mut entries = Vec::new();
    println!("| row | column | ns | goal | x Formic | allocations a frame | |");
    println!("|---|---|---|---|---|---|---|");
    for row in rows.into_iter().filter(|row| options.wants(&row.name)) {
        let mut contenders = (row.contenders)();
        let figures = measure(&mut contenders, options.rounds);
        let ours = figures[0];
        for (place, (contender, figure)) in contenders.iter_mut().zip(&figures).enumerate() {
            let allocations = allocations::during(&mut contender.frame);
            let goal = match place {
                0 => row.goal,
                1 => row.second_within.map(|times| (times * ours * 100.0).round() / 100.0),
                _ => None,
            };
            let verdict = goal.map_or(String::new(), |goal| {
                format!("{goal} {}", if *figure <= goal { "hit" } else { "missed" })
            });
            let (name, column, remark) = (&row.name, contender.column, &contender.remark);
            let ratio = figure / ours;
            println!(
                "| {name} | {column} | {figure:.2} | {verdict} | {ratio:.1} | {allocations} | {remark} |"
            );
            entries.push(json!({
                "row": name, "column": column, "ns": figure, "goal": goal,
                "allocations": allocations, "remark": remark,
            }));
        }
    }
    let text = serde_json::to_string_pretty(&entries).expect("plain values");
    let folder = options.json.parent().map_or(Ok(()), std::fs::create_dir_all);
    match folder.and_then(|()| std::fs::write(&options.json, text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", options.json.display());
            ExitCode::FAILURE
        }
    }
}

/// The columns take turns, and another one begins each round. Before each timed frame is one that is
/// not, to warm the caches again. The least processor time of the thread counts, in nanoseconds per
/// unit: noise only ever adds.
fn measure(contenders: &mut [Contender], rounds: usize) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let place = (round + turn) % contenders.len();
            let contender = &mut contenders[place];
            (contender.frame)();
            let start = ThreadTime::now();
            (contender.frame)();
            let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
            least[place] = least[place].min(nanoseconds / contender.units as f64);
        }
    }
    least
}
