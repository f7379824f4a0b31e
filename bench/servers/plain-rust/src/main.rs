// Contender: a plain service on axum and sqlx, on SQLite or PostgreSQL, with statements that are prepared once. It lists,
// searches, counts, finds, creates and changes animals, and checks keys, parameters and bodies, but knows neither `before` nor
// `Idempotency-Key`, nor searches among the animals of a status, and changes only the status.

mod store;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use axum::{Router, http};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::env;
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::Store;

const MAX_BODY_BYTES: usize = 64 * 1024;
const STATUSES: [&str; 3] = ["available", "pending", "sold"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewAnimal {
    name: String,
    category_id: i64,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    status: String,
}

#[derive(Serialize, sqlx::FromRow)]
#[serde(rename_all = "camelCase")]
struct Animal {
    id: i64,
    name: String,
    category_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

struct Page {
    limit: i64,
    after: i64,
    status: Option<String>,
    name: Option<String>,
    category_id: Option<i64>,
}

#[derive(Serialize, sqlx::FromRow)]
struct Inventory {
    available: i64,
    pending: i64,
    sold: i64,
    none: i64,
}

#[derive(Clone)]
struct App {
    store: Store,
    authorization: String,
}

#[tokio::main]
async fn main() {
    let app = App {
        store: Store::open().await,
        authorization: format!("Bearer {}", env::var("ANIMAL_STORE_API_KEY").unwrap()),
    };
    let mut router = Router::new()
        .route("/v1/pets", get(list_pets).post(create_pet))
        .route("/v1/pets/{petId}", get(get_pet).patch(change_pet))
        .route("/v1/store/inventory", get(get_inventory))
        .layer(middleware::from_fn_with_state(app.clone(), authenticate))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(app);
    if env::var("LOG_LEVEL").is_ok_and(|level| level == "info") {
        router = router.layer(middleware::from_fn(log_request));
    }
    let address = format!("127.0.0.1:{}", env::var("PORT").unwrap());
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    axum::serve(listener, router).await.unwrap();
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogLine<'a> {
    time: u64,
    level: &'a str,
    method: &'a str,
    path: &'a str,
    status: u16,
    duration_ms: f64,
    msg: &'a str,
}

/// Serializes the line by itself, which takes less time than a library for logs.
async fn log_request(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let uri = request.uri().clone();
    let response = next.run(request).await;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let line = LogLine {
        time: since_epoch.as_millis() as u64,
        level: "INFO",
        method: method.as_str(),
        path: uri.path(),
        status: response.status().as_u16(),
        duration_ms: started.elapsed().as_micros() as f64 / 1000.0,
        msg: "request",
    };
    let mut text = serde_json::to_vec(&line).unwrap();
    text.push(b'\n');
    let _ = io::stdout().lock().write_all(&text);
    response
}

async fn authenticate(State(app): State<App>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    if given.is_some_and(|value| value.as_bytes() == app.authorization.as_bytes()) {
        return next.run(request).await;
    }
    let mut response = error(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "A valid API key is required.",
    );
    let challenge = HeaderValue::from_static("Bearer realm=\"animal-store\"");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    response
}

async fn list_pets(State(app): State<App>, RawQuery(query): RawQuery) -> Response {
    let page = match parse_page(query.as_deref().unwrap_or("")) {
        Ok(page) => page,
        Err(message) => return error(StatusCode::BAD_REQUEST, "invalid_request", &message),
    };
    if page.name.is_some() || page.category_id.is_some() {
        return search_pets(app, page).await;
    }
    let (animals, has_previous, has_next) = match app.store.list(&page).await {
        Ok(found) => found,
        Err(cause) => return unavailable(cause),
    };
    let mut rest = format!("limit={}", page.limit);
    if let Some(status) = &page.status {
        rest.push_str("&status=");
        rest.push_str(status);
    }
    let id = |animal: &Animal| animal.id;
    let previous = animals.first().filter(|_| has_previous).map(id);
    let next = animals.last().filter(|_| has_next).map(id);
    (links(&rest, previous, next), Json(animals)).into_response()
}

async fn search_pets(app: App, page: Page) -> Response {
    // Lower case suffices for ASCII.
    let text = page.name.as_deref().map(str::to_lowercase);
    let (json, previous, next) = match app.store.search(&page, text).await {
        Ok(found) => found,
        Err(cause) => return unavailable(cause),
    };
    let mut rest = format!("limit={}", page.limit);
    if let Some(name) = &page.name {
        rest.push_str("&name=");
        rest.extend(form_urlencoded::byte_serialize(name.as_bytes()));
    }
    if let Some(category_id) = page.category_id {
        rest.push_str(&format!("&categoryId={category_id}"));
    }
    let mut headers = links(&rest, previous, next);
    let json_type = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json_type);
    (headers, json).into_response()
}

fn links(rest: &str, previous: Option<i64>, next: Option<i64>) -> HeaderMap {
    let mut links = Vec::new();
    if let Some(id) = previous {
        links.push(format!("</v1/pets?{rest}&before={id}>; rel=\"prev\""));
    }
    if let Some(id) = next {
        links.push(format!("</v1/pets?{rest}&after={id}>; rel=\"next\""));
    }
    let mut headers = HeaderMap::new();
    if !links.is_empty() {
        headers.insert(header::LINK, links.join(", ").parse().unwrap());
    }
    headers
}

fn parse_page(query: &str) -> Result<Page, String> {
    let mut page = Page {
        limit: 20,
        after: 0,
        status: None,
        name: None,
        category_id: None,
    };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=100).contains(limit));
                page.limit = limit.ok_or("limit must be an integer from 1 to 100")?;
            }
            "after" => page.after = value.parse().map_err(|_| "after must be an id")?,
            "status" if STATUSES.contains(&value.as_ref()) => {
                page.status = Some(value.into_owned());
            }
            "status" => return Err("status must be available, pending or sold".into()),
            "name" if (1..=100).contains(&value.chars().count()) => {
                page.name = Some(value.into_owned());
            }
            "name" => return Err("name must have 1 to 100 characters".into()),
            "categoryId" => {
                let category_id = value.parse().ok();
                page.category_id = Some(category_id.ok_or("categoryId must be an integer")?);
            }
            _ => return Err(format!("unknown parameter {name}")),
        }
    }
    if page.status.is_some() && (page.name.is_some() || page.category_id.is_some()) {
        return Err("status goes with neither name nor categoryId".into());
    }
    Ok(page)
}

