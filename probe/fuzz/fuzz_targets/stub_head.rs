//! A request's head is where it ends, whatever follows it; while it is incomplete it is neither accepted nor refused
//! for what has not come.
#![no_main]

use engine::stub::head::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(Some(head)) = parse(data) else { return };
    assert!(head.used <= data.len());
    let whole = &data[..head.used];
    let alone = parse(whole).ok().flatten().expect("what follows a head is not of it");
    assert_eq!((alone.used, alone.body, alone.keep_alive), (head.used, head.body, head.keep_alive));
    assert_eq!(alone.id, head.id);
    if let Some(id) = &head.id {
        assert!(id.is_empty() || whole.windows(id.len()).any(|window| window == &id[..]));
    }
    for end in 0..whole.len() {
        assert!(matches!(parse(&whole[..end]), Ok(None)), "{end} of {} bytes", whole.len());
    }
});
