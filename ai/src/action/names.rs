//! The names of actions, for decision records and viewers.

use std::collections::BTreeMap;

use formic_ecs::{Res, World};
use formic_jobs::SystemParam;

use super::body::Body;
use crate::explain::{DecisionRecorder, Label, short};

/// The names of the actions of all bodies that were created by an [`ActionSet`](super::ActionSet); a
/// resource.
///
/// ```
/// use formic_ai::action::ActionNames;
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Walk;
/// let mut world = World::new();
/// let agent = ActionSet::new().action("walk", Walk).spawn(&mut world, ())?;
/// let body = world.get::<Body>(agent)?.clone();
/// assert_eq!(world.resource::<ActionNames>()?.name(&body, 0).as_deref(), Some("walk"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct ActionNames {
    /// The names by layout. A layout is a hash of the names and the same in every world, so that a
    /// snapshot can be restored in another world.
    layouts: BTreeMap<u32, Vec<String>>,
}

impl ActionNames {
    /// The name of an action of a body, if it is known.
    #[must_use]
    pub fn name(&self, body: &Body, action: usize) -> Option<Label> {
        Some(self.layouts.get(&body.layout())?.get(action)?.as_str().into())
    }

    /// Stores the names of a layout.
    pub(super) fn keep<'a>(
        world: &mut World,
        layout: u32,
        names: impl IntoIterator<Item = &'a str>,
    ) {
        if world.resource::<Self>().is_err() {
            world.insert_resource(Self::default());
        }
        let Ok(known) = world.resource_mut::<Self>() else { return };
        let short = |name| short(name).to_owned();
        known.layouts.entry(layout).or_insert_with(|| names.into_iter().map(short).collect());
    }
}

/// Extends a layout by one more name (FNV-1a). A layout is never 0, which stands for none.
pub(super) fn layout_with(layout: u32, name: &str) -> u32 {
    let start = if layout == 0 { 0x811C_9DC5 } else { layout };
    // A byte that occurs in no text separates the names.
    let bytes = name.bytes().chain(std::iter::once(0xFF));
    let hash = bytes.fold(start, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.max(1)
}

/// A system parameter with the decision log and the names of actions.
#[derive(SystemParam)]
pub struct NamingRecorder<'a> {
    pub(super) decisions: DecisionRecorder<'a>,
    names: Option<Res<'a, ActionNames>>,
}

debug_fields!([] NamingRecorder<'_>: decisions);

impl NamingRecorder<'_> {
    /// The name of an action, or its index if the name is not known.
    pub(super) fn name(&self, body: &Body, action: usize) -> Label {
        let known = self.names.as_ref().and_then(|names| names.name(body, action));
        known.unwrap_or_else(|| format!("action {action}").into())
    }
}
