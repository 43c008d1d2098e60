//! Files of a workspace that other programs obey: their contents start programs, or give instructions, without further
//! questions.
//!
//! The criterion is that they take effect on their own: when a folder is entered or opened, a commit is made, a push
//! arrives, an agent or an interpreter starts, or any program of some kind is called. Files that run when someone
//! builds, tests or starts the project (`Makefile`, `package.json`, `build.rs`, `Dockerfile`) are the workspace's own
//! code: changing them is the work, and running them is a decision.

use crate::permission::need::Owner;
use crate::permission::pattern::fits;
use codelet_text::unseen;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The obeyed files and folders, by owner. Names are lowercase, separated by blanks, and match anywhere in the
/// workspace; `*` matches any text in a name. A folder includes everything in it.
const TABLE: &[(Owner, &str)] = &[
    (Owner::Git, ".git"),
    (Owner::Codelet, ".codelet"),
    (
        Owner::Obeyed("gives instructions to agents"),
        "agents.md agents.override.md agent.md claude.md claude.local.md gemini.md .agents .claude .codex .gemini .opencode .opencode.json .cursor \
         .cursorrules .windsurf .windsurfrules .clinerules .roo .roorules .kiro .junie .continue .goosehints .aider.conf.yml .rules \
         qwen.md .qwen warp.md crush.md .pi .openhands .continuerc.json .augment-guidelines .roomodes .kilocode .amazonq .augment .trae .agent .factory .amp .crush.json crush.json opencode.json \
         opencode.jsonc \
         .github/copilot-instructions.md .github/chatmodes .*/instructions .*/prompts .*/agents .*/skills .*/commands .*/rules .*/steering .*/hooks",
    ),
    (
        Owner::Obeyed("sets which programs agents start"),
        ".mcp.json mcp.json .claude.json .*/mcp_config.json .*/mcp-config.json .*/mcp_settings.json",
    ),
    (
        Owner::Obeyed("is applied by editors that open the directory"),
        ".vscode *.code-workspace .idea .run .zed .fleet .helix .vs .vim .exrc .nvimrc .nvim.lua .lazy.lua .vimrc .lvimrc .dir-locals.el \
         .dir-locals-2.el .devcontainer .devcontainer.json .gitpod.yml .theia *.sublime-project .idx .replit .devfile.yaml .codesandbox .stackblitzrc .nova",
    ),
    (
        Owner::Obeyed("is run by shells that enter the directory"),
        ".envrc .direnv .mise mise.toml mise.*.toml .mise.toml .mise.*.toml .config/mise .rtx.toml .autoenv .autoenv.zsh",
    ),
    (
        Owner::Obeyed("configures version control"),
        ".hg/hgrc .hg/hgrc-not-shared .sl/config .jj/repo/config.toml .jj/workspace-config.toml .lfsconfig",
    ),
    (
        Owner::Obeyed("is run by git's commands"),
        ".husky .githooks .git-hooks .hooks .gitconfig .overcommit.yml .pre-commit-config.yaml .pre-commit-config.yml \
         .pre-commit-hooks.yaml lefthook.yml lefthook.yaml lefthook-local.yml .lefthook.yml .lefthook.yaml lefthook.toml .lefthook.toml \
         .lefthook-local.yml .lefthook prek.toml captainhook.json .lintstagedrc \
         .lintstagedrc.*",
    ),
    (
        Owner::Obeyed("runs in CI"),
        ".github/workflows .github/actions .forgejo/workflows .forgejo/actions .gitea/workflows .gitea/actions .gitlab-ci.yml \
         .gitlab-ci.yaml .gitlab-ci .gitlab/ci .circleci .ci jenkinsfile jenkinsfile.* *.jenkinsfile .travis.yml .drone.yml .drone.yaml \
         .woodpecker .woodpecker.yml .woodpecker.yaml azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines .azuredevops \
         bitbucket-pipelines.yml appveyor.yml .appveyor.yml .buildkite .cirrus.yml .cirrus.star .semaphore .teamcity .tekton .builds \
         .build.yml buildspec*.yml cloudbuild*.yaml .readthedocs.yml .readthedocs.yaml wercker.yml .github/dependabot.yml .github/dependabot.yaml renovate.json renovate.json5 .renovaterc .renovaterc.json \
         codemagic.yaml bitrise.yml netlify.toml",
    ),
    (
        Owner::Obeyed("sets where tools get programs or which ones they start"),
        ".npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs pnpmfile.cjs pnpm-workspace.yaml bunfig.toml .cargo .bazelrc .bazeliskrc .mvn gradle/wrapper .bundle \
         .gemrc .condarc .pypirc pip.conf nuget.config .curlrc .wgetrc .netrc .bazelversion \
         uv.toml .config/dotnet-tools.json",
    ),
    (
        Owner::Obeyed("is run by interpreters and debuggers that start in the directory"),
        ".gdbinit .lldbinit .pdbrc .rprofile .renviron .ghci .irbrc .pryrc .iex.exs .octaverc",
    ),
];

