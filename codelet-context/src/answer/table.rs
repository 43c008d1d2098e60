//! The words that tell how a call went, and what each may mean. Everything else in an answer means nothing.

/// A call failed.
pub(super) const FAILURE: u32 = 1 << 0;
/// A call failed, unless it is said behind that it did not: `Required fields updated`.
pub(super) const DOUBT: u32 = 1 << 1;
/// What should have been; what is said to be done in such a sentence is not.
pub(super) const DUTY: u32 = 1 << 2;
/// A call did what it was asked to.
pub(super) const SUCCESS: u32 = 1 << 3;
/// What becomes of errors that are gone.
pub(super) const MENDED: u32 = 1 << 4;
/// What a `not` stands behind.
pub(super) const AUX: u32 = 1 << 5;
/// … or before.
pub(super) const DENIED: u32 = 1 << 6;
/// What there is none of where a call failed.
pub(super) const UNFOUND: u32 = 1 << 7;
/// What there may be zero of.
pub(super) const FEW: u32 = 1 << 8;
/// What there may be too many of.
pub(super) const MANY: u32 = 1 << 9;
/// What a call makes none of.
pub(super) const MADE: u32 = 1 << 10;
/// `Error handling was added` tells of no error.
pub(super) const OF_ERRORS: u32 = 1 << 11;
/// There is none of what follows.
pub(super) const NONE: u32 = 1 << 12;
/// … as a number of what was made.
pub(super) const ZERO: u32 = 1 << 13;
/// Behind `too`.
pub(super) const MUCH: u32 = 1 << 14;
/// `The updated text …` does not say that anything was.
pub(super) const ARTICLE: u32 = 1 << 15;
/// Behind `before`.
pub(super) const WRITING: u32 = 1 << 16;
/// What may be discarded.
pub(super) const NOUN: u32 = 1 << 17;
/// What stands between that and how it went.
pub(super) const PASSIVE: u32 = 1 << 18;
/// Who else changes files.
pub(super) const OTHERS: u32 = 1 << 19;

/// A `not` behind it says what is not so, which need not be what was asked for: `was not formatted`.
pub(super) const STATE: u32 = 1 << 20;

/// What lies outside of it is not to be touched.
pub(super) const PLACE: u32 = 1 << 21;
/// What a call waits for that is not made yet.
pub(super) const APPROVAL: u32 = 1 << 22;

/// A word in lower case, and what it may mean.
pub(super) type Entry = (&'static str, u32);

/// What stands for any other word, a name, or a quotation.
pub(super) const OTHER: &Entry = &("", 0);

/// The entry of a word, whatever its case.
pub(super) fn find(word: &str) -> &'static Entry {
    if word.len() > LONGEST {
        return OTHER;
    }
    let in_order = |entry: &Entry| {
        let word = word.bytes().map(|byte| byte.to_ascii_lowercase());
        entry.0.bytes().cmp(word)
    };
    TABLE.binary_search_by(in_order).map_or(OTHER, |at| &TABLE[at])
}

/// Bytes of the longest word below.
const LONGEST: usize = 13;

