//! Any Location is an error or a target of the same server: visible characters, without a fragment, and a path of
//! which no segment is `.` or `..`. Followed once more, it stays where it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::redirect::{Origin, Redirect};

fn to(location: &[u8]) -> Redirect {
    Redirect {
        status: 302,
        location: location.to_vec(),
        ..Redirect::default()
    }
}

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |&byte| byte == b'\n');
    let (Some(host), Some(base), Some(location)) = (lines.next(), lines.next(), lines.next()) else {
        return;
    };
    let Some((&first, host)) = host.split_first() else {
        return;
    };
    let Ok(host) = std::str::from_utf8(host) else {
        return;
    };
    // Plans are refused whose targets are otherwise.
    if !base.starts_with(b"/") || !base.iter().all(|byte| (0x21..0x7f).contains(byte) && *byte != b'#') {
        return;
    }
    let origin = Origin {
        host,
        secure: first & 1 == 1,
    };
    let Ok(target) = to(location).target(base, origin) else {
        return;
    };
    assert!(target.starts_with(b"/"));
    assert!(target.iter().all(|byte| (0x21..0x7f).contains(byte) && *byte != b'#'));
    assert!(target.len() <= base.len() + location.len() + 1);
    let path = target.split(|&byte| byte == b'?').next().unwrap();
    assert!(path.split(|&byte| byte == b'/').all(|part| part != b"." && part != b".."));
    // Two slashes at the beginning are those of a host.
    if !target.starts_with(b"//") {
        assert_eq!(to(&target).target(base, origin).as_ref(), Ok(&target));
    }
    assert_eq!(to(b"").target(&target, origin), Ok(target));
});
