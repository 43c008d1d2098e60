//! Prompts as commands of a session: those that servers offer, `/server:prompt` with arguments by position or by name,
//! and those in [files](crate::prompts::commands).

pub mod commands;

use crate::environment::definitions::Author;
use crate::interrupt::Interrupt;
use crate::permission::narrowed::Narrowed;
use crate::session::prompt::Prompt;
use codelet_context::message::Image;
use codelet_text::near;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Separates the server's name from the prompt's. No built-in command contains it.
const PARTS: char = ':';

/// The longest arguments that the first line of a prompt repeats, in bytes.
const REPEATED: usize = 200;

/// A prompt on offer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PromptSpec {
    /// The command, without the slash: `server:prompt`, or a plain name.
    pub command: String,
    /// Its purpose, on one line; empty if the server does not say.
    pub description: String,
    /// Its arguments, in positional order.
    pub arguments: Vec<PromptArgument>,
    /// The author of its file, which takes the rest of the command line verbatim; `None` if a server offers it.
    pub author: Option<Author>,
    /// A hint at the arguments of a file's command; empty if it gives none.
    pub hint: String,
}

/// An argument of a prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromptArgument {
    /// The argument's name.
    pub name: String,
    /// Its purpose, on one line; empty if the server does not say.
    pub description: String,
    /// True if the argument is required.
    pub is_required: bool,
}

/// A prompt filled in with its arguments, bounded and without invisible characters.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PromptText {
    /// The text.
    pub text: String,
    /// The images in it.
    pub images: Vec<Image>,
    /// The names of image files to attach, as mentions.
    pub mentions: String,
    /// The tools that it lists.
    pub narrowed: Option<Narrowed>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// The values of a prompt's arguments, by name.
pub type Values = BTreeMap<String, String>;

/// A source of prompts that may change while a session lives.
pub trait PromptSource: Send + Sync {
    /// Returns the prompts as last read.
    fn prompts(&self) -> Vec<PromptSpec>;

    /// Reads the prompts again if they may have changed, and returns notices for the user. Fast if nothing changed; it
    /// can be cancelled safely.
    fn refresh_prompts(&self) -> BoxFuture<'_, Vec<String>>;

    /// Requests a prompt by its command.
    ///
    /// # Errors
    /// Says in a sentence for the user why it is unavailable.
    fn prompt<'a>(
        &'a self,
        command: &'a str,
        values: &'a Values,
        interrupt: &'a Interrupt,
    ) -> BoxFuture<'a, Result<PromptText, String>>;
}

/// Several sources of prompts. If two offer the same command, the first wins.
pub struct Several(pub Vec<Arc<dyn PromptSource>>);

impl PromptSource for Several {
    fn prompts(&self) -> Vec<PromptSpec> {
        self.0.iter().flat_map(|source| source.prompts()).collect()
    }

    fn refresh_prompts(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            let mut told = Vec::new();
            for source in &self.0 {
                told.extend(source.refresh_prompts().await);
            }
            told
        })
    }

    fn prompt<'a>(
        &'a self,
        command: &'a str,
        values: &'a Values,
        interrupt: &'a Interrupt,
    ) -> BoxFuture<'a, Result<PromptText, String>> {
        let has_it = |source: &&Arc<dyn PromptSource>| source.prompts().iter().any(|spec| spec.command == command);
        match self.0.iter().find(has_it) {
            Some(source) => source.prompt(command, values, interrupt),
            None => Box::pin(std::future::ready(Err("There is no such prompt.".to_owned()))),
        }
    }
}

/// The name under which the text after a file's command is passed.
pub(crate) const WORDS: &str = "ARGUMENTS";

