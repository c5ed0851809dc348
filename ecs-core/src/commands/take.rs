//! Taking the commands out of a buffer, each once.
#![expect(unsafe_code, reason = "brings payloads and the arena that they are in together")]

use super::erased::Held;
use super::{Action, CommandBuffer};

impl CommandBuffer {
    /// Takes a command out of its record, which forgets it (C-1).
    #[inline]
    pub(super) fn take(&mut self, record: usize) -> Action<Held<'_>> {
        // SAFETY: the record is of the buffer that the arena is of, and forgets the payload below
        // (C-1).
        let hold = |payload| unsafe { Held::new(payload, &self.arena) };
        match core::mem::replace(&mut self.records[record].action, Action::Taken) {
            Action::Spawn(payload) => Action::Spawn(hold(payload)),
            Action::Insert(payload) => Action::Insert(hold(payload)),
            Action::Remove(functions) => Action::Remove(functions),
            Action::SetEnabled(functions, enabled) => Action::SetEnabled(functions, enabled),
            Action::Despawn => Action::Despawn,
            Action::Call(number) => Action::Call(number),
            Action::Taken => Action::Taken,
        }
    }

    /// Moves the commands of another buffer behind those here.
    pub(super) fn append_records(&mut self, other: &mut Self) {
        // All memory first: should there be none, every payload is still where its record says.
        self.records.reserve(other.records.len());
        self.deferred.append(&mut other.deferred);
        let call_shift = self.calls.append(&mut other.calls);
        // Last of what may panic: no payload may be elsewhere than its record says (C-1).
        let shift = self.arena.append(&mut other.arena);
        for mut record in other.records.drain(..) {
            match &mut record.action {
                Action::Spawn(payload) | Action::Insert(payload) => payload.shift(shift),
                Action::Call(number) => *number += call_shift,
                _ => {}
            }
            self.records.push(record);
        }
    }

    /// Replaces the deferred entities in all payloads by what they are.
    pub(super) fn map_entities(&mut self) {
        let Self { records, arena, deferred, .. } = self;
        for record in records {
            // Should the mapping panic, the payload is gone: its record does not have it meanwhile.
            let action = core::mem::replace(&mut record.action, Action::Taken);
            if let Action::Spawn(payload) | Action::Insert(payload) = &action {
                // SAFETY: the record is of the buffer that the arena is of, and does not have the
                // payload meanwhile (C-1).
                unsafe { payload.map_entities(arena, &mut |entity| deferred.resolve(entity)) };
            }
            record.action = action;
        }
    }
}

/// Empties a buffer and drops all payloads, the others too should one panic.
pub(super) fn drop_all(buffer: &mut CommandBuffer) {
    struct Rest<'a> {
        buffer: &'a mut CommandBuffer,
        next: usize,
    }

    impl Rest<'_> {
        fn run(&mut self) {
            while self.next < self.buffer.records.len() {
                self.next += 1;
                drop(self.buffer.take(self.next - 1));
            }
            self.buffer.reset();
        }
    }

    impl Drop for Rest<'_> {
        fn drop(&mut self) {
            self.run();
        }
    }

    Rest { buffer, next: 0 }.run();
}
