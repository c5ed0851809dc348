//! A canvas of letters, and the terminal that it is printed to.

use std::io::{self, Write, stdout};
use std::panic;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{ContentStyle, PrintStyledContent};
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{execute, queue};

/// A part of a canvas: its first column and row, its width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: u16,
    pub(super) y: u16,
    pub(super) width: u16,
    pub(super) height: u16,
}

/// Letters in rows, each with a style. Writes outside it have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Canvas {
    width: u16,
    height: u16,
    cells: Vec<(char, ContentStyle)>,
}

impl Canvas {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let count = usize::from(width) * usize::from(height);
        Self { width, height, cells: vec![(' ', ContentStyle::default()); count] }
    }

    pub(super) fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.width, height: self.height }
    }

    pub(super) fn put(&mut self, x: u16, y: u16, letter: char, style: ContentStyle) {
        if x < self.width && y < self.height {
            let at = usize::from(y) * usize::from(self.width) + usize::from(x);
            // A control character would move the cursor.
            self.cells[at] = (if letter.is_control() { ' ' } else { letter }, style);
        }
    }

    /// Writes a line from the left of a row of `area`, as far as it fits.
    pub(super) fn line(&mut self, area: Area, row: u16, text: &str, style: ContentStyle) {
        if row < area.height {
            let columns = area.x..area.x.saturating_add(area.width);
            for (x, letter) in columns.zip(text.chars()) {
                self.put(x, area.y + row, letter, style);
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[(char, ContentStyle)]> {
        self.cells.chunks(usize::from(self.width.max(1)))
    }

    /// Returns the letters, a line for each row.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        let line = |row: &[(char, ContentStyle)]| {
            row.iter().map(|(letter, _)| *letter).chain(['\n']).collect::<String>()
        };
        self.rows().map(line).collect()
    }

    /// Prints the rows that differ from those of `shown`.
    fn print(&self, shown: &Self, out: &mut impl Write) -> io::Result<()> {
        let is_resized = (self.width, self.height) != (shown.width, shown.height);
        queue!(out, BeginSynchronizedUpdate)?;
        let mut before = shown.rows();
        for (y, row) in (0..).zip(self.rows()) {
            if before.next() == Some(row) && !is_resized {
                continue;
            }
            queue!(out, MoveTo(0, y))?;
            for run in row.chunk_by(|(_, one), (_, other)| one == other) {
                let letters: String = run.iter().map(|(letter, _)| letter).collect();
                queue!(out, PrintStyledContent(run[0].1.apply(letters)))?;
            }
        }
        queue!(out, EndSynchronizedUpdate)?;
        out.flush()
    }
}

/// The terminal during a game; dropping it restores the terminal.
pub(super) struct Terminal {
    shown: Canvas,
}

impl Terminal {
    /// Takes over the terminal. A panic restores it before it is reported.
    ///
    /// # Errors
    /// Returns the system's error if this is not a terminal.
    pub(super) fn open() -> io::Result<Self> {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            drop(give_back());
            report(info);
        }));
        terminal::enable_raw_mode()?;
        let terminal = Self { shown: Canvas::default() };
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(terminal)
    }

    /// Shows what `draw` draws on an empty canvas of the terminal's size.
    ///
    /// # Errors
    /// Returns the system's error if the terminal cannot be written.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Canvas)) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let mut canvas = Canvas::new(width, height);
        draw(&mut canvas);
        canvas.print(&self.shown, &mut stdout().lock())?;
        self.shown = canvas;
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(give_back());
    }
}

fn give_back() -> io::Result<()> {
    let left = execute!(stdout(), LeaveAlternateScreen, Show);
    terminal::disable_raw_mode().and(left)
}

#[cfg(test)]
mod tests {
    use crossterm::style::Stylize;

    use super::*;

    fn printed(canvas: &Canvas, shown: &Canvas) -> String {
        let mut out = Vec::new();
        canvas.print(shown, &mut out).expect("a vector takes everything");
        String::from_utf8(out).expect("letters are Unicode")
    }

