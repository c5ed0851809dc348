//! The timeline as a file for trace viewers.

use std::fmt::Write;

use super::run::Schedule;

impl Schedule {
    /// Returns the timeline of the last runs as JSON in the trace event format that
    /// [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` show. There is a row for each thread of
    /// the pool; the caller of [`run`](Self::run) is last. Each event names its tick.
    ///
    /// It contains the newest 4096 systems and sync points of each thread. It requires the feature
    /// `timeline`, which costs two clock reads per system.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn think() {}
    /// let mut world = World::new();
    /// let mut schedule = Schedule::builder().add(think).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// let json = schedule.trace_json();
    /// assert!(json.starts_with(r#"{"displayTimeUnit":"ns","traceEvents":["#));
    /// assert!(json.contains(r#"think","cat":"system","ph":"X""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trace_json(&self) -> String {
        let mut json = String::from(r#"{"displayTimeUnit":"ns","traceEvents":["#);
        let mut track_count = 0;
        let mut separator = "";
        self.timeline.for_each(|track, record| {
            track_count = track_count.max(track + 1);
            let (name, category) = match record.node {
                Some(node) => (&*self.nodes[node].info.name, "system"),
                None => ("sync point", "sync"),
            };
            json.push_str(separator);
            json.push_str(r#"{"name":"#);
            push_string(&mut json, name);
            let (from, took) = (record.from_ns, record.to_ns.saturating_sub(record.from_ns));
            // The format uses microseconds.
            _ = write!(
                json,
                r#","cat":"{category}","ph":"X","pid":1,"tid":{track},"ts":{}.{:03},"dur":{}.{:03},"args":{{"tick":{}}}}}"#,
                from / 1000,
                from % 1000,
                took / 1000,
                took % 1000,
                record.tick
            );
            separator = ",";
        });
        for track in 0..track_count {
            _ = write!(
                json,
                r#"{separator}{{"name":"thread_name","ph":"M","pid":1,"tid":{track},"args":{{"name":"thread {track}"}}}}"#
            );
        }
        json.push_str("]}");
        json
    }
}

/// Appends a string with its quotes.
fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                json.push('\\');
                json.push(character);
            }
            control if control < ' ' => _ = write!(json, "\\u{:04x}", u32::from(control)),
            other => json.push(other),
        }
    }
    json.push('"');
}
