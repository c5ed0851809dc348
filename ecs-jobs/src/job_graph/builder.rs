//! The builder of a job graph.

use super::{Body, JobGraph};
use crate::pool::Pool;
use crate::static_graph::{Sharing, StaticGraph, cycle, topological_order};
use crate::sync::{Mutex, unique_number};

/// A builder of a graph of jobs; see [`JobGraph`].
///
/// ```
/// use formic_jobs::{JobGraph, Pool, Threads};
/// use std::sync::Mutex;
///
/// let said = Mutex::new(String::new());
/// let say = |letter| { let said = &said; move |_: &Pool| said.lock().unwrap().push(letter) };
/// let mut graph = JobGraph::builder();
/// let first = graph.add("first", &[], say('a'));
/// let last = graph.add("last", &[], say('c'));
/// let between = graph.add("between", &[first], say('b'));
/// graph.order(between, last);
/// graph.build()?.run(&Pool::new(Threads::Own(2))?);
/// assert_eq!(*said.lock().unwrap(), "abc");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JobGraphBuilder<'env> {
    /// The number of this builder, unique in the process.
    number: u64,
    names: Vec<String>,
    bodies: Vec<Body<'env>>,
    successors: Vec<Vec<usize>>,
    sharing: Sharing,
}

debug_fields!([] JobGraphBuilder<'_>:; jobs = |it| &it.names);

/// A job of a graph that is being built, returned by [`JobGraphBuilder::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphJob {
    builder: u64,
    place: usize,
}

/// The reason why a graph of jobs cannot be built.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// Jobs wait for each other in a cycle.
    Cycle {
        /// Their names: each job comes before the next, and the last is the first again.
        jobs: Vec<String>,
    },
}

error_text! { GraphError:
    Self::Cycle { jobs } => "these jobs would wait for each other: {}", jobs.join(" -> ");
}

impl<'env> JobGraphBuilder<'env> {
    pub(super) fn new() -> Self {
        Self {
            number: unique_number(),
            names: Vec::new(),
            bodies: Vec::new(),
            successors: Vec::new(),
            sharing: Sharing::default(),
        }
    }

    /// Adds a job that comes after all of `after`. The name is for messages, and need not be unique.
    ///
    /// # Panics
    ///
    /// Panics if one of `after` is of another graph.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        after: &[GraphJob],
        job: impl FnMut(&Pool) + Send + 'env,
    ) -> GraphJob {
        let place = self.bodies.len();
        let before: Vec<usize> = after.iter().map(|&job| self.place_of(job)).collect();
        self.names.push(name.into());
        self.bodies.push(Box::new(job));
        self.successors.push(Vec::new());
        before.into_iter().for_each(|before| self.successors[before].push(place));
        GraphJob { builder: self.number, place }
    }

    /// Makes `second` start only after `first` has ended. Repeating an order has no effect.
    ///
    /// # Panics
    ///
    /// Panics if one of them is of another graph.
    pub fn order(&mut self, first: GraphJob, second: GraphJob) {
        let (first, second) = (self.place_of(first), self.place_of(second));
        self.successors[first].push(second);
    }

    /// Sets whether jobs are given to several threads; see [`Sharing`]. It affects only speed.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Builds the graph.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Cycle`] if jobs wait for each other.
    pub fn build(mut self) -> Result<JobGraph<'env>, GraphError> {
        for successors in &mut self.successors {
            successors.sort_unstable();
            successors.dedup();
        }
        let row = topological_order(&self.successors);
        if row.len() < self.bodies.len() {
            let cycle = cycle(&self.successors, &row);
            let jobs = cycle.into_iter().map(|job| self.names[job].clone()).collect();
            return Err(GraphError::Cycle { jobs });
        }
        let graph = StaticGraph::new(self.successors, self.sharing);
        Ok(JobGraph {
            names: self.names,
            bodies: self.bodies.into_iter().map(Mutex::new).collect(),
            is_shared: graph.is_worth_a_try(),
            graph,
            row,
            measure_next: false,
            run_count: 0,
        })
    }

    fn place_of(&self, job: GraphJob) -> usize {
        assert_eq!(job.builder, self.number, "a job is of another graph");
        job.place
    }
}
