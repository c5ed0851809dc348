//! Rules for saving values outside the rows, by type.

use std::any::{Any, TypeId, type_name};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::resume_unwind;
// Not that of the models, which holds no `dyn`: they load no games.
use std::sync::Arc;

use formic_ecs::{Archetype, Codec, CodecError, Component, Entity, World};

use super::Unsaved;
use crate::panic_slot::catch;

/// The rules for saving values outside the rows, by type: resources, [`Local`](crate::Local)s and events.
/// It is a resource of the world.
///
/// Every resource needs a rule, or [`Save::of`](crate::Save::of) reports it as unsavable. So does the
/// type of each [`Local`](crate::Local) and of each event. Only `u32`, `u64`, `i32`, `i64`, `f32`, `f64`
/// and `bool` have a rule by default.
///
/// ```
/// use formic_ecs::Codec;
/// use formic_jobs::prelude::*;
/// use formic_jobs::{Save, SaveRules};
///
/// struct Score(u32);
/// struct Picture(Vec<u8>);
///
/// let mut world = World::new();
/// world.insert_resource(Score(7));
/// world.insert_resource(Picture(vec![0; 100]));
/// SaveRules::of(&mut world)
///     .save_part(Codec::plain(), |score: &Score| score.0, |score, saved: u32, _| score.0 = saved)
///     .rebuild::<Picture>();
/// let schedule = Schedule::builder().build(&mut world)?;
/// let save = Save::of(&world, &schedule)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SaveRules {
    types: HashMap<TypeId, Rule>,
    migrations: Vec<(&'static str, fn(&mut World))>,
    /// Functions that register components that a save may contain.
    pub(in crate::schedule) registrations: Vec<fn(&mut World)>,
}

/// The rule for saving the values of one type.
#[derive(Clone)]
pub(in crate::schedule) struct Rule {
    pub(in crate::schedule) name: &'static str,
    earlier_names: Vec<&'static str>,
    /// The resource of this type, if there is one.
    pub(in crate::schedule) find: fn(&World) -> Option<&(dyn Any + 'static)>,
    pub(in crate::schedule) remove: fn(&mut World),
    /// Stores in the resource of this type, which then has this version.
    pub(in crate::schedule) store: fn(&mut World, u64, Put),
    pub(in crate::schedule) extent: Extent,
    /// Writes a value, or the saved part of it.
    pub(in crate::schedule) write: Arc<Write>,
    /// Reads the written bytes, which may be followed by others, and returns a function that stores the
    /// result.
    pub(in crate::schedule) read: Arc<Read>,
}

/// The extent to which a value is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schedule) enum Extent {
    Whole,
    Part,
    /// Not at all: values are those that the game was built with.
    Rebuilt,
}

type Write = dyn Fn(&dyn Any, &mut Vec<u8>) -> Result<(), CodecError> + Send + Sync;
type Read = dyn Fn(&mut &[u8]) -> Result<Put, CodecError> + Send + Sync;
/// Stores what was read, once everything was, in a value of the type or an `Option` of one.
pub(in crate::schedule) type Put = Box<dyn FnOnce(&mut dyn Any, &World)>;
/// A change to a world that is made once everything was read.
pub(in crate::schedule) type Change = Box<dyn FnOnce(&mut World)>;

debug_fields!([] SaveRules:; types = |it| it.types.values().map(|rule| rule.name).collect::<Vec<_>>());

impl Default for SaveRules {
    fn default() -> Self {
        let mut rules =
            Self { types: HashMap::new(), migrations: Vec::new(), registrations: Vec::new() };
        rules.save(Codec::<u32>::plain()).save(Codec::<u64>::plain());
        rules.save(Codec::<i32>::plain()).save(Codec::<i64>::plain());
        rules.save(Codec::<f32>::plain()).save(Codec::<f64>::plain());
        rules.save(Codec::<bool>::plain());
        rules
    }
}

impl SaveRules {
    /// Returns the rules of a world.
    pub fn of(world: &mut World) -> &mut Self {
        if world.resource::<Self>().is_err() {
            world.insert_resource(Self::default());
        }
        let rules = world.resource_mut();
        rules.unwrap_or_else(|_| unreachable!("it was just made sure of"))
    }

