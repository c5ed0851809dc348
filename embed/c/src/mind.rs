//! Minds from data: what decides is a text, what is done is the host's.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::ffi::c_char;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use formic_ai::action::{LoadError, Processor};
use formic_ai::bt::{Tree, TreeAgent, Trees};
use formic_ai::explain::DecisionLog;
use formic_ai::fsm::{FsmAgent, Library, Machine, Machines};
use formic_ai::prelude::*;
use formic_ai::utility::{Reasoner, UtilityAgent, UtilityAgents};
use formic_ecs::{Codec, Entity, HashRule};
use formic_jobs::{SaveRules, SystemConfig};

use crate::entity::{each, entity_of, fm_entity};
use crate::ffi;
use crate::schedule::{fm_schedule, list, mind_of};
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, fm_world, with};

/// How a mind decides.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fm_mind_kind {
    /// By utility: the text is a `Reasoner(..)` in RON, whose options have the names of actions and
    /// whose considerations those of inputs.
    FM_UTILITY = 0,
    /// By a behaviour tree: the text is that of its nodes. `name?` asks whether an input is above 0.5.
    FM_TREE = 1,
    /// By a state machine: the text is a `Machine(..)` in RON. A condition is the name of an input, and
    /// holds while that is above 0.5.
    FM_MACHINE = 2,
}

/// A mind as data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_mind_desc {
    /// One of fm_mind_kind.
    pub kind: u32,
    /// The text, such as the content of a file: UTF-8 that ends with a zero.
    pub text: *const c_char,
    /// The names of what agents sense, up to FM_INPUTS_MAX, none twice.
    pub inputs: *const *const c_char,
    /// How many there are.
    pub inputs_len: usize,
    /// The names of what agents can do, at least one and up to 1,024, none twice.
    pub actions: *const *const c_char,
    /// How many there are.
    pub actions_len: usize,
}

/// The most inputs that a mind has.
pub const FM_INPUTS_MAX: usize = 16;

/// How many minds a world can have.
const MINDS_MAX: usize = 4;

/// What an agent senses: numbers that the host sets.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Senses([f32; FM_INPUTS_MAX]);

/// On an agent: it has the N-th mind of the world.
#[derive(Clone, Copy, Debug)]
struct Of<const N: usize>;

impl<const N: usize> Component for Of<N> {
    const HASH: HashRule<Self> = HashRule::Fields(|_, _| ());
    const CODEC: Codec<Self> = Codec::custom(|_, _| Ok(()), |_| Ok(Self));
}

/// On an action: how it ended, if the host has said so.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Deed {
    /// 1 for success, 2 for failure.
    report: u32,
}

/// Waits for the report.
struct Waiting;

impl Processor for Waiting {
    type Action = Deed;

    fn start(&self, _: Agent<'_>, deed: &mut Deed) -> ActionResult {
        deed.report = 0;
        ActionResult::Running
    }

    fn update(&self, _: Agent<'_>, deed: &mut Deed) -> ActionResult {
        match deed.report {
            0 => ActionResult::Running,
            1 => ActionResult::Success,
            _ => ActionResult::Failed,
        }
    }
}

fn act(mut actions: Actions<'_, Deed>) {
    actions.process(&Waiting);
}

type Row<const N: usize> = (&'static Senses, &'static Of<N>);

/// What decides.
enum Driver<const N: usize> {
    Utility(Reasoner),
    Tree(Box<Tree<Row<N>>>),
    Machine(Machine<Row<N>>),
}

/// The N-th mind of a world: a resource.
struct Drives<const N: usize>(Arc<Driver<N>>);

fn score<const N: usize>(mut minds: UtilityAgents<'_, Row<N>>, mind: Res<'_, Drives<N>>) {
    if let Driver::Utility(reasoner) = &*mind.0 {
        minds.decide(reasoner, |(senses, _)| senses.0);
    }
}

fn tick<const N: usize>(mut trees: Trees<'_, Row<N>>, mind: Res<'_, Drives<N>>) {
    if let Driver::Tree(tree) = &*mind.0 {
        trees.tick(tree);
    }
}

