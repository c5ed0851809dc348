//! The search: answers path requests, many at a time and within a budget.
//!
//! Requests are answered in an order that depends on the world alone: by the longest wait, then by the
//! fewest answers that the agent has had, then by entity. There are two kinds of searches:
//!
//! * *Short* searches run in batches, on all threads, each with the scratch of its thread. Each has an
//!   allotment, twice what searches over its distance have cost so far, and the allotments of a batch fit
//!   into the rest of the tick's budget. A search that needs more, say around a wall, is tried again with
//!   four times as much, in the next tick if that does not fit into this one. The first of those that
//!   have waited has a quarter of the budget at once, so it is answered or found to be long, whatever
//!   others need. If searches over a distance have cost so much that the next one is expected to be
//!   long, it is tried first with a sixteenth of the budget: near ones are not all as dear as a few.
//! * *Long* searches are those that take more than a quarter of a tick's budget. They run off the
//!   frame: a background job of the pool runs them, one after the other, between two ticks. The job may
//!   expand what a tick has left of its budget, and the next tick takes the answers. If the job is not
//!   done by then, the tick waits for it, so no answer depends on how fast threads are. A pool without
//!   threads runs it at once.
//!
//! If there are long searches, half of the budget is for short ones, so neither kind waits for the other.
//! The content of a batch depends on the costs of the batches before and never on threads, and so does
//! everything else. The budget is exact.
//!
//! Long searches run over a copy of the terrain that follows the edits between searches and never during
//! one. So no edit disturbs them, and each ends after as many expansions as without edits. (A search
//! begins anew only if there are more edits in one tick than the grid remembers, or if the terrain is
//! replaced.) A result is compared with the current terrain. An agent whose path was broken meanwhile is
//! given the part before the break, walks it, and asks again. An agent that asked for another goal
//! meanwhile is given the path to the previous one.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod background;
mod batch;

use std::cmp::Reverse;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, EnabledMut, Entity, HashState, With, World};
use formic_jobs::{Local, Pool, Query, Res, ResMut};

use crate::agent::{PathStats, Position};
use crate::bytes::{Bytes, Saved, codec, ensure};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::path::outcome::PathOutcome;
use crate::request::{PathPending, PathRequest, RequestStatus, Route};
use crate::search::background::{Background, Slice, Stage};
use crate::search::batch::{Estimate, Job, Question, Searchers};
use crate::terrain::Terrain;

/// The maximum number of requests in a batch. It is a constant, because the results depend on it and must
/// not depend on the machine.
const BATCH_LEN_MAX: usize = 64;
/// A short search that takes more than its allotment is tried again with this many times as much. All
/// tries together expand a third more than the last one.
const GROWTH: u64 = 4;
/// A search that is expected to be long is tried as a short one first, with this part of the budget of a
/// tick.
const TRIAL_PART: u64 = 16;
/// The number of ticks in which such a request can be tried. It is long if there was no room in any.
const TRIAL_TICKS: u32 = 4;

/// The search budget of a tick. A resource.
///
/// An expansion is a jump point if all cells weigh the same, and a cell otherwise. No tick spends more
/// than this, including the long searches that run off the frame after it. Requests that the budget does
/// not reach wait, and those that have waited longest are answered first. Half of the budget is for short
/// searches.
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

/// The cost of all searches so far. A resource, written by [`search`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct SearchReport {
    /// Requests answered, with a path or a reason.
    pub answers: u64,
    /// Expansions. Sixteen cells that are checked to find the reachable one nearest to a goal count as
    /// one.
    pub expansions: u64,
    /// Requests that were without an answer at the end of the last tick.
    pub waiting: u64,
    /// The maximum number of expansions in one tick.
    pub expansions_max: u64,
    /// The number of times that a search was interrupted, to be resumed in a later tick.
    pub interruptions: u64,
}

/// The state of the search, kept from tick to tick.
#[derive(Debug, Default)]
pub struct SearchState {
    tickets: Vec<Ticket>,
    /// The indices of the tickets of a batch.
    batch: Vec<usize>,
    searchers: Searchers,
    estimate: Estimate,
    /// The long searches in progress.
    background: Background,
}

