//! Splits the bodies of held streams into messages.

use super::error::ErrorKind;
use super::plan::Framing;
use super::text::MAX_MESSAGE_BYTES;

/// Splits the body of one stream.
#[derive(Debug)]
pub struct Splitter {
    framing: Framing,
    /// The bytes of an incomplete message. Empty, it has no memory: of thousands of streams few hold anything.
    held: Vec<u8>,
    /// For an event: its data so far, if it has any.
    data: Option<Vec<u8>>,
}

impl Splitter {
    pub fn new(framing: Framing) -> Splitter {
        Splitter { framing, held: Vec::new(), data: None }
    }

    /// Takes the next bytes of the body; complete messages go to `on_message`. `last`: a chunk ends with them.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        last: bool,
        on_message: &mut impl FnMut(&[u8]),
    ) -> Result<(), ErrorKind> {
        match self.framing {
            Framing::Chunk | Framing::Message if last && self.held.is_empty() => {
                check_length(bytes.len())?;
                on_message(bytes.strip_suffix(b"\n").unwrap_or(bytes));
            }
            Framing::Chunk | Framing::Message => {
                self.hold(bytes)?;
                if last {
                    let held = std::mem::take(&mut self.held);
                    on_message(held.strip_suffix(b"\n").unwrap_or(&held));
                }
            }
            Framing::Line => self.lines(bytes, on_message)?,
            Framing::Event => {
                let mut lines = Vec::new();
                self.lines(bytes, &mut |line| lines.push(line.to_vec()))?;
                for line in lines {
                    self.event_line(line.strip_suffix(b"\r").unwrap_or(&line), on_message)?;
                }
            }
        }
        Ok(())
    }

    /// A line of server-sent events: its data is the message, which an empty line ends. Comments, which keep the
    /// connection alive, and other fields are none of it.
    fn event_line(&mut self, line: &[u8], on_message: &mut impl FnMut(&[u8])) -> Result<(), ErrorKind> {
        if line.is_empty() {
            if let Some(data) = self.data.take() {
                on_message(&data);
            }
            return Ok(());
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        if name == b"data" {
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                None => self.data = Some(value.to_vec()),
                Some(data) => {
                    check_length(data.len() + 1 + value.len())?;
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            }
        }
        Ok(())
    }

    fn lines(&mut self, bytes: &[u8], on_message: &mut impl FnMut(&[u8])) -> Result<(), ErrorKind> {
        let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() {
                self.hold(line)?;
            } else if self.held.is_empty() {
                check_length(line.len())?;
                on_message(line);
            } else {
                self.hold(line)?;
                on_message(&std::mem::take(&mut self.held));
            }
        }
        Ok(())
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        check_length(self.held.len() + bytes.len())?;
        self.held.extend_from_slice(bytes);
        Ok(())
    }
}

/// The same for a message that comes in one piece as for one that is held.
fn check_length(bytes: usize) -> Result<(), ErrorKind> {
    (bytes <= MAX_MESSAGE_BYTES).then_some(()).ok_or(ErrorKind::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::clock::thread_cpu_ns;

    /// The messages of a body that comes in these pieces.
    fn split<'a>(
        framing: Framing,
        pieces: impl IntoIterator<Item = (&'a [u8], bool)>,
    ) -> Result<Vec<Vec<u8>>, ErrorKind> {
        let (mut splitter, mut messages) = (Splitter::new(framing), Vec::new());
        for (piece, last) in pieces {
            let mut take = |message: &[u8]| messages.push(message.to_vec());
            splitter.feed(piece, last, &mut take)?;
        }
        Ok(messages)
    }

    #[test]
    fn messages_by_chunk_and_by_line_in_any_pieces() {
        let text = b"Welcome: 1\nChunk 1 for 1\nChunk 2 for 1\n";
        for step in 1..=text.len() {
            let pieces = text.chunks(step).map(|piece| (piece, false));
            let messages = split(Framing::Line, pieces).unwrap();
            assert_eq!(messages.join(&b'\n'), text[..text.len() - 1]);
        }
        let pieces: [(&[u8], bool); 4] = [(b"ab\n", true), (b"c", false), (b"d", false), (b"e\n", true)];
        let messages = split(Framing::Chunk, pieces).unwrap();
        assert_eq!(messages, [b"ab".to_vec(), b"cde".to_vec()]);
    }

    /// WHATWG HTML, section 9.2.6.
    #[test]
    fn events_in_any_pieces() {
        let text =
            b": alive\n\ndata: one\nid: 1\n\nevent: x\r\ndata:two\r\ndata:  lines\r\n\r\n\ndata\n\ndata: cut";
        for step in 1..=text.len() {
            let pieces = text.chunks(step).map(|piece| (piece, false));
            let messages = split(Framing::Event, pieces).unwrap();
            assert_eq!(messages, [&b"one"[..], b"two\n lines", b""], "{step}");
        }
    }

    /// A server that sends little must not keep the engine busy.
    #[test]
    fn an_event_of_many_lines_takes_time_in_proportion() {
        let text = [&b"data\n".repeat(MAX_MESSAGE_BYTES)[..], b"\n"].concat().repeat(8);
        let before_ns = thread_cpu_ns();
        let messages = split(Framing::Event, [(&text[..], false)]).unwrap();
        assert!(messages.len() == 8 && messages.iter().all(|message| message.len() == MAX_MESSAGE_BYTES - 1));
        // Lines that were copied again with each that follows took 17 GB of copies.
        assert!(thread_cpu_ns() - before_ns < 1_000_000_000);
    }

    #[test]
    fn messages_have_a_limit() {
        let mut ignore = |_: &[u8]| {};
        let mut splitter = Splitter::new(Framing::Line);
        let longest = vec![b'x'; MAX_MESSAGE_BYTES];
        assert_eq!(splitter.feed(&longest, false, &mut ignore), Ok(()));
        let too_large = splitter.feed(b"x", false, &mut ignore);
        assert_eq!(too_large, Err(ErrorKind::TooLarge));
    }

    #[test]
    fn the_limit_of_a_message_does_not_depend_on_its_pieces() {
        for (bytes, right) in [(MAX_MESSAGE_BYTES, Ok(())), (MAX_MESSAGE_BYTES + 1, Err(ErrorKind::TooLarge))]
        {
            let text = vec![b'x'; bytes];
            for framing in [Framing::Chunk, Framing::Message, Framing::Line] {
                for step in [bytes, 1000] {
                    let (mut splitter, mut messages) = (Splitter::new(framing), 0);
                    let mut take = |message: &[u8]| messages += message.len();
                    let text = match framing {
                        Framing::Line => [&text[..], b"\n"].concat(),
                        _ => text.clone(),
                    };
                    let step = step + text.len() - bytes;
                    let mut result = Ok(());
                    for (index, piece) in text.chunks(step).enumerate() {
                        let last = (index + 1) * step >= text.len();
                        result = result.and_then(|()| splitter.feed(piece, last, &mut take));
                    }
                    assert_eq!(result, right, "{bytes} {step}");
                    assert_eq!(messages, if right.is_ok() { bytes } else { 0 });
                }
            }
        }
    }
}
