//! `demos serve`: a local web page where demos run live.
//!
//! ```text
//!   browser ──HTTP──> connection ──┐
//!   browser ──frames─> connection ─┼─ Link ──> Host: the thread that owns the session
//!   curl ────HTTP───> connection ──┘
//! ```
//!
//! One thread owns the world. Connections have a thread each and ask it by messages, so a client
//! that reads slowly holds up only itself. The server listens to this machine alone.

mod connection;
mod http;
mod link;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use clap::Args;

use crate::card::Demo;
use crate::failure::Failure;
use crate::serve::link::Link;
use crate::session::Session;
use crate::setup::Setup;

/// The port without `--port`.
pub const PORT_DEFAULT: u16 = 4747;
/// The most clients at a time: a browser has six connections or so for each page.
const CLIENTS_MAX: usize = 64;

/// The arguments of `demos serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArguments {
    /// The demo that the page opens with
    #[arg(default_value = "dungeon", value_name = "DEMO")]
    pub demo: String,
    /// Where the page is: http://127.0.0.1:PORT/; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = PORT_DEFAULT)]
    pub port: u16,
    /// How many agents live in the world
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Setup::AGENTS_MAX)))]
    pub agents: Option<u32>,
    /// Where every random choice comes from
    #[arg(long, value_name = "S", default_value_t = Setup::SEED_DEFAULT)]
    pub seed: u64,
    /// How many threads work; one for each core if not given
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Begin at tick 0 and wait for the button
    #[arg(long)]
    pub paused: bool,
}

/// A server that listens and has not begun to answer.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

/// Ends a [`Server`], from any thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Stopper {
    /// Ends the server: `run` returns, and connections close.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It waits for clients, so it is given one.
        drop(TcpStream::connect(self.address));
    }
}

impl Server {
    /// Listens at a port of this machine; 0 for any that is free.
    ///
    /// # Errors
    /// [`Failure::Usage`] where the port cannot be had; it says what to do.
    pub fn bind(port: u16) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            Failure::Usage(match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "port {port} is taken; choose another by --port, or --port 0 for any free one"
                ),
                _ => format!("cannot listen at port {port}: {error}; choose another by --port"),
            })
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, is_over: Arc::new(AtomicBool::new(false)) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper { address: self.address, is_over: Arc::clone(&self.is_over) }
    }

    /// Answers until it is stopped. `open` makes the session, on a thread of its own, where the
    /// world stays.
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened, or a system panicked.
    pub fn run(
        self,
        open: impl FnOnce() -> Result<Session, Failure> + Send + 'static,
    ) -> Result<(), Failure> {
        let (link, host) = Link::new();
        let stopper = self.stopper();
        let world = thread::spawn(move || {
            // However it ends: without a world there is nothing to serve.
            let stops = StopsAtTheEnd(stopper);
            let ended = open().map(|mut session| host.run(&mut session));
            drop(stops);
            ended
        });
        let clients = Arc::new(AtomicUsize::new(0));
        for stream in self.listener.incoming() {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            // A client that went before it was let in, or no more files: the next one may do.
            let Ok(stream) = stream else { continue };
            self.let_in(stream, &link, &clients);
        }
        link.stop();
        match world.join() {
            Ok(ended) => ended,
            Err(_) => Err(Failure::Check("a system of the demo panicked".to_owned())),
        }
    }

    fn let_in(&self, mut stream: TcpStream, link: &Link, clients: &Arc<AtomicUsize>) {
        let seat = Seat(Arc::clone(clients));
        if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
            // Whether it can be told does not matter.
            drop(
                stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
            );
            return;
        }
        let (link, is_over) = (link.clone(), Arc::clone(&self.is_over));
        let client = thread::Builder::new().name("client".to_owned());
        // Where there is no thread to be had the connection closes, and the browser tries again.
        drop(client.spawn(move || {
            connection::serve(stream, &link, &is_over);
            drop(seat);
        }));
    }
}

/// A place among the clients, which is free again when this goes.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct StopsAtTheEnd(Stopper);

impl Drop for StopsAtTheEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `demos serve` until the server is stopped.
///
/// # Errors
/// The demo is unknown or does not like its numbers, the port is taken, or `out` cannot be written.
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
    let setup = setup(arguments, demo);
    let server = Server::bind(arguments.port)?;
    let is_running = !arguments.paused;
    writeln!(out, "{} is at http://{}/ (Ctrl-C ends)", demo.name, server.address())
        .and_then(|()| out.flush())
        .map_err(Failure::Stdout)?;
    server.run(move || {
        let mut session = Session::open(demos, demo, setup)?;
        session.set_running(is_running);
        Ok(session)
    })?;
    writeln!(out, "\nstopped").map_err(Failure::Stdout)
}

fn setup(arguments: &ServeArguments, demo: &Demo) -> Setup {
    Setup {
        agents: arguments.agents.unwrap_or(demo.agents_default),
        ticks: 0,
        seed: arguments.seed,
        threads: arguments.threads.map_or_else(Setup::threads_default, usize::from),
    }
}
