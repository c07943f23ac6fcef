//! Where a redirect leads: a target of the same server, or an error (RFC 9110, section 15.4; RFC 3986, section 5.2).

use super::error::ErrorKind;

/// How many redirects of one request are followed.
pub const MAX_REDIRECTS: u8 = 10;

/// What the head of a response says about the next request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    pub location: Option<Vec<u8>>,
    /// Values of `Set-Cookie`.
    pub cookies: Vec<Vec<u8>>,
}

impl Directions {
    /// Takes a field of the head.
    pub fn note(&mut self, name: &str, value: &[u8]) {
        if name.eq_ignore_ascii_case("location") {
            self.location.get_or_insert_with(|| value.to_vec());
        } else if name.eq_ignore_ascii_case("set-cookie") {
            self.cookies.push(value.to_vec());
        }
    }
}

/// A redirect that a server sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redirect {
    pub status: u16,
    pub location: Vec<u8>,
    /// Values of `Set-Cookie`.
    pub cookies: Vec<Vec<u8>>,
}

/// Whether a status asks for another target.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Where requests go: the host as in the header `Host`, and whether it is inside TLS.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    pub host: &'a str,
    pub secure: bool,
}

impl Origin<'_> {
    fn scheme(&self) -> &'static str {
        match self.secure {
            true => "https",
            false => "http",
        }
    }

    /// Whether an authority is this host and port.
    fn is_at(&self, authority: &[u8]) -> bool {
        let port: &[u8] = if self.secure { b":443" } else { b":80" };
        let without_port = |text: &[u8]| text.strip_suffix(port).unwrap_or(text).to_vec();
        without_port(authority).eq_ignore_ascii_case(&without_port(self.host.as_bytes()))
    }
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

    /// The target of the next request; `base` is that of the last.
    pub fn target(&self, base: &[u8], origin: Origin<'_>) -> Result<Vec<u8>, ErrorKind> {
        let location = self
            .location
            .split(|&byte| byte == b'#')
            .next()
            .unwrap_or(&[]);
        if !location.iter().all(|byte| (0x21..0x7f).contains(byte)) {
            return Err(ErrorKind::RedirectInvalid);
        }
        let local = match authority_and_rest(location, origin.scheme())? {
            Some((authority, rest)) if origin.is_at(authority) => rest,
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

/// The authority of a location that has one, and what follows; the error: another scheme than this.
fn authority_and_rest<'a>(
    location: &'a [u8],
    scheme: &str,
) -> Result<Option<AuthorityAndRest<'a>>, ErrorKind> {
    let end = location.iter().position(|byte| b":/?".contains(byte));
    let rest = match end.filter(|&end| location[end] == b':') {
        Some(end) if location[..end].eq_ignore_ascii_case(scheme.as_bytes()) => {
            &location[end + 1..]
        }
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

    fn at(host: &str, secure: bool) -> Origin<'_> {
        Origin { host, secure }
    }

    fn target(location: &str) -> Result<String, ErrorKind> {
        let redirect = Redirect {
            status: 302,
            location: location.into(),
            ..Redirect::default()
        };
        let target = redirect.target(b"/a/b?c=/d", at("Host:8080", false))?;
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
            ..Redirect::default()
        };
        assert_eq!(standard.target(b"/", at("h", false)), Ok(b"/x".to_vec()));
        let elsewhere = Err(ErrorKind::RedirectElsewhere);
        assert_eq!(standard.target(b"/", at("h", true)), elsewhere);
        let secure = Redirect {
            status: 301,
            location: b"https://h:443/x".to_vec(),
            ..Redirect::default()
        };
        assert_eq!(secure.target(b"/", at("h", true)), Ok(b"/x".to_vec()));
        assert_eq!(secure.target(b"/", at("h", false)), elsewhere);
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
            Redirect {
                status,
                ..Redirect::default()
            }
            .becomes_get(method)
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
