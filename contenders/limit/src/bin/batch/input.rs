//! The input's file, cut into blocks of whole cases. Only line ends are looked at here: what
//! stands between them is for those who compute.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::numbers::{MOST_BYTES, MOST_NUMBERS};
use crate::Fault;

/// A block has so many bytes, or a single case if that has more. It stays in a core's cache.
const BLOCK_BYTES: usize = 128 * 1024;
/// The first line is looked for in so many bytes.
const FIRST_BYTES: u64 = 64;
/// Lines of a case: its size, and two vectors.
const LINES: usize = 3;
/// A case cannot have more.
const CASE_BYTES: usize = 2 * MOST_NUMBERS * MOST_BYTES + 16;

/// Whole cases of the input, and their numbers, from 1.
#[derive(Debug)]
pub struct Block {
    pub text: Vec<u8>,
    pub cases: Range<u64>,
}

impl Block {
    pub fn new() -> Self {
        Block {
            text: Vec::new(),
            cases: 0..0,
        }
    }
}

pub struct Input<S = File> {
    source: S,
    /// Text that was read and does not end a case.
    rest: Vec<u8>,
    /// Cases that the input says it has.
    promised: u64,
    /// Cases that were found.
    pub cases: u64,
    /// Time in which it read and cut.
    pub busy: Duration,
}

impl Input {
    pub fn open(path: &str) -> Result<Self, Fault> {
        Input::new(File::open(path).map_err(unreadable)?)
    }
}

impl<S: Read> Input<S> {
    fn new(source: S) -> Result<Self, Fault> {
        let mut input = Input {
            source,
            rest: Vec::new(),
            promised: 0,
            cases: 0,
            busy: Duration::ZERO,
        };
        let begun = Instant::now();
        input.read_promise()?;
        input.busy += begun.elapsed();
        Ok(input)
    }

    fn read_promise(&mut self) -> Result<(), Fault> {
        let start = self.source.by_ref().take(FIRST_BYTES);
        read_all(start, &mut self.rest)?;
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let promised = end.and_then(|end| whole_number(&self.rest[..end]));
        match (end, promised) {
            (Some(end), Some(promised)) => {
                self.promised = promised;
                self.rest.drain(..=end);
                Ok(())
            }
            _ => Err(Fault::Input(
                "its first line is not the number of its cases".to_owned(),
            )),
        }
    }

    /// Fills the block with the next cases. False: there are no more.
    pub fn fill(&mut self, block: &mut Block) -> Result<bool, Fault> {
        let begun = Instant::now();
        let filled = self.read_block(block);
        self.busy += begun.elapsed();
        filled
    }

    fn read_block(&mut self, block: &mut Block) -> Result<bool, Fault> {
        let text = &mut block.text;
        text.clear();
        text.append(&mut self.rest);
        let (mut lines, mut ended) = (line_ends(text), false);
        while !ended && (text.len() < BLOCK_BYTES || lines < LINES) {
            if text.len() > CASE_BYTES {
                let complaint = format!("case {} is longer than a case can be", self.cases + 1);
                return Err(Fault::Input(complaint));
            }
            let (old, wanted) = (text.len(), BLOCK_BYTES - text.len() % BLOCK_BYTES);
            text.reserve(wanted);
            let part = self.source.by_ref().take(wanted as u64);
            ended = read_all(part, text)? < wanted;
            lines += line_ends(&text[old..]);
        }
        let end = before_last_lines(text, lines % LINES);
        self.rest.extend_from_slice(&text[end..]);
        text.truncate(end);

        let first = self.cases + 1;
        self.cases += (lines / LINES) as u64;
        block.cases = first..self.cases + 1;
        let has_rest = !self.rest.is_empty();
        if self.cases > self.promised || (self.cases == self.promised && has_rest) {
            let complaint = format!("it goes on after the last of its {} cases", self.promised);
            return Err(Fault::Input(complaint));
        }
        if ended && self.cases < self.promised {
            let (missing, promised) = (self.cases + 1, self.promised);
            let complaint = format!("it ends before the end of case {missing} of {promised}");
            return Err(Fault::Input(complaint));
        }
        Ok(!block.cases.is_empty())
    }
}

fn read_all(mut source: impl Read, text: &mut Vec<u8>) -> Result<usize, Fault> {
    source.read_to_end(text).map_err(unreadable)
}

fn unreadable(error: io::Error) -> Fault {
    Fault::Input(format!("cannot be read: {error}"))
}

