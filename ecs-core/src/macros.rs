//! Macros: `Debug` for types whose fields lack it, `Copy` for generic types, the texts and conversions of
//! errors, and the list of tuples.

/// Implements `Debug` as the name of a type and some of its fields, or a value computed from them. For
/// the crates above this one; it is no part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    (
        [$($generics:tt)*] $name:ident $(<$($argument:tt),*>)?:
        $($field:ident),* $(; $computed:ident = |$it:ident| $value:expr)?
    ) => {
        impl<$($generics)*> core::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    $(.field(stringify!($computed), &{
                        let $it = self;
                        $value
                    }))?
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Implements `Copy` for a generic type, whatever its parameters are; `derive` would require `Copy` of
/// them. This macro and the next four are also for the crates above.
#[doc(hidden)]
#[macro_export]
macro_rules! copied {
    ([$($generics:tt)*] $name:ident <$($argument:tt),*>) => {
        impl<$($generics)*> Clone for $name<$($argument),*> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics)*> Copy for $name<$($argument),*> {}
    };
}

/// Implements `From` for an error that is one of the cases of another.
#[doc(hidden)]
#[macro_export]
macro_rules! from_error {
    ($inner:ident => $outer:ident::$case:ident) => {
        impl From<$inner> for $outer {
            fn from(error: $inner) -> Self {
                Self::$case(error)
            }
        }
    };
}

/// Implements `Debug` for errors as their text, which is what `main` and `unwrap` print.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_text {
    ($($name:ident),*) => {
        $(impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        })*
    };
}

/// Implements `Display` by a text for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! display_text {
    ($name:ident: $($case:pat => $text:literal $(, $argument:expr)*;)*) => {
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($case => write!(f, $text $(, $argument)*),)*
                }
            }
        }
    };
}

/// Implements `Error`, and `Display` and `Debug` by a text for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! error_text {
    ($name:ident: $($cases:tt)*) => {
        impl core::error::Error for $name {}

        debug_as_text!($name);

        display_text! { $name: $($cases)* }
    };
}

/// Calls a macro for every tuple of one to twelve members, with a type parameter and a variable for each
/// member. The empty tuple is written out where it is needed.
macro_rules! for_each_tuple {
    ($macro:ident) => {
        $macro!((A a));
        $macro!((A a), (B b));
        $macro!((A a), (B b), (C c));
        $macro!((A a), (B b), (C c), (D d));
        $macro!((A a), (B b), (C c), (D d), (E e));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h), (I i));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h), (I i), (J j));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h), (I i), (J j), (K k));
        $macro!((A a), (B b), (C c), (D d), (E e), (F f), (G g), (H h), (I i), (J j), (K k), (L l));
    };
}
