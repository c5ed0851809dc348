//! Minds that are read again from their file while a crowd of others is at work.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use cpu_time::ThreadTime;
use formic_ai::fsm::{FsmAgent, Library, Machine, Machines};
use formic_ai::prelude::*;
use formic_ai::reload::MindFile;

use crate::harness::{Contender, Row};

const MINDS: usize = 1_000;
const CROWD: usize = 100_000;

pub(crate) fn rows() -> Vec<Row> {
    vec![Row::new(
        "reload: a tick in which 1,000 minds are read again, beside 100k agents",
        None,
        || vec![contender("formic", true), contender("the tick without", false)],
    )]
}

/// What is the crowd's load, and what the machine switches between.
#[derive(Component, Clone)]
struct Work(u32);

struct Working;

impl Processor for Working {
    type Action = Work;
    fn update(&self, _: Agent, work: &mut Work) -> ActionResult {
        work.0 = work.0.wrapping_add(1);
        ActionResult::Running
    }
}

fn work(mut actions: Actions<'_, Work>) {
    actions.process(&Working);
}

type Mind = MindFile<Machine<()>>;

fn think(mut machines: Machines<'_, ()>, file: Res<'_, Mind>) {
    machines.update(file.mind());
}

/// Both texts are of the same length, so that the file is written over.
fn text(is_long: bool) -> String {
    let state = |name: &str| format!("(name: \"{name}\", action: \"{name}\"),");
    let more: String = (0..20).map(|it| state(&format!("w{it}"))).collect();
    let more = if is_long { more } else { " ".repeat(more.len()) };
    format!(
        "(states: [{more}(name: \"rest\", action: \"rest\")], transitions: [(from: \"rest\", to: \"rest\", after: 7)])"
    )
}

struct Game {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agents: Vec<Entity>,
    path: PathBuf,
    file: File,
    is_long: bool,
}

impl Game {
    fn new(is_read_again: bool) -> Self {
        let path = std::env::temp_dir();
        let path = path.join(format!("minds-bench-{}-{is_read_again}.ron", std::process::id()));
        std::fs::write(&path, text(false))
            .expect("the folder for temporary files can be written to");
        let mut actions = ActionSet::new().action("rest", Work(0));
        for it in 0..20 {
            actions = actions.action(format!("w{it}"), Work(0));
        }
        let library = Library::<()>::new(&actions);
        let mind =
            Mind::load(&path, move |text| Machine::parse(text, &library)).expect("it is right");
        let mut world = World::new();
        let mut agents = Vec::new();
        for _ in 0..MINDS {
            let agent = actions.spawn(&mut world, ()).expect("it has actions");
            FsmAgent::drive(&mut world, agent, mind.mind()).expect("it has a body");
            agents.push(agent);
        }
        world.insert_resource(mind);
        let crowd = Sequence::new().then(Work(0));
        (0..CROWD).for_each(|_| _ = crowd.spawn(&mut world, ()).expect("it has actions"));
        let schedule = formic_ai::action::add(Schedule::builder())
            .add(think.as_mind())
            .add(work.as_action())
            .build(&mut world)
            .expect("it has no cycle");
        let pool = Pool::new(Threads::None).expect("no threads are asked for");
        let file = File::options().write(true).open(&path).expect("it was written");
        Self { world, schedule, pool, agents, path, file, is_long: false }
    }

    fn tick(&mut self) {
        drop(self.schedule.run(&mut self.world, &self.pool));
    }

    /// Writes the file anew, which is not part of the game.
    fn write(&mut self) {
        self.is_long = !self.is_long;
        let text = text(self.is_long);
        let written = self.file.rewind().and_then(|()| self.file.write_all(text.as_bytes()));
        written.expect("it was written before");
    }

    /// Reads the file.
    fn look(&mut self) {
        let file = self.world.resource_mut::<Mind>().expect("it was inserted");
        assert!(file.look(), "the file has changed");
    }

    /// Has the minds follow the file, which is read if it was not.
    fn read_again(&mut self) {
        assert!(Mind::reload(&mut self.world, &self.agents), "the file has changed");
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn contender(column: &'static str, is_read_again: bool) -> Contender {
    let mut game = Game::new(is_read_again);
    // A hundred ticks, ten times among which the file is read in one and followed in the next, in
    // processor time of the thread. A single tick is as long as the machine makes it, with or without a
    // file: so the ten of each kind have their median beside that of all, and the worst is said besides.
    let mut times = Vec::new();
    for tick in 0..105 {
        if is_read_again && tick % 10 == 5 {
            game.write();
        }
        let start = ThreadTime::now();
        match tick % 10 {
            5 if is_read_again => game.look(),
            6 if is_read_again => game.read_again(),
            _ => {}
        }
        game.tick();
        times.push(start.elapsed().as_secs_f64());
    }
    times.drain(..5);
    let all = median(times.iter().copied());
    let kind = |first: usize| median(times.iter().skip(first).step_by(10).copied()) / all;
    let worst = times.iter().copied().fold(0.0, f64::max) / all;
    let mut remark = format!("of a hundred ticks the worst took {worst:.2} times the median");
    if is_read_again {
        let (reads, follows) = (kind(0), kind(1));
        remark = format!(
            "the tick that reads the file took {reads:.2} times the median, the one that follows it \
             {follows:.2}; {remark}"
        );
    }
    let mut contender = Contender::new(column, 1, move || {
        if is_read_again {
            game.write();
            game.read_again();
        }
        game.tick();
    });
    contender.remark = remark;
    contender
}
