//! `UtilityAgent`: the component of an agent that decides by utility.

use bytemuck::{CheckedBitPattern, NoUninit, TransparentWrapper};
use formic_ecs::{Buffer, Component, ComponentError, Entity, RandomStream, World};

use super::reasoner::{Reasoner, Select};
use crate::action::{ActionResult, Body, give_mind};

/// The component of an agent that decides by utility: the option it runs, and the state of its random
/// numbers.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct UtilityAgent {
    /// The state of a [`RandomStream`].
    random: u64,
    /// `NONE` if no option runs.
    pub(super) current: u32,
    /// The number of decisions that began an option.
    switches: u32,
}

pub(super) const NONE: u32 = u32::MAX;

/// The number of decisions for which an option stays unavailable. An agent has a `Buffer<Cooldown>`, with
/// one entry per option, if its reasoner [has cooldowns](Reasoner::has_cooldowns).
#[derive(
    Component,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    TransparentWrapper,
)]
#[component(buffer = 6)]
#[repr(transparent)]
pub struct Cooldown(pub u32);

/// An option, its rank and its score.
type Scored = (usize, i32, f32);

impl UtilityAgent {
    /// Creates an agent that runs no option. The seed is for [`Select::WeightedRandom`]; agents should
    /// have different seeds.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { random: seed, current: NONE, switches: 0 }
    }

    /// Makes an entity with a body decide by utility. Running actions are halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    ///
    /// # Panics
    /// Panics if the reasoner was not [bound](Reasoner::bind) to actions.
    pub fn drive(
        world: &mut World,
        agent: Entity,
        reasoner: &Reasoner,
        seed: u64,
    ) -> Result<(), ComponentError> {
        assert!(reasoner.is_bound(), "the reasoner knows no actions yet: call `bind` on it");
        give_mind::<Self>(world, agent, "an argument `UtilityAgents`", Self::new(seed))?;
        if reasoner.has_cooldowns() {
            let none: Buffer<Cooldown> = reasoner.names().map(|_| Cooldown(0)).collect();
            if world.insert(agent, none).is_err() {
                unreachable!("the entity is in the world");
            }
        }
        Ok(())
    }

    /// The index of the option that runs.
    #[must_use]
    pub const fn current(&self) -> Option<usize> {
        if self.current == NONE { None } else { Some(self.current as usize) }
    }

    /// The number of decisions that began an option, whether another one or the same one again.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.switches
    }

    /// Decides. Returns the index of the option to continue or to begin.
    ///
    /// This is the decision rule alone, without a body. [`UtilityAgents`](super::UtilityAgents) does the
    /// rest.
    ///
    /// ```
    /// use formic_ai::utility::{Curve, Input, Reasoner, Select, Utility, UtilityAgent};
    /// let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
    /// let linear = || Curve::linear(1.0, 0.0);
    /// let cat = Reasoner::new()
    ///     .option("eat", Utility::of(hunger, linear()))
    ///     .option("sleep", Utility::of(tiredness, linear()));
    /// let inputs = [0.4, 0.6];
    /// assert_eq!(UtilityAgent::new(1).choose(&cat, &inputs, &[]), Some(1));
    /// // The first in the list that is good enough.
    /// let hasty = cat.clone().select(Select::FirstAbove(0.3));
    /// assert_eq!(UtilityAgent::new(1).choose(&hasty, &inputs, &[]), Some(0));
    /// // Each in proportion to its score, by the seed of the agent.
    /// let fickle = cat.select(Select::WeightedRandom);
    /// let mut agent = UtilityAgent::new(7);
    /// let eats = (0..1000).filter(|_| agent.choose(&fickle, &inputs, &[]) == Some(0)).count();
    /// assert!((350..450).contains(&eats));
    /// ```
    #[must_use]
    #[inline]
    pub fn choose(
        &mut self,
        reasoner: &Reasoner,
        inputs: &[f32],
        cooldowns: &[Cooldown],
    ) -> Option<usize> {
        let scored = self.scored(reasoner, inputs, cooldowns);
        match reasoner.select {
            Select::Highest => self.highest(scored),
            Select::FirstAbove(threshold) => first_above(threshold, scored),
            Select::WeightedRandom => self.weighted(scored),
        }
    }

    fn highest(&self, scored: impl Iterator<Item = Scored>) -> Option<usize> {
        let above = scored.filter(|&(_, _, score)| score > 0.0);
        let best = above.reduce(|best, it| {
            let order = it.1.cmp(&best.1).then(it.2.total_cmp(&best.2));
            // Ties go to the option that runs, else to the first.
            let is_better = order.is_gt() || order.is_eq() && self.current() == Some(it.0);
            if is_better { it } else { best }
        });
        best.map(|(option, ..)| option)
    }

    /// The scores of all options; 0 for those on cooldown.
    fn scored<'a>(
        &self,
        reasoner: &'a Reasoner,
        inputs: &'a [f32],
        cooldowns: &'a [Cooldown],
    ) -> impl Iterator<Item = Scored> + Clone + use<'a> {
        let current = self.current();
        reasoner.options.iter().enumerate().map(move |(option, spec)| {
            let score = if current == Some(option) {
                spec.utility.score_running(inputs)
            } else if is_cooling(cooldowns, option) {
                0.0
            } else {
                spec.utility.score(inputs)
            };
            (option, spec.utility.rank, score)
        })
    }

    fn weighted(&mut self, scored: impl Iterator<Item = Scored> + Clone) -> Option<usize> {
        let scored = scored.filter(|&(_, _, score)| score > 0.0);
        let rank = scored.clone().map(|(_, rank, _)| rank).max()?;
        let in_it = scored.filter(|&(_, of, _)| of == rank);
        if let Some(running) = self.current() {
            if in_it.clone().any(|(option, _, _)| option == running) {
                return Some(running);
            }
        }
        let total: f32 = in_it.clone().map(|(_, _, score)| score).sum();
        let mut random = RandomStream::new(self.random);
        let mut left = random.between(0.0, total);
        self.random = random.state();
        let mut last = None;
        for (option, _, score) in in_it {
            last = Some(option);
            left -= score;
            if left < 0.0 {
                break;
            }
        }
        // A remainder left by rounding goes to the last option.
        last
    }
}

