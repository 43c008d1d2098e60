//! Scans JSON without parsing it into values: which keys there are, where a value begins. Never recurses, never fails;
//! in broken JSON it finds less.

/// One step of the path to a place within a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Into an object.
    Key(&'static str),
    /// Into a list.
    Index(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Skim<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Skim<'a> {
    /// Starts at the first value of a text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let mut skim = Skim { text, at: 0 };
        skim.space();
        skim
    }

    /// Starts at the first value of a file, which may begin with a byte order mark.
    pub(crate) fn of_file(bytes: &'a [u8]) -> Self {
        Skim::new(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The first byte of the value.
    pub(crate) fn first(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns whether the text continues with `words` from here.
    pub(crate) fn starts_with(&self, words: &str) -> bool {
        self.rest().starts_with(words.as_bytes())
    }

    pub(crate) fn is_list(&self) -> bool {
        self.first() == Some(b'[')
    }

    /// Returns the string here, without decoding escapes.
    pub(crate) fn string(&self) -> Option<&'a str> {
        let end = self.string_end(self.at)?;
        std::str::from_utf8(&self.text[self.at + 1..end - 1]).ok()
    }

    pub(crate) fn members(&self) -> Members<'a> {
        Members {
            skim: self.inside(b'{'),
        }
    }

    pub(crate) fn items(&self) -> Items<'a> {
        Items {
            skim: self.inside(b'['),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Skim<'a>> {
        self.members().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Returns a member of the object here, if it is a string.
    pub(crate) fn get_string(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.string()
    }

    /// Returns the offset of the value at the end of a path, or of the last existing value on it.
    pub(crate) fn find(self, path: &[Step]) -> usize {
        let mut here = self;
        for step in path {
            let next = match step {
                Step::Key(key) => here.get(key),
                Step::Index(index) => here.items().nth(*index),
            };
            match next {
                Some(next) => here = next,
                None => break,
            }
        }
        here.offset()
    }

    /// Returns the bytes of the value here, if it is complete.
    pub(crate) fn slice(&self) -> Option<&'a [u8]> {
        self.text.get(self.at..self.value_end()?)
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn offset(&self) -> usize {
        self.at.min(self.text.len())
    }

    /// Returns the position after the value here.
    pub(crate) fn after(&self) -> Option<Skim<'a>> {
        self.value_end().map(|end| self.ahead(end - self.at))
    }

    /// Returns the position after `bytes` bytes and the white space that follows.
    pub(crate) fn ahead(&self, bytes: usize) -> Skim<'a> {
        let mut next = Skim {
            at: self.at + bytes,
            ..*self
        };
        next.space();
        next
    }

    /// Returns the position inside the object or list that begins here with this bracket.
    pub(crate) fn inside(&self, open: u8) -> Option<Skim<'a>> {
        (self.first() == Some(open)).then(|| self.ahead(1))
    }

    pub(crate) fn member(&self) -> Option<(&'a str, Skim<'a>)> {
        let colon = self.ahead(self.string_end(self.at)? - self.at);
        // A key of invalid UTF-8 matches no name; the keys after it still count.
        let key = self.string().unwrap_or_default();
        let value = (colon.first() == Some(b':')).then(|| colon.ahead(1))?;
        value.first().map(|_| (key, value))
    }

    fn string_end(&self, start: usize) -> Option<usize> {
        if self.text.get(start) != Some(&b'"') {
            return None;
        }
        let mut at = start + 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.text.get(at..)?)?;
            if self.text[at] == b'"' {
                return Some(at + 1);
            }
            at += 2;
        }
    }

    fn value_end(&self) -> Option<usize> {
        let mut depth = 0usize;
        let mut at = self.at;
        loop {
            match *self.text.get(at)? {
                b'"' => at = self.string_end(at)?,
                b'{' | b'[' => {
                    depth += 1;
                    at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    at += 1;
                }
                b',' | b':' => {
                    at += 1;
                    continue;
                }
                byte if byte.is_ascii_whitespace() => {
                    at += 1;
                    continue;
                }
                _ => {
                    let rest = &self.text[at..];
                    let ends =
                        |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']' | b'"') || byte.is_ascii_whitespace();
                    at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            if depth == 0 {
                return Some(at);
            }
        }
    }

    /// After a value: moves over the comma to the next one.
    pub(crate) fn over_comma(self) -> Option<Self> {
        (self.first() == Some(b',')).then(|| self.ahead(1))
    }
}

/// The members of an object, scanned once.
pub(crate) struct Seen<'a>(Vec<(&'a str, Skim<'a>)>);

impl<'a> Seen<'a> {
    /// Scans the first members of the object here; the relevant ones are among them.
    pub(crate) fn new(object: Skim<'a>) -> Self {
        const MOST: usize = 64;
        Seen(object.members().take(MOST).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<Skim<'a>> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn string(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.string()
    }
}

/// The members of an object: key (escapes not decoded, empty if invalid) and value.
pub(crate) struct Members<'a> {
    skim: Option<Skim<'a>>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Skim<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.skim.take()?.member()?;
        // In a truncated file, the last value may be incomplete: it counts, anything after it does not.
        self.skim = value.after().and_then(Skim::over_comma);
        Some((key, value))
    }
}

pub(crate) struct Items<'a> {
    skim: Option<Skim<'a>>,
}

impl<'a> Iterator for Items<'a> {
    type Item = Skim<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.skim.take()?;
        if matches!(item.first()?, b']' | b'}' | b',' | b':') {
            return None;
        }
        self.skim = item.after().and_then(Skim::over_comma);
        Some(item)
    }
}
