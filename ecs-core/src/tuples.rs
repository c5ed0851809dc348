//! The one macro that lists the tuples.

/// Calls a macro with a type parameter and a variable for each member of every tuple, from one to
/// twelve members. The empty tuple is written out where it is needed.
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

pub(crate) use for_each_tuple;
