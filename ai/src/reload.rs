//! Minds that are read again from their files while the game runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use formic_ecs::{EnabledBitMut, Entity, World};

use crate::action::{Body, LoadError, load_file, read_file};

/// A mind that can take the place of an older one while agents follow that.
pub trait Reload: Sized + Send + Sync + 'static {
    /// Has agents that followed `old` follow this: what is in both under the same name stays as it
    /// is, and what is no more ends as interrupted. Each agent is listed once; those that are not in
    /// the world or have another mind are left out.
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]);
}

type Read<M> = Box<dyn Fn(&str) -> Result<M, LoadError> + Send + Sync>;

/// A mind that is read from a file, and again when the file has changed: a resource.
///
/// A file that is broken leaves the mind as it was, and the [problem](Self::problem) says what is
/// wrong with it.
///
/// ```no_run
/// use formic_ai::fsm::{Library, Machine};
/// use formic_ai::prelude::*;
/// use formic_ai::reload::MindFile;
/// # struct Guard;
/// # fn f(mut world: World, guards: Vec<Entity>, library: Library<()>) -> Result<(), Box<dyn std::error::Error>> {
/// let file = MindFile::load("minds/guard.ron", move |text| Machine::parse(text, &library))?;
/// world.insert_resource(file);
/// // Between two runs of the schedule, now and then:
/// if MindFile::<Machine<()>>::reload(&mut world, &guards) {
///     println!("the guards have changed their minds");
/// }
/// # Ok(())
/// # }
/// ```
///
/// Reading takes time of its own. Where that is not to fall in the same tick, a system
/// [looks](Self::look) at the file, beside others and on any thread, and `reload` finds it read:
///
/// ```
/// # use formic_ai::fsm::Machine;
/// # use formic_ai::prelude::*;
/// # use formic_ai::reload::MindFile;
/// fn look(mut file: ResMut<MindFile<Machine<()>>>) {
///     file.look();
/// }
/// ```
pub struct MindFile<M> {
    path: PathBuf,
    read: Read<M>,
    mind: M,
    /// What was read, and is followed from the next `reload` on.
    next: Option<M>,
    /// What was read last, and what is wrong with it.
    text: String,
    problem: Option<LoadError>,
    /// Why the file cannot be read, if it cannot.
    unread: Option<LoadError>,
}

debug_fields!([M: fmt::Debug] MindFile<M>: path, mind, problem);

impl<M: Reload> MindFile<M> {
    /// Reads a file. `read` makes the mind of its text, now and when it changes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or `read` gives one.
    pub fn load(
        path: impl Into<PathBuf>,
        read: impl Fn(&str) -> Result<M, LoadError> + Send + Sync + 'static,
    ) -> Result<Self, LoadError> {
        let path = path.into();
        let text = read_file(&path)?;
        let mind = read(&text).map_err(|error| error.in_file(&path))?;
        Ok(Self { path, read: Box::new(read), mind, next: None, text, problem: None, unread: None })
    }

    /// The mind.
    pub const fn mind(&self) -> &M {
        &self.mind
    }

    /// What is wrong with the file as it is now, if anything is: the mind is an older one then.
    ///
    /// ```
    /// use formic_ai::bt::{Library, Tree};
    /// use formic_ai::prelude::*;
    /// use formic_ai::reload::MindFile;
    /// # #[derive(Component, Clone)] struct Patrol;
    /// # let path = std::env::temp_dir().join(format!("formic-guard-{}.tree", std::process::id()));
    /// # std::fs::write(&path, "patrol")?;
    /// let library = Library::<()>::new(&ActionSet::new().action("patrol", Patrol));
    /// let mut file = MindFile::load(&path, move |text| Tree::parse(text, &library))?;
    /// // A designer saves a tree with a slip in it:
    /// std::fs::write(&path, "sequence { patroll }")?;
    /// file.look();
    /// let problem = file.problem().expect("there is no such action").to_string();
    /// assert!(problem.contains("did you mean \"patrol\"?"), "{problem}");
    /// assert_eq!(file.mind().node_count(), 1, "it is the old one");
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn problem(&self) -> Option<&LoadError> {
        match &self.unread {
            None => self.problem.as_ref(),
            unread => unread.as_ref(),
        }
    }

    /// Looks whether the file has changed and, if so, reads it: if it is in order, agents follow it from
    /// the next [`reload`](Self::reload) on. Whether there is such a mind.
    pub fn look(&mut self) -> bool {
        match read_file(&self.path) {
            Ok(text) if text != self.text => {
                let read = (self.read)(&text);
                // From here on it cannot panic: a text that was not read to the end is read again.
                (self.next, self.problem) = match read {
                    Ok(mind) => (Some(mind), None),
                    Err(error) => (None, Some(error.in_file(&self.path))),
                };
                (self.text, self.unread) = (text, None);
            }
            // As it was the last time, in order or not.
            Ok(_) => self.unread = None,
            Err(error) => self.unread = Some(error),
        }
        self.next.is_some()
    }

