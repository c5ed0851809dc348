//! Descriptions of the components of an entity.

use std::fmt::Debug;

use formic_ecs::{Component, Entity, NoSuchEntity, World};

/// Knows how to print the values of some types of components.
///
/// ```
/// use formic_demos::view::Inspector;
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Debug)]
/// struct Gold(u32);
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Awake;
///
/// let mut world = World::new();
/// let imp = world.spawn((Gold(5), Awake));
/// world.set_enabled::<Awake>(imp, false)?;
/// let inspector = Inspector::new().show::<Gold>();
/// let fields = inspector.fields(&world, imp)?;
/// let gold = fields.iter().find(|field| field.name.ends_with("Gold")).expect("it has gold");
/// assert_eq!((gold.value.as_deref(), gold.enabled), (Some("Gold(5)"), None));
/// let awake = fields.iter().find(|field| field.name.ends_with("Awake")).expect("it can be awake");
/// assert_eq!((awake.value.as_deref(), awake.enabled), (None, Some(false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Inspector {
    shown: Vec<(&'static str, Print)>,
}

/// Prints the value of a component, if the entity has it.
type Print = fn(&World, Entity) -> Option<String>;

/// One component of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, with its path.
    pub name: String,
    /// The bytes that a value takes in its chunk.
    pub size_bytes: usize,
    /// Whether it is enabled; `None` for one that has no bit for that.
    pub enabled: Option<bool>,
    /// Its value; `None` if it cannot be printed.
    pub value: Option<String>,
}

impl Inspector {
    /// The most characters of a value: some hold whole paths.
    pub const VALUE_CHARACTERS_MAX: usize = 400;

    /// One that knows no type yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the values of a type.
    #[must_use]
    pub fn show<T: Component + Debug>(mut self) -> Self {
        self.shown.push((T::name(), |world, entity| {
            world.get::<T>(entity).ok().map(|value| cut(format!("{value:?}")))
        }));
        self
    }

    /// All components of an entity, in the order of its archetype.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
    pub fn fields(&self, world: &World, entity: Entity) -> Result<Vec<Field>, NoSuchEntity> {
        let place = world.place_of(entity)?;
        let archetype = &world.archetypes()[place.archetype.index()];
        let enabled = world.components_of(entity)?;
        let fields = archetype.components().ids().iter().zip(enabled);
        Ok(fields
            .filter_map(|(&id, (_, enabled))| {
                let info = world.component_info(id).ok()?;
                Some(Field {
                    name: info.name().to_string(),
                    size_bytes: info.layout().size(),
                    enabled: info.is_enableable().then_some(enabled),
                    value: self.print(info.name().as_str(), world, entity),
                })
            })
            .collect())
    }

    fn print(&self, name: &str, world: &World, entity: Entity) -> Option<String> {
        let (_, print) = self.shown.iter().find(|(shown, _)| *shown == name)?;
        print(world, entity)
    }
}

/// A text of bounded length; one that was longer says so.
fn cut(mut text: String) -> String {
    let end = text.char_indices().nth(Inspector::VALUE_CHARACTERS_MAX);
    if let Some((end, _)) = end {
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}
