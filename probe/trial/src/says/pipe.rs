//! One of the program's output pipes: reads it in large pieces, counts, keeps the tail.

use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use wire::os::{self, unread_bytes, Errno};

const PIECE_BYTES: usize = 256 * 1024;
const FIRST_BYTES: usize = 4096;
const TAIL_BYTES: usize = 4096;

/// A larger pipe lets a program that prints much run on while the probe counts. For others it costs more than it is worth.
const PIPE_BYTES: usize = 1 << 20;
const MUCH_BYTES: u64 = 16 * 1024;

/// Pieces read before the loop checks the clock and the limits again.
const MAX_PIECES: usize = 8;

/// Read coalescing: a program that writes line by line would wake the probe for each line. Where a read follows
/// another within twice this time, the pipe is not polled for this time.
const COALESCE_NS: u64 = 500_000;

#[derive(Default)]
pub struct OutputPipe {
    /// None when the program has closed it.
    file: Option<OwnedFd>,
    buffer: Vec<u8>,
    tail: Vec<u8>,
    /// How many were read.
    pub bytes: u64,
    is_enlarged: bool,
    last_ns: Option<u64>,
    paused_until_ns: u64,
}

impl OutputPipe {
    pub fn new(file: OwnedFd) -> OutputPipe {
        OutputPipe { file: Some(file), ..OutputPipe::default() }
    }

    /// The file to poll, when it is open and not paused.
    pub fn waiting(&self, now_ns: u64) -> Option<BorrowedFd<'_>> {
        let file = self.file.as_ref().filter(|_| now_ns >= self.paused_until_ns);
        file.map(AsFd::as_fd)
    }

    /// When to poll it again, if it is paused.
    pub fn paused_until_ns(&self, now_ns: u64) -> Option<u64> {
        let paused = self.file.is_some() && self.paused_until_ns > now_ns;
        paused.then_some(self.paused_until_ns)
    }

    /// Reads the available bytes, in a bounded number of pieces. True when there may be more.
    pub fn read(&mut self, now_ns: u64, on_piece: &mut dyn FnMut(&[u8])) -> bool {
        let Some(file) = &self.file else { return false };
        // Room that is not filled with zeros first: that would take longer than most programs' output. Most print little.
        self.buffer.reserve(match self.bytes {
            0 => FIRST_BYTES,
            _ => PIECE_BYTES,
        });
        let mut more = true;
        for _ in 0..MAX_PIECES {
            self.buffer.clear();
            match os::read_into_room(file, &mut self.buffer) {
                Ok(count @ 1..) => {
                    let piece = &self.buffer[..count];
                    self.bytes += count as u64;
                    keep_tail(&mut self.tail, piece);
                    on_piece(piece);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    more = false;
                    break;
                }
                Ok(_) | Err(_) => {
                    self.file = None;
                    more = false;
                    break;
                }
            }
        }
        if let (true, false, Some(file)) = (self.bytes > MUCH_BYTES, self.is_enlarged, &self.file) {
            self.is_enlarged = true;
            // If the user's pipes hold too much already, the size stays unchanged.
            let _ = os::set_pipe_size(file, PIPE_BYTES);
        }
        let busy = self.last_ns.is_some_and(|last| now_ns - last < 2 * COALESCE_NS);
        if busy && !more {
            self.paused_until_ns = now_ns + COALESCE_NS;
        }
        self.last_ns = Some(now_ns);
        more
    }

    /// How many bytes are in the pipe now.
    pub fn unread(&self) -> u64 {
        let file = self.file.as_ref();
        file.and_then(|file| unread_bytes(file).ok()).unwrap_or(0)
    }

    /// Reads this many bytes, which are in the pipe already.
    pub fn read_exactly(&mut self, mut bytes: u64, on_piece: &mut dyn FnMut(&[u8])) {
        let Some(file) = &self.file else { return };
        while bytes > 0 {
            let mut piece = vec![0; bytes.min(PIECE_BYTES as u64) as usize];
            match os::read(file, &mut piece) {
                Ok(count) if count > 0 => {
                    let piece = &piece[..count];
                    bytes -= count as u64;
                    self.bytes += count as u64;
                    keep_tail(&mut self.tail, piece);
                    on_piece(piece);
                }
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// The last 4 KiB as text.
    pub fn tail(&self) -> String {
        let mut tail = &self.tail[self.tail.len().saturating_sub(TAIL_BYTES)..];
        if self.bytes > TAIL_BYTES as u64 {
            // The cut may have gone through a character.
            let rest = tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80);
            tail = &tail[rest.count()..];
        }
        String::from_utf8_lossy(tail).into_owned()
    }
}

fn keep_tail(tail: &mut Vec<u8>, piece: &[u8]) {
    let piece = &piece[piece.len().saturating_sub(TAIL_BYTES)..];
    if tail.len() + piece.len() > 2 * TAIL_BYTES {
        let keep = TAIL_BYTES - piece.len();
        tail.drain(..tail.len().saturating_sub(keep));
    }
    tail.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(text: &[u8]) -> OutputPipe {
        let (read, write) = rustix::pipe::pipe().unwrap();
        rustix::fs::fcntl_setfl(&read, rustix::fs::OFlags::NONBLOCK).unwrap();
        let text = text.to_vec();
        let mut pipe = OutputPipe::new(read);
        let writer = std::thread::spawn(move || {
            for piece in text.chunks(1000) {
                rustix::io::write(&write, piece).unwrap();
            }
        });
        while pipe.waiting(u64::MAX).is_some() {
            pipe.read(0, &mut |_| {});
        }
        writer.join().unwrap();
        pipe
    }

    #[test]
    fn the_tail_is_text() {
        assert_eq!(pipe(b"short \xff\n").tail(), "short \u{fffd}\n");
        let long = "é".repeat(5000) + "x";
        let tail = pipe(long.as_bytes()).tail();
        assert!(long.ends_with(&tail) && tail.len() == TAIL_BYTES - 1);
        assert_eq!(pipe(long.as_bytes()).bytes, 10_001);
    }

    #[test]
    fn reads_of_a_busy_pipe_are_coalesced() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        rustix::fs::fcntl_setfl(&read, rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut pipe = OutputPipe::new(read);
        rustix::io::write(&write, b"a\n").unwrap();
        pipe.read(0, &mut |_| {});
        assert!(pipe.waiting(1).is_some());
        rustix::io::write(&write, b"a\n").unwrap();
        pipe.read(1, &mut |_| {});
        assert!(pipe.waiting(2).is_none());
        let until = pipe.paused_until_ns(2).unwrap();
        assert!(pipe.waiting(until).is_some());
        assert_eq!(pipe.paused_until_ns(until), None);
    }

    #[test]
    fn tails_do_not_depend_on_pieces() {
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let count = random.usize(..12);
            let sizes: Vec<usize> = (0..count).map(|_| random.usize(..9000)).collect();
            let total: usize = sizes.iter().sum();
            let text: Vec<u8> = (0..total).map(|at| (at % 251) as u8).collect();
            let mut tail = Vec::new();
            let mut rest = text.as_slice();
            for size in sizes {
                let (piece, after) = rest.split_at(size);
                keep_tail(&mut tail, piece);
                rest = after;
            }
            let kept = &tail[tail.len().saturating_sub(TAIL_BYTES)..];
            assert_eq!(kept, &text[total.saturating_sub(TAIL_BYTES)..], "seed {seed}");
            assert!(tail.len() <= 2 * TAIL_BYTES, "seed {seed}");
        }
    }
}
