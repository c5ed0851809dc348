//! Saved games: a world, its resources, and what its schedule keeps from tick to tick.

use std::any::TypeId;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use formic_ecs::{RestoreError, Snapshot, World};

use super::name;
use super::node::Node;
use super::run::Schedule;
use super::save::{
    COUNT_END, Change, Entries, Extent, LoadError, LoadReport, MalformedSave, Reader, SaveError,
    SaveRules, Section, StateArchive, Unsaved, from_bytes, put_text, to_bytes,
};

/// A complete saved game between two ticks. Loaded in another process, on any number of threads, it
/// continues as the original would have.
///
/// It contains the entities of the world, its resources as [`SaveRules`] specify, and from the schedule
/// the tick, the changes that each system and condition has seen, [`Local`](crate::Local)s, and events
/// that still exist. It is a list of named sections, so that parts can be added and removed between two
/// versions of a game; the [`LoadReport`] lists what did not match.
///
/// ```
/// use formic_ecs::Codec;
/// use formic_jobs::prelude::*;
/// use formic_jobs::{Save, SaveRules};
///
/// #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Gold(u64);
/// fn tax(mut all: Query<'_, &mut Gold>, mut ticks: Local<'_, u64>) {
///     *ticks += 1;
///     all.for_each(|gold| gold.0 += *ticks);
/// }
/// fn build() -> Result<(World, Schedule), formic_jobs::ScheduleError> {
///     let mut world = World::new();
///     world.register::<Gold>();
///     let schedule = Schedule::builder().add(tax.every(2)).build(&mut world)?;
///     Ok((world, schedule))
/// }
///
/// let pool = Pool::new(Threads::None)?;
/// let (mut world, mut schedule) = build()?;
/// world.spawn(Gold(100));
/// (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
/// let bytes = Save::of(&world, &schedule)?.to_bytes();
///
/// let (mut other, mut its_schedule) = build()?;
/// Save::from_bytes(&bytes)?.load(&mut other, &mut its_schedule)?;
/// for _ in 0..5 {
///     schedule.run(&mut world, &pool);
///     its_schedule.run(&mut other, &pool);
///     assert_eq!(world.state_hash(), other.state_hash());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Between two versions of a game
///
/// A save is often older than the game that loads it. Components that were renamed, removed, or have
/// different fields are handled by the [world](formic_ecs::Snapshot#between-two-versions-of-a-program):
/// `#[component(was = "...")]`, [`World::register_removed`], and serde. The [`SaveRules`] handle the
/// rest:
///
/// * A type of a resource, a local or an event has another name or path: [`SaveRules::renamed`]. Their
///   fields may change like those of components if they are saved by `formic_ecs::Codec::serde`, of the
///   feature `serde`.
/// * A component is new: [`SaveRules::added`] gives the entities of older saves its default value.
/// * Anything else has changed: [`SaveRules::migrate`] names a step that older saves go through.
/// * A resource, a system or a local is new or removed: nothing needs to be declared.
///
/// The [`LoadReport`] lists what was dropped, what is new, and which steps were run.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use formic_jobs::prelude::*;
/// use formic_jobs::{Save, SaveRules};
///
/// #[derive(Component, Clone, Copy, Pod, Zeroable)]
/// #[component(name = "game.worker")]
/// #[repr(C)]
/// struct Worker(u32);
/// # fn old_game() -> Result<Save, Box<dyn std::error::Error>> {
/// #     let mut world = World::new();
/// #     world.spawn_batch((0..3).map(Worker));
/// #     let schedule = Schedule::builder().build(&mut world)?;
/// #     Ok(Save::of(&world, &schedule)?)
/// # }
///
/// /// This version of the game has it: workers get hungry.
/// #[derive(Component, Clone, Copy, Default, Pod, Zeroable)]
/// #[component(name = "game.hunger")]
/// #[repr(C)]
/// struct Hunger(u32);
///
/// let mut world = World::new();
/// world.register::<Worker>();
/// SaveRules::of(&mut world)
///     .added::<Hunger, Worker>()
///     .migrate("workers are numbered from 1", |world| {
///         world.query::<&mut Worker>().for_each(|worker| worker.0 += 1);
///     });
/// let mut schedule = Schedule::builder().build(&mut world)?;
/// let report = old_game()?.load(&mut world, &mut schedule)?;
/// assert_eq!(report.migrated, ["game.hunger", "workers are numbered from 1"]);
/// assert_eq!(world.query::<(&Worker, &Hunger)>().count(), 3);
///
/// // What is saved from now on needs neither.
/// let report = Save::of(&world, &schedule)?.load(&mut world, &mut schedule)?;
/// assert!(report.is_exact());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Save {
    sections: Vec<Section>,
}

