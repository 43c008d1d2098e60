//! Checks a request against a provider's rules.

use codelet_transcript::vendor::{self, Fault};
use codelet_transcript::{Format, detect};
use serde_json::Value;

/// The reason why something is not a request that can be checked: a sentence.
pub type NotARequest = String;

/// The providers whose rules are known.
pub(crate) const VENDORS: &str = "anthropic, openai, responses or gemini";

/// Returns the places at which a request breaks a provider's rules. `form` is the provider's format; with `None` it is
/// the one that the request's structure identifies.
///
/// # Errors
/// If it is not a request to that provider, or the format is unknown; the sentence says what was expected.
pub fn check(request: &[u8], form: Option<Format>) -> Result<Vec<Fault>, NotARequest> {
    let form = match form.or_else(|| detect(request)) {
        Some(form) if !vendor::list_of(form).is_empty() => form,
        Some(form) => {
            return Err(format!(
                "is a recording ({form}), not a request; `codelet compact FILE --to VENDOR` compacts and converts it"
            ));
        }
        None => {
            return Err(format!(
                "is not recognized as a request; if it is one, name its vendor: {VENDORS}"
            ));
        }
    };
    let request: Value = serde_json::from_slice(request)
        .map_err(|error| format!("is not JSON ({error}); expected a request of {form}"))?;
    let list = vendor::list_of(form);
    if !request.is_array() && request.get(list).is_none() {
        return Err(format!(
            "is not a request of {form}: expected an object with `{list}`, or that list"
        ));
    }
    Ok(vendor::check(&request, form))
}
