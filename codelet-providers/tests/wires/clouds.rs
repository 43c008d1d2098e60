//! Clouds that serve the models on these wires: who is let in, what is sent, what comes back, and what goes wrong.

use crate::kit::{ask, beginning, block_on, request};
use codelet_agent::model::{ModelError, Stop};
use codelet_context::message::{Message, ToolResult};
use codelet_providers::host::aws::{AwsKeys, AwsSource};
use codelet_providers::host::google::GoogleCredentials;
use codelet_providers::{Choice, ConnectError, Secret, Site, Wire, connect, reach};
use codelet_testkit::server::{self, Behaviour, Cloud, Fault, Google, Refusal, Reply, Server, Signs, Trouble};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CLAUDE: &str = "us.anthropic.claude-opus-5-5";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const SESSION: &str = "FwoGZXIvYXdzEBYaDsession-token-of-the-tests-0123";

fn signs() -> Signs {
    Signs {
        id: "AKIDEXAMPLE".to_owned(),
        secret: SECRET.to_owned(),
        session: Some(SESSION.to_owned()),
        region: "us-east-1".to_owned(),
        bearer: None,
        is_late: false,
    }
}

fn keys(secret: &str) -> AwsKeys {
    AwsKeys {
        id: "AKIDEXAMPLE".to_owned(),
        secret: Secret::new(secret),
        session: Some(Secret::new(SESSION)),
    }
}

/// Bedrock on loopback, and how it is asked.
fn bedrock(wire: server::Wire, model: &str, signs: Signs, behaviour: Behaviour) -> (Server, Arc<Cloud>, Choice) {
    let cloud = Arc::new(Cloud::bedrock(signs));
    let server = Server::start(wire, behaviour.cloud(&cloud));
    let choice = Choice {
        model: format!("bedrock/{model}"),
        base_url: Some(server.url()),
        site: Site {
            region: Some("us-east-1".to_owned()),
            aws: Some(AwsSource::new(|| Ok(keys(SECRET)))),
            ..Site::default()
        },
        ..Choice::default()
    };
    (server, cloud, choice)
}

/// Vertex on loopback with the credentials of a file, and how it is asked.
fn vertex(
    wire: server::Wire,
    model: &str,
    is_user: bool,
    change: impl Fn(&mut Google),
    behaviour: Behaviour,
) -> (Server, Arc<Cloud>, Choice) {
    let file = |server: &str| match is_user {
        true => Google::user(server),
        false => Google::service_account(server),
    };
    let mut google = file("").1;
    google.place = "/v1/projects/project-1/locations/europe-west1".to_owned();
    change(&mut google);
    let cloud = Arc::new(Cloud::vertex(google));
    let server = Server::start(wire, behaviour.cloud(&cloud));
    let (file, _) = file(&format!("{}/token", server.url()));
    let credentials = GoogleCredentials::read(&file).unwrap();
    let choice = Choice {
        model: format!("vertex/{model}"),
        base_url: Some(server.url()),
        site: Site {
            region: Some("europe-west1".to_owned()),
            project: credentials.project().map(str::to_owned),
            google: Some(credentials),
            ..Site::default()
        },
        ..Choice::default()
    };
    (server, cloud, choice)
}

/// What comes of one request.
fn once(choice: &Choice) -> Result<String, ModelError> {
    block_on(async {
        let model = connect(choice).await.unwrap();
        let outcome = ask(&*model, request(beginning())).await;
        outcome.end.map(|_| outcome.text)
    })
}

fn hello() -> Behaviour {
    Behaviour::replies([Reply::text("It is done.")])
}

