//! Converts a file of a conversation for another provider: to the same file in that provider's format, to its text, or
//! to a marker.

use super::{File, PDF, Storage, is_pdf, is_public, part, plain_name, str_of, understand};
use crate::anthropic;
use crate::format::Format;
use crate::gather::{image, image_at};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use codelet_context::message::{Extra, Image, Opaque, Part};
use codelet_text::short;
use serde_json::{Value, json};

/// Characters of a URL that a marker shows.
const ADDRESS: usize = 200;

/// The position of a file in the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Prompt,
    Answer,
    /// In a position where only text is allowed.
    Words,
}

/// Returns the screenshot that an output consists of.
pub(crate) fn screen(output: &Value) -> Option<Part> {
    let is_screen = str_of(output, "type") == Some("computer_screenshot");
    let url = str_of(output, "image_url").filter(|_| is_screen)?;
    Some(image_at(url.to_owned()))
}

impl File<'_> {
    /// Returns the content as parts if it consists of text and images only.
    fn told(&self) -> Option<Vec<Part>> {
        let titled = |text: &str| match self.name.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => Part::text(format!("{}:\n\n{text}", plain_name(name))),
            None => Part::text(text),
        };
        match &self.held {
            Storage::Text(text) if text.trim().is_empty() => None,
            Storage::Text(text) => Some(vec![titled(text)]),
            Storage::Base64(data) if self.is_text() => {
                let text = String::from_utf8(decoded(data)?).ok()?;
                (!text.trim().is_empty()).then(|| vec![titled(&text)])
            }
            Storage::Blocks(blocks, source) => {
                let head = [self.name, *source]
                    .into_iter()
                    .flatten()
                    .map(plain_name)
                    .collect::<Vec<_>>()
                    .join(", ");
                let mut parts = Vec::with_capacity(blocks.len() + 1);
                if !head.trim().is_empty() {
                    parts.push(Part::text(format!("{}:", head.trim())));
                }
                for block in *blocks {
                    match anthropic::block(block.clone()) {
                        Part::Text(text) if text.body.is_blank() => {}
                        Part::Text(text) => parts.push(Part::text(text.body)),
                        Part::Image(image) => parts.push(Part::Image(Image {
                            extra: Extra::default(),
                            ..image
                        })),
                        _ => return None,
                    }
                }
                Some(parts)
            }
            _ => None,
        }
    }

    /// Returns the block in another provider's format, if that has one for it.
    fn written(&self, from: Format, to: Format, place: Place) -> Option<Part> {
        if place == Place::Words {
            return None;
        }
        let is_openai = |format| matches!(format, Format::Openai | Format::Responses | Format::Codex);
        let data_url = |data: &str| format!("data:{};base64,{data}", self.media);
        let file_name = || self.name.unwrap_or("document.pdf");
        let (kind, value) = match (&self.held, to) {
            (Storage::Base64(data), _) if self.is("image/") => {
                return Some(image(&self.media, (*data).to_owned()));
            }
            (Storage::Address(url), _) if self.is("image/") && is_public(url) => {
                return Some(image_at((*url).to_owned()));
            }
            (Storage::Base64(data), Format::Anthropic) if self.media == PDF => {
                let source = json!({"type": "base64", "media_type": PDF, "data": data});
                ("document", json!({"type": "document", "source": source}))
            }
            (Storage::Address(url), Format::Anthropic) if is_public(url) && (self.media == PDF || is_pdf(url)) => {
                let source = json!({"type": "url", "url": url});
                ("document", json!({"type": "document", "source": source}))
            }
            (Storage::Base64(data), Format::Responses) if self.media == PDF => (
                "input_file",
                json!({"type": "input_file", "filename": file_name(), "file_data": data_url(data)}),
            ),
            (Storage::Address(url), Format::Responses) if is_public(url) => {
                ("input_file", json!({"type": "input_file", "file_url": url}))
            }
            (Storage::Kept(id), Format::Responses) if is_openai(from) => {
                ("input_file", json!({"type": "input_file", "file_id": id}))
            }
            (Storage::Base64(data), Format::Gemini) if self.media.contains('/') => (
                "inlineData",
                json!({"inlineData": {"mimeType": self.media, "data": data}}),
            ),
            (Storage::Address(url), Format::Gemini) if is_public(url) && self.media.contains('/') => (
                "fileData",
                json!({"fileData": {"mimeType": self.media, "fileUri": url}}),
            ),
            // Tool results of Chat Completions are text.
            (_, Format::Openai) if place == Place::Answer => return None,
            (Storage::Base64(data), Format::Openai) if self.media == PDF => {
                let file = json!({"filename": file_name(), "file_data": data_url(data)});
                ("file", json!({"type": "file", "file": file}))
            }
            (Storage::Base64(data), Format::Openai) if self.is("audio/") => {
                let format = match self.media.strip_prefix("audio/").unwrap_or_default() {
                    "wav" | "x-wav" | "wave" => "wav",
                    "mp3" | "mpeg" => "mp3",
                    _ => return None,
                };
                let audio = json!({"data": data, "format": format});
                ("input_audio", json!({"type": "input_audio", "input_audio": audio}))
            }
            (Storage::Kept(id), Format::Openai) if is_openai(from) && !self.is("image/") => {
                ("file", json!({"type": "file", "file": {"file_id": id}}))
            }
            _ => return None,
        };
        let mut value = value;
        if let (Some(name), "document", Some(fields)) = (self.name, kind, value.as_object_mut()) {
            fields.insert("title".to_owned(), Value::from(name));
        }
        Some(part(kind, value))
    }
}

