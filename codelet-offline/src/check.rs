//! Whether a vendor would take a request.

use codelet_transcript::vendor::{self, Fault};
use codelet_transcript::{Format, detect};
use serde_json::Value;

/// Why something is not a request that could be checked: a sentence.
pub type NotARequest = String;

/// Whose rules are known.
pub(crate) const VENDORS: &str = "anthropic, openai, responses or gemini";

/// The places of a request at which it breaks a vendor's rule. `form` is the vendor's; with `None` it is the one that the request's
/// structure shows.
///
/// # Errors
/// When it is no request of that vendor, or none is known; the sentence says what was expected.
pub fn check(request: &[u8], form: Option<Format>) -> Result<Vec<Fault>, NotARequest> {
    let form = match form.or_else(|| detect(request)) {
        Some(form) if !vendor::list_of(form).is_empty() => form,
        Some(form) => {
            return Err(format!(
                "is a recording ({form}), not a request; `codelet compact --to V` converts it"
            ));
        }
        None => return Err(format!("is not recognized as a request; name its vendor: {VENDORS}")),
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
