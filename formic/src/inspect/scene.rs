//! The parts of a picture: ground, landmarks, marks and their meanings.

use formic_ecs::Entity;
use glam::Vec2;

/// A colour as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// Black.
    pub const BLACK: Self = Self([0, 0, 0]);
    /// White; keep it for agents.
    pub const WHITE: Self = Self([255, 255, 255]);
    /// Full red, for errors.
    pub const RED: Self = Self([255, 0, 0]);
    /// Dark grey, for cells that cannot be walked on.
    pub const ROCK: Self = Self([30, 28, 34]);
}

/// The part of a picture that does not change while a world runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// The width and height of the world, in its own units.
    pub size: Vec2,
    /// The name of one unit: "cell", "metre".
    pub unit: &'static str,
    /// The ticks per second of the world; 0 if the program sets its own pace.
    pub ticks_per_second: f32,
    /// The radius of a mark, in units.
    pub mark_radius: f32,
    /// The kinds that marks refer to by number.
    pub kinds: Vec<Kind>,
}

/// The axes of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axes {
    /// The names of the horizontal and the vertical axis.
    pub names: [&'static str; 2],
    /// Whether the vertical axis has its zero at the lower edge instead of the upper one.
    pub is_upwards: bool,
}

/// A line of the legend: a kind of agent, an activity of agents, or a colour of the ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The name, in a word or two.
    pub name: &'static str,
    /// The colour of its marks.
    pub colour: Colour,
    /// The letter that it is drawn as; a disc if there is none.
    pub letter: Option<char>,
    /// Whether it is an inanimate thing, so that a click prefers any agent to it.
    pub is_thing: bool,
    /// Whether it is a colour of the ground, and of no mark, so that the legend does not count it.
    pub is_ground: bool,
}

impl Kind {
    /// Creates a kind that is drawn as a disc.
    #[must_use]
    pub const fn new(name: &'static str, colour: Colour) -> Self {
        Self { name, colour, letter: None, is_thing: false, is_ground: false }
    }

    /// Creates a kind that is drawn as a letter, which can be recognised without its colour.
    #[must_use]
    pub const fn letter(name: &'static str, colour: Colour, letter: char) -> Self {
        Self { letter: Some(letter), ..Self::new(name, colour) }
    }

    /// Creates a kind of inanimate things.
    #[must_use]
    pub const fn thing(name: &'static str, colour: Colour) -> Self {
        Self { is_thing: true, ..Self::new(name, colour) }
    }

    /// Creates a line of the legend for a colour of the ground; list these behind the kinds of marks.
    #[must_use]
    pub const fn ground(name: &'static str, colour: Colour) -> Self {
        Self { is_ground: true, ..Self::new(name, colour) }
    }
}

/// The position and the kind of an agent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The agent.
    pub entity: Entity,
    /// The position.
    pub at: Vec2,
    /// The index into [`Scene::kinds`].
    pub kind: u8,
    /// The world that it lives in, for a demo with several; 0 otherwise.
    pub world: u8,
}

/// The ground under the agents: tiles, landmarks, or both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ground {
    /// The number of tiles in a row; 0 if there are none.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
    /// The colours of the tiles; the first one is the background.
    pub palette: Vec<Colour>,
    /// For each tile, row by row from the top left, its index into the palette.
    pub tiles: Vec<u8>,
    /// Named discs.
    pub landmarks: Vec<Landmark>,
}

/// A disc with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Landmark {
    /// The centre.
    pub at: Vec2,
    /// The radius, in units.
    pub radius: f32,
    /// The colour.
    pub colour: Colour,
    /// The name written there.
    pub label: String,
}

/// An action by which a viewer may change the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cheat {
    /// The name in requests: one word.
    pub name: &'static str,
    /// The text of the button.
    pub label: &'static str,
    /// The key that triggers it, as browsers name it: "d", or `ArrowLeft`.
    pub key: &'static str,
    /// Where it is applied.
    pub touch: Touch,
}

/// The part of the map to which a [`Cheat`] is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// No place: pressing the button is enough.
    None,
    /// The place where the mouse is clicked.
    Place,
    /// Each place over which the mouse is clicked or dragged, as in digging.
    Brush,
}

/// Returns the last segment of a type's path, and of each type parameter's: `action::Queue<world::Imp>`
/// becomes `Queue<Imp>`. A closure gets the name of the function that contains it.
#[must_use]
pub fn short_name(path: &str) -> String {
    let mut short = String::new();
    // A turbofish is not part of a path.
    let path = path.replace("::<", "<");
    for part in path.split_inclusive(['<', '>', ',', ' ', '(', ')', '&']) {
        let named = part.trim_end_matches("::{{closure}}");
        if named != part {
            short.push_str("closure in ");
        }
        short.push_str(named.rsplit("::").next().unwrap_or(named));
    }
    short
}

/// Formats a count with thousands separators: `1,234,567`.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_keep_parameters_and_lose_paths() {
        for (path, short) in [
            ("formic_nav::agent::Position", "Position"),
            ("Plain", "Plain"),
            ("a::Queue<b::c::Imp, d::Gold>", "Queue<Imp, Gold>"),
            ("formic_jobs::any<(a::A, &b::B)>", "any<(A, &B)>"),
            ("formic_jobs::resource_exists::<a::Time>", "resource_exists<Time>"),
            ("game::main::{{closure}}", "closure in main"),
            ("game::main::{{closure}}::{{closure}}", "closure in main"),
            ("", ""),
        ] {
            assert_eq!(short_name(path), short, "{path}");
        }
    }
}
