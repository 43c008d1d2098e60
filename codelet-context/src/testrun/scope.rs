//! What a check is narrowed to, and whether the success of one is that of another, too.

use super::settings::Settings;
use super::spelled;
use super::variables::{Role, variable};
use crate::path::{Folder, is_absolute, is_in_folder, is_within_end, plain};
use crate::programs::Program;
use crate::word_list::is_in;
use crate::wrapped::is_assignment;
use std::collections::HashSet;

/// An option that chooses, with its value or nothing.
pub type Filter = (String, String);

/// What a check is narrowed to. Each field narrows by itself; an empty one leaves all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// The words that are no options, in their order: files, folders, packages, names of tests. Each adds to the rest.
    pub words: Vec<String>,
    /// The options that choose among the tests, each with its value or nothing: `-k fast`, `--lib`.
    pub filters: Vec<Filter>,
    /// The options that bring in what is else left out: `--workspace`.
    pub wider: Vec<Filter>,
    /// The folder that it is run in, if the line goes there.
    pub place: Option<String>,
    /// How it is run, as far as that may change what comes of it.
    pub settings: Settings,
}

/// Pieces of the names of options that choose among tests.
const CHOOSING: &str = "test grep filter match pattern name only exact skip exclude ignore select package project failed changed since affected related shard focus tag spec suite group short lib bin doc example stepwise stale";
/// Options with one of these pieces that choose nothing.
const NOT_CHOOSING: &str = "--test-threads --test-timeout --testtimeout --passwithnotests --pass-with-no-tests --hostname --testlogger --testdox --testdox-summary";
/// Options that choose, without such a piece.
const ALSO_CHOOSING: &str = "--lf --sw --nf --ext --rule -A";
/// Options whose value is another project, or other rules, of whatever program.
const ALTERING: &str = "--config --rootdir";
/// The option whose values bring in something each, unless all is brought in by another one.
const FEATURES: &str = "--features";
/// The option that chooses files by their endings. One more adds to what is looked at.
const ENDINGS: &str = "--ext";
/// Options that bring in what is else left out.
const WIDER: &str = "--workspace --all --features -F --all-features --all-targets --ignored --include-ignored -tags";
/// Options with a value, of whatever program, that choose nothing.
const VALUED: &str = "--config --reporter --format --output --timeout -timeout --tb --report --logger --verbosity --log-level --maxfail --durations --cov --cov-report --rootdir --profile --cargo-profile --target-dir --rule --max-warnings --ext --include --preset \
                      --python-version --platform --retries --workers --message-format --seed";
/// Options with a value or none, behind which a number of processors may stand that the shell finds out.
const PARALLEL: &str = "-j -l --jobs --parallel";
/// Words that are no file and no test behind a long option, and so its value.
const SWITCHES: &str = "true false on off always never auto yes no";
/// So many pairs of words of two checks are compared at most.
const MANY_PAIRS: usize = 40_000;
/// Options whose value is the folder that the check is run in.
const PLACES: &str = "-C --prefix --dir --cwd --directory --project-dir --manifest-path --test-dir";

impl Scope {
    /// What the arguments of a program narrow it to. The word that tells it what to do, if there is one, and those before
    /// it are no part of that.
    pub(super) fn of(row: &Program, words: &[String], verb: Option<&str>) -> Scope {
        let mut scope = Scope::default();
        let mut is_told = verb.is_none();
        let mut words = words.iter();
        // Whether the word before was an option without a value: `-n 4`.
        let mut takes_number = false;
        while let Some(word) = words.next() {
            let mut is_open = false;
            if word.starts_with('-') && word.len() > 1 {
                let (key, mut value) = match word.split_once('=') {
                    Some((key, value)) => (key, Some(value)),
                    None => attached(word, row),
                };
                let key = spelled::option(key, row);
                let is_valued = || {
                    [row.valued, row.narrows, row.alters, VALUED, PLACES]
                        .iter()
                        .any(|list| is_in(key, list))
                };
                let follows = |next: &String| {
                    key.starts_with("--") && key.len() > 2 && is_in(next, SWITCHES)
                        || is_in(key, PARALLEL) && next.starts_with(['$', '`'])
                };
                if value.is_none() && (is_valued() || words.as_slice().first().is_some_and(follows)) {
                    value = words.next().map(String::as_str);
                }
                is_open = value.is_none() && key != "--";
                scope.option(key, value.unwrap_or_default(), row);
            } else if let Some(toolchain) = word.strip_prefix('+') {
                scope.settings.toolchain(toolchain);
            } else if !is_told {
                is_told = verb == Some(word.as_str());
            } else if is_assignment(word) {
                // `make TARGET=a`
                match variable(word) {
                    Some((Role::Chooses, said)) => scope.filters.push(said),
                    Some((Role::Alters, said)) => {
                        scope.filters.push(said);
                        scope.settings.variable(word);
                    }
                    Some((Role::Tells, _)) | None => {}
                }
            } else if !(takes_number && word.bytes().all(|b| b.is_ascii_digit())) {
                scope.words.push(word.clone());
            }
            takes_number = is_open;
        }
        // `vitest` and `vitest run` are the same.
        if scope.words.first().is_some_and(|word| word == row.leading) {
            scope.words.remove(0);
        }
        scope
    }