#[test]
fn a_deployment_of_azure_is_asked_with_a_key_or_a_token() {
    for (vendor, wire, kind, is_token, header, value) in [
        (
            "azure",
            server::Wire::Responses,
            Wire::Responses,
            false,
            "api-key",
            "azure-key-0123456789",
        ),
        (
            "azure-chat",
            server::Wire::Chat,
            Wire::Chat,
            false,
            "api-key",
            "azure-key-0123456789",
        ),
        (
            "azure",
            server::Wire::Responses,
            Wire::Responses,
            true,
            "authorization",
            "Bearer azure-key-0123456789",
        ),
    ] {
        let cloud = Arc::new(Cloud::azure(header, value));
        let server = Server::start(wire, hello().cloud(&cloud));
        let choice = Choice {
            model: format!("{vendor}/gpt-5.4"),
            base_url: Some(server.url()),
            key: Some(Secret::new("azure-key-0123456789")),
            is_token,
            ..Choice::default()
        };
        assert_eq!(once(&choice).unwrap(), "It is done.", "{vendor}");
        assert_eq!(server.record().faults(), "");
        let seen = &cloud.seen()[0];
        let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(body["model"], "gpt-5.4");
        assert_eq!(
            seen.header(if is_token { "api-key" } else { "authorization" }),
            "",
            "one of the two is sent"
        );
        let profile = block_on(connect(&choice)).unwrap().profile().clone();
        assert_eq!(
            (profile.name, profile.window, profile.is_unknown),
            (format!("{vendor}/gpt-5.4"), 1_050_000, false)
        );
        assert!(profile.price.is_some());
        assert_eq!(kind == Wire::Responses, seen.path.ends_with("/openai/v1/responses"));
    }
}

#[test]
fn a_key_that_azure_refuses_is_told_so_and_not_shown() {
    let cloud = Arc::new(Cloud::azure("api-key", "another"));
    let server = Server::start(server::Wire::Responses, hello().cloud(&cloud));
    let choice = Choice {
        model: "azure/prod-coder".to_owned(),
        base_url: Some(server.url()),
        key: Some(Secret::new("azure-key-0123456789")),
        ..Choice::default()
    };
    let error = once(&choice).unwrap_err();
    assert!(
        matches!(&error, ModelError::Credentials { said } if said.contains("invalid subscription key")),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("azure-key"), "{error:?}");
    assert!(
        block_on(connect(&choice)).unwrap().profile().is_unknown,
        "no list has a deployment of this name"
    );
}

#[test]
fn a_session_with_claude_on_bedrock_is_signed_and_goes_on_as_it_began() {
    let behaviour = Behaviour::replies([
        Reply::new()
            .thinks("I look first.")
            .calls("Read", json!({"path": "a.rs"})),
        Reply::text("It is done."),
    ]);
    let (server, cloud, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), behaviour);
    block_on(async {
        let model = connect(&choice).await.unwrap();
        let mut messages = beginning();
        let outcome = ask(&*model, request(messages.clone())).await;
        assert_eq!((outcome.thinking.as_str(), outcome.calls.len()), ("I look first.", 1));
        let reply = outcome.end.unwrap();
        let id = reply.message.calls().next().unwrap().id.to_string();
        messages.push(reply.message);
        messages.push(Message::results(vec![ToolResult::new(
            &*id,
            Some(true),
            "fn main() {}",
        )]));
        let outcome = ask(&*model, request(messages)).await;
        assert_eq!(outcome.text, "It is done.");
        assert_eq!(outcome.end.unwrap().stop, Stop::Finished);
    });
    let record = server.record();
    assert_eq!(record.faults(), "");
    assert_eq!(
        record.exchanges[1].extends,
        Some(0),
        "what was sent before is sent again, byte for byte"
    );
    for seen in cloud.seen() {
        let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(body["anthropic_version"], "bedrock-2023-05-31");
        assert_eq!(body["anthropic_beta"], json!(["thinking-binding-controls-2026-08-01"]));
        assert_eq!((body.get("model"), body.get("stream")), (None, None));
        assert_eq!(
            (seen.header("anthropic-version"), seen.header("anthropic-beta")),
            ("", "")
        );
        let text = String::from_utf8_lossy(&seen.body);
        assert!(
            text.contains(r#""cache_control":{"type":"ephemeral"}"#),
            "the cache is marked as it is for its maker"
        );
        assert!(!text.contains(SECRET));
        assert!(seen.headers.iter().all(|(_, value)| !value.contains(SECRET)));
    }
}

