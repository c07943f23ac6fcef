//! Messages of a stream by line: any split gives what the whole gives; and templates never panic.
#![no_main]
#![allow(dead_code)]

#[path = "../../src/load"]
mod load {
    pub mod content;
    pub mod pacer;
    pub mod plan;
    pub mod record;
}

use libfuzzer_sys::fuzz_target;
use load::content::{Form, Stream};
use load::plan::{Framing, StreamPlan};
use load::record::{Kind, Sequence};

fn read<'a>(
    form: &Form,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Vec<u8>>, Sequence, Result<(), Kind>) {
    let (mut stream, mut seen, mut faults) = (form.begin(0), Vec::new(), Sequence::default());
    let mut result = Ok(());
    for piece in pieces {
        result = form.feed(
            &mut stream,
            piece,
            false,
            &mut |stream: &mut Stream, message: &[u8]| {
                seen.push(message.to_vec());
                form.check(stream, message, 7, 0, &mut faults);
            },
        );
        if result.is_err() {
            break;
        }
    }
    (seen, faults, result)
}

fuzz_target!(|data: &[u8]| {
    let (&first, data) = match data.split_first() {
        Some(found) => found,
        None => return,
    };
    let form = Form::new(&StreamPlan {
        framing: Framing::Line,
        first: Some("Welcome: {id}".into()),
        chunk: Some("Chunk {k} for {id}".into()),
        interval_s: Some(1.0),
        due_field: (first & 1 == 1).then(|| "due=".into()),
        ..StreamPlan::default()
    });
    let whole = read(&form, std::iter::once(data));
    assert_eq!(read(&form, data.chunks(1)), whole);
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    assert_eq!(read(&form, [left, right].into_iter()), whole);
});
