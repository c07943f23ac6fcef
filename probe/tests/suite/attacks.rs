//! Contenders' attempts to get better figures than their work deserves, or more of the machine than they were
//! given.

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

/// Ends once a child has done `before`. That child sees the end, and then does `work`.
fn prepared(before: &str, work: &str) -> Value {
    python_of(&format!(
        "import os, time\n\
         parent = os.getpid()\n\
         ready, done = os.pipe()\n\
         if os.fork():\n\
         \x20   os.read(ready, 1)\n\
         \x20   os._exit(0)\n\
         {before}\n\
         os.write(done, b'x')\n\
         while os.getppid() == parent:\n\
         \x20   time.sleep(0.001)\n\
         {work}"
    ))
}

const EVIDENCE: &str = "time.sleep(0.1); print('::phase name=a ns=1\\n::result a=1', flush=True)";
const COMPUTE: &str = "
while True:
    pass";

#[test]
fn evidence_from_others_after_the_end() {
    for request in both_ways(late(EVIDENCE, 0)) {
        let request = with(request, "/expect", json!({"result": {"a": "1"}}));
        let trial = run(&request);
        trial.is("wrong-evidence", "wrote to stdout after the program had ended");
        assert_eq!(trial.outcome["result"], Value::Null);
        assert!(trial.of("phase").is_empty());
    }
    // Output from before the end counts, whoever wrote it.
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
    for (status, plain) in [(0, false), (0, true), (3, true)] {
        for request in both_ways(late(COMPUTE, status)) {
            let request = with(request, "/plain", json!(plain));
            let trial = run(&with(request, "/cpus", json!([0])));
            let number = |key: &str| trial.outcome[key].as_f64().unwrap();
            let used_ns = number("cpu_user_ns") + number("cpu_system_ns");
            // On a busy host the program itself may have had its CPU for as long, since it waited for it.
            if used_ns > number("wall_ns") * 1.001 + 10e6 {
                // If the exit status may be ignored, its failure is no better reason.
                trial.is("wrong-evidence", "they worked after that");
            }
            // It was watched until it was killed.
            assert_eq!(trial.outcome["left_behind"], 1);
        }
    }
}

#[test]
fn a_program_that_fails_has_crashed_whatever_follows() {
    for work in [EVIDENCE, COMPUTE] {
        let request = with(late(work, 3), "/cpus", json!([0]));
        run(&request).is("crashed", "exit status 3");
    }
}

/// The sums of the kernel for children that have ended hold those of earlier trials.
#[test]
fn cpu_time_of_earlier_trials_does_not_count() {
    let compute = "import time\nwhile time.process_time() < 0.2: pass";
    let request = with(python_of(compute), "/cgroup", json!("off"));
    let request = with(request, "/cpus", json!([0]));
    let outcomes = in_one_probe(&[request.clone(), request.clone(), with(request, "/argv", json!(["true"]))]);
    for outcome in outcomes {
        assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
    }
}

#[test]
fn limits_hold_until_the_last_process_is_killed() {
    let limit = 100u64 << 20;
    // Most of it before the end: half a second is short on a busy host, where a page costs some microseconds.
    let (most, hog) =
        ("x = bytearray(b'x') * (70 << 20)", "y = bytearray(b'x') * (50 << 20); time.sleep(40)");
    for request in both_ways(prepared(most, hog)) {
        let trial = run(&with(request, "/limits/memory_bytes", json!(limit)));
        trial.is("out-of-memory", "");
    }
    let forks = "
for _ in range(60):
    if os.fork() == 0:
        break
time.sleep(40)";
    for request in both_ways(prepared("", forks)) {
        let trial = run(&with(request, "/limits/processes", json!(10)));
        trial.is("flooded", "processes, the limit is 10");
    }
}

/// A program whose first thread ends at once, while another does `work`.
fn without_first_thread(work: &str) -> Value {
    let work = work.replace('\n', "\n    ");
    python_of(&format!(
        "import ctypes, os, threading, time\n\
         def work():\n    {work}\n\
         threading.Thread(target=work).start()\n\
         exit = {{'x86_64': 60, 'aarch64': 93}}[os.uname().machine]\n\
         ctypes.CDLL(None).syscall(exit, 0)\n"
    ))
}