#[test]
fn openais_models_on_bedrock_are_asked_on_their_own_wires() {
    for (wire, model) in [
        (server::Wire::Responses, "openai.gpt-5.4"),
        (server::Wire::Chat, "qwen.qwen3-coder-480b-a35b-v1:0"),
    ] {
        let (server, cloud, choice) = bedrock(wire, model, signs(), hello());
        assert_eq!(once(&choice).unwrap(), "It is done.", "{model}");
        assert_eq!(server.record().faults(), "");
        let body: serde_json::Value = serde_json::from_slice(&cloud.seen()[0].body).unwrap();
        assert_eq!(body["model"], model);
    }
}

#[test]
fn an_api_key_of_bedrock_goes_as_a_token() {
    let key = "bedrock-api-key-0123456789";
    let bearer = Signs {
        bearer: Some(key.to_owned()),
        ..signs()
    };
    let (_server, cloud, choice) = bedrock(server::Wire::Anthropic, CLAUDE, bearer, hello());
    let choice = Choice {
        key: Some(Secret::new(key)),
        ..choice
    };
    assert_eq!(once(&choice).unwrap(), "It is done.");
    assert_eq!(cloud.seen()[0].header("x-amz-date"), "", "nothing is signed");
}

#[test]
fn keys_that_are_wrong_and_a_clock_that_is_are_told_apart() {
    let (_server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), hello());
    let site = Site {
        aws: Some(AwsSource::new(|| Ok(keys("another-secret-key-of-nobody-01")))),
        ..choice.site.clone()
    };
    let error = once(&Choice { site, ..choice }).unwrap_err().to_string();
    assert!(
        error.contains("does not match the signature") && !error.contains("another-secret"),
        "{error}"
    );

    let late = Signs {
        is_late: true,
        ..signs()
    };
    let (_server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, late, hello());
    let error = once(&choice).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, ModelError::Credentials { .. }), "{said}");
    assert!(
        said.contains("this computer's clock is wrong (20 minutes slow): set it"),
        "{said}"
    );
}

#[test]
fn keys_are_looked_for_anew_with_each_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&asked);
    let behaviour = Behaviour::replies([Reply::text("one"), Reply::text("two")]);
    let (_server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), behaviour);
    let site = Site {
        aws: Some(AwsSource::new(move || match own.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(keys(SECRET)),
            _ => Err("the AWS profile work has no keys".to_owned()),
        })),
        ..choice.site.clone()
    };
    block_on(async {
        let model = connect(&Choice { site, ..choice }).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 0, "not before they are needed");
        for text in ["one", "two"] {
            assert_eq!(ask(&*model, request(beginning())).await.text, text);
        }
        let error = ask(&*model, request(beginning())).await.end.unwrap_err();
        assert!(
            error.to_string().contains("the AWS profile work has no keys"),
            "{error}"
        );
    });
}

#[test]
fn what_goes_wrong_at_bedrock_is_sorted_as_at_its_maker() {
    let one = |reply: Reply| {
        let (_server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), Behaviour::replies([reply]));
        once(&choice).unwrap_err()
    };
    let refused = |status: u16, said: &str| {
        let body = json!({"type": "error", "error": {"type": "x", "message": said}}).to_string();
        one(Reply::new().failing(Fault::Refuse(Refusal::status(status).body(body))))
    };
    for (status, said, is) in [
        (429, "Too many tokens, please wait before trying again.", "busy"),
        (
            429,
            "Too many tokens per day, please wait before trying again.",
            "refused",
        ),
        (503, "Bedrock is unable to process your request.", "busy"),
        (400, "Input is too long for requested model.", "too long"),
        (
            400,
            "The model returned the following errors: prompt is too long: 209131 tokens > 200000 maximum",
            "too long",
        ),
        (
            403,
            "You don't have access to the model with the specified model ID.",
            "refused",
        ),
        (404, "The model does not exist.", "refused"),
        (400, "The provided model identifier is invalid.", "refused"),
    ] {
        let error = refused(status, said);
        let found = match &error {
            ModelError::Busy { .. } => "busy",
            ModelError::TooLong { .. } => "too long",
            ModelError::Credentials { .. } => "credentials",
            ModelError::Refused { .. } => "refused",
            _ => "?",
        };
        assert_eq!(found, is, "{said}: {error:?}");
        assert!(error.to_string().contains("Exception"), "the kind is named: {error}");
    }
    let profile = refused(
        400,
        "Invocation of model ID anthropic.claude-opus-5-5 with on-demand throughput isn\u{2019}t supported.",
    );
    assert!(profile.to_string().contains("name an inference profile"), "{profile}");
    assert!(matches!(profile, ModelError::Refused { .. }), "{profile:?}");
}

