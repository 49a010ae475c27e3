//! The table of the front door's verbs. Routing, the client and the endpoints of the service derive
//! from it; a test holds docs/front-door.md and the rights of the broker's users against it.

use std::fmt;

use schemars::{Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    About, AgentChanged, AgentHistory, AgentList, AgentRevisions, Agents, AnswerTaken, Batch,
    Batched, Count, Counted, Crew, Dead, DeadLetters, Download, Downloaded, DropAgent,
    DropWorkflow, Get, GetAbout, GetCrew, GetGraph, GetTools, GetUsage, GiveAnswer, Inbox,
    InboxPage, Link, Linked, List, Listed, Preview, Previewed, Redeem, Redeemed, Role, SendSignal,
    SetAgent, SetWorkflow, Signaled, Submit, Submitted, Tools, Unlink, Unlinked, Upload, Uploaded,
    UsageReport, Watch, Watched, WorkflowChanged, WorkflowList, Workflows,
};
use crate::{view::JobView, workflow::WorkflowGraph};

/// A request, by its type.
pub trait Request {
    /// The verb that takes it.
    const VERB: Verb;
    /// The reply. Of a verb that streams, one of them.
    type Reply: Serialize + DeserializeOwned;
}

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbSpec {
    /// The verb.
    pub verb: Verb,
    /// Its word.
    pub name: &'static str,
    /// Its effect, as a sentence without its subject.
    pub about: &'static str,
    /// The role of the processes that serve it.
    pub server: Server,
    /// A caller needs one of these. Without any, the request carries its own credential.
    pub roles: &'static [Role],
    /// `true` if a client may repeat a request whose reply was lost. A repeated submission needs an
    /// id.
    pub repeatable: bool,
    /// `true` if a request has many replies.
    pub streams: bool,
}

/// The role of the processes that serve a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// `door`.
    Door,
    /// `interaction`.
    Interaction,
}

macro_rules! table {
    ($(
        #[doc = $about:literal]
        $verb:ident = $name:literal: $request:ty => $reply:ty,
        $server:ident, [$($role:ident),*], repeatable: $repeatable:literal, streams: $streams:literal;
    )+) => {
        /// A verb: the last token of `<prefix>.svc.<verb>`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Verb {
            $(#[doc = $about] $verb,)+
        }

        impl Verb {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$verb),+];

            /// Its line of the table.
            #[must_use]
            pub const fn spec(self) -> VerbSpec {
                match self {
                    $(Self::$verb => VerbSpec {
                        verb: self,
                        name: $name,
                        about: $about.trim_ascii(),
                        server: Server::$server,
                        roles: &[$(Role::$role),*],
                        repeatable: $repeatable,
                        streams: $streams,
                    },)+
                }
            }

            /// Returns the schema of its requests.
            pub(crate) fn request_schema(self, schemas: &mut SchemaGenerator) -> Schema {
                match self { $(Self::$verb => schemas.subschema_for::<$request>(),)+ }
            }

            /// Returns the schema of its replies.
            pub(crate) fn reply_schema(self, schemas: &mut SchemaGenerator) -> Schema {
                match self { $(Self::$verb => schemas.subschema_for::<$reply>(),)+ }
            }
        }

        $(impl Request for $request {
            const VERB: Verb = Verb::$verb;
            type Reply = $reply;
        })+
    };
}

