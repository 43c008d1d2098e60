//! Bytes of a terminal to keys and pastes. Pure: it reads nothing and waits for nothing.

use std::mem;

/// A key, as it was pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// Which one.
    pub code: Code,
    /// With Ctrl.
    pub ctrl: bool,
    /// With Alt (or Esc before it, which is the same to a terminal).
    pub alt: bool,
    /// With Shift, where a terminal tells.
    pub shift: bool,
}

impl Key {
    /// A key alone.
    pub fn plain(code: Code) -> Self {
        Key {
            code,
            ctrl: false,
            alt: false,
            shift: false,
        }
    }

    /// A key with Ctrl.
    pub fn ctrl(letter: char) -> Self {
        Key {
            ctrl: true,
            ..Key::plain(Code::Char(letter))
        }
    }

    fn with(self, modifiers: u32) -> Self {
        // One more than a sum of bits: Shift 1, Alt 2, Ctrl 4, as xterm and kitty send it.
        let bits = modifiers.saturating_sub(1);
        Key {
            shift: self.shift || bits & 1 != 0,
            alt: self.alt || bits & 2 != 0,
            ctrl: self.ctrl || bits & 4 != 0,
            ..self
        }
    }
}

/// Which key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Tab; with Shift: back.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Esc.
    Esc,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

/// What a terminal sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// A key.
    Key(Key),
    /// A text that was pasted, with `\n` at line ends.
    Paste(String),
    /// The terminal's window has got the focus, or lost it.
    Focus(bool),
}

/// The most of one paste that is kept, in bytes: no window takes more.
pub const LONGEST_PASTE: usize = 16 * 1024 * 1024;
/// The longest escape sequence; a longer one is none, and is dropped.
const LONGEST_SEQUENCE: usize = 64;
/// The longest text that a terminal answers somebody with.
const LONGEST_STRING: usize = 4 * 1024;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Bytes with which a terminal tells of its focus: `ESC [ I` or `ESC [ O`.
const FOCUS: usize = 3;

/// What has come and may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// An Esc, or Esc and a letter: a key, or the beginning of a sequence. Somebody waits for what the key does.
    Key,
    /// A sequence that is no key yet. A slow line may take its time.
    Sequence,
}

/// Takes bytes as they come, in whatever pieces.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pending: Vec<u8>,
    /// An Esc was taken for the key, and what it may have begun has not come yet.
    may_have_begun: bool,
    /// The paste so far, while one goes on.
    paste: Option<Vec<u8>>,
}

impl Keys {
    /// Takes bytes and returns what they complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let mut typed = Vec::new();
        let mut bytes = [mem::take(&mut self.pending).as_slice(), bytes].concat();
        // A rest that is torn once more is not waited for: a bracket alone is one that somebody types.
        if mem::take(&mut self.may_have_begun) && is_rest(&bytes) {
            bytes.insert(0, 0x1b);
        }
        let mut rest = &mut bytes[..];
        while !rest.is_empty() {
            let used = if self.paste.is_some() {
                self.take_paste(rest, &mut typed)
            } else if rest.starts_with(PASTE_BEGINS) {
                self.paste = Some(Vec::new());
                PASTE_BEGINS.len()
            } else {
                match one(rest) {
                    Found::Key(key, used) => {
                        typed.push(Typed::Key(key));
                        used
                    }
                    Found::Focus(has_focus) => {
                        typed.push(Typed::Focus(has_focus));
                        FOCUS
                    }
                    Found::Nothing(used) => used,
                    Found::Incomplete => 0,
                }
            };
            if used == 0 {
                break;
            }
            rest = &mut rest[used..];
        }
        self.pending = rest.to_vec();
        typed
    }

    /// What has come and may go on. If nothing follows in time, [`settle`](Self::settle) makes of it what it is alone.
    pub fn open(&self) -> Option<Open> {
        if self.paste.is_some() || self.pending.first() != Some(&0x1b) {
            return None;
        }
        Some(match self.pending.as_slice() {
            [_] | [_, b']' | b'P' | b'_'] => Open::Key,
            _ => Open::Sequence,
        })
    }

    /// What comes from here on does not belong to an Esc that came long ago.
    pub fn close(&mut self) {
        self.may_have_begun = false;
    }

    /// Nothing has followed: what came is taken as it is.
    pub fn settle(&mut self) -> Vec<Typed> {
        if self.open().is_none() {
            return Vec::new();
        }
        let pending = mem::take(&mut self.pending);
        let esc = Key::plain(Code::Esc);
        match &pending[1..] {
            [] => {
                self.may_have_begun = true;
                vec![Typed::Key(esc)]
            }
            [0x1b, ..] => vec![Typed::Key(esc), Typed::Key(esc)],
            // Alt with a bracket or an O, which begin sequences too.
            [byte] => vec![Typed::Key(Key {
                alt: true,
                ..Key::plain(Code::Char(char::from(*byte)))
            })],
            // A sequence that broke off means nothing.
            _ => Vec::new(),
        }
    }

    /// Takes bytes of a paste; returns how many, none if its end may have begun.
    fn take_paste(&mut self, bytes: &[u8], typed: &mut Vec<Typed>) -> usize {
        let Some(paste) = &mut self.paste else { return 0 };
        let keep = |paste: &mut Vec<u8>, bytes: &[u8]| {
            let room = LONGEST_PASTE.saturating_sub(paste.len()).min(bytes.len());
            paste.extend_from_slice(&bytes[..room]);
        };
        match find(bytes, PASTE_ENDS) {
            Some(at) => {
                keep(paste, &bytes[..at]);
                let text = String::from_utf8_lossy(paste).replace("\r\n", "\n").replace('\r', "\n");
                self.paste = None;
                typed.push(Typed::Paste(text));
                at + PASTE_ENDS.len()
            }
            None => {
                // The end may stand across two pieces.
                let open = (1..PASTE_ENDS.len().min(bytes.len() + 1))
                    .rev()
                    .find(|&length| bytes.ends_with(&PASTE_ENDS[..length]))
                    .unwrap_or(0);
                let sure = bytes.len() - open;
                keep(paste, &bytes[..sure]);
                sure
            }
        }
    }
}