/// A request in the queue.
#[derive(Debug)]
struct Ticket {
    waited_ticks: u32,
    /// The number of answers that the agent has had.
    answer_count: u64,
    question: Question,
    is_long: bool,
    /// More than is usual for its distance, if a search of this tick needed that; otherwise zero.
    least_allotment: u64,
    /// The allotment of a trial, if the search is expected to be long but that is not known.
    trial: Option<u64>,
    /// Whether the agent walks along a route while it waits.
    walks: bool,
    /// Whether it was answered in this tick, or waits for the next one.
    is_done: bool,
}

/// The part of the search state that is saved with a game: the expected costs of searches, and the long
/// searches in progress with their terrain. These are run again, for as long as they had run.
pub(crate) struct SavedSearch {
    estimate: Estimate,
    slice: Option<(Slice, Terrain)>,
}

impl SavedSearch {
    pub(crate) const CODEC: Codec<Self> = codec();
}

impl Bytes for SavedSearch {
    fn write(&self, out: &mut Vec<u8>) {
        self.estimate.write(out);
        self.slice.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let (estimate, slice) = <(Estimate, Option<(Slice, Terrain)>)>::read(bytes)?;
        // There is room to count on.
        let has_room = |(it, _): &(Slice, _)| it.spent.max(it.charge) <= u64::MAX / 2;
        ensure(estimate.is_sound() && slice.as_ref().is_none_or(has_room))?;
        Ok(Self { estimate, slice })
    }
}

impl SearchState {
    pub(crate) fn to_save(&self) -> SavedSearch {
        let workshop = self.background.workshop();
        let copy = workshop.copy.as_ref().filter(|_| workshop.stage != Stage::Taken);
        let slice = copy.map(|copy| (workshop.slice.clone(), copy.clone()));
        SavedSearch { estimate: self.estimate.clone(), slice }
    }

    pub(crate) fn load(&mut self, saved: SavedSearch, _: &World) {
        let SavedSearch { estimate, slice } = saved;
        let background = slice.map(|(slice, copy)| Background::of_saved(slice, copy));
        let background = background.unwrap_or_default();
        *self = Self { estimate, background, ..Self::default() };
    }
}

/// The requests that wait, with the components that take their answers.
type Requests<'a> = Query<
    'a,
    (
        Entity,
        &'static Position,
        &'static mut PathRequest,
        &'static mut Route,
        &'static mut PathStats,
        EnabledMut<PathPending>,
        Option<&'static ClassId>,
    ),
    With<PathPending>,
>;

/// Answers as many pending requests as the budget allows.
///
/// Searches that take more than a quarter of the budget of a tick, judging by those before them and by a
/// first try, run off the frame, in a background job of the pool, over a copy of the terrain that edits do
/// not reach. Their answers come at a fixed tick, which follows from the number of ticks over which the
/// budget spreads them. If the job is late, this system waits for it, at most for as long as the budget of
/// one tick takes, so the world is the same on any number of threads. A save waits for it too. It contains
/// the questions, and the loaded game searches again with the same result.
pub fn search(
    mut requests: Requests,
    terrain: Res<Terrain>,
    budget: Res<SearchBudget>,
    mut report: ResMut<SearchReport>,
    mut state: Local<SearchState>,
    pool: &Pool,
) {
    queue(&mut requests, &mut state.tickets);
    let budget = budget.expansions;
    let mut tick = Tick {
        requests: &mut requests,
        terrain: &terrain,
        pool,
        budget,
        spent: 0,
        answer_count: 0,
    };
    let unfinished = state.take_answers(&mut tick, &mut report);
    state.tell_long_ones(budget, unfinished);
    let has_long = state.tickets.iter().any(|ticket| ticket.is_long && !ticket.is_done);
    let short_share = if has_long { budget / 2 } else { budget };
    state.answer_short(&mut tick, short_share);
    state.begin_long(&mut tick, unfinished.is_some());
    let (spent, answered) = (tick.spent, tick.answer_count);
    for ticket in state.tickets.iter().filter(|ticket| !ticket.is_done) {
        if let Ok((_, _, request, ..)) = requests.get(ticket.question.entity) {
            request.pass_over();
        }
    }
    report.answers += answered;
    report.expansions += spent;
    report.expansions_max = report.expansions_max.max(spent);
    report.waiting = state.tickets.len() as u64 - answered;
}