/// In alphabetical order.
#[rustfmt::skip]
static TABLE: &[Entry] = &[
    ("0", NONE | ZERO),
    ("a", ARTICLE),
    ("able", DENIED),
    ("aborted", FAILURE),
    ("accepted", SUCCESS),
    ("access", UNFOUND),
    ("action", NOUN),
    ("added", SUCCESS | DENIED),
    ("adjusted", SUCCESS),
    ("allowed", DENIED | PLACE),
    ("already", 0),
    ("ambiguous", DOUBT),
    ("an", ARTICLE),
    ("another", OTHERS),
    ("any", NONE),
    ("appear", DENIED),
    ("appended", SUCCESS),
    ("applied", SUCCESS | DENIED),
    ("approval", APPROVAL),
    ("approved", SUCCESS),
    ("are", AUX | PASSIVE | STATE),
    ("authorized", DENIED),
    ("available", DENIED),
    ("awaiting", 0),
    ("be", AUX | ARTICLE),
    ("been", AUX | PASSIVE),
    ("before", 0),
    ("big", MUCH),
    ("blocked", DOUBT),
    ("blocks", MADE),
    ("but", DOUBT),
    ("by", 0),
    ("ca", AUX),
    ("call", NOUN),
    ("can", AUX),
    ("canceled", FAILURE),
    ("cancelled", FAILURE),
    ("case", OF_ERRORS),
    ("cases", OF_ERRORS),
    ("change", UNFOUND | NOUN),
    ("changed", SUCCESS | DENIED),
    ("changes", UNFOUND | MADE),
    ("class", OF_ERRORS),
    ("cleared", MENDED),
    ("code", OF_ERRORS),
    ("codes", OF_ERRORS),
    ("command", NOUN),
    ("completed", SUCCESS | DENIED),
    ("confirmation", APPROVAL),
    ("consent", APPROVAL),
    ("converted", SUCCESS),
    ("corrected", SUCCESS | MENDED),
    ("could", AUX),
    ("created", SUCCESS | DENIED),
    ("declined", FAILURE),
    ("deleted", SUCCESS | DENIED),
    ("denied", FAILURE),
    ("did", AUX),
    ("directories", PLACE),
    ("directory", PLACE),
    ("discarded", 0),
    ("does", AUX),
    ("done", SUCCESS),
    ("edit", UNFOUND | NOUN),
    ("edited", SUCCESS | DENIED),
    ("editing", WRITING),
    ("edits", UNFOUND | MADE),
    ("eliminated", MENDED),
    ("else", OTHERS),
    ("enough", DENIED),
    ("error", 0),
    ("errors", 0),
    ("exact", UNFOUND),
    ("exception", DOUBT),
    ("exceptions", DOUBT),
    ("executed", DENIED),
    ("execution", NOUN),
    ("exist", DENIED),
    ("exists", 0),
    ("externally", 0),
    ("failed", FAILURE),
    ("fails", FAILURE),
    ("failure", FAILURE),
    ("false", 0),
    ("file", UNFOUND),
    ("files", MADE),
    ("fixed", SUCCESS | MENDED),
    ("folder", PLACE),
    ("folders", PLACE),
    ("for", 0),
    ("forbidden", DOUBT),
    ("formatted", SUCCESS),
    ("formatter", OTHERS),
    ("found", DENIED),
    ("had", AUX | STATE),
    ("handler", OF_ERRORS),
    ("handlers", OF_ERRORS),
    ("handling", OF_ERRORS),
    ("has", AUX | PASSIVE | STATE),
    ("have", AUX | PASSIVE | STATE),
    ("human", OTHERS),
    ("hunks", MADE),
    ("inserted", SUCCESS | DENIED),
    ("instances", MANY),
    ("interrupted", DOUBT),
    ("invalid", DOUBT),
    ("invocation", NOUN),
    ("is", AUX | PASSIVE | STATE),
    ("large", MUCH),
    ("lines", MADE),
    ("linter", OTHERS),
    ("long", MUCH),
    ("made", SUCCESS | DENIED),
    ("making", WRITING),
    ("many", MUCH),
    ("match", DENIED | UNFOUND | FEW | MANY),
    ("matched", DENIED),
    ("matches", UNFOUND | FEW | MANY | MADE),
    ("matching", UNFOUND | MANY),
    ("merged", SUCCESS),
    ("message", OF_ERRORS),
    ("messages", OF_ERRORS),
    ("mismatch", FAILURE),
    ("missing", DOUBT),
    ("modified", SUCCESS | DENIED),
    ("modifying", WRITING),
    ("moved", SUCCESS | DENIED),
    ("multiple", 0),
    ("must", DUTY),
    ("no", NONE | ZERO),
    ("none", ZERO),
    ("not", 0),
    ("nothing", 0),
    ("occurrence", UNFOUND | FEW | MANY),
    ("occurrences", UNFOUND | FEW | MANY | MADE),
    ("of", MADE),
    ("ok", SUCCESS),
    ("okay", SUCCESS),
    ("operation", NOUN),
    ("operator", OTHERS),
    ("other", OTHERS),
    ("out", 0),
    ("outside", 0),
    ("overwriting", WRITING),
    ("overwritten", SUCCESS),
    ("overwrote", SUCCESS),
    ("patched", SUCCESS),
    ("path", OF_ERRORS),
    ("paths", OF_ERRORS),
    ("pending", 0),
    ("performed", DENIED),
    ("permission", UNFOUND | NOUN | APPROVAL),
    ("permitted", DENIED | PLACE),
    ("plan", NOUN),
    ("project", PLACE),
    ("read", DENIED),
    ("read-only", 0),
    ("readonly", 0),
    ("refactored", SUCCESS),
    ("refused", FAILURE),
    ("rejected", FAILURE),
    ("removed", SUCCESS | DENIED),
    ("renamed", SUCCESS | DENIED),
    ("replaced", SUCCESS | DENIED),
    ("replacement", UNFOUND | FEW),
    ("replacements", UNFOUND | FEW | MADE),
    ("repository", PLACE),
    ("request", NOUN),
    ("required", DOUBT),
    ("requires", DUTY),
    ("resolved", SUCCESS | MENDED),
    ("reverted", SUCCESS),
    ("rewritten", SUCCESS),
    ("rewrote", SUCCESS),
    ("root", PLACE),
    ("roots", PLACE),
    ("run", DENIED),
    ("sandbox", PLACE),
    ("saved", SUCCESS | DENIED),
    ("several", 0),
    ("similar", UNFOUND),
    ("since", 0),
    ("skipped", 0),
    ("somebody", OTHERS),
    ("someone", OTHERS),
    ("stripped", SUCCESS),
    ("succeeded", SUCCESS | DENIED),
    ("success", SUCCESS),
    ("successful", SUCCESS | DENIED),
    ("successfully", SUCCESS),
    ("such", UNFOUND),
    ("sufficiently", UNFOUND),
    ("supported", DENIED),
    ("that", ARTICLE),
    ("the", ARTICLE),
    ("this", ARTICLE),
    ("timed", 0),
    ("timeout", 0),
    ("times", FEW | MANY),
    ("to", 0),
    ("too", 0),
    ("tool", NOUN),
    ("traceback", FAILURE),
    ("trimmed", SUCCESS),
    ("type", OF_ERRORS),
    ("types", OF_ERRORS),
    ("unable", FAILURE),
    ("unauthorized", DOUBT),
    ("unchanged", 0),
    ("undone", SUCCESS),
    ("unexpected", DOUBT),
    ("unexpectedly", DOUBT),
    ("unique", DENIED),
    ("unsupported", DOUBT),
    ("updated", SUCCESS | DENIED),
    ("use", NOUN),
    ("user", OTHERS),
    ("valid", DENIED),
    ("waiting", 0),
    ("was", AUX | PASSIVE | STATE),
    ("were", AUX | PASSIVE | STATE),
    ("without", NONE),
    ("working", PLACE),
    ("workspace", PLACE),
    ("writing", WRITING),
    ("written", SUCCESS | DENIED),
    ("wrote", SUCCESS),
    ("your", ARTICLE),
    ("zero", NONE | ZERO),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_whatever_its_case() {
        assert!(TABLE.is_sorted_by(|one, other| one.0 < other.0));
        for entry in TABLE {
            assert!(entry.0.len() <= LONGEST, "{}", entry.0);
            assert_eq!(find(entry.0), entry);
            assert_eq!(find(&entry.0.to_uppercase()), entry);
        }
        for word in ["", "walnut", "errorx", "é", "abcdefghijklmnopqrstuvwxyz"] {
            assert_eq!(find(word), OTHER, "{word}");
        }
    }
}
