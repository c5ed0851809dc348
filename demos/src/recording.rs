//! Recordings: the start of a run, its inputs, and its state hash at intervals.
//!
//! A recording is a text file with one JSON object per line:
//!
//! ```text
//!   {"formic_recording":3,"origin":{"program":"0.1.0","demo":"miners",
//!    "arguments":["miners","--agents","100"],"agents":100,"seed":1},
//!    "hash_every":100,"sum":"5d1a7c0be2939f48"}
//!   {"tick":0,"hash":"8a5c1f0e63b7d924","sum":"0f6e2d4b81c3a597"}
//!   {"tick":42,"input":"dig 3 7","sum":"c29b7a615d0e84f3"}
//!   {"tick":100,"hash":"1f0e63b7d9248a5c","sum":"7e4d90f1a6b3258c"}
//!   {"end":100,"sum":"b8350c6fd1e7924a"}
//! ```
//!
//! The first line is the [`Header`]; it is a single line in the file. A tick is the number of finished
//! ticks, so an input comes before the next one. The last hash is that of the end. A file without its
//! last line was cut off, for example because the program was killed; its content can be replayed. Each
//! line ends with the checksum of everything before it, so that a changed byte is detected anywhere
//! ([`Seal`]).

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use formic_ecs::StateHasher;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files;
use crate::origin::Origin;
use crate::setup::Setup;
use crate::simulation::Simulation;

/// The format that is written, and the only one that is read.
pub const FORMAT: u32 = 3;

/// The start of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub formic_recording: u32,
    /// The origin of its world.
    pub origin: Origin,
    /// The number of ticks between hashes.
    pub hash_every: u64,
}

/// A whole run, read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Its start.
    pub header: Header,
    /// The inputs in order, each with the number of ticks before it.
    pub inputs: Vec<(u64, String)>,
    /// The state hashes in order, each with the number of ticks before it; the first is that of the
    /// start, the last that of the end.
    pub hashes: Vec<(u64, u64)>,
    /// Whether the run was recorded to its end.
    pub is_whole: bool,
}

/// One line after the header.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Hash { tick: u64, hash: String },
    Input { tick: u64, input: String },
    End { end: u64 },
}

impl Recording {
    /// Parses a recording. If it was cut off, parses what there is.
    ///
    /// # Errors
    /// Returns an error that names the first line that is not valid.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let mut seal = Seal::new();
        let header = header(lines.next().unwrap_or_default(), &mut seal)?;
        let mut recording =
            Self { header, inputs: Vec::new(), hashes: Vec::new(), is_whole: false };
        // Whole lines end with a line break; the rest after the last one was being written when the
        // program or the machine stopped.
        let mut lines: Vec<&[u8]> = lines.collect();
        let rest = lines.pop();
        let has_rest = rest.is_none_or(|rest| !rest.is_empty());
        let mut now = 0;
        for (line, number) in lines.iter().zip(2..) {
            let line = seal.open(line).ok_or_else(|| damaged(number))?;
            let line = serde_json::from_slice(&line).map_err(|_| bad_line(number))?;
            let disorder = |number| Err(format!("line {number} is in the wrong place"));
            match line {
                Line::Hash { tick, hash } => {
                    let hash = parse_hash(&hash).ok_or_else(|| bad_line(number))?;
                    let is_next = match recording.hashes.last() {
                        None => tick == 0,
                        Some(&(last, _)) => tick > last && tick >= now,
                    };
                    if !is_next || tick > Setup::TICKS_MAX {
                        return disorder(number);
                    }
                    recording.hashes.push((tick, hash));
                    now = tick;
                }
                Line::Input { tick, input } => {
                    if tick < now || recording.hashes.is_empty() || tick > Setup::TICKS_MAX {
                        return disorder(number);
                    }
                    recording.inputs.push((tick, input));
                    now = tick;
                }
                Line::End { end } => {
                    let hashed = recording.hashes.last().map(|&(tick, _)| tick);
                    if hashed != Some(end) || now > end {
                        return disorder(number);
                    }
                    if has_rest || number <= lines.len() {
                        return disorder(number + 1);
                    }
                    return Ok(Self { is_whole: true, ..recording });
                }
            }
        }
        // A whole line followed by one byte, which was the line break.
        if let Some((_, line)) = rest.and_then(<[u8]>::split_last) {
            if seal.open(line).is_some() {
                return Err(damaged(lines.len() + 2));
            }
        }
        match recording.hashes.is_empty() {
            true => Err("it was cut off before anything was recorded".to_owned()),
            false => Ok(recording),
        }
    }

    /// Reads a recording from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a recording.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = files::read(path)?;
        Self::parse(&bytes).map_err(|error| Failure::on_file("replay", path, error))
    }

    /// Returns the number of recorded ticks. The last input was for one more tick.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        let hashed = self.hashes.last().map_or(0, |&(tick, _)| tick);
        self.inputs.last().map_or(hashed, |&(tick, _)| hashed.max(tick.saturating_add(1)))
    }

    /// Whether [`replay`](Self::replay) has anything to do after `tick` ticks.
    #[must_use]
    pub fn is_due(&self, tick: u64) -> bool {
        self.hashes.binary_search_by_key(&tick, |it| it.0).is_ok()
            || self.inputs.binary_search_by_key(&tick, |it| it.0).is_ok()
    }

    /// Compares the state after `tick` ticks, and applies the inputs recorded there.
    ///
    /// # Errors
    /// Returns [`Failure::Check`] if the state differs from the recorded one, and [`Failure::Usage`] if
    /// the demo does not understand an input.
    pub fn replay(&self, tick: u64, simulation: &mut dyn Simulation) -> Result<(), Failure> {
        if let Ok(place) = self.hashes.binary_search_by_key(&tick, |it| it.0) {
            self.compare(place, simulation.state_hash().value())?;
        }
        let first = self.inputs.partition_point(|it| it.0 < tick);
        for (_, text) in self.inputs[first..].iter().take_while(|it| it.0 == tick) {
            simulation.input(text).map_err(|error| {
                Failure::Usage(format!("cannot put in {text:?} at tick {tick}: {error}"))
            })?;
        }
        Ok(())
    }

    fn compare(&self, place: usize, now: u64) -> Result<(), Failure> {
        let (tick, recorded) = self.hashes[place];
        if recorded == now {
            return Ok(());
        }
        let last_equal = match place.checked_sub(1) {
            None => "from the start".to_owned(),
            Some(before) => format!("it was the same at tick {}", self.hashes[before].0),
        };
        Err(Failure::Check(format!(
            "the state at tick {tick} is {now:016x}, and {recorded:016x} on the recording; \
             {last_equal}"
        )))
    }
}

