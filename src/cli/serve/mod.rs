//! `docent serve DIR`: a folder of static files and Markdown over HTTP, with the proxy that keeps the endpoint's key.
//!
//! The server listens on loopback unless told otherwise. What it answers:
//!
//! | path | what |
//! |---|---|
//! | `/v1/chat/completions` | passed on to the endpoint of `--llm`, with the key; streamed |
//! | `/docent/config.json` | what the widget asks for: whether there is an endpoint, and its model |
//! | a `.md` file, or a path that is one without its ending | the page, rendered |
//! | anything else | the file, with its MIME type |

mod page;
mod proxy;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Json, Redirect, Response};
use axum::routing::{get, post};
use serde_json::json;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use self::page::PageTemplate;
use self::proxy::Upstream;
use crate::error::{Error, Result};

/// Arguments of `docent serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to serve.
    pub dir: PathBuf,
    /// Port; 0 takes a free one.
    #[arg(long, default_value_t = 8737)]
    pub port: u16,
    /// Address to listen on; anything but loopback makes the server, and the endpoint behind it, reachable by others.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// OpenAI-compatible endpoint that `/v1/chat/completions` is passed on to. Its key comes from DOCENT_LLM_KEY alone.
    #[arg(long, value_name = "URL", env = "DOCENT_LLM_ENDPOINT")]
    pub llm: Option<String>,
    /// Model to ask the endpoint for, whatever the page says.
    #[arg(long, value_name = "MODEL", env = "DOCENT_LLM_MODEL", requires = "llm")]
    pub llm_model: Option<String>,
    /// HTML template of rendered Markdown pages (Jinja syntax: title, content, lang, path).
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
}

/// Runs `docent serve` until it is interrupted.
///
/// # Errors
/// [`Error::Input`] for a folder, template or address that cannot be used; [`Error::InvalidOption`] for the endpoint.
pub fn run(args: &Args) -> Result<ExitCode> {
    let site = Site::new(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Input { path: "tokio".to_owned(), reason: error.to_string() })?;
    runtime.block_on(async {
        let address = SocketAddr::new(args.bind, args.port);
        let unusable = |error: std::io::Error| Error::Input { path: address.to_string(), reason: error.to_string() };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        announce(&site, address);
        axum::serve(listener, router(site))
            .with_graceful_shutdown(async {
                // Without a handler for the signal there is nothing to wait for; the process then ends by it directly.
                if tokio::signal::ctrl_c().await.is_err() {
                    std::future::pending::<()>().await;
                }
            })
            .await
            .map_err(unusable)?;
        Ok(ExitCode::SUCCESS)
    })
}

fn announce(site: &Site, address: SocketAddr) {
    println!("http://{address}/");
    match &site.upstream {
        Some(upstream) => eprintln!("endpoint: {} (through this server)", upstream.shown()),
        None => eprintln!("endpoint: none; the page answers by itself (set DOCENT_LLM_ENDPOINT to use one)"),
    }
    if !address.ip().is_loopback() {
        eprintln!("warning: reachable from other machines");
    }
    eprintln!("Ctrl-C ends it");
}

/// What the handlers share.
struct Site {
    dir: PathBuf,
    files: ServeDir,
    template: PageTemplate,
    upstream: Option<Upstream>,
    loopback: bool,
}

impl Site {
    fn new(args: &Args) -> Result<Self> {
        if !args.dir.is_dir() {
            let reason = if args.dir.exists() { "is not a folder" } else { "does not exist" };
            return Err(Error::Input { path: args.dir.display().to_string(), reason: reason.to_owned() });
        }
        let upstream = args
            .llm
            .as_deref()
            .filter(|endpoint| !endpoint.is_empty())
            .map(|endpoint| Upstream::new(endpoint, args.llm_model.as_deref(), std::env::var("DOCENT_LLM_KEY").ok()))
            .transpose()?;
        Ok(Self {
            dir: args.dir.clone(),
            files: ServeDir::new(&args.dir),
            template: PageTemplate::read(args.template.as_deref())?,
            upstream,
            loopback: args.bind.is_loopback(),
        })
    }
}

