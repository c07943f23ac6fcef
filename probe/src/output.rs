//! The answers: JSON lines on stdout. They are held back while the trial runs, so that writing
//! them and waking the reader cost the contender nothing.

use crate::lines::Span;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::io::BorrowedFd;

const HOLD_BYTES: usize = 16 * 1024;

/// A pipe that is ready for writing takes at least so much without blocking (PIPE_BUF).
const STEP_BYTES: usize = 4096;

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Answer<'a> {
    Started {
        version: u64,
        pid: i32,
        t_ns: u64,
        cgroup: Option<&'a str>,
        missing: &'a [String],
    },
    Ready {
        t_ns: u64,
        port: Option<u16>,
    },
    Phase {
        t_ns: u64,
        name: &'a str,
        ns: u64,
    },
    Sample(&'a Sample),
    Span(Span),
    Outcome(Box<Ending>),
}

#[derive(Debug, Default, Serialize)]
pub struct Sample {
    pub t_ns: u64,
    pub mark: Option<String>,
    pub processes: u64,
    pub threads: u64,
    pub cpu_ns: u64,
    pub rss_bytes: u64,
    pub pss_bytes: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub run_queue_ns: u64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<More>>,
}

/// What a time line has besides.
#[derive(Debug, Default, Serialize)]
pub struct More {
    /// `(thread, cpu_ns)` of those whose time has changed since the last look at threads; None where
    /// this sample did not look at them.
    pub cpu_by_thread: Option<Vec<(i32, u64)>>,
    #[serde(flatten)]
    pub kernel: KernelMemory,
}

/// What the kernel holds, of the whole host; None where it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelMemory {
    /// Slabs (sockets, files and what hangs on them), stacks of threads, page tables.
    pub kernel_bytes: Option<u64>,
    /// Buffers of TCP.
    pub tcp_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadTold {
    pub tid: i32,
    pub name: String,
    pub cpu_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Ok,
    WrongEvidence,
    Crashed,
    TimedOut,
    OutOfMemory,
    Flooded,
    NeverReady,
    LoadFailed,
    Interrupted,
}

#[derive(Debug, Serialize)]
pub struct Ending {
    pub outcome: Verdict,
    pub detail: String,
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    pub wall_ns: u64,
    pub paused_ns: u64,
    /// From SIGTERM to the end of a server that ended by it.
    pub ending_ns: Option<u64>,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub cpu_source: &'static str,
    pub peak_pss_bytes: Option<u64>,
    pub memory_peak_bytes: Option<u64>,
    pub peak_threads: u64,
    pub peak_processes: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub run_queue_ns: u64,
    pub result: Option<BTreeMap<String, String>>,
    pub output: Output,
    pub stdout_tail: String,
    pub stderr_tail: String,
    pub left_behind: u64,
    pub probe_cpu_ns: u64,
    pub samples: u64,
    pub sample_interval_ns: Option<u64>,
    /// Of a time line: those that had most of the CPU, the busiest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadTold>,
    /// The CPUs that the program was given, over the whole trial.
    pub cpus: Vec<CpuTime>,
    pub pressure: Pressure,
    /// How long the fixed computation took, where it was asked for.
    pub reference_ns: Option<u64>,
}

/// Time in which some thread of the host waited for a CPU, for memory, for the disk; None where the kernel does
/// not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pressure {
    pub cpu_ns: Option<u64>,
    pub memory_ns: Option<u64>,
    pub io_ns: Option<u64>,
}

/// What a CPU did, for whoever it was; the kernel counts in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTime {
    pub cpu: usize,
    pub busy_ns: u64,
    pub idle_ns: u64,
    /// Neither idle nor at work for this host.
    pub stolen_ns: u64,
}

#[derive(Debug, Serialize)]
pub struct Output {
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub lines: u64,
    pub starting: BTreeMap<char, u64>,
    /// Of a plain command's stdout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The reader has gone: nobody wants the trial any more.
#[derive(Debug)]
pub struct ReaderGone;

pub struct Writer<'a> {
    file: BorrowedFd<'a>,
    held: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(file: BorrowedFd<'a>) -> Writer<'a> {
        let held = Vec::with_capacity(HOLD_BYTES);
        Writer { file, held }
    }

    pub fn file(&self) -> BorrowedFd<'a> {
        self.file
    }

    /// Holds an answer; writes what is held when it is urgent or has become much. Never blocks:
    /// a reader that is slow must not keep the probe from its limits.
    pub fn answer(&mut self, answer: &impl Serialize, urgent: bool) -> Result<(), ReaderGone> {
        serde_json::to_writer(&mut self.held, answer).expect("an answer has only text keys");
        self.held.push(b'\n');
        if urgent || self.held.len() >= HOLD_BYTES {
            self.write(Some(&Timespec::default()))?;
        }
        Ok(())
    }

    /// Writes all that is held, and waits for the reader. Only when nothing runs any more.
    pub fn finish(mut self) -> Result<(), ReaderGone> {
        self.write(None)
    }

    fn write(&mut self, wait: Option<&Timespec>) -> Result<(), ReaderGone> {
        let mut done = 0;
        while done < self.held.len() {
            let mut ready = [PollFd::from_borrowed_fd(self.file, PollFlags::OUT)];
            match poll(&mut ready, wait) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return Err(ReaderGone),
            }
            let end = self.held.len().min(done + STEP_BYTES);
            match rustix::io::write(self.file, &self.held[done..end]) {
                Ok(count) => done += count,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Err(ReaderGone),
            }
        }
        self.held.drain(..done);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::io::AsFd;

    #[test]
    fn a_reader_that_does_not_read_blocks_nobody() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut writer = Writer::new(write.as_fd());
        let sample = Sample {
            mark: Some("x".repeat(1000)),
            ..Sample::default()
        };
        for _ in 0..1000 {
            writer.answer(&Answer::Sample(&sample), true).unwrap();
        }
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            std::fs::File::from(read).read_to_string(&mut text).unwrap();
            text
        });
        writer.finish().unwrap();
        drop(write);
        let text = reader.join().unwrap();
        assert_eq!(text.lines().count(), 1000);
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        drop(read);
        let mut writer = Writer::new(write.as_fd());
        let answer = Answer::Ready {
            t_ns: 0,
            port: None,
        };
        assert!(writer.answer(&answer, true).is_err());
    }

    #[test]
    fn any_text_gives_one_line_of_json() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let length = random.usize(..40);
            let any = |random: &mut fastrand::Rng| match random.u8(..3) {
                0 => char::from(random.u8(..0x80)),
                1 => random.char('\0'..='\u{2fff}'),
                _ => random.char(..),
            };
            let name: String = (0..length).map(|_| any(&mut random)).collect();
            let (read, write) = rustix::pipe::pipe().unwrap();
            let mut writer = Writer::new(write.as_fd());
            let answer = Answer::Phase {
                t_ns: 1,
                name: &name,
                ns: u64::MAX,
            };
            writer.answer(&answer, false).unwrap();
            writer.finish().unwrap();
            drop(write);
            let mut text = String::new();
            std::fs::File::from(read).read_to_string(&mut text).unwrap();
            assert_eq!(text.matches('\n').count(), 1, "seed {seed}");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["name"].as_str().unwrap(), name, "seed {seed}");
        }
    }
}