fn damaged(line: usize) -> String {
    format!("line {line} is damaged: its checksum is wrong")
}

fn bad_line(line: usize) -> String {
    format!("line {line} cannot be understood")
}

fn header(line: &[u8], seal: &mut Seal) -> Result<Header, String> {
    // A later format may have other fields, so its number is checked first.
    let value = serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
    files::check_format(&value["formic_recording"], FORMAT).ok_or("it is not a recording")??;
    let line = seal.open(line).ok_or_else(|| damaged(1))?;
    let header: Header = serde_json::from_slice(&line).map_err(|_| bad_line(1))?;
    header.origin.check().map_err(|what| format!("line 1: {what}"))?;
    if header.hash_every == 0 {
        return Err("line 1: the number of ticks between hashes is out of range".to_owned());
    }
    Ok(header)
}

/// Parses exactly sixteen digits, so that each hash has only one form.
fn parse_hash(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == 16 && text.bytes().all(is_digit)).then_some(())?;
    u64::from_str_radix(text, 16).ok()
}

/// The running checksum of a recording.
///
/// ```
/// use formic_demos::recording::Seal;
/// let (mut writer, mut reader) = (Seal::new(), Seal::new());
/// let line = writer.close(r#"{"end":100}"#);
/// assert!(line.starts_with(r#"{"end":100,"sum":""#));
/// assert_eq!(reader.open(line.as_bytes()).as_deref(), Some(&br#"{"end":100}"#[..]));
/// assert_eq!(reader.open(line.as_bytes()), None, "it stood in another place");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Seal(StateHasher);

impl Seal {
    const KEY: &[u8] = br#","sum":""#;

    /// Creates the checksum of a recording without any line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the checksum of everything before and of these bytes; it becomes part of the later ones.
    fn sum(&mut self, front: &[u8]) -> String {
        self.0.write(front);
        format!("{:016x}", self.0.finish())
    }

    /// Returns the next line, a JSON object, with its checksum as the last key.
    #[must_use]
    pub fn close(&mut self, object: &str) -> String {
        let front = object.strip_suffix('}').unwrap_or(object);
        let sum = self.sum(front.as_bytes());
        format!("{front},\"sum\":\"{sum}\"}}")
    }

