//! Exclusive access of the rows of a system to single entities.

use formic_ecs::{
    Claim, ClaimError, Claimant, Entity, ExclusivePlan, ExclusiveView, QueryData, World,
};

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use crate::sync::Mutex;

/// Exclusive access of rows to single entities, from all threads of a parallel loop: an
/// [`formic_ecs::ExclusiveView`] whose conflicts end the run.
///
/// In one run of the system each entity is one row's, which may claim it several times. Two rows
/// that claim one entity are an error every time, on any number of threads, whether or not they meet:
/// the second of them gets [`ClaimError::Contested`], and when the lookup is dropped, at the end of
/// the system, it panics with the names of two such rows, the components and the system. So no code
/// of the system can pass over it. What the run has recorded and sent is dropped as with any panic;
/// what it has written to components stays, and what lies in the entities in question depends on
/// timing, so that a game should not go on with it.
///
/// A row shows that it is itself by its [`Claimant`], which the query hands out beside the components
/// and no code can make, copy, keep, or give to another thread. One query of a system has claimants.
///
/// Of several conflicts the message names that of the smallest entity, and of its rows the two
/// smallest. It is the same every time if rows claim the same whether or not they were refused
/// before. A row that goes home after an error does not claim the rest, so that a conflict over that
/// shows only in some runs; that there is one shows in all of them.
///
/// For targets that several rows write to there is [`Scatter`](super::Scatter).
///
/// ```should_panic
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Feeds(Entity);
/// # #[derive(Component)] struct Stomach(u32);
/// fn feed(mut nurses: Query<'_, (Claimant, &Feeds)>, stomachs: ExclusiveLookup<'_, &'static mut Stomach>) {
///     nurses.par_for_each(|(nurse, feeds)| {
///         let Ok(mut stomach) = stomachs.claim(&nurse, feeds.0) else { return };
///         stomach.get_mut().0 += 1;
///     });
/// }
///
/// let mut world = World::new();
/// let larva = world.spawn(Stomach(0));
/// world.spawn_batch([Feeds(larva), Feeds(larva)]);
/// let pool = Pool::new(Threads::None).expect("no threads");
/// world.run_system(&pool, feed); // the rows of 1v1 and 2v1 both claim Stomach of 0v1
/// ```
pub struct ExclusiveLookup<'a, Q: QueryData> {
    view: ExclusiveView<'a, Q>,
    state: &'a Contests,
    system: &'a str,
}

/// What an [`ExclusiveLookup`] keeps from run to run.
pub struct ExclusiveState<Q: QueryData> {
    plan: ExclusivePlan<Q>,
    contests: Contests,
}

debug_fields!([Q: QueryData] ExclusiveState<Q>: plan);

/// The conflicts of a run.
struct Contests {
    /// The names of what is accessed.
    components: String,
    first: Mutex<Option<Contest>>,
}

/// Two rows that have claimed one entity, or twice the row that holds it already: of all such
/// entities the smallest, and of its rows the two smallest, so that the report does not depend on
/// which came first.
#[derive(Clone, Copy)]
struct Contest {
    target: Entity,
    rows: [Entity; 2],
}

impl Contest {
    fn with(self, other: Self) -> Self {
        if self.target != other.target {
            return if self.target < other.target { self } else { other };
        }
        let [a, b] = self.rows;
        let [c, d] = other.rows;
        let mut rows = [a, b, c, d];
        rows.sort_unstable();
        let second = rows.iter().copied().find(|&row| row != rows[0]).unwrap_or(rows[0]);
        Self { rows: [rows[0], second], ..self }
    }
}

impl Contests {
    fn note(&self, contest: Contest) {
        let mut first = self.first.lock();
        *first = Some(first.map_or(contest, |first| first.with(contest)));
    }

    /// What to say about the conflicts of the last run, which are forgotten.
    fn take_report(&self) -> Option<String> {
        let Contest { target, rows: [one, other] } = self.first.lock().take()?;
        let components = &self.components;
        Some(if one != other {
            format!(
                "the rows of {one} and {other} both claim {components} of {target} in one run, so \
                 that the result would depend on which of them comes first; collect what rows write \
                 to the same entity in a Scatter, and apply it after the loop"
            )
        } else {
            format!(
                "the row of {one} claims {components} of {target} while it holds them; drop a claim \
                 before the next"
            )
        })
    }
}

impl<Q: QueryData + 'static> SystemParam for ExclusiveLookup<'_, Q> {
    type State = ExclusiveState<Q>;
    type Item<'a> = ExclusiveLookup<'a, Q>;

    fn init(world: &mut World, access: &mut SystemAccess) -> ExclusiveState<Q> {
        let plan = world.claim_plan::<Q>();
        access.add_components(plan.access(), world);
        let written = plan.access().writes().iter();
        let names: Vec<_> =
            written.map(|id| world.components()[id.index()].name().to_string()).collect();
        let contests = Contests { components: names.join(", "), first: Mutex::new(None) };
        ExclusiveState { plan, contests }
    }

    fn fetch<'a>(
        state: &'a mut ExclusiveState<Q>,
        context: RunContext<'a>,
    ) -> Result<ExclusiveLookup<'a, Q>, ParamError> {
        let ExclusiveState { plan, contests } = state;
        // Of a run that has leaked its lookup and panicked.
        drop(contests.take_report());
        let view = context.cell.claims(plan)?;
        Ok(ExclusiveLookup { view, state: contests, system: user_of(context) })
    }

    /// Where the system has leaked its lookup, so that its drop has said nothing.
    fn finish(state: &mut ExclusiveState<Q>, context: RunContext<'_>) {
        if let Some(report) = state.contests.take_report() {
            panic!("{} went wrong: {report}", user_of(context));
        }
    }

    /// It remembers nothing but where components are.
    fn visit_state(_state: &mut ExclusiveState<Q>, _archive: &mut StateArchive<'_>) {}
}

/// The system, for messages.
fn user_of(context: RunContext<'_>) -> &str {
    context.cell.user().unwrap_or("a system that ran once")
}

impl<Q: QueryData> ExclusiveLookup<'_, Q> {
    /// Exclusive access of a row to the components of a target, until the claim is dropped.
    ///
    /// # Errors
    /// Returns the errors of [`ExclusiveView::claim`]. [`ClaimError::Contested`] and [`ClaimError::Held`] end the run as well.
    #[inline]
    pub fn claim(&self, row: &Claimant<'_>, target: Entity) -> Result<Claim<'_, Q>, ClaimError> {
        self.view.claim(row, target).inspect_err(|error| self.note(row.entity(), error))
    }

    #[cold]
    fn note(&self, row: Entity, error: &ClaimError) {
        let (target, rows) = match *error {
            ClaimError::Contested { target, rows } => (target, rows),
            ClaimError::Held(target) => (target, [row; 2]),
            // About the target, which no other row changes.
            _ => return,
        };
        self.state.note(Contest { target, rows });
    }
}

impl<Q: QueryData> Drop for ExclusiveLookup<'_, Q> {
    fn drop(&mut self) {
        let Some(report) = self.state.take_report() else { return };
        // A system that panics for another reason says that.
        assert!(std::thread::panicking(), "{} went wrong: {report}", self.system);
    }
}

debug_fields!([Q: QueryData] ExclusiveLookup<'_, Q>: view);
