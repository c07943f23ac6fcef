//! Where a redirect leads: a target of the same server, or an error (RFC 9110, section 15.4; RFC 3986, section 5.2).

use super::error::ErrorKind;

/// How many redirects of one request are followed.
pub const MAX_REDIRECTS: u8 = 10;

/// A redirect that a server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub status: u16,
    pub location: Vec<u8>,
}

/// Whether a status asks for another target.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl Redirect {
    /// Whether the next request is a GET without a body, as user agents do it.
    pub fn becomes_get(&self, method: &str) -> bool {
        match self.status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        }
    }

    /// The target of the next request; `base` is that of the last, `host` the server's, as in the header.
    pub fn target(&self, base: &[u8], host: &str) -> Result<Vec<u8>, ErrorKind> {
        let location = self
            .location
            .split(|&byte| byte == b'#')
            .next()
            .unwrap_or(&[]);
        if !location.iter().all(|byte| (0x21..0x7f).contains(byte)) {
            return Err(ErrorKind::RedirectInvalid);
        }
        let local = match authority_and_rest(location)? {
            Some((authority, rest)) if is_same(authority, host) => rest,
            Some(_) => return Err(ErrorKind::RedirectElsewhere),
            None => location,
        };
        let is_absolute = local.len() < location.len();
        let path_of_base = base.split(|&byte| byte == b'?').next().unwrap_or(&[]);
        let target = match local.first() {
            None if is_absolute => b"/".to_vec(),
            Some(b'?') if is_absolute => [b"/", local].concat(),
            None => base.to_vec(),
            Some(b'/') => local.to_vec(),
            Some(b'?') => [path_of_base, local].concat(),
            Some(_) => {
                let end = path_of_base.iter().rposition(|&byte| byte == b'/');
                [&path_of_base[..end.map_or(0, |end| end + 1)], local].concat()
            }
        };
        Ok(without_dots(&target))
    }
}

/// An authority, and what follows it.
type AuthorityAndRest<'a> = (&'a [u8], &'a [u8]);

/// The authority of a location that has one, and what follows; the error: another scheme than http.
fn authority_and_rest(location: &[u8]) -> Result<Option<AuthorityAndRest<'_>>, ErrorKind> {
    let end = location.iter().position(|byte| b":/?".contains(byte));
    let rest = match end.filter(|&end| location[end] == b':') {
        Some(end) if location[..end].eq_ignore_ascii_case(b"http") => &location[end + 1..],
        Some(_) => return Err(ErrorKind::RedirectElsewhere),
        None => location,
    };
    let has_scheme = rest.len() < location.len();
    match rest.strip_prefix(b"//") {
        Some(rest) => {
            let end = rest.iter().position(|byte| b"/?".contains(byte));
            Ok(Some(rest.split_at(end.unwrap_or(rest.len()))))
        }
        None if has_scheme => Err(ErrorKind::RedirectInvalid),
        None => Ok(None),
    }
}

/// Whether both are the same host and port.
fn is_same(authority: &[u8], host: &str) -> bool {
    let without_port = |text: &[u8]| text.strip_suffix(b":80").unwrap_or(text).to_vec();
    let (one, other) = (without_port(authority), without_port(host.as_bytes()));
    one.eq_ignore_ascii_case(&other)
}

/// Removes the segments `.` and `..` of a path; the query stays.
fn without_dots(target: &[u8]) -> Vec<u8> {
    let end = target.iter().position(|&byte| byte == b'?');
    let (path, query) = target.split_at(end.unwrap_or(target.len()));
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut parts = path.split(|&byte| byte == b'/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            b"." | b".." => {
                if part == b".." {
                    segments.pop();
                }
                if is_last {
                    segments.push(b"");
                }
            }
            _ => segments.push(part),
        }
    }
    let mut clean = vec![b'/'];
    clean.extend_from_slice(&segments.join(&b'/'));
    clean.extend_from_slice(query);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(location: &str) -> Result<String, ErrorKind> {
        let redirect = Redirect {
            status: 302,
            location: location.into(),
        };
        let target = redirect.target(b"/a/b?c=/d", "Host:8080")?;
        Ok(String::from_utf8(target).unwrap())
    }

    #[test]
    fn targets_of_the_same_server() {
        for (location, right) in [
            ("/x?y#z", "/x?y"),
            ("x", "/a/x"),
            ("x/../y/./z", "/a/y/z"),
            ("..", "/"),
            ("../../..", "/"),
            (".", "/a/"),
            ("?q=1", "/a/b?q=1"),
            ("", "/a/b?c=/d"),
            ("#top", "/a/b?c=/d"),
            ("http://host:8080", "/"),
            ("HTTP://HOST:8080/x/..", "/"),
            ("http://host:8080?x", "/?x"),
            ("//host:8080/y", "/y"),
            ("/x?a=../b", "/x?a=../b"),
            ("x/a:b", "/a/x/a:b"),
        ] {
            assert_eq!(target(location).as_deref(), Ok(right), "{location}");
        }
        let standard = Redirect {
            status: 301,
            location: b"http://h:80/x".to_vec(),
        };
        assert_eq!(standard.target(b"/", "h"), Ok(b"/x".to_vec()));
    }

    #[test]
    fn other_servers_and_what_is_no_target() {
        for location in [
            "http://other:8080/",
            "http://host/",
            "//host:8081/",
            "https://host:8080/",
            "mailto:a@b",
            "http://user@host:8080/",
        ] {
            assert_eq!(
                target(location),
                Err(ErrorKind::RedirectElsewhere),
                "{location}"
            );
        }
        for location in ["/a b", "/ü", "/\r\n", "http:x"] {
            assert_eq!(
                target(location),
                Err(ErrorKind::RedirectInvalid),
                "{location}"
            );
        }
    }

    #[test]
    fn methods_of_the_next_request() {
        let becomes_get = |status, method| {
            let location = Vec::new();
            Redirect { status, location }.becomes_get(method)
        };
        for (status, post, put, head) in [
            (301, true, false, false),
            (302, true, false, false),
            (303, true, true, false),
            (307, false, false, false),
            (308, false, false, false),
        ] {
            assert!(is_redirect(status));
            let found = ["POST", "PUT", "HEAD"].map(|method| becomes_get(status, method));
            assert_eq!(found, [post, put, head], "{status}");
        }
        assert!(![200, 300, 304, 305, 306].into_iter().any(is_redirect));
    }
}