fn first_above(threshold: f32, scored: impl Iterator<Item = Scored> + Clone) -> Option<usize> {
    let above = |&(_, _, score): &Scored| score > threshold.max(0.0);
    let rank = scored.clone().filter(above).map(|(_, rank, _)| rank).max()?;
    scored.filter(above).find(|&(_, of, _)| of == rank).map(|(option, _, _)| option)
}

#[inline]
fn is_cooling(cooldowns: &[Cooldown], option: usize) -> bool {
    cooldowns.get(option).is_some_and(|cooldown| cooldown.0 > 0)
}

impl UtilityAgent {
    /// Ends the option if its action has ended. Returns the option and how it ended.
    pub(super) fn take_end(
        &mut self,
        reasoner: &Reasoner,
        body: &mut Body,
        cooldowns: &mut [Cooldown],
    ) -> Option<(usize, ActionResult)> {
        let running = self.current()?;
        let ended = body.take_ended(reasoner.options.get(running)?.action)?;
        cool(reasoner, cooldowns, running);
        self.current = NONE;
        Some((running, ended))
    }

    pub(super) fn switch(
        &mut self,
        choice: Option<usize>,
        reasoner: &Reasoner,
        body: &mut Body,
        cooldowns: &mut [Cooldown],
    ) {
        if let Some(left) = self.current() {
            cool(reasoner, cooldowns, left);
            match reasoner.options.get(left) {
                Some(option) => body.halt(option.action),
                // A save made with a reasoner of more options.
                None => body.halt_all(),
            }
        }
        if let Some(chosen) = choice {
            body.begin(reasoner.options[chosen].action);
            self.switches = self.switches.wrapping_add(1);
        }
        self.current = choice.map_or(NONE, |option| u32::try_from(option).unwrap_or(NONE));
    }
}

fn cool(reasoner: &Reasoner, cooldowns: &mut [Cooldown], option: usize) {
    if let (Some(cooldown), Some(option)) =
        (cooldowns.get_mut(option), reasoner.options.get(option))
    {
        cooldown.0 = option.utility.cooldown;
    }
}
