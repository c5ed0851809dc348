//! The address of the page.

use super::*;

#[test]
fn an_address_of_other_machines_is_refused() {
    let error = Inspector::bind("0.0.0.0:0").expect_err("it would be open to all");
    assert!(error.to_string().contains("this machine alone"), "{error}");
}

#[test]
fn every_address_of_this_machine_that_is_bound_serves_the_page() {
    for address in ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"] {
        // Some machines have no IPv6, and some have one address of their own alone.
        let Ok(inspector) = Inspector::bind(address) else { continue };
        let host = inspector.address();
        let page = raw(host, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert_eq!(page.expect("an answer").0, 200, "{host}");
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let first = Inspector::bind("127.0.0.1:0").expect("some port is free");
    let error = Inspector::bind(first.address()).expect_err("it is taken");
    assert!(error.to_string().starts_with(&first.address().to_string()), "{error}");
}

/// Ends the example if the test fails before it is done with it.
struct Example(std::process::Child);

impl Drop for Example {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn the_example_serves_its_page() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/inspect.rs");
    let source = std::fs::read_to_string(source).expect("it is there");
    let lines = source.lines().filter(|line| line.contains("inspector"));
    assert_eq!(lines.count(), 3, "three lines attach the inspector");

    let own = std::env::current_exe().expect("the test has a path");
    let example = own.ancestors().nth(2).expect("two folders").join("examples/inspect");
    if !example.is_file() {
        eprintln!("SKIPPED the example: it was not built with this test");
        return;
    }
    let child = std::process::Command::new(example)
        .arg("127.0.0.1:0")
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = Example(child.expect("it starts"));
    let mut line = String::new();
    let out = child.0.stdout.as_mut().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    let address = line.strip_prefix("http://").and_then(|it| it.split('/').next());
    let address: SocketAddr = address.and_then(|it| it.parse().ok()).expect("an address");
    let (status, page) =
        raw(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a page");
    assert!(status == 200 && page.starts_with(b"<!doctype html>"));
    assert_eq!(listed(address, "Asleep").len(), 20);
}
