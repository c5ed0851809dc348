//! The sockets: one thread that accepts clients, one thread per client, and the messages that they send
//! to the thread that owns the world.
//!
//! ```text
//!   browser ──HTTP──> connection ──┐
//!   browser ──frames─> connection ─┼─ Link ──> Inspector: on the thread that owns the world
//!   curl ────HTTP───> connection ──┘
//! ```
//!
//! A client that reads slowly delays only itself. A silent client is disconnected to make room for a new
//! one. While many disconnected clients wait for the world, new ones wait to be accepted.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use formic_ecs::Entity;

use super::http::HttpRequest;
use super::{Answer, Frame, connection};

/// How long a viewer waits for a frame that differs from the one it has.
pub(super) const FRAME_WAIT: Duration = Duration::from_millis(250);
/// How long a request waits for its answer: a tick of two million agents takes some tenths of a second.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(120);
/// The delay before an unfinished request is repeated.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// The maximum number of clients at a time: a browser opens about six connections per page.
const CLIENTS_MAX: usize = 64;
/// The maximum number of threads for clients, including those whose client was disconnected while they
/// wait for the world. Each may hold a request of a megabyte.
const THREADS_MAX: usize = 2 * CLIENTS_MAX;

/// A message from a connection to the world's owner.
#[derive(Debug)]
pub(super) enum Wish {
    Answer(HttpRequest, SyncSender<Answer>),
    Frame(FrameWish),
    Stop,
}

#[derive(Debug)]
pub(super) struct FrameWish {
    /// The version that the viewer has.
    pub(super) seen: u64,
    pub(super) with_paths: bool,
    pub(super) chosen: Option<Entity>,
    pub(super) until: Instant,
    pub(super) reply: SyncSender<Option<Frame>>,
}

/// A handle for messages to the world's owner; every connection has one.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) wishes: Sender<Wish>,
    /// The request that the owner is working on; empty if none.
    doing: Arc<Mutex<String>>,
}

impl Link {
    pub(super) fn new(wishes: Sender<Wish>) -> Self {
        Self { wishes, doing: Arc::default() }
    }

    /// Sets the request that the owner is working on.
    pub(super) fn set_doing(&self, path: &str) {
        path.clone_into(&mut self.doing.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns what keeps the owner from answering.
    pub(super) fn doing(&self) -> String {
        let doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if doing.is_empty() { "a tick".to_owned() } else { doing }
    }

    /// Returns the session's answer to a request, once the request is finished.
    pub(super) fn answer(&self, request: &HttpRequest) -> Answer {
        loop {
            let (reply, answer) = sync_channel(1);
            let sent = self.wishes.send(Wish::Answer(request.clone(), reply));
            let answer = sent.ok().and_then(|()| answer.recv_timeout(ANSWER_WAIT).ok());
            match answer {
                Some(answer) if answer.status == 202 => thread::sleep(ASK_AGAIN),
                Some(answer) => return answer,
                None => return Answer::error(503, "the world does not answer"),
            }
        }
    }

    /// Asks for a frame of another version than `seen`, if one appears within [`FRAME_WAIT`].
    pub(super) fn ask_frame(
        &self,
        seen: u64,
        with_paths: bool,
        chosen: Option<Entity>,
    ) -> Receiver<Option<Frame>> {
        let (reply, frame) = sync_channel(1);
        let until = Instant::now() + FRAME_WAIT;
        // If the session has ended, no frame comes.
        drop(self.wishes.send(Wish::Frame(FrameWish { seen, with_paths, chosen, until, reply })));
        frame
    }
}

/// The thread that accepts clients. Dropping this ends it and the connections.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Listens at an address of this machine.
    pub(super) fn bind(address: impl ToSocketAddrs, link: Link) -> io::Result<Self> {
        let wanted: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let listener = TcpListener::bind(&wanted[..]).map_err(|error| {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            io::Error::new(error.kind(), format!("{}: {error}", wanted.join(", ")))
        })?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            let text = "the inspector listens to this machine alone: 127.0.0.1, or [::1]";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let door = thread::Builder::new().name("inspector".to_owned());
        door.spawn(move || let_in(&listener, &link, &over))?;
        Ok(Self { address, is_over })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The thread blocks in `accept`, so a connection wakes it.
        drop(TcpStream::connect(self.address));
    }
}

fn let_in(listener: &TcpListener, link: &Link, is_over: &Arc<AtomicBool>) {
    let clients = Arc::new(Clients::default());
    for (stream, number) in listener.incoming().zip(0..) {
        // Every thread has a seat, which refers to the clients. Threads end once the world has answered.
        while Arc::strong_count(&clients) > THREADS_MAX && !is_over.load(Ordering::Relaxed) {
            thread::sleep(ASK_AGAIN);
        }
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        // The client disconnected before it was accepted, or there are no more file descriptors. The next
        // one may succeed, but without a file descriptor not at once.
        let Ok(stream) = stream else {
            thread::sleep(ASK_AGAIN);
            continue;
        };
        let Ok(copy) = stream.try_clone() else { continue };
        clients.enter(number, copy);
        let seat = Seat { number, clients: Arc::clone(&clients) };
        let (link, is_over) = (link.clone(), Arc::clone(is_over));
        let client = thread::Builder::new().name("client".to_owned());
        // If no thread can be started, the connection closes and the browser tries again.
        drop(client.spawn(move || connection::serve(stream, &link, &seat, &is_over)));
    }
}

/// The connected clients.
#[derive(Debug, Default)]
struct Clients(Mutex<Vec<Client>>);

#[derive(Debug)]
struct Client {
    number: u64,
    stream: TcpStream,
    /// The time of its last request, if any.
    asked: Option<Instant>,
}

impl Clients {
    fn list(&self) -> MutexGuard<'_, Vec<Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client. If there is no room, the client that has been silent for the longest time is
    /// disconnected, and first of all one that has never sent a request.
    fn enter(&self, number: u64, stream: TcpStream) {
        let mut clients = self.list();
        if clients.len() >= CLIENTS_MAX {
            let silent =
                (0..clients.len()).min_by_key(|&at| (clients[at].asked, clients[at].number));
            let silent = clients.swap_remove(silent.expect("there are some"));
            // Its thread notices, and ends.
            drop(silent.stream.shutdown(Shutdown::Both));
        }
        clients.push(Client { number, stream, asked: None });
    }
}

/// A place among the clients, freed on drop.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    clients: Arc<Clients>,
}

impl Seat {
    /// Notes that the client has sent a request.
    pub(super) fn note_request(&self) {
        if let Some(client) = self.clients.list().iter_mut().find(|it| it.number == self.number) {
            client.asked = Some(Instant::now());
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.clients.list().retain(|client| client.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn while_the_world_does_not_answer_only_so_many_requests_are_held() {
        let (sender, wishes) = channel();
        let server = Server::bind("127.0.0.1:0", Link::new(sender)).expect("some port is free");
        let ask = |_| {
            let mut stream = TcpStream::connect(server.address).expect("it listens");
            let request =
                b"GET /api/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request).expect("it is sent");
            stream
        };
        let _clients: Vec<TcpStream> = (0..200).map(ask).collect();
        let mut held = Vec::new();
        while let Ok(wish) = wishes.recv_timeout(Duration::from_secs(1)) {
            held.push(wish);
        }
        // A client may be disconnected before its thread has read the request.
        assert!((1..=THREADS_MAX).contains(&held.len()), "{}", held.len());
        // Once they are answered, the others have their turn.
        held.clear();
        assert!(wishes.recv_timeout(Duration::from_secs(20)).is_ok());
    }
}
