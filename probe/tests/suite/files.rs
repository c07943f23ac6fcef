//! Files that programs leave in their temporary folder are removed with the trial, however it ends.

use crate::common::*;
use rustix::process::Signal;
use serde_json::{json, Value};
use std::path::Path;

const WRITES: &str = "mkdir $TMPDIR/a; echo x > $TMPDIR/a/file; ";

fn in_folder(script: &str, folder: &Path) -> [Value; 2] {
    let script = format!("{WRITES}{script}");
    let request = with(sh(&script), "/env/TMPDIR", json!(folder));
    let request = with(request, "/temporary", json!(true));
    ["auto", "off"].map(|namespaces| with(request.clone(), "/namespaces", json!(namespaces)))
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Starts a probe and waits until its program has written.
fn writing(
    request: &Value,
    folder: &Path,
) -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>) {
    let mut probe = start(request);
    let reader = reader(&mut probe);
    let has_file = || {
        let file = entries(folder).pop().map(|own| own.join("a/file"));
        file.is_some_and(|file| file.exists())
    };
    eventually("no file", has_file);
    (probe, reader)
}

#[test]
fn they_are_counted_and_removed() {
    let folder = Folder::new();
    for (script, outcome) in [("exit 0", "ok"), ("exit 3", "crashed")] {
        for request in in_folder(script, folder.path()) {
            let trial = run(&request);
            trial.is(outcome, "");
            assert_eq!(trial.outcome["left_files"], 2);
            assert!(entries(folder.path()).is_empty());
        }
    }
    for request in in_folder("rm -r $TMPDIR/a", folder.path()) {
        let trial = run(&request);
        trial.is("ok", "");
        assert_eq!(trial.outcome["left_files"], 0);
        assert!(entries(folder.path()).is_empty());
    }
}

#[test]
fn a_probe_that_is_told_to_end() {
    let folder = Folder::new();
    for request in in_folder("sleep 500", folder.path()) {
        let (probe, _reader) = writing(&request, folder.path());
        signal(probe.id(), Signal::INT);
        assert_eq!(probe.wait_with_output().unwrap().status.code(), Some(0));
        assert!(entries(folder.path()).is_empty());
    }
}

#[test]
fn a_reader_that_goes_away() {
    let folder = Folder::new();
    for request in in_folder("sleep 500", folder.path()) {
        let (probe, reader) = writing(&request, folder.path());
        drop(reader);
        assert_eq!(probe.wait_with_output().unwrap().status.code(), Some(1));
        assert!(entries(folder.path()).is_empty());
    }
}

#[test]
fn the_folder_of_a_killed_probe_is_swept() {
    let sweep = |folder: &Path| {
        let probe = std::process::Command::new(PROBE).arg("--sweep").arg(folder).output();
        probe.unwrap().status.code()
    };
    let folder = Folder::new();
    for request in in_folder("exec sleep 500", folder.path()) {
        let (probe, _reader) = writing(&request, folder.path());
        assert_eq!(sweep(folder.path()), Some(0));
        assert_eq!(entries(folder.path()).len(), 1, "it is in use");
        signal(probe.id(), Signal::KILL);
        probe.wait_with_output().unwrap();
        eventually("it is alive", || alive(&request).is_empty());
        assert_eq!(entries(folder.path()).len(), 1);
        assert_eq!(sweep(folder.path()), Some(0));
        assert!(entries(folder.path()).is_empty());
    }
    assert_eq!(sweep(&folder.path().join("nowhere")), Some(2));
}
