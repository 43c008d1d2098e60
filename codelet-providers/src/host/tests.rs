use super::*;

fn at(host: Host, given: Option<&str>, wire: Wire, model: &str, site: &Site) -> String {
    let own = host.address(site).unwrap_or_default();
    let base = host.base(given.unwrap_or(&own)).unwrap();
    host.endpoint(&base, wire, model, site).unwrap().to_string()
}

fn site(region: Option<&str>, project: Option<&str>) -> Site {
    Site {
        region: region.map(str::to_owned),
        project: project.map(str::to_owned),
        ..Site::default()
    }
}

#[test]
fn a_model_is_asked_at_the_address_that_its_cloud_documents() {
    let bedrock = site(Some("us-east-1"), None);
    for (wire, model, expected) in [
        (
            Wire::Anthropic,
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream",
        ),
        (
            Wire::Anthropic,
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn:aws:bedrock:us-east-1:1:application-inference-profile%2Fab/invoke-with-response-stream",
        ),
        (
            Wire::Responses,
            "openai.gpt-5.4",
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/responses",
        ),
        (
            Wire::Chat,
            "qwen.qwen3",
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions",
        ),
    ] {
        assert_eq!(at(Host::Bedrock, None, wire, model, &bedrock), expected);
    }
    let china = site(Some("cn-north-1"), None);
    assert!(
        at(Host::Bedrock, None, Wire::Chat, "m", &china)
            .starts_with("https://bedrock-runtime.cn-north-1.amazonaws.com.cn/")
    );
    let global = site(None, Some("p-1"));
    for (site, wire, model, expected) in [
        (
            &global,
            Wire::Anthropic,
            "claude-opus-4-5@20251101",
            "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
        ),
        (
            &site(Some("europe-west1"), Some("p-1")),
            Wire::Gemini,
            "gemini-2.5-pro",
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west1/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        (
            &site(Some("eu"), Some("p-1")),
            Wire::Chat,
            "meta/llama-4",
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p-1/locations/eu/endpoints/openapi/chat/completions",
        ),
    ] {
        assert_eq!(at(Host::Vertex, None, wire, model, site), expected);
    }
}

#[test]
fn an_address_of_azure_is_taken_however_it_was_copied() {
    for given in [
        "https://r.openai.azure.com",
        "https://r.openai.azure.com/",
        "https://r.openai.azure.com/openai",
        "https://r.openai.azure.com/openai/v1/",
        "https://r.openai.azure.com/openai/v1/responses?api-version=preview",
    ] {
        let url = at(Host::Azure, Some(given), Wire::Responses, "d", &Site::default());
        assert_eq!(url, "https://r.openai.azure.com/openai/v1/responses", "{given}");
    }
    let old = "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21";
    let said = Host::Azure.base(old).unwrap_err().to_string();
    assert!(said.contains("use the resource's address"), "{said}");
}

#[test]
fn a_gateways_path_stays_before_what_every_path_of_vertex_begins_with() {
    for (given, path) in [
        ("https://gate.example/vertex", "/vertex/v1"),
        ("https://gate.example/vertex/v1beta1/", "/vertex/v1beta1"),
        ("https://gate.example", "/v1"),
    ] {
        assert_eq!(Host::Vertex.base(given).unwrap().path(), path);
    }
}

#[test]
fn what_is_not_known_is_told_with_what_to_set() {
    for (host, site, words) in [
        (Host::Azure, Site::default(), "$AZURE_OPENAI_ENDPOINT"),
        (Host::Bedrock, Site::default(), "$AWS_REGION"),
        (
            Host::Bedrock,
            site(Some("evil.example/x"), None),
            "is not a valid region",
        ),
        (Host::Vertex, site(Some("-"), None), "is not a valid region"),
    ] {
        let said = host.address(&site).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    let base = Host::Vertex.base("https://aiplatform.googleapis.com").unwrap();
    let said = Host::Vertex
        .endpoint(&base, Wire::Gemini, "m", &Site::default())
        .unwrap_err();
    assert!(said.contains("$GOOGLE_CLOUD_PROJECT"), "{said}");
}

#[test]
fn only_the_clouds_own_addresses_are_its_own() {
    for (host, address, is) in [
        (Host::Azure, "https://r.openai.azure.com/openai/v1", true),
        (Host::Azure, "https://r.services.ai.azure.com", true),
        (Host::Azure, "https://azure.com.evil.example", false),
        (Host::Bedrock, "https://bedrock-runtime.eu-west-1.amazonaws.com", true),
        (Host::Bedrock, "http://127.0.0.1:8000", false),
        (Host::Vertex, "https://europe-west1-aiplatform.googleapis.com/v1", true),
        (Host::Vertex, "https://gate.example", false),
    ] {
        assert_eq!(host.is_at(address), is, "{address}");
    }
}