    fn option(&mut self, key: &str, value: &str, row: &Program) {
        let said = || (key.to_owned(), value.to_owned());
        if is_in(key, PLACES) {
            let is_file = key == "--manifest-path";
            let folder = if is_file {
                value.rsplit_once(['/', '\\']).map_or("", |(folder, _)| folder)
            } else {
                value
            };
            self.go_to(folder);
            return;
        }
        let is_wider = is_in(key, WIDER);
        if key == FEATURES {
            let features = value.split([',', ' ']).filter(|feature| !feature.is_empty());
            self.wider
                .extend(features.map(|feature| (key.to_owned(), feature.to_owned())));
        } else if is_wider {
            self.wider.push(said());
        }
        let name = key.to_ascii_lowercase();
        let chooses = CHOOSING.split(' ').any(|piece| name.contains(piece)) && !is_in(&name, NOT_CHOOSING);
        let alters = is_in(key, row.alters) || is_in(&name, ALTERING);
        if alters {
            // Who names the file that is taken anyhow says nothing.
            if !is_usual(value, row) {
                self.filters.push(said());
                self.settings.other(key, value);
            }
        } else if key == ENDINGS {
            let endings = value.split([',', ' ']).map(|ending| ending.trim_start_matches('.'));
            let endings = endings.filter(|ending| !ending.is_empty());
            self.filters
                .extend(endings.map(|ending| (key.to_owned(), ending.to_owned())));
        } else if key == "-o" && is_in("jest", row.names) {
            // Only what is about files that were changed; of others it says where something goes.
            self.filters.push(said());
        } else if is_in(key, row.narrows) || is_in(key, ALSO_CHOOSING) || chooses && (!is_wider || key == "--ignored") {
            self.filters.push(said());
        } else if !is_wider {
            self.settings.option(key, value, row);
        }
    }

    /// From here on it is run in this folder, named as seen from the one before.
    pub(super) fn go_to(&mut self, folder: &str) {
        let before = self.place.take().unwrap_or_default();
        let folder = Folder::default().enter(&before, true).enter(folder, true);
        self.place = folder.told().map(str::to_owned);
    }

    /// Whether what this one looks at is all that the other looks at, and perhaps more. In doubt it is not. `is_flat` where
    /// a folder stands for itself and not for those in it.
    pub(super) fn covers(&self, other: &Scope, is_flat: bool) -> bool {
        self.covers_place(other)
            && self.brings_in_all(other)
            && self.settings.cover(&other.settings)
            && self.chooses_alike(other)
            && self.covers_words(other, is_flat)
    }

    /// Whether this one brings in what the other does.
    fn brings_in_all(&self, other: &Scope) -> bool {
        let all: HashSet<&(String, String)> = self.wider.iter().collect();
        let has_all = self.has_all_features();
        let mut others = other.wider.iter();
        others.all(|option| all.contains(option) || has_all && option.0 == FEATURES)
    }

    /// Whether this one brings in what an option of another brings in.
    pub(super) fn brings_in(&self, option: &(String, String)) -> bool {
        self.wider.contains(option) || option.0 == FEATURES && self.has_all_features()
    }

    fn has_all_features(&self) -> bool {
        self.wider.iter().any(|(key, _)| key == "--all-features")
    }

    /// Whether the options by which this one chooses are given to the other in the same way. It may have more.
    fn chooses_alike(&self, other: &Scope) -> bool {
        if self.filters.is_empty() {
            return true;
        }
        let is_ending = |filter: &&(String, String)| filter.0 == ENDINGS;
        let endings: HashSet<_> = self.filters.iter().filter(is_ending).collect();
        let mut known = other.filters.iter().filter(is_ending).peekable();
        if !endings.is_empty() && (known.peek().is_none() || !known.all(|ending| endings.contains(ending))) {
            return false;
        }
        let mut own: Vec<&(String, String)> = self.filters.iter().filter(|filter| !is_ending(filter)).collect();
        own.sort_unstable();
        let is_own = |key: &str| own.binary_search_by(|(own, _)| own.as_str().cmp(key)).is_ok();
        let mut others: Vec<_> = other.filters.iter().filter(|(key, _)| is_own(key)).collect();
        others.sort_unstable();
        own == others
    }

