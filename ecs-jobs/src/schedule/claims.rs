//! Exclusive access to single entities for the rows of a system.

use formic_ecs::{
    Claim, ClaimError, Claimant, Entity, ExclusivePlan, ExclusiveView, QueryData, World,
};

use super::access::{SystemAccess, component_names};
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use crate::sync::Mutex;

/// Exclusive access to single entities, for the rows of a parallel loop on all threads: an
/// [`formic_ecs::ExclusiveView`] whose conflicts end the run.
///
/// In one run of the system each entity belongs to one row, which may claim it several times. Two rows
/// that claim one entity are an error every time, on any number of threads, whether or not they overlap
/// in time. The second gets [`ClaimError::Contested`]. When the lookup is dropped, at the end of the
/// system, it panics with the names of two such rows, the components and the system, so no code of the
/// system can ignore the error. What the run has recorded and sent is dropped, as with any panic. What it
/// has written to components stays; the contents of the contested entities depend on timing, so a game
/// should not go on with them.
///
/// A row proves its identity by its [`Claimant`], which the query yields beside the components, and which
/// no code can create, copy, keep, or give to another thread. Only one query of a system has claimants.
///
/// Of several conflicts, the message names that of the smallest entity, with its two smallest rows. It is
/// the same every time if rows make the same claims whether or not earlier ones were refused. A row that
/// returns early after an error does not make its remaining claims, so a conflict over those shows only
/// in some runs; but that there is a conflict shows in all of them.
///
/// For targets that several rows write to, use [`Scatter`](super::Scatter).
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

/// The state of an [`ExclusiveLookup`] between runs.
pub struct ExclusiveState<Q: QueryData> {
    plan: ExclusivePlan<Q>,
    contests: Contests,
}

debug_fields!([Q: QueryData] ExclusiveState<Q>: plan);

/// The conflicts of a run.
struct Contests {
    /// The names of the accessed components.
    components: String,
    first: Mutex<Option<Contest>>,
}

/// Two rows that have claimed one entity, or the same row twice if it already holds the entity. Kept for
/// the smallest such entity and its two smallest rows, so that the report does not depend on which came
/// first.
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

    /// Returns the report of the conflicts of the current run.
    fn report(&self) -> Option<String> {
        let Contest { target, rows: [one, other] } = (*self.first.lock())?;
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
        let components = component_names(plan.access().writes(), world).join(", ");
        let contests = Contests { components, first: Mutex::new(None) };
        ExclusiveState { plan, contests }
    }

    fn fetch<'a>(
        state: &'a mut ExclusiveState<Q>,
        context: RunContext<'a>,
    ) -> Result<ExclusiveLookup<'a, Q>, ParamError> {
        let ExclusiveState { plan, contests } = state;
        // Left by a run that panicked.
        *contests.first.get_mut() = None;
        let view = context.cell.claims(plan)?;
        Ok(ExclusiveLookup { view, state: contests, system: user_of(context) })
    }

    /// Reports the conflicts if the system has leaked its lookup, whose drop would have done so, or has
    /// caught the panic.
    fn finish(state: &mut ExclusiveState<Q>, context: RunContext<'_>) {
        if let Some(report) = state.contests.report() {
            panic!("{} went wrong: {report}", user_of(context));
        }
    }

    /// It remembers only the positions of components.
    fn visit_state(_state: &mut ExclusiveState<Q>, _archive: &mut StateArchive<'_>) {}
}

/// The name of the system, for messages.
fn user_of(context: RunContext<'_>) -> &str {
    context.cell.user().unwrap_or("a system that ran once")
}

impl<Q: QueryData> ExclusiveLookup<'_, Q> {
    /// Returns exclusive access for a row to the components of a target, until the claim is dropped.
    ///
    /// # Errors
    /// Returns the errors of [`ExclusiveView::claim`]. [`ClaimError::Contested`] and [`ClaimError::Held`]
    /// also end the run.
    #[inline]
    pub fn claim(&self, row: &Claimant<'_>, target: Entity) -> Result<Claim<'_, Q>, ClaimError> {
        self.view.claim(row, target).inspect_err(|error| self.note(row.entity(), error))
    }

    #[cold]
    fn note(&self, row: Entity, error: &ClaimError) {
        let (target, rows) = match *error {
            ClaimError::Contested { target, rows } => (target, rows),
            ClaimError::Held(target) => (target, [row; 2]),
            // These are about the target, which no other row changes.
            _ => return,
        };
        self.state.note(Contest { target, rows });
    }
}

impl<Q: QueryData> Drop for ExclusiveLookup<'_, Q> {
    fn drop(&mut self) {
        let Some(report) = self.state.report() else { return };
        // A system that panics for another reason reports that reason.
        assert!(std::thread::panicking(), "{} went wrong: {report}", self.system);
    }
}

debug_fields!([Q: QueryData] ExclusiveLookup<'_, Q>: view);
