//! Path requests as data: the goal of an agent, and the answer.
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
//!                     an edit made the goal reachable, and the request keeps trying;
//!                     or others pushed the agent away from where it had arrived
//! ```
//!
//! Every answer is final: an unreachable request is not searched again until the agent asks anew. Regions
//! are exact, so a request in vain costs a few array reads and no search. A request that [keeps
//! trying](PathRequest::keep_trying) is searched again in the tick in which an edit joins the regions of
//! the agent and of its goal, and not before.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{CloneFn, Codec, CodecError, Component, HashRule, HashState};
use glam::Vec2;

use crate::bytes::{Bytes, ensure};
use crate::cell::Cell;
use crate::cost::Cost;
use crate::grid::SIDE_MAX;
use crate::grid::change::GridVersion;
use crate::path::outcome::{Path, PathOutcome, Unreachable};

/// The goal of an agent, and the state of its request for a path there.
///
/// A behaviour only has to call [`PathRequest::ask`]. The systems of this crate find the path, walk it,
/// and report the outcome in [`status`](PathRequest::status).
///
/// ```
/// use glam::Vec2;
/// use formic_nav::{PathRequest, RequestStatus};
/// let mut request = PathRequest::default();
/// assert_eq!((request.goal(), request.status()), (None, RequestStatus::Idle));
/// request.ask(Vec2::new(3.5, 0.5));
/// assert_eq!(request.status(), RequestStatus::Pending);
/// ```
#[derive(Component, Clone, Copy, PartialEq, Debug, Default, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct PathRequest {
    /// The current or last goal of the agent.
    pub(crate) goal: Vec2,
    number: u32,
    waited_ticks: u32,
    /// The part of the last step that rounding has left to walk.
    pub(crate) carry: f32,
    phase: Phase,
    /// The reason why the goal cannot be reached, in the phases that have one.
    reason: Unreachable,
    /// A bit set of [`OR_NEAREST`] and [`ANY_ANGLE`].
    wishes: u8,
    /// Whether the request is opened again once the goal can be reached.
    keeps_trying: bool,
}

/// A path to the nearest reachable cell suffices.
const OR_NEAREST: u8 = 1;
/// The shortest any-angle path is wanted.
const ANY_ANGLE: u8 = 2;

/// The phase of a request, in the order of the diagram above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, NoUninit, CheckedBitPattern, HashState)]
#[repr(u8)]
enum Phase {
    #[default]
    Idle,
    /// Waits for an answer. The agent goes on along its previous route, if there is one.
    Waiting,
    /// Like `Waiting`, for a request whose search takes longer than is usual for its distance: it gets
    /// none of the budget that is reserved for short searches.
    Long,
    /// Waits while the agent stands still: the search has begun at its position, or its previous route
    /// was cancelled.
    Standing,
    Found,
    Arrived,
    Partial,
    Nearby,
    Unreachable,
}

/// The state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RequestStatus {
    /// Nothing was asked, or the request was cancelled.
    Idle,
    /// The request waits for its answer.
    Pending,
    /// A path was found, and the agent walks it.
    Found,
    /// The agent has reached its goal. An agent that gives way ([`Avoid`](crate::Avoid)) may be pushed
    /// away by others. Once they let it, its request is [pending](Self::Pending) again, and it goes back.
    Arrived,
    /// The goal cannot be reached, for this reason. The agent walks a path to the reachable cell nearest
    /// to it.
    Partial(Unreachable),
    /// The agent has reached the end of a partial path. Nothing more happens until the agent asks again,
    /// or the goal becomes reachable and the request [keeps trying](PathRequest::keep_trying).
    Nearby(Unreachable),
    /// There is no path, for this reason. Nothing more happens until the agent asks again, or the goal
    /// becomes reachable and the request [keeps trying](PathRequest::keep_trying).
    Unreachable(Unreachable),
}

impl RequestStatus {
    /// Whether nothing is in progress, so that the behaviour may choose what comes next.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Idle | Self::Arrived | Self::Nearby(_) | Self::Unreachable(_))
    }

    /// Whether the agent walks a path, to the goal or to the cell nearest to it.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Found | Self::Partial(_))
    }
}

impl PathRequest {
    /// Creates a request for a path to `goal`, as by [`PathRequest::ask`].
    ///
    /// Use it for agents that are spawned. Inserted over an existing request, it counts from one again
    /// and loses its place among those that wait.
    #[must_use]
    pub fn to(goal: Vec2) -> Self {
        let mut request = Self::default();
        request.ask(goal);
        request
    }

