//! The `demos` binary: hands its arguments to the library and leaves with the
//! exit code that comes back.

use std::process::ExitCode;

fn main() -> ExitCode {
    formic_demos::shell::main_with(std::env::args_os())
}
