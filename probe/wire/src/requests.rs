//! The requests, one line each: a probe carries out one trial after another.

use crate::os::{poll, PollFd};
use crate::refuse;
use crate::sys;
use crate::text::failed;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::mem;
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};

const MAX_BYTES: u64 = 16 << 20;
/// Bytes that follow a request: the body that a load sends.
const MAX_BODY_BYTES: u64 = 100 << 20;

pub struct Requests {
    reader: BufReader<File>,
    /// The beginning of a line whose end has not come yet; of `arrived` only.
    partial: Vec<u8>,
}

impl Requests {
    pub fn of_stdin() -> io::Result<Requests> {
        let file = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Requests { reader: BufReader::new(File::from(file)), partial: Vec::new() })
    }

    /// Readable when lines may have come.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.reader.get_ref().as_fd()
    }

    /// The lines that have come, none while one is not whole; None at the end of stdin. Waits for nothing if `file`
    /// is readable.
    pub fn arrived(&mut self) -> Result<Option<Vec<Vec<u8>>>, String> {
        let bytes = match self.reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(Vec::new())),
            Err(error) => return Err(format!("stdin: {error}")),
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.push(mem::take(&mut self.partial));
            }
        }
        let count = bytes.len();
        self.reader.consume(count);
        match self.partial.len() as u64 > MAX_BYTES {
            true => Err(format!("more than {MAX_BYTES} bytes in one line")),
            false => Ok(Some(lines)),
        }
    }

    /// The next line; None at the end of stdin, or when a signal that asks for the end came while nothing was under
    /// way. `signals`: their file.
    pub fn next(&mut self, signals: &OwnedFd) -> Result<Option<Vec<u8>>, String> {
        let mut line = Vec::new();
        if self.reader.buffer().is_empty() && !self.wait(signals) {
            return Ok(None);
        }
        let mut limited = (&mut self.reader).take(MAX_BYTES);
        limited.read_until(b'\n', &mut line).map_err(failed("stdin"))?;
        match line.len() as u64 {
            0 => Ok(None),
            MAX_BYTES => Err(format!("more than {MAX_BYTES} bytes in one line")),
            _ => Ok(Some(line)),
        }
    }

    /// The bytes that follow a line, without the newline behind them.
    pub fn bytes(&mut self, count: u64) -> Result<Vec<u8>, String> {
        refuse!(count > MAX_BODY_BYTES, "load: body_bytes: {MAX_BODY_BYTES} at most");
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(count + 1);
        limited.read_to_end(&mut bytes).map_err(failed("stdin"))?;
        match bytes.pop() {
            Some(b'\n') if bytes.len() as u64 == count => Ok(bytes),
            _ => Err("load: stdin ended within the body".into()),
        }
    }

    /// Whether there is something to read.
    fn wait(&self, signals: &OwnedFd) -> bool {
        let stdin = self.reader.get_ref().as_fd();
        loop {
            let mut files = [PollFd::readable(stdin), PollFd::readable(signals.as_fd())];
            let polled = poll(&mut files, None);
            if polled.is_err() || files[0].is_ready() {
                return polled.is_ok();
            }
            // The last orphans of a trial may be told of now.
            if sys::end_requested(signals) {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;

    #[test]
    fn one_line_after_another() {
        let (signals, _open) = pipe().unwrap();
        let (read, write) = pipe().unwrap();
        rustix::io::write(&write, b"a\nb\nc").unwrap();
        drop(write);
        let mut requests = Requests { reader: BufReader::new(File::from(read)), partial: Vec::new() };
        let mut lines = Vec::new();
        while let Some(line) = requests.next(&signals).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, [&b"a\n"[..], b"b\n", b"c"]);
    }

    #[test]
    fn lines_that_arrive_in_pieces() {
        let (read, write) = pipe().unwrap();
        let mut requests = Requests { reader: BufReader::new(File::from(read)), partial: Vec::new() };
        let mut after = |bytes: &[u8]| {
            rustix::io::write(&write, bytes).unwrap();
            requests.arrived().unwrap().unwrap()
        };
        assert_eq!(after(b"a\nb"), [b"a\n"]);
        assert!(after(b"c").is_empty());
        assert_eq!(after(b"d\n\ne\n"), [&b"bcd\n"[..], b"\n", b"e\n"]);
        drop(write);
        assert!(requests.arrived().unwrap().is_none());
    }

    #[test]
    fn a_signal_ends_an_idle_probe() {
        // As signalfd writes it: SIGTERM, then the other fields.
        let mut signal = [0u8; 128];
        signal[0] = libc::SIGTERM as u8;
        let (signals, sender) = pipe().unwrap();
        rustix::fs::fcntl_setfl(&signals, rustix::fs::OFlags::NONBLOCK).unwrap();
        rustix::io::write(&sender, &signal).unwrap();
        let (read, _open) = pipe().unwrap();
        let mut requests = Requests { reader: BufReader::new(File::from(read)), partial: Vec::new() };
        assert!(requests.next(&signals).unwrap().is_none());
    }
}
