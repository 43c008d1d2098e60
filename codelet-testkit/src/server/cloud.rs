//! A cloud in front of a wire: authentication, addresses, and the differences from the model vendor's own API.
//!
//! Written from the vendors' documentation alone. The signature is computed here by hand
//! (docs.aws.amazon.com/IAM/latest/UserGuide, "Create a signed AWS API request"), and so are event frames; nothing is
//! shared with the code that makes requests.

use super::http::Asked;
use super::plan::Plan;
use super::wire::Wire;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A cloud and its credentials.
#[derive(Debug)]
pub struct Cloud {
    kind: Kind,
    /// The requests as received.
    seen: Mutex<Vec<Seen>>,
    issued: AtomicUsize,
}

/// A request as the cloud received it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Path and query.
    pub path: String,
    /// Headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// Returns the value of a header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

#[derive(Debug)]
enum Kind {
    Azure { header: &'static str, value: String },
    Bedrock(Signs),
    Vertex(Google),
}

/// Credentials for Amazon Bedrock.
#[derive(Clone, Debug)]
pub struct Signs {
    /// The access key id.
    pub id: String,
    /// The secret access key.
    pub secret: String,
    /// The session token of temporary credentials.
    pub session: Option<String>,
    /// The region.
    pub region: String,
    /// An API key to use instead.
    pub bearer: Option<String>,
    /// The server's clock is twenty minutes ahead.
    pub is_late: bool,
}

/// Credentials for Google Cloud.
#[derive(Clone, Debug, Default)]
pub struct Google {
    /// The public key of the service account, a DER-encoded `RSAPublicKey`; none for a user's login.
    pub account: Option<Vec<u8>>,
    /// The user's refresh token.
    pub refresh: String,
    /// The lifetime of a token, in seconds.
    pub lasts: u64,
    /// The location that the path must name.
    pub place: String,
    /// A status and body to respond with instead of a token.
    pub refuses: Option<(u16, String)>,
}

/// A key made for these tests, without access to anything.
const KEY: &str = include_str!("service-account.pem");

impl Google {
    /// Returns a key file for a service account whose tokens are requested at this address, and its credentials.
    ///
    /// # Panics
    /// If the fixture is no RSA key.
    pub fn service_account(server: &str) -> (String, Google) {
        let body: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(body).expect("the fixture is base64");
        let key = ring::signature::RsaKeyPair::from_pkcs8(&der).expect("the fixture is an RSA key");
        let file = json!({"type": "service_account", "project_id": "project-1", "private_key_id": "key-1", "private_key": KEY,
            "client_email": "tests@project-1.iam.gserviceaccount.com", "token_uri": server});
        let google = Google {
            account: Some(key.public().as_ref().to_vec()),
            lasts: 3_600,
            ..Google::default()
        };
        (file.to_string(), google)
    }

    /// Returns the file of a user's login, and its credentials.
    pub fn user(server: &str) -> (String, Google) {
        let refresh = "1//0refresh-token-of-the-tests-0123456789";
        let file = json!({"type": "authorized_user", "client_id": "client.apps.googleusercontent.com", "client_secret": "d-client-secret-01",
            "refresh_token": refresh, "quota_project_id": "project-1", "token_uri": server});
        let google = Google {
            refresh: refresh.to_owned(),
            lasts: 3_600,
            ..Google::default()
        };
        (file.to_string(), google)
    }
}

impl Cloud {
    /// Azure OpenAI, which requires this header.
    pub fn azure(header: &'static str, value: &str) -> Self {
        Cloud::new(Kind::Azure {
            header,
            value: value.to_owned(),
        })
    }

    /// Amazon Bedrock.
    pub fn bedrock(signs: Signs) -> Self {
        Cloud::new(Kind::Bedrock(signs))
    }

    /// Google Vertex AI; `POST /token` on the same server issues tokens.
    pub fn vertex(google: Google) -> Self {
        Cloud::new(Kind::Vertex(google))
    }

    fn new(kind: Kind) -> Self {
        Cloud {
            kind,
            seen: Mutex::default(),
            issued: AtomicUsize::new(0),
        }
    }

