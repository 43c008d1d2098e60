//! Azure, Bedrock and Vertex, the real program, and each of them played on loopback: keys come from where their own tools keep
//! them, and are shown nowhere.

use crate::common::agent::Bench;
use crate::common::{ended, stderr, stdout};
use codelet_testkit::server::{Behaviour, Cloud, Google, Reply, Server, Signs, Wire};
use serde_json::{Value, json};
use std::process::Output;
use std::sync::Arc;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const SESSION: &str = "FwoGZXIvYXdzEBYaDsession-token-of-the-tests-0123";
const AZURE_KEY: &str = "azure-key-0123456789abcdef";
const DONE: &str = "It is done.";

fn keep(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Looks at whatever is there with a command, then is done.
fn curious(line: &str) -> Behaviour {
    Behaviour::replies([Reply::call("Bash", json!({ "command": line })), Reply::text(DONE)])
}

fn run(bench: &Bench, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = bench.command(args);
    command.envs(variables.iter().copied()).output().unwrap()
}

/// A prompt that is answered after a command, with no fault that the cloud would have found.
fn looked_around(bench: &Bench, server: &Server, model: &str, variables: &[(&str, &str)]) -> Output {
    let output = run(
        bench,
        &["-p", "Look around.", "--model", model, "--permission", "all"],
        variables,
    );
    ended(&output, 0);
    assert_eq!(
        (stdout(&output).trim(), server.record().faults()),
        (DONE, String::new())
    );
    output
}

/// What was printed and what was sent to a model holds none of these.
fn hidden(output: &Output, server: &Server, secrets: &[&str]) {
    let printed = [stdout(output), stderr(output)].concat();
    let record = server.record();
    let sent = record
        .exchanges
        .iter()
        .map(|exchange| String::from_utf8_lossy(&exchange.request.body).into_owned());
    let all: Vec<String> = sent.chain([printed]).collect();
    for secret in secrets {
        assert!(all.iter().all(|text| !text.contains(secret)), "{secret} is shown");
    }
}

/// State and text of a point of `codelet doctor --json`.
fn point(output: &Output, name: &str) -> String {
    let points: Value = serde_json::from_str(stdout(output)).unwrap();
    let point = points
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["check"] == name)
        .unwrap();
    format!(
        "{}: {}",
        point["state"].as_str().unwrap(),
        point["text"].as_str().unwrap()
    )
}

fn bedrock(behaviour: Behaviour) -> (Server, Arc<Cloud>) {
    let cloud = Arc::new(Cloud::bedrock(Signs {
        id: "AKIDEXAMPLE".to_owned(),
        secret: SECRET.to_owned(),
        session: Some(SESSION.to_owned()),
        region: "eu-west-1".to_owned(),
        bearer: None,
        is_late: false,
    }));
    (Server::start(Wire::Anthropic, behaviour.cloud(&cloud)), cloud)
}

fn aws(bench: &Bench) {
    let keys = format!(
        "[work]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {SECRET}\naws_session_token = {SESSION}\n"
    );
    keep(bench, ".aws/credentials", &keys);
    keep(
        bench,
        ".aws/config",
        "[profile work]\nregion = eu-west-1\n[profile corp]\nsso_session = corp\nregion = eu-west-1\n",
    );
}

const CLAUDE: &str = "bedrock/eu.anthropic.claude-opus-5-5";

#[test]
fn claude_on_bedrock_works_by_a_profile_whose_keys_are_shown_nowhere() {
    let bench = Bench::new();
    aws(&bench);
    let (server, cloud) = bedrock(curious("cat \"$HOME/.aws/credentials\"; env"));
    let (url, profile) = (server.url(), ("AWS_PROFILE", "work"));
    let variables = [profile, ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str())];
    let output = run(
        &bench,
        &[
            "-p", "Look around.", "--model", CLAUDE, "--permission", "all", "--output", "json",
        ],
        &variables,
    );
    ended(&output, 0);
    let result: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert!(result.to_string().contains(DONE), "{result}");
    assert_eq!(server.record().faults(), "");
    assert_eq!(cloud.seen().len(), 2);
    hidden(&output, &server, &[SECRET, SESSION]);
    let second = String::from_utf8_lossy(&server.record().exchanges[1].request.body).into_owned();
    assert!(
        second.contains("aws_secret_access_key = ["),
        "the command has read the file: {second}"
    );

    let settings = run(&bench, &["settings"], &variables);
    let row = stdout(&settings)
        .lines()
        .find(|line| line.starts_with("keys.bedrock"))
        .unwrap()
        .to_owned();
    assert!(row.contains(" set ") && row.contains("the AWS profile work"), "{row}");
    hidden(&settings, &server, &[SECRET, SESSION]);
}

