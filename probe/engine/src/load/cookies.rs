//! Cookies within a request that is redirected: what a reply sets goes with what is asked for next (RFC 6265). Requests
//! share none, since each stands for another user.

use super::http_head::trimmed;
use std::time::{SystemTime, UNIX_EPOCH};

/// So many of one request are kept, as browsers do for each host.
const MAX_COOKIES: usize = 180;
const SECONDS_OF_A_YEAR: u64 = 31_556_952;

#[derive(Debug, Default)]
pub struct Cookies(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    /// None: it was deleted.
    value: Option<Vec<u8>>,
    path: Vec<u8>,
}

/// Where a cookie comes from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// As in the header `Host`.
    pub host: &'a str,
    pub secure: bool,
    /// The target of the request.
    pub target: &'a [u8],
}

impl Cookies {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the value of a header `Set-Cookie`, unless it is for another host, or cannot be sent.
    pub fn set(&mut self, field: &[u8], source: Source<'_>) {
        let mut parts = field.split(|&byte| byte == b';').map(trimmed);
        let Some((name, value)) = parts.next().and_then(pair) else {
            return;
        };
        if name.is_empty() || field.iter().any(u8::is_ascii_control) {
            return;
        }
        let mut path = default_path(source.target).to_vec();
        let mut lives = true;
        for part in parts {
            let (attribute, value) = pair(part).unwrap_or((part, b""));
            match attribute.to_ascii_lowercase().as_slice() {
                b"path" if value.starts_with(b"/") => path = value.to_vec(),
                b"domain" if !is_within(source.host, value) => return,
                b"secure" if !source.secure => return,
                // It takes precedence over `Expires`, wherever that stands.
                b"max-age" => {
                    lives = !(value.starts_with(b"-") || value.iter().all(|&byte| byte == b'0'))
                }
                b"expires" => lives &= !is_past(value),
                _ => {}
            }
        }
        self.0
            .retain(|cookie| cookie.name != name || cookie.path != path);
        if self.0.len() < MAX_COOKIES {
            self.0.push(Cookie {
                name: name.to_vec(),
                value: lives.then(|| value.to_vec()),
                path,
            });
        }
    }

    /// Puts the cookies for a target into the lines of a head, together with those that are there.
    pub fn apply(&self, target: &[u8], lines: &mut Vec<u8>) {
        let path = path_of(target);
        let mut usable: Vec<_> = self.0.iter().filter(|cookie| cookie.covers(path)).collect();
        if usable.is_empty() {
            return;
        }
        // The longest path first (section 5.4).
        usable.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut pairs = Vec::new();
        let mut others = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let is_cookie = |name: &[u8]| name.eq_ignore_ascii_case(b"cookie:");
            match line.get(..7).is_some_and(is_cookie) {
                true => pairs.extend(line[7..].split(|&byte| byte == b';').map(trimmed)),
                false => others.extend_from_slice(line),
            }
        }
        let is_set = |name: &[u8]| usable.iter().any(|cookie| cookie.name == name);
        pairs.retain(|text| !text.is_empty() && pair(text).map_or(true, |(name, _)| !is_set(name)));
        let mut pairs: Vec<Vec<u8>> = pairs.into_iter().map(<[u8]>::to_vec).collect();
        let texts = usable.iter().filter_map(|cookie| {
            let value = cookie.value.as_ref()?;
            Some([&cookie.name, &b"="[..], value].concat())
        });
        pairs.extend(texts);
        if !pairs.is_empty() {
            others.extend_from_slice(b"Cookie: ");
            others.extend_from_slice(&pairs.join(&b"; "[..]));
            others.extend_from_slice(b"\r\n");
        }
        *lines = others;
    }
}

impl Cookie {
    /// Whether it is for a path (section 5.1.4).
    fn covers(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.path.as_slice());
        rest.is_some_and(|rest| {
            self.path.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/")
        })
    }
}

/// `name=value`, each without the space around it.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', text)?;
    Some((trimmed(&text[..at]), trimmed(&text[at + 1..])))
}

fn path_of(target: &[u8]) -> &[u8] {
    target.split(|&byte| byte == b'?').next().unwrap_or(target)
}