    /// Asks for a path to `goal`. This replaces any goal before, and the options set for it.
    ///
    /// The path is found in the same tick if this is called before
    /// [`systems::follow`](crate::systems::follow) runs, otherwise in the next one, or later if the
    /// search budget is spent or the [search](crate::systems::search) runs off the frame. The agent first
    /// moves along it in the tick after. Until then an agent that is under way goes on along its current
    /// path, so it may be asked in every tick to go to a moving goal. It keeps its place among those that
    /// wait. It stands still only for a search that takes more than one tick.
    ///
    /// Asking for the goal that the agent waits for or walks to is not a new request: it only replaces
    /// the options, for searches to come. After the agent has arrived, or was told that there is no path,
    /// asking for the same goal is a new request.
    ///
    /// ```
    /// use glam::Vec2;
    /// use formic_nav::PathRequest;
    /// let mut request = PathRequest::to(Vec2::new(3.5, 0.5));
    /// request.ask(Vec2::new(3.5, 0.5));
    /// assert_eq!(request.number(), 1);
    /// request.ask(Vec2::new(2.5, 0.5));
    /// assert_eq!(request.number(), 2);
    /// ```
    pub fn ask(&mut self, goal: Vec2) -> &mut Self {
        let is_new = self.goal() != Some(goal);
        (self.wishes, self.keeps_trying) = (0, false);
        if is_new {
            self.goal = goal;
            self.number = self.number.wrapping_add(1);
            match self.phase {
                Phase::Standing => {}
                Phase::Idle => self.wait(Phase::Standing),
                Phase::Waiting | Phase::Long => self.phase = Phase::Waiting,
                _ => self.wait(Phase::Waiting),
            }
        }
        self
    }

    /// Accepts a path to the reachable cell nearest to the goal if the goal itself cannot be reached, as
    /// by [`PathQuery::or_nearest`]. Holds until the next [`PathRequest::ask`].
    ///
    /// ```
    /// use glam::Vec2;
    /// use formic_nav::PathRequest;
    /// let mut request = PathRequest::default();
    /// request.ask(Vec2::new(3.5, 0.5)).or_nearest().keep_trying();
    /// ```
    ///
    /// [`PathQuery::or_nearest`]: crate::PathQuery::or_nearest
    pub fn or_nearest(&mut self) -> &mut Self {
        self.wishes |= OR_NEAREST;
        self
    }

    /// Asks for the shortest any-angle path, as by [`Algorithm::AnyAngle`], on terrain that supports it.
    /// On most maps such a path is a few percent shorter than the one that agents pull straight, and its
    /// search takes several times as long. An agent that gives way to others ([`Avoid`](crate::Avoid)) follows
    /// it from cell to cell. Holds until the next [`PathRequest::ask`].
    ///
    /// ```
    /// use glam::Vec2;
    /// use formic_nav::PathRequest;
    /// let mut request = PathRequest::default();
    /// request.ask(Vec2::new(3.5, 0.5)).any_angle();
    /// ```
    ///
    /// [`Algorithm::AnyAngle`]: crate::Algorithm::AnyAngle
    pub fn any_angle(&mut self) -> &mut Self {
        self.wishes |= ANY_ANGLE;
        self
    }

    /// Whether a path to the nearest reachable cell suffices.
    pub(crate) const fn is_or_nearest(&self) -> bool {
        self.wishes & OR_NEAREST != 0
    }

    /// Whether the shortest any-angle path is wanted.
    pub(crate) const fn is_any_angle(&self) -> bool {
        self.wishes & ANY_ANGLE != 0
    }

    /// If the goal cannot be reached, searches again in the tick in which an edit makes it reachable from
    /// the agent's position. Until then no search runs for it. Holds until the next [`PathRequest::ask`].
    pub fn keep_trying(&mut self) -> &mut Self {
        self.keeps_trying = true;
        self
    }

    /// Cancels the request: the agent stops where it is.
    pub fn cancel(&mut self) {
        self.phase = Phase::Idle;
        (self.wishes, self.keeps_trying) = (0, false);
    }

    /// The goal of the agent, or `None` if the request [is at rest](RequestStatus::is_at_rest).
    #[must_use]
    pub fn goal(&self) -> Option<Vec2> {
        (!self.status().is_at_rest()).then_some(self.goal)
    }

    /// The last goal that was asked for, whether or not it was reached; `None` if there was none.
    #[must_use]
    pub fn last_goal(&self) -> Option<Vec2> {
        (self.number > 0).then_some(self.goal)
    }

