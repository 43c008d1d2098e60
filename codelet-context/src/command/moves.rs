//! How a line moves the shell that it is typed into, if that keeps its folder for the next one.

use super::flow::operands;
use super::{Command, Script};
use crate::word_list::is_in;

/// One change of the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// To a folder, as it is named from where the shell is. `is_open` where only the shell knows which that is, or whether it
    /// goes there; `is_kept` where it remembers the one before, to be gone back to by [`Move::Pop`].
    To {
        name: Box<str>,
        is_open: bool,
        is_kept: bool,
    },
    /// To the one before: `cd -`.
    Back,
    /// To the one that was remembered last: `popd`.
    Pop,
}

impl Move {
    /// What a command of this name does that goes to another folder; `is_sure` if it is known that it does.
    pub(super) fn of(command: &Command, name: &str, is_sure: bool) -> Move {
        let is_kept = is_in(name, "pushd push-location");
        let to = |folder: &str, is_open: bool| Move::To {
            name: folder.into(),
            is_open: is_open || !is_sure,
            is_kept,
        };
        match operands(command)[..] {
            [] if is_in(name, "popd pop-location") && is_sure && command.words().len() == 1 => Move::Pop,
            [("-", _)] if is_sure => Move::Back,
            [] if is_in(name, "cd chdir") && command.words().len() == 1 => to("~", false),
            [(folder, is_open)] if !is_in(name, "popd pop-location") => {
                let is_turned = folder.starts_with('+') && folder[1..].bytes().all(|byte| byte.is_ascii_digit());
                to(folder, is_open || is_turned || folder.contains(['%', '$']))
            }
            _ => to(name, true),
        }
    }
}

/// What a line does to the folder of its shell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// In their order.
    pub list: Box<[Move]>,
    /// It does nothing else: so whoever wrote it takes the shell to stay there.
    pub is_all: bool,
    /// Nothing runs before the first of them.
    pub is_first: bool,
}

impl Moves {
    /// What a line does whose commands these are.
    pub(super) fn of(script: Script) -> Moves {
        if script.moves.is_empty() {
            return Moves::default();
        }
        let mut commands = script.commands.iter();
        Moves {
            is_first: commands.clone().next().is_some_and(Command::goes),
            is_all: commands.all(Command::goes),
            list: script.moves.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CommandLine;
    use super::*;

    fn shown(line: &str) -> String {
        let line = CommandLine::new(line);
        let moves = line.moves().list.iter().map(|one| match one {
            Move::To { name, is_open, is_kept } => {
                let (open, kept) = (if *is_open { "?" } else { "" }, if *is_kept { "+" } else { "" });
                format!("{kept}{name}{open}")
            }
            Move::Back => "-".to_owned(),
            Move::Pop => "pop".to_owned(),
        });
        let all = if line.moves().is_all { " all" } else { "" };
        format!("{}{all}", moves.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_line_moves_the_shell_as_its_commands_do() {
        for (line, moves) in [
            ("npm test", ""),
            ("cd /w/web", "/w/web all"),
            ("cd /w && cd '../a b'", "/w ../a b all"),
            ("cd web && npm test", "web"),
            ("cd web; npm test | tail -5", "web"),
            ("cd ..", ".. all"),
            ("cd -", "- all"),
            ("cd", "~ all"),
            ("pushd ../core", "+../core all"),
            ("pushd ../core && npm test && popd", "+../core pop"),
            ("popd", "pop all"),
            ("pushd +1", "++1? all"),
            ("pushd", "+pushd? all"),
            ("cd $DIR && npm test", "$DIR?"),
            ("ls || cd web", "web?"),
            ("if true; then cd web; fi", "web?"),
            ("Set-Location web; npm test", "web"),
        ] {
            assert_eq!(shown(line), moves, "{line}");
        }
    }

    #[test]
    fn what_goes_elsewhere_within_a_line_leaves_the_shell_where_it_is() {
        for line in [
            "(cd web && npm test)",
            "ls; (cd web && (cd src; ls) | cat)",
            "bash -c 'cd web && npm test'",
            "ssh host 'cd web && npm test'",
            "cd web && npm start &",
            "git ls-files | (cd web; cat)",
            "make -C web",
        ] {
            assert_eq!(shown(line), "", "{line}");
        }
        assert_eq!(shown("cd web; (cd src && ls); (npm start &)"), "web");
    }
}
