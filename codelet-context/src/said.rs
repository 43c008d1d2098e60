//! What a single line of an output says: which words it has and what it counts, which place in a file it names, and which test.
//!
//! Verdicts and the lines that say what failed ask the same of a line, so it is told once, here.

mod place;
mod runs;
mod words;

pub(crate) use place::{column_place, ends_with_file, is_bare_place, leads_with_place, place};
pub(crate) use runs::{
    FAILED_IN, Passed, Run, bare_failed, begins_with_count, ends_with_count, is_counting, is_of_failed_test, is_pass,
    is_signed, is_time, may_say_none_ran, names_failed, passed, ran, says_none_ran,
};
pub(crate) use words::{
    ERRORS, FAILED, FINDINGS, PASSED, PROBLEMS, RUN, WARNINGS, Word, begins, count, counts_errors, counts_some,
    failed_count, split,
};

/// The signs that end a question, in whatever script.
pub(crate) const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];
