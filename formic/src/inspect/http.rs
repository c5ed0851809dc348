//! HTTP requests and answers: limits on size and time around `httparse`.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Error, Status};

/// The maximum size of a request line and its headers, in bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The maximum number of headers of a request.
const HEADER_COUNT_MAX: usize = 100;
/// The maximum size of a body, in bytes: most have some dozen, a recording has 70 for each hash.
const BODY_BYTES_MAX: usize = 1 << 20;
/// How long a request may take to arrive once it has begun.
const REQUEST_SECONDS_MAX: Duration = Duration::from_secs(10);
/// How long a connection may be idle.
pub(super) const IDLE_SECONDS_MAX: Duration = Duration::from_secs(60);

/// A parsed request of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    /// Names in lower case, values without surrounding spaces.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the connection is closed after the answer.
    pub(super) closes: bool,
}

/// The reason why there is no request.
#[derive(Debug)]
pub(super) enum NoRequest {
    /// The client is gone, or has been silent for too long.
    Closed,
    /// The bytes are not a supported request: the status and the reason.
    Refused(u16, &'static str),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl HttpRequest {
    /// Returns the value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a header that is a list contains this word, ignoring case.
    pub(super) fn header_has(&self, name: &str, word: &str) -> bool {
        self.header(name)
            .is_some_and(|value| value.split(',').any(|it| it.trim().eq_ignore_ascii_case(word)))
    }
}

/// The received bytes of a connection that are not yet consumed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// Whether a request was awaited before.
    has_asked: bool,
}

impl Inbox {
    /// Reads the next request. `stream` has a short read timeout, so that `is_over` is polled.
    pub(super) fn next(
        &mut self,
        stream: &mut impl Read,
        is_over: impl Fn() -> bool,
    ) -> Result<HttpRequest, NoRequest> {
        let mut waits = Waits { since: Instant::now(), is_over };
        // A client that has sent a request before may do so again; one that never has is disconnected
        // sooner.
        let patience = if self.has_asked { IDLE_SECONDS_MAX } else { REQUEST_SECONDS_MAX };
        self.has_asked = true;
        while self.bytes.is_empty() {
            self.read_more(stream, &mut waits, patience)?;
        }
        waits.since = Instant::now();
        let (mut request, head_bytes) = loop {
            let head = parse_head(&self.bytes)?;
            let head_bytes = head.as_ref().map_or(self.bytes.len(), |&(_, len)| len);
            if head_bytes > HEAD_BYTES_MAX {
                return Err(HEAD_TOO_LONG);
            }
            if let Some(head) = head {
                break head;
            }
            self.read_more(stream, &mut waits, REQUEST_SECONDS_MAX)?;
        };
        self.bytes.drain(..head_bytes);
        let body_bytes = body_length(&request)?;
        while self.bytes.len() < body_bytes {
            self.read_more(stream, &mut waits, REQUEST_SECONDS_MAX)?;
        }
        request.body = self.bytes.drain(..body_bytes).collect();
        Ok(request)
    }

