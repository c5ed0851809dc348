//! A list that grows without moving more than a few of its elements.

use std::ops::{Index, IndexMut};

const CHUNK_LEN: usize = 1024;

/// A list in chunks, of which only the first one grows by moving its elements. A vector that doubles
/// would copy megabytes in the one edit that needs one more element.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T> {
    /// All but the last are full.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: vec![Vec::new()] }
    }
}

impl<T> Chunks<T> {
    pub(crate) fn len(&self) -> usize {
        (self.chunks.len() - 1) * CHUNK_LEN + self.chunks.last().map_or(0, Vec::len)
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK_LEN) {
            self.chunks.push(Vec::with_capacity(CHUNK_LEN));
        }
        self.chunks.last_mut().expect("there is one").push(value);
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.chunks.get(place / CHUNK_LEN)?.get(place % CHUNK_LEN)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }
}

impl<T> Index<usize> for Chunks<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        &self.chunks[place / CHUNK_LEN][place % CHUNK_LEN]
    }
}

impl<T> IndexMut<usize> for Chunks<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.chunks[place / CHUNK_LEN][place % CHUNK_LEN]
    }
}
