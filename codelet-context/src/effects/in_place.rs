//! Programs that change the files that they are given, in place.

use crate::word_list::is_in;
use crate::wrapped::base;

/// The files that a program is told to change.
#[derive(Debug)]
pub(super) struct InPlace<'a> {
    /// Each with whether a shell has to work it out. A program that finds its files itself is given none.
    pub files: Vec<(&'a str, bool)>,
    /// Folders among them stand for all that is in them.
    pub takes_folders: bool,
    /// It chooses by what is in a file which ones it changes, and where it is given none, it looks through all.
    pub chooses: bool,
}

/// A program that needs no reading of its own.
struct Row {
    name: &'static str,
    /// It changes files only with one of these, where there are any.
    needs: &'static str,
    /// With one of these it only shows what it would do.
    rehearses: &'static str,
    valued: &'static str,
    /// So many words stand before the files.
    before: usize,
    takes_folders: bool,
    chooses: bool,
}

const fn row(name: &'static str, needs: &'static str, rehearses: &'static str, valued: &'static str) -> Row {
    Row {
        name,
        needs,
        rehearses,
        valued,
        before: 0,
        takes_folders: false,
        chooses: false,
    }
}

impl Row {
    const fn behind(self, before: usize) -> Row {
        Row { before, ..self }
    }

    const fn folders(self) -> Row {
        Row {
            takes_folders: true,
            ..self
        }
    }

    const fn choosing(self) -> Row {
        Row { chooses: true, ..self }
    }
}

const AST_GREP: &str = "-p --pattern -r --rewrite -l --lang -c --config --rule --inline-rules --selector --strictness --globs --no-ignore -j --threads --filter";
const ROWS: &[Row] = &[
    row("sd", "", "-p --preview", "-n --max-replacements -f --flags").behind(2),
    row("rpl", "", "-s --dry-run --simulate -n", "-x -A -B")
        .behind(2)
        .folders()
        .choosing(),
    row("ast-grep run", "-U --update-all", "", AST_GREP)
        .folders()
        .choosing(),
    row("ast-grep scan", "-U --update-all", "", AST_GREP)
        .folders()
        .choosing(),
    row("ast-grep", "-U --update-all", "", AST_GREP).folders().choosing(),
    row("sg run", "-U --update-all", "", AST_GREP).folders().choosing(),
    row("sg scan", "-U --update-all", "", AST_GREP).folders().choosing(),
    row("sg", "-U --update-all", "", AST_GREP).folders().choosing(),
    row(
        "comby",
        "-i -in-place --in-place",
        "-diff -review",
        "-d -directory -matcher -m -f -filter -config -templates -exclude-dir -rule -jobs -timeout",
    )
    .behind(2)
    .choosing(),
    row(
        "jscodeshift",
        "",
        "-d --dry --help",
        "-t --transform -c --cpus --extensions --parser --parser-config --ignore-pattern --ignore-config -v --verbose",
    )
    .folders()
    .choosing(),
    row(
        "2to3",
        "-w --write -wn",
        "",
        "-f --fix -x --nofix -j --processes -o --output-dir",
    )
    .folders()
    .choosing(),
    row("pyupgrade", "", "", ""),
    row(
        "autoflake",
        "-i --in-place -ri -ir",
        "-c --check -cd --check-diff -s --stdout",
        "--exclude --imports --config",
    )
    .folders()
    .choosing(),
    row("dos2unix", "", "-i --info -n --newfile", "-c --convmode"),
    row("unix2dos", "", "-i --info -n --newfile", "-c --convmode"),
];

