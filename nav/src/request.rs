//! Path requests as data: who wants to go where, and what came of it.
//!
//! ```text
//!           ask                  search                  follow
//!   Idle ────────> Pending ──┬─────────────> Found ────────────────> Arrived
//!                   ^  ^     ├─────────────> Partial ──────────────> Nearby
//!                   │  │     └─> Unreachable   │                       │
//!                   │  │              │        │                       │
//!                   │  └──────────────┼────────┘                       │
//!                   │  an edit broke  │                                │
//!                   │  the path       │                                │
//!                   └─────────────────┴────────────────────────────────┘
//!                     an edit made the goal reachable, and the request keeps trying
//! ```
//!
//! Every answer is final: a request that is found unreachable is not looked at
//! again until somebody asks anew, and since regions are exact, asking in vain
//! costs a few array reads and no search. One that
//! [keeps trying](PathRequest::keep_trying) is searched for again in the tick in
//! which an edit joins the regions of the agent and of its goal, and not before.

use bytemuck::NoUninit;
use ecs_core::Component;
use glam::Vec2;

use crate::cell::Cell;
use crate::path::outcome::{Path, Unreachable};

/// Where an agent is to go, and how that stands.
///
/// [`PathRequest::ask`] is all that a behaviour has to call; the systems of this
/// crate find the path, walk it, and leave the outcome in
/// [`status`](PathRequest::status), where the behaviour sees it.
///
/// ```
/// use glam::Vec2;
/// use nav::{PathRequest, RequestStatus};
/// let mut request = PathRequest::default();
/// assert_eq!((request.goal(), request.status()), (None, RequestStatus::Idle));
/// request.ask(Vec2::new(3.5, 0.5));
/// assert_eq!(request.status(), RequestStatus::Pending);
/// ```
#[derive(Component, Clone, Copy, PartialEq, Debug, Default, NoUninit)]
#[repr(C)]
pub struct PathRequest {
    goal: Vec2,
    number: u32,
    waited_ticks: u16,
    state: State,
    wishes: u8,
}

/// The path may lead to the nearest reachable cell.
const OR_NEAREST: u8 = 1;
/// The request is opened again once the goal can be reached.
const KEEPS_TRYING: u8 = 2;
/// The wishes of [`PathRequest`] take the lower bits of their byte; the upper ones say
/// why the goal itself cannot be reached.
const REASON_SHIFT: u32 = 4;

/// The status in one byte, so that requests are plain bytes to hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, NoUninit)]
#[repr(u8)]
enum State {
    #[default]
    Idle,
    Pending,
    Found,
    Arrived,
    Partial,
    Nearby,
    Unreachable,
}

/// The reasons in the order of the numbers that stand for them.
const REASONS: [Unreachable; 5] = [
    Unreachable::StartOutside,
    Unreachable::StartBlocked,
    Unreachable::GoalOutside,
    Unreachable::GoalBlocked,
    Unreachable::Apart,
];

/// How a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestStatus {
    /// Nothing was asked, or it was taken back.
    Idle,
    /// The answer is due.
    Pending,
    /// There is a path, and the agent is on it.
    Found,
    /// The agent has come to its goal.
    Arrived,
    /// The goal cannot be reached, for this reason, but there is a path to the
    /// reachable cell that is nearest to it, and the agent is on it.
    Partial(Unreachable),
    /// The agent has come to the end of a partial path. Nothing more happens until
    /// somebody asks again, or the goal can be reached and the request
    /// [keeps trying](PathRequest::keep_trying).
    Nearby(Unreachable),
    /// There is no path, for this reason. Nothing more happens until somebody
    /// asks again, or the goal can be reached and the request
    /// [keeps trying](PathRequest::keep_trying).
    Unreachable(Unreachable),
}

impl RequestStatus {
    /// Whether nothing is under way: the behaviour may choose what comes next.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Idle | Self::Arrived | Self::Nearby(_) | Self::Unreachable(_))
    }

    /// Whether there is a path and the agent is on it, be it to the goal or as near
    /// as it gets.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Found | Self::Partial(_))
    }
}

impl PathRequest {
    /// A request for a path to `goal`, as by [`PathRequest::ask`].
    #[must_use]
    pub fn to(goal: Vec2) -> Self {
        let mut request = Self::default();
        request.ask(goal);
        request
    }

    /// Asks for a path to `goal`, which replaces any goal before.
    ///
    /// The path is found in the same tick if this is called before
    /// [`systems::search`](crate::systems::search) runs, and the first motion is
    /// in the tick after, or later if the search budget is spent.
    pub fn ask(&mut self, goal: Vec2) -> &mut Self {
        self.goal = goal;
        self.number = self.number.wrapping_add(1);
        self.wishes = 0;
        self.reopen();
        self
    }

    /// Where the goal cannot be reached, makes do with a path to the reachable cell
    /// that is nearest to it, as by [`PathQuery::or_nearest`]. Holds until the next
    /// [`PathRequest::ask`].
    ///
    /// ```
    /// use glam::Vec2;
    /// use nav::PathRequest;
    /// let mut request = PathRequest::default();
    /// request.ask(Vec2::new(3.5, 0.5)).or_nearest().keep_trying();
    /// ```
    ///
    /// [`PathQuery::or_nearest`]: crate::PathQuery::or_nearest
    pub fn or_nearest(&mut self) -> &mut Self {
        self.wishes |= OR_NEAREST;
        self
    }

