//! JSON lines on stdout. They are buffered while the trial runs, so that writing them and waking the reader cost
//! the contender nothing.

use crate::os::{self, poll, Errno, PollFd};
use std::fmt::Display;
use std::io::Write;
use std::os::unix::io::BorrowedFd;

const BUFFER_BYTES: usize = 16 * 1024;

/// A pipe that is ready for writing takes at least this much without blocking (PIPE_BUF).
const WRITE_BYTES: usize = 4096;

/// The reader closed its end: no process reads the messages any more.
#[derive(Debug)]
pub struct ReaderGone;

pub struct Writer<'a> {
    pub file: BorrowedFd<'a>,
    buffer: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(file: BorrowedFd<'a>) -> Writer<'a> {
        Writer { file, buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// Buffers a message, which is a line of JSON; writes the buffer when the message is urgent or the buffer is full.
    /// Never blocks: a slow reader must not delay the enforcement of limits.
    pub fn send(&mut self, message: &impl Display, urgent: bool) -> Result<(), ReaderGone> {
        writeln!(self.buffer, "{message}").expect("memory takes all");
        if urgent || self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is buffered, as far as the reader takes it at once.
    pub fn flush(&mut self) -> Result<(), ReaderGone> {
        self.write(Some(0))
    }

    /// Writes the whole buffer, and waits for the reader. Only when nothing runs any more.
    pub fn finish(mut self) -> Result<(), ReaderGone> {
        self.write(None)
    }

    fn write(&mut self, wait_ns: Option<u64>) -> Result<(), ReaderGone> {
        let mut written = 0;
        while written < self.buffer.len() {
            let mut ready = [PollFd::writable(self.file)];
            match poll(&mut ready, wait_ns) {
                Ok(0) if wait_ns.is_some() => break,
                Ok(_) => {}
                // No descriptor is allowed any more. The end may wait in the call itself.
                Err(_) if wait_ns.is_some() => break,
                Err(_) => {}
            }
            let end = self.buffer.len().min(written + WRITE_BYTES);
            match os::write(self.file, &self.buffer[written..end]) {
                Ok(count) => written += count,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Err(ReaderGone),
            }
        }
        self.buffer.drain(..written);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{ProgramPhase, Sample, ServiceReady};
    use std::io::Read;
    use std::os::unix::io::AsFd;

    #[test]
    fn a_slow_reader_does_not_block() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut writer = Writer::new(write.as_fd());
        let sample = Sample { mark: Some("x".repeat(1000)), ..Sample::default() };
        for _ in 0..1000 {
            writer.send(&sample, true).unwrap();
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

    /// `started` woke the reader while the program ran.
    #[test]
    fn what_is_not_urgent_waits() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        rustix::fs::fcntl_setfl(&read, rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut writer = Writer::new(write.as_fd());
        let message = ServiceReady { t_ns: 0, port: None };
        writer.send(&message, false).unwrap();
        let mut buffer = [0; 100];
        assert_eq!(crate::os::read(&read, &mut buffer), Err(Errno::AGAIN));
        writer.flush().unwrap();
        assert!(rustix::io::read(&read, &mut buffer).unwrap() > 0);
    }

    #[test]
    fn a_closed_reader_is_an_error() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        drop(read);
        let mut writer = Writer::new(write.as_fd());
        let message = ServiceReady { t_ns: 0, port: None };
        assert!(writer.send(&message, true).is_err());
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
            let message = ProgramPhase { t_ns: 1, name: name.clone(), ns: u64::MAX };
            writer.send(&message, false).unwrap();
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
