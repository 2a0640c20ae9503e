//! The description of the API, from the table of options: the kinds of requests, and the document for OpenAPI. An
//! option that is added to the table appears in both.

use serde_json::{Map, Value, json};
use tagq::{
    QUERY_TYPES,
    requests::{RequestOption, RequestType, Section, ValueType},
};
use tagq_plot::FigureName;

/// Returns the types of requests with their options.
pub(crate) fn kinds() -> Value {
    json!({ "kinds": QUERY_TYPES.map(kind) })
}

fn kind(of: &RequestType) -> Value {
    let schema = of.schema();
    let options = of.options().map(|option| {
        let (kind, value_name) = type_of(option);
        let mut described = json!({
            "name": option.name,
            "type": kind,
            "value_name": value_name,
            "help": option.help,
            "section": section(option.section),
            "default": option.default,
            "excludes": option.excludes,
            "requires": option.requires,
            "repeated": option.is_repeated(),
            "duration": option.value.is_duration(),
        });
        if let ValueType::Choice(names) = option.value {
            let choices =
                names().into_iter().map(|[name, help]| json!({"name": name, "help": help}));
            described["choices"] = choices.collect();
        }
        described
    });
    json!({
        "name": of.name,
        "summary": of.summary,
        "details": of.details,
        "is_listable": of.unlisted.is_some(),
        "channels": of.channels.map(|channels| json!({
            "value_name": channels.value_name,
            "options": channels.options,
            "help": channels.help,
        })),
        "options": options.collect::<Vec<Value>>(),
        "schema": schema,
    })
}

fn section(of: Section) -> &'static str {
    match of {
        Section::Counts => "counts",
        Section::Accidentals => "accidentals",
        Section::Selection => "selection",
    }
}

/// Returns the word for the type of an option, and the name of its value.
fn type_of(option: &RequestOption) -> (&'static str, Option<&'static str>) {
    match option.value {
        ValueType::Flag => ("flag", None),
        ValueType::Text(name) | ValueType::Marker(name) | ValueType::Path(name) => {
            ("text", Some(name))
        }
        ValueType::Texts(name) => ("texts", Some(name)),
        ValueType::Number(name) => ("number", Some(name)),
        ValueType::Choice(_) => ("choice", None),
        ValueType::Channel(name) => ("channel", Some(name)),
        ValueType::Channels(name) => ("channels", Some(name)),
        ValueType::Groups(name) => ("groups", Some(name)),
        ValueType::Delays(name) => ("delays", Some(name)),
    }
}

/// Returns the schema of a value or a list of such values.
fn or_list(of: &Value) -> Value {
    json!({"anyOf": [of, {"type": "array", "items": of, "minItems": 1}]})
}

/// Returns the schema of how a figure looks.
fn look() -> Value {
    let pair = |item: Value| json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2});
    let property = |mut of: Value, help: &str| {
        of["description"] = help.into();
        of
    };
    let flag = || json!({"type": "boolean", "default": false});
    json!({
        "type": "object",
        "properties": {
            "title": property(json!({"type": "string"}), "The title, in place of the figure's own"),
            "is_logarithmic": property(flag(), "Values on a logarithmic axis, or in logarithmic colours"),
            "limits": property(
                pair(json!({"anyOf": [{"type": "number"}, {"type": "string"}]})),
                "The ends of the axis of values, in counts, Hz or as a ratio, or with units, as 3ns",
            ),
            "quantity": property(
                json!({"type": "string"}),
                "The column whose values are drawn, or the beginning of its name",
            ),
            "figure": property(
                json!({"enum": FigureName::ALL.map(FigureName::name)}),
                "The figure of an image; by default the map",
            ),
            "brightness": property(flag(), "Pixels of a map are as bright as they have photons"),
            "size": property(
                pair(json!({"type": "number", "minimum": 240, "maximum": 8000})),
                "Width and height in pixels",
            ),
            "is_dark": property(flag(), "For a dark background"),
            "no_caption": property(flag(), "Without header and note, and without a title unless it is given"),
        },
        "additionalProperties": false,
    })
}

