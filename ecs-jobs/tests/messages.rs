//! The compiler names the argument that does not fit, and says what would.
#![cfg(not(any(miri, loom, shuttle)))]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A library that this test was linked with, or one that was built later: of the same source.
fn library(of: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let files = fs::read_dir(test.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&format!("lib{of}-")) && name.ends_with(".rlib")
    };
    let modified = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    files.filter(is_ours).max_by_key(modified).expect("cargo puts both in one folder")
}

/// What the compiler says of a program that begins with this.
fn errors(name: &str, program: &str) -> String {
    let library = library("formic_jobs");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("{name}.rs"));
    let head = "#![allow(unused)] use formic_jobs::prelude::*; use formic_jobs::ScheduleBuilder;\n";
    fs::write(&source, format!("{head}{program}")).unwrap();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"])
        .arg(&folder)
        .arg("-L")
        .arg(format!("dependency={}", library.parent().unwrap().display()))
        .arg("--extern")
        .arg(format!("formic_jobs={}", library.display()))
        .arg("--extern")
        .arg(format!("formic_ecs={}", self::library("formic_ecs").display()))
        .arg(source)
        .output()
        .expect("cargo runs the same compiler");
    String::from_utf8(output.stderr).unwrap()
}

fn check(name: &str, program: &str, expected: &[&str]) {
    let errors = errors(name, program);
    assert!(errors.matches("error[").count() == 1, "{name}: not one error:\n{errors}");
    for text in expected {
        assert!(errors.contains(text), "{name}: no word of {text:?} in:\n{errors}");
    }
}

const ADD: &str = "fn t(b: ScheduleBuilder) { _ = b.add(s); }";

#[test]
fn a_program_in_order_compiles() {
    let program = "fn s(a: Res<u32>, mut b: Local<u32>, c: &Pool) {}
        fn e(w: &mut World, a: Local<u32>, c: &Pool) {}
        fn lookup<'a, T: Component>(a: ExclusiveLookup<&'a mut T>, b: ComponentLookup<&T>) {}
        fn c(a: Res<u32>) -> bool { true }
        fn t<T: Component>(b: ScheduleBuilder) {
            _ = b.add((s, e.run_if(c), |a: Res<u32>| ())).add(lookup::<T>);
        }";
    assert_eq!(errors("in_order", program), "");
}

#[test]
fn an_argument_that_is_no_parameter_is_named_with_what_it_may_be() {
    let resource =
        "use `Res<f32>` or `ResMut<f32>` for a resource, `Local<f32>` for state of the system";
    let named = ["error[E0277]: `f32` is not a system parameter", resource];
    check("value", &format!("fn s(a: Res<u32>, b: f32) {{}} {ADD}"), &named);
    let by_value = "parameters are taken by value: `mut all: Query<..>` in place of";
    check(
        "borrowed",
        &format!("fn s(a: &mut Query<Entity>) {{}} {ADD}"),
        &["is not a system parameter", by_value],
    );
    let tuple = "fn a() {} fn s(b: f32) {} fn t(b: ScheduleBuilder) { _ = b.add((a, s)); }";
    check("tuple", tuple, &named);
    let condition = "fn c(b: f32) -> bool { true } fn s() {}
        fn t(b: ScheduleBuilder) { _ = b.add(s.run_if(c)); }";
    check("condition", condition, &named);
    let once = "fn s(b: f32) {} fn t(w: &mut World, p: &Pool) { w.run_system(p, s) }";
    check("once", once, &named);
}

#[test]
fn a_world_that_does_not_come_first_and_what_stands_beside_one_are_named() {
    check(
        "second",
        &format!("fn s(a: Res<u32>, world: &mut World) {{}} {ADD}"),
        &[
            "World` is not a system parameter",
            "`&mut World` is the first argument of a system, or none",
        ],
    );
    check(
        "beside",
        &format!("fn s(world: &mut World, a: Res<u32>) {{}} {ADD}"),
        &["World, formic_jobs::Res", "beside `&mut World` a system has only `Local` and `&Pool`"],
    );
}

#[test]
fn what_parameters_are_about_is_named() {
    check(
        "not_send",
        &format!("struct Raw(std::sync::MutexGuard<'static, u32>); fn s(a: Res<Raw>) {{}} {ADD}"),
        &["within `Raw`", "cannot be sent between threads safely"],
    );
    check(
        "no_default",
        &format!("struct Count(u32); fn s(a: Local<Count>) {{}} {ADD}"),
        &["`Count: Default` is not satisfied"],
    );
    // The signature is an error of its own.
    let program = format!("struct Gold(u32); fn s(a: Query<&Gold>) {{}} {ADD}");
    let errors = errors("component", &program);
    assert!(errors.contains("`Gold` is not a component"), "{errors}");
    assert!(errors.contains("add `#[derive(Component)]` to `Gold`"), "{errors}");
    assert!(!errors.contains("is not a system"), "{errors}");
}

#[test]
fn what_is_no_component_bundle_or_reader_is_one_error_that_says_what_to_do() {
    let ask = |name, call: &str, expected: &[&str]| {
        let program =
            format!("fn t<T: Component>(w: &mut World, one: T, e: Entity) {{ _ = {call}; }}");
        check(name, &format!("struct Gold(u32); {program}"), expected);
    };
    let derive = "add `#[derive(Component)]` to";
    ask("spawn", "w.spawn(Gold(1))", &["`Gold` is not a bundle", derive]);
    ask("insert", "w.insert(e, (one, Gold(1)))", &["`(T, Gold)` is not a bundle", derive]);
    ask("number", "w.spawn((one, 5_u32))", &["`(T, u32)` is not a bundle"]);
    ask("get", "w.get::<Gold>(e)", &["`Gold` is not a component", derive]);
    let writes = "may write, where only reading is allowed";
    ask("reader", "w.query_ref::<&mut T>()", &[writes, "ask for `&T` in place of `&mut T`"]);
    ask("reader_of_two", "w.query_ref::<(Entity, &mut T)>()", &[writes]);
}

#[test]
fn a_field_of_a_bundle_that_is_no_component_is_one_error() {
    let program = "struct Gold(u32); #[derive(Component)] struct Lamp;
        #[derive(Bundle)] struct Purse { lamp: Lamp, gold: Gold }";
    check("bundle", program, &["`Gold` is not a bundle", "add `#[derive(Component)]` to"]);
}

#[test]
fn a_field_of_a_row_that_is_no_component_is_one_error() {
    let program = "struct Gold(u32); #[derive(Component)] struct Lamp;
        #[derive(QueryData)] struct Row<'w> { lamp: &'w mut Lamp, gold: &'w Gold }";
    check("row", program, &["`Gold` is not a component", "add `#[derive(Component)]` to"]);
    let program = "#[derive(Component)] struct Lamp;
        #[derive(QueryData)] struct Row<'w> { lamp: &'w Lamp, gold: u32 }";
    check("row_of_a_number", program, &["`u32` cannot be asked for in a query"]);
}

#[test]
fn too_many_arguments_and_a_result_are_said_to_be_the_reason() {
    let arguments: String = (0..14).map(|number| format!("a{number}: Res<u32>,")).collect();
    check(
        "fourteen",
        &format!("fn s({arguments}) {{}} {ADD}"),
        &[
            "a system is a function of up to eight arguments that returns nothing",
            "more arguments go into a struct that derives `SystemParam`",
        ],
    );
    check(
        "result",
        &format!("fn s(a: Res<u32>) -> u32 {{ 1 }} {ADD}"),
        &["-> u32` is not the signature of a system", "a system returns nothing"],
    );
}
