//! The inspector of a running program.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::time::{Duration, Instant};

use formic_ecs::{Component, World};
use formic_jobs::{Pool, Save, Schedule, Step, Threads};

use super::http::HttpRequest;
use super::server::{FRAME_WAIT, FrameWish, Link, Server, Wish};
use super::slice::SLICE;
use super::{Answer, Host, Request, Session, View};

/// The requests that are answered once their steps have been taken.
const TAKES_STEPS: [&str; 2] = ["/api/step", "/api/rewind"];

/// A page for a running world, served at a local address.
///
/// ```
/// use formic::inspect::Inspector;
/// use formic::prelude::*;
///
/// #[derive(Component)]
/// struct Hunger(f32);
///
/// fn grow(mut all: Query<&mut Hunger>) {
///     all.for_each(|hunger| hunger.0 += 0.01);
/// }
///
/// let mut world = World::new();
/// world.spawn(Hunger(0.5));
/// let mut schedule = Schedule::builder().add(grow).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
///
/// let mut inspector = Inspector::bind("127.0.0.1:0")?.label::<Hunger>("from 0 to 1");
/// println!("http://{}/", inspector.address());
/// for _tick in 0..3 {
///     schedule.run(&mut world, &pool);
///     inspector.poll(&mut world, &mut schedule);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Inspector {
    server: Server,
    wishes: Receiver<Wish>,
    link: Link,
    session: Session,
    /// Runs steps, and the rest of a tick that steps began. The program's own pool is not known here.
    pool: Arc<Pool>,
    waiting: Waiting,
    /// The time of the last look at the clock.
    before: Instant,
    /// Whether the program was allowed to run a tick and has not reported it yet.
    is_in_tick: bool,
    /// Whether the program has polled before.
    has_begun: bool,
}

/// Requests to be answered later.
#[derive(Debug, Default)]
struct Waiting {
    frames: Vec<FrameWish>,
    /// Clients whose requested steps are being taken.
    steps: Vec<SyncSender<Answer>>,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("address", &self.server.address).finish_non_exhaustive()
    }
}

/// A handle that ends [`Inspector::run`] from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Sender<Wish>);

impl Stopper {
    /// Ends it after the current tick.
    pub fn stop(&self) {
        // If `run` has already ended, the message is not needed.
        drop(self.0.send(Wish::Stop));
    }
}