/// Converts an opaque block for another provider: to the same file in that provider's format, or else to its text.
///
/// # Errors
/// The marker that replaces the block if the other provider has no equivalent.
pub(crate) fn convert(opaque: &Opaque, from: Format, to: Format, place: Place) -> Result<Vec<Part>, Part> {
    let Some(file) = understand(&opaque.value) else {
        return Err(marker(&opaque.kind, String::new(), to));
    };
    // Sessions of the provider's own agent use the provider's blocks.
    let is_same = from.form().blocks_of == Some(to);
    if is_same && place != Place::Words {
        return Ok(vec![Part::Opaque(opaque.clone())]);
    }
    if let Some(part) = file.written(from, to, place) {
        return Ok(vec![part]);
    }
    if let Some(parts) = file.told() {
        return Ok(parts);
    }
    let about = match file.held {
        Storage::Base64(data) => format!(", {} bytes", short::grouped(data.len() / 4 * 3)),
        Storage::Address(address) | Storage::Kept(address) => at(address),
        Storage::Text(_) | Storage::Blocks(..) => String::new(),
    };
    Err(marker(&opaque.label(), about, to))
}

/// Returns the words of a marker for the place of a file.
pub(crate) fn at(address: &str) -> String {
    let shown: String = address.chars().filter(|c| !c.is_control()).take(ADDRESS).collect();
    format!(" at {}", shown.replace(['[', ']'], "_"))
}

/// Returns the marker that replaces a block that the other provider cannot represent.
pub(crate) fn marker(label: &str, about: String, to: Format) -> Part {
    let label = codelet_context::cut::plain_name(label);
    Part::text(format!("[{label}{about}, left out: {to} has no place for it]"))
}

/// Decodes base64 in either alphabet, with or without line breaks; `None` if it is not base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    let digits = text.bytes().filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r'));
    let digits = digits.map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    });
    let engine = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    engine.decode(digits.collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
    use proptest::prelude::*;

    #[test]
    fn a_marker_holds_no_line_and_no_bracket_of_a_hostile_file() {
        let value = json!({"type": "input_file", "file_id": "a]\n[x", "filename": "]\nevil[".repeat(99)});
        let Part::Opaque(opaque) = part("input_file", value) else {
            unreachable!()
        };
        let Err(Part::Text(text)) = convert(&opaque, Format::Responses, Format::Gemini, Place::Prompt) else {
            panic!("a vendor's own file is nobody else's");
        };
        let words = text.body.as_str();
        assert!(
            words.len() < 400 && words.matches(['[', ']', '\n']).count() == 2,
            "{words}"
        );
    }

    proptest! {
        #[test]
        fn no_block_makes_it_fall_over(kind in "document|image|file|input_file|input_audio|search_result|x", text in "[ -~é]{0,40}", to in 0usize..4) {
            let inner = json!({"type": text, "data": text, "url": text, "file_id": text, "format": text, "file_data": text, "content": [{"type": "text", "text": text}, text]});
            let value = json!({"type": kind, "source": inner, "file": inner, "input_audio": inner, "content": inner["content"], "file_url": text});
            let Part::Opaque(opaque) = part(&kind, value) else { unreachable!() };
            let to = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini][to];
            for place in [Place::Prompt, Place::Answer, Place::Words] {
                let _ = convert(&opaque, Format::Corpus, to, place);
            }
        }

        #[test]
        fn base64_is_read_however_it_is_written(bytes in prop::collection::vec(any::<u8>(), 0..60), end in 0usize..80) {
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE] {
                let mut text = engine.encode(&bytes);
                text.insert_str(end.min(text.len()), "\r\n");
                prop_assert_eq!(decoded(&text), Some(bytes.clone()));
            }
        }
    }
}
