//! Images: size limits, their encoding for a request, and those that a prompt mentions.

use crate::files;
use base64::Engine;
use codelet_agent::file_reference::{self, Mention};
use codelet_agent::picture::{self, HEAD};
use codelet_agent::tool::PICTURE;
use codelet_context::body::Body;
use codelet_context::message::{Extra, Image};
use codelet_text::short::counted;
use percent_encoding::percent_decode_str;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest image file, in bytes: base64 turns three bytes into four.
pub(crate) const LARGEST: u64 = (PICTURE / 4 * 3) as u64;
/// Images in one prompt, and their total size in bytes: the providers' limits for a request, with room for the
/// conversation.
const MOST: usize = 20;
const ALTOGETHER: u64 = 9_000_000;
/// File extensions of images: a prompt that mentions such a file wants it to be seen. No model accepts the last ones.
const ENDINGS: [&str; 11] = [
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "heif", "avif",
];

/// The image as it is sent.
pub(crate) fn image(bytes: &[u8], media_type: &str) -> Image {
    Image {
        media_type: Arc::from(media_type),
        data: Body::new(base64::engine::general_purpose::STANDARD.encode(bytes)),
        is_url: false,
        extra: Extra::default(),
    }
}

/// Explains why an image of this size is not sent; `None` if it is.
pub(crate) fn too_large(size: u64) -> Option<String> {
    (size > LARGEST).then(|| {
        format!(
            "the limit is {}; make it smaller first",
            counted(LARGEST as usize, "byte")
        )
    })
}

fn too_many() -> String {
    format!(
        "there are too many pictures in this prompt; it may have {MOST}, and {} of them together",
        counted(ALTOGETHER as usize, "byte")
    )
}

/// The images that a prompt mentions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mentioned {
    /// Those that can be sent, in the order of the prompt, without duplicates.
    pub pictures: Vec<Picture>,
    /// The reasons why others cannot be sent, each a fragment that begins with the file.
    pub troubles: Vec<String>,
}

/// An image that a prompt mentions.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// The file's name as written in the prompt.
    pub name: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// The image.
    pub image: Image,
}

/// Decodes the images of a prompt from base64. The format is detected from the bytes.
///
/// # Errors
/// If one cannot be sent, or there are too many.
pub fn from_base64<'a>(all: impl IntoIterator<Item = &'a str>) -> Result<Vec<Image>, String> {
    let (mut images, mut altogether) = (Vec::new(), 0);
    for data in all {
        let bytes = base64::engine::general_purpose::STANDARD.decode(data);
        let bytes = bytes.map_err(|_| "the data of a picture is not base64".to_owned())?;
        let media_type = picture::media_type(&bytes)
            .ok_or("a picture has no supported image format (PNG, JPEG, GIF, WebP)".to_owned())?;
        let size = bytes.len() as u64;
        altogether += size;
        let trouble = too_large(size).or_else(|| picture::trouble(&bytes));
        if let Some(why) = trouble {
            return Err(format!("a picture cannot be sent: {why}"));
        }
        images.push(image(&bytes, media_type));
        if images.len() > MOST || altogether > ALTOGETHER {
            return Err(too_many());
        }
    }
    Ok(images)
}

/// Returns the prompt with an `@` if it is nothing but the absolute path of an image, as terminals write it when a file is
/// dropped on them: plain, in quotes, with escaped blanks, or as a URL.
pub fn dropped(prompt: &str) -> Option<String> {
    let said = prompt.trim();
    let quoted = |mark: char| said.strip_prefix(mark)?.strip_suffix(mark);
    let path = match quoted('\'').or_else(|| quoted('"')) {
        Some(inner) => inner.to_owned(),
        None => match said.strip_prefix("file://") {
            Some(encoded) => percent_decode_str(encoded).decode_utf8().ok()?.into_owned(),
            None if said.contains(' ') && !said.contains("\\ ") => return None,
            None => said.replace("\\ ", " "),
        },
    };
    let is_one = path.starts_with('/') && !path.contains('\n') && is_named_like_a_picture(Path::new(&path));
    is_one.then(|| file_reference::write(&codelet_agent::spelling::spell(path.as_ref())))
}

