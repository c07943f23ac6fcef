//! Any split of a chunked body gives what the whole gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::chunked::ChunkedDecoder;
use engine::load::error::ErrorKind;

type Read = (Vec<(Vec<u8>, bool)>, Result<Option<usize>, ErrorKind>);

/// The chunks, and how many bytes follow the body.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, total: usize) -> Read {
    let (mut chunked, mut chunks, mut done) = (ChunkedDecoder::default(), vec![(Vec::new(), false)], 0);
    for piece in pieces {
        done += piece.len();
        let fed = chunked.feed(piece, &mut |piece, ends| {
            let (held, last) = chunks.last_mut().unwrap();
            held.extend_from_slice(piece);
            *last = ends;
            if ends {
                chunks.push((Vec::new(), false));
            }
        });
        match fed {
            Ok(None) => {}
            Ok(Some(rest)) => return (chunks, Ok(Some(total - done + rest.len()))),
            Err(kind) => return (chunks, Err(kind)),
        }
    }
    (chunks, Ok(None))
}

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let whole = read(std::iter::once(data), data.len());
    assert_eq!(read(data.chunks(1), data.len()), whole);
    let (left, right) = data.split_at(usize::from(*first).min(data.len()));
    assert_eq!(read([left, right].into_iter(), data.len()), whole);
});
