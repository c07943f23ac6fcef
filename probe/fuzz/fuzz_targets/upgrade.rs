//! Any split of the reply to a WebSocket's handshake gives what the whole gives, and nothing but the right key opens it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::error::ErrorKind;
use engine::load::transport::websocket::Upgrade;

/// The bytes after the handshake, as far as it was complete.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Option<Vec<u8>>, ErrorKind> {
    // The key of RFC 6455, section 1.3, whose answer is in the corpus.
    let mut upgrade = Upgrade::new(*b"the sample nonce");
    let mut rest: Option<Vec<u8>> = None;
    for piece in pieces {
        match &mut rest {
            Some(rest) => rest.extend_from_slice(piece),
            None => rest = upgrade.feed(piece).map_err(|fault| fault.kind)?,
        }
    }
    Ok(rest)
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    let halves = read([left, right].into_iter());
    let bytes = read(data.chunks(1));
    // A head that is too long is an error where it is cut; what is wrong with it besides may be seen first.
    match (&bytes, &halves) {
        (Err(_), Err(_)) => {}
        _ => assert_eq!(bytes, halves),
    }
    if let Ok(Some(_)) = bytes {
        let accept = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert!(data.windows(accept.len()).any(|window| window == accept));
    }
});
