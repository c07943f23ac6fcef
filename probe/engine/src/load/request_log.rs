//! A file with a line for each request, for which the threads of the load never wait: they hand their lines over now and
//! then, and another thread writes them. Both places are bounded; what finds no room is dropped, and counted.

use super::error::ErrorKind;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Lines per second of all threads, above which only a part of the requests has one.
const MAX_PER_S: u64 = 10_000;
/// The same for each so many lines, so that a file grows ever more slowly.
const MAX_AT_A_PART: u64 = 5_000_000;
/// Lines that a thread holds, and hands over, each 64 bytes.
const MAX_HELD: usize = 1 << 14;
const MAX_QUEUED: usize = 1 << 17;
const PAUSE: Duration = Duration::from_millis(50);
const HEADER: &str = "number,target,intended_s,sent_s,end_s,latency_ms,service_ms,status,error,of\n";

/// A request that has ended, or a connect that failed. Instants are those of the monotonic clock, 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    pub number: u64,
    pub target: usize,
    pub intended_ns: u64,
    pub sent_ns: u64,
    pub end_ns: u64,
    /// 0: none.
    pub status: u16,
    pub error: Option<&'static str>,
    /// It stands for so many, which the logger enters.
    pub of: u64,
}

/// What became of a log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub lines: u64,
    /// At the end a line stood for so many requests at the most.
    pub of: u64,
    pub dropped: u64,
    /// Why it is not whole.
    pub failed: Option<String>,
}

/// What one thread hands over.
#[derive(Default)]
struct Queue {
    lines: Vec<Line>,
    of: u64,
    dropped: u64,
}

/// The lines of one thread of the load.
pub struct Logger {
    queue: Arc<Mutex<Queue>>,
    held: Vec<Line>,
    max_per_s: u64,
    /// One of so many requests has a line.
    of: u64,
    seen: u64,
    /// A second, and how many lines it has.
    second: (u64, u64),
    lines: u64,
    dropped: u64,
}

impl Logger {
    fn new(queue: Arc<Mutex<Queue>>, threads: usize) -> Logger {
        Logger {
            queue,
            held: Vec::with_capacity(MAX_HELD),
            max_per_s: (MAX_PER_S / threads as u64).max(1),
            of: 1,
            seen: 0,
            second: (0, 0),
            lines: 0,
            dropped: 0,
        }
    }

    /// A request has ended.
    pub fn add(&mut self, line: Line) {
        self.seen += 1;
        if self.seen % self.of != 0 {
            return;
        }
        let second = line.end_ns / 1_000_000_000;
        if self.second.0 != second {
            self.second = (second, 0);
        }
        self.second.1 += 1;
        self.lines += 1;
        let of = self.of;
        if self.second.1 >= self.max_per_s || self.lines % MAX_AT_A_PART == 0 {
            self.of *= 2;
            self.second.1 /= 2;
        }
        match self.held.len() < MAX_HELD {
            true => self.held.push(Line { of, ..line }),
            false => self.dropped += 1,
        }
    }

    /// Hands lines over, unless the writer takes some now.
    pub fn publish(&mut self) {
        if let Ok(mut queue) = self.queue.try_lock() {
            hand_over(&mut self.held, &mut queue);
            (queue.of, queue.dropped) = (self.of, queue.dropped + std::mem::take(&mut self.dropped));
        }
    }
}

fn hand_over(held: &mut Vec<Line>, queue: &mut Queue) {
    let room = MAX_QUEUED - queue.lines.len();
    let count = held.len().min(room);
    queue.dropped += (held.len() - count) as u64;
    queue.lines.extend(held.drain(..).take(count));
}

impl Drop for Logger {
    /// The load is over, so that it can wait.
    fn drop(&mut self) {
        let queue = Arc::clone(&self.queue);
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        hand_over(&mut self.held, &mut queue);
        (queue.of, queue.dropped) = (self.of, queue.dropped + self.dropped);
    }
}

/// A log that is written.
pub struct Log {
    queues: Vec<Arc<Mutex<Queue>>>,
    end: Sender<()>,
    thread: JoinHandle<Summary>,
}

impl Log {
    /// Starts the writer; instants count from `start_ns`.
    pub fn start(file: File, threads: usize, start_ns: u64) -> io::Result<Log> {
        let queues: Vec<Arc<Mutex<Queue>>> = (0..threads).map(|_| Arc::default()).collect();
        let (end, ended) = channel();
        let own = queues.clone();
        let thread = Builder::new().name("log".into()).spawn(move || {
            let mut writer = LogWriter::new(file, start_ns);
            loop {
                let is_over = ended.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout);
                for queue in &own {
                    writer.take(queue);
                }
                if is_over {
                    return writer.finish();
                }
            }
        })?;
        Ok(Log { queues, end, thread })
    }

    /// Where the thread of that number logs.
    pub fn logger(&self, thread: usize) -> Logger {
        Logger::new(Arc::clone(&self.queues[thread]), self.queues.len())
    }

    /// Waits for the last lines, after all threads of the load have ended.
    pub fn finish(self) -> Summary {
        drop(self.end);
        self.thread.join().unwrap_or_else(|_| Summary {
            failed: Some("its thread panicked: please report it".into()),
            ..Summary::default()
        })
    }
}

struct LogWriter {
    file: BufWriter<File>,
    start_ns: u64,
    taken: Vec<Line>,
    summary: Summary,
}

