//! The program without a load engine: it carries out trials, and refuses loads.

use serde_json::{json, Value};
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn answer(request: &Value) -> Output {
    let mut probe = Command::new(env!("CARGO_BIN_EXE_ringside-probe-trial"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = probe.stdin.take().unwrap();
    writeln!(stdin, "{request}").unwrap();
    drop(stdin);
    probe.wait_with_output().unwrap()
}

#[test]
fn trials_are_carried_out_and_loads_refused() {
    let mut trial = json!({"version": 1, "argv": ["/bin/true"], "cwd": "/", "env": {}, "limits":
        {"wall_s": 60, "memory_bytes": 1u64 << 30, "output_bytes": 1, "processes": 9}});
    let output = answer(&trial);
    let text = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["outcome"]), (&json!("outcome"), &json!("ok")));
    trial["service"] = json!({"ready_s": 1, "idle_s": 0, "stub": {"upstreams": []}});
    let load = json!({"version": 1, "load": {"protocol": "http"}});
    for request in [trial, load] {
        let output = answer(&request);
        let why = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(why.contains("trials without loads"), "{why}");
    }
}