    #[test]
    fn only_rows_that_changed_are_printed() {
        let mut canvas = Canvas::new(5, 3);
        canvas.line(canvas.area(), 1, "rats and more", ContentStyle::new().bold());
        assert_eq!(canvas.text(), "     \nrats \n     \n", "what does not fit is cut off");
        let before = canvas.clone();
        canvas.put(0, 2, '@', ContentStyle::new().red());
        let text = printed(&canvas, &before);
        assert!(text.contains("\u{1b}[3;1H") && text.contains('@'), "{text:?}");
        assert!(!text.contains("rats"), "{text:?}");
        assert!(printed(&canvas, &Canvas::new(4, 3)).contains("rats"), "all of it after a resize");
    }

    /// The environment variable that tells this test how to end in a terminal of its own.
    #[cfg(target_os = "linux")]
    const ENDING: &str = "FORMIC_TERMINAL_ENDING";

    /// Plays the part of a game: takes over the terminal, draws, and ends.
    #[cfg(target_os = "linux")]
    fn play_to(ending: &str) {
        let mut terminal = Terminal::open().expect("there is one");
        let draw = |canvas: &mut Canvas| {
            canvas.line(canvas.area(), 0, "the cave", ContentStyle::new().bold());
        };
        terminal.draw(draw).expect("it can be written");
        match ending {
            "quits" => {}
            "panics" => panic!("a rat bites"),
            "panics elsewhere" => {
                let other = std::thread::spawn(|| panic!("a rat bites"));
                assert!(other.join().is_err());
            }
            other => unreachable!("{other}"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_terminal_is_as_it_was_after_the_end_and_after_a_panic() {
        use std::process::{Command, Stdio};
        if let Ok(ending) = std::env::var(ENDING) {
            return play_to(&ending);
        }
        let own_name =
            "rogue::terminal::tests::the_terminal_is_as_it_was_after_the_end_and_after_a_panic";
        let own_path = std::env::current_exe().expect("it runs");
        for ending in ["quits", "panics", "panics elsewhere"] {
            // A terminal of 80 by 24, and its settings before and after.
            let command = format!(
                "stty rows 24 cols 80; stty -g; {ENDING}='{ending}' '{}' --exact {own_name} \
                 --nocapture; stty -g",
                own_path.display()
            );
            let run = Command::new("script")
                .args(["-qec", &command, "/dev/null"])
                .stdin(Stdio::null())
                .output()
                .expect("util-linux has it");
            let shown = String::from_utf8_lossy(&run.stdout);
            let is_settings = |line: &&str| line.split(':').count() > 30;
            let settings: Vec<&str> = shown.lines().map(str::trim).filter(is_settings).collect();
            assert_eq!(settings.len(), 2, "{ending}: {shown}");
            assert_eq!(settings[0], settings[1], "{ending}: {shown}");
            let place = |what: &str| {
                shown.find(what).unwrap_or_else(|| panic!("{what:?} is not in {shown:?}"))
            };
            let last = |what: &str| shown.rfind(what).expect("as above");
            // Switches to the alternate screen and back, hides the cursor and shows it.
            let [there, back, hidden, there_again] =
                ["\u{1b}[?1049h", "\u{1b}[?1049l", "\u{1b}[?25l", "\u{1b}[?25h"].map(place);
            assert!(there < place("the cave") && last("the cave") < back, "{ending}: {shown:?}");
            assert!(hidden < there_again, "{ending}: {shown:?}");
            assert!(last("\u{1b}[?1049h") < back && last("\u{1b}[?25l") < there_again, "{shown:?}");
            // The report of a panic is readable afterwards.
            if ending != "quits" {
                assert!(
                    back < place("a rat bites") && there_again < place("a rat bites"),
                    "{shown:?}"
                );
            }
        }
    }

    #[test]
    fn letters_outside_are_left_out_and_control_characters_are_blank() {
        let mut canvas = Canvas::new(2, 1);
        canvas.put(2, 0, 'x', ContentStyle::default());
        canvas.put(0, 1, 'x', ContentStyle::default());
        canvas.put(0, 0, '\u{1b}', ContentStyle::default());
        assert_eq!(canvas.text(), "  \n");
    }
}
