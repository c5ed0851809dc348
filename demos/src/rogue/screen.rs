//! What a terminal shows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

use super::game::Scene;
use super::picture::colour;
use super::sight::{cell_of, field, level};
use super::things::{Asleep, Cell, Flame, Foe, Health, Look};

/// The smallest terminal that shows something useful: columns and rows.
pub(super) const LEAST: (u16, u16) = (44, 14);
const SIDE_WIDTH: u16 = 24;

/// What lies over the map.
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

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>, message: &str, page: Page<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!(
            "The terminal is too small: {} by {}, and {} by {} is the least. Make it larger, or q.",
            area.width, area.height, LEAST.0, LEAST.1
        );
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let rows = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).split(area);
    let columns =
        Layout::horizontal([Constraint::Min(1), Constraint::Length(SIDE_WIDTH)]).split(rows[0]);
    frame.render_widget(Paragraph::new(map(scene, columns[0])), columns[0]);
    let side = Block::default().borders(Borders::LEFT);
    frame.render_widget(Paragraph::new(panel(scene)).block(side), columns[1]);
    let style = Style::default().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(Line::styled(message.to_owned(), style)), rows[1]);
    if let Page::Why(traces, from) = page {
        let text = if traces.is_empty() { "Nothing has happened yet." } else { &traces.join("\n") };
        let block = Block::default()
            .borders(Borders::ALL)
            .title(" Why did that happen? ")
            .title_bottom(" j k: scroll, any other key: back ");
        frame.render_widget(Clear, rows[0]);
        frame.render_widget(Paragraph::new(text).block(block).scroll((from, 0)), rows[0]);
    }
}

/// The cells around the hero that fit.
fn map(scene: &Scene<'_>, area: Rect) -> Vec<Line<'static>> {
    let now = &scene.now;
    let level = level(now);
    let hero = cell_of(now, scene.hero);
    let (width, height) = (i32::from(area.width), i32::from(area.height));
    let centre = hero.unwrap_or((level.width / 2, level.height / 2));
    // Where all of it fits, it stays where it is.
    let first = |centre: i32, size: i32, whole: i32| {
        if whole <= size { (whole - size) / 2 } else { (centre - size / 2).clamp(0, whole - size) }
    };
    let left = first(centre.0, width, level.width);
    let top = first(centre.1, height, level.height);
    let seen = hero.map_or_else(Vec::new, |hero| field(now, hero));
    let seen: std::collections::BTreeSet<Cell> = seen.into_iter().collect();
    let row = |y: i32| {
        let spans = (left..left + width).map(|x| letter(scene, (x, y), seen.contains(&(x, y))));
        Line::from(spans.collect::<Vec<_>>())
    };
    (top..top + height).map(row).collect()
}

fn letter(scene: &Scene<'_>, cell: Cell, is_seen: bool) -> Span<'static> {
    let now = &scene.now;
    let is_known = level(now).index(cell).is_some_and(|index| scene.explored[index]);
    if !is_seen && !is_known {
        return Span::raw(" ");
    }
    let dim = Style::default().fg(Color::DarkGray);
    let things = now.cell(cell).with::<Look>().filter(|&thing| {
        // Flames that have yet to flare up cannot be seen, nor can what moves out of sight.
        let is_waiting = now.get::<Flame>(thing).is_ok_and(|flame| flame.wait > 0);
        !is_waiting && (is_seen || !now.has::<Foe>(thing))
    });
    let rank = |letter: char| "@*-|\\rgao!+/>".find(letter).unwrap_or(99);
    let looks = things.filter_map(|thing| Some(now.get::<Look>(thing).ok()?.letter()));
    match looks.min_by_key(|&letter| rank(letter)) {
        Some(letter) if is_seen => {
            let [red, green, blue] = colour(letter).0;
            let style = Style::default().fg(Color::Rgb(red, green, blue));
            Span::styled(letter.to_string(), style)
        }
        Some(letter) => Span::styled(letter.to_string(), dim),
        None if !level(now).is_open(cell) => {
            Span::styled("#", if is_seen { Style::default() } else { dim })
        }
        None => Span::styled(if is_seen { "." } else { " " }, dim),
    }
}

fn panel(scene: &Scene<'_>) -> Vec<Line<'static>> {
    let now = &scene.now;
    let health = now.get::<Health>(scene.hero).copied().unwrap_or(Health { now: 0, most: 20 });
    let full = usize::try_from(health.now.div_ceil(2)).unwrap_or(0);
    let bar = format!(" {:<10} {}/{}", "=".repeat(full.min(10)), health.now, health.most);
    let low = if 3 * health.now <= health.most { Color::Red } else { Color::Green };
    let mut lines = vec![
        Line::styled(" Health", Style::default().add_modifier(Modifier::BOLD)),
        Line::styled(bar, Style::default().fg(low)),
        Line::default(),
    ];
    let cells = cell_of(now, scene.hero).map_or_else(Vec::new, |hero| field(now, hero));
    let mut foes: BTreeMap<Reverse<char>, (usize, usize)> = BTreeMap::new();
    for foe in cells.into_iter().flat_map(|cell| now.cell(cell).with::<Foe>()) {
        let letter = now.get::<Look>(foe).map_or('?', |look| look.letter());
        let count = foes.entry(Reverse(letter)).or_default();
        count.0 += 1;
        count.1 += usize::from(now.has::<Asleep>(foe));
    }
    for (Reverse(letter), (count, asleep)) in foes {
        let name = match letter {
            'r' => "rats",
            'g' => "goblins",
            _ => "archers",
        };
        let sleeping = if asleep > 0 { format!(", {asleep} asleep") } else { String::new() };
        lines.push(Line::raw(format!(" {letter} {count} {name}{sleeping}")));
    }
    lines.push(Line::default());
    lines.extend(
        KEYS.lines()
            .map(|line| Line::styled(format!(" {line}"), Style::default().fg(Color::DarkGray))),
    );
    lines
}
