//! The card: what the agent is called, where it is, and what it can do. Pure.

use proto::{door::AgentEntry, file::FileName, id::JobId, lang::Language};
use serde_json::{Value, json};
use url::Url;

use super::{rpc::VERSION, words::Text};

/// The facts of this server that its card tells.
#[derive(Debug, Clone)]
pub struct Place {
    /// Address of the server's operations.
    pub url: String,
    /// Version of this program.
    pub version: &'static str,
    /// Address of the discovery document of the issuer of tokens, if there is one.
    pub issuer: Option<String>,
}

/// The addresses of the files of jobs, at the same host as the server's operations.
#[derive(Debug, Clone, Default)]
pub(super) struct FileUrls(Option<Url>);

impl FileUrls {
    /// Returns the addresses beside a place.
    pub(super) fn beside(place: &Place) -> Self {
        let gateway = Url::parse(&place.url).ok().and_then(|mut url| {
            url.path_segments_mut().ok()?.pop();
            Some(url)
        });
        Self(gateway)
    }

    /// Returns the addresses below that of the gateway.
    pub(super) fn below(gateway: &Url) -> Self {
        Self(Some(gateway.clone()))
    }

    /// Returns the address of a file; `None` if the server does not know its own.
    pub(super) fn of(&self, job: &JobId, name: &FileName) -> Option<String> {
        // These are steps of a path, and no names, in an address.
        if matches!(name.as_str(), "." | "..") {
            return None;
        }
        let mut url = self.0.clone()?;
        let path = ["v1", "jobs", job.as_str(), "files", name.as_str()];
        url.path_segments_mut().ok()?.pop_if_empty().extend(path);
        Some(url.into())
    }
}

/// The facts about a server that its card states.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) place: &'a Place,
    /// `true` if callers need a token.
    pub(super) needs_token: bool,
    /// `true` if clients may set receivers of notifications.
    pub(super) notifies: bool,
}

/// Returns the card. Without agents, which their caller may not read, it has one skill for all.
pub(super) fn card(about: &About<'_>, agents: Option<&[AgentEntry]>, language: Language) -> Value {
    let About { place, needs_token, notifies } = *about;
    let usable = agents.unwrap_or_default().iter().filter(|agent| agent.mistakes.is_empty());
    let mut skills: Vec<Value> = usable.map(|agent| skill(agent, language)).collect();
    if skills.is_empty() {
        skills.push(json!({
            "id": "default",
            "name": "Callboard",
            "description": Text::Skill.text(language),
            "tags": ["agent"],
        }));
    }
    let mut card = json!({
        "name": "Callboard",
        "description": Text::About.text(language),
        "version": place.version,
        "supportedInterfaces": [
            {"url": place.url, "protocolBinding": "JSONRPC", "protocolVersion": VERSION},
        ],
        "capabilities": {
            "streaming": true,
            "pushNotifications": notifies,
            "extendedAgentCard": true,
        },
        "defaultInputModes": ["text/plain", "application/json", "application/octet-stream"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": skills,
    });
    if needs_token {
        let bearer = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
        let mut schemes = json!({"bearer": bearer});
        let mut requirements = vec![json!({"schemes": {"bearer": {"list": []}}})];
        if let Some(url) = &place.issuer {
            schemes["issuer"] = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": url}});
            requirements.push(json!({"schemes": {"issuer": {"list": []}}}));
        }
        card["securitySchemes"] = schemes;
        card["securityRequirements"] = json!(requirements);
    }
    card
}

fn skill(agent: &AgentEntry, language: Language) -> Value {
    let about = match agent.about.as_str() {
        "" => Text::Skill.text(language),
        about => about.to_owned(),
    };
    json!({"id": agent.name, "name": agent.name, "description": about, "tags": ["agent"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(issuer: Option<&str>) -> Place {
        let url = "https://jobs.example.com/a2a".to_owned();
        Place { url, version: "0.1.0", issuer: issuer.map(str::to_owned) }
    }

    #[test]
    fn each_usable_agent_is_a_skill() {
        let agents = json!([
            {"name": "default", "layer": "preset", "place": "", "about": "Plans first."},
            {"name": "broken", "layer": "preset", "place": "", "mistakes": ["no"]},
        ]);
        let agents: Vec<AgentEntry> = serde_json::from_value(agents).unwrap();
        let place = place(None);
        let about = About { place: &place, needs_token: false, notifies: true };
        let card = card(&about, Some(&agents), Language::En);
        assert_eq!(card["capabilities"]["pushNotifications"], true);
        assert_eq!(card["skills"].as_array().unwrap().len(), 1);
        assert_eq!(card["skills"][0]["id"], "default");
        assert_eq!(card["skills"][0]["description"], "Plans first.");
        assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
        assert_eq!(card["securitySchemes"], Value::Null);
    }

    #[test]
    fn a_card_for_strangers_says_how_to_sign_in() {
        let place = place(Some("https://issuer.example"));
        let about = About { place: &place, needs_token: true, notifies: false };
        let card = card(&about, None, Language::En);
        assert_eq!(card["capabilities"]["pushNotifications"], false);
        assert_eq!(card["skills"].as_array().unwrap().len(), 1);
        let schemes = card["securitySchemes"].as_object().unwrap();
        assert_eq!(schemes.keys().collect::<Vec<_>>(), ["bearer", "issuer"]);
        assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 2);
    }
}