    /// The state of the request.
    #[must_use]
    pub const fn status(&self) -> RequestStatus {
        match self.phase {
            Phase::Idle => RequestStatus::Idle,
            Phase::Waiting | Phase::Long | Phase::Standing => RequestStatus::Pending,
            Phase::Found => RequestStatus::Found,
            Phase::Arrived => RequestStatus::Arrived,
            Phase::Partial => RequestStatus::Partial(self.reason),
            Phase::Nearby => RequestStatus::Nearby(self.reason),
            Phase::Unreachable => RequestStatus::Unreachable(self.reason),
        }
    }

    /// The number of requests since this component was inserted. It tells the answers to two requests
    /// apart, even if both have the same goal.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The number of ticks that this request has waited, or had to wait, for its answer, those of its
    /// search included. An agent that is given a path to walk meanwhile counts from then on.
    #[must_use]
    pub const fn waited_ticks(&self) -> u32 {
        self.waited_ticks
    }

    fn wait(&mut self, phase: Phase) {
        (self.phase, self.waited_ticks, self.reason) = (phase, 0, Unreachable::default());
    }

    /// Repeats the request, because its path is no longer of use. An agent that waits already keeps its
    /// place.
    pub(crate) fn reopen(&mut self) {
        if self.status() != RequestStatus::Pending {
            self.wait(Phase::Waiting);
        }
    }

    /// Makes the agent stand until its request is answered: the search has begun at its position.
    pub(crate) fn stand(&mut self) {
        self.phase = Phase::Standing;
    }

    /// Makes the agent walk its route while it waits, and counts its wait from now on.
    pub(crate) fn walk_on(&mut self) {
        self.wait(Phase::Waiting);
    }

    /// Marks the search as longer than is usual for its distance.
    pub(crate) fn set_long(&mut self) {
        self.phase = Phase::Long;
    }

    /// Whether the search gets none of the budget for short searches.
    pub(crate) fn is_long(&self) -> bool {
        self.phase == Phase::Long
    }

    /// Whether the agent walks along its route, including the previous route while it waits.
    pub(crate) const fn walks(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Long | Phase::Found | Phase::Partial)
    }

    pub(crate) fn pass_over(&mut self) {
        self.waited_ticks = self.waited_ticks.saturating_add(1);
    }

    /// Whether the request was answered by a reason, and waits for its goal to become reachable.
    pub(crate) const fn is_waiting_for_edits(&self) -> bool {
        let is_refused = matches!(self.phase, Phase::Partial | Phase::Nearby | Phase::Unreachable);
        is_refused && self.keeps_trying
    }

    /// Stores the answer of a search.
    pub(crate) fn answer(&mut self, outcome: PathOutcome) {
        (self.phase, self.reason) = match outcome {
            PathOutcome::Found { .. } => (Phase::Found, self.reason),
            PathOutcome::Partial { reason, .. } => (Phase::Partial, reason),
            PathOutcome::Unreachable(reason) => (Phase::Unreachable, reason),
            PathOutcome::OutOfBudget => return,
        };
    }

    /// Notes that the agent has come to the end of its path.
    pub(crate) fn arrive(&mut self) {
        self.phase = if self.phase == Phase::Partial { Phase::Nearby } else { Phase::Arrived };
    }
}

/// Enabled while the request of this agent waits for the search.
///
/// This is an index, not a switch: [`systems::follow`](crate::systems::follow) enables it for a pending
/// request, and the search disables it with the answer. The search finds the few agents that wait among
/// many that walk by reading one bit for each, and no agent ever changes its archetype.
#[derive(Component, Clone, Copy, Debug, Default)]
#[component(enableable)]
pub struct PathPending;

/// The path that an agent walks, and its progress along it.
///
/// Snapshots contain it, so agents walk on from there when a world is restored.
///
/// ```text
///   path.cells:   start ── cell ── cell ── cell ── goal
///                            ^              ^
///                          behind          next: the agent goes straight from the one to the other
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    path: Path,
    behind: usize,
    next: usize,
    /// The cell at `behind`, and the cells from `next` on, padded with the last one. The cells of the
    /// path lie elsewhere in memory, and most agents stay in or beside a cell for many ticks.
    near: Option<(Cell, [Cell; AHEAD_MAX])>,
}

/// The number of steps ahead that an agent may be pushed and still know its place on the path.
pub(crate) const AHEAD_MAX: usize = 4;

/// The number of bits in a coordinate of a cell.
const CELL_BITS: u32 = SIDE_MAX.ilog2();
const CELL_MASK: u16 = (1 << CELL_BITS) - 1;

impl Component for Route {
    const CLONE: Option<CloneFn<Self>> = Some(Self::clone);
    const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
    const CODEC: Codec<Self> = Codec::custom(Self::write, Self::read);
}

