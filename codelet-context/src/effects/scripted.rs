//! Which files a script writes, by its text: what `open(path, "w")` and its like mean in the languages that agents write
//! scripts in. In doubt it writes none.

use super::is_file;
use crate::outcome::FileState;
use crate::pattern::is_pattern;
use crate::word_list::is_in;

/// A script is looked at so far, in bytes; one that mends a file is short.
const LOOKED_AT: usize = 32 * 1024;
/// Files that are found, calls of `open` that are looked at, and steps from names to what they stand for.
const MOST: usize = 40;
const OPENED: usize = 200;
const STEPS: usize = 60;
const DEEPEST: usize = 4;
/// What a call is given, or a list holds, is no longer than this, in bytes.
const GIVEN: usize = 4 * 1024;

/// A file that a script writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// As the script names it, or a pattern of the files that it finds.
    pub path: String,
    /// It reads it as well: it is there, and the script edits it.
    pub is_read: bool,
    /// How it leaves it.
    pub state: FileState,
}

/// What writes the file that it is given first.
const WRITING: &[&str] = &[
    "writeFileSync(",
    "writeFile(",
    "appendFileSync(",
    "appendFile(",
    "outputFileSync(",
    "outputFile(",
    "writeTextFileSync(",
    "writeTextFile(",
    "file_put_contents(",
    "File.write(",
    "File.binwrite(",
    "IO.write(",
    "Bun.write(",
];
/// What reads the file that it is given first.
const READING: &[&str] = &[
    "readFileSync(",
    "readFile(",
    "readTextFileSync(",
    "readTextFile(",
    "file_get_contents(",
    "File.read(",
    "File.readlines(",
    "IO.read(",
    "Bun.file(",
];
/// What writes, or reads, the file that stands before it.
const WRITTEN: &[&str] = &[".write_text(", ".write_bytes("];
const READ: &[&str] = &[".read_text(", ".read_bytes("];
/// What makes a path of a text.
const PATHS: &[&str] = &[
    "Path",
    "pathlib.Path",
    "PurePath",
    "str",
    "os.path.abspath",
    "path.resolve",
    "resolve",
];
/// What `open` may be a method of.
const OPENERS: &[&str] = &["io", "codecs", "File", "builtins", "aiofiles"];

/// The files that a script writes, each once.
pub(crate) fn targets(text: &str) -> Vec<Target> {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let mut reader = Reader { text, steps: 0 };
    let (mut written, mut read): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut opened = 0;
    for (at, _) in text.match_indices('(') {
        if reader.steps >= STEPS || written.len() >= MOST {
            break;
        }
        let head = &text[..=at];
        let ends = |calls: &[&str]| calls.iter().any(|call| head.ends_with(call));
        if ends(WRITING) {
            written.extend(reader.first_argument(at));
        } else if ends(READING) {
            read.extend(reader.first_argument(at));
        } else if ends(WRITTEN) || ends(READ) {
            let of = receiver(head);
            let paths = reader.resolve(of, 0);
            if ends(WRITTEN) { &mut written } else { &mut read }.extend(paths);
        } else if is_open(head) && opened < OPENED {
            opened += 1;
            let arguments = arguments(&text[at + 1..]);
            match mode(&arguments) {
                Mode::Write(of) => written.extend(reader.resolve(of, 0)),
                Mode::Both(of) => {
                    let paths = reader.resolve(of, 0);
                    read.extend(paths.iter().cloned());
                    written.extend(paths);
                }
                Mode::Read(of) => read.extend(reader.resolve(of, 0)),
            }
        }
    }
    let mut targets: Vec<Target> = Vec::new();
    for path in written {
        if !targets.iter().any(|target| target.path == path) {
            let is_read = read.contains(&path);
            targets.push(Target {
                path,
                is_read,
                state: FileState::Edited,
            });
        }
    }
    targets
}

/// Whether a text ends with the call of what opens a file.
fn is_open(head: &str) -> bool {
    let Some(before) = head.strip_suffix("open(") else {
        return false;
    };
    match before.strip_suffix('.') {
        Some(of) => OPENERS.iter().any(|opener| of.ends_with(opener)),
        None => !before.ends_with(is_name),
    }
}

