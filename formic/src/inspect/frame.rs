//! The packed frame sent many times a second: the agents and their positions.
//!
//! A message is a sequence of sections, each with a tag, a length and bytes. All numbers are
//! little-endian:
//!
//! ```text
//!   tag: u32 │ length in bytes: u32 │ bytes, padded to a multiple of four
//! ```
//!
//! | tag | section | content |
//! |---|---|---|
//! | 1 | head | world number u32, tick u32, flags u32 (1: running), width f32, height f32, mark radius f32, ticks a second f32, one of how many agents is drawn u32, the marks of the world in focus: the first u32, one past the last u32 |
//! | 2 | marks | count u32, x u16 each, y u16 each, kind u8 each |
//! | 3 | ids | version u32, count u32, entity index u32 each |
//! | 4 | ground | version u32, columns u16, rows u16, palette length u32, red green blue u8 each, a tile u8 each, padded; landmarks as JSON |
//! | 5 | paths | count u32, lengths u16 each, then x u16 and y u16 of every point |
//! | 6 | chosen by the viewer | x u16, y u16; the length of its path u32, x u16 and y u16 each |
//!
//! Positions are fractions of width and height in 65535ths. Ids and ground are sent only to viewers that
//! do not have them yet.

use std::sync::Arc;

use formic_ecs::Entity;
use glam::Vec2;
use serde_json::json;

use super::{Ground, Landmark, Mark, Marks, Session, View};

/// What a viewer already has, and what it wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// The version of its ground; 0 for none.
    pub ground: u32,
    /// The version of its ids; 0 for none.
    pub ids: u32,
    /// Whether it wants the paths of all agents.
    pub paths: bool,
}

/// A snapshot of a world for drawing, for any number of viewers.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The version of the session that it shows.
    pub version: u64,
    /// Whether it contains the paths of all agents.
    pub has_paths: bool,
    moving: Arc<Vec<u8>>,
    ids: Arc<Section>,
    ground: Arc<Section>,
    /// The section about the entity that the viewer has chosen.
    chosen: Vec<u8>,
}

/// A section that is sent only when it changes.
#[derive(Debug, Default)]
struct Section {
    version: u32,
    bytes: Vec<u8>,
}

impl Frame {
    /// Encodes the frame for a viewer that has `known`.
    #[must_use]
    pub fn message(&self, known: &Known) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.moving.len() + 64);
        if known.ground != self.ground.version {
            bytes.extend_from_slice(&self.ground.bytes);
        }
        if known.ids != self.ids.version {
            bytes.extend_from_slice(&self.ids.bytes);
        }
        bytes.extend_from_slice(&self.moving);
        bytes.extend_from_slice(&self.chosen);
        bytes
    }

    /// Returns what a viewer has once it has received the message.
    #[must_use]
    pub fn known(&self, before: &Known) -> Known {
        Known { ground: self.ground.version, ids: self.ids.version, ..*before }
    }
}

/// Parts of earlier frames that are still valid.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) last: Frame,
    marks: Marks,
    ids: Vec<u32>,
    /// The world, the number of times it went back, and its ground version: after going back, the ground
    /// may be another one with the same version.
    ground_of: (u32, u32, u64),
}

impl Default for Frames {
    fn default() -> Self {
        let (last, ids) = (Frame::default(), Vec::new());
        Self { last, marks: Marks::of_frame(), ids, ground_of: (0, 0, 0) }
    }
}

/// The maximum number of path points in a frame; more could not be told apart.
const PATH_POINTS_MAX: usize = 60_000;
/// The maximum number of points of one path.
const PATH_LENGTH_MAX: usize = 4_096;

const HEAD: u32 = 1;
const MARKS: u32 = 2;
const IDS: u32 = 3;
const GROUND: u32 = 4;
const PATHS: u32 = 5;
const CHOSEN: u32 = 6;

impl Frames {
    /// Draws the current world, unless it is drawn already.
    pub(super) fn draw(&mut self, session: &Session, view: &dyn View, with_paths: bool) {
        let is_new = self.last.version != session.version || !self.marks.are_for(session.watched());
        if !is_new && (self.last.has_paths || !with_paths) {
            return;
        }
        self.marks.begin(session.watched());
        view.marks(&mut self.marks);
        let ids = self.marks.iter().map(|mark| mark.entity.index());
        if self.last.ids.version == 0 || !ids.clone().eq(self.ids.iter().copied()) {
            self.ids = ids.collect();
            self.last.ids = Arc::new(ids_section(self.last.ids.version + 1, &self.ids));
        }
        let ground_of = (session.world_number, session.rewind_count, view.ground_version());
        if ground_of != self.ground_of {
            self.ground_of = ground_of;
            let version = self.last.ground.version + 1;
            self.last.ground = Arc::new(ground_section(version, &view.ground()));
        }
        // A mark takes five bytes.
        let mut moving = Vec::with_capacity(128 + 5 * self.marks.len());
        write_head(&mut moving, session, view, &self.marks);
        let size = view.scene().size;
        write_marks(&mut moving, &self.marks, size);
        if with_paths {
            write_paths(&mut moving, view, &self.marks, size);
        }
        self.last.moving = Arc::new(moving);
        self.last.has_paths = with_paths;
        self.last.version = session.version;
    }

    /// The agents that were drawn last.
    pub(super) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the last frame, for a viewer who has chosen this entity.
    pub(super) fn frame(&self, view: &dyn View, chosen: Option<Entity>) -> Frame {
        let mut frame = self.last.clone();
        let is_it = |mark: &&Mark| Some(mark.entity) == chosen && mark.world == view.focus();
        if let Some(mark) = self.marks.iter().find(is_it) {
            write_chosen(&mut frame.chosen, view, mark);
        }
        frame
    }
}