table! {
    /// Stores a new job, or attaches to the job with the same id and body.
    Submit = "submit": Submit => Submitted,
        Door, [Submit], repeatable: true, streams: false;
    /// Returns one job.
    Get = "get": Get => JobView,
        Door, [Read], repeatable: true, streams: false;
    /// Returns the graph of a job's workflow with its states and visits.
    Graph = "graph": GetGraph => WorkflowGraph,
        Door, [Read], repeatable: true, streams: false;
    /// Returns jobs, newest first.
    List = "list": List => Listed,
        Door, [Read], repeatable: true, streams: false;
    /// Returns the numbers of open, completed, failed and cancelled jobs.
    Count = "count": Count => Counted,
        Door, [Read], repeatable: true, streams: false;
    /// Returns what jobs cost: tokens and money by day, agent, model, tool and job.
    Usage = "usage": GetUsage => UsageReport,
        Door, [Read], repeatable: true, streams: false;
    /// Streams the records or events of a job and its states, in many replies.
    Watch = "watch": Watch => Watched,
        Door, [Read], repeatable: true, streams: true;
    /// Cancels, pauses, resumes, retries, instructs, snapshots or rolls back a job.
    Signal = "signal": SendSignal => Signaled,
        Door, [Operate], repeatable: false, streams: false;
    /// Says what a signal or a fork would do, and changes nothing.
    Preview = "preview": Preview => Previewed,
        Door, [Operate, Submit], repeatable: true, streams: false;
    /// Counts the jobs of a filter that a signal applies to, or sends it to them.
    Batch = "batch": Batch => Batched,
        Door, [Operate], repeatable: false, streams: false;
    /// Returns dead letters: jobs and work that wait for an operator.
    Dead = "dead": Dead => DeadLetters,
        Door, [Read], repeatable: true, streams: false;
    /// Returns open questions, oldest first.
    Inbox = "inbox": Inbox => InboxPage,
        Interaction, [Read, Answer], repeatable: true, streams: false;
    /// Answers a question. The first valid answer wins.
    Answer = "answer": GiveAnswer => AnswerTaken,
        Interaction, [Answer], repeatable: true, streams: false;
    /// Makes a link with which a person answers one question.
    Link = "link": Link => Linked,
        Interaction, [Answer], repeatable: true, streams: false;
    /// Revokes the links of a question.
    Unlink = "unlink": Unlink => Unlinked,
        Interaction, [Answer], repeatable: true, streams: false;
    /// Returns the question of a link, or answers it.
    Redeem = "redeem": Redeem => Redeemed,
        Interaction, [], repeatable: true, streams: false;
    /// Returns the registered tools.
    Tools = "tools": GetTools => Tools,
        Door, [Read], repeatable: true, streams: false;
    /// Returns the live processes.
    Crew = "crew": GetCrew => Crew,
        Door, [Read], repeatable: true, streams: false;
    /// Returns the caller's roles and verbs.
    About = "about": GetAbout => About,
        Door, [Read, Submit, Answer, Operate], repeatable: true, streams: false;
    /// Returns the agents that submissions may name.
    Agents = "agents": Agents => AgentList,
        Door, [Read], repeatable: true, streams: false;
    /// Stores an agent in the bucket of agents.
    SetAgent = "set_agent": SetAgent => AgentChanged,
        Door, [Operate], repeatable: true, streams: false;
    /// Removes an agent from the bucket.
    DropAgent = "drop_agent": DropAgent => AgentChanged,
        Door, [Operate], repeatable: true, streams: false;
    /// Returns the revisions of an agent in the bucket, newest first.
    AgentRevisions = "agent_revisions": AgentRevisions => AgentHistory,
        Door, [Read], repeatable: true, streams: false;
    /// Returns the workflows that submissions, agents and nodes may name.
    Workflows = "workflows": Workflows => WorkflowList,
        Door, [Read], repeatable: true, streams: false;
    /// Stores a workflow in the bucket of workflows.
    SetWorkflow = "set_workflow": SetWorkflow => WorkflowChanged,
        Door, [Operate], repeatable: true, streams: false;
    /// Removes a workflow from the bucket.
    DropWorkflow = "drop_workflow": DropWorkflow => WorkflowChanged,
        Door, [Operate], repeatable: true, streams: false;
    /// Stores a piece of a file for a later submission; the request is its bytes.
    Upload = "upload": Upload => Uploaded,
        Door, [Submit], repeatable: true, streams: false;
    /// Returns a piece of a file of a job.
    Download = "download": Download => Downloaded,
        Door, [Read], repeatable: true, streams: false;
}

impl Verb {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// `true` if a caller with these roles may use it.
    #[must_use]
    pub fn is_allowed(self, roles: &[Role]) -> bool {
        let needed = self.spec().roles;
        needed.is_empty() || needed.iter().any(|role| roles.contains(role))
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Server {
    /// The verbs that these processes serve.
    pub fn verbs(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |verb| verb.spec().server == self)
    }
}
