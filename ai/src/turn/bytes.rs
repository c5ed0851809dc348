//! Numbers and handles as bytes, for what is saved of turns.

use formic_ecs::Entity;

pub(super) fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

pub(super) fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Bytes that are read from the front; `None` where there are too few, or they make no sense.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    pub(super) fn entity(&mut self) -> Option<Entity> {
        Entity::from_bits(self.number()?)
    }

    pub(super) fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.size()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// As many things as the next number says. The number is not believed: each takes a byte at least.
    pub(super) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.size().filter(|&count| count <= self.0.len())?;
        (0..count).map(|_| one(self)).collect()
    }
}
