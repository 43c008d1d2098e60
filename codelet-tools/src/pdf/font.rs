//! The characters that a font's codes stand for, and their widths.

use hayro_cmap::{BfString, CMap};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream};
use icu_normalizer::ComposingNormalizerBorrowed;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// A font of a page.
pub(super) struct Font {
    codes: Codes,
    to_unicode: Option<CMap>,
    /// Width of a unit of the font's widths, in units of text space.
    unit: f64,
}

/// One shown character.
pub(super) struct Shown {
    /// `None` if the font does not say which character it is.
    pub text: Option<String>,
    /// In units of text space, for a font of size 1.
    pub width: f64,
    /// True for the single byte 32, to which word spacing applies.
    pub is_space: bool,
}

enum Codes {
    /// One byte each.
    Simple {
        texts: Vec<Option<String>>,
        widths: Vec<f64>,
    },
    /// Several bytes each, which an encoding turns into the numbers of characters.
    Composite {
        /// `None` for one that is not embedded: its codes have two bytes.
        encoding: Option<Box<CMap>>,
        /// True if the codes are UTF-16.
        is_utf16: bool,
        /// Ranges of characters by their first: the last one, and their width.
        widths: BTreeMap<u32, (u32, f64)>,
        default_width: f64,
    },
}

impl Font {
    /// Reads a font.
    pub(super) fn read(dict: &Dict<'_>) -> Font {
        let decoded = |stream: Stream<'_>| CMap::parse(&stream.decoded_data().ok()?, |_| None);
        let kind = dict.get::<Name<'_>>("Subtype");
        let kind = kind.as_ref().map_or("", Name::as_str);
        let matrix = dict.get::<[f64; 6]>("FontMatrix").filter(|_| kind == "Type3");
        Font {
            codes: match kind {
                "Type0" => composite(dict),
                _ => simple(dict, kind),
            },
            to_unicode: dict.get::<Stream<'_>>("ToUnicode").and_then(decoded),
            unit: matrix.map_or(0.001, |matrix| matrix[0]),
        }
    }

    /// Calls `each` with each character of a string.
    pub(super) fn show(&self, bytes: &[u8], mut each: impl FnMut(Shown)) {
        match &self.codes {
            Codes::Simple { texts, widths } => {
                for &byte in bytes {
                    let text = self.mapped(u32::from(byte));
                    each(Shown {
                        text: text.or_else(|| texts[usize::from(byte)].clone()),
                        width: widths[usize::from(byte)] * self.unit,
                        is_space: byte == b' ',
                    });
                }
            }
            Codes::Composite {
                encoding,
                is_utf16,
                widths,
                default_width,
            } => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let (code, length, cid) = next_code(encoding.as_deref(), rest);
                    let utf16 = || char::from_u32(code).filter(|_| *is_utf16).map(String::from);
                    let range = widths.range(..=cid).next_back();
                    let width = range
                        .filter(|(_, (last, _))| cid <= *last)
                        .map(|(_, (_, width))| *width);
                    each(Shown {
                        text: self.mapped(code).or_else(utf16),
                        width: width.unwrap_or(*default_width) * self.unit,
                        is_space: length == 1 && code == 32,
                    });
                    rest = &rest[length..];
                }
            }
        }
    }

    /// What the font's own table says.
    fn mapped(&self, code: u32) -> Option<String> {
        let text = match self.to_unicode.as_ref()?.lookup_bf_string(code)? {
            BfString::Char(character) => character.to_string(),
            BfString::String(text) => text,
        };
        let is_known = |character: char| !matches!(character, '\0' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}');
        text.chars().all(is_known).then_some(text)
    }
}

/// The first code, its length, and the number of its character.
fn next_code(encoding: Option<&CMap>, bytes: &[u8]) -> (u32, usize, u32) {
    let code = |length: usize| {
        bytes[..length]
            .iter()
            .fold(0, |code, &byte| code << 8 | u32::from(byte))
    };
    for length in 1..=bytes.len().min(4) {
        if let Some(cid) = encoding.and_then(|encoding| encoding.lookup_cid_code(code(length), length as u8)) {
            return (code(length), length, cid);
        }
    }
    let length = bytes.len().min(2);
    (code(length), length, code(length))
}

