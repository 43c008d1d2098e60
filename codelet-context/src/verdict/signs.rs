//! The signs by which programs say that something went wrong or is not over, in one table. What a sign means is told once; those
//! who judge an output ask for the signs that concern them, so that no line ends a run for one of them and is nothing to another.

use Means::{Cause, Closing, Cut, End, Open};
use std::sync::OnceLock;

/// What a line with a sign says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Means {
    /// What is wrong.
    Cause,
    /// That a tool gives up, for what was said before.
    Closing,
    /// That a program was ended, or crashed.
    End,
    /// That a program may still run, or was not waited for.
    Open,
    /// That not all that was printed is there.
    Cut,
}

/// A sign, what it means, and for whom else it is one.
struct Sign {
    text: &'static str,
    means: Means,
    /// Behind the counts of tests it says that the run has ended badly all the same.
    breaks_off: bool,
    /// Of a build or a lint it is an error, wherever it stands.
    is_error: bool,
    /// At the end of a run of tests it says that the run has failed, whatever was counted.
    fails: bool,
    /// In the last line of an output it says that what was run has not ended there.
    cuts: bool,
}

const fn sign(text: &'static str, means: Means) -> Sign {
    Sign {
        text,
        means,
        breaks_off: false,
        is_error: false,
        fails: false,
        cuts: false,
    }
}

impl Sign {
    const fn that_breaks_off(self) -> Sign {
        Sign {
            breaks_off: true,
            ..self
        }
    }

    const fn that_is_error(self) -> Sign {
        Sign { is_error: true, ..self }
    }

    /// It breaks off, and nothing else can have said so.
    const fn that_fails(self) -> Sign {
        Sign {
            breaks_off: true,
            fails: true,
            ..self
        }
    }

    const fn that_cuts(self) -> Sign {
        Sign { cuts: true, ..self }
    }
}

