//! The sums of everything that went through.

use codelet_context::usage::Usage;
use codelet_text::short::counted;

/// Requests and what was billed for them, since the gateway was started.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Totals {
    /// Requests of conversations.
    pub requests: u64,
    /// Requests of other kinds, which pass through.
    pub others: u64,
    /// Edits of the conversations that went through.
    pub edits: u64,
    /// Requests that could not be edited: they were too long to be read, or the edit failed.
    pub fail_opens: u64,
    /// Requests that the provider refused and that were sent once more: made smaller, or as they came.
    pub sent_again: u64,
    /// Requests whose figures the ledger's file did not take.
    pub unwritten: u64,
    /// Requests that were billed at prices that are not known.
    pub unpriced: u64,
    /// The billed usage.
    pub usage: Usage,
    /// Its cost in US dollars, as far as prices are known.
    pub dollars: f64,
    /// The estimated cost of the same requests passed through, in US dollars.
    pub passing: f64,
    /// On a dry run: the estimated cost with the edits, in US dollars.
    pub edited: Option<f64>,
}

impl Totals {
    /// The result in one sentence, printed after an agent was run through the gateway.
    pub fn sentence(&self) -> String {
        if self.requests == 0 {
            let others = match self.others {
                0 => String::new(),
                others => format!("; {} passed through unread", counted(others, "other request")),
            };
            return format!("the agent sent no conversation through the gateway{others}");
        }
        let (paid, passing) = (self.dollars, self.passing);
        let mut told = match passing - paid {
            _ if self.usage == Usage::default() => "the provider reported no usage".to_owned(),
            _ if paid <= 0.0 => "the model's prices are unknown".to_owned(),
            saved if saved >= 0.005 => format!("saved about ${saved:.2} of ${passing:.2}"),
            saved if saved <= -0.005 => {
                format!("cost about ${:.2} more than ${passing:.2} without the gateway", -saved)
            }
            _ => format!("${paid:.2}, about the same as without the gateway"),
        };
        let (edits, requests) = (counted(self.edits, "edit"), counted(self.requests, "request"));
        let share = self.usage.cache_read as f64 * 100.0 / self.usage.prompt().max(1) as f64;
        told += &format!("; {edits} in {requests}, {share:.0}% of the prompt tokens read from the cache");
        if self.fail_opens > 0 {
            told += &format!(
                ", {} sent as they came, since they could not be edited",
                self.fail_opens
            );
        }
        if self.unpriced > 0 && paid > 0.0 {
            told += &format!(", {} at unknown prices", self.unpriced);
        }
        if self.unwritten > 0 {
            told += &format!(", {} not written to the ledger", self.unwritten);
        }
        if let Some(edited) = self.edited {
            let would = match paid - edited {
                _ if self.edits == 0 || paid <= 0.0 => String::new(),
                saved if saved >= 0.005 => format!("; they would have saved about ${saved:.2}"),
                saved if saved <= -0.005 => format!("; they would have cost about ${:.2} more", -saved),
                _ => "; they would have saved nothing".to_owned(),
            };
            told += &format!(" (dry run: no edit was sent{would})");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_is_known_of_the_bill() {
        let billed = Totals {
            requests: 3,
            usage: Usage::from_exclusive(1_000, 0, 3_000, 10),
            dollars: 1.0,
            passing: 1.0,
            ..Totals::default()
        };
        let unpriced = Totals {
            dollars: 0.0,
            passing: 0.0,
            unpriced: 3,
            ..billed.clone()
        };
        let refused = Totals {
            requests: 1,
            ..Totals::default()
        };
        let others = Totals {
            others: 2,
            ..Totals::default()
        };
        for (totals, words) in [
            (Totals::default(), "the agent sent no conversation through the gateway"),
            (
                others,
                "the agent sent no conversation through the gateway; 2 other requests passed through unread",
            ),
            (
                refused,
                "the provider reported no usage; 0 edits in 1 request, 0% of the prompt tokens read from the cache",
            ),
            (
                unpriced,
                "the model's prices are unknown; 0 edits in 3 requests, 75% of the prompt tokens read from the cache",
            ),
            (
                billed.clone(),
                "$1.00, about the same as without the gateway; 0 edits in 3 requests, 75% of the prompt tokens read from the cache",
            ),
            (
                Totals {
                    passing: 3.0,
                    edits: 1,
                    unwritten: 5,
                    ..billed.clone()
                },
                "saved about $2.00 of $3.00; 1 edit in 3 requests, 75% of the prompt tokens read from the cache, 5 not \
                 written to the ledger",
            ),
            (
                Totals {
                    edited: Some(1.2),
                    edits: 2,
                    ..billed.clone()
                },
                "$1.00, about the same as without the gateway; 2 edits in 3 requests, 75% of the prompt tokens read from the cache \
                 (dry run: no edit was sent; they would have cost about $0.20 more)",
            ),
            (
                Totals {
                    passing: 0.5,
                    fail_opens: 2,
                    unpriced: 1,
                    ..billed
                },
                "cost about $0.50 more than $0.50 without the gateway; 0 edits in 3 requests, 75% of the prompt tokens read from the cache, 2 \
                 sent as they came, since they could not be edited, 1 at unknown prices",
            ),
        ] {
            assert_eq!(totals.sentence(), words);
        }
    }
}