    /// All requests so far, including those for tokens.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Revokes the last issued token.
    pub fn revoke(&self) {
        self.issued.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of tokens issued or revoked.
    pub fn issued(&self) -> usize {
        self.issued.load(Ordering::SeqCst)
    }

    /// Translates a request to the model vendor's form; an error is the response to send instead.
    pub(super) fn admit(&self, wire: Wire, mut asked: Asked) -> Result<Asked, Plan> {
        let seen = Seen {
            path: asked.path.clone(),
            headers: asked.headers.clone(),
            body: asked.body.clone(),
        };
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(seen.clone());
        let path = asked.path.split('?').next().unwrap_or_default().to_owned();
        match &self.kind {
            Kind::Azure { header, value } => {
                if seen.header(header) != value {
                    let said = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an \
                                active subscription and use a correct regional API endpoint for your resource.";
                    return Err(azure_error(401, "401", said));
                }
                let rest = path.strip_prefix("/openai").filter(|rest| rest.starts_with("/v1/"));
                asked.path = rest
                    .ok_or_else(|| azure_error(404, "404", "Resource not found"))?
                    .to_owned();
            }
            Kind::Bedrock(signs) => {
                signs.admit(&asked.method, &seen)?;
                let openai = path.strip_prefix("/openai").filter(|rest| rest.starts_with("/v1/"));
                let model = path
                    .strip_prefix("/model/")
                    .and_then(|rest| rest.strip_suffix("/invoke-with-response-stream"));
                match (openai, model) {
                    (Some(openai), _) => asked.path = openai.to_owned(),
                    (None, Some(model)) => {
                        let model = percent_decode_str(model).decode_utf8_lossy().into_owned();
                        let body = claude(&asked.body, "bedrock-2023-05-31", false);
                        asked.body = body.map_err(|said| aws_error(400, &said))?(&model);
                        asked.path = "/v1/messages".to_owned();
                    }
                    (None, None) => return Err(aws_error(404, "no such operation")),
                }
            }
            Kind::Vertex(google) => {
                if path == "/token" {
                    return Err(self.token(google, &asked.body));
                }
                if seen.header("authorization") != format!("Bearer {}", token(self.issued())) {
                    let said = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid \
                                authentication credential.";
                    return Err(google_error(401, "UNAUTHENTICATED", said));
                }
                let rest = path.strip_prefix(&google.place).unwrap_or_default();
                let maker = rest
                    .strip_prefix("/publishers/")
                    .and_then(|rest| rest.split_once("/models/"));
                match (maker, wire) {
                    (Some(("google", method)), Wire::Gemini) => asked.path = format!("/v1beta/models/{method}?alt=sse"),
                    (Some(("anthropic", method)), Wire::Anthropic) => {
                        let model = method.strip_suffix(":streamRawPredict");
                        let model = model.ok_or_else(|| google_error(404, "NOT_FOUND", "no such method"))?;
                        let body = claude(&asked.body, "vertex-2023-10-16", true);
                        asked.body = body.map_err(|said| google_error(400, "INVALID_ARGUMENT", &said))?(model);
                        asked.path = "/v1/messages".to_owned();
                    }
                    _ if rest == "/endpoints/openapi/chat/completions" => {
                        asked.path = "/v1/chat/completions".to_owned()
                    }
                    _ => return Err(google_error(404, "NOT_FOUND", &format!("{path} was not found"))),
                }
            }
        }
        Ok(asked)
    }

    /// Translates a response of the model vendor to the cloud's form.
    pub(super) fn dress(&self, wire: Wire, mut plan: Plan) -> Plan {
        let Kind::Bedrock(_) = &self.kind else {
            return plan;
        };
        let status = plan.status.unwrap_or(200);
        if status != 200 {
            let text = String::from_utf8_lossy(&plan.head).into_owned();
            let body: Value =
                serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap_or_default()).unwrap_or_default();
            return aws_error(status, body["error"]["message"].as_str().unwrap_or("?"));
        }
        if wire != Wire::Anthropic || !plan.streams {
            return plan;
        }
        let head =
            String::from_utf8_lossy(&plan.head).replace("text/event-stream", "application/vnd.amazon.eventstream");
        plan.head = head.into_bytes();
        plan.frames = plan.frames.iter().map(|frame| reframed(frame)).collect();
        if !plan.half.is_empty() {
            let mut half = reframed(&plan.half);
            half.truncate(half.len() / 2);
            plan.half = half;
        }
        plan
    }

