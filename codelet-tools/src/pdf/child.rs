//! The process in which a PDF is parsed, with bounds on what it may use and nothing else that it could reach.

use super::{Pages, pages};
use crate::files;
use crate::process::{self, End};
use crate::sandbox::Sandbox;
use crate::spawn::{Program, Unstarted};
use codelet_agent::interrupt::Interrupt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

/// Bytes of a file that is read.
pub(crate) const LARGEST: u64 = 256 * 1024 * 1024;
/// Bytes of address space beside the file.
const MEMORY: u64 = 512 * 1024 * 1024;
/// Time for some pages.
const TIME: Duration = Duration::from_secs(30);
/// Bytes of text that are taken from the process.
const MOST: usize = 4 * 1024 * 1024;
/// Separates pages.
const PAGE: char = '\u{c}';

/// The argument of this program for which it calls [`serve`].
pub const COMMAND: &str = "pdf-text";

/// Extracts the text of the PDF on standard input, and prints it for `Read`. The arguments are three numbers: the
/// first page, the most pages, and the bytes after which no page follows. Returns false if it cannot be read; then it
/// prints why.
pub fn serve(arguments: &[OsString]) -> bool {
    let numbers: Vec<usize> = arguments
        .iter()
        .filter_map(|number| number.to_str()?.parse().ok())
        .collect();
    let done = match numbers[..] {
        [first, limit, enough] => confined(first.max(1), limit, enough),
        _ => Err("three numbers are needed".to_owned()),
    };
    let text = match &done {
        Ok(Pages { total, texts }) => std::iter::once(total.to_string())
            .chain(texts.iter().cloned())
            .collect::<Vec<_>>()
            .join(&PAGE.to_string()),
        Err(why) => why.clone(),
    };
    let written = io::stdout().lock().write_all(text.as_bytes());
    done.is_ok() && written.is_ok()
}

/// Extracts the text after this process has given up whatever that does not need.
fn confined(first: usize, limit: usize, enough: usize) -> Result<Pages, String> {
    // Without one, the bounds below are what there is.
    let _ = Sandbox::looking_at(Vec::new(), Vec::new()).enter();
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.map_err(|error| files::reason(&error))?;
    // No dump of the file stays behind. The processor's time ends it if nobody is left to do so.
    for (resource, most) in [
        (Resource::As, MEMORY + bytes.capacity() as u64),
        (Resource::Cpu, TIME.as_secs()),
        (Resource::Core, 0),
    ] {
        // A lower bound of the user's holds.
        let most = Some(getrlimit(resource).maximum.map_or(most, |had| had.min(most)));
        let bound = Rlimit {
            current: most,
            maximum: most,
        };
        // Other systems do not know all of them.
        if setrlimit(resource, bound).is_err() && cfg!(target_os = "linux") {
            return Err("what reading it takes cannot be bounded here".to_owned());
        }
    }
    pages(bytes, first, limit, enough).map_err(str::to_owned)
}

/// Has a process extract the text of an open PDF: at most `limit` pages from page `first` (from 1), and no further page
/// once there are `enough` bytes.
///
/// # Errors
/// Says in a fragment why the file cannot be read.
pub(crate) fn extract(
    command: &[OsString],
    file: File,
    (first, limit, enough): (u64, u64, usize),
    interrupt: &Interrupt,
) -> Result<Pages, String> {
    let [program, arguments @ ..] = command else {
        return Err(
            "nothing here reads it. In Bash, `pdftotext -layout FILE -` prints its text where poppler is installed"
                .to_owned(),
        );
    };
    let failed = |error: io::Error| files::reason(&error);
    let (stopped, stop) = io::pipe().map_err(failed)?;
    let mut stop = Some(stop);
    let numbers = [first.to_string(), limit.to_string(), enough.to_string()];
    let program = Program {
        program: program.clone(),
        arguments: arguments.iter().cloned().chain(numbers.map(OsString::from)).collect(),
        directory: "/".into(),
        held: None,
        environment: Vec::new(),
        input: Some(file.into()),
        // A panic's message.
        errors: Some(File::options().write(true).open("/dev/null").map_err(failed)?.into()),
        handed: Vec::new(),
        // It enters its own, in which its own file could not be started.
        sandbox: None,
        timeout: TIME,
    };
    let mut printed = Vec::new();
    let ended = process::run(program, Some(&stopped), &mut |bytes| {
        printed.extend_from_slice(&bytes[..bytes.len().min(MOST - printed.len())]);
        if interrupt.is_thrown() {
            drop(stop.take());
        }
    });
    let ended = ended.map_err(|error| match error {
        Unstarted::Refused(error) => format!("its reader cannot be started: {}", files::reason(&error)),
        Unstarted::NoSandbox(missing) => missing,
    })?;
    let printed = String::from_utf8_lossy(&printed);
    match ended.end {
        End::Exited(0) => {
            let mut parts = printed.split(PAGE);
            let total = parts.next().and_then(|total| total.parse().ok());
            Ok(Pages {
                total: total.ok_or("its reader gave no answer")?,
                texts: parts.map(str::to_owned).collect(),
            })
        }
        End::Exited(1) => Err(printed.into_owned()),
        End::Interrupted => Err(crate::run_blocking::INTERRUPTED.to_owned()),
        End::TimedOut => Err(format!("reading it took more than {} seconds", TIME.as_secs())),
        End::Exited(_) | End::Killed(_) | End::Unknown => {
            Err("reading it failed: it is damaged, or takes more than 512 MiB of memory".to_owned())
        }
    }
}