/// The state shared by the searches of a tick.
struct Tick<'a, 'r> {
    requests: &'a mut Requests<'r>,
    terrain: &'a Terrain,
    pool: &'a Pool,
    budget: u64,
    spent: u64,
    answer_count: u64,
}

/// Lists the requests that wait, in the order in which they will be answered.
fn queue(requests: &mut Requests, tickets: &mut Vec<Ticket>) {
    tickets.clear();
    requests.for_each(|(entity, position, request, route, stats, mut pending, class)| {
        if request.status() != RequestStatus::Pending {
            // New agents, and cancelled requests.
            pending.set(false);
            return;
        }
        let (goal, or_nearest) = (request.goal, request.is_or_nearest());
        let inside = Cell::containing(goal);
        let question = Question {
            entity,
            number: request.number(),
            class: class.copied().unwrap_or_default(),
            start: position.cell(),
            goal: inside.or(if or_nearest { Cell::nearest_to(goal) } else { None }),
            is_beyond: inside.is_none(),
            or_nearest,
            is_any_angle: request.is_any_angle(),
        };
        tickets.push(Ticket {
            waited_ticks: request.waited_ticks(),
            answer_count: stats.answer_count(),
            question,
            is_long: request.is_long(),
            least_allotment: 0,
            trial: None,
            walks: request.walks() && !route.path().is_empty(),
            is_done: false,
        });
    });
    let rank = |ticket: &Ticket| {
        let entity = ticket.question.entity.to_bits();
        (Reverse(ticket.waited_ticks), ticket.answer_count, entity)
    };
    tickets.sort_unstable_by_key(rank);
}

impl Tick<'_, '_> {
    /// Marks a ticket as not for short searches.
    fn set_long(&mut self, ticket: &mut Ticket) {
        ticket.is_long = true;
        if let Ok((_, _, request, ..)) = self.requests.get(ticket.question.entity) {
            request.set_long();
        }
    }
}

impl Ticket {
    /// Whether it waits for a short search, or for a trial.
    fn is_due(&self, for_trial: bool) -> bool {
        !self.is_long && !self.is_done && self.trial.is_some() == for_trial
    }

    /// The maximum number of expansions of a short search for this ticket.
    fn allotment(&self, estimate: &Estimate) -> u64 {
        let usual = || estimate.allotment(&self.question).max(self.least_allotment);
        self.trial.unwrap_or_else(usual)
    }
}

impl SearchState {
    /// Marks the tickets that need long searches, including the interrupted one, and those that probably
    /// do, but are tried first: a few dear searches must not make all others over their distance wait for
    /// far ones.
    fn tell_long_ones(&mut self, budget: u64, unfinished: Option<Entity>) {
        let trial = Some(budget / TRIAL_PART).filter(|&allotment| allotment > 0);
        for ticket in &mut self.tickets {
            let is_expected = self.estimate.allotment(&ticket.question) > budget / 2;
            ticket.trial = trial.filter(|_| is_expected && ticket.waited_ticks < TRIAL_TICKS);
            let is_unfinished = Some(ticket.question.entity) == unfinished;
            ticket.is_long |= is_unfinished || is_expected && ticket.trial.is_none();
        }
    }