impl fmt::Debug for Save {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = self.sections.iter();
        f.debug_map().entries(sections.map(|it| (&it.name, it.bytes.len()))).finish()
    }
}

const WORLD: &str = "world";
const TICK: &str = "tick";
const MIGRATIONS: &str = "migrations";
const RESOURCE: &str = "resource ";
const EVENTS: &str = "events ";
const SYSTEM: &str = "system ";
const ATTACHED: &str = "attached ";

impl Save {
    /// Saves a game between two ticks.
    ///
    /// # Errors
    /// Returns [`SaveError`] if any part cannot be saved: it lists all such parts, with remedies.
    pub fn of(world: &World, schedule: &Schedule) -> Result<Self, SaveError> {
        if schedule.world != world.id() {
            return Err(SaveError::OtherWorld);
        }
        if schedule.begun.is_some() {
            return Err(SaveError::MiddleOfRun);
        }
        let default = SaveRules::default();
        let rules = world.resource::<SaveRules>().unwrap_or(&default);
        let mut problems = unsaved_components(world);
        let mut save = Self { sections: Vec::new() };
        save.push(TICK, "", schedule.tick.to_le_bytes().into());
        let mut migrations = Vec::new();
        rules.migrations().for_each(|(name, _)| put_text(&mut migrations, name));
        save.push(MIGRATIONS, "", migrations);
        save_resources(world, schedule, rules, &mut save, &mut problems);
        for events in &schedule.aging {
            match (events.save)(world, rules) {
                Ok(bytes) => save.push(EVENTS, events.name, bytes),
                Err(unsaved) => problems.push(unsaved),
            }
        }
        for (number, node) in schedule.nodes.iter().enumerate() {
            let mut state = node.state.lock();
            let mut archive = StateArchive::saving(rules, &node.info.name, &mut problems, world);
            state.visit_state(&mut archive);
            let bytes = archive.into_bytes();
            save.push(SYSTEM, &schedule.name_in_save(number), bytes);
        }
        if !problems.is_empty() {
            return Err(SaveError::Unsaved(problems));
        }
        save.push(WORLD, "", world.snapshot()?.as_bytes().into());
        Ok(save)
    }

    /// Loads the game into a world and a schedule that were built like the saved ones, by the same code
    /// or a newer version of it.
    ///
    /// The entities of the world and the saved resources are replaced; [rebuilt](SaveRules::rebuild)
    /// resources stay as they are. A save of an [earlier version of the
    /// game](Self#between-two-versions-of-a-game) then goes through the [steps](SaveRules::migrate) that
    /// are newer than it.
    ///
    /// # Errors
    /// Returns [`LoadError`] if an entry of the save does not fit. World and schedule are unchanged then,
    /// but that the world may know the components of [`SaveRules::added`] already.
    ///
    /// # Panics
    /// Panics if a [codec](formic_ecs::Codec) or a [step](SaveRules::migrate) does. Nothing has changed
    /// if it was a codec of a resource or an event.
    pub fn load(
        &self,
        world: &mut World,
        schedule: &mut Schedule,
    ) -> Result<LoadReport, LoadError> {
        if schedule.world != world.id() {
            return Err(LoadError::OtherWorld);
        }
        if schedule.begun.is_some() {
            return Err(LoadError::MiddleOfRun);
        }
        let rules =
            &world.resource::<SaveRules>().map_or_else(|_| SaveRules::default(), Clone::clone);
        let bad = |name: &str| MalformedSave::BadSection(name.to_owned());
        let tick = self.tick().filter(|tick| *tick < COUNT_END).ok_or_else(|| bad(TICK))?;
        let snapshot = self.get(WORLD, "").ok_or_else(|| bad(WORLD))?;
        let snapshot = Snapshot::from_bytes(snapshot).map_err(RestoreError::Malformed);
        let snapshot = snapshot.map_err(LoadError::World)?;
        // Everything is read before anything is changed.
        let mut report = LoadReport::default();
        self.read_migrations(rules, &mut report).ok_or_else(|| bad(MIGRATIONS))?;
        let mut left = Entries::of(&self.sections, rules);
        let mut changes = read_resources(&mut left, rules, world, &mut report)?;
        changes.extend(read_events(&mut left, rules, world, schedule, &mut report)?);
        visit_systems(left.clone(), rules, schedule, None, &mut report)?;
        rules.registrations.iter().for_each(|register| register(world));
        let restored = world.restore(&snapshot).map_err(LoadError::World)?;
        let left_out = restored.dropped.iter();
        report.dropped.extend(
            left_out.map(|it| format!("the component {}, of {} entities", it.component, it.count)),
        );
        changes.into_iter().for_each(|change| change(world));
        // It was already read once, so it cannot fail now.
        visit_systems(left, rules, schedule, Some(world), &mut LoadReport::default())?;
        schedule.resume_at(tick);
        let is_pending = |name: &str| report.migrated.iter().any(|step| step == name);
        let steps = rules.migrations().filter(|(name, _)| is_pending(name));
        steps.for_each(|(_, step)| step(world));
        Ok(report)
    }