    /// Whether there are no bytes after the last request.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn read_more(
        &mut self,
        stream: &mut impl Read,
        waits: &mut Waits<impl Fn() -> bool>,
        most: Duration,
    ) -> Result<(), NoRequest> {
        let mut buffer = [0; 4096];
        loop {
            if (waits.is_over)() || waits.since.elapsed() > most {
                return Err(NoRequest::Closed);
            }
            match stream.read(&mut buffer) {
                Ok(0) => return Err(NoRequest::Closed),
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    return Ok(());
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

struct Waits<F> {
    since: Instant,
    is_over: F,
}

/// Whether the error only means that nothing arrived in time.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

const HEAD_TOO_LONG: NoRequest = NoRequest::Refused(431, "the head of the request is too long");

/// Parses the request and the length of its head, if the head is complete.
fn parse_head(bytes: &[u8]) -> Result<Option<(HttpRequest, usize)>, NoRequest> {
    const BAD: NoRequest = NoRequest::Refused(400, "that is no HTTP request");
    let mut headers = [EMPTY_HEADER; HEADER_COUNT_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let status = head.parse(bytes).map_err(|error| match error {
        Error::Version => NoRequest::Refused(505, "HTTP/1.1 is spoken here"),
        Error::TooManyHeaders => HEAD_TOO_LONG,
        _ => BAD,
    })?;
    let Status::Complete(len) = status else { return Ok(None) };
    let (method, target) = (head.method.unwrap_or_default(), head.path.unwrap_or_default());
    if !target.starts_with('/') || !target.is_ascii() {
        return Err(BAD);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = HttpRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        ..HttpRequest::default()
    };
    for header in head.headers {
        let value = std::str::from_utf8(header.value).map_err(|_| BAD)?;
        request.headers.push((header.name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    // RFC 9112, section 3.2. The second one would pass unseen.
    if request.headers.iter().filter(|(name, _)| name == "host").count() > 1 {
        return Err(NoRequest::Refused(400, "Host is one name"));
    }
    request.closes = head.version == Some(0) || request.header_has("connection", "close");
    Ok(Some((request, len)))
}

fn body_length(request: &HttpRequest) -> Result<usize, NoRequest> {
    if request.header("transfer-encoding").is_some() {
        return Err(NoRequest::Refused(501, "send a body with Content-Length"));
    }
    let mut lengths = request.headers.iter().filter(|(name, _)| name == "content-length");
    let Some((_, length)) = lengths.next() else { return Ok(0) };
    if lengths.next().is_some() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoRequest::Refused(400, "Content-Length is one number"));
    }
    match length.parse() {
        Ok(length) if length <= BODY_BYTES_MAX => Ok(length),
        _ => Err(NoRequest::Refused(413, "the body is too long")),
    }
}

/// What the page may load: only itself and our answers.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Writes an answer.
pub(super) fn write_answer(
    stream: &mut impl Write,
    (status, media_type, bytes): (u16, &str, &[u8]),
    has_body: bool,
    closes: bool,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: {POLICY}\r\n",
        reason(status),
        bytes.len()
    );
    head.push_str(match status {
        405 => "Allow: GET, HEAD, POST\r\n",
        // RFC 9110, section 15.5.22, and RFC 6455, section 4.4.
        426 => "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
        _ => "",
    });
    head.push_str(if closes { "Connection: close\r\n\r\n" } else { "\r\n" });
    let mut all = head.into_bytes();
    if has_body {
        all.extend_from_slice(bytes);
    }
    // In one write: the head alone would wait for an acknowledgement.
    stream.write_all(&all)?;
    stream.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut bytes: &[u8]) -> Result<HttpRequest, NoRequest> {
        Inbox::default().next(&mut bytes, || false)
    }

    fn status(bytes: &[u8]) -> Option<u16> {
        match parse(bytes) {
            Err(NoRequest::Refused(status, _)) => Some(status),
            Ok(_) | Err(NoRequest::Closed) => None,
        }
    }

    #[test]
    fn who_has_to_ask_in_another_way_is_told_which() {
        let head = |status| {
            let mut answer = Vec::new();
            write_answer(&mut answer, (status, "text/plain", b"no"), true, true)
                .expect("to memory");
            String::from_utf8(answer).expect("it is text")
        };
        assert!(head(405).contains("\r\nAllow: GET, HEAD, POST\r\n"));
        let upgrade = head(426);
        for line in ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"] {
            assert!(upgrade.contains(&format!("\r\n{line}\r\n")), "{upgrade}");
        }
        assert!(!head(404).contains("Allow") && !head(404).contains("Upgrade"));
    }

    #[test]
    fn a_request_is_taken_apart() {
        let text = b"POST /api/run?a=1&b HTTP/1.1\r\nHost:  x \r\nContent-LENGTH: 3\r\n\r\nabc";
        let request = parse(text).expect("it is one");
        assert_eq!(
            (&*request.method, &*request.path, &*request.query),
            ("POST", "/api/run", "a=1&b")
        );
        assert_eq!((request.header("host"), &request.body[..]), (Some("x"), &b"abc"[..]));
        assert!(!request.closes);
    }

    #[test]
    fn requests_come_one_after_the_other_on_one_connection() {
        let mut bytes: &[u8] =
            b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nxyGET /b HTTP/1.0\r\n\r\n";
        let mut inbox = Inbox::default();
        let mut next = || inbox.next(&mut bytes, || false);
        assert_eq!(next().expect("the first").body, b"xy");
        let second = next().expect("the second");
        assert!(second.path == "/b" && second.closes);
        assert!(matches!(next(), Err(NoRequest::Closed)));
    }

    #[test]
    fn what_is_no_request_is_refused_by_its_fault() {
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(HEADER_COUNT_MAX + 1));
        let cases: [(&[u8], Option<u16>); 21] = [
            (b"", None),
            (b"GET / HTTP/1.1\r\n", None),
            (b"GET /\r\n\r\n", Some(400)),
            (b"GET  / HTTP/1.1\r\n\r\n", Some(400)),
            (b"GET / HTTP/2.0\r\n\r\n", Some(505)),
            (b"GET http://a/ HTTP/1.1\r\n\r\n", Some(400)),
            (b"GET /\x01 HTTP/1.1\r\n\r\n", Some(400)),
            (b"\xff\xfe HTTP/1.1\r\n\r\n", Some(400)),
            (b"\r\n\r\n", None),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\n: x\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", Some(413)),
            (b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", Some(413)),
            (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Some(501)),
            (b"GET /\xc3\xa4 HTTP/1.1\r\n\r\n", Some(400)),
            (b"GET / HTTP/1.1\r\nX: \xff\r\n\r\n", Some(400)),
            (long.as_bytes(), Some(431)),
            (many.as_bytes(), Some(431)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(status(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
