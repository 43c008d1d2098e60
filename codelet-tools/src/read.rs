//! `Read`: part of a text file with line numbers, the cells of a notebook, pages of a PDF, or an image.

use crate::arguments;
use crate::files::{self, LARGEST, Stamp};
use crate::notebook::Notebook;
use crate::pdf::{self, Pages};
use crate::pictures;
use crate::run_blocking::Watched;
use crate::secrets::Secrets;
use crate::seen::Look;
use crate::text::{self, CUT, Encoding};
use crate::tool_context::{ToolContext, judged, spec};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::picture;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Parameters};
use codelet_text::short::{counted, grouped};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lines shown by default.
const LINES: u64 = 2_000;
/// Bytes shown at most, including line numbers.
const BYTES: usize = 48 * 1024;
/// Bytes of a line that are shown.
const LINE: usize = 2_000;
/// Bytes of a large file that are scanned for the requested lines: about a second.
const SCANNED: u64 = 1 << 30;

/// The tool.
pub(crate) struct Read {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Read {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "offset": {"type": "integer", "description": "first line or page, from 1"},
                "limit": {"type": "integer", "description": "number of lines or pages"},
            },
            "required": ["file_path"],
        });
        Read {
            spec: spec("Read", include_str!("read.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        Action::on(ActionKind::Read, arguments::file(parameters).ok())
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        arguments::number(parameters, "offset")?;
        arguments::number(parameters, "limit")?;
        self.context.to_look_at(arguments::file(parameters)?)
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let file = arguments::file(parameters).unwrap_or_default();
        match arguments::number(parameters, "offset") {
            Ok(Some(offset)) if offset > 1 => format!("{file} from line {offset}"),
            _ => file.to_owned(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let name = arguments::file(call.parameters)?;
            let from = arguments::number(call.parameters, "offset")?.unwrap_or(1).max(1);
            let limit = arguments::number(call.parameters, "limit")?.unwrap_or(LINES).max(1);
            Ok((name.to_owned(), judged(call.permitted)?, (from, limit)))
        };
        let work = |context: &ToolContext, (name, path, part): (String, PathBuf, _), interrupt: &Interrupt| {
            read(context, &path, part, interrupt).unwrap_or_else(|why| context.fail(&name, &path, &why))
        };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

fn read(context: &ToolContext, path: &Path, part: (u64, u64), interrupt: &Interrupt) -> Result<Output, String> {
    let (mut file, metadata) = files::open(path).map_err(|why| {
        if why == "this is a folder" {
            "this is a folder; LS lists it".to_owned()
        } else {
            why
        }
    })?;
    // With room for one more, which tells that this is all.
    let mut bytes = Vec::with_capacity(metadata.len().min(LARGEST) as usize + 1);
    Watched::new(&mut file, interrupt, u64::MAX)
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| files::reason(&error))?;
    let is_whole = bytes.len() as u64 <= LARGEST;
    let size = metadata.len().max(bytes.len() as u64);
    if let Some(media_type) = picture::media_type(&bytes) {
        return picture(context, &bytes, size, media_type);
    }
    if bytes.starts_with(b"%PDF-") {
        let what = format!("this is a PDF of {}", counted(size as usize, "byte"));
        let text = pdf(context, file, size, part, interrupt);
        return text.map(Output::success).map_err(|why| format!("{what}, and {why}"));
    }
    if let Some(kind) = text::binary_kind(&bytes) {
        return Err(format!(
            "this is {kind} of {}, not a text. A program run by Bash may make a text of it",
            counted(size as usize, "byte")
        ));
    }
    let look = match is_whole {
        true => Look::at(&bytes),
        false => Look::Outside(Stamp::of(&metadata)),
    };
    let secrets = &context.secrets();
    let is_notebook = path.extension().is_some_and(|extension| extension == "ipynb");
    let notebook = (is_notebook && is_whole).then(|| Notebook::of(&bytes)).flatten();
    let page = if let Some(Notebook { text, what }) = notebook {
        let mut page = Page::of(part);
        page.fill(&mut text.as_bytes(), secrets);
        page.total = Some(text::count_lines(text.as_bytes()) as u64);
        page.remark = Some(format!(
            "{what}; lines are counted as they are shown here, and Edit and Write change its JSON, which `cat` in Bash shows"
        ));
        page
    } else if is_whole {
        let decoded = text::decode(&bytes);
        let mut page = Page::of(part);
        page.fill(&mut decoded.text.as_bytes(), secrets);
        page.total = Some(text::count_lines(decoded.text.as_bytes()) as u64);
        page.encoding = decoded.encoding;
        page.is_lossy |= decoded.is_lossy;
        page
    } else {
        large(file, &bytes, part, secrets, interrupt)?
    };
    let shown = page.show(size)?;
    context.seen.note(path, look);
    Ok(Output::success(shown))
}

fn picture(context: &ToolContext, bytes: &[u8], size: u64, media_type: &str) -> Result<Output, String> {
    let what = format!("a picture ({media_type}, {})", counted(size as usize, "byte"));
    if !context.sees_images() {
        return Err(format!("this is {what}, and this model does not take pictures"));
    }
    if let Some(why) = pictures::too_large(size) {
        return Err(format!("this is {what}, and {why}"));
    }
    if let Some(why) = picture::trouble(bytes) {
        return Err(format!("this is {what}, and cannot be shown: {why}"));
    }
    Ok(Output {
        images: vec![pictures::image(bytes, media_type)],
        ..Output::success(what)
    })
}

/// The text of some pages of a PDF.
///
/// # Errors
/// Says in a fragment why it cannot be shown.
fn pdf(
    context: &ToolContext,
    mut file: File,
    size: u64,
    (from, limit): (u64, u64),
    interrupt: &Interrupt,
) -> Result<String, String> {
    if size > pdf::LARGEST {
        return Err("is larger than 256 MiB".to_owned());
    }
    file.rewind().map_err(|error| files::reason(&error))?;
    let Pages { total, texts } = pdf::extract(&context.options.pdf_command, file, (from, limit, BYTES), interrupt)?;
    if texts.is_empty() {
        return Err(format!("there is no page {from}: it has {}", counted(total, "page")));
    }
    let secrets = &context.secrets();
    let has_text = texts.iter().any(|text| !text.is_empty());
    let mut shown = String::new();
    let mut notes = Vec::new();
    let mut last = from - 1;
    for text in &texts {
        if last >= from && shown.len() + text.len() > BYTES {
            break;
        }
        last += 1;
        let empty = if text.is_empty() { ": no text" } else { "" };
        let _ = writeln!(shown, "[page {last} of {total}{empty}]");
        for line in text.lines() {
            if shown.len() > BYTES {
                notes.push(format!("the rest of page {last} is not shown"));
                break;
            }
            match line.len() > LINE {
                true => cut(&mut shown, &line[..line.floor_char_boundary(LINE)], line.len(), secrets),
                false => shown.push_str(line),
            }
            shown.push('\n');
        }
    }
    if last < total as u64 {
        notes.push(format!("pages {from}-{last} of {total}; offset {} goes on", last + 1));
    }
    if !has_text {
        notes.push(
            "pages without text may be scans: in Bash, `pdftoppm -png -r 100 FILE PREFIX` makes a picture of each page \
             where poppler is installed"
                .to_owned(),
        );
    }
    if shown.contains(char::REPLACEMENT_CHARACTER) {
        notes.push("� stands for characters that the PDF does not name".to_owned());
    }
    if !notes.is_empty() {
        let _ = writeln!(shown, "[{}]", notes.join("; "));
    }
    Ok(shown)
}

/// Appends the beginning of a line, and the size of the whole line.
fn cut(shown: &mut String, head: &str, size: usize, secrets: &Secrets) {
    shown.push_str(&head[..head.len() - secrets.begun(head)]);
    let _ = write!(shown, "{CUT}about {} bytes]", grouped(size));
}

/// Part of a file that is too large for memory.
fn large(
    mut file: File,
    head: &[u8],
    part: (u64, u64),
    secrets: &Secrets,
    interrupt: &Interrupt,
) -> Result<Page, String> {
    let encoding = Encoding::of(head);
    if encoding.is_utf16() {
        return Err("this is a large file in UTF-16; let Bash make it UTF-8 first (iconv)".to_owned());
    }
    let mark = if encoding == Encoding::Utf8Marked { 3 } else { 0 };
    file.seek(SeekFrom::Start(mark))
        .map_err(|error| files::reason(&error))?;
    let mut page = Page::of(part);
    page.encoding = encoding;
    let watched = Watched::new(file, interrupt, SCANNED);
    page.fill(&mut BufReader::with_capacity(64 * 1024, watched), secrets);
    Ok(page)
}

/// Some lines of a file.
#[derive(Default)]
struct Page {
    from: u64,
    limit: u64,
    shown: String,
    /// Lines shown.
    lines: u64,
    /// Lines skipped before them.
    skipped: u64,
    /// True if something follows.
    has_more: bool,
    /// Lines in the whole file, if known.
    total: Option<u64>,
    ends_crlf: u64,
    /// Carriage returns in the shown text that end no line.
    returns: usize,
    encoding: Encoding,
    is_lossy: bool,
    /// Describes the file if it is shown in another form.
    remark: Option<String>,
    /// The reason why the rest was not read.
    trouble: Option<String>,
}

impl Page {
    fn of((from, limit): (u64, u64)) -> Self {
        Page {
            from,
            limit,
            ..Page::default()
        }
    }

    /// Reads the lines. If one is cut inside a secret, the part before the cut is removed.
    fn fill(&mut self, source: &mut impl BufRead, secrets: &Secrets) {
        if let Err(error) = self.try_fill(source, secrets) {
            self.trouble = Some(files::reason(&error));
        }
    }

    fn try_fill(&mut self, source: &mut impl BufRead, secrets: &Secrets) -> std::io::Result<()> {
        while self.skipped + 1 < self.from {
            if source.skip_until(b'\n')? == 0 {
                return Ok(());
            }
            self.skipped += 1;
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            source.by_ref().take(LINE as u64 + 1).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(());
            }
            if self.lines == self.limit || self.shown.len() > BYTES {
                self.has_more = true;
                return Ok(());
            }
            let mut rest = 0;
            if line.last() != Some(&b'\n') && line.len() > LINE {
                rest = source.skip_until(b'\n')?;
            }
            self.push(&line, rest, secrets);
        }
    }

    fn push(&mut self, line: &[u8], rest: usize, secrets: &Secrets) {
        let crlf = line.strip_suffix(b"\r\n");
        self.ends_crlf += u64::from(crlf.is_some());
        let line = crlf.or(line.strip_suffix(b"\n")).unwrap_or(line);
        self.returns += memchr::memchr_iter(b'\r', line).count();
        self.lines += 1;
        let _ = write!(self.shown, "{}\t", self.skipped + self.lines);
        if rest == 0 {
            let text = String::from_utf8_lossy(line);
            self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
            self.shown.push_str(&text);
        } else {
            // The cut may be inside a character.
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end_matches('\u{fffd}');
            cut(&mut self.shown, text, line.len() + rest - 1, secrets);
        }
        self.shown.push('\n');
    }

    /// The lines, followed by notes in brackets.
    fn show(mut self, size: u64) -> Result<String, String> {
        let trouble = self.trouble.take().map(|trouble| format!(" ({trouble})"));
        let trouble = trouble.unwrap_or_default();
        if self.lines == 0 {
            return match self.total {
                Some(0) => Ok(match self.remark {
                    Some(remark) => format!("[{remark}]"),
                    None => "[the file is empty]".to_owned(),
                }),
                Some(total) => Err(format!(
                    "there is no line {}: it has {}",
                    self.from,
                    counted(total as usize, "line")
                )),
                None => Err(format!(
                    "line {} was not reached in {}{trouble}. Bash can look further (tail, sed)",
                    self.from,
                    counted(self.skipped as usize, "line")
                )),
            };
        }
        let last = self.skipped + self.lines;
        let mut notes = Vec::new();
        if self.has_more {
            let of = match self.total {
                Some(total) => grouped(total as usize),
                None => format!("a file of {} bytes", grouped(size as usize)),
            };
            let from = self.skipped + 1;
            notes.push(format!("lines {from}-{last} of {of}; offset {} goes on", last + 1));
        } else if !trouble.is_empty() {
            notes.push(format!("the rest is missing{trouble}"));
        }
        if self.ends_crlf > 0 {
            notes.push(match self.ends_crlf == self.lines {
                true => "lines end in CRLF".to_owned(),
                false => format!("{} end in CRLF", counted(self.ends_crlf as usize, "line")),
            });
        }
        match self.returns {
            0 => {}
            1 => notes.push("1 carriage return (\\r) without a line feed ends no line here".to_owned()),
            returns => notes.push(format!(
                "{} carriage returns (\\r) without a line feed end no line here",
                grouped(returns)
            )),
        }
        notes.extend(self.encoding.name().map(str::to_owned));
        notes.extend(self.remark.take());
        if self.is_lossy {
            notes.push("invalid bytes are shown as �".to_owned());
        }
        if !notes.is_empty() {
            self.shown.push_str(&format!("[{}]\n", notes.join("; ")));
        }
        Ok(self.shown)
    }
}
