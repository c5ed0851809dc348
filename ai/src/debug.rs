//! [`Debug`](std::fmt::Debug) of types that hold what has none.

/// Implements [`Debug`](std::fmt::Debug) as the name of a type and these of its fields.
macro_rules! debug_fields {
    ([$($generics:tt)*] $name:ident $(<$($argument:tt),*>)?: $($field:ident),*) => {
        impl<$($generics)*> std::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}