    /// Waits for the long searches in progress, and delivers their answers. Returns the agent whose
    /// search is to be resumed.
    ///
    /// The searches are dropped, and begin anew, if the terrain is not known to be that of the tick
    /// before.
    fn take_answers(&mut self, tick: &mut Tick, report: &mut SearchReport) -> Option<Entity> {
        let Self { tickets, estimate, background, .. } = self;
        let mut workshop = background.finish();
        let workshop = &mut *workshop;
        workshop.copy.as_ref()?;
        if std::mem::take(&mut workshop.stage) != Stage::Done {
            return None;
        }
        let cost: u64 = workshop.jobs().iter().map(|job| job.charge).sum();
        report.expansions += cost;
        report.expansions_max = report.expansions_max.max(workshop.slice.spent + cost);
        let _known = tick.terrain.grid().changes_since(workshop.slice.seen)?;
        let mut unfinished = None;
        for place in 0..workshop.slice.questions.len() {
            let question = workshop.slice.questions[place];
            // A request that has not waited yet was cancelled meanwhile, and another one made.
            let ticket = tickets.iter_mut().find(|it| {
                it.question.entity == question.entity
                    && (it.waited_ticks > 0 || question.is_same(&it.question))
            });
            let Some(ticket) = ticket else { continue };
            let before = if place == 0 { workshop.slice.charge } else { 0 };
            let Some(job) = workshop.jobs().get_mut(place) else {
                // The search has not begun, so the agent may walk on.
                tick.set_long(ticket);
                continue;
            };
            if job.outcome == PathOutcome::OutOfBudget {
                unfinished = Some((place, before + job.charge));
                continue;
            }
            estimate.learn(question.distance(), before + job.charge);
            ticket.is_done = true;
            if question.is_same(&ticket.question) && is_good_still(job, tick.terrain) {
                tick.answer_count += 1;
                deliver(tick.requests, job);
            } else {
                lead_on(tick.requests, job);
            }
        }
        let (place, charge) = unfinished?;
        report.interruptions += 1;
        workshop.keep(place, charge);
        Some(workshop.slice.questions[0].entity)
    }

    /// Answers short searches for at most `share` expansions. Searches that fit are answered before
    /// earlier ones that do not. One that takes more than is usual is tried again with more, as long as
    /// that fits, and in the next tick if not. Trials have what is left.
    fn answer_short(&mut self, tick: &mut Tick, share: u64) {
        // Others have the other half, so they do not wait for this one either.
        let mut due = self.tickets.iter_mut().filter(|ticket| ticket.is_due(false));
        if let Some(front) = due.next().filter(|ticket| ticket.waited_ticks > 0) {
            front.least_allotment = share / 2;
        }
        for for_trial in [false, true] {
            let mut first = 0;
            while self.gather(&mut first, for_trial, share - tick.spent) {
                tick.spent += self.run_batch(tick);
            }
        }
    }

    /// Chooses the next batch. All tickets before `first` are finished. Returns false if none fits.
    fn gather(&mut self, first: &mut usize, for_trial: bool, mut room: u64) -> bool {
        let is_passed = |ticket: &&Ticket| !ticket.is_due(for_trial);
        let passed = self.tickets[*first..].iter().take_while(is_passed).count();
        *first += passed;
        self.batch.clear();
        for (place, ticket) in self.tickets.iter().enumerate().skip(*first) {
            let allotment = ticket.allotment(&self.estimate);
            if ticket.is_due(for_trial) && allotment <= room {
                room -= allotment;
                self.batch.push(place);
            }
            if self.batch.len() == BATCH_LEN_MAX || room == 0 {
                break;
            }
        }
        !self.batch.is_empty()
    }

    /// Runs the searches of a batch in parallel, and returns their total cost.
    fn run_batch(&mut self, tick: &mut Tick) -> u64 {
        let Self { tickets, batch, searchers, estimate, .. } = self;
        let jobs = batch.iter().map(|&place| &tickets[place]);
        searchers.set(jobs.map(|ticket| (ticket.question, ticket.allotment(estimate))));
        let most = tick.budget / 4;
        let mut charge = 0;
        for (&place, job) in batch.iter().zip(searchers.solve(tick.pool, tick.terrain)) {
            let ticket = &mut tickets[place];
            charge += job.charge;
            let is_answered = job.outcome != PathOutcome::OutOfBudget;
            if is_answered || ticket.trial.is_none() {
                estimate.learn(ticket.question.distance(), job.charge);
            }
            if !is_answered {
                ticket.least_allotment = job.allotment.saturating_mul(GROWTH);
                if job.allotment >= most || ticket.trial.is_some() {
                    tick.set_long(ticket);
                }
            } else {
                ticket.is_done = true;
                tick.answer_count += 1;
                deliver(tick.requests, job);
            }
        }
        charge
    }

