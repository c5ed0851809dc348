//! Gives the shared library its name and its symbols a version: `fm_world_new@@libformic.so.2`.

use std::env;
use std::process::Command;

/// FM_VERSION.
const VERSION: u32 = 2;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=FORMIC_C_VERSION={VERSION}");
    let target = |what: &str| env::var(what).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") != "linux" || target("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libformic.so.{VERSION}");
    // Rust's own linker knows no versions that go by the name of the library.
    if Command::new("ld.bfd").arg("--version").output().is_ok_and(|it| it.status.success()) {
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    } else {
        println!("cargo::warning=there is no ld.bfd: the symbols of libformic.so get no versions");
    }
}
