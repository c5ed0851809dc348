//! Values as bytes, for what is saved with a game.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use formic_ecs::{Codec, CodecError, Entity};

pub(crate) type Saved<T> = Result<T, CodecError>;

/// A value that is written as bytes and read back.
pub(crate) trait Bytes: Sized {
    fn write(&self, out: &mut Vec<u8>);

    /// Takes the bytes of a value off the front.
    fn read(bytes: &mut &[u8]) -> Saved<Self>;
}

/// The codec of a type.
pub(crate) const fn codec<T: Bytes>() -> Codec<T> {
    Codec::custom(
        |value, out| {
            value.write(out);
            Ok(())
        },
        T::read,
    )
}

/// Fails unless what was read makes sense.
pub(crate) fn ensure(holds: bool) -> Saved<()> {
    if holds { Ok(()) } else { Err(CodecError) }
}

/// Whether no number occurs twice.
pub(crate) fn is_set(numbers: &[u32]) -> bool {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.windows(2).all(|pair| pair[0] != pair[1])
}

/// Takes `N` bytes off the front.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Saved<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
    *bytes = rest;
    Ok(*first)
}

/// Implements [`Bytes`] for a struct, field by field, with values for those that are not saved. (It
/// names no path, so its users import what it names.)
macro_rules! bytes_by_field {
    ($name:ident { $($field:ident),+ $(; $($other:ident: $value:expr),+)? }) => {
        impl Bytes for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)+
            }

            fn read(bytes: &mut &[u8]) -> Saved<Self> {
                $(let $field = Bytes::read(bytes)?;)+
                Ok(Self { $($field,)+ $($($other: $value,)+)? })
            }
        }
    };
}
pub(crate) use bytes_by_field;

macro_rules! bytes_of_numbers {
    ($($number:ident)+) => {
        $(impl Bytes for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Saved<Self> {
                Ok(Self::from_le_bytes(take(bytes)?))
            }
        })+
    };
}
bytes_of_numbers!(u8 u16 u32 u64 i32);

/// Implements [`Bytes`] for a type by another one: how to come to that, and back.
macro_rules! bytes_as {
    ($name:ty as $other:ty, $there:expr, $back:expr) => {
        impl Bytes for $name {
            fn write(&self, out: &mut Vec<u8>) {
                let there: fn(&Self) -> $other = $there;
                there(self).write(out);
            }

            fn read(bytes: &mut &[u8]) -> Saved<Self> {
                let back: fn($other) -> Option<Self> = $back;
                back(Bytes::read(bytes)?).ok_or(CodecError)
            }
        }
    };
}
pub(crate) use bytes_as;

bytes_as!(usize as u64, |it| *it as u64, |it| it.try_into().ok());
bytes_as!(bool as u8, |it| (*it).into(), |it| (it <= 1).then_some(it == 1));
bytes_as!(NonZeroU32 as u32, |it| it.get(), Self::new);
bytes_as!(Entity as u64, |it| it.to_bits(), Self::from_bits);

impl<A: Bytes, B: Bytes> Bytes for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        Ok((A::read(bytes)?, B::read(bytes)?))
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        bool::read(bytes)?.then(|| T::read(bytes)).transpose()
    }
}

impl<T: Bytes + Copy + Default, const N: usize> Bytes for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(out));
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let mut values = [T::default(); N];
        for value in &mut values {
            *value = T::read(bytes)?;
        }
        Ok(values)
    }
}

impl<T: Bytes> Bytes for VecDeque<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    /// Takes no more memory than the bytes that are there can fill, whatever the number of values.
    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let count = usize::read(bytes)?;
        (0..count).map(|_| T::read(bytes)).collect()
    }
}

impl<T: Bytes> Bytes for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        VecDeque::read(bytes).map(Self::from)
    }
}
