//! The search: answers path requests, many at a time and within a budget.
//!
//! Requests are answered in an order that depends on the world alone: those that
//! have waited longest first, of equals by entity. They go through in batches;
//! the searches of a batch run on all threads, each with its own scratch, and
//! the answers are handed out in order. What a batch holds depends on what the
//! batches before have cost and never on threads, and so does everything else.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod batch;

use std::cmp::Reverse;

use ecs_core::{EnabledMut, Entity, With};
use ecs_jobs::{Local, Pool, Query, Res, ResMut};

use crate::agent::{Position, Tally};
use crate::cell::Cell;
use crate::path::outcome::{PathOutcome, Unreachable};
use crate::request::{PathRequest, RequestStatus, Route, Unanswered};
use crate::search::batch::{Estimate, Job, Searchers};
use crate::terrain::Terrain;

/// The most requests in a batch. A constant, because the results depend on it
/// and must not depend on the machine.
const BATCH_LEN_MAX: usize = 64;

/// How much searching a tick may do. A resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchBudget {
    /// Cells to expand per tick, in all searches together.
    ///
    /// A search that has begun is brought to its end, so a tick may go over this
    /// by as much as its last batch was underestimated. At least one request is
    /// answered in every tick, so each is answered in the end.
    pub expansions: u64,
}

impl Default for SearchBudget {
    /// A few milliseconds on one thread.
    fn default() -> Self {
        Self { expansions: 50_000 }
    }
}

/// What searching has cost so far. A resource, written by [`search`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchReport {
    /// Requests answered, with a path or a reason.
    pub answers: u64,
    /// Cells expanded.
    pub expansions: u64,
    /// Requests that the budget passed over in the last tick.
    pub waiting: u64,
    /// The most cells expanded in one tick.
    pub expansions_max: u64,
}

/// What the search keeps from tick to tick.
#[derive(Debug, Default)]
pub struct SearchState {
    tickets: Vec<Ticket>,
    searchers: Searchers,
    estimate: Estimate,
}

/// A request in the queue.
#[derive(Debug)]
struct Ticket {
    waited_ticks: u16,
    entity: Entity,
    start: Option<Cell>,
    goal: Option<Cell>,
}

/// The requests that wait, and where their answers go.
type Requests<'a> = Query<
    'a,
    (
        Entity,
        &'static Position,
        &'static mut PathRequest,
        &'static mut Route,
        &'static mut Tally,
        EnabledMut<Unanswered>,
    ),
    With<Unanswered>,
>;

/// Answers as many pending requests as the budget allows.
pub fn search(
    mut requests: Requests,
    terrain: Res<Terrain>,
    budget: Res<SearchBudget>,
    mut report: ResMut<SearchReport>,
    mut state: Local<SearchState>,
    pool: &Pool,
) {
    let SearchState { tickets, searchers, estimate } = &mut *state;
    queue(&mut requests, tickets);
    let mut spent = 0;
    let mut answered = 0;
    while answered < tickets.len() && (answered == 0 || spent < budget.expansions) {
        let left = budget.expansions.saturating_sub(spent);
        let batch = batch_of(&tickets[answered..], estimate, left);
        let jobs = searchers.solve(pool, &terrain, batch.iter().map(Ticket::job));
        for job in jobs {
            spent += job.expansions;
            estimate.learn(job.distance(), job.expansions);
            deliver(&mut requests, job);
        }
        answered += batch.len();
    }
    for ticket in &tickets[answered..] {
        if let Ok((_, _, request, ..)) = requests.get(ticket.entity) {
            request.pass_over();
        }
    }
    report.answers += answered as u64;
    report.expansions += spent;
    report.expansions_max = report.expansions_max.max(spent);
    report.waiting = (tickets.len() - answered) as u64;
}

/// Lists the requests that wait, in the order in which they will be answered.
fn queue(requests: &mut Requests, tickets: &mut Vec<Ticket>) {
    tickets.clear();
    requests.for_each(|(entity, position, request, _, _, mut unanswered)| {
        if request.status() != RequestStatus::Pending {
            // Fresh agents, and requests that were taken back.
            unanswered.set(false);
            return;
        }
        let goal = Cell::containing(request.last_goal());
        let waited_ticks = request.waited_ticks();
        tickets.push(Ticket { waited_ticks, entity, start: position.cell(), goal });
    });
    tickets.sort_unstable_by_key(|ticket| (Reverse(ticket.waited_ticks), ticket.entity.to_bits()));
}

/// The first of these tickets, as many as are likely to stay within the budget,
/// and at least one.
fn batch_of<'a>(tickets: &'a [Ticket], estimate: &Estimate, budget: u64) -> &'a [Ticket] {
    let mut sum = 0;
    let fits = |ticket: &&Ticket| {
        sum += estimate.expansions(ticket.job().distance());
        sum <= budget
    };
    let count = tickets.iter().take(BATCH_LEN_MAX).take_while(fits).count();
    &tickets[..count.max(1)]
}

impl Ticket {
    fn job(&self) -> Job {
        Job::new(self.entity, self.start, self.goal)
    }
}

/// Hands an answer to the agent that asked. The path that it had goes into the
/// job, whose memory it will be.
fn deliver(requests: &mut Requests, job: &mut Job) {
    // The entity was in the query when the queue was made, and nothing else has
    // touched it since.
    let Ok((_, _, request, route, tally, mut unanswered)) = requests.get(job.entity) else {
        return;
    };
    unanswered.set(false);
    match job.outcome {
        PathOutcome::Found { .. } => {
            route.begin(&mut job.path);
            request.found();
            tally.paths_found += 1;
        }
        PathOutcome::Unreachable(reason) => refuse(request, tally, reason),
        PathOutcome::Partial { .. } => unreachable!("searches are for the goal itself"),
        PathOutcome::OutOfBudget => unreachable!("searches run to their end"),
    }
}

fn refuse(request: &mut PathRequest, tally: &mut Tally, reason: Unreachable) {
    request.unreachable(reason);
    tally.paths_unreachable += 1;
}
