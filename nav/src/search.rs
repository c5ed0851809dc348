//! The search: answers path requests, many at a time and within a budget.
//!
//! Requests are answered in an order that depends on the world alone: those that
//! have waited longest first, of equals by entity. They go through in batches;
//! the searches of a batch run on all threads, each with its own scratch, and
//! the answers are handed out in order. What a batch holds depends on what the
//! batches before have cost and never on threads, and so does everything else.
//!
//! The budget is exact. Each search of a batch may expand so many cells, all of them
//! together no more than the tick has left. The first one, which gets what the others
//! leave, is interrupted where that is not enough, and goes on in the next batch or
//! tick. Others that have too little begin anew when they are first. Where an edit
//! overtakes an interrupted search, or its agent asks for another goal, it begins anew as
//! well, and is brought to its end in one go, or a map that is edited all the time, or a
//! goal that moves, would never see it end; what that takes beyond the budget is taken
//! off the budgets of the ticks that follow.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod batch;

use std::cmp::Reverse;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, EnabledMut, Entity, HashState, With, World};
use formic_jobs::{Local, Pool, Query, Res, ResMut};

use crate::agent::{PathStats, Position};
use crate::bytes::{get, get_count, put, take};
use crate::cell::Cell;
use crate::check::path_cost;
use crate::follow::walk::{current_cell, leave};
use crate::grid::change::GridVersion;
use crate::path::outcome::PathOutcome;
use crate::request::{PathPending, PathRequest, RequestStatus, Route};
use crate::search::batch::{Estimate, Job, Question, Searchers};
use crate::terrain::Terrain;

/// The most requests in a batch. A constant, because the results depend on it
/// and must not depend on the machine.
const BATCH_LEN_MAX: usize = 64;

/// How much searching a tick may do. A resource.
///
/// Where all cells weigh the same an expansion is a jump point, elsewhere a cell. Ticks
/// spend no more than this, with one exception that is paid back: see
/// [`SearchReport::debt`]. Requests that this passes over wait, and those that have
/// waited longest are answered first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct SearchBudget {
    /// Expansions per tick, in all searches together. Zero pauses the search.
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
    /// Expansions. Looking for the reachable cell nearest to a goal counts as well, one
    /// for sixteen cells.
    pub expansions: u64,
    /// Requests that the budget passed over in the last tick.
    pub waiting: u64,
    /// The most expansions in one tick.
    pub expansions_max: u64,
    /// What was spent beyond the budgets so far and will be taken off the next ones.
    ///
    /// A search that an edit or another goal has overtaken between two ticks is brought to
    /// its end in one go. At any time `expansions` is at most the sum of all budgets plus this.
    pub debt: u64,
    /// How often a search was interrupted, to go on in a later tick.
    pub interruptions: u64,
}

/// What the search keeps from tick to tick.
#[derive(Debug, Default)]
pub struct SearchState {
    tickets: Vec<Ticket>,
    searchers: Searchers,
    estimate: Estimate,
    unfinished: Option<Unfinished>,
    /// Whether what the interrupted search has found is not here, because a game was loaded.
    is_lost: bool,
}

/// A request in the queue.
#[derive(Debug)]
struct Ticket {
    waited_ticks: u16,
    question: Question,
    is_answered: bool,
}

/// The search that was interrupted.
#[derive(Clone, Debug)]
struct Unfinished {
    question: Question,
    version: GridVersion,
    /// What it has cost so far.
    charge: u64,
    /// What it was allowed each time.
    allotments: Vec<u64>,
}

/// What is saved with a game: what searches are likely to cost, and which one was interrupted. What
/// that one has found is found again: it is run again in the same pieces.
pub(crate) struct SavedSearch {
    estimate: Estimate,
    unfinished: Option<Unfinished>,
}

impl SavedSearch {
    pub(crate) const CODEC: Codec<Self> = Codec::custom(
        |saved, out| {
            saved.estimate.write(out);
            out.push(saved.unfinished.is_some().into());
            if let Some(Unfinished { question, version, charge, allotments }) = &saved.unfinished {
                question.write(out);
                version.write(out);
                put(out, *charge);
                put(out, allotments.len() as u64);
                allotments.iter().for_each(|&allotment| put(out, allotment));
            }
            Ok(())
        },
        |bytes| {
            let estimate = Estimate::read(bytes)?;
            let unfinished = match take(bytes)? {
                [0] => None,
                _ => Some(Unfinished {
                    question: Question::read(bytes)?,
                    version: GridVersion::read(bytes)?,
                    charge: get(bytes)?,
                    allotments: {
                        let count = get_count(bytes, 8)?;
                        (0..count).map(|_| get(bytes)).collect::<Result<_, _>>()?
                    },
                }),
            };
            Ok(Self { estimate, unfinished })
        },
    );
}

