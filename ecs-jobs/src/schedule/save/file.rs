//! The file format of a save: a list of named sections as bytes.
//!
//! ```text
//!   "FormicSG" | format u32 | reserved u32 | length of the body u64 | checksum u64 | body
//!   body: for each section   length of the name u32 | name | length u64 | bytes
//! ```
//!
//! Numbers are little-endian. The checksum covers the body; the header before it is checked field by
//! field.

use formic_ecs::StateHasher;

use super::rules::SaveRules;

const MAGIC: [u8; 8] = *b"FormicSG";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 32;

/// One named part of a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::schedule) struct Section {
    pub(in crate::schedule) name: String,
    pub(in crate::schedule) bytes: Vec<u8>,
}

/// The reason why bytes are not a valid save.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedSave {
    /// They do not begin like a save.
    NotASave,
    /// They are in a format that this version does not read.
    UnknownFormat(u32),
    /// Their length differs from the one they state.
    WrongLength,
    /// They have changed since they were written.
    WrongChecksum,
    /// A section that every save has is missing, present twice, or invalid.
    BadSection(String),
}

error_text! { MalformedSave:
    Self::NotASave => "this is not a saved game";
    Self::UnknownFormat(format) => "the save is in format {format}, and this version reads format {FORMAT}";
    Self::WrongLength => "the save is cut off, or something follows it";
    Self::WrongChecksum => "the save is damaged: its checksum is wrong";
    Self::BadSection(name) => "the save contradicts itself in its part {name:?}";
}

fn checksum(body: &[u8]) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.write(body);
    hasher.write_u64(body.len() as u64);
    hasher.finish()
}

pub(in crate::schedule) fn to_bytes(sections: &[Section]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    for section in sections {
        put_text(&mut bytes, &section.name);
        put_bytes(&mut bytes, &section.bytes);
    }
    let (header, body) = bytes.split_at_mut(HEADER_BYTES);
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&(body.len() as u64).to_le_bytes());
    header[24..].copy_from_slice(&checksum(body).to_le_bytes());
    bytes
}

pub(in crate::schedule) fn from_bytes(bytes: &[u8]) -> Result<Vec<Section>, MalformedSave> {
    let mut header = Reader(bytes.strip_prefix(&MAGIC).ok_or(MalformedSave::NotASave)?);
    let cut_off = MalformedSave::WrongLength;
    let format = header.u32().ok_or_else(|| cut_off.clone())?;
    if format != FORMAT {
        return Err(MalformedSave::UnknownFormat(format));
    }
    let reserved = header.u32().ok_or_else(|| cut_off.clone())?;
    let length = header.u64().ok_or_else(|| cut_off.clone())?;
    let sum = header.u64().ok_or_else(|| cut_off.clone())?;
    let body = header.0;
    if length != body.len() as u64 {
        return Err(cut_off);
    }
    if sum != checksum(body) || reserved != 0 {
        return Err(MalformedSave::WrongChecksum);
    }
    let mut sections = Vec::<Section>::new();
    let bad = |number| MalformedSave::BadSection(format!("number {number}"));
    for (name, bytes) in list(body).map_err(bad)? {
        if sections.iter().any(|section| section.name == name) {
            return Err(MalformedSave::BadSection(name.to_owned()));
        }
        sections.push(Section { name: name.to_owned(), bytes: bytes.to_vec() });
    }
    Ok(sections)
}

/// A list of names and bytes, as [`put_text`] and [`put_bytes`] write them in turn; on failure, the
/// number of entries that were read.
fn list(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, usize> {
    let (mut reader, mut list) = (Reader(bytes), Vec::new());
    while !reader.0.is_empty() {
        let entry = reader.text().zip(reader.counted());
        list.push(entry.ok_or(list.len())?);
    }
    Ok(list)
}

/// Named byte strings that are taken out one by one. Types in their names have their current names.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct Entries<'a>(Vec<(String, &'a [u8])>);

impl<'a> Entries<'a> {
    pub(in crate::schedule) fn of(sections: &'a [Section], rules: &SaveRules) -> Self {
        let entry = |it: &'a Section| (rules.with_new_names(&it.name), &it.bytes[..]);
        Self(sections.iter().map(entry).collect())
    }

    pub(in crate::schedule) fn read(bytes: &'a [u8], rules: &SaveRules) -> Option<Self> {
        let list = list(bytes).ok()?.into_iter();
        Some(Self(list.map(|(name, bytes)| (rules.with_new_names(name), bytes)).collect()))
    }

    pub(in crate::schedule) fn take(&mut self, name: &str) -> Option<&'a [u8]> {
        let at = self.0.iter().position(|entry| entry.0 == name)?;
        Some(self.0.remove(at).1)
    }

    /// The names of those that were not taken.
    pub(in crate::schedule) fn left(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| &*entry.0)
    }
}

pub(in crate::schedule) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let len = u32::try_from(text.len()).expect("names are shorter than 4 GiB");
    bytes.extend(len.to_le_bytes());
    bytes.extend(text.as_bytes());
}

pub(in crate::schedule) fn put_bytes(bytes: &mut Vec<u8>, counted: &[u8]) {
    bytes.extend((counted.len() as u64).to_le_bytes());
    bytes.extend(counted);
}

/// A reader of bytes from the front; reads return `None` if too few are left.
#[derive(Clone, Copy, Debug)]
pub(in crate::schedule) struct Reader<'a>(pub(in crate::schedule) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(in crate::schedule) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(in crate::schedule) fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    pub(in crate::schedule) fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    pub(in crate::schedule) fn text(&mut self) -> Option<&'a str> {
        let len = self.u32()?;
        std::str::from_utf8(self.take(usize::try_from(len).ok()?)?).ok()
    }

    pub(in crate::schedule) fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.u64()?;
        self.take(usize::try_from(len).ok()?)
    }
}