const SIGNS: &[Sign] = &[
    sign("panicked at", Cause).that_breaks_off(),
    sign("panic: ", Cause).that_fails(),
    sign("Error:", Cause),
    sign("Error -", Cause),
    sign(": error", Cause).that_is_error(),
    sign("error:", Cause),
    sign("error[", Cause),
    sign("rror TS", Cause),
    sign("rror CS", Cause),
    sign("Exception", Cause),
    sign("Failure:", Cause),
    sign("fatal:", Cause),
    sign("atal error", Cause).that_breaks_off(),
    sign("ERROR", Cause),
    sign("FATAL", Cause),
    sign("CRITICAL", Cause),
    sign("INTERNALERROR", Cause).that_fails(),
    sign("AssertionError", Cause),
    sign("assertion", Cause),
    sign("Assertion", Cause),
    sign("asserting", Cause),
    sign(" error ", Cause).that_is_error(),
    sign("rrors while", Cause).that_fails(),
    sign("npm error", Cause).that_fails(),
    sign("npm ERR!", Cause).that_is_error().that_fails(),
    sign("ERR!", Cause),
    sign("ERR]", Cause),
    sign("FTL]", Cause),
    sign("undefined:", Cause),
    sign(": undefined: ", Cause).that_is_error(),
    sign("ndefined reference", Cause),
    sign("ndefined symbol", Cause),
    sign("nresolved external", Cause),
    sign("nresolved import", Cause),
    sign("annot find", Cause),
    sign("not found", Cause),
    sign("command not found", Cause).that_breaks_off(),
    sign("No such file", Cause).that_breaks_off(),
    sign("no such file", Cause).that_breaks_off(),
    sign("no required module", Cause).that_breaks_off(),
    sign("does not meet", Cause).that_fails(),
    sign("not met", Cause).that_fails(),
    sign("unhandled", Cause).that_breaks_off(),
    sign("Unhandled", Cause).that_breaks_off(),
    sign("ncaught", Cause).that_breaks_off(),
    sign("Traceback (most recent", Cause).that_is_error(),
    sign("ermission denied", Cause),
    sign("ccess denied", Cause),
    sign("onnection refused", Cause),
    sign(": *** ", Cause).that_is_error(),
    sign("FAILED", Cause),
    sign("FAIL", Cause),
    sign("failed=", Cause),
    sign("unreachable=", Cause),
    sign("FAILURE", Cause),
    sign(": *** [", Closing),
    sign("ld returned ", Closing),
    sign("linker command failed", Closing),
    sign("could not compile", Closing),
    sign("test failed, to rerun", Closing),
    sign("to rerun pass", Closing).that_fails(),
    sign("aborting due to", Closing),
    sign("have detailed explanations", Closing),
    sign("For more information about", Closing),
    sign("exit status ", Closing),
    sign("xit status", Closing).that_breaks_off(),
    sign("xit code", Closing).that_breaks_off(),
    sign("exited with", Closing).that_breaks_off(),
    sign("failed with exit code", Closing),
    sign("process completed with", Closing),
    sign("ELIFECYCLE", Closing).that_fails(),
    sign("Lifecycle script", Closing),
    sign("Failed to execute goal", Closing),
    sign("un Aborted", Closing).that_fails(),
    sign("uild failed", Closing).that_is_error(),
    sign("BUILD FAILED", Closing),
    sign("BUILD FAILURE", Closing),
    sign("[build failed]", Closing),
    sign("[setup failed]", Closing),
    sign("Re-run Maven", Closing),
    sign("too many errors", Closing).that_is_error(),
    sign("Run with --stacktrace option", Closing).that_is_error(),
    sign("Run with --info or --debug", Closing).that_is_error(),
    sign("Get more help at https://help.gradle", Closing).that_is_error(),
    sign("[Help 1]", Closing),
    sign("egmentation fault", End).that_is_error(),
    sign("core dumped", End).that_is_error(),
    sign("(signal: ", End).that_breaks_off(),
    sign("Bus error", End),
    sign("Illegal instruction", End),
    sign("KeyboardInterrupt", End),
    sign("Killed", End),
    sign("Terminated", End),
    sign("timed out", Open).that_cuts(),
    sign("time limit", Open).that_cuts(),
    sign("still running", Open).that_cuts(),
    sign("in the background", Open).that_cuts(),
    sign("in background", Open),
    sign("background process", Open),
    sign("rocess running", Open),
    sign("running with session", Open),
    sign("truncated", Cut),
    sign("omitted", Cut),
    sign("more lines", Cut),
    sign("lines skipped", Cut),
    sign("output exceed", Cut),
    sign("output limit", Cut),
    sign("cut off", Cut),
    sign("nterrupted", Cut),
];

/// The signs that somebody looks for, in the order of the table.
pub(crate) struct Group {
    has: fn(&Sign) -> bool,
    texts: OnceLock<Vec<&'static str>>,
}

/// The signs of each meaning, for whoever looks at the output of what has failed.
pub(crate) static CAUSES: Group = Group::of(|sign| sign.means == Cause);
pub(crate) static CLOSINGS: Group = Group::of(|sign| sign.means == Closing);
pub(crate) static ENDS: Group = Group::of(|sign| sign.means == End);
/// The signs that what was run may not have come to its end, wherever they stand.
pub(super) static OPEN: Group = Group::of(|sign| sign.means == Open);
/// The signs in the last line of an output that it does not end there, or that what was run did not.
pub(super) static CUT: Group = Group::of(|sign| matches!(sign.means, Cut | End) || sign.cuts);
/// The signs that break off a run of tests.
pub(super) static BREAKING_OFF: Group = Group::of(|sign| sign.breaks_off);
/// The signs that end a run of tests that has failed.
pub(super) static FAILING: Group = Group::of(|sign| sign.fails);
/// The signs that are an error of a build or a lint wherever they stand.
pub(super) static ERRORS: Group = Group::of(|sign| sign.is_error);

impl Group {
    const fn of(has: fn(&Sign) -> bool) -> Group {
        Group {
            has,
            texts: OnceLock::new(),
        }
    }

    /// The signs as they are written.
    pub fn texts(&self) -> &[&'static str] {
        let wanted = || SIGNS.iter().filter(|sign| (self.has)(sign));
        self.texts.get_or_init(|| wanted().map(|sign| sign.text).collect())
    }

    /// Whether one of them stands in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.texts().iter().any(|sign| text.contains(sign))
    }
}
