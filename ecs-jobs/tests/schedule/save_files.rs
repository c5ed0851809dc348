//! Saves as files: one that cannot be written, or is cut off by a crash, leaves the old one.
#![cfg(not(miri))]

use formic_jobs::Save;

use crate::save::{Gold, Seen, begin};

/// Files under this name, in a folder of its own that is empty.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("saves").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a folder for tests");
    folder
}

/// The names of the files in a folder, in order.
fn files(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(|it| name(it).into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Two games, the second of which is large.
fn two_saves() -> [Save; 2] {
    let (mut world, schedule) = begin();
    let old = Save::of(&world, &schedule).unwrap();
    world.spawn_batch((0..20_000).map(|number| (Gold(number), Seen(0))));
    [old, Save::of(&world, &schedule).unwrap()]
}

#[test]
fn a_save_that_cannot_be_written_leaves_the_old_one_and_nothing_else() {
    let folder = folder("cannot_be_written");
    let [old, new] = two_saves();
    let path = folder.join("game.save");
    let error = Save::read(&path).unwrap_err();
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    // What a crash has left there before is written over.
    std::fs::write(folder.join("game.save.new"), b"half a save").unwrap();
    old.write(&path).unwrap();
    assert_eq!(
        (files(&folder), Save::read(&path).unwrap()),
        (vec!["game.save".into()], old.clone())
    );

    // The name of the new file is taken by a folder.
    std::fs::create_dir(folder.join("game.save.new")).unwrap();
    new.write(&path).expect_err("no file can have this name");
    assert_eq!(Save::read(&path).unwrap(), old);
    std::fs::remove_dir(folder.join("game.save.new")).unwrap();
    // The target is a folder, which stays; the new file was written whole by then.
    let inside = folder.join("level").join("other.save");
    std::fs::create_dir(folder.join("level")).unwrap();
    old.write(&inside).unwrap();
    new.write(folder.join("level")).expect_err("a folder is no file");
    assert_eq!(Save::read(&inside).unwrap(), old);
    // The folder is gone.
    new.write(folder.join("gone").join("game.save")).expect_err("there is no such folder");
    assert_eq!(files(&folder), ["game.save", "level"], "nothing is left of what failed");
    new.write(&path).unwrap();
    assert_eq!((files(&folder).len(), Save::read(&path).unwrap()), (2, new));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced_by_a_save() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder("no_file");
    let (socket, link) = (folder.join("socket"), folder.join("link"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    for path in [&socket, &link] {
        let error = two_saves()[0].write(path).expect_err("it is no file");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(std::fs::metadata(path).unwrap().file_type().is_socket());
    }
    assert_eq!(files(&folder), ["link", "socket"]);
}

/// Ends a process in the middle of the writing, and in another has the system refuse to write more,
/// as on a full disk.
#[cfg(unix)]
#[test]
fn no_crash_in_the_middle_of_writing_leaves_half_a_save() {
    const PATH: &str = "FORMIC_TEST_WRITES_A_SAVE";
    const NAME: &str = "save_files::no_crash_in_the_middle_of_writing_leaves_half_a_save";
    let [old, new] = two_saves();
    if let Some(path) = std::env::var_os(PATH) {
        // In the process that is limited.
        let error = new.write(path).expect_err("the file may not become so large");
        assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
        return;
    }
    for (name, on_limit) in [("ends", ""), ("refuses", "trap '' XFSZ;")] {
        let folder = folder(name);
        let path = folder.join("game.save");
        old.write(&path).unwrap();
        let script = format!("{on_limit} ulimit -f 32; exec \"$0\" --exact {NAME}");
        let mut process = std::process::Command::new("sh");
        process.args(["-c", &script]).arg(std::env::current_exe().unwrap()).env(PATH, &path);
        let ended = process.output().expect("a shell");
        assert_eq!(Save::read(&path).unwrap(), old, "{name}");
        if on_limit.is_empty() {
            assert_eq!(ended.status.code(), None, "it was killed: {ended:?}");
            let half = std::fs::read(folder.join("game.save.new")).unwrap();
            assert!(!half.is_empty() && half.len() < new.to_bytes().len(), "{}", half.len());
        } else {
            assert!(ended.status.success(), "{ended:?}");
            assert_eq!(files(&folder), ["game.save"], "half a file is taken away");
        }
        new.write(&path).unwrap();
        assert_eq!((files(&folder).len(), Save::read(&path).unwrap()), (1, new.clone()));
    }
}
