//! Gates: jobs whose dependencies are named later.

use crate::handles::{Diary, fail, host, payload_of};
use crate::support::{pool, pools, wait_until, within};
use formic_jobs::{Gate, JobError, JobHandle, Pool, Threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_job_behind_a_gate_waits_for_what_is_named_when_it_is_opened() {
    within(Duration::from_secs(20), || {
        for pool in pools().chain([host()]) {
            let diary = Diary::default();
            for others in 0..7 {
                let gate = pool.gate();
                let last = pool.after(&[gate.handle()]).schedule(diary.entry(9));
                assert!(!pool.try_run_one() && !pool.is_done(gate.handle()));
                let late = pool.complete_for(last, Duration::from_millis(1));
                assert!(matches!(late, Err(JobError::TimedOut)));
                let before: Vec<_> =
                    (0..others).map(|_| pool.on_main().schedule(diary.entry(1))).collect();
                gate.open_after(&before);
                pool.complete(last);
                assert_eq!(
                    std::mem::take(&mut *diary.0.lock().unwrap()),
                    [vec![1; others], vec![9]].concat()
                );
            }
            pool.flush();
        }
    });
}

#[test]
fn a_thread_that_waits_behind_a_gate_runs_what_it_is_opened_after() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(host());
        let gate = pool.gate();
        let last = pool.after(&[gate.handle()]).schedule(|| ());
        let inside = Arc::clone(&pool);
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            // No thread but the one that waits runs these.
            let before = [(); 9].map(|()| inside.schedule(|| ()));
            gate.open_after(&before);
        });
        pool.complete(last);
        opener.join().unwrap();
    });
}

#[test]
fn a_gate_that_is_dropped_or_cancelled_cancels_the_jobs_after_it_and_one_that_was_opened_does_not()
{
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let pool = Arc::new(pool);
            let has_failed = |job| match pool.try_complete(job) {
                Ok(()) => false,
                Err(JobError::Failed(panic)) => {
                    assert!(panic.take_payload().is_none());
                    true
                }
                Err(other) => panic!("{other}"),
            };
            let gate = pool.gate();
            let after = pool.after(&[gate.handle()]).schedule(|| unreachable!("it is not opened"));
            drop(gate);
            assert!(has_failed(after));

            let gate = pool.gate();
            let after = pool.after(&[gate.handle()]).schedule(|| unreachable!("it is cancelled"));
            pool.cancel(gate.handle());
            gate.open_after(&[]);
            assert!(has_failed(after));

            // A failure that comes by a gate.
            let (gate, failing) = (pool.gate(), pool.schedule(fail("first")));
            let after = pool.after(&[gate.handle()]).schedule(|| unreachable!("one has failed"));
            gate.open_after(&[failing]);
            let Err(JobError::Failed(panic)) = pool.try_complete(after) else {
                panic!("it failed")
            };
            assert!(panic.take_payload().is_some());

            // From inside a job, and by the other pool.
            let gate = pool.gate();
            let after = pool.after(&[gate.handle()]).schedule(|| ());
            pool.schedule(move || gate.open_after(&[]));
            assert!(!has_failed(after));
            let stranger = Pool::new(Threads::None).unwrap().schedule(|| ());
            let gate = pool.gate();
            let after = pool.after(&[gate.handle()]).schedule(|| unreachable!("it panicked"));
            let said = payload_of(|| gate.open_after(&[stranger]));
            assert_eq!(said.as_deref(), Some("a handle is of another pool"));
            assert!(has_failed(after));
            pool.flush();
        }
    });
}

#[test]
fn a_gate_may_outlive_its_pool() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(1));
        let (gate, inside) = (pool.gate(), Arc::clone(&pool));
        let owned = Arc::new(());
        let after = Arc::clone(&owned);
        pool.after(&[gate.handle()]).schedule(move || drop(after));
        // A job drops the last reference: nothing is waited for.
        let go = Arc::new(AtomicBool::new(false));
        let is_alone = Arc::clone(&go);
        pool.schedule(move || {
            wait_until(|| is_alone.load(Ordering::SeqCst));
            drop(inside);
        });
        drop(pool);
        go.store(true, Ordering::SeqCst);
        wait_until(|| Arc::strong_count(&owned) == 1);
        gate.open_after(&[]);
    });
}

#[cfg(debug_assertions)]
#[test]
fn a_gate_that_is_opened_after_what_waits_for_it_is_found() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let behind = |gate: &Gate| {
                let first = pool.after(&[gate.handle()]).schedule(|| unreachable!("a cycle"));
                pool.after(&[first]).schedule(|| unreachable!("a cycle"))
            };
            let said = |gate: Gate, after: &[JobHandle]| {
                let text = payload_of(|| gate.open_after(after)).expect("it has no end");
                assert!(text.starts_with("a wait without an end: "), "{text}");
            };
            let gate = pool.gate();
            let itself = gate.handle();
            said(gate, &[itself]);
            let gate = pool.gate();
            let last = behind(&gate);
            said(gate, &[last, pool.schedule(|| ())]);
            assert!(pool.try_complete(last).is_err(), "the gate was cancelled");
            let (one, other) = (pool.gate(), pool.gate());
            let handles = [one.handle(), other.handle()];
            one.open_after(&handles[1..]);
            said(other, &handles[..1]);
            assert!(pool.try_complete(handles[0]).is_err());
            pool.flush();
        }
    });
}

#[test]
fn without_threads_what_is_behind_a_gate_that_is_dropped_goes_at_once() {
    let pool = pool(0);
    let owned = Arc::new(());
    let inside = Arc::clone(&owned);
    let gate = pool.gate();
    let after = pool.after(&[gate.handle()]).schedule(move || drop(inside));
    drop(gate);
    assert!(pool.is_done(after) && Arc::strong_count(&owned) == 1);
}