/// The path of a cookie that names none.
fn default_path(target: &[u8]) -> &[u8] {
    let path = path_of(target);
    match path.iter().rposition(|&byte| byte == b'/') {
        None | Some(0) => b"/",
        Some(end) => &path[..end],
    }
}

/// Whether a host, as in `Host`, belongs to a domain.
fn is_within(host: &str, domain: &[u8]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let (name, domain) = (name.to_ascii_lowercase(), domain.to_ascii_lowercase());
    let domain = domain.strip_prefix(b".").unwrap_or(&domain);
    let rest = name.as_bytes().strip_suffix(domain);
    domain.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."))
}

/// Whether a date is one of an earlier year, as of all cookies that are deleted.
fn is_past(date: &[u8]) -> bool {
    let digits = date.split(|byte| !byte.is_ascii_digit());
    let year = digits
        .filter(|digits| digits.len() == 4)
        .find_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let this_year = 1970 + now.map_or(0, |now| now.as_secs() / SECONDS_OF_A_YEAR);
    year.is_some_and(|year| year < this_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fields: &[&str], target: &str, lines: &str) -> String {
        let mut cookies = Cookies::default();
        for field in fields {
            let source = Source {
                host: "a.example:8080",
                secure: false,
                target: b"/app/login?x=/y/z",
            };
            cookies.set(field.as_bytes(), source);
        }
        let mut lines = lines.as_bytes().to_vec();
        cookies.apply(target.as_bytes(), &mut lines);
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn what_is_set_is_sent() {
        for (field, right) in [
            ("a=b", "Cookie: a=b\r\n"),
            ("a=b=c; HttpOnly; SameSite=Lax; Path=/", "Cookie: a=b=c\r\n"),
            (" a = \"b c\" ;x", "Cookie: a=\"b c\"\r\n"),
            ("a=", "Cookie: a=\r\n"),
            ("a=b; Domain=.example", "Cookie: a=b\r\n"),
            (
                "a=b; domain=A.example; Max-Age=60; Expires=x",
                "Cookie: a=b\r\n",
            ),
            (
                "a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
                "Cookie: a=b\r\n",
            ),
        ] {
            assert_eq!(after(&[field], "/app/home", ""), right, "{field}");
        }
        for field in [
            "a",
            "=b",
            "",
            "a=b; Secure",
            "a=b; Domain=other.example",
            "a=b; Domain=ample",
            "a=b; Path=/other",
            "a=b; Path=/app/ho",
            "a=b; Max-Age=0",
            "a=b; Max-Age=-1",
            "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "a=b\r\n c",
        ] {
            assert_eq!(after(&[field], "/app/home", ""), "", "{field}");
        }
    }

    #[test]
    fn paths() {
        assert_eq!(after(&["a=b"], "/other", ""), "");
        assert_eq!(after(&["a=b"], "/app", ""), "Cookie: a=b\r\n");
        assert_eq!(after(&["a=b"], "/app?x", ""), "Cookie: a=b\r\n");
        assert_eq!(after(&["a=b; Path=/"], "/other", ""), "Cookie: a=b\r\n");
        let both = &["a=1; Path=/", "a=2"];
        assert_eq!(after(both, "/app/x", ""), "Cookie: a=2; a=1\r\n");
        assert_eq!(after(both, "/x", ""), "Cookie: a=1\r\n");
        assert_eq!(default_path(b"/login"), b"/");
    }

    #[test]
    fn those_of_the_plan_go_with_them() {
        let own = "Host: h\r\ncookie: x=1;a=0\r\nAccept: */*\r\n";
        let right = "Host: h\r\nAccept: */*\r\nCookie: x=1; a=2\r\n";
        assert_eq!(after(&["a=1", "a=2"], "/app/x", own), right);
        assert_eq!(
            after(&["a=; Max-Age=0"], "/app/x", own),
            "Host: h\r\nAccept: */*\r\nCookie: x=1\r\n"
        );
        assert_eq!(after(&[], "/app/x", own), own);
        assert_eq!(after(&["a=; Max-Age=0"], "/app/x", "Cookie: a=1\r\n"), "");
    }

    #[test]
    fn there_is_a_limit() {
        let fields: Vec<String> = (0..MAX_COOKIES + 9).map(|n| format!("n{n}=1")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let line = after(&fields, "/app/x", "");
        assert_eq!(line.matches("=1").count(), MAX_COOKIES);
    }
}