#[test]
fn doctor_tells_whether_bedrock_lets_somebody_in() {
    let bench = Bench::new();
    aws(&bench);
    bench.settings(&format!("model = {CLAUDE:?}\n"));
    let (server, _) = bedrock(Behaviour::replies([]));
    let url = server.url();
    let at = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str());
    let output = run(&bench, &["doctor", "--json"], &[("AWS_PROFILE", "work"), at]);
    assert_eq!(point(&output, "key"), "ok: the AWS profile work (for bedrock)");
    assert!(
        point(&output, "provider").starts_with(&format!("ok: {url} answered in ")),
        "{}",
        point(&output, "provider")
    );
    assert!(
        point(&output, "model").starts_with(&format!("ok: {CLAUDE} ")),
        "{}",
        point(&output, "model")
    );
    let wrong = [
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "wrong-secret-0123456789"),
        ("AWS_REGION", "eu-west-1"),
        at,
    ];
    let output = run(&bench, &["doctor", "--json"], &wrong);
    assert_eq!(point(&output, "key"), "ok: $AWS_ACCESS_KEY_ID (for bedrock)");
    assert!(
        point(&output, "provider").starts_with("problem: "),
        "{}",
        point(&output, "provider")
    );
    hidden(&output, &server, &["wrong-secret-0123456789"]);
    let output = run(&bench, &["doctor", "--json"], &[("AWS_PROFILE", "corp")]);
    assert!(
        point(&output, "key").contains("gets its keys from single sign-on"),
        "{}",
        point(&output, "key")
    );
    assert_eq!(server.record().accepted().count(), 0);
}

#[test]
fn vertex_works_by_a_service_account_and_by_a_users_login() {
    for (is_user, wire, model) in [
        (false, Wire::Anthropic, "vertex/claude-opus-4-5@20251101"),
        (true, Wire::Gemini, "vertex/gemini-2.5-pro"),
    ] {
        let bench = Bench::new();
        let file = |server: &str| match is_user {
            true => Google::user(server),
            false => Google::service_account(server),
        };
        let mut google = file("").1;
        google.place = "/v1/projects/project-1/locations/global".to_owned();
        let refresh = google.refresh.clone();
        let cloud = Arc::new(Cloud::vertex(google));
        let name = if is_user {
            ".config/gcloud/application_default_credentials.json"
        } else {
            "account.json"
        };
        let server = Server::start(
            wire,
            curious(&format!(
                "cat \"$HOME/{name}\"; env; y=ya; echo \"${{y}}29.a0-number-0001-of-the-tokens\""
            ))
            .cloud(&cloud),
        );
        let (text, _) = file(&format!("{}/token", server.url()));
        let path = keep(&bench, name, &text);
        let url = server.url();
        let mut variables = vec![("GOOGLE_VERTEX_BASE_URL", url.as_str())];
        if !is_user {
            variables.push(("GOOGLE_APPLICATION_CREDENTIALS", path.as_str()));
        }
        let output = looked_around(&bench, &server, model, &variables);
        assert_eq!(cloud.issued(), 1, "one token for both requests");
        let file: Value = serde_json::from_str(&text).unwrap();
        let line = file["private_key"]
            .as_str()
            .map(|key| key.lines().nth(1).unwrap().to_owned());
        let secrets = [
            line,
            Some(refresh).filter(|refresh| !refresh.is_empty()),
            file["client_secret"].as_str().map(str::to_owned),
        ];
        let secrets: Vec<&str> = secrets.iter().flatten().map(String::as_str).chain(["ya29."]).collect();
        hidden(&output, &server, &secrets);
    }
}