#[test]
fn limits_hold_for_a_process_whose_first_thread_has_ended() {
    let memory = "x = bytearray(b'x') * (200 << 20)\ntime.sleep(40)";
    for request in both_ways(without_first_thread(memory)) {
        let trial = run(&with(request, "/limits/memory_bytes", json!(100u64 << 20)));
        trial.is("out-of-memory", "");
        assert!(trial.outcome["peak_pss_bytes"].as_u64().unwrap() > 100 << 20);
    }
    let processes = "for _ in range(60):\n    if os.fork() == 0: break\ntime.sleep(40)";
    for request in both_ways(without_first_thread(processes)) {
        let trial = run(&with(request, "/limits/processes", json!(10)));
        trial.is("flooded", "processes, the limit is 10");
    }
    let threads = "for _ in range(80): threading.Thread(target=time.sleep, args=(40,)).start()";
    for request in both_ways(without_first_thread(threads)) {
        let trial = run(&with(request, "/limits/threads", json!(20)));
        trial.is("flooded", "threads, the limit is 20");
    }
    let request = without_first_thread("time.sleep(500)");
    run(&with(request, "/limits/wall_s", json!(1.0))).is("timed-out", "1 s");
}

#[test]
fn cpus_of_a_process_whose_first_thread_has_ended() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let work = "os.sched_setaffinity(0, range(os.cpu_count()))\ntime.sleep(40)";
    for request in both_ways(without_first_thread(work)) {
        let trial = run(&with(request, "/cpus", json!([0])));
        trial.is("wrong-evidence", "took other CPUs");
    }
}

