//! Whatever a program does to survive, none of its processes is alive after its trial; `run` checks that.

use crate::common::*;
use rustix::process::Signal;
use serde_json::{json, Value};

fn short(request: Value) -> [Value; 2] {
    both_ways(with(request, "/limits/wall_s", json!(1.0)))
}

#[test]
fn a_program_that_hangs() {
    for request in short(request(&["sleep", "500"])) {
        let trial = run(&request);
        trial.is("timed-out", "1 s");
        assert_eq!(trial.outcome["signal"], 9);
        assert_eq!(trial.outcome["left_behind"], 0);
        assert!(trial.outcome["samples"].as_u64().unwrap() > 1);
        assert!(trial.outcome["wall_ns"].as_u64().unwrap() >= 1_000_000_000);
    }
}

#[test]
fn a_program_that_ignores_signals() {
    for request in short(sh("trap '' TERM INT HUP QUIT; sleep 500 & sleep 500; sleep 500")) {
        run(&request).is("timed-out", "");
    }
}

#[test]
fn a_program_that_stops_itself() {
    for request in short(sh("sleep 500 & kill -STOP $! $$")) {
        run(&request).is("timed-out", "");
    }
}

#[test]
fn daemons() {
    for way in ["plain", "subreaper", "leave-cgroup"] {
        for request in both_ways(python("daemon.py", &[way])) {
            let trial = run(&request);
            trial.is("ok", "");
            assert_eq!(trial.outcome["left_behind"], 1, "{way}: {:#}", trial.outcome);
        }
    }
}

#[test]
fn daemons_that_run_away() {
    for way in ["runaway", "runaway-apart"] {
        for request in both_ways(python("daemon.py", &[way])) {
            let trial = run(&request);
            assert!(trial.outcome["left_behind"].as_u64().unwrap() > 0);
            // The machine decides how much it does before it is killed; too much counts against the program.
            match trial.outcome["outcome"].as_str() {
                Some("ok") => {}
                _ => trial.is("wrong-evidence", "they worked after that"),
            }
        }
    }
}

#[test]
fn fork_bombs() {
    for arguments in [&[][..], &["apart"]] {
        for request in both_ways(python("bomb.py", arguments)) {
            let trial = run(&with(request, "/limits/processes", json!(150)));
            trial.is("flooded", "processes, the limit is 150");
        }
    }
}

/// For a plain command all that are alive at its end count; for others those that do not follow it.
#[test]
fn processes_that_outlive_the_program_are_counted() {
    for (plain, count) in [(false, 1), (true, 2)] {
        for request in both_ways(sh("sleep 0.1 & sleep 500 & exit 0")) {
            let trial = run(&with(request, "/plain", json!(plain)));
            trial.is("ok", "");
            assert_eq!(trial.outcome["left_behind"], count, "{}", trial.outcome);
        }
    }
    for request in both_ways(sh("for _ in 1 2 3 4 5 6; do sleep 500 & done; wait")) {
        let trial = run(&with(request, "/limits/processes", json!(3)));
        let detail = trial.outcome["detail"].as_str().unwrap();
        let processes: u64 = detail.split(' ').next().unwrap().parse().unwrap();
        trial.is("flooded", "the limit is 3");
        // All but the program.
        assert_eq!(trial.outcome["left_behind"], processes - 1);
    }
}

/// The probe takes precedence while it kills what is left; the next program does not inherit that.
#[test]
fn the_priority_of_the_next_program() {
    let nice = std::process::Command::new("nice").output().unwrap().stdout;
    let own = String::from_utf8(nice).unwrap();
    let check = format!("[ $(nice) = {} ] || exit 3", own.trim());
    let requests = [sh("sleep 500 & exit 0"), sh(&check)];
    for plain in [false, true] {
        let requests = requests.clone().map(|request| with(request, "/plain", json!(plain)));
        for outcome in in_one_probe(&requests) {
            assert_eq!(outcome["outcome"], "ok", "{outcome}");
        }
    }
}

#[test]
fn a_program_that_takes_too_much_memory() {
    let limit = 100u64 << 20;
    for request in both_ways(python("hog.py", &["1000"])) {
        let trial = run(&with(request, "/limits/memory_bytes", json!(limit)));
        trial.is("out-of-memory", "");
        assert!(trial.outcome["peak_pss_bytes"].as_u64().unwrap() > limit);
    }
}

#[test]
fn a_program_that_prints_too_much() {
    for script in ["exec yes", "exec yes >&2", "yes & yes >&2"] {
        for request in both_ways(sh(script)) {
            let trial = run(&with(request, "/limits/output_bytes", json!(10 << 20)));
            trial.is("flooded", "bytes of output");
        }
    }
}

/// Starts a probe and gives it back when the program runs.
fn started(request: &Value) -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>) {
    let mut probe = start(request);
    let mut reader = reader(&mut probe);
    assert_eq!(answer(&mut reader)["type"], "started");
    (probe, reader)
}

#[test]
fn a_probe_that_is_told_to_end() {
    for (number, name) in [(Signal::TERM, "SIGTERM"), (Signal::INT, "SIGINT")] {
        for request in both_ways(sh("sleep 500 & sleep 500")) {
            let (probe, mut reader) = started(&request);
            signal(probe.id(), number);
            let mut last = Value::Null;
            while last["type"] != "outcome" {
                last = answer(&mut reader);
            }
            assert_eq!((&last["outcome"], &last["detail"]), (&json!("interrupted"), &json!(name)));
            assert_eq!(probe.wait_with_output().unwrap().status.code(), Some(0));
            nothing_alive(&request);
        }
    }
}

#[test]
fn a_reader_that_goes_away() {
    let requests = both_ways(sh("sleep 500 & sleep 500"));
    // Without namespaces nothing ends automatically with the probe.
    let outside = requests.clone().map(|request| with(request, "/namespaces", json!("off")));
    for request in requests.into_iter().chain(outside) {
        let (probe, reader) = started(&request);
        drop(reader);
        let output = probe.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        nothing_alive(&request);
    }
}

#[test]
fn a_parent_that_dies() {
    for request in both_ways(sh("sleep 500 & sleep 500")) {
        let folder = Folder::new();
        let answers = folder.path().join("answers");
        let file = std::fs::File::create(&answers).unwrap();
        let text = request.to_string();
        let mut parent = std::process::Command::new("sh")
            .args(["-c", "printf '%s\\n' \"$2\" | \"$1\" & wait", "sh", PROBE, &text])
            .stdout(file)
            .spawn()
            .unwrap();
        let told = || std::fs::read_to_string(&answers).unwrap();
        eventually("it starts", || told().contains("\"started\"") && alive(&request).len() == 3);
        parent.kill().unwrap();
        parent.wait().unwrap();
        eventually("it is interrupted", || told().contains("\"interrupted\""));
        eventually("nothing is alive", || alive(&request).is_empty());
    }
}

#[test]
fn a_probe_that_is_killed() {
    for namespaces in ["auto", "off"] {
        let request = with(request(&["sleep", "500"]), "/namespaces", json!(namespaces));
        let (mut probe, _reader) = started(&request);
        probe.kill().unwrap();
        probe.wait().unwrap();
        eventually("the program is alive", || alive(&request).is_empty());
    }
}