    /// Has these agents follow the file from now on, if it has changed and is in order, all at once and
    /// in whatever order they are listed: to be called between two runs of a schedule. Whether they do.
    /// What was [looked](Self::look) at and found to be in order is not read again.
    ///
    /// # Panics
    /// Panics if the world has no such resource.
    pub fn reload(world: &mut World, agents: &[Entity]) -> bool {
        let Ok(file) = world.resource_mut::<Self>() else {
            panic!("the world has no MindFile of this type")
        };
        // In its place: code of the game reads it, and may panic.
        if file.next.is_none() && !file.look() {
            return false;
        }
        let Some(mut file) = world.remove_resource::<Self>() else { return false };
        let is_followed = file.follow(world, agents);
        world.insert_resource(file);
        is_followed
    }

    /// As [`reload`](Self::reload), for a file that is not a resource itself: of several minds of one type a game
    /// keeps a list or a map, and each has agents of its own.
    ///
    /// ```no_run
    /// use std::collections::BTreeMap;
    /// # use formic_ai::fsm::Machine;
    /// # use formic_ai::prelude::*;
    /// # use formic_ai::reload::MindFile;
    /// /// Each with those who follow it.
    /// struct Minds(BTreeMap<String, (MindFile<Machine<()>>, Vec<Entity>)>);
    ///
    /// fn reload(world: &mut World) {
    ///     let Some(mut minds) = world.remove_resource::<Minds>() else { return };
    ///     for (file, agents) in minds.0.values_mut() {
    ///         file.follow(world, agents);
    ///     }
    ///     world.insert_resource(minds);
    /// }
    /// ```
    pub fn follow(&mut self, world: &mut World, agents: &[Entity]) -> bool {
        if self.next.is_none() {
            self.look();
        }
        let Some(mind) = self.next.take() else { return false };
        let old = std::mem::replace(&mut self.mind, mind);
        // Once each, and in about the order in which they lie in memory.
        let mut agents = agents.to_vec();
        agents.sort_unstable();
        agents.dedup();
        self.mind.take_over(&old, world, &agents);
        true
    }
}

/// All files of a folder with this extension, by their names without it: a library of minds.
///
/// ```
/// use formic_ai::bt::{Library, Tree};
/// use formic_ai::prelude::*;
/// use formic_ai::reload::load_folder;
/// # #[derive(Component, Clone)] struct Patrol;
/// # let folder = std::env::temp_dir().join(format!("formic-minds-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # std::fs::write(folder.join("guard.tree"), "patrol")?;
/// let actions = ActionSet::new().action("patrol", Patrol);
/// let library = Library::<()>::new(&actions);
/// let trees = load_folder(&folder, "tree", |_name, text| Tree::parse(text, &library))?;
/// assert_eq!(trees["guard"].node_count(), 1);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the folder or one of the files cannot be read or has a name that is not UTF-8, or
/// `read` gives one, which gets the name and the text.
pub fn load_folder<M>(
    folder: impl AsRef<Path>,
    extension: &str,
    mut read: impl FnMut(&str, &str) -> Result<M, LoadError>,
) -> Result<BTreeMap<String, M>, LoadError> {
    let folder = folder.as_ref();
    let problem = |error| LoadError::Io { path: folder.into(), error };
    let mut minds = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.extension().is_none_or(|found| found != extension) {
            continue;
        }
        let no_text = || io::Error::new(io::ErrorKind::InvalidData, "its name is not UTF-8");
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(no_text);
        let name = name.map_err(|error| LoadError::Io { path: path.clone(), error })?;
        let mind = load_file(&path, |text| read(name, text))?;
        minds.insert(name.to_owned(), mind);
    }
    Ok(minds)
}

/// Where the names of an older mind are in a new one.
pub(crate) struct Renamed(Vec<Option<u32>>);

impl Renamed {
    pub(crate) fn new<'a>(
        old: impl Iterator<Item = &'a str>,
        new: impl Iterator<Item = &'a str>,
    ) -> Self {
        let places: HashMap<&str, u32> = new.zip(0..).collect();
        Self(old.map(|name| places.get(name).copied()).collect())
    }

    /// The new place of what was at `old`, if it is still there.
    pub(crate) fn get(&self, old: u32) -> Option<u32> {
        *self.0.get(old as usize)?
    }
}

/// Halts what an agent is at `before` and not `after`, and begins what is new.
pub(crate) fn exchange(
    (body, switching): (&mut Body, &mut EnabledBitMut<'_>),
    before: impl Iterator<Item = usize> + Clone,
    after: impl Iterator<Item = usize> + Clone,
) {
    before.clone().filter(|&it| after.clone().all(|kept| kept != it)).for_each(|it| body.halt(it));
    after.filter(|&it| before.clone().all(|kept| kept != it)).for_each(|it| body.begin(it));
    if body.is_switching() {
        switching.set(true);
    }
}