/// As a server of C's that calls `pthread_exit` in main.
#[test]
fn a_server_whose_first_thread_has_ended_is_honest() {
    let work = "import http.server
class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '5')
        self.end_headers()
        self.wfile.write(b'hello')
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)
print(f'::ready port={server.server_address[1]}', flush=True)
server.serve_forever()";
    let plan = json!({
        "protocol": "http", "requests": 20, "connections": 2, "timeout_s": 100,
        "request": {"headers": [["Host", "here"]]}, "expect": {"status": 200, "equals": "hello"},
    });
    let steps = json!([{"name": "all", "loads": [{"name": "all", "plan": plan}]}]);
    let service = json!({"ready_s": 100, "idle_s": 0.1, "end_s": 30, "steps": steps});
    for request in both_ways(without_first_thread(work)) {
        let trial = run(&with(request, "/service", service.clone()));
        trial.is("ok", "");
        assert!(trial.marked("idle")["pss_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

#[test]
fn lines_that_come_twice_or_never_end() {
    let judged = |script: &str| run(&with(sh(script), "/limits/wall_s", json!(100.0)));
    // Each of them looked at all processes and sockets, however many there were.
    let many = "i=0; while [ $i -lt 3000 ]; do echo '::ready port=1'; i=$((i+1)); done; exec sleep 500";
    let trial = judged(many);
    trial.is("wrong-evidence", "a second ::ready");
    assert!(trial.of("ready").len() == 1);
    judged("echo ::ready; echo ::ready").is("wrong-evidence", "a second ::ready");
    judged("echo '::result a=1'; echo '::result a=1'").is("wrong-evidence", "a second ::result");
    let wait = "echo '::await name=spawned'; read -r x";
    judged(&format!("{wait}; {wait}")).is("wrong-evidence", "once more");
    judged("echo '::phase name=a ns=1'; echo '::phase name=a ns=1'").is("ok", "");
    // In any order.
    judged(&format!("echo '::result a=1'; echo '::phase name=a ns=1'; {wait}; echo ::ready")).is("ok", "");
    // Cut.
    for line in ["::", "::rea", "::phase name=a n", "::await nam", "::result a"] {
        judged(&format!("printf '{line}'")).is("wrong-evidence", "no newline");
    }
}

#[test]
fn a_line_in_two_pieces() {
    for (pause, detail) in [
        ("", ""),
        // The second piece comes when the program has ended.
        ("if os.fork(): os._exit(0)\n", "wrote to stdout after"),
    ] {
        let script = format!(
            "import os, time\n\
             os.write(1, b'::resu')\n\
             {pause}\
             time.sleep(0.1)\n\
             os.write(1, b'lt a=1\\n')"
        );
        let outcome = if detail.is_empty() { "ok" } else { "wrong-evidence" };
        for request in both_ways(python_of(&script)) {
            let trial = run(&with(request, "/expect", json!({"result": {"a": "1"}})));
            trial.is(outcome, detail);
        }
    }
}

/// A server that answers without its upstreams, once it has done something to them; `UPSTREAM` is the port of one.
fn gateway(attack: &str) -> Value {
    let script = "import http.server, os, socket, sys, threading, time
UPSTREAM = int(sys.argv[1].rstrip('/').rpartition(':')[2])
ATTACK
class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '5')
        self.end_headers()
        self.wfile.write(b'hello')
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)
print(f'::ready port={server.server_address[1]}', flush=True)
server.serve_forever()";
    let plan = json!({
        "protocol": "http", "requests": 20, "connections": 2, "timeout_s": 100,
        "request": {"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]},
    });
    let upstream = json!({"median_s": 0, "sigma": 0});
    let service = json!({
        "ready_s": 100, "idle_s": 0.1, "end_s": 30,
        "steps": [{"name": "all", "loads": [{"name": "all", "plan": plan}]}],
        "stub": {"upstreams": [upstream], "seed": 1},
    });
    let mut request = with(python_of(&script.replace("ATTACK", attack)), "/service", service);
    request["argv"].as_array_mut().unwrap().push(json!("{upstreams}"));
    request
}

const CALL: &str = "
def connect(): return socket.create_connection(('127.0.0.1', UPSTREAM))
def call(number): return b'GET / HTTP/1.1\\r\\nHost: h\\r\\nX-Request-Id: %d\\r\\n\\r\\n' % number";

/// The probe's memory for calls is bounded.
#[test]
fn gateways_that_flood_their_upstreams() {
    let long = format!(
        "{CALL}
one = connect()
one.sendall(b'GET / HTTP/1.1\\r\\nX-Request-Id: ' + b'x' * 15_000 + b'\\r\\n\\r\\n')
one.recv(1)"
    );
    run(&gateway(&long)).is("wrong-evidence", "1 calls had ids of more than 64 bytes");
    // A million requests. The client reads no answer.
    let unread = format!(
        "{CALL}
one = connect()
try:
    for _ in range(1000): one.sendall(call(1) * 1000)
except OSError: pass"
    );
    run(&gateway(&unread)).is("wrong-evidence", "made 0 calls");
}

/// Half of the probe's descriptors are not for the gateway's connections, so that samples still see what it does.
#[test]
fn a_gateway_that_takes_descriptors() {
    let attack = |more: &str| {
        format!(
            "{CALL}
kept = []
for _ in range(3):
    if os.fork() == 0:
        kept = [connect() for _ in range(100)]
        {more}
        time.sleep(40)
time.sleep(1)"
        )
    };
    let limited = |request: &Value| {
        let mut probe = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 256; exec \"$0\"", PROBE])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        use std::io::Write;
        writeln!(probe.stdin.take().unwrap(), "{request}").unwrap();
        parse(probe.wait_with_output().unwrap())
    };
    let limit = json!(100u64 << 20);
    let floods = with(gateway(&attack("pass")), "/limits/memory_bytes", limit.clone());
    limited(&floods).is("wrong-evidence", "more than 128 connections at one time");
    let hogs = with(gateway(&attack("x = bytearray(b'x') * (150 << 20)")), "/limits/memory_bytes", limit);
    limited(&hogs).is("out-of-memory", "");
}

/// System calls by their numbers: `add_key`, `keyctl`, `mq_open`.
const KEYS: &str = "import ctypes, os
add_key, keyctl, mq_open = {'x86_64': (248, 250, 240), 'aarch64': (217, 219, 180)}[os.uname().machine]
call = ctypes.CDLL(None, use_errno=True).syscall
def add(keyring): return call(add_key, b'user', b'ringside-test', b'x', 1, keyring) > 0
SESSION, USER = -3, -4
";