    /// Where the goal cannot be reached, searches again by itself in the tick in which
    /// an edit makes it reachable from where the agent is. Until then no search is run
    /// for it. Holds until the next [`PathRequest::ask`].
    pub fn keep_trying(&mut self) -> &mut Self {
        self.wishes |= KEEPS_TRYING;
        self
    }

    /// Takes the request back: the agent stops where it is.
    pub fn cancel(&mut self) {
        self.state = State::Idle;
    }

    /// Where the agent is to go, as long as it still is to.
    #[must_use]
    pub fn goal(&self) -> Option<Vec2> {
        let is_open = matches!(self.state, State::Pending | State::Found | State::Partial);
        is_open.then_some(self.goal)
    }

    /// How the request stands.
    #[must_use]
    pub const fn status(&self) -> RequestStatus {
        match self.state {
            State::Idle => RequestStatus::Idle,
            State::Pending => RequestStatus::Pending,
            State::Found => RequestStatus::Found,
            State::Arrived => RequestStatus::Arrived,
            State::Partial => RequestStatus::Partial(self.reason()),
            State::Nearby => RequestStatus::Nearby(self.reason()),
            State::Unreachable => RequestStatus::Unreachable(self.reason()),
        }
    }

    const fn reason(&self) -> Unreachable {
        REASONS[(self.wishes >> REASON_SHIFT) as usize]
    }

    fn set_reason(&mut self, reason: Unreachable) {
        let number = REASONS.iter().position(|&other| other == reason).unwrap_or_default();
        let wishes = self.wishes & (OR_NEAREST | KEEPS_TRYING);
        self.wishes = wishes | u8::try_from(number).unwrap_or_default() << REASON_SHIFT;
    }

    /// How often this agent has asked: tells the answer to one request from the
    /// answer to the next, even if both have the same goal.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// For how many ticks the budget has passed this request over.
    #[must_use]
    pub const fn waited_ticks(&self) -> u16 {
        self.waited_ticks
    }

    /// The goal, whatever the status.
    pub(crate) const fn last_goal(&self) -> Vec2 {
        self.goal
    }

    /// The same request once more, because its path is of no use any longer.
    pub(crate) fn reopen(&mut self) {
        self.state = State::Pending;
        self.waited_ticks = 0;
    }

    pub(crate) fn pass_over(&mut self) {
        self.waited_ticks = self.waited_ticks.saturating_add(1);
    }

    /// Whether a path to the nearest reachable cell will do.
    pub(crate) const fn is_content_with_nearest(&self) -> bool {
        self.wishes & OR_NEAREST != 0
    }

    /// Whether it was answered by a reason, and waits for the goal to be reachable.
    pub(crate) const fn is_waiting_for_edits(&self) -> bool {
        let is_refused = matches!(self.state, State::Partial | State::Nearby | State::Unreachable);
        is_refused && self.wishes & KEEPS_TRYING != 0
    }

    pub(crate) fn found(&mut self) {
        self.state = State::Found;
    }

    pub(crate) fn found_partly(&mut self, reason: Unreachable) {
        self.set_reason(reason);
        self.state = State::Partial;
    }

    /// The agent has come to the end of its path.
    pub(crate) fn arrived(&mut self) {
        self.state = if self.state == State::Partial { State::Nearby } else { State::Arrived };
    }

    pub(crate) fn unreachable(&mut self, reason: Unreachable) {
        self.set_reason(reason);
        self.state = State::Unreachable;
    }
}

/// Enabled while the request of this agent waits for the search.
///
/// An index and not a switch: [`systems::follow`](crate::systems::follow) enables
/// it when it meets a pending request, the search disables it with the answer.
/// With it the search finds the few that wait among many that walk by reading a
/// bit for each, and no agent ever changes its archetype.
#[derive(Component, Clone, Copy, Debug, Default)]
#[component(enableable)]
pub struct Unanswered;

/// The path that an agent walks, and how far it has come.
///
/// ```text
///   path.cells:   start ── cell ── cell ── cell ── goal
///                            ^
///                           next: everything before it is behind the agent
/// ```
#[derive(Component, Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    path: Path,
    next: usize,
}

impl Route {
    /// The cells from the one that the agent walks to, to the goal; none if it
    /// has no path.
    ///
    /// ```
    /// assert!(nav::Route::default().rest().is_empty());
    /// ```
    #[must_use]
    pub fn rest(&self) -> &[Cell] {
        self.path.cells().get(self.next..).unwrap_or_default()
    }

    /// The whole path, empty if there is none.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// The place in the path of the cell that the agent walks to.
    pub(crate) const fn next(&self) -> usize {
        self.next
    }

    pub(crate) const fn set_next(&mut self, next: usize) {
        self.next = next;
    }

    /// Takes a fresh path; the one before stays behind in `path` for its memory.
    pub(crate) fn begin(&mut self, path: &mut Path) {
        std::mem::swap(&mut self.path, path);
        // The start is under the agent already, unless it is the goal as well.
        self.next = 1.min(self.path.cells().len().saturating_sub(1));
    }

    pub(crate) fn clear(&mut self) {
        self.path.clear();
        self.next = 0;
    }
}
