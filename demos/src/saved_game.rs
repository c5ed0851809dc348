//! Saved games of demos as files: the save, and the origin of its world.
//!
//! The file is that of a [`Save`], with its format number and its checksum over all bytes. A JSON object,
//! the [`Header`], is attached to it by the name `demo`.

use std::path::Path;
use std::{fmt, fs, io};

use formic_jobs::Save;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files;
use crate::origin::Origin;
use crate::setup::Setup;

/// The format of the header that is written, and the only one that is read.
pub const FORMAT: u32 = 2;

const HEADER: &str = "demo";

/// The largest file that is read: far beyond the maximum number of agents of any demo.
const BYTES_MAX: u64 = 4 << 30;

/// The header of a saved game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The origin of its world.
    pub origin: Origin,
    /// The total number of ticks of the run.
    pub ticks: u64,
    /// The number of ticks run so far.
    pub tick: u64,
}

/// A saved game with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedGame {
    /// The header, with the origin of the world.
    pub header: Header,
    /// The save to be loaded into such a world.
    pub save: Save,
}

impl SavedGame {
    /// Returns the save with its header attached.
    fn with_header(&self) -> Result<Save, String> {
        let header = serde_json::to_vec(&self.header).map_err(|error| error.to_string())?;
        let mut save = self.save.clone();
        save.attach(HEADER, header);
        Ok(save)
    }

    /// Parses a saved game.
    ///
    /// # Errors
    /// Returns the reason if the bytes are not a saved game.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let save = Save::from_bytes(bytes).map_err(|error| error.to_string())?;
        let header = save.attached(HEADER).unwrap_or_default();
        // A later format may have other fields, so its number is checked first.
        let value = serde_json::from_slice::<serde_json::Value>(header).unwrap_or_default();
        files::check_format(&value["format"], FORMAT)
            .ok_or("it is the save of another program")??;
        let header = serde_json::from_value::<Header>(value);
        let wrong = |what: &dyn fmt::Display| format!("its header is wrong: {what}");
        let header = header.map_err(|error| wrong(&error))?;
        header.origin.check().map_err(|what| wrong(&what))?;
        if header.ticks.max(header.tick) > Setup::TICKS_MAX {
            return Err(wrong(&"the number of ticks is out of range"));
        }
        Ok(Self { header, save })
    }

    /// Reads a saved game from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a saved game.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = files::read_at_most(path, BYTES_MAX)?;
        Self::from_bytes(&bytes).map_err(|error| Failure::on_file("load", path, error))
    }

    /// Checks that a saved game can be written there, without changing an existing file.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub fn prove_writable(path: &Path) -> Result<(), Failure> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let written = match path.exists() && !path.is_file() {
            true => Err(io::Error::other("there is something else than a file")),
            false => fs::write(&beside, []).and_then(|()| fs::remove_file(&beside)),
        };
        written.map_err(|error: io::Error| Failure::on_file("save", path, error))
    }

    /// Writes the saved game to a file atomically: if it cannot be written, an existing file stays
    /// unchanged.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let failed = |error: &dyn fmt::Display| Failure::on_file("save", path, error);
        let save = self.with_header().map_err(|error| failed(&error))?;
        save.write(path).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::DEMOS;

    fn saved() -> SavedGame {
        let setup = Setup { agents: 3, ticks: 5, seed: 1, threads: 1 };
        let game = DEMOS[0].open(&setup).expect("it needs no arguments");
        let header = Header {
            format: FORMAT,
            origin: Origin::new(DEMOS[0], vec![DEMOS[0].name.into()], &setup),
            ticks: 5,
            tick: 0,
        };
        SavedGame { header, save: game.save().expect("it can be saved") }
    }

    /// Returns the save with another header.
    fn with_other_header(alter: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let SavedGame { header, mut save } = saved();
        let mut value = serde_json::to_value(header).expect("plain values");
        alter(&mut value);
        save.attach(HEADER, value.to_string());
        save.to_bytes()
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = saved().with_header().expect("plain values").to_bytes();
        let read = SavedGame::from_bytes(&bytes).expect("it was just written");
        assert_eq!(read.header, saved().header);
        assert_eq!(read.with_header().map(|save| save.to_bytes()), Ok(bytes));
    }

    #[test]
    fn no_file_that_was_cut_off_or_changed_is_loaded() {
        let bytes = saved().with_header().expect("plain values").to_bytes();
        for length in (0..bytes.len()).step_by(7) {
            assert!(SavedGame::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        for place in (0..bytes.len()).step_by(5) {
            let mut altered = bytes.clone();
            altered[place] ^= 0x10;
            assert!(SavedGame::from_bytes(&altered).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_header_that_makes_no_sense_is_refused() {
        let error =
            |alter: fn(&mut serde_json::Value)| SavedGame::from_bytes(&with_other_header(alter));
        let later = error(|it| it["format"] = 99.into());
        assert!(later.is_err_and(|it| it.starts_with("it is in format 99")));
        let another = || Err("it is the save of another program".to_owned());
        assert_eq!(error(|it| *it = "cat".into()), another());
        for alter in [
            (|it| it["origin"]["agents"] = 0.into()) as fn(&mut serde_json::Value),
            |it| it["ticks"] = u64::MAX.into(),
            |it| it["tick"] = u64::MAX.into(),
            |it| it["origin"]["demo"] = 7.into(),
            |it| it["origin"]["else"] = 7.into(),
            |it| it["else"] = 7.into(),
        ] {
            assert!(error(alter).is_err_and(|it| it.starts_with("its header is wrong")));
        }
        let other = saved().save.to_bytes();
        assert_eq!(SavedGame::from_bytes(&other), another());
    }
}