#[test]
fn nothing_is_left_for_the_next_trial() {
    // The last trial of a probe, whose findings the next trial should have.
    let leaves = format!(
        "{KEYS}
is_key = add(USER)
is_queue = call(mq_open, b'ringside-test', os.O_CREAT | os.O_RDWR, 0o600, None) >= 0
print('::result left=%d' % (is_key + is_queue), flush=True)"
    );
    let trial = run(&python_of(&leaves));
    trial.is("ok", "");
    let left = trial.outcome["result"]["left"].as_str().unwrap();
    assert_eq!(trial.outcome["left_files"].to_string(), left);
    let finds = format!(
        "{KEYS}
# Root's keys are the host's, and were named.
if os.getuid() == 0: call(keyctl, 9, call(keyctl, 10, USER, b'user', b'ringside-test', 0), USER)
is_key = call(keyctl, 10, USER, b'user', b'ringside-test', 0) > 0
is_queue = call(mq_open, b'ringside-test', os.O_RDWR, 0o600, None) >= 0
print('::result left=%d' % (is_key + is_queue), flush=True)"
    );
    let trial = run(&python_of(&finds));
    assert_eq!(trial.outcome["result"]["left"], "0", "{:#}", trial.outcome);
}

#[test]
fn each_trial_has_a_session_keyring_of_its_own() {
    let script = format!(
        "{KEYS}
found = call(keyctl, 10, SESSION, b'user', b'ringside-test', 0) > 0
add(SESSION)
print('::result found=%d' % found, flush=True)"
    );
    let request = python_of(&script);
    let outcomes = in_one_probe(&[request.clone(), request]);
    let found: Vec<_> = outcomes.iter().map(|outcome| &outcome["result"]["found"]).collect();
    assert_eq!(found, ["0", "0"], "{outcomes:#?}");
}

/// The kernel starts the program of a piped core_pattern at a limit of 0, and not at 1.
#[test]
fn a_crash_starts_no_program_of_the_hosts() {
    let script = "import resource; print('::result core=%d,%d' % resource.getrlimit(resource.RLIMIT_CORE))";
    for request in both_ways(python_of(script)) {
        assert_eq!(run(&request).outcome["result"]["core"], "1,1");
    }
}

/// As each vfork until its exec, and io_uring's helpers of other runtimes.
#[test]
fn memory_that_processes_share_counts_once() {
    let script = "import ctypes, mmap, os, signal, time
x = bytearray(b'x') * (150 << 20)
libc = ctypes.CDLL(None)
stack = mmap.mmap(-1, 1 << 20)
top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 20)
CLONE_VM = 0x100
pause = ctypes.cast(libc.pause, ctypes.c_void_p)
pid = libc.clone(pause, ctypes.c_void_p(top), CLONE_VM | signal.SIGCHLD, None)
print('::await name=spawned', flush=True)
input()
time.sleep(0.5)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)";
    for request in both_ways(python_of(script)) {
        let trial = run(&with(request, "/limits/memory_bytes", json!(250u64 << 20)));
        trial.is("ok", "");
        assert_eq!(trial.marked("spawned")["processes"], 2);
        let peak = trial.outcome["peak_pss_bytes"].as_u64().unwrap();
        assert!((150 << 20..200 << 20).contains(&peak), "{peak}");
    }
}

/// Refuses clone3, as containers with older filters do, and executes the probe.
const NO_CLONE3: &str = "import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# Loads the number of the call; where it is 435, fails with ENOSYS.
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn without_a_launcher_programs_start_all_the_same() {
    for (request, outcome) in [
        (request(&["true"]), "ok"),
        (with(request(&["true"]), "/plain", json!(true)), "ok"),
        (request(&["sh", "-c", "exit 3"]), "crashed"),
        (request(&["./nowhere"]), "crashed"),
    ] {
        let mut probe = std::process::Command::new("/usr/bin/python3")
            .args(["-c", NO_CLONE3, PROBE])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        use std::io::Write;
        writeln!(probe.stdin.take().unwrap(), "{request}").unwrap();
        let trial = parse(probe.wait_with_output().unwrap());
        trial.is(outcome, "");
        if outcome == "ok" {
            let missing = trial.of("started")[0]["missing"].to_string();
            assert!(missing.contains("\"launcher: Function not"), "{missing}");
        }
    }
    let missing = run(&request(&["true"])).of("started")[0]["missing"].to_string();
    assert!(!missing.contains("launcher"), "{missing}");
}