/// Returns a file's command and the text after it, if `text` begins with one of these commands.
pub fn command_of_file<'a>(text: &'a str, specs: &[PromptSpec]) -> Option<(&'a str, &'a str)> {
    let rest = text.trim().strip_prefix('/')?;
    let (word, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_it = |spec: &PromptSpec| spec.author.is_some() && spec.command.eq_ignore_ascii_case(word);
    specs.iter().any(is_it).then_some((word, words.trim()))
}

/// Returns the command and the text after it, if `text` has the form `/server:prompt words`.
pub fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let (word, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (server, prompt) = word.split_once(PARTS)?;
    let is_name = server.starts_with(|c: char| c.is_ascii_alphabetic())
        && server
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let is_one = is_name && !prompt.is_empty() && !prompt.contains(['/', PARTS]);
    is_one.then_some((word, words.trim()))
}

/// The start of a fetched prompt, before the command as it was typed.
const RAN: &str = "[The user ran ";

/// Returns the command of a prompt that was fetched for one, as it was typed.
pub fn typed(prompt: &str) -> Option<&str> {
    let (head, _) = prompt.strip_prefix(RAN)?.split_once("]\n\n")?;
    let writers = [
        ". The MCP server ",
        ". The project's authors wrote ",
        ". What follows is ",
    ];
    let end = writers.iter().find_map(|writer| head.rfind(writer))?;
    Some(&head[..end])
}

/// Returns the server's name in a command.
pub fn server_of(command: &str) -> &str {
    command.split(PARTS).next().unwrap_or_default()
}

/// Returns the usage of a prompt, with placeholders for its arguments: `/server:prompt FILE [STYLE]`.
pub fn usage(spec: &PromptSpec) -> String {
    let mut written = format!("/{}", spec.command);
    for argument in &spec.arguments {
        let name = argument.name.to_uppercase();
        written.push_str(&match argument.is_required {
            true => format!(" {name}"),
            false => format!(" [{name}]"),
        });
    }
    if !spec.hint.is_empty() {
        written.push_str(&format!(" {}", spec.hint));
    }
    written
}

/// The prompt that a user's command expands to.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetched {
    /// The prompt to send.
    pub prompt: Prompt,
    /// The names of image files to attach, as mentions.
    pub mentions: String,
    /// Further notices for the user.
    pub notices: Vec<String>,
}

impl Fetched {
    /// Returns a preview of everything to be sent: the full text, and each image by its type and its size in bytes.
    pub fn shown(&self) -> String {
        let mut shown = self.prompt.text.clone();
        for image in &self.prompt.images {
            let kind = match image.media_type.trim() {
                "" => "unknown type",
                kind => kind,
            };
            // Four base64 characters encode three bytes; padding does not count.
            let size = image.data.as_str().trim_end_matches('=').len() * 3 / 4;
            shown.push_str(&match image.is_url {
                true => format!("\n[picture: {kind}, at {}]", image.data.as_str()),
                false => format!("\n[picture: {kind}, {size} bytes]"),
            });
        }
        shown
    }
}

/// Fetches the prompt of a command. Its first line says who wrote the rest.
///
/// # Errors
/// Says in sentences for the user why it is unavailable: no such prompt, a missing argument, a server that refuses.
pub async fn fetch(
    source: &dyn PromptSource,
    command: &str,
    words: &str,
    interrupt: &Interrupt,
) -> Result<Fetched, String> {
    let interrupted = || "Interrupted; nothing was sent.".to_owned();
    let mut notices = tokio::select! {
        biased;
        () = interrupt.thrown() => return Err(interrupted()),
        notices = source.refresh_prompts() => notices,
    };
    let spec = find(&source.prompts(), command)?;
    let values = match spec.author {
        None => values(&spec, words)?,
        Some(_) => Values::from([(WORDS.to_owned(), words.to_owned())]),
    };
    let asked = source.prompt(&spec.command, &values, interrupt).await?;
    let PromptText {
        text,
        images,
        mentions,
        narrowed,
        notices: more,
    } = asked;
    notices.extend(more);
    if text.trim().is_empty() && images.is_empty() {
        return Err(format!("The prompt of /{} is empty. Nothing was sent.", spec.command));
    }
    let writer = match spec.author {
        None => format!("The MCP server {} wrote what follows.", server_of(&spec.command)),
        Some(Author::Project) => "The project's authors wrote what follows, not the user.".to_owned(),
        Some(Author::User) => "What follows is the user's own text for it.".to_owned(),
    };
    // Pasted text is not repeated: the command alone identifies it.
    let is_short = words.len() <= REPEATED && !words.contains('\n');
    let typed = format!("/{} {}", spec.command, if is_short { words } else { "…" });
    let head = format!("{RAN}{}. {writer}]", typed.trim_end());
    Ok(Fetched {
        prompt: Prompt {
            text: format!("{head}\n\n{}", text.trim_end()),
            images,
            narrowed,
            ..Prompt::default()
        },
        mentions,
        notices,
    })
}

/// Finds the prompt with this command, ignoring case, and accepting the server's own name for it.
fn find(specs: &[PromptSpec], command: &str) -> Result<PromptSpec, String> {
    let wanted = plain(command);
    let exact = specs.iter().find(|spec| spec.command == command);
    let mut alike = specs
        .iter()
        .filter(|spec| spec.command.eq_ignore_ascii_case(command) || spec.command.eq_ignore_ascii_case(&wanted));
    if let Some(found) = exact.or_else(|| alike.next().filter(|_| alike.next().is_none())) {
        return Ok(found.clone());
    }
    let shown: String = command.chars().take(60).collect();
    let server = server_of(command);
    let known = specs.iter().map(|spec| spec.command.as_str());
    let has_server = known.clone().any(|known| server_of(known).eq_ignore_ascii_case(server));
    let meant = near::nearest(command, known.clone());
    let hint = match (meant, has_server) {
        (Some(meant), _) => format!("did you mean /{meant}?"),
        (None, true) => format!("/help lists the prompts of {server}"),
        (None, false) => format!("no MCP server named {server} offers prompts here"),
    };
    Err(format!("Unknown command /{shown}; {hint}"))
}