enum Mode<'a> {
    Read(&'a str),
    Write(&'a str),
    Both(&'a str),
}

/// What is opened, and what for.
fn mode<'a>(arguments: &[&'a str]) -> Mode<'a> {
    let first = arguments.first().copied().unwrap_or_default();
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let value = argument
            .strip_prefix("mode")
            .map_or(*argument, |rest| rest.trim_start().trim_start_matches('='));
        let Some(mode) = literal(value.trim()) else { continue };
        // Perl says first what for.
        if mode.starts_with(['>', '<', '+']) {
            let of = arguments.get(at + 1).copied().unwrap_or_default();
            return match (mode.contains('+'), mode.starts_with('>')) {
                (true, _) => Mode::Both(of),
                (false, true) => Mode::Write(of),
                (false, false) => Mode::Read(of),
            };
        }
        if mode.is_empty() || mode.len() > 4 || !mode.chars().all(|c| "rwaxbtU+".contains(c)) {
            continue;
        }
        return match (mode.contains(['+', 'a']), mode.contains(['w', 'x'])) {
            (true, _) => Mode::Both(first),
            (false, true) => Mode::Write(first),
            (false, false) => Mode::Read(first),
        };
    }
    Mode::Read(first)
}

struct Reader<'a> {
    text: &'a str,
    /// How often something was looked up.
    steps: usize,
}

impl<'a> Reader<'a> {
    fn first_argument(&mut self, open: usize) -> Vec<String> {
        let arguments = arguments(&self.text[open + 1..]);
        arguments.first().map_or_else(Vec::new, |of| self.resolve(of, 0))
    }

    /// The paths that an expression stands for, as far as the text says so.
    fn resolve(&mut self, expression: &str, depth: usize) -> Vec<String> {
        let expression = expression.trim();
        if let Some(path) = literal(expression) {
            return Vec::from_iter(Some(path).filter(|path| is_path(path)).map(str::to_owned));
        }
        if let Some(pattern) = found_in(expression) {
            return vec![pattern];
        }
        if let Some((called, rest)) = expression.split_once('(')
            && PATHS.contains(&called)
            && let [of] = arguments(rest)[..]
        {
            return match depth < DEEPEST {
                true => self.resolve(of, depth + 1),
                false => Vec::new(),
            };
        }
        if let Some(inner) = within(expression).filter(|_| depth < DEEPEST && self.steps < STEPS) {
            self.steps += 1;
            let mut found = arguments(inner).into_iter().rev().map(|of| self.resolve(of, depth + 1));
            let is_found = |paths: &Vec<String>| paths.iter().any(|path| is_pattern(path));
            return found.find(is_found).unwrap_or_default();
        }
        let is_one = !expression.is_empty() && expression.chars().all(|c| is_name(c) || matches!(c, '$' | '@'));
        if !is_one || depth >= DEEPEST || self.steps >= STEPS {
            return Vec::new();
        }
        self.steps += 1;
        self.bindings(expression, depth)
    }