    fn push(&mut self, kind: &str, name: &str, bytes: Vec<u8>) {
        self.sections.push(Section { name: format!("{kind}{name}"), bytes });
    }

    fn get(&self, kind: &str, name: &str) -> Option<&[u8]> {
        let is_it = |section: &&Section| section.name.strip_prefix(kind) == Some(name);
        self.sections.iter().find(is_it).map(|section| &section.bytes[..])
    }

    /// Determines the steps that the save is older than, and those that are newer than this version.
    fn read_migrations(&self, rules: &SaveRules, report: &mut LoadReport) -> Option<()> {
        let (mut reader, mut done) = (Reader(self.get(MIGRATIONS, "")?), Vec::new());
        while !reader.0.is_empty() {
            done.push(reader.text()?);
        }
        let names = || rules.migrations().map(|(name, _)| name);
        report.migrated.extend(names().filter(|name| !done.contains(name)).map(str::to_owned));
        done.retain(|&name| names().all(|known| known != name));
        report.dropped.extend(done.into_iter().map(|name| format!("the migration {name:?}")));
        Some(())
    }

    /// Attaches bytes of the host under a name, such as the level or the state of the screen. Replaces
    /// bytes attached under the same name.
    pub fn attach(&mut self, name: &str, bytes: impl Into<Vec<u8>>) {
        let full_name = format!("{ATTACHED}{name}");
        self.sections.retain(|section| section.name != full_name);
        self.push(ATTACHED, name, bytes.into());
    }

    /// Returns the bytes attached under this name.
    #[must_use]
    pub fn attached(&self, name: &str) -> Option<&[u8]> {
        self.get(ATTACHED, name)
    }

    /// Returns the next tick of the game.
    #[must_use]
    pub fn tick(&self) -> Option<u64> {
        self.get(TICK, "").and_then(|bytes| Reader(bytes).u64())
    }

    /// Returns the save as the bytes of a file, with a checksum over all of them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.sections)
    }

    /// Reads a save from the bytes of a file.
    ///
    /// # Errors
    /// Returns [`MalformedSave`] if they are not a valid save, or were changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MalformedSave> {
        Ok(Self { sections: from_bytes(bytes)? })
    }

    /// Writes the save to a file. It writes a new file first, which then replaces the old one: no crash
    /// leaves a partial save, and if writing fails, the old file stays. The new file has the name of the
    /// old one with `.new` appended.
    ///
    /// # Errors
    /// Returns the error of the system if the file cannot be written, and one of the kind
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is a device, a pipe or a folder, which no
    /// file may replace.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        if path.exists() && !path.is_file() {
            let message = "there is something else than a file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let fill = |mut file: fs::File| {
            file.write_all(&self.to_bytes())?;
            // Synced before the rename, so that the data survives a loss of power.
            file.sync_all()
        };
        // The file is closed by then.
        let written = fill(fs::File::create(&new)?).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            // A file that cannot be removed is overwritten by the next save.
            drop(fs::remove_file(&new));
        }
        written
    }

    /// Reads a save from a file.
    ///
    /// # Errors
    /// Returns the error of the system if the file cannot be read, and one that contains a
    /// [`MalformedSave`] if it is not a save.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        Self::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

fn read_resources(
    left: &mut Entries<'_>,
    rules: &SaveRules,
    world: &World,
    report: &mut LoadReport,
) -> Result<Vec<Change>, LoadError> {
    let mut changes = Vec::<Change>::new();
    for rule in rules.sorted() {
        let what = || called(RESOURCE, rule.name);
        let is_there = (rule.find)(world).is_some();
        let Some(bytes) = left.take(&format!("{RESOURCE}{}", rule.name)) else {
            // Otherwise it may be the type of a local or an event.
            report.new.extend(is_there.then(what));
            continue;
        };
        let invalid = || LoadError::InvalidValue { what: what() };
        let mut reader = Reader(bytes);
        let (version, was_there) = reader.u64().zip(reader.u8()).ok_or_else(invalid)?;
        if was_there == 0 {
            if rule.extent != Extent::Rebuilt {
                changes.push(Box::new(rule.remove));
            }
            continue;
        }
        if rule.extent != Extent::Whole && !is_there {
            report.dropped.push(what());
        }
        let put = (rule.read)(&mut reader.0).map_err(|_| invalid())?;
        if !reader.0.is_empty() {
            return Err(invalid());
        }
        let store = rule.store;
        changes.push(Box::new(move |world| store(world, version, put)));
    }
    note_left(RESOURCE, left, report);
    Ok(changes)
}