impl<'a> InPlace<'a> {
    /// Reads a command without its wrappers, with whether a shell has to work out each of its words; nothing if it is no
    /// program that changes files in place.
    pub fn of(words: &'a [String], open: &[bool]) -> Option<InPlace<'a>> {
        let (program, rest) = words.split_first()?;
        let name = base(program);
        let given = || {
            let open = open.get(1..).unwrap_or_default().iter().copied();
            rest.iter()
                .map(String::as_str)
                .zip(open.chain(std::iter::repeat(false)))
        };
        let files = match &*name {
            "sed" | "gsed" if sed_writes(rest) => behind_script(
                given(),
                |_| false,
                |word| matches!(word.split('=').next(), Some("-e" | "-f" | "--expression" | "--file")),
            ),
            "perl" | "ruby" if perl_writes(rest) => behind_script(
                given(),
                |_| false,
                |word| perl_letters(word).last().is_some_and(|c| matches!(c, 'e' | 'E')),
            ),
            "awk" | "gawk" if awk_writes(rest) => behind_script(
                given(),
                |word| matches!(word, "-i" | "-v" | "-F" | "--include" | "--assign"),
                |word| matches!(word, "-f" | "-e" | "--file" | "--source"),
            ),
            "yq" if yq_writes(rest) => {
                let files = behind_script(given(), |_| false, |_| false);
                files.last().copied().into_iter().collect()
            }
            name => return InPlace::of_row(name, rest, given()),
        };
        Some(InPlace {
            files,
            takes_folders: false,
            chooses: false,
        })
    }

    fn of_row(name: &str, rest: &[String], given: impl Iterator<Item = (&'a str, bool)>) -> Option<InPlace<'a>> {
        let verb = rest.first().map_or("", String::as_str);
        let is_it = |row: &&Row| match row.name.split_once(' ') {
            Some((program, own)) => program == name && own == verb,
            None => row.name == name,
        };
        let row = ROWS.iter().find(is_it)?;
        let has = |list: &str| {
            rest.iter()
                .any(|word| is_in(word.split('=').next().unwrap_or(word), list))
        };
        if !row.needs.is_empty() && !has(row.needs) || !row.rehearses.is_empty() && has(row.rehearses) {
            return None;
        }
        let mut files = Vec::new();
        let mut words = given.skip(usize::from(row.name.contains(' ')));
        while let Some((word, is_open)) = words.next() {
            if is_in(word, row.valued) {
                words.next();
            } else if !word.starts_with('-') || word == "-" {
                files.push((word, is_open));
            }
        }
        let mut files = files.split_off(row.before.min(files.len()));
        // Of endings alone nobody knows which folders they are looked for in.
        files.retain(|(word, _)| row.name != "comby" || !word.starts_with('.'));
        Some(InPlace {
            files,
            takes_folders: row.takes_folders,
            chooses: row.chooses,
        })
    }
}

/// The operands that are files: all after the script, which is the first operand unless an option brought it. Some options
/// are followed by a value.
fn behind_script<'a>(
    given: impl Iterator<Item = (&'a str, bool)>,
    is_valued: impl Fn(&str) -> bool,
    brings_script: impl Fn(&str) -> bool,
) -> Vec<(&'a str, bool)> {
    let mut files = Vec::new();
    let mut has_script = false;
    let mut words = given.peekable();
    while let Some((word, is_open)) = words.next() {
        if is_valued(word) {
            words.next();
        } else if brings_script(word) {
            // A long option may have its value behind `=`.
            if !word.contains('=') {
                words.next();
            }
            has_script = true;
        } else if word.starts_with('-') {
            // BSD's sed takes an empty suffix as a word of its own.
            words.next_if(|(next, _)| next.is_empty());
        } else if !has_script {
            has_script = true;
        } else {
            files.push((word, is_open));
        }
    }
    files
}

/// Whether `awk` is told to change files in place.
pub(crate) fn awk_writes(arguments: &[String]) -> bool {
    let is_told = |pair: &[String]| is_in(&pair[0], "-i --include") && pair[1] == "inplace";
    let is_joined = |word: &String| is_in(word, "-iinplace --include=inplace");
    arguments.windows(2).any(is_told) || arguments.iter().any(is_joined)
}

/// Whether `yq` is.
pub(crate) fn yq_writes(arguments: &[String]) -> bool {
    let is_it = |word: &String| is_in(word, "-i --inplace --in-place") || word.starts_with("-i") && !word.contains('n');
    arguments.iter().any(is_it)
}

/// Whether Perl, or Ruby, is given a script that changes files in place.
pub(crate) fn perl_writes(arguments: &[String]) -> bool {
    let (mut is_in_place, mut has_script) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next().filter(|word| word.starts_with('-') && *word != "--") {
        is_in_place |= perl_letters(word).any(|c| c == 'i');
        if perl_letters(word).any(|c| matches!(c, 'e' | 'E')) {
            has_script = true;
            words.next();
        } else if word == "-I" {
            words.next();
        }
    }
    is_in_place && has_script
}

/// The letters of a cluster of options of Perl or Ruby, up to the first that takes what follows it.
fn perl_letters(word: &str) -> impl Iterator<Item = char> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    // `-i.bak`, `-Mstrict`; the numbers behind `-0` and `-l` are no letters.
    let mut is_over = false;
    letters.unwrap_or_default().chars().take_while(move |&c| {
        let is_behind = is_over;
        is_over = matches!(c, 'i' | 'M' | 'm' | 'I' | 'e' | 'E' | 'F' | 'x' | 'D' | 'C' | 'V' | 'r');
        !is_behind
    })
}

/// Whether `sed` is told to change files instead of printing them.
pub(crate) fn sed_writes(arguments: &[String]) -> bool {
    arguments.iter().any(|word| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-in-place"),
        // What follows some letters is their value.
        Some(letters) => letters
            .chars()
            .take_while(|c| !matches!(c, 'e' | 'f' | 'l' | '.'))
            .any(|c| c == 'i'),
        None => false,
    })
}