fn whole_number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(text).ok()?.parse().ok();
    number.filter(|_| digits)
}

fn line_ends(text: &[u8]) -> usize {
    // A chunk's count fits a byte, so that the compiler can count in vectors of bytes.
    let chunks = text.chunks(usize::from(u8::MAX));
    let count = |chunk: &[u8]| {
        chunk
            .iter()
            .map(|&byte| u8::from(byte == b'\n'))
            .sum::<u8>()
    };
    chunks.map(|chunk| usize::from(count(chunk))).sum()
}

/// Where the text is to be cut so that its last so many whole lines are off, and what stands
/// after them.
fn before_last_lines(text: &[u8], lines: usize) -> usize {
    let backwards = text.iter().enumerate().rev();
    let mut ends = backwards.filter(|(_, &byte)| byte == b'\n');
    ends.nth(lines).map_or(0, |(place, _)| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input's blocks, or its error.
    fn blocks(input: &[u8]) -> Result<Vec<Block>, String> {
        let complaint = |fault| match fault {
            Fault::Input(complaint) => complaint,
            Fault::System(error) => panic!("{error}"),
        };
        let mut input = Input::new(input).map_err(complaint)?;
        let (mut block, mut found) = (Block::new(), Vec::new());
        while input.fill(&mut block).map_err(complaint)? {
            found.push(std::mem::replace(&mut block, Block::new()));
        }
        Ok(found)
    }

    #[test]
    fn blocks_hold_whole_cases_and_nothing_is_lost() {
        for size in [0, 1, 7, 200, 30_000, 50_000] {
            let vector = vec!["-12345"; size].join(" ");
            let case = format!("{size}\n{vector}\n{vector}\n");
            let cases = 2 + 700_000 / case.len();
            let text = case.repeat(cases);
            let found = blocks(format!("{cases}\n{text}").as_bytes()).unwrap();
            assert!(found.len() > 1);
            let mut next = 1;
            for part in &found {
                let count = part.cases.end - part.cases.start;
                assert_eq!(part.cases.start, next);
                assert_eq!(part.text.len(), count as usize * case.len());
                assert!(part.text.len() <= BLOCK_BYTES || count == 1);
                next = part.cases.end;
            }
            assert_eq!(next, cases as u64 + 1);
            let whole: Vec<u8> = found.into_iter().flat_map(|part| part.text).collect();
            assert!(whole == text.as_bytes());
        }
        assert!(blocks(b"0\n").unwrap().is_empty());
    }

    #[test]
    fn what_breaks_the_rules_is_told() {
        let told = |input: &[u8]| blocks(input).unwrap_err();
        let no_number = "its first line is not the number of its cases";
        for first in ["", "3", "\n", "-1\n", "+1\n", "x\n", "1 \n", "1\r\n"] {
            assert_eq!(told(first.as_bytes()), no_number);
        }
        assert_eq!(told(format!("{}\n", "9".repeat(20)).as_bytes()), no_number);
        assert_eq!(told(&[b'1'; 1000]), no_number);
        let short = "it ends before the end of case 2 of 2";
        for rest in ["", "\n", "1\n", "1\n5", "1\n5\n", "1\n5\n5"] {
            assert_eq!(told(format!("2\n1\n5\n5\n{rest}").as_bytes()), short);
        }
        let most = "18446744073709551615";
        let huge = format!("it ends before the end of case 1 of {most}");
        assert_eq!(told(format!("{most}\n").as_bytes()), huge);
        let long = "it goes on after the last of its 1 cases";
        for rest in ["\n", "x", "1\n5\n5\n", "0\n\n\n\n"] {
            assert_eq!(told(format!("1\n1\n5\n5\n{rest}").as_bytes()), long);
        }
        assert_eq!(told(b"0\n\n"), "it goes on after the last of its 0 cases");
        let endless = [b"2\n0\n\n\n".to_vec(), vec![b'7'; CASE_BYTES + BLOCK_BYTES]].concat();
        assert_eq!(told(&endless), "case 2 is longer than a case can be");
    }

    #[test]
    fn lines_are_counted_and_cut() {
        let text = [b"a\n".repeat(1000), b"\n".repeat(1000), b"end".to_vec()].concat();
        assert_eq!(line_ends(&text), 2000);
        assert_eq!(before_last_lines(&text, 0), 3000);
        assert_eq!(before_last_lines(&text, 1), 2999);
        assert_eq!(before_last_lines(b"a\nb\nc", 2), 0);
        assert_eq!(before_last_lines(b"", 0), 0);
    }
}