impl Inspector {
    /// Serves the page at an address of this machine, such as `127.0.0.1:4747`; port 0 chooses any free
    /// port. The page is served until the value is dropped.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound, or is not a loopback address.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let (sender, wishes) = channel();
        let link = Link::new(sender);
        Ok(Self {
            server: Server::bind(address, link.clone())?,
            wishes,
            link,
            session: Session::at_once(true),
            pool: Arc::new(Pool::new(Threads::None).map_err(io::Error::other)?),
            waiting: Waiting::default(),
            before: Instant::now(),
            is_in_tick: false,
            has_begun: false,
        })
    }

    /// Describes a component; the page shows the text beside the name.
    #[must_use]
    pub fn label<T: Component>(mut self, text: impl Into<String>) -> Self {
        self.session.labels.push((T::name(), text.into()));
        self
    }

    /// Starts with the world paused.
    #[must_use]
    pub fn paused(mut self) -> Self {
        self.session.set_running(false);
        self
    }

    /// Returns the address of the page.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns a handle that ends [`run`](Self::run).
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.link.wishes.clone())
    }

    /// Answers the page between two ticks of a program that has its own loop. It returns at once while
    /// the world runs at full speed. While the world is paused or slowed down, it returns when the next
    /// tick is due.
    pub fn poll(&mut self, world: &mut World, schedule: &mut Schedule) {
        let pool = Arc::clone(&self.pool);
        self.poll_host(&mut Attached { world, schedule, pool: &pool });
    }

    /// Like [`poll`](Self::poll), for a program that draws a map and has keys of its own.
    pub fn poll_host(&mut self, host: &mut dyn Host) {
        // A game that was loaded, or ran before, goes on with the ticks of its decisions.
        if !std::mem::replace(&mut self.has_begun, true) {
            self.session.ticks = host.schedule().tick();
        }
        if std::mem::take(&mut self.is_in_tick) {
            self.session.note_tick(host);
            // The duration of a stepped tick includes the person's thinking time, and the program may
            // sleep between two ticks.
            if !self.session.was_stepped {
                self.session.note_tick_time(host.schedule().last_run_took());
            }
        }
        let mut wait = Duration::ZERO;
        loop {
            if !self.answer_wishes(host, wait) {
                return;
            }
            let now = Instant::now();
            // Requested ticks are left to the program, which does more in its loop than tick.
            while self.session.steps.systems > 0 && now.elapsed() < SLICE {
                self.session.steps.systems -= 1;
                self.session.step(host);
            }
            self.answer_waiting(host);
            let elapsed = now - self.before;
            self.before = now;
            if self.session.takes_tick(elapsed) {
                self.is_in_tick = true;
                self.session.was_stepped = host.schedule().is_stepping();
                return;
            }
            wait = self.session.next_tick_in().unwrap_or(FRAME_WAIT);
        }
    }

    /// Runs a world and answers the page until it is stopped or `is_over` returns true.
    pub fn run(mut self, host: &mut dyn Host, is_over: impl Fn() -> bool) {
        self.session.take_speed_of(host);
        while !is_over() {
            // The next tick may be seconds away, and `is_over` must be polled meanwhile.
            let wait = self.session.next_tick_in().map_or(FRAME_WAIT, |next| next.min(FRAME_WAIT));
            if !self.answer_wishes(host, wait) {
                return;
            }
            let (start, ticks) = (Instant::now(), self.session.ticks());
            self.session.live(host, start - self.before, || is_over() || start.elapsed() >= SLICE);
            self.before = start;
            let lived = u32::try_from(self.session.ticks() - ticks).unwrap_or(u32::MAX);
            // The duration of a stepped tick includes the person's thinking time.
            if lived > 0 && !self.session.was_stepped {
                self.session.note_tick_time(start.elapsed() / lived);
            }
            self.answer_waiting(host);
        }
    }

    /// Waits up to `wait` for requests and answers them. Returns `false` if the loop must end.
    fn answer_wishes(&mut self, host: &mut dyn Host, wait: Duration) -> bool {
        let start = Instant::now();
        let until = self.waiting.frames.iter().map(|it| it.until.saturating_duration_since(start));
        let wait = until.min().map_or(wait, |until| until.min(wait));
        let mut next = match wait.is_zero() {
            true => self.wishes.try_recv().ok(),
            false => self.wishes.recv_timeout(wait).ok(),
        };
        while let Some(wish) = next {
            match wish {
                Wish::Stop => return false,
                Wish::Frame(wish) => self.waiting.frames.push(wish),
                Wish::Answer(request, reply) => {
                    self.link.set_doing(&request.path);
                    let answer = self.session.answer(host, &borrowed(&request));
                    self.link.set_doing("");
                    match answer.status == 200 && TAKES_STEPS.contains(&&*request.path) {
                        true => self.waiting.steps.push(reply),
                        // The client may have disconnected meanwhile.
                        false => drop(reply.send(answer)),
                    }
                }
            }
            next = if start.elapsed() < wait + SLICE { self.wishes.try_recv().ok() } else { None };
        }
        true
    }

    /// Sends frames to viewers for whom there is a new one, nothing to those whose wait is over, and the
    /// state to those whose steps are taken.
    fn answer_waiting(&mut self, host: &dyn Host) {
        let (now, session) = (Instant::now(), &mut self.session);
        self.waiting.frames.retain(|wish| {
            let is_new = wish.seen != session.version();
            let frame = is_new.then(|| session.frame(host, wish.with_paths, wish.chosen));
            let is_due = is_new || wish.until <= now;
            if is_due {
                drop(wish.reply.send(frame));
            }
            !is_due
        });
        if !session.steps.are_due() && !self.waiting.steps.is_empty() {
            let state = session.state(host);
            self.waiting.steps.drain(..).for_each(|reply| drop(reply.send(state.clone())));
        }
    }
}

fn borrowed(request: &HttpRequest) -> Request<'_> {
    Request {
        is_post: request.method == "POST",
        path: &request.path,
        query: &request.query,
        body: &request.body,
    }
}

/// A world and its schedule, of a program that has its own loop.
pub(super) struct Attached<'a> {
    pub(super) world: &'a mut World,
    schedule: &'a mut Schedule,
    pool: &'a Pool,
}

impl Host for Attached<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn world_mut(&mut self) -> &mut World {
        self.world
    }

    fn schedule(&self) -> &Schedule {
        self.schedule
    }

    fn threads(&self) -> usize {
        self.schedule.last_run().iter().map(|span| span.thread + 1).max().unwrap_or(1)
    }

    fn tick(&mut self) {
        self.schedule.run(self.world, self.pool);
    }

    fn step(&mut self) -> Step {
        self.schedule.step(self.world, self.pool).step
    }

    fn save(&self) -> Result<Save, String> {
        Save::of(self.world, self.schedule).map_err(|error| error.to_string())
    }

    fn load(&mut self, save: &Save) -> Result<(), String> {
        save.load(self.world, self.schedule).map(drop).map_err(|error| error.to_string())
    }

    fn view(&self) -> &dyn View {
        self
    }

    fn view_mut(&mut self) -> &mut dyn View {
        self
    }
}

// With `nav`, the view is the map of the terrain.
#[cfg(not(feature = "nav"))]
impl View for Attached<'_> {}