async fn create_pet(State(app): State<App>, body: Bytes) -> Response {
    let Ok(given) = serde_json::from_slice::<NewAnimal>(&body) else {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "The body must be a new animal.",
        );
    };
    if !(1..=1000).contains(&given.name.chars().count()) {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "name must have 1 to 1000 characters",
        );
    }
    if given
        .status
        .as_deref()
        .is_some_and(|status| !STATUSES.contains(&status))
    {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "status must be available, pending or sold",
        );
    }
    match app.store.create(&given).await {
        Ok(id) => {
            let NewAnimal {
                name,
                category_id,
                status,
            } = given;
            let location = [(header::LOCATION, format!("/v1/pets/{id}"))];
            (
                StatusCode::CREATED,
                location,
                Json(Animal {
                    id,
                    name,
                    category_id,
                    status,
                }),
            )
                .into_response()
        }
        Err(cause) => unavailable(cause),
    }
}

async fn get_pet(State(app): State<App>, Path(pet_id): Path<String>) -> Response {
    let Ok(id) = pet_id.parse() else {
        return not_found();
    };
    match app.store.find(id).await {
        Ok(Some(animal)) => {
            let headers = [
                (http::HeaderName::from_static("deprecation"), "@1794700800"),
                (
                    http::HeaderName::from_static("sunset"),
                    "Thu, 05 Dec 2030 00:00:00 GMT",
                ),
            ];
            (headers, Json(animal)).into_response()
        }
        Ok(None) => not_found(),
        Err(cause) => unavailable(cause),
    }
}

async fn change_pet(State(app): State<App>, Path(pet_id): Path<String>, body: Bytes) -> Response {
    let Ok(id) = pet_id.parse() else {
        return not_found();
    };
    let Ok(Change { status }) = serde_json::from_slice(&body) else {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "The body must have a status.",
        );
    };
    if !STATUSES.contains(&status.as_str()) {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "status must be available, pending or sold",
        );
    }
    match app.store.set_status(id, &status).await {
        Ok(Some(animal)) => Json(animal).into_response(),
        Ok(None) => not_found(),
        Err(cause) => unavailable(cause),
    }
}

async fn get_inventory(State(app): State<App>) -> Response {
    match app.store.inventory().await {
        Ok(inventory) => Json(inventory).into_response(),
        Err(cause) => unavailable(cause),
    }
}

fn not_found() -> Response {
    error(
        StatusCode::NOT_FOUND,
        "not_found",
        "The animal does not exist.",
    )
}

fn unavailable(cause: sqlx::Error) -> Response {
    eprintln!("{cause}");
    error(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "The database is not available.",
    )
}

fn error(status: StatusCode, code: &str, message: &str) -> Response {
    (
        status,
        Json(json!({ "code": code, "message": message, "status": status.as_u16() })),
    )
        .into_response()
}
