//! Messages of a stream by line: any split gives what the whole gives; and templates never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::error::ErrorKind;
use engine::load::framing::Splitter;
use engine::load::plan::{Framing, StreamPlan};
use engine::load::sequence::{CheckedMessage, StreamFormat};

fn read<'a>(
    format: &StreamFormat,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<(Vec<u8>, CheckedMessage)>, Result<(), ErrorKind>) {
    let (mut splitter, mut stream) = (Splitter::new(Framing::Line), format.begin(0));
    let (mut messages, mut result) = (Vec::new(), Ok(()));
    for piece in pieces {
        result = splitter.feed(piece, false, &mut |message: &[u8]| {
            messages.push((message.to_vec(), format.check(&mut stream, message, 7, 0)));
        });
        if result.is_err() {
            break;
        }
    }
    (messages, result)
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let format = StreamFormat::new(&StreamPlan {
        first: Some("Welcome: {id}".into()),
        chunk: Some("Chunk {k} for {id}".into()),
        interval_s: Some(1.0),
        due_field: (first & 1 == 1).then(|| "due=".into()),
        ..StreamPlan::default()
    });
    let whole = read(&format, std::iter::once(data));
    assert_eq!(read(&format, data.chunks(1)), whole);
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    assert_eq!(read(&format, [left, right].into_iter()), whole);
});
