//! Runs the real probe with fakes, and looks afterwards whether anything of them is alive.
pub mod certificates;
pub mod driving;
pub mod served;
pub mod server;

use serde_json::{json, Value};
use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const PROBE: &str = env!("CARGO_BIN_EXE_ringside-probe");

/// Far more than any trial here takes on a machine that is not stuck.
pub const PATIENCE: Duration = Duration::from_secs(300);

const MARK: &str = "RINGSIDE_TEST_MARK";

/// A new folder, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        let name = format!("ringside-{}-{}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn fake(name: &str) -> String {
    let path = [env!("CARGO_MANIFEST_DIR"), "tests", "fakes", name];
    path.iter().collect::<PathBuf>().display().to_string()
}

/// A request whose processes all carry a mark of their own in their environment.
pub fn request(argv: &[&str]) -> Value {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::var("PATH").unwrap();
    json!({
        "version": 1,
        "argv": argv,
        "cwd": "/",
        "env": {"PATH": path, MARK: mark},
        "limits": {
            "wall_s": 300, "memory_bytes": 1u64 << 32, "output_bytes": 1 << 30, "processes": 1000,
        },
        "sample_hz": 20,
        "cgroup": "auto",
        "expect": null,
        "awaits": ["spawned"],
    })
}

pub fn sh(script: &str) -> Value {
    request(&["sh", "-c", script])
}

pub fn python(name: &str, arguments: &[&str]) -> Value {
    let name = fake(name);
    request(&[&["python3", "-S", &name], arguments].concat())
}

pub fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    request.pointer_mut(parent).unwrap()[key] = value;
    request
}

/// The request with a cgroup, where one can be made, and without.
pub fn both_ways(request: Value) -> [Value; 2] {
    ["auto", "off"].map(|cgroup| with(request.clone(), "/cgroup", json!(cgroup)))
}

pub fn start(request: &Value) -> Child {
    start_lines(request.to_string())
}

/// A probe whose stdin, stdout and stderr are pipes.
pub fn spawn() -> Child {
    let mut probe = Command::new(PROBE);
    probe.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A probe that gets these lines on its stdin, which then ends.
pub fn start_lines(lines: impl AsRef<[u8]>) -> Child {
    let mut probe = spawn();
    let mut stdin = probe.stdin.take().unwrap();
    // A request that is refused may not be read to its end.
    let _ = stdin.write_all(&[lines.as_ref(), b"\n"].concat());
    probe
}

/// Waits for one more answer of a probe that runs.
pub fn answer(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

pub fn reader(probe: &mut Child) -> BufReader<std::process::ChildStdout> {
    BufReader::new(probe.stdout.take().unwrap())
}

pub struct Trial {
    pub answers: Vec<Value>,
    pub outcome: Value,
}

impl Trial {
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.answers.iter().filter(|answer| answer["type"] == kind).collect()
    }

    pub fn marked(&self, mark: &str) -> &Value {
        let samples = self.of("sample");
        samples.into_iter().find(|sample| sample["mark"] == mark).unwrap()
    }

    pub fn is(&self, outcome: &str, detail: &str) {
        let actual = self.outcome["detail"].as_str().unwrap();
        assert!(self.outcome["outcome"] == outcome && actual.contains(detail), "{:#}", self.outcome);
        assert!(!actual.contains('\n'));
    }
}

/// Carries out a trial, and checks what holds for every one: valid answers in the right order,
/// nothing alive, no cgroup left.
pub fn run(request: &Value) -> Trial {
    let output = start(request).wait_with_output().unwrap();
    let trial = parse(output);
    nothing_alive(request);
    if let Some(path) = trial.of("started").first().and_then(|started| started["cgroup"].as_str()) {
        assert!(!PathBuf::from(path).exists(), "{path}");
    }
    trial
}

/// The outcomes of trials that one probe carries out, one after another.
pub fn in_one_probe(requests: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    let output = start_lines(lines.join("\n")).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let outcomes = messages.filter(|message: &Value| message["type"] == "outcome");
    let outcomes: Vec<Value> = outcomes.collect();
    assert_eq!(outcomes.len(), requests.len(), "{outcomes:?}");
    outcomes
}

pub fn parse(output: Output) -> Trial {
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert_eq!(talk, "");
    let text = String::from_utf8(output.stdout).unwrap();
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let mut answers: Vec<Value> = text.lines().map(parse).collect();
    let outcome = answers.pop().unwrap();
    assert_eq!(outcome["type"], "outcome");
    assert!(answers.iter().all(|answer| answer["type"] != "outcome"));
    assert!(answers.iter().skip(1).all(|answer| answer["type"] != "started"));
    Trial { answers, outcome }
}

/// Checks that a request is refused, in one line that has this word.
pub fn is_refused(request: &impl Display, word: &str) {
    let talk = refused(&format!("{request}\n"));
    assert!(talk.contains(word), "{word}: {talk}");
}

/// The line on stderr of a request that is refused.
pub fn refused(text: &str) -> String {
    let mut probe = spawn();
    let _ = probe.stdin.take().unwrap().write_all(text.as_bytes());
    let output = probe.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(talk.lines().count(), 1, "{talk}");
    talk
}

/// The processes, zombies apart, that carry the request's mark.
pub fn alive(request: &Value) -> Vec<i32> {
    let mark = format!("{MARK}={}\0", request["env"][MARK].as_str().unwrap());
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has = |text: &[u8]| text.windows(mark.len()).any(|part| part == mark.as_bytes());
        pids.extend(pid.filter(|_| has(&environment)));
    }
    pids
}

pub fn nothing_alive(request: &Value) {
    let pids = alive(request);
    assert!(pids.is_empty(), "still alive: {pids:?}, of {}", request["argv"]);
}

/// Waits until a condition holds; for what happens after the probe was killed.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
