//! The heads of requests, by httparse.

const MAX_FIELDS: usize = 100;
/// The header that identifies a request; `id=` in the query does as well.
const ID_HEADER: &str = "x-request-id";

/// The parts of a request's head that a stub needs.
pub struct CallHead {
    /// Bytes of the head.
    pub used: usize,
    /// Bytes of the body that follows.
    pub body: u64,
    pub keep_alive: bool,
    pub id: Option<Box<[u8]>>,
}

/// A head that a stub does not accept.
#[derive(Debug, PartialEq, Eq)]
pub struct BadHead;

/// Parses a head; None while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<CallHead>, BadHead> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(BadHead),
    };
    let mut head = CallHead {
        used,
        body: 0,
        keep_alive: request.version == Some(1),
        id: request.path.and_then(id_in_query).map(Into::into),
    };
    for field in request.headers.iter() {
        let text = || std::str::from_utf8(field.value).map_err(|_| BadHead);
        if field.name.eq_ignore_ascii_case("content-length") {
            head.body = text()?.trim().parse().map_err(|_| BadHead)?;
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // No gateway sends a stub a body without a length.
            return Err(BadHead);
        } else if field.name.eq_ignore_ascii_case("connection") {
            let option = text()?.trim().to_ascii_lowercase();
            head.keep_alive = match option.as_str() {
                "close" => false,
                "keep-alive" => true,
                _ => head.keep_alive,
            };
        } else if field.name.eq_ignore_ascii_case(ID_HEADER) {
            head.id = Some(field.value.into());
        }
    }
    Ok(Some(head))
}

fn id_in_query(target: &str) -> Option<&[u8]> {
    let (_, query) = target.split_once('?')?;
    let id = query.split('&').find_map(|pair| pair.strip_prefix("id="));
    id.map(str::as_bytes)
}
