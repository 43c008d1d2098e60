//! Results as CSV, for spreadsheets and programs.

use crate::report::html;
use crate::run::Sums;
use codelet_text::short::clip;

/// The names of the columns that [`sums`] fills. Costs are in US dollars, sizes in tokens, shares from 0 to 1.
pub const SUMS: &str = "requests,usd_fresh,usd_read,usd_write,usd_output,usd_refetch,usd_total,hit_share,planned,cold,\
                        unplanned,edits,overflows,peak,mean,recall,referred";

/// Returns the sums of a run, as the values of the columns of [`SUMS`].
pub fn sums(sums: &Sums) -> String {
    let dollars = sums.dollars;
    format!(
        "{},{:.6},{:.6},{:.6},{:.6},{:.6},{:.6},{:.6},{},{},{},{},{},{},{:.0},{:.6},{}",
        sums.steps,
        dollars.fresh,
        dollars.cache_read,
        dollars.write(),
        dollars.output,
        sums.refetch,
        sums.cost(),
        sums.hit_share(),
        sums.planned,
        sums.cold,
        sums.unplanned,
        sums.edits,
        sums.overflows,
        sums.peak,
        sums.mean(),
        sums.recall(),
        sums.referred,
    )
}

/// Returns a value that is quoted if it holds a comma or a quote, and guarded if a spreadsheet would take it for a
/// formula. Long values are cut.
pub fn field(value: &str) -> String {
    whole(&clip(value, html::LONGEST))
}

/// Like [`field`], but never cut: part of a file name is useless.
pub fn whole(value: &str) -> String {
    let value: String = value
        .chars()
        .map(|c| if html::is_harmful(c) { '\u{fffd}' } else { c })
        .collect();
    let guarded = match value.trim_start().starts_with(['=', '+', '-', '@']) {
        true => format!("'{value}"),
        false => value,
    };
    if guarded.contains([',', '"']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_value() {
        assert_eq!(sums(&Sums::default()).split(',').count(), SUMS.split(',').count());
    }

    #[test]
    fn a_field_is_neither_two_fields_nor_a_formula() {
        let told = ["plain", "a,b", "say \"x\"", "=1+1", " @x,y", "a\nb"].map(field);
        assert_eq!(
            told,
            [
                "plain", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1", "\"' @x,y\"", "a\u{fffd}b"
            ]
        );
    }
}
