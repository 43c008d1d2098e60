//! Parser from terminal bytes to keys and pastes. Pure: no reading, no waiting.

use std::mem;

/// A key press.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// With Ctrl.
    pub ctrl: bool,
    /// With Alt (or a preceding Esc, which is the same to a terminal).
    pub alt: bool,
    /// With Shift, if the terminal reports it.
    pub shift: bool,
}

impl Key {
    /// A key without modifiers.
    pub fn plain(code: KeyCode) -> Self {
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
            ..Key::plain(KeyCode::Char(letter))
        }
    }

    /// Returns whether a character of this key is typed text, not a command.
    pub fn types(self) -> bool {
        !self.ctrl && !self.alt
    }

    fn with(self, modifiers: u32) -> Self {
        // One plus a bit mask: Shift 1, Alt 2, Ctrl 4, as sent by xterm and kitty.
        let bits = modifiers.saturating_sub(1);
        Key {
            shift: self.shift || bits & 1 != 0,
            alt: self.alt || bits & 2 != 0,
            ctrl: self.ctrl || bits & 4 != 0,
            ..self
        }
    }
}

/// The code of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyCode {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Tab; with Shift: back tab.
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

/// Input from a terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// A key.
    Key(Key),
    /// A pasted text, with `\n` as line end.
    Paste(String),
    /// The terminal's window gained or lost the focus.
    Focus(bool),
}

/// Maximum size of a paste in bytes; the rest is dropped. No context window holds more.
pub const LONGEST_PASTE: usize = 16 * 1024 * 1024;
/// Maximum length of an escape sequence; a longer one is dropped.
const LONGEST_SEQUENCE: usize = 64;
/// Maximum length of a terminal's reply string.
const LONGEST_STRING: usize = 4 * 1024;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Bytes of a focus report: `ESC [ I` or `ESC [ O`.
const FOCUS: usize = 3;

/// Pending bytes that may continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PendingKey {
    /// Esc, or Esc and a letter: a key, or the beginning of a sequence. The user is waiting for the key's effect.
    Key,
    /// An incomplete sequence. A slow connection may take its time.
    Sequence,
}

/// Parses bytes in arbitrary chunks.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pending: Vec<u8>,
    /// An Esc was taken for the key, and a sequence that it may have begun has not arrived yet.
    may_have_begun: bool,
    /// The paste so far, during one.
    paste: Option<Vec<u8>>,
}

impl Keys {
    /// Parses bytes and returns the input that they complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let mut typed = Vec::new();
        let mut bytes = [mem::take(&mut self.pending).as_slice(), bytes].concat();
        // A remainder that is split again is not waited for: a bracket alone may have been typed.
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
                    Decoded::Key(key, used) => {
                        typed.push(Typed::Key(key));
                        used
                    }
                    Decoded::Focus(has_focus) => {
                        typed.push(Typed::Focus(has_focus));
                        FOCUS
                    }
                    Decoded::Nothing(used) => used,
                    Decoded::Incomplete => 0,
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

    /// The pending bytes, if they may continue. If nothing follows in time, [`settle`](Self::settle) interprets them as
    /// they are.
    pub fn open(&self) -> Option<PendingKey> {
        if self.paste.is_some() || self.pending.first() != Some(&0x1b) {
            return None;
        }
        Some(match self.pending.as_slice() {
            [_] | [_, b']' | b'P' | b'_'] => PendingKey::Key,
            _ => PendingKey::Sequence,
        })
    }

    /// Bytes from here on do not belong to an earlier Esc.
    pub fn close(&mut self) {
        self.may_have_begun = false;
    }

    /// Interprets pending bytes as they are, since nothing has followed.
    pub fn settle(&mut self) -> Vec<Typed> {
        if self.open().is_none() {
            return Vec::new();
        }
        let pending = mem::take(&mut self.pending);
        let esc = Key::plain(KeyCode::Esc);
        match &pending[1..] {
            [] => {
                self.may_have_begun = true;
                vec![Typed::Key(esc)]
            }
            [0x1b, ..] => vec![Typed::Key(esc), Typed::Key(esc)],
            // Alt with a bracket or an O, which also begin sequences.
            [byte] => vec![Typed::Key(Key {
                alt: true,
                ..Key::plain(KeyCode::Char(char::from(*byte)))
            })],
            // An incomplete sequence means nothing.
            _ => Vec::new(),
        }
    }