impl Route {
    /// The cells from the one that the agent walks to up to the goal; empty if it has no path.
    ///
    /// ```
    /// assert!(formic_nav::Route::default().rest().is_empty());
    /// ```
    #[must_use]
    pub fn rest(&self) -> &[Cell] {
        self.path.cells().get(self.next..).unwrap_or_default()
    }

    /// A line along which an agent at `position` comes to its `goal`, from cell to cell of its path, or
    /// from turn to turn of an any-angle path; empty if it has no path.
    #[must_use]
    pub fn line(&self, position: Vec2, goal: Vec2) -> Vec<Vec2> {
        let Some((_, between)) = self.rest().split_last() else { return Vec::new() };
        let places = (self.next..).take(between.len());
        let turns = places.filter(|&at| !self.path.is_at_any_angle() || self.path.is_turn(at));
        let points = turns.map(|place| self.path.point(place));
        std::iter::once(position).chain(points).chain([goal]).collect()
    }

    /// The whole path, empty if there is none.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// The index in the path of the cell that the agent walks to.
    pub(crate) const fn next(&self) -> usize {
        self.next
    }

    /// The index in the path of the cell that the agent comes from.
    pub(crate) const fn behind(&self) -> usize {
        self.behind
    }

    pub(crate) fn set_leg(&mut self, behind: usize, next: usize) {
        (self.behind, self.next) = (behind, next);
        let cells = self.path.cells();
        let end = cells.len().min(next + AHEAD_MAX);
        let (from, ahead) = (cells.get(behind), cells.get(next..end).unwrap_or_default());
        self.near = from.zip(ahead.last()).map(|(&from, &last)| {
            (from, std::array::from_fn(|at| ahead.get(at).copied().unwrap_or(last)))
        });
    }

    /// The cell that the agent comes from and the one that it walks to, if it has a path.
    pub(crate) fn leg(&self) -> Option<[Cell; 2]> {
        self.near.map(|(from, [to, ..])| [from, to])
    }

    /// The index in the path of the last of the next few cells that equals `cell`.
    pub(crate) fn passed(&self, cell: Cell) -> Option<usize> {
        let (_, ahead) = self.near?;
        let at = ahead.iter().rposition(|&other| other == cell)?;
        Some(self.path.cells().len().min(self.next + at + 1) - 1)
    }

    /// Takes a new path. The old one is swapped into `path`, to reuse its memory.
    pub(crate) fn begin(&mut self, path: &mut Path) {
        std::mem::swap(&mut self.path, path);
        // The agent is in the start cell already, unless that is the goal as well.
        self.set_leg(0, 1.min(self.path.cells().len().saturating_sub(1)));
    }

    pub(crate) fn clear(&mut self) {
        self.path.clear();
        self.set_leg(0, 0);
    }

    /// The format: four bytes each for the indices `behind` and `next` and for the number of cells; eight
    /// for the cost; then the cells. The coordinates of a cell have two spare bits each, which hold the
    /// mark of a turn.
    fn write(&self, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        let count = |count: usize| u32::try_from(count).map_err(|_| CodecError);
        for place in [self.behind, self.next, self.path.cells().len()] {
            count(place)?.write(bytes);
        }
        self.path.cost().units().write(bytes);
        let marks = self.path.marks().iter().copied().chain(std::iter::repeat(0));
        for (&Cell { x, y }, mark) in self.path.cells().iter().zip(marks) {
            let [low, high] = [mark & 3, mark >> 2].map(|bits| u16::from(bits) << CELL_BITS);
            Cell::new(x | low, y | high).write(bytes);
        }
        Ok(())
    }

    fn read(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        let [behind, next, count] = <[u32; 3]>::read(bytes)?;
        let cost = Cost::from_units(u64::read(bytes)?);
        let (mut cells, mut marks) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let Cell { x, y } = Cell::read(bytes)?;
            cells.push(Cell::new(x & CELL_MASK, y & CELL_MASK));
            let [low, high] = [x, y].map(|bits| (bits >> CELL_BITS).to_le_bytes()[0]);
            marks.push(low | high << 2);
        }
        ensure(next < count.max(1) && behind <= next)?;
        let mut path = Path::new();
        // The edits of the terrain since then are unknown, so every step will be checked.
        path.set_halves(cost, GridVersion::ZERO, cells.into_iter().rev(), std::iter::empty());
        if marks.last() > Some(&0) {
            path.set_marks(marks)?;
        }
        let mut route = Self { path, ..Self::default() };
        route.set_leg(behind as usize, next as usize);
        Ok(route)
    }
}