/// Returns a name as it appears in a command: letters, digits, `-` and `_`; anything else becomes `_`.
pub fn plain(name: &str) -> String {
    let each = name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | PARTS) => c,
        _ => '_',
    });
    each.collect()
}

/// One word after a command, without its quotes.
struct Argument {
    /// The name in front of `=`, if no part of it is quoted.
    name: Option<String>,
    /// The value, or the whole word if there is no name.
    value: String,
    /// The whole word as a value.
    whole: String,
}

/// Parses the values of a prompt's arguments: by position, or by name as `name=value`; quotes group words. Surplus
/// words go to the last argument.
///
/// # Errors
/// Says in a sentence, with the usage, what is missing or too much.
pub fn values(spec: &PromptSpec, words: &str) -> Result<Values, String> {
    let told = |what: String| Err(format!("{what} Usage: {}. Nothing was sent.", usage(spec)));
    let mut values = Values::new();
    let mut by_position = Vec::new();
    for word in parted(words) {
        let named = word.name.as_ref();
        let known = named.and_then(|name| spec.arguments.iter().find(|argument| argument.name == *name));
        match known {
            Some(argument) if values.contains_key(&argument.name) => {
                return told(format!("/{} is given {} twice.", spec.command, argument.name));
            }
            Some(argument) => {
                values.insert(argument.name.clone(), word.value);
            }
            None => by_position.push(word),
        }
    }
    let free: Vec<&PromptArgument> = spec
        .arguments
        .iter()
        .filter(|argument| !values.contains_key(&argument.name))
        .collect();
    let Some(last) = free.len().checked_sub(1) else {
        return match by_position.is_empty() {
            true => Ok(values),
            false if spec.arguments.is_empty() => told(format!("/{} takes no arguments.", spec.command)),
            false => told(format!("/{} is given too many arguments.", spec.command)),
        };
    };
    for (at, argument) in free.iter().enumerate() {
        let end = if at == last { by_position.len() } else { at + 1 };
        let given = by_position.get(at..end).unwrap_or_default();
        if !given.is_empty() {
            let given: Vec<&str> = given.iter().map(|word| word.whole.as_str()).collect();
            values.insert(argument.name.clone(), given.join(" "));
        }
    }
    let missing = spec
        .arguments
        .iter()
        .find(|argument| argument.is_required && !values.contains_key(&argument.name));
    match missing {
        None => Ok(values),
        Some(argument) if argument.description.is_empty() => {
            told(format!("/{} needs {}.", spec.command, argument.name))
        }
        Some(argument) => told(format!(
            "/{} needs {} ({}).",
            spec.command,
            argument.name,
            argument.description.trim_end_matches('.')
        )),
    }
}

/// Splits the text after a command at whitespace, removing the quotes that group words.
pub(crate) fn split(words: &str) -> Vec<String> {
    parted(words).into_iter().map(|word| word.whole).collect()
}

/// Splits a text into words at whitespace. A quote counts only at the start of a word or a value and only if it is
/// closed, so an apostrophe does not.
fn parted(words: &str) -> Vec<Argument> {
    let mut found = Vec::new();
    let mut rest = words;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return found;
        }
        let name = rest
            .find(|c: char| c == '=' || c.is_whitespace() || matches!(c, '"' | '\''))
            .filter(|&end| end > 0 && rest[end..].starts_with('='))
            .map(|end| &rest[..end]);
        let behind = name.map_or(rest, |name| &rest[name.len() + 1..]);
        let (value, end) = value(behind);
        let whole = match name {
            Some(name) => format!("{name}={value}"),
            None => value.clone(),
        };
        rest = &behind[end..];
        found.push(Argument {
            name: name.map(str::to_owned),
            value,
            whole,
        });
    }
}

/// Returns the value at the start of a text, and its end.
fn value(text: &str) -> (String, usize) {
    let quoted = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))
        .and_then(|quote| quoted(text, quote));
    quoted.unwrap_or_else(|| {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        (text[..end].to_owned(), end)
    })
}

/// Returns the quoted text, if the quote is closed in front of whitespace or the end. In double quotes, a backslash
/// escapes a quote or another backslash.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' if quote == '"' && letters.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                value.extend(letters.next().map(|(_, next)| next));
            }
            c if c == quote => {
                let end = at + c.len_utf8();
                let is_end = text[end..].chars().next().is_none_or(char::is_whitespace);
                return is_end.then_some((value, end));
            }
            c => value.push(c),
        }
    }
    None
}
