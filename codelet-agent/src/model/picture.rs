//! Images as bytes: their format and their size. A provider refuses a request with a single image that is too large, and
//! every later one that includes it, so such an image is replaced by a note. What a provider finds unreadable is
//! removed from the conversation once it says so.

use base64::Engine;
use codelet_context::message::Image;
use codelet_text::short::grouped;

/// The maximum width and height, in pixels: Anthropic's limit, which is lower than other providers'.
const SIDE: u32 = 8000;
/// The number of leading bytes that identify a file's type.
pub const HEAD: usize = 16;

/// Returns the media type of an image that models accept, by its first bytes.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    // In real files the size fields contain zeros, or other bytes that text does not.
    let is_text = || {
        let mut head = bytes[..bytes.len().min(HEAD)].iter();
        head.all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
    };
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] if !is_text() => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] if !is_text() => Some("image/webp"),
        _ => None,
    }
}

/// Returns the width and height that an image says it has.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    match media_type(bytes)? {
        "image/png" => png(bytes),
        "image/jpeg" => jpeg(bytes),
        "image/gif" => gif(bytes),
        _ => webp(bytes),
    }
}

/// Returns the longer side of an image, in pixels; `None` if it is only a URL, or unreadable.
pub(crate) fn longer_side(image: &Image) -> Option<u32> {
    if image.is_url {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(image.data.as_str());
    size(&bytes.ok()?).map(|(width, height)| width.max(height))
}

/// Returns why an image of this format cannot be sent, as a fragment; `None` if it can.
pub fn trouble(bytes: &[u8]) -> Option<String> {
    media_type(bytes)?;
    match size(bytes) {
        None | Some((0, _) | (_, 0)) => Some("it is cut off or damaged".to_owned()),
        Some((width, height)) if width.max(height) > SIDE => Some(format!(
            "it has {} x {} pixels; the limit is {} per side, so resize it first",
            grouped(width as usize),
            grouped(height as usize),
            grouped(SIDE as usize)
        )),
        Some(_) => None,
    }
}

/// Returns why a tool's image cannot be sent; `None` if it can, or is only a URL.
pub(crate) fn trouble_of(image: &Image) -> Option<String> {
    if image.is_url {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(image.data.as_str());
    match bytes {
        Ok(bytes) if media_type(&bytes).is_some() => trouble(&bytes),
        _ => Some("it is not a supported image format (PNG, JPEG, GIF, WebP)".to_owned()),
    }
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

/// Reads `count` bytes as a little-endian number.
fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| (number << 8) | u32::from(*byte)),
    )
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    Some((big(bytes, 16)?, big(bytes, 20)?))
}

