//! The connection of one client: HTTP requests in sequence, or a WebSocket.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use formic_ecs::Entity;
use sha1_smol::Sha1;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::http::{HttpRequest, IDLE_SECONDS_MAX, Inbox, NoRequest, is_timeout, write_answer};
use super::request::entity_of;
use super::server::{ANSWER_WAIT, FRAME_WAIT, Link, Seat};
use super::{Answer, Known};

/// The page, with everything that it needs.
const PAGE: &str = include_str!("page.html");
/// How often a waiting connection checks whether the server has ended.
const POLL: Duration = Duration::from_millis(200);
/// How long a client may read nothing of what it was sent.
const WRITE_SECONDS_MAX: Duration = Duration::from_secs(10);
/// The maximum size of a message from the page, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// Serves one client until it disconnects or the server ends.
pub(super) fn serve(mut stream: TcpStream, link: &Link, seat: &Seat, is_over: &AtomicBool) {
    let prepared = stream
        .set_read_timeout(Some(POLL))
        .and_then(|()| stream.set_write_timeout(Some(WRITE_SECONDS_MAX)))
        .and_then(|()| stream.set_nodelay(true));
    if prepared.is_ok() {
        // A client's disconnection is not our error.
        drop(serve_requests(&mut stream, link, seat, is_over));
    }
}

fn serve_requests(
    stream: &mut TcpStream,
    link: &Link,
    seat: &Seat,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let over = || is_over.load(Ordering::Relaxed);
    let mut inbox = Inbox::default();
    loop {
        let request = match inbox.next(stream, over) {
            Ok(request) => request,
            Err(NoRequest::Closed) => return Ok(()),
            Err(NoRequest::Refused(status, text)) => {
                // The boundary between this request and the next is unknown.
                send(stream, &Answer::error(status, text), true, true)?;
                return linger(stream);
            }
        };
        seat.note_request();
        let (has_body, closes) = (request.method != "HEAD", request.closes);
        if let Err(answer) = admit(&request) {
            send(stream, &answer, has_body, closes)?;
        } else if request.path == "/ws" {
            return match accept_key(&request) {
                Ok(key) if inbox.is_empty() => serve_socket(stream, &key, link, seat, is_over),
                Ok(_) => send(stream, &Answer::error(400, "wait for the handshake"), true, true),
                Err(answer) => send(stream, &answer, has_body, true),
            };
        } else {
            let answer = answer(&request, link);
            send(stream, &answer, has_body, closes)?;
        }
        if closes {
            return Ok(());
        }
    }
}

/// Checks whether a request may be served. The server listens only to this machine, but browsers on it
/// may show pages from elsewhere; the headers of their requests reveal the origin.
fn admit(request: &HttpRequest) -> Result<(), Answer> {
    if !matches!(&*request.method, "GET" | "HEAD" | "POST") {
        return Err(Answer::error(405, "GET, HEAD and POST are taken here"));
    }
    let host = request.header("host").unwrap_or_default();
    if !is_this_machine(host) {
        return Err(Answer::error(403, "this server is for localhost alone"));
    }
    // Images and scripts of a page from elsewhere send no `Origin` header, but they send this one.
    let site = request.header("sec-fetch-site").unwrap_or("none");
    // A link to the page may be followed from anywhere.
    if !is_page(request) && !matches!(site, "none" | "same-origin") {
        return Err(Answer::error(403, "pages from elsewhere have no business here"));
    }
    match request.header("origin") {
        Some(origin) if !origin.eq_ignore_ascii_case(&format!("http://{host}")) => {
            Err(Answer::error(403, "pages from elsewhere have no business here"))
        }
        _ => Ok(()),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

fn is_page(request: &HttpRequest) -> bool {
    matches!(&*request.path, "/" | "/index.html")
}

fn answer(request: &HttpRequest, link: &Link) -> Answer {
    match (&*request.method, is_page(request)) {
        ("POST", true) => Answer::error(405, "the page takes GET"),
        (_, true) => Answer {
            status: 200,
            media_type: "text/html; charset=utf-8",
            bytes: PAGE.as_bytes().to_vec(),
        },
        _ => link.answer(request),
    }
}

fn send(stream: &mut TcpStream, answer: &Answer, has_body: bool, closes: bool) -> io::Result<()> {
    write_answer(stream, (answer.status, answer.media_type, &answer.bytes), has_body, closes)
}

/// Reads on for a moment, so that closing the connection does not discard an answer that the client has
/// not read yet.
fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 4096];
    for _ in 0..64 {
        match stream.read(&mut rest) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Returns the answer to the key of a handshake (RFC 6455, section 4.2).
fn accept_key(request: &HttpRequest) -> Result<String, Answer> {
    let is_upgrade = request.method == "GET"
        && request.header_has("upgrade", "websocket")
        && request.header_has("connection", "upgrade");
    if !is_upgrade {
        return Err(Answer::error(426, "/ws speaks WebSocket"));
    }
    if request.header("sec-websocket-version") != Some("13") {
        return Err(Answer::error(426, "WebSocket version 13 is spoken here"));
    }
    match request.header("sec-websocket-key") {
        // 16 bytes in base64.
        Some(key) if key.len() == 24 && key.ends_with("==") => Ok(accepted(key)),
        _ => Err(Answer::error(400, "the handshake has no key")),
    }
}

/// Returns the proof that a server has read a key: the base64 of the hash of the key followed by a
/// constant of the WebSocket protocol. Using tungstenite's own function would add twelve crates.
fn accepted(key: &str) -> String {
    const SALT: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha1::from(format!("{key}{SALT}")).digest().bytes();
    let mut text = String::with_capacity(28);
    for three in digest.chunks(3) {
        let byte = |at: usize| usize::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.extend([18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63])));
    }
    // 20 bytes are six groups of three, and two more.
    text.replace_range(27.., "=");
    text
}

