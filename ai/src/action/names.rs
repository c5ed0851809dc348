//! The names of actions, for records and for viewers.

use std::collections::BTreeMap;

use formic_ecs::{Res, World};
use formic_jobs::SystemParam;

use super::body::Body;
use crate::explain::{DecisionRecorder, Label, short};

/// The names of the actions of all bodies that were laid out by an [`ActionSet`](super::ActionSet): a resource.
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
    /// By the number of the layout, which is made of the names: the same in every world, so that a
    /// snapshot may be restored in another one.
    layouts: BTreeMap<u32, Vec<String>>,
}

impl ActionNames {
    /// What an action of a body is called, if its names are known.
    #[must_use]
    pub fn name(&self, body: &Body, action: usize) -> Option<Label> {
        Some(self.layouts.get(&body.layout())?.get(action)?.as_str().into())
    }

    /// Keeps the names of a layout.
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

/// The number of a layout with one more name (FNV-1a). It is never 0, which stands for none.
pub(super) fn layout_with(layout: u32, name: &str) -> u32 {
    let start = if layout == 0 { 0x811C_9DC5 } else { layout };
    // A byte that is in no text stands between the names.
    let bytes = name.bytes().chain(std::iter::once(0xFF));
    let hash = bytes.fold(start, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.max(1)
}

/// The log and the names, as the argument of a system.
#[derive(SystemParam)]
pub struct NamingRecorder<'a> {
    pub(super) decisions: DecisionRecorder<'a>,
    names: Option<Res<'a, ActionNames>>,
}

debug_fields!([] NamingRecorder<'_>: decisions);

impl NamingRecorder<'_> {
    /// What an action is called; by its place where that is not known.
    pub(super) fn name(&self, body: &Body, action: usize) -> Label {
        let known = self.names.as_ref().and_then(|names| names.name(body, action));
        known.unwrap_or_else(|| format!("action {action}").into())
    }
}