fn router(site: Site) -> Router {
    let fixed = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
    };
    Router::new()
        .route("/docent/config.json", get(config))
        .route("/v1/chat/completions", post(proxy::complete))
        .fallback(file)
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // A page that is being written must be seen as it is; the browser may keep a copy but has to ask.
        .layer(fixed(header::CACHE_CONTROL, "no-cache"))
        .with_state(Arc::new(site))
}

async fn config(State(site): State<Arc<Site>>) -> Response {
    let endpoint = site.upstream.as_ref().map(|_| "/v1/chat/completions");
    let model = site.upstream.as_ref().and_then(Upstream::model);
    Json(json!({ "endpoint": endpoint, "model": model })).into_response()
}

async fn file(State(site): State<Arc<Site>>, request: Request<Body>) -> Response {
    if !host_is_ours(request.headers(), site.loopback) {
        return refuse(StatusCode::FORBIDDEN, "this server answers to its own name only");
    }
    let path = percent_decode(request.uri().path());
    if path.split('/').any(|part| part.starts_with('.')) {
        return refuse(StatusCode::NOT_FOUND, "not found");
    }
    if request.method() == Method::GET
        && let Some(found) = page::find(&site.dir, &path)
    {
        return match found {
            page::Found::Folder => Redirect::permanent(&format!("{}/", request.uri().path())).into_response(),
            page::Found::Page(source) => match site.template.render(&source, &path) {
                Ok(html) => axum::response::Html(html).into_response(),
                Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
            },
        };
    }
    match site.files.clone().try_call(request).await {
        Ok(mut response) => {
            // The name that the HTML standard gives to JavaScript; the library still has the older one.
            let kind = response.headers_mut().get_mut(header::CONTENT_TYPE);
            if let Some(kind) = kind.filter(|kind| kind.as_bytes() == b"application/javascript") {
                *kind = HeaderValue::from_static("text/javascript");
            }
            response.map(Body::new)
        }
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput | ErrorKind::InvalidFilename => {
                refuse(StatusCode::NOT_FOUND, "not found")
            }
            _ => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], why.to_owned()).into_response()
}

/// Whether the request names this machine. On loopback another name means that a foreign site had its own name resolve
/// to here (DNS rebinding), and wants to read what the reader's machine serves.
fn host_is_ours(headers: &HeaderMap, loopback: bool) -> bool {
    if !loopback {
        return true;
    }
    let Some(host) = headers.get(header::HOST).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Decodes `%XX`; what is not UTF-8 afterwards names no file of ours and becomes replacement characters.
fn percent_decode(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| path.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(hex.unwrap_or(bytes[at]));
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A path below `dir`, or `None` for one that would leave it.
fn inside(dir: &Path, path: &str) -> Option<PathBuf> {
    let mut whole = dir.to_path_buf();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part.starts_with('.') || part.contains(['\\', '\0', ':']) {
            return None;
        }
        whole.push(part);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_host(host: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        headers
    }

    #[test]
    fn only_this_machine_s_names_are_answered_on_loopback() {
        for host in ["localhost", "localhost:8737", "127.0.0.1:80", "[::1]:8737", "docs.localhost:1"] {
            assert!(host_is_ours(&with_host(host), true), "{host}");
        }
        for host in ["attacker.example", "attacker.example:8737", "127.0.0.1.attacker.example", "192.168.1.2"] {
            assert!(!host_is_ours(&with_host(host), true), "{host}");
        }
        assert!(!host_is_ours(&HeaderMap::new(), true));
        assert!(host_is_ours(&with_host("docs.example"), false));
    }

    #[test]
    fn paths_are_decoded_and_stay_inside() {
        assert_eq!(percent_decode("/%E6%8C%87%E5%8D%97/a%20b"), "/指南/a b");
        assert_eq!(percent_decode("/100%"), "/100%");
        assert_eq!(percent_decode("/%zz"), "/%zz");
        assert_eq!(inside(Path::new("d"), "/a//b"), Some(PathBuf::from("d/a/b")));
        for path in ["/../x", "/a/../../x", "/.git/config", "/a\\..\\x", "/c:/x"] {
            assert_eq!(inside(Path::new("d"), path), None, "{path}");
        }
    }
}