/// Nobody types so many characters at once.
const BURST: usize = 100;

/// Whether keys that came at once are a paste from a terminal that puts no brackets around it: each line of it would be
/// sent as soon as it ends, and each character would be drawn by itself.
pub fn is_burst(typed: &[Typed]) -> bool {
    typed.chunk_by(|a, b| is_text(a) && is_text(b)).any(is_pasted)
}

/// Such pastes as what they are, and all else as it came. An Enter that ends the only line of one sends it, as a program
/// that types for somebody means it.
pub fn with_pastes(typed: Vec<Typed>) -> Vec<Typed> {
    let mut out = Vec::new();
    for run in typed.chunk_by(|a, b| is_text(a) && is_text(b)) {
        if !is_pasted(run) {
            out.extend_from_slice(run);
            continue;
        }
        let text = pasted(run);
        match (text.strip_suffix('\n'), run.last()) {
            (Some(line), Some(last)) if !line.contains('\n') => {
                out.push(Typed::Paste(line.to_owned()));
                out.push(last.clone());
            }
            _ => out.push(Typed::Paste(text)),
        }
    }
    out
}

fn is_pasted(run: &[Typed]) -> bool {
    run.len() >= BURST
}

/// What a run of keys writes; both halves of a Windows line end are one.
fn pasted(run: &[Typed]) -> String {
    let mut text = String::new();
    let mut was_return = false;
    for typed in run {
        let is_feed = *typed == Typed::Key(Key::ctrl('j'));
        if !(is_feed && was_return) {
            text.extend(written(typed));
        }
        was_return = *typed == Typed::Key(Key::plain(Code::Enter));
    }
    text
}

fn is_text(typed: &Typed) -> bool {
    written(typed).is_some()
}