impl LogWriter {
    fn new(file: File, start_ns: u64) -> LogWriter {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let failed = file.write_all(HEADER.as_bytes()).err();
        LogWriter {
            file,
            start_ns,
            taken: Vec::new(),
            summary: Summary { failed: failed.map(|error| error.to_string()), ..Summary::default() },
        }
    }

    fn take(&mut self, queue: &Mutex<Queue>) {
        self.taken.clear();
        {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut self.taken, &mut queue.lines);
            self.summary.dropped += std::mem::take(&mut queue.dropped);
            self.summary.of = self.summary.of.max(queue.of);
        }
        for line in &self.taken {
            if self.summary.failed.is_some() {
                self.summary.dropped += 1;
                continue;
            }
            match write(&mut self.file, line, self.start_ns) {
                Ok(()) => self.summary.lines += 1,
                Err(error) => self.summary.failed = Some(error.to_string()),
            }
        }
    }

    fn finish(mut self) -> Summary {
        if let Err(error) = self.file.flush() {
            self.summary.failed.get_or_insert(error.to_string());
        }
        self.summary
    }
}

fn write(to: &mut impl Write, line: &Line, start_ns: u64) -> io::Result<()> {
    let seconds = |at_ns: u64| match at_ns {
        0 => String::new(),
        _ => format!("{:.6}", (at_ns as f64 - start_ns as f64) / 1e9),
    };
    let ms = |since_ns: u64| match since_ns {
        0 => String::new(),
        _ => format!("{:.6}", line.end_ns.saturating_sub(since_ns) as f64 / 1e6),
    };
    let number = |number: u64| match number {
        0 => String::new(),
        _ => number.to_string(),
    };
    writeln!(
        to,
        "{},{},{},{},{},{},{},{},{},{}",
        number(line.number),
        line.target,
        seconds(line.intended_ns),
        seconds(line.sent_ns),
        seconds(line.end_ns),
        ms(line.intended_ns),
        ms(line.sent_ns),
        number(line.status.into()),
        line.error.unwrap_or_default(),
        line.of,
    )
}

/// The name of an error in a line.
pub fn name(kind: ErrorKind) -> &'static str {
    ErrorKind::NAMES[kind as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logger() -> Logger {
        Logger::new(Arc::default(), 1)
    }

    fn line(end_ns: u64) -> Line {
        Line { end_ns, ..Line::default() }
    }

    /// Each line stands for the requests since the one before.
    #[test]
    fn all_requests_have_a_line_up_to_a_rate_and_a_part_of_more() {
        for (per_s, seconds) in [(MAX_PER_S - 1, 3), (8 * MAX_PER_S, 4), (100 * MAX_PER_S, 2)] {
            let (mut logger, mut lines) = (logger(), Vec::new());
            for number in 0..per_s * seconds {
                logger.add(line(1 + number * 1_000_000_000 / per_s));
                lines.append(&mut logger.held);
            }
            let stood_for: u64 = lines.iter().map(|line| line.of).sum();
            let all = per_s * seconds;
            assert!(stood_for.abs_diff(all) <= 2 * logger.of, "{stood_for} {all}");
            assert_eq!(lines.len() as u64 == all, per_s < MAX_PER_S);
            let last = lines.iter().filter(|line| line.end_ns > (seconds - 1) * 1_000_000_000);
            assert!(last.count() as u64 <= MAX_PER_S, "{per_s}");
        }
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let mut logger = logger();
        let queue = Arc::clone(&logger.queue);
        let locked = queue.lock().unwrap();
        for number in 0..MAX_HELD as u64 + 5 {
            logger.add(line(number * 1_000_000_000));
        }
        // It does not wait for the writer.
        logger.publish();
        assert_eq!((logger.held.len(), logger.dropped), (MAX_HELD, 5));
        drop(locked);
        let rounds = MAX_QUEUED / MAX_HELD;
        for _ in 0..rounds {
            logger.publish();
            while logger.held.len() < MAX_HELD {
                logger.held.push(line(1));
            }
        }
        drop(logger);
        let queue = queue.lock().unwrap();
        assert_eq!((queue.lines.len(), queue.dropped), (MAX_QUEUED, 5 + MAX_HELD as u64));
    }

    #[test]
    fn a_line_has_only_what_is_known() {
        let text = |line: Line| {
            let mut text = Vec::new();
            write(&mut text, &line, 1_000_000_000).unwrap();
            String::from_utf8(text).unwrap()
        };
        let whole = Line {
            number: 7,
            target: 1,
            intended_ns: 1_500_000_000,
            sent_ns: 1_501_000_000,
            end_ns: 1_503_000_000,
            status: 200,
            error: None,
            of: 4,
        };
        let expected = "7,1,0.500000,0.501000,0.503000,3.000000,2.000000,200,,4\n";
        assert_eq!(text(whole), expected);
        let refused = Line { error: Some("connect-refused"), of: 1, ..line(1_000_001_000) };
        assert_eq!(text(refused), ",0,,,0.000001,,,,connect-refused,1\n");
        assert_eq!(HEADER.matches(',').count(), expected.matches(',').count());
    }

    #[test]
    fn a_disk_that_is_full_ends_the_log_and_not_the_load() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let log = Log::start(file, 1, 0).unwrap();
        let mut logger = log.logger(0);
        for number in 1..9_000 {
            logger.add(line(number));
        }
        drop(logger);
        let summary = log.finish();
        assert!(summary.failed.unwrap().contains("No space left"));
    }
}