/// Sends frames to a viewer, one per request, so that no queue builds up for a slow one.
///
/// A request is a text message: `frame`, or `paths` for a frame with the paths of all agents, optionally
/// followed by a space and the entity that the viewer has chosen. If the frame is late, the server
/// answers with a text message that names the request or the tick that all clients wait for.
fn serve_socket(
    stream: &mut TcpStream,
    key: &str,
    link: &Link,
    seat: &Seat,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {key}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
    match serve_frames(&mut socket, link, seat, is_over) {
        Err(Error::Io(error)) => Err(error),
        _ => Ok(()),
    }
}

fn serve_frames(
    socket: &mut WebSocket<&mut TcpStream>,
    link: &Link,
    seat: &Seat,
    is_over: &AtomicBool,
) -> Result<(), Error> {
    let (mut known, mut seen, mut chosen_before) = (Known::default(), 0, None);
    let mut asked = Instant::now();
    loop {
        if is_over.load(Ordering::Relaxed) || asked.elapsed() > IDLE_SECONDS_MAX {
            socket.close(None)?;
            return socket.flush();
        }
        let read = socket.read();
        let wish = match &read {
            Ok(Message::Text(text)) => frame_wish(text),
            _ => None,
        };
        let (with_paths, chosen) = match read {
            _ if wish.is_some() => wish.unwrap_or_default(),
            // The next read answers pings.
            Ok(Message::Ping(_) | Message::Pong(_)) => continue,
            Ok(_) => {
                socket.close(None)?;
                return socket.flush();
            }
            Err(Error::Io(error)) if is_timeout(&error) => continue,
            Err(error) => return Err(error),
        };
        asked = Instant::now();
        seat.note_request();
        if known.paths != with_paths || chosen != chosen_before {
            (known.paths, chosen_before, seen) = (with_paths, chosen, 0);
        }
        let frame = link.ask_frame(seen, with_paths, chosen);
        let mut come = frame.recv_timeout(2 * FRAME_WAIT);
        if matches!(come, Err(RecvTimeoutError::Timeout)) {
            // The viewer is told what it waits for.
            socket.send(Message::text(link.doing()))?;
            come = frame.recv_timeout(ANSWER_WAIT);
        }
        let message = match come {
            Err(_) => {
                socket.close(None)?;
                return socket.flush();
            }
            // Nothing new; the viewer asks again.
            Ok(None) => Vec::new(),
            Ok(Some(frame)) => {
                let message = frame.message(&known);
                (known, seen) = (frame.known(&known), frame.version);
                message
            }
        };
        socket.send(Message::binary(message))?;
    }
}

/// Parses whether paths are wanted and the chosen entity; `None` for any other text.
fn frame_wish(text: &str) -> Option<(bool, Option<Entity>)> {
    let (what, chosen) = match text.split_once(' ') {
        Some((what, chosen)) => (what, Some(entity_of(chosen)?)),
        None => (text, None),
    };
    matches!(what, "frame" | "paths").then_some((what == "paths", chosen))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_handshake_is_answered_as_the_standard_has_it() {
        // RFC 6455, section 1.3.
        let answer = super::accepted("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