/// The parsed table, cached: every command run compares a whole folder of names with it.
static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::default();
    for &(owner, listed) in TABLE {
        for name in listed.split_ascii_whitespace() {
            let place = names.owners.len();
            names.owners.push(owner);
            if name.contains(['/', '*']) {
                names.others.push((place, name.split('/').collect()));
            } else {
                names.plain.entry(name).or_insert(place);
            }
        }
    }
    names
});

/// The names of the table, by their places in it.
#[derive(Default)]
struct Names {
    owners: Vec<Owner>,
    /// Names of one piece without stars.
    plain: HashMap<&'static str, usize>,
    /// The pieces of all other names.
    others: Vec<(usize, Vec<&'static str>)>,
}

impl Names {
    /// The owner of the first name in the table that occurs in a path.
    fn first_in(&self, path: &[&str]) -> Option<Owner> {
        let plain = path.iter().filter_map(|piece| self.plain.get(piece).copied()).min();
        let is_in = |names: &[&str]| {
            path.windows(names.len()).any(|pieces| {
                let mut pairs = names.iter().zip(pieces);
                pairs.all(|(name, piece)| fits(name, piece))
            })
        };
        let other = self
            .others
            .iter()
            .find(|(_, names)| is_in(names))
            .map(|(place, _)| *place);
        let first = plain.into_iter().chain(other).min()?;
        self.owners.get(first).copied()
    }
}

/// Returns who obeys the file at this path, judged by its name alone. File systems differ in case folding, and some
/// ignore invisible characters.
pub fn obeys(path: &str) -> Option<Owner> {
    let plain = plain(path);
    let pieces: Vec<&str> = plain.split('/').filter(|piece| !matches!(*piece, "" | ".")).collect();
    NAMES.first_in(&pieces)
}

/// Normalises a path for comparison.
fn plain(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    // The characters that HFS+ ignores, besides invisible ones.
    let is_passed_over = |c: &char| {
        unseen::hides(*c)
            || matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
    };
    let seen = path.chars().filter(|c| !is_passed_over(c));
    // Some file systems also fold the long s.
    seen.flat_map(char::to_lowercase)
        .map(|c| if c == 'ſ' { 's' } else { c })
        .collect()
}

/// Programs that change the files in their arguments; those that write to the last of them; and those that do so only
/// with certain options.
const CHANGERS: &str = "tee sponge mv rm rmdir unlink shred truncate touch mkdir chmod chown dd patch ed ex";
const COPIERS: &str = "cp ln install rsync scp";
const EDITORS: &str = "sed gsed perl ruby awk gawk yq";
const INTERPRETERS: &str = "python python3 node nodejs deno bun perl ruby php";

/// Returns the first obeyed file that a command line plainly changes: a target of its output, or an argument of a
/// program that changes files. Scripts that it runs are not analysed. `folder` is the shell's directory, relative to
/// the session's.
pub(crate) fn changed_by(line: &str, folder: &str) -> Option<(String, Owner)> {
    let mut at = folder.to_owned();
    for command in commands(line) {
        let place = |word: &str| match word.starts_with('/') {
            true => word.to_owned(),
            false => format!("{at}/{word}"),
        };
        let of = |word: &str| {
            // `of=FILE`, `--target-directory=FILE`.
            let file = word.rsplit('=').next().unwrap_or(word);
            let owner = obeys(&place(file))?;
            Some((file.to_owned(), owner))
        };
        if let Some(found) = command.outputs.iter().find_map(|output| of(output)) {
            return Some(found);
        }
        let words = &command.words;
        let program = |names: &str| {
            let is_it = |word: &String| names.split(' ').any(|name| word.rsplit('/').next() == Some(name));
            words.iter().position(is_it)
        };
        let is_told = |letter: char, long: &str| {
            words.iter().any(|word| {
                let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
                word.starts_with(long) || letters.is_some_and(|letters| letters.contains(letter))
            })
        };
        let changer = program(CHANGERS).or_else(|| program(EDITORS).filter(|_| is_told('i', "--in-place")));
        let changer =
            changer.or_else(|| program(INTERPRETERS).filter(|_| is_told('c', "-c") || is_told('e', "--eval")));
        if let Some(found) = changer.and_then(|program| words[program + 1..].iter().find_map(|word| of(word))) {
            return Some(found);
        }
        if let Some(program) = program(COPIERS) {
            let has_target = words
                .iter()
                .any(|word| word.starts_with("-t") || word.starts_with("--target"));
            let from = if has_target { program + 1 } else { words.len() - 1 };
            if let Some(found) = words[from..].iter().find_map(|word| of(word)) {
                return Some(found);
            }
        }
        if let [go, folder, ..] = words.as_slice()
            && matches!(go.as_str(), "cd" | "pushd")
        {
            at = place(folder);
        }
    }
    None
}

#[derive(Default)]
struct Command {
    words: Vec<String>,
    /// The files that output goes to.
    outputs: Vec<String>,
}

/// Returns the commands of a line and of quoted text in it, as far as their words can be found without a shell: quotes
/// and backslashes are dropped, so that nothing hides in them.
fn commands(line: &str) -> Vec<Command> {
    let mut commands = vec![Command::default()];
    let (mut word, mut is_output) = (String::new(), false);
    let mut chars = line.chars().chain(Some(';')).peekable();
    while let Some(c) = chars.next() {
        let ends = c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '<' | '>' | '`' | ',');
        if !ends {
            if !matches!(c, '\'' | '"' | '\\') {
                word.push(c);
            }
            continue;
        }
        if let (Some(command), false) = (commands.last_mut(), word.is_empty()) {
            let list = if is_output {
                &mut command.outputs
            } else {
                &mut command.words
            };
            list.push(std::mem::take(&mut word));
            is_output = false;
        }
        match c {
            '>' => {
                while chars.next_if(|c| matches!(c, '>' | '|' | '&')).is_some() {}
                is_output = true;
            }
            // `&>` does not end a command.
            '&' if chars.peek() == Some(&'>') => {}
            ';' | '&' | '|' | '\n' | '`' => commands.push(Command::default()),
            _ => {}
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_written_as_names_are_compared() {
        for (_, names) in TABLE {
            assert_eq!(*names, names.to_lowercase());
        }
    }

    #[test]
    fn what_somebody_obeys_is_known_by_its_name_wherever_it_stands() {
        for path in [
            "AGENTS.md",
            "AGENTſ.md",
            ".opencode.json",
            "agents.MD",
            "docs/deep/Claude.md",
            "CLAUDE.local.md",
            ".claude/settings.json",
            ".agents/skills/a/SKILL.md",
            ".CODELET/settings.toml",
            ".codelet",
            ".git/hooks/pre-commit",
            ".vscode/tasks.json",
            ".pi/extensions/a.ts",
            ".vim/coc-settings.json",
            ".github/hooks/a.json",
            "web/.vscode/launch.json",
            "a.code-workspace",
            ".idea/runConfigurations/a.xml",
            ".envrc",
            "sub/.envrc",
            ".mise.toml",
            "mise.local.toml",
            ".husky/pre-commit",
            ".githooks/pre-push",
            ".pre-commit-config.yaml",
            ".github/workflows/new.yml",
            ".gitlab-ci.yml",
            "x/.circleci/config.yml",
            ".newagent/skills/a/SKILL.md",
            ".newagent/rules/a.md",
            ".amp/settings.json",
            ".github/agents/a.md",
            "Jenkinsfile",
            "Jenkinsfile.release",
            "azure-pipelines-nightly.yml",
            ".npmrc",
            ".cargo/config.toml",
            ".devcontainer/devcontainer.json",
            ".bazelrc",
            ".mcp.json",
            ".Rprofile",
            ".a\u{200b}gents/x",
            "CLAUDE\u{ad}.md",
            ".git\u{200c}/config",
        ] {
            assert!(obeys(path).is_some(), "{path}");
        }
    }

    #[test]
    fn the_workspaces_own_code_is_the_work() {
        for path in [
            "Makefile", "package.json", "build.rs", "Cargo.toml", "Dockerfile", "docker-compose.yml", "justfile",
            "src/main.rs", "README.md", "docs/agents.md.txt", "src/hooks/use.ts", "src/rules/a.md", "./commands/a.rs",
            ".gitignore", ".gitattributes", ".github/CODEOWNERS", ".env", ".editorconfig", "rust-toolchain.toml",
            ".tool-versions", "src/claude/mod.rs", "git/a", "ci/build.sh", "src/agents/a.py", "workflows/a.yml",
            "tests/ci.rs", "", ".",
        ] {
            assert_eq!(obeys(path), None, "{path}");
        }
    }

    #[test]
    fn a_command_that_plainly_changes_such_a_file_is_known() {
        for line in [
            "echo 'window = 1000' >> .codelet/settings.toml",
            "echo x >.envrc",
            "echo x>|AGENTS.md",
            "echo x &> ./AGENTS.md",
            "cat a > '.github/workflows/ci.yml'",
            "cat a > .git\\hub/work\"flows\"/ci.yml",
            "cargo test 2> CLAUDE.md",
            "cat <<E > AGENTS.md\nx\nE",
            "echo x | tee -a .npmrc",
            "cp evil .git/hooks/pre-commit",
            "cp -t .husky evil",
            "cd .github && cp a workflows/ci.yml",
            "cd .github/workflows; echo x > ci.yml",
            "mv a .vscode/tasks.json",
            "mv AGENTS.md b",
            "ln -sf x .envrc",
            "sed -i s/a/b/ AGENTS.md",
            "sed -Ei.bak s/a/b/ AGENTS.md",
            "perl -pi -e s/a/b/ AGENTS.md",
            "dd if=a of=.envrc",
            "rm -rf .github/workflows",
            "touch sub/.envrc",
            "bash -c 'echo x > .envrc'",
            "sh -c \"cp a .envrc\"",
            "env A=1 tee AGENTS.md",
            "(echo x) >> agents.md",
            "true || { echo x > AGENTS.md; }",
            "python3 -c \"open('.codelet/settings.toml', 'a').write('x')\"",
        ] {
            assert!(changed_by(line, "").is_some(), "{line}");
        }
        for line in [
            "cat AGENTS.md",
            "cat < AGENTS.md > a",
            "grep -rn x .github/workflows > found",
            "git add .github AGENTS.md && git commit -m 'x > y'",
            "cp AGENTS.md docs/a.md",
            "sed -n 1,5p AGENTS.md",
            "ls .claude 2>/dev/null",
            "diff AGENTS.md CLAUDE.md 2>&1",
            "python3 tools/lint.py .github/workflows/ci.yml",
            "rm -rf target && cat .envrc",
            "",
        ] {
            assert_eq!(changed_by(line, ""), None, "{line}");
        }
    }

    #[test]
    fn names_are_those_of_the_folder_where_the_shell_stands() {
        for (folder, line) in [
            (".git/hooks", "tee pre-commit"),
            (".codelet", "cp ../x settings.toml"),
            (".github/workflows", "rm ci.yml"),
            ("/home/me/.git", "cd hooks && tee pre-commit"),
        ] {
            assert!(changed_by(line, folder).is_some(), "{folder}: {line}");
            assert_eq!(changed_by(line, "src"), None, "{line}");
        }
    }
}
