//! Hooks of the host at the start and end of each job and system.

use crate::panic_slot::never_unwinding;

type Hook = dyn Fn(&str) + Send + Sync;

/// The hooks of [`PoolBuilder::on_span`](crate::PoolBuilder::on_span).
pub(crate) struct Spans {
    begin: Box<Hook>,
    end: Box<Hook>,
}

debug_fields!([] Spans:);

impl Spans {
    pub(crate) fn new(
        begin: impl Fn(&str) + Send + Sync + 'static,
        end: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { begin: Box::new(begin), end: Box::new(end) }
    }

    /// Begins a span, which ends when the result is dropped.
    pub(crate) fn open<'a>(&'a self, name: &'a str) -> OpenSpan<'a> {
        never_unwinding(|| (self.begin)(name));
        OpenSpan { spans: self, name }
    }
}

/// A span that has not ended.
#[derive(Debug)]
pub(crate) struct OpenSpan<'a> {
    spans: &'a Spans,
    name: &'a str,
}

impl Drop for OpenSpan<'_> {
    fn drop(&mut self) {
        never_unwinding(|| (self.spans.end)(self.name));
    }
}