fn composite(dict: &Dict<'_>) -> Codes {
    let name = dict.get::<Name<'_>>("Encoding");
    let name = name.as_ref().map_or("", Name::as_str);
    let encoding = match name {
        "Identity-H" | "Identity-V" => Some(CMap::identity_h()),
        "" => dict
            .get::<Stream<'_>>("Encoding")
            .and_then(|stream| CMap::parse(&stream.decoded_data().ok()?, |_| None)),
        _ => None,
    };
    let descendants = dict.get::<Array<'_>>("DescendantFonts");
    let font = descendants
        .and_then(|fonts| fonts.iter::<Dict<'_>>().next())
        .unwrap_or_default();
    let mut widths = BTreeMap::new();
    let mut numbers = Vec::new();
    for object in font.get::<Array<'_>>("W").iter().flat_map(Array::iter::<Object<'_>>) {
        match object {
            // first [width of each]
            Object::Array(each) => {
                let first = numbers.pop().unwrap_or(0.0) as u32;
                widths.extend(
                    (first..)
                        .zip(each.iter::<f64>())
                        .map(|(cid, width)| (cid, (cid, width))),
                );
                numbers.clear();
            }
            // first last width
            Object::Number(number) => {
                numbers.push(number.as_f64());
                if let [first, last, width] = numbers[..] {
                    widths.insert(first as u32, (last as u32, width));
                    numbers.clear();
                }
            }
            _ => {}
        }
    }
    Codes::Composite {
        encoding: encoding.map(Box::new),
        is_utf16: name.starts_with("Uni") && (name.contains("UTF16") || name.contains("UCS2")),
        widths,
        default_width: font.get::<f64>("DW").unwrap_or(1000.0),
    }
}