#[test]
fn a_deployment_of_azure_works_by_the_resources_address_and_key() {
    for (model, wire, variable, header, value) in [
        (
            "azure/gpt-5.4",
            Wire::Responses,
            "AZURE_OPENAI_API_KEY",
            "api-key",
            AZURE_KEY.to_owned(),
        ),
        (
            "azure-chat/gpt-5.4",
            Wire::Chat,
            "AZURE_OPENAI_AD_TOKEN",
            "authorization",
            format!("Bearer {AZURE_KEY}"),
        ),
    ] {
        let bench = Bench::new();
        let cloud = Arc::new(Cloud::azure(header, &value));
        let server = Server::start(wire, curious("env").cloud(&cloud));
        let url = server.url();
        let variables = [("AZURE_OPENAI_ENDPOINT", url.as_str()), (variable, AZURE_KEY)];
        let output = looked_around(&bench, &server, model, &variables);
        hidden(&output, &server, &[AZURE_KEY]);
    }
}

#[test]
fn what_is_missing_for_a_cloud_is_said_with_what_to_do() {
    let bench = Bench::new();
    aws(&bench);
    let external = keep(
        &bench,
        "external.json",
        r#"{"type": "external_account", "audience": "s3cret"}"#,
    );
    let key = ("AZURE_OPENAI_API_KEY", AZURE_KEY);
    for (model, variables, words) in [
        ("bedrock/m", vec![], "no AWS keys: set $AWS_BEARER_TOKEN_BEDROCK, or "),
        (
            "bedrock/m",
            vec![("AWS_PROFILE", "nobody")],
            "there is no AWS profile nobody in ~/.aws/credentials or ~/.aws/config",
        ),
        (
            "bedrock/m",
            vec![("AWS_PROFILE", "corp")],
            "aws configure export-credentials --profile corp --format env",
        ),
        (
            "bedrock/m",
            vec![("AWS_BEARER_TOKEN_BEDROCK", "k")],
            "its region is not known: set $AWS_REGION",
        ),
        (
            "bedrock/m",
            vec![("AWS_BEARER_TOKEN_BEDROCK", "k"), ("AWS_REGION", "x.evil/")],
            "\"x.evil/\" is not a valid region: check $AWS_REGION",
        ),
        (
            "vertex/m",
            vec![],
            "no Google credentials: run `gcloud auth application-default login`",
        ),
        (
            "vertex/m",
            vec![("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")],
            "/nowhere.json: it cannot be read",
        ),
        (
            "vertex/m",
            vec![("GOOGLE_APPLICATION_CREDENTIALS", &external)],
            "external_account, which is not supported",
        ),
        (
            "vertex/m",
            vec![("CLOUDSDK_AUTH_ACCESS_TOKEN", "t")],
            "its project is not known: set $GOOGLE_CLOUD_PROJECT",
        ),
        ("azure/m", vec![], "no API key for azure: set $AZURE_OPENAI_API_KEY"),
        ("azure/m", vec![key], "set $AZURE_OPENAI_ENDPOINT to the resource's"),
        (
            "azure/m",
            vec![
                key,
                (
                    "AZURE_OPENAI_ENDPOINT",
                    "https://r.openai.azure.com/openai/deployments/d?api-version=1",
                ),
            ],
            "use the resource's address",
        ),
    ] {
        let output = run(&bench, &["-p", "x", "--model", model], &variables);
        assert_ne!(output.status.code(), Some(0), "{words}");
        let told = stderr(&output);
        assert!(
            told.contains(words) && !told.contains("s3cret") && !told.contains(AZURE_KEY),
            "{words}: {told}"
        );
    }
}