    /// What a name is given in the text, or is taken of a list, or is handed to a function.
    fn bindings(&mut self, name: &str, depth: usize) -> Vec<String> {
        let text = self.text;
        let mut found = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if found.len() >= MOST {
                break;
            }
            let line = line.trim_end();
            if !line.contains(name) {
                continue;
            }
            let place = |part: &str| start + (part.as_ptr() as usize - line.as_ptr() as usize);
            if let Some(value) = assigned(line, name) {
                found.extend(self.value(value, place(value), depth));
            } else if let Some(list) = walked(line, name) {
                found.extend(self.value(list, place(list), depth));
            } else if let Some((function, position)) = defined(line, name) {
                found.extend(self.handed(function, position, start..at, depth));
            }
        }
        found
    }

    /// The paths in a list, or what another expression stands for.
    fn value(&mut self, value: &str, place: usize, depth: usize) -> Vec<String> {
        if value.starts_with(['[', '(', '{']) {
            // Of what belongs together, the file comes first.
            let first = |element: &&'a str| {
                let element = element.trim_start_matches(|c: char| matches!(c, '(' | '[' | '{') || c.is_whitespace());
                let quote = element.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
                element[1..].split_once(quote).map(|(path, _)| path)
            };
            let elements = arguments(&self.text[place + 1..]);
            if let [one] = elements[..]
                && let Some((_, list)) = one.split_once(" for ").and_then(|(_, rest)| rest.split_once(" in "))
            {
                return self.resolve(list.split(" if ").next().unwrap_or(list), depth + 1);
            }
            let paths = elements.iter().filter_map(first).filter(|path| is_path(path));
            return paths.map(str::to_owned).collect();
        }
        let value = value.trim_end_matches([';', ':', '{', ' ']);
        self.resolve(value, depth + 1)
    }

    /// What calls of a function in the text hand to it at this position.
    fn handed(&mut self, function: &str, position: usize, own: std::ops::Range<usize>, depth: usize) -> Vec<String> {
        let text = self.text;
        let call = format!("{function}(");
        let mut found = Vec::new();
        for (at, _) in text.match_indices(&call).take(MOST) {
            if own.contains(&at) || text[..at].ends_with(|c| is_name(c) || c == '.') {
                continue;
            }
            let arguments = arguments(&text[at + call.len()..]);
            if let Some(of) = arguments.get(position) {
                found.extend(self.resolve(of, depth + 1));
            }
        }
        found
    }
}

/// The pattern of the files that a call finds: `glob.glob("src/*.py")`, `Path("src").rglob("*.py")`, `os.walk("src")`.
fn found_in(expression: &str) -> Option<String> {
    let (call, rest) = expression.split_once(['(', '['])?;
    let bare = call.trim_start_matches("await ");
    // `Path("src").glob(…)`: what is called stands behind what it is called of.
    if is_in(bare, "Path pathlib.Path")
        && let Some((of, rest)) = rest.split_once(").")
    {
        let (method, rest) = rest.split_once('(')?;
        let pattern = literal(arguments(rest).first()?).filter(|_| is_in(method, "glob rglob"))?;
        let deep = if method == "rglob" { "**/" } else { "" };
        return match literal(of.trim()) {
            Some("." | "./") => as_pattern(&format!("{deep}{pattern}")),
            Some(folder) => as_pattern(&format!("{}/{deep}{pattern}", folder.trim_end_matches('/'))),
            None if of.is_empty() => as_pattern(&format!("{deep}{pattern}")),
            None => None,
        };
    }
    let given = literal(arguments(rest).first()?)?;
    let below = |end: &str| match given.trim_end_matches('/') {
        "" | "." => as_pattern(end),
        folder => as_pattern(&format!("{folder}/{end}")),
    };
    if is_in(
        bare,
        "glob glob.glob glob.iglob iglob glob.sync globSync fg.sync fast_glob.sync Dir.glob Dir",
    ) {
        as_pattern(given).filter(|pattern| is_pattern(pattern))
    } else if bare == "os.walk" {
        below("**")
    } else if is_in(bare, "os.listdir os.scandir fs.readdirSync readdirSync") {
        below("*")
    } else {
        None
    }
}

/// What is handed to a call that gives the same files in another order, or puts folders before them.
fn within(expression: &str) -> Option<&str> {
    const SAME: &str = "sorted list set tuple reversed os.path.join path.join join Path pathlib.Path str";
    let (call, rest) = expression.split_once('(')?;
    is_in(call, SAME).then_some(rest)
}

fn as_pattern(pattern: &str) -> Option<String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "()=;$<>|%".contains(c);
    let is_meant = !pattern.is_empty() && pattern.len() <= 256 && !pattern.contains(is_odd);
    is_meant.then(|| pattern.to_owned())
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_path(path: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "*?{}()=;,$<>|%".contains(c);
    let is_named = path.contains(char::is_alphabetic) && !path.ends_with(['/', '.']);
    is_named
        && path.contains(['.', '/'])
        && path.len() <= 256
        && !path.contains(is_odd)
        && !path.contains("://")
        && is_file(path)
}