    /// Saves values of type `T` with this codec.
    pub fn save<T: Send + Sync + 'static>(&mut self, codec: Codec<T>) -> &mut Self {
        self.set::<T>(
            Extent::Whole,
            Arc::new(move |value, out| codec.write(of_type(value)?, out)),
            Arc::new(move |bytes| {
                let value = codec.read(bytes)?;
                Ok(Box::new(move |target, _| {
                    if let Some(target) = target.downcast_mut() {
                        *target = Some(value);
                    } else if let Some(target) = target.downcast_mut() {
                        *target = value;
                    }
                }))
            }),
        )
    }

    /// Saves the part of values of type `T` that `take` returns. On loading, `put` writes it into the
    /// existing value: the one that the game was built with, or the default of a [`Local`](crate::Local).
    /// It also gets the world, with all entities restored.
    pub fn save_part<T: Send + Sync + 'static, D: Send + 'static>(
        &mut self,
        codec: Codec<D>,
        take: fn(&T) -> D,
        put: fn(&mut T, D, &World),
    ) -> &mut Self {
        self.set::<T>(
            Extent::Part,
            Arc::new(move |value, out| codec.write(&take(of_type(value)?), out)),
            Arc::new(move |bytes| {
                let part = codec.read(bytes)?;
                Ok(Box::new(move |target, world| {
                    if let Some(target) = existing(target) {
                        put(target, part, world);
                    }
                }))
            }),
        )
    }

    /// Does not save values of type `T`: a loaded game has those that it was built with. For values made
    /// from files or other data. Events of such a type are lost if a system has not read them when the
    /// game is saved; a [load reports](crate::LoadReport::dropped) this.
    pub fn rebuild<T: Send + Sync + 'static>(&mut self) -> &mut Self {
        let nothing = |_: &mut &[u8]| -> Result<Put, CodecError> { Ok(Box::new(|_, _| ())) };
        self.set::<T>(Extent::Rebuilt, Arc::new(|_, _| Ok(())), Arc::new(nothing))
    }

    /// Declares that the type `T` had this name in older saves, as [`type_name`] returns it. No other type
    /// with a rule may have it now, or have had it: a save does not say which of them it means.
    ///
    /// # Panics
    /// Panics if there is no rule for `T` yet, or if another type with a rule has or had this name. Adding
    /// a rule for a type of this name panics as well.
    pub fn renamed<T: 'static>(&mut self, was: &'static str) -> &mut Self {
        let rule = self.types.get_mut(&TypeId::of::<T>());
        rule.expect("a type has a rule before it has another name").earlier_names.push(was);
        self.expect_one_with(was);
        self
    }

    fn expect_one_with(&self, name: &str) {
        let has = |rule: &&Rule| rule.name == name || rule.earlier_names.contains(&name);
        let count = self.types.values().filter(has).count();
        assert!(count <= 1, "{count} types have the name {name} in saves, now or earlier");
    }

    /// Declares that the component `C` is new: on loading an older save, every entity that has an `Other`
    /// gets the default value.
    ///
    /// This is a [migration step](Self::migrate) with the name of the component.
    pub fn added<C: Component + Default, Other: Component>(&mut self) -> &mut Self {
        self.registrations.push(|world| _ = world.register::<C>());
        self.migrate(C::name(), |world| {
            let (new, other) = (world.register::<C>(), world.register::<Other>());
            let is_without = |archetype: &&Archetype| {
                let set = archetype.components();
                set.contains(other) && !set.contains(new)
            };
            let archetypes = world.archetypes().iter().filter(is_without);
            let of_chunks = |archetype: &Archetype| -> Vec<Entity> {
                (0..archetype.chunk_count())
                    .flat_map(|at| archetype.entities(at).to_vec())
                    .collect()
            };
            let entities: Vec<Entity> = archetypes.flat_map(of_chunks).collect();
            // A hook may have despawned one of them meanwhile.
            entities.into_iter().for_each(|entity| drop(world.insert(entity, C::default())));
        })
    }

    /// Adds a migration step that every older save goes through when it is loaded: once, after everything
    /// else is restored, in the order in which steps were added. A save lists the names of the steps of
    /// the game that wrote it, and is older than every step that it does not list.
    ///
    /// A step with the same name is replaced. If a step panics, the game is loaded, and the migration is
    /// incomplete.
    pub fn migrate(&mut self, name: &'static str, step: fn(&mut World)) -> &mut Self {
        match self.migrations.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = step,
            None => self.migrations.push((name, step)),
        }
        self
    }

    pub(in crate::schedule) fn migrations(
        &self,
    ) -> impl Iterator<Item = (&'static str, fn(&mut World))> + '_ {
        self.migrations.iter().copied()
    }

    /// The text with old type names replaced by the current ones.
    pub(in crate::schedule) fn with_new_names(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let of_rule = |rule: &Rule| rule.earlier_names.iter().map(|it| (*it, rule.name)).collect();
        let mut names: Vec<_> = self.types.values().flat_map::<Vec<_>, _>(of_rule).collect();
        // A name may be part of a longer one, as that of an element is of its list's.
        names.sort_unstable_by_key(|&(earlier, _)| (Reverse(earlier.len()), earlier));
        for (earlier, name) in names {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let places = text.match_indices(earlier).filter(|(at, _)| {
                let (before, rest) = (&text[..*at], &text[at + earlier.len()..]);
                !before.ends_with(is_part) && !rest.starts_with(is_part)
            });
            let places: Vec<usize> = places.map(|(at, _)| at).collect();
            for at in places.into_iter().rev() {
                text.replace_range(at..at + earlier.len(), name);
            }
        }
        text
    }

    fn set<T: Send + Sync + 'static>(
        &mut self,
        extent: Extent,
        write: Arc<Write>,
        read: Arc<Read>,
    ) -> &mut Self {
        let replaced = self.types.remove(&TypeId::of::<T>());
        let rule = Rule {
            name: type_name::<T>(),
            earlier_names: replaced.map_or_else(Vec::new, |rule| rule.earlier_names),
            find: |world| world.resource::<T>().ok().map(|value| value as &dyn Any),
            remove: |world| drop(world.remove_resource::<T>()),
            store: |world, version, put| {
                let mut value = world.remove_resource::<T>();
                // A panic of a rule, or of the drop of the value before, takes no resource away.
                let stored = catch(|| put(&mut value, world));
                value.map(|value| world.restore_resource(value, version));
                stored.unwrap_or_else(|payload| resume_unwind(payload));
            },
            extent,
            write,
            read,
        };
        self.types.insert(TypeId::of::<T>(), rule);
        self.expect_one_with(type_name::<T>());
        self
    }

    pub(in crate::schedule) fn get(&self, id: TypeId) -> Option<&Rule> {
        self.types.get(&id)
    }

    /// Whether values of this type are declared as not saved.
    pub(in crate::schedule) fn drops<T: 'static>(&self) -> bool {
        self.get(TypeId::of::<T>()).is_some_and(|rule| rule.extent == Extent::Rebuilt)
    }

    /// Writes a value of a type that is saved whole.
    ///
    /// # Errors
    /// Returns a remedy if it cannot be written.
    pub(in crate::schedule) fn write_one<T: 'static>(
        &self,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let written = (self.whole::<T>()?.write)(value, out);
        written.map_err(|_| "its codec failed to write one that is there now".to_owned())
    }

    /// The rule of a type that is saved whole.
    ///
    /// # Errors
    /// Returns the way to add a rule if there is none.
    pub(in crate::schedule) fn whole<T: 'static>(&self) -> Result<&Rule, String> {
        let rule = self.get(TypeId::of::<T>()).filter(|rule| rule.extent == Extent::Whole);
        rule.ok_or_else(|| Unsaved::rule_for(type_name::<T>()))
    }

    /// Reads a value of a type that is saved whole.
    pub(in crate::schedule) fn read_one<T: 'static>(
        &self,
        bytes: &mut &[u8],
        world: &World,
    ) -> Option<T> {
        let mut value: Option<T> = None;
        (self.get(TypeId::of::<T>())?.read)(bytes).ok()?(&mut value, world);
        value
    }

    /// The rules sorted by name, so that a save does not depend on the numbers of types.
    pub(in crate::schedule) fn sorted(&self) -> Vec<&Rule> {
        let mut rules: Vec<&Rule> = self.types.values().collect();
        rules.sort_unstable_by_key(|rule| rule.name);
        rules
    }
}

fn of_type<T: 'static>(value: &dyn Any) -> Result<&T, CodecError> {
    value.downcast_ref().ok_or(CodecError)
}

/// The value in the target of a [`Put`], if there is one.
fn existing<T: 'static>(target: &mut dyn Any) -> Option<&mut T> {
    if target.is::<T>() {
        target.downcast_mut()
    } else {
        target.downcast_mut::<Option<T>>()?.as_mut()
    }
}
