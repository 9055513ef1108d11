//! The words that understanding goes by, one file a language, and what both share.
//!
//! **Invariant:** lists only; how they are used is said where they are used. English words stand in lower case.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::dialogue::EntityKind;

/// A list of words and phrases, held as one text and cut when it is first asked for: a pointer and a length for each
/// would take as many bytes of the module as the words themselves.
#[derive(Debug)]
pub struct Phrases {
    /// One phrase a line.
    text: &'static str,
    list: OnceLock<Vec<&'static str>>,
}

impl Phrases {
    /// The phrases of the lines of `text`.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, list: OnceLock::new() }
    }
}

impl Deref for Phrases {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.list.get_or_init(|| self.text.lines().collect())
    }
}

/// A [`Phrases`] of literals.
macro_rules! phrases {
    ($($phrase:literal),* $(,)?) => {
        Phrases::new(concat!($($phrase, "\n"),*))
    };
}

#[rustfmt::skip] // One word a line would hide the lists behind their length.
pub mod en;
#[rustfmt::skip] // One word a line would hide the lists behind their length.
pub mod zh;

/// Platforms, as they are written; matched as whole words, letter case ignored.
#[rustfmt::skip]
pub static PLATFORMS: Phrases = phrases![
    "Windows", "Windows 10", "Windows 11", "macOS", "Mac", "OS X", "Linux", "Ubuntu", "Debian", "Fedora", "CentOS",
    "RHEL", "Arch", "Alpine", "WSL", "WSL2", "iOS", "iPadOS", "Android", "Chrome", "Firefox", "Safari", "Edge",
    "Chromium", "Docker", "Podman", "Kubernetes", "K8s", "AWS", "Azure", "GCP", "Raspberry Pi", "Apple Silicon",
    "ARM64", "ARM", "x86", "FreeBSD", "Heroku", "Vercel", "Netlify", "Cloudflare", "PowerShell", "Unix",
];

/// Programming languages; matched as whole words, letter case ignored.
#[rustfmt::skip]
pub static LANGUAGES: Phrases = phrases![
    "Python", "JavaScript", "TypeScript", "Java", "Kotlin", "Swift", "Rust", "Golang", "C++", "C#", "F#", "PHP",
    "Ruby", "Perl", "Scala", "Haskell", "Elixir", "Erlang", "Lua", "R", "Julia", "Dart", "SQL", "Bash", "HTML",
    "CSS", "Clojure", "OCaml", "Zig", "Objective-C", "MATLAB", "Groovy", "Go", "C",
];

/// Language names that are also plain words or letters: they count only in their exact writing.
pub static AMBIGUOUS_LANGUAGES: Phrases = phrases!["R", "Go", "C"];

/// Product names that readers type in lower case; where an index is loaded its own words add to these.
#[rustfmt::skip]
pub static PRODUCTS: Phrases = phrases![
    "Vue", "React", "Angular", "Svelte", "Next.js", "Nuxt", "Vite", "webpack", "Babel", "ESLint", "Pinia", "Vuex",
    "npm", "pnpm", "yarn", "pip", "conda", "venv", "virtualenv", "poetry", "pytest", "Django", "Flask", "FastAPI",
    "NumPy", "pandas", "PyTorch", "TensorFlow", "spaCy", "scikit-learn", "Haystack", "LangChain", "LlamaIndex",
    "Milvus", "Qdrant", "Weaviate", "FAISS", "Chroma", "Elasticsearch", "Redis", "PostgreSQL", "Postgres", "MySQL",
    "SQLite", "MongoDB", "TiDB", "Kafka", "RabbitMQ", "nginx", "Git", "GitHub", "GitLab", "Jenkins", "Terraform",
    "Ansible", "Helm", "Prometheus", "Grafana", "Cargo", "Tokio", "axum", "Spring", "Maven", "Gradle", "Hadoop",
    "Spark", "Airflow", "dbt", "GraphQL", "Playwright", "Cypress", "Jest", "Vitest", "Deno", "Node",
];

/// Chinese names of things in [`PLATFORMS`] and [`PRODUCTS`], with what they stand for.
pub const CHINESE_NAMES: [(&str, &str, EntityKind); 16] = [
    ("苹果系统", "macOS", EntityKind::Platform),
    ("苹果电脑", "macOS", EntityKind::Platform),
    ("安卓", "Android", EntityKind::Platform),
    ("苹果手机", "iOS", EntityKind::Platform),
    ("鸿蒙", "HarmonyOS", EntityKind::Platform),
    ("树莓派", "Raspberry Pi", EntityKind::Platform),
    ("谷歌浏览器", "Chrome", EntityKind::Platform),
    ("火狐", "Firefox", EntityKind::Platform),
    ("微信小程序", "微信小程序", EntityKind::Platform),
    ("小程序", "小程序", EntityKind::Platform),
    ("阿里云", "阿里云", EntityKind::Platform),
    ("腾讯云", "腾讯云", EntityKind::Platform),
    ("华为云", "华为云", EntityKind::Platform),
    ("麒麟", "麒麟", EntityKind::Platform),
    ("统信", "统信", EntityKind::Platform),
    ("虚拟环境", "虚拟环境", EntityKind::Phrase),
];
