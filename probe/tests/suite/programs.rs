//! Programs that run and end: how they are started, and the names of their ends.

use crate::common::*;
use serde_json::{json, Value};

#[test]
fn a_program_that_does_nothing() {
    for request in both_ways(request(&["true"])) {
        let trial = run(&request);
        trial.is("ok", "");
        let started = trial.of("started")[0];
        assert_eq!(started["version"], 1);
        let missing = started["missing"].as_array().unwrap();
        let cgroup = missing.iter().any(|why| why.as_str().unwrap().starts_with("cgroup:"));
        assert_eq!(cgroup, started["cgroup"].is_null());
        let outcome = &trial.outcome;
        assert_eq!((&outcome["exit_status"], &outcome["signal"]), (&json!(0), &json!(null)));
        assert!(outcome["wall_ns"].as_u64().unwrap() > 0);
        assert!(outcome["probe_cpu_ns"].as_u64().unwrap() > 0);
        assert_eq!(outcome["left_behind"], 0);
        let source = if started["cgroup"].is_null() { "rusage" } else { "cgroup" };
        assert_eq!(outcome["cpu_source"], source);
    }
}

#[test]
fn exit_statuses_and_signals() {
    for request in both_ways(sh("exit 3")) {
        let trial = run(&request);
        trial.is("crashed", "exit status 3");
        assert_eq!(trial.outcome["exit_status"], 3);
    }
    let trial = run(&sh("kill -SEGV $$"));
    trial.is("crashed", "signal 11 (SIGSEGV)");
    assert_eq!(trial.outcome["signal"], 11);
    assert!(trial.outcome["exit_status"].is_null());
}

#[test]
fn programs_that_cannot_be_started() {
    for argv in [["/no/such/file"], ["no-such-program"]] {
        let trial = run(&request(&argv));
        trial.is("crashed", "No such file");
        trial.is("crashed", argv[0]);
        assert!(trial.of("started").is_empty());
        assert!(trial.outcome["exit_status"].is_null());
    }
    run(&request(&["/proc/version"])).is("crashed", "ermission denied");
    run(&with(request(&["true"]), "/cwd", json!("/no/such/folder"))).is("crashed", "folder");
    let folder = Folder::new();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    run(&request(&[script.to_str().unwrap()])).is("crashed", "No such file");
}

#[test]
fn a_file_without_permission_does_not_end_the_search_of_path() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("true"), "").unwrap();
    let path = |rest: &str| {
        let path = format!("{}{rest}", folder.path().display());
        json!({"RINGSIDE_TEST_MARK": "own", "PATH": path})
    };
    for request in both_ways(with(request(&["true"]), "/env", path(":/usr/bin:/bin"))) {
        run(&request).is("ok", "");
    }
    // It is the reported error if no other is found.
    run(&with(request(&["true"]), "/env", path(":/no/such/folder"))).is("crashed", "ermission denied");
}

#[test]
fn the_program_gets_what_the_request_says_and_no_more() {
    let folder = Folder::new();
    let script = "env; pwd; ls /proc/self/fd; ulimit -c; grep -E '^(Sig(Blk|Ign)|Cpus_allowed_list)' /proc/self/status";
    let request = with(sh(script), "/cwd", json!(folder.path()));
    let request = with(request, "/cpus", json!([0]));
    let request =
        with(request, "/env", json!({"RINGSIDE_TEST_MARK": "own", "PATH": "/usr/bin:/bin", "A": "b\nc=é"}));
    let trial = run(&request);
    trial.is("ok", "");
    let text = trial.outcome["stdout_tail"].as_str().unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == folder.path().to_str().unwrap()).unwrap();
    let after = lines.split_off(at + 1);
    assert!(lines.contains(&"A=b") && lines.contains(&"c=é"), "{text}");
    // sh adds PWD, and some shells two more.
    assert!(lines.len() <= 8, "{text}");
    // 3 is the folder that ls itself reads.
    assert_eq!(after[..5], ["0", "1", "2", "3", "0"]);
    assert_eq!(after[5..7], ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    assert_eq!(after[7], "Cpus_allowed_list:\t0");
}

#[test]
fn a_pinned_probe_does_not_pin_the_program() {
    let script = "grep ^Cpus_allowed_list /proc/self/status";
    let free = run(&sh(script));
    let pinned = run(&with(sh(script), "/probe_cpus", json!([0])));
    assert_eq!(free.outcome["stdout_tail"], pinned.outcome["stdout_tail"]);
}

