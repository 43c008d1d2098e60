//! The text of PDF files, page by page.
//!
//! The file format is parsed by `hayro-syntax`. Which characters a font's codes are, where they stand, and how lines are
//! made of them is done here, since a PDF contains neither lines nor words. Parsing may take any amount of time and
//! memory, so it is done in [a process of its own](serve).

mod child;
mod content;
mod font;
mod layout;

pub use child::{COMMAND, serve};
pub(crate) use child::{LARGEST, extract};
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

/// Some pages of a PDF.
#[derive(Debug, PartialEq)]
pub(crate) struct Pages {
    /// Pages in the whole file.
    pub total: usize,
    /// The text of each page, from the first one requested.
    pub texts: Vec<String>,
}

/// Extracts the text of at most `limit` pages from page `first` (from 1), and no further page once there are `enough`
/// bytes.
///
/// # Errors
/// Says in a fragment why the file cannot be read.
fn pages(bytes: Vec<u8>, first: usize, limit: usize, enough: usize) -> Result<Pages, &'static str> {
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => "it is encrypted and needs a password",
        LoadPdfError::Decryption(_) => "it is encrypted in a way that is not supported",
        LoadPdfError::Invalid => "it is damaged",
    })?;
    let pages = pdf.pages();
    let mut fonts = content::Fonts::default();
    let mut texts = Vec::new();
    let mut size = 0;
    for page in pages.iter().skip(first - 1).take(limit) {
        let text = layout::text(content::glyphs(page, &mut fonts));
        size += text.len();
        texts.push(text);
        if size >= enough {
            break;
        }
    }
    Ok(Pages {
        total: pages.len(),
        texts,
    })
}

#[cfg(test)]
mod tests;