/// A child whose end has no signal is like others: it is found when its parent has ended, and reaped.
#[test]
fn children_that_end_without_a_signal_are_left_behind() {
    let script = "import ctypes, mmap, os
libc = ctypes.CDLL(None)
stack = mmap.mmap(-1, 1 << 20)
top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 20)
pause = ctypes.cast(libc.pause, ctypes.c_void_p)
CLONE_PARENT = 0x8000
for flags in [0, CLONE_PARENT]:
    assert libc.clone(pause, ctypes.c_void_p(top), flags, None) > 0";
    for request in both_ways(python_of(script)) {
        for plain in [false, true] {
            let trial = run(&with(request.clone(), "/plain", json!(plain)));
            trial.is("ok", "");
            assert_eq!(trial.outcome["left_behind"], 2, "{}", trial.outcome);
        }
    }
}

/// Plain commands share a launcher: the next one would start with what a command did to it.
#[test]
fn a_command_that_changes_the_launcher_is_named() {
    for attack in [
        "renice 19 $pid",
        "chrt -i -p 0 $pid",
        "ionice -c 3 -p $pid",
        "prlimit -p $pid --sigpending=0:0",
        "taskset -cp 0 $pid",
    ] {
        if attack.starts_with("taskset") && std::thread::available_parallelism().unwrap().get() < 2 {
            continue;
        }
        let script = format!(
            "for pid in $(cat /proc/$PPID/task/$PPID/children); do
                if [ $pid != $$ ]; then {attack}; fi
            done"
        );
        for request in both_ways(with(request(&["sh", "-c", &script]), "/plain", json!(true))) {
            let trial = run(&request);
            trial.is("ok", "");
            let interference = trial.outcome["interference"].to_string();
            assert!(interference.contains("the probe's launcher was changed"), "{attack}: {interference}");
        }
    }
}

/// The probe replaces one that was killed, and resumes one that was stopped.
#[test]
fn a_launcher_that_was_killed_or_stopped() {
    for signal in ["KILL", "STOP"] {
        let script = format!(
            "for pid in $(cat /proc/$PPID/task/$PPID/children); do
                if [ $pid != $$ ]; then kill -{signal} $pid && echo sent; fi
            done"
        );
        let request = with(request(&["sh", "-c", &script]), "/plain", json!(true));
        for outcome in in_one_probe(&[request.clone(), request.clone(), request]) {
            assert_eq!(outcome["outcome"], "ok", "{outcome}");
            assert_eq!((&outcome["output"]["stdout_bytes"], &outcome["left_behind"]), (&json!(5), &json!(0)));
            assert!(outcome["wall_ns"].as_u64().unwrap() < 100_000_000_000, "{outcome}");
        }
    }
}

/// What root's programs can do; others are refused.
fn by_root(attack: &str) -> Value {
    python_of(&format!(
        "import os, socket, threading, time
def attack():
    try:
        {attack}
    except PermissionError: os._exit(3)
    time.sleep(1)
thread = threading.Thread(target=attack)
thread.start()
thread.join()"
    ))
}

#[test]
fn a_thread_that_takes_a_higher_priority_is_named() {
    for (attack, is_higher) in [
        ("os.nice(-1)", true),
        ("os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))", true),
        ("os.nice(1)", false),
        ("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))", false),
    ] {
        for request in both_ways(by_root(attack)) {
            let outcome = run(&request).outcome;
            let is_named = outcome["interference"].to_string().contains("took a higher priority");
            assert!(is_named == is_higher || outcome["exit_status"] == 3, "{attack}: {outcome:#}");
        }
    }
}

/// As a message to the next trial.
#[test]
fn a_host_name_ends_with_its_trial() {
    let own = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let before = own();
    let has_namespaces = run(&request(&["true"])).of("started")[0]["pid"].is_null();
    if !has_namespaces {
        return;
    }
    let outcome = run(&by_root("socket.sethostname('ringside-test')")).outcome;
    let is_named = outcome["interference"].to_string().contains("kernel/hostname was changed");
    assert!(is_named || outcome["exit_status"] == 3, "{outcome:#}");
    assert_eq!(own(), before);
}

