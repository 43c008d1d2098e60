//! `Grep`: searches files that are not ignored for matching lines.

use crate::arguments;
use crate::files;
use crate::run_blocking::{INTERRUPTED, Watched};
use crate::text::{CUT, GAP};
use crate::tool_context::{ToolContext, judged, spec};
use crate::walk::{self, Pattern, Unread, Walked};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::short::counted;
use futures_util::future::BoxFuture;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest size of a compiled pattern, in bytes.
const COMPILED: usize = 10 * 1024 * 1024;
/// Lines, or files, shown by default.
const LIMIT: u64 = 200;
/// Bytes of output at most.
const BYTES: usize = 48 * 1024;
/// Bytes shown of a line, around the match.
const LINE: usize = 300;
/// Context lines at most.
const CONTEXT: u64 = 50;
/// Longest line that is searched, in bytes.
const HEAP: usize = 16 * 1024 * 1024;
/// Bytes of a file that are searched.
const SEARCHED: u64 = 1 << 30;

/// The tool.
pub(crate) struct Grep {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Grep {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "file or folder"},
                "glob": {"type": "string", "description": "only files like this: *.rs"},
                "output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"], "description": "content if not given"},
                "context": {"type": "integer", "description": "lines around each match"},
                "ignore_case": {"type": "boolean"},
                "limit": {"type": "integer", "description": "lines or files shown; 200 if not given"},
            },
            "required": ["pattern"],
        });
        Grep {
            spec: spec("Grep", include_str!("grep.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Content,
    Files,
    Count,
}

/// The search that a call asks for.
struct GrepRequest {
    matcher: RegexMatcher,
    searcher: Searcher,
    glob: Option<Pattern>,
    mode: Mode,
    limit: u64,
}

impl GrepRequest {
    /// Parses the parameters of a call for a search below `root`.
    ///
    /// # Errors
    /// Says which parameter is wrong.
    fn of(parameters: &Parameters, root: &Path) -> Result<GrepRequest, String> {
        let pattern = arguments::text(parameters, "pattern")?;
        if pattern.is_empty() {
            return Err("`pattern` is empty".to_owned());
        }
        let mode = match arguments::optional_text(parameters, "output_mode")? {
            None | Some("content") => Mode::Content,
            Some("files_with_matches" | "files") => Mode::Files,
            Some("count") => Mode::Count,
            Some(_) => return Err("`output_mode` is content, files_with_matches or count".to_owned()),
        };
        let context = arguments::number(parameters, "context")?.unwrap_or(0).min(CONTEXT) as usize;
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .crlf(true)
            .case_insensitive(arguments::flag(parameters, "ignore_case")?)
            // Compiling a pattern cannot be interrupted.
            .size_limit(COMPILED);
        // A pattern with a line break may match across lines.
        let is_across = pattern.contains("\\n") || pattern.contains('\n');
        if is_across {
            builder.crlf(false);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        let matcher = builder.build(pattern).map_err(|error| {
            let why = regex_objection(pattern).unwrap_or_else(|| error.to_string());
            format!("`pattern` is not a valid regular expression: {why}")
        })?;
        let searcher = SearcherBuilder::new()
            .line_number(mode == Mode::Content)
            .before_context(context)
            .after_context(context)
            .multi_line(is_across)
            .heap_limit(Some(HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let glob = arguments::optional_text(parameters, "glob")?
            .map(|glob| Pattern::filter(glob, root))
            .transpose();
        Ok(GrepRequest {
            matcher,
            searcher,
            glob: glob.map_err(|error| format!("`glob` is not a valid pattern: {error}"))?,
            mode,
            limit: arguments::number(parameters, "limit")?
                .filter(|&limit| limit > 0)
                .unwrap_or(LIMIT),
        })
    }
}

/// Returns what is wrong in a regular expression, and where, in one line.
fn regex_objection(pattern: &str) -> Option<String> {
    let (kind, at) = match regex_syntax::parse(pattern).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
        _ => return None,
    };
    let (before, rest) = pattern.split_at_checked(at)?;
    let place = match rest.chars().next() {
        None => "at its end".to_owned(),
        Some(_) => {
            let character = before.chars().count() + 1;
            format!(
                "at character {character}, {:?}",
                rest.chars().take(20).collect::<String>()
            )
        }
    };
    Some(format!("{kind}, {place}"))
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        arguments::search(parameters)
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let name = arguments::place(parameters)?;
        GrepRequest::of(parameters, &self.context.paths.resolve(name)?.path)?;
        self.context.to_look_at(name)
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let pattern = parameters.str("pattern").unwrap_or_default();
        let glob = parameters.str("glob").filter(|glob| !glob.is_empty());
        match (arguments::place(parameters), glob) {
            (Ok("."), None) | (Err(_), _) => pattern.to_owned(),
            (Ok("."), Some(glob)) => format!("{pattern} in {glob}"),
            (Ok(path), None) => format!("{pattern} in {path}"),
            (Ok(path), Some(glob)) => format!("{pattern} in {path} ({glob})"),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let name = arguments::place(call.parameters)?;
            let path = judged(call.permitted)?;
            Ok((GrepRequest::of(call.parameters, &path)?, name.to_owned(), path))
        };
        let work = |context: &ToolContext, (asked, name, path): (_, String, PathBuf), interrupt: &Interrupt| match path
            .symlink_metadata()
        {
            Ok(_) => search(context, &name, &path, asked, interrupt),
            Err(error) if walk::is_absence(&error) => context.fail(&name, &path, "there is no such file or folder"),
            Err(error) => context.fail(&name, &path, &files::reason(&error)),
        };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

fn search(context: &ToolContext, name: &str, root: &Path, mut asked: GrepRequest, interrupt: &Interrupt) -> Output {
    let mut found = Found {
        out: String::new(),
        shown: 0,
        limit: asked.limit,
        is_full: false,
        has_bytes: false,
    };
    let (mut searched, mut binary, mut matched, mut troubled) = (0usize, 0usize, 0usize, 0usize);
    let (mut unread, mut objection) = (Unread::default(), None);
    if root.is_file() {
        // A file that the call names is searched to the end.
        asked.searcher.set_binary_detection(BinaryDetection::none());
    }
    let walked = walk::files(root, interrupt, &mut unread, |path, unread| {
        if asked.glob.as_ref().is_some_and(|glob| !glob.matches(root, path)) {
            return true;
        }
        // A search in a home does not include the keys in its dot files.
        if context.owned.is_of_home(path) && !context.owned.is_of_home(root) {
            unread.file(path);
            return true;
        }
        let file = match files::open(path) {
            Ok((file, _)) => file,
            Err(why) => {
                if path == root {
                    objection = Some(why);
                } else if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                    // A file deleted meanwhile is not reported.
                    unread.file(path);
                }
                return true;
            }
        };
        let name = &context.paths.show(path);
        let mut sink = InFile {
            found: &mut found,
            matcher: &asked.matcher,
            name,
            mode: asked.mode,
            matches: 0,
            is_binary: false,
        };
        let source = Watched::new(&file, interrupt, SEARCHED);
        troubled += usize::from(asked.searcher.search_reader(&asked.matcher, source, &mut sink).is_err());
        matched += usize::from(sink.matches > 0);
        match sink.is_binary {
            true => binary += 1,
            false => searched += 1,
        }
        sink.finish();
        !found.is_full
    });
    if interrupt.is_thrown() {
        return Output::failure(INTERRUPTED);
    }
    if let Some(why) = objection.as_deref().or(unread.objection()) {
        return context.fail(name, root, why);
    }
    let mut text = found.out;
    if searched + binary == 0 && asked.glob.is_some() {
        text.push_str("[nothing was searched: `glob` leaves no file]\n");
    } else if matched == 0 {
        let unsearched = match binary {
            0 => String::new(),
            1 => "; 1 binary file was not searched to the end, as a file that `path` names is".to_owned(),
            _ => format!(
                "; {} were not searched to the end, as a file that `path` names is",
                counted(binary, "binary file")
            ),
        };
        text.push_str(&format!("[no match in {}{unsearched}]\n", counted(searched, "file")));
    }
    if found.has_bytes {
        text.push_str("[bytes that are not text are shown as �]\n");
    }
    if found.is_full {
        let what = if asked.mode == Mode::Content { "line" } else { "file" };
        let shown = counted(found.shown as usize, what);
        text.push_str(&format!(
            "[stopped after {shown}; there may be more: narrow the search, or raise the limit]\n"
        ));
    }
    if walked == Walked::Cut {
        text.push_str(&format!("[only {} were looked at]\n", counted(walk::ENTRIES, "file")));
    }
    if troubled > 0 {
        text.push_str(&format!(
            "[{} could not be searched to the end]\n",
            counted(troubled, "file")
        ));
    }
    text.push_str(&unread.note(|path| context.paths.show(path)));
    Output::success(text)
}

/// The results so far.
struct Found {
    out: String,
    shown: u64,
    limit: u64,
    is_full: bool,
    /// True if a line contains valid bytes that are shown as `�`, such as NUL.
    has_bytes: bool,
}

impl Found {
    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
        self.shown += 1;
    }

    /// Returns whether another line may be shown.
    fn has_room(&mut self) -> bool {
        self.is_full |= self.shown >= self.limit || self.out.len() >= BYTES;
        !self.is_full
    }
}

struct InFile<'a> {
    found: &'a mut Found,
    matcher: &'a RegexMatcher,
    name: &'a str,
    mode: Mode,
    matches: u64,
    /// True if a NUL ended the search.
    is_binary: bool,
}

impl InFile<'_> {
    fn finish(self) {
        if self.matches == 0 || self.mode == Mode::Content {
            return;
        }
        if self.found.has_room() {
            match self.mode {
                Mode::Count => self.found.push(&format!("{}:{}", self.name, self.matches)),
                _ => self.found.push(self.name),
            }
        }
    }

    fn line(&mut self, number: Option<u64>, bytes: &[u8], sign: char) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let number = number.unwrap_or_default();
        let mut text = excerpt(self.matcher, bytes);
        if bytes.contains(&0) {
            self.found.has_bytes = true;
            text = text.replace(|c: char| c.is_control() && c != '\t', "�");
        }
        self.found.push(&format!("{}{sign}{number}{sign}{text}", self.name));
    }
}

/// A line; for a long one, the part around its first match.
pub(crate) fn excerpt(matcher: &RegexMatcher, bytes: &[u8]) -> String {
    if bytes.len() <= LINE {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let at = match matcher.find(bytes) {
        Ok(Some(found)) => found.start(),
        _ => 0,
    };
    let from = at.saturating_sub(LINE / 3).min(bytes.len() - LINE);
    let part = String::from_utf8_lossy(&bytes[from..from + LINE]);
    let size = codelet_text::short::grouped(bytes.len());
    let head = if from > 0 { GAP } else { "" };
    format!("{head}{}{CUT}{size} bytes]", part.trim_matches('\u{fffd}'))
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        match self.mode {
            Mode::Files => return Ok(false),
            Mode::Count => return Ok(true),
            Mode::Content => {}
        }
        for (line, number) in found.lines().zip(found.line_number().unwrap_or(1)..) {
            if !self.found.has_room() {
                return Ok(false);
            }
            self.line(Some(number), line, ':');
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.mode == Mode::Content {
            if !self.found.has_room() {
                return Ok(false);
            }
            self.line(context.line_number(), context.bytes(), '-');
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.mode == Mode::Content {
            self.found.out.push_str("--\n");
        }
        Ok(true)
    }
}
