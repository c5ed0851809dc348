//! The program of the README, and the reason that it prints.

use std::cell::RefCell;

thread_local!(static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) });

/// Keeps what the program prints.
macro_rules! println {
    ($($text:tt)*) => {
        let line = format!($($text)*);
        super::PRINTED.with_borrow_mut(|lines| lines.push(line));
    };
}

/// Code, and the same as a text.
macro_rules! program {
    ($($code:tt)*) => {
        pub(super) const CODE: &str = stringify!($($code)*);
        $($code)*
        pub(super) const MAIN: fn() -> Result<(), Box<dyn std::error::Error>> = main;
    };
}

#[expect(elided_lifetimes_in_paths, reason = "it is as a reader would write it")]
mod program {
    program! {
        use formic::prelude::*;

        #[derive(Component)]
        struct Needs { hunger: f32, tiredness: f32 }
        #[derive(Component, Clone)]
        struct Pastime;

        fn main() -> Result<(), Box<dyn std::error::Error>> {
            let actions = ActionSet::new().action("eat", Pastime).action("sleep", Pastime);
            let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
            let cats = Reasoner::new().option("eat", Utility::of(hunger, Curve::exponential(2.0)));
            let cats = cats.option("sleep", Utility::of(tiredness, Curve::linear(1.0, 0.0))).bind(&actions)?;
            let mut world = World::new();
            let cat = actions.spawn(&mut world, Needs { hunger: 0.9, tiredness: 0.44 })?;
            UtilityAgent::drive(&mut world, cat, &cats, 1)?;
            world.insert_resource(DecisionLog::watching(cat, "Cat", 16));
            let think = move |mut minds: UtilityAgents<&Needs>| minds.decide(&cats, |it| [it.hunger, it.tiredness]);
            let mut schedule = formic::ai::action::add(Schedule::builder()).add(think.as_mind()).build(&mut world)?;
            schedule.run(&mut world, &Pool::new(Threads::all_cores())?);
            println!("{}", formic::why(&world, cat)[0]);
            Ok(())
        }
    }
}

#[test]
fn the_program_of_the_readme_prints_what_stands_below_it() {
    let readme = include_str!("../../../README.md");
    let block = |kind: &str| {
        let from = readme.split_once(&format!("```{kind}\n")).expect("there is one").1;
        from.split_once("```").expect("it ends").0
    };
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(
        letters(program::CODE),
        letters(block("rust")),
        "the program here is that of the README"
    );
    program::MAIN().expect("it runs");
    let printed = PRINTED.with_borrow(|lines| lines.join("\n"));
    assert_eq!(printed, block("text").trim_end());
}
