//! Entity names as people write them.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use formic_ecs::Entity;

/// An entity by its number: `12`, or `12v3` to select one of the entities that have had the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityName {
    /// The number.
    pub index: u32,
    /// The generation, if one was named.
    pub generation: Option<NonZeroU32>,
}

impl EntityName {
    /// Whether the name refers to this entity.
    #[must_use]
    pub fn is_of(self, entity: Entity) -> bool {
        let is_it = |generation: NonZeroU32| generation.get() == entity.generation();
        self.index == entity.index() && self.generation.is_none_or(is_it)
    }

    /// Returns the handle, if the name has a generation.
    #[must_use]
    pub fn handle(self) -> Option<Entity> {
        Entity::from_bits(u64::from(self.generation?.get()) << 32 | u64::from(self.index))
    }
}

impl fmt::Display for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.index)?;
        self.generation.map_or(Ok(()), |generation| write!(f, "v{generation}"))
    }
}

impl FromStr for EntityName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (index, generation) = match text.split_once('v') {
            Some((index, generation)) => (index, generation.parse().map(Some)),
            None => (text, Ok(None)),
        };
        match (index.parse(), generation) {
            (Ok(index), Ok(generation)) => Ok(Self { index, generation }),
            _ => Err(format!("{text} is no entity: name one by its number, such as 12 or 12v3")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_a_number_with_or_without_its_generation() {
        let parse = |text: &str| text.parse::<EntityName>();
        let name =
            |index, generation| EntityName { index, generation: NonZeroU32::new(generation) };
        assert_eq!(parse("12"), Ok(name(12, 0)));
        assert_eq!(parse("12v3"), Ok(name(12, 3)));
        let entity = name(12, 3).handle().expect("it has a generation");
        assert_eq!((entity.to_string(), name(12, 3).to_string()), ("12v3".into(), "12v3".into()));
        assert!(name(12, 0).is_of(entity) && name(12, 3).is_of(entity));
        assert!(!name(12, 4).is_of(entity) && !name(11, 0).is_of(entity));
        for bad in ["", "v", "12v", "v1", "-1", "4294967296", "1v1v1", "1v0", "cat"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
