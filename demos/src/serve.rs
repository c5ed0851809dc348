//! `demos serve`: a local web page where demos run live, by [`formic::inspect`].

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use clap::Args;
use formic::inspect::Inspector;

use crate::arguments::{Numbers, whole_number};
use crate::card::Demo;
use crate::failure::Failure;
use crate::interrupt;
use crate::session::Live;

/// The port without `--port`.
pub const PORT_DEFAULT: u16 = 4747;
/// The maximum time that a tick may go on after Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(700);

/// The arguments of `demos serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArguments {
    /// The demo that the page opens with
    #[arg(default_value = "dungeon", value_name = "DEMO")]
    pub demo: String,
    /// Where the page is: http://127.0.0.1:PORT/; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = PORT_DEFAULT, value_parser = |text: &str| whole_number(text, 0, u16::MAX), allow_negative_numbers = true)]
    pub port: u16,
    /// What the world starts from
    #[command(flatten)]
    pub numbers: Numbers,
    /// Begin at tick 0 and wait for the button
    #[arg(long)]
    pub paused: bool,
}

/// Listens at a port of this machine; 0 for any free one.
///
/// # Errors
/// Returns [`Failure::Usage`] if the port is not available; it says what to do.
pub fn bind(port: u16) -> Result<Inspector, Failure> {
    Inspector::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        Failure::Usage(match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!(
                    "port {port} is taken; choose another by --port, or --port 0 for any free one"
                )
            }
            _ => format!("cannot listen at port {port}: {error}; choose another by --port"),
        })
    })
}

/// Runs `demos serve` until the server is stopped.
///
/// # Errors
/// Returns an error if the demo is unknown or rejects its numbers, the port is taken, or `out` cannot be
/// written.
pub fn run(
    arguments: &ServeArguments,
    demos: &'static [&'static Demo],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(&demo) = demos.iter().find(|demo| demo.name == arguments.demo) else {
        let names: Vec<_> = demos.iter().map(|demo| demo.name).collect();
        let text =
            format!("there is no demo '{}' (there are: {})", arguments.demo, names.join(", "));
        return Err(Failure::Usage(text));
    };
    let inspector = bind(arguments.port)?;
    let inspector = if arguments.paused { inspector.paused() } else { inspector };
    writeln!(out, "{} is at http://{}/ (Ctrl-C ends)", demo.name, inspector.address())
        .and_then(|()| out.flush())
        .map_err(Failure::Stdout)?;
    end_long_ticks();
    let mut live = Live::open(demos, demo, arguments.numbers.setup(demo, 0))?;
    inspector.run(&mut live, interrupt::asked);
    writeln!(out, "\nstopped").map_err(Failure::Stdout)
}

/// Ends the program soon after Ctrl-C, even while a world is being built or in a long tick: a page has
/// nothing to save.
fn end_long_ticks() {
    let watch = || {
        while !interrupt::asked() {
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(PATIENCE);
        // A program that ends by itself has done so by now.
        drop(writeln!(io::stdout(), "\nstopped"));
        std::process::exit(0);
    };
    // Without the thread, Ctrl-C waits for the end of the tick.
    drop(thread::Builder::new().spawn(watch));
}