    /// Begins long searches, for what the tick has left: the one that was interrupted, or else the first
    /// ones that wait.
    fn begin_long(&mut self, tick: &mut Tick, goes_on: bool) {
        let mut workshop = self.background.workshop();
        if !goes_on {
            self.choose_long(tick.budget - tick.spent, tick.budget, &mut workshop.slice);
        }
        if !goes_on && (workshop.copy.is_some() || !workshop.slice.questions.is_empty()) {
            follow(&mut workshop.copy, tick.terrain);
        }
        if workshop.slice.questions.is_empty() {
            return;
        }
        let left = tick.budget - tick.spent;
        (workshop.slice.allotment, workshop.slice.spent) = (left, tick.spent);
        workshop.slice.seen = tick.terrain.version();
        workshop.stage = Stage::Waiting;
        for question in &workshop.slice.questions {
            if let Ok((_, _, request, ..)) = tick.requests.get(question.entity) {
                request.stand();
            }
        }
        drop(workshop);
        self.background.begin(tick.pool);
    }

    /// Chooses the first long searches. Agents stand while theirs runs. So of those that walk it takes
    /// only as many as will probably be begun, and each once it has waited for as long as its search will
    /// take.
    fn choose_long(&self, mut left: u64, budget: u64, slice: &mut Slice) {
        let Slice { questions, charge, .. } = slice;
        questions.clear();
        *charge = 0;
        if left == 0 {
            return;
        }
        for ticket in self.tickets.iter().filter(|ticket| ticket.is_long && !ticket.is_done) {
            let expansions = self.estimate.expansions(ticket.question.distance());
            let ticks = self.estimate.allotment(&ticket.question) / budget.max(1);
            if questions.len() == BATCH_LEN_MAX {
                break;
            }
            if !ticket.walks || (left > 0 && u64::from(ticket.waited_ticks) >= ticks) {
                left = left.saturating_sub(expansions);
                questions.push(ticket.question);
            }
        }
    }
}

/// Makes `copy` a copy of the terrain: by the edits since it was one, if they are known.
fn follow(copy: &mut Option<Terrain>, terrain: &Terrain) {
    if !copy.as_mut().is_some_and(|copy| copy.follow(terrain)) {
        *copy = Some(terrain.clone());
    }
}

/// Whether an answer that was found over an earlier terrain holds for this one. A broken path is cut off
/// before the break.
fn is_good_still(job: &mut Job, terrain: &Terrain) -> bool {
    let terrain = job.question.terrain(terrain);
    if matches!(job.outcome, PathOutcome::Partial { .. } | PathOutcome::Unreachable(_)) {
        let ends = job.question.start.zip(job.question.goal);
        if ends.is_some_and(|(start, goal)| terrain.reachable(start, goal))
            && !job.question.is_beyond
        {
            return false;
        }
    }
    if !matches!(job.outcome, PathOutcome::Found { .. } | PathOutcome::Partial { .. }) {
        return true;
    }
    let fault = job.path.revalidate(terrain, 0).err();
    fault.iter().for_each(|fault| job.path.truncate(fault.step()));
    fault.is_none()
}

/// Delivers an answer to the agent that asked. The path that the agent had goes into the job, which
/// reuses its memory.
fn deliver(requests: &mut Requests, job: &mut Job) {
    // The entity was in the query when the queue was built, and nothing else has touched it since.
    let entity = job.question.entity;
    let Ok((_, _, request, route, stats, mut pending, _)) = requests.get(entity) else {
        return;
    };
    pending.set(false);
    request.answer(job.outcome);
    match job.outcome {
        PathOutcome::Found { .. } => stats.paths_found += 1,
        PathOutcome::Partial { .. } => stats.paths_partial += 1,
        PathOutcome::Unreachable(_) => {
            stats.paths_unreachable += 1;
            return route.clear();
        }
        PathOutcome::OutOfBudget => unreachable!("answers only are delivered"),
    }
    route.begin(&mut job.path);
}

/// Gives an agent the path of an answer that no longer holds, to walk while it waits.
fn lead_on(requests: &mut Requests, job: &mut Job) {
    let Ok((_, _, request, route, ..)) = requests.get(job.question.entity) else { return };
    if matches!(job.outcome, PathOutcome::Found { .. } | PathOutcome::Partial { .. }) {
        route.begin(&mut job.path);
    }
    request.walk_on();
}