/// The text of a literal, where nothing has to be put into it.
fn literal(expression: &str) -> Option<&str> {
    let bare = expression.trim_start_matches(['r', 'b', 'u']);
    let quote = bare.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let inner = bare[1..].strip_suffix(quote).filter(|inner| !inner.contains(quote))?;
    (expression.len() - bare.len() <= 1 && !inner.contains('\\') && !inner.contains("${")).then_some(inner)
}

/// What stands behind a bracket up to the one that closes it, at its commas.
fn arguments(text: &str) -> Vec<&str> {
    let text = &text[..text.floor_char_boundary(GIVEN)];
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    let mut found = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => {
                bytes.next();
            }
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') if depth == 0 => {
                found.push(text[start..at].trim());
                return found;
            }
            (None, b')' | b']' | b'}') => depth -= 1,
            (None, b',') if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    // It never ends, or not so soon.
    Vec::new()
}

/// What a method is called of: `p` of `p.write_text(`, `Path("a")` of `Path("a").write_text(`.
fn receiver(head: &str) -> &str {
    let before = head.rsplit_once('.').map_or("", |(before, _)| before);
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(256))..];
    let is_in_name = |c: char| is_name(c) || matches!(c, '$' | '@');
    let start = match near.strip_suffix(')') {
        Some(inner) => {
            let open = inner.rfind('(').unwrap_or_default();
            inner[..open].trim_end_matches(|c| is_in_name(c) || c == '.').len()
        }
        None => near.trim_end_matches(is_in_name).len(),
    };
    &near[start..]
}

/// What a line gives a name: `path = "a.rs"`, `const path = …`, `$path = …`.
fn assigned<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut line = line.trim_start();
    for word in ["const ", "let ", "var ", "my ", "our ", "local "] {
        line = line.strip_prefix(word).unwrap_or(line).trim_start();
    }
    let rest = line.strip_prefix(name)?.trim_start();
    // `path: Path = …`.
    let rest = match rest.strip_prefix(':') {
        Some(kind) => &kind[kind.find('=')?..],
        None => rest,
    };
    let value = rest.strip_prefix('=')?;
    (!value.starts_with(['=', '~', '>']))
        .then(|| value.trim_start())
        .filter(|value| !value.is_empty())
}

/// The list that a loop takes a name from: `for path in ["a.rs"]:`, `for (const path of paths) {`.
fn walked<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix("for")?;
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let (names, list) = rest.split_once(" in ").or_else(|| rest.split_once(" of "))?;
    let mut names = names.split(|c: char| !is_name(c) && !matches!(c, '$' | '@'));
    let list = list.trim_start();
    let is_list = list.starts_with('[') || list.starts_with('(');
    let end = if is_list { list.len() } else { end_of_list(list) };
    names.any(|one| one == name).then_some(&list[..end])
}

/// Where the expression ends that a loop goes through: before the sign that begins its body, or closes what it stands in.
fn end_of_list(list: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, byte) in list.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[') => depth += 1,
            (None, b')' | b']') if depth > 0 => depth -= 1,
            (None, b')' | b']' | b':' | b'{' | b';') if depth == 0 => return list[..at].trim_end().len(),
            _ => {}
        }
    }
    list.trim_end().len()
}

