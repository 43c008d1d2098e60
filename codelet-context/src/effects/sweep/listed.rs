//! The files that programs list which look for some.

use super::{Chosen, Here};
use crate::command::Command;
use crate::command::git::Git;
use crate::pattern::{alternatives, is_pattern};
use crate::word_list::is_in;

impl Here<'_> {
    /// The files that a command lists, as seen from where this one runs.
    pub(super) fn listed(&self, command: &Command) -> Chosen {
        if command.is_elsewhere {
            return Chosen::unknown();
        }
        match &*command.name() {
            "find" => of_find(command),
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => self.of_search(command),
            "fd" | "fdfind" => of_fd(command),
            "git" => Git::of(command).map_or_else(Chosen::unknown, |git| of_git(&git)),
            "ls" | "echo" | "printf" => {
                let operands = command
                    .arguments(1)
                    .filter(|(word, _)| !word.starts_with('-') && !word.contains('%'));
                self.words(operands)
            }
            _ => Chosen::unknown(),
        }
    }

    fn of_search(&self, command: &Command) -> Chosen {
        const VALUED: &str =
            "-A -B -C -m -f -g --glob --include --exclude --exclude-dir -t --type -T --type-not --iglob -d -D";
        let mut chosen = Chosen::default();
        let (mut names, mut has_pattern, mut operands) = (Vec::new(), false, Vec::new());
        let mut words = command.arguments(1);
        while let Some((word, is_open)) = words.next() {
            let (option, value) = word
                .split_once('=')
                .map_or((word, None), |(option, value)| (option, Some(value)));
            if is_in(option, "-g --glob --include") {
                let name = value
                    .or_else(|| Some(words.next()?.0))
                    .filter(|name| !name.starts_with('!'));
                names.extend(name.map(|name| name.trim_start_matches("**/").to_owned()));
            } else if is_in(option, "-e --regexp") {
                has_pattern = true;
                if value.is_none() {
                    words.next();
                }
            } else if is_in(word, VALUED) {
                words.next();
            } else if !word.starts_with('-') {
                if has_pattern {
                    operands.push((word, is_open));
                }
                has_pattern = true;
            }
        }
        let names: Vec<String> = names.iter().flat_map(|name| alternatives(name)).collect();
        for (word, is_open) in operands {
            match is_open {
                true => chosen.join(self.worked_out(word)),
                false => add_below(&mut chosen, word, &names),
            }
        }
        if chosen.among.is_empty() && !chosen.is_open {
            add_below(&mut chosen, ".", &names);
        }
        chosen.is_part = true;
        chosen
    }
}

/// The files of these names in a folder, or all.
fn add_below(chosen: &mut Chosen, folder: &str, names: &[String]) {
    let folder = folder.trim_end_matches('/');
    if names.is_empty() {
        return chosen.add_folder(folder);
    }
    for name in names {
        match folder {
            "" | "." => chosen.add(format!("**/{name}")),
            folder => chosen.add(format!("{folder}/**/{name}")),
        }
    }
}

fn of_find(command: &Command) -> Chosen {
    let is_test = |word: &str| word.starts_with(['-', '(', '!']);
    let mut chosen = Chosen::default();
    let words: Vec<(&str, bool)> = command
        .arguments(1)
        .skip_while(|(word, _)| is_in(word, "-L -H -P"))
        .collect();
    let roots = words.iter().take_while(|(word, _)| !is_test(word));
    let (mut names, mut is_not) = (Vec::new(), false);
    for pair in words.windows(2) {
        let [(word, _), (value, _)] = pair else { continue };
        match *word {
            "!" | "-not" => is_not = true,
            "-name" | "-iname" if !is_not => names.push((*value).to_owned()),
            "-exec" | "-execdir" | "-ok" | "-okdir" => break,
            word if word.starts_with('-') => {
                chosen.is_part |= !is_not
                    && !is_in(
                        word,
                        "-type -print -print0 -o -a -depth -maxdepth -mindepth -name -iname",
                    );
                is_not = false;
            }
            _ => {}
        }
    }
    let before = chosen.among.len();
    for (root, is_open) in roots {
        match is_open {
            true => chosen.is_open = true,
            false => add_below(&mut chosen, root, &names),
        }
    }
    if chosen.among.len() == before && !chosen.is_open {
        add_below(&mut chosen, ".", &names);
    }
    chosen
}

fn of_fd(command: &Command) -> Chosen {
    let (mut names, mut operands) = (Vec::new(), Vec::new());
    let mut words = command.arguments(1);
    while let Some((word, _)) = words.next() {
        if is_in(word, "-x -X --exec --exec-batch") {
            break;
        } else if is_in(word, "-e --extension") {
            names.extend(
                words
                    .next()
                    .map(|(ending, _)| format!("*.{}", ending.trim_start_matches('.'))),
            );
        } else if is_in(word, "-t --type -E --exclude -d --max-depth --min-depth") {
            words.next();
        } else if !word.starts_with('-') {
            operands.push(word);
        }
    }
    let mut chosen = Chosen {
        is_part: operands.first().is_some_and(|pattern| *pattern != "."),
        ..Chosen::default()
    };
    match operands.get(1..).filter(|folders| !folders.is_empty()) {
        Some(folders) => folders.iter().for_each(|folder| add_below(&mut chosen, folder, &names)),
        None => add_below(&mut chosen, ".", &names),
    }
    chosen
}

fn of_git(git: &Git) -> Chosen {
    let (before, behind) = git.operands("-e -A -B -C --max-depth -O");
    let is_search = git.verb == "grep";
    if !is_in(git.verb, "grep ls-files") {
        return Chosen::unknown();
    }
    let skipped = usize::from(is_search && !git.has("-e"));
    let given = before.into_iter().skip(skipped).chain(behind.into_iter().flatten());
    let mut chosen = Chosen {
        is_part: is_search,
        ..Chosen::default()
    };
    for (word, is_open) in given.filter(|(word, _)| !word.starts_with(':')) {
        match (is_open && word.contains(['$', '`']), is_pattern(word)) {
            (true, _) => chosen.is_open = true,
            // A pattern of Git's own is one of all folders.
            (_, true) => match word.rsplit_once('/') {
                Some((folder, name)) => add_below(&mut chosen, folder.trim_end_matches("/**"), &[name.to_owned()]),
                None => add_below(&mut chosen, ".", &[word.to_owned()]),
            },
            _ => chosen.add_folder(word),
        }
    }
    if chosen.among.is_empty() && !chosen.is_open {
        chosen.add("**");
    }
    chosen
}