fn simple(dict: &Dict<'_>, kind: &str) -> Codes {
    let base_font = dict.get::<Name<'_>>("BaseFont");
    let base_font = base_font.as_ref().map_or("", Name::as_str);
    let descriptor = dict.get::<Dict<'_>>("FontDescriptor").unwrap_or_default();
    let encoding = dict.get::<Dict<'_>>("Encoding").unwrap_or_default();
    let base = dict
        .get::<Name<'_>>("Encoding")
        .or_else(|| encoding.get::<Name<'_>>("BaseEncoding"));
    let mut texts: Vec<Option<String>> = match base.as_ref().map_or("", Name::as_str) {
        "WinAnsiEncoding" => table(WINDOWS),
        "MacRomanEncoding" => table(MAC),
        "" if kind == "TrueType" => table(WINDOWS),
        _ => table(STANDARD),
    };
    if base.is_none()
        && let Some(program) = descriptor.get::<Stream<'_>>("FontFile")
        && let Ok(program) = program.decoded_data()
    {
        own_encoding(&program, &mut texts);
    }
    let mut code = 0;
    for object in encoding
        .get::<Array<'_>>("Differences")
        .iter()
        .flat_map(Array::iter::<Object<'_>>)
    {
        match object {
            Object::Number(number) => code = number.as_i64() as usize,
            Object::Name(name) => {
                if let Some(text) = texts.get_mut(code) {
                    *text = named(name.as_str(), kind == "Type3");
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    let first = dict.get::<usize>("FirstChar").unwrap_or(0);
    let mut widths = match dict.contains_key("Widths") {
        true => vec![descriptor.get::<f64>("MissingWidth").unwrap_or(0.0); 256],
        false => standard_widths(base_font),
    };
    let given = dict.get::<Array<'_>>("Widths");
    for (at, width) in given.iter().flat_map(Array::iter::<f64>).enumerate().take(256) {
        if let Some(to) = widths.get_mut(first.saturating_add(at)) {
            *to = width;
        }
    }
    Codes::Simple { texts, widths }
}

/// Reads the encoding in a Type 1 program, whose beginning is PostScript: `dup 65 /A put`.
fn own_encoding(program: &[u8], texts: &mut [Option<String>]) {
    let Some(at) = memchr::memmem::find(program, b"/Encoding") else {
        return;
    };
    let end = memchr::memmem::find(program, b"eexec").unwrap_or(program.len());
    let source = String::from_utf8_lossy(program.get(at..end).unwrap_or_default());
    let mut words = source.split_ascii_whitespace();
    if words.nth(1) == Some("StandardEncoding") {
        return;
    }
    texts.fill(None);
    while let Some(word) = words.next() {
        match word {
            "dup" => {
                let code = words.next().and_then(|code| code.parse::<usize>().ok());
                let name = words.next().and_then(|name| name.strip_prefix('/'));
                if let (Some(code), Some(name)) = (code, name)
                    && let Some(text) = texts.get_mut(code)
                {
                    *text = named(name, false);
                }
            }
            "def" | "readonly" => return,
            _ => {}
        }
    }
}

/// The text of a glyph's name, by the rules of Adobe's glyph list. Names of Type 3 fonts such as `a65` are codes.
fn named(name: &str, is_code: bool) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    if let Some(text) = glyph(name) {
        return Some(text);
    }
    if name.contains('_') {
        return name.split('_').map(|part| named(part, false)).collect();
    }
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    if let Some(digits) = name.strip_prefix("uni").filter(|digits| digits.len() >= 4) {
        return digits
            .as_bytes()
            .chunks(4)
            .map(|four| hexadecimal(str::from_utf8(four).ok()?))
            .collect();
    }
    if let Some(character) = name
        .strip_prefix('u')
        .filter(|digits| digits.len() >= 4)
        .and_then(hexadecimal)
    {
        return Some(character.to_string());
    }
    let code = name.trim_start_matches(|character: char| character.is_ascii_alphabetic());
    let code = code
        .parse::<u8>()
        .ok()
        .filter(|code| is_code && code.is_ascii_graphic());
    code.map(|code| char::from(code).to_string())
}

/// Names of glyphs, except of letters with accents.
const NAMES: &str = include_str!("names.txt");
/// Accents by their names.
const ACCENTS: [(&str, char); 13] = [
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("ring", '\u{30a}'),
    ("caron", '\u{30c}'),
    ("cedilla", '\u{327}'),
    ("breve", '\u{306}'),
    ("macron", '\u{304}'),
    ("ogonek", '\u{328}'),
    ("dotaccent", '\u{307}'),
    ("hungarumlaut", '\u{30b}'),
];

fn glyph(name: &str) -> Option<String> {
    static LISTED: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| NAMES.lines().filter_map(|line| line.split_once(' ')).collect());
    if let Some(text) = LISTED.get(name) {
        return Some((*text).to_owned());
    }
    let mut characters = name.chars();
    let first = characters.next().filter(char::is_ascii_alphabetic)?;
    let rest = characters.as_str();
    if rest.is_empty() {
        return Some(name.to_owned());
    }
    let (_, accent) = ACCENTS.iter().find(|(name, _)| *name == rest)?;
    let composed = ComposingNormalizerBorrowed::new_nfc()
        .normalize(&format!("{first}{accent}"))
        .into_owned();
    Some(composed)
}

/// The characters from 128 in the encodings; spaces for those without any.
const WINDOWS: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ ¡¢£¤¥¦§¨©ª«¬-®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ";
const MAC: &str = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";
const STANDARD: &str = "                                 ¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß    ";

fn table(upper: &str) -> Vec<Option<String>> {
    let ascii = (0..128u8).map(char::from).map(|character| match character {
        '\'' if upper == STANDARD => '’',
        '`' if upper == STANDARD => '‘',
        _ => character,
    });
    let all = ascii.chain(upper.chars());
    all.enumerate()
        .map(|(code, character)| match (code, character) {
            (32, _) => Some(" ".to_owned()),
            (_, ' ') => None,
            (_, character) => (!character.is_control()).then(|| character.to_string()),
        })
        .collect()
}

/// Widths of Helvetica's characters from 32 to 126, near those of all proportional fonts that need not be embedded.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

/// The widths of the fonts that every program must know.
fn standard_widths(name: &str) -> Vec<f64> {
    let (default, scale) = match name {
        name if name.contains("Courier") => return vec![600.0; 256],
        name if name.contains("Times") => (500.0, 0.9),
        _ => (556.0, 1.0),
    };
    let mut widths = vec![default; 256];
    for (to, width) in widths[32..].iter_mut().zip(HELVETICA) {
        *to = f64::from(width) * scale;
    }
    widths
}
