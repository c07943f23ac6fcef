//! The output of programs: evidence, right and wrong, and hostile text.

use crate::common::*;
use serde_json::{json, Value};

fn expecting(request: Value, expect: Value) -> Value {
    with(request, "/expect", expect)
}

fn lines(total: u64) -> Value {
    json!({"result": {"a": "1"}, "lines": {"total": total, "starting": {":": 1, "*": 1}}})
}

#[test]
fn evidence() {
    let program = |result: &str| sh(&format!("echo ': x'; echo '* y'; echo '→'; {result}"));
    let right = "echo '::result b=2 a=1'";
    let judged = |result: &str, total| run(&expecting(program(result), lines(total)));
    let trial = judged(right, 3);
    trial.is("ok", "");
    assert_eq!(trial.outcome["output"]["starting"], json!({":": 1, "*": 1}));
    judged(right, 4).is("wrong-evidence", "3 lines, expected 4");
    judged("echo '::result a=2'", 3).is("wrong-evidence", "a is '2', expected '1'");
    judged("echo '::result b=1'", 3).is("wrong-evidence", "no a");
    judged("", 3).is("wrong-evidence", "no ::result");
    judged("echo ': z'; echo '::result a=1'", 4).is("wrong-evidence", "2 lines start with ':'");
    judged(&format!("{right}; {right}"), 3).is("wrong-evidence", "second ::result");
    judged("printf '::result a'", 3).is("wrong-evidence", "without =");
    judged("printf '::result a=1'", 3).is("ok", "");
    judged("exit 1", 3).is("crashed", "exit status 1");
}

#[test]
fn lines_that_are_wrong_end_the_trial() {
    for line in [
        "::",
        "::what",
        "::phase name=a ns=1e999",
        "::phase name=a ns=-1",
        "::phase name=a ns=1208925819614629174706176",
        "::result a=1 a=1",
        "::result a=\u{1b}[2J",
        "::await",
        "::ready port=70000",
    ] {
        // Without an end: a line that nobody can answer must not last until the time-out.
        let script = format!("printf '%s\\n' '{line}'; exec sleep 500");
        let trial = run(&sh(&script));
        trial.is("wrong-evidence", "");
        assert_eq!(trial.outcome["signal"], 9);
    }
    run(&python("hostile.py", &["line", "::result a=\u{fffd}"])).is("ok", "");
}

#[test]
fn lines_of_a_ring() {
    let expect = json!({"result": {"checksum": "1"}, "lines": {
        "total": 200_000, "starting": {":": 99 * 1999, ">": 1999, "*": 99, "@": 1},
    }});
    for request in both_ways(python("trace.py", &["100", "2000"])) {
        let trial = run(&expecting(request, expect.clone()));
        trial.is("ok", "");
        assert!(trial.outcome["output"]["stdout_bytes"].as_u64().unwrap() > 6_000_000);
    }
    let few = json!({"result": {"checksum": "1"}, "lines": {"total": 5000}});
    run(&expecting(python("trace.py", &["50", "100", "apart"]), few)).is("ok", "");
}

#[test]
fn output_of_a_child_that_the_program_left_is_counted_until_the_end() {
    let script = "for i in 1 2 3; do echo $i; done; echo '::result a=1'";
    let expect = json!({"result": {"a": "1"}, "lines": {"total": 3}});
    run(&expecting(sh(script), expect)).is("ok", "");
}

#[test]
fn hostile_text() {
    let case = |name: &str| run(&python("hostile.py", &[name]));
    let trial = case("binary");
    trial.is("ok", "");
    assert_eq!(trial.outcome["output"]["lines"], 1002);
    let trial = case("endless-line");
    trial.is("ok", "");
    assert_eq!(trial.outcome["output"]["lines"], 1);
    assert_eq!(trial.outcome["output"]["stdout_bytes"], 64 << 20);
    case("long-protocol-line").is("wrong-evidence", "more than 65536 bytes");
    let trial = case("phases");
    trial.is("wrong-evidence", "more than 25000 protocol lines");
    assert_eq!(trial.of("phase").len(), 25_000);
    let trial = case("name");
    trial.is("ok", "");
    assert_eq!(trial.of("phase")[0]["name"], "\u{202e}\"\\é</script>");
    assert_eq!(trial.of("phase")[0]["ns"], i64::MAX);
    case("closed").is("ok", "");
    let trial = case("tail");
    let tail = |name: &str| trial.outcome[name].as_str().unwrap().chars().count();
    assert_eq!((tail("stdout_tail"), tail("stderr_tail")), (2048, 4096));
}

#[test]
fn requests_that_are_refused() {
    assert!(refused("").contains("the text ends"));
    assert!(refused("{\"version\": 1}\n").contains("argv"));
    assert!(refused("{\"version\": 2, \"surprise\": 1}\n").contains("version 2"));
    let request = with(sh("true"), "/surprise", json!(1));
    assert!(refused(&format!("{request}\n")).contains("surprise"));
    let request = with(sh("true"), "/cpus", json!([1023]));
    assert!(refused(&format!("{request}\n")).contains("cpus: [1023]"));
    assert!(refused("[\u{1}\n").contains("byte 0"));
}

#[test]
fn version_and_help() {
    let told = |argument: &str| std::process::Command::new(PROBE).arg(argument).output().unwrap();
    assert_eq!(told("--version").stdout, b"ringside-probe 0.2.0 protocol 1\n");
    assert!(told("--help").status.success());
    assert_eq!(told("--what").status.code(), Some(2));
}
