//! What contenders do to get better figures than their work deserves, or more of the machine than they were given.

use crate::common::*;
use serde_json::{json, Value};

fn python_of(script: &str) -> Value {
    request(&["/usr/bin/python3", "-S", "-E", "-c", script])
}

/// Ends at once with a status; a child then does `work`.
fn late(work: &str, status: i32) -> Value {
    python_of(&format!(
        "import os, time\n\
         if os.fork():\n\
         \x20   os._exit({status})\n\
         {work}"
    ))
}

const EVIDENCE: &str = "time.sleep(0.1); print('::phase name=a ns=1\\n::result a=1', flush=True)";
const COMPUTE: &str = "
end = time.process_time() + 0.2
while time.process_time() < end:
    pass";

#[test]
fn evidence_from_others_after_the_end() {
    for request in both_ways(late(EVIDENCE, 0)) {
        let request = with(request, "/expect", json!({"result": {"a": "1"}}));
        let trial = run(&request);
        trial.is(
            "wrong-evidence",
            "wrote to stdout after the program had ended",
        );
        assert_eq!(trial.outcome["result"], Value::Null);
        assert!(trial.of("phase").is_empty());
    }
    // What was written before the end counts, by whomever.
    let before = "import os\n\
        if os.fork():\n\
        \x20   os.wait()\n\
        else:\n\
        \x20   print('::result a=1', flush=True)\n";
    for request in both_ways(python_of(before)) {
        run(&with(request, "/expect", json!({"result": {"a": "1"}}))).is("ok", "");
    }
}

#[test]
fn work_after_the_end() {
    // 200 ms on one CPU, while the program itself lasts some 30 ms.
    for request in both_ways(late(COMPUTE, 0)) {
        let request = with(request, "/cpus", json!([0]));
        run(&request).is("wrong-evidence", "they worked after that");
        // For one whose status may be ignored its failure is no better reason.
        let plain = with(late(COMPUTE, 3), "/plain", json!(true));
        run(&with(plain, "/cpus", json!([0]))).is("wrong-evidence", "they worked after that");
    }
}

#[test]
fn a_program_that_fails_has_crashed_whatever_follows() {
    for work in [EVIDENCE, COMPUTE] {
        let request = with(late(work, 3), "/cpus", json!([0]));
        run(&request).is("crashed", "exit status 3");
    }
}

/// The outcomes of trials that one probe carries out, one after another.
fn in_one_probe(requests: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    let output = start_lines(&lines.join("\n")).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
    messages
        .filter(|message: &Value| message["type"] == "outcome")
        .collect()
}

/// The sums of the kernel for children that have ended hold those of earlier trials.
#[test]
fn cpu_time_of_earlier_trials_does_not_count() {
    let compute = format!("import time{COMPUTE}");
    let request = with(python_of(&compute), "/cgroup", json!("off"));
    let request = with(request, "/cpus", json!([0]));
    let outcomes = in_one_probe(&[
        request.clone(),
        request.clone(),
        with(request, "/argv", json!(["true"])),
    ]);
    for outcome in outcomes {
        assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
    }
}

#[test]
fn limits_hold_until_the_last_process_is_killed() {
    let limit = 100u64 << 20;
    let hog = "x = bytearray(b'x') * (200 << 20); time.sleep(40)";
    for request in both_ways(late(hog, 0)) {
        let trial = run(&with(request, "/limits/memory_bytes", json!(limit)));
        trial.is("out-of-memory", "");
    }
    let forks = "
for _ in range(60):
    if os.fork() == 0:
        break
time.sleep(40)";
    for request in both_ways(late(forks, 0)) {
        let trial = run(&with(request, "/limits/processes", json!(10)));
        trial.is("flooded", "processes, the limit is 10");
    }
}
