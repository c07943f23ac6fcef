//! Any split of a response gives what the whole gives.
#![no_main]
#![allow(dead_code)]

#[path = "../../src/load"]
mod load {
    pub mod chunked;
    pub mod http;
    pub mod record;
}

use libfuzzer_sys::fuzz_target;
use load::http::{Done, Read, Response};
use load::record::Kind;

type Found = (Vec<u8>, Result<Option<(Done, usize)>, Kind>, Option<Done>);

/// The body, how it ended, and what the end of the connection would make of it.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, total: usize, head: bool) -> Found {
    let (mut response, mut body, mut done) = (Response::new(head), Vec::new(), 0);
    for piece in pieces {
        done += piece.len();
        match response.feed(piece, &mut |one| body.extend_from_slice(one.bytes)) {
            Ok(Read::More) => {}
            Ok(Read::Done(found, rest)) => {
                return (body, Ok(Some((found, total - done + rest.len()))), None)
            }
            Err(kind) => return (body, Err(kind), None),
        }
    }
    let ended = response.ended();
    (body, Ok(None), ended)
}

fuzz_target!(|data: &[u8]| {
    let (&first, data) = match data.split_first() {
        Some(found) => found,
        None => return,
    };
    let head = first & 1 == 1;
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    let halves = read([left, right].into_iter(), data.len(), head);
    let bytes = read(data.chunks(1), data.len(), head);
    // A head that is too long may be seen so, or as wrong, by where it is cut; both are errors.
    match (&bytes.1, &halves.1) {
        (Err(_), Err(_)) => {}
        _ => assert_eq!(bytes, halves),
    }
});