#[test]
fn cpu_time_of_the_whole_tree() {
    let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    for request in both_ways(sh(&format!("({burn}) & ({burn}); wait"))) {
        let trial = run(&request);
        trial.is("ok", "");
        let user = trial.outcome["cpu_user_ns"].as_u64().unwrap();
        let system = trial.outcome["cpu_system_ns"].as_u64().unwrap();
        // Some 300 ms on a fast machine.
        assert!(user + system > 20_000_000, "{:#}", trial.outcome);
        let samples = trial.of("sample");
        let cpu: Vec<u64> = samples.iter().map(|one| one["cpu_ns"].as_u64().unwrap()).collect();
        assert!(cpu.windows(2).all(|pair| pair[0] <= pair[1]), "{cpu:?}");
        let last = *cpu.last().unwrap();
        assert!(last > 0 && last <= (user + system) * 11 / 10 + 40_000_000, "{last}");
        assert!(trial.outcome["peak_processes"].as_u64().unwrap() >= 2);
    }
}

#[test]
fn samples_of_a_program_with_threads() {
    let script = "import threading, time\nfor _ in range(99): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()\nprint('::await name=spawned', flush=True)\ninput()\nprint('::result a=1', flush=True)";
    for request in both_ways(request(&["python3", "-S", "-c", script])) {
        let trial = run(&request);
        trial.is("ok", "");
        let spawned = trial.marked("spawned");
        assert_eq!((&spawned["processes"], &spawned["threads"]), (&json!(1), &json!(100)));
        let pss = spawned["pss_bytes"].as_u64().unwrap();
        assert!(pss > 1 << 20 && pss <= spawned["rss_bytes"].as_u64().unwrap() + (4 << 20));
        assert!(trial.outcome["peak_threads"].as_u64().unwrap() >= 100);
        assert!(trial.outcome["peak_pss_bytes"].as_u64().unwrap() >= pss);
        assert!(trial.outcome["voluntary_switches"].as_u64().unwrap() > 0);
    }
}

#[test]
fn no_samples_when_none_are_wanted() {
    let trial = run(&with(sh("sleep 0.3"), "/sample_hz", json!(0)));
    trial.is("ok", "");
    assert!(trial.of("sample").is_empty());
    assert_eq!(trial.outcome["samples"], 0);
    assert!(trial.outcome["sample_interval_ns"].is_null());
}

#[test]
fn pauses_do_not_count() {
    let script = "echo '::phase name=spawn ns=5'; echo '::await name=spawned'; read line; echo \"got:$line\"; echo '::result a=1'";
    for request in both_ways(sh(script)) {
        let trial = run(&request);
        trial.is("ok", "");
        let paused = trial.outcome["paused_ns"].as_u64().unwrap();
        let wall = trial.outcome["wall_ns"].as_u64().unwrap();
        assert!(paused > 0 && wall > 0);
        // The end is later than the mark, both counted with the pause.
        let mark = trial.marked("spawned")["t_ns"].as_u64().unwrap();
        assert!(wall + paused >= mark);
        assert_eq!(trial.of("phase")[0]["ns"], 5);
        assert_eq!(trial.outcome["output"]["lines"], 1);
        assert!(trial.outcome["stdout_tail"].as_str().unwrap().contains("got:\n"));
        assert_eq!(trial.outcome["result"], json!({"a": "1"}));
    }
}

/// The probe sees at once that a program ends in the middle of a sample, not only when the sample is complete.
#[test]
fn slow_samples_do_not_delay_the_end() {
    // Hundreds of children take milliseconds to read. The program has measured a sample, and has another begin.
    let request = with(python("idle.py", &["300"]), "/sample_hz", json!(0));
    let measure = || {
        let trial = run(&request);
        trial.is("ok", "");
        let ns = |value: &Value| value.as_i64().unwrap();
        let (clock, end): (Vec<_>, Vec<_>) =
            trial.of("phase").into_iter().partition(|phase| phase["name"] == "clock");
        let began_ns = clock.iter().map(|phase| ns(&phase["ns"]) - ns(&phase["t_ns"])).max().unwrap();
        let [wall_ns, sample_ns] = ["wall_ns", "paused_ns"].map(|key| ns(&trial.outcome[key]));
        let late_ns = began_ns + wall_ns + sample_ns - ns(&end[0]["ns"]);
        // Without the second sample the program ended before its last line but one was read.
        let is_amid_sample = trial.of("sample").len() == 2;
        (if is_amid_sample { late_ns } else { i64::MAX }, sample_ns)
    };
    // On a busy host any end can be seen late, and any sample take long: the least of each counts.
    let (mut late_ns, mut sample_ns) = (i64::MAX, i64::MAX);
    for trial in 0..10 {
        let (late, sample) = measure();
        (late_ns, sample_ns) = (late_ns.min(late), sample_ns.min(sample));
        if trial >= 2 && late_ns < sample_ns / 4 {
            return;
        }
    }
    panic!("seen {late_ns} ns late, with samples of {sample_ns} ns");
}
