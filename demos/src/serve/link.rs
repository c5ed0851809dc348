//! The way from connections to the thread that owns the session, and that thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use crate::interrupt;
use crate::serve::http::HttpRequest;
use crate::session::{Answer, Frame, Request, Session};

/// How long the world may live before requests are looked at again.
const SLICE: Duration = Duration::from_millis(25);
/// How long a viewer waits for a frame that differs from the one it has.
const FRAME_WAIT: Duration = Duration::from_millis(250);
/// How long a request waits for its answer: building a world of two million takes some seconds.
const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// What a connection wants of the session.
enum Wish {
    Answer(HttpRequest, SyncSender<Answer>),
    Frame(FrameWish),
    Stop,
}

struct FrameWish {
    /// The version that the viewer has.
    seen: u64,
    with_paths: bool,
    until: Instant,
    reply: SyncSender<Option<Frame>>,
}

/// A way to the session; every connection has one.
#[derive(Debug, Clone)]
pub(super) struct Link {
    wishes: Sender<Wish>,
}

impl Link {
    /// A way to a session that [`Host::run`] is to own.
    pub(super) fn new() -> (Self, Host) {
        let (wishes, receiver) = channel();
        (Self { wishes }, Host { wishes: receiver })
    }

    /// What the session says to a request.
    pub(super) fn answer(&self, request: HttpRequest) -> Answer {
        let (reply, answer) = sync_channel(1);
        let sent = self.wishes.send(Wish::Answer(request, reply));
        let answer = sent.ok().and_then(|()| answer.recv_timeout(ANSWER_WAIT).ok());
        answer.unwrap_or_else(|| Answer::error(503, "the simulation does not answer"))
    }

    /// A frame of another version than `seen`, if there is one soon; and whether there may be later.
    pub(super) fn frame(&self, seen: u64, with_paths: bool) -> Result<Option<Frame>, Gone> {
        let (reply, frame) = sync_channel(1);
        let until = Instant::now() + FRAME_WAIT;
        let wish = FrameWish { seen, with_paths, until, reply };
        self.wishes.send(Wish::Frame(wish)).map_err(|_| Gone)?;
        frame.recv_timeout(ANSWER_WAIT).map_err(|_| Gone)
    }

    /// Ends the thread of the session.
    pub(super) fn stop(&self) {
        // Where the thread has ended already there is no thread to be told.
        drop(self.wishes.send(Wish::Stop));
    }
}

/// The session has ended.
#[derive(Debug)]
pub(super) struct Gone;

/// The end of the links that the session is at.
pub(super) struct Host {
    wishes: Receiver<Wish>,
}

impl Host {
    /// Lets the session live, and answers, until it is stopped or Ctrl-C asks for an end.
    pub(super) fn run(self, session: &mut Session) {
        let mut waiting: Vec<FrameWish> = Vec::new();
        let mut before = Instant::now();
        while !interrupt::asked() {
            let now = Instant::now();
            let wait = session.next_tick_in().unwrap_or(FRAME_WAIT);
            let deadline =
                waiting.iter().map(|wish| wish.until.saturating_duration_since(now)).min();
            let first = self.wishes.recv_timeout(wait.min(deadline.unwrap_or(wait)));
            let mut next = match first {
                Ok(wish) => Some(wish),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(wish) = next {
                match wish {
                    Wish::Stop => return,
                    Wish::Frame(wish) => waiting.push(wish),
                    // Who asked may have gone meanwhile.
                    Wish::Answer(request, reply) => drop(reply.send(ask(session, &request))),
                }
                next = self.wishes.try_recv().ok();
            }
            let now = Instant::now();
            live(session, now - before, now + SLICE);
            before = now;
            send_frames(session, &mut waiting);
        }
    }
}

fn live(session: &mut Session, elapsed: Duration, end: Instant) {
    let (ticks, start) = (session.ticks(), Instant::now());
    session.live(elapsed, || Instant::now() >= end);
    let lived = u32::try_from(session.ticks() - ticks).unwrap_or(u32::MAX);
    if lived > 0 {
        session.note_tick_time(start.elapsed() / lived);
    }
}

fn ask(session: &mut Session, request: &HttpRequest) -> Answer {
    session.answer(&Request {
        is_post: request.method == "POST",
        path: &request.path,
        query: &request.query,
        body: &request.body,
    })
}

/// Gives frames to those for whom there is a new one, and nothing to those who have waited.
fn send_frames(session: &mut Session, waiting: &mut Vec<FrameWish>) {
    let now = Instant::now();
    waiting.retain(|wish| {
        let frame = if wish.seen == session.version() {
            None
        } else {
            Some(session.frame(wish.with_paths))
        };
        let is_due = frame.is_some() || wish.until <= now;
        if is_due {
            // Who asked may have gone meanwhile.
            drop(wish.reply.send(frame));
        }
        !is_due
    });
}
