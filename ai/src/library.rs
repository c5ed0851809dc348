//! A library: the conditions, effects, scores and actions that trees and machines refer to by name.

use std::sync::Arc;

use formic_ecs::QueryData;

use crate::action::{ActionSet, Body, MindError};

type Condition<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> bool + Send + Sync>;
type Do<Q> = Box<dyn for<'a> Fn(&mut <Q as QueryData>::Item<'a>) + Send + Sync>;
type Rate<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> f32 + Send + Sync>;

/// The names that trees and machines may use: the actions of an action set, and conditions, effects and
/// scores over the components that the query `Q` accesses.
///
/// One of these components may be a *blackboard*: a component of your own that effects write and
/// conditions read. Its fields have types, and access to a field that does not exist does not compile.
///
/// ```
/// use formic_ai::bt::{Library, Tree};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Attack;
/// # #[derive(Component, Clone)] struct Patrol;
/// #[derive(Component)]
/// struct Enemy { distance: f32 }
/// #[derive(Component)]
/// struct Board { alarms: u32 }
///
/// let actions = ActionSet::new().action("attack", Attack).action("patrol", Patrol);
/// let library = Library::<(&'static Enemy, &'static mut Board)>::new(&actions)
///     .condition("enemy_near", |(enemy, _)| enemy.distance < 5.0)
///     .effect("raise_alarm", |(_, board)| board.alarms += 1)
///     .score("danger", |(enemy, _)| 1.0 / (1.0 + enemy.distance));
/// let tree = Tree::parse("selector { sequence { enemy_near? do raise_alarm attack } patrol }", &library)?;
/// assert_eq!(tree.node_count(), 6);
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
pub struct Library<Q: QueryData> {
    pub(crate) actions: Arc<[String]>,
    pub(crate) entries: Arc<Entries<Q>>,
}

pub(crate) struct Entries<Q: QueryData> {
    pub(crate) conditions: Vec<(String, Condition<Q>)>,
    pub(crate) effects: Vec<(String, Do<Q>)>,
    pub(crate) scores: Vec<(String, Rate<Q>)>,
}

impl<Q: QueryData> Clone for Library<Q> {
    fn clone(&self) -> Self {
        Self { actions: Arc::clone(&self.actions), entries: Arc::clone(&self.entries) }
    }
}

debug_fields!([Q: QueryData] Library<Q>: actions; conditions = |it| {
    names(&it.entries.conditions).collect::<Vec<_>>()
});

impl<Q: QueryData> Library<Q> {
    /// Creates a library with the actions of an action set and no other entries.
    #[must_use]
    pub fn new(actions: &ActionSet) -> Self {
        let entries = Entries { conditions: Vec::new(), effects: Vec::new(), scores: Vec::new() };
        // A body has no room for more actions.
        let names = actions.names().take(Body::ACTIONS_MAX).map(String::from);
        Self { actions: names.collect(), entries: Arc::new(entries) }
    }

    /// Access for adding entries. Trees that were made from a library share its entries, so that they
    /// must not change any more.
    fn entries_mut(&mut self) -> &mut Entries<Q> {
        Arc::get_mut(&mut self.entries).expect("a library is completed before trees are made of it")
    }

    /// Adds a condition.
    ///
    /// # Panics
    /// Panics if there is a condition of this name, or if a tree, a machine or a clone of this library
    /// exists.
    #[must_use]
    pub fn condition(
        mut self,
        name: impl Into<String>,
        ask: impl for<'a> Fn(&Q::Item<'a>) -> bool + Send + Sync + 'static,
    ) -> Self {
        push(&mut self.entries_mut().conditions, "condition", name.into(), Box::new(ask));
        self
    }

    /// Adds an effect, which changes the components at once.
    ///
    /// # Panics
    /// Panics if there is an effect of this name, or if a tree, a machine or a clone of this library
    /// exists.
    #[must_use]
    pub fn effect(
        mut self,
        name: impl Into<String>,
        act: impl for<'a> Fn(&mut Q::Item<'a>) + Send + Sync + 'static,
    ) -> Self {
        push(&mut self.entries_mut().effects, "effect", name.into(), Box::new(act));
        self
    }

    /// Adds a score, for [`Node::priority`](crate::bt::Node::priority). NaN counts as the lowest score.
    ///
    /// # Panics
    /// Panics if there is a score of this name, or if a tree, a machine or a clone of this library exists.
    #[must_use]
    pub fn score(
        mut self,
        name: impl Into<String>,
        rate: impl for<'a> Fn(&Q::Item<'a>) -> f32 + Send + Sync + 'static,
    ) -> Self {
        push(&mut self.entries_mut().scores, "score", name.into(), Box::new(rate));
        self
    }
}

impl<Q: QueryData> Library<Q> {
    /// The index of an action, condition, effect or score. `field` is the field of the file that names
    /// it, for the error.
    pub(crate) fn find(
        &self,
        what: &str,
        field: &'static str,
        name: &str,
    ) -> Result<usize, MindError> {
        let place = self.known(what).position(|other| other == name);
        place.ok_or_else(|| MindError::unknown(what, field, name, self.known(what)))
    }

    /// The known names of actions, conditions, effects or scores.
    pub(crate) fn known<'a>(&'a self, what: &str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match what {
            "action" => Box::new(self.actions.iter().map(String::as_str)),
            "condition" => Box::new(names(&self.entries.conditions)),
            "effect" => Box::new(names(&self.entries.effects)),
            _ => Box::new(names(&self.entries.scores)),
        }
    }
}

fn push<T>(list: &mut Vec<(String, T)>, what: &str, name: String, value: T) {
    let is_new = names(list).all(|known| known != name);
    assert!(is_new, "there is a {what} {name:?} already");
    list.push((name, value));
}

fn names<T>(list: &[(String, T)]) -> impl Iterator<Item = &str> {
    list.iter().map(|(name, _)| name.as_str())
}