/// What a key alone writes.
fn written(typed: &Typed) -> Option<char> {
    let Typed::Key(key) = typed else { return None };
    if *key == Key::ctrl('j') {
        return Some('\n');
    }
    match (key.code, key.ctrl || key.alt || key.shift) {
        (Code::Char(c), false) => Some(c),
        (Code::Enter, false) => Some('\n'),
        (Code::Tab, false) => Some('\t'),
        _ => None,
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == what[0]) {
        if bytes[from + at..].starts_with(what) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

/// Whether this is what a slow line has cut off behind an Esc: nobody types it at once.
fn is_rest(bytes: &[u8]) -> bool {
    let whole = [&[0x1b], bytes].concat();
    match (bytes.first(), one(&whole)) {
        (Some(b'[' | b'O'), Found::Key(..)) => true,
        (_, Found::Focus(_)) => whole.len() == FOCUS,
        (Some(b'['), Found::Nothing(used)) => used > 3,
        _ => whole.starts_with(PASTE_BEGINS),
    }
}

enum Found {
    Key(Key, usize),
    Focus(bool),
    /// So many bytes mean nothing.
    Nothing(usize),
    Incomplete,
}

/// The first key of these bytes, of which there is at least one.
fn one(bytes: &[u8]) -> Found {
    match bytes {
        [0x1b] | [0x1b, b'[' | b'O' | b']' | b'P' | b'_'] => Found::Incomplete,
        [0x1b, 0x1b, ..] => Found::Key(Key::plain(Code::Esc), 1),
        [0x1b, b'[', ..] => control(bytes),
        // What a terminal answers to whoever was here before: colours, its name, what it can do.
        [0x1b, b']', b'0'..=b'9', ..]
        | [0x1b, b'P', b'0'..=b'9' | b'>' | b'!' | b'$' | b'+', ..]
        | [0x1b, b'_', b'G', ..] => string(bytes),
        [0x1b, b'O', last, ..] => match named(*last) {
            Some(code) => Found::Key(Key::plain(code), 3),
            None => Found::Nothing(3),
        },
        [0x1b, rest @ ..] => match simple(rest) {
            Found::Key(key, used) => Found::Key(Key { alt: true, ..key }, used + 1),
            Found::Nothing(used) => Found::Nothing(used + 1),
            Found::Focus(_) | Found::Incomplete => Found::Incomplete,
        },
        _ => simple(bytes),
    }
}

/// A key that is no sequence.
fn simple(bytes: &[u8]) -> Found {
    let first = bytes[0];
    let key = match first {
        b'\r' => Key::plain(Code::Enter),
        // A line feed is what Ctrl-J sends, and pipes and pastes without brackets do: a new line in the text.
        b'\n' => Key::ctrl('j'),
        b'\t' => Key::plain(Code::Tab),
        0x7f | 0x08 => Key::plain(Code::Backspace),
        0 => Key::ctrl(' '),
        0x01..=0x1a => Key::ctrl(char::from(first - 1 + b'a')),
        0x1c => Key::ctrl('\\'),
        0x1d..=0x1f => Key::ctrl(char::from(first - 0x1c + b'4')),
        _ => return character(bytes),
    };
    Found::Key(key, 1)
}

fn character(bytes: &[u8]) -> Found {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Found::Nothing(1),
    };
    let Some(encoded) = bytes.get(..length) else {
        let is_begun = bytes[1..].iter().all(|byte| (0x80..0xc0).contains(byte));
        return if is_begun { Found::Incomplete } else { Found::Nothing(1) };
    };
    match std::str::from_utf8(encoded).ok().and_then(|text| text.chars().next()) {
        Some(c) => Found::Key(Key::plain(Code::Char(c)), length),
        None => Found::Nothing(1),
    }
}

/// A text that a terminal sends, up to its end.
fn string(bytes: &[u8]) -> Found {
    let ends = |byte: &u8| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b);
    match bytes[1..].iter().position(ends) {
        Some(end) if bytes[1 + end] != 0x1b => Found::Nothing(end + 2),
        Some(end) => match bytes.get(end + 2) {
            None => Found::Incomplete,
            Some(b'\\') => Found::Nothing(end + 3),
            // It broke off, and something else begins.
            Some(_) => Found::Nothing(end + 1),
        },
        None if bytes.len() > LONGEST_STRING => Found::Nothing(bytes.len()),
        None => Found::Incomplete,
    }
}

/// A sequence that begins with `ESC [`.
fn control(bytes: &[u8]) -> Found {
    match bytes {
        // The keys of the Linux console, and a mouse that somebody has left switched on.
        [_, _, b'I', ..] => return Found::Focus(true),
        [_, _, b'O', ..] => return Found::Focus(false),
        [_, _, b'[', _, ..] => return Found::Nothing(4),
        [_, _, b'M', _, _, _, ..] => return Found::Nothing(6),
        [_, _, b'[' | b'M', ..] => return Found::Incomplete,
        _ => {}
    }
    let Some(end) = bytes[2..].iter().position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return if bytes.len() > LONGEST_SEQUENCE {
            Found::Nothing(bytes.len())
        } else {
            Found::Incomplete
        };
    };
    // It broke off, and something else begins.
    if !(0x40..=0x7e).contains(&bytes[2 + end]) {
        return Found::Nothing(2 + end);
    }
    let used = end + 3;
    let parameters = std::str::from_utf8(&bytes[2..2 + end]).unwrap_or_default();
    // An answer to somebody, or a mouse: no key is sent so.
    if parameters.starts_with(['<', '=', '>', '?']) {
        return Found::Nothing(used);
    }
    let mut numbers = parameters
        .split(';')
        .map(|number| number.split(':').next().and_then(|number| number.parse::<u32>().ok()));
    let first = numbers.next().flatten();
    let modifiers = numbers.next().flatten().unwrap_or(1);
    let third = numbers.next().flatten();
    let key = match (bytes[2 + end], first) {
        (b'Z', _) => Some(Key {
            shift: true,
            ..Key::plain(Code::Tab)
        }),
        (b'u', Some(number)) => unicode(number),
        // What xterm sends for a key with modifiers that has no sequence of its own.
        (b'~', Some(27)) => third.and_then(unicode),
        (b'~', Some(number)) => numbered(number).map(Key::plain),
        (b'M', _) => None,
        (last, _) => named(last).map(Key::plain),
    };
    match key {
        Some(key) => Found::Key(key.with(modifiers), used),
        None => Found::Nothing(used),
    }
}

fn named(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        b'M' => Code::Enter,
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        _ => return None,
    })
}

fn unicode(number: u32) -> Option<Key> {
    let code = match number {
        9 => Code::Tab,
        13 | 57414 => Code::Enter,
        27 => Code::Esc,
        8 | 127 => Code::Backspace,
        // Keys that only modify, or that have no name here.
        57344.. => return None,
        _ => Code::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    };
    Some(Key::plain(code))
}

#[cfg(test)]
mod tests;