#[test]
fn an_exception_in_a_stream_and_a_stream_that_is_cut_are_what_they_are_elsewhere() {
    let one = |reply: Reply| {
        let (_server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), Behaviour::replies([reply]));
        once(&choice)
    };
    let frames = server::Wire::Anthropic.frames(&Reply::text("Half of a sen")).len();
    for after in 0..frames {
        let error = one(Reply::text("Half of a sen").failing(Fault::Error(after, Trouble::Overloaded))).unwrap_err();
        assert!(matches!(error, ModelError::Busy { .. }), "{after}: {error:?}");
        for fault in [Fault::Cut(after), Fault::CutInside(after), Fault::End(after)] {
            match one(Reply::text("Half of a sen").failing(fault.clone())) {
                Ok(text) => assert_eq!(text, "Half of a sen", "{fault:?}"),
                Err(error) => assert!(matches!(error, ModelError::Cut { .. }), "{fault:?}: {error:?}"),
            }
        }
    }
}

#[test]
fn a_token_is_got_once_and_renewed_before_it_ends() {
    for (is_user, lasts, tokens) in [(false, 3_600, 1), (true, 3_600, 1), (false, 200, 2), (true, 0, 2)] {
        let behaviour = Behaviour::replies([Reply::text("one"), Reply::text("two")]);
        let change = |google: &mut Google| google.lasts = lasts;
        let (server, cloud, choice) = vertex(
            server::Wire::Anthropic,
            "claude-opus-4-5@20251101",
            is_user,
            change,
            behaviour,
        );
        block_on(async {
            let model = connect(&choice).await.unwrap();
            assert_eq!(cloud.issued(), 0, "not before it is needed");
            for text in ["one", "two"] {
                assert_eq!(ask(&*model, request(beginning())).await.text, text);
            }
        });
        assert_eq!(
            (cloud.issued(), server.record().faults()),
            (tokens, String::new()),
            "{is_user} {lasts}"
        );
        let seen = cloud.seen();
        let asked = seen
            .iter()
            .find(|seen| seen.path.ends_with(":streamRawPredict"))
            .unwrap();
        let body: serde_json::Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(
            (&body["anthropic_version"], &body["stream"]),
            (&json!("vertex-2023-10-16"), &json!(true))
        );
        assert_eq!(
            asked.header("x-goog-user-project"),
            if is_user { "project-1" } else { "" }
        );
    }
}

#[test]
fn a_token_that_was_taken_back_is_not_sent_again() {
    let behaviour = Behaviour::replies([Reply::text("one"), Reply::text("two")]);
    let (_server, cloud, choice) = vertex(server::Wire::Gemini, "gemini-2.5-pro", true, |_| {}, behaviour);
    block_on(async {
        let model = connect(&choice).await.unwrap();
        assert_eq!(ask(&*model, request(beginning())).await.text, "one");
        cloud.revoke();
        let error = ask(&*model, request(beginning())).await.end.unwrap_err();
        assert!(
            matches!(&error, ModelError::Credentials { said } if !said.contains("ya29")),
            "{error:?}"
        );
        assert_eq!(ask(&*model, request(beginning())).await.text, "two");
    });
}

#[test]
fn gemini_on_vertex_is_asked_by_its_maker_and_project() {
    let (server, cloud, choice) = vertex(server::Wire::Gemini, "gemini-2.5-pro", false, |_| {}, hello());
    assert_eq!(once(&choice).unwrap(), "It is done.");
    assert_eq!(server.record().faults(), "");
    let path = cloud.seen().last().unwrap().path.clone();
    let expected = "/v1/projects/project-1/locations/europe-west1/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    assert_eq!(path, expected);
}