/// Finds the images that a prompt mentions with an `@`: relative names are resolved against `directory`, `~` is `home`.
/// The format is detected from the bytes. Files that are not images, and names that do not look like one, stay text.
pub fn mentioned(prompt: &str, directory: &Path, home: Option<&Path>) -> Mentioned {
    let mut looked = Looked {
        found: Mentioned::default(),
        seen: Vec::new(),
        bytes: 0,
    };
    for mention in file_reference::read(prompt) {
        if let Err(why) = looked.look(mention, directory, home) {
            let name = shown(mention);
            looked.found.troubles.push(format!("{name}: {why}"));
        }
    }
    looked.found
}

struct Looked {
    found: Mentioned,
    /// The resolved paths of files already examined.
    seen: Vec<PathBuf>,
    bytes: u64,
}

impl Looked {
    fn look(&mut self, mention: Mention<'_>, directory: &Path, home: Option<&Path>) -> Result<(), String> {
        let is_wanted = mention.paths().any(|path| is_named_like_a_picture(&path));
        let mut trouble = None;
        for path in mention.paths() {
            match expand(&path, directory, home).canonicalize() {
                Ok(path) if self.seen.contains(&path) => return Ok(()),
                Ok(path) => {
                    let taken = self.take(mention, &path, is_wanted);
                    self.seen.push(path);
                    return taken;
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    trouble.get_or_insert("there is no such file".to_owned());
                }
                Err(error) => trouble = Some(files::reason(&error)),
            }
        }
        match trouble {
            Some(why) if is_wanted => Err(why),
            _ => Ok(()),
        }
    }

    fn take(&mut self, mention: Mention<'_>, path: &Path, is_wanted: bool) -> Result<(), String> {
        let (mut file, metadata) = match files::open(path) {
            Err(why) if is_wanted => return Err(why),
            Err(_) => return Ok(()),
            Ok(opened) => opened,
        };
        let mut bytes = Vec::new();
        let head = file.by_ref().take(HEAD as u64).read_to_end(&mut bytes);
        let Some(media_type) = picture::media_type(&bytes) else {
            return match head {
                _ if !is_wanted => Ok(()),
                Err(error) => Err(files::reason(&error)),
                Ok(_) => Err("this is not a supported image format (PNG, JPEG, GIF, WebP)".to_owned()),
            };
        };
        let rest = LARGEST + 1 - bytes.len() as u64;
        if metadata.len() <= LARGEST {
            file.take(rest)
                .read_to_end(&mut bytes)
                .map_err(|error| files::reason(&error))?;
        }
        // The file may have grown since it was opened.
        let size = metadata.len().max(bytes.len() as u64);
        if let Some(why) = too_large(size) {
            return Err(format!(
                "this picture has {}, and {why}",
                counted(size as usize, "byte")
            ));
        }
        if let Some(why) = picture::trouble(&bytes) {
            return Err(format!("this picture cannot be sent: {why}"));
        }
        if self.found.pictures.len() >= MOST || self.bytes + size > ALTOGETHER {
            return Err(too_many());
        }
        self.bytes += size;
        self.found.pictures.push(Picture {
            name: shown(mention),
            bytes: size,
            image: image(&bytes, media_type),
        });
        Ok(())
    }
}

/// The file's name as written, without punctuation of the sentence.
fn shown(mention: Mention<'_>) -> String {
    let path = mention.paths().last().unwrap_or_default();
    codelet_agent::spelling::spell(path.as_os_str())
}

fn is_named_like_a_picture(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

fn expand(path: &Path, directory: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => directory.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_alone_is_a_picture_that_was_dropped() {
        for (prompt, mention) in [
            ("/tmp/a.png", Some("@/tmp/a.png")),
            (" /tmp/a.png \n", Some("@/tmp/a.png")),
            ("'/tmp/my shot.png'", Some("@\"/tmp/my shot.png\"")),
            ("\"/tmp/my shot.png\"", Some("@\"/tmp/my shot.png\"")),
            ("/tmp/my\\ shot.PNG", Some("@\"/tmp/my shot.PNG\"")),
            ("file:///tmp/my%20shot.png", Some("@\"/tmp/my shot.png\"")),
            ("/tmp/a.rs", None),
            ("a.png", None),
            ("/tmp/a.png is wrong", None),
            ("/tmp/a.png /tmp/b.png", None),
            ("file://host/a.txt", None),
        ] {
            assert_eq!(dropped(prompt).as_deref(), mention, "{prompt}");
        }
    }
}