fn update<const N: usize>(mut machines: Machines<'_, Row<N>>, mind: Res<'_, Drives<N>>) {
    if let Driver::Machine(machine) = &*mind.0 {
        machines.update(machine);
    }
}

impl<const N: usize> Driver<N> {
    fn parse(kind: u32, text: &str, inputs: &[&str], actions: &ActionSet) -> Result<Self, Failure> {
        let load = |error: LoadError| Failure::new(fm_status::FM_BAD_DATA, error);
        for (what, names) in [("input", inputs.to_vec()), ("action", actions.names().collect())] {
            let mut known = HashSet::new();
            if let Some(name) = names.into_iter().find(|&name| !known.insert(name)) {
                return Err(Failure::argument(format!("the {what} {name:?} is there twice")));
            }
        }
        let library = || {
            let names = inputs.iter().enumerate();
            names.fold(Library::<Row<N>>::new(actions), |library, (place, &name)| {
                library.condition(name, move |(senses, _)| senses.0[place] > 0.5)
            })
        };
        match kind {
            0 => Reasoner::parse(text, inputs, actions).map(Self::Utility).map_err(load),
            1 => Tree::parse(text, &library()).map(|tree| Self::Tree(Box::new(tree))).map_err(load),
            2 => Machine::parse(text, &library()).map(Self::Machine).map_err(load),
            kind => Err(Failure::argument(format!("no kind of mind is {kind}"))),
        }
    }

    fn drive(&self, world: &mut World, agent: Entity, seed: u64) -> Result<(), Failure> {
        let driven = match self {
            Self::Utility(reasoner) => UtilityAgent::drive(world, agent, reasoner, seed),
            Self::Tree(tree) => TreeAgent::drive(world, agent, tree, seed),
            Self::Machine(machine) => FsmAgent::drive(world, agent, machine),
        };
        driven.map_err(Failure::argument)
    }

    fn system(&self) -> SystemConfig {
        match self {
            Self::Utility(_) => score::<N>.as_mind(),
            Self::Tree(_) => tick::<N>.as_mind(),
            Self::Machine(_) => update::<N>.as_mind(),
        }
    }
}

type Drive = dyn Fn(&mut World, Entity, u64) -> Result<(), Failure> + Send + Sync;

/// What is needed to give agents a mind.
pub(crate) struct HostMind {
    inputs: usize,
    actions: ActionSet,
    drive: Box<Drive>,
    has: fn(&World, Entity) -> bool,
}

impl HostMind {
    /// Returns an error if an agent is not in the world, or was not given this mind.
    fn expect_driven(&self, world: &World, agent: Entity) -> Result<(), Failure> {
        world.place_of(agent)?;
        (self.has)(world, agent).then_some(()).ok_or_else(|| no_mind("not this one"))
    }
}

fn make<const N: usize>(
    state: &mut WorldState,
    kind: u32,
    text: &str,
    inputs: &[&str],
    actions: ActionSet,
) -> Result<(Schedule, HostMind), Failure> {
    let driver = Arc::new(Driver::<N>::parse(kind, text, inputs, &actions)?);
    // Whether agents can have these actions.
    actions.spawn(&mut World::new(), ()).map_err(Failure::argument)?;
    let world = &mut state.world;
    world.insert_resource(Drives(Arc::clone(&driver)));
    // It is made with the schedule, and not saved.
    SaveRules::of(world).rebuild::<Drives<N>>();
    world.register::<Senses>();
    world.register::<Of<N>>();
    let schedule = formic_ai::action::add(Schedule::builder())
        .add(driver.system())
        .add(act.as_action())
        .build(world)
        .map_err(Failure::argument)?;
    let drive = move |world: &mut World, agent, seed| {
        if world.insert(agent, (Senses::zeroed(), Of::<N>)).is_err() {
            return Err(Failure::argument(format!("{agent} is gone")));
        }
        driver.drive(world, agent, seed)
    };
    let has = |world: &World, agent| world.get::<Of<N>>(agent).is_ok();
    state.minds += 1;
    Ok((schedule, HostMind { inputs: inputs.len(), actions, drive: Box::new(drive), has }))
}

