//! The peak of memory: what the kernel keeps of one process, and what samples saw of several.

use crate::common::*;
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;

fn python_of(script: &str) -> Value {
    request(&["/usr/bin/python3", "-S", "-E", "-c", script])
}

fn peak(trial: &Trial) -> Option<u64> {
    trial.outcome["peak_memory_bytes"].as_u64()
}

/// As GNU time does: a small process starts the program and reports its largest resident size.
fn by_the_kernel(arguments: &[&str]) -> u64 {
    let script = "import os, resource, sys\n\
        pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)\n\
        print(os.wait4(pid, 0)[2].ru_maxrss)";
    let output = std::process::Command::new("/usr/bin/python3")
        .args(["-S", "-E", "-c", script])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_short_program_has_the_peak_that_the_kernel_saw() {
    let script = "x = bytearray(200_000_000)";
    for request in both_ways(python_of(script)) {
        for plain in [false, true] {
            let trial = run(&with(request.clone(), "/plain", json!(plain)));
            let own = peak(&trial).unwrap_or_else(|| panic!("{}", trial.outcome));
            let kernel = by_the_kernel(&["/usr/bin/python3", "-S", "-E", "-c", script]);
            assert!(own.abs_diff(kernel) < kernel * 3 / 100, "{own} {kernel}");
            assert_eq!(trial.outcome["peak_process_bytes"], own);
        }
    }
}

/// A program that lasts some two milliseconds, and reports its own size.
#[test]
fn the_size_of_the_launcher_is_not_that_of_a_program() {
    let folder = Folder::new();
    let status = folder.path().join("status");
    let arguments = ["if=/proc/self/status", &format!("of={}", status.display())];
    for request in both_ways(request(&[&["dd"], &arguments[..]].concat())) {
        let trial = run(&with(request, "/plain", json!(true)));
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        match peak(&trial) {
            Some(own) => assert!(own.abs_diff(kib << 10) < 256 << 10, "{own} {line}"),
            // Code that is not optimised has more data than many programs.
            None if cfg!(debug_assertions) => {}
            None => panic!("{}", trial.outcome),
        }
    }
}

#[test]
fn a_sum_that_nobody_saw_is_no_figure() {
    let brief = "import os\n\
        children = []\n\
        for _ in range(3):\n\
        \x20   pid = os.fork()\n\
        \x20   if pid == 0:\n\
        \x20       x = bytearray(50 << 20)\n\
        \x20       os._exit(0)\n\
        \x20   children.append(pid)\n\
        for pid in children: os.waitpid(pid, 0)\n";
    let trial = run(&with(python_of(brief), "/sample_hz", json!(0.01)));
    assert_eq!(peak(&trial), None, "{}", trial.outcome);
    let why = trial.outcome["peak_memory_unknown"].as_str().unwrap();
    assert!(why.starts_with("several processes"), "{why}");
    assert!(trial.outcome["peak_process_bytes"].as_u64().unwrap() > 50 * MIB);
}

#[test]
fn a_sum_that_samples_saw_is_a_figure() {
    let long = "import os, time\n\
        x = bytearray(20 << 20)\n\
        children = []\n\
        for _ in range(3):\n\
        \x20   pid = os.fork()\n\
        \x20   if pid == 0:\n\
        \x20       y = bytearray(50 << 20)\n\
        \x20       time.sleep(3)\n\
        \x20       os._exit(0)\n\
        \x20   children.append(pid)\n\
        for pid in children: os.waitpid(pid, 0)\n";
    let trial = run(&python_of(long));
    let own = peak(&trial).unwrap_or_else(|| panic!("{}", trial.outcome));
    // The 20 MiB are shared by all, and count once.
    assert!((170 * MIB..195 * MIB).contains(&own), "{own}");
}
