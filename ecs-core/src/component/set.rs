//! A set of component types: what makes an archetype.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ComponentId;

/// Component ids in increasing order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ComponentSet(Box<[ComponentId]>);

impl ComponentSet {
    /// The set of these ids, which may come in any order and more than once.
    pub(crate) fn new(mut ids: Vec<ComponentId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self(ids.into_boxed_slice())
    }

    /// The ids in increasing order.
    #[must_use]
    pub fn ids(&self) -> &[ComponentId] {
        &self.0
    }

    /// The place of this id in the order, if it is in the set.
    pub(crate) fn position(&self, id: ComponentId) -> Option<usize> {
        // The usual set has a handful of members, where a scan beats the binary search.
        if self.0.len() <= 8 {
            self.0.iter().position(|&mine| mine == id)
        } else {
            self.0.binary_search(&id).ok()
        }
    }

    /// Whether this id is in the set.
    #[must_use]
    pub fn contains(&self, id: ComponentId) -> bool {
        self.position(id).is_some()
    }

    /// This set and these ids.
    pub(crate) fn with(&self, added: &[ComponentId]) -> Self {
        Self::new(self.0.iter().chain(added).copied().collect())
    }

    /// This set less these ids.
    pub(crate) fn without(&self, removed: &[ComponentId]) -> Self {
        Self(self.0.iter().copied().filter(|id| !removed.contains(id)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn order_and_repetition_do_not_make_another_set() {
        let ids = |numbers: &[u32]| numbers.iter().copied().map(ComponentId).collect::<Vec<_>>();
        let set = ComponentSet::new(ids(&[3, 1, 2, 1]));
        assert_eq!(set, ComponentSet::new(ids(&[1, 2, 3])));
        assert_eq!(set.with(&ids(&[2, 4])).ids(), ids(&[1, 2, 3, 4]));
        assert_eq!(set.without(&ids(&[2, 9])).ids(), ids(&[1, 3]));
        assert_eq!(ComponentSet::new(vec![]), ComponentSet::default());
        let large = ComponentSet::new((0..40).map(|i| ComponentId(i * 2)).collect());
        assert_eq!(large.position(ComponentId(20)), Some(10));
        assert!(!large.contains(ComponentId(21)));
    }
}
