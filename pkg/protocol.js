// What the page and the worker say to each other, and the errors that cross between them.
//
// page → worker  { id, call, args }            runs a method; `load` comes first
//                { abort: id }                  stops the running call
//                { answer: number, value|error} the result of a hook
// worker → page  { hello }                      the worker's code has run
//                { id, value | error }          the result of a call
//                { id, token } { id, progress } while it runs
//                { ready, error? }              the model is there (`ready` says what), or could not be had
//                { hook, number, args }         a function of the page is wanted

/** The options that hold functions of the page: they run there, not in the worker. */
export const HOOKS = ["contentFilter.before", "contentFilter.after", "sink"];

/** The error that every method rejects with: `name` is "AgentError", `code` is stable, the message is for people. */
export class AgentError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "AgentError";
    this.code = code;
  }
}

/** An error as plain data. */
export function errorToMessage(error) {
  const code = typeof error?.code === "string" ? error.code : "default";
  return { code, message: String(error?.message ?? error) };
}

/** The error that `errorToMessage` made plain. */
export function messageToError({ code, message }) {
  return new AgentError(code, message);
}

/** Takes the page's functions out of the options: the plain rest, the names of the hooks, and the hooks by name. */
export function splitOptions(options) {
  const plain = { ...options };
  const hooks = {};
  for (const path of HOOKS) {
    const [group, name] = path.split(".");
    if (name) {
      const hook = options[group]?.[name];
      if (typeof hook !== "function") continue;
      hooks[path] = hook;
      plain[group] = { ...plain[group] };
      delete plain[group][name];
    } else if (typeof options[group] === "function") {
      hooks[path] = options[group];
      delete plain[group];
    }
  }
  return { plain, hooks };
}
