//! The parts of a picture that moves: ground, landmarks, marks, and what they mean.

use formic_ecs::Entity;
use glam::Vec2;

/// A colour as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// No light at all.
    pub const BLACK: Self = Self([0, 0, 0]);
    /// All light; keep it for agents.
    pub const WHITE: Self = Self([255, 255, 255]);
    /// Full red, for things gone wrong.
    pub const RED: Self = Self([255, 0, 0]);
    /// Dark grey, for what cannot be walked on.
    pub const ROCK: Self = Self([30, 28, 34]);
}

/// What does not change while a world lives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// Width and height of the world, in its own units.
    pub size: Vec2,
    /// What one unit is called: "cell", "metre".
    pub unit: &'static str,
    /// How many ticks a second of the world has; 0 where the program has its own pace.
    pub ticks_per_second: f32,
    /// How large a mark is, in units.
    pub mark_radius: f32,
    /// What the numbers of marks mean.
    pub kinds: Vec<Kind>,
}

/// The axes of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axes {
    /// What goes to the right, and what goes down, or up.
    pub names: [&'static str; 2],
    /// Whether the second one is zero at the lower edge, and not at the upper one.
    pub is_upwards: bool,
}

/// One kind of agent, or one thing that agents do: a line of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// What it is called, in a word or two.
    pub name: &'static str,
    /// What it looks like.
    pub colour: Colour,
    /// The letter that it is drawn as; a disc where there is none.
    pub letter: Option<char>,
    /// Whether it only lies about, so that a click prefers any agent to it.
    pub is_thing: bool,
}

impl Kind {
    /// A kind that is drawn as a disc.
    #[must_use]
    pub const fn new(name: &'static str, colour: Colour) -> Self {
        Self { name, colour, letter: None, is_thing: false }
    }

    /// A kind that is drawn as a letter, which is told apart without its colour.
    #[must_use]
    pub const fn letter(name: &'static str, colour: Colour, letter: char) -> Self {
        Self { letter: Some(letter), ..Self::new(name, colour) }
    }

    /// A kind of things that lie about.
    #[must_use]
    pub const fn thing(name: &'static str, colour: Colour) -> Self {
        Self { is_thing: true, ..Self::new(name, colour) }
    }
}

/// Where an agent is, and of what kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The agent.
    pub entity: Entity,
    /// Its place.
    pub at: Vec2,
    /// Its place in [`Scene::kinds`].
    pub kind: u8,
    /// Which of the worlds it lives in, where a demo has several; 0 otherwise.
    pub world: u8,
}

/// What agents stand on: tiles, landmarks, or both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ground {
    /// The number of tiles in a row; 0 where there are none.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
    /// Colours of tiles; the first one is that of the background.
    pub palette: Vec<Colour>,
    /// For each tile, row by row from the top left, its place in the palette.
    pub tiles: Vec<u8>,
    /// What stands out.
    pub landmarks: Vec<Landmark>,
}

/// A disc with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Landmark {
    /// Its middle.
    pub at: Vec2,
    /// Half its width, in units.
    pub radius: f32,
    /// Its colour.
    pub colour: Colour,
    /// What is written there.
    pub label: String,
}

/// Something that a viewer may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cheat {
    /// What it is called in requests: one word.
    pub name: &'static str,
    /// What the button says.
    pub label: &'static str,
    /// The key that does it, as browsers call it: "d", or `ArrowLeft`.
    pub key: &'static str,
    /// Where it is done.
    pub touch: Touch,
}

/// Where a [`Cheat`] is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Nowhere in particular: pressing its button is all.
    None,
    /// Where the mouse is clicked.
    Place,
    /// The same, and it goes on while the mouse is dragged, as digging does.
    Brush,
}

/// The last part of a type's path, that of each parameter too: `action::Queue<world::Imp>` is
/// `Queue<Imp>`. A closure is named by the function that it is in.
#[must_use]
pub fn short_name(path: &str) -> String {
    let mut short = String::new();
    // A turbofish is no part of a path.
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

/// A count with its thousands apart: `1,234,567`.
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
