//! Texts on one line: escapes and repetition.

/// The maximum length of one expanded text, in bytes.
const MOST: usize = 64 << 20;

/// Returns the text in a line, or `None` if a repetition would exceed 64 MiB.
pub(super) fn unescape(line: &str) -> Option<String> {
    let (line, times) = repetition(line.trim());
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let taken = match escape.chars().next() {
            Some('n') => push(&mut text, '\n', 1),
            Some('r') => push(&mut text, '\r', 1),
            Some('t') => push(&mut text, '\t', 1),
            Some('e') => push(&mut text, '\u{1b}', 1),
            Some('s') => push(&mut text, ' ', 1),
            Some('u') => match code_point(escape) {
                Some((c, length)) => push(&mut text, c, length),
                None => push(&mut text, '\\', 0),
            },
            Some(c @ ('\\' | '×' | ':' | '"')) => push(&mut text, c, c.len_utf8()),
            _ => push(&mut text, '\\', 0),
        };
        rest = &escape[taken..];
    }
    text.push_str(rest);
    (text.len().checked_mul(times)? <= MOST).then(|| text.repeat(times))
}

fn push(text: &mut String, c: char, taken: usize) -> usize {
    text.push(c);
    taken
}

/// Parses `u{1f600}` as a character, and returns its length in bytes.
fn code_point(escape: &str) -> Option<(char, usize)> {
    let digits = escape.strip_prefix("u{")?;
    let end = digits.find('}').filter(|end| *end <= 6)?;
    let c = char::from_u32(u32::from_str_radix(&digits[..end], 16).ok()?)?;
    Some((c, end + 3))
}

/// Splits ` × 40` from the end of a line.
fn repetition(line: &str) -> (&str, usize) {
    let whole = (line, 1);
    let digits = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(times) = line[digits.len()..].parse() else {
        return whole;
    };
    match digits.strip_suffix(" × ") {
        Some(text) => (text, times),
        None => whole,
    }
}

/// Writes the whole text on one line, so that [`unescape`] restores it.
pub(super) fn escape(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let last = text.len() - text.chars().next_back().map_or(0, char::len_utf8);
    for (at, c) in text.char_indices() {
        match c {
            ' ' if at == 0 || at == last => line.push_str("\\s"),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            '\u{1b}' => line.push_str("\\e"),
            _ if c != ' ' && (c.is_control() || c.is_whitespace()) => {
                line.push_str(&format!("\\u{{{:x}}}", u32::from(c)))
            }
            _ => line.push(c),
        }
    }
    if repetition(&line).1 != 1 || line.ends_with(" × 1") {
        let at = line.rfind('×').unwrap_or(0);
        line.insert(at, '\\');
    }
    line
}
