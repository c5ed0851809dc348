//! Path requests as data: who wants to go where, and what came of it.
//!
//! ```text
//!           ask                  search                  follow
//!   Idle ────────> Pending ────────────────> Found ────────────────> Arrived
//!                   ^    └──> Unreachable      │
//!                   └──────────────────────────┘
//!                     an edit broke the path
//! ```
//!
//! Every answer is final: a request that is found unreachable is not looked at
//! again until somebody asks anew, and since regions are exact, asking in vain
//! costs a few array reads and no search.

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
    _padding: u8,
}

/// The status in one byte, so that requests are plain bytes to hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, NoUninit)]
#[repr(u8)]
enum State {
    #[default]
    Idle,
    Pending,
    Found,
    Arrived,
    StartOutside,
    StartBlocked,
    GoalOutside,
    GoalBlocked,
    Apart,
}

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
    /// There is no path, for this reason. Nothing more happens until somebody
    /// asks again.
    Unreachable(Unreachable),
}

impl RequestStatus {
    /// Whether nothing is under way: the behaviour may choose what comes next.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Idle | Self::Arrived | Self::Unreachable(_))
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
    pub fn ask(&mut self, goal: Vec2) {
        self.goal = goal;
        self.number = self.number.wrapping_add(1);
        self.reopen();
    }

    /// Takes the request back: the agent stops where it is.
    pub fn cancel(&mut self) {
        self.state = State::Idle;
    }

    /// Where the agent is to go, as long as it still is to.
    #[must_use]
    pub fn goal(&self) -> Option<Vec2> {
        matches!(self.state, State::Pending | State::Found).then_some(self.goal)
    }

    /// How the request stands.
    #[must_use]
    pub const fn status(&self) -> RequestStatus {
        match self.state {
            State::Idle => RequestStatus::Idle,
            State::Pending => RequestStatus::Pending,
            State::Found => RequestStatus::Found,
            State::Arrived => RequestStatus::Arrived,
            State::StartOutside => RequestStatus::Unreachable(Unreachable::StartOutside),
            State::StartBlocked => RequestStatus::Unreachable(Unreachable::StartBlocked),
            State::GoalOutside => RequestStatus::Unreachable(Unreachable::GoalOutside),
            State::GoalBlocked => RequestStatus::Unreachable(Unreachable::GoalBlocked),
            State::Apart => RequestStatus::Unreachable(Unreachable::Apart),
        }
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

    pub(crate) fn found(&mut self) {
        self.state = State::Found;
    }

    pub(crate) fn arrived(&mut self) {
        self.state = State::Arrived;
    }

    pub(crate) fn unreachable(&mut self, reason: Unreachable) {
        self.state = match reason {
            Unreachable::StartOutside => State::StartOutside,
            Unreachable::StartBlocked => State::StartBlocked,
            Unreachable::GoalOutside => State::GoalOutside,
            Unreachable::GoalBlocked => State::GoalBlocked,
            Unreachable::Apart => State::Apart,
        };
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
