//! A file with a line for each request, for which the threads of the load never wait: they hand their lines over now and
//! then, and another thread writes them. Both places are bounded; what finds no room is dropped, and counted.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::thread::{Builder, JoinHandle};

/// Lines per second of all threads, above which only a part of the requests has one.
const MAX_PER_S: u64 = 10_000;
/// After each multiple of this many lines, the share of requests with a line shrinks, so the file grows ever more
/// slowly.
const MAX_AT_A_PART: u64 = 5_000_000;
/// Lines that a thread holds, each 64 bytes, and how many batches of them may wait for the writer.
const MAX_HELD: usize = 1 << 14;
const MAX_QUEUED: usize = 32;
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
    /// How many requests the line stands for; the logger sets it.
    pub of: u64,
}

/// The outcome of a log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub lines: u64,
    /// The most requests that a line stands for.
    pub of: u64,
    pub dropped: u64,
    /// Why the log is not complete.
    pub failed: Option<String>,
}

/// The lines that one thread hands over.
#[derive(Default)]
struct Batch {
    lines: Vec<Line>,
    dropped: u64,
}

/// The lines of one thread of the load.
pub struct Logger {
    queue: SyncSender<Batch>,
    batch: Batch,
    /// One of this many requests has a line.
    of: u64,
    max_per_s: u64,
    seen: u64,
    /// A second, and how many lines it has.
    second: (u64, u64),
    lines: u64,
}

impl Logger {
    fn new(queue: SyncSender<Batch>, threads: usize) -> Logger {
        Logger {
            queue,
            batch: Batch::default(),
            of: 1,
            max_per_s: (MAX_PER_S / threads as u64).max(1),
            seen: 0,
            second: (0, 0),
            lines: 0,
        }
    }

    /// A request has ended.
    pub fn add(&mut self, line: Line) {
        self.seen += 1;
        let of = self.of;
        if self.seen % of != 0 {
            return;
        }
        let second = line.end_ns / 1_000_000_000;
        if self.second.0 != second {
            self.second = (second, 0);
        }
        self.second.1 += 1;
        self.lines += 1;
        if self.second.1 >= self.max_per_s || self.lines % MAX_AT_A_PART == 0 {
            self.of *= 2;
            self.second.1 /= 2;
        }
        match self.batch.lines.len() < MAX_HELD {
            true => self.batch.lines.push(Line { of, ..line }),
            false => self.batch.dropped += 1,
        }
    }

    /// Hands lines over, unless too many wait for the writer.
    pub fn publish(&mut self) {
        if let Err(TrySendError::Full(batch)) = self.queue.try_send(std::mem::take(&mut self.batch)) {
            self.batch = batch;
        }
    }
}

impl Drop for Logger {
    /// The load is over, so that it can wait.
    fn drop(&mut self) {
        // The writer is there, unless it has panicked.
        let _ = self.queue.send(std::mem::take(&mut self.batch));
    }
}

pub struct Log(JoinHandle<Summary>);

impl Log {
    /// Starts the writer, which ends with the last logger; each thread of the load has one. Instants count from
    /// `start_ns`.
    pub fn start(file: File, threads: usize, start_ns: u64) -> io::Result<(Log, Vec<Logger>)> {
        let (queue, batches) = sync_channel(threads * MAX_QUEUED);
        let loggers = (0..threads).map(|_| Logger::new(queue.clone(), threads)).collect();
        let writer = Builder::new().name("log".into());
        let thread = writer.spawn(move || write_all(file, &batches, start_ns))?;
        Ok((Log(thread), loggers))
    }

    /// Waits for the last lines, after all threads of the load have ended.
    pub fn finish(self) -> Summary {
        self.0.join().unwrap_or_else(|_| Summary {
            failed: Some("its thread panicked: please report it".into()),
            ..Summary::default()
        })
    }
}

/// Writes what loggers hand over, until all have ended; nothing more after an error.
fn write_all(file: File, batches: &Receiver<Batch>, start_ns: u64) -> Summary {
    let mut file = BufWriter::with_capacity(1 << 18, file);
    let mut summary = Summary { of: 1, ..Summary::default() };
    let mut written = file.write_all(HEADER.as_bytes());
    for batch in batches {
        summary.dropped += batch.dropped;
        for line in &batch.lines {
            summary.of = summary.of.max(line.of);
            written = written.and_then(|()| write(&mut file, line, start_ns));
            match written {
                Ok(()) => summary.lines += 1,
                Err(_) => summary.dropped += 1,
            }
        }
    }
    let written = written.and_then(|()| file.flush());
    summary.failed = written.err().map(|error| error.to_string());
    summary
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

#[cfg(test)]
mod tests {
    use super::*;

    fn logger() -> (Logger, Receiver<Batch>) {
        let (queue, batches) = sync_channel(MAX_QUEUED);
        (Logger::new(queue, 1), batches)
    }

    fn line(end_ns: u64) -> Line {
        Line { end_ns, ..Line::default() }
    }

    /// Each line stands for the requests since the one before.
    #[test]
    fn all_requests_have_a_line_up_to_a_rate_and_a_part_of_more() {
        for (per_s, seconds) in [(MAX_PER_S - 1, 3), (8 * MAX_PER_S, 4), (100 * MAX_PER_S, 2)] {
            let ((mut logger, _batches), mut lines) = (logger(), Vec::new());
            for number in 0..per_s * seconds {
                logger.add(line(1 + number * 1_000_000_000 / per_s));
                lines.append(&mut logger.batch.lines);
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
        let (mut logger, batches) = logger();
        for number in 0..MAX_HELD as u64 + 5 {
            logger.add(line(number * 1_000_000_000));
        }
        // It does not wait for the writer.
        for _ in 0..MAX_QUEUED + 2 {
            logger.publish();
            logger.batch.lines.resize(MAX_HELD, line(1));
        }
        logger.add(line(1));
        let writer = std::thread::spawn(move || {
            batches
                .iter()
                .fold((0, 0), |(lines, dropped), batch| (lines + batch.lines.len(), dropped + batch.dropped))
        });
        drop(logger);
        assert_eq!(writer.join().unwrap(), ((MAX_QUEUED + 1) * MAX_HELD, 6));
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
        let (log, mut loggers) = Log::start(file, 1, 0).unwrap();
        for number in 1..9_000 {
            loggers[0].add(line(number));
        }
        drop(loggers);
        let summary = log.finish();
        assert!(summary.failed.unwrap().contains("No space left"));
    }
}
