//! Hot reloading: minds that are read again from their files while the game runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use formic_ecs::{EnabledBitMut, Entity, World};

use crate::action::{Body, LoadError, load_file, read_file};

/// A mind that can replace an older version of itself while agents follow that version.
pub trait Reload: Sized + Send + Sync + 'static {
    /// Moves agents from `old` to `self`. Whatever exists in both under the same name stays as it is;
    /// whatever no longer exists ends as interrupted. Each agent is listed once. Agents that are not in
    /// the world or have another mind are skipped.
    fn take_over(&self, old: &Self, world: &mut World, agents: &[Entity]);
}

type Read<M> = Box<dyn Fn(&str) -> Result<M, LoadError> + Send + Sync>;

/// A mind that is read from a file, and read again when the file has changed. It is a resource.
///
/// A broken file leaves the mind as it was; [`problem`](Self::problem) says what is wrong with the file.
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
/// Reading a file takes time. To keep that out of the tick that reloads, let a system call
/// [`look`](Self::look), beside other systems and on any thread; `reload` then finds the file already
/// read:
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
    /// The mind that was read and takes over at the next `reload`.
    next: Option<M>,
    /// The text that was read last. `problem` is what is wrong with it.
    text: String,
    problem: Option<LoadError>,
    /// Why the file cannot be read, if it cannot.
    unread: Option<LoadError>,
}

debug_fields!([M: fmt::Debug] MindFile<M>: path, mind, problem);

impl<M: Reload> MindFile<M> {
    /// Reads a file. `read` makes the mind from its text, now and whenever the file changes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if `read` returns one.
    pub fn load(
        path: impl Into<PathBuf>,
        read: impl Fn(&str) -> Result<M, LoadError> + Send + Sync + 'static,
    ) -> Result<Self, LoadError> {
        let path = path.into();
        let text = read_file(&path)?;
        let mind = read(&text).map_err(|error| error.in_file(&path))?;
        Ok(Self { path, read: Box::new(read), mind, next: None, text, problem: None, unread: None })
    }

    /// The mind that agents follow.
    pub const fn mind(&self) -> &M {
        &self.mind
    }

    /// The error in the current file, if there is one. The mind is then an older one.
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

    /// Reads the file if it has changed. If it is valid, agents follow it from the next
    /// [`reload`](Self::reload) on. Returns whether a new mind is ready.
    pub fn look(&mut self) -> bool {
        match read_file(&self.path) {
            Ok(text) if text != self.text => {
                let read = (self.read)(&text);
                // Nothing below can panic: a text whose reading panicked is read again.
                (self.next, self.problem) = match read {
                    Ok(mind) => (Some(mind), None),
                    Err(error) => (None, Some(error.in_file(&self.path))),
                };
                (self.text, self.unread) = (text, None);
            }
            // Unchanged since the last time, whether valid or not.
            Ok(_) => self.unread = None,
            Err(error) => self.unread = Some(error),
        }
        self.next.is_some()
    }

    /// Moves these agents to the new version of the file, if it has changed and is valid. All change at
    /// once, and the order in which they are listed does not matter. Call it between two runs of a
    /// schedule. A file that [`look`](Self::look) found valid is not read again. Returns whether the
    /// agents have changed.
    ///
    /// # Panics
    /// Panics if the world has no such resource.
    pub fn reload(world: &mut World, agents: &[Entity]) -> bool {
        let Ok(file) = world.resource_mut::<Self>() else {
            panic!("the world has no MindFile of this type")
        };
        // The resource stays in the world here: reading runs code of the game, which may panic.
        if file.next.is_none() && !file.look() {
            return false;
        }
        let Some(mut file) = world.remove_resource::<Self>() else { return false };
        let is_followed = file.follow(world, agents);
        world.insert_resource(file);
        is_followed
    }

    /// Does the same as [`reload`](Self::reload) for a `MindFile` that is not a resource. A game that has
    /// several minds of one type keeps them in a list or a map, each with its own agents.
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
        // Each agent once, in roughly the order of memory.
        let mut agents = agents.to_vec();
        agents.sort_unstable();
        agents.dedup();
        self.mind.take_over(&old, world, &agents);
        true
    }
}

/// Loads all files of a folder that have this extension. The result is a library of minds, by file name
/// without the extension.
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
/// Returns an error if the folder or one of the files cannot be read, if a file name is not UTF-8, or if
/// `read` returns an error. `read` is called with the name and the text.
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

/// A map from the indices of an older mind to those of a new one, by name.
pub(crate) struct IndexMapping(Vec<Option<u32>>);

impl IndexMapping {
    pub(crate) fn new<'a>(
        old: impl Iterator<Item = &'a str>,
        new: impl Iterator<Item = &'a str>,
    ) -> Self {
        let places: HashMap<&str, u32> = new.zip(0..).collect();
        Self(old.map(|name| places.get(name).copied()).collect())
    }

    /// The new index of the item that was at `old`, if it still exists.
    pub(crate) fn get(&self, old: u32) -> Option<u32> {
        *self.0.get(old as usize)?
    }
}

/// Halts the actions that are in `before` only, and begins those that are in `after` only.
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
