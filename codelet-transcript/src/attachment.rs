//! Files in a conversation (documents, audio, video, search results), in each provider's format.
//!
//! A file is a block that is never altered in a conversation. The parsed fields give its size in tokens, and let it be
//! written for another provider.

mod convert;

pub(crate) use convert::{Place, at, convert, marker, screen};

use crate::vendor;
use codelet_context::message::{IMAGE_TOKENS, Nature, Opaque, Part};
use codelet_text::short;
use serde_json::Value;
use std::borrow::Cow;

/// Tokens per document page: Anthropic documents 1,500 to 3,000 for its text, Gemini 258.
const PAGE_TOKENS: u64 = 3_000;
/// File bytes per page: a page of text takes some 20,000, a scanned one some 300,000.
const PAGE_BYTES: u64 = 100_000;
/// The maximum number of pages counted: Anthropic accepts 100 in a request.
const MOST_PAGES: u64 = 100;
/// Tokens per thousand bytes of audio or video. Gemini: 32 tokens for a second of audio, which takes some 16,000 bytes,
/// and some 300 for a second of video, which takes some 200,000.
const MEDIA_TOKENS: u64 = 2;

/// The parsed fields of a file block.
#[derive(Debug)]
struct File<'a> {
    /// The media type, for example `application/pdf`; empty if unknown.
    media: Cow<'a, str>,
    name: Option<&'a str>,
    held: Storage<'a>,
}

/// The storage of a block's file.
#[derive(Debug)]
enum Storage<'a> {
    Base64(&'a str),
    Text(&'a str),
    /// Texts and images, and their source.
    Blocks(&'a [Value], Option<&'a str>),
    Address(&'a str),
    /// Stored by the provider under this id.
    Kept(&'a str),
}

/// Returns an opaque part for a block that is not parsed further: a file, or a block of unknown kind.
pub fn part(kind: &str, value: Value) -> Part {
    let words = vendor::words::of(kind, &value);
    if vendor::stays(kind, &value) {
        return Part::Opaque(Opaque::new(kind, value).that_is(Nature::Reference));
    }
    let nature = understand(&value).map(|file| Nature::File {
        name: file.name.filter(|name| !name.trim().is_empty()).map(plain_name),
        tokens: file.weight(),
    });
    let mut opaque = Opaque::new(kind, value).that_is(nature.unwrap_or_default());
    opaque.words = words;
    Part::Opaque(opaque)
}

/// Like [`part`], but only for files.
pub(crate) fn file(kind: &str, value: Value) -> Option<Part> {
    understand(&value)?;
    Some(part(kind, value))
}

fn plain_name(name: &str) -> std::sync::Arc<str> {
    short::plain_name(name.trim()).into()
}

fn understand(value: &Value) -> Option<File<'_>> {
    match str_of(value, "type") {
        Some("document" | "image") => anthropic(value),
        Some("search_result") => Some(File::of(
            "",
            str_of(value, "title"),
            Storage::Blocks(value.get("content")?.as_array()?, str_of(value, "source")),
        )),
        Some("container_upload") => Some(File::kept("", None, str_of(value, "file_id")?)),
        Some("input_audio") => {
            let audio = value.get("input_audio")?;
            Some(File {
                media: Cow::Owned(format!("audio/{}", str_of(audio, "format")?)),
                name: None,
                held: Storage::Base64(str_of(audio, "data")?),
            })
        }
        Some("input_image") => Some(File::kept("image/*", None, str_of(value, "file_id")?)),
        Some("file") => match value.get("file") {
            Some(file) => openai(file),
            // An agent's own record of an attached file.
            None => Some(File {
                name: str_of(value, "filename"),
                ..addressed(str_of(value, "url")?, str_of(value, "mime")?)
            }),
        },
        Some("input_file") => openai(value),
        Some(_) => None,
        None => gemini(value),
    }
}

fn str_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn anthropic(value: &Value) -> Option<File<'_>> {
    let source = value.get("source")?;
    let is_image = str_of(value, "type") == Some("image");
    let media = str_of(source, "media_type").unwrap_or(if is_image { "image/*" } else { "" });
    let held = match str_of(source, "type")? {
        "base64" => Storage::Base64(str_of(source, "data")?),
        "text" => Storage::Text(str_of(source, "data")?),
        "url" => Storage::Address(str_of(source, "url")?),
        "file" => Storage::Kept(str_of(source, "file_id")?),
        "content" => match source.get("content")? {
            Value::String(text) => Storage::Text(text),
            content => Storage::Blocks(content.as_array()?, None),
        },
        _ => return None,
    };
    // A URL that is not an image is a PDF: no other documents are fetched.
    let is_fetched = matches!(held, Storage::Address(_)) && !is_image;
    Some(File {
        media: Cow::Borrowed(if is_fetched { PDF } else { media }),
        name: str_of(value, "title"),
        held,
    })
}

fn openai(file: &Value) -> Option<File<'_>> {
    let name = str_of(file, "filename");
    if let Some(data) = str_of(file, "file_data") {
        let of_name = if name.is_none_or(is_pdf) { PDF } else { "" };
        return Some(File {
            name,
            ..addressed(data, of_name)
        })
        .map(|file| match file.held {
            // Data without a data URL prefix that gives its type.
            Storage::Address(data) => File {
                held: Storage::Base64(data),
                ..file
            },
            _ => file,
        });
    }
    if let Some(url) = str_of(file, "file_url") {
        let media = if is_pdf(url) { PDF } else { "" };
        return Some(File {
            name,
            ..addressed(url, media)
        });
    }
    Some(File::kept("", name, str_of(file, "file_id")?))
}

