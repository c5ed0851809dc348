//! A program that fails, made shorter.

use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs a program. Where it fails, says a shorter one that does, and panics as the first did.
pub(super) fn run_or_shrink<T: Clone + Debug>(program: &[T], run: fn(&[T])) {
    let run = |program: &[T]| catch_unwind(AssertUnwindSafe(|| run(program)));
    if let Err(panic) = run(program) {
        // The others would fill the screen.
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| ()));
        let shortest = shortest(program, |program| run(program).is_err());
        panic::set_hook(hook);
        eprintln!("the shortest program found that fails: {shortest:#?}");
        resume_unwind(panic);
    }
}

/// The shortest program that still fails and is found by leaving out parts: halves first, then
/// smaller ones, until no single operation can be spared (Zeller and Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input", 2002).
fn shortest<T: Clone>(program: &[T], fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut shortest = program.to_vec();
    let mut size = shortest.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        let mut was_shortened = false;
        while start < shortest.len() {
            let mut shorter = shortest.clone();
            drop(shorter.drain(start..(start + size).min(shortest.len())));
            if fails(&shorter) {
                shortest = shorter;
                was_shortened = true;
            } else {
                start += size;
            }
        }
        // What could not be spared before may be, now that something else is gone.
        if size > 1 || !was_shortened {
            size /= 2;
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_to_blame_is_left_out() {
        let program: Vec<u32> = (0..100).collect();
        let fails = |ops: &[u32]| ops.contains(&17) && ops.contains(&64);
        assert_eq!(shortest(&program, fails), [17, 64]);
    }

    #[test]
    fn what_can_be_spared_only_without_something_else_is_left_out_as_well() {
        // 5 has to stay as long as 9 is there, and 9 as long as 30 is.
        let fails = |ops: &[u32]| {
            let has = |op| ops.contains(&op);
            has(60) && (!has(9) || has(5)) && (!has(30) || has(9))
        };
        assert_eq!(shortest(&(0..80).collect::<Vec<_>>(), fails), [60]);
    }
}
