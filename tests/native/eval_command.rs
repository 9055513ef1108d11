//! `docent eval` as an author and a CI run it: files, exit codes, reports, and one language's questions on the other's pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use docent::retrieval::model_manifest::ModelCatalog;
use serde_json::Value;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("docent-eval-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Exit code, standard output, and both outputs together.
fn docent(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_docent")).args(arguments).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let both = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), out, both)
}

#[test]
fn an_author_s_questions_decide_the_exit_code_and_every_report_tells_them() {
    let folder = Folder::new("questions");
    folder.write("docs/kettle.md", "# Kettle\n\n## Descale\n\nFill the kettle with vinegar to descale it.\n");
    folder.write("docs/水壶.md", "# 水壶\n\n## 除垢\n\n倒入白醋即可除垢。\n");
    let (docs, index) = (folder.path("docs"), folder.path("index"));
    let (code, _, text) = docent(&["index", &docs, "--out", &index, "--no-embeddings"]);
    assert_eq!(code, Some(0), "{text}");
    let good = "questions:\n  - {question: How do I descale the kettle?, page: kettle, heading: Descale}\n  \
                - {question: 怎么除垢？, page: 水壶, top: 1}\n  - {question: Who won the football match?, not_in_docs: true}\n";
    folder.write("good.yml", good);
    let (code, _, text) = docent(&["eval", &folder.path("good.yml"), "--index", &index]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("3 of 3 questions answered as expected"), "{text}");
    folder.write("short.yml", &format!("{good}  - {{question: How do I descale the kettle?, page: 水壶, top: 1}}\n"));
    let (junit, html) = (folder.path("report.xml"), folder.path("report.html"));
    let (code, out, text) =
        docent(&["eval", &folder.path("short.yml"), "--index", &index, "--json", "--junit", &junit, "--html", &html]);
    assert_eq!(code, Some(1), "{text}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["total"].as_u64(), report["passed"].as_u64()), (Some(4), Some(3)), "{report}");
    assert!(std::fs::read_to_string(junit).unwrap().contains("failures=\"1\""));
    assert!(std::fs::read_to_string(html).unwrap().contains("怎么除垢"));
    folder.write("odd.yml", "questions: [{question: a, pages: b}]");
    let (code, _, text) = docent(&["eval", &folder.path("odd.yml"), "--index", &index]);
    assert_eq!(code, Some(1));
    assert!(text.contains("unknown field `pages`"), "{text}");
}

fn write_set(folder: &Folder, name: &str, topics: &[&str]) {
    let (mut corpus, mut queries, mut qrels) =
        (String::new(), String::new(), "query-id\tcorpus-id\tscore\n".to_owned());
    for (at, topic) in topics.iter().enumerate() {
        corpus +=
            &format!("{{\"_id\":\"{topic}#0\",\"title\":\"{topic}\",\"text\":\"All about {topic}, in one page.\"}}\n");
        queries += &format!("{{\"_id\":\"q{at}\",\"text\":\"what is {topic}?\"}}\n");
        qrels += &format!("q{at}\t{topic}#0\t1\n");
    }
    folder.write(&format!("{name}/corpus.jsonl"), &corpus);
    folder.write(&format!("{name}/queries.jsonl"), &queries);
    folder.write(&format!("{name}/qrels-test.tsv"), &qrels);
}

#[test]
fn a_set_is_reported_with_intervals_and_evidence_by_group() {
    let folder = Folder::new("set");
    let letters = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa", "lambda", "sigma"];
    let planets = ["mercury", "venus", "earth", "mars", "jupiter", "saturn", "uranus", "neptune", "pluto", "ceres"];
    write_set(&folder, "letters", &letters);
    write_set(&folder, "planets", &planets);
    let (set, other) = (folder.path("letters"), folder.path("planets"));
    let (code, out, text) = docent(&["eval", &set, "--lexical", "--json", "--evidence", &other]);
    assert_eq!(code, Some(0), "{text}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["set"], "letters");
    let lexical = &report["metrics"]["lexical"];
    assert_eq!(lexical["ndcg@10"]["mean"], 1.0, "{report}");
    assert_eq!(lexical["ndcg@10"]["ci"][0], 1.0);
    for metric in ["hit@1", "hit@5", "mrr"] {
        assert_eq!(lexical[metric]["mean"], 1.0, "{metric}");
    }
    assert_eq!(report["evidence"]["lexical"]["auc"], 1.0, "{report}");
    assert_eq!(report["evidence"]["lexical"]["groups"]["short"]["answerable"], 10, "{report}");
    for arguments in [vec!["--hold-out", &set], vec!["--cross-lingual", &set], vec!["--cross-lingual", &set, &set]] {
        let (code, _, text) = docent(&[&["eval"][..], &arguments].concat());
        assert_eq!(code, Some(1), "{arguments:?}: {text}");
    }
}

/// The model for both languages: where the recipe or `DOCENT_MODELS` put it, or linked together from the recipe's cache.
fn multilingual(folder: &Folder) -> Option<String> {
    let info = &ModelCatalog::built_in().unwrap().find("multilingual-e5-small").unwrap().info.clone();
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?.join("docent/models");
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let given = std::env::var_os("DOCENT_MODELS").map(PathBuf::from);
    for models in given.into_iter().chain([made]) {
        if info.files.iter().all(|file| models.join(&file.path).is_file()) {
            return Some(models.display().to_string());
        }
    }
    for file in &info.files {
        let cached = cache.join(&file.sha256);
        let place = folder.0.join("models").join(&file.path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        if std::fs::hard_link(&cached, &place).is_err() {
            std::fs::copy(&cached, &place).ok()?;
        }
    }
    Some(folder.path("models"))
}

/// Pages in English and Chinese: path, then title and text in each.
const PAGES: &[[&str; 5]] = &[
    ["install", "Install the program", "Download the archive and unpack it.", "安装程序", "下载压缩包并解压。"],
    [
        "password",
        "Reset a forgotten password",
        "We send a link to your mailbox.",
        "重置忘记的密码",
        "我们会向您的邮箱发送链接。",
    ],
    [
        "backup",
        "Back up your data every night",
        "A copy is written at two o'clock.",
        "每晚备份数据",
        "每天两点写入一份副本。",
    ],
    [
        "proxy",
        "Connect through a company proxy",
        "Set the address and the port.",
        "通过公司代理连接",
        "设置地址和端口。",
    ],
    ["billing", "Pay an invoice by credit card", "Cards are charged monthly.", "用信用卡支付账单", "每月从卡上扣款。"],
    [
        "language",
        "Change the language of the menus",
        "Menus come in nine languages.",
        "更改菜单语言",
        "菜单有九种语言。",
    ],
    ["printer", "Print on both sides of the paper", "Choose duplex in the dialog.", "双面打印", "在对话框中选择双面。"],
    [
        "sound",
        "There is no sound from the speakers",
        "Check the volume and the cable.",
        "扬声器没有声音",
        "检查音量和连接线。",
    ],
];

fn hit(report: &Value, direction: usize, leg: &str, metric: &str) -> f64 {
    report["directions"][direction]["metrics"][leg][metric]["mean"].as_f64().unwrap()
}

#[test]
fn a_question_in_one_language_finds_the_page_in_the_other() {
    let folder = Folder::new("cross");
    let Some(models) = multilingual(&folder) else {
        println!("skipped: questions across languages (no multilingual model; `make models-multilingual` makes it)");
        return;
    };
    for [path, title, text, chinese_title, chinese_text] in PAGES {
        folder.write(&format!("en/{path}.md"), &format!("# {title} {{#{path}}}\n\n{text}\n"));
        folder.write(&format!("zh/{path}.md"), &format!("# {chinese_title} {{#{path}}}\n\n{chinese_text}\n"));
    }
    let (english, chinese, cache) = (folder.path("en"), folder.path("zh"), folder.path("cache"));
    let arguments = ["eval", "--cross-lingual", &english, &chinese, "--models", &models, "--cache", &cache, "--json"];
    let (code, out, text) = docent(&arguments);
    assert_eq!(code, Some(0), "{text}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["questions"].as_u64(), report["pages"].as_u64()), (Some(8), Some(8)), "{report}");
    for direction in [0, 1] {
        assert_eq!(hit(&report, direction, "lexical", "hit@1"), 0.0, "the languages share no word: {report}");
        assert_eq!(hit(&report, direction, "hybrid", "hit@1"), hit(&report, direction, "dense", "hit@1"), "{report}");
        assert!(hit(&report, direction, "hybrid", "hit@1") >= 0.75, "{report}");
        let above = report["directions"][direction]["above_threshold"].as_f64().unwrap();
        assert!(above >= 0.75, "found pages count as found: {report}");
    }
}

#[test]
fn the_same_holds_for_real_documentation() {
    let folder = Folder::new("cross-real");
    let (Some(data), Some(_)) = (std::env::var_os("DOCENT_TESTDATA"), std::env::var_os("DOCENT_SLOW")) else {
        println!("skipped: real pages in two languages (DOCENT_TESTDATA or DOCENT_SLOW is not set)");
        return;
    };
    let Some(models) = multilingual(&folder) else {
        println!("skipped: real pages in two languages (no multilingual model; `make models-multilingual` makes it)");
        return;
    };
    let corpora = PathBuf::from(data).join("corpora");
    let folders = ["vue-docs-en", "vue-docs-zh"].map(|name| corpora.join(name).display().to_string());
    let arguments =
        ["eval", "--cross-lingual", &folders[0], &folders[1], "--sample", "25", "--models", &models, "--json"];
    let (code, out, text) = docent(&arguments);
    assert_eq!(code, Some(0), "{text}");
    let report: Value = serde_json::from_str(&out).unwrap();
    for direction in [0, 1] {
        let [dense, hybrid] = ["dense", "hybrid"].map(|leg| hit(&report, direction, leg, "mrr"));
        assert!(hybrid >= dense - 0.005, "{report}");
        assert!(hit(&report, direction, "hybrid", "hit@5") >= 0.8, "{report}");
    }
}
