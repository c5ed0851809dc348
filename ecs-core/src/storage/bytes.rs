//! Moving the few bytes of one value.
#![expect(unsafe_code, reason = "copies bytes between rows")]

use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// Copies the `size` bytes of a value. For the usual sizes it is some loads and as many stores,
/// where a call of `memcpy` costs more than the copy itself.
///
/// # Safety
/// `source` may be read and `target` written for `size` bytes, and the two do not overlap: such are
/// two rows of columns whose values have this size (I-3), or one and a local as large.
#[inline(always)]
pub(super) unsafe fn copy(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    // The usual sizes come first.
    match size {
        // SAFETY: the caller vouches for both, as for rows of this size (I-3); both ends lie in the
        // `size` bytes.
        8..=16 => unsafe { copy_ends::<u64>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        4..=7 => unsafe { copy_ends::<u32>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        17..=32 => unsafe { copy_ends::<u128>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        33..=64 => unsafe { copy_halves(source, target, size) },
        0 => {}
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        1 => unsafe { copy_ends::<u8>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        2..=3 => unsafe { copy_ends::<u16>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        _ => unsafe { target.copy_from_nonoverlapping(source, size) },
    }
}

/// Swaps the `size` bytes of two values.
///
/// # Safety
/// Both may be read and written for `size` bytes, and do not overlap: such are two rows of columns
/// whose values have this size (I-3).
#[inline]
pub(super) unsafe fn swap(a: NonNull<u8>, b: NonNull<u8>, size: usize) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER_BYTES];
    if size > BUFFER_BYTES {
        // SAFETY: the caller vouches for both, as for two rows of this size (I-3).
        unsafe { core::ptr::swap_nonoverlapping(a.as_ptr(), b.as_ptr(), size) };
        return;
    }
    let buffer = NonNull::from(&mut buffer).cast();
    // SAFETY: the caller vouches for `a`, as for a row of this size (I-3); the buffer is a local as
    // large.
    unsafe { copy(a, buffer, size) };
    // SAFETY: the caller vouches for both, as for two rows of this size (I-3).
    unsafe { copy(b, a, size) };
    // SAFETY: the caller vouches for `b`, as for a row of this size (I-3); the buffer was just
    // filled.
    unsafe { copy(buffer, b, size) };
}

/// Values up to this size are swapped by way of a local.
const BUFFER_BYTES: usize = 64;

/// Copies the first and the last bytes, as many as a `T` has, which may overlap.
///
/// # Safety
/// As for [`copy`], and `size` is between one and two times that of `T`.
#[inline(always)]
unsafe fn copy_ends<T>(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!(size >= size_of::<T>() && size <= 2 * size_of::<T>());
    let end = size - size_of::<T>();
    // SAFETY: `end` is below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let source_end = unsafe { source.add(end) };
    // SAFETY: `end` is below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let target_end = unsafe { target.add(end) };
    // Padding is copied as what it is. Both loads come first, so that they need not wait for the
    // stores.
    // SAFETY: the caller vouches for bytes that may be read, as of a row (I-3); no alignment is
    // asked.
    let first = unsafe { source.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the last of the bytes that may be read (I-3, see # Safety); no alignment is asked.
    let last = unsafe { source_end.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the caller vouches for bytes that may be written, as of a row (I-3); no alignment is
    // asked.
    unsafe { target.cast::<MaybeUninit<T>>().write_unaligned(first) };
    // SAFETY: the last of the bytes that may be written (I-3, see # Safety); no alignment is asked.
    unsafe { target_end.cast::<MaybeUninit<T>>().write_unaligned(last) };
}

/// Copies the first and the last 32 bytes, which may overlap.
///
/// # Safety
/// As for [`copy`], and `size` is between 32 and 64.
#[inline(always)]
unsafe fn copy_halves(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!((32..=64).contains(&size));
    // SAFETY: the first 32 of the bytes that the caller vouches for, as of rows (I-3).
    unsafe { copy_ends::<u128>(source, target, 32) };
    // SAFETY: below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let source = unsafe { source.add(size - 32) };
    // SAFETY: below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let target = unsafe { target.add(size - 32) };
    // SAFETY: the last 32 of the bytes that the caller vouches for, as of rows (I-3).
    unsafe { copy_ends::<u128>(source, target, 32) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_size_is_copied_whole_and_nothing_else() {
        let source: Vec<u8> = (1..=100).collect();
        for size in 0..=64 {
            let mut target = [0_u8; 100];
            let from = NonNull::from(&source[3..3 + size]).cast();
            let to = NonNull::from(&mut target[5..5 + size]).cast();
            // SAFETY: both slices have so many bytes and belong to different arrays.
            unsafe { copy(from, to, size) };
            assert_eq!(target[5..5 + size], source[3..3 + size]);
            assert!(target[..5].iter().chain(&target[5 + size..]).all(|&byte| byte == 0));
        }
    }

    #[test]
    fn every_size_is_swapped_whole_and_nothing_else() {
        for size in 0..=BUFFER_BYTES + 3 {
            let (mut a, mut b) = ([1_u8; 80], [2_u8; 80]);
            let (from, to) = (NonNull::from(&mut a[3..]).cast(), NonNull::from(&mut b[5..]).cast());
            // SAFETY: both slices have more bytes than that and belong to different arrays.
            unsafe { swap(from, to, size) };
            assert!(a[3..3 + size].iter().all(|&byte| byte == 2));
            assert!(b[5..5 + size].iter().all(|&byte| byte == 1));
            assert_eq!(a.iter().filter(|&&byte| byte == 2).count(), size);
            assert_eq!(b.iter().filter(|&&byte| byte == 1).count(), size);
        }
    }
}
