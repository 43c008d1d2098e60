//! Pictures, and files that nobody alters.

use super::field::{DETAIL, Fields, NATIVE, RAW, get, is_marked};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codelet_context::cut::plain_name;
use codelet_context::message::{IMAGE_TOKENS, Image, Nature, Opaque, Part};
use codelet_transcript::file_tokens;
use rig_core::message::{self as rig, DocumentSourceKind, ImageMediaType, MimeType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

pub(super) const IMAGE: &str = "image";
pub(super) const AUDIO: &str = "audio";
pub(super) const VIDEO: &str = "video";
pub(super) const DOCUMENT: &str = "document";

/// A picture. One that has neither an address nor data is kept as an opaque file.
pub(super) fn read_image(image: &rig::Image) -> Part {
    let (data, is_url, is_raw) = match &image.data {
        DocumentSourceKind::Url(url) => (url.clone(), true, false),
        DocumentSourceKind::Base64(data) => (data.clone(), false, false),
        DocumentSourceKind::Raw(bytes) => (BASE64_STANDARD.encode(bytes), false, true),
        _ => return file(IMAGE, image, &image.data, None, IMAGE_TOKENS),
    };
    let mut extra = Fields::default();
    extra.mark(RAW, is_raw);
    extra.put(DETAIL, &image.detail);
    let media_type = image.media_type.as_ref().map_or("", |kind| kind.to_mime_type());
    Part::Image(Image {
        media_type: media_type.into(),
        extra: extra.around(&image.native, data.len()),
        data: data.into(),
        is_url,
    })
}

pub(super) fn write_image(image: &Image) -> rig::Image {
    let text = || image.data.as_str().to_owned();
    let raw = is_marked(&image.extra, RAW).then(|| BASE64_STANDARD.decode(image.data.as_str()));
    let data = match (image.is_url, raw) {
        (true, _) => DocumentSourceKind::Url(text()),
        (false, Some(Ok(bytes))) => DocumentSourceKind::Raw(bytes),
        (false, _) => DocumentSourceKind::Base64(text()),
    };
    rig::Image {
        data,
        media_type: ImageMediaType::from_mime_type(&image.media_type),
        detail: get(&image.extra, DETAIL),
        native: get(&image.extra, NATIVE),
    }
}

pub(super) fn read_audio(audio: &rig::Audio) -> Part {
    let media = audio.media_type.as_ref().map_or("audio/", |kind| kind.to_mime_type());
    file(AUDIO, audio, &audio.data, None, weight(media, &audio.data))
}

pub(super) fn read_video(video: &rig::Video) -> Part {
    let media = video.media_type.as_ref().map_or("video/", |kind| kind.to_mime_type());
    file(VIDEO, video, &video.data, None, weight(media, &video.data))
}

pub(super) fn read_document(document: &rig::Document) -> Part {
    let media = document.media_type.as_ref().map_or("", |kind| kind.to_mime_type());
    let title = document
        .additional_params
        .as_ref()
        .and_then(|fields| fields.get("title")?.as_str());
    file(DOCUMENT, document, &document.data, title, weight(media, &document.data))
}

/// The estimated size of a file in tokens.
fn weight(media: &str, data: &DocumentSourceKind) -> u64 {
    match data {
        DocumentSourceKind::String(text) => file_tokens("text/plain", Some(text.len() as u64)),
        DocumentSourceKind::Base64(data) => file_tokens(media, Some(data.len() as u64 / 4 * 3)),
        DocumentSourceKind::Raw(bytes) => file_tokens(media, Some(bytes.len() as u64)),
        _ => file_tokens(media, None),
    }
}

/// A file as rig stores it, with its bytes as Base64: a list of numbers takes thirty times the space.
fn file(kind: &str, whole: &impl Serialize, data: &DocumentSourceKind, name: Option<&str>, tokens: u64) -> Part {
    let mut value = serde_json::to_value(whole).unwrap_or_default();
    if let (DocumentSourceKind::Raw(bytes), Value::Object(fields)) = (data, &mut value) {
        fields.insert("data".to_owned(), Value::from(BASE64_STANDARD.encode(bytes)));
    }
    let name = name
        .filter(|name| !name.trim().is_empty())
        .map(|name| Arc::from(plain_name(name)));
    Part::Opaque(Opaque::new(kind, value).that_is(Nature::File { name, tokens }))
}

/// The original of a file that [`file`] has converted.
pub(super) fn unfile<T: DeserializeOwned>(opaque: &Opaque) -> Option<T> {
    let mut value = Value::clone(&opaque.value);
    if let Some(data) = value.get_mut("data")
        && let Some(bytes) = data.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok())
    {
        *data = serde_json::to_value(DocumentSourceKind::Raw(bytes)).ok()?;
    }
    serde_json::from_value(value).ok()
}