/// The function that has a parameter of this name in this line, and the parameter's position.
fn defined<'a>(line: &'a str, name: &str) -> Option<(&'a str, usize)> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("function "))?;
    let (function, rest) = rest.split_once('(')?;
    let is_it = |parameter: &&str| parameter.split([':', '=']).next().is_some_and(|own| own.trim() == name);
    let position = arguments(rest).iter().position(is_it)?;
    let function = function.trim();
    (!function.is_empty()).then_some((function, position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The targets of a script; one that is not read has a `!` behind it.
    fn told(text: &str) -> String {
        let told = |target: Target| target.path + if target.is_read { "" } else { "!" };
        targets(text).into_iter().map(told).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_script_writes_what_it_opens_for_that() {
        for (text, expected) in [
            ("open('src/a.py', 'w').write(x)", "src/a.py!"),
            ("s = open('a.py').read()\nopen('a.py', 'w').write(s)", "a.py"),
            ("with open(\"a.py\", mode=\"r+\") as f:\n  f.write(x)", "a.py"),
            (
                "p = 'a/b.py'\nwith open(p, 'r') as f:\n  x = f.read()\nwith open(p, 'w') as f:\n  f.write(x)",
                "a/b.py",
            ),
            (
                "from pathlib import Path\np = Path('a.py')\np.write_text(p.read_text().replace('x', 'y'))",
                "a.py",
            ),
            ("pathlib.Path('a.py').write_text('x')", "a.py!"),
            ("path: str = r'src\\a.py'\nopen(path, 'w')", ""),
            (
                "for f in ['a.py', \"b/c.py\"]:\n    s = open(f).read()\n    open(f, 'w').write(s)",
                "a.py b/c.py",
            ),
            (
                "import glob\nfor p in glob.glob('src/*.py'):\n    s=open(p).read()\n    open(p,'w').write(s)",
                "src/*.py",
            ),
            (
                "for p in sorted(Path('src').rglob('*.py')):\n  p.write_text(p.read_text().replace('x', 'y'))",
                "src/**/*.py",
            ),
            (
                "for root, dirs, files in os.walk('src'):\n  for f in files:\n    p = os.path.join(root, f)\n    s = open(p).read()\n    open(p, 'w').write(s)",
                "src/**",
            ),
            (
                "paths = [p for p in glob.glob('a/*.md') if 'x' in p]\nfor p in paths:\n  open(p, 'a').write('x')",
                "a/*.md",
            ),
            (
                "for (const f of globSync('src/*.ts')) {\n  fs.writeFileSync(f, fs.readFileSync(f, 'utf8'));\n}",
                "src/*.ts",
            ),
            ("for p in glob.glob('src/*.py'):\n  print(open(p).read())", ""),
            ("for p in glob.glob(sys.argv[1]):\n  open(p, 'w')", ""),
            (
                "files = [\n  'a.py',\n  'b.py',\n]\nfor f in files:\n    open(f, 'wb')",
                "a.py! b.py!",
            ),
            (
                "def fix(path, old):\n  s = open(path).read()\n  open(path, 'w').write(s)\nfix('a.py', 'x')\nfix('b.py', '1.2')",
                "a.py b.py",
            ),
            (
                "for p, old in [('a.py', 'x y'), ('b.py', 'z')]:\n  Path(p).write_text(old)",
                "a.py! b.py!",
            ),
            (
                "const fs = require('fs');\nconst p = 'a.js';\nlet s = fs.readFileSync(p, 'utf8');\nfs.writeFileSync(p, s);",
                "a.js",
            ),
            (
                "for (const f of ['a.ts', 'b.ts']) { fs.writeFileSync(f, '') }",
                "a.ts! b.ts!",
            ),
            ("File.write('a.rb', File.read('a.rb').sub('x', 'y'))", "a.rb"),
            ("File.open('a.rb', 'w') { |f| f << x }", "a.rb!"),
            ("my $f = 'a.pl'; \nopen(my $fh, '>', 'a.pl') or die;", "a.pl!"),
            ("file_put_contents('a.php', $x);", "a.php!"),
            // Nothing is written, or nobody knows where.
            ("print(open('a.py').read())", ""),
            ("open(sys.argv[1], 'w')", ""),
            ("open(f'{x}.py', 'w')", ""),
            ("Image.open('a.png', 'w')", ""),
            ("reopen('a.py', 'w')", ""),
            ("print(\"open\", 'a.py')", ""),
            ("p == 'a.py'\nopen(p, 'w')", ""),
            ("open('/dev/null', 'w')", ""),
            ("", ""),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_script_is_read_in_bounded_time() {
        for piece in [
            "open(p, 'w')\n",
            "p = q\nq = p\nopen(p, 'w')\n",
            "def f(p):\n open(p, 'w')\nf(f(",
            "open(",
            "((((",
        ] {
            targets(&piece.repeat(200_000));
        }
    }

    proptest! {
        #[test]
        fn no_script_is_too_odd(text in r#"(open\(|é|p|'a\.b'|"|'|, |=|\)|\n|for p in |\[|def f\(p|\.write_text\(|Path\(|\\|writeFile\(){0,40}"#) {
            for target in targets(&text) {
                prop_assert!(is_path(&target.path) || is_pattern(&target.path));
            }
        }
    }
}