    fn token(&self, google: &Google, form: &[u8]) -> Plan {
        if let Some((status, body)) = &google.refuses {
            return Plan::whole(*status, &[], body);
        }
        let form = String::from_utf8_lossy(form).replace('+', " ");
        let field = |name: &str| {
            let pair = form
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .find(|(own, _)| *own == name);
            pair.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy().into_owned())
                .unwrap_or_default()
        };
        let is_known = match &google.account {
            Some(key) => {
                field("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer"
                    && is_signed(&field("assertion"), key)
            }
            None => field("grant_type") == "refresh_token" && field("refresh_token") == google.refresh,
        };
        if !is_known {
            let body = json!({"error": "invalid_grant", "error_description": "Bad Request"});
            return Plan::whole(400, &[], &body.to_string());
        }
        let number = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
        let body = json!({"access_token": token(number), "expires_in": google.lasts, "token_type": "Bearer"});
        Plan::whole(200, &[], &body.to_string())
    }
}

/// The token with this number.
fn token(number: usize) -> String {
    format!("ya29.a0-number-{number:04}-of-the-tokens")
}

/// Returns whether a JSON Web Token is signed with RS256 by this key, and currently valid.
fn is_signed(word: &str, key: &[u8]) -> bool {
    let Some((text, signature)) = word.rsplit_once('.') else {
        return false;
    };
    let Some((head, claims)) = text.split_once('.') else {
        return false;
    };
    let part = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
    };
    let (head, claims) = (part(head), part(claims));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map(|since| since.as_secs()).unwrap_or_default();
    let time = |name: &str| claims[name].as_u64().unwrap_or_default();
    let holds = time("iat") <= now + 5 && time("exp") > now && time("exp") - time("iat") <= 3_600;
    let names = head["alg"] == "RS256" && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform";
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, key);
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
    holds
        && names
        && claims["aud"].as_str().is_some_and(|to| to.ends_with("/token"))
        && public.verify(text.as_bytes(), &signature).is_ok()
}

type Rewrite = Box<dyn FnOnce(&str) -> Vec<u8>>;

/// Checks the body of a Claude request for a cloud and translates it to the vendor's form.
fn claude(body: &[u8], version: &str, streams: bool) -> Result<Rewrite, String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else {
        return Err("Malformed input request, please reformat your input and try again.".to_owned());
    };
    if fields.shift_remove("anthropic_version") != Some(Value::from(version)) {
        return Err("anthropic_version: Field required".to_owned());
    }
    for extraneous in ["model", if streams { "" } else { "stream" }] {
        if fields.contains_key(extraneous) {
            return Err(format!("{extraneous}: Extra inputs are not permitted"));
        }
    }
    fields.shift_remove("anthropic_beta");
    Ok(Box::new(move |model| {
        fields.shift_insert(0, "model".to_owned(), json!(model));
        fields.insert("stream".to_owned(), json!(true));
        Value::Object(fields).to_string().into_bytes()
    }))
}

fn azure_error(status: u16, code: &str, said: &str) -> Plan {
    Plan::whole(
        status,
        &[],
        &json!({"error": {"code": code, "message": said}}).to_string(),
    )
}

fn google_error(status: u16, kind: &str, said: &str) -> Plan {
    Plan::whole(
        status,
        &[],
        &json!({"error": {"code": status, "message": said, "status": kind}}).to_string(),
    )
}

fn aws_error(status: u16, said: &str) -> Plan {
    let (status, kind) = match status {
        400 | 413 => (400, "ValidationException"),
        401 | 403 => (403, "AccessDeniedException"),
        404 => (404, "ResourceNotFoundException"),
        429 => (429, "ThrottlingException"),
        503 | 529 => (503, "ServiceUnavailableException"),
        _ => (500, "InternalServerException"),
    };
    let kind = format!("{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/");
    Plan::whole(
        status,
        &[("x-amzn-errortype", kind)],
        &json!({"message": said}).to_string(),
    )
}

impl Signs {
    fn admit(&self, method: &str, seen: &Seen) -> Result<(), Plan> {
        if let Some(bearer) = &self.bearer {
            let is_right = seen.header("authorization") == format!("Bearer {bearer}");
            return is_right
                .then_some(())
                .ok_or_else(|| aws_error(403, "Authentication failed: Please make sure your API Key is valid."));
        }
        if self.is_late {
            let date = seen.header("x-amz-date");
            let said =
                format!("Signature expired: {date} is now earlier than 20991231T235959Z (20991231T240459Z - 5 min.)");
            let ahead = time::OffsetDateTime::now_utc() + time::Duration::minutes(20);
            let ahead = ahead
                .format(&time::format_description::well_known::Rfc2822)
                .unwrap_or_default();
            let headers = [
                ("x-amzn-errortype", "InvalidSignatureException".to_owned()),
                ("date", ahead.replace("+0000", "GMT")),
            ];
            return Err(Plan::whole(403, &headers, &json!({"message": said}).to_string()));
        }
        if seen.header("x-amz-security-token") != self.session.as_deref().unwrap_or_default() {
            return Err(aws_error(403, "The security token included in the request is invalid."));
        }
        let (id, wanted) = (
            format!("Credential={}/", self.id),
            self.signature(method, seen, "bedrock"),
        );
        let given = seen.header("authorization");
        if wanted.is_some_and(|wanted| given.contains(&id) && given.ends_with(&format!("Signature={wanted}"))) {
            return Ok(());
        }
        Err(aws_error(
            403,
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
        ))
    }

