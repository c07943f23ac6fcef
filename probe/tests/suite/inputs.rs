//! The input and output of programs that end without a signal: input files, the hash of their lines, spans,
//! CPUs.

use crate::common::*;
use serde_json::{json, Value};

fn expecting(script: &str, sha256: &str) -> Value {
    with(sh(script), "/expect", json!({"lines": {"total": 2, "sha256": sha256}}))
}

#[test]
fn lines_are_known_by_their_hash() {
    let hash =
        std::process::Command::new("sh").args(["-c", "printf 'a\\nb\\n' | sha256sum"]).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap()[..64].to_owned();
    run(&expecting("echo a; echo '::phase name=x ns=1'; echo b", &hash)).is("ok", "");
    let trial = run(&expecting("echo b; echo a", &hash));
    trial.is("wrong-evidence", &format!("expected '{hash}'"));
    // Not asked for: not looked at.
    run(&with(sh("echo b; echo a"), "/expect", json!({}))).is("ok", "");
}

#[test]
fn spans_and_cpus_are_told() {
    let trial = run(&sh("echo '::span unit=3 begin=5 end=9'"));
    trial.is("ok", "");
    let span = json!({"type": "span", "unit": 3, "begin_ns": 5, "end_ns": 9});
    assert_eq!(trial.of("span"), [&span]);
    let cpus = trial.outcome["cpus"].as_array().unwrap();
    assert!(!cpus.is_empty());
    assert!(cpus.iter().all(|one| one["busy_ns"].is_u64()));
    run(&sh("echo '::span unit=3 begin=9 end=5'")).is("wrong-evidence", "which is not before it");
    let pinned = run(&with(sh("sleep 0.3"), "/cpus", json!([0])));
    let cpus = pinned.outcome["cpus"].as_array().unwrap();
    assert_eq!(cpus.len(), 1);
    assert_eq!(cpus[0]["cpu"], 0);
}

#[test]
fn inputs_are_there_before_the_program() {
    let path = std::env::temp_dir().join(format!("ringside-suite-input-{}", std::process::id()));
    std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let path = path.to_str().unwrap();
    for cached in [true, false] {
        let inputs = json!([{"path": path, "cached": cached}]);
        let trial = run(&with(sh(&format!("wc -c < {path}")), "/inputs", inputs));
        trial.is("ok", "");
        assert_eq!(trial.outcome["stdout_tail"], "1048576\n");
    }
    std::fs::remove_file(path).unwrap();
    let gone = with(sh("true"), "/inputs", json!([{"path": path, "cached": true}]));
    let talk = refused(&format!("{gone}\n"));
    assert!(talk.contains("No such file") && talk.contains(path), "{talk}");
}
