//! Numbers as bytes, the header, and the checksum. `docs/snapshot-format.md` describes the format.

use alloc::vec::Vec;

use crate::component::CodecKind;
use crate::error::MalformedSnapshot;
use crate::hash::StateHasher;

const MAGIC: [u8; 8] = *b"FormicWS";
const VERSION: u32 = 4;
/// Written in the byte order of this machine: plain components are saved as they are in memory.
const BYTE_ORDER: u32 = 0x0102_0304;
pub(super) const HEADER_BYTES: usize = 32;

/// The kinds of codecs, by the numbers that snapshots record.
pub(super) const KINDS: [CodecKind; 3] = [CodecKind::Unsaved, CodecKind::Plain, CodecKind::Custom];

/// The flag of a component that can be disabled.
pub(super) const ENABLEABLE: u8 = 1;
/// The flag of a component with versions per row.
pub(super) const TRACKED: u8 = 2;

pub(super) fn contradiction(detail: &'static str) -> MalformedSnapshot {
    MalformedSnapshot::Contradiction { detail }
}

/// Writes the header in the room that was left for it before the body.
pub(super) fn seal(bytes: &mut [u8]) {
    let (header, body) = bytes.split_at_mut(HEADER_BYTES);
    let mut fields = header.iter_mut();
    let mut put = |field: &[u8]| field.iter().zip(&mut fields).for_each(|(&from, to)| *to = from);
    put(&MAGIC);
    put(&VERSION.to_le_bytes());
    put(&BYTE_ORDER.to_ne_bytes());
    put(&(body.len() as u64).to_le_bytes());
    put(&checksum(body).to_le_bytes());
}

/// Returns the body of sealed bytes, and verifies their checksum.
pub(super) fn open(bytes: &[u8]) -> Result<&[u8], MalformedSnapshot> {
    let (body, sum) = unseal(bytes)?;
    if sum == checksum(body) { Ok(body) } else { Err(MalformedSnapshot::WrongChecksum) }
}

/// Returns the body of bytes whose checksum is known to be right.
pub(super) fn reopen(bytes: &[u8]) -> Result<&[u8], MalformedSnapshot> {
    unseal(bytes).map(|(body, _)| body)
}

/// Returns the body and the checksum in the header.
fn unseal(bytes: &[u8]) -> Result<(&[u8], u64), MalformedSnapshot> {
    let not_ours = MalformedSnapshot::NotASnapshot;
    let rest = bytes.strip_prefix(&MAGIC).ok_or(not_ours)?;
    let mut reader = Reader(rest);
    let version = reader.u32()?;
    if version != VERSION {
        return Err(MalformedSnapshot::UnknownVersion { version });
    }
    if reader.array()? != BYTE_ORDER.to_ne_bytes() {
        return Err(MalformedSnapshot::ForeignByteOrder);
    }
    let (len, sum) = (reader.u64()?, reader.u64()?);
    let body = reader.0;
    if len != body.len() as u64 {
        return Err(MalformedSnapshot::WrongLength);
    }
    Ok((body, sum))
}

/// Computes four interleaved hashes, one for each 8 bytes of a stripe of 32, so that they are computed in
/// parallel. A change within one of these words always changes the checksum.
fn checksum(body: &[u8]) -> u64 {
    let mut lanes = [StateHasher::new(); 4];
    let mut stripes = body.chunks_exact(32);
    for stripe in &mut stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(word);
            lane.write_u64(u64::from_le_bytes(eight));
        }
    }
    let mut all = StateHasher::new();
    lanes.iter().for_each(|lane| all.write_u64(lane.finish()));
    all.write(stripes.remainder());
    all.finish()
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], MalformedSnapshot> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(MalformedSnapshot::WrongLength)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, MalformedSnapshot> {
        let len = self.count()?;
        core::str::from_utf8(self.bytes(len)?)
            .map_err(|_| contradiction("what is said of a component is not text"))
    }

    /// Reads `count` records of `bytes` bytes each.
    pub(super) fn records(
        &mut self,
        count: usize,
        bytes: usize,
    ) -> Result<&'a [u8], MalformedSnapshot> {
        self.bytes(count.checked_mul(bytes).ok_or(MalformedSnapshot::WrongLength)?)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedSnapshot> {
        let (array, rest) = self.0.split_first_chunk().ok_or(MalformedSnapshot::WrongLength)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, MalformedSnapshot> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, MalformedSnapshot> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, MalformedSnapshot> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a count of 32 bits.
    pub(super) fn count(&mut self) -> Result<usize, MalformedSnapshot> {
        usize::try_from(self.u32()?).map_err(|_| MalformedSnapshot::WrongLength)
    }

    /// Reads a count of 64 bits.
    pub(super) fn long_count(&mut self) -> Result<usize, MalformedSnapshot> {
        usize::try_from(self.u64()?).map_err(|_| MalformedSnapshot::WrongLength)
    }
}

pub(super) fn numbers_u32(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

pub(super) fn numbers_u64(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|word| {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        u64::from_le_bytes(eight)
    })
}

/// Bytes to which numbers and texts are appended.
#[derive(Debug)]
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("indexes of a world have 32 bits"));
    }

    pub(super) fn long_count(&mut self, count: usize) {
        self.u64(count as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Writes the length in bytes of what `write` writes, and then that.
    pub(super) fn counted<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.0.len();
        self.long_count(0);
        write(self.0)?;
        let len = (self.0.len() - start - size_of::<u64>()) as u64;
        self.0[start..start + size_of::<u64>()].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_flipped_bit_changes_the_checksum() {
        let mut body = vec![7; 100];
        let sum = checksum(&body);
        // A step that has no divisor in common with 8 visits every bit position of a byte.
        for bit in (0..body.len() * 8).step_by(if cfg!(miri) { 31 } else { 1 }) {
            body[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&body), sum, "bit {bit}");
            body[bit / 8] ^= 1 << (bit % 8);
        }
        body.push(0);
        assert_ne!(checksum(&body), sum, "the length counts");
    }
}