/// Makes a mind: `*out` is a schedule, each run of which has all agents decide that it was given by
/// fm_mind_drive(). The host says what they sense before a run, by fm_mind_sense(), looks at what they
/// do after it, by fm_mind_current(), and says when that has ended, by fm_mind_end(). A world can have
/// four. With FM_BAD_DATA, fm_error_text() has what is wrong with the text, and where.
///
/// # Safety
/// `desc` points at a description with a text that ends with a zero, and as many names that end with a
/// zero as it says; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_new(
    world: fm_world,
    desc: *const fm_mind_desc,
    out: *mut fm_schedule,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        // SAFETY: the caller vouches for one description.
        let desc = unsafe { ffi::slice("desc", desc, 1) }?[0];
        // SAFETY: the caller vouches for the zero at its end.
        let text = unsafe { ffi::text("the text", desc.text) }?;
        // SAFETY: the caller vouches for as many names.
        let inputs = unsafe { ffi::texts("an input", desc.inputs, desc.inputs_len) }?;
        // SAFETY: as above.
        let actions = unsafe { ffi::texts("an action", desc.actions, desc.actions_len) }?;
        if inputs.len() > FM_INPUTS_MAX {
            let text = format!("a mind has up to {FM_INPUTS_MAX} inputs, not {}", inputs.len());
            return Err(Failure::argument(text));
        }
        let empty = ActionSet::new();
        let set = actions.iter().fold(empty, |set, &name| set.action(name, Deed::zeroed()));
        let (schedule, mind) = with(world, |state| {
            state.expect_no_lease()?;
            let make = match state.minds {
                0 => make::<0>,
                1 => make::<1>,
                2 => make::<2>,
                3 => make::<3>,
                _ => {
                    let text = format!("the world has {MINDS_MAX} minds already");
                    return Err(Failure::argument(text));
                }
            };
            make(state, desc.kind, text, &inputs, set)
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, list(world, schedule, Some(mind))) }
    })
}

/// Gives agents a mind; they sense zeros until they are told. Where it draws lots, agent `i` does so with
/// `seed + i`. Those that are not in the world are passed over, as for fm_despawn(), and so are those that
/// have a mind, with FM_BAD_ARGUMENT.
///
/// # Safety
/// `agents` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_drive(
    mind: fm_schedule,
    agents: *const fm_entity,
    count: usize,
    seed: u64,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        let (world, mind) = mind_of(mind)?;
        with(world, |state| {
            state.expect_no_lease()?;
            each(agents, |place, agent| {
                state.world.place_of(agent)?;
                mind.actions.attach(&mut state.world, agent).map_err(Failure::argument)?;
                (mind.drive)(&mut state.world, agent, seed.wrapping_add(place as u64))
            })
        })
    })
}

/// Says what agents sense: for each as many numbers as the mind has inputs, in their order. Numbers that
/// are not finite are FM_BAD_ARGUMENT, and nothing is done. Those that are not in the world, or do
/// not have this mind, are passed over, as for fm_despawn().
///
/// # Safety
/// `agents` has `count` handles, `inputs` as many times the number of inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_sense(
    mind: fm_schedule,
    agents: *const fm_entity,
    count: usize,
    inputs: *const f32,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        let (world, mind) = mind_of(mind)?;
        let len = mind.inputs.checked_mul(count);
        let len = len.ok_or_else(|| Failure::argument("too many inputs"))?;
        // SAFETY: the caller vouches for as many numbers.
        let inputs = unsafe { ffi::slice("inputs", inputs, len) }?;
        if let Some(place) = inputs.iter().position(|input| !input.is_finite()) {
            let agent = place / mind.inputs;
            return Err(Failure::argument(format!("an input of agent {agent} is not finite")));
        }
        with(world, |state| {
            state.expect_writable_of::<Senses>()?;
            each(agents, |place, agent| {
                mind.expect_driven(&state.world, agent)?;
                let senses = state.world.get_mut::<Senses>(agent).map_err(no_mind)?;
                let given = &inputs[place * mind.inputs..][..mind.inputs];
                senses.0[..mind.inputs].copy_from_slice(given);
                Ok(())
            })
        })
    })
}