    fn covers_words(&self, other: &Scope, is_flat: bool) -> bool {
        let words = |scope: &Scope| -> Vec<String> {
            match scope.words.is_empty() && is_flat {
                true => vec![".".to_owned()],
                false => scope.words.iter().map(|word| plain(word)).collect(),
            }
        };
        let (wide, narrow) = (words(self), words(other));
        if wide.is_empty() || narrow.is_empty() {
            return wide.is_empty();
        }
        // Of very many, no one compares each with each; a line that names so many is written by a program, and again the same.
        if wide.len().saturating_mul(narrow.len()) > MANY_PAIRS {
            return is_among(&narrow, &wide);
        }
        let is_covered = |narrow: &String| wide.iter().any(|wide| spelled_covers(wide, narrow, is_flat));
        narrow.iter().all(is_covered)
    }

    pub(super) fn covers_place(&self, other: &Scope) -> bool {
        match (&self.place, &other.place) {
            (None, _) => true,
            // Who names the whole path names the folder of the project, as a rule.
            (Some(place), None) => is_absolute(place),
            (Some(place), Some(other)) => place_covers(place, other),
        }
    }
}

/// Whether what is run in a place takes in the other one, as far as their names tell. Nobody knows what `..` was in: `../core` is
/// any folder of that name.
pub(crate) fn place_covers(place: &str, other: &str) -> bool {
    let is_end = |whole: &str, end: &str| whole == end || is_within_end(whole, end);
    match (is_absolute(place), is_absolute(other)) {
        (true, false) => is_within_end(place, beside(other).unwrap_or(other)),
        (false, true) => is_within_end(other, beside(place).unwrap_or(place)),
        (true, true) => is_in_folder(other, place),
        (false, false) => {
            // What is around a folder is not in it.
            let is_around = || other.strip_prefix(place).is_some_and(|rest| rest.starts_with("/.."));
            is_in_folder(other, place) && !is_around()
                || beside(place).is_some_and(|end| is_end(other, end))
                || beside(other).is_some_and(|end| is_end(place, end))
        }
    }
}

/// The folder that is named from one around that where the shell is: `core` of `../core`.
fn beside(name: &str) -> Option<&str> {
    let rest = name.trim_start_matches("../");
    (rest.len() < name.len() && rest != "..").then_some(rest)
}

/// Whether this is the project or the file of rules that a program takes where it is told none: `-p .`, `-c jest.config.js`.
fn is_usual(value: &str, row: &Program) -> bool {
    const USUAL: &str =
        ". tsconfig pyproject setup pytest tox mypy phpunit phpunit.xml pom Makefile makefile .golangci .eslintrc";
    let file = plain(value);
    let stem = file.rsplit_once('.').map_or(&*file, |(stem, _)| stem);
    let is_config = |program: &str| stem.strip_prefix(program) == Some(".config");
    is_in(&file, USUAL) || !stem.is_empty() && is_in(stem, USUAL) || row.names.split(' ').any(is_config)
}

/// A short option with its value in one word: `-kfast`.
fn attached<'a>(word: &'a str, row: &Program) -> (&'a str, Option<&'a str>) {
    let is_known = |word: &str| {
        [row.narrows, row.valued, row.alters]
            .iter()
            .any(|list| is_in(word, list))
    };
    if is_known(word) || word.starts_with("--") || !word.is_char_boundary(2) {
        return (word, None);
    }
    match word.split_at(2) {
        (key, value) if !value.is_empty() && is_known(key) => (key, Some(value)),
        _ => (word, None),
    }
}

/// Whether a word names what another names, or what that is in: a folder and its files, a file and its tests.
pub(super) fn word_covers(wide: &str, narrow: &str, is_flat: bool) -> bool {
    spelled_covers(&plain(wide), &plain(narrow), is_flat)
}

/// Whether all of these are among those.
fn is_among<T: Eq + std::hash::Hash>(some: &[T], all: &[T]) -> bool {
    if some.is_empty() {
        return true;
    }
    let all: HashSet<&T> = all.iter().collect();
    some.iter().all(|one| all.contains(one))
}

/// The same of words in [one spelling](plain).
fn spelled_covers(wide: &str, narrow: &str, is_flat: bool) -> bool {
    if let Some(folder) = wide.strip_suffix("...") {
        let folder = folder.trim_end_matches('/');
        return folder.is_empty() || is_in_folder(narrow.trim_end_matches("..."), folder);
    }
    if wide == narrow {
        return true;
    }
    if is_flat || narrow.contains("...") {
        return false;
    }
    let inside = |rest: &str| rest.starts_with(['/', ':', '#', '[', '.']);
    wide == "." && !is_absolute(narrow) && !narrow.starts_with("..") || narrow.strip_prefix(wide).is_some_and(inside)
}