fn gemini(value: &Value) -> Option<File<'_>> {
    let either = |value: &'_ Value, names: [&'static str; 2]| names.into_iter().find(|name| value.get(name).is_some());
    let media_of = |inner| either(inner, ["mimeType", "mime_type"]).and_then(|name| str_of(inner, name));
    if let Some(name) = either(value, ["inlineData", "inline_data"]) {
        let inner = value.get(name)?;
        return Some(File::of(
            media_of(inner).unwrap_or_default(),
            str_of(inner, "displayName"),
            Storage::Base64(str_of(inner, "data")?),
        ));
    }
    let inner = value.get(either(value, ["fileData", "file_data"])?)?;
    let address = str_of(inner, either(inner, ["fileUri", "file_uri"])?)?;
    Some(File {
        media: Cow::Borrowed(media_of(inner).unwrap_or_default()),
        name: str_of(inner, "displayName"),
        held: if is_public(address) {
            Storage::Address(address)
        } else {
            Storage::Kept(address)
        },
    })
}

/// Splits a data URL into its type, with parameters, and its base64 data.
pub(crate) fn data_in(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// Reads a URL; it may be a data URL that holds the file itself.
fn addressed<'a>(address: &'a str, media: &'a str) -> File<'a> {
    match data_in(address) {
        Some((head, data)) => File {
            media: Cow::Borrowed(
                head.split(';')
                    .next()
                    .filter(|media| !media.is_empty())
                    .unwrap_or(media),
            ),
            name: None,
            held: Storage::Base64(data),
        },
        None => File::of(media, None, Storage::Address(address)),
    }
}

/// Returns whether a URL can be fetched by anyone but the provider that stores the file.
pub(crate) fn is_public(address: &str) -> bool {
    let host = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"));
    host.is_some_and(|host| !host.starts_with("generativelanguage.googleapis.com/"))
}

const PDF: &str = "application/pdf";

fn is_text(media: &str) -> bool {
    media.starts_with("text/") || media == "application/json"
}

/// Estimates a file's size in tokens from its media type (empty if unknown) and its length in bytes. A file given by
/// URL or id, whose length is unknown, counts as one page.
pub fn file_tokens(media: &str, bytes: Option<u64>) -> u64 {
    match bytes {
        _ if media.starts_with("image/") => IMAGE_TOKENS,
        None => PAGE_TOKENS,
        Some(bytes) if is_text(media) => bytes.div_ceil(4),
        Some(bytes) if media.starts_with("audio/") || media.starts_with("video/") => {
            bytes.saturating_mul(MEDIA_TOKENS).div_ceil(1_000)
        }
        Some(bytes) => bytes.div_ceil(PAGE_BYTES).clamp(1, MOST_PAGES) * PAGE_TOKENS,
    }
}

fn is_pdf(name: &str) -> bool {
    let path = name.split(['?', '#']).next().unwrap_or_default();
    path.len() >= 4 && path.as_bytes()[path.len() - 4..].eq_ignore_ascii_case(b".pdf")
}

impl<'a> File<'a> {
    fn of(media: &'a str, name: Option<&'a str>, held: Storage<'a>) -> Self {
        File {
            media: Cow::Borrowed(media),
            name,
            held,
        }
    }

    fn kept(media: &'a str, name: Option<&'a str>, id: &'a str) -> Self {
        File::of(media, name, Storage::Kept(id))
    }

    fn is(&self, family: &str) -> bool {
        self.media.starts_with(family)
    }

    fn is_text(&self) -> bool {
        is_text(&self.media)
    }

    fn weight(&self) -> u64 {
        let of_text = |bytes: usize| (bytes as u64).div_ceil(4);
        match self.held {
            Storage::Text(text) => of_text(text.len()),
            Storage::Blocks(blocks, _) => blocks
                .iter()
                .map(|block| match str_of(block, "text") {
                    Some(text) => of_text(text.len()),
                    None => IMAGE_TOKENS,
                })
                .sum(),
            Storage::Base64(data) => file_tokens(&self.media, Some(data.len() as u64 / 4 * 3)),
            Storage::Address(_) | Storage::Kept(_) => file_tokens(&self.media, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tokens(value: Value) -> u64 {
        let Part::Opaque(opaque) = part("x", value) else {
            unreachable!()
        };
        match opaque.nature {
            Nature::File { tokens, .. } => tokens,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_document_weighs_by_its_pages_and_sound_by_its_length() {
        let pdf = |bytes: usize| {
            let data = "A".repeat(bytes / 3 * 4);
            json!({"type": "document", "source": {"type": "base64", "media_type": PDF, "data": data}})
        };
        assert_eq!(tokens(pdf(3)), 3_000);
        assert_eq!(tokens(pdf(3_000_000)), 90_000);
        assert_eq!(tokens(pdf(24_000_000)), 300_000);
        let sound = json!({"inlineData": {"mimeType": "audio/wav", "data": "A".repeat(40_000)}});
        assert_eq!(tokens(sound), 60);
        let text = json!({"type": "document", "source": {"type": "text", "data": "x".repeat(400)}});
        assert_eq!(tokens(text), 100);
        assert_eq!(
            tokens(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            IMAGE_TOKENS
        );
    }
}