    /// Returns the next line without its checksum; `None` if the checksum does not match.
    #[must_use]
    pub fn open(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let (rest, end) = line.split_at_checked(line.len().checked_sub(18)?)?;
        let front = rest.strip_suffix(Self::KEY)?;
        let mut here = self.clone();
        if end != format!("{}\"}}", here.sum(front)).as_bytes() {
            return None;
        }
        *self = here;
        Some([front, b"}"].concat())
    }
}

/// Writes a recording line by line during a run: if the program is killed, the lines so far can be
/// replayed.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    hash_every: u64,
    hashed: Option<u64>,
    seal: Seal,
}

impl Recorder {
    /// Begins a recording. An existing file is overwritten.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn begin(path: &Path, header: &Header) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::on_file("write", path, error);
        let file = File::create(path).map_err(failed)?;
        let mut recorder = Self {
            file,
            path: path.to_path_buf(),
            hash_every: header.hash_every,
            hashed: None,
            seal: Seal::new(),
        };
        recorder.line(header)?;
        Ok(recorder)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let written = serde_json::to_string(line).map_err(io::Error::from).and_then(|line| {
            // In one write, so that lines are whole.
            self.file.write_all((self.seal.close(&line) + "\n").as_bytes())
        });
        written.map_err(|error| Failure::on_file("write", &self.path, error))
    }

    /// Whether the recording gets a hash after `tick` ticks.
    #[must_use]
    pub const fn is_due(&self, tick: u64) -> bool {
        tick % self.hash_every == 0
    }

    /// Records the state hash after `tick` ticks, if one is due.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn after(&mut self, tick: u64, hash: impl FnOnce() -> u64) -> Result<(), Failure> {
        if self.is_due(tick) { self.hash(tick, hash()) } else { Ok(()) }
    }

    fn hash(&mut self, tick: u64, hash: u64) -> Result<(), Failure> {
        self.hashed = Some(tick);
        self.line(&Line::Hash { tick, hash: format!("{hash:016x}") })
    }

    /// Records an input after `tick` ticks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn input(&mut self, tick: u64, input: &str) -> Result<(), Failure> {
        self.line(&Line::Input { tick, input: input.to_owned() })
    }

    /// Ends the recording after `tick` ticks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn end(mut self, tick: u64, hash: impl FnOnce() -> u64) -> Result<(), Failure> {
        if self.hashed != Some(tick) {
            self.hash(tick, hash())?;
        }
        self.line(&Line::End { end: tick })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            formic_recording: FORMAT,
            origin: Origin {
                program: "0.1.0".into(),
                demo: "miners".into(),
                arguments: vec!["miners".into(), "--agents".into(), "7".into()],
                agents: 7,
                seed: u64::MAX,
            },
            hash_every: 2,
        }
    }

    fn text(lines: &[&str]) -> Vec<u8> {
        text_of(&serde_json::to_string(&header()).expect("plain values"), lines)
    }

    fn text_of(header: &str, lines: &[&str]) -> Vec<u8> {
        let mut seal = Seal::new();
        let lines = [header].into_iter().chain(lines.iter().copied());
        lines.map(|line| seal.close(line) + "\n").collect::<String>().into_bytes()
    }

    const H0: &str = r#"{"tick":0,"hash":"00000000000000aa"}"#;
    const H2: &str = r#"{"tick":2,"hash":"00000000000000bb"}"#;

    #[test]
    fn what_was_written_is_read() {
        let input = r#"{"tick":1,"input":"dig"}"#;
        let recording = Recording::parse(&text(&[H0, input, H2, r#"{"end":2}"#])).expect("whole");
        assert_eq!(recording.header, header());
        assert_eq!(recording.hashes, [(0, 0xAA), (2, 0xBB)]);
        assert_eq!(recording.inputs, [(1, "dig".into())]);
        assert_eq!(recording.ticks(), 2);
    }

    #[test]
    fn of_every_file_that_was_cut_off_the_whole_lines_are_read() {
        let whole = text(&[H0, H2, r#"{"end":2}"#]);
        assert!(Recording::parse(&whole).is_ok_and(|it| it.is_whole));
        for length in 0..whole.len() {
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            match Recording::parse(&whole[..length]) {
                Ok(part) => assert!(!part.is_whole && part.hashes.len() + 1 == lines),
                Err(_) => assert!(lines < 2, "{length} bytes"),
            }
        }
        let killed = &text(&[H0, H2])[..];
        let half = [killed, br#"{"tick":4,"ha"#].concat();
        for bytes in [killed, &half] {
            let recording = Recording::parse(bytes).expect("two hashes are on it");
            assert_eq!(
                (recording.hashes.len(), recording.ticks(), recording.is_whole),
                (2, 2, false)
            );
        }
        let played = text(&[H0, r#"{"tick":0,"input":"rest"}"#, r#"{"tick":1,"input":"rest"}"#]);
        assert_eq!(Recording::parse(&played).expect("two inputs are on it").ticks(), 2);
        assert_eq!(
            Recording::parse(&text(&[])),
            Err("it was cut off before anything was recorded".to_owned())
        );
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let whole = text(&[H0, r#"{"tick":1,"input":"dig"}"#, H2, r#"{"end":2}"#]);
        // The same for a recording of a killed program.
        let killed = text(&[H0, r#"{"tick":1,"input":"dig"}"#, H2]);
        for recording in [whole, killed] {
            assert!(Recording::parse(&recording).is_ok());
            for place in 0..recording.len() {
                for byte in (0..=u8::MAX).filter(|&byte| byte != recording[place]) {
                    let mut altered = recording.clone();
                    altered[place] = byte;
                    assert!(Recording::parse(&altered).is_err(), "byte {place} as {byte}");
                }
            }
        }
    }

    #[test]
    fn lines_that_go_or_change_places_are_noticed() {
        let whole = text(&[H0, r#"{"tick":1,"input":"dig"}"#, r#"{"tick":1,"input":"dug"}"#, H2]);
        let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
        let parse = |order: &[usize]| {
            Recording::parse(&order.iter().flat_map(|&it| lines[it]).copied().collect::<Vec<_>>())
        };
        assert!(parse(&[0, 1, 2, 3, 4]).is_ok());
        for order in [&[0, 1, 3, 2, 4][..], &[0, 1, 3, 4], &[0, 1, 2, 4], &[0, 1, 2, 2, 3, 4]] {
            assert!(
                parse(order).is_err_and(|it| it.ends_with("its checksum is wrong")),
                "{order:?}"
            );
        }
    }

    #[test]
    fn disorder_is_refused_with_its_line() {
        let check = |lines: &[&str], expected: String| {
            assert_eq!(Recording::parse(&text(lines)), Err(expected), "{lines:?}");
        };
        let disorder = |line: usize| format!("line {line} is in the wrong place");
        let end = r#"{"end":2}"#;
        check(&[H2, end], disorder(2));
        check(&[H0, H2, H2, end], disorder(4));
        check(&[H0, H2, H0, end], disorder(4));
        check(&[H0, end], disorder(3));
        check(&[H0, H2, end, end], disorder(5));
        check(&[H0, H2, r#"{"tick":1,"input":"dig"}"#, end], disorder(4));
        check(&[H0, H2, r#"{"tick":3,"input":"dig"}"#, end], disorder(5));
        check(&[r#"{"tick":0,"input":"dig"}"#, H0], disorder(2));
        check(&[H0, r#"{"tick":2,"hash":"bb"}"#, end], bad_line(3));
        check(&[H0, r#"{"tick":2,"hash":"+0000000000000bb"}"#, end], bad_line(3));
        check(&[H0, r#"{"tick":-2,"hash":"00000000000000bb"}"#, end], bad_line(3));
        check(&[H0, r#"{"tick":2,"hash":"00000000000000bb","more":1}"#, end], bad_line(3));
        check(&[H0, "", end], bad_line(3));
        check(&[H0, r#"{"tick":1000000001,"hash":"00000000000000bb"}"#], disorder(3));
        let parse = |text: &str| Recording::parse(text.as_bytes());
        let no_header = || Err("it is not a recording".to_owned());
        assert_eq!(parse(""), no_header());
        assert_eq!(parse("\0\u{1}PNG"), no_header());
        assert_eq!(parse("{}"), no_header());
        let later = parse(r#"{"formic_recording":4,"new":true}"#);
        assert!(later.is_err_and(|it| it.starts_with("it is in format 4")));
        assert_eq!(parse(r#"{"formic_recording":3}"#), Err(damaged(1)));
        let with = |from: &str, to: &str| {
            let header = serde_json::to_string(&header()).expect("plain values");
            Recording::parse(&text_of(&header.replace(from, to), &[H0]))
        };
        assert_eq!(with(r#""seed""#, r#""speed""#), Err(bad_line(1)));
        let no_agents = with(r#""agents":7"#, r#""agents":0"#);
        assert_eq!(no_agents, Err("line 1: the number of agents is out of range".to_owned()));
        let never = with(r#""hash_every":2"#, r#""hash_every":0"#);
        assert!(never.is_err_and(|it| it.contains("the number of ticks between hashes")));
    }
}