    /// The expected AWS Signature Version 4 of a request; `None` without a valid authorization header.
    pub fn signature(&self, method: &str, seen: &Seen, service: &str) -> Option<String> {
        let given = seen.header("authorization").strip_prefix("AWS4-HMAC-SHA256 ")?;
        let field = |name: &str| given.split(", ").find_map(|field| field.strip_prefix(name));
        let scope: Vec<&str> = field("Credential=")?.split('/').skip(1).collect();
        let [day, region, own, "aws4_request"] = scope.as_slice() else {
            return None;
        };
        if (*region, *own) != (self.region.as_str(), service) {
            return None;
        }
        let signed = field("SignedHeaders=")?;
        let headers: String = signed
            .split(';')
            .map(|name| format!("{name}:{}\n", plain(seen.header(name))))
            .collect();
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
        pairs.sort_unstable();
        let body = hex(&Sha256::digest(&seen.body));
        let canonical = format!(
            "{method}\n{}\n{}\n{headers}\n{signed}\n{body}",
            encoded(path),
            pairs.join("&")
        );
        let scope = format!("{day}/{region}/{own}/aws4_request");
        let (date, hash) = (seen.header("x-amz-date"), hex(&Sha256::digest(canonical.as_bytes())));
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{hash}");
        let first = hmac(format!("AWS4{}", self.secret).as_bytes(), day.as_bytes());
        let key = [*region, *own, "aws4_request"]
            .iter()
            .fold(first, |key, part| hmac(&key, part.as_bytes()));
        Some(hex(&hmac(&key, text.as_bytes())))
    }
}

/// A header value as it is signed: trimmed, and with runs of spaces collapsed.
fn plain(value: &str) -> String {
    value
        .split(' ')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A path with everything in it encoded once more.
fn encoded(path: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => (byte as char).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(one).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0u8; 64];
    match key.len() > 64 {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize()
        .to_vec()
}

/// A server-sent event as an AWS event stream frame. An error becomes an exception.
fn reframed(event: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(event);
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let data = data.join("\n");
    let value: Value = serde_json::from_str(&data).unwrap_or_default();
    if value["type"] == "error" {
        let kind = match value["error"]["type"].as_str() {
            Some("rate_limit_error") => "throttlingException",
            Some("overloaded_error") => "serviceUnavailableException",
            Some("invalid_request_error") => "validationException",
            _ => "internalServerException",
        };
        let payload = json!({"message": value["error"]["message"]}).to_string();
        return event_frame(
            &[(":message-type", "exception"), (":exception-type", kind)],
            payload.as_bytes(),
        );
    }
    chunk_frame(&data)
}

/// A Bedrock frame with a piece of a response.
pub fn chunk_frame(data: &str) -> Vec<u8> {
    let payload = json!({"bytes": STANDARD.encode(data), "p": "abcdefghij"}).to_string();
    let headers = [
        (":event-type", "chunk"),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    event_frame(&headers, payload.as_bytes())
}

/// An event stream frame: lengths, their checksum, headers, payload, and a checksum of the whole.
pub fn event_frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut named = Vec::new();
    for (name, value) in headers {
        named.push(name.len() as u8);
        named.extend(name.as_bytes());
        // The type of a string value.
        named.push(7);
        named.extend((value.len() as u16).to_be_bytes());
        named.extend(value.as_bytes());
    }
    let mut frame = Vec::new();
    frame.extend(((16 + named.len() + payload.len()) as u32).to_be_bytes());
    frame.extend((named.len() as u32).to_be_bytes());
    frame.extend(crc32(&frame).to_be_bytes());
    frame.extend(named);
    frame.extend(payload);
    frame.extend(crc32(&frame).to_be_bytes());
    frame
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get-vanilla` and `get-vanilla-with-session-token` of AWS's published test suite for Signature Version 4, and
    /// the check value of CRC-32.
    #[test]
    fn signatures_and_checksums_are_those_of_the_published_tests() {
        let signs = Signs {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session: None,
            region: "us-east-1".to_owned(),
            bearer: None,
            is_late: false,
        };
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let seen = Seen {
            path: "/".to_owned(),
            headers: vec![
                header("host", "example.amazonaws.com"),
                header("x-amz-date", "20150830T123600Z"),
                header(
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, \
                     Signature=?",
                ),
            ],
            body: Vec::new(),
        };
        let signature = signs.signature("GET", &seen, "service").unwrap();
        assert_eq!(
            signature,
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
