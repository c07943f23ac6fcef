//! The program's stdout and stderr: read, parsed, and limited.

use crate::says::pipe::OutputPipe;
use crate::says::protocol_line::Parsed;
use crate::says::stdout::StdoutParser;
use std::os::unix::io::OwnedFd;
use wire::clock::thread_cpu_ns;

pub struct ProgramOutput {
    pub stdout: OutputPipe,
    pub stderr: OutputPipe,
    pub parser: StdoutParser,
    max_bytes: u64,
    /// CPU time of the reading while the program ran.
    pub reading_ns: u64,
}

impl ProgramOutput {
    /// `max_bytes`: the limit of both pipes together.
    pub fn new(stdout: OwnedFd, stderr: OwnedFd, parser: StdoutParser, max_bytes: u64) -> ProgramOutput {
        ProgramOutput {
            stdout: OutputPipe::new(stdout),
            stderr: OutputPipe::new(stderr),
            parser,
            max_bytes,
            reading_ns: 0,
        }
    }

    /// Reads and parses stdout; `clock`: nanoseconds of the trial. Returns the protocol lines, each with the time at
    /// which its end had been read.
    pub fn read_stdout(&mut self, clock: &dyn Fn() -> u64) -> Vec<(u64, Parsed)> {
        let before = thread_cpu_ns();
        let (lines, _) = self.parse_stdout(clock);
        self.reading_ns += thread_cpu_ns().saturating_sub(before);
        lines
    }

    /// As `read_stdout`; the second value is whether there may be more at once.
    fn parse_stdout(&mut self, clock: &dyn Fn() -> u64) -> (Vec<(u64, Parsed)>, bool) {
        let mut lines = Vec::new();
        let parser = &mut self.parser;
        let more = self.stdout.read(clock(), &mut |piece| {
            let t_ns = clock();
            parser.feed(piece, &mut |line| lines.push((t_ns, line)));
        });
        (lines, more)
    }

    pub fn read_stderr(&mut self, now_ns: u64) {
        let before = thread_cpu_ns();
        self.stderr.read(now_ns, &mut |_| {});
        self.reading_ns += thread_cpu_ns().saturating_sub(before);
    }

    /// Reads and parses this many bytes of stdout, which are in the pipe already. Returns the protocol lines.
    pub fn read_exactly(&mut self, bytes: u64) -> Vec<Parsed> {
        let mut lines = Vec::new();
        let parser = &mut self.parser;
        self.stdout.read_exactly(bytes, &mut |piece| {
            parser.feed(piece, &mut |line| lines.push(line));
        });
        lines
    }

    /// Reads what is left of both pipes, as far as the limit allows. Returns the protocol lines, and apart that of a
    /// last line without a newline.
    pub fn drain(&mut self, now_ns: u64) -> (Vec<Parsed>, Option<Parsed>) {
        let mut lines = Vec::new();
        let mut more = true;
        while more && self.stdout.bytes <= self.max_bytes {
            let (read, more_left) = self.parse_stdout(&|| now_ns);
            lines.extend(read.into_iter().map(|(_, line)| line));
            more = more_left;
        }
        more = true;
        while more && self.stderr.bytes <= self.max_bytes {
            more = self.stderr.read(now_ns, &mut |_| {});
        }
        let mut last = None;
        self.parser.finish(&mut |line| last = Some(line));
        (lines, last)
    }

    /// When to poll paused pipes again.
    pub fn paused_until_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        let pipes = [&self.stdout, &self.stderr];
        pipes.map(|pipe| pipe.paused_until_ns(now_ns)).into_iter().flatten()
    }
}