impl SearchState {
    pub(crate) fn to_save(&self) -> SavedSearch {
        SavedSearch { estimate: self.estimate.clone(), unfinished: self.unfinished.clone() }
    }

    pub(crate) fn load(&mut self, saved: SavedSearch, _: &World) {
        let SavedSearch { estimate, unfinished } = saved;
        *self = Self { estimate, unfinished, is_lost: true, ..Self::default() };
    }
}

/// The requests that wait, and where their answers go.
type Requests<'a> = Query<
    'a,
    (
        Entity,
        &'static Position,
        &'static mut PathRequest,
        &'static mut Route,
        &'static mut PathStats,
        EnabledMut<PathPending>,
    ),
    With<PathPending>,
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
    queue(&mut requests, &terrain, &mut state.tickets);
    state.resume_first();
    let mut left = budget.expansions.saturating_sub(report.debt);
    report.debt = report.debt.saturating_sub(budget.expansions);
    let mut spent = 0;
    let mut answered = 0;
    while answered < state.tickets.len() && left > 0 {
        let (charge, count) = state.batch(answered, left, &mut requests, &terrain, pool);
        spent += charge;
        report.debt += charge.saturating_sub(left);
        left = left.saturating_sub(charge);
        answered += count;
    }
    for ticket in &state.tickets[answered..] {
        if let Ok((_, _, request, ..)) = requests.get(ticket.question.entity) {
            request.pass_over();
        }
    }
    report.answers += answered as u64;
    report.expansions += spent;
    report.expansions_max = report.expansions_max.max(spent);
    report.waiting = (state.tickets.len() - answered) as u64;
    report.interruptions += u64::from(state.unfinished.is_some());
}

/// Lists the requests that wait, in the order in which they will be answered.
fn queue(requests: &mut Requests, terrain: &Terrain, tickets: &mut Vec<Ticket>) {
    tickets.clear();
    requests.for_each(|(entity, position, request, route, _, mut pending)| {
        if request.status() != RequestStatus::Pending {
            // Fresh agents, and requests that were taken back.
            pending.set(false);
            return;
        }
        let (goal, or_nearest) = (request.last_goal(), request.is_content_with_nearest());
        let inside = Cell::containing(goal);
        let current_cell = current_cell(position.0, Some(route), terrain);
        let question = Question {
            entity,
            number: request.number(),
            start: current_cell.map(|current_cell| current_cell.cell),
            behind: current_cell.and_then(|current_cell| current_cell.behind),
            goal: inside.or(if or_nearest { Cell::nearest_to(goal) } else { None }),
            is_beyond: inside.is_none(),
            or_nearest,
        };
        let waited_ticks = request.waited_ticks();
        tickets.push(Ticket { waited_ticks, question, is_answered: false });
    });
    let rank = |ticket: &Ticket| (Reverse(ticket.waited_ticks), ticket.question.entity.to_bits());
    tickets.sort_unstable_by_key(rank);
}

impl SearchState {
    /// Lets the agent whose search was interrupted be the first, or forgets the search if
    /// the agent does not ask any longer.
    fn resume_first(&mut self) {
        let Some(unfinished) = &self.unfinished else { return };
        let is_same = |ticket: &Ticket| ticket.question.entity == unfinished.question.entity;
        match self.tickets.iter().position(is_same) {
            Some(place) => self.tickets[..=place].rotate_right(1),
            None => self.unfinished = None,
        }
    }

