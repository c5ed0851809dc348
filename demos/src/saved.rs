//! Numbers as what is saved of a demo's resources.

use formic_ecs::{Codec, CodecError};

/// A list of numbers, each in eight bytes.
#[must_use]
pub fn numbers() -> Codec<Vec<u64>> {
    Codec::custom(
        |numbers, bytes| {
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            Ok(())
        },
        |bytes| {
            let numbers = bytes.chunks(8).map(|chunk| chunk.try_into().map(u64::from_le_bytes));
            let numbers = numbers.collect::<Result<_, _>>().map_err(|_| CodecError)?;
            *bytes = &[];
            Ok(numbers)
        },
    )
}

/// Numbers that are taken one after the other; 0 where there is none left.
#[derive(Debug)]
pub struct Numbers(std::vec::IntoIter<u64>);

impl Numbers {
    /// All of these.
    #[must_use]
    pub fn of(numbers: Vec<u64>) -> Self {
        Self(numbers.into_iter())
    }

    /// The next one.
    pub fn number(&mut self) -> u64 {
        self.0.next().unwrap_or_default()
    }

    /// The next one, if it is of this type.
    pub fn small<T: TryFrom<u64> + Default>(&mut self) -> T {
        T::try_from(self.number()).unwrap_or_default()
    }

    /// The next two numbers of a place.
    pub fn place(&mut self) -> glam::Vec2 {
        let [x, y] = [self.small::<u32>(), self.small::<u32>()].map(f32::from_bits);
        glam::Vec2::new(x, y)
    }

    /// As many things as the next number says, and no more than there are numbers.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = usize::try_from(self.number()).unwrap_or_default().min(self.0.len());
        (0..count).map(|_| one(self)).collect()
    }
}

/// A place as two numbers.
#[must_use]
pub fn place(place: glam::Vec2) -> [u64; 2] {
    place.to_array().map(|number| number.to_bits().into())
}