fn no_mind(error: impl fmt::Display) -> Failure {
    Failure::new(fm_status::FM_NO_COMPONENT, format!("it has no mind: {error}"))
}

/// Says what agents do: of each the number of the action, in the order of the description, or -1 for
/// nothing. Those that are not in the world, or do not have this mind, get -1, as for fm_despawn().
///
/// # Safety
/// `agents` has `count` handles, `actions` room for as many numbers, initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_current(
    mind: fm_schedule,
    agents: *const fm_entity,
    count: usize,
    actions: *mut i32,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        // SAFETY: the caller vouches for room for as many numbers.
        let actions = unsafe { ffi::slice_mut("actions", actions, count) }?;
        let (world, mind) = mind_of(mind)?;
        actions.fill(-1);
        with(world, |state| {
            each(agents, |place, agent| {
                mind.expect_driven(&state.world, agent)?;
                let body = state.world.get::<Body>(agent).map_err(no_mind)?;
                let current = body.running().next().and_then(|it| i32::try_from(it).ok());
                actions[place] = current.unwrap_or(-1);
                Ok(())
            })
        })
    })
}

/// Says that what agents do has ended: done, or failed. The next run ends it, and they do nothing; in the
/// run after that they decide anew, but a machine does nothing until it changes its state. Those that are
/// not in the world, do nothing, or do not have this mind, are passed over, as for fm_despawn().
///
/// # Safety
/// `agents` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_end(
    mind: fm_schedule,
    agents: *const fm_entity,
    count: usize,
    success: bool,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        let (world, mind) = mind_of(mind)?;
        with(world, |state| {
            state.expect_writable_of::<Deed>()?;
            each(agents, |_, agent| {
                mind.expect_driven(&state.world, agent)?;
                let body = state.world.get::<Body>(agent).map_err(no_mind)?;
                let current = body.running().next();
                let current = current.ok_or_else(|| no_mind("it does nothing"))?;
                let owned = state.world.get::<Buffer<OwnedAction>>(agent).map_err(no_mind)?;
                let action = owned.get(current).ok_or_else(|| no_mind("it does nothing"))?.entity();
                let deed = state.world.get_mut::<Deed>(action).map_err(no_mind)?;
                deed.report = if success { 1 } else { 2 };
                Ok(())
            })
        })
    })
}

/// Has the decisions of agents written down, the last `decisions_max` of each, at least one; `kind` is what
/// sentences call them, such as `Guard`. Those that are not in the world are passed over, as for
/// fm_despawn().
///
/// # Safety
/// `agents` has `count` handles, `kind` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_mind_watch(
    world: fm_world,
    agents: *const fm_entity,
    count: usize,
    kind: *const c_char,
    decisions_max: usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let agents = unsafe { ffi::slice("agents", agents, count) }?;
        // SAFETY: the caller vouches for the zero at its end.
        let kind = unsafe { ffi::text("kind", kind) }?;
        with(world, |state| {
            if state.world.resource::<DecisionLog>().is_err() {
                state.world.insert_resource(DecisionLog::new());
                SaveRules::of(&mut state.world).rebuild::<DecisionLog>();
            }
            each(agents, |_, agent| {
                state.world.place_of(agent)?;
                let log = state.world.resource_mut::<DecisionLog>().map_err(Failure::argument)?;
                log.watch(agent, kind.to_owned(), decisions_max);
                Ok(())
            })
        })
    })
}

/// Writes why an entity does what it does, as sentences, a line each; every entity has at least one.
/// `*len` is how many bytes the text has without the zero at its end; of more than `capacity` bytes
/// with it, only the beginning is written.
///
/// # Safety
/// `text` points at `capacity` bytes that are initialised and may be written; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_explain(
    world: fm_world,
    entity: fm_entity,
    text: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    let why =
        || with(world, |state| Ok(formic_ai::why(&state.world, entity_of(entity)?).join("\n")));
    // SAFETY: the caller vouches for as many bytes, and that all may be written.
    unsafe { ffi::answer_text(text, capacity, len, why) }
}
