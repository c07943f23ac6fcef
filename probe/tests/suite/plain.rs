//! Commands that know nothing of the protocol, a file as stdin, the fixed computation, the host's pressure.

use crate::common::*;
use serde_json::{json, Value};

#[test]
fn nothing_that_a_plain_command_prints_is_a_protocol_line() {
    let script = "echo '::result a=1'; echo '::result a=1'; printf '::phase'";
    run(&sh(script)).is("wrong-evidence", "a second ::result");
    let trial = run(&with(sh(script), "/plain", json!(true)));
    trial.is("ok", "");
    assert!(trial.outcome["result"].is_null());
    assert!(trial.of("phase").is_empty());
    let hash = "8bf0dd32b1b7d9d90163766ec692389b"; // as `xxhsum -H2` has it
    assert_eq!(trial.outcome["output"]["xxh3"], hash);
    let failed = run(&with(sh("echo x; exit 3"), "/plain", json!(true)));
    failed.is("crashed", "exit status 3");
    assert!(failed.outcome["output"]["xxh3"].is_string());
    // For other programs it is not reported.
    assert!(run(&sh("echo x")).outcome["output"]["xxh3"].is_null());
}

#[test]
fn the_cost_of_reading_is_the_probes_and_known() {
    let request = |cpus: bool, bytes: &str| {
        let request = with(sh(&format!("head -c {bytes} /dev/zero")), "/plain", json!(true));
        let request = with(request, "/limits/output_bytes", json!(1 << 30));
        match cpus {
            true => with(with(request, "/cpus", json!([1])), "/probe_cpus", json!([0])),
            false => request,
        }
    };
    let outcome = |cpus, bytes| run(&request(cpus, bytes)).outcome;
    let ns = |outcome: &serde_json::Value, key: &str| outcome[key].as_u64().unwrap();
    let much = outcome(false, "100M");
    // A hundred megabytes are not copied in a millisecond.
    assert!(ns(&much, "reading_ns") > 1_000_000, "{much}");
    assert!(ns(&much, "reading_ns") < ns(&much, "probe_shared_cpu_ns"));
    assert_eq!(much["probe_shared_cpu_ns"], much["probe_cpu_ns"]);
    if std::thread::available_parallelism().unwrap().get() > 1 {
        let apart = outcome(true, "1");
        assert_eq!(ns(&apart, "probe_shared_cpu_ns"), 0);
        assert!(ns(&apart, "probe_cpu_ns") > 0);
    }
}

#[test]
fn stdin_is_a_file_or_for_a_plain_command_nothing() {
    let folder = Folder::new();
    let path = folder.path().join("in.txt");
    std::fs::write(&path, "three\nshort\nlines\n").unwrap();
    let request = with(sh("wc -l"), "/plain", json!(true));
    let empty = run(&request);
    empty.is("ok", "");
    assert_eq!(empty.outcome["stdout_tail"], "0\n");
    let path = path.to_str().unwrap();
    let filled = run(&with(request.clone(), "/stdin", json!(path)));
    assert_eq!(filled.outcome["stdout_tail"], "3\n");
    let gone = with(request, "/stdin", json!("/no/such/file"));
    let output = refused(&format!("{gone}\n"));
    assert!(output.contains("stdin: /no/such/file"), "{output}");
}

#[test]
fn a_plain_command_may_write_to_files_instead() {
    let folder = Folder::new();
    let path = folder.path().join("out.txt");
    std::fs::write(&path, "before\n").unwrap();
    let path = path.to_str().unwrap();
    let request = with(sh("echo out; echo err >&2"), "/plain", json!(true));
    let trial = run(&with(request.clone(), "/stdout", json!(path)));
    trial.is("ok", "");
    assert_eq!(trial.outcome["stderr_tail"], "err\n");
    assert_eq!(trial.outcome["output"]["stdout_bytes"], 0);
    run(&with(request.clone(), "/stderr", json!(path))).is("ok", "");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "before\nout\nerr\n");
    let gone = with(request, "/stdout", json!("/no/such/file"));
    let output = refused(&format!("{gone}\n"));
    assert!(output.contains("stdout: /no/such/file"), "{output}");
    let contract = with(sh("true"), "/stdout", json!(path));
    let output = refused(&format!("{contract}\n"));
    assert!(output.contains("only a plain command"), "{output}");
}

#[test]
fn reference_and_pressure_are_told() {
    let plain = run(&sh("sleep 0.05"));
    assert!(plain.outcome["reference_ns"].is_null());
    let pressure = &plain.outcome["pressure"];
    let here = std::path::Path::new("/proc/pressure/cpu").exists();
    assert_eq!(pressure["cpu_ns"].is_u64(), here, "{pressure}");
    let timed = with(sh("true"), "/reference", json!(true));
    let timed = run(&with(timed, "/cpus", json!([0])));
    timed.is("ok", "");
    assert!(timed.outcome["reference_ns"].as_u64().unwrap() > 100_000);
    assert!(timed.outcome["memory_reference_ns"].as_u64().unwrap() > 60_000);
}

/// Each execution has its own, whatever launcher started it; those of the kernel are there where programs may count.
#[test]
fn counters_are_those_of_the_whole_tree() {
    let counted = |line: &str| {
        let request = with(sh(line), "/plain", json!(true));
        with(request, "/counters", json!(true))
    };
    let lines = ["true", "(sh -c '/bin/true; /bin/true'); /bin/true; /bin/true & /bin/true"];
    let outcomes = in_one_probe(&[lines[0], lines[1], lines[0]].map(counted));
    for outcome in &outcomes {
        assert_eq!(outcome["outcome"], "ok");
        assert_eq!(outcome["counters"].as_object().unwrap().len(), 8);
        for (name, counter) in outcome["counters"].as_object().unwrap() {
            assert!(counter["count"].is_u64() || counter["why"].is_string(), "{name}: {counter}");
        }
    }
    for name in ["task_clock_ns", "page_faults"] {
        let count = |at: usize| outcomes[at]["counters"][name]["count"].as_u64();
        if let (Some(one), Some(many), Some(again)) = (count(0), count(1), count(2)) {
            assert!(one > 0 && many > one && many > again, "{name}: {one} {many} {again}");
        }
    }
    let plain = run(&with(sh("true"), "/plain", json!(true)));
    assert!(plain.outcome["counters"].as_object().unwrap().is_empty());
}

/// A comparison takes much of the time of a short command, so most short commands have none.
#[test]
fn each_tenth_of_short_commands_is_compared() {
    let request = with(request(&["true"]), "/plain", json!(true));
    let outcomes = in_one_probe(&vec![request; 21]);
    let has_figures = |outcome: &Value| outcome["cpus"] != json!([]);
    assert_eq!(outcomes.len(), 21);
    for (number, pair) in outcomes.windows(2).enumerate() {
        assert_eq!(has_figures(&pair[0]), !pair[0]["kernel_bytes"].is_null());
        // A busy host makes any command a long one.
        if !has_figures(&pair[1]) {
            assert!(pair[0]["wall_ns"].as_u64().unwrap() < 20_000_000);
        }
        if number % 10 == 0 {
            assert!(has_figures(&pair[0]), "{number}");
        }
    }
}
