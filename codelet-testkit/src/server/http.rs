//! Hand-written HTTP/1.1, so that a response can break at any byte and a disconnecting client is noticed.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A received request.
#[derive(Debug)]
pub(super) struct Asked {
    pub method: String,
    pub path: String,
    /// Headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Maximum bytes of a request's head.
const HEAD: usize = 64 << 10;
/// Maximum bytes of a request's body.
const BODY: usize = 64 << 20;
/// Maximum bytes that a client may send while it is being answered.
const AHEAD: usize = 1 << 20;

/// Reads one request; `None` if the client has closed the connection. `ahead` holds bytes read beyond the last request.
pub(super) async fn read<S>(stream: &mut S, ahead: &mut Vec<u8>) -> io::Result<Option<Asked>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut asked, length) = loop {
        if let Some((asked, length)) = head(ahead)? {
            break (asked, length);
        }
        if ahead.len() > HEAD {
            return Err(wrong("the head is too long"));
        }
        if stream.read_buf(ahead).await? == 0 {
            return Ok(None);
        }
    };
    ahead.drain(..length);
    let value = |name: &str| {
        let header = asked.headers.iter().find(|(own, _)| own == name);
        header.map(|(_, value)| value.to_ascii_lowercase())
    };
    if value("expect").is_some_and(|expect| expect == "100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    if value("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        asked.body = chunked(stream, ahead).await?;
        return Ok(Some(asked));
    }
    let length = value("content-length").map_or(Ok(0), |length| length.trim().parse::<usize>());
    let length = length.map_err(|_| wrong("the length is no number"))?;
    if length > BODY {
        return Err(wrong("the body is too long"));
    }
    asked.body = take(stream, ahead, length).await?;
    Ok(Some(asked))
}

fn head(bytes: &[u8]) -> io::Result<Option<(Asked, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes).map_err(|error| wrong(&error.to_string()))? {
        httparse::Status::Partial => Ok(None),
        httparse::Status::Complete(length) => {
            let headers = request.headers.iter().map(|header| {
                let value = String::from_utf8_lossy(header.value).into_owned();
                (header.name.to_ascii_lowercase(), value)
            });
            let asked = Asked {
                method: request.method.unwrap_or_default().to_owned(),
                path: request.path.unwrap_or_default().to_owned(),
                headers: headers.collect(),
                body: Vec::new(),
            };
            Ok(Some((asked, length)))
        }
    }
}

/// Takes the next `length` bytes.
async fn take<S: AsyncRead + Unpin>(stream: &mut S, ahead: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    while ahead.len() < length {
        if stream.read_buf(ahead).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let rest = ahead.split_off(length);
    Ok(std::mem::replace(ahead, rest))
}

async fn chunked<S: AsyncRead + Unpin>(stream: &mut S, ahead: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(stream, ahead).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| wrong("a chunk's size is no number"))?;
        if size > BODY || body.len() + size > BODY {
            return Err(wrong("the body is too long"));
        }
        if size == 0 {
            while !self::line(stream, ahead).await?.is_empty() {}
            return Ok(body);
        }
        body.extend(take(stream, ahead, size).await?);
        take(stream, ahead, 2).await?;
    }
}

async fn line<S: AsyncRead + Unpin>(stream: &mut S, ahead: &mut Vec<u8>) -> io::Result<String> {
    loop {
        if let Some(end) = ahead.windows(2).position(|pair| pair == b"\r\n") {
            let line = take(stream, ahead, end + 2).await?;
            return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
        }
        if ahead.len() > HEAD || stream.read_buf(ahead).await? == 0 {
            return Err(wrong("a line does not end"));
        }
    }
}

/// Returns when the client has closed the connection. Bytes it sends until then belong to its next request.
pub(super) async fn gone<R: AsyncRead + Unpin>(stream: &mut R, ahead: &mut Vec<u8>) {
    loop {
        match stream.read_buf(ahead).await {
            Ok(0) | Err(_) => return,
            Ok(_) if ahead.len() > AHEAD => return,
            Ok(_) => {}
        }
    }
}

/// A complete response.
pub(super) fn whole(status: u16, headers: &[(&str, String)], body: &str) -> Vec<u8> {
    let mut answer = head_of(status, "application/json", headers);
    answer.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    answer.into_bytes()
}

/// The head of a stream with a chunked body.
pub(super) fn stream_head(headers: &[(&str, String)]) -> Vec<u8> {
    let mut head = head_of(200, "text/event-stream; charset=utf-8", headers);
    head.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    head.into_bytes()
}

fn head_of(status: u16, kind: &str, headers: &[(&str, String)]) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Answer",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

/// A chunk of a body.
pub(super) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// The last chunk of a body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
