//! The body of a response: read and decompressed up to a limit.

use flate2::write::MultiGzDecoder;
use std::io::{self, Write};

/// Bytes that are read at most, and bytes that they may decompress to.
pub(crate) const MOST: usize = 5 * 1024 * 1024;

/// Reads a body.
pub(crate) struct Body {
    sink: Sink,
    taken: usize,
}

enum Sink {
    Plain(Bounded),
    Packed(Box<MultiGzDecoder<Bounded>>),
}

/// The body that was read.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The decompressed bytes.
    pub(crate) bytes: Vec<u8>,
    /// The reason why the rest is missing.
    pub(crate) cut: Option<&'static str>,
}

/// A byte buffer that grows up to a limit.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (MOST - self.0.len()).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Body {
    /// Creates a reader for this `Content-Encoding`.
    ///
    /// # Errors
    /// If the encoding is not supported.
    pub(crate) fn new(encoding: &str) -> Result<Self, String> {
        let sink = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Sink::Plain(Bounded::default()),
            "gzip" | "x-gzip" => Sink::Packed(Box::new(MultiGzDecoder::new(Bounded::default()))),
            _ => return Err("it is packed in a way that was not asked for (Content-Encoding)".to_owned()),
        };
        Ok(Body { sink, taken: 0 })
    }

    /// Takes more bytes, or says why no more are wanted.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        const MUCH: &str = "the rest was not read: the limit is 5 MB";
        self.taken += bytes.len();
        let written = match &mut self.sink {
            Sink::Plain(sink) => sink.write_all(bytes),
            Sink::Packed(sink) => sink.write_all(bytes),
        };
        match written {
            Ok(()) if self.taken > MOST => Err(MUCH),
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(MUCH),
            Err(_) => Err("the rest cannot be unpacked: it is damaged"),
        }
    }

    /// Returns the body; `cut` says why it is incomplete, if it is.
    pub(crate) fn finish(self, cut: Option<&'static str>) -> Taken {
        match self.sink {
            Sink::Plain(Bounded(bytes)) => Taken { bytes, cut },
            Sink::Packed(mut sink) => {
                let ended = sink.try_finish();
                let cut = cut.or(ended
                    .err()
                    .map(|_| "the rest cannot be unpacked: it is damaged or cut off"));
                let bytes = std::mem::take(&mut sink.get_mut().0);
                Taken { bytes, cut }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn taken(encoding: &str, chunks: &[&[u8]]) -> Taken {
        let mut body = Body::new(encoding).unwrap();
        let cut = chunks.iter().find_map(|chunk| body.push(chunk).err());
        body.finish(cut)
    }

    #[test]
    fn what_is_packed_is_unpacked_as_it_comes() {
        let bytes = packed(b"some words");
        let (head, tail) = bytes.split_at(7);
        let whole = taken("GZIP", &[head, tail]);
        assert_eq!((whole.bytes.as_slice(), whole.cut), (&b"some words"[..], None));
        let two = [packed(b"some "), packed(b"words")].concat();
        assert_eq!(taken("x-gzip", &[&two]).bytes, b"some words");
    }

    #[test]
    fn a_bomb_is_stopped_at_the_bound() {
        let bomb = packed(&vec![0; 200 << 20]);
        assert!(bomb.len() < MOST);
        let stopped = taken("gzip", &[&bomb]);
        assert_eq!(stopped.bytes.len(), MOST);
        assert!(stopped.cut.unwrap().contains("limit"));
    }

    #[test]
    fn what_is_too_long_or_damaged_is_cut_and_told() {
        let chunk = vec![b'a'; MOST / 2 + 1];
        let long = taken("", &[&chunk, &chunk, &chunk]);
        assert_eq!(long.bytes.len(), MOST);
        assert!(long.cut.is_some());
        let bytes = packed(b"some words");
        assert!(taken("gzip", &[&bytes[..bytes.len() - 9]]).cut.is_some());
        assert!(taken("gzip", &[b"no gzip at all"]).cut.is_some());
        assert!(Body::new("br").is_err() && Body::new("gzip, gzip").is_err());
    }

    #[test]
    fn what_unpacks_to_nothing_is_bounded_too() {
        let nothing = packed(b"").repeat(MOST / 20 + 1);
        assert!(taken("gzip", &[&nothing]).cut.is_some());
    }
}
