//! Any split of a response gives what the whole gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::error::ErrorKind;
use engine::load::http::ResponseParser;
use engine::load::http_head::MAX_HEAD_BYTES;

type Parsed = (Vec<u8>, Result<Option<(Option<u16>, bool, usize)>, ErrorKind>, bool);

/// The body, how it ended (status, keep-alive, bytes after it), and whether the end of the connection completes it.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, total: usize, head: bool) -> Parsed {
    let (mut response, mut body, mut done) = (ResponseParser::new(head, MAX_HEAD_BYTES as u32), Vec::new(), 0);
    for piece in pieces {
        done += piece.len();
        match response.feed(piece, &mut |piece, _| body.extend_from_slice(piece)) {
            Ok(None) => {}
            Ok(Some(rest)) => {
                let after = total - done + rest.len();
                return (body, Ok(Some((response.status(), response.keep_alive, after))), false);
            }
            Err(kind) => return (body, Err(kind), false),
        }
    }
    (body, Ok(None), response.ends_with_connection())
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let head = first & 1 == 1;
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    let halves = read([left, right].into_iter(), data.len(), head);
    let bytes = read(data.chunks(1), data.len(), head);
    // A head that is too long and wrong is one or the other, by where it is cut; both are errors.
    match (&bytes.1, &halves.1) {
        (Err(_), Err(_)) => {}
        _ => assert_eq!(bytes, halves),
    }
});
