//! `Debug` of types that hold what has none, such as closures.

/// Implements `Debug` as the name of a type and some of its fields, or what is told of them.
macro_rules! debug_fields {
    (
        [$($generics:tt)*] $name:ident $(<$($argument:tt),*>)?:
        $($field:ident),* $(; $told:ident = |$it:ident| $tell:expr)?
    ) => {
        impl<$($generics)*> std::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    $(.field(stringify!($told), &{
                        let $it = self;
                        $tell
                    }))?
                    .finish_non_exhaustive()
            }
        }
    };
}