/// Reads the segments up to the one that says the size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Markers may be padded, and some have no payload.
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            0xd9 | 0xda => return None,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((short(bytes, at + 7)?, short(bytes, at + 5)?));
            }
            _ => at += 2 + (short(bytes, at + 2)? as usize).max(2),
        }
    }
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => {
            Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff))
        }
        b"VP8L" if *bytes.get(20)? == 0x2f => {
            let sides = little(bytes, 21, 4)?;
            Some(((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn a_png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
        for (kind, data) in [
            (b"IHDR", [&sides[..], &[8, 6, 0, 0, 0]].concat()),
            (b"tEXt", b"IEND".to_vec()),
            (b"IDAT", vec![0x78; 40]),
            (b"IEND", Vec::new()),
        ] {
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(kind);
            bytes.extend(data);
            bytes.extend([0; 4]);
        }
        bytes
    }

    fn a_jpeg(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe1\x00\x0athumb\xff\xd9\x00".to_vec();
        bytes.extend(b"\xff\xff\xc2\x00\x0b\x08");
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes.extend(b"\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\xff\x00\x12\x34\xff\xd9");
        bytes
    }

    fn a_gif(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
        bytes.extend(b"\x80\0\0\0\0\0\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;");
        bytes
    }

    fn a_webp(form: &[u8], data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let chunk = [form, &length.to_le_bytes(), data].concat();
        [b"RIFF", &(chunk.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunk].concat()
    }

    fn webps(width: u32, height: u32) -> [Vec<u8>; 3] {
        let [w, h] = [width, height].map(u32::to_le_bytes);
        let lossless = ((width - 1) | ((height - 1) << 14)).to_le_bytes();
        let [w1, h1] = [width - 1, height - 1].map(u32::to_le_bytes);
        [
            a_webp(
                b"VP8 ",
                &[&[0x30, 1, 0, 0x9d, 1, 0x2a][..], &w[..2], &h[..2], &[7; 9]].concat(),
            ),
            a_webp(b"VP8L", &[&[0x2f][..], &lossless, &[7; 9]].concat()),
            a_webp(b"VP8X", &[&[0; 4][..], &w1[..3], &h1[..3], &[7; 9]].concat()),
        ]
    }

    fn all(width: u32, height: u32) -> Vec<Vec<u8>> {
        let mut all = vec![
            a_png(width, height),
            a_jpeg(width as u16, height as u16),
            a_gif(width as u16, height as u16),
        ];
        all.extend(webps(width, height));
        all
    }

    #[test]
    fn a_whole_picture_of_a_usual_size_is_sent() {
        for picture in all(1920, 1080).into_iter().chain(all(8000, 1)).chain(all(2570, 2570)) {
            assert_eq!(trouble(&picture), None, "{picture:?}");
            // Some programs append something.
            assert_eq!(trouble(&[&picture[..], b"\0\0more"].concat()), None, "{picture:?}");
        }
    }

    #[test]
    fn a_picture_with_too_many_pixels_is_told_of() {
        for (width, height) in [(100, 9000), (8001, 1)] {
            for picture in all(width, height) {
                let told = trouble(&picture).unwrap();
                assert!(told.contains("8,000 per side") && told.contains(" x "), "{told}");
            }
        }
        assert!(trouble(&a_png(100, 9000)).unwrap().contains("100 x 9,000 pixels"));
    }

    #[test]
    fn a_picture_without_its_size_is_told_of() {
        for (picture, size_ends) in all(640, 480).iter().zip([24, 24, 10, 30, 25, 30]) {
            for length in 12..picture.len() {
                let told = trouble(&picture[..length]);
                let is_told = told.as_deref() == Some("it is cut off or damaged");
                assert!(
                    is_told == (length < size_ends) && (is_told || told.is_none()),
                    "{length} of {picture:?}: {told:?}"
                );
            }
        }
        assert!(trouble(&a_png(0, 10)).is_some());
        assert!(trouble(b"\x89PNG\r\n\x1a\n").is_some());
    }

    #[test]
    fn a_text_that_begins_like_a_picture_is_a_text() {
        for text in [
            "GIF89a",
            "GIF89a is the magic of a GIF\n",
            "GIF87a\tand GIF89a",
            "RIFFxxxxWEBP is a text\n",
            "BM hello",
        ] {
            assert_eq!(media_type(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_a_tool_gives_as_a_picture_is_looked_at() {
        let image = |data: String, is_url| Image {
            media_type: "image/png".into(),
            data: codelet_context::body::Body::new(data),
            is_url,
            extra: Default::default(),
        };
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        assert_eq!(trouble_of(&image(encode(&a_png(1, 1)), false)), None);
        assert_eq!(trouble_of(&image("https://example.org/a.png".to_owned(), true)), None);
        for data in [
            encode(&a_png(9000, 1)),
            encode(b"\x89PNG\r\n\x1a\n"),
            encode(b"text"),
            "<>".to_owned(),
        ] {
            assert!(trouble_of(&image(data.clone(), false)).is_some(), "{data}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(head in 0usize..6, bytes: Vec<u8>, cut in 0usize..40) {
            let picture = &all(640, 480)[head];
            let picture = [&picture[..cut.min(picture.len())], &bytes].concat();
            let _ = trouble(&picture);
        }
    }
}