/// Returns the schema of a query as `POST /api/query` takes it.
fn question() -> Value {
    let run = json!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]});
    let question = QUERY_TYPES.map(|of| {
        let mut question = json!({
            "type": "object",
            "properties": {
                "run": {"anyOf": [run, {"type": "array", "items": run, "minItems": 1}]},
                "query": {"const": of.name},
                "options": {"$ref": format!("#/components/schemas/{}", of.name)},
                "names": {"$ref": "#/components/schemas/names"},
                "figure": {"$ref": "#/components/schemas/figure"},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        if of.unlisted.is_some() {
            question["properties"]["list"] = json!({"type": "boolean", "default": false});
        }
        question
    });
    json!({"anyOf": question})
}

/// Returns the description of the API (OpenAPI 3.1) below this base path.
pub(crate) fn openapi(base: &str) -> Value {
    let mut schemas: Map<String, Value> =
        QUERY_TYPES.into_iter().map(|of| (of.name.to_owned(), of.schema())).collect();
    schemas.insert("figure".into(), look());
    let names = json!({
        "description": "Names of channels for this query, in place of those of tagq.toml",
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 0, "maximum": u16::MAX},
    });
    schemas.insert("names".into(), names);
    let question = question();
    let content = |kind: &str, schema: Value| json!({kind: {"schema": schema}});
    let json_of = |schema: Value| content("application/json", schema);
    let refused = json!({
        "description": "It was not answered",
        "content": json_of(json!({
            "type": "object",
            "properties": {"error": {"type": "string"}},
            "required": ["error"],
        })),
    });
    let get = |summary: &str, found: Value| {
        let found = json!({"description": summary, "content": found});
        json!({"get": {"summary": summary, "responses": {"200": found, "default": refused}}})
    };
    let anything = || json!({"type": "object"});
    let mut watch = get(
        "The answers to several queries at each commit, as events",
        content("text/event-stream", json!({"type": "string"})),
    );
    watch["get"]["parameters"] = json!([{
        "name": "queries",
        "in": "query",
        "required": true,
        "description": "A list of queries in JSON, as /api/query takes one",
        "content": json_of(json!({"type": "array", "items": question, "minItems": 1})),
    }]);
    let mut answered = json_of(anything());
    answered[ARROW_STREAM] = json!({"schema": {"type": "string", "format": "binary"}});
    answered[FIGURE] = json!({"schema": anything()});
    answered[SVG] = json!({"schema": {"type": "string"}});
    let query = json!({"post": {
        "summary": "The answer to one query",
        "requestBody": {"required": true, "content": json_of(question.clone())},
        "responses": {
            "200": {"description": "The answer, as `tagq QUERY --json` prints it", "content": answered},
            "default": refused,
        },
    }});
    let typed = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}, "python": {"type": "string"}},
        "required": ["command", "python"],
    });
    let command = json!({"post": {
        "summary": "How queries are asked by the command line and in Python",
        "requestBody": {"required": true, "content": json_of(or_list(&question))},
        "responses": {
            "200": {
                "description": "A command for a shell and an expression, or a list of them",
                "content": json_of(or_list(&typed)),
            },
            "default": refused,
        },
    }});
    let mut info = get("The sources of a run, and remarks about them", json_of(anything()));
    info["get"]["parameters"] = json!([{
        "name": "run",
        "in": "query",
        "description": "The index of the run; 0 if it is left out",
        "schema": {"type": "integer", "minimum": 0},
    }]);
    json!({
        "openapi": "3.1.0",
        "info": {"title": "tagq serve", "version": env!("CARGO_PKG_VERSION")},
        "servers": [{"url": if base.is_empty() { "/" } else { base }}],
        "paths": {
            "/api/run": get("The runs, their facts and the age of their newest data", json_of(anything())),
            "/api/info": info,
            "/api/kinds": get("The types of queries and their options", json_of(anything())),
            "/api/query": query,
            "/api/command": command,
            "/api/watch": watch,
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    })
}

/// The media type of a figure as JSON.
pub(crate) const FIGURE: &str = "application/vnd.tagq.figure+json";
/// The media type of a drawing.
pub(crate) const SVG: &str = "image/svg+xml";
/// The media type of a stream of Arrow.
pub(crate) const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";