    /// Runs the searches of the first tickets from `first` on, within what is `left`
    /// of the budget. Returns what they have cost and how many were answered; the
    /// others of the batch stand behind these.
    fn batch(
        &mut self,
        first: usize,
        left: u64,
        requests: &mut Requests,
        terrain: &Terrain,
        pool: &Pool,
    ) -> (u64, usize) {
        let Self { tickets, searchers, estimate, unfinished, is_lost } = self;
        let batch = batch_of(&mut tickets[first..], estimate, left);
        let begun = unfinished.take();
        let has_begun = begun.is_some();
        let resumed = begun.filter(|search| search.question == batch[0].question);
        let is_edited = resumed.as_ref().is_some_and(|search| search.version != terrain.version());
        let is_overtaken = has_begun && resumed.is_none() || is_edited;
        // One that is lost begins anew where it would have to anyway.
        let is_lost = std::mem::take(is_lost);
        let goes_on = resumed.is_some() && !(is_lost && is_edited);
        if let Some(search) = resumed.as_ref().filter(|_| is_lost && goes_on) {
            searchers.run_again(&search.question, &search.allotments, terrain);
        }
        let allotment = |ticket: &Ticket| estimate.expansions(ticket.question.distance()) * 2;
        let of_others: u64 = batch[1..].iter().map(allotment).sum();
        let of_first = if is_overtaken { u64::MAX } else { left - of_others };
        searchers.set(batch.iter().enumerate().map(|(place, ticket)| match place {
            0 => Job::new(ticket.question, of_first, goes_on),
            _ => Job::new(ticket.question, allotment(ticket), false),
        }));
        let mut charge = 0;
        let mut earlier = resumed.as_ref().map_or(0, |search| search.charge);
        let mut allotments = resumed.map_or(Vec::new(), |search| search.allotments);
        for (place, job) in searchers.solve(pool, terrain).enumerate() {
            charge += job.charge;
            // Of an interrupted search, what all of its pieces have cost.
            let in_all = std::mem::take(&mut earlier) + job.charge;
            let question = batch[place].question;
            let is_answered = job.outcome != PathOutcome::OutOfBudget;
            batch[place].is_answered = is_answered;
            if place == 0 && !is_answered {
                allotments.push(of_first);
                let (version, allotments) = (terrain.version(), std::mem::take(&mut allotments));
                *unfinished = Some(Unfinished { question, version, charge: in_all, allotments });
                if let Ok((_, _, request, ..)) = requests.get(question.entity) {
                    request.stand();
                }
                continue;
            }
            estimate.learn(question.distance(), in_all);
            if is_answered {
                deliver(requests, job, terrain);
            }
        }
        (charge, answered_first(batch))
    }
}

/// The first of these tickets, as many as are likely to stay within the budget when all
/// but the first may take twice of what they are likely to, and at least one.
fn batch_of<'a>(tickets: &'a mut [Ticket], estimate: &Estimate, budget: u64) -> &'a mut [Ticket] {
    let likely = |ticket: &Ticket| estimate.expansions(ticket.question.distance());
    let mut sum = tickets.first().map_or(0, likely);
    let fits = |ticket: &&Ticket| {
        sum = sum.saturating_add(likely(ticket).saturating_mul(2));
        sum <= budget
    };
    let count = 1 + tickets[1..].iter().take(BATCH_LEN_MAX - 1).take_while(fits).count();
    &mut tickets[..count]
}

/// Moves the tickets that were not answered behind the others, in their order, and
/// returns how many others there are.
fn answered_first(tickets: &mut [Ticket]) -> usize {
    let mut answered = tickets.len();
    for place in (0..tickets.len()).rev() {
        if !tickets[place].is_answered {
            answered -= 1;
            tickets.swap(place, answered);
        }
    }
    answered
}

/// Hands an answer to the agent that asked. The path that it had goes into the
/// job, whose memory it will be.
fn deliver(requests: &mut Requests, job: &mut Job, terrain: &Terrain) {
    // The entity was in the query when the queue was made, and nothing else has
    // touched it since.
    let entity = job.question.entity;
    let Ok((_, position, request, route, stats, mut pending)) = requests.get(entity) else {
        return;
    };
    pending.set(false);
    if let (Some(behind), Some(&start)) = (job.question.behind, job.path.cells().first()) {
        let step = path_cost(terrain.grid(), terrain.rule(), &[behind, start]);
        job.path.prepend(behind, step.expect("the step that it is taking is legal"));
    }
    match job.outcome {
        PathOutcome::Found { .. } => {
            route.begin(&mut job.path);
            request.found();
            stats.paths_found += 1;
        }
        PathOutcome::Partial { reason, .. } => {
            route.begin(&mut job.path);
            request.found_partly(reason);
            stats.paths_partial += 1;
        }
        PathOutcome::Unreachable(reason) => {
            leave(position.0, route, terrain);
            request.unreachable(reason);
            stats.paths_unreachable += 1;
        }
        PathOutcome::OutOfBudget => unreachable!("answers only are delivered"),
    }
}