/// A contender's launcher exits soon after the program has begun, so nothing can be done to it.
#[test]
fn a_contender_is_alone_with_the_probe() {
    let script = "i=0
    while [ $(wc -w < /proc/$PPID/task/$PPID/children) != 1 ]; do
        i=$((i + 1)); [ $i -lt 100 ] || exit 3; sleep 0.1
    done";
    for request in both_ways(sh(script)) {
        for outcome in in_one_probe(&[request.clone(), request]) {
            assert_eq!(outcome["outcome"], "ok", "{outcome}");
        }
    }
}

/// Leaves its cgroup where it has the rights; `joins` a cgroup by its folder, `OWN` is that of the trial.
const CGROUPS: &str = "import os, signal, time
own = [line for line in open('/proc/self/cgroup') if line.startswith('0::')][0].strip()[3:]
root = [line.split()[4] for line in open('/proc/self/mountinfo') if ' - cgroup2 ' in line][0]
OWN = root + own
def write(path, text):
    with open(path, 'w') as file: file.write(text)
";

/// The outcomes of trials in one probe; none if the first has no cgroup, or no rights in that of others.
fn in_cgroups(requests: &[Value]) -> Vec<Value> {
    let trial = run(&python_of(&format!("{CGROUPS}write(root + '/cgroup.procs', '0')")));
    match trial.outcome["outcome"] == "ok" {
        true => in_one_probe(requests),
        false => Vec::new(),
    }
}

/// Each is gone before the next sample, and the kernel accounts for none.
#[test]
fn children_that_leave_the_cgroup_one_after_another() {
    let script = format!(
        "{CGROUPS}
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(80):
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        write(root + '/cgroup.procs', '0')
        while time.process_time() < 0.02: pass
        os._exit(0)
    os.close(write_end)
    os.read(read_end, 1)
    os.close(read_end)"
    );
    for outcome in in_cgroups(&[python_of(&script)]) {
        assert!(outcome["interference"].to_string().contains("left the trial's cgroup"), "{outcome:#}");
    }
}

/// The next program would start in this cgroup, and stand still.
#[test]
fn a_cgroup_that_a_contender_froze_is_not_used_again() {
    let script = format!(
        "{CGROUPS}
if os.fork() == 0:
    write(root + '/cgroup.procs', '0')
    while open(OWN + '/cgroup.procs').read(): pass
    write(OWN + '/cgroup.freeze', '1')
    os._exit(0)"
    );
    // Without samples, which may see that it has left.
    let unseen = with(python_of(&script), "/sample_hz", json!(0));
    let next = with(request(&["true"]), "/limits/wall_s", json!(20));
    for outcome in in_cgroups(&[unseen, next]) {
        assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
    }
}

/// The kernel keeps no peak of them, and they may live between two samples.
#[test]
fn memory_of_children_that_nobody_waits_for_is_unknown() {
    let script = "import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(3):
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        x = bytearray(b'x') * (200 << 20)
        os._exit(0)
    os.close(write_end)
    os.read(read_end, 1)";
    let trial = run(&python_of(script));
    if trial.outcome["cpu_source"] == "cgroup" {
        assert_eq!(trial.outcome["peak_memory_bytes"], Value::Null, "{:#}", trial.outcome);
        assert_eq!(trial.outcome["peak_memory_unknown"], "children ended that nobody waited for");
    }
}

/// The probe looks among a million files for the socket of the port.
#[test]
fn limits_hold_for_a_server_with_many_files() {
    let script = "import os, resource, socket, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
listener = socket.create_server(('127.0.0.1', 0))
kept = [os.dup(0) for _ in range(min(most, 1 << 16) - 50)]
for _ in range(1_000_000 // len(kept)):
    if os.fork() == 0: break
else:
    print(f'::ready port={listener.getsockname()[1]}', flush=True)
time.sleep(500)";
    let load = json!({"protocol": "http", "requests": 1, "request": {"headers": [["Host", "here"]]}});
    let steps = json!([{"name": "all", "loads": [{"name": "all", "plan": load}]}]);
    let service = json!({"ready_s": 100, "idle_s": 0, "end_s": 1, "steps": steps});
    let begun = std::time::Instant::now();
    let trial = run(&with(with(python_of(script), "/service", service), "/limits/wall_s", json!(20)));
    assert_ne!(trial.outcome["outcome"], "ok", "{:#}", trial.outcome);
    assert!(begun.elapsed().as_secs() < 60, "{:#}", trial.outcome);
}
