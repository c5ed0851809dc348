//! The picture of the dungeon in a terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crossterm::style::{Color, ContentStyle, Stylize};

use super::game::Scene;
use super::sight::{cell_of, field, level};
use super::terminal::{Area, Canvas};
use super::things::{Asleep, Cell, Foe, Health, KINDS, Look, kind_of};

/// The smallest useful terminal: columns and rows.
pub(super) const LEAST: (u16, u16) = (44, 14);
const SIDE_WIDTH: u16 = 24;

/// The page shown in place of the map.
#[derive(Clone, Copy)]
pub(super) enum Page<'a> {
    None,
    /// The traces of the last turns, from this line on.
    Why(&'a [String], u16),
}

const KEYS: &str = "\
hjkl yibn, arrows: go
f + way: shoot
c + way: close a door
. rest      u undo
? why did that happen
q quit";

fn dim() -> ContentStyle {
    ContentStyle::new().dark_grey()
}

fn bold() -> ContentStyle {
    ContentStyle::new().bold()
}

/// Draws everything.
pub(super) fn draw(canvas: &mut Canvas, scene: &Scene<'_>, message: &str, page: Page<'_>) {
    let whole = canvas.area();
    if whole.width < LEAST.0 || whole.height < LEAST.1 {
        let text = format!(
            "The terminal is too small: {} by {}, and {} by {} is the least. Make it larger, or q.",
            whole.width, whole.height, LEAST.0, LEAST.1
        );
        let letters: Vec<char> = text.chars().collect();
        for (row, line) in (0..).zip(letters.chunks(usize::from(whole.width.max(1)))) {
            canvas.line(whole, row, &line.iter().collect::<String>(), ContentStyle::new());
        }
        return;
    }
    if let Page::Why(traces, from) = page {
        let title = "Why did that happen? (j k: scroll, any other key: back)";
        canvas.line(whole, 0, title, bold());
        let text = if traces.is_empty() { "Nothing has happened yet." } else { &traces.join("\n") };
        for (row, line) in (1..whole.height).zip(text.lines().skip(from.into())) {
            canvas.line(whole, row, line, ContentStyle::new());
        }
        return;
    }
    let above = Area { height: whole.height - 1, ..whole };
    let width = whole.width - SIDE_WIDTH;
    map(canvas, scene, Area { width, ..above });
    let side = Area { x: width, width: SIDE_WIDTH, ..above };
    for row in 0..side.height {
        canvas.put(side.x, row, '│', ContentStyle::new());
    }
    let side = Area { x: side.x + 1, width: side.width - 1, ..side };
    for (row, (text, style)) in (0..).zip(panel(scene)) {
        canvas.line(side, row, &text, style);
    }
    canvas.line(Area { y: above.height, height: 1, ..whole }, 0, message, bold());
}

/// Draws the cells around the hero that fit.
fn map(canvas: &mut Canvas, scene: &Scene<'_>, area: Area) {
    let now = &scene.now;
    let level = level(now);
    let hero = cell_of(now, scene.hero);
    let (width, height) = (i32::from(area.width), i32::from(area.height));
    let centre = hero.unwrap_or((level.width / 2, level.height / 2));
    // A level that fits as a whole does not scroll.
    let first = |centre: i32, size: i32, whole: i32| {
        if whole <= size { (whole - size) / 2 } else { (centre - size / 2).clamp(0, whole - size) }
    };
    let left = first(centre.0, width, level.width);
    let top = first(centre.1, height, level.height);
    let seen = hero.map_or_else(Vec::new, |hero| field(now, hero));
    let seen: std::collections::BTreeSet<Cell> = seen.into_iter().collect();
    for (row, y) in (0..area.height).zip(top..) {
        for (column, x) in (0..area.width).zip(left..) {
            let (letter, style) = letter(scene, (x, y), seen.contains(&(x, y)));
            canvas.put(area.x + column, area.y + row, letter, style);
        }
    }
}

fn letter(scene: &Scene<'_>, cell: Cell, is_seen: bool) -> (char, ContentStyle) {
    let now = &scene.now;
    if !is_seen && !scene.is_explored(cell) {
        return (' ', dim());
    }
    let things = now.cell(cell).with::<Look>().filter(|&thing| scene.shows(thing, cell, is_seen));
    let rank = |letter: char| "@*-|\\rgao!+/>".find(letter).unwrap_or(99);
    let looks = things.filter_map(|thing| Some(now.get::<Look>(thing).ok()?.letter()));
    match looks.min_by_key(|&letter| rank(letter)) {
        Some(letter) if is_seen => {
            let [r, g, b] = KINDS[kind_of(letter)].2.0;
            (letter, ContentStyle::new().with(Color::Rgb { r, g, b }))
        }
        Some(letter) => (letter, dim()),
        None if !level(now).is_open(cell) => {
            ('#', if is_seen { ContentStyle::new() } else { dim() })
        }
        None => (if is_seen { '.' } else { ' ' }, dim()),
    }
}

/// Returns the panel's line for the foes of one kind that the hero sees.
pub(super) fn foes_line(letter: char, count: usize, asleep: usize) -> String {
    let name = KINDS[kind_of(letter)].1;
    let plural = if count == 1 { "" } else { "s" };
    let sleeping = if asleep > 0 { format!(", {asleep} asleep") } else { String::new() };
    // The map letter has its own column, so that "a 1 archer" does not read as a count.
    format!(" {letter}: {count} {name}{plural}{sleeping}")
}

fn panel(scene: &Scene<'_>) -> Vec<(String, ContentStyle)> {
    let now = &scene.now;
    let health = now.get::<Health>(scene.hero).copied().unwrap_or(Health { now: 0, most: 20 });
    let full = usize::try_from(health.now.div_ceil(2)).unwrap_or(0);
    let bar = format!(" {:<10} {}/{}", "=".repeat(full.min(10)), health.now, health.most);
    let low = if 3 * health.now <= health.most { Color::Red } else { Color::Green };
    let blank = (String::new(), ContentStyle::new());
    let mut lines =
        vec![(" Health".to_owned(), bold()), (bar, ContentStyle::new().with(low)), blank.clone()];
    let cells = cell_of(now, scene.hero).map_or_else(Vec::new, |hero| field(now, hero));
    let mut foes: BTreeMap<Reverse<char>, (usize, usize)> = BTreeMap::new();
    for foe in cells.into_iter().flat_map(|cell| now.cell(cell).with::<Foe>()) {
        let letter = now.get::<Look>(foe).map_or('?', |look| look.letter());
        let count = foes.entry(Reverse(letter)).or_default();
        count.0 += 1;
        count.1 += usize::from(now.has::<Asleep>(foe));
    }
    for (Reverse(letter), (count, asleep)) in foes {
        lines.push((foes_line(letter, count, asleep), ContentStyle::new()));
    }
    lines.push(blank);
    lines.extend(KEYS.lines().map(|line| (format!(" {line}"), dim())));
    lines
}