#[test]
fn a_login_that_has_ended_says_how_to_renew_it() {
    let revoked = r#"{"error": "invalid_grant", "error_description": "Token has been expired or revoked."}"#;
    for (is_user, status, body, words) in [
        (true, 400, revoked, "run `gcloud auth application-default login`"),
        (false, 400, revoked, "check the service account's key file"),
        (
            false,
            400,
            r#"{"error": "invalid_grant", "error_description": "Invalid JWT: Token must be in a reasonable timeframe. Check your iat and exp values."}"#,
            "clock is wrong",
        ),
        (true, 200, "{}", "gave no token"),
    ] {
        let change = |google: &mut Google| google.refuses = Some((status, body.to_owned()));
        let (_server, _, choice) = vertex(server::Wire::Gemini, "gemini-2.5-pro", is_user, change, hello());
        let error = once(&choice).unwrap_err().to_string();
        assert!(
            error.contains(words) && !error.contains("refresh-token") && !error.contains("d-client-secret"),
            "{error}"
        );
    }
    let change = |google: &mut Google| google.refuses = Some((503, "busy".to_owned()));
    let (_server, _, choice) = vertex(server::Wire::Gemini, "gemini-2.5-pro", true, change, hello());
    assert!(
        matches!(once(&choice), Err(ModelError::Busy { .. })),
        "it is tried again"
    );
}

#[test]
fn a_cloud_is_reached_without_asking_a_model_anything() {
    let (server, _, choice) = bedrock(server::Wire::Anthropic, CLAUDE, signs(), Behaviour::replies([]));
    assert_eq!(block_on(reach(&choice)).unwrap(), Ok(()));
    let site = Site {
        aws: Some(AwsSource::new(|| Ok(keys("another-secret-key-of-nobody-01")))),
        ..choice.site.clone()
    };
    let error = block_on(reach(&Choice { site, ..choice })).unwrap().unwrap_err();
    assert!(matches!(error, ModelError::Credentials { .. }), "{error:?}");
    assert_eq!(server.record().accepted().count(), 0);
}

#[test]
fn what_a_place_costs_more_is_in_its_price() {
    let price = |model: &str, region: &str| {
        let choice = Choice {
            model: model.to_owned(),
            key: Some(Secret::new("some-key-0123456789")),
            site: Site {
                region: Some(region.to_owned()),
                project: Some("p-1".to_owned()),
                ..Site::default()
            },
            ..Choice::default()
        };
        block_on(connect(&choice))
            .unwrap()
            .profile()
            .price
            .clone()
            .unwrap()
            .rates
    };
    let own = price("anthropic/claude-opus-5-5", "");
    let (area, everywhere) = (
        price("bedrock/us.anthropic.claude-opus-5-5", "us-east-1"),
        price("bedrock/global.anthropic.claude-opus-5-5", "us-east-1"),
    );
    assert_eq!(everywhere.output, own.output);
    assert!((area.output / own.output - 1.1).abs() < 1e-9 && (area.cache_read / own.cache_read - 1.1).abs() < 1e-9);
    assert_eq!(price("vertex/claude-opus-5-5", "global").input, own.input);
}

#[test]
fn what_is_missing_is_told_with_what_to_do() {
    let failed = |model: &str, site: Site, key: Option<&str>| {
        let choice = Choice {
            model: model.to_owned(),
            key: key.map(Secret::new),
            site,
            ..Choice::default()
        };
        block_on(connect(&choice)).err().unwrap()
    };
    let missing = Site {
        missing: Some("the AWS profile work has no keys".to_owned()),
        ..Site::default()
    };
    let error = failed("bedrock/m", missing, None);
    assert_eq!(
        error.to_string(),
        "bedrock cannot be asked: the AWS profile work has no keys"
    );
    let variable = "AZURE_OPENAI_API_KEY";
    assert_eq!(
        failed("azure/m", Site::default(), None),
        ConnectError::NoKey {
            vendor: "azure",
            variable
        }
    );
    for (model, words) in [
        ("azure/m", "$AZURE_OPENAI_ENDPOINT"),
        ("bedrock/m", "$AWS_REGION"),
        ("vertex/m", "$GOOGLE_CLOUD_PROJECT"),
    ] {
        let error = failed(model, Site::default(), Some("key-0123456789")).to_string();
        assert!(error.contains(words), "{error}");
    }
}