#[test]
fn the_list_of_models_says_how_clouds_are_asked() {
    let bench = Bench::new();
    aws(&bench);
    let output = run(&bench, &["models"], &[("AWS_PROFILE", "work")]);
    let text = stdout(&output);
    for words in [
        "azure        set $AZURE_OPENAI_API_KEY and $AZURE_OPENAI_ENDPOINT",
        "bedrock      the AWS profile work",
        "vertex       set $CLOUDSDK",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_file_of_keys_is_hidden_as_a_whole_also_once_a_program_has_renewed_it() {
    const OTHER: &str = "other/profile/Secret/0123456789abcdefABC";
    const OLD: &str = "OLDabcdefghijklmnopqrstuvwxyzabcdefghijk";
    const RENEWED: &str = "renewed/Secret/Key/of/another/hour/98765";
    const FROM_LOGIN: &str = "ya29.another-login-0123456789";
    const OF_SETTINGS: &str = "sk-new-key-of-the-settings-0123456789";
    const OF_SERVER: &str = "token-of-an-mcp-server-0123456789";
    let bench = Bench::new();
    aws(&bench);
    let profiles = |work: &str, session: &str| {
        format!(
            "[work]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {work}\naws_session_token = {session}\n\
             [prod]\naws_access_key_id = AKIDOTHER\n aws_secret_access_key= {OTHER} ; ours\n#aws_secret_access_key = {OLD}\n"
        )
    };
    keep(&bench, ".aws/credentials", &profiles(SECRET, SESSION));
    keep(&bench, "next", &profiles(RENEWED, "renewed-session-token"));
    keep(
        &bench,
        "next.json",
        &json!({"type": "impersonated", "source": [{"refresh_token": FROM_LOGIN}]}).to_string(),
    );
    keep(
        &bench,
        "next.toml",
        &format!(
            "[keys]\nopenai = \"{OF_SETTINGS}\"\n[mcp.docs]\nurl = \"https://mcp.test/\"\nheaders = {{ X-Api-Key = \"{OF_SERVER}\" }}\n"
        ),
    );
    let (server, _) = bedrock(Behaviour::replies([
        Reply::call("Bash", json!({"command": "cd; cat .aws/credentials"})),
        // What one call prints is a key by what the next one does, before either is sent.
        Reply::call("Bash", json!({"command": "cd; cat next next.json"})).calls(
            "Bash",
            json!({"command": "cd; mkdir -p .config/gcloud; cp next .aws/credentials; cat next; \
                cp next.json .config/gcloud/application_default_credentials.json; cat next.json; \
                install -m 600 next.toml .config/codelet/settings.toml; cat next.toml; echo seen"}),
        ),
        Reply::call("Read", json!({"file_path": bench.home.join("next.json")})),
        Reply::text(DONE),
    ]));
    let url = server.url();
    // The cloud of this test knows no other keys.
    let variables = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", SESSION),
        ("AWS_REGION", "eu-west-1"),
    ];
    let output = looked_around(&bench, &server, CLAUDE, &variables);
    let last = String::from_utf8_lossy(&server.record().exchanges[3].request.body).into_owned();
    assert!(last.contains("seen") && last.contains("AKIDOTHER"), "{last}");
    hidden(
        &output,
        &server,
        &[SECRET, SESSION, OTHER, OLD, RENEWED, FROM_LOGIN, OF_SETTINGS, OF_SERVER],
    );
}

#[test]
fn a_key_that_a_servers_header_takes_from_a_variable_of_any_name_is_hidden_and_no_commands() {
    const KEY: &str = "hush-hush-key-of-docs-0123456789";
    let bench = Bench::new();
    bench.settings(
        "[mcp.docs]\nurl = \"https://mcp.test/\"\nenabled = false\nheaders = { Authorization = \"Bearer ${DOCS}\" }\n",
    );
    let file = keep(&bench, "notes", &format!("docs: {KEY}\n"));
    let server = Server::start(Wire::Anthropic, curious(&format!("cat {file}; env | grep ^DOCS; true")));
    let output = bench
        .asking(&server, Wire::Anthropic, &["-p", "Look.", "--permission", "all"])
        .env("DOCS", KEY)
        .output()
        .unwrap();
    ended(&output, 0);
    hidden(&output, &server, &[KEY]);
    let sent = String::from_utf8_lossy(&server.record().exchanges[1].request.body).into_owned();
    assert!(sent.contains("docs: [secret]") && !sent.contains("DOCS="), "{sent}");
}
