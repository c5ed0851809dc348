//! The header is that of the sources, and programs in C and C++ that use it pass under the address
//! sanitizer.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("FORMIC_C_VERSION");

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// `UPDATE_HEADER=1 cargo test` writes it.
#[test]
fn the_header_is_made_from_the_sources() {
    let config = cbindgen::Config::from_file(folder("cbindgen.toml")).expect("a configuration");
    let made = cbindgen::Builder::new().with_crate(folder("")).with_config(config).generate();
    let mut header = Vec::new();
    made.expect("the sources can be read").write(&mut header);
    let header = String::from_utf8(header).expect("text");
    let path = folder("include/formic.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &header).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == header, "include/formic.h is out of date: UPDATE_HEADER=1 cargo test");
}

/// Compiles a program and runs it; `None` where there is no such compiler.
fn run(compiler: &str, options: &[&str], sources: &[&str], name: &str) -> Option<String> {
    if Command::new(compiler).arg("--version").output().is_err() {
        println!("SKIPPED: there is no {compiler}");
        return None;
    }
    let libraries =
        env::current_exe().expect("this program").parent().expect("its folder").to_owned();
    let program = libraries.join(name);
    let named = libraries.join(format!("libformic.so.{VERSION}"));
    if fs::symlink_metadata(&named).is_err() {
        // Another test may have been faster.
        _ = std::os::unix::fs::symlink("libformic.so", &named);
    }
    let built = Command::new(compiler)
        .args(options)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address"])
        .arg("-I")
        .arg(folder("include"))
        .args(sources.iter().map(|source| folder(source)))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .args(["-lformic", "-lm"])
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .output()
        .expect("the compiler runs");
    assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
    let done = Command::new(&program).output().expect("the program runs");
    let (said, complained) = (done.stdout, String::from_utf8_lossy(&done.stderr).into_owned());
    assert!(done.status.success(), "{name}: {:?}\n{complained}", done.status);
    Some(String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn worlds_queries_and_paths_work_from_c() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/worlds.c"], "worlds-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn bad_handles_arguments_and_bytes_are_errors_in_c() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/errors.c"], "errors-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

/// `attack-c FIRST SEEDS STEPS` makes more of them.
#[test]
fn calls_drawn_by_lot_end_with_a_status_and_leave_worlds_whole() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/attack.c"], "attack-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn a_world_is_freed_or_leased_and_never_both() {
    if let Some(said) = run("gcc", &["-std=c11", "-pthread"], &["tests/threads.c"], "threads-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn functions_in_c_are_systems_with_one_result_on_any_threads() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/systems.c"], "systems-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn values_with_an_end_masks_relations_and_the_log_work_from_c() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/values.c"], "values-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn minds_paths_saves_and_lent_threads_work_from_c() {
    if let Some(said) = run("gcc", &["-std=c11", "-pthread"], &["tests/games.c"], "games-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn all_memory_comes_from_the_host_if_it_says_so() {
    if let Some(said) = run("gcc", &["-std=c11"], &["tests/memory.c"], "memory-c") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

/// Every function of the header is a symbol of the library, with the version, and there are no others.
#[test]
fn the_symbols_are_those_of_the_header_with_a_version() {
    let library = env::current_exe().expect("this program").with_file_name("libformic.so");
    let read = Command::new("readelf").args(["--dyn-syms", "-W"]).arg(&library).output();
    let (Ok(read), true) = (read, Command::new("ld.bfd").arg("--version").output().is_ok()) else {
        println!("SKIPPED: there is no readelf or no ld.bfd");
        return;
    };
    let read = String::from_utf8_lossy(&read.stdout).into_owned();
    let defined = read.lines().filter(|line| !line.contains(" UND ") && line.contains(" GLOBAL "));
    let mut symbols: Vec<&str> =
        defined.filter_map(|line| line.split_whitespace().last()).collect();
    symbols.retain(|name| name.starts_with("fm_"));
    let header = fs::read_to_string(folder("include/formic.h")).expect("the header");
    let calls = header.lines().filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.split([' ', '*']).next_back()?;
        (name.starts_with("fm_") && !line.starts_with([' ', '/', '*'])).then_some(name)
    });
    let mut calls: Vec<String> =
        calls.map(|name| format!("{name}@@libformic.so.{VERSION}")).collect();
    symbols.sort_unstable();
    calls.sort_unstable();
    assert!(calls.len() > 40, "{calls:?}");
    assert_eq!(symbols, calls);
}

#[test]
fn the_header_of_cpp_frees_what_it_holds() {
    if let Some(said) = run("g++", &["-std=c++17"], &["tests/columns.cpp"], "columns-cpp") {
        assert!(said.ends_with("ok\n"), "{said}");
    }
}

#[test]
fn the_crowd_in_c_has_one_hash() {
    let Some(said) = run("gcc", &["-std=c11"], &["examples/crowd.c"], "crowd-c") else { return };
    assert!(said.contains("10000 agents, 100 ticks"), "{said}");
    let again = run("gcc", &["-std=c11"], &["examples/crowd.c"], "crowd-c-again");
    assert_eq!(again.as_ref(), Some(&said));
}

/// The C# of Debian's mono, by P/Invoke.
#[test]
fn the_crowd_in_c_sharp_ends_as_the_one_in_c() {
    let libraries =
        env::current_exe().expect("this program").parent().expect("its folder").to_owned();
    let program = libraries.join("crowd.exe");
    let built = Command::new("mcs")
        .args(["-unsafe", "-warnaserror"])
        .arg(format!("-out:{}", program.display()))
        .arg(folder("examples/Crowd.cs"))
        .output();
    let (Ok(built), Some(said)) =
        (built, run("gcc", &["-std=c11"], &["examples/crowd.c"], "crowd-c-first"))
    else {
        println!("SKIPPED: there is no mcs or no gcc");
        return;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let done = Command::new("mono").arg(&program).env("LD_LIBRARY_PATH", &libraries).output();
    let done = done.expect("mono runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), said);
}