    /// Consumes bytes of a paste; returns their number, 0 if its end may have begun.
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
                // The end marker may be split across two chunks.
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

/// Nobody types this many characters at once.
const BURST: usize = 100;

/// Returns whether keys that arrived together are a paste from a terminal without bracketed paste. As keys, each line
/// would be sent as soon as it ends, and each character drawn by itself.
pub fn is_burst(typed: &[Typed]) -> bool {
    typed.chunk_by(|a, b| is_text(a) && is_text(b)).any(is_pasted)
}

/// Turns such keys into pastes, and leaves all others. An Enter that ends a single line is kept as a key that sends it,
/// as a program that types on behalf of the user intends.
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

/// The text of a run of keys; `\r\n` counts as one line end.
fn pasted(run: &[Typed]) -> String {
    let mut text = String::new();
    let mut was_return = false;
    for typed in run {
        let is_feed = *typed == Typed::Key(Key::ctrl('j'));
        if !(is_feed && was_return) {
            text.extend(written(typed));
        }
        was_return = *typed == Typed::Key(Key::plain(KeyCode::Enter));
    }
    text
}

fn is_text(typed: &Typed) -> bool {
    written(typed).is_some()
}

/// The character that a key types.
fn written(typed: &Typed) -> Option<char> {
    let Typed::Key(key) = typed else { return None };
    if *key == Key::ctrl('j') {
        return Some('\n');
    }
    match (key.code, key.ctrl || key.alt || key.shift) {
        (KeyCode::Char(c), false) => Some(c),
        (KeyCode::Enter, false) => Some('\n'),
        (KeyCode::Tab, false) => Some('\t'),
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

/// Returns whether this is the rest of a sequence that a slow connection has separated from its Esc: nobody types it at
/// once.
fn is_rest(bytes: &[u8]) -> bool {
    let whole = [&[0x1b], bytes].concat();
    match (bytes.first(), one(&whole)) {
        (Some(b'[' | b'O'), Decoded::Key(..)) => true,
        (_, Decoded::Focus(_)) => whole.len() == FOCUS,
        (Some(b'['), Decoded::Nothing(used)) => used > 3,
        _ => whole.starts_with(PASTE_BEGINS),
    }
}

enum Decoded {
    Key(Key, usize),
    Focus(bool),
    /// This many bytes mean nothing.
    Nothing(usize),
    Incomplete,
}

/// Parses the first key of these bytes, of which there is at least one.
fn one(bytes: &[u8]) -> Decoded {
    match bytes {
        [0x1b] | [0x1b, b'[' | b'O' | b']' | b'P' | b'_'] => Decoded::Incomplete,
        [0x1b, 0x1b, ..] => Decoded::Key(Key::plain(KeyCode::Esc), 1),
        [0x1b, b'[', ..] => control(bytes),
        // Replies to queries of an earlier program: colours, the terminal's name, its capabilities.
        [0x1b, b']', b'0'..=b'9', ..]
        | [0x1b, b'P', b'0'..=b'9' | b'>' | b'!' | b'$' | b'+', ..]
        | [0x1b, b'_', b'G', ..] => string(bytes),
        [0x1b, b'O', last, ..] => match named(*last) {
            Some(code) => Decoded::Key(Key::plain(code), 3),
            None => Decoded::Nothing(3),
        },
        [0x1b, rest @ ..] => match simple(rest) {
            Decoded::Key(key, used) => Decoded::Key(Key { alt: true, ..key }, used + 1),
            Decoded::Nothing(used) => Decoded::Nothing(used + 1),
            Decoded::Focus(_) | Decoded::Incomplete => Decoded::Incomplete,
        },
        _ => simple(bytes),
    }
}

/// Parses a key that is no escape sequence.
fn simple(bytes: &[u8]) -> Decoded {
    let first = bytes[0];
    let key = match first {
        b'\r' => Key::plain(KeyCode::Enter),
        // A line feed is sent by Ctrl-J, pipes and unbracketed pastes: a new line in the text.
        b'\n' => Key::ctrl('j'),
        b'\t' => Key::plain(KeyCode::Tab),
        0x7f | 0x08 => Key::plain(KeyCode::Backspace),
        0 => Key::ctrl(' '),
        0x01..=0x1a => Key::ctrl(char::from(first - 1 + b'a')),
        0x1c => Key::ctrl('\\'),
        0x1d..=0x1f => Key::ctrl(char::from(first - 0x1c + b'4')),
        _ => return character(bytes),
    };
    Decoded::Key(key, 1)
}

fn character(bytes: &[u8]) -> Decoded {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Decoded::Nothing(1),
    };
    let Some(encoded) = bytes.get(..length) else {
        let is_begun = bytes[1..].iter().all(|byte| (0x80..0xc0).contains(byte));
        return if is_begun {
            Decoded::Incomplete
        } else {
            Decoded::Nothing(1)
        };
    };
    match std::str::from_utf8(encoded).ok().and_then(|text| text.chars().next()) {
        Some(c) => Decoded::Key(Key::plain(KeyCode::Char(c)), length),
        None => Decoded::Nothing(1),
    }
}

/// Skips a string that a terminal sends, up to its terminator.
fn string(bytes: &[u8]) -> Decoded {
    let ends = |byte: &u8| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b);
    match bytes[1..].iter().position(ends) {
        Some(end) if bytes[1 + end] != 0x1b => Decoded::Nothing(end + 2),
        Some(end) => match bytes.get(end + 2) {
            None => Decoded::Incomplete,
            Some(b'\\') => Decoded::Nothing(end + 3),
            // The string was cut off, and something else begins.
            Some(_) => Decoded::Nothing(end + 1),
        },
        None if bytes.len() > LONGEST_STRING => Decoded::Nothing(bytes.len()),
        None => Decoded::Incomplete,
    }
}

/// Parses a sequence that begins with `ESC [`.
fn control(bytes: &[u8]) -> Decoded {
    match bytes {
        // The function keys of the Linux console, and reports of a mouse mode that some program left on.
        [_, _, b'I', ..] => return Decoded::Focus(true),
        [_, _, b'O', ..] => return Decoded::Focus(false),
        [_, _, b'[', _, ..] => return Decoded::Nothing(4),
        [_, _, b'M', _, _, _, ..] => return Decoded::Nothing(6),
        [_, _, b'[' | b'M', ..] => return Decoded::Incomplete,
        _ => {}
    }
    let Some(end) = bytes[2..].iter().position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return if bytes.len() > LONGEST_SEQUENCE {
            Decoded::Nothing(bytes.len())
        } else {
            Decoded::Incomplete
        };
    };
    // The sequence was cut off, and something else begins.
    if !(0x40..=0x7e).contains(&bytes[2 + end]) {
        return Decoded::Nothing(2 + end);
    }
    let used = end + 3;
    let parameters = std::str::from_utf8(&bytes[2..2 + end]).unwrap_or_default();
    // A reply or a mouse report: no key has this form.
    if parameters.starts_with(['<', '=', '>', '?']) {
        return Decoded::Nothing(used);
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
            ..Key::plain(KeyCode::Tab)
        }),
        (b'u', Some(number)) => unicode(number),
        // xterm's form for a key with modifiers that has no sequence of its own.
        (b'~', Some(27)) => third.and_then(unicode),
        (b'~', Some(number)) => numbered(number).map(Key::plain),
        (b'M', _) => None,
        (last, _) => named(last).map(Key::plain),
    };
    match key {
        Some(key) => Decoded::Key(key.with(modifiers), used),
        None => Decoded::Nothing(used),
    }
}

fn named(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'M' => KeyCode::Enter,
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    })
}

fn unicode(number: u32) -> Option<Key> {
    let code = match number {
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        // Modifier keys, and keys without a name here.
        57344.. => return None,
        _ => KeyCode::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    };
    Some(Key::plain(code))
}

#[cfg(test)]
mod tests;
