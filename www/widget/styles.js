// How the widget looks. Every color and size that a site may want to change is a custom property `--docent-…`;
// the parts `launcher`, `panel`, `header`, `log`, `message`, `composer` can be styled from outside.

const LIGHT = `
  --docent-accent: #2456d6; --docent-on-accent: #fff; --docent-background: #fff; --docent-surface: #f4f5f8;
  --docent-text: #1b1f27; --docent-muted: #5b6472; --docent-border: #dfe3ea; --docent-mark: #ffedb0;
  --docent-danger: #a3261d; --docent-shadow: 0 18px 50px rgb(15 23 42 / .22), 0 2px 8px rgb(15 23 42 / .12);`;
const DARK = `
  --docent-accent: #8fb1ff; --docent-on-accent: #0d1526; --docent-background: #171a21; --docent-surface: #21252f;
  --docent-text: #e9ecf2; --docent-muted: #a2abba; --docent-border: #343a47; --docent-mark: #5c4a11;
  --docent-danger: #ff9d94; --docent-shadow: 0 18px 50px rgb(0 0 0 / .6), 0 2px 8px rgb(0 0 0 / .4);`;

export const STYLES = `
:host { ${LIGHT}
  --docent-radius: 16px; --docent-width: 25.5rem; --docent-height: 42rem; --docent-z: 2147483000;
  --docent-font: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans SC", sans-serif;
  all: initial; display: block; font-family: var(--docent-font); font-size: 15px; line-height: 1.55;
  color: var(--docent-text); color-scheme: light; position: fixed; inset: auto 20px 20px auto; z-index: var(--docent-z);
}
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${DARK} color-scheme: dark; } }
:host([theme="dark"]) { ${DARK} color-scheme: dark; }
:host([hidden]) { display: none; }
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
button:disabled { cursor: default; opacity: .45; }
a { color: var(--docent-accent); text-underline-offset: 2px; }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--docent-accent); outline-offset: 2px; }
svg { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.launcher { display: flex; align-items: center; gap: 10px; margin-left: auto; padding: 13px 20px 13px 16px; border-radius: 999px;
  background: var(--docent-accent); color: var(--docent-on-accent); font-weight: 600; box-shadow: var(--docent-shadow); }
.launcher:hover { filter: brightness(1.06); }

.panel { display: flex; flex-direction: column; width: min(var(--docent-width), calc(100vw - 40px));
  height: min(var(--docent-height), calc(100vh - 40px)); height: min(var(--docent-height), calc(100dvh - 40px));
  background: var(--docent-background); border: 1px solid var(--docent-border); border-radius: var(--docent-radius);
  box-shadow: var(--docent-shadow); overflow: hidden; overflow-wrap: anywhere; animation: rise .18s ease-out; }
@keyframes rise { from { opacity: 0; transform: translateY(10px); } }

.header { display: flex; align-items: center; gap: 2px; padding: 10px 8px 10px 18px; border-bottom: 1px solid var(--docent-border); }
.header h2 { flex: 1; margin: 0; font-size: 1rem; font-weight: 650; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tool { display: grid; place-items: center; width: 36px; height: 36px; border-radius: 10px; color: var(--docent-muted); }
.tool:hover { background: var(--docent-surface); color: var(--docent-text); }

.load { padding: 8px 18px; font-size: .8rem; color: var(--docent-muted); border-bottom: 1px solid var(--docent-border); }
.load .line { display: flex; justify-content: space-between; gap: 12px; font-variant-numeric: tabular-nums; }
.load .line > :last-child { white-space: nowrap; }
progress { display: block; width: 100%; height: 4px; margin-top: 6px; appearance: none; border: 0; border-radius: 2px; overflow: hidden; background: var(--docent-border); }
progress::-webkit-progress-bar { background: var(--docent-border); }
progress::-webkit-progress-value { background: var(--docent-accent); transition: width .2s; }
progress::-moz-progress-bar { background: var(--docent-accent); }
.load.failed { color: var(--docent-danger); }
.load button { text-decoration: underline; color: var(--docent-accent); }

.log { flex: 1; position: relative; min-height: 0; overflow-y: auto; overflow-x: hidden; padding: 18px; display: flex; flex-direction: column; gap: 18px; overscroll-behavior: contain; }
.greeting { color: var(--docent-muted); }
.greeting p { margin: 0 0 14px; }
.greeting .chip { color: var(--docent-text); }
.message { max-width: 100%; min-width: 0; }
.message.user { align-self: flex-end; max-width: 86%; padding: 8px 14px; border-radius: 16px 16px 4px 16px; background: var(--docent-accent); color: var(--docent-on-accent); white-space: pre-wrap; }
.message.assistant { align-self: stretch; }
.body > :first-child { margin-top: 0; }
.body > :last-child { margin-bottom: 0; }
.body p, .body ul, .body ol, .body blockquote, .body pre, .body .table { margin: 0 0 .7em; }
.body h3, .body h4, .body h5, .body h6 { margin: 1em 0 .4em; font-size: 1em; font-weight: 650; }
.body ul, .body ol { padding-left: 1.4em; }
.body li { margin: .2em 0; }
.body li > p { margin: 0 0 .3em; }
.body code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; background: var(--docent-surface); padding: .12em .35em; border-radius: 5px; }
.body pre { background: var(--docent-surface); border: 1px solid var(--docent-border); border-radius: 10px; padding: 10px 12px; overflow-x: auto; }
.body pre code { background: none; padding: 0; overflow-wrap: normal; white-space: pre; }
.body blockquote { padding: 2px 0 2px 12px; border-left: 3px solid var(--docent-border); color: var(--docent-text); }
.body .table { overflow-x: auto; }
.body table { border-collapse: collapse; font-size: .92em; overflow-wrap: normal; }
.body th, .body td { border: 1px solid var(--docent-border); padding: 4px 8px; text-align: left; }
.body hr { border: 0; border-top: 1px solid var(--docent-border); margin: 1em 0; }
.cite { font-size: .75em; vertical-align: super; line-height: 0; text-decoration: none; font-weight: 650; padding: 0 2px; }
.cite::before { content: "["; } .cite::after { content: "]"; }
.unsupported { text-decoration: underline dotted var(--docent-danger); text-underline-offset: 3px; }
mark { background: var(--docent-mark); color: var(--docent-text); border-radius: 3px; padding: 0 1px; }

.waiting { display: inline-flex; gap: 5px; align-items: center; color: var(--docent-muted); }
.waiting i { width: 6px; height: 6px; border-radius: 50%; background: currentColor; animation: blink 1.2s infinite; }
.waiting i:nth-child(2) { animation-delay: .2s; } .waiting i:nth-child(3) { animation-delay: .4s; }
@keyframes blink { 0%, 70%, 100% { opacity: .25; } 35% { opacity: 1; } }

.part { margin-top: 12px; }
.part > h3 { margin: 0 0 6px; font-size: .78rem; font-weight: 600; color: var(--docent-muted); }
.sources ol { list-style: none; margin: 0; padding: 0; display: flex; flex-direction: column; gap: 6px; }
.sources a { display: grid; grid-template-columns: auto 1fr; gap: 2px 10px; padding: 8px 12px; border: 1px solid var(--docent-border); border-radius: 10px; text-decoration: none; color: inherit; }
.sources a:hover { border-color: var(--docent-accent); background: var(--docent-surface); }
.sources .n { color: var(--docent-accent); font-weight: 650; font-variant-numeric: tabular-nums; }
.sources .path { color: var(--docent-muted); font-size: .84rem; grid-column: 2; }
.sources .quote { grid-column: 2; font-size: .84rem; color: var(--docent-muted); display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden; }
.chips { display: flex; flex-wrap: wrap; gap: 8px; }
.chip { text-align: left; padding: 7px 13px; border-radius: 14px; border: 1px solid var(--docent-border); background: var(--docent-background); max-width: 100%; }
.chip:hover { border-color: var(--docent-accent); background: var(--docent-surface); }
.chip b { font-weight: 600; color: var(--docent-accent); display: block; }
.chip span { color: var(--docent-muted); font-size: .82rem; display: block; }
.note { color: var(--docent-muted); font-size: .84rem; margin: 0 0 8px; padding: 6px 10px; border-radius: 8px; background: var(--docent-surface); }
.note.failure { color: var(--docent-danger); }
.actions { display: flex; align-items: center; gap: 2px; margin: 8px 0 0 -8px; color: var(--docent-muted); }
.actions button { display: grid; place-items: center; width: 32px; height: 32px; border-radius: 8px; }
.actions button:hover:not(:disabled) { background: var(--docent-surface); color: var(--docent-text); }
.actions button[aria-pressed="true"] { color: var(--docent-accent); opacity: 1; }
.actions svg { width: 17px; height: 17px; }
.actions output { font-size: .8rem; margin-left: 6px; }
.person { border: 1px solid var(--docent-border); border-radius: 12px; padding: 12px; display: flex; flex-direction: column; gap: 10px; align-items: flex-start; }
.person p { margin: 0; }
.person label { display: flex; gap: 8px; align-items: center; font-size: .88rem; color: var(--docent-muted); }
.person button, .primary { padding: 7px 16px; border-radius: 10px; background: var(--docent-accent); color: var(--docent-on-accent); font-weight: 600; }

.matches { border-top: 1px solid var(--docent-border); padding: 8px 12px 2px; font-size: .88rem; }
.matches h3 { margin: 0 6px 2px; font-size: .75rem; font-weight: 600; color: var(--docent-muted); }
.matches a { display: flex; gap: 8px; align-items: center; padding: 5px 6px; border-radius: 8px; text-decoration: none; color: inherit; }
.matches a:hover { background: var(--docent-surface); }
.matches svg { width: 16px; height: 16px; color: var(--docent-muted); flex: none; }
.matches span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
form { display: flex; align-items: flex-end; gap: 8px; padding: 12px; border-top: 1px solid var(--docent-border); }
.matches:not([hidden]) + form { border-top: 0; }
textarea { flex: 1; min-width: 0; resize: none; font: inherit; color: inherit; background: var(--docent-surface); border: 1px solid var(--docent-border); border-radius: 14px; padding: 8px 14px; max-height: 9.5em; line-height: 1.5; overflow-y: auto; }
textarea::placeholder { color: var(--docent-muted); opacity: 1; }
textarea:focus-visible { outline-offset: -1px; }
.send { display: grid; place-items: center; flex: none; width: 40px; height: 40px; border-radius: 50%; background: var(--docent-accent); color: var(--docent-on-accent); }
.send svg { width: 18px; height: 18px; }
.send.stop svg { fill: currentColor; }

@media (max-width: 520px) {
  :host { inset: auto 14px 14px auto; }
  :host([open]) { inset: 0; }
  .panel { width: 100vw; height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
  /* A smaller font would make the phone zoom into the field. */
  textarea { font-size: 16px; }
  .tool, .actions button { width: 42px; height: 42px; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; scroll-behavior: auto !important; } }
@media (forced-colors: active) { .launcher, .send, .message.user, .chip, .panel { border: 1px solid CanvasText; } }
@media print { :host { display: none; } }
`;
