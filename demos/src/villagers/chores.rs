//! The activities: their sub-activities, and the order of these.

use std::borrow::Cow;

use formic_ai::activity::{Activity, Current, Effects, Ending, Notice, Response, Status, Tick};
use formic_ecs::{Codec, Entity, HashRule, HashState};
use glam::Vec2;
use serde::{Deserialize, Serialize};

use super::HOME;
use super::parts::Happening;
use super::steps::{Errand, Sight, Step, Trouble, Village};

/// The activity of a villager.
#[derive(HashState, Serialize, Deserialize)]
pub(super) struct Chore {
    pub(super) kind: Kind,
    now: Current<Step>,
    /// The number of steps begun.
    steps: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, HashState, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Fetches a stone, with a pickaxe that has to be taken first if `equips`.
    Mine { block: Entity, place: Vec2, equips: bool },
    /// Eats at home.
    Eat,
    /// Runs home and hides.
    Flee,
}

impl Chore {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, now: Current::default(), steps: 0 }
    }

    /// Whether it is breaking this block at the moment.
    pub(super) fn breaks(&self, block: Entity) -> bool {
        matches!(self.now.get(), Some(Step::Break(_, it)) if *it == block)
    }

    /// Returns why the decision engine chose it.
    pub(super) fn reason(&self) -> &'static str {
        match self.kind {
            Kind::Flee => "a wolf was near when it last looked",
            Kind::Eat => "its last meal was too long ago, and no wolf was near",
            Kind::Mine { equips: true, .. } => {
                "it was not hungry and no wolf was near; it had no pickaxe, and takes one first"
            }
            Kind::Mine { equips: false, .. } => "it was not hungry and no wolf was near",
        }
    }

    /// Returns the stone that it is about.
    pub(super) fn stone(&self) -> Option<Entity> {
        match self.kind {
            Kind::Mine { block, .. } => Some(block),
            Kind::Eat | Kind::Flee => None,
        }
    }

    /// Returns what it waits for while it sleeps.
    pub(super) fn waits_for(&self) -> &'static str {
        self.now.get().map_or("its next step", Step::waits_for)
    }

    fn next(&mut self) -> Option<Step> {
        let begun = self.steps;
        self.steps += 1;
        let errand = Errand::default();
        let list = match self.kind {
            Kind::Mine { block, place, equips } => {
                let way = [
                    Step::go_to(HOME),
                    Step::Equip(errand),
                    Step::go_to(place),
                    Step::Break(errand, block),
                    Step::Haul(errand, block),
                ];
                let skipped = if equips { 0 } else { 2 };
                return way.get(begun as usize + skipped).copied();
            }
            Kind::Eat => [Step::go_to(HOME), Step::Eat(errand)],
            Kind::Flee => [Step::go_to(HOME), Step::Hide(errand)],
        };
        list.get(begun as usize).copied()
    }
}

impl Activity for Chore {
    type Domain = Village;
    const CODEC: Codec<Self> = Codec::serde();
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Mine { .. } => "fetching a stone",
            Kind::Eat => "having a meal",
            Kind::Flee => "running from a wolf",
        }
        .into()
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        self.now.name()
    }

    fn on_tick(&mut self, tick: &mut Tick<Village>, sight: &Sight) -> Status<Trouble> {
        loop {
            match self.now.on_tick(tick, sight) {
                None | Some(Status::Finished(Ending::Success)) => match self.next() {
                    Some(step) => self.now.begin(step),
                    None => return Status::Finished(Ending::Success),
                },
                Some(status) => return status,
            }
        }
    }

    fn on_event(&mut self, notice: Notice<Happening>, subject: Entity) -> Response {
        self.now.on_event(notice, subject)
    }

    fn on_finish(self, _: &Ending<Trouble>, effects: &mut Effects<Village>, sight: &Sight) {
        self.now.finish(effects, sight);
    }
}