fn write_head(bytes: &mut Vec<u8>, session: &Session, view: &dyn View, marks: &Marks) {
    let (scene, focus) = (view.scene(), view.focus());
    let is_here = |mark: &Mark| mark.world == focus;
    let first = marks.iter().position(is_here).unwrap_or_default();
    let end = marks.iter().rposition(is_here).map_or(first, |last| last + 1);
    section(bytes, HEAD, |bytes| {
        put_u32(bytes, session.world_number);
        // The page shows the tick from /api/state; here it only distinguishes frames.
        put_u32(bytes, low_half(session.ticks));
        put_u32(bytes, u32::from(session.is_running));
        for number in [scene.size.x, scene.size.y, scene.mark_radius, scene.ticks_per_second] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        put_u32(bytes, marks.each());
        [first, end].into_iter().for_each(|place| put_u32(bytes, count(place)));
    });
}

fn write_chosen(bytes: &mut Vec<u8>, view: &dyn View, mark: &Mark) {
    let (path, size) = (view.path(mark.entity), view.scene().size);
    section(bytes, CHOSEN, |bytes| {
        put_point(bytes, mark.at, size);
        put_u32(bytes, count(path.len().min(PATH_LENGTH_MAX)));
        path.iter().take(PATH_LENGTH_MAX).for_each(|&at| put_point(bytes, at, size));
    });
}

fn write_marks(bytes: &mut Vec<u8>, marks: &[Mark], size: Vec2) {
    section(bytes, MARKS, |bytes| {
        put_u32(bytes, count(marks.len()));
        let (first, side) = (bytes.len(), size_of::<u16>() * marks.len());
        bytes.resize(first + 2 * side + marks.len(), 0);
        let (x, rest) = bytes[first..].split_at_mut(side);
        let (y, kinds) = rest.split_at_mut(side);
        let places = x.chunks_exact_mut(2).zip(y.chunks_exact_mut(2)).zip(kinds);
        for (mark, ((x, y), kind)) in marks.iter().zip(places) {
            x.copy_from_slice(&fraction(mark.at.x, size.x).to_le_bytes());
            y.copy_from_slice(&fraction(mark.at.y, size.y).to_le_bytes());
            *kind = mark.kind;
        }
    });
}

fn write_paths(bytes: &mut Vec<u8>, view: &dyn View, marks: &[Mark], size: Vec2) {
    let mut paths = Vec::new();
    let mut point_count = 0;
    for mark in marks {
        let mut path = view.path(mark.entity);
        path.truncate(PATH_LENGTH_MAX);
        point_count += path.len();
        if point_count > PATH_POINTS_MAX {
            break;
        }
        if path.len() > 1 {
            paths.push(path);
        }
    }
    section(bytes, PATHS, |bytes| {
        put_u32(bytes, count(paths.len()));
        for path in &paths {
            bytes.extend_from_slice(&u16::try_from(path.len()).unwrap_or(u16::MAX).to_le_bytes());
        }
        paths.iter().flatten().for_each(|&at| put_point(bytes, at, size));
    });
}

fn ids_section(version: u32, ids: &[u32]) -> Section {
    let mut bytes = Vec::new();
    section(&mut bytes, IDS, |bytes| {
        put_u32(bytes, version);
        put_u32(bytes, count(ids.len()));
        ids.iter().for_each(|&id| put_u32(bytes, id));
    });
    Section { version, bytes }
}

fn ground_section(version: u32, ground: &Ground) -> Section {
    let landmarks: Vec<_> = ground.landmarks.iter().map(landmark_json).collect();
    let mut bytes = Vec::new();
    section(&mut bytes, GROUND, |bytes| {
        put_u32(bytes, version);
        bytes.extend_from_slice(&ground.columns.to_le_bytes());
        bytes.extend_from_slice(&ground.rows.to_le_bytes());
        put_u32(bytes, count(ground.palette.len()));
        bytes.extend(ground.palette.iter().flat_map(|colour| colour.0));
        bytes.extend_from_slice(&ground.tiles);
        pad(bytes);
        bytes.extend_from_slice(json!(landmarks).to_string().as_bytes());
    });
    Section { version, bytes }
}

fn landmark_json(landmark: &Landmark) -> serde_json::Value {
    let at = landmark.at;
    json!({
        "x": at.x, "y": at.y, "radius": landmark.radius,
        "colour": landmark.colour.0, "label": landmark.label,
    })
}

/// Writes a section, and fills in its length once the content is written.
fn section(bytes: &mut Vec<u8>, tag: u32, content: impl FnOnce(&mut Vec<u8>)) {
    put_u32(bytes, tag);
    let length_at = bytes.len();
    put_u32(bytes, 0);
    content(bytes);
    let length = count(bytes.len() - length_at - size_of::<u32>());
    bytes[length_at..length_at + size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
    pad(bytes);
}

/// Pads with zeros, so that the next section is aligned for arrays of `u32`.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(size_of::<u32>()), 0);
}

fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_point(bytes: &mut Vec<u8>, at: Vec2, size: Vec2) {
    bytes.extend_from_slice(&fraction(at.x, size.x).to_le_bytes());
    bytes.extend_from_slice(&fraction(at.y, size.y).to_le_bytes());
}

/// Converts a coordinate to 65535ths of the side, clamped to the edges.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast brings the number into range, and gives 0 for what is none"
)]
fn fraction(at: f32, side: f32) -> u16 {
    // Negative values saturate to zero, so adding a half and truncating rounds to the nearest.
    (at / side * f32::from(u16::MAX) + 0.5) as u16
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}
