//! A demo as the page looks at it: what it shows of it, and how it opens another.

use formic::inspect::{Answer, Host, Request, View};
use formic_ecs::World;
use formic_jobs::{Save, Schedule, Step};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::card::Demo;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::text::singular;

/// One running demo, and those that may be opened in its place.
pub struct Live {
    demos: &'static [&'static Demo],
    demo: &'static Demo,
    setup: Setup,
    simulation: Box<dyn Simulation>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("demo", &self.demo.name).finish_non_exhaustive()
    }
}

/// A demo to be opened; what is left out is as the demo likes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    demo: String,
    agents: Option<u32>,
    /// As text, or as a number where it has no more than 53 bits: JSON in a page has no more.
    seed: Option<Seed>,
    threads: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Seed {
    Number(u64),
    Text(String),
}

impl Live {
    /// Opens a demo, one of those that the page can choose from. It is at tick zero.
    ///
    /// # Errors
    /// Returns an error if the demo finds something wrong with its numbers.
    pub fn open(
        demos: &'static [&'static Demo],
        demo: &'static Demo,
        setup: Setup,
    ) -> Result<Self, Failure> {
        Ok(Self { demos, demo, setup, simulation: demo.open(&setup)? })
    }

    fn open_other(&mut self, open: &Open) -> Result<(), Answer> {
        let refused = |text: &str| Err(Answer::error(400, text));
        let Some(&demo) = self.demos.iter().find(|demo| demo.name == open.demo) else {
            return Err(Answer::error(404, &format!("there is no demo {}", open.demo)));
        };
        let agents = open.agents.unwrap_or(demo.agents_default);
        let threads = open.threads.unwrap_or(self.setup.threads);
        let seed = match &open.seed {
            None => Some(self.setup.seed),
            Some(Seed::Number(seed)) => Some(*seed),
            Some(Seed::Text(text)) => text.parse().ok(),
        };
        if !(1..=Setup::AGENTS_MAX).contains(&agents) {
            return refused("agents is a number from 1 to 2,000,000");
        }
        if !(1..=Setup::THREADS_MAX).contains(&threads) {
            return refused("threads is a number from 1 to 256");
        }
        let Some(seed) = seed else { return refused("seed is a whole number of 64 bits") };
        let setup = Setup { agents, seed, threads, ..self.setup };
        *self = Self::open(self.demos, demo, setup)
            .map_err(|failure| Answer::error(400, &failure.to_string()))?;
        Ok(())
    }
}

impl Host for Live {
    fn world(&self) -> &World {
        self.simulation.world()
    }

    fn world_mut(&mut self) -> &mut World {
        &mut self.simulation.engine_mut().world
    }

    fn schedule(&self) -> &Schedule {
        self.simulation.engine().schedule()
    }

    fn threads(&self) -> usize {
        self.setup.threads
    }

    fn tick(&mut self) {
        self.simulation.tick();
    }

    fn step(&mut self) -> Step {
        self.simulation.step()
    }

    fn view(&self) -> &dyn View {
        self.simulation.view()
    }

    fn view_mut(&mut self) -> &mut dyn View {
        self.simulation.view_mut()
    }

    fn describe(&self) -> Map<String, Value> {
        let counters = self.simulation.counters();
        let counters: Map<String, Value> =
            counters.iter().map(|it| (it.name.to_owned(), it.value.into())).collect();
        let described = json!({
            "demo": self.demo.name,
            "about": self.demo.about,
            "noun": self.demo.agents_noun,
            "agents": self.setup.agents,
            "seed": self.setup.seed.to_string(),
            "counters": counters,
            "summary": self.simulation.summary().lines(),
        });
        match described {
            Value::Object(entries) => entries,
            _ => Map::new(),
        }
    }

    fn state_hash(&self) -> u64 {
        self.simulation.state_hash().value()
    }

    fn noun(&self) -> &'static str {
        singular(self.demo.agents_noun)
    }

    fn check(&self) -> Result<(), String> {
        self.simulation.check()
    }

    fn save(&self) -> Result<Save, String> {
        self.simulation.save()
    }

    fn load(&mut self, save: &Save) -> Result<(), String> {
        self.simulation.load(save).map(drop)
    }

    fn answer(&mut self, request: &Request<'_>) -> Option<(Answer, bool)> {
        match (request.path, request.is_post) {
            ("/api/demos", false) => {
                let one = |demo: &&Demo| json!({ "name": demo.name, "about": demo.about });
                let demos: Vec<Value> = self.demos.iter().map(one).collect();
                Some((Answer::json(&json!({ "demos": demos })), false))
            }
            ("/api/picture", false) => Some((Answer::png(self.simulation.raster().png()), false)),
            ("/api/open", true) => {
                let mut is_other = false;
                let answer = request.reply(|open: Open| match self.open_other(&open) {
                    Ok(()) => {
                        is_other = true;
                        Answer::json(&Value::Object(self.describe()))
                    }
                    Err(answer) => answer,
                });
                Some((answer, is_other))
            }
            _ => None,
        }
    }
}
