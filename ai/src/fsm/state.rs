//! States, as declared for the builder.

use formic_ecs::QueryData;

pub(super) type Do<Q> = Box<dyn for<'a> Fn(&mut <Q as QueryData>::Item<'a>) + Send + Sync>;

/// The inner state that a state enters when it is entered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum History {
    /// The initial state.
    #[default]
    None,
    /// The inner state that was last active, and the initial state inside that.
    Shallow,
    /// The inner states that were last active, at all depths.
    Deep,
}

/// A state of a [`Machine`](super::Machine), as declared for the builder.
///
/// ```
/// use formic_ai::fsm::{FsmAgent, MachineBuilder, Machines, State, Transition};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Stroll;
/// #[derive(Component)]
/// struct Lamp { is_lit: bool, evening: bool }
///
/// let actions = ActionSet::new().action("stroll", Stroll);
/// let night = State::<&mut Lamp>::new("night")
///     .on_enter(|lamp| lamp.is_lit = true)
///     .on_exit(|lamp| lamp.is_lit = false);
/// let machine = MachineBuilder::new()
///     .state(State::new("day").initial("walking"))
///     .state(State::new("standing").inside("day"))
///     .state(State::new("walking").inside("day").action("stroll"))
///     .state(night)
///     .transition(Transition::<&mut Lamp>::new("day", "night").when(|lamp| lamp.evening))
///     .build(&actions)?;
/// let mut world = World::new();
/// let watchman = actions.spawn(&mut world, Lamp { is_lit: false, evening: true })?;
/// FsmAgent::drive(&mut world, watchman, &machine)?;
/// let think = move |mut machines: Machines<&mut Lamp>| machines.update(&machine);
/// let schedule = formic_ai::action::add(Schedule::builder());
/// let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// (0..2).for_each(|_| _ = schedule.run(&mut world, &pool));
/// assert!(world.get::<Lamp>(watchman)?.is_lit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct State<Q: QueryData> {
    pub(super) name: String,
    pub(super) inside: Option<String>,
    pub(super) initial: Option<String>,
    pub(super) action: Option<String>,
    pub(super) history: History,
    pub(super) enter: Option<Do<Q>>,
    pub(super) exit: Option<Do<Q>>,
}

debug_fields!([Q: QueryData] State<Q>: name);

impl<Q: QueryData> State<Q> {
    /// Creates a state without an action.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            inside: None,
            initial: None,
            action: None,
            history: History::None,
            enter: None,
            exit: None,
        }
    }

    /// Puts the state inside another one.
    #[must_use]
    pub fn inside(mut self, parent: impl Into<String>) -> Self {
        self.inside = Some(parent.into());
        self
    }

    /// The inner state that is entered with this one. The default is the first one added.
    #[must_use]
    pub fn initial(mut self, child: impl Into<String>) -> Self {
        self.initial = Some(child.into());
        self
    }

    /// The action of the agent's body that runs while the state is active.
    #[must_use]
    pub fn action(mut self, name: impl Into<String>) -> Self {
        self.action = Some(name.into());
        self
    }

    /// Sets the inner state that is entered when this state is entered again. The default is
    /// [`History::None`].
    #[must_use]
    pub const fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// A change of the agent's components when the state is entered.
    #[must_use]
    pub fn on_enter(
        mut self,
        act: impl for<'a> Fn(&mut Q::Item<'a>) + Send + Sync + 'static,
    ) -> Self {
        self.enter = Some(Box::new(act));
        self
    }

    /// A change of the agent's components when the state is exited.
    #[must_use]
    pub fn on_exit(
        mut self,
        act: impl for<'a> Fn(&mut Q::Item<'a>) + Send + Sync + 'static,
    ) -> Self {
        self.exit = Some(Box::new(act));
        self
    }
}