fn read_events(
    left: &mut Entries<'_>,
    rules: &SaveRules,
    world: &World,
    schedule: &Schedule,
    report: &mut LoadReport,
) -> Result<Vec<Change>, LoadError> {
    let mut changes = Vec::new();
    for events in &schedule.aging {
        match left.take(&format!("{EVENTS}{}", events.name)) {
            Some(bytes) => changes.push((events.load)(world, rules, bytes)?),
            None => report.new.push(called(EVENTS, events.name)),
        }
    }
    note_left(EVENTS, left, report);
    Ok(changes)
}

/// Reads the state of systems; if there is a world, it is stored in them.
fn visit_systems(
    mut left: Entries<'_>,
    rules: &SaveRules,
    schedule: &Schedule,
    world: Option<&World>,
    report: &mut LoadReport,
) -> Result<(), LoadError> {
    for (number, Node { info, state }) in schedule.nodes.iter().enumerate() {
        let saved_name = schedule.name_in_save(number);
        let Some(bytes) = left.take(&format!("{SYSTEM}{saved_name}")) else {
            report.new.push(called(SYSTEM, &info.name));
            continue;
        };
        let archive = StateArchive::loading(rules, &info.name, bytes, world);
        let mut archive = archive.ok_or(MalformedSave::BadSection(saved_name))?;
        state.lock().visit_state(&mut archive);
        let (missing, left) = archive.finish()?;
        let of = |what: String| format!("{what} of the system {}", info.name);
        report.new.extend(missing.into_iter().map(of));
        report.dropped.extend(left.into_iter().map(of));
    }
    note_left(SYSTEM, &left, report);
    Ok(())
}

/// Reports the unused sections of one kind.
fn note_left(kind: &str, left: &Entries<'_>, report: &mut LoadReport) {
    let names = left.left().filter_map(|name| name.strip_prefix(kind));
    report.dropped.extend(names.map(|name| called(kind, name)));
}

/// The name of a section of this kind in messages.
fn called(kind: &str, name: &str) -> String {
    match kind {
        SYSTEM => format!("the system {name}"),
        EVENTS => format!("events of {}", name::of_type(name)),
        _ => format!("the {kind}{}", name::of_type(name)),
    }
}

/// Components that have values and cannot be saved.
fn unsaved_components(world: &World) -> Vec<Unsaved> {
    let infos = world.components();
    let mut unsaved: Vec<bool> = infos.iter().map(|_| false).collect();
    for archetype in world.archetypes().iter().filter(|archetype| !archetype.is_empty()) {
        for id in archetype.components().ids() {
            unsaved[id.index()] |= !infos[id.index()].is_saved();
        }
    }
    let named = infos.iter().zip(unsaved).filter(|(_, unsaved)| *unsaved);
    named
        .map(|(info, _)| Unsaved {
            what: format!("the component {}", info.name()),
            remedy: "derive bytemuck's `Pod` if it is plain data, or declare it \
                     `#[component(serde)]`, or `#[component(transient)]` if a default will do"
                .into(),
        })
        .collect()
}

/// The saved form of a resource: the version at which it was last changed, whether it existed, and its
/// value.
fn save_resources(
    world: &World,
    schedule: &Schedule,
    rules: &SaveRules,
    save: &mut Save,
    problems: &mut Vec<Unsaved>,
) {
    let mut versions: Vec<_> = world.resource_types().collect();
    versions.sort_unstable_by_key(|&(_, name, _)| name);
    for &(id, name, _) in &versions {
        let is_ours = id == TypeId::of::<SaveRules>()
            || schedule.aging.iter().any(|events| events.resource == id);
        if rules.get(id).is_none() && !is_ours {
            let what = called(RESOURCE, name);
            problems.push(Unsaved { what, remedy: Unsaved::rule_for(name) });
        }
    }
    for rule in rules.sorted() {
        let mut bytes = Vec::new();
        let found = (rule.find)(world);
        let version = versions.iter().find(|it| it.1 == rule.name).map_or(0, |it| it.2);
        bytes.extend(version.to_le_bytes());
        bytes.push(u8::from(found.is_some()));
        let written = found.map_or(Ok(()), |value| (rule.write)(value, &mut bytes));
        if written.is_err() {
            problems.push(Unsaved::unwritable(called(RESOURCE, rule.name)));
        }
        save.push(RESOURCE, rule.name, bytes);
    }
}
